/* A part of the programs that read tasks: who has slept since it was last read; and the short record by which the iterator says so. */
#pragma once

#include "machine/bpf/task-state.h"

#define RECLAIM_SWEEPS	 16 /* after its last sign reclaim is taken to continue for so long */
#define ASLEEP_MAX	 65536 /* of processes whose numbers agree in 16 bits, one is remembered */

/* A process of which all threads slept when it was last read in full, by its number. It says all that a short record does:
 * of one that sleeps on hardly any of the kernel's own memory need be touched. */
struct asleep {
	u64 task;   /* address of its leader; 0 = refer to nothing */
	u64 looks;  /* the leader's */
	u64 start;
	u32 pid;    /* as user space knows it */
	u32 others; /* looks of its other threads; 0 = it has none */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ASLEEP_MAX);
	__type(key, u32);
	__type(value, struct asleep);
} asleep SEC(".maps");

static bool reclaims(void)
{
	return !sees_reclaim || sweep_number < reclaim_until;
}

/* Nothing of a thread that has not run since (its exact CPU time stands still) has changed but what others do to it: they
 * change its priority, take its memory away. What is rarer waits for the next full reading. */
static u64 state_fingerprint(struct task_struct *task)
{
	u64 looks = task->se.sum_exec_runtime * MIX + task->static_prio + ((u64)report_generation << 16);
	struct mm_struct *mm;

	if (bpf_core_field_exists(struct mm_struct___old, rss_stat.count) || !reclaims())
		return looks;
	mm = task->mm;
	return mm ? (looks * MIX + mm->rss_stat[0].count) * MIX + mm->rss_stat[1].count : looks;
}

/* Has it slept since, a process of one thread? Then it has no more of them now. */
static __always_inline bool has_slept(const struct asleep *before, const struct task_struct *task, u64 looks)
{
	return before->task == (u64)task && before->looks == looks && !before->others;
}

/* ... and still does, and nothing else asks for a full record. */
static __always_inline bool sleeps_unchanged(const struct asleep *before, struct task_struct *task)
{
	return ((sweep_number + before->pid) & RESCAN_MASK) && !task->on_cpu && task->__state;
}

static __always_inline struct asleep *asleep_of(struct task_struct *task)
{
	u32 slot = task->pid & (ASLEEP_MAX - 1);

	return bpf_map_lookup_elem(&asleep, &slot);
}

static bool sleeps(struct task_struct *task)
{
	unsigned int state = task->__state;

	return !task->on_cpu && state && (state & 0x402) != 2 && !(task->flags & PF_EXITING);
}

/* Read in full, a process of which this thread sleeps. */
static void remember(struct asleep *before, struct task_struct *leader, u64 looks, u32 others)
{
	before->looks = looks;
	before->others = others;
	before->start = leader->start_boottime;
	before->pid = group_number_of(leader);
	before->task = (u64)leader;
}

/* Does it sleep, and is it the only thread of a process? Without running it cannot get more of them, nor end. What changed
 * since it was read it has run for. */
static void remember_alone(struct asleep *before, struct task_struct *task)
{
	before->task = 0;
	if (sleeps(task) && is_alone(task))
		remember(before, task, state_fingerprint(task), 0);
}

static void fill_short(struct task_sample_short *s, const struct asleep *before)
{
	s->size = TASK_SAMPLE_SHORT;
	s->flags = TASK_SLEEPS_ON;
	s->pid = before->pid;
	s->tid = before->pid;
	s->parent = 0;
	s->start = before->start;
	s->thread_start = before->start;
}
