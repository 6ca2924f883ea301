/* What the machine was short of, and what all programs used of it. */
#include <math.h>
#include <string.h>

#include "analysis/machine/robust.h"

#define WAIT_LEAST	5e7  /* ns/s: a twentieth of a thread */
#define LOCKED_LEAST	0.3  /* s/s: less than that is waited for locks and others at any time */
#define GROUP_SHORT	1   /* times a second that a control group runs into its memory limit */
#define ENOUGH_MEMORY	0.1 /* of the machine's that can be had: then what is short is the group's */

/* All of a kind together: what they have of a feature now (NaN: there are none), and their baseline. */
static struct usual usual_of_kind(struct robust *r, enum entity_kind kind, size_t f, double *ret_now)
{
	struct program all = {.key = ""};
	struct usual u = {};

	*ret_now = NAN;
	for (size_t i = 0; i < r->d->subjects.n; i++) {
		const struct subject *s = r->d->subjects.v[i];

		if (s->info.kind == kind && s->first <= s->last && s->n_features && subject_has(s, f))
			(void)VEC_PUSH(all.members, s);
	}
	if (!all.members.n)
		return u;
	*ret_now = program_now(r, &all, f);
	fill_blocks(r, &all, f);
	u = learn_usual(r, &all.members.v[0]->features[f], *ret_now);
	u.noticed = *ret_now > noticeable(&all.members.v[0]->features[f]);
	u.members = all.members.n;
	VEC_FREE(all.members);
	return u;
}

/* How much more is waited for a thing than usual, as a share of what is waited now: 0 = as always, 1 = all of it is new.
 * Pressure alone cannot tell once it is near 100 %: a niced program that never rests keeps it there. NaN where the
 * waiting is not measured. */
static double new_waiting(struct robust *r, enum entity_kind kind, size_t f, double *ret_now)
{
	double now;
	struct usual u = usual_of_kind(r, kind, f, &now);

	*ret_now = u.noticed ? now : 0;
	if (!u.noticed)
		return NAN;
	return isnan(u.median) ? 1 : fmax(0, 1 - u.median / now);
}

double part_beyond_usual(struct robust *r, enum entity_kind kind, size_t f)
{
	double now, part = new_waiting(r, kind, f, &now);

	return isnan(part) ? 0 : now * part;
}

double lost_to_heat(struct robust *r)
{
	struct usual clock;
	double now;

	if (!(part_beyond_usual(r, ENTITY_CPU, FEATURE_CORE_THROTTLES) > 0))
		return 0;
	clock = usual_of_kind(r, ENTITY_CPU, FEATURE_CORE_FREQUENCY, &now);
	return 1e9 * (double)clock.members * fmax(0, 1 - now / clock.highest); /* of a NaN and a number the number */
}

double more_waited(struct robust *r, struct program *p, size_t f)
{
	double now = p->there ? program_now(r, p, f) : NAN;
	struct usual u;

	if (isnan(now) || now < WAIT_LEAST)
		return 0;
	u = usual_of(r, p, f, now);
	return excess_of(&u, now) * surprise_of(&u);
}

/* Of waits that no pressure is measured for: what all programs together wait beyond their usual, a whole thread = 1. */
static double waited_more(struct robust *r, size_t f)
{
	double sum = 0;

	for (size_t i = 0; i < r->programs.n; i++)
		sum += more_waited(r, r->programs.v[i], f);
	return fmin(1, sum / 1e9);
}

/* Threads that wait for work wait in the same call: only events tell them from those that wait for a lock. That somebody keeps
 * stopping others is nothing that happens at any time. */
static double lock_shortage(const struct robust *r)
{
	double added = r->new_of[BOTTLENECK_LOCK];

	return fmin(1, added >= LOCKED_LEAST ? added : r->q->charges->stopped);
}

double shortage_of(struct robust *r, enum bottleneck b)
{
	const struct pressure *p = &r->q->pressure;
	double now = p->now[b], usual = isnan(p->usual[b]) ? 0 : fmin(p->usual[b], now), more = NAN, sum;

	if (b == BOTTLENECK_LOCK)
		return r->q->charges ? lock_shortage(r) : 0;
	if (b == BOTTLENECK_PEER)
		return r->new_of[b] >= LOCKED_LEAST ? fmin(1, r->new_of[b]) : 0;
	if (b == BOTTLENECK_QUOTA)
		return waited_more(r, FEATURE_WAIT_QUOTA);
	if (isnan(now))
		return 0;
	if (b == BOTTLENECK_CPU)
		more = new_waiting(r, ENTITY_PROCESS, FEATURE_CPU_RUN_DELAY, &sum);
	else if (b == BOTTLENECK_DISK)
		more = new_waiting(r, ENTITY_DISK, FEATURE_DISK_WAIT, &sum);
	/* what the machine always lives with hurts less than what came with the trouble */
	now = isnan(more) ? now - 0.5 * usual : fmax(now - usual, now * more);
	/* under reclaim everybody reads and waits: what is short is memory */
	if (b != BOTTLENECK_MEMORY && p->now[BOTTLENECK_MEMORY] >= MEMORY_STALL)
		now *= 0.25;
	return now;
}

