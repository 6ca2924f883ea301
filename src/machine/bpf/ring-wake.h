/* Of the flight recorder: wake-ups, and threads that are moved. */
#pragma once

#include "machine/bpf/ring-profile.h"
#include "machine/bpf/ring-waits.h"

/* By what the entry points of interrupts have noted: the kernel's own count cannot be read everywhere. */
static __always_inline u32 waker_context(const struct ring_cpu *c, u16 *ret_vector)
{
	if (c->irq) {
		*ret_vector = c->irq - 1;
		return WAKEUP_IN_IRQ;
	}
	*ret_vector = c->softirq ? c->softirq - 1 : 0;
	if (!c->softirq)
		return 0;
	if (*ret_vector != SOFTIRQ_NET_RX || !c->current || c->softirq_from - c->irq_end <= SOFTIRQ_RAISED)
		return WAKEUP_IN_SOFTIRQ;
	return WAKEUP_IN_SOFTIRQ | WAKEUP_SENT;
}

static __always_inline bool waited_long(const struct ring_thread *t, u64 now)
{
	return thread_state_is_blocked(t->state) && (s64)(now - t->since) >= RING_LONG_WAIT;
}

/* Is the thread that runs the one that wakes, so that its stack tells why? In interrupts it is a bystander, unless it sends to this
 * machine itself: that is received in a soft interrupt on its time. */
static __always_inline bool is_own_doing(u32 context, u32 current)
{
	if (context & WAKEUP_IN_IRQ || !current)
		return false;
	return !(context & WAKEUP_IN_SOFTIRQ) || context & WAKEUP_SENT;
}

/* Of the waker, who is current, kernel and user. One and the same thread mostly wakes another from the same place. */
static __noinline stack_ref stack_of_waker(void *ctx, struct ring_thread *t)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct pt_regs *regs;
	u64 place;

	if (waker->flags & (PF_KTHREAD | PF_IO_WORKER))
		return whole_stack_here(ctx);
	regs = registers_of(waker);
	place = place_of(regs) + waker->pid;
	if (t->waker_place != place || !is_kept(t->waker_stack)) {
		t->waker_stack = whole_stack_here(ctx);
		t->waker_place = place;
	}
	return t->waker_stack;
}

static __always_inline struct ring_waking *waking_of(u32 thread)
{
	u32 key = thread & (RING_WAKINGS - 1);

	return bpf_map_lookup_elem(&wakings, &key);
}

/* A wake-up that this CPU begins; `here`: it will most probably end here as well, at once, and read the time then. */
static __always_inline void note_waking(void *ctx, struct ring_cpu *c, u32 cpu, u32 thread, struct ring_thread *t, bool here)
{
	struct ring_waking *w = waking_of(thread);
	u16 vector;

	if (!w)
		return;
	if (t)
		t->noted = 1;
	w->thread = thread;
	w->waker = c->current;
	w->cpu = cpu;
	w->context = waker_context(c, &vector);
	w->vector = vector;
	w->stack = 0;
	w->time = 0;
	if (here)
		return;
	w->time = bpf_ktime_get_ns();
	if (stacks_on && t && waited_long(t, w->time) && is_own_doing(w->context, c->current))
		w->stack = stack_of_waker(ctx, t);
}

/* Since 6.5: this CPU asks another one to end a wake-up. All other wake-ups end where they began, at once. */
SEC("tp_btf/csd_queue_cpu")
int BPF_PROG(on_waking_elsewhere, unsigned int target, unsigned long from, void *function, struct __call_single_data *csd)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_cpu *c = cpu_at(cpu);
	struct ring_thread *t;
	struct task_struct *task = (void *)csd - bpf_core_field_offset(struct task_struct, wake_entry);
	u32 thread;

	if (!c || (csd->node.u_flags & CSD_FLAG_TYPE_MASK) != CSD_TYPE_TTWU)
		return 0;
	thread = BPF_CORE_READ(task, pid);
	t = own_slot_of(thread);
	if (!t) { /* only the kernel can tell then what hangs on it, of a task that is held */
		task = bpf_task_from_pid(thread);
		if (!task)
			return 0;
		t = thread_of(task);
		bpf_task_release(task);
	}
	note_waking(ctx, c, cpu, thread, t, false);
	return 0;
}

