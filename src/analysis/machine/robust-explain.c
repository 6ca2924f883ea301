/* How much of the waiting each suspect explains.
 *
 * What programs wait beyond their usual is added up by resource: run delay, block delay, waits for memory and for a quota, as the
 * kernel counts them, and locks and other programs as the events have them. Of each a suspect explains its share: by what it uses
 * beyond its usual, and by whom the waiting threads waited for, where events tell. The two estimates are the ends of the interval.
 *
 *   bound      who uses u CPUs holds up those that queue for a CPU no longer than it runs: for u of all their waiting at most
 *   steal      time that the hypervisor took is a competitor of all programs: it has its part of the wait for CPUs
 *   heat       so is the time that cores lose by a lower clock while they are too hot
 *   steep      without a share of what is new more than that share of the waiting goes away: the larger estimate is stated
 *   own wait   what a suspect waits itself is not on its account
 */
#include <math.h>
#include <string.h>

#include "analysis/machine/robust.h"

#define ADDED_LEAST   0.05 /* s/s of added waiting: of less nothing is explained */
#define STEEP	      3	   /* measured: of what went away in the lab's ablations */
#define UNSURE	      0.25 /* of each estimate: what is usual is known no better (its spread in the lab's baselines) */
#define CHARGED_WAITS ((1u << BOTTLENECK_LOCK) | (1u << BOTTLENECK_PEER)) /* of these only events tell */

/* Seconds a second of a wait that are charged to whom the waiting threads wait for. */
static double waited_by_events(const struct robust *r, enum bottleneck b)
{
	const struct charges *c = r->q->charges;

	if (b == BOTTLENECK_PEER)
		return r->new_of[b];
	return c ? c->total[b] : 0;
}

/* A job waits in all the programs that it consists of. */
static double waited_itself(const struct program *p, enum bottleneck b)
{
	double sum = p->added[b];

	for (size_t i = 0; i < p->parts.n; i++)
		sum += p->parts.v[i].whole->added[b];
	return sum;
}

/* What others than the suspect wait for a resource beyond their usual. */
static double waited_by_others(const struct robust *r, const struct verdict *v, enum bottleneck b)
{
	if (CHARGED_WAITS >> b & 1)
		return waited_by_events(r, b);
	if (v->suspect.kind == CULPRIT_LIMIT) /* it is the program in it that waits */
		return r->added[b];
	return fmax(0, r->added[b] - waited_itself(v->program, b));
}

static double added_in_all(const struct robust *r)
{
	double sum = 0;

	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++)
		sum += CHARGED_WAITS >> b & 1 ? waited_by_events(r, b) : r->added[b];
	return sum;
}

void find_lost(struct robust *r)
{
	double stolen = part_beyond_usual(r, ENTITY_CPU, FEATURE_CORE_STEAL), slowed = lost_to_heat(r), all = stolen + slowed;

	r->stolen = all > 0 ? stolen / (all + r->growth[FEATURE_CPU_TIME]) : 0;
	r->slowed = all > 0 ? slowed / (all + r->growth[FEATURE_CPU_TIME]) : 0;
}

/* Waits for what is nearly always in use grow much faster than use does (of a queue as 1 / (1 - use)), so without a program that has a
 * share of what is new more than that share of the waiting goes away. */
static double gone_without(double share)
{
	return 1 - pow(1 - fmin(1, share), STEEP);
}

/* By use: its share of what is new on the resource. */
static double estimated_by_use(const struct robust *r, const struct verdict *v, enum bottleneck b, double others)
{
	const struct program *p = v->program;
	double runs = program_now(r, p, FEATURE_CPU_TIME), starts = program_now(r, p, FEATURE_CHILDREN_CPU);

	if (b != BOTTLENECK_CPU)
		return gone_without(v->used[b]);
	return fmin(gone_without(v->used[b] * (1 - r->stolen - r->slowed)), fmax(isnan(runs) ? 0 : runs, isnan(starts) ? 0 : starts) / 1e9 * r->queued / others);
}

/* By events: whom the waiting threads waited for. By use where none tell. */
static double estimated_by_events(const struct verdict *v, enum bottleneck b, double others, double by_use)
{
	return isnan(v->charged[b]) ? by_use : fmin(1, v->charged[b] / others);
}

struct explained explain_verdict(const struct robust *r, const struct verdict *v)
{
	struct explained sum = {};
	double all = 0;

	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++) {
		double others = waited_by_others(r, v, b), used, charged;

		if (!(others > 0))
			continue;
		used = fmin(1, estimated_by_use(r, v, b, others));
		charged = estimated_by_events(v, b, others, used);
		sum.share += others * fmax(used, charged);
		sum.low += others * fmin(used, charged) * (1 - UNSURE);
		sum.high += others * fmin(1, fmax(used, charged) * (1 + UNSURE));
		all += others;
	}
	/* what is waited for answers of another machine is not among it */
	if (all < ADDED_LEAST || v->suspect.kind == CULPRIT_HOST)
		return (struct explained){NAN, NAN, NAN};
	return (struct explained){sum.share / all, sum.low / all, sum.high / all};
}

void explain_waiting(const struct robust *r, struct ranking *ret)
{
	double all = added_in_all(r), of_cpu = all > 0 ? r->added[BOTTLENECK_CPU] / all : 0, explained = (r->stolen + r->slowed) * of_cpu;

	ret->added = all;
	ret->stolen = r->stolen * of_cpu;
	ret->slowed = r->slowed * of_cpu;
	ret->unexplained = NAN;
	if (all < ADDED_LEAST)
		return;
	for (size_t i = 0; i < ret->suspects.n; i++)
		if (suspect_matters(ret, &ret->suspects.v[i]) && !isnan(ret->suspects.v[i].explains.share))
			explained += ret->suspects.v[i].explains.share;
	ret->unexplained = fmax(0, 1 - explained);
}
