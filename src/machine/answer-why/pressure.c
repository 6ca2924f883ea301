#include "machine/answer-why/pressure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/stat/robust.h"

#define FOCUS_DEFAULT	(10 * NS_PER_SEC) /* what is looked at when no pressure marks the beginning */
#define FOCUS_MAX	(600 * NS_PER_SEC)
#define FOCUS_MIN	(3 * NS_PER_SEC)
#define RECENT		(5 * NS_PER_SEC)
#define STARTING	(5 * NS_PER_SEC) /* of a recording: it is felt itself, and what stood still catches up */
#define FELT_TICKS	3    /* what is shorter is not felt */
#define FELT		(FELT_TICKS * NS_PER_SEC)
#define GAP_TICKS	3    /* a trouble may breathe for so long */
#define RISE_BEFORE	5  /* ticks of calm: fewer are no beginning */
#define RISE_CLEAR	10 /* F: what the rise explains, beside what is left */
#define PRESSURE_HIGH	0.30 /* no user takes so much for normal, although it was never less */
#define GUARD		(15 * NS_PER_SEC) /* before a trouble: not learnt from, but no more than ... */
#define GUARD_PART	5		  /* ... this part of the past */
#define GIVES_WAY	10 /* a nice value from which on a program waits by choice */
#define PAST_LEAST	30 /* ticks from which something can be learnt */
#define STEADY_MAX	(1800 * NS_PER_SEC) /* what is so for longer is usual ... */
#define STEADY_LEAST	(60 * NS_PER_SEC)   /* ... and what always was, in a recording that is as long */
#define UPPER		0.75 /* from this quantile on a strain is a peak */
#define CHANCE		0.1 /* that the past swings so far, for each of three pressures: who asks has a reason */

static const struct {
	enum bottleneck what;
	int feature; /* of the system entity: time per second */
} pressures[] = {
	{BOTTLENECK_CPU, FEATURE_PSI_CPU_SOME},
	{BOTTLENECK_DISK, FEATURE_PSI_IO_SOME},
	{BOTTLENECK_MEMORY, FEATURE_PSI_MEMORY_SOME},
};

/* One pressure by tick. */
struct gauge {
	enum bottleneck what;
	double *pressure; /* share of the time in which somebody waited, 0..1; NAN = not recorded */
	/* How hard it is to get the thing, 0..1. Time in which somebody waits says no more once somebody always does; of n
	 * threads that wait for a CPU on average it is n / (1 + n). May be the same array. */
	double *strain;
	double usual_pressure, usual_strain; /* NAN = too little past */
	bool felt;			     /* more than usual */
	bool always;			     /* it has been so high since the recording began, which is not long ago */
	double chance;			     /* ... that the past swings so far by itself; NAN = too little past */
	bool there;			     /* ... and that is too little to be chance */
	uint32_t end;			     /* the newest tick at which it is felt */
};

const struct subject *pressure_system(const struct dataset *d, uint32_t at)
{
	const struct subject *found = NULL;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (s->info.kind == ENTITY_SYSTEM && s->first <= at && s->last >= at)
			found = s;
	}
	return found;
}

static bool gives_way(const struct dataset *d, const struct subject *s)
{
	double nice = subject_has(s, FEATURE_SCHED_NICE) ? subject_value(d, s, FEATURE_SCHED_NICE, s->last) : NAN;

	return nice >= GIVES_WAY || (s->info.flags & ENTITY_IS_KERNEL_THREAD);
}

/* Adds what a program did in each tick. False: it was not recorded. */
static bool add_series(const struct subject *s, size_t feature, double *by_tick)
{
	const struct series *one = &s->series[feature];

	if (s->first > s->last || !subject_has(s, feature))
		return false;
	for (size_t k = 0; k < one->n; k++)
		by_tick[one->tick[k]] += (double)one->value[k] * (double)s->features[feature].quantum;
	return true;
}