/* Of the machine's traffic, in or out, what a program moves beyond its usual, 0..1. */
static double traffic_part(struct robust *r, struct program *p)
{
	double part = 0;

	for (size_t i = 0; i < USES; i++) {
		size_t f = (size_t)uses[i].feature;
		double now = uses[i].resource == BOTTLENECK_NETWORK ? program_now(r, p, f) : NAN;
		struct usual u;

		if (isnan(now) || now < noticeable(&p->members.v[0]->features[f]))
			continue;
		u = usual_of(r, p, f, now);
		part = fmax(part, excess_of(&u, now) / r->total[f]);
	}
	return part;
}

/* Who waits for an answer over the network while this machine is short of something may wait for this machine; whoever
 * computes less than usual is not asked as much: a server waits for work in the same call; and whoever begins to move most
 * of the machine's traffic waits for nothing but the line. */
static void learn_elsewhere(struct robust *r, struct program *p)
{
	double computes = program_now(r, p, FEATURE_CPU_TIME), most = 0;
	struct usual u;

	for (int b = 0; b < BOTTLENECK_COUNT; b++)
		most = b == BOTTLENECK_NETWORK ? most : fmax(most, r->shortage[b]);
	p->elsewhere = (struct elsewhere){.known = true, .moves = traffic_part(r, p), .here = fmin(1, most)};
	if (isnan(computes))
		return;
	u = usual_of(r, p, FEATURE_CPU_TIME, computes);
	p->elsewhere.idle = u.median > computes ? u.median - computes : 0;
}

double waits_elsewhere(struct robust *r, struct program *p, double waited)
{
	const struct elsewhere *e = &p->elsewhere;

	if (!e->known)
		learn_elsewhere(r, p);
	return fmax(0, waited * (1 - e->moves) - e->idle) * (1 - e->here);
}

double network_shortage(struct robust *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->programs.n; i++) {
		struct program *p = r->programs.v[i];
		double waited = more_waited(r, p, FEATURE_WAIT_NETWORK);

		if (waited > 0)
			sum += waits_elsewhere(r, p, waited);
	}
	return fmin(1, sum / 1e9);
}

double shortage_for(const struct robust *r, const struct use *use)
{
	return fmax(use->weight, use->resource == BOTTLENECK_NONE ? 0 : r->shortage[use->resource]);
}

double blocked_now(const struct robust *r, const struct program *p)
{
	double counted = p->there ? program_now(r, p, FEATURE_DELAY_BLOCK) : NAN;
	double recorded = p->there ? program_now(r, p, FEATURE_WAIT_DISK) : NAN;

	return fmax(0, fmax(counted, recorded)); /* of a NaN and a number the number */
}

/* Reads and writes share a disk by the time they take, not by their bytes: a few synchronous writes can hold up a
 * stream of reads, and a trickle of buffered ones does not. */
void weigh_disk(struct robust *r)
{
	double reads = 0, writes = 0;

	for (size_t i = 0; i < r->d->subjects.n; i++) {
		const struct subject *s = r->d->subjects.v[i];

		if (s->info.kind != ENTITY_DISK || s->first > s->last)
			continue;
		reads += subject_growth(r->d, s, FEATURE_DISK_READ_TIME, r->q->focus, r->q->at);
		writes += subject_growth(r->d, s, FEATURE_DISK_WRITE_TIME, r->q->focus, r->q->at);
	}
	r->read_part = r->write_part = 1;
	for (size_t i = 0; i < r->programs.n; i++)
		r->blocked += works_for_others(r->programs.v[i]) ? 0 : blocked_now(r, r->programs.v[i]);
	if (reads + writes <= 0)
		return;
	r->read_part = reads / (reads + writes);
	r->write_part = writes / (reads + writes);
}

