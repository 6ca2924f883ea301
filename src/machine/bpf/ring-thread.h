/* The flight recorder's memory of each thread, and how programs find it.
 *
 * A thread has the slot that its number says, if nothing else has it (as two whose numbers are RING_THREADS apart); else it hangs on the
 * thread: asking the kernel for that takes longer than all the rest of a record.
 */
#pragma once

#include "machine/bpf/kernel.h"

#include <bpf/bpf_core_read.h> /* before the macro below: newer ones declare bpf_rdonly_cast() */
#include <bpf/bpf_helpers.h>

#include "machine/events/ring-layout.h"

#ifndef WITHOUT_KFUNCS
extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym __weak;
extern struct task_struct *bpf_task_from_pid(int pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *task) __ksym __weak;
#else
/* For kernels that have no such functions. That a kernel lacks one, libbpf learns only with CAP_SYS_ADMIN. */
#define bpf_task_from_pid(pid) ((struct task_struct *)NULL)
#define bpf_task_release(task) ((void)(task))
#define bpf_rdonly_cast(object, type) (object)
#endif

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* only such a one begins where a line of the cache does */
	__uint(max_entries, RING_THREADS);
	__type(key, u32);
	__type(value, struct ring_thread);
} thread_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ring_thread);
} threads SEC(".maps");

static __always_inline struct ring_thread *slot_of(u32 thread)
{
	u32 key = thread & (RING_THREADS - 1);

	return bpf_map_lookup_elem(&thread_slots, &key);
}

/* Bit by bit, for numbers of processes that agree in 16 bits: a thread was woken. For the one that reads processes and clears them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RING_WOKEN_WORDS);
	__type(key, u32);
	__type(value, u64);
} woken SEC(".maps");

static __always_inline u64 *woken_word(u32 process)
{
	u32 at = process / 64 % RING_WOKEN_WORDS;

	return bpf_map_lookup_elem(&woken, &at);
}

static __always_inline void note_woken(u32 process)
{
	u64 *word = woken_word(process), bit = 1ull << process % 64;

	if (word && !(*(volatile u64 *)word & bit))
		__sync_fetch_and_or(word, bit);
}

/* A thread's number in the namespace that lies so deep, and that namespace. */
static __always_inline long upid_at(struct pid *pid, u32 level, struct upid *ret)
{
	return bpf_probe_read_kernel(ret, sizeof(*ret), (void *)pid->numbers + level * sizeof(*ret));
}

/* Its own slot, or NULL. */
static __always_inline struct ring_thread *own_slot_of(u32 thread)
{
	struct ring_thread *t = slot_of(thread);

	return t && t->thread == thread && thread ? t : NULL;
}

/* NULL = it was not there when the programs were attached, and nothing was kept of it since. */
static __always_inline struct ring_thread *thread_of(struct task_struct *task)
{
	struct ring_thread *t = own_slot_of(task->pid);

	return t ? t : bpf_task_storage_get(&threads, task, 0, 0);
}
