/* How much of the waiting each suspect explains.
 *
 * The waits of programs beyond their normal ones are added up by resource: run delay, block delay, waits for memory and for a quota, as the
 * kernel counts them, and locks and other programs as the events have them. Of each a suspect has a part: by what it uses beyond
 * its baseline, or, where events tell, by whom the waiting threads waited for; the larger one.
 *
 *   bound      while it runs on u CPUs all wait that queue for one: its part is at most u of all their waiting
 *   steal      time that the hypervisor took is a competitor of all programs: it has its part of the wait for CPUs
 *   heat       so is the time that cores lose by a lower clock while they are too hot
 *   steep      without a part p of what is new 1 - (1 - p)^k of the waiting goes away. k is METHOD_STEEP in the middle, and between STEEP_LOW
 *              and STEEP_HIGH in nine of ten: a fit to the lab's ablations, each weighed by how well it is known (docs/lab-measured.md)
 *   own wait   what a suspect waits itself is not caused by it
 */
#include <math.h>

#include "machine/judge/robust.h"

#define ADDED_LEAST   0.05 /* s/s of added waiting: of less nothing is explained */
#define STEEP_LOW     0.26
#define STEEP_HIGH    97
#define CERTAIN	      0.95 /* of what is new: no baseline is known so well that a part is larger */
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

/* Others than the suspect wait so much for a resource beyond their baseline. */
static double waited_by_others(const struct robust *r, const struct verdict *v, enum bottleneck b)
{
	if (CHARGED_WAITS >> b & 1)
		return waited_by_events(r, b);
	if (v->suspect.kind == CULPRIT_LIMIT) /* it is the program in it that waits */
		return r->added[b];
	return fmax(0, r->added[b] - waited_itself(v->program, b));
}

double robust_waited_by_others(const struct robust *r, const struct program *p, enum bottleneck b)
{
	double others = r->longer[b] - p->longer[b];

	for (size_t i = 0; i < p->parts.n; i++)
		others -= p->parts.v[i].whole->longer[b];
	return fmax(0, others);
}

/* The same for whatever; of a limit it is the program in it that waits. */
static double waited_for_anything(const struct robust *r, const struct verdict *v)
{
	double sum = 0;

	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++)
		sum += CHARGED_WAITS >> b & 1		      ? waited_by_events(r, b) :
		       v->suspect.kind == CULPRIT_LIMIT ? r->longer[b] :
							 robust_waited_by_others(r, v->program, b);
	return sum;
}

static double added_in_all(const struct robust *r)
{
	double sum = 0;

	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++)
		sum += CHARGED_WAITS >> b & 1 ? waited_by_events(r, b) : r->added[b];
	return sum;
}

void robust_find_lost(struct robust *r)
{
	double stolen = robust_part_beyond_baseline(r, ENTITY_CPU, FEATURE_CORE_STEAL), slowed = robust_lost_to_heat(r), all = stolen + slowed;

	r->stolen = all > 0 ? stolen / (all + r->growth[FEATURE_CPU_TIME]) : 0;
	r->slowed = all > 0 ? slowed / (all + r->growth[FEATURE_CPU_TIME]) : 0;
}

/* How much of it others may wait for it at most, by what it uses. */
static double bound_of(const struct robust *r, const struct verdict *v, enum bottleneck b, double others)
{
	const struct program *p = v->program;
	double runs = robust_program_now(r, p, FEATURE_CPU_TIME),
	       starts = robust_program_now(r, p, FEATURE_CHILDREN_CPU);

	return b == BOTTLENECK_CPU ? fmax(isnan(runs) ? 0 : runs, isnan(starts) ? 0 : starts) / 1e9 * r->queued / others : 1;
}

/* Its part of the waits for one resource. */
static double part_of_wait(const struct robust *r, const struct verdict *v, enum bottleneck b, double others)
{
	double used = fmin(v->used[b] * (b == BOTTLENECK_CPU ? 1 - r->stolen - r->slowed : 1), bound_of(r, v, b, others));

	return isnan(v->charged[b]) ? used : fmax(used, fmin(1, v->charged[b] / others));
}

/* Waits for answers of another machine, and of a thing that is not short, are not among those that are added up: to explain none of the others says
 * nothing of it. */
static bool is_added_up(const struct suspect *s)
{
	return s->kind != CULPRIT_HOST && s->of != BOTTLENECK_NONE && s->of != BOTTLENECK_NETWORK && s->of != BOTTLENECK_REMOTE;
}

void robust_explain_verdict(const struct robust *r, struct verdict *v)
{
	struct explained *e = &v->suspect.explains;
	double sum = 0, all = 0, part;

	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++) {
		double others = waited_by_others(r, v, b);

		if (!(others > 0))
			continue;
		sum += others * part_of_wait(r, v, b, others);
		all += others;
	}
	v->suspect.others = waited_for_anything(r, v);
	*e = (struct explained){NAN, NAN, NAN, NAN};
	if (all < ADDED_LEAST || !is_added_up(&v->suspect))
		return;
	part = sum / all;
	*e = (struct explained){part, method_gone_without(part, METHOD_STEEP), method_gone_without(fmin(CERTAIN, part), STEEP_LOW), method_gone_without(part, STEEP_HIGH)};
}

/* Nothing but the first suspect waits: there is nothing to explain by it. */
static bool waits_alone(const struct ranking *r)
{
	return r->suspects.n && suspect_matters(r, &r->suspects.v[0]) && is_added_up(&r->suspects.v[0]) && isnan(r->suspects.v[0].explains.share);
}

void robust_explain_waiting(const struct robust *r, struct ranking *ret)
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
	ret->own = waits_alone(ret);
	if (!ret->own)
		ret->unexplained = fmax(0, 1 - explained);
}
