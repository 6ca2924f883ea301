#include "fleet/analysis/fleet-baseline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

/* A level wanders by itself more than values jump. docs/decisions/0008-one-fusion.md has what other weights gave. */
#define SHIFT_COUNTS 0.4
#define PEAK_COUNTS  0.8
#define JUMP_COUNTS  1.6
#define RANGE_COUNTS 0.8
#define HALF_STRAYS 1.7 /* times what half of the levels stray is what three quarters do: an incident of a third of the data must not be its own measure */
#define LEVEL_CLIP 3.0 /* widths of the middle half of the values */
#define CLIMB_CLIP 1.3 /* times the room between the clips of levels that lies beyond each: a leak climbs far, one row does not */
#define LEVEL_FAR  3.0 /* of a level around which the rows are left out of the baseline */
#define LEVEL_STILL 0.25
#define LEVEL_PARTS 6 /* of a window, by which its level is followed */
#define LEVEL_AWAY  2.0 /* times as far as levels normally stray: it is at another level */
#define LEVEL_ROWS  16 /* of a window that tells a level; one of a few rows that has grown back does not */
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
		r = r ?: add_range(u, range.first > first + n ? range.first : first + n, range.first + range.n);
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
	for (size_t i = 0; i < u->ranges.n; i++) /* intervals between gaps may all be shorter than a block */
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
	double mean, level, climb, peak, jump, range, farthest; /* climb: of the level, from the earlier half to the later one */
	uint32_t n;
};

static struct measured measure(const struct fleet_baseline *u, const float *v, uint32_t n, uint32_t run_up)
{
	struct measured m = {.farthest = NAN};
	double median = u->median, sum = 0, clipped = 0, climbed = 0, early = 0, before = NAN, least = INFINITY, most = -INFINITY;
	double far = CLIMB_CLIP * (u->high - u->low), low = u->low - far, high = u->high + far;
	uint32_t n_early = 0;

