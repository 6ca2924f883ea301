#include "spans/compare/span-kinds.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "spans/compare/span-change.h"

#define KINDS_PER_VALUE 0.5 /* an attribute with more values than this times the kinds of requests names single ones */
#define REPLACED	0.02 /* of the candidate's requests have a value that the baseline knows */

void kind_table_free(struct kind_table *t)
{
	hmap_free(&t->key_of);
	hmap_free(&t->mark_keys);
	hmap_free(&t->of_calls);
	VEC_FREE(t->all);
	FREE_ALL(t->values, t->codes);
	for (size_t k = 0; k < KEYS_LOOKED; k++)
		free(t->texts[k]);
	free(t->v);
}

/* --- what there is ---------------------------------------------------------------------------------------------------- */

static size_t key_place(struct kind_table *t, uint32_t key)
{
	uintptr_t place = (uintptr_t)hmap_get(&t->key_of, key, 0);

	if (place)
		return place - 1;
	if (!key || t->n_keys == KEYS_MAX || hmap_put(&t->key_of, key, 0, (void *)(uintptr_t)(t->n_keys + 1)) < 0)
		return SIZE_MAX;
	t->keys[t->n_keys] = key;
	return t->n_keys++;
}

/* Requests with the same attributes, or one of the sample. */
struct row {
	const struct bucket *b;
	uint32_t set;
	const struct sampled_request *request; /* NULL: of a leaf */
	struct moments total;
	int side;
};

typedef int (*row_fn)(struct kind_table *t, const struct row *row, void *context);

/* "db query: shard", "goes through db query" */
static uint32_t mark_key(struct kind_table *t, const struct request_mark *m)
{
	uint32_t known = (uint32_t)(uintptr_t)hmap_get(&t->mark_keys, m->call, m->key);
	char text[NAME_TEXT_MAX];

	if (known)
		return known;
	snprintf(text, sizeof(text), m->key ? "%s: %s" : "goes through %s", names_get(t->f->names, m->call), names_get(t->f->names, m->key));
	known = names_text(t->f->names, text, strlen(text));
	if (known && (hmap_put(&t->mark_keys, m->call, m->key, (void *)(uintptr_t)known) < 0 || hmap_put(&t->of_calls, known, 0, t) < 0))
		return 0;
	return known;
}

bool kind_is_of_call(const struct kind_table *t, uint32_t key)
{
	return hmap_get(&t->of_calls, key, 0);
}

/* Calls `visit` for each attribute of a row: its own, the bucket's, which request it is, and those of its calls. */
static void each_attribute(struct kind_table *t, const struct row *row, void (*visit)(struct kind_table *, uint32_t, uint32_t, void *),
			   void *context)
{
	const struct attribute_set *s = names_get_set(t->f->names, row->set);
	const struct bucket *b = row->b;
	uint32_t yes = names_text(t->f->names, "yes", 3);

	for (uint32_t d = 0; d < t->f->n_dimensions; d++)
		if (b->values[d])
			visit(t, t->f->dimensions[d], b->values[d], context);
	visit(t, names_text(t->f->names, "request", 7), b->entry, context);
	for (uint32_t i = 0; i < s->n; i++)
		visit(t, s->v[i].key, s->v[i].value, context);
	for (size_t i = 0; row->request && i < row->request->marks.n; i++) {
		const struct request_mark *m = &row->request->marks.v[i];

		visit(t, mark_key(t, m), m->key ? m->value : yes, context);
	}
}

struct search_of_terms {
	const struct attribute *terms;
	size_t n;
	uint64_t wrong, there; /* a bit a term */
};

static void check_term(struct kind_table *t, uint32_t key, uint32_t value, void *context)
{
	struct search_of_terms *s = context;

	(void)t;
	for (size_t i = 0; i < s->n; i++)
		if (s->terms[i].key == key) {
			s->there |= (uint64_t)1 << i;
			s->wrong |= (uint64_t)(s->terms[i].value != value) << i;
		}
}

bool kind_agrees(struct kind_table *t, const struct bucket *b, const struct sampled_request *r, const struct attribute *terms, size_t n)
{
	struct search_of_terms s = {.terms = terms, .n = n};
	const struct row row = {.b = b, .set = r->set, .request = r};

	each_attribute(t, &row, check_term, &s);
	for (size_t i = 0; i < n; i++)
		if (terms[i].value && !(s.there >> i & 1))
			return false;
	return !s.wrong;
}