int pressure_sum_waited(const struct dataset *d, double **ret)
{
	double *waited = calloc(d->ticks.n + 1, sizeof(*waited));
	_cleanup_free_ double *used = calloc(d->ticks.n + 1, sizeof(*used)), *asking = calloc(d->ticks.n + 1, sizeof(*asking));
	bool any = false;

	*ret = NULL;
	if (!waited || !used || !asking) {
		free(waited);
		return -ENOMEM;
	}
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if ((s->info.kind != ENTITY_PROCESS && s->info.kind != ENTITY_SHORT_LIVED) || gives_way(d, s))
			continue;
		add_series(s, FEATURE_CPU_TIME, used);
		if (entity_asks(&s->info))
			add_series(s, FEATURE_CPU_TIME, asking);
		if (s->info.kind == ENTITY_PROCESS)
			any |= add_series(s, FEATURE_CPU_RUN_DELAY, waited);
	}
	for (size_t t = 0; t < d->ticks.n; t++)
		waited[t] = d->ticks.v[t].span > 0 ? waited[t] * method_without_asking(asking[t], used[t]) / (double)d->ticks.v[t].span : 0;
	if (any)
		*ret = TAKE(waited);
	free(waited);
	return 0;
}

static void gauge_free(struct gauge *g)
{
	if (g->strain != g->pressure)
		free(g->strain);
	free(g->pressure);
}

static int gauge_read(const struct dataset *d, const struct method_question *q, enum bottleneck what, int feature, struct gauge *ret)
{
	const struct subject *newest = pressure_system(d, q->at);
	bool queues = feature == FEATURE_PSI_CPU_SOME && q->waited;
	struct gauge g = {.what = what};

	g.pressure = g.strain = calloc(d->ticks.n + 1, sizeof(*g.pressure));
	if (queues)
		g.strain = calloc(d->ticks.n + 1, sizeof(*g.strain));
	if (!g.pressure || !g.strain) {
		gauge_free(&g);
		return -ENOMEM;
	}
	for (uint32_t t = 0; t < d->ticks.n; t++) {
		const struct subject *s = newest && newest->first <= t ? newest : pressure_system(d, t);

		g.pressure[t] = s ? subject_value(d, s, (size_t)feature, t) / 1e9 : NAN;
		if (queues) {
			g.pressure[t] = fmin(g.pressure[t], q->waited[t]);
			g.strain[t] = q->waited[t] / (1 + q->waited[t]);
		}
	}
	*ret = g;
	return 0;
}

static bool is_learnt(const struct method_question *q, int64_t t)
{
	return !(q->excluded && q->excluded[t]);
}

static int learn_usual(const struct method_question *q, const double *by_tick, int64_t to, bool queue,
		       double *ret)
{
	size_t n = 0, room = to >= q->train_from ? (size_t)(to - q->train_from) + 1 : 0;
	_cleanup_free_ double *values = calloc(room + 1, sizeof(*values));

	if (!values)
		return -ENOMEM;
	for (int64_t t = q->train_from; t <= to; t++)
		if (is_learnt(q, t))
			values[n++] = by_tick[t];
	n = robust_sort(values, n);
	/* a queue swings more than the time in which somebody waits: what it reaches a quarter of the time is usual */
	if (queue && n >= PAST_LEAST) {
		*ret = robust_quantile(values, n, 0.75);
		return 0;
	}
	/* the mean of the middle: of a pressure that is mostly zero the median says nothing */
	*ret = n < PAST_LEAST ? NAN : 0;
	for (size_t i = n / 4; n >= PAST_LEAST && i < n - n / 4; i++)
		*ret += values[i] / (double)(n - n / 4 - n / 4);
	return 0;
}

static double mean_of(const double *by_tick, uint32_t from, uint32_t to)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t t = from; t <= to; t++) {
		if (isnan(by_tick[t]))
			continue;
		sum += by_tick[t];
		n++;
	}
	return n ? sum / n : NAN;
}

/* Over so short a time that it is just felt. */
static double felt_until(const double *by_tick, uint32_t to)
{
	return mean_of(by_tick, to >= FELT_TICKS - 1 ? to - (FELT_TICKS - 1) : 0, to);
}

/* How long the recording has gone on without a gap; more than `enough` is not counted. */
static int64_t recorded_for(const struct dataset *d, uint32_t at, int64_t enough)
{
	uint32_t t = at;

	while (t > 0 && d->ticks.v[t].span > 0 && d->ticks.v[at].boot - d->ticks.v[t].boot < enough)
		t--;
	return d->ticks.v[t].span > 0 ? enough : d->ticks.v[at].boot - d->ticks.v[t].boot;
}

