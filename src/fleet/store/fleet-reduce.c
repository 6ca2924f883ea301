#include "fleet/store/fleet-reduce.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

#define ROWS ENGINE_ROWS
#define V    ENGINE_VALUE
/* The value's bits as a number that is ordered as the values are; -0 and 0 are one value. */
#define WITH_KEY "WITH reinterpretAsUInt32(reinterpretAsString(if(value = 0, toFloat32(0), toFloat32(value)))) AS bits, " \
		 "toUInt64(bitXor(bits, if(bits >= 2147483648, 4294967295, 2147483648))) AS key "

#define KEY_BITS   32
#define ROUND_BITS 4
#define FETCH_MAX  64 /* values of a counter that are cheaper fetched than searched on */

int fleet_engine_query(struct fleet_engine *e, const char *sql, struct fleet_span span, clickhouse_row_fn *row, void *data)
{
	const struct clickhouse_parameter p[] = {
		{"table", {.text = e->table}}, {"from", {.integer = span.from}}, {"to", {.integer = span.to}}, {}};
	int r;

	free(e->error);
	e->error = NULL;
	r = clickhouse_query(e->clickhouse, sql, p, row, data);
	return r < 0 && r != -ENOMEM && !e->error ? str_fail_again(&e->error, r, "%s", clickhouse_error(e->clickhouse)) : r;
}

void fleet_engine_put_name(struct str *sql, const char *name)
{
	str_putc(sql, '\'');
	for (; *name; name++) {
		if (*name == '{')
			str_puts(sql, "\\x7B");
		else if (*name == '\'' || *name == '\\')
			str_printf(sql, "\\%c", *name);
		else
			str_putc(sql, *name);
	}
	str_putc(sql, '\'');
}

void fleet_engine_put_only(const struct fleet_engine *e, int only, struct str *sql)
{
	if (only < 0)
		return;
	str_puts(sql, " AND counter = ");
	fleet_engine_put_name(sql, e->fleet->counters.v[only].name);
}

static void put_transform(struct str *sql, const char *column, const char *const *first, size_t stride, size_t n, const char *alias)
{
	str_printf(sql, "transform(%s, [", column);
	for (size_t i = 0; i < n; i++) {
		str_puts(sql, i ? "," : "");
		fleet_engine_put_name(sql, *(const char *const *)((const char *)first + i * stride));
	}
	str_puts(sql, "], [");
	for (size_t i = 0; i < n; i++)
		str_printf(sql, i ? ",%zu" : "%zu", i);
	str_printf(sql, "], -1) AS %s", alias);
}

void fleet_engine_put_indices(const struct fleet_engine *e, bool servers, struct str *sql)
{
	const struct fleet *f = e->fleet;

	if (servers) {
		put_transform(sql, "server", (const char *const *)&f->servers.v[0].name, sizeof(f->servers.v[0]), f->servers.n, "s");
		str_puts(sql, ", ");
	}
	put_transform(sql, "counter", (const char *const *)&f->counters.v[0].name, sizeof(f->counters.v[0]), f->counters.n, "c");
}

int fleet_engine_index(const char *field, size_t n)
{
	long index = field ? strtol(field, NULL, 10) : -1;

	return index < 0 || (size_t)index >= n ? -ENOENT : (int)index;
}

/* --- moments --- */

struct moments_read {
	const struct fleet *fleet;
	struct counter_moments *to; /* sd holds the sum of squared differences while parts are added */
};

/* One shard's part of a counter (Chan's formula). */
static void add_moments(struct counter_moments *to, const struct counter_moments *part)
{
	double n = (double)(to->n + part->n), difference = part->mean - to->mean;

	if (!to->n) {
		*to = *part;
		return;
	}
	to->sd += part->sd + difference * difference * (double)to->n * (double)part->n / n;
	to->mean += difference * (double)part->n / n;
	to->n += part->n;
	to->min = fmin(to->min, part->min);
	to->max = fmax(to->max, part->max);
}

static int take_moments(void *data, size_t n, char *const *f)
{
	struct moments_read *m = data;
	int c = n == 6 ? fleet_engine_index(f[0], m->fleet->counters.n) : -ENOENT;
	struct counter_moments part;

	if (c < 0)
		return 0;
	part = (struct counter_moments){strtoull(f[1], NULL, 10), strtod(f[2], NULL), strtod(f[3], NULL), strtod(f[4], NULL),
					strtod(f[5], NULL)};
	part.sd *= (double)part.n;
	if (part.n)
		add_moments(&m->to[c], &part);
	return 0;
}

