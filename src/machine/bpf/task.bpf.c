/* Every task, read in one pass; the last word of every task that exits; bytes through sockets.
 *
 * walk       writes a record of each living thread into memory shared with user space, which sums them by process. Most
 *            processes of a machine sleep from one walk to the next: nothing is said of those
 * on_begin   has it track_pid a new process
 * sweep      the same of all tasks into an iterator's file, for kernels before 6.7
 * on_exit    writes the same record for a thread that ends, into a ring nothing polls: the next tick empties it
 * on_free    writes there how much CPU time it used after that
 * on_send, on_receive  add up bytes and calls of sockets in storage that hangs on the process
 */
#include "machine/bpf/task-walk.h"

#define MSG_PEEK	 2
#define EXIT_RING_SIZE	 (4 << 20)
#define LEAVING_SLOTS	 8192 /* for threads between their last word and their end, and processes nothing has waited for; a power of two */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EXIT_RING_SIZE);
} exits SEC(".maps");

/* A thread as it stood at its last word. */
struct leaving {
	u64 task; /* the kernel's; 0 = none, or it is being written */
	struct task_rest rest;
};

/* By number. To put each into a hash and out again took a third of what is done for a process that ends. Of two whose numbers have the same bits the
 * later one has the slot; the earlier one, mostly a process that nothing has waited for, has done what it did between its last word and its end. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LEAVING_SLOTS);
	__type(key, u32);
	__type(value, struct leaving);
} leaving SEC(".maps");

static __always_inline struct leaving *leaving_slot_of(const struct task_struct *task)
{
	u32 key = task->pid & (LEAVING_SLOTS - 1);

	return bpf_map_lookup_elem(&leaving, &key);
}

/* One record being filled, per CPU: too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct task_sample);
} scratch SEC(".maps");

static long write_short(struct seq_file *seq, const struct asleep *before)
{
	struct task_sample_short s;

	fill_short(&s, before);
	return bpf_seq_write(seq, &s, sizeof(s));
}

static long write_full(struct seq_file *seq, struct task_struct *task, struct asleep *before)
{
	struct task_sample *s;
	u32 zero = 0;
	long r;

	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return -1;
	fill_full(s, task);
	/* a record that did not fit is asked for again: only one that was written may be referred to */
	before->task = 0;
	r = bpf_seq_write(seq, s, s->size == TASK_SAMPLE_FULL ? TASK_SAMPLE_FULL : TASK_SAMPLE_THREAD);
	if (r >= 0)
		remember_alone(before, task);
	return r;
}

SEC("iter/task")
int sweep(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct asleep *before;
	long r;

	if (ctx->meta->seq_num == 0) {
		measure_clock_offset();
		find_own_namespace();
	}
	if (!task)
		return 0;
	before = asleep_of(task);
	if (!before)
		return 0;
	if (has_slept(before, task, state_fingerprint(task)) && sleeps_unchanged(before, task))
		r = write_short(ctx->meta->seq, before);
	else
		r = task->exit_state ? 0 : write_full(ctx->meta->seq, task, before);
	if (r < 0)
		__sync_fetch_and_add(&missed_sweeps, 1);
	return 0;
}

SEC("syscall")
int walk(void *ctx)
{
	struct task_walk *walk;
	bool goes_on;
	u32 zero = 0;

	walk = bpf_map_lookup_elem(&walked, &zero);
	if (!walk)
		return 0;
	measure_clock_offset();
	goes_on = walk->more;
	walk->used = 0;
	walk->more = 0;
	if (!goes_on) {
		walk->all = must_rescan_all();
		decide_whom_to_trust();
	}
	bpf_rcu_read_lock();
	if (walk->all && !goes_on)
		rescan_all();
	visit_known(walk);
	bpf_rcu_read_unlock();
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_begin, struct task_struct *task)
{
	if (task->pid == task->tgid)
		track_pid(task->pid);
	return 0;
}

static __always_inline void note_leaving(struct task_struct *task, const struct task_sample *s)
{
	struct leaving *slot = leaving_slot_of(task);

	if (!slot)
		return;
	*(volatile u64 *)&slot->task = 0;
	barrier();
	slot->rest = (struct task_rest){.pid = s->pid, .parent = s->parent, .uid = s->uid, .start = s->start, .cpu = s->v[FEATURE_CPU_TIME], .system = s->v[FEATURE_CPU_SYSTEM]};
	__builtin_memcpy(slot->rest.comm, s->comm, sizeof(slot->rest.comm));
	barrier();
	*(volatile u64 *)&slot->task = (u64)task;
}

static __always_inline void tell_exit(struct task_struct *task, const struct process_extra *extra, bool last)
{
	struct task_sample *s;

	s = bpf_ringbuf_reserve(&exits, sizeof(*s), 0);
	if (!s) {
		__sync_fetch_and_add(&lost_exits, 1);
		tracking_incomplete = 1; /* nothing else tells user space that it has gone */
		return;
	}
	read_identity(s, task);
	s->flags |= TASK_IS_EXIT;
	if (last) {
		s->flags |= TASK_GROUP_DEAD;
		invalidate_children(task);
	}
	s->size = TASK_SAMPLE_FULL;
	read_thread(s, task, has_sums ? thread_of(task) : NULL, false);
	s->v[FEATURE_CPU_TIME] += unaccounted(task);
	for (int i = THREAD_FEATURE_COUNT; i < PROCESS_FEATURE_COUNT; i++)
		s->v[i] = 0;
	put_traffic(s, task, extra);
	note_leaving(task, s);
	if (bpf_ringbuf_query(&exits, BPF_RB_AVAIL_DATA) > EXIT_RING_SIZE / 2)
		bpf_ringbuf_submit(s, BPF_RB_FORCE_WAKEUP);
	else
		bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	/* two threads that end at the same moment may both find nothing alive */
	bool last = task->signal->live.counter == 0;
	struct process_extra *extra = extra_of(task);

	if (!in_namespace || number_of(task)) /* else of the machine outside of the recorder's namespace */
		tell_exit(task, extra, last);
	if (last)
		release_extra(extra);
	if (walks)
		forget(task, last);
	return 0;
}

static u64 grown(u64 now, u64 then)
{
	return now > then ? now - then : 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	struct leaving *slot = leaving_slot_of(task);
	struct task_rest *rest;

	if (!slot || slot->task != (u64)task)
		return 0;
	rest = bpf_ringbuf_reserve(&exits, sizeof(*rest), 0);
	if (!rest)
		return 0;
	*rest = slot->rest;
	if (__sync_val_compare_and_swap(&slot->task, (u64)task, 0) != (u64)task) { /* another thread has just taken it */
		bpf_ringbuf_discard(rest, BPF_RB_NO_WAKEUP);
		return 0;
	}
	rest->cpu = grown(task->se.sum_exec_runtime, rest->cpu);
	rest->system = grown(task->stime, rest->system);
	bpf_ringbuf_submit(rest, BPF_RB_NO_WAKEUP); /* last words come before, and wake */
	return 0;
}

static void note_reclaim(void)
{
	reclaim_until = sweep_number + RECLAIM_SWEEPS;
}

SEC("tp_btf/mm_vmscan_kswapd_wake")
int BPF_PROG(on_kswapd)
{
	note_reclaim();
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(on_direct_reclaim)
{
	note_reclaim();
	return 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(on_group_reclaim)
{
	note_reclaim();
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int ret, int flags)
{
	add_traffic(ret, true);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_receive, struct sock *sk, int ret, int flags)
{
	if (!(flags & MSG_PEEK))
		add_traffic(ret, false);
	return 0;
}
