/* A part of the flight recorder: its memory, a record in it, its clock, and what is added up of run queues. */
#pragma once

#include "machine/bpf/ring-thread.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Whose a task's events are. One with several user ids (a program with the set-user-ID bit) has rights that none of these users has, and the
 * kernel lets none of them look into it: it counts as root's. */
static __always_inline u32 owner_of(u32 uid, u32 euid, u32 suid)
{
	return uid == euid && uid == suid ? uid : 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* by user space: CPUs * 2 * slots / RING_BLOCK */
	__type(key, u32);
	__type(value, struct ring_block);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* by user space: CPUs * 2 */
	__type(key, u32);
	__type(value, struct ring_stage);
} staged SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* by user space: CPUs */
	__type(key, u32);
	__type(value, struct ring_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RING_STACKS);
	__type(key, u32);
	__type(value, struct ring_stack);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RING_ENDED);
	__type(key, u32);
	__type(value, struct ring_ended);
} ended SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ring_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RING_WAKINGS);
	__type(key, u32);
	__type(value, struct ring_waking);
} wakings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* all of it allocated at once */
	__uint(max_entries, RING_PROFILE_LEAST); /* or more, by user space */
	__type(key, struct ring_profile_key);
	__type(value, struct ring_profile_sum);
} profile SEC(".maps");

struct frames {
	u64 v[RING_FRAMES];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct frames);
} scratch SEC(".maps");

__u32 generation;		       /* the one that is written; chosen by user space */
const volatile __u32 slot_bits;	       /* a CPU's generation has 1 << slot_bits of them */
const volatile bool stacks_on; /* take stacks of long waits and samples */
const volatile bool profile_on; /* add up what user space keeps by the minute */
const volatile bool check_kernel; /* note where the scheduler's own accounts are wrong */
__u64 registers_of_one;	       /* where a thread's lie; `look` measures */
__u32 registers_at;	       /* from the bottom of a kernel stack to the registers that user space left */

/* --- records --- */

static __always_inline struct ring_cpu *cpu_at(u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/* Record n is the middle one of its block: copies the block before it from the stage to its place. The one that was interrupted here for so
 * long that the block was written again has copied a mixture, which must say nothing. */
static __noinline void put_away(struct ring_cpu *c, u32 generation_of_cpu, u64 n)
{
	u64 block = (n >> RING_BLOCK_BITS) - 1;
	u32 key = generation_of_cpu << (slot_bits - RING_BLOCK_BITS) | ((u32)block & ((1u << (slot_bits - RING_BLOCK_BITS)) - 1));
	struct ring_stage *stage = bpf_map_lookup_elem(&staged, &generation_of_cpu);
	struct ring_block *place = bpf_map_lookup_elem(&ring, &key);

	if (!stage || !place || n < RING_BLOCK)
		return;
	bpf_probe_read_kernel(place, sizeof(*place), &stage->blocks[block & 1]);
	if (*(volatile u64 *)&c->head[generation_of_cpu & 1] <= n + RING_BLOCK / 2)
		return;
	for (u32 i = 0; i < RING_BLOCK; i++)
		*(volatile u8 *)&place->records[i].kind = EVENT_NONE;
}

/* A slot that says nothing until commit(). */
static __always_inline struct event *slot_at(struct ring_cpu *c, u32 cpu, u32 g, u64 n, u64 now, u32 thread)
{
	u32 key = cpu * 2 + g;
	struct ring_stage *stage = bpf_map_lookup_elem(&staged, &key);
	struct event *e;

	if (unlikely(!stage))
		return NULL;
	if (unlikely((n & (RING_BLOCK - 1)) == RING_BLOCK / 2))
		put_away(c, key, n);
	e = &stage->blocks[n >> RING_BLOCK_BITS & 1].records[n & (RING_BLOCK - 1)];
	*(volatile u8 *)&e->kind = EVENT_NONE;
	e->time = now;
	e->thread = thread;
	e->cpu = n >> slot_bits;
	return e;
}

static __always_inline struct event *reserve(struct ring_cpu *c, u32 cpu, u64 now, u32 thread)
{
	u32 g = generation & 1;

	return slot_at(c, cpu, g, __sync_fetch_and_add(&c->head[g], 1), now, thread);
}

/* With interrupts off: no record of another program can come between, and an atomic addition costs as much as the rest
 * of the record. */
static __always_inline struct event *reserve_undisturbed(struct ring_cpu *c, u32 cpu, u64 now, u32 thread)
{
	u32 g = generation & 1;
	u64 n = *(volatile u64 *)&c->head[g];

	*(volatile u64 *)&c->head[g] = n + 1;
	return slot_at(c, cpu, g, n, now, thread);
}

static __always_inline void commit(struct event *e, u8 kind, u8 flags)
{
	e->flags = flags;
	barrier();
	*(volatile u8 *)&e->kind = kind;
}

/* A record of what happens now, on this CPU. */
static __always_inline struct event *begin(u32 thread)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_cpu *c = cpu_at(cpu);
	struct event *e = c ? reserve(c, cpu, bpf_ktime_get_ns(), thread) : NULL;

	if (e)
		e->word[0] = e->word[1] = 0;
	return e;
}

