#include "fleet/analysis/fleet-baseline.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A level wanders by itself more than values jump. docs/decisions/0008-one-fusion.md has what other weights gave. */
#define SHIFT_COUNTS 0.4
#define PEAK_COUNTS  0.8
#define JUMP_COUNTS  1.6
#define RANGE_COUNTS 0.8
#define POWER	     2.5 /* of the mean over windows: what they reach at times counts more than what they mostly do */
#define SINCE_GAP    2 /* rows that may look normal within an incident */
#define SINCE_FAR    2	/* times the peak of normal windows: noise hides how a smaller one began */
#define SINCE_GAIN   2	/* times what the row that is half as far explains alone */
#define SINCE_STEP   8 /* rows that tell a step from a cycle, which comes near before it is half as far */

static int add_range(struct fleet_baseline_rows *u, uint32_t first, uint32_t end)
{
	if (end <= first)
		return 0;
	u->n += end - first;
	return VEC_PUSH(u->ranges, (struct row_range){first, end - first});
}

/* Cuts one span of time out of all ranges. */
static int cut(struct fleet_baseline_rows *u, const struct fleet_server *s, struct fleet_span span)
{
	uint32_t first, n = fleet_rows(s, span.from, span.to, &first);
	size_t before = u->ranges.n;
	struct row_range range;
	int r = 0;

	if (!n)
		return 0;
	u->n = 0;
	for (size_t i = 0; i < before && r == 0; i++) {
		range = u->ranges.v[i];
		r = add_range(u, range.first, range.first + range.n < first ? range.first + range.n : first);
		if (r == 0)
			r = add_range(u, range.first > first + n ? range.first : first + n, range.first + range.n);
	}
	memmove(u->ranges.v, u->ranges.v + before, (u->ranges.n - before) * sizeof(*u->ranges.v));
	u->ranges.n -= before;
	return r;
}

/* Blocks as long as the window; shorter ones where fewer than USUAL_BLOCKS_MIN would fit. */
static void divide(struct fleet_baseline_rows *u, uint32_t window_rows)
{
	u->block = window_rows ? window_rows : 1;
	if (u->n / u->block < USUAL_BLOCKS_MIN)
		u->block = u->n / USUAL_BLOCKS_MIN ? u->n / USUAL_BLOCKS_MIN : 1;
	u->blocks = 0;
	for (size_t i = 0; i < u->ranges.n; i++)
		u->blocks += u->ranges.v[i].n / u->block;
	if (u->blocks || !u->ranges.n)
		return;
	for (size_t i = 0; i < u->ranges.n; i++) /* stretches between gaps may all be shorter than a block */
		u->block = u->ranges.v[i].n < u->block ? u->ranges.v[i].n : u->block;
	for (size_t i = 0; i < u->ranges.n; i++)
		u->blocks += u->ranges.v[i].n / u->block;
}

int fleet_baseline_rows(const struct fleet_server *s, const struct fleet_question *q, uint32_t window_rows, struct fleet_baseline_rows *ret)
{
	struct fleet_baseline_rows u = {};
	uint32_t first, n = fleet_rows(s, q->usual.from, q->usual.to, &first);
	int r = add_range(&u, first, first + n);

	if (r == 0 && !q->reference)
		r = cut(&u, s, q->window);
	for (size_t i = 0; i < q->n_left_out && r == 0; i++)
		r = cut(&u, s, q->left_out[i]);
	if (r < 0) {
		VEC_FREE(u.ranges);
		return r;
	}
	divide(&u, window_rows);
	*ret = u;
	return 0;
}

/* The four measures of n values. The steps between the `run_up` values before them count as theirs. */
struct measured {
	double mean, peak, jump, range, farthest;
	uint32_t n;
};

static struct measured measure(const float *v, uint32_t n, double median, uint32_t run_up)
{
	struct measured m = {.farthest = NAN};
	double sum = 0, before = NAN, least = INFINITY, most = -INFINITY;

	for (const float *x = v - run_up; x < v; before = (double)*x++)
		m.jump = fmax(m.jump, fabs((double)*x - before)); /* fmax passes NaN over */
	for (uint32_t i = 0; i < n; i++) {
		double x = (double)v[i], away = fabs(x - median), step = fabs(x - before);

		before = x;
		if (isnan(x))
			continue;
		sum += x;
		m.n++;
		least = x < least ? x : least;
		most = x > most ? x : most;
		if (away > m.peak || m.n == 1) {
			m.peak = away;
			m.farthest = x;
		}
		if (step > m.jump)
			m.jump = step;
	}
	m.mean = m.n ? sum / m.n : NAN;
	m.range = m.n ? most - least : 0;
	return m;
}

struct powers {
	double shift, peak, jump, range;
	uint32_t n;
};

/* x to the POWER. */
static double power_of(double x)
{
	return x * x * sqrt(x);
}

