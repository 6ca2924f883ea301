/* Every task, read in one pass; the last word of every task that exits; bytes through sockets.
 *
 * walk       writes one record a living thread into memory shared with user space, which sums them by process. Most
 *            threads of a machine sleep from one walk to the next: those get a short record that says so
 * sweep      the same into an iterator's file, for kernels before 6.7 and for more tasks than that memory holds
 * on_exit    writes the same record for a thread that ends, into a ring nobody polls: the next tick empties it
 * on_send, on_receive  add up bytes and calls of sockets in storage that hangs on the process
 */
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "model/task-sample.h"

#define FD_WORDS_MAX	 16384 /* at most a million descriptors are counted */
#define SOCKET_SCAN_MAX	 4096
#define RESCAN_MASK	 15 /* every process is read in full, and its sockets counted, at least every 16th sweep */
#define S_IFMT		 0170000
#define S_IFSOCK	 0140000
#define MSG_PEEK	 2
#define EXIT_RING_SIZE	 (4 << 20)
#define ASLEEP_MAX	 65536 /* of processes whose numbers agree in 16 bits, one is remembered */
#define MIX		 0x9e3779b97f4a7c15ull
#define UNACCOUNTED_MAX	 10000000 /* ns: a tick at 100 Hz; more is a wrong clock */
#define SCHED_NORMAL	 0
#define SCHED_BATCH	 3
#define SCHED_IDLE	 5

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* What a process has done that the kernel does not add up itself. Hangs on the thread group's leader. */
struct process_extra {
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
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EXIT_RING_SIZE);
} exits SEC(".maps");

/* One record being filled, per CPU: too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct task_sample);
} scratch SEC(".maps");

/* What a sleeping process looked like when it was last read in full, by its number. */
struct asleep {
	u64 start;
	u64 looks; /* 0 = refer to nothing */
	u64 retelling;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ASLEEP_MAX);
	__type(key, u32);
	__type(value, struct asleep);
} asleep SEC(".maps");

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
#endif

__u64 lost_exits;	     /* the ring was full */
__u64 sweep_number;    /* counted by user space */
__u64 retelling;       /* raised by user space when it has lost records: none of before is referred to */
__u64 missed_sweeps;   /* the record did not fit the iterator's buffer */
const volatile bool count_sockets = true;
const volatile bool has_socket_lengths = false;

/* CLOCK_MONOTONIC minus the scheduler's clock, measured at every sweep; 0 = not yet */
__s64 clock_offset;

