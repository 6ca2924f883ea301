#include "fleet/analysis/fleet-onset.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/analysis/fleet-baseline.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/system/parallel.h"

#define LONGEST	  2   /* times the window's rows that it may grow by */
#define GAP	  2   /* rows that may look normal within an incident */
#define GAP_PART  8   /* part of the window's rows that may */
#define LATE	  (900ll * NS_PER_SEC) /* by which a window often begins too late; USUAL_RUN_UP rows where those are more */
#define LATEST	  (3600ll * NS_PER_SEC)
#define STEP	  8   /* rows that tell a step from a wandering level */
#define SAMPLED	  256 /* values of a series that tell its level: a tenth of a standard deviation is close enough */
#define ROWS_MIN  8   /* of the normal time */
#define SPIKES	   8  /* rows that show how much a series spikes */
#define SPIKES_MIN 32 /* rows of a window in which spikes count */

struct witness {
	double shift; /* robust standard deviations */
	int64_t from;
};

struct onset {
	const struct fleet_question *q;
	bool found; /* the window was, by a search */
	struct witness witnesses[ONSET_WITNESSES + 1]; /* highest shift first, and room for one more */
	size_t n;
	pthread_mutex_t lock;
};

/* At most SAMPLED values of n, evenly, without missing ones. */
static size_t sample(const float *v, uint32_t n, float *to)
{
	uint32_t step = n / SAMPLED + 1;
	size_t kept = 0;

	for (uint32_t i = 0; i < n; i += step)
		if (!isnan(v[i]))
			to[kept++] = v[i];
	return kept;
}

static size_t sample_usual(const float *v, const struct fleet_baseline_rows *rows, float *to)
{
	uint32_t step = rows->n / SAMPLED + 1, next = 0;
	size_t kept = 0;

	VEC_EACH(range, rows->ranges) {
		for (; next < range->n; next += step)
			if (!isnan(v[range->first + next]))
				to[kept++] = v[range->first + next];
		next -= range->n;
	}
	return kept;
}

/* The k-th smallest; `values` stay as they are. */
static double select_kth(const float *values, size_t n, size_t k)
{
	float copy[SAMPLED + 1];

	memcpy(copy, values, n * sizeof(*copy));
	return (double)columns_select(copy, n, k);
}

/* How many of the rows before `first` belong to the window's level: as many as have the largest sum of how far they lie beyond the middle,
 * each counting `half` at most. Noise with a memory crosses the middle for some rows: the search ends where it has looked normal for as
 * long as GAP rows, or an eighth of the window, on balance. */
static uint32_t rows_alike(const float *v, uint32_t first, uint32_t most, uint32_t gap, double middle, double now)
{
	double half = fabs(now - middle), sum = 0, highest = 0;
	uint32_t alike = 0;

	for (uint32_t i = 0; i < most && sum > highest - half * (gap + 1); i++) {
		double x = ((double)v[first - 1 - i] - middle) * (now > middle ? 1 : -1);

		sum += isnan(x) ? 0 : fmax(-half, fmin(x, half));
		if (sum > highest) {
			highest = sum;
			alike = i + 1;
		}
	}
	return alike;
}

static void add_witness(struct onset *o, const struct witness *w)
{
	size_t at;

	pthread_mutex_lock(&o->lock);
	for (at = o->n; at > 0 && o->witnesses[at - 1].shift < w->shift; at--)
		o->witnesses[at] = o->witnesses[at - 1];
	o->witnesses[at] = *w;
	o->n += o->n < ONSET_WITNESSES;
	pthread_mutex_unlock(&o->lock);
}

/* Whether it lay near normal for the rows before `row`. */
static bool came_as_step(const float *v, uint32_t row, double normal, double now)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = row < STEP ? 0 : row - STEP; i < row; i++) {
		sum += isnan(v[i]) ? 0 : ((double)v[i] - normal) / (now - normal);
		n += !isnan(v[i]);
	}
	return n > STEP / 2 && sum / n < 0.25;
}

/* A window that a person gives begins too late by some minutes. Where the level has been there for longer, and did not come as a step, or
 * for hours, the series wandered to it. */
static bool is_drift(const struct onset *o, const struct fleet_server *s, const float *v, uint32_t from, double normal, double now)
{
	int64_t late = o->q->window.from - s->time[from];

	if (o->found || late <= LATE || late <= USUAL_RUN_UP * o->q->fleet->interval)
		return false;
	return late > LATEST || !came_as_step(v, from, normal, now);
}