/* Shards are added up here: 18.16 cannot send the states of its stable variance. */
int fleet_reduce_moments(struct fleet_engine *e, struct fleet_span span, int only,
			 struct counter_moments *ret)
{
	struct moments_read m = {e->fleet, ret};
	_cleanup_str_ struct str sql = {};
	int r;

	memset(ret, 0, e->fleet->counters.n * sizeof(*ret));
	str_puts(&sql, "SELECT ");
	fleet_engine_put_indices(e, false, &sql);
	str_puts(&sql, ", count(), avg(" V "), varPopStable(" V "), min(" V "), max(" V ")" ROWS);
	fleet_engine_put_only(e, only, &sql);
	str_puts(&sql, " GROUP BY c SETTINGS distributed_group_by_no_merge = 1");
	r = sql.error ? sql.error : fleet_engine_query(e, sql.data, span, take_moments, &m);
	for (size_t c = 0; r == 0 && c < e->fleet->counters.n; c++)
		ret[c].sd = ret[c].n ? sqrt(ret[c].sd / (double)ret[c].n) : NAN;
	return r;
}

/* --- order statistics of all values, exactly --- */

/* One searched for: the k-th smallest value of a counter. */
struct target {
	int counter;
	uint64_t k, below; /* values below those with the prefix */
	uint64_t prefix;   /* the key's highest bits, as far as they are known */
	uint64_t within;   /* values with that prefix */
	bool found;
	double value;
};

struct count_row {
	int counter;
	uint64_t prefix, n;
};

struct value_row {
	int counter;
	uint64_t prefix;
	double *v;
	size_t n;
};

struct search {
	struct fleet_engine *e;
	struct fleet_span span;
	VEC(struct target) targets;
	VEC(struct count_row) counts;
	VEC(struct value_row) values;
};

static double value_of_key(uint64_t key)
{
	uint32_t bits = key >= 0x80000000u ? (uint32_t)key ^ 0x80000000u : ~(uint32_t)key;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return (double)value;
}

static int take_count(void *data, size_t n, char *const *f)
{
	struct search *s = data;
	int c = n == 3 ? fleet_engine_index(f[0], s->e->fleet->counters.n) : -ENOENT;

	if (c < 0)
		return 0;
	return VEC_PUSH(s->counts, (struct count_row){c, strtoull(f[1], NULL, 10), strtoull(f[2], NULL, 10)});
}

static int compare_counts(const void *a, const void *b)
{
	const struct count_row *x = a, *y = b;

	if (x->counter != y->counter)
		return x->counter < y->counter ? -1 : 1;
	return x->prefix < y->prefix ? -1 : x->prefix > y->prefix;
}

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* " AND (c, prefix) IN (...)" of all that are not found, each once. False if there are none. */
static bool put_prefixes(const struct search *s, unsigned shift, struct str *sql)
{
	bool any = false;

	str_printf(sql, " AND (c, bitShiftRight(key, %u)) IN (", shift);
	for (size_t i = 0; i < s->targets.n; i++) {
		const struct target *t = &s->targets.v[i];
		bool same = i && t[-1].counter == t->counter && t[-1].prefix == t->prefix && !t[-1].found;

		if (t->found || same)
			continue;
		str_printf(sql, "%s(%d,%" PRIu64 ")", any ? "," : "", t->counter, t->prefix);
		any = true;
	}
	str_putc(sql, ')');
	return any;
}

/* Which of the counted prefixes the target lies in. */
static int narrow(const struct search *s, struct target *t)
{
	for (size_t i = 0; i < s->counts.n; i++) {
		const struct count_row *c = &s->counts.v[i];

		if (c->counter != t->counter || c->prefix >> ROUND_BITS != t->prefix)
			continue;
		if (t->k < t->below + c->n) {
			t->prefix = c->prefix;
			t->within = c->n;
			return 0;
		}
		t->below += c->n;
	}
	return str_fail_again(&s->e->error, -EAGAIN, "the table changed while it was read: ask for a time that has passed (--to)");
}

/* The one counter that is searched, or -1 for several. */
static int only_counter(const struct search *s)
{
	int first = s->targets.v[0].counter;

	return s->targets.v[s->targets.n - 1].counter == first ? first : -1;
}

