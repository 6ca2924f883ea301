/* A part of the programs that read tasks: what they share with user space, and under which numbers tasks are known there. */
#pragma once

#include "machine/bpf/ring-thread.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "machine/model/task-sample.h"

#define RESCAN_MASK	 63 /* every process is read in full, and its sockets counted, at least every 64th sweep */
#define MIX		 0x9e3779b97f4a7c15ull

__u64 lost_exits;	     /* the ring was full */
__u64 sweep_number;    /* counted by user space */
__u32 hears_wakeups;   /* by user space: since before the last sweep the flight recorder has noted who was woken */
__u32 report_generation;       /* raised when processes changed their parent: all are reported of again */
__u64 reclaim_until;   /* so many sweeps memory may still be taken from processes, whether they run or not */
__u64 missed_sweeps;   /* the record did not fit the iterator's buffer */
const volatile bool count_sockets = true;
const volatile bool has_socket_lengths = false;
const volatile bool has_sums = false;
const volatile bool sees_reclaim = false;
const volatile bool in_namespace = false; /* the recorder has a pid namespace of its own */
const volatile bool walks = false;

/* That namespace, and how deep it lies; found out at every sweep. */
__u64 own_namespace;
__u32 own_level;

#define PRESENT(i) (1ull << (i))
#define SET(s, i, value)                             \
	do {                                         \
		(s)->v[FEATURE_##i] = (u64)(value);  \
		(s)->present |= PRESENT(FEATURE_##i); \
	} while (0)

static void find_own_namespace(void)
{
	struct task_struct *reader = bpf_get_current_task_btf();
	struct pid *pid = reader->thread_pid;
	struct upid own;

	if (!in_namespace || !pid)
		return;
	own_level = pid->level;
	if (upid_at(pid, own_level, &own) == 0)
		own_namespace = (u64)own.ns;
}

/* A task's number as the recorder's namespace has it; 0 = it is not in there. */
static u32 number_of(struct task_struct *task)
{
	struct pid *pid = task->thread_pid;
	struct upid seen;

	if (!in_namespace)
		return task->pid;
	if (!pid || pid->level < own_level || upid_at(pid, own_level, &seen) < 0 || (u64)seen.ns != own_namespace)
		return 0;
	return seen.nr;
}

static u32 group_number_of(struct task_struct *task)
{
	return in_namespace ? number_of(task->group_leader) : task->tgid;
}

/* Is it the only thread of its process? Looked up in the task itself: the signal struct is another cache miss. */
static bool is_alone(struct task_struct *task)
{
	return task->thread_node.next == task->thread_node.prev;
}
