#include "fleet/model/intake.h"

#include <errno.h>
#include <float.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/model/counter-mean.h"
#include "fleet/model/counter-name.h"
#include "fleet/model/server-ports.h"
#include "fleet/model/server-role.h"
#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "lib/input/quantity.h"

#define ROWS_MAX ((uint32_t)1 << 30)

/* Servers x counters: each takes some bytes for where its values are, also where there are none. */
#define PLACES_FEW   ((uint64_t)16 << 20) /* that any input may have */
#define PLACES_VALUE 32			  /* and for each value that there is */

/* One counter of one server while it grows. Narrow cells are float32. A running sum needs more digits than that, so
 * cells become wide (double) when the counter is known to be one, or when a value that float32 cannot hold comes while
 * the column has never fallen. */
struct cells {
	union {
		float *narrow;
		double *wide;
	};
	uint32_t n, allocated; /* rows beyond n are missing */
	bool is_wide;
	uint32_t falls;	 /* values below the one before */
	uint32_t rises;
	bool fraction;	 /* some value is not whole */
	bool negative;
	double last;
};

struct rows {
	VEC(int64_t) time;
	uint32_t cursor; /* the row of the last put */
	bool unsorted;
	struct hmap by_time; /* only when unsorted: (time, 0) -> row + 1 */
	uint32_t *order;     /* when finishing what was unsorted: the rows by time */
	struct cells *cells; /* by counter */
	size_t n_cells;
};

struct intake {
	struct fleet *fleet;
	VEC(struct rows) rows; /* by server */
	VEC(char *) jobs;      /* by server; NULL = none */
	struct intake_count count;
	VEC(char *) bad;
	char *refusal; /* NULL = none */
	const char *sums, *gauges; /* patterns, or NULL */
	intake_progress_fn *progress;
	void *progress_data;
};

struct intake *intake_new(void)
{
	struct intake *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	in->fleet = calloc(1, sizeof(*in->fleet));
	if (in->fleet)
		return in;
	free(in);
	return NULL;
}

static void cells_free(struct cells *c)
{
	free(c->narrow);
	c->narrow = NULL;
	c->n = c->allocated = 0;
}

static void rows_free(struct rows *r)
{
	for (size_t i = 0; i < r->n_cells; i++)
		cells_free(&r->cells[i]);
	free(r->cells);
	r->cells = NULL;
	r->n_cells = 0;
	VEC_FREE(r->time);
	hmap_free(&r->by_time);
	free(r->order);
	r->order = NULL;
}

void intake_free(struct intake *in)
{
	if (!in)
		return;
	VEC_FREE_EACH(in->rows, rows_free(each));
	VEC_FREE_EACH(in->jobs, free(*each));
	VEC_FREE_EACH(in->bad, free(*each));
	free(in->refusal);
	fleet_free(in->fleet);
	FREE_ALL(in->fleet, in);
}

void intake_kinds(struct intake *in, const char *sums, const char *gauges)
{
	in->sums = sums;
	in->gauges = gauges;
}

void intake_on_progress(struct intake *in, intake_progress_fn *progress, void *data)
{
	in->progress = progress;
	in->progress_data = data;
}

void intake_progress(struct intake *in, uint64_t done, uint64_t total)
{
	if (in->progress)
		in->progress(in->progress_data, done, total);
}

/* A few values must not take the memory of many: 20,000 servers with a counter of their own each would take gigabytes. 0 or -ENOMEM. */
static int check_places(struct intake *in)
{
	const size_t servers = in->fleet->servers.n, counters = in->fleet->counters.n;

	if ((uint64_t)servers * counters <= PLACES_FEW + PLACES_VALUE * in->count.values)
		return 0;
	if (!in->refusal && asprintf(&in->refusal, "%zu servers and %zu counters, but only %llu values so far: most servers lack most counters;"
				     " choose some of them with --match, or give counters of the same meaning one name",
				     servers, counters, (unsigned long long)in->count.values) < 0)
		in->refusal = NULL;
	return -ENOMEM;
}

