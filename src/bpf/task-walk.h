/* Of the programs that read tasks: records of one process after the other, into memory shared with user space. */
#pragma once

#include "bpf/task-process.h"
#include "bpf/task-sleep.h"

#define THREADS_MAX	 65536 /* of one process */
#define ORDER_MAX	 65536 /* processes whose place in the walk is remembered */
#define AHEAD		 8     /* processes on their way into the cache while one is recorded */
#define OTHERS_UNKNOWN	 1 /* not all of them sleep, or they were not looked at */

/* Addresses of the leaders that the last walk met, in its order. They may be gone: good for nothing but a touch. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ORDER_MAX);
	__type(key, u32);
	__type(value, u64);
} order SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct task_walk);
} walked SEC(".maps");

#ifndef WITHOUT_KFUNCS
extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, unsigned int flags) __ksym __weak;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym __weak;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym __weak;
extern struct task_struct *bpf_task_acquire(struct task_struct *task) __ksym __weak;
extern void bpf_task_release(struct task_struct *task) __ksym __weak;
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;
extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym __weak;
#else
/* For kernels that lack them: looking for them libbpf would go through the modules' types, which takes CAP_SYS_ADMIN. */
static int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, unsigned int flags)
{
	return 0;
}
static struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it)
{
	return (void *)0;
}
static void bpf_iter_task_destroy(struct bpf_iter_task *it)
{
}
static struct task_struct *bpf_task_acquire(struct task_struct *task)
{
	return task;
}
static void bpf_task_release(struct task_struct *task)
{
}
static void bpf_rcu_read_lock(void)
{
}
static void bpf_rcu_read_unlock(void)
{
}
#define bpf_rdonly_cast(object, type) (object)
#endif

/* How many processes this walk has met. To the verifier a local variable that counts is another loop at each turn. */
__u32 met;

/* Where the next record goes; NULL when there is no room for any more. */
static __always_inline void *place_of(struct task_walk *walk)
{
	u64 at = walk->used;

	if (at > TASK_WALK_SIZE - TASK_SAMPLE_FULL) {
		walk->incomplete = 1;
		return NULL;
	}
	return walk->records + at;
}

static bool record(struct task_walk *walk, struct task_struct *task)
{
	struct task_sample *s = place_of(walk);

	if (!s)
		return false;
	if (!task->pid || task->exit_state) /* a CPU's idle thread; one that has ended */
		return true;
	fill_full(s, task);
	walk->used += s->size;
	return true;
}

static __always_inline bool record_short(struct task_walk *walk, const struct asleep *before)
{
	struct task_sample_short *s = place_of(walk);

	if (!s)
		return false;
	fill_short(s, before);
	walk->used += TASK_SAMPLE_SHORT;
	return true;
}

static __always_inline bool record_alone(struct task_walk *walk, struct task_struct *task, struct asleep *before)
{
	if (!record(walk, task))
		return false;
	remember_alone(before, task);
	return true;
}

/* Places in a list of threads, as numbers: to the verifier pointers are nothing to count with. */
struct thread_scan {
	u64 leader, head; /* where the leader and the list itself stand in it */
	u64 at, looks;
};

static long look_at_thread(u32 i, struct thread_scan *scan)
{
	struct task_struct *task = bpf_rdonly_cast((void *)(scan->at - bpf_core_field_offset(struct task_struct, thread_node)),
						   bpf_core_type_id_kernel(struct task_struct));

	if (scan->at != scan->head) {
		if (!sleeps(task)) {
			scan->looks = 0;
			return 1;
		}
		scan->looks = (scan->looks ^ task->se.sum_exec_runtime) * MIX;
	}
	bpf_probe_read_kernel(&scan->at, sizeof(scan->at), &task->thread_node.next);
	return scan->at == scan->leader;
}

