/* Traffic and sockets of each process, for the programs that read tasks. */
#pragma once

#include "machine/bpf/task-state.h"

#define EXTRA_SLOTS	 8192 /* a power of two */
#define NOT_CLAIMABLE	 (~0ull)

/* Sums of a process that the kernel does not keep itself. They are in the slot of its number if that is free; else
 * they are stored with the thread group's leader: asking the kernel for that meets a dozen cache misses. */
struct process_extra {
	u64 owner; /* the number of the process whose it is, which gives it back; 0 = free, and all other members are 0 */
	u64 rx_bytes, tx_bytes, rx_calls, tx_calls;
	u64 fd_hash; /* of the bitmap of open descriptors when sockets were counted */
	u64 ran;     /* CPU time of the leader at that moment */
	u32 sockets;
	u32 counted;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct process_extra);
} extras SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EXTRA_SLOTS);
	__type(key, u32);
	__type(value, struct process_extra);
} extra_slots SEC(".maps");

__u64 stored_elsewhere; /* processes that never had a slot */

/* For one that has no slot, and was not found in its own. */
static __noinline struct process_extra *extra_elsewhere(struct task_struct *task, struct process_extra *slot)
{
	bool create = !(task->flags & PF_EXITING); /* its last word may have been spoken already */
	struct process_extra *extra = stored_elsewhere ? bpf_task_storage_get(&extras, task->group_leader, 0, 0) : NULL;

	if (extra || !create)
		return extra;
	if (slot && !slot->owner)
		__sync_val_compare_and_swap(&slot->owner, 0, (u64)task->tgid);
	/* or another CPU has claimed it for the same process: a second place would be found, and be empty, when this one is given back */
	if (slot && slot->owner == (u64)task->tgid)
		return slot;
	__sync_fetch_and_add(&stored_elsewhere, 1);
	extra = bpf_task_storage_get(&extras, task->group_leader, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (extra)
		extra->owner = task->tgid;
	return extra;
}

static __always_inline struct process_extra *extra_slot_of(struct task_struct *task)
{
	u32 key = task->tgid & (EXTRA_SLOTS - 1);

	return bpf_map_lookup_elem(&extra_slots, &key);
}

static __always_inline struct process_extra *extra_of(struct task_struct *task)
{
	struct process_extra *slot = extra_slot_of(task);

	return slot && slot->owner == (u64)task->tgid ? slot : extra_elsewhere(task, slot);
}

/* The owner leaves first, so that no reader believes what is being wiped; the slot is free last, so that the next owner finds it empty. */
static void release_extra(struct process_extra *extra)
{
	volatile u64 *words = (u64 *)extra;

	if (!extra)
		return;
	words[0] = NOT_CLAIMABLE;
	barrier();
	for (u32 i = 1; i < sizeof(*extra) / sizeof(*words); i++)
		words[i] = 0;
	barrier();
	*(volatile u64 *)&extra->owner = 0;
}

/* The process may end on another CPU at the same time: values that were read while they were wiped are left out. */
static __always_inline void put_traffic(struct task_sample *s, const struct task_struct *task, const struct process_extra *extra)
{
	const volatile struct process_extra *now = extra;
	u64 rx_bytes, tx_bytes, rx_calls, tx_calls;

	if (!has_socket_lengths || !extra)
		return;
	rx_bytes = now->rx_bytes;
	tx_bytes = now->tx_bytes;
	rx_calls = now->rx_calls;
	tx_calls = now->tx_calls;
	if (now->owner != (u64)task->tgid)
		return;
	SET(s, NET_RX_BYTES, rx_bytes);
	SET(s, NET_TX_BYTES, tx_bytes);
	SET(s, NET_RX_CALLS, rx_calls);
	SET(s, NET_TX_CALLS, tx_calls);
}

/* Only its own threads add to what is kept of a process. Where there is one, an atomic addition, which takes five times as long, is not needed. */
static __always_inline void add_call(u64 *all_bytes, u64 *calls, u64 bytes, bool alone)
{
	if (alone) {
		*all_bytes += bytes;
		*calls += 1;
		return;
	}
	__sync_fetch_and_add(all_bytes, bytes);
	__sync_fetch_and_add(calls, 1);
}

static void add_traffic(int bytes, bool sent)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct process_extra *extra;

	if (bytes < 0 || (task->flags & PF_KTHREAD))
		return;
	extra = extra_of(task);
	if (!extra)
		return;
	if (sent)
		add_call(&extra->tx_bytes, &extra->tx_calls, bytes, is_alone(task));
	else
		add_call(&extra->rx_bytes, &extra->rx_calls, bytes, is_alone(task));
}