	for (const float *x = v - run_up; x < v; before = (double)*x++)
		m.jump = fmax(m.jump, fabs((double)*x - before)); /* fmax passes NaN over */
	for (uint32_t i = 0; i < n; i++) {
		double x = (double)v[i], away = fabs(x - median), step = fabs(x - before);

		before = x;
		if (i == n / 2) {
			early = climbed;
			n_early = m.n;
		}
		if (isnan(x))
			continue;
		sum += x;
		clipped += x < u->low ? u->low : x > u->high ? u->high : x;
		climbed += x < low ? low : x > high ? high : x;
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
	m.level = m.n ? clipped / m.n : NAN;
	m.climb = n_early && m.n > n_early ? (climbed - early) / (m.n - n_early) - early / n_early : 0;
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

/* Pieces of a column's rows without the incident's; `few` has room for 9. NULL without memory. */
static struct piece *pieces_of(const float *v, const struct fleet_baseline_rows *rows, const struct row_range *incident, struct piece *few, size_t *ret_n)
{
	struct piece *pieces = rows->ranges.n < 8 ? few : malloc((rows->ranges.n + 1) * sizeof(*pieces));
	size_t n = 0;

	for (size_t i = 0; pieces && i < rows->ranges.n; i++) {
		const struct row_range *x = &rows->ranges.v[i];
		uint32_t end = x->first + x->n, from = incident->first, to = incident->first + incident->n;

		from = from < x->first ? x->first : from > end ? end : from;
		to = to < from ? from : to > end ? end : to;
		if (from > x->first)
			pieces[n++] = (struct piece){v + x->first, from - x->first};
		if (to < end)
			pieces[n++] = (struct piece){v + to, end - to};
	}
	*ret_n = n;
	return pieces;
}

static int find_level(const float *v, const struct fleet_baseline_rows *rows, struct select_room *room, struct fleet_baseline *u)
{
	struct piece few[9], *pieces;
	struct column_moments m;
	size_t n;

	pieces = pieces_of(v, rows, &u->incident, few, &n);
	if (!pieces)
		return -ENOMEM;
	column_moments_of(pieces, n, &m);
	u->median = columns_median(pieces, n, room);
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
	struct fleet_baseline u = {};
	int r = find_level(v, rows, room, &u);

	if (r == 0)
		*ret = u.median;
	return r;
}

/* m->n = 0 for a block that is left out of the baseline. */
typedef void block_fn(void *data, const struct measured *m);

static void each_block(const float *v, const struct fleet_baseline_rows *rows, const struct fleet_baseline *u, block_fn *fn, void *data)
{
	VEC_EACH(range, rows->ranges) {
		for (uint32_t k = 0; k + rows->block <= range->n; k += rows->block) {
			uint32_t first = range->first + k;
			bool same = first < u->incident.first + u->incident.n && first + rows->block > u->incident.first;
			struct measured m = same ? (struct measured){} : measure(u, v + first, rows->block, k < USUAL_RUN_UP ? k : USUAL_RUN_UP);

			fn(data, &m);
		}
	}
}

struct levels {
	float *level, *climb;
	size_t n;
};

static void add_level(void *data, const struct measured *m)
{
	struct levels *l = data;

	if (!m->n)
		return;
	l->level[l->n] = (float)m->level;
	l->climb[l->n++] = (float)m->climb;
}

/* The middle of n values, and how far three quarters of them stray from it; where an incident may be among them by what half of them do. copy: room for n. */
static double find_strays(const float *v, size_t n, bool incident, double floor, float *copy, double *ret_middle)
{
	float middle = columns_select(memcpy(copy, v, n * sizeof(*copy)), n, n / 2); /* which changes what it selects from */

	*ret_middle = (double)middle;
	for (size_t i = 0; i < n; i++)
		copy[i] = fabsf(v[i] - middle);
	return fmax(floor, incident ? HALF_STRAYS * (double)columns_select(copy, n, n / 2) : (double)columns_select(copy, n, n * 3 / 4));
}

/* The blocks' levels, and how far they climb: their middle, and how far they stray. What is far out of the values' middle half does not count in full. */
static int find_levels(const float *v, const struct fleet_baseline_rows *rows, struct fleet_baseline *u, struct select_room *room)
{
	_cleanup_free_ float *values = malloc(3 * ((size_t)rows->blocks + 1) * sizeof(*values));
	struct levels l = {values, values + rows->blocks, 0};
	struct piece few[9], *pieces;
	double low, high, floor = USUAL_FLOOR * fabs(u->median);
	bool done;
	size_t n;

	pieces = pieces_of(v, rows, &u->incident, few, &n);
	done = values && pieces;
	if (done) {
		low = columns_quantile(pieces, n, 0.25, room);
		high = columns_quantile(pieces, n, 0.75, room);
		u->low = high > low ? low - LEVEL_CLIP * (high - low) : -INFINITY;
		u->high = high > low ? high + LEVEL_CLIP * (high - low) : INFINITY;
		each_block(v, rows, u, add_level, &l);
	}
	if (l.n) {
		u->strays = find_strays(l.level, l.n, !u->incident.n, floor, l.climb + rows->blocks, &u->level);
		u->climb_strays = find_strays(l.climb, l.n, !u->incident.n, floor, l.climb + rows->blocks, &u->climb);
	}
	if (pieces != few)
		free(pieces);
	return done ? 0 : -ENOMEM;
}

/* How many rows from the window's edge on, in steps of `step` rows, lie on its side of the middle, on balance; one step may not. */
static uint32_t rows_alike(const float *v, const struct fleet_baseline *u, uint32_t edge, bool back, uint32_t most, uint32_t step, double away)
{
	uint32_t alike = 0;
	unsigned odd = 0;

	for (uint32_t done = 0; done + step <= most && odd < 2; done += step) {
		struct measured m = measure(u, back ? v + edge - done - step : v + edge + done, step, 0);
		bool same = !m.n || (m.level - u->level) / away >= LEVEL_STILL;

		odd = same ? 0 : odd + 1;
		alike = same && m.n ? done + step : alike;
	}
	return alike;
}

/* The rows around the window that lie at its level, where that is far from the middle: rows of the baseline that adjoin it. */
static void find_incident(const float *v, const struct fleet_baseline_rows *rows, const struct row_range *window, struct fleet_baseline *u)
{
	uint32_t end = window->first + window->n, before = 0, after = 0;
	struct measured m = measure(u, v + window->first, window->n, 0);
	uint32_t step = window->n / LEVEL_PARTS;
	double away = m.level - u->level;

	if (window->n < LEVEL_ROWS || !m.n || !(fabs(away) >= LEVEL_FAR * u->strays) || !(fabs(away) > 0))
		return;
	VEC_EACH(x, rows->ranges) {
		if (x->first + x->n == window->first)
			before = rows_alike(v, u, window->first, true, x->n, step, away);
		if (x->first == end)
			after = rows_alike(v, u, end, false, x->n, step, away);
	}
	if (before + after && before + after < rows->n / 2)
		u->incident = (struct row_range){window->first - before, before + window->n + after};
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

int fleet_baseline_find(const float *v, const struct fleet_baseline_rows *rows, const struct row_range *window, struct select_room *room,
			struct fleet_baseline *ret)
{
	struct find f = {};
	struct fleet_baseline u = {};
	double floor;
	int r = find_level(v, rows, room, &u);

	r = r ?: find_levels(v, rows, &u, room);
	if (r == 0 && window)
		find_incident(v, rows, window, &u);
	if (r == 0 && u.incident.n)
		r = find_level(v, rows, room, &u);
	if (r == 0 && u.incident.n)
		r = find_levels(v, rows, &u, room);
	if (r < 0)
		return r;
	f.mean = u.mean;
	each_block(v, rows, &u, add_to_sums, &f);
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

	each_block(v, rows, u, put_score, &s);
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
		r = r ?: add_range(&ret[1], split, range->first + range->n);
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

/* From where on an incident is under way at row `first`; SINCE_GAP of its rows may look normal. `first` where it is not, or where no step tells. */
static uint32_t began_before(const struct fleet_baseline *u, const float *v, uint32_t first, const struct measured *m)
{
	double ill = fmin(m->peak / 2, SINCE_FAR * u->peak);
	uint32_t began = first;

	if (!(m->peak > 0 && away(u, m, v[first]) >= ill))
		return first;
	for (uint32_t i = first; i-- > 0 && began - i <= SINCE_GAP + 1;)
		if (away(u, m, v[i]) >= ill)
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
	uint32_t from = began_before(u, v, first, m);

	for (uint32_t i = from; i < first + n; i++)
		if (fabs((double)v[i] - u->median) >= m->peak / 2)
			return s->time[i > from ? began_slowly(u, v, from, i, m) : i];
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

/* Where it lies now: the middle of the window's rows where that is away from what levels normally are, else of the few rows that are more than half as
 * far away as the farthest. *ret_reach: how far that level, or the farthest row, is from normal; *ret_range: from and to where the rows that differ
 * lie. NaN without memory. */
static double level_now(const struct fleet_baseline *u, const float *v, uint32_t n, struct measured *m, double ret_range[2])
{
	_cleanup_free_ float *copy = malloc(((size_t)n + 1) * sizeof(*copy));
	double middle, reach = m->peak;
	size_t kept = 0;

	for (uint32_t i = 0; copy && i < n; i++)
		if (!isnan(v[i]))
			copy[kept++] = v[i];
	if (!copy || !kept)
		return NAN;
	middle = (double)columns_select(copy, kept, kept / 2);
	if (n >= LEVEL_ROWS && fabs(middle - u->median) >= LEVEL_AWAY * u->strays && middle != u->median) {
		reach = fabs(middle - u->median);
		m->farthest = middle;
	}
	m->peak = reach;
	kept = 0;
	for (uint32_t i = 0; i < n; i++)
		if (away(u, m, v[i]) >= reach / 2)
			copy[kept++] = v[i];
	for (size_t i = 0; i < kept; i++) {
		ret_range[0] = fmin(ret_range[0], (double)copy[i]);
		ret_range[1] = fmax(ret_range[1], (double)copy[i]);
	}
	return kept ? (double)columns_select(copy, kept, kept / 2) : NAN;
}

int fleet_baseline_compare(const struct fleet_baseline *u, const struct fleet_server *s, const float *v, uint32_t first, uint32_t n,
		  struct fleet_finding *ret)
{
	struct measured m = measure(u, v + first, n, first < USUAL_RUN_UP ? first : USUAL_RUN_UP);

	double range[2] = {NAN, NAN};

	if (!m.n)
		return -ENODATA;
	ret->shift = ratio(fabs(m.mean - u->mean), u->shift);
	ret->peak = ratio(m.peak, u->peak);
	ret->jump = ratio(m.jump, u->jump);
	ret->range = ratio(m.range, u->range);
	ret->score = score_of(u, &m);
	ret->level = n >= LEVEL_ROWS ? fmax(ratio(fabs(m.level - u->level), u->strays), ratio(fabs(m.climb - u->climb), u->climb_strays)) : NAN;
	ret->observed = level_now(u, v + first, n, &m, range);
	ret->least = range[0];
	ret->most = range[1];
	ret->usual = u->median;
	ret->spread = u->peak;
	ret->n = u->n;
	ret->flags |= find_flags(u, v, first, n, &m);
	ret->since = find_since(u, s, v, first, n, &m);
	return 0;
}