/* Before 6.5 each wake-up may be one that ends elsewhere. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_cpu *c = cpu_at(cpu);

	if (c)
		note_waking(ctx, c, cpu, task->pid, thread_of(task), task->thread_info.cpu == cpu);
	return 0;
}

/* What the kernel does for a call that waits for another program is the same each time; on its way to a disk or for memory it may
 * wait at many places. (How deep its stack is would tell them apart, but many kernels begin each call at another depth on purpose.) */
static __always_inline stack_ref stack_of_wait(struct task_struct *task, struct ring_thread *t)
{
	bool same = t->state == STATE_LOCK || t->state == STATE_CONDITION || t->state == STATE_PEER || t->state == STATE_NETWORK;

	if (!same || t->kernel_place != t->place || !is_kept(t->kernel_stack)) {
		t->kernel_stack = stack_of_sleeper(task);
		t->kernel_place = same ? t->place : 0;
	}
	return t->kernel_stack;
}

/* Where it slept; and whether that is a place to take the user stack at next time. */
static __noinline void tell_wait(struct ring_cpu *c, u32 cpu, u64 now, struct task_struct *task, struct ring_thread *t)
{
	struct pt_regs *regs;
	stack_ref kernel;
	struct event *e;

	t->long_place = t->place;
	if (!stacks_on)
		return;
	kernel = stack_of_wait(task, t);
	e = reserve_undisturbed(c, cpu, now, task->pid);
	if (!e)
		return;
	e->waited.ip = 0;
	if (!(task->flags & PF_KTHREAD)) {
		regs = registers_of(task);
#if defined(__TARGET_ARCH_arm64)
		e->waited.ip = regs->pc;
#else
		e->waited.ip = regs->ip;
#endif
	}
	e->waited.kernel = kernel;
	e->waited.user = t->stack;
	commit(e, EVENT_WAITED, 0);
}

/* It began here, unless another CPU has noted that it did there (`w`, NULL where none can have). */
static __always_inline u8 fill_waker(struct event *e, u64 now, u32 cpu, struct ring_cpu *c, const struct ring_waking *w,
				     bool new)
{
	u16 vector;
	u8 context;

	e->wakeup.since_waking = 0;
	e->wakeup.stack = 0;
	if (!unlikely(!new && w && w->thread)) {
		e->wakeup.waker = c->current;
		context = waker_context(c, &vector);
		e->wakeup.vector = vector;
		return new ? 0 : context;
	}
	e->wakeup.vector = 0;
	if (w->thread != e->thread) { /* another thread's of the same remainder came between, perhaps */
		e->wakeup.waker = 0;
		return WAKEUP_NO_WAKING;
	}
	e->wakeup.waker = w->waker;
	e->wakeup.vector = w->vector;
	e->wakeup.stack = w->stack;
	if (w->time && now > w->time)
		e->wakeup.since_waking = now - w->time;
	return w->context | (w->cpu != cpu ? WAKEUP_REMOTE : 0);
}

/* A long wait goes to the profile with both stacks. */
static __noinline int profile_wait(struct task_struct *task, struct ring_thread *t, struct event *e, u64 now)
{
	struct ring_profile_key key = {};

	key.process = task->tgid;
	key.kernel = t->kernel_stack;
	key.user = t->stack;
	key.state = t->state;
	if (e && e->wakeup.stack) {
		key.waker = e->wakeup.waker;
		key.waker_stack = e->wakeup.stack;
	}
	return add_to_profile(task, &key, now - t->since);
}

/* It left, and comes back into a queue. */
static __always_inline void end_wait(void *ctx, struct ring_cpu *c, u32 cpu, u64 now, struct task_struct *task,
				     struct ring_thread *t, struct event *e, u8 flags)
{
	bool was_long = false;