/* --- soft interrupts --- */

static __always_inline void tell_softirq(struct ring_cpu *c, u32 cpu, u64 end, u64 took, u32 vector, u64 nested)
{
	struct event *e = reserve(c, cpu, end, (u32)bpf_get_current_pid_tgid());

	if (!e)
		return;
	e->interrupt.took = took;
	e->interrupt.number = vector;
	e->interrupt.nested = nested;
	commit(e, EVENT_SOFTIRQ, 0);
}

/* The short ones of this stint, as one that ended when the last of them did: a network server's thread has several in each of its stints,
 * and were each a record, they would be most of the ring. */
static __noinline void tell_softirqs(struct ring_cpu *c, u32 cpu)
{
	tell_softirq(c, cpu, c->untold_end, c->untold_took, c->untold_vector, 0);
	c->untold_took = 0;
}

/* --- the context --- */

#define CLOCK_FRESH 1000000   /* ns: for so long the two clocks are taken to run in the same way */
#define CLOCK_OLD   100000000 /* ns: after so long nothing is known of their difference */

/* CLOCK_MONOTONIC, from the clock that the scheduler has just read: reading it costs as much as the rest of a record. And
 * what is reported agrees with what the scheduler accounts. The difference is measured every ms; what is too large in a
 * measurement is the time since the scheduler looked. */
static __always_inline u64 scheduler_time(struct ring_cpu *c, struct rq *rq)
{
	u64 clock = rq->clock, passed = clock - c->measured;
	s64 offset, above;

	if (!unlikely(passed >= CLOCK_FRESH))
		return clock + c->offset;
	offset = bpf_ktime_get_ns() - clock;
	above = offset - c->offset;
	if (above < 0 || passed > CLOCK_OLD)
		c->offset = offset;
	else
		c->offset += above < 1024 ? above / 8 : 128;
	c->measured = clock;
	return clock + c->offset;
}

static __always_inline u32 count_runnable(struct rq *rq)
{
	if (bpf_core_field_exists(rq->cfs.h_nr_runnable))
		return rq->nr_running - (rq->cfs.h_nr_queued - rq->cfs.h_nr_runnable);
	if (bpf_core_field_exists(rq->cfs.h_nr_delayed))
		return rq->nr_running - rq->cfs.h_nr_delayed;
	return rq->nr_running;
}

static __always_inline void account_queue(struct ring_cpu *c, u64 now)
{
	u64 passed = now - c->queue_at;
	u32 n = c->queued < RING_LENGTHS ? c->queued : RING_LENGTHS - 1;

	if (unlikely((s64)passed < 0))
		return;
	c->queue_at = now;
	c->at_length[n & (RING_LENGTHS - 1)] += passed;
	if (c->queued > 1)
		c->imposed += passed * (c->queued - 1);
}

static __always_inline void charge(struct ring_thread *t, u32 sum, u64 now)
{
	s64 passed = now - t->since;

	if (passed > 0 && sum < SUM_COUNT)
		t->sum[sum] += passed;
}

/* By the scheduler's clock: how long it has waited in queues, the wait included that continues or ends now. */
static __always_inline u64 queued_until(struct task_struct *task, u64 clock)
{
	u64 since = task->sched_info.last_queued;

	return task->sched_info.run_delay + (since && clock > since ? clock - since : 0);
}

/* It left the CPU untold, some time ago, and has run for `stint` since it last came: of all that was reported since it came, the scheduler
 * knows how long it ran and how long it stood in queues. The rest it slept, nothing knows why. */
static __noinline void settle_untold(struct ring_thread *t, struct task_struct *task, u64 now, u64 clock, u64 stint)
{
	u64 ran = task->se.sum_exec_runtime - t->ran_at, queued = queued_until(task, clock) - t->queued_at;
	u64 passed = now > t->since ? now - t->since : 0;

	ran = ran > stint ? ran - stint : 0;
	if (ran > passed)
		ran = passed;
	if (queued > passed - ran)
		queued = passed - ran;
	t->sum[SUM_RUNNING] += ran;
	t->sum[SUM_PREEMPTED] += queued;
	t->sum[SUM_OTHER] += passed - ran - queued;
	t->since = now;
	t->state = STATE_UNKNOWN;
}

static __noinline void count_loss(bool waker)
{
	u32 zero = 0;
	struct ring_counts *all = bpf_map_lookup_elem(&counts, &zero);

	if (all && waker)
		all->no_waker++;
	else if (all)
		all->no_storage++;
}