const char *intake_refusal(const struct intake *in)
{
	return in->refusal;
}

void intake_take_refusal(struct intake *in, struct intake *from)
{
	if (!in->refusal)
		in->refusal = TAKE(from->refusal);
}

int intake_server(struct intake *in, const char *name)
{
	const size_t before = in->fleet->servers.n;
	int id = fleet_add_server(in->fleet, name);

	if (in->fleet->servers.n > before && check_places(in) < 0)
		return -ENOMEM;
	if (id >= 0 && (size_t)id == in->jobs.n && VEC_PUSH(in->jobs, NULL) < 0)
		return -ENOMEM;
	if (id >= 0 && (size_t)id == in->rows.n && VEC_PUSH(in->rows, (struct rows){}) < 0)
		return -ENOMEM;
	return id;
}

static int take_text(char **to, const char *from)
{
	if (*to || !from || !*from)
		return 0;
	*to = fleet_text(from);
	return *to ? 0 : -ENOMEM;
}

static enum fleet_kind kind_asked(const struct intake *in, const char *name)
{
	if (in->sums && fnmatch(in->sums, name, 0) == 0)
		return FLEET_COUNTER;
	return in->gauges && fnmatch(in->gauges, name, 0) == 0 ? FLEET_GAUGE : FLEET_UNKNOWN;
}

int intake_counter(struct intake *in, const char *name, const struct counter_info *info)
{
	const size_t before = in->fleet->counters.n;
	int id = fleet_add_counter(in->fleet, name);
	struct fleet_counter *c;

	if (in->fleet->counters.n > before && check_places(in) < 0)
		return -ENOMEM;
	if (id < 0)
		return id;
	c = &in->fleet->counters.v[id];
	if (in->fleet->counters.n > before)
		c->kind = kind_asked(in, c->name);
	if (!info)
		return id;
	if (take_text(&c->unit, info->unit) < 0 || take_text(&c->help, info->help) < 0)
		return -ENOMEM;
	if (c->kind == FLEET_UNKNOWN)
		c->kind = info->kind;
	return id;
}

double intake_in_unit(struct intake *in, int counter, const char *unit, double value, const char *file, uint64_t line)
{
	const struct fleet_counter *c = &in->fleet->counters.v[counter];
	double ratio = quantity_ratio(unit, c->unit);

	if (isnan(ratio))
		intake_bad(in, file, line, "%s is in %s, and was in %s before", c->name, unit, c->unit);
	return value * ratio;
}

int intake_role(struct intake *in, int server, const char *role)
{
	return take_text(&in->fleet->servers.v[server].role, role);
}

int intake_job(struct intake *in, int server, const char *job)
{
	return take_text(&in->jobs.v[server], job);
}

static int index_rows(struct rows *r)
{
	for (size_t i = 0; i < r->time.n; i++)
		if (hmap_put(&r->by_time, (uint64_t)r->time.v[i], 0, (void *)(uintptr_t)(i + 1)) < 0)
			return -ENOMEM;
	r->unsorted = true;
	return 0;
}

static int64_t search_row(const struct rows *r, int64_t time)
{
	size_t at = FIRST_WHERE(i, r->time.n, r->time.v[i] >= time);

	return at < r->time.n && r->time.v[at] == time ? (int64_t)at : -ENOENT;
}

static int64_t append_row(struct rows *r, int64_t time)
{
	if (r->time.n >= ROWS_MAX || VEC_PUSH(r->time, time) < 0)
		return -ENOMEM;
	if (r->unsorted && hmap_put(&r->by_time, (uint64_t)time, 0, (void *)(uintptr_t)r->time.n) < 0)
		return -ENOMEM;
	return (int64_t)r->time.n - 1;
}

