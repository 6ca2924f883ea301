/* What the BPF programs hand to user space about one task. Freestanding: both sides include it.
 *
 * A thread's record carries v[0 .. THREAD_FEATURE_COUNT); the record of a process (one of its threads speaks for it)
 * carries all PROCESS_FEATURE_COUNT values; that of a process which has slept since its last one is short, and says no
 * more than that it lives. `size` says how many bytes are there.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
typedef uint64_t task_u64;
typedef uint32_t task_u32;
typedef uint16_t task_u16;
#else
typedef unsigned long long task_u64;
typedef unsigned int task_u32;
typedef unsigned short task_u16;
#endif

#include "machine/model/feature-table.h"

#define TASK_COMM_SIZE 16

enum task_flags {
	TASK_HAS_PROCESS = 1,	 /* the process-wide values are there */
	TASK_IS_KERNEL = 2,	 /* a kernel thread */
	TASK_GROUP_DEAD = 4,	 /* exit records: this was the last thread */
	TASK_IS_EXIT = 8,	 /* from the exit tracepoint, not from the sweep */
	TASK_IS_EXITING = 16,	 /* sweep: on its way out; its exit record may have been written already */
	TASK_SLEEPS_ON = 256,	 /* a short record: all is as in the last full one */
};

struct task_sample {
	task_u16 size; /* bytes of this record */
	task_u16 flags;
	task_u32 pid;		/* thread group */
	task_u32 tid;
	task_u32 parent;	/* thread group of the real parent */
	task_u64 start;		/* start of the process: CLOCK_BOOTTIME, ns */
	task_u64 thread_start;	/* start of this thread */
	task_u64 exec_id;	/* changes at every exec */
	task_u64 present;	/* bit i: v[i] was measured */
	task_u32 uid;
	task_u32 reserved;
	char comm[TASK_COMM_SIZE]; /* of the thread group's leader */
	task_u64 v[PROCESS_FEATURE_COUNT];
};

/* The beginning of a task_sample. */
struct task_sample_short {
	task_u16 size;
	task_u16 flags;
	task_u32 pid, tid, parent;
	task_u64 start, thread_start;
};

/* The CPU time of a thread after its exit record, most of it to free the memory. Kernels before 6.16 trace an exit after that, and
 * leave little. Written when nothing refers to the thread any more. */
struct task_rest {
	task_u32 pid, parent; /* thread groups */
	task_u32 uid;
	task_u32 reserved;
	task_u64 start;	      /* of the process */
	task_u64 cpu, system; /* ns */
	char comm[TASK_COMM_SIZE];
};

#define TASK_WALK_SIZE (4 << 20) /* of 8000 processes that work */

/* What a call of the walk leaves behind: records one after the other, shared with user space. */
struct task_walk {
	task_u32 used;	     /* bytes of `records` */
	task_u32 more;	     /* there was not room enough: the next call continues */
	task_u32 all;	     /* of whom it says nothing has gone; else it sleeps on */
	char records[TASK_WALK_SIZE] __attribute__((aligned(8)));
};

#define TASK_SAMPLE_SHORT  sizeof(struct task_sample_short)
#define TASK_SAMPLE_HEADER ((unsigned long)__builtin_offsetof(struct task_sample, v))
#define TASK_SAMPLE_THREAD (TASK_SAMPLE_HEADER + THREAD_FEATURE_COUNT * 8)
#define TASK_SAMPLE_FULL   sizeof(struct task_sample)
