#include "fleet/analysis/fleet-scan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"

#define GAP	     3	/* intervals that two rows of an interval may lie apart */
#define SMOOTH_BELOW 9	/* rows of an interval that is judged by medians of three */
#define LONGEST	     2	/* parts of the series that the longest interval leaves */
#define MEASURED     16 /* parts of the series: longer intervals wander as far as these do */
#define DAY	     (86400 * NS_PER_SEC)
#define DAYS_LEAST   3
#define SLOTS_LEAST  8	/* rows of a day, to tell its cycle */
#define SLOTS_MOST   96 /* a quarter of an hour */
#define LESS	     0.8 /* of the spread is left, or there is no cycle */

/* Which intervals of a server's rows there are, the same for all of its counters. */
struct scan_group {
	uint32_t rows;	      /* of each interval */
	size_t begin, end;    /* in `list` */
};
struct scan_plan {
	uint32_t each;	      /* rows of the server that one row of the plan stands for */
	uint32_t n;	      /* rows of the plan */
	int64_t *time;	      /* of them */
	int64_t gap;	      /* ns: rows farther apart do not belong together */
	bool even;	      /* no rows lie farther apart */
	int slots;	      /* of a day, to tell its cycle; 0 = the days are too few */
	uint32_t *by_slot;    /* the rows, slot after slot; those of one from slot_begin[slot] on */
	uint32_t slot_begin[SLOTS_MOST + 1];
	VEC(struct row_range) list; /* in rows of the plan, short ones first */
	VEC(struct scan_group) groups;
};

/* Memory that scans reuse; starts as {}. */
struct scan_room {
	float *v, *sorted; /* n; 2 * n */
	double *sums, *smooth_sums; /* prefix sums of n + 1 */
	uint32_t *counts;
	uint32_t n;
	struct select_room select;
};

static void plan_free(struct scan_plan *p)
{
	FREE_ALL(p->time, p->by_slot);
	p->time = NULL;
	p->by_slot = NULL;
	VEC_FREE(p->list);
	VEC_FREE(p->groups);
}

/* Whether rows [first, first + n) follow each other without a gap. */
static bool contiguous(const struct scan_plan *p, uint32_t first, uint32_t n)
{
	return p->even ? first + n <= p->n : first + n <= p->n && p->time[first + n - 1] - p->time[first] <= (int64_t)(n - 1) * p->gap / GAP + p->gap;
}

/* Whether contiguous() holds for all rows: none strays from even steps by more than it allows. */
static bool all_contiguous(const struct scan_plan *p)
{
	int64_t least = 0, most = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		int64_t strays = p->time[i] - p->time[0] - (int64_t)i * p->gap / GAP;

		least = strays < least ? strays : least;
		most = strays > most ? strays : most;
	}
	return most - least < p->gap; /* not "<=": divisions round */
}

static int slot_of(const struct scan_plan *p, uint32_t row)
{
	return (int)((p->time[row] % DAY + DAY) % DAY * p->slots / DAY);
}

/* Which rows are of one time of the day. 0 or -ENOMEM. */
static int divide_days(struct scan_plan *p)
{
	int64_t extent = p->time[p->n - 1] - p->time[0];
	double per_day = (double)p->n * (double)DAY / fmax(1, (double)extent);
	uint32_t at[SLOTS_MOST];

	p->slots = per_day < SLOTS_MOST ? (int)per_day : SLOTS_MOST;
	if (extent < DAYS_LEAST * DAY || p->slots < SLOTS_LEAST) {
		p->slots = 0;
		return 0;
	}
	p->by_slot = malloc(p->n * sizeof(*p->by_slot));
	if (!p->by_slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n; i++)
		p->slot_begin[slot_of(p, i) + 1]++;
	for (int slot = 0; slot < p->slots; slot++) {
		at[slot] = p->slot_begin[slot];
		p->slot_begin[slot + 1] += p->slot_begin[slot];
	}
	for (uint32_t i = 0; i < p->n; i++)
		p->by_slot[at[slot_of(p, i)]++] = i;
	return 0;
}

