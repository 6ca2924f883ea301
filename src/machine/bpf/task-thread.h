/* Of the programs that read tasks: a thread's own part of a record. */
#pragma once

#include "machine/bpf/task-state.h"

#define UNACCOUNTED_MAX	 10000000 /* ns: a tick at 100 Hz; more is a wrong clock */
#define SCHED_NORMAL	 0
#define SCHED_BATCH	 3
#define SCHED_IDLE	 5

/* CLOCK_MONOTONIC minus the scheduler's clock, measured at every sweep; 0 = not yet */
__s64 clock_offset;

static __always_inline void read_identity(struct task_sample *s, struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;
	struct task_struct *parent = task->real_parent;
	const struct cred *cred = task->cred;
	const u64 *comm = (const void *)leader->comm;

	s->flags = 0;
	s->pid = group_number_of(task);
	s->tid = number_of(task);
	s->parent = group_number_of(parent);
	s->start = leader->start_boottime;
	s->thread_start = task->start_boottime;
	s->exec_id = task->self_exec_id;
	s->uid = cred->uid.val;
	s->reserved = 0;
	s->present = 0;
	for (u32 i = 0; i < sizeof(s->comm) / sizeof(*comm); i++)
		((u64 *)s->comm)[i] = comm[i];
	if (task->flags & PF_KTHREAD)
		s->flags |= TASK_IS_KERNEL;
	if (task->flags & PF_EXITING)
		s->flags |= TASK_IS_EXITING;
}

/* What of its present stay on a CPU the scheduler has added up. */
static u64 accounted(struct task_struct *task)
{
	return task->se.sum_exec_runtime - task->se.prev_sum_exec_runtime;
}

static bool is_fair(struct task_struct *task)
{
	return task->policy == SCHED_NORMAL || task->policy == SCHED_BATCH || task->policy == SCHED_IDLE;
}

/* User space has just asked for its own CPU time, so all of the reader's stay is added up. A reader with real-time
 * priority has only just been woken. */
static void measure_clock_offset(void)
{
	struct task_struct *reader = bpf_get_current_task_btf();
	u64 now = reader->sched_info.last_arrival + (is_fair(reader) ? accounted(reader) : 0);

	clock_offset = (s64)(bpf_ktime_get_ns() - now);
}

/* The scheduler adds up at ticks and switches: of a thread that ends, up to a tick is still out. That is nearly all
 * there is of a process that lived for one millisecond. */
static u64 unaccounted(struct task_struct *task)
{
	s64 stay = (s64)(bpf_ktime_get_ns() - task->sched_info.last_arrival) - clock_offset;
	s64 out = stay - (s64)accounted(task);

	if (!clock_offset || !is_fair(task))
		return 0;
	return out > 0 && out < UNACCOUNTED_MAX ? (u64)out : 0;
}

static void read_delays(struct task_sample *s, struct task_struct *task)
{
	struct task_delay_info *delays = task->delays;

	if (!delays)
		return; /* delay accounting is off, or was when the task started: missing, not zero */
	SET(s, DELAY_BLOCK, delays->blkio_delay);
	SET(s, DELAY_BLOCK_COUNT, delays->blkio_count);
	SET(s, DELAY_SWAPIN, delays->swapin_delay);
	SET(s, DELAY_RECLAIM, delays->freepages_delay);
	SET(s, DELAY_THRASHING, delays->thrashing_delay);
	if (bpf_core_field_exists(delays->compact_delay))
		SET(s, DELAY_COMPACTION, delays->compact_delay);
	if (bpf_core_field_exists(delays->wpcopy_delay))
		SET(s, DELAY_COW, delays->wpcopy_delay);
	if (bpf_core_field_exists(delays->irq_delay))
		SET(s, DELAY_IRQ, delays->irq_delay);
}

/* The wait that continues: the flight recorder charges it when it ends. One for a CPU ends soon, and a quota may take it over. */
static __always_inline void add_going_on(struct task_sample *s, const struct ring_thread *t)
{
	u8 state = t->state;
	s64 passed = bpf_ktime_get_ns() - t->since;

	if (passed <= 0)
		return;
	if (state == STATE_LOCK || state == STATE_KERNEL_LOCK)
		s->v[FEATURE_WAIT_LOCK] += passed;
	else if (state == STATE_CONDITION)
		s->v[FEATURE_WAIT_CONDITION] += passed;
	else if (state == STATE_DISK)
		s->v[FEATURE_WAIT_DISK] += passed;
	else if (state == STATE_FAULT || state == STATE_RECLAIM)
		s->v[FEATURE_WAIT_MEMORY] += passed;
	else if (state == STATE_NETWORK)
		s->v[FEATURE_WAIT_NETWORK] += passed;
	else if (state == STATE_PEER)
		s->v[FEATURE_WAIT_PEER] += passed;
	else if (state == STATE_OTHER)
		s->v[FEATURE_WAIT_OTHER] += passed;
}

