/* What the machine was short of, and what all programs used of it. */
#include <math.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "machine/judge/robust.h"

#define WAIT_LEAST	5e7  /* ns/s: a twentieth of a thread */
#define LOCKED_LEAST	0.3  /* s/s: less than that is waited for locks and others at any time */
#define GROUP_SHORT	1   /* times a second that a control group runs into its memory limit */
#define GROUP_REFAULTS	50  /* times a second that it needs what it evicted: who only streams through files evicts what it needs no more */
#define ADDED_LEAST	0.1 /* s/s: what is waited less does not say what for */
#define WAITS_LEAST	0.02 /* of what is waited for the other */
#define ENOUGH_MEMORY	0.1 /* of the machine's that can be had: then what is short is the group's */
#define NOTICED		0.05 /* share of the time */
#define LINE		5e6 /* bytes a second: the speed of the line is not known, and a little traffic fills none */

/* All of a kind together: what they have of a feature now (NaN: there are none), and their baseline. */
static struct robust_baseline usual_of_kind(struct robust *r, enum entity_kind kind, size_t f,
					    double *ret_now)
{
	struct program all = {.key = ""};
	struct robust_baseline u = {};

	*ret_now = NAN;
	for (size_t i = 0; i < r->d->subjects.n; i++) {
		const struct subject *s = r->d->subjects.v[i];

		if (s->info.kind == kind && s->first <= s->last && s->n_features && subject_has(s, f))
			(void)VEC_PUSH(all.members, s);
	}
	if (!all.members.n)
		return u;
	*ret_now = robust_program_now(r, &all, f);
	robust_blocks_fill(r, &all, f);
	u = robust_baseline_learn(r, &all.members.v[0]->features[f], *ret_now);
	u.noticed = *ret_now > method_noticeable(&all.members.v[0]->features[f]);
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
	struct robust_baseline u = usual_of_kind(r, kind, f, &now);

	*ret_now = u.noticed ? now : 0;
	if (!u.noticed)
		return NAN;
	return isnan(u.median) ? 1 : fmax(0, 1 - u.median / now);
}

double robust_part_beyond_baseline(struct robust *r, enum entity_kind kind, size_t f)
{
	double now, part = new_waiting(r, kind, f, &now);

	return isnan(part) ? 0 : now * part;
}

double robust_lost_to_heat(struct robust *r)
{
	struct robust_baseline clock;
	double now;

	if (!(robust_part_beyond_baseline(r, ENTITY_CPU, FEATURE_CORE_THROTTLES) > 0))
		return 0;
	clock = usual_of_kind(r, ENTITY_CPU, FEATURE_CORE_FREQUENCY, &now);
	return 1e9 * (double)clock.members * fmax(0, 1 - now / clock.highest); /* of a NaN and a number the number */
}

bool robust_was_there(const struct robust *r, const struct program *p)
{
	size_t half = r->q->train_from + (r->q->train_to - r->q->train_from) / 2;

	for (size_t i = 0; r->q->train_to >= r->q->train_from && i < p->members.n; i++)
		if (p->members.v[i]->first <= half)
			return true;
	return false;
}

double robust_more_waited(struct robust *r, struct program *p, size_t f)
{
	double now = p->there ? robust_program_now(r, p, f) : NAN;
	struct robust_baseline u;

	if (isnan(now) || now < WAIT_LEAST)
		return 0;
	u = robust_baseline(r, p, f, now);
	/* A server or a consumer without work waits in the same call: that it did not do so while it was not there tells nothing. */
	if (f == FEATURE_WAIT_NETWORK && (isnan(u.median) || !robust_was_there(r, p)))
		return 0;
	return robust_excess(&u, now) * robust_surprise(&u);
}

/* Of waits that no pressure is measured for: what all programs together wait beyond their usual, a whole thread = 1. */
static double waited_more(struct robust *r, size_t f)
{
	double sum = 0;

	for (size_t i = 0; i < r->programs.n; i++)
		sum += robust_more_waited(r, r->programs.v[i], f);
	return fmin(1, sum / 1e9);
}