static int count_round(struct search *s, unsigned shift)
{
	_cleanup_str_ struct str sql = {};
	int r;

	str_puts(&sql, WITH_KEY "SELECT ");
	fleet_engine_put_indices(s->e, false, &sql);
	str_printf(&sql, ", toUInt32(bitShiftRight(key, %u)) AS prefix, count()" ROWS, shift);
	if (shift + ROUND_BITS == KEY_BITS)
		fleet_engine_put_only(s->e, only_counter(s), &sql);
	else if (!put_prefixes(s, shift + ROUND_BITS, &sql))
		return 0;
	str_puts(&sql, " GROUP BY c, prefix");
	s->counts.n = 0;
	r = sql.error ? sql.error : fleet_engine_query(s->e, sql.data, s->span, take_count, s);
	if (r == 0 && s->counts.n)
		qsort(s->counts.v, s->counts.n, sizeof(*s->counts.v), compare_counts);
	for (size_t i = 0; r == 0 && i < s->targets.n; i++)
		if (!s->targets.v[i].found)
			r = narrow(s, &s->targets.v[i]);
	return r;
}

/* "[1,2.5]" */
static int take_value_row(void *data, size_t n, char *const *f)
{
	struct search *s = data;
	int c = n == 3 ? fleet_engine_index(f[0], s->e->fleet->counters.n) : -ENOENT;
	struct value_row row = {.counter = c};
	char *at;

	if (c < 0)
		return 0;
	row.prefix = strtoull(f[1], NULL, 10);
	row.v = malloc((strlen(f[2]) / 2 + 1) * sizeof(*row.v));
	if (!row.v || VEC_GROW(s->values) < 0) {
		free(row.v);
		return -ENOMEM;
	}
	for (at = f[2] + 1; *at && *at != ']'; at += *at == ',')
		row.v[row.n++] = (double)strtof(at, &at);
	qsort(row.v, row.n, sizeof(*row.v), compare_values);
	s->values.v[s->values.n++] = row;
	return 0;
}

static bool all_few(const struct search *s)
{
	for (size_t i = 0; i < s->targets.n; i++)
		if (!s->targets.v[i].found && s->targets.v[i].within > FETCH_MAX)
			return false;
	return true;
}

static int fetch_round(struct search *s, unsigned shift)
{
	_cleanup_str_ struct str sql = {};
	int r = 0;

	str_puts(&sql, WITH_KEY "SELECT ");
	fleet_engine_put_indices(s->e, false, &sql);
	str_printf(&sql, ", toUInt32(bitShiftRight(key, %u)) AS prefix, groupArray(toFloat32(value))" ROWS, shift);
	if (!put_prefixes(s, shift, &sql))
		return 0;
	str_puts(&sql, " GROUP BY c, prefix");
	r = sql.error ? sql.error : fleet_engine_query(s->e, sql.data, s->span, take_value_row, s);
	for (size_t i = 0; r == 0 && i < s->targets.n; i++) {
		struct target *t = &s->targets.v[i];

		for (size_t k = 0; k < s->values.n; k++) {
			const struct value_row *row = &s->values.v[k];

			if (row->counter == t->counter && row->prefix == t->prefix && t->k - t->below < row->n && !t->found) {
				t->value = row->v[t->k - t->below];
				t->found = true;
			}
		}
		if (!t->found)
			r = str_fail_again(&s->e->error, -EAGAIN, "the table changed while it was read: ask for a time that has passed (--to)");
	}
	return r;
}

static int search_all(struct search *s)
{
	unsigned shift = KEY_BITS;
	int r = 0;

	while (r == 0 && shift > 0) {
		shift -= ROUND_BITS;
		r = count_round(s, shift);
		if (r == 0 && shift && all_few(s))
			return fetch_round(s, shift);
	}
	for (size_t i = 0; r == 0 && i < s->targets.n; i++)
		s->targets.v[i].value = value_of_key(s->targets.v[i].prefix);
	return r;
}

static void search_free(struct search *s)
{
	for (size_t i = 0; i < s->values.n; i++)
		free(s->values.v[i].v);
	VEC_FREE(s->values);
	VEC_FREE(s->counts);
	VEC_FREE(s->targets);
}

/* The two neighbors between which a statistic of n values lies, and how far it is to the second. */
static double neighbours(const struct fleet_question *q, uint64_t n, uint64_t k[2])
{
	double h = (double)(n - 1) * q->quantile;

	if (q->statistic == FLEET_MEDIAN) {
		k[0] = (n - 1) / 2;
		k[1] = n / 2;
		return 0.5;
	}
	k[0] = (uint64_t)floor(h);
	k[1] = k[0] + 1 < n ? k[0] + 1 : n - 1;
	return h - floor(h);
}

static double between(double low, double high, double part)
{
	return part == 0.5 ? (low + high) / 2 : low + part * (high - low);
}