/* The row of a time, made if need be. Most values belong to the row of the last one, the next one, or a new one. */
static int64_t find_row(struct rows *r, int64_t time)
{
	uint32_t at = r->cursor;
	int64_t row;
	uintptr_t found;

	if (at < r->time.n && r->time.v[at] == time)
		return at;
	if (at + 1 < r->time.n && r->time.v[at + 1] == time)
		return at + 1;
	if (!r->unsorted) {
		if (!r->time.n || time > r->time.v[r->time.n - 1])
			return append_row(r, time);
		row = search_row(r, time);
		if (row >= 0)
			return row;
		if (index_rows(r) < 0)
			return -ENOMEM;
	}
	found = (uintptr_t)hmap_get(&r->by_time, (uint64_t)time, 0);
	return found ? (int64_t)found - 1 : append_row(r, time);
}

static int cells_resize(struct cells *c, uint32_t places)
{
	void *grown = realloc(c->narrow, (size_t)places * (c->is_wide ? sizeof(double) : sizeof(float)));

	if (!grown)
		return -ENOMEM;
	c->narrow = grown;
	c->allocated = places;
	return 0;
}

static int cells_widen(struct cells *c)
{
	double *wide = malloc(((size_t)c->allocated + 1) * sizeof(*wide));

	if (!wide)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n; i++)
		wide[i] = c->narrow[i];
	free(c->narrow);
	c->wide = wide;
	c->is_wide = true;
	return 0;
}

/* A quarter more each time: what is not used yet must stay small against the values themselves. */
static int cells_reach(struct cells *c, uint32_t row)
{
	int r = 0;

	if (row >= c->allocated)
		r = cells_resize(c, row + 1 + row / 4 + 15);
	if (r < 0)
		return r;
	for (; c->n <= row; c->n++)
		if (c->is_wide)
			c->wide[c->n] = NAN;
		else
			c->narrow[c->n] = NAN;
	return 0;
}

static bool needs_digits(const struct cells *c, double value)
{
	uint32_t few = c->falls < c->rises ? c->falls : c->rises, many = c->falls + c->rises - few;

	return fabs(value) >= 65536 && (double)(float)value != value && few <= many / 8;
}

static int cells_put(struct cells *c, uint32_t row, double value, uint64_t *twice)
{
	const double before = row >= c->n ? NAN : c->is_wide ? c->wide[row] : (double)c->narrow[row];

	if (!c->is_wide && needs_digits(c, value) && cells_widen(c) < 0)
		return -ENOMEM;
	if (cells_reach(c, row) < 0)
		return -ENOMEM;
	*twice += !isnan(before) && before != (c->is_wide ? value : (double)(float)value);
	c->falls += value < c->last;
	c->rises += value > c->last;
	c->negative |= value < 0;
	if (!c->fraction)
		c->fraction = fabs(value) < 9e18 && value != (double)(int64_t)value;
	c->last = value;
	if (c->is_wide)
		c->wide[row] = value;
	else
		c->narrow[row] = (float)value;
	return 0;
}

static struct cells *cells_of(struct intake *in, struct rows *r, int counter)
{
	size_t want = in->fleet->counters.n;

	if ((size_t)counter >= r->n_cells) {
		struct cells *grown = r->cells ? reallocarray(r->cells, want, sizeof(*grown)) : calloc(want, sizeof(*grown));

		if (!grown)
			return NULL;
		if (r->cells) /* fresh memory that is not touched takes none */
			memset(grown + r->n_cells, 0, (want - r->n_cells) * sizeof(*grown));
		r->cells = grown;
		r->n_cells = want;
	}
	return &r->cells[counter];
}

static int put_at(struct intake *in, struct rows *r, int64_t row, int counter, double value)
{
	struct cells *c;

	if (isnan(value))
		return 0;
	if (fabs(value) > (double)FLT_MAX) { /* infinite in the fleet */
		in->count.bad++;
		return 0;
	}
	c = cells_of(in, r, counter);
	if (!c)
		return -ENOMEM;
	if (!c->n)
		c->last = value;
	if (!c->n && in->fleet->counters.v[counter].kind == FLEET_COUNTER && !c->is_wide && cells_widen(c) < 0)
		return -ENOMEM;
	in->count.values++;
	return cells_put(c, (uint32_t)row, value, &in->count.twice);
}

