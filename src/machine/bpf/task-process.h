/* A part of the programs that read tasks: a full record, with what a process has as a whole. */
#pragma once

#include "machine/bpf/task-files.h"
#include "machine/bpf/task-thread.h"

static void read_memory(struct task_sample *s, struct mm_struct *mm)
{
	s64 file, anon, swap, shmem, resident;

	if (bpf_core_field_exists(struct mm_struct___old, rss_stat.count)) {
		struct mm_struct___old *old = (void *)mm;

		file = BPF_CORE_READ(old, rss_stat.count[0].counter);
		anon = BPF_CORE_READ(old, rss_stat.count[1].counter);
		swap = BPF_CORE_READ(old, rss_stat.count[2].counter);
		shmem = BPF_CORE_READ(old, rss_stat.count[3].counter);
	} else {
		file = mm->rss_stat[0].count;
		anon = mm->rss_stat[1].count;
		swap = mm->rss_stat[2].count;
		shmem = mm->rss_stat[3].count;
	}
	/* per-CPU counters are approximate and may read a little below zero */
	SET(s, MEM_FILE, file > 0 ? file << 12 : 0);
	SET(s, MEM_ANON, anon > 0 ? anon << 12 : 0);
	SET(s, MEM_SWAP, swap > 0 ? swap << 12 : 0);
	SET(s, MEM_SHMEM, shmem > 0 ? shmem << 12 : 0);
	SET(s, MEM_VIRTUAL, (u64)mm->total_vm << 12);
	SET(s, MEM_DATA, (u64)mm->data_vm << 12);
	SET(s, MEM_STACK, (u64)mm->stack_vm << 12);
	SET(s, MEM_LOCKED, (u64)mm->locked_vm << 12);
	SET(s, MEM_PAGE_TABLES, mm->pgtables_bytes.counter);
	/* the kernel notes a peak only when memory is given back */
	resident = file + anon + shmem;
	SET(s, MEM_PEAK, (u64)(resident > (s64)mm->hiwater_rss ? resident : (s64)mm->hiwater_rss) << 12);
}

static void read_quota(struct task_sample *s, struct task_struct *task)
{
	struct task_group *group = task->sched_task_group;
	u64 time = 0, periods = 0;

	if (!bpf_core_field_exists(group->cfs_bandwidth))
		return;
	for (int depth = 0; depth < 16 && group; depth++) {
		time += group->cfs_bandwidth.throttled_time;
		periods += group->cfs_bandwidth.nr_throttled;
		group = group->parent;
	}
	SET(s, QUOTA_THROTTLED, time);
	SET(s, QUOTA_PERIODS, periods);
}

static __always_inline void read_process(struct task_sample *s, struct task_struct *task, struct process_extra *extra)
{
	struct mm_struct *mm = task->mm;

	s->flags |= TASK_HAS_PROCESS;
	SET(s, SCHED_NICE, (s64)task->static_prio - 120);
	SET(s, SCHED_POLICY, task->policy);
	read_quota(s, task); /* first: its loop is verified once for each way that leads to it */
	if (mm) {
		read_memory(s, mm);
		read_files(s, task, extra);
		SET(s, OOM_SCORE_ADJ, (s64)task->signal->oom_score_adj);
	}
	put_traffic(s, task, extra);
}

static __always_inline void fill_full(struct task_sample *s, struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;

	s->size = TASK_SAMPLE_THREAD;
	read_identity(s, task);
	read_thread(s, task, has_sums ? thread_of(task) : NULL, true);
	/* the leader speaks for the process; any living thread does once the leader has ended */
	if (task->pid == task->tgid || leader->exit_state) {
		read_process(s, task, task->mm ? extra_of(task) : NULL);
		s->size = TASK_SAMPLE_FULL;
	}
}

/* The same of a process of one thread that is not held, but there: only where all that is kept of it has a slot. */
static __always_inline bool fill_full_from_slots(struct task_sample *s, struct task_struct *task)
{
	struct ring_thread *sums = has_sums ? own_slot_of(task->pid) : NULL;
	struct process_extra *extra = task->mm ? extra_slot_of(task) : NULL;

	if ((has_sums && !sums) || (task->mm && (!extra || extra->owner != (u64)task->tgid)))
		return false;
	s->size = TASK_SAMPLE_FULL;
	read_identity(s, task);
	read_thread(s, task, sums, true);
	read_process(s, task, extra);
	return true;
}