static int search_statistic(struct search *s, const struct fleet_question *q, const struct counter_moments *m, double *ret)
{
	uint64_t k[2];
	int r = 0;

	for (size_t c = 0; c < s->e->fleet->counters.n && r == 0; c++) {
		if (!m[c].n)
			continue;
		neighbours(q, m[c].n, k);
		r = VEC_PUSH(s->targets, (struct target){.counter = (int)c, .k = k[0]});
		if (r == 0)
			r = VEC_PUSH(s->targets, (struct target){.counter = (int)c, .k = k[1]});
	}
	r = r < 0 || !s->targets.n ? r : search_all(s);
	for (size_t i = 0; r == 0 && i < s->targets.n; i += 2) {
		const struct target *t = &s->targets.v[i];

		ret[t->counter] = between(t[0].value, t[1].value, neighbours(q, m[t->counter].n, k));
	}
	return r;
}

int fleet_reduce_statistic(struct fleet_engine *e, const struct fleet_question *q, struct fleet_span span,
		     const struct counter_moments *m, double *ret)
{
	struct search s = {.e = e, .span = span};
	int r = 0;

	for (size_t c = 0; c < e->fleet->counters.n; c++)
		ret[c] = m[c].n && q->statistic == FLEET_AVERAGE ? m[c].mean : NAN;
	if (q->statistic != FLEET_AVERAGE)
		r = search_statistic(&s, q, m, ret);
	search_free(&s);
	return r;
}

/* --- of each server --- */

void fleet_reduce_put_statistic(const struct fleet_question *q, struct str *sql)
{
	if (q->statistic == FLEET_AVERAGE)
		str_puts(sql, "avg(" V ")");
	else if (q->statistic == FLEET_MEDIAN)
		/* quantileExact takes the upper of two middles; of the negated values that is the lower one */
		str_puts(sql, "(quantileExact(0.5)(" V ") - quantileExact(0.5)(-(" V "))) / 2");
	else
		str_printf(sql,
			   "(arraySort(groupArray(" V ")) AS sorted)[toUInt64(floor((length(sorted) - 1) * %.17g)) + 1] +"
			   " ((length(sorted) - 1) * %.17g - floor((length(sorted) - 1) * %.17g)) *"
			   " (sorted[least(toUInt64(floor((length(sorted) - 1) * %.17g)) + 2, length(sorted))] -"
			   " sorted[toUInt64(floor((length(sorted) - 1) * %.17g)) + 1])",
			   q->quantile, q->quantile, q->quantile, q->quantile, q->quantile);
}

struct local_read {
	struct fleet_engine *e;
	reduce_local_fn *each;
	void *data;
	unsigned char *seen; /* a bit for each server and counter */
};

static int take_local(void *data, size_t n, char *const *f)
{
	struct local_read *l = data;
	const struct fleet *fleet = l->e->fleet;
	int s = n == 4 ? fleet_engine_index(f[0], fleet->servers.n) : -ENOENT, c = n == 4 ? fleet_engine_index(f[1], fleet->counters.n) : -ENOENT;
	size_t bit;

	if (s < 0 || c < 0)
		return 0;
	bit = (size_t)s * fleet->counters.n + (size_t)c;
	if (l->seen[bit / 8] >> bit % 8 & 1)
		return str_fail_again(&l->e->error, -EINVAL, "%s of %s lies on two shards: the Distributed table must be sharded by server "
				   "(docs/clickhouse.md)", fleet->counters.v[c].name, fleet->servers.v[s].name);
	l->seen[bit / 8] |= (unsigned char)(1 << bit % 8);
	return l->each(l->data, s, c, strtoull(f[2], NULL, 10), strtod(f[3], NULL));
}

int fleet_reduce_local(struct fleet_engine *e, const struct fleet_question *q, struct fleet_span span, reduce_local_fn *each,
		 void *data)
{
	_cleanup_free_ unsigned char *seen = calloc(e->fleet->servers.n * e->fleet->counters.n / 8 + 1, 1);
	struct local_read l = {e, each, data, seen};
	_cleanup_str_ struct str sql = {};

	if (!seen)
		return -ENOMEM;
	str_puts(&sql, "SELECT ");
	fleet_engine_put_indices(e, true, &sql);
	str_puts(&sql, ", toUInt32(count()), ");
	fleet_reduce_put_statistic(q, &sql);
	str_puts(&sql, ROWS);
	fleet_engine_put_only(e, q->counter, &sql);
	str_puts(&sql, " GROUP BY s, c SETTINGS distributed_group_by_no_merge = 1");
	return sql.error ? sql.error : fleet_engine_query(e, sql.data, span, take_local, &l);
}
