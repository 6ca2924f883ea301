#include "machine/answer-why/verdict.h"

#include <math.h>

#include "machine/answer-waits/hangs.h"
#include "machine/findings/weights.h"

#define COSTS	     5 /* misses: a false accusation in a calm moment */
#define NAMED_LEAST  0.4 /* probability: of three similar ones none is the cause more than the others are */
#define SURE	     0.999 /* what is more probable is no better known */
#define SLOWDOWN_MOST  3 /* e^3: twenty times as long */
#define WORKS_LEAST   0.05 /* of the time */
#define SHARE_MOST   0.98 /* of what is new: something is always left */
#define SHORT_LEAST  0.05 /* of the time: who takes less of what is short has nobody wait */
#define SEEN	     0.25 /* log(1 + s/s) that is waited, log of the slowdown and the shortage, together: a person sees it */
#define UNSEEN	     0.5 /* of a mark's weight where no program waits */
#define ASKED	     0.5 /* of a hang's demand: a person or a request waits */
#define RISES	     3 /* spreads beyond the baseline */
#define FAR_MORE     3 /* times */
#define WAITS_LEAST  0.1 /* s/s */
#define IN_THE_WAY   0.1 /* s/s that others waited on its account */

static const struct suspect *first_of(const struct answer *a)
{
	return a->ranking.suspects.n ? &a->ranking.suspects.v[0] : NULL;
}

static bool has_odds(const struct method *method)
{
	return method == &method_blame; /* their scores are no shares of guilt */
}

static bool is_of_the_machine(const struct suspect *s)
{
	return s->of == BOTTLENECK_CPU || s->of == BOTTLENECK_DISK || s->of == BOTTLENECK_MEMORY;
}

/* Events say more than pressure, which is of all programs together and may be no higher than usual. */
static bool is_in_the_way(const struct suspect *s)
{
	return is_of_the_machine(s) && s->imposed >= IN_THE_WAY;
}

/* How short others are of what it takes, 0..1. */
static double short_for_others(const struct suspect *s)
{
	double bound = s->factors[EVIDENCE_BOUND];

	return s->factors[EVIDENCE_SHORTAGE] * (bound > 0 ? bound : 1);
}

/* So much guilt of taking the machine's is there only where others wait for it, although all waits together may swing more. */
static bool takes_what_is_short(const struct suspect *s)
{
	return is_of_the_machine(s) && (short_for_others(s) > SHORT_LEAST || is_in_the_way(s));
}

bool verdict_is_pressed(const struct answer *a, const struct shortages *there)
{
	const struct suspect *top = a->culprit_is_named ? first_of(a) : NULL;

	return there->any || (top && top->of != BOTTLENECK_NONE && (there->felt || takes_what_is_short(top)));
}

/* The first one's part of what is new, of those that take something. The kernel's workers have none: they do what others want. */
static double first_share(const struct answer *a)
{
	size_t i = 0;
	const struct suspect *top;

	while (i < a->ranking.suspects.n && a->ranking.suspects.v[i].hang)
		i++;
	top = i < a->ranking.suspects.n ? &a->ranking.suspects.v[i] : NULL;
	return top && !(top->factors[EVIDENCE_FOR_OTHERS] > 0 && top->factors[EVIDENCE_FOR_OTHERS] < 1) ? fmin(SHARE_MOST, fmax(0, top->factors[EVIDENCE_SHARE])) : 0;
}

/* How many times as long as normally a program takes that waits as much of its time as any does at least. */
static double slowdown_by_pressure(const struct pressure *p)
{
	double most = 1;

	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++)
		if (!isnan(p->now[b]))
			most = fmax(most, (1 - fmax(0, p->usual[b])) / fmax(WORKS_LEAST, 1 - p->now[b])); /* of a NaN and a number the number */
	return most;
}

/* The logarithm. Programs that always waited are their own measure; where none is known, pressure is. */
static double slowdown_of(const struct answer *a, const struct shortages *there)
{
	double times = a->ranking.slowdown;

	if (isnan(times))
		times = there->felt ? slowdown_by_pressure(&a->pressure) : 1;
	return fmin(SLOWDOWN_MOST, fmax(0, log(times)));
}

/* How surely a person saw it, 0..1. Who waits for the machine is measured; who waits for another program may be asked for something, or not; of all else it
 * is not known who feels it. */
static double seen(const struct answer *a, const double facts[MOMENT_COUNT])
{
	const struct suspect *top = first_of(a);
	double waits = facts[MOMENT_ADDED] + facts[MOMENT_SLOWDOWN];

	if (top && top->hang)
		waits = fmax(waits, SEEN * top->factors[EVIDENCE_DEMAND] / ASKED);
	else if (top)
		waits = is_of_the_machine(top) ? waits + short_for_others(top) : SEEN;
	return UNSEEN + (1 - UNSEEN) * fmin(1, waits / SEEN);
}