static int add_group(struct scan_plan *p, uint32_t rows)
{
	struct scan_group g = {.rows = rows, .begin = p->list.n};
	uint32_t step = rows / 4 ? rows / 4 : 1;
	int r = 0;

	for (uint32_t first = 0; first + rows <= p->n && r == 0; first += step)
		if (contiguous(p, first, rows))
			r = VEC_PUSH(p->list, ((struct row_range){first, rows}));
	g.end = p->list.n;
	return r == 0 && g.end > g.begin ? VEC_PUSH(p->groups, g) : r;
}

/* Its product with the number of rows fits into 64 bits, also of rows that lie far closer than those of other servers. */
static int64_t gap_of(const struct fleet *f, const struct scan_plan *p)
{
	const int64_t most = FLEET_TIME_MOST / 2 / p->n;
	int64_t gap;

	return __builtin_mul_overflow(GAP * (f->interval > 0 ? f->interval : 1), (int64_t)p->each, &gap) || gap > most ? most : gap;
}

/* 0, -ENODATA (fewer than 2 * SCAN_LEAST rows), -ENOMEM. */
static int make_plan(const struct fleet *f, size_t server, struct scan_plan *ret)
{
	const struct fleet_server *s = &f->servers.v[server];
	struct scan_plan p = {.each = s->n / SCAN_ROWS_MAX + 1};
	int r = 0;

	p.n = s->n / p.each;
	if (p.n < 2 * SCAN_LEAST)
		return -ENODATA;
	p.gap = gap_of(f, &p);
	p.time = calloc(p.n, sizeof(*p.time));
	if (!p.time)
		return -ENOMEM;
	for (uint32_t i = 0; i < p.n; i++)
		p.time[i] = s->time[i * p.each];
	p.even = all_contiguous(&p);
	r = divide_days(&p);
	for (uint32_t rows = SCAN_LEAST; rows <= p.n / LONGEST && r == 0; rows += rows / 4 ? rows / 4 : 1)
		r = add_group(&p, rows);
	if (r < 0)
		plan_free(&p);
	else
		*ret = p;
	return r;
}

static void scan_room_free(struct scan_room *room)
{
	FREE_ALL(room->v, room->sorted, room->sums, room->smooth_sums, room->counts);
	select_room_free(&room->select);
	*room = (struct scan_room){};
}

static int make_room(struct scan_room *room, uint32_t n)
{
	if (n <= room->n)
		return 0;
	scan_room_free(room);
	*room = (struct scan_room){.v = malloc(n * sizeof(float)),	       .sorted = malloc((size_t)n * 2 * sizeof(float)),
				   .sums = malloc((n + 1) * sizeof(double)),   .smooth_sums = malloc((n + 1) * sizeof(double)),
				   .counts = malloc((n + 1) * sizeof(uint32_t)), .n = n};
	if (room->v && room->sorted && room->sums && room->smooth_sums && room->counts)
		return 0;
	scan_room_free(room);
	return -ENOMEM;
}

static void reduce(const struct scan_plan *p, const float *v, float *to)
{
	for (uint32_t i = 0; i < p->n; i++) {
		double sum = 0;
		uint32_t n = 0;

		for (uint32_t k = i * p->each; k < (i + 1) * p->each; k++) {
			sum += isnan(v[k]) ? 0 : (double)v[k];
			n += isnan(v[k]) ? 0 : 1;
		}
		to[i] = n ? (float)(sum / n) : NAN;
	}
}

struct level {
	double median, spread;
};

/* A spread of 0 (most values are the same) says nothing of the others: then it is their standard deviation. */
static struct level find_level(const float *v, size_t n, struct select_room *select)
{
	struct piece piece = {v, n};
	struct level l = {columns_median(&piece, 1, select), (columns_quantile(&piece, 1, 0.75, select) - columns_quantile(&piece, 1, 0.25, select)) / 1.349};
	struct column_moments m;

	if (!(l.spread > 0)) {
		column_moments_of(&piece, 1, &m);
		l.spread = m.sd;
	}
	l.spread = fmax(l.spread, fmax(USUAL_FLOOR * fabs(l.median), 1e-12));
	return l;
}