static void add_block(struct powers *s, const struct measured *m, double mean)
{
	if (!m->n)
		return;
	s->shift += power_of(fabs(m->mean - mean));
	s->peak += power_of(m->peak);
	s->jump += power_of(m->jump);
	s->range += power_of(m->range);
	s->n++;
}

static double floored(double powers, uint32_t n, double floor)
{
	double mean = n ? pow(powers / n, 1 / POWER) : 0;

	return mean > floor ? mean : floor;
}

static int find_level(const float *v, const struct fleet_baseline_rows *rows, struct select_room *room, struct fleet_baseline *u)
{
	struct piece few[8] = {}, *pieces = rows->ranges.n <= 8 ? few : malloc(rows->ranges.n * sizeof(*pieces));
	struct column_moments m;

	if (!pieces)
		return -ENOMEM;
	for (size_t i = 0; i < rows->ranges.n; i++)
		pieces[i] = (struct piece){v + rows->ranges.v[i].first, rows->ranges.v[i].n};
	column_moments_of(pieces, rows->ranges.n, &m);
	u->median = columns_median(pieces, rows->ranges.n, room);
	u->mean = m.mean;
	u->least = (double)m.min;
	u->most = (double)m.max;
	u->n = (uint32_t)m.n;
	if (pieces != few)
		free(pieces);
	return m.n < 3 ? -ENODATA : 0;
}

int fleet_baseline_median(const float *v, const struct fleet_baseline_rows *rows, struct select_room *room, double *ret)
{
	struct fleet_baseline u;
	int r = find_level(v, rows, room, &u);

	if (r == 0)
		*ret = u.median;
	return r;
}

typedef void block_fn(void *data, const struct measured *m);

static void each_block(const float *v, const struct fleet_baseline_rows *rows, double median, block_fn *fn,
		       void *data)
{
	for (size_t i = 0; i < rows->ranges.n; i++) {
		const struct row_range *range = &rows->ranges.v[i];

		for (uint32_t k = 0; k + rows->block <= range->n; k += rows->block) {
			const float *begin = v + range->first + k;
			struct measured m = measure(begin, rows->block, median, k < USUAL_RUN_UP ? k : USUAL_RUN_UP);

			fn(data, &m);
		}
	}
}

struct find {
	struct powers sums;
	double mean;
};

static void add_to_sums(void *data, const struct measured *m)
{
	struct find *f = data;

	add_block(&f->sums, m, f->mean);
}

int fleet_baseline_find(const float *v, const struct fleet_baseline_rows *rows, struct select_room *room,
			struct fleet_baseline *ret)
{
	struct find f = {};
	struct fleet_baseline u;
	double floor;
	int r = find_level(v, rows, room, &u);

	if (r < 0)
		return r;
	f.mean = u.mean;
	each_block(v, rows, u.median, add_to_sums, &f);
	floor = USUAL_FLOOR * fabs(u.median);
	u.shift = floored(f.sums.shift, f.sums.n, floor);
	u.peak = floored(f.sums.peak, f.sums.n, floor);
	u.jump = floored(f.sums.jump, f.sums.n, floor);
	u.range = floored(f.sums.range, f.sums.n, floor);
	*ret = u;
	return 0;
}

/* Without any spread and around 0 there is no scale: then any change is as large as can be. */
static double ratio(double value, double usual)
{
	if (!(value > 0))
		return 0;
	return value < usual * USUAL_RATIO_MAX ? value / usual : USUAL_RATIO_MAX;
}

static double score_of(const struct fleet_baseline *u, const struct measured *m)
{
	return SHIFT_COUNTS * log1p(ratio(fabs(m->mean - u->mean), u->shift)) + PEAK_COUNTS * log1p(ratio(m->peak, u->peak)) +
	       JUMP_COUNTS * log1p(ratio(m->jump, u->jump)) + RANGE_COUNTS * log1p(ratio(m->range, u->range));
}

struct scores {
	const struct fleet_baseline *u;
	float *next;
};

static void put_score(void *data, const struct measured *m)
{
	struct scores *s = data;

	*s->next++ =
		m->n ? (float)score_of(s->u, m) : NAN;
}

void fleet_baseline_block_scores(const struct fleet_baseline *u, const float *v,
				 const struct fleet_baseline_rows *rows, float *scores)
{
	struct scores s = {u, scores};

	each_block(v, rows, u->median, put_score, &s);
}

int fleet_baseline_rows_halve(const struct fleet_baseline_rows *rows, struct fleet_baseline_rows ret[2])
{
	uint32_t left = rows->blocks / 2; /* of the earlier half */
	int r = 0;

	ret[0] = ret[1] = (struct fleet_baseline_rows){.block = rows->block};
	ret[0].blocks = left;
	ret[1].blocks = rows->blocks - left;
	for (size_t i = 0; i < rows->ranges.n && r == 0; i++) {
		const struct row_range *range = &rows->ranges.v[i];
		uint32_t blocks = range->n / rows->block, early = blocks < left ? blocks : left;
		uint32_t split = range->first + early * rows->block;

		left -= early;
		r = add_range(&ret[0], range->first, split);
		if (r == 0)
			r = add_range(&ret[1], split, range->first + range->n);
	}
	return r;
}

