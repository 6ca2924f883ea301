/* A part of the flight recorder: interrupts, disks, memory, locks of the kernel. */
#pragma once

#include "machine/bpf/ring-records.h"

#define REQ_SYNC	  (1 << 11)
#define REQ_META	  (1 << 12)
#define REQ_FUA		  (1 << 17)
#define REQ_PREFLUSH	  (1 << 18)
#define REQ_RAHEAD	  (1 << 19)
#define CONTENTION_SPIN	  1
#define CONTENTION_READ	  2
#define CONTENTION_WRITE  4
#define CONTENTION_RT	  8
#define CONTENTION_PERCPU 16
#define CONTENTION_MUTEX  32

/* --- interrupts --- */

static __always_inline void end_irq(struct ring_cpu *c, u32 cpu, u32 number, u8 flags)
{
	u64 now = bpf_ktime_get_ns(), took = now - c->irq_from;
	struct event *e;

	if (!c->irq_from)
		return;
	c->irq_from = 0;
	c->irq = 0;
	c->irq_end = now;
	c->irq_total += took;
	c->stolen += took;
	if (flags & IRQ_TIMER)
		c->timer_time += took;
	else
		c->irq_time += took;
	e = reserve(c, cpu, now, (u32)bpf_get_current_pid_tgid());
	if (!e)
		return;
	e->interrupt.took = took;
	e->interrupt.number = number;
	e->interrupt.nested = 0;
	commit(e, EVENT_IRQ, flags);
}

static __always_inline struct ring_cpu *here(u32 *ret_cpu)
{
	*ret_cpu = bpf_get_smp_processor_id();
	return cpu_at(*ret_cpu);
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq, int irq)
{
	u32 cpu;
	struct ring_cpu *c = here(&cpu);

	if (c) {
		c->irq_from = bpf_ktime_get_ns();
		c->irq = irq + 1;
	}
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_end, int irq)
{
	u32 cpu;
	struct ring_cpu *c = here(&cpu);

	if (c)
		end_irq(c, cpu, irq, 0);
	return 0;
}

SEC("tp_btf/local_timer_entry")
int BPF_PROG(on_timer)
{
	u32 cpu;
	struct ring_cpu *c = here(&cpu);
	u32 n;

	if (!c)
		return 0;
	n = c->queued < RING_LENGTHS ? c->queued : RING_LENGTHS - 1;
	c->seen_length[n & (RING_LENGTHS - 1)]++;
	c->irq_from = bpf_ktime_get_ns();
	c->irq = EVENT_TIMER_VECTOR + 1;
	c->irq_woken = 0;
	return 0;
}

