/* Of the flight recorder: switches. */
#pragma once

#include "machine/bpf/ring-poll.h"
#include "machine/bpf/ring-waits.h"

#define DIRTIED_LEAST (1 << 16) /* bytes: less is reported later */
#define SEARCH_MOST   10000000	/* ns: so long no CPU looks for work */
#define UNTOLD_LEAST  5000	/* ns: by less two readings of the clocks may differ */
#define UNTOLD_IRQS   50000	/* ns: where interrupts are accounted for apart, which measures them otherwise than here is done */

static __always_inline bool is_throttled(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return task->throttled;
	return task->se.cfs_rq->throttle_count > 0;
}

/* Has it run past the deadline it came with, or a group above it? */
static __always_inline bool slice_is_used(struct ring_cpu *c, struct task_struct *prev)
{
	struct sched_entity *se = &prev->se;

	for (int i = 0; i < RING_LEVELS; i++) {
		if (c->deadline[i] && (s64)(se->vruntime - c->deadline[i]) >= 0)
			return true;
		se = se->parent;
		if (!se)
			return false;
	}
	return false;
}

static __always_inline void note_deadlines(struct ring_cpu *c, struct task_struct *next)
{
	struct sched_entity *se = &next->se;

	if (!bpf_core_field_exists(se->deadline))
		return;
	c->deadline[0] = 0;
	if (next->prio < 100 || !next->pid)
		return;
	for (int i = 0; i < RING_LEVELS; i++) {
		c->deadline[i] = se->deadline;
		se = se->parent;
		if (!se) {
			if (i + 1 < RING_LEVELS)
				c->deadline[i + 1] = 0;
			return;
		}
	}
}

static __always_inline void describe_preempted(struct ring_cpu *c, struct task_struct *prev, struct task_struct *next,
					       struct departure *d)
{
	d->facts.call = find_call(prev, d);
	if (d->facts.call == CALL_BY_FILE)
		d->facts.call = CALL_OTHER;
	if (is_throttled(prev))
		d->facts.flags |= WAIT_QUOTA;
	if (next->prio < 100 && next->prio < prev->prio)
		d->facts.flags |= WAIT_CLASS;
	if (!bpf_core_field_exists(prev->se.deadline))
		d->facts.flags |= WAIT_NO_DEADLINE;
	else if (c->deadline[0] && slice_is_used(c, prev))
		d->facts.flags |= WAIT_SLICE;
	if (c->arrival)
		d->facts.flags |= WAIT_ARRIVAL;
	d->object = c->arrival;
}

static __noinline void write_lock(struct ring_cpu *c, u32 cpu, u64 now, u32 thread, const struct lock_facts *l)
{
	struct event *e = reserve_undisturbed(c, cpu, now, thread);

	if (!e)
		return;
	e->lock.object = l->object;
	e->lock.owner = l->owner;
	e->lock.word = l->word;
	commit(e, EVENT_LOCK, l->flags);
}

/* The user stack, where this thread has last waited long: it is not available of a sleeper. */
static __noinline void note_user_stack(void *ctx, struct ring_thread *t)
{
	if (!stacks_on)
		return;
	if (t->user_place != t->place || !is_kept(t->user_stack)) {
		t->user_stack = stack_here(ctx, BPF_F_USER_STACK);
		t->user_place = t->place;
	}
	t->stack = t->user_stack;
}

static __always_inline void note_quota_clock(struct task_struct *task, struct ring_thread *t)
{
	struct cfs_rq *queue = task->se.cfs_rq;

	if (!bpf_core_field_exists(queue->throttled_clock_self_time))
		return;
	t->quota_clock = queue->throttled_clock_self_time;
	t->quota_queue = (u64)queue;
}

static __noinline void tell_dirtied(struct ring_cpu *c, u32 cpu, u64 now, struct task_struct *prev, struct ring_thread *t)
{
	u64 total = prev->ioac.write_bytes;
	struct event *e = reserve_undisturbed(c, cpu, now, prev->pid);

	if (!e)
		return;
	e->dirtied.bytes = total - t->dirtied;
	e->dirtied.total = total;
	t->dirtied = total;
	commit(e, EVENT_DIRTIED, 0);
}

