/* `spans why --html FILE`: the answer as one page to hand on: no script, nothing from elsewhere. */
#include <math.h>
#include <stdio.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "spans/ask/span-view.h"

#define CELL_WIDE 8
#define CELL_HIGH 6
#define CALLS_TOLD 12 /* of each bucket */

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
	"<title>whyslow spans why</title><style>:root{color-scheme:light dark}body{font:15px sans-serif;max-width:64em;margin:1em auto;padding:0 1em;overflow-wrap:anywhere}"
	"table{border-collapse:collapse;margin:.5em 0}td,th{padding:.15em .9em .15em 0;text-align:left;vertical-align:top}"
	"svg{width:100%;height:auto}.n{text-align:right;white-space:nowrap}.bar{display:inline-block;height:.7em;background:#c2410c}"
	"code{font-size:.95em}figcaption{font-size:.9em}figure{margin:1em 0}</style></head><body>\n";

static void put_deployed(const struct span_comparison *s, size_t top, FILE *out)
{
	if (!s->deployed.list.n)
		return;
	fputs("<h2>What was deployed when it began</h2><ol>\n", out);
	for (size_t i = 0; i < s->deployed.list.n && i < top; i++) {
		_cleanup_free_ char *words = span_deployed_words(&s->deployed.list.v[i]);

		str_print_markup(out, "<li>%s", words);
		if (!isnan(s->deployed.list.v[i].share))
			fprintf(out, ": its calls and the way to them are %.0f %% of the rise", 100 * s->deployed.list.v[i].share);
		fputs("</li>\n", out);
	}
	fputs("</ol>\n", out);
}

static void put_suspects(const struct span_comparison *s, size_t top, FILE *out)
{
	if (!s->suspects.list.n)
		return;
	fputs("<h2>Versions that are slower than others of their bucket, or fail more often</h2><table><tr><th>version<th>requests<th class=\"n\">mean<th class=\"n\">others"
	      "<th class=\"n\">q</tr>\n", out);
	for (size_t i = 0; i < s->suspects.list.n && i < top; i++) {
		const struct suspect_version *x = &s->suspects.list.v[i];

		str_print_markup(out, "<tr><td>%s %s", names_get(s->names, x->package), names_get(s->names, x->version));
		if (x->failing)
			fprintf(out, "<br>by it %.2f %% of the requests have a failure, by others %.2f %%", 100 * x->fails, 100 * x->fails_others);
		if (x->together)
			str_print_markup(out, "<br>always together with %s", x->together);
		str_print_markup(out, "</td><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%.1e</td></tr>\n", x->label,
				 SPAN_DURATION(x->mean), SPAN_DURATION(x->others), x->q);
	}
	fputs("</table>\n", out);
}

static void put_calls(const struct forest *f, const struct bucket_change *b, FILE *out)
{
	double most = b->vertices.n ? fmax(fabs(b->vertices.v[0].after - b->vertices.v[0].before), 1) : 1;

	fputs("<table><tr><th>call<th class=\"n\">was<th class=\"n\">is<th>change<th>because</tr>\n", out);
	for (size_t i = 0; i < b->vertices.n && i < CALLS_TOLD; i++) {
		const struct vertex_change *v = &b->vertices.v[i];
		_cleanup_free_ char *path = vertex_path(f, v->vertex);
		double gain = v->after - v->before;

		if (gain < .01 * most)
			break;
		str_print_markup(out,
				 "<tr><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td><span class=\"bar\" style=\"width:%.1fem\"></span> +%s</td>"
				 "<td>%s</td></tr>\n",
				 path, SPAN_DURATION(v->before), SPAN_DURATION(v->after), 8 * fmin(1, gain / most), SPAN_DURATION(gain),
				 v->reason == REASON_NONE ? "" : span_reason_name(v->reason));
	}
	fputs("</table>\n", out);
}

