/* Of the programs that read tasks: the processes that the walk knows, and who of them sleeps on.
 *
 * They stand in one array, in the order in which they came; of one that sleeps on only two lines of the kernel's own memory are touched.
 * A new one is put there as it begins, and taken out as it ends: before the kernel lets go of a task whose address stands there
 * it has passed `on_exit`, and all readers are done.
 */
#pragma once

#include "machine/bpf/task-kernel.h"
#include "machine/bpf/task-sleep.h"

#define KNOWN_MAX	65536
#define HOLES_FEW	1024
#define CHILDREN_MOST	1024 /* of one that ends; of more all processes are reported of again */
#define AHEAD		8 /* processes on their way into the cache while one is looked at */
#define OTHERS_UNKNOWN	1 /* not all of them slept, or they were not looked at */
#define HAS_ENDED	0 /* as the address of a task */
#define PID_ONLY	1

struct known {
	u64 task;   /* address of its leader, good for nothing but to be looked at */
	u64 looks;  /* the leader's when it was last reported; 0 = it was awake */
	u32 pid;
	u32 others; /* looks of its other threads; 0 = it has none */
	u64 shares; /* its bit of `woken` is another's as well, who clears it */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KNOWN_MAX);
	__type(key, u32);
	__type(value, struct known);
} known SEC(".maps");

/* By the last bits of its number, where it stands + 1. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KNOWN_MAX);
	__type(key, u32);
	__type(value, u32);
} known_at SEC(".maps");

__u64 known_count; /* may be more than there is room for */
__u64 known_at_first; /* when all were last gone through */
__u32 tracking_incomplete; /* of something who has ended: no address is good any more */
__u32 reported_generation;	  /* what `report_generation` was at the last walk */
bool trusts_wakeups; /* the one that was not woken need not even be looked at */

static __always_inline struct known *known_by(u64 i)
{
	u32 at = i;

	return i < KNOWN_MAX ? bpf_map_lookup_elem(&known, &at) : NULL;
}

static __always_inline u32 *place_of_number(u32 pid)
{
	u32 key = pid & (KNOWN_MAX - 1);

	return bpf_map_lookup_elem(&known_at, &key);
}

/* NULL = there is none, or another's number has the same bits. */
static __always_inline struct known *known_of(u32 pid)
{
	u32 *place = place_of_number(pid);
	struct known *k = place && *place ? known_by(*place - 1) : NULL;

	return k && k->pid == pid ? k : NULL;
}

static __always_inline struct known *new_known(u32 pid)
{
	u32 *place = place_of_number(pid);
	u64 i = __sync_fetch_and_add(&known_count, 1);
	struct known *k = known_by(i), *before;

	if (!k || !place)
		return NULL; /* then all will be gone through */
	before = *place ? known_by(*place - 1) : NULL;
	if (before)
		before->shares = 1;
	*place = i + 1;
	k->pid = pid;
	k->shares = 0;
	return k;
}

/* It will be visited, and found by its number. */
static __always_inline void track_pid(u32 pid)
{
	struct known *k = known_of(pid) ?: new_known(pid);

	if (!k)
		return;
	k->looks = 0;
	*(volatile u64 *)&k->task = PID_ONLY;
}

/* Of a process: its last thread ends, or the leader before the others; that is found by its number from now on, if it is. */
static __always_inline void forget(struct task_struct *task, bool last)
{
	struct known *k;

	if (!last && task->pid != task->tgid)
		return;
	k = known_of(task->tgid);
	if (k)
		*(volatile u64 *)&k->task = last ? HAS_ENDED : PID_ONLY;
	else
		tracking_incomplete = 1;
}

/* It was read in full; a process of which this thread sleeps, or may. One that ends in the meantime may not be seen by its end. */
static __always_inline void remember_known(struct known *k, struct task_struct *leader, u64 looks, u32 others)
{
	k->looks = sleeps(leader) ? looks : 0;
	k->others = others;
	if (k->task == (u64)leader)
		return;
	(void)__sync_lock_test_and_set(&k->task, (u64)leader);
	if (leader->flags & PF_EXITING)
		k->task = PID_ONLY;
}

/* Places in a list of children, as numbers. */
struct child_scan {
	u64 at, head;
};

static long tell_child_anew(u32 i, struct child_scan *scan)
{
	struct task_struct *child = bpf_rdonly_cast((void *)(scan->at - bpf_core_field_offset(struct task_struct, sibling)),
						    bpf_core_type_id_kernel(struct task_struct));
	struct known *k;

	if (scan->at == scan->head)
		return 1;
	k = known_of(child->tgid);
	if (k)
		k->looks = 0;
	return bpf_probe_read_kernel(&scan->at, sizeof(scan->at), &child->sibling.next) < 0;
}

/* They get another parent, and most sleep. */
static __always_inline void invalidate_children(struct task_struct *parent)
{
	struct child_scan scan = {};

	scan.at = (u64)parent->children.next;
	scan.head = (u64)parent + bpf_core_field_offset(struct task_struct, children);
	if (scan.at == scan.head)
		return;
	if (walks)
		bpf_loop(CHILDREN_MOST, tell_child_anew, &scan, 0);
	if (scan.at != scan.head)
		__sync_fetch_and_add(&report_generation, 1);
}

static __always_inline bool was_woken(const struct known *k)
{
	u64 *word = woken_word(k->pid);

	return k->shares || !word || *(volatile u64 *)word >> k->pid % 64 & 1;
}

static __always_inline void clear_woken(const struct known *k)
{
	u64 *word = woken_word(k->pid);

	if (word)
		__sync_fetch_and_and(word, ~(1ull << k->pid % 64));
}

/* In a queue for a CPU, or on one. */
static __always_inline bool is_queued(struct task_struct *task)
{
	if (bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed)
		return false;
	return task->on_rq;
}