int intake_put(struct intake *in, int server, int counter, int64_t time, double value)
{
	return intake_row(in, server, time, 1, &counter, &value);
}

int intake_row(struct intake *in, int server, int64_t time, size_t n, const int *counters, const double *values)
{
	struct rows *r = &in->rows.v[server];
	int64_t row;

	if (time < -FLEET_TIME_MOST || time > FLEET_TIME_MOST) {
		intake_bad(in, in->fleet->servers.v[server].name, 0, "a time before 1843 or after 2096");
		return 0;
	}
	row = find_row(r, time);
	if (row < 0)
		return -ENOMEM;
	r->cursor = (uint32_t)row;
	for (size_t i = 0; i < n; i++)
		if (put_at(in, r, row, counters[i], values[i]) < 0)
			return -ENOMEM;
	return 0;
}

int intake_column(struct intake *in, int server, int counter, size_t n, const int64_t *times, const double *values)
{
	for (size_t i = 0; i < n; i++)
		if (intake_row(in, server, times[i], 1, &counter, &values[i]) < 0)
			return -ENOMEM;
	return 0;
}

void intake_server_done(struct intake *in, int server)
{
	struct rows *r = &in->rows.v[server];

	for (size_t i = 0; i < r->n_cells; i++)
		if (r->cells[i].n && r->cells[i].n < r->cells[i].allocated)
			(void)cells_resize(&r->cells[i], r->cells[i].n);
}

void intake_bad(struct intake *in, const char *file, uint64_t line, const char *format, ...)
{
	struct str text = {};
	va_list args;

	in->count.bad++;
	if (in->bad.n >= INTAKE_BAD_SHOWN)
		return;
	str_puts(&text, file);
	if (line)
		str_printf(&text, ":%llu", (unsigned long long)line);
	str_puts(&text, ": ");
	va_start(args, format);
	str_vprintf(&text, format, args);
	va_end(args);
	str_make_printable(text.data); /* it quotes what was read */
	if (text.error || VEC_PUSH(in->bad, text.data) < 0)
		str_free(&text);
}

void intake_remark(struct intake *in, const char *format, ...)
{
	_cleanup_str_ struct str text = {};
	va_list args;

	va_start(args, format);
	str_vprintf(&text, format, args);
	va_end(args);
	if (!text.error)
		(void)fleet_remark(in->fleet, "%s", text.data);
}

struct intake_count intake_count(const struct intake *in)
{
	return in->count;
}

char *const *intake_bad_rows(const struct intake *in, size_t *ret_n)
{
	*ret_n = in->bad.n;
	return in->bad.v;
}

/* --- merging --- */

static double cell(const struct cells *c, uint32_t row)
{
	if (row >= c->n)
		return NAN;
	return c->is_wide ? c->wide[row] : (double)c->narrow[row];
}

/* `in`'s number of each counter of `from`; NULL without memory. */
static int *map_counters(struct intake *in, const struct intake *from)
{
	size_t n = from->fleet->counters.n;
	int *map = malloc((n + 1) * sizeof(*map));

	for (size_t i = 0; map && i < n; i++) {
		const struct fleet_counter *c = &from->fleet->counters.v[i];

		map[i] = intake_counter(in, c->name, &(struct counter_info){c->kind, c->unit, c->help});
		if (map[i] < 0) {
			free(map);
			return NULL;
		}
	}
	return map;
}

static void cells_scale(struct cells *c, double ratio)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->is_wide)
			c->wide[i] *= ratio;
		else
			c->narrow[i] = (float)(c->narrow[i] * ratio);
}

