#include "spans/attribute/leaf-search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

/* The table, cut to leaves and slices of time; the last slice is the one asked about. */
struct cut {
	size_t n, slices;
	uint32_t *codes;
	double *numerator, *denominator, *expected; /* slices x n; expected: n */
	struct leaf_quiet quiet;
};

static void cut_free(struct cut *c)
{
	FREE_ALL(c->codes, c->numerator, c->denominator, c->expected);
}

static int compare_times(const char *a, const char *b)
{
	char *end_a, *end_b;
	double x = strtod(a, &end_a), y = strtod(b, &end_b);

	if (!*end_a && !*end_b && x != y)
		return x < y ? -1 : 1;
	return strcmp(a, b);
}

static int by_time(const void *a, const void *b, void *table)
{
	const struct leaf_csv *csv = table;

	return compare_times(csv->times.v[*(const uint32_t *)a], csv->times.v[*(const uint32_t *)b]);
}

/* Which slice each time of the table is; UINT32_MAX = none. 0 or -ENOENT, -ENOMEM. */
static int choose_times(const struct leaf_csv *csv, const struct leaf_search *q, uint32_t **ret_slice, size_t *ret_slices)
{
	size_t n = csv->times.n, at;
	uint32_t *slice = calloc(n + 1, sizeof(*slice));
	_cleanup_free_ uint32_t *order = calloc(n + 1, sizeof(*order));

	*ret_slice = slice;
	*ret_slices = 1;
	if (!slice || !order)
		return -ENOMEM;
	if (!q->by_time)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		order[i] = i;
		slice[i] = UINT32_MAX;
	}
	qsort_r(order, n, sizeof(*order), by_time, (void *)csv);
	for (at = 0; at + 1 < n && (!q->at || strcmp(csv->times.v[order[at]], q->at) != 0); at++)
		;
	if (!n || (q->at && strcmp(csv->times.v[order[at]], q->at) != 0))
		return -ENOENT;
	*ret_slices = (at < q->past ? at : q->past) + 1;
	for (size_t k = 0; k < *ret_slices; k++)
		slice[order[at - k]] = (uint32_t)(*ret_slices - 1 - k);
	return 0;
}

struct placed {
	const uint32_t *codes;
	uint32_t row;
};

static int by_codes(const void *a, const void *b, void *attributes)
{
	return memcmp(((const struct placed *)a)->codes, ((const struct placed *)b)->codes, *(const size_t *)attributes * sizeof(uint32_t));
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
	if (slice == c->slices - 1 && !isnan(row->number[LEAF_EXPECTED]))
		c->expected[leaf] += row->number[LEAF_EXPECTED];
}

static size_t count_leaves(const struct placed *placed, size_t n, size_t attributes)
{
	size_t leaves = 0;

	for (size_t i = 0; i < n; i++)
		leaves += i == 0 || by_codes(&placed[i], &placed[i - 1], &attributes) != 0;
	return leaves;
}

static int fill_cut(struct cut *c, const struct leaf_csv *csv, const uint32_t *slice, const struct placed *placed, size_t n)
{
	size_t a = csv->attributes.n, leaf = 0;

	c->n = count_leaves(placed, n, a);
	if (cut_allocate(c, csv, c->n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < c->slices * c->n; i++)
		c->numerator[i] = c->denominator[i] = NAN;
	for (size_t i = 0; i < n; i++) {
		const struct leaf_row *row = &csv->rows.v[placed[i].row];

		leaf += i > 0 && by_codes(&placed[i], &placed[i - 1], &a) != 0;
		memcpy(c->codes + leaf * a, placed[i].codes, a * sizeof(*c->codes));
		add_row(c, row, slice[row->time], leaf, c->n);
	}
	return 0;
}

static int make_cut(const struct leaf_csv *csv, const struct leaf_search *q, struct cut *ret)
{
	size_t attributes = csv->attributes.n;
	_cleanup_free_ uint32_t *slice = NULL;
	_cleanup_free_ struct placed *placed = calloc(csv->rows.n + 1, sizeof(*placed));
	size_t n = 0;
	int e = choose_times(csv, q, &slice, &ret->slices);

	if (e < 0 || !placed)
		return e < 0 ? e : -ENOMEM;
	for (size_t i = 0; i < csv->rows.n; i++)
		if (slice[csv->rows.v[i].time] != UINT32_MAX)
			placed[n++] = (struct placed){csv->codes.v + i * csv->attributes.n, (uint32_t)i};
	qsort_r(placed, n, sizeof(*placed), by_codes, &attributes);
	return fill_cut(ret, csv, slice, placed, n);
}

int leaf_search_run(const struct leaf_csv *csv, const struct leaf_search *q, struct attribute_findings *ret)
{
	_cleanup_(cut_free) struct cut c = {.quiet = {NAN, NAN, 0}};
	struct leaf_table t = {.attributes = (unsigned)csv->attributes.n, .counts = q->counts || q->ratio};
	struct attribute_options o = {.depth = q->depth, .most = q->most, .direction = q->direction};
	int e = make_cut(csv, q, &c);
	size_t last;

	if (e < 0)
		return e;
	last = (c.slices - 1) * c.n;
	if (!q->expected)
		e = attributes_expect(c.numerator, q->ratio ? c.denominator : NULL, c.slices, c.n, c.expected, &c.quiet);
	if (e < 0)
		return e;
	for (size_t i = 0; i < c.n; i++)
		if (isnan(c.numerator[last + i]))
			c.numerator[last + i] = c.denominator[last + i] = 0;
	t.n = c.n;
	t.codes = c.codes;
	t.observed = c.numerator + last;
	t.expected = c.expected;
	t.exposure = q->ratio ? c.denominator + last : NULL;
	t.quiet = c.quiet;
	return attributes_search(&t, &o, ret);
}