uint32_t pressure_tick_before(const struct dataset *d, uint32_t from, int64_t ns)
{
	bool young = recorded_for(d, from, 2 * STARTING) < 2 * STARTING; /* there is hardly anything else to look at */
	uint32_t t = from;

	while (t > 0 && d->ticks.v[from].boot - d->ticks.v[t - 1].boot < ns && d->ticks.v[t].span > 0 &&
	       (young || recorded_for(d, t - 1, STARTING) >= STARTING))
		t--;
	return t;
}

int64_t pressure_last_learnt(const struct dataset *d, const struct method_question *q, uint32_t focus)
{
	int64_t past = d->ticks.v[focus].elapsed - d->ticks.v[q->train_from].elapsed;
	int64_t guard = past / GUARD_PART < GUARD ? past / GUARD_PART : GUARD;

	return (int64_t)pressure_tick_before(d, focus, guard) - 1;
}

/* Goes back from `at`, not beyond `oldest`, while a strain stays above `level`. */
static uint32_t walk_back(const double *strain, uint32_t at, uint32_t oldest, double level)
{
	uint32_t start = at, low = 0;

	for (uint32_t t = at; t > oldest; t--) {
		if (!(strain[t] >= level)) {
			if (++low > GAP_TICKS)
				break;
			continue;
		}
		low = 0;
		start = t;
	}
	return start;
}

/* The highest that was felt within a reaction's time before `at`. */
static double worst_before(const struct dataset *d, const double *strain, uint32_t at, int64_t reaction)
{
	uint32_t oldest = pressure_tick_before(d, at, reaction > FELT ? reaction : FELT);
	double worst = NAN;

	for (uint32_t t = at; t >= oldest + FELT_TICKS - 1; t--)
		worst = fmax(worst, felt_until(strain, t));
	return worst;
}

/* The chance that the worst within a reaction's time swings beyond `now` by itself, 0..1 (NAN: too little past). Beyond the upper
 * quarter the odds of a strain fall off exponentially (peaks over a threshold; its scale is taken from quantiles, which a few
 * troubles in the past do not move). Learnt from k peaks the next one is Pareto: P(x) = (1 + x / (k scale))^-k. Of what is
 * higher than all of n moments it is no more than 1 / n. */
static int learn_chance(const struct dataset *d, const struct method_question *q, const double *strain, int64_t to, double now, double *ret)
{
	size_t n = 0, room = to >= q->train_from ? (size_t)(to - q->train_from) + 1 : 0;
	_cleanup_free_ double *values = calloc(room + 1, sizeof(*values));
	double upper, scale, peaks, beyond, moments = 0;

	if (!values)
		return -ENOMEM;
	for (int64_t t = q->train_from; t <= to && t <= q->train_to; t++) {
		double worst = is_learnt(q, t) ? worst_before(d, strain, (uint32_t)t, PRESSURE_REACTION) : NAN;

		if (isnan(worst))
			continue;
		values[n++] = worst / (1 - fmin(worst, 0.999));
		moments += (double)d->ticks.v[t].span / PRESSURE_REACTION;
	}
	n = robust_sort(values, n);
	*ret = NAN;
	if (n < PAST_LEAST)
		return 0;
	peaks = moments * (1 - UPPER);
	upper = robust_quantile(values, n, UPPER);
	scale = (robust_quantile(values, n, 0.95) - upper) / log((1 - UPPER) / 0.05);
	beyond = now / (1 - fmin(now, 0.999)) - upper;
	if (beyond <= 0)
		*ret = 1;
	else
		*ret = scale > 0 ? (1 - UPPER) * pow(1 + beyond / (peaks * scale), -peaks) : 0;
	if (beyond > values[n - 1] - upper)
		*ret = fmin(*ret, 1 / moments);
	return 0;
}

/* What it is beside what it was before: over the last seconds, or just now. */
static double recent_strain(const struct dataset *d, const struct gauge *g, uint32_t at)
{
	return fmax(mean_of(g->strain, pressure_tick_before(d, at, RECENT), at), felt_until(g->strain, at));
}

