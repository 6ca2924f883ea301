/* The model of "Why Did My PC Suddenly Slow Down?" (Basu, Dunagan, Smith 2007, section 3), literally:
 *
 *   each feature of each process on its own, a univariate Gaussian over the window's samples;
 *   features that are constant in a process are left out;
 *   a process's score is the average log-likelihood per feature of the value closest to the query, of each feature on its own,
 *   for processes with more than 10 features that are not constant;
 *   processes are ranked from the least likely, features within a process likewise.
 *
 * log p(x) = -log(sd) - log(2 pi)/2 - (x - mean)^2 / (2 sd^2), sd with 1/n (maximum likelihood). Densities depend on
 * units; here values are in the feature table's units: ns/s for times, bytes or bytes/s, counts or counts/s.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "machine/judge/gaussian.h"
#include "machine/judge/method.h"

struct moments {
	double n, mean, square; /* square = sum of squared differences from the mean */
};

/* West's update with a weight: `times` equal values at once. */
static void add(struct moments *m, double value, double times)
{
	double delta = value - m->mean;

	if (times <= 0)
		return;
	m->n += times;
	m->mean += delta * times / m->n;
	m->square += times * delta * (value - m->mean);
}

static bool learnt(const struct dataset *d, const struct method_question *q, uint32_t tick)
{
	return d->ticks.v[tick].span > 0 && !(q->excluded && q->excluded[tick]);
}

static struct moments train(const struct dataset *d, const struct method_question *q, const struct subject *s, size_t feature)
{
	const struct series *series = &s->series[feature];
	uint32_t from = s->first > q->train_from ? s->first : q->train_from;
	uint32_t known = subject_known_until(s, feature);
	int64_t to = known < q->train_to ? (int64_t)known : q->train_to;
	bool counter = s->features[feature].kind == COUNTER;
	double quantum = (double)s->features[feature].quantum, level = NAN;
	struct moments m = {};
	size_t next = 0;

	for (int64_t t = from; t <= to; t++) {
		int64_t value = 0;
		bool listed = false;

		while (next < series->n && series->tick[next] <= t) {
			level = (double)series->value[next] * quantum;
			value = series->value[next];
			listed = series->tick[next] == t;
			next++;
		}
		if (!learnt(d, q, (uint32_t)t))
			continue;
		if (feature_is_read_late(s->features, feature) && series->n)
			add(&m, subject_value(d, s, feature, (uint32_t)t), 1);
		else if (counter)
			add(&m, listed ? (double)value * quantum / ((double)d->ticks.v[t].span / 1e9) : 0, 1);
		else if (!isnan(level))
			add(&m, level, 1);
	}
	return m;
}

struct range {
	int64_t from, to; /* ticks, inclusive; empty if to < from */
};

/* Ticks whose values may stand for the query: within its tolerance, while the subject was there. Where the event is learnt
 * from, too (block mode), they are ticks that are learnt from. */
static struct range ticks_near(const struct dataset *d, const struct method_question *q,
			       const struct subject *s)
{
	bool event_is_learnt = q->train_to >= (int64_t)q->at;
	struct range r = {s->first, s->last};

	if (event_is_learnt && r.from < (int64_t)q->train_from)
		r.from = q->train_from;
	if (event_is_learnt && r.to > q->train_to)
		r.to = q->train_to;
	while (r.from <= r.to && d->ticks.v[q->at].boot - d->ticks.v[r.from].boot > q->tolerance)
		r.from++;
	while (r.from <= r.to && d->ticks.v[r.to].boot - d->ticks.v[q->at].boot > q->tolerance)
		r.to--;
	return r;
}

static int64_t distance(const struct dataset *d, uint32_t at, int64_t tick)
{
	return llabs(d->ticks.v[tick].boot - d->ticks.v[at].boot);
}

/* The tick of `near` with the feature's value closest to the query, the earlier of two; -1 if there is no value. */
static int64_t closest_value(const struct dataset *d, uint32_t at, const struct subject *s, size_t feature, struct range near,
			     double *ret)
{
	int64_t down = near.to < at ? near.to : at, up = near.from > at ? near.from : (int64_t)at + 1;
	uint32_t known = subject_known_until(s, feature);

	while (down >= near.from || up <= near.to) {
		bool later = down < near.from || (up <= near.to && distance(d, at, up) < distance(d, at, down));
		int64_t tick = later ? up++ : down--;
		double value = d->ticks.v[tick].span > 0 && tick <= known ? subject_value(d, s, feature, (uint32_t)tick) : NAN;

		if (isnan(value))
			continue;
		*ret = value;
		return tick;
	}
	return -1;
}

double gaussian_log_likelihood(double x, double mean, double sd)
{
	double z = (x - mean) / sd;

	return -log(sd) - 0.5 * log(2 * M_PI) - 0.5 * z * z;
}

static int judge(const struct dataset *d, const struct method_question *q, const struct subject *s, struct range near,
		 struct suspect *ret)
{
	double sum = 0;

	for (size_t f = 0; f < s->n_features; f++) {
		struct moments m;
		struct deviation dev = {.feature = &s->features[f]};
		double x, sd, likelihood;
		int64_t tick;

		if (!subject_has(s, f))
			continue;
		m = train(d, q, s, f);
		sd = m.n > 1 ? sqrt(m.square / m.n) : 0;
		tick = sd > 0 ? closest_value(d, q->at, s, f, near, &x) : -1;
		if (tick < 0)
			continue;
		likelihood = gaussian_log_likelihood(x, m.mean, sd);
		sum += likelihood;
		dev.observed = x;
		dev.usual = m.mean;
		dev.spread = sd;
		dev.deviation = (x - m.mean) / sd;
		dev.score = -likelihood;
		dev.compared = (uint32_t)m.n;
		dev.since = d->ticks.v[tick].wall;
		if (VEC_PUSH(ret->features, dev) < 0)
			return -ENOMEM;
	}
	if (ret->features.n <= GAUSSIAN_MIN_FEATURES)
		return 0;
	ret->score = -sum / (double)ret->features.n;
	return 1;
}

static int gaussian_rank(const struct dataset *d, const struct method_question *q, struct ranking *ret)
{
	ret->method = "gaussian";
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		struct suspect suspect = {.subject = s, .share = NAN, .members = 1};
		struct range near = ticks_near(d, q, s);
		int r;

		if (s->info.kind != ENTITY_PROCESS || near.to < near.from)
			continue;
		if (s->info.flags & ENTITY_IS_KERNEL_THREAD)
			suspect.kind = CULPRIT_KERNEL;
		r = judge(d, q, s, near, &suspect);
		if (r == 1)
			r = VEC_PUSH(ret->suspects, suspect) < 0 ? -ENOMEM : 1;
		if (r <= 0) {
			suspect_free(&suspect);
			ret->left_out++;
		}
		if (r < 0)
			return r;
		ret->looked_at++;
	}
	ranking_sort(ret);
	for (size_t i = 0; i < ret->suspects.n && i < 10; i++)
		for (size_t j = 0; j < ret->suspects.v[i].features.n && j < 10; j++) {
			struct deviation *dev = &ret->suspects.v[i].features.v[j];

			method_spark(d, ret->suspects.v[i].subject,
					(size_t)(dev->feature - ret->suspects.v[i].subject->features), q->train_from, q->at,
					dev->spark);
		}
	return 0;
}

const struct method method_gaussian = {
	.name = "gaussian",
	.help = "the paper's: a Gaussian for each feature, processes by average log-likelihood",
	.rank = gaussian_rank,
};