/* s/s that programs wait, but for the first suspect's own. */
static double others_wait(const struct answer *a)
{
	const struct suspect *top = first_of(a);

	return top && !top->hang ? top->others : a->ranking.added;
}

static void find_facts(const struct answer *a, const struct shortages *there, bool marked, double facts[MOMENT_COUNT])
{
	facts[MOMENT_ALWAYS] = 1;
	facts[MOMENT_ADDED] = log1p(others_wait(a));
	facts[MOMENT_SLOWDOWN] = slowdown_of(a, there);
	facts[MOMENT_MARKED] = marked ? seen(a, facts) : 0;
	facts[MOMENT_LISTED] = -log1p(-first_share(a));
}

static double power_of(const double weights[MOMENT_COUNT], const double facts[MOMENT_COUNT])
{
	double utility = 0;

	for (enum moment_fact f = 0; f < MOMENT_COUNT; f++)
		utility += weights[f] * facts[f];
	return exp(utility);
}

static void find_odds(struct answer *a, const struct shortages *there, bool marked)
{
	struct odds *o = &a->odds;
	double all;

	find_facts(a, there, marked, o->facts);
	o->nothing = power_of(nothing_weights, o->facts);
	o->unlisted = power_of(unlisted_weights, o->facts) + a->ranking.others;
	for (size_t i = 0; i < a->hangs.n; i++)
		o->unlisted += hang_counts_alone(&a->hangs.v[i]) ? a->hangs.v[i].score : 0;
	o->unlisted_score = o->unlisted;
	all = o->nothing + o->unlisted;
	for (size_t i = 0; i < a->ranking.suspects.n; i++)
		all += a->ranking.suspects.v[i].score;
	for (size_t i = 0; i < a->ranking.suspects.n; i++)
		a->ranking.suspects.v[i].probability = a->ranking.suspects.v[i].score / all;
	o->nothing /= all;
	o->unlisted /= all;
}

/* How often an answer like this was right (machine/findings/evidence.h); no more than it can explain of what others wait. */
static double confidence_in(const struct suspect *top)
{
	double p = fmin(SURE, fmax(1 - SURE, top->probability)), shortage = top->factors[EVIDENCE_SHORTAGE], utility = 0;
	double facts[CONFIDENCE_COUNT] = {
		[CONFIDENCE_ALWAYS] = 1, [CONFIDENCE_ODDS] = log(p / (1 - p)), [CONFIDENCE_SHORTAGE] = shortage > 0 ? log(shortage) : 0,
		[CONFIDENCE_HANG] = top->hang != NULL};

	for (enum confidence_fact f = 0; f < CONFIDENCE_COUNT; f++)
		utility += confidence_weights[f] * facts[f];
	return fmin(1 / (1 + exp(-utility)), top->explains.high); /* of a NaN and a number the number */
}

static void judge_by_odds(struct answer *a, const struct shortages *there, bool marked)
{
	const struct suspect *top = first_of(a);

	find_odds(a, there, marked);
	a->slow = a->odds.nothing < 0.5;
	a->culprit_is_named = a->slow && top && top->probability > COSTS * a->odds.nothing && top->probability >= fmax(NAMED_LEAST, a->odds.unlisted);
	a->confidence = a->culprit_is_named ? confidence_in(top) : NAN;
}

static void judge_without_odds(struct answer *a, const struct shortages *there, bool by_score)
{
	const struct suspect *top = first_of(a);

	a->slow = there->any || (by_score && top && top->score > 0 && top->features.n && fabs(top->features.v[0].deviation) > 3);
	a->culprit_is_named = a->slow && top;
	a->confidence = a->odds.nothing = a->odds.unlisted = NAN;
	for (size_t i = 0; i < a->ranking.suspects.n; i++)
		a->ranking.suspects.v[i].probability = NAN;
}

void verdict_judge(struct answer *a, const struct method_question *q, const struct shortages *there, const struct method *method, bool marked)
{
	a->pressure = q->pressure;
	if (has_odds(method))
		judge_by_odds(a, there, marked);
	else
		judge_without_odds(a, there, method == &method_gaussian); /* unusual is not guilty */
}

static enum bottleneck bottleneck_of(enum resource resource)
{
	switch (resource) {
	case RESOURCE_CPU:
		return BOTTLENECK_CPU;
	case RESOURCE_MEMORY:
		return BOTTLENECK_MEMORY;
	case RESOURCE_IO:
		return BOTTLENECK_DISK;
	case RESOURCE_NETWORK:
		return BOTTLENECK_NETWORK;
	default:
		return BOTTLENECK_UNCLEAR;
	}
}

/* No pressure is measured for these. */
static bool is_not_the_machines(const struct suspect *s)
{
	return s->of == BOTTLENECK_REMOTE || s->of == BOTTLENECK_LOCK || s->of == BOTTLENECK_PEER || s->of == BOTTLENECK_QUOTA ||
	       s->of == BOTTLENECK_NETWORK;
}