static void put_bucket(const struct forest *f, const struct bucket_change *b, FILE *out)
{
	_cleanup_free_ char *label = span_bucket_label(f, &f->buckets.v[b->bucket]);

	str_print_markup(out, "<h3>%s</h3><p>%s: mean %s, was %s; %.0f requests, were %.0f; %.2f %% fail, were %.2f %%; q = %.2g</p>\n", label,
			 span_verdict_name(b->verdict), SPAN_DURATION(b->mean_after), SPAN_DURATION(b->mean_before), moments_count(&b->after->total),
			 moments_count(&b->before->total), 100 * b->errors_after, 100 * b->errors_before, b->q);
	put_calls(f, b, out);
}

static void put_causes(const struct span_causes *c, FILE *out)
{
	if (!c->list.n)
		return;
	fputs("<h2>Which requests became slower</h2><ol>\n", out);
	VEC_EACH(x, c->list) {
		str_print_markup(out, "<li><b>%s</b>: mean %s, would have been %s; %.0f requests; explains %.0f %% of the rise", x->where,
				 SPAN_DURATION(x->mean), SPAN_DURATION(x->expected), x->requests, 100 * x->share);
		for (size_t k = 0; k < x->n_traces; k++)
			str_print_markup(out, "%s<code>%s</code>", k ? ", " : "; for example ", x->traces[k].id);
		fputs("</li>\n", out);
	}
	fputs("</ol>\n", out);
}

/* The requests of both sides, darker where there are more. */
static void put_cells(const struct span_map *m, FILE *out)
{
	double most = 0;

	for (size_t i = 0; i < m->rows * m->columns; i++)
		most = fmax(most, m->counts[i]);
	for (size_t row = 0; row < m->rows; row++)
		for (size_t column = 0; column < m->columns; column++) {
			double count = m->counts[row * m->columns + column];

			if (count > 0)
				fprintf(out, "<rect x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\" fill=\"#c2410c\" fill-opacity=\"%.2f\"/>\n",
					column * CELL_WIDE, (m->rows - 1 - row) * CELL_HIGH, CELL_WIDE, CELL_HIGH, .15 + .85 * log1p(count) / log1p(most));
		}
}

static void put_map(const struct span_map *m, FILE *out)
{
	if (!m->columns)
		return;
	fprintf(out, "<figure><svg viewBox=\"0 0 %zu %zu\" role=\"img\" aria-label=\"requests by time and duration\">\n", m->columns * CELL_WIDE,
		m->rows * CELL_HIGH);
	put_cells(m, out);
	str_print_markup(out,
			 "</svg><figcaption>Requests by time (%s to %s, left to right) and duration (%s to %s, bottom to top, by its logarithm); "
			 "darker: more of them</figcaption></figure>\n",
			 CLOCK_LOCAL(m->from), CLOCK_LOCAL(m->from + m->step * (int64_t)m->columns), SPAN_DURATION(m->low),
			 SPAN_DURATION(m->low * pow(m->factor, (double)m->rows)));
}

void span_change_html(const struct span_comparison *s, const struct span_map *map, size_t top, FILE *out)
{
	_cleanup_free_ char *headline = span_why_headline(s), *saturation = span_saturation_words(s);
	const struct span_change *c = &s->change;

	fputs(head, out);
	str_print_markup(out, "<h1>%s</h1><p>%s, against %s", headline, s->after ? s->after : "candidate", s->before ? s->before : "baseline");
	if (!isnan(span_comparison_rate(s, 0)) && !isnan(span_comparison_rate(s, 1)))
		fprintf(out, "; %.3g requests began in a second, were %.3g; %.3g ran at a time, were %.3g", span_comparison_rate(s, 1),
			span_comparison_rate(s, 0), span_comparison_at_a_time(s, 1), span_comparison_at_a_time(s, 0));
	fputs("</p>\n", out);
	if (saturation)
		str_print_markup(out, "<p>%s</p>\n", saturation);
	put_deployed(s, top, out);
	put_suspects(s, top, out);
	put_map(map, out);
	fputs("<h2>Where the time went</h2>\n", out);
	for (size_t i = 0; i < c->buckets.n && i < top; i++)
		if (c->buckets.v[i].before && c->buckets.v[i].after)
			put_bucket(&s->forest, &c->buckets.v[i], out);
	put_causes(&s->causes, out);
	fputs("</body></html>\n", out);
}