/* Takes out of the series what its days have in common at each time of the day, where that leaves less. */
static void without_cycle(const struct scan_plan *p, struct scan_room *room, struct level *level)
{
	float *v = room->v, *rest = room->sorted, *of_slot = room->sorted + p->n;
	struct level left;

	if (!p->slots)
		return;
	for (int slot = 0; slot < p->slots; slot++) {
		const uint32_t *rows = p->by_slot + p->slot_begin[slot], *end = p->by_slot + p->slot_begin[slot + 1];
		float common;
		size_t n = 0;

		for (const uint32_t *row = rows; row < end; row++)
			if (!isnan(v[*row]))
				of_slot[n++] = v[*row];
		common = n ? columns_select(of_slot, n, n / 2) : (float)level->median;
		for (const uint32_t *row = rows; row < end; row++)
			rest[*row] = v[*row] - common + (float)level->median;
	}
	left = find_level(rest, p->n, &room->select);
	if (left.spread > LESS * level->spread)
		return;
	memcpy(v, rest, p->n * sizeof(*v));
	*level = left;
}

static float median_of_three(float a, float b, float c)
{
	float least = fminf(a, b), most = fmaxf(a, b);

	return isnan(b) ? b : fmaxf(least, fminf(most, c));
}

static void add_up(struct scan_room *room, uint32_t n, double median)
{
	room->sums[0] = room->smooth_sums[0] = 0;
	room->counts[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		float x = room->v[i], smooth = median_of_three(i ? room->v[i - 1] : x, x, i + 1 < n ? room->v[i + 1] : x);

		room->counts[i + 1] = room->counts[i] + (isnan(x) ? 0 : 1);
		room->sums[i + 1] = room->sums[i] + (isnan(x) ? 0 : (double)x - median);
		room->smooth_sums[i + 1] = room->smooth_sums[i] + (isnan(smooth) ? 0 : (double)smooth - median);
	}
}

/* The mean of rows [first, first + n) less the median; NaN where half of them are missing. */
static inline double mean_of(const struct scan_room *room, const double *sums, uint32_t first, uint32_t n)
{
	uint32_t count = room->counts[first + n] - room->counts[first];

	return count * 2 > n ? (sums[first + n] - sums[first]) / count : NAN;
}

/* How far means of so many rows lie from the next such mean, and from the median. NaN: too few to tell. */
struct wander {
	double step, away;
};

static struct wander find_wander(const struct scan_plan *p, struct scan_room *room, const double *sums, uint32_t rows)
{
	uint32_t step = rows / 4 ? rows / 4 : 1;
	float *away = room->sorted + p->n;
	double squares = 0;
	size_t n = 0, n_away = 0;

	for (uint32_t first = 0; first + 2 * rows <= p->n; first += step) {
		double mean = mean_of(room, sums, first, rows), d = fabs(mean - mean_of(room, sums, first + rows, rows));

		if (!isnan(mean))
			away[n_away++] = (float)fabs(mean);
		if (isnan(d) || !contiguous(p, first, 2 * rows))
			continue;
		squares += d * d;
		room->sorted[n++] = (float)d;
	}
	if (n < 4)
		return (struct wander){NAN, NAN};
	return (struct wander){fmax((double)columns_select(room->sorted, n, n / 2) / (M_SQRT2 * 0.6745), sqrt(squares / (double)n) / (2 * M_SQRT2)),
			       (double)columns_select(away, n_away, n_away / 2) / 0.6745};
}

/* Rows from which on means of a length wander as far as means of this one do. */
static uint32_t measured_rows(const struct scan_plan *p)
{
	return p->n / MEASURED > SCAN_LEAST ? p->n / MEASURED : SCAN_LEAST;
}

/* w: of means of so many rows, or of measured_rows(). */
static double usual_distance(const struct scan_plan *p, struct wander w, uint32_t rows, const struct level *level)
{
	bool by_steps = rows >= measured_rows(p) && p->time[p->n - 1] - p->time[0] < SCAN_CYCLES && rows * p->gap / GAP < SCAN_CYCLE;
	double usual = isnan(w.step) ? level->spread : by_steps ? w.step : fmax(w.step, w.away);

	return fmax(usual, fmax(USUAL_FLOOR * fabs(level->median), 1e-12));
}