static uint32_t begin_of(const struct dataset *d, const struct gauge *g, uint32_t at)
{
	double now = recent_strain(d, g, at), before = isnan(g->usual_strain) ? 0 : g->usual_strain;

	return walk_back(g->strain, at, pressure_tick_before(d, at, FOCUS_MAX), before + (now - before) / 2);
}

/* What may be a trouble, before anything is known of what is usual: its worst moment, and since when there is a recording in one
 * piece with it. */
struct stretch_of_trouble {
	uint32_t first, oldest, worst; /* ticks; the first at which anything was recorded */
	uint32_t begin; /* where the strain had half its height: found without knowing what is usual */
};

static bool find_stretch(const struct dataset *d, const struct method_question *q, const struct gauge *g, int64_t reaction, struct stretch_of_trouble *ret)
{
	uint32_t reacted = pressure_tick_before(d, q->at, reaction > FELT ? reaction : FELT);
	struct stretch_of_trouble s = {.first = q->train_from, .worst = q->at};

	for (uint32_t t = q->at; t >= reacted + FELT_TICKS - 1; t--)
		if (felt_until(g->strain, t) > felt_until(g->strain, s.worst))
			s.worst = t;
	if (!method_is_felt(felt_until(g->strain, s.worst), NAN))
		return false;
	while (s.first < q->at && isnan(g->strain[s.first]))
		s.first++;
	s.oldest = pressure_tick_before(d, s.worst, STEADY_MAX);
	s.oldest = s.oldest > s.first ? s.oldest : s.first;
	s.begin = walk_back(g->strain, s.worst, s.oldest, felt_until(g->strain, s.worst) / 2);
	*ret = s;
	return true;
}

static bool is_steady(const struct stretch_of_trouble *s)
{
	return s->begin <= s->oldest + GAP_TICKS;
}

/* Up to which tick a strain's usual is learnt: what may be a trouble is not learnt from where it is more than a part of what
 * there is to learn from. */
static int64_t usual_until(const struct dataset *d, const struct method_question *q, const struct stretch_of_trouble *s)
{
	int64_t past = d->ticks.v[q->at].elapsed - d->ticks.v[s->first].elapsed;
	bool usual = is_steady(s) && past >= STEADY_LEAST;

	if (usual || d->ticks.v[q->at].elapsed - d->ticks.v[s->begin].elapsed <= past / GUARD_PART)
		return q->train_to;
	return pressure_last_learnt(d, q, s->begin);
}

/* What a strain was before it rose, in a recording too short to tell what is usual: the mean before the tick that parts it best
 * into a lower and a higher stretch (least squares, as binary segmentation does; Scott and Knott 1974), where that explains much
 * more than chance does. NAN where it did not rise. */
static double before_rise(const double *strain, const struct stretch_of_trouble *s)
{
	double all = 0, squares = 0, sum = 0, best = 0, found = NAN, n = s->worst - s->oldest + 1, before = 0;

	for (uint32_t t = s->oldest; t <= s->worst; t++) {
		all += strain[t];
		squares += strain[t] * strain[t];
	}
	for (uint32_t t = s->oldest; t + FELT_TICKS <= s->worst; t++) {
		double low, high, gain;

		sum += strain[t];
		before++;
		low = sum / before;
		high = (all - sum) / (n - before);
		gain = before * (n - before) / n * (high - low) * (high - low);
		if (before < RISE_BEFORE || gain <= best || !method_is_felt(high, low))
			continue;
		best = gain;
		found = low;
	}
	return best >= RISE_CLEAR * (squares - all * all / n - best) / (n - 2) ? found : NAN;
}

static int learn_gauge(const struct dataset *d, const struct method_question *q, int64_t reaction,
		       struct gauge *g)
{
	struct stretch_of_trouble s;
	bool strained = find_stretch(d, q, g, reaction, &s);
	int64_t to = strained ? usual_until(d, q, &s) : q->train_to;
	int r = learn_usual(q, g->strain, to, g->strain != g->pressure, &g->usual_strain);