/* How far a value lies on the side to which the window went. */
static double away(const struct fleet_baseline *u, const struct measured *m, float v)
{
	return ((double)v - u->median) * (m->farthest < u->median ? -1 : 1);
}

/* Whether it was near normal just before row `i`. */
static bool comes_as_step(const struct fleet_baseline *u, const float *v, uint32_t i, const struct measured *m)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t k = i < SINCE_STEP ? 0 : i - SINCE_STEP; k < i; k++) {
		sum += isnan(v[k]) ? 0 : away(u, m, v[k]);
		n += !isnan(v[k]);
	}
	return n > SINCE_STEP / 2 && sum / n < m->peak / 4;
}

/* Where an incident began that is under way at row `first`; SINCE_GAP of its rows may look normal. `first` where no step tells. */
static uint32_t began_before(const struct fleet_baseline *u, const float *v, uint32_t first, const struct measured *m)
{
	uint32_t began = first;

	for (uint32_t i = first; i-- > 0 && began - i <= SINCE_GAP + 1;)
		if (away(u, m, v[i]) >= m->peak / 2)
			began = i;
	return comes_as_step(u, v, began, m) ? began : first;
}

/* Where an incident began whose first row half as far as it went is `half`: a ramp began before. It is the row from `first` on from which a
 * line that rises from normal, or a level, explains most of the values up to `half` (least squares); `half` where none explains SINCE_GAIN
 * times as much as that row does. */
static uint32_t began_slowly(const struct fleet_baseline *u, const float *v, uint32_t first, uint32_t half, const struct measured *m)
{
	double rows = 0, sum = 0, distances = 0, squares = 0, product = 0, most = 0;
	uint32_t began = half;

	if (m->peak < SINCE_FAR * u->peak)
		return half;
	for (uint32_t i = half + 1; i-- > first;) {
		double x = away(u, m, v[i]), explained;

		squares += 2 * distances + rows; /* all lie one row farther from where the line begins */
		distances += rows;
		product += sum;
		if (!isnan(x)) {
			rows++;
			sum += x;
			distances++;
			squares++;
			product += x;
		}
		explained = fmax(product > 0 ? product * product / squares : 0, sum > 0 ? sum * sum / rows : 0);
		if (i == half)
			most = SINCE_GAIN * explained;
		if (explained > most) {
			most = explained;
			began = i;
		}
	}
	return began;
}

/* When it left normal on the way to half as far as it went: before the window, if that begins so. */
static int64_t find_since(const struct fleet_baseline *u, const struct fleet_server *s, const float *v, uint32_t first, uint32_t n,
			  const struct measured *m)
{
	for (uint32_t i = first; i < first + n; i++)
		if (fabs((double)v[i] - u->median) >= m->peak / 2)
			return s->time[i > first ? began_slowly(u, v, first, i, m) : m->peak > 0 ? began_before(u, v, first, m) : i];
	return 0;
}

static unsigned find_flags(const struct fleet_baseline *u, const float *v, uint32_t first, uint32_t n, const struct measured *m)
{
	unsigned flags = m->farthest > u->median ? FLEET_HIGHER : m->farthest < u->median ? FLEET_LOWER : 0;
	bool above = true, below = true;

	for (uint32_t i = first; i < first + n; i++) {
		above &= !((double)v[i] <= u->most);
		below &= !((double)v[i] >= u->least);
	}
	if (u->least == u->most && m->peak > 0)
		flags |= FLEET_LEFT_ONLY_VALUE;
	if ((above || below) && m->jump < m->peak / 2)
		flags |= FLEET_REGIME_DIFFERS;
	return flags;
}

int fleet_baseline_compare(const struct fleet_baseline *u, const struct fleet_server *s, const float *v, uint32_t first, uint32_t n,
		  struct fleet_finding *ret)
{
	struct measured m = measure(v + first, n, u->median, first < USUAL_RUN_UP ? first : USUAL_RUN_UP);

	if (!m.n)
		return -ENODATA;
	ret->shift = ratio(fabs(m.mean - u->mean), u->shift);
	ret->peak = ratio(m.peak, u->peak);
	ret->jump = ratio(m.jump, u->jump);
	ret->range = ratio(m.range, u->range);
	ret->score = score_of(u, &m);
	ret->observed = ret->shift >= ret->peak ? m.mean : m.farthest;
	ret->usual = u->median;
	ret->spread = u->peak;
	ret->n = u->n;
	ret->flags |= find_flags(u, v, first, n, &m);
	ret->since = find_since(u, s, v, first, n, &m);
	return 0;
}