/* Converts what `from` measured in another unit than `in`; where that cannot be, it is left out and reported. */
static void take_units(struct intake *in, struct intake *from, const int *map)
{
	for (size_t i = 0; i < from->fleet->counters.n; i++) {
		const char *unit = from->fleet->counters.v[i].unit, *to = in->fleet->counters.v[map[i]].unit;
		double ratio = quantity_ratio(unit, to);

		if (isnan(ratio))
			intake_bad(in, from->fleet->counters.v[i].name, 0, "is in %s in one file and in %s in another: it is left out there", to, unit);
		for (size_t k = 0; ratio != 1 && k < from->rows.n; k++)
			if (i < from->rows.v[k].n_cells)
				cells_scale(&from->rows.v[k].cells[i], ratio);
	}
}

/* A server of which `in` has nothing yet: its memory changes hands. */
static int move_rows(struct intake *in, struct rows *to, struct rows *from, const int *map)
{
	struct cells *cells = calloc(in->fleet->counters.n + 1, sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_cells; i++)
		cells[map[i]] = from->cells[i];
	free(from->cells);
	from->cells = NULL;
	from->n_cells = 0;
	rows_free(to);
	*to = *from;
	to->cells = cells;
	to->n_cells = in->fleet->counters.n;
	*from = (struct rows){};
	return 0;
}

static int put_rows(struct intake *in, struct rows *to, const struct rows *from, const int *map)
{
	for (size_t row = 0; row < from->time.n; row++) {
		int64_t at = find_row(to, from->time.v[row]);

		if (at < 0)
			return -ENOMEM;
		to->cursor = (uint32_t)at;
		for (size_t i = 0; i < from->n_cells; i++)
			if (put_at(in, to, at, map[i], cell(&from->cells[i], (uint32_t)row)) < 0)
				return -ENOMEM;
	}
	return 0;
}

static int merge_server(struct intake *in, struct intake *from, size_t server, const int *map)
{
	const struct fleet_server *s = &from->fleet->servers.v[server];
	int id = intake_server(in, s->name), r = id < 0 ? id : intake_role(in, id, s->role);
	struct rows *to = r < 0 ? NULL : &in->rows.v[id], *rows = &from->rows.v[server];

	r = r ?: intake_job(in, id, from->jobs.v[server]);
	if (r < 0)
		return r;
	return to->time.n ? put_rows(in, to, rows, map) : move_rows(in, to, rows, map);
}

int intake_merge(struct intake *in, struct intake *from)
{
	const uint64_t values = in->count.values + from->count.values;
	_cleanup_free_ int *map = NULL;
	int r;

	in->count.values = values; /* they count for the places of their counters */
	map = map_counters(in, from);
	r = map ? 0 : -ENOMEM;
	if (map)
		take_units(in, from, map);
	for (size_t i = 0; i < from->rows.n && r == 0; i++)
		r = merge_server(in, from, i, map);
	in->count.values = values;
	in->count.bad += from->count.bad;
	in->count.twice += from->count.twice;
	for (size_t i = 0; i < from->bad.n && in->bad.n < INTAKE_BAD_SHOWN && r == 0; i++)
		if ((r = VEC_PUSH(in->bad, from->bad.v[i])) == 0)
			from->bad.v[i] = NULL;
	for (size_t i = 0; i < from->fleet->remarks.n && r == 0; i++)
		r = fleet_remark(in->fleet, "%s", from->fleet->remarks.v[i]);
	return r;
}

/* --- finishing --- */

/* Whether a counter has this name with another ending in the place of the last `n` characters before its labels, too. */
static bool has_sibling(const struct intake *in, const char *name, size_t end, size_t n, const char *ending)
{
	_cleanup_str_ struct str other = {};

	str_append(&other, name, end - n);
	str_printf(&other, "%s%s", ending, name + end);
	return !other.error && fleet_find_counter(in->fleet, other.data) >= 0;
}

