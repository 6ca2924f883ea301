#include "answer/verdict.h"

#include <math.h>

#define ACCUSE_SCORE	0.02 /* without pressure: for leaks and the like */
#define NAME_SCORE	0.05 /* below it nobody is named for a pressure that is there: it is what many do */
#define NAME_UNTRIED	0.02 /* ... where no past says what many do */
#define NAME_ALONE	0.02 /* ... when somebody says that it was slow, and nobody else comes near */
#define COMES_NEAR	0.3  /* of the first one's score */
#define ACCUSE_MARKED	0.008 /* without pressure, when somebody says that it was slow */
#define TOOK_MUCH	0.25  /* ... and of what is not short it has this share */
#define IN_THE_WAY	0.1   /* s/s that others waited on its account */

static const struct suspect *first_of(const struct answer *a)
{
	return a->ranking.suspects.n ? &a->ranking.suspects.v[0] : NULL;
}

static bool gives_shares(const struct method *method)
{
	return method != &method_gaussian && method != &method_unusual; /* their scores are no shares of guilt */
}

static bool has_started(const struct suspect *parent, const struct suspect *child)
{
	uint32_t pid = parent->subject->info.pid;

	return pid && (child->starter ? child->starter->info.pid : child->subject->info.parent) == pid;
}

/* Who starts a program and the program are one in this. */
static bool is_alone(const struct answer *a)
{
	const struct suspect *s = a->ranking.suspects.v;

	for (size_t i = 1; i < a->ranking.suspects.n; i++)
		if (s[i].score >= COMES_NEAR * s[0].score && !has_started(&s[i], &s[0]) && !has_started(&s[0], &s[i]))
			return false;
	return a->ranking.suspects.n;
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

static double enough_to_name(const struct answer *a, bool marked)
{
	if (!a->has_history)
		return NAME_UNTRIED;
	return marked && is_alone(a) ? NAME_ALONE : NAME_SCORE;
}

/* Using a lot of what is not short is nobody's fault; of what no pressure is measured for, it may be. */
static bool accuses(const struct answer *a, const struct suspect *top, bool marked)
{
	bool shared = top->of == BOTTLENECK_CPU || top->of == BOTTLENECK_DISK || top->of == BOTTLENECK_LOCK || top->of == BOTTLENECK_PEER;

	if (marked)
		return top->score >= (shared && !(top->share >= TOOK_MUCH) ? enough_to_name(a, marked) : ACCUSE_MARKED);
	if (top->of == BOTTLENECK_QUOTA || top->of == BOTTLENECK_NETWORK)
		return top->score >= NAME_SCORE;
	return top->score >= ACCUSE_SCORE && (top->of == BOTTLENECK_NONE || top->of == BOTTLENECK_MEMORY);
}

bool verdict_is_pressed(const struct answer *a, const struct shortages *there, const struct method *method, bool marked)
{
	const struct suspect *top = gives_shares(method) ? first_of(a) : NULL;
	bool leaks = top && top->of == BOTTLENECK_NONE && top->score >= ACCUSE_SCORE;

	if (there->any)
		return true;
	if (!top || leaks)
		return false;
	/* so much guilt is there only where others wait for what it takes: on a machine that is busy anyway the sum of all waits
	 * may swing more than that */
	if (is_of_the_machine(top) && top->score >= NAME_SCORE)
		return true;
	return there->felt && top->score >= enough_to_name(a, marked);
}

void verdict_judge(struct answer *a, const struct question *q, bool pressed, const struct method *method, bool marked)
{
	const struct suspect *top = first_of(a);

	if (method == &method_gaussian)
		a->slow = pressed || (top && top->score > 0 && top->features.n && fabs(top->features.v[0].deviation) > 3);
	else if (method == &method_unusual)
		a->slow = pressed; /* unusual is not guilty */
	else
		a->slow = pressed || (top && accuses(a, top, marked));
	a->pressure = q->pressure;
}

bool verdict_names_culprit(const struct answer *a, const struct method *method, bool marked)
{
	const struct suspect *top = first_of(a);

	if (!a->slow || !top)
		return false;
	return !gives_shares(method) || !a->slow_since || top->score >= enough_to_name(a, marked) ||
	       (top->of == BOTTLENECK_NONE && top->score >= ACCUSE_SCORE);
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
static bool is_not_the_machines(const struct suspect *top, double enough)
{
	switch (top->of) {
	case BOTTLENECK_REMOTE:
		return top->score >= ACCUSE_MARKED;
	case BOTTLENECK_LOCK:
	case BOTTLENECK_PEER:
	case BOTTLENECK_QUOTA:
	case BOTTLENECK_NETWORK:
		return top->score >= enough;
	default:
		return false;
	}
}

static enum bottleneck without_pressure(const struct answer *a, const struct suspect *top)
{
	if (!a->slow)
		return BOTTLENECK_NONE;
	if (top && is_in_the_way(top))
		return top->of;
	if (top && top->of == BOTTLENECK_CPU)
		return BOTTLENECK_SELF; /* it computes, and nobody is in its way */
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
		if (b == BOTTLENECK_MEMORY && pressure_is_felt(now, 0))
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

void verdict_choose_bottleneck(struct answer *a, bool pressed, const struct shortages *there, bool marked)
{
	const struct suspect *top = first_of(a);
	double enough = enough_to_name(a, marked);

	if (a->slow && top && is_not_the_machines(top, enough))
		a->bottleneck = top->of;
	else if (!pressed)
		a->bottleneck = without_pressure(a, top);
	/* several things may be short: the one that the culprit took is the story */
	else if (top && top->score >= enough &&
		 (there->of[top->of] || pressure_is_felt(a->pressure.now[top->of], a->pressure.usual[top->of]) || is_in_the_way(top)))
		a->bottleneck = top->of;
	else
		a->bottleneck = most_short(a);
	/* of a pressure that swings anyway it may be no more than usual, and still be that which it is about */
	if (pressed && a->bottleneck == BOTTLENECK_NONE)
		a->bottleneck = top && top->score >= enough ? top->of : first_there(there);
}
