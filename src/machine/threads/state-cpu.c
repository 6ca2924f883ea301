#include <errno.h>
#include <string.h>

#include "machine/threads/state-build.h"

static void push_segment(struct build *b, uint16_t cpu, int64_t time, uint32_t kind, uint32_t who)
{
	struct cpu_line *line = &b->t->cpus.v[cpu];
	struct segment s = {time, who, kind};

	if (line->segments.n && line->segments.v[line->segments.n - 1].start >= time)
		line->segments.v[line->segments.n - 1] = (struct segment){line->segments.v[line->segments.n - 1].start, who, kind};
	else if (VEC_PUSH(line->segments, s) < 0)
		b->error = -ENOMEM;
}

static void push_task(struct build *b, uint16_t cpu, int64_t time, uint32_t thread)
{
	push_segment(b, cpu, time, thread == NOBODY ? SEGMENT_IDLE : SEGMENT_TASK, thread);
}

/* The first that is heard of a CPU: who was there until now was there from its beginning. */
static void cpu_known(struct build *b, uint16_t cpu, uint32_t current)
{
	struct state_cpu *now = &b->cpus[cpu];

	if (now->known)
		return;
	now->known = true;
	now->current = current;
	push_task(b, cpu, b->t->cpus.v[cpu].start, current);
	if (current != NOBODY)
		state_thread_seen(b, current, b->t->cpus.v[cpu].start, state_of_running(b, current), cpu);
}

static bool runs_on(const struct build *b, uint32_t thread, uint16_t cpu)
{
	const struct interval *open = &b->now.v[thread].open;

	return state_table[open->state].group == GROUP_RUNNING && open->cpu == cpu;
}

/* Events were lost: the one that was thought to run here left, nothing knows when and why. */
static void evict(struct build *b, uint16_t cpu, uint32_t known, int64_t time)
{
	b->t->faults.broken_switches++;
	if (known != NOBODY && runs_on(b, known, cpu))
		state_thread_to(b, known, time, STATE_UNKNOWN, cpu);
}

#define SKEW_NS 50000 /* by which clocks of two CPUs may differ */

static void leaves(struct build *b, uint32_t thread, const struct event *e)
{
	struct thread_now *now = &b->now.v[thread];
	uint8_t state = (uint8_t)classify(event_facts(e));
	struct wake early = now->early;
	int64_t stint = now->stint;

	now->early.at = 0;
	state_thread_to(b, thread, (int64_t)e->time, state, e->cpu);
	if (state_table[state].group == GROUP_RUNNABLE) {
		now->open.near = (uint32_t)b->t->cpus.v[e->cpu].segments.n - 1;
		now->slept = 0;
	} else {
		state_thread_blocks(b, thread, e, state);
		if (early.at && early.called > stint && (int64_t)e->time - early.at < SKEW_NS)
			state_thread_woken(b, thread, &early);
	}
}

static void comes(struct build *b, uint32_t thread, const struct event *e)
{
	struct thread_now *now = &b->now.v[thread];
	int64_t time = (int64_t)e->time;
	enum state_group group;

	/* never seen, and no wakeup: it stood in the run queue since before; from where every CPU is known that is sure */
	state_thread_seen(b, thread, b->t->start < time ? b->t->start : time, STATE_RUNNABLE, e->cpu);
	group = state_table[now->open.state].group;
	if (group == GROUP_BLOCKED || group == GROUP_RESTING)
		b->t->faults.no_waker++;
	state_thread_to(b, thread, time, state_of_running(b, thread), e->cpu);
	if (group == GROUP_RUNNABLE && now->throttled)
		state_thread_throttled(b, thread, now->throttled);
	now->throttled = 0;
	now->early.at = 0;
	now->stint = time;
}

void state_on_switch(struct build *b, const struct event *e)
{
	struct state_cpu *cpu = &b->cpus[e->cpu];
	uint32_t prev = e->thread ? state_thread(b, e->thread, (int64_t)e->time) : NOBODY;
	uint32_t next = e->out.next ? state_thread(b, e->out.next, (int64_t)e->time) : NOBODY;

	if (b->error)
		return;
	cpu_known(b, e->cpu, prev);
	if (cpu->current != prev || (prev != NOBODY && !runs_on(b, prev, e->cpu)))
		evict(b, e->cpu, cpu->current == prev ? NOBODY : cpu->current, (int64_t)e->time);
	if (prev != NOBODY)
		state_thread_seen(b, prev, (int64_t)e->time, STATE_UNKNOWN, e->cpu);
	push_task(b, e->cpu, (int64_t)e->time, next);
	cpu->current = next;
	if (prev != NOBODY)
		leaves(b, prev, e);
	if (next != NOBODY)
		comes(b, next, e);
}

/* As state_thread_interrupted(), of the CPU. */
static void cpu_interrupted(struct build *b, uint16_t cpu, int64_t start, int64_t end, uint32_t kind, uint32_t number)
{
	struct cpu_line *line = &b->t->cpus.v[cpu];
	size_t i = line->segments.n;

	push_task(b, cpu, end, b->cpus[cpu].current);
	while (i > 0 && line->segments.v[i - 1].start >= start) {
		struct segment *s = &line->segments.v[--i];

		if (s->kind != SEGMENT_IRQ && s->kind != SEGMENT_SOFTIRQ && s->start < end)
			*s = (struct segment){s->start, number, kind};
	}
	if ((i < line->segments.n && line->segments.v[i].start == start) || VEC_GROW(line->segments) < 0)
		return;
	memmove(line->segments.v + i + 1, line->segments.v + i, (line->segments.n - i) * sizeof(*line->segments.v));
	line->segments.v[i] = (struct segment){start, number, kind};
	line->segments.n++;
}