/* Whether its level moved far. */
static bool ask_series(struct onset *o, const struct fleet_server *s, const float *v, const struct fleet_baseline_rows *usual, uint32_t first,
		       uint32_t n)
{
	float values[SAMPLED + 1];
	size_t kept = sample_usual(v, usual, values);
	double normal, spread, now;
	struct witness w;
	uint32_t before;

	if (kept < ROWS_MIN)
		return false;
	spread = (select_kth(values, kept, kept * 3 / 4) - select_kth(values, kept, kept / 4)) / 1.349;
	normal = select_kth(values, kept, kept / 2);
	spread = fmax(spread, fmax(USUAL_FLOOR * fabs(normal), 1e-12));
	kept = sample(v + first, n, values);
	if (!kept)
		return false;
	now = (double)columns_select(values, kept, kept / 2);
	w.shift = fabs(now - normal) / spread;
	if (!(w.shift >= ONSET_FAR))
		return false;
	before = rows_alike(v, first, first / LONGEST < n ? first : LONGEST * n, n / GAP_PART > GAP ? n / GAP_PART : GAP, (now + normal) / 2, now);
	w.from = before && !is_drift(o, s, v, first - before, normal, now) ? s->time[first - before] : o->q->window.from;
	add_witness(o, &w);
	return true;
}

/* Bursts of single rows move no median: how far the last SPIKES rows strayed from the series' median, by row. */
static void find_spikes(const float *v, uint32_t n, const struct fleet_baseline_rows *usual, float *to)
{
	float values[SAMPLED + 1];
	size_t kept = sample_usual(v, usual, values);
	float normal = kept ? columns_select(values, kept, kept / 2) : 0;

	for (uint32_t i = 0; i < n; i++) {
		to[i] = 0;
		for (uint32_t k = i < SPIKES ? 0 : i - SPIKES + 1; k <= i; k++)
			to[i] += isnan(v[k]) ? 0 : fabsf(v[k] - normal);
	}
}

/* The baseline without the rows that the window may grow by: an incident in them widens the spread until it is none itself. They stay
 * where they are most of it. */
static int rows_to_judge(const struct fleet_question *q, const struct fleet_server *s, uint32_t first, uint32_t n, struct fleet_baseline_rows *ret)
{
	_cleanup_free_ struct fleet_span *left_out = calloc(q->n_left_out + 1, sizeof(*left_out));
	uint32_t most = first / LONGEST < n ? first : LONGEST * n;
	struct fleet_question again = *q;
	int r = left_out ? fleet_baseline_rows(s, q, n, ret) : -ENOMEM;

	if (r < 0 || ret->n < 2 * most + ROWS_MIN)
		return r;
	VEC_FREE(ret->ranges);
	if (q->n_left_out)
		memcpy(left_out, q->left_out, q->n_left_out * sizeof(*left_out));
	left_out[again.n_left_out++] = (struct fleet_span){s->time[first - most], s->time[first]};
	again.left_out = left_out;
	return fleet_baseline_rows(s, &again, n, ret);
}

static int one_server(void *data, size_t server)
{
	struct onset *o = data;
	const struct fleet_server *s = &o->q->fleet->servers.v[server];
	_cleanup_free_ float *spikes = NULL;
	struct fleet_baseline_rows usual;
	uint32_t first, n = fleet_rows(s, o->q->window.from, o->q->window.to, &first);
	int r;

	if (!n)
		return 0;
	r = rows_to_judge(o->q, s, first, n, &usual);
	if (r < 0)
		return r;
	spikes = n >= SPIKES_MIN ? malloc(s->n * sizeof(*spikes)) : NULL;
	for (size_t c = 0; c < o->q->fleet->counters.n; c++) {
		if (!s->column[c] || ask_series(o, s, s->column[c], &usual, first, n) || !spikes)
			continue;
		find_spikes(s->column[c], s->n, &usual, spikes);
		ask_series(o, s, spikes, &usual, first, n);
	}
	VEC_FREE(usual.ranges);
	return n >= SPIKES_MIN && !spikes ? -ENOMEM : 0;
}

/* The rows that the witnesses name, in order: the first, or the median. */
static int64_t named(const struct onset *o, bool first)
{
	int64_t from[ONSET_WITNESSES];

	for (size_t i = 0; i < o->n; i++) {
		size_t at = i;

		for (; at > 0 && from[at - 1] > o->witnesses[i].from; at--)
			from[at] = from[at - 1];
		from[at] = o->witnesses[i].from;
	}
	return from[first ? 0 : o->n / 2];
}

int fleet_window_grow(const struct fleet_question *q, bool first, struct fleet_span *ret)
{
	struct onset o = {.q = q, .found = first, .lock = PTHREAD_MUTEX_INITIALIZER};
	int r = q->reference ? 0 : parallel_run(q->threads, q->fleet->servers.n, one_server, &o);

	*ret = q->window;
	if (r < 0 || !o.n)
		return r;
	ret->from = named(&o, first);
	return 0;
}