/* What the flight recorder added up of its time, and waits that continue until now. */
static __always_inline void read_sums(struct task_sample *s, const struct ring_thread *t)
{
	s->v[FEATURE_WAIT_PREEMPTED] = s->v[FEATURE_WAIT_QUOTA] = s->v[FEATURE_WAIT_LOCK] = s->v[FEATURE_WAIT_CONDITION] =
		s->v[FEATURE_WAIT_DISK] = s->v[FEATURE_WAIT_MEMORY] = s->v[FEATURE_WAIT_NETWORK] = s->v[FEATURE_WAIT_PEER] =
			s->v[FEATURE_WAIT_OTHER] = s->v[FEATURE_CPU_IMPOSED] = 0;
	if (!t)
		return;
	SET(s, WAIT_PREEMPTED, t->sum[SUM_PREEMPTED]);
	SET(s, WAIT_QUOTA, t->sum[SUM_QUOTA]);
	SET(s, WAIT_LOCK, t->sum[SUM_LOCK]);
	SET(s, WAIT_CONDITION, t->sum[SUM_CONDITION]);
	SET(s, WAIT_DISK, t->sum[SUM_DISK]);
	SET(s, WAIT_MEMORY, t->sum[SUM_FAULT]);
	SET(s, WAIT_NETWORK, t->sum[SUM_NETWORK]);
	SET(s, WAIT_PEER, t->sum[SUM_PEER]);
	SET(s, WAIT_OTHER, t->sum[SUM_OTHER]);
	SET(s, CPU_IMPOSED, t->sum[SUM_IMPOSED]);
	if (thread_state_is_blocked(t->state))
		add_going_on(s, t);
}

static __always_inline void read_thread(struct task_sample *s, struct task_struct *task, const struct ring_thread *sums, bool living)
{
	unsigned int state = task->__state;

	SET(s, CPU_USER, task->utime);
	SET(s, CPU_SYSTEM, task->stime);
	SET(s, CPU_TIME, task->se.sum_exec_runtime);
	SET(s, CPU_RUN_DELAY, task->sched_info.run_delay);
	SET(s, CPU_SLICES, task->sched_info.pcount);
	SET(s, CPU_MIGRATIONS, task->se.nr_migrations);
	SET(s, CTX_VOLUNTARY, task->nvcsw);
	SET(s, CTX_INVOLUNTARY, task->nivcsw);
	SET(s, FAULTS_MINOR, task->min_flt);
	SET(s, FAULTS_MAJOR, task->maj_flt);
	SET(s, IO_READ_CHARS, task->ioac.rchar);
	SET(s, IO_WRITE_CHARS, task->ioac.wchar);
	SET(s, IO_READ_CALLS, task->ioac.syscr);
	SET(s, IO_WRITE_CALLS, task->ioac.syscw);
	SET(s, IO_READ_BYTES, task->ioac.read_bytes);
	SET(s, IO_WRITE_BYTES, task->ioac.write_bytes);
	SET(s, IO_CANCELLED_BYTES, task->ioac.cancelled_write_bytes);
	SET(s, THREADS, living);
	SET(s, THREADS_RUNNING, living && task->on_cpu);
	SET(s, THREADS_RUNNABLE, living && state == 0 && !task->on_cpu);
	SET(s, THREADS_BLOCKED, living && (state & 3) == 2 && !(state & 0x400)); /* D, not idle (TASK_NOLOAD) */
	s->v[FEATURE_DELAY_BLOCK] = s->v[FEATURE_DELAY_BLOCK_COUNT] = s->v[FEATURE_DELAY_SWAPIN] =
		s->v[FEATURE_DELAY_RECLAIM] = s->v[FEATURE_DELAY_THRASHING] = s->v[FEATURE_DELAY_COMPACTION] =
			s->v[FEATURE_DELAY_COW] = s->v[FEATURE_DELAY_IRQ] = 0;
	read_delays(s, task);
	read_sums(s, sums);
}