/* Fills z[0 .. p->list.n): 0 where an interval has too few values. v: the server's column. 0, -ENODATA (no values), -ENOMEM. */
static int scan_series(const struct scan_plan *p, const float *v, struct scan_room *room, float *z)
{
	uint32_t longest = measured_rows(p);
	const double *last = NULL; /* the sums of which `w` is, of means of `longest` rows */
	struct wander w = {};
	struct level level;

	if (make_room(room, p->n) < 0)
		return -ENOMEM;
	reduce(p, v, room->v);
	level = find_level(room->v, p->n, &room->select);
	if (isnan(level.median))
		return -ENODATA;
	without_cycle(p, room, &level);
	for (uint32_t i = 0; i < p->n; i++)
		if (!isnan(room->v[i]))
			room->v[i] = fminf(fmaxf(room->v[i], (float)(level.median - SCAN_CLIP * level.spread)), (float)(level.median + SCAN_CLIP * level.spread));
	add_up(room, p->n, level.median);
	VEC_EACH(group, p->groups) {
		const double *sums = group->rows < SMOOTH_BELOW ? room->smooth_sums : room->sums;
		double usual;

		if (group->rows < longest || last != sums)
			w = find_wander(p, room, sums, group->rows < longest ? group->rows : longest);
		last = group->rows < longest ? NULL : sums;
		usual = usual_distance(p, w, group->rows, &level);

		for (size_t i = group->begin; i < group->end; i++) {
			double mean = mean_of(room, sums, p->list.v[i].first, group->rows);

			z[i] = isnan(mean) ? 0 : (float)(mean / usual);
		}
	}
	return 0;
}

/* How many rows from `from` on, in steps of 1 or -1, lie beyond the middle between normal and the interval's level: as many as have the
 * largest sum of how far beyond. */
static uint32_t rows_beyond(const struct scan_plan *p, const float *v, uint32_t from, int step, double normal, double level)
{
	double middle = (normal + level) / 2, half = fabs(level - normal) / 2, sum = 0, most = 0;
	uint32_t best = 0, n = 0;

	for (int64_t i = from; i >= 0 && i < p->n && (n == 0 || contiguous(p, (uint32_t)(step > 0 ? i - 1 : i), 2)); i += step) {
		double x = level > normal ? (double)v[i] - middle : middle - (double)v[i];

		n++;
		sum += isnan(x) ? 0 : fmax(-half, fmin(x, half));
		if (sum > most) {
			most = sum;
			best = n;
		}
	}
	return best;
}

/* The rows around the middle of interval `i`, of the series that was scanned last, that look like it. */
static struct row_range find_edges(const struct scan_plan *p, struct scan_room *room, size_t i)
{
	const struct row_range *stretch = &p->list.v[i];
	struct piece all = {room->v, p->n}, within = {room->v + stretch->first, stretch->n};
	double normal = columns_median(&all, 1, &room->select), level = columns_median(&within, 1, &room->select);
	double spread = (columns_quantile(&all, 1, 0.75, &room->select) - columns_quantile(&all, 1, 0.25, &room->select)) / 1.349;
	uint32_t center = stretch->first + stretch->n / 2, before, after;

	if (!(fabs(level - normal) > spread)) /* bursts: most rows are as always */
		return *stretch;
	before = rows_beyond(p, room->v, center, -1, normal, level);
	after = rows_beyond(p, room->v, center, 1, normal, level);
	return before + after > SCAN_LEAST ? (struct row_range){center + 1 - before, before + after - 1} : *stretch;
}

/* --- all counters of a server together --- */

#define TOGETHER 4 /* counters: a fault seldom moves one alone, and chance seldom several at once */

struct joint {
	float (*top)[TOGETHER]; /* by interval: the highest |z| */
	int *farthest;		/* by interval: the counter that has the highest */
	float *z, *combined, *sorted;
};

static int joint_open(struct joint *j, size_t n)
{
	*j = (struct joint){calloc(n + 1, sizeof(*j->top)), malloc((n + 1) * sizeof(int)), malloc((n + 1) * sizeof(float)), malloc((n + 1) * sizeof(float)), malloc((n + 1) * sizeof(float))};
	return j->top && j->farthest && j->z && j->combined && j->sorted ? 0 : -ENOMEM;
}

static void joint_close(struct joint *j)
{
	FREE_ALL(j->top, j->farthest, j->z, j->combined, j->sorted);
}