/* 1, 2, 3-4, 5-8 ... */
static __always_inline u32 burst_class(u32 n)
{
	u32 class = 0;

	for (u32 limit = 1; class < RING_BURSTS - 1 && n > limit; limit *= 2)
		class++;
	return class;
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(on_timer_end)
{
	u32 cpu;
	struct ring_cpu *c = here(&cpu);

	if (!c)
		return 0;
	if (c->irq_woken) {
		c->bursts[burst_class(c->irq_woken) & (RING_BURSTS - 1)]++;
		if (c->irq_woken > c->largest_burst)
			c->largest_burst = c->irq_woken;
	}
	end_irq(c, cpu, 0, IRQ_TIMER);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq, unsigned int vector)
{
	u32 cpu;
	struct ring_cpu *c = here(&cpu);

	if (c) {
		c->softirq = vector + 1;
		c->softirq_nested = c->irq_total;
		c->softirq_from = bpf_ktime_get_ns();
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_end, unsigned int vector)
{
	u32 cpu;
	struct ring_cpu *c = here(&cpu);
	u64 now, from, took, nested, place = vector;

	if (!c || !c->softirq_from)
		return 0;
	now = bpf_ktime_get_ns();
	took = now - c->softirq_from;
	nested = c->irq_total - c->softirq_nested;
	if (nested > took)
		nested = took;
	from = c->softirq_from;
	c->softirq_from = 0;
	c->softirq = 0;
	c->stolen += took - nested;
	barrier_var(place); /* or clang 19 compares one register and counts in another, which the verifier has not seen compared */
	if (place < RING_SOFTIRQS)
		c->softirq_time[place] += took - nested;
	if (c->untold_took && (c->untold_vector != vector || nested || took >= SOFTIRQ_TOGETHER || now - c->untold_first > SOFTIRQ_NEAR))
		tell_softirqs(c, cpu);
	if (nested || took >= SOFTIRQ_TOGETHER) {
		tell_softirq(c, cpu, now, took, vector, nested);
		return 0;
	}
	if (!c->untold_took)
		c->untold_first = from;
	c->untold_vector = vector;
	c->untold_end = now;
	c->untold_took += took;
	if (c->untold_took >= SOFTIRQ_TOGETHER)
		tell_softirqs(c, cpu);
	return 0;
}

/* --- disks --- */

static __always_inline u8 block_flags(u32 flags)
{
	u8 op = flags & 0xff, found = 0;

	if (op == 1 || op == 9)
		found |= BLOCK_WRITE;
	if (op == 2 || (flags & (REQ_FUA | REQ_PREFLUSH)))
		found |= BLOCK_FLUSH;
	if (op == 3 || op == 5)
		found |= BLOCK_DISCARD;
	if (flags & REQ_SYNC)
		found |= BLOCK_SYNC;
	if (flags & REQ_META)
		found |= BLOCK_META;
	if (flags & REQ_RAHEAD)
		found |= BLOCK_READ_AHEAD;
	return found;
}

static __always_inline int tell_request(struct request *rq, u32 bytes, u8 kind, u8 more)
{
	struct event *e = begin((u32)bpf_get_current_pid_tgid());
	struct gendisk *disk;

	if (!e)
		return 0;
	disk = rq->q->disk;
	e->block.request = (u64)rq;
	e->block.device = disk ? (u32)disk->major << 20 | (u32)disk->first_minor : 0;
	e->block.sectors = bytes >> 9;
	commit(e, kind, block_flags(rq->cmd_flags) | more);
	return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_block_insert, struct request *rq)
{
	return tell_request(rq, rq->__data_len, EVENT_BLOCK_INSERT, 0);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_block_issue, struct request *rq)
{
	return tell_request(rq, rq->__data_len, EVENT_BLOCK_ISSUE, 0);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_block_complete, struct request *rq, unsigned char error, unsigned int bytes)
{
	return tell_request(rq, bytes, EVENT_BLOCK_COMPLETE, error ? BLOCK_FAILED : 0);
}

/* --- memory --- */

static __always_inline int reclaim(u8 kind, u8 flags, u32 order, u64 pages)
{
	struct event *e = begin((u32)bpf_get_current_pid_tgid());

	if (!e)
		return 0;
	e->reclaim.pages = pages;
	e->reclaim.order = order;
	commit(e, kind, flags);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(on_reclaim, int order)
{
	return reclaim(EVENT_RECLAIM_BEGIN, 0, order, 0);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(on_reclaim_end, unsigned long pages)
{
	return reclaim(EVENT_RECLAIM_END, 0, 0, pages);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(on_group_reclaim, int order)
{
	return reclaim(EVENT_RECLAIM_BEGIN, RECLAIM_GROUP, order, 0);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(on_group_reclaim_end, unsigned long pages)
{
	return reclaim(EVENT_RECLAIM_END, RECLAIM_GROUP, 0, pages);
}

/* --- locks of the kernel --- */

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention, void *lock, unsigned int flags)
{
	struct ring_thread *t;

	if ((flags & CONTENTION_SPIN) && !(flags & CONTENTION_MUTEX))
		return 0;
	t = thread_of(bpf_get_current_task_btf());
	if (!t)
		return 0;
	t->lock = (u64)lock;
	if (flags & CONTENTION_RT)
		t->lock_flags = LOCK_RT;
	else if (flags & CONTENTION_READ)
		t->lock_flags = LOCK_RW_READ;
	else if (flags & CONTENTION_WRITE)
		t->lock_flags = LOCK_RW_WRITE;
	else
		t->lock_flags = LOCK_MUTEX;
	if (flags & CONTENTION_PERCPU) /* another struct than rw_semaphore: its owner is not kept where that has it */
		t->lock_flags = LOCK_RT;
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(on_contention_end, void *lock)
{
	struct ring_thread *t = thread_of(bpf_get_current_task_btf());

	if (t)
		t->lock_flags = 0;
	return 0;
}