#define PRESENT(i) (1ull << (i))
#define SET(s, i, value)                             \
	do {                                         \
		(s)->v[FEATURE_##i] = (u64)(value);  \
		(s)->present |= PRESENT(FEATURE_##i); \
	} while (0)

static void read_identity(struct task_sample *s, struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;
	struct task_struct *parent = task->real_parent;
	const struct cred *cred = task->cred;

	s->flags = 0;
	s->pid = task->tgid;
	s->tid = task->pid;
	s->parent = parent->tgid;
	s->start = leader->start_boottime;
	s->thread_start = task->start_boottime;
	s->exec_id = task->self_exec_id;
	s->uid = cred->uid.val;
	s->reserved = 0;
	s->present = 0;
	bpf_probe_read_kernel(s->comm, sizeof(s->comm), leader->comm);
	if (task->flags & PF_KTHREAD)
		s->flags |= TASK_IS_KERNEL;
	if (task->flags & PF_EXITING)
		s->flags |= TASK_IS_EXITING;
}

/* What of its present stay on a CPU the scheduler has added up. */
static u64 accounted(struct task_struct *task)
{
	return task->se.sum_exec_runtime - task->se.prev_sum_exec_runtime;
}

static bool is_fair(struct task_struct *task)
{
	return task->policy == SCHED_NORMAL || task->policy == SCHED_BATCH || task->policy == SCHED_IDLE;
}

/* User space has just asked for its own CPU time, so all of the reader's stay is added up. A reader with real-time
 * priority has only just been woken. */
static void measure_clock_offset(void)
{
	struct task_struct *reader = bpf_get_current_task_btf();
	u64 now = reader->sched_info.last_arrival + (is_fair(reader) ? accounted(reader) : 0);

	clock_offset = (s64)(bpf_ktime_get_ns() - now);
}

/* The scheduler adds up at ticks and switches: of a thread that ends, up to a tick is still out. That is nearly all
 * there is of a process that lived for one millisecond. */
static u64 unaccounted(struct task_struct *task)
{
	s64 stay = (s64)(bpf_ktime_get_ns() - task->sched_info.last_arrival) - clock_offset;
	s64 out = stay - (s64)accounted(task);

	if (!clock_offset || !is_fair(task))
		return 0;
	return out > 0 && out < UNACCOUNTED_MAX ? (u64)out : 0;
}

static void read_delays(struct task_sample *s, struct task_struct *task)
{
	struct task_delay_info *delays = task->delays;

	if (!delays)
		return; /* delay accounting is off, or was when the task started: missing, not zero */
	SET(s, DELAY_BLOCK, delays->blkio_delay);
	SET(s, DELAY_BLOCK_COUNT, delays->blkio_count);
	SET(s, DELAY_SWAPIN, delays->swapin_delay);
	SET(s, DELAY_RECLAIM, delays->freepages_delay);
	SET(s, DELAY_THRASHING, delays->thrashing_delay);
	if (bpf_core_field_exists(delays->compact_delay))
		SET(s, DELAY_COMPACTION, delays->compact_delay);
	if (bpf_core_field_exists(delays->wpcopy_delay))
		SET(s, DELAY_COW, delays->wpcopy_delay);
	if (bpf_core_field_exists(delays->irq_delay))
		SET(s, DELAY_IRQ, delays->irq_delay);
}

static void read_thread(struct task_sample *s, struct task_struct *task, bool living)
{
	unsigned int state = task->__state;

	SET(s, CPU_USER, task->utime);
	SET(s, CPU_SYSTEM, task->stime);
	SET(s, CPU_TIME, task->se.sum_exec_runtime);
	SET(s, CPU_RUN_DELAY, task->sched_info.run_delay);
	SET(s, CPU_SLICES, task->sched_info.pcount);
	SET(s, CPU_MIGRATIONS, task->se.nr_migrations);
	SET(s, CTX_VOLUNTARY, task->nvcsw);
	SET(s, CTX_INVOLUNTARY, task->nivcsw);
	SET(s, FAULTS_MINOR, task->min_flt);
	SET(s, FAULTS_MAJOR, task->maj_flt);
	SET(s, IO_READ_CHARS, task->ioac.rchar);
	SET(s, IO_WRITE_CHARS, task->ioac.wchar);
	SET(s, IO_READ_CALLS, task->ioac.syscr);
	SET(s, IO_WRITE_CALLS, task->ioac.syscw);
	SET(s, IO_READ_BYTES, task->ioac.read_bytes);
	SET(s, IO_WRITE_BYTES, task->ioac.write_bytes);
	SET(s, IO_CANCELLED_BYTES, task->ioac.cancelled_write_bytes);
	SET(s, THREADS, living);
	SET(s, THREADS_RUNNING, living && task->on_cpu);
	SET(s, THREADS_RUNNABLE, living && state == 0 && !task->on_cpu);
	SET(s, THREADS_BLOCKED, living && (state & 3) == 2 && !(state & 0x400)); /* D, not idle (TASK_NOLOAD) */
	s->v[FEATURE_DELAY_BLOCK] = s->v[FEATURE_DELAY_BLOCK_COUNT] = s->v[FEATURE_DELAY_SWAPIN] =
		s->v[FEATURE_DELAY_RECLAIM] = s->v[FEATURE_DELAY_THRASHING] = s->v[FEATURE_DELAY_COMPACTION] =
			s->v[FEATURE_DELAY_COW] = s->v[FEATURE_DELAY_IRQ] = 0;
	read_delays(s, task);
}

static void read_memory(struct task_sample *s, struct mm_struct *mm)
{
	s64 file, anon, swap, shmem;

	if (bpf_core_field_exists(struct mm_struct___old, rss_stat.count)) {
		struct mm_struct___old *old = (void *)mm;

		file = BPF_CORE_READ(old, rss_stat.count[0].counter);
		anon = BPF_CORE_READ(old, rss_stat.count[1].counter);
		swap = BPF_CORE_READ(old, rss_stat.count[2].counter);
		shmem = BPF_CORE_READ(old, rss_stat.count[3].counter);
	} else {
		file = mm->rss_stat[0].count;
		anon = mm->rss_stat[1].count;
		swap = mm->rss_stat[2].count;
		shmem = mm->rss_stat[3].count;
	}
	/* per-CPU counters are approximate and may read a little below zero */
	SET(s, MEM_FILE, file > 0 ? file << 12 : 0);
	SET(s, MEM_ANON, anon > 0 ? anon << 12 : 0);
	SET(s, MEM_SWAP, swap > 0 ? swap << 12 : 0);
	SET(s, MEM_SHMEM, shmem > 0 ? shmem << 12 : 0);
	SET(s, MEM_VIRTUAL, (u64)mm->total_vm << 12);
	SET(s, MEM_DATA, (u64)mm->data_vm << 12);
	SET(s, MEM_STACK, (u64)mm->stack_vm << 12);
	SET(s, MEM_LOCKED, (u64)mm->locked_vm << 12);
	SET(s, MEM_PAGE_TABLES, mm->pgtables_bytes.counter);
}

static u32 popcount(u64 x)
{
	x -= (x >> 1) & 0x5555555555555555ull;
	x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (x * 0x0101010101010101ull) >> 56;
}

struct fd_scan {
	unsigned long *open;
	u32 words;
	u32 n;
	u64 hash;
};

static long count_word(u32 i, struct fd_scan *scan)
{
	u64 word = 0;

	if (i >= scan->words)
		return 1;
	bpf_probe_read_kernel(&word, sizeof(word), scan->open + i);
	scan->n += popcount(word);
	scan->hash = (scan->hash ^ word) * 0x9e3779b97f4a7c15ull;
	return 0;
}

struct socket_scan {
	struct file **fd;
	u32 n;
	u32 sockets;
};

static long count_socket(u32 i, struct socket_scan *scan)
{
	struct file *file;
	unsigned short mode;

	if (i >= scan->n)
		return 1;
	if (bpf_probe_read_kernel(&file, sizeof(file), scan->fd + i) < 0 || !file)
		return 0;
	mode = BPF_CORE_READ(file, f_inode, i_mode);
	if ((mode & S_IFMT) == S_IFSOCK)
		scan->sockets++;
	return 0;
}

/* Is it the only thread of its process? Looked up in the task itself: the signal struct is another cache miss. */
static bool is_alone(struct task_struct *task)
{
	return task->thread_node.next == task->thread_node.prev;
}

static void read_files(struct task_sample *s, struct task_struct *task, struct process_extra *extra)
{
	struct files_struct *files = task->files;
	struct fd_scan scan = {};
	struct fdtable *fdt;
	u32 first_free = 64;

	if (!files)
		return;
	fdt = files->fdt;
	scan.open = fdt->open_fds;
	scan.words = fdt->max_fds / 64;
	if (scan.words == 1) { /* nearly every process */
		bpf_probe_read_kernel(&scan.hash, sizeof(scan.hash), scan.open);
		scan.n = popcount(scan.hash);
		/* do not look for sockets past the last open descriptor */
		for (int i = 56; i > 0; i -= 8)
			if ((scan.hash >> i) == 0)
				first_free = i;
	} else {
		first_free = fdt->max_fds;
		bpf_loop(FD_WORDS_MAX, count_word, &scan, 0);
	}
	SET(s, HANDLES_FILES, scan.n);
	if (!extra || !count_sockets)
		return;
	if (!extra->counted || extra->fd_hash != scan.hash ||
	    (((sweep_number + s->pid) & RESCAN_MASK) == 0 && (extra->ran != s->v[FEATURE_CPU_TIME] || !is_alone(task)))) {
		struct socket_scan sockets = {.fd = fdt->fd, .n = first_free};

		bpf_loop(SOCKET_SCAN_MAX, count_socket, &sockets, 0);
		extra->sockets = sockets.sockets;
		extra->fd_hash = scan.hash;
		extra->ran = s->v[FEATURE_CPU_TIME];
		extra->counted = 1;
	}
	SET(s, HANDLES_SOCKETS, extra->sockets);
}

static void read_quota(struct task_sample *s, struct task_struct *task)
{
	struct task_group *group = task->sched_task_group;
	u64 time = 0, periods = 0;

	if (!bpf_core_field_exists(group->cfs_bandwidth))
		return;
	for (int depth = 0; depth < 16 && group; depth++) {
		time += group->cfs_bandwidth.throttled_time;
		periods += group->cfs_bandwidth.nr_throttled;
		group = group->parent;
	}
	SET(s, QUOTA_THROTTLED, time);
	SET(s, QUOTA_PERIODS, periods);
}

static void read_process(struct task_sample *s, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	struct process_extra *extra = NULL;

	s->flags |= TASK_HAS_PROCESS;
	SET(s, SCHED_NICE, (s64)task->static_prio - 120);
	SET(s, SCHED_POLICY, task->policy);
	if (mm) {
		extra = bpf_task_storage_get(&extras, task->group_leader, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		read_memory(s, mm);
		read_files(s, task, extra);
		SET(s, OOM_SCORE_ADJ, (s64)task->signal->oom_score_adj);
	}
	read_quota(s, task);
	if (has_socket_lengths && extra) {
		SET(s, NET_RX_BYTES, extra->rx_bytes);
		SET(s, NET_TX_BYTES, extra->tx_bytes);
		SET(s, NET_RX_CALLS, extra->rx_calls);
		SET(s, NET_TX_CALLS, extra->tx_calls);
	}
}

/* 0 unless the process has one thread and that sleeps. Nothing of a thread that has not run since (its exact CPU time
 * stands still) has changed but what others do to it: they take its memory away, adopt it, change its priority. That
 * goes into the number; what is rarer waits for the next full reading. */
static u64 looks_asleep(struct task_struct *task)
{
	unsigned int state = task->__state;
	struct mm_struct *mm = task->mm;
	u64 looks;

	if (task->on_cpu || state == 0 || (state & 0x402) == 2 || (task->flags & PF_EXITING) || !is_alone(task))
		return 0;
	looks = task->se.sum_exec_runtime * MIX + task->real_parent->tgid;
	looks = looks * MIX + task->static_prio;
	if (mm && !bpf_core_field_exists(struct mm_struct___old, rss_stat.count))
		looks = (looks * MIX + mm->rss_stat[0].count) * MIX + mm->rss_stat[1].count;
	return looks | 1;
}

static bool sleeps_on(const struct asleep *before, u64 start, u64 looks, u32 pid)
{
	return looks && before->looks == looks && before->start == start && before->retelling == retelling &&
	       ((sweep_number + pid) & RESCAN_MASK);
}

static void remember(struct asleep *before, u64 start, u64 looks)
{
	before->start = start;
	before->looks = looks;
	before->retelling = retelling;
}

static void fill_short(struct task_sample_short *s, struct task_struct *task, u64 start)
{
	s->size = TASK_SAMPLE_SHORT;
	s->flags = TASK_SLEEPS_ON;
	s->pid = task->tgid;
	s->tid = task->pid;
	s->parent = 0;
	s->start = start;
	s->thread_start = start;
}

static void fill_full(struct task_sample *s, struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;

	s->size = TASK_SAMPLE_THREAD;
	read_identity(s, task);
	read_thread(s, task, true);
	/* the leader speaks for the process; any living thread does once the leader has ended */
	if (task->pid == task->tgid || leader->exit_state) {
		read_process(s, task);
		s->size = TASK_SAMPLE_FULL;
	}
}

static long write_short(struct seq_file *seq, struct task_struct *task, u64 start)
{
	struct task_sample_short s;

	fill_short(&s, task, start);
	return bpf_seq_write(seq, &s, sizeof(s));
}

static long write_full(struct seq_file *seq, struct task_struct *task)
{
	struct task_sample *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return -1;
	fill_full(s, task);
	if (s->size == TASK_SAMPLE_FULL)
		return bpf_seq_write(seq, s, TASK_SAMPLE_FULL);
	return bpf_seq_write(seq, s, TASK_SAMPLE_THREAD);
}

SEC("iter/task")
int sweep(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct asleep *before;
	u64 looks, start;
	u32 slot;

	if (ctx->meta->seq_num == 0)
		measure_clock_offset();
	if (!task || task->exit_state)
		return 0;
	slot = task->pid & (ASLEEP_MAX - 1);
	before = bpf_map_lookup_elem(&asleep, &slot);
	if (!before)
		return 0;
	looks = looks_asleep(task);
	start = task->start_boottime;
	if (sleeps_on(before, start, looks, task->pid)) {
		if (write_short(ctx->meta->seq, task, start) < 0)
			__sync_fetch_and_add(&missed_sweeps, 1);
		return 0;
	}
	/* a record that did not fit is asked for again: only one that was written may be referred to */
	before->looks = 0;
	if (write_full(ctx->meta->seq, task) < 0) {
		__sync_fetch_and_add(&missed_sweeps, 1);
		return 0;
	}
	remember(before, start, looks);
	return 0;
}

/* false when there is no room for any more. */
static __always_inline bool record(struct task_walk *walk, struct task_struct *task)
{
	u32 slot = task->pid & (ASLEEP_MAX - 1);
	u64 looks, start, at = walk->used;
	struct task_sample *s;
	struct asleep *before;

	if (at > TASK_WALK_SIZE - TASK_SAMPLE_FULL) {
		walk->incomplete = 1;
		return false;
	}
	if (!task->pid || task->exit_state) /* a CPU's idle thread; one that has ended */
		return true;
	s = (void *)(walk->records + at);
	before = bpf_map_lookup_elem(&asleep, &slot);
	if (!before)
		return true;
	looks = looks_asleep(task);
	start = task->start_boottime;
	if (sleeps_on(before, start, looks, task->pid)) {
		fill_short((void *)s, task, start);
	} else {
		fill_full(s, task);
		remember(before, start, looks);
	}
	walk->used = at + s->size;
	return true;
}

static __always_inline bool record_threads(struct task_walk *walk, struct task_struct *leader)
{
	struct bpf_iter_task threads;
	struct task_struct *task;
	bool room = true;

	leader = bpf_task_acquire(leader); /* the iterator wants one that is held */
	if (!leader) {
		walk->incomplete = 1; /* a thread that calls exec is just taking its place */
		return false;
	}
	bpf_iter_task_new(&threads, leader, BPF_TASK_ITER_PROC_THREADS);
	while (room && (task = bpf_iter_task_next(&threads)))
		room = record(walk, task);
	bpf_iter_task_destroy(&threads);
	bpf_task_release(leader);
	return room;
}

/* By process: the iterator over all threads would look up each one's group, a cache miss that most can do without. */
SEC("syscall")
int walk(void *ctx)
{
	struct bpf_iter_task it;
	struct task_struct *task;
	struct task_walk *walk;
	u32 zero = 0;

	walk = bpf_map_lookup_elem(&walked, &zero);
	if (!walk)
		return 0;
	measure_clock_offset();
	walk->used = 0;
	walk->incomplete = 0;
	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, NULL, BPF_TASK_ITER_ALL_PROCS);
	while ((task = bpf_iter_task_next(&it)))
		if (!(is_alone(task) ? record(walk, task) : record_threads(walk, task)))
			break;
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct task_sample *s = bpf_ringbuf_reserve(&exits, sizeof(*s), 0);
	struct process_extra *extra;

	if (!s) {
		__sync_fetch_and_add(&lost_exits, 1);
		return 0;
	}
	read_identity(s, task);
	s->flags |= TASK_IS_EXIT;
	/* two threads that end at the same moment may both find nobody alive */
	if (task->signal->live.counter == 0)
		s->flags |= TASK_GROUP_DEAD;
	s->size = TASK_SAMPLE_FULL;
	read_thread(s, task, false);
	s->v[FEATURE_CPU_TIME] += unaccounted(task);
	for (int i = THREAD_FEATURE_COUNT; i < PROCESS_FEATURE_COUNT; i++)
		s->v[i] = 0;
	extra = bpf_task_storage_get(&extras, task->group_leader, 0, 0);
	if (has_socket_lengths && extra) {
		SET(s, NET_RX_BYTES, extra->rx_bytes);
		SET(s, NET_TX_BYTES, extra->tx_bytes);
		SET(s, NET_RX_CALLS, extra->rx_calls);
		SET(s, NET_TX_CALLS, extra->tx_calls);
	}
	if (bpf_ringbuf_query(&exits, BPF_RB_AVAIL_DATA) > EXIT_RING_SIZE / 2)
		bpf_ringbuf_submit(s, BPF_RB_FORCE_WAKEUP);
	else
		bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	return 0;
}

static void add_traffic(int bytes, bool sent)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct process_extra *extra;

	if (bytes < 0 || (task->flags & PF_KTHREAD))
		return;
	extra = bpf_task_storage_get(&extras, task->group_leader, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!extra)
		return;
	if (sent) {
		__sync_fetch_and_add(&extra->tx_bytes, bytes);
		__sync_fetch_and_add(&extra->tx_calls, 1);
	} else {
		__sync_fetch_and_add(&extra->rx_bytes, bytes);
		__sync_fetch_and_add(&extra->rx_calls, 1);
	}
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