static void joint_add(struct joint *j, size_t n, size_t counter)
{
	for (size_t i = 0; i < n; i++) {
		float z = fabsf(j->z[i]);
		int at = TOGETHER - 1;

		if (!(z > j->top[i][at]))
			continue;
		for (; at > 0 && j->top[i][at - 1] < z; at--)
			j->top[i][at] = j->top[i][at - 1];
		j->top[i][at] = z;
		j->farthest[i] = at ? j->farthest[i] : (int)counter;
	}
}

/* The sum of the k highest over the root of k, for the best k. */
static float combine(const float top[TOGETHER])
{
	float sum = 0, best = 0;

	for (int k = 0; k < TOGETHER; k++) {
		sum += top[k];
		best = fmaxf(best, sum / sqrtf((float)(k + 1)));
	}
	return best;
}

/* The interval with the highest sum, less the median of all: how high the highest of many counters lie by chance. */
static double joint_best(struct joint *j, size_t n, size_t *ret_best)
{
	size_t best = 0;

	for (size_t i = 0; i < n; i++) {
		j->sorted[i] = j->combined[i] = combine(j->top[i]);
		best = j->combined[i] > j->combined[best] ? i : best;
	}
	*ret_best = best;
	return (double)(j->combined[best] - columns_select(j->sorted, n, n / 2));
}

static struct fleet_span span_of_rows(const struct scan_plan *p, const struct fleet_server *s, struct row_range rows)
{
	return (struct fleet_span){s->time[rows.first * p->each], s->time[(rows.first + rows.n) * p->each - 1] + 1};
}

static bool wanted(const struct fleet_server *s, const bool *skip, size_t counter)
{
	return s->column[counter] && !(skip && skip[counter]);
}

/* Adds up all counters. 0 or -ENOMEM. */
static int scan_counters(const struct scan_plan *p, const struct fleet_server *s, size_t counters, const bool *skip, struct joint *j,
			 struct scan_room *room)
{
	for (size_t c = 0; c < counters; c++) {
		int r = wanted(s, skip, c) ? scan_series(p, s->column[c], room, j->z) : -ENODATA;

		if (r == -ENOMEM)
			return r;
		if (r == 0)
			joint_add(j, p->list.n, c);
	}
	return 0;
}

static int find_stretch(const struct fleet *f, size_t server, const bool *skip, const struct scan_plan *p, struct joint *j, struct scan_found *ret)
{
	const struct fleet_server *s = &f->servers.v[server];
	_cleanup_(scan_room_free) struct scan_room room = {};
	struct scan_found found;
	size_t best;
	int r = scan_counters(p, s, f->counters.n, skip, j, &room);

	if (r < 0)
		return r;
	found.score = joint_best(j, p->list.n, &best);
	if (!(found.score > 0))
		return -ENODATA;
	found.counter = j->farthest[best];
	r = scan_series(p, s->column[found.counter], &room, j->z);
	if (r < 0)
		return r;
	found.span = span_of_rows(p, s, find_edges(p, &room, best));
	*ret = found;
	return 0;
}

/* A search over rows works in it. */
struct scan_workspace {
	struct scan_plan plan;
	struct joint joint;
};

static void workspace_close(struct scan_workspace *w)
{
	joint_close(&w->joint);
	plan_free(&w->plan);
}

/* -ENODATA: it has no rows to judge; -ENOMEM. workspace_close() in any case. */
static int workspace_open(const struct fleet *f, size_t server, struct scan_workspace *w)
{
	int r = make_plan(f, server, &w->plan);

	return r ?: (w->plan.list.n ? joint_open(&w->joint, w->plan.list.n) : -ENODATA);
}

int fleet_scan_server(const struct fleet *f, size_t server, const bool *skip, struct scan_found *ret)
{
	struct scan_workspace w = {};
	int r = workspace_open(f, server, &w);

	r = r ?: find_stretch(f, server, skip, &w.plan, &w.joint, ret);
	workspace_close(&w);
	return r;
}

/* --- a symptom, and what else moved --- */

static bool same_times(const struct fleet_server *a, const struct fleet_server *b)
{
	return a->n == b->n && memcmp(a->time, b->time, a->n * sizeof(*a->time)) == 0;
}