/* Threads that wait for work wait in the same call: only events tell them from those that wait for a lock. That somebody keeps
 * stopping others is nothing that happens at any time. */
static double lock_shortage(const struct robust *r)
{
	double added = r->new_of[BOTTLENECK_LOCK];

	return fmin(1, added >= LOCKED_LEAST ? added : r->q->charges->stopped);
}

/* Programs wait for one percent of the time on an idle machine, and no user notices that: 0..1, and a half at NOTICED. */
static double noticed_part(double pressure)
{
	return 1 / (1 + pow(NOTICED / pressure, 4)); /* of 0: 0 */
}

double robust_shortage(struct robust *r, enum bottleneck b)
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
	return now * noticed_part(p->now[b]);
}

/* Of the machine's traffic, in or out, what a program moves beyond its usual, 0..1. */
static double traffic_part(struct robust *r, struct program *p)
{
	double part = 0;

	for (size_t i = 0; i < USES; i++) {
		size_t f = (size_t)uses[i].feature;
		double now = uses[i].resource == BOTTLENECK_NETWORK ? robust_program_now(r, p, f) : NAN;
		struct robust_baseline u;

		if (isnan(now) || now < method_noticeable(&p->members.v[0]->features[f]))
			continue;
		u = robust_baseline(r, p, f, now);
		part = fmax(part, robust_excess(&u, now) / r->total[f]);
	}
	return part;
}

/* Who waits for an answer over the network while this machine is short of something may wait for this machine; whoever
 * computes less than usual is not asked as much: a server waits for work in the same call; and whoever begins to move most
 * of the machine's traffic waits for nothing but the line. */
static void learn_elsewhere(struct robust *r, struct program *p)
{
	double computes = robust_program_now(r, p, FEATURE_CPU_TIME), most = 0;
	struct robust_baseline u;

	for (int b = 0; b < BOTTLENECK_COUNT; b++)
		most = b == BOTTLENECK_NETWORK ? most : fmax(most, r->shortage[b]);
	p->elsewhere = (struct elsewhere){.known = true, .moves = traffic_part(r, p), .here = fmin(1, most)};
	if (isnan(computes))
		return;
	u = robust_baseline(r, p, FEATURE_CPU_TIME, computes);
	p->elsewhere.idle = u.median > computes ? u.median - computes : 0;
}

double robust_waits_elsewhere(struct robust *r, struct program *p, double waited)
{
	const struct elsewhere *e = &p->elsewhere;

	if (!e->known)
		learn_elsewhere(r, p);
	return fmax(0, waited * (1 - e->moves) - e->idle) * (1 - e->here);
}

double robust_shortage_of_network(struct robust *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->programs.n; i++) {
		struct program *p = r->programs.v[i];
		double waited = robust_more_waited(r, p, FEATURE_WAIT_NETWORK);

		if (waited > 0)
			sum += robust_waits_elsewhere(r, p, waited);
	}
	return fmin(1, sum / 1e9);
}

/* A control group of which a program's unit is, or is below. */
static bool program_is_in(const struct program *p, const char *group)
{
	const char *unit = p->members.v[0]->info.unit;
	size_t n = strlen(group);

	return unit && strncmp(unit, group, n) == 0 && (!unit[n] || unit[n] == '/');
}

/* In a group that reads again what it has evicted who waits for the disk waits for memory. Of a small group's waits the machine's pressure hardly tells. */
static void weigh_group(struct robust *r)
{
	double waited = 0;

	for (size_t i = 0; r->group_rereads && i < r->programs.n; i++)
		if (program_is_in(r->programs.v[i], r->short_group))
			waited += r->programs.v[i]->added[BOTTLENECK_MEMORY] + r->programs.v[i]->added[BOTTLENECK_DISK];
	r->shortage[BOTTLENECK_MEMORY] = fmax(r->shortage[BOTTLENECK_MEMORY], fmin(1, waited));
}