/* Looks of all threads but the leader together, where all sleep: without one of these or the leader running it gets no more of
 * them, and none ends. Not by the iterator, which takes hold of each thread: that costs as much as a record. (A function
 * of its own to the verifier, which takes seconds to go through all of it else.) */
__noinline u32 looks_of_others(u64 address_of_leader)
{
	const struct task_struct *leader = bpf_rdonly_cast((void *)address_of_leader, bpf_core_type_id_kernel(struct task_struct));
	struct thread_scan scan = {};
	u32 looks;

	scan.looks = MIX;
	bpf_probe_read_kernel(&scan.leader, sizeof(scan.leader), &leader->group_leader);
	bpf_probe_read_kernel(&scan.head, sizeof(scan.head), &leader->signal);
	bpf_probe_read_kernel(&scan.at, sizeof(scan.at), &leader->thread_node.next);
	scan.leader += bpf_core_field_offset(struct task_struct, thread_node);
	scan.head += bpf_core_field_offset(struct signal_struct, thread_head);
	bpf_loop(THREADS_MAX, look_at_thread, &scan, 0);
	looks = scan.looks >> 32;
	return scan.at == scan.leader && looks ? looks : OTHERS_UNKNOWN;
}

static __always_inline bool record_each(struct task_walk *walk, struct task_struct *leader)
{
	struct bpf_iter_task threads;
	struct task_struct *task;
	bool room = true;

	bpf_iter_task_new(&threads, leader, BPF_TASK_ITER_PROC_THREADS);
	while (room && (task = bpf_iter_task_next(&threads)))
		room = record(walk, task);
	bpf_iter_task_destroy(&threads);
	return room;
}

/* The others are looked at where the leader sleeps on; looks are those of before all is read: whoever runs meanwhile will look
 * otherwise at the next walk. */
static __always_inline bool record_threads(struct task_walk *walk, struct task_struct *leader, struct asleep *before, u64 looks)
{
	bool leader_slept = before->task == (u64)leader && before->looks == looks;
	/* as a number, which the compiler must not take for the pointer that it equals */
	u32 others = leader_slept ? looks_of_others(*(volatile u64 *)&before->task) : OTHERS_UNKNOWN;
	bool room;

	if (others != OTHERS_UNKNOWN && before->others == others && sleeps_on(before, leader))
		return record_short(walk, before);
	leader = bpf_task_acquire(leader); /* the iterator wants one that is held */
	if (!leader) {
		walk->incomplete = 1; /* a thread that calls exec is just taking its place */
		return false;
	}
	before->task = 0;
	if (sleeps(leader))
		remember(before, leader, looks, others);
	room = record_each(walk, leader);
	if (!room)
		before->task = 0;
	bpf_task_release(leader);
	return room;
}

static __always_inline bool record_process(struct task_walk *walk, struct task_struct *task)
{
	struct asleep *before = asleep_of(task);
	u64 looks = looks_of(task);
	bool slept;

	if (!before)
		return true;
	slept = has_slept(before, task, looks);
	if (slept && sleeps_on(before, task))
		return record_short(walk, before);
	return slept || is_alone(task) ? record_alone(walk, task, before) : record_threads(walk, task, before, looks);
}

/* Since the last walk others have used the caches, and where the next process lies stands in the one before it. By the order of
 * the last walk what is looked at of the one that comes in a while is on its way already, and that of several at a time. */
static __always_inline void fetch_ahead(struct task_struct *task)
{
	u32 at = met++, ahead = at + AHEAD;
	u64 *here = bpf_map_lookup_elem(&order, &at), *there = bpf_map_lookup_elem(&order, &ahead);
	struct task_struct *coming;

	if (here)
		*here = (u64)task;
	if (!there)
		return;
	coming = bpf_rdonly_cast((void *)*there, bpf_core_type_id_kernel(struct task_struct));
	asm volatile("" : : "r"(coming->__state), "r"(coming->static_prio), "r"(coming->se.sum_exec_runtime),
		     "r"(coming->tasks.next), "r"(coming->pid));
}