/* When it was taken out of its queue: what the CPU did from then on (it looks for work in others' queues) was not its doing. */
static __always_inline u64 stopped_at(struct rq *rq, struct task_struct *prev, u64 now)
{
	u64 searched = rq->clock_task - prev->se.exec_start;

	return searched < SEARCH_MOST ? now - searched : now;
}

/* It has come, and leaves now. */
static __always_inline void end_stint(struct ring_cpu *c, struct task_struct *prev, struct ring_thread *t, u64 until)
{
	bool apart = bpf_core_field_exists(struct rq, prev_irq_time);
	u64 ran = prev->se.sum_exec_runtime - t->ran_at + (apart ? c->stolen : 0);

	if (unlikely((s64)(until - t->since - ran) > (apart ? UNTOLD_IRQS : UNTOLD_LEAST))) /* it left and came back, both untold */
		settle_untold(t, prev, until, until - c->offset, 0);
	else
		charge(t, SUM_RUNNING, until);
	t->sum[SUM_STOLEN] += c->stolen;
	t->sum[SUM_IMPOSED] += c->imposed;
}

static __always_inline void leave(void *ctx, struct ring_cpu *c, u32 cpu, u64 now, u64 until, struct task_struct *prev,
				  struct departure *d)
{
	struct ring_thread *t = thread_of(prev);
	struct lock_facts lock = {};

	if (d->facts.state) {
		describe_blocked(prev, t, d);
		if (unlikely(d->facts.flags & WAIT_KERNEL_LOCK))
			find_kernel_lock(prev, t, &lock);
		else if (d->facts.call == CALL_LOCK || d->futex.expected == FUTEX_WAITED)
			find_futex(d, &lock);
		else if (d->facts.call == CALL_POLL && t)
			find_polled(prev, t, d);
		if (unlikely(lock.flags)) {
			d->object = lock.object;
			write_lock(c, cpu, now, prev->pid, &lock);
		}
	}
	if (unlikely(!t))
		return;
	if (t->state == STATE_RUNNING && c->current == prev->pid)
		end_stint(c, prev, t, until);
	t->since = until;
	t->state = classify(d->facts);
	if (!d->facts.state) {
		note_quota_clock(prev, t);
		return;
	}
	t->stack = 0;
	t->place = 0;
	if (d->facts.call != CALL_NONE && thread_state_is_blocked(t->state)) {
		t->place = d->place;
		if (unlikely(t->place == t->long_place))
			note_user_stack(ctx, t);
	}
	if (unlikely(prev->ioac.write_bytes - t->dirtied >= DIRTIED_LEAST))
		tell_dirtied(c, cpu, now, prev, t);
}

/* Of the wait that ends, what the group's quota took. */
static __always_inline u64 quota_taken(struct task_struct *next, struct ring_thread *t)
{
	struct cfs_rq *queue = next->se.cfs_rq;
	u64 clock;

	if (!bpf_core_field_exists(queue->throttled_clock_self_time) || t->quota_queue != (u64)queue)
		return 0;
	clock = queue->throttled_clock_self_time;
	return clock > t->quota_clock ? clock - t->quota_clock : 0;
}

static __noinline void tell_quota(struct ring_cpu *c, u64 now, struct task_struct *next, struct ring_thread *t, u64 took)
{
	u64 waited = now > t->since ? now - t->since : 0;
	struct event *e;

	if (took > waited)
		took = waited;
	if (!took)
		return;
	t->sum[SUM_QUOTA] += took;
	t->since += took;
	e = reserve_undisturbed(c, bpf_get_smp_processor_id(), now, next->pid);
	if (!e)
		return;
	e->quota.took = took;
	e->quota.group = group_of(next);
	commit(e, EVENT_QUOTA, 0);
}

