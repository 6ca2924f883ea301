/* whyslow spans attributes TABLE.csv: which attribute values identify and explain a change. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/span/attributes.h"
#include "base/data/cleanup.h"
#include "base/data/log.h"
#include "base/data/str.h"
#include "cmd/spans/spans.h"
#include "source/span/leaf-csv.h"
#include "view/why/json.h"

static const char *arg_metric = "value/cnt", *arg_time, *arg_at, *arg_expected, *arg_ignore, *arg_direction = "auto";
static uint64_t arg_past = 10, arg_depth, arg_top = 16;
static bool arg_counts;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "metric", "A[/B]", &arg_metric, "the column that changed, or a ratio of two (default value/cnt)"},
	{OPTION_TEXT, 0, "expected", "COLUMN", &arg_expected, "the expected value of A (default: from the earlier times of --time)"},
	{OPTION_TEXT, 0, "time", "COLUMN", &arg_time, "the column of times"},
	{OPTION_TEXT, 0, "at", "VALUE", &arg_at, "the time asked about (default: the last one)"},
	{OPTION_COUNT, 0, "past", "N", &arg_past, "how many times before it are the reference (default 10)"},
	{OPTION_TEXT, 0, "ignore", "A,B", &arg_ignore, "columns that are not attributes"},
	{OPTION_TEXT, 0, "direction", "up|down", &arg_direction, "look for what rose, or fell (default: as the whole)"},
	{OPTION_FLAG, 0, "counts", NULL, &arg_counts, "A counts events, so chance alone moves small ones (a ratio's always does)"},
	{OPTION_COUNT, 0, "depth", "N", &arg_depth, "maximum number of attributes of one finding (default: what one second allows)"},
	{OPTION_COUNT, 'n', "top", "N", &arg_top, "maximum number of findings (default 16)"},
	{},
};

/* The table, cut to leaves and slices of time; the last slice is the one asked about. */
struct cut {
	size_t n, slices;
	uint32_t *codes;
	double *numerator, *denominator, *expected; /* slices x n; expected: n */
	struct leaf_quiet quiet;
};

static void cut_free(struct cut *c)
{
	free(c->codes);
	free(c->numerator);
	free(c->denominator);
	free(c->expected);
}

static const struct leaf_csv *sorted_csv;

static int compare_times(const char *a, const char *b)
{
	char *end_a, *end_b;
	double x = strtod(a, &end_a), y = strtod(b, &end_b);

	if (!*end_a && !*end_b && x != y)
		return x < y ? -1 : 1;
	return strcmp(a, b);
}

static int by_time(const void *a, const void *b)
{
	return compare_times(sorted_csv->times.v[*(const uint32_t *)a], sorted_csv->times.v[*(const uint32_t *)b]);
}

/* Which slice each time of the table is; UINT32_MAX = none. 0 or -ENOENT, -ENOMEM. */
static int choose_times(const struct leaf_csv *csv, uint32_t **ret_slice, size_t *ret_slices)
{
	size_t n = csv->times.n, at;
	uint32_t *slice = calloc(n + 1, sizeof(*slice));
	_cleanup_free_ uint32_t *order = calloc(n + 1, sizeof(*order));

	*ret_slice = slice;
	*ret_slices = 1;
	if (!slice || !order)
		return -ENOMEM;
	if (!arg_time)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		order[i] = i;
		slice[i] = UINT32_MAX;
	}
	sorted_csv = csv;
	qsort(order, n, sizeof(*order), by_time);
	for (at = 0; at + 1 < n && (!arg_at || strcmp(csv->times.v[order[at]], arg_at) != 0); at++)
		;
	if (!n || (arg_at && strcmp(csv->times.v[order[at]], arg_at) != 0))
		return -ENOENT;
	*ret_slices = (at < arg_past ? at : arg_past) + 1;
	for (size_t k = 0; k < *ret_slices; k++)
		slice[order[at - k]] = (uint32_t)(*ret_slices - 1 - k);
	return 0;
}

struct placed {
	const uint32_t *codes;
	uint32_t row;
};

static size_t sorted_attributes;

static int by_codes(const void *a, const void *b)
{
	return memcmp(((const struct placed *)a)->codes, ((const struct placed *)b)->codes, sorted_attributes * sizeof(uint32_t));
}

static int cut_allocate(struct cut *c, const struct leaf_csv *csv, size_t rows)
{
	size_t cells = c->slices * rows + 1;

	c->codes = calloc(rows * csv->attributes.n + 1, sizeof(*c->codes));
	c->numerator = calloc(cells, sizeof(*c->numerator));
	c->denominator = calloc(cells, sizeof(*c->denominator));
	c->expected = calloc(rows + 1, sizeof(*c->expected));
	return c->codes && c->numerator && c->denominator && c->expected ? 0 : -ENOMEM;
}