/* Of what programs can have, the scheduler gives a nice one less than a normal one: next to nothing at nice 19. */
double right_to_cpu(const struct robust *r, const struct program *p)
{
	double least = 20;

	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = p->members.v[i];
		double nice = s->last >= r->q->focus && subject_has(s, FEATURE_SCHED_NICE) ?
				      subject_value(r->d, s, FEATURE_SCHED_NICE, s->last < r->q->at ? s->last : r->q->at) :
				      NAN;

		if (!isnan(nice) && nice < least)
			least = nice;
	}
	return least > 0 && least < 20 ? pow(1.25, -least) : 1; /* kernel/sched/core.c: sched_prio_to_weight */
}

/* A control group of which a program's unit is, or is below. */
static bool program_is_in(const struct program *p, const char *group)
{
	const char *unit = p->members.v[0]->info.unit;
	size_t n = strlen(group);

	return unit && strncmp(unit, group, n) == 0 && (!unit[n] || unit[n] == '/');
}

static const struct subject *short_group(const struct robust *r)
{
	const struct dataset *d = r->d;
	const struct subject *found = NULL;
	double most = GROUP_SHORT;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		double hits;

		if (s->first > s->last)
			continue;
		if (s->info.kind == ENTITY_SYSTEM && s->last >= r->q->at && s->first <= r->q->at &&
		    !(subject_value(d, s, FEATURE_SYS_MEM_AVAILABLE, r->q->at) >= ENOUGH_MEMORY * (double)r->q->memory))
			return NULL;
		if (s->info.kind != ENTITY_CGROUP || !s->info.name)
			continue;
		hits = (subject_growth(d, s, FEATURE_CG_MEMORY_MAX, r->q->focus, r->q->at) +
			subject_growth(d, s, FEATURE_CG_MEMORY_HIGH, r->q->focus, r->q->at)) / r->focus_seconds;
		if (hits > most) {
			most = hits;
			found = s;
		}
	}
	for (size_t i = 0; found && i < r->programs.n; i++)
		if (r->programs.v[i]->there && program_is_in(r->programs.v[i], found->info.name))
			return found;
	return NULL;
}

void find_short_memory(struct robust *r)
{
	const struct subject *group = short_group(r);
	double has = group ? subject_value(r->d, group, FEATURE_CG_MEMORY, r->q->at) : NAN;

	r->short_group = group ? group->info.name : NULL;
	r->memory = has > 0 ? has : (double)r->q->memory;
	r->short_of_memory = group || r->q->pressure.now[BOTTLENECK_MEMORY] >= MEMORY_STALL;
}

bool may_have_memory(const struct robust *r, const struct program *p)
{
	return !r->short_group || program_is_in(p, r->short_group);
}

void sum_totals(struct robust *r)
{
	for (size_t i = 0; i < r->programs.n; i++)
		for (size_t k = 0; k < USES; k++) {
			double now = r->programs.v[i]->there ? program_now(r, r->programs.v[i], (size_t)uses[k].feature) : NAN;

			/* what short-lived children used is on their parent's account and in their own group's: once */
			if (uses[k].feature == FEATURE_CPU_TIME || uses[k].feature == FEATURE_CHILDREN_CPU)
				continue;
			if (!isnan(now))
				r->total[uses[k].feature] += now;
		}
	for (size_t i = 0; i < r->programs.n; i++) {
		double now = program_now(r, r->programs.v[i], FEATURE_CPU_TIME);

		if (!isnan(now))
			r->total[FEATURE_CPU_TIME] += now;
	}
	r->total[FEATURE_CHILDREN_CPU] = r->total[FEATURE_CPU_TIME];
}

void sum_growth(struct robust *r)
{
	for (size_t i = 0; i < r->programs.n; i++)
		for (size_t k = 0; k < USES; k++) {
			struct program *p = r->programs.v[i];
			size_t f = (size_t)uses[k].feature;
			bool asked = uses[k].of_memory ? r->short_of_memory : uses[k].scale == 0;
			double now = asked && p->there ? program_now(r, p, f) : NAN;
			struct usual u;

			if (isnan(now) || now < noticeable(&p->members.v[0]->features[f]) || now < NEW_LEAST / 10 * r->total[f])
				continue;
			if (uses[k].resource == BOTTLENECK_MEMORY && !may_have_memory(r, p))
				continue;
			u = usual_of(r, p, f, now);
			r->growth[f] += excess_of(&u, now) * (uses[k].resource == BOTTLENECK_CPU ? right_to_cpu(r, p) : 1);
		}
	r->growth[FEATURE_CHILDREN_CPU] = r->growth[FEATURE_CPU_TIME];
}