/* Pressure is the part of the time in which anything waits: it does not say how much does. The mean of both, as numbers that are multiplied have it. */
void robust_weigh_shortage(struct robust *r)
{
	static const enum bottleneck shared[] = {BOTTLENECK_CPU, BOTTLENECK_DISK};
	double most = fmax(r->added[BOTTLENECK_CPU], r->added[BOTTLENECK_DISK]);

	weigh_group(r);
	if (!(r->blocked > 0)) /* waits for the disk are not measured */
		return;
	for (size_t i = 0; most >= ADDED_LEAST && i < ARRAY_SIZE(shared); i++)
		r->shortage[shared[i]] *= sqrt(fmax(WAITS_LEAST, r->added[shared[i]] / most));
}

/* The part of the time in which the busiest disk has a request. */
static double disk_in_use(const struct robust *r)
{
	double most = NAN;

	for (size_t i = 0; i < r->d->subjects.n; i++) {
		const struct subject *s = r->d->subjects.v[i];

		if (s->info.kind == ENTITY_DISK && s->first <= s->last && subject_has(s, FEATURE_DISK_BUSY))
			most = fmax(most, subject_growth(r->d, s, FEATURE_DISK_BUSY, r->q->focus, r->q->at) / 1e9 / r->focus_seconds);
	}
	return most;
}

static double of_machine(const struct robust *r, size_t f)
{
	for (size_t i = 0; i < r->d->subjects.n; i++) {
		const struct subject *s = r->d->subjects.v[i];

		if (s->info.kind == ENTITY_SYSTEM && s->first <= r->q->at && s->last >= r->q->at)
			return subject_value(r->d, s, f, r->q->at);
	}
	return NAN;
}

/* The part of the machine's memory that is available, 0..1; NaN = not recorded. */
static double memory_available(const struct robust *r)
{
	return of_machine(r, FEATURE_SYS_MEM_AVAILABLE) / (double)r->q->memory;
}

/* Bytes a second that the interfaces move in one direction, without lo; where none is recorded, what programs send or receive, through whatever. */
static double network_in_use(const struct robust *r)
{
	double in = NAN, out = NAN;

	for (size_t i = 0; i < r->d->subjects.n; i++) {
		const struct subject *s = r->d->subjects.v[i];

		if (s->info.kind != ENTITY_INTERFACE || s->first > s->last || (s->info.name && strcmp(s->info.name, "lo") == 0))
			continue;
		in = (isnan(in) ? 0 : in) + subject_growth(r->d, s, FEATURE_IF_RX_BYTES, r->q->focus, r->q->at) / r->focus_seconds;
		out = (isnan(out) ? 0 : out) + subject_growth(r->d, s, FEATURE_IF_TX_BYTES, r->q->focus, r->q->at) / r->focus_seconds;
	}
	if (isnan(in) || isnan(out))
		return fmax(r->total[FEATURE_NET_RX_BYTES], r->total[FEATURE_NET_TX_BYTES]);
	return fmax(in, out);
}

void robust_find_use(struct robust *r)
{
	double line = network_in_use(r);

	for (size_t b = 0; b < BOTTLENECK_COUNT; b++)
		r->in_use[b] = 1;
	r->in_use[BOTTLENECK_CPU] = fmin(1, r->total[FEATURE_CPU_TIME] / 1e9); /* a thread has no more than one */
	r->in_use[BOTTLENECK_DISK] = fmin(1, disk_in_use(r)); /* of a NaN and a number the number */
	r->in_use[BOTTLENECK_MEMORY] = fmin(1, 1 - memory_available(r));
	r->in_use[BOTTLENECK_NETWORK] = line / (line + LINE);
}

/* Where no wait is measured, two want a thing that is in use for a part of the time at once for the square of that. */
double robust_shortage_for(const struct robust *r, const struct use *use)
{
	double in_use = r->in_use[use->resource], least = use->weight * (use->is_wait ? 1 : in_use * in_use);

	return fmax(least, use->resource == BOTTLENECK_NONE ? 0 : r->shortage[use->resource]);
}

double robust_blocked_now(const struct robust *r, const struct program *p)
{
	double counted = p->there ? robust_program_now(r, p, FEATURE_DELAY_BLOCK) : NAN;
	double recorded = p->there ? robust_program_now(r, p, FEATURE_WAIT_DISK) : NAN;

	return fmax(0, fmax(counted, recorded)); /* of a NaN and a number the number */
}