static void count_key(struct kind_table *t, uint32_t key, uint32_t value, void *context)
{
	(void)value;
	(void)context;
	key_place(t, key);
}

static void put_value(struct kind_table *t, uint32_t key, uint32_t value, void *context)
{
	size_t place = key_place(t, key);

	if (place != SIZE_MAX)
		((uint32_t *)context)[place] = value;
}

static int side_of(const struct forest *f, const struct forest_group *g)
{
	const struct attribute_set *set = names_get_set(f->names, g->versions);

	return set->n == 1 && !strcmp(names_get(f->names, set->v[0].value), span_side_name(SIDE_CANDIDATE));
}

int kind_side_of_group(const void *forest, const struct bucket *b, const struct forest_group *g, const struct sampled_request *r)
{
	(void)b;
	(void)r;
	return side_of(forest, g);
}

/* Calls `each` for what the query asks for. */
static int each_row(struct kind_table *t, row_fn each, void *context)
{
	const struct forest *f = t->f;
	int r = 0;

	for (size_t i = 0; i < f->buckets.n; i++)
		for (size_t j = 0; j < f->buckets.v[i].groups.n; j++) {
			const struct bucket *b = &f->buckets.v[i];
			const struct forest_group *g = &b->groups.v[j];

			for (size_t k = 0; r == 0 && !t->query->side && k < g->leaves.n; k++)
				r = each(t, &(struct row){b, g->leaves.v[k].set, NULL, g->leaves.v[k].total, side_of(f, g)}, context);
			for (size_t k = 0; r == 0 && t->query->side && k < g->requests.n; k++) {
				struct row row = {b, g->requests.v[k].set, &g->requests.v[k], {}, t->query->side(t->query->state, b, g, &g->requests.v[k])};

				moments_add(&row.total, (uint64_t)row.request->duration, row.request->weight);
				r = row.side >= 0 ? each(t, &row, context) : 0;
			}
		}
	return r;
}

static int count_row(struct kind_table *t, const struct row *row, void *rows)
{
	each_attribute(t, row, count_key, NULL);
	(*(size_t *)rows)++;
	return 0;
}

static int add_row(struct kind_table *t, const struct row *of, void *context)
{
	struct hmap *seen = context;
	uint32_t *row = t->values + t->all.n * t->n_keys;
	uint64_t key, key2;
	uintptr_t place;

	memset(row, 0, t->n_keys * sizeof(*row));
	each_attribute(t, of, put_value, row);
	key = hmap_hash_bytes(row, t->n_keys * sizeof(*row));
	key2 = key * 0x9e3779b97f4a7c15ull ^ row[0];
	place = (uintptr_t)hmap_get(seen, key, key2);
	if (!place) {
		if (VEC_PUSH(t->all, (struct kind){}) < 0 || hmap_put(seen, key, key2, (void *)(uintptr_t)t->all.n) < 0)
			return -ENOMEM;
		place = t->all.n;
	}
	moments_merge(&t->all.v[place - 1].side[of->side], &of->total);
	return 0;
}

static int gather(struct kind_table *t)
{
	_cleanup_(hmap_free) struct hmap seen = {};
	size_t rows = 0;
	int r = each_row(t, count_row, &rows);

	t->values = r == 0 ? calloc((rows + 1) * (t->n_keys + 1), sizeof(*t->values)) : NULL;
	if (!t->values)
		return -ENOMEM;
	return each_row(t, add_row, &seen);
}

/* ns, of all requests that these stand for */
double kind_time(const struct moments *m)
{
	return (double)m->sum / (double)SPAN_WEIGHT_ONE;
}

/* --- which attributes ------------------------------------------------------------------------------------------------- */

struct value_sums {
	uint32_t text;
	double count[2], sum[2];
};

struct key_sums {
	VEC(struct value_sums) values;
	double gain; /* how much of the rise its values tell apart */
};

static int sum_values(const struct kind_table *t, size_t key, struct key_sums *ret)
{
	_cleanup_(hmap_free) struct hmap places = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->all.n; i++) {
		uint32_t text = t->values[i * t->n_keys + key];
		uintptr_t place = (uintptr_t)hmap_get(&places, text, 0);

		if (!place) {
			r = VEC_PUSH(ret->values, (struct value_sums){.text = text});
			r = r ?: hmap_put(&places, text, 0, (void *)(uintptr_t)ret->values.n);
			place = ret->values.n;
		}
		for (int side = 0; r == 0 && side < 2; side++) {
			ret->values.v[place - 1].count[side] += moments_count(&t->all.v[i].side[side]);
			ret->values.v[place - 1].sum[side] += kind_time(&t->all.v[i].side[side]);
		}
	}
	return r;
}