	r = r ?: learn_usual(q, g->pressure, to, false, &g->usual_pressure);
	if (r == 0 && strained && isnan(g->usual_strain))
		g->usual_strain = before_rise(g->strain, &s);
	g->always = strained && is_steady(&s) && s.oldest == s.first && felt_until(g->strain, s.worst) >= PRESSURE_HIGH;
	return r;
}

/* Is there a trouble at `at` or within a reaction's time before it? What the past swung to is always that of the longest one. */
static int look_for_trouble(const struct dataset *d, const struct method_question *q, int64_t reaction, struct gauge *g)
{
	uint32_t oldest = pressure_tick_before(d, q->at, reaction > FELT ? reaction : FELT);
	int r;

	g->felt = g->there = false;
	g->chance = 1;
	for (g->end = q->at; g->end >= oldest + FELT_TICKS - 1; g->end--)
		if (method_is_felt(felt_until(g->strain, g->end), g->usual_strain))
			break;
	if (g->end < oldest + FELT_TICKS - 1)
		return 0;
	g->felt = true;
	r = learn_chance(d, q, g->strain, pressure_last_learnt(d, q, begin_of(d, g, g->end)), worst_before(d, g->strain, q->at, reaction),
			 &g->chance);
	if (r == 0)
		g->there = isnan(g->chance) || g->chance < CHANCE;
	return r;
}

/* The newest moment of a trouble, and where the strain that rose most had risen half-way. Where nothing goes beyond what the
 * past swung to: of what is felt. */
static void place_focus(const struct dataset *d, struct method_question *q, const struct gauge g[], size_t n, bool beyond)
{
	uint32_t end = 0, latest;
	double most = 0;

	for (size_t i = 0; i < n; i++)
		if ((beyond ? g[i].there : g[i].felt) && g[i].end > end)
			end = g[i].end;
	if (end)
		q->at = end;
	q->focus = pressure_tick_before(d, q->at, FOCUS_DEFAULT);
	latest = pressure_tick_before(d, q->at, FOCUS_MIN);
	for (size_t i = 0; i < n; i++) {
		double now = recent_strain(d, &g[i], q->at), before = isnan(g[i].usual_strain) ? 0 : g[i].usual_strain;
		uint32_t begin;

		if (!(beyond ? g[i].there : g[i].felt) || !method_is_felt(now, before) || now - before <= most)
			continue;
		most = now - before;
		begin = begin_of(d, &g[i], q->at);
		q->focus = begin < latest ? begin : latest;
	}
}

int pressure_find(const struct dataset *d, struct method_question *q, int64_t since, int64_t reaction, struct shortages *ret)
{
	struct gauge gauges[ARRAY_SIZE(pressures)] = {};
	int r = 0;

	*ret = (struct shortages){};
	for (size_t b = 0; b < BOTTLENECK_COUNT; b++)
		q->pressure.usual[b] = q->pressure.now[b] = NAN;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(pressures); i++) {
		struct gauge *g = &gauges[i];

		r = gauge_read(d, q, pressures[i].what, pressures[i].feature, g);
		r = r ?: learn_gauge(d, q, reaction, g);
		r = r ?: look_for_trouble(d, q, reaction, g);
		ret->any |= g->there;
		ret->felt |= g->felt;
		ret->always |= g->always;
	}
	if (r == 0) {
		place_focus(d, q, gauges, ARRAY_SIZE(gauges), ret->any);
		if (since)
			q->focus = q->train_from;
		while (since && q->focus < q->at && d->ticks.v[q->focus].wall < since)
			q->focus++;
		if (q->focus <= q->train_from && q->at > q->train_from)
			q->focus = q->train_from + 1 < q->at ? q->train_from + 1 : q->at;
	}
	for (size_t i = 0; i < ARRAY_SIZE(pressures); i++) {
		struct gauge *g = &gauges[i];

		if (r == 0) {
			q->pressure.usual[g->what] = g->usual_pressure;
			q->pressure.now[g->what] = mean_of(g->pressure, q->focus, q->at);
			ret->of[g->what] = method_is_felt(mean_of(g->strain, q->focus, q->at), g->usual_strain);
		}
		gauge_free(g);
	}
	return r;
}
