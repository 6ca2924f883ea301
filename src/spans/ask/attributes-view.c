/* The attribute values that explain a change. */
#include <math.h>

#include "lib/view/json.h"
#include "spans/ask/span-view.h"

static void print_amount(double value, double exposure, FILE *out)
{
	if (exposure > 0)
		fprintf(out, "%.3g %%", 100 * value / exposure);
	else
		fprintf(out, "%.6g", value);
}

static void print_element(const struct leaf_csv *csv, const struct element *e, size_t number, const char *word, FILE *out)
{
	fprintf(out, "\n %2zu. ", number);
	for (size_t a = 0, n = 0; a < csv->attributes.n; a++)
		if (e->value[a] != ATTRIBUTE_ANY)
			fprintf(out, "%s%s = %s", n++ ? " and " : "", csv->attributes.v[a].name, csv->attributes.v[a].values.v[e->value[a]]);
	fprintf(out, "\n     explains %.0f %% of the %s: ", 100 * e->share, word);
	print_amount(e->observed, e->exposure, out);
	fputs(", expected ", out);
	print_amount(e->expected, e->exposure, out);
	fprintf(out, "; %.0f %% of its %zu combinations moved\n", 100 * e->moved, e->leaves);
}

void span_attributes_text(const struct leaf_csv *csv, const char *metric, const struct attribute_findings *f, FILE *out)
{
	const char *word = f->up ? "rise" : "fall";

	fprintf(out, "%s %s: ", metric, f->observed >= f->expected ? "rose" : "fell");
	print_amount(f->observed, f->exposure, out);
	fputs(", expected ", out);
	print_amount(f->expected, f->exposure, out);
	fprintf(out, " (%zu combinations of %zu attributes checked)\n", f->elements_tried, csv->attributes.n);
	for (size_t i = 0; i < f->elements.n; i++)
		print_element(csv, &f->elements.v[i], i + 1, word, out);
	if (!f->elements.n)
		fprintf(out, "%s\n", f->changed ? "\nThe cause is not among these attributes: no combination of them moved together."
				: "\nNothing changed beyond normal variation.");
	else
		fprintf(out, "\nTogether they explain %.0f %% of the %s%s\n", 100 * f->explained, word,
		       f->explained < 0.5 ? "; the rest of the cause is not among these attributes." : ".");
}

static json_t *element_json(const struct leaf_csv *csv, const struct element *e)
{
	json_t *where = json_object();

	for (size_t a = 0; a < csv->attributes.n; a++)
		if (e->value[a] != ATTRIBUTE_ANY)
			json_object_set_new(where, csv->attributes.v[a].name, json_string(csv->attributes.v[a].values.v[e->value[a]]));
	return json_pack("{s:o, s:f, s:f, s:o, s:f, s:f, s:f, s:f, s:i}", "where", where, "observed", e->observed, "expected",
			 e->expected, "exposure", isnan(e->exposure) ? json_null() : json_real(e->exposure), "share", e->share,
			 "moved", e->moved, "shift", e->shift, "score", e->score, "combinations", (int)e->leaves);
}

json_t *span_attributes_json(const struct leaf_csv *csv, const char *metric, const struct attribute_findings *f)
{
	return json_pack("{s:s, s:s, s:b, s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:o}", "schema", "whyslow.attributes/1", "metric",
			 metric, "changed", f->changed, "direction", f->up ? "up" : "down", "observed", f->observed, "expected",
			 f->expected, "explained", f->explained, "moved_outside", f->moved_outside, "noise", f->noise, "tried",
			 (json_int_t)f->elements_tried, "bad_rows", (json_int_t)csv->bad, "elements", JSON_EACH(x, f->elements, element_json(csv,
				x)));
}