static double known_share(const struct key_sums *k)
{
	double known = 0, all = 0;

	for (size_t i = 0; i < k->values.n; i++) {
		all += k->values.v[i].count[1];
		known += k->values.v[i].count[0] > 0 ? k->values.v[i].count[1] : 0;
	}
	return all > 0 ? known / all : 0;
}

/* By how much the values' rises differ from the rise of all. */
static double gain_of(const struct key_sums *k, double factor)
{
	double gain = 0;

	VEC_EACH(v, k->values)
		if (v->count[0] > 0 && v->count[1] > 0)
			gain += fabs(v->sum[1] - factor * v->sum[0] / v->count[0] * v->count[1]);
	return gain;
}

/* How many requests of the second side its values have beyond that side's share of all: how well they tell the sides apart. */
static double share_gain(const struct key_sums *k)
{
	double count[2] = {}, gain = 0;

	for (size_t i = 0; i < k->values.n; i++)
		for (int side = 0; side < 2; side++)
			count[side] += k->values.v[i].count[side];
	for (size_t i = 0; i < k->values.n; i++) {
		const double *own = k->values.v[i].count;

		gain += fabs(own[1] - (own[0] + own[1]) * count[1] / (count[0] + count[1]));
	}
	return gain;
}

/* The same partition of the requests as an attribute that is looked at already. */
static bool is_alias(const struct kind_table *t, size_t key)
{
	for (size_t k = 0; k < t->n_looked; k++) {
		struct hmap there = {}, back = {};
		bool same = true;

		for (size_t i = 0; same && i < t->all.n; i++) {
			uint32_t a = t->values[i * t->n_keys + t->looked[k]] + 1, b = t->values[i * t->n_keys + key] + 1;
			uintptr_t x = (uintptr_t)hmap_get(&there, a, 0), y = (uintptr_t)hmap_get(&back, b, 0);

			same = (!x || x == b) && (!y || y == a);
			if (same && (hmap_put(&there, a, 0, (void *)(uintptr_t)b) < 0 || hmap_put(&back, b, 0, (void *)(uintptr_t)a) < 0))
				same = false;
		}
		hmap_free(&there);
		hmap_free(&back);
		if (same)
			return true;
	}
	return false;
}

/* "agent version = 1.7.0 (1.6.0 and 3 others before)": the values with most requests. */
static char *replacement(const struct kind_table *t, size_t key, const struct key_sums *k)
{
	const struct value_sums *most[2] = {};
	_cleanup_str_ struct str text = {};
	size_t others[2] = {};

	for (size_t i = 0; i < k->values.n; i++)
		for (int side = 0; side < 2; side++) {
			const struct value_sums *v = &k->values.v[i];

			others[side] += most[side] && v->count[side] > 0;
			if (v->count[side] > (most[side] ? most[side]->count[side] : 0))
				most[side] = v;
		}
	for (int side = 1; side >= 0; side--) {
		const char *value = most[side] && most[side]->text ? names_get(t->f->names, most[side]->text) : "(none)";

		str_printf(&text, side ? "%s = %s" : "%s (%s", side ? names_get(t->f->names, t->keys[key]) : "", value);
		if (others[side])
			str_printf(&text, " and %zu other%s", others[side], others[side] > 1 ? "s" : "");
	}
	str_puts(&text, " before)");
	return text.error ? NULL : TAKE(text.data);
}

static void insert_looked(struct kind_table *t, const struct key_sums *sums, uint32_t key)
{
	size_t at = t->n_looked;

	if (at == KEYS_LOOKED && sums[key].gain <= sums[t->looked[at - 1]].gain)
		return;
	at -= at == KEYS_LOOKED;
	for (; at > 0 && sums[t->looked[at - 1]].gain < sums[key].gain; at--)
		t->looked[at] = t->looked[at - 1];
	t->looked[at] = key;
	t->n_looked += t->n_looked < KEYS_LOOKED;
}

