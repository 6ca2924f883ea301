/* Of the flight recorder: threads that begin, are renamed and end. */
#pragma once

#include "machine/bpf/ring-waits.h"

#define CLAIMED (~0ull) /* as a slot's thread: no one's yet, and all else is about to be 0 */

static __noinline int wipe_slot(struct ring_thread *t)
{
	volatile u64 *words = (u64 *)t;

	if (t)
		for (u32 i = 1; i < sizeof(*t) / sizeof(*words); i++)
			words[i] = 0;
	barrier();
	return 0;
}

/* What is kept of a thread, made if there is nothing; not under the run queue's lock. One that has ended leaves its slot to the next that wants
 * it: to give it back in time would take another program for each that ends. */
static __noinline struct ring_thread *claim_thread(struct task_struct *task)
{
	struct ring_thread *t = slot_of(task->pid);
	u64 thread = task->pid, before = t ? t->thread : CLAIMED;

	if (t && before == thread && t->start == task->start_time)
		return t;
	if (t && (!before || t->ended || before == thread) && __sync_val_compare_and_swap(&t->thread, before, CLAIMED) == before) {
		wipe_slot(t);
		t->start = task->start_time;
		*(volatile u64 *)&t->thread = thread;
		return t;
	}
	return bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct ring_thread *t = claim_thread(child);
	struct event *e = begin(child->pid);

	if (!e)
		return 0;
	if (t)
		t->since = e->time;
	e->fork.process = child->tgid;
	e->fork.parent = parent->pid;
	e->fork.parent_process = parent->tgid;
	commit(e, EVENT_FORK, 0);
	return 0;
}

/* A thread that is not the leader has called exec, and has the leader's number from now on: the leader's slot, with its own sums. */
static __noinline void take_over(struct task_struct *task, u32 before)
{
	struct ring_thread *to = claim_thread(task), *from = slot_of(before);

	if (!to || !from || from->thread != before)
		return;
	for (int i = 0; i < SUM_COUNT; i++)
		to->sum[i] = from->sum[i];
	to->ended = 0; /* the leader has */
	if (to->state != STATE_RUNNING) {
		to->state = STATE_RUNNING;
		to->since = bpf_ktime_get_ns();
		to->ran_at = task->se.sum_exec_runtime;
		to->queued_at = task->sched_info.run_delay;
	}
	from->ended = 1;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int before)
{
	struct event *e = begin(task->pid);

	if (!e)
		return 0;
	e->exec.process = task->tgid;
	e->exec.before = before;
	commit(e, EVENT_EXEC, 0);
	if (before != task->pid)
		take_over(task, before);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *name)
{
	struct event *e = begin(task->pid);

	if (!e)
		return 0;
	bpf_probe_read_kernel_str(e->text, sizeof(e->text), name);
	commit(e, EVENT_NAME, 0);
	return 0;
}

static __always_inline void identify(struct task_struct *task, struct ring_identity *who)
{
	struct task_struct *leader = task->group_leader;
	struct pid *pid = task->thread_pid;
	struct upid upid;
	u32 level;

	who->tid = task->pid;
	who->tgid = task->tgid;
	who->parent = task->real_parent->tgid;
	who->uid = owner_of(task->cred->uid.val, task->cred->euid.val, task->cred->suid.val);
	who->ns_tid = who->tid;
	who->ns_tgid = who->tgid;
	who->pid_ns = 0;
	who->flags = task->flags & PF_KTHREAD ? 1 : 0; /* THREAD_IS_KERNEL */
	who->prio = task->prio;
	who->spare = 0;
	who->spare2 = 0;
	who->start = task->start_time;
	who->group = group_of(task);
	bpf_probe_read_kernel(who->comm, sizeof(who->comm), task->comm);
	if (!pid)
		return;
	level = pid->level;
	if (!level) { /* as in most machines all are: without a call of the kernel's */
		who->pid_ns = pid->numbers[0].ns->ns.inum;
		return;
	}
	if (upid_at(pid, level, &upid) == 0) {
		who->ns_tid = upid.nr;
		who->pid_ns = BPF_CORE_READ(upid.ns, ns.inum);
	}
	if (leader->thread_pid && upid_at(leader->thread_pid, level, &upid) == 0)
		who->ns_tgid = upid.nr;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct ring_thread *t = thread_of(task);
	struct ring_counts *all;
	struct ring_ended *slot;
	struct event *e = begin(task->pid);
	u32 zero = 0, key;
	u64 now;

	all = bpf_map_lookup_elem(&counts, &zero);
	if (!e || !all)
		return 0;
	now = e->time;
	e->exit.process = task->tgid;
	e->exit.code = task->exit_code;
	commit(e, EVENT_EXIT, task->signal->live.counter == 0 ? EXIT_GROUP : 0);
	key = __sync_fetch_and_add(&all->ended, 1) & (RING_ENDED - 1);
	slot = bpf_map_lookup_elem(&ended, &key);
	if (!slot)
		return 0;
	*(volatile u64 *)&slot->end = 0;
	identify(task, &slot->who);
	slot->utime = task->utime;
	slot->stime = task->stime;
	for (int i = 0; i < SUM_COUNT; i++)
		slot->sum[i] = t ? t->sum[i] : 0;
	if (t && now > t->since)
		slot->sum[SUM_RUNNING] += now - t->since;
	if (t)
		t->ended = 1;
	barrier();
	*(volatile u64 *)&slot->end = now;
	return 0;
}