void state_on_interrupt(struct build *b, const struct event *e)
{
	bool soft = e->kind == EVENT_SOFTIRQ;
	bool bad = e->interrupt.took > e->time;
	int64_t end = (int64_t)e->time, start = bad ? 0 : end - (int64_t)e->interrupt.took;

	b->t->faults.bad_numbers += bad;
	if (start < b->t->cpus.v[e->cpu].start)
		start = b->t->cpus.v[e->cpu].start;
	cpu_known(b, e->cpu, e->thread ? state_thread(b, e->thread, end) : NOBODY);
	if (b->error || start >= end)
		return;
	cpu_interrupted(b, e->cpu, start, end, soft ? SEGMENT_SOFTIRQ : SEGMENT_IRQ, e->interrupt.number);
	if (b->cpus[e->cpu].current != NOBODY)
		state_thread_interrupted(b, b->cpus[e->cpu].current, start, end,
					 soft ? STATE_SOFTIRQ : STATE_IRQ,
					 (uint32_t)b->t->cpus.v[e->cpu].segments.n - 1);
}

void state_on_migrate(struct build *b, const struct event *e)
{
	uint32_t thread = state_thread(b, e->thread, (int64_t)e->time);
	struct thread_now *now;
	uint32_t before;

	if (thread == NOBODY)
		return;
	if (e->migrate.to >= b->t->cpus.n || e->migrate.from >= b->t->cpus.n) {
		b->t->faults.bad_numbers++;
		return;
	}
	now = &b->now.v[thread];
	state_thread_seen(b, thread, b->t->start < (int64_t)e->time ? b->t->start : (int64_t)e->time, STATE_RUNNABLE, e->migrate.from);
	if (state_table[now->open.state].group != GROUP_RUNNABLE)
		return;
	before = state_thread_to(b, thread, (int64_t)e->time, now->open.state, e->migrate.to);
	if (before != NOBODY)
		b->t->threads.v[thread].intervals.v[before].flags |= INTERVAL_MOVED;
	now->open.near = (uint32_t)b->t->cpus.v[e->migrate.to].segments.n - 1;
}

/* A thread that is not the leader calls exec: it continues under the leader's number. */
void state_on_exec(struct build *b, const struct event *e)
{
	struct state_cpu *cpu = &b->cpus[e->cpu];
	uint32_t before, leader;

	if (e->exec.before == e->thread || !e->exec.before)
		return;
	before = state_thread(b, e->exec.before, (int64_t)e->time);
	leader = state_thread(b, e->thread, (int64_t)e->time);
	if (before == NOBODY || leader == NOBODY || cpu->current != before)
		return;
	state_thread_to(b, before, (int64_t)e->time, STATE_ENDED, e->cpu);
	state_thread_seen(b, leader, (int64_t)e->time, STATE_UNKNOWN, e->cpu);
	state_thread_to(b, leader, (int64_t)e->time, state_of_running(b, leader), e->cpu);
	cpu->current = leader;
	push_task(b, e->cpu, (int64_t)e->time, leader);
}

void state_on_reclaim(struct build *b, const struct event *e)
{
	uint32_t thread = state_thread(b, e->thread, (int64_t)e->time);

	if (thread == NOBODY)
		return;
	b->now.v[thread].reclaims = e->kind == EVENT_RECLAIM_BEGIN;
	if (e->kind == EVENT_RECLAIM_END) {
		struct freeing f = {(int64_t)e->time, thread, e->flags & RECLAIM_GROUP, e->reclaim.pages};

		if (VEC_PUSH(b->t->freeings, f) < 0)
			b->error = -ENOMEM;
	}
	if (b->cpus[e->cpu].current == thread)
		state_thread_to(b, thread, (int64_t)e->time, state_of_running(b, thread), e->cpu);
}

void state_on_quota(struct build *b, const struct event *e)
{
	uint32_t thread = state_thread(b, e->thread, (int64_t)e->time);

	if (thread != NOBODY && e->quota.took < INT64_MAX)
		b->now.v[thread].throttled = (int64_t)e->quota.took;
}

void state_on_sample(struct build *b, const struct event *e)
{
	uint32_t thread = state_thread(b, e->thread, (int64_t)e->time);

	if (thread != NOBODY && VEC_PUSH(b->t->threads.v[thread].samples, e->time << 1 | (e->flags & SAMPLE_USER ? 1 : 0)) < 0)
		b->error = -ENOMEM;
}

/* A CPU that no event tells of: who runs there at the freeze did all the time. */
void state_cpus_finish(struct build *b)
{
	for (uint32_t i = 0; i < b->trace->threads.n; i++) {
		const struct trace_thread *known = &b->trace->threads.v[i];

		if (!b->now.v[i].seen && known->state == STATE_RUNNING && known->cpu < b->trace->n_cpus && known->tid)
			cpu_known(b, known->cpu, i);
	}
	for (size_t cpu = 0; cpu < b->t->cpus.n; cpu++)
		if (b->trace->cpus[cpu].there)
			cpu_known(b, (uint16_t)cpu, NOBODY);
}