static enum bottleneck without_pressure(const struct answer *a, const struct suspect *top)
{
	if (!a->slow)
		return BOTTLENECK_NONE;
	if (top && is_in_the_way(top))
		return top->of;
	if (top && top->of == BOTTLENECK_CPU) /* it computes, and nobody is in its way, unless programs always wait */
		return method_is_felt(a->pressure.now[BOTTLENECK_CPU], 0) ? BOTTLENECK_CPU : BOTTLENECK_SELF;
	return top && top->features.n ? bottleneck_of(top->features.v[0].feature->resource) : BOTTLENECK_UNCLEAR;
}

static enum bottleneck most_short(const struct answer *a)
{
	enum bottleneck found = BOTTLENECK_NONE;
	double most = 0;

	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++) {
		double now = a->pressure.now[b], usual = a->pressure.usual[b];
		double more = now - (isnan(usual) ? 0 : usual);

		/* under reclaim everything looks busy: a memory stall outranks the rest */
		if (b == BOTTLENECK_MEMORY && method_is_felt(now, 0))
			more += 1;
		if (more > most) {
			most = more;
			found = b;
		}
	}
	return found;
}

static enum bottleneck first_there(const struct shortages *there)
{
	enum bottleneck b = BOTTLENECK_NONE;

	while (b < BOTTLENECK_COUNT && !there->of[b])
		b++;
	return b < BOTTLENECK_COUNT ? b : BOTTLENECK_UNCLEAR;
}

/* The resource that it takes is short; `more`: more than normally. */
static bool is_felt(const struct answer *a, const struct shortages *there, const struct suspect *s, bool more)
{
	if (s->of == BOTTLENECK_MEMORY && takes_what_is_short(s)) /* of a group, or of the machine */
		return true;
	return there->of[s->of] || method_is_felt(a->pressure.now[s->of], more ? a->pressure.usual[s->of] : 0) || is_in_the_way(s);
}

/* Sums the waits of all victims by resource: s/s beyond the baseline. */
static void sum_waits(const struct ranking *r, double sums[BOTTLENECK_COUNT])
{
	size_t n;
	const struct feature *features = features_of(ENTITY_PROCESS, &n);

	for (size_t i = 0; i < r->victims.n; i++)
		VEC_EACH(dev, r->victims.v[i].features) {
			double more = fmax(0, dev->observed - (isnan(dev->usual) ? 0 : dev->usual)) / 1e9;
			size_t f = (size_t)(dev->feature - features);

			if (f == FEATURE_CPU_RUN_DELAY)
				sums[BOTTLENECK_CPU] += more;
			else if (f == FEATURE_DELAY_BLOCK || f == FEATURE_WAIT_DISK)
				sums[BOTTLENECK_DISK] += more;
		}
}

static bool uses(const struct suspect *s, enum resource resource)
{
	return ANY_WHERE(i, s->features.n, s->features.v[i].feature->resource == resource && s->features.v[i].deviation > RISES);
}

/* A program that takes both is named for the resource that the others wait for: one that reads without the page cache computes in the kernel for it. */
static enum bottleneck waited_for(const struct answer *a, enum bottleneck b)
{
	const struct suspect *named = a->culprit_is_named ? first_of(a) : NULL;
	double sums[BOTTLENECK_COUNT] = {};

	sum_waits(&a->ranking, sums);
	if (!named || sums[BOTTLENECK_CPU] + sums[BOTTLENECK_DISK] < WAITS_LEAST)
		return b;
	if (b == BOTTLENECK_CPU && sums[BOTTLENECK_DISK] > FAR_MORE * sums[BOTTLENECK_CPU] && uses(named, RESOURCE_IO))
		return BOTTLENECK_DISK;
	if (b == BOTTLENECK_DISK && sums[BOTTLENECK_CPU] > FAR_MORE * sums[BOTTLENECK_DISK] && uses(named, RESOURCE_CPU))
		return BOTTLENECK_CPU;
	return b;
}

void verdict_choose_bottleneck(struct answer *a, bool pressed, const struct shortages *there)
{
	const struct suspect *top = first_of(a), *named = a->culprit_is_named ? top : NULL;

	if (named && is_not_the_machines(named))
		a->bottleneck = named->of;
	else if (!pressed || (named && named->of == BOTTLENECK_NONE)) /* or it is named for what nothing is short of */
		a->bottleneck = without_pressure(a, top);
	/* several things may be short: the one that the culprit took is the story, although its pressure may always be as high; but under
	 * reclaim everything looks busy */
	else if (named && (is_felt(a, there, named, true) || (is_felt(a, there, named, false) && most_short(a) != BOTTLENECK_MEMORY)))
		a->bottleneck = named->of;
	else
		a->bottleneck = most_short(a);
	/* of a pressure that swings anyway it may be no more than usual, and still be that which it is about */
	if (pressed && a->bottleneck == BOTTLENECK_NONE)
		a->bottleneck = named ? named->of : first_there(there);
	a->bottleneck = waited_for(a, a->bottleneck);
}