static double rise_of(const struct kind_table *t)
{
	double sum[2] = {}, count[2] = {};

	for (size_t i = 0; i < t->all.n; i++)
		for (int side = 0; side < 2; side++) {
			sum[side] += kind_time(&t->all.v[i].side[side]);
			count[side] += moments_count(&t->all.v[i].side[side]);
		}
	return sum[0] > 0 && count[1] > 0 ? sum[1] / count[1] / (sum[0] / count[0]) : 1;
}

/* "cart version", "service.version", "GET /cart: service.version" */
static bool is_of_versions(const struct kind_table *t, uint32_t key)
{
	const char *text = names_get(t->f->names, t->keys[key]);
	size_t n = strlen(text), m = strlen("version");

	return n > m && !strcmp(text + n - m, "version");
}

static int choose_keys(struct kind_table *t, struct span_causes *ret)
{
	_cleanup_free_ struct key_sums *sums = calloc(t->n_keys + 1, sizeof(*sums));
	double factor = rise_of(t);
	int r = sums ? 0 : -ENOMEM;

	for (uint32_t k = 0; r == 0 && k < t->n_keys; k++) {
		size_t n;

		r = sum_values(t, k, &sums[k]);
		n = sums[k].values.n;
		if (r < 0 || n < 2 || (t->query->without_versions && is_of_versions(t, k)))
			continue;
		if (!t->query->shares && known_share(&sums[k]) < REPLACED) {
			char *text = replacement(t, k, &sums[k]);

			r = text ? VEC_PUSH(ret->replaced, text) : -ENOMEM;
			continue;
		}
		sums[k].gain = t->query->shares ? share_gain(&sums[k]) : gain_of(&sums[k], factor);
		if ((n > 16 && (double)n > KINDS_PER_VALUE * (double)t->all.n) || is_alias(t, k))
			continue;
		insert_looked(t, sums, k);
	}
	for (size_t k = 0; r == 0 && k < t->n_looked; k++) {
		char *text = strdup(names_get(t->f->names, t->keys[t->looked[k]]));

		r = text ? VEC_PUSH(ret->looked_at, text) : -ENOMEM;
	}
	for (size_t k = 0; sums && k < t->n_keys; k++)
		VEC_FREE(sums[k].values);
	return r;
}

/* --- kinds of requests by those attributes ---------------------------------------------------------------------------- */

static uint32_t code_of(struct kind_table *t, size_t k, uint32_t text, struct hmap *codes)
{
	uintptr_t known = (uintptr_t)hmap_get(&codes[k], text, 1);

	if (!known) {
		known = t->n_texts[k] + 1;
		if (hmap_put(&codes[k], text, 1, (void *)known) < 0)
			return 0;
		t->texts[k][t->n_texts[k]++] = text;
	}
	return (uint32_t)known - 1;
}

static int project(struct kind_table *t)
{
	struct hmap codes[KEYS_LOOKED] = {}, seen = {};
	size_t n = t->all.n;
	int r = 0;

	t->codes = calloc(n * t->n_looked + 1, sizeof(*t->codes));
	t->v = calloc(n + 1, sizeof(*t->v));
	if (!t->codes || !t->v)
		return -ENOMEM;
	for (size_t k = 0; k < t->n_looked; k++)
		if (!(t->texts[k] = calloc(n + 1, sizeof(*t->texts[k]))))
			return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		uint32_t *row = t->codes + t->n * t->n_looked;
		uint64_t key;
		uintptr_t place;

		for (size_t k = 0; k < t->n_looked; k++)
			row[k] = code_of(t, k, t->values[i * t->n_keys + t->looked[k]], codes);
		key = hmap_hash_bytes(row, t->n_looked * sizeof(*row));
		place = (uintptr_t)hmap_get(&seen, key, 0);
		if (!place) {
			r = hmap_put(&seen, key, 0, (void *)(uintptr_t)++t->n);
			place = t->n;
		}
		for (int side = 0; r == 0 && side < 2; side++)
			moments_merge(&t->v[place - 1].side[side], &t->all.v[i].side[side]);
	}
	for (size_t k = 0; k < t->n_looked; k++)
		hmap_free(&codes[k]);
	hmap_free(&seen);
	return r;
}

int kind_table_fill(const struct forest *f, const struct kind_query *query, struct kind_table *ret, struct span_causes *into)
{
	int r;

	*ret = (struct kind_table){.f = f, .query = query};
	r = gather(ret);
	r = r ?: choose_keys(ret, into);
	return r == 0 && ret->n_looked ? project(ret) : r;
}