/* A name that says so, as Prometheus and OpenMetrics write sums: a total, or one half of what is summed and counted. */
static bool named_sum(const struct intake *in, const char *name)
{
	size_t n = strcspn(name, "{");

	return (n > 6 && strncmp(name + n - 6, "_total", 6) == 0) || (n > 7 && strncmp(name + n - 7, "_bucket", 7) == 0 && strstr(name + n, "le=\"")) ||
	       (n > 4 && strncmp(name + n - 4, "_sum", 4) == 0 && has_sibling(in, name, n, 4, "_count")) ||
	       (n > 6 && strncmp(name + n - 6, "_count", 6) == 0 && has_sibling(in, name, n, 6, "_sum"));
}

/* A running sum: on all servers together it rises often, never below 0, and falls at restarts only: at most once in
 * twenty rises, and not on most servers at all. Whole numbers, unless its name tells a sum: levels that only rise
 * (a queue filling up, memory that leaks) are few rows long or have fractions. */
static enum fleet_kind behaves_as(const struct intake *in, size_t counter)
{
	uint64_t rises = 0, falls = 0, columns = 0, fell = 0;
	bool total = named_sum(in, in->fleet->counters.v[counter].name);

	VEC_EACH(r, in->rows) {
		const struct cells *c = counter < r->n_cells ? &r->cells[counter] : NULL;

		if (!c || !c->n)
			continue;
		if (c->negative || (c->fraction && !total))
			return FLEET_GAUGE;
		rises += c->rises;
		falls += c->falls;
		fell += c->falls > 0;
		columns++;
	}
	if (!columns || rises < 30 * columns / (total ? 30 : 1) || falls * 20 > rises || (fell * 2 > columns && falls > 2 * fell))
		return FLEET_GAUGE;
	return FLEET_COUNTER;
}

#define TWO_32 4294967296.0
#define TWO_64 18446744073709551616.0

/* How much a sum grew from a to b. A sum near the end of 32 or 64 bits that falls to near 0 has wrapped; any other fall
 * is a restart, and what was summed in between is not known. */
static double growth(double a, double b, struct intake_count *count)
{
	const double ends[] = {TWO_32, TWO_64};

	if (b >= a)
		return b - a;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (a < ends[i] && a > ends[i] * 0.9 && b < ends[i] * 0.1) {
			count->wraps++;
			return ends[i] - a + b;
		}
	count->restarts++;
	return NAN;
}

/* NaN in the place of what float32 cannot hold. */
static float finite_rate(double rate, struct intake_count *count)
{
	if (!(rate > (double)FLT_MAX))
		return (float)rate;
	count->bad++;
	return NAN;
}

static void make_rates(const struct cells *c, const int64_t *time, const uint32_t *order, uint32_t n, float *to,
		       struct intake_count *count)
{
	double before = NAN;
	int64_t since = 0;

	for (uint32_t i = 0; i < n; i++) {
		double value = cell(c, order ? order[i] : i);

		to[i] = NAN;
		if (isnan(value))
			continue;
		if (!isnan(before))
			to[i] = finite_rate(growth(before, value, count) / ((double)(time[i] - since) / 1e9), count);
		before = value;
		since = time[i];
	}
}

/* Cells become the fleet's column: their own memory where that fits already. */
static int finish_cells(struct intake *in, struct cells *c, enum fleet_kind kind, const int64_t *time,
			const uint32_t *order, uint32_t n, float **ret)
{
	float *to;

	if (!c->is_wide && kind == FLEET_GAUGE && !order) {
		if (cells_reach(c, n - 1) < 0 || (c->allocated != n && cells_resize(c, n) < 0))
			return -ENOMEM;
		*ret = c->narrow;
		c->narrow = NULL;
		return 0;
	}
	to = malloc((size_t)n * sizeof(*to));
	if (!to)
		return -ENOMEM;
	if (kind == FLEET_COUNTER)
		make_rates(c, time, order, n, to, &in->count);
	else
		for (uint32_t i = 0; i < n; i++)
			to[i] = (float)cell(c, order ? order[i] : i);
	cells_free(c);
	*ret = to;
	return 0;
}