/* Reads and writes share a disk by the time they take, not by their bytes: a few synchronous writes can hold up a
 * stream of reads, and a trickle of buffered ones does not. */
void robust_weigh_disk(struct robust *r)
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
		r->blocked += robust_works_for_others(r->programs.v[i])
				      ? 0
				      : robust_blocked_now(r, r->programs.v[i]);
	if (reads + writes <= 0)
		return;
	r->read_part = reads / (reads + writes);
	r->write_part = writes / (reads + writes);
}

/* Of what programs can have, the scheduler gives a nice one less than a normal one: next to nothing at nice 19. */
double robust_cpu_weight(const struct robust *r, const struct program *p)
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

static const struct subject *short_group(const struct robust *r)
{
	const struct dataset *d = r->d;
	const struct subject *found = NULL;
	double most = GROUP_SHORT;

	if (!(memory_available(r) >= ENOUGH_MEMORY))
		return NULL;
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		double hits;

		if (s->first > s->last || s->info.kind != ENTITY_CGROUP || !s->info.name)
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

void robust_find_short_memory(struct robust *r)
{
	const struct subject *group = short_group(r);
	double has = group ? subject_value(r->d, group, FEATURE_CG_MEMORY, r->q->at) : NAN;

	r->short_group = group ? group->info.name : NULL;
	r->group_rereads = group && subject_growth(r->d, group, FEATURE_CG_REFAULTS, r->q->focus, r->q->at) >= GROUP_REFAULTS * r->focus_seconds;
	r->memory = has > 0 ? has : (double)r->q->memory;
	r->shared_anonymous = of_machine(r, FEATURE_SYS_MEM_ANON);
	for (size_t i = 0; i < r->programs.n; i++)
		r->shared_anonymous -= robust_largest_member(r, r->programs.v[i], FEATURE_MEM_ANON);
	r->short_of_memory = group || r->q->pressure.now[BOTTLENECK_MEMORY] >= MEMORY_STALL;
}

bool robust_may_use_memory(const struct robust *r, const struct program *p)
{
	return !r->short_group || program_is_in(p, r->short_group);
}

void robust_sum_totals(struct robust *r)
{
	for (size_t i = 0; i < r->programs.n; i++)
		for (size_t k = 0; k < USES; k++) {
			double now = r->programs.v[i]->there ? robust_program_now(r, r->programs.v[i], (size_t)uses[k].feature) : NAN;

			/* what short-lived children used is on their parent's account and in their own group's: once */
			if (uses[k].feature == FEATURE_CPU_TIME || uses[k].feature == FEATURE_CHILDREN_CPU)
				continue;
			if (!isnan(now))
				r->total[uses[k].feature] += now;
		}
	for (size_t i = 0; i < r->programs.n; i++) {
		double now = robust_program_now(r, r->programs.v[i], FEATURE_CPU_TIME);

		if (!isnan(now))
			r->total[FEATURE_CPU_TIME] += now;
	}
	r->total[FEATURE_CHILDREN_CPU] = r->total[FEATURE_CPU_TIME];
}

void robust_sum_growth(struct robust *r)
{
	for (size_t i = 0; i < r->programs.n; i++)
		for (size_t k = 0; k < USES; k++) {
			struct program *p = r->programs.v[i];
			size_t f = (size_t)uses[k].feature;
			bool asked = uses[k].of_memory ? r->short_of_memory : uses[k].scale == 0;
			double now = asked && p->there ? robust_program_now(r, p, f) : NAN;
			struct robust_baseline u;

			if (isnan(now) || now < method_noticeable(&p->members.v[0]->features[f]) || now < NEW_LEAST / 10 * r->total[f])
				continue;
			if (uses[k].resource == BOTTLENECK_MEMORY && !robust_may_use_memory(r, p))
				continue;
			u = robust_baseline(r, p, f, now);
			r->growth[f] += robust_excess(&u, now) * (uses[k].resource == BOTTLENECK_CPU ? robust_cpu_weight(r, p) : 1);
		}
	r->growth[FEATURE_CHILDREN_CPU] = r->growth[FEATURE_CPU_TIME];
}