	if (!(flags & WAKEUP_NEW)) {
		was_long = waited_long(t, now);
		if (unlikely(was_long)) {
			if (stacks_on && e && !e->wakeup.stack && !(flags & WAKEUP_REMOTE) &&
			    is_own_doing(flags, c->current))
				e->wakeup.stack = stack_of_waker(ctx, t);
			tell_wait(c, cpu, now, task, t);
			if (profile_on)
				profile_wait(task, t, e, now);
		} else if (t->place == t->long_place) {
			t->long_place = 0;
		}
		ring_note_longest(t, now);
	}
	charge(t, ring_sum_of_state(t->state), now);
	t->since = now;
	t->state = STATE_RUNNABLE;
	note_quota_clock(task, t);
}

/* Since 6.12 a thread that goes to sleep may stay in its queue for a while. If load balancing moves it in the meantime, the scheduler notes that
 * it queues from then on, and that stays so when it is taken out: all its sleep will be counted as run_delay. */
static __always_inline void note_overcount(struct ring_thread *t, struct task_struct *task, u64 clock)
{
	u64 since = task->sched_info.last_queued;

	if (since && clock > since)
		t->overcounted += clock - since;
}

static __always_inline int wake(void *ctx, struct task_struct *task, u8 flags)
{
	u32 cpu = bpf_get_smp_processor_id();
	u32 target = task->thread_info.cpu;
	struct rq *rq = task->se.cfs_rq->rq;
	struct ring_cpu *c = cpu_at(cpu), *there = cpu_at(target);
	struct ring_thread *t = thread_of(task);
	struct ring_waking *w = unlikely(!t || t->noted) ? waking_of(task->pid) : NULL;
	bool away = t && t->state == STATE_RUNNING && !task->on_cpu; /* it left untold */
	bool queued = t && !away && !(flags & WAKEUP_NEW) && (t->state == STATE_RUNNING || thread_state_is_runnable(t->state));
	struct event *e;
	u64 now;

	if (unlikely(!c || !there))
		return 0;
	/* of a thread that did not leave the scheduler asked for no time */
	now = unlikely(queued) ? bpf_ktime_get_ns() : scheduler_time(there, rq);
	account_queue(there, now);
	there->queued = count_runnable(rq);
	if (unlikely(queued))
		flags |= WAKEUP_STILL_QUEUED;
	else
		there->arrival = task->pid;
	c->wakeups++;
	if (c->irq == EVENT_TIMER_VECTOR + 1)
		c->irq_woken++;
	/* a thread that wakes itself has interrupts on */
	e = unlikely(queued) ? reserve(c, cpu, now, task->pid) : reserve_undisturbed(c, cpu, now, task->pid);
	if (e) {
		e->wakeup.target = target;
		flags |= fill_waker(e, now, cpu, c, w, flags & WAKEUP_NEW);
		if (unlikely(flags & WAKEUP_NO_WAKING))
			count_loss(true);
	}
	if (unlikely(w && w->thread == task->pid))
		w->thread = 0;
	if (t)
		t->noted = 0;
	if (unlikely(away))
		settle_untold(t, task, now, now - there->offset, 0);
	if (check_kernel && t && !queued)
		note_overcount(t, task, rq->clock);
	if (t && !queued)
		end_wait(ctx, c, cpu, now, task, t, e, flags);
	else if (unlikely(!t))
		count_loss(false);
	if (e)
		commit(e, EVENT_WAKEUP, flags);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	note_woken(task->tgid);
	return wake(ctx, task, 0);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	return wake(ctx, task, WAKEUP_NEW);
}

/* A thread that sleeps goes to another CPU with its wake-up, which says so. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *task, int to)
{
	struct ring_cpu *there = cpu_at(to);
	struct event *e;

	if (!there || !task->on_rq)
		return 0;
	there->arrival = task->pid;
	e = begin(task->pid);
	if (!e)
		return 0;
	e->migrate.by = (u32)bpf_get_current_pid_tgid();
	e->migrate.from = task->thread_info.cpu;
	e->migrate.to = to;
	commit(e, EVENT_MIGRATE, 0);
	return 0;
}