static void add_row(struct cut *c, const struct leaf_row *row, uint32_t slice, size_t leaf, size_t leaves)
{
	size_t at = slice * leaves + leaf;

	if (isnan(c->numerator[at]))
		c->numerator[at] = c->denominator[at] = 0;
	c->numerator[at] += row->number[LEAF_NUMERATOR];
	c->denominator[at] += row->number[LEAF_DENOMINATOR];
	if (slice == c->slices - 1 && arg_expected)
		c->expected[leaf] += row->number[LEAF_EXPECTED];
}

static size_t count_leaves(const struct placed *placed, size_t n)
{
	size_t leaves = 0;

	for (size_t i = 0; i < n; i++)
		leaves += i == 0 || by_codes(&placed[i], &placed[i - 1]) != 0;
	return leaves;
}

static int fill_cut(struct cut *c, const struct leaf_csv *csv, const uint32_t *slice, const struct placed *placed, size_t n)
{
	size_t a = csv->attributes.n, leaf = 0;

	c->n = count_leaves(placed, n);
	if (cut_allocate(c, csv, c->n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < c->slices * c->n; i++)
		c->numerator[i] = c->denominator[i] = NAN;
	for (size_t i = 0; i < n; i++) {
		const struct leaf_row *row = &csv->rows.v[placed[i].row];

		leaf += i > 0 && by_codes(&placed[i], &placed[i - 1]) != 0;
		memcpy(c->codes + leaf * a, placed[i].codes, a * sizeof(*c->codes));
		add_row(c, row, slice[row->time], leaf, c->n);
	}
	return 0;
}

static int make_cut(const struct leaf_csv *csv, struct cut *ret)
{
	_cleanup_free_ uint32_t *slice = NULL;
	_cleanup_free_ struct placed *placed = calloc(csv->rows.n + 1, sizeof(*placed));
	size_t n = 0;
	int e = choose_times(csv, &slice, &ret->slices);

	if (e < 0 || !placed)
		return e < 0 ? e : -ENOMEM;
	for (size_t i = 0; i < csv->rows.n; i++)
		if (slice[csv->rows.v[i].time] != UINT32_MAX)
			placed[n++] = (struct placed){csv->codes.v + i * csv->attributes.n, (uint32_t)i};
	sorted_attributes = csv->attributes.n;
	qsort(placed, n, sizeof(*placed), by_codes);
	return fill_cut(ret, csv, slice, placed, n);
}

static int search(const struct leaf_csv *csv, bool ratio, struct attribute_findings *ret)
{
	_cleanup_(cut_free) struct cut c = {.quiet = {NAN, NAN, 0}};
	struct leaf_table t = {.attributes = (unsigned)csv->attributes.n, .counts = arg_counts || ratio};
	struct attribute_options o = {.depth = (unsigned)arg_depth, .most = (unsigned)arg_top};
	int e = make_cut(csv, &c);
	size_t last;

	if (e < 0)
		return e;
	last = (c.slices - 1) * c.n;
	if (!arg_expected)
		e = attributes_expect(c.numerator, ratio ? c.denominator : NULL, c.slices, c.n, c.expected, &c.quiet);
	if (e < 0)
		return e;
	for (size_t i = 0; i < c.n; i++)
		if (isnan(c.numerator[last + i]))
			c.numerator[last + i] = c.denominator[last + i] = 0;
	t.n = c.n;
	t.codes = c.codes;
	t.observed = c.numerator + last;
	t.expected = c.expected;
	t.exposure = ratio ? c.denominator + last : NULL;
	t.quiet = c.quiet;
	o.direction = strcmp(arg_direction, "up") == 0 ? CHANGE_UP : strcmp(arg_direction, "down") == 0 ? CHANGE_DOWN : CHANGE_AUTO;
	return attributes_search(&t, &o, ret);
}

static void print_amount(double value, double exposure)
{
	if (exposure > 0)
		printf("%.3g %%", 100 * value / exposure);
	else
		printf("%.6g", value);
}

static void print_element(const struct leaf_csv *csv, const struct element *e, size_t number, const char *word)
{
	printf("\n %2zu. ", number);
	for (size_t a = 0, n = 0; a < csv->attributes.n; a++)
		if (e->value[a] != ATTRIBUTE_ANY)
			printf("%s%s = %s", n++ ? " and " : "", csv->attributes.v[a].name, csv->attributes.v[a].values.v[e->value[a]]);
	printf("\n     explains %.0f %% of the %s: ", 100 * e->share, word);
	print_amount(e->observed, e->exposure);
	fputs(", expected ", stdout);
	print_amount(e->expected, e->exposure);
	printf("; %.0f %% of its %zu combinations moved\n", 100 * e->moved, e->leaves);
}

static void print_text(const struct leaf_csv *csv, const struct attribute_findings *f)
{
	const char *word = f->up ? "rise" : "fall";

	printf("%s %s: ", arg_metric, f->observed >= f->expected ? "rose" : "fell");
	print_amount(f->observed, f->exposure);
	fputs(", expected ", stdout);
	print_amount(f->expected, f->exposure);
	printf(" (%zu combinations of %zu attributes checked)\n", f->elements_tried, csv->attributes.n);
	for (size_t i = 0; i < f->elements.n; i++)
		print_element(csv, &f->elements.v[i], i + 1, word);
	if (!f->elements.n)
		puts(f->changed ? "\nThe cause is not among these attributes: no combination of them moved together."
				: "\nNothing changed beyond normal variation.");
	else
		printf("\nTogether they explain %.0f %% of the %s%s\n", 100 * f->explained, word,
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

static void print_json(const struct leaf_csv *csv, const struct attribute_findings *f)
{
	json_t *elements = json_array(), *root;

	for (size_t i = 0; i < f->elements.n; i++)
		json_array_append_new(elements, element_json(csv, &f->elements.v[i]));
	root = json_pack("{s:s, s:s, s:b, s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:o}", "schema", "whyslow.attributes/1", "metric",
			 arg_metric, "changed", f->changed, "direction", f->up ? "up" : "down", "observed", f->observed, "expected",
			 f->expected, "explained", f->explained, "moved_outside", f->moved_outside, "noise", f->noise, "tried",
			 (json_int_t)f->elements_tried, "bad_rows", (json_int_t)csv->bad, "elements", elements);
	json_print(root, JSON_INDENT(1), stdout);
}

static int read_table(const char *path, char *metric, struct leaf_csv *ret)
{
	_cleanup_fclose_ FILE *file = strcmp(path, "-") == 0 ? NULL : fopen(path, "re");
	_cleanup_free_ char *error = NULL;
	char *slash = strchr(metric, '/');
	struct leaf_columns columns = {.time = arg_time, .ignore = arg_ignore};
	int e;

	if (!file && strcmp(path, "-") != 0) {
		log_error("%s: %s", path, strerror(errno));
		return -errno;
	}
	if (slash)
		*slash = '\0';
	columns.number[LEAF_NUMERATOR] = metric;
	columns.number[LEAF_DENOMINATOR] = slash ? slash + 1 : NULL;
	columns.number[LEAF_EXPECTED] = arg_expected;
	e = leaf_csv_read(file ? file : stdin, path, &columns, ret, &error);
	if (e < 0)
		log_error("%s", error ? error : strerror(-e));
	else if (ret->bad)
		log_warning("%llu rows were skipped, the first one: %s", (unsigned long long)ret->bad, ret->first_bad);
	return e;
}

static int explain_failure(int e)
{
	if (e == -ENOENT)
		log_error("--at: the table has no such time");
	else if (e == -EINVAL)
		log_error("there is nothing to compare with: give --expected COLUMN, or --time COLUMN of a table with earlier times");
	else
		log_error("%s", strerror(-e));
	return EXIT_CANNOT;
}

static int run(struct common *common, int argc, char **argv)
{
	_cleanup_free_ char *metric = strdup(arg_metric);
	struct attribute_findings findings = {};
	struct leaf_csv csv = {};
	bool ratio = strchr(arg_metric, '/');
	int e, status;

	if (argc != 2 || !metric)
		return usage_error("spans attributes", "expected one CSV file ('-' = standard input)");
	if (arg_expected && ratio)
		return usage_error("spans attributes", "--expected requires a --metric of one column");
	if (read_table(argv[1], metric, &csv) < 0)
		return EXIT_CANNOT;
	e = search(&csv, ratio, &findings);
	if (e < 0)
		status = explain_failure(e);
	else if (common->json)
		print_json(&csv, &findings), status = EXIT_ANSWERED;
	else
		print_text(&csv, &findings), status = EXIT_ANSWERED;
	if (e == 0 && !findings.elements.n)
		status = EXIT_NOTHING_FOUND;
	attribute_findings_free(&findings);
	leaf_csv_free(&csv);
	return status;
}

const struct subverb spans_attributes = {"attributes", "TABLE.csv ", "which attribute values identify and explain a change", options, run, NULL};
