/* Of the programs that read tasks: records of those processes that do not sleep on, into memory shared with user space. */
#pragma once

#include "machine/bpf/task-known.h"
#include "machine/bpf/task-process.h"

#define THREADS_MAX 65536 /* of one process */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct task_walk);
} walked SEC(".maps");

__u32 wants_all; /* by user space: that the next walk goes through all tasks */
/* Where a walk continues for which there was not room enough: at which process, and after how many of its threads. */
__u32 next_known, next_thread;
__u32 threads_met;

/* Where the next record goes; NULL when there is no room for any more. */
static __always_inline void *place_of(struct task_walk *walk)
{
	u64 at = walk->used;

	if (at > TASK_WALK_SIZE - TASK_SAMPLE_FULL)
		return NULL;
	asm volatile("" : "+r"(at)); /* else the sum may come before what the verifier must have seen of `at` */
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
__noinline u32 fingerprint_of_others(u64 address_of_leader)
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

	threads_met = 0;
	bpf_iter_task_new(&threads, leader, BPF_TASK_ITER_PROC_THREADS);
	while (room && (task = bpf_iter_task_next(&threads))) {
		if (threads_met >= next_thread)
			room = record(walk, task);
		threads_met += room;
	}
	bpf_iter_task_destroy(&threads);
	next_thread = room ? 0 : threads_met;
	return room;
}

/* How they looked is read before all else: the one that runs in the meantime will look otherwise at the next walk. The others are looked at where
 * the leader slept. */
static __always_inline bool record_process(struct task_walk *walk, struct task_struct *leader, struct known *k)
{
	u64 looks = state_fingerprint(leader);
	u32 used = walk->used, others = 0;
	bool room;

	if (is_alone(leader)) {
		room = record(walk, leader);
		if (walk->used == used && room) { /* only its parent has not asked for it yet */
			k->task = HAS_ENDED;
			return true;
		}
	} else {
		/* as a number, which the compiler must not take for the pointer that it equals */
		others = k->task == (u64)leader && k->looks == looks ? fingerprint_of_others(*(volatile u64 *)&k->task) : OTHERS_UNKNOWN;
		room = record_each(walk, leader);
	}
	if (room)
		remember_known(k, leader, looks, others);
	return room;
}

/* Most need not be looked up by their number, which costs as much as reading them. 0 = this one must. (A function of its own to the
 * verifier, which goes through all of it more than a million times else.) */
__noinline u32 record_unheld(u64 address, u32 at)
{
	struct task_struct *leader = bpf_rdonly_cast((void *)address, bpf_core_type_id_kernel(struct task_struct));
	struct known *k = known_by(at);
	struct task_walk *walk;
	struct task_sample *s;
	u32 zero = 0;
	u64 looks;

	walk = bpf_map_lookup_elem(&walked, &zero);
	if (!walk || !k || leader->flags & PF_EXITING || !is_alone(leader))
		return 0;
	looks = state_fingerprint(leader);
	s = place_of(walk);
	if (!s || !fill_full_from_slots(s, leader))
		return 0;
	walk->used += TASK_SAMPLE_FULL;
	k->looks = sleeps(leader) ? looks : 0;
	k->others = 0;
	return 1;
}

static __always_inline bool visit(struct task_walk *walk, struct known *k, u32 at, u64 address)
{
	struct known *found = known_of(k->pid);
	struct task_struct *leader;
	bool room;

	if (found && found != k) { /* it stands there twice */
		k->task = HAS_ENDED;
		return true;
	}
	if (address != PID_ONLY && record_unheld(address, at))
		return true;
	leader = bpf_task_from_pid(k->pid);
	if (!leader) {
		k->task = HAS_ENDED;
		return true;
	}
	room = record_process(walk, leader, k);
	bpf_task_release(leader);
	return room;
}

static __always_inline bool sleeps_on_known(const struct known *k, u64 address)
{
	struct task_struct *leader = bpf_rdonly_cast((void *)address, bpf_core_type_id_kernel(struct task_struct));

	if (address == PID_ONLY || !k->looks || k->others == OTHERS_UNKNOWN || !((sweep_number + k->pid) & RESCAN_MASK))
		return false;
	if (trusts_wakeups) {
		if (!was_woken(k))
			return true;
		clear_woken(k); /* before it is looked at: who is woken from here on is seen by the next walk */
	}
	if (state_fingerprint(leader) != k->looks || is_queued(leader))
		return false;
	return !k->others || fingerprint_of_others(address) == k->others;
}

/* Since the last walk others have used the caches: what is looked at of the one that comes in a while is on its way already, and
 * that of several at a time. */
static __always_inline void fetch(u64 at)
{
	const struct known *k = known_by(at);
	struct task_struct *leader;

	if (!k || k->task <= PID_ONLY || (trusts_wakeups && !was_woken(k)))
		return;
	leader = bpf_rdonly_cast((void *)k->task, bpf_core_type_id_kernel(struct task_struct));
	asm volatile("" : : "r"(leader->static_prio), "r"(leader->se.sum_exec_runtime));
}

static __always_inline void visit_known(struct task_walk *walk)
{
	struct bpf_iter_num places;
	struct known *k;
	u64 address;
	int *at;

	bpf_iter_num_new(&places, next_known, known_count < KNOWN_MAX ? known_count : KNOWN_MAX);
	next_known = 0;
	while ((at = bpf_iter_num_next(&places)) && (k = known_by(*at))) {
		fetch(*at + AHEAD);
		address = *(volatile u64 *)&k->task;
		if (address != HAS_ENDED && !sleeps_on_known(k, address) && !visit(walk, k, *at, address)) {
			next_known = *at;
			walk->more = 1;
			break;
		}
	}
	bpf_iter_num_destroy(&places);
}

static long wipe(u32 i, void *nothing)
{
	struct known *k = known_by(i);

	if (k) {
		k->task = HAS_ENDED;
		k->pid = 0; /* else it would be found, and stay where it is */
	}
	return 0;
}

/* In the kernel's order. Who begins or ends in the meantime comes in or goes as ever. */
static __always_inline void rescan_all(void)
{
	struct bpf_iter_task it;
	struct task_struct *task;

	tracking_incomplete = 0;
	bpf_loop(known_count < KNOWN_MAX ? known_count : KNOWN_MAX, wipe, NULL, 0);
	known_count = 0;
	bpf_iter_task_new(&it, NULL, BPF_TASK_ITER_ALL_PROCS);
	while ((task = bpf_iter_task_next(&it)))
		track_pid(task->pid);
	bpf_iter_task_destroy(&it);
	known_at_first = known_count;
}

/* Of others' doing are only new parents, and memory that is taken away. */
static __always_inline void decide_whom_to_trust(void)
{
	trusts_wakeups = hears_wakeups && reported_generation == report_generation && !reclaims();
	reported_generation = report_generation;
}

static __always_inline bool must_rescan_all(void)
{
	return wants_all || tracking_incomplete || known_count > KNOWN_MAX || known_count > 2 * known_at_first + HOLES_FEW;
}