/* It comes, and slept as far as is known: the scheduler has accounted for how long it stood in a queue since it last came. */
static __noinline void wake_untold(struct ring_thread *t, struct task_struct *next, u64 now, s64 offset)
{
	u64 queued = queued_until(next, now - offset) - t->queued_at, at = now - queued;

	if (!queued || t->state == STATE_UNKNOWN || (s64)(at - t->since) < 0)
		return;
	charge(t, ring_sum_of_state(t->state), at);
	t->since = at;
	t->state = STATE_RUNNABLE;
}

/* `stint`: how long it has been there already, of one that came untold. */
static __always_inline void come(struct ring_cpu *c, u64 now, struct task_struct *next, u64 stint)
{
	struct ring_thread *t = thread_of(next);
	u64 took;

	if (unlikely(!t)) {
		count_loss(false);
		return;
	}
	if (unlikely(t->state == STATE_RUNNING))
		settle_untold(t, next, now, now - c->offset, stint);
	took = quota_taken(next, t);
	if (unlikely(took))
		tell_quota(c, now, next, t, took);
	if (unlikely(!thread_state_is_runnable(t->state)))
		wake_untold(t, next, now, c->offset);
	if (t->state != STATE_UNKNOWN) /* its departure was seen */
		charge(t, ring_sum_of_state(t->state), now);
	t->since = now;
	t->state = STATE_RUNNING;
	t->ran_at = next->se.sum_exec_runtime - stint;
	t->queued_at = queued_until(next, now - c->offset);
}

/* `prev` leaves without having come: tells of the switch that brought it. Why the one before left is not known. */
static __noinline void make_up(struct ring_cpu *c, u32 cpu, u64 now, struct task_struct *prev)
{
	u64 came = prev->sched_info.last_arrival + c->offset;
	struct event *e;

	if (!prev->pid || came <= c->since || came > now) {
		c->missed++;
		return;
	}
	come(c, came, prev, now - came);
	e = reserve_undisturbed(c, cpu, came, c->current);
	if (e) {
		e->out.next = prev->pid;
		e->out.syscall = EVENT_NO_SYSCALL;
		e->out.state = c->current ? TASK_STATE_SLEEPS : 0;
		e->out.call = c->current ? CALL_UNKNOWN : CALL_NONE;
		e->out.object = 0;
		commit(e, EVENT_SWITCH, 0);
	}
	c->since = came;
	c->current = prev->pid;
	c->deadline[0] = 0;
	c->made_up++;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct rq *rq = next->se.cfs_rq->rq;
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_cpu *c = cpu_at(cpu);
	struct departure d = {.syscall = EVENT_NO_SYSCALL};
	struct event *e;
	u64 now;

	if (unlikely(!c))
		return 0;
	now = scheduler_time(c, rq);
	account_queue(c, now);
	if (c->untold_took)
		tell_softirqs(c, cpu);
	if (unlikely(c->current != prev->pid))
		make_up(c, cpu, now, prev);
	/* the state is read again: a thread that found a signal on its way to sleep stays runnable */
	d.facts.state = preempt ? 0 : press_state(prev->__state);
	if (!prev->pid) {
		u64 passed = now - c->since;

		d.facts.call = CALL_NONE;
		if (!c->current)
			c->idle += passed - (c->stolen < passed ? c->stolen : passed);
	} else {
		if (!d.facts.state)
			describe_preempted(c, prev, next, &d);
		leave(ctx, c, cpu, now, stopped_at(rq, prev, now), prev, &d);
	}
	if (next->pid)
		come(c, now, next, 0);
	e = reserve_undisturbed(c, cpu, now, prev->pid);
	if (e) {
		e->out.next = next->pid;
		e->out.syscall = d.syscall;
		e->out.state = d.facts.state;
		e->out.call = d.facts.call;
		e->out.object = d.object;
		commit(e, EVENT_SWITCH, d.facts.flags);
	}
	c->since = now;
	c->current = next->pid;
	c->arrival = 0;
	c->imposed = 0;
	c->stolen = 0;
	c->switches++;
	c->queued = count_runnable(rq);
	note_deadlines(c, next);
	return 0;
}