ORDER_IN(compare_rows, uint32_t, int64_t, CMP(context[*a], context[*b]))

/* Once more in the order of time: the columns may have come backwards. */
static void recount(struct cells *c, const uint32_t *order, uint32_t n)
{
	double last = NAN;

	c->falls = c->rises = 0;
	for (uint32_t i = 0; i < n; i++) {
		double value = cell(c, order[i]);

		if (isnan(value))
			continue;
		c->falls += value < last;
		c->rises += value > last;
		last = value;
	}
}

static int sort_rows(struct rows *r)
{
	int64_t *sorted = malloc(r->time.n * sizeof(*sorted));

	r->order = malloc(r->time.n * sizeof(*r->order));
	if (!r->order || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < r->time.n; i++)
		r->order[i] = (uint32_t)i;
	qsort_r(r->order, r->time.n, sizeof(*r->order), compare_rows, r->time.v);
	for (size_t i = 0; i < r->time.n; i++)
		sorted[i] = r->time.v[r->order[i]];
	free(r->time.v);
	r->time.v = sorted;
	r->time.allocated = r->time.n;
	for (size_t i = 0; i < r->n_cells; i++)
		recount(&r->cells[i], r->order, (uint32_t)r->time.n);
	return 0;
}

static int finish_server(struct intake *in, size_t server)
{
	struct rows *r = &in->rows.v[server];
	struct fleet_server *s = &in->fleet->servers.v[server];
	uint32_t n = (uint32_t)r->time.n;

	for (size_t i = 0; i < r->n_cells; i++) {
		struct cells *c = &r->cells[i];
		float *column;

		if (!c->n)
			continue;
		if (VEC_GROW(in->fleet->blocks) < 0)
			return -ENOMEM;
		if (finish_cells(in, c, in->fleet->counters.v[i].kind, r->time.v, r->order, n, &column) < 0)
			return -ENOMEM;
		in->fleet->blocks.v[in->fleet->blocks.n++] = column;
		s->column[i] = column;
	}
	s->n = n;
	s->time = TAKE(r->time.v);
	rows_free(r);
	return 0;
}

static void finish_remarks(struct intake *in)
{
	const struct intake_count *c = &in->count;

	if (c->bad)
		(void)fleet_remark(in->fleet, "%llu bad rows or values were left out", (unsigned long long)c->bad);
	if (c->twice)
		(void)fleet_remark(in->fleet, "%llu duplicate values: the last one counts", (unsigned long long)c->twice);
	if (c->restarts)
		(void)fleet_remark(in->fleet, "%llu restarts of counters: what was counted around them is missing",
				   (unsigned long long)c->restarts);
	if (c->wraps)
		(void)fleet_remark(in->fleet, "%llu counters that wrapped were continued", (unsigned long long)c->wraps);
}

int intake_finish(struct intake *in, struct fleet **ret)
{
	if (!in->count.values)
		return -ENODATA;
	for (size_t i = 0; i < in->rows.n; i++)
		if (in->rows.v[i].unsorted && sort_rows(&in->rows.v[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < in->fleet->counters.n; i++)
		if (in->fleet->counters.v[i].kind == FLEET_UNKNOWN)
			in->fleet->counters.v[i].kind = behaves_as(in, i);
	for (size_t i = 0; i < in->rows.n; i++)
		if (finish_server(in, i) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < in->fleet->counters.n; i++)
		if (take_text(&in->fleet->counters.v[i].unit, counter_unit_of_name(in->fleet->counters.v[i].name)) < 0)
			return -ENOMEM;
	if (server_ports_join(in->fleet, in->jobs.v, in->jobs.n) < 0 || counter_mean_add(in->fleet) < 0)
		return -ENOMEM;
	if (server_role_settle(in->fleet, in->jobs.v, in->jobs.n) < 0)
		return -ENOMEM;
	finish_remarks(in);
	fleet_find_interval(in->fleet);
	*ret = TAKE(in->fleet);
	return 0;
}