/* All counters of all servers with the symptom's times. */
static int scan_fleet(const struct scan_plan *p, const struct fleet *f, size_t server, size_t counter, struct joint *j, struct scan_room *room)
{
	int r = 0;

	for (size_t i = 0; i < f->servers.n && r == 0; i++) {
		const struct fleet_server *s = &f->servers.v[i];

		for (size_t c = 0; c < f->counters.n && r == 0 && same_times(s, &f->servers.v[server]); c++) {
			if (!s->column[c] || (i == server && c == counter))
				continue;
			r = scan_series(p, s->column[c], room, j->z);
			if (r == 0)
				joint_add(j, p->list.n, c);
			r = r == -ENODATA ? 0 : r;
		}
	}
	return r;
}

static int find_symptom(const struct fleet *f, size_t server, size_t counter, const struct scan_plan *p, struct joint *j, struct scan_found *ret)
{
	const struct fleet_server *s = &f->servers.v[server];
	_cleanup_(scan_room_free) struct scan_room room = {};
	float most = 0, score;
	size_t best = 0;
	int r = s->column[counter] ? scan_fleet(p, f, server, counter, j, &room) : -ENODATA;

	r = r ?: scan_series(p, s->column[counter], &room, j->z);
	for (size_t i = 0; i < p->list.n && r == 0; i++) {
		score = fabsf(j->z[i]) * (1 + combine(j->top[i]));
		if (score > most) {
			most = score;
			best = i;
		}
	}
	if (r < 0 || !(most > 0))
		return r < 0 ? r : -ENODATA;
	*ret = (struct scan_found){(double)fabsf(j->z[best]), (int)counter, span_of_rows(p, s, find_edges(p, &room, best))};
	return 0;
}

int fleet_scan_symptom(const struct fleet *f, size_t server, size_t counter, struct scan_found *ret)
{
	struct scan_workspace w = {};
	int r = workspace_open(f, server, &w);

	r = r ?: find_symptom(f, server, counter, &w.plan, &w.joint, ret);
	workspace_close(&w);
	return r;
}

/* --- each counter by itself --- */

/* The intervals of one, the farthest first; what is found is taken out of `v` before the next is looked for. */
static int scan_one(const struct scan_plan *p, const struct fleet_server *s, int counter, float *v, double least, unsigned most, float *z,
		    struct scan_room *room, struct scan_list *ret)
{
	int r = 0;

	for (unsigned found = 0; found < most && r == 0; found++) {
		struct scan_found x = {.counter = counter};
		struct row_range rows;
		size_t best = 0;

		r = scan_series(p, v, room, z);
		for (size_t i = 0; r == 0 && i < p->list.n; i++)
			best = fabsf(z[i]) > fabsf(z[best]) ? i : best;
		if (r < 0 || (double)fabsf(z[best]) < least)
			break;
		rows = find_edges(p, room, best);
		x.score = (double)fabsf(z[best]);
		x.span = span_of_rows(p, s, rows);
		for (uint32_t i = rows.first * p->each; i < (rows.first + rows.n) * p->each; i++)
			v[i] = NAN;
		r = VEC_PUSH(ret->list, x);
	}
	return r == -ENODATA ? 0 : r;
}

int fleet_scan_each(const struct fleet *f, size_t server, const bool *skip, double least, unsigned most, struct scan_list *ret)
{
	const struct fleet_server *s = &f->servers.v[server];
	_cleanup_(scan_room_free) struct scan_room room = {};
	_cleanup_free_ float *copy = malloc(((size_t)s->n + 1) * sizeof(*copy)), *z = NULL;
	struct scan_plan p = {};
	int r = copy ? make_plan(f, server, &p) : -ENOMEM;

	z = malloc((p.list.n + 1) * sizeof(*z));
	if (r == 0 && !z)
		r = -ENOMEM;
	for (size_t c = 0; c < f->counters.n && r == 0 && p.list.n; c++) {
		if (!wanted(s, skip, c))
			continue;
		memcpy(copy, s->column[c], s->n * sizeof(*copy));
		r = scan_one(&p, s, (int)c, copy, least, most, z, &room, ret);
	}
	plan_free(&p);
	return r == -ENODATA ? 0 : r;
}
