/* Every task, read in one pass; the last word of every task that exits; bytes through sockets.
 *
 * walk       writes one record a living thread into memory shared with user space, which sums them by process. Most
 *            threads of a machine sleep from one walk to the next: those get a short record that says so
 * sweep      the same into an iterator's file, for kernels before 6.7 and for more tasks than that memory holds
 * on_exit    writes the same record for a thread that ends, into a ring nobody polls: the next tick empties it
 * on_send, on_receive  add up bytes and calls of sockets in storage that hangs on the process
 */
#include "bpf/ring-thread.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "model/task-sample.h"

#define FD_WORDS_MAX	 16384 /* at most a million descriptors are counted */
#define SOCKET_SCAN_MAX	 4096
#define RESCAN_MASK	 63 /* every process is read in full, and its sockets counted, at least every 64th sweep */
#define FEW_WORDS	 4  /* of the bitmap of descriptors: nearly every process has no more */
#define RECLAIM_SWEEPS	 16 /* after its last sign reclaim is taken to go on for so long */
#define S_IFMT		 0170000
#define S_IFSOCK	 0140000
#define MSG_PEEK	 2
#define EXTRA_SLOTS	 8192 /* a power of two */
#define EXIT_RING_SIZE	 (4 << 20)
#define ASLEEP_MAX	 65536 /* of processes whose numbers agree in 16 bits, one is remembered */
#define MIX		 0x9e3779b97f4a7c15ull
#define THREADS_MAX	 65536 /* of one process */
#define ORDER_MAX	 65536 /* processes whose place in the walk is remembered */
#define AHEAD		 8     /* processes on their way into the cache while one is recorded */
#define OTHERS_UNKNOWN	 1 /* not all of them sleep, or they were not looked at */
#define UNACCOUNTED_MAX	 10000000 /* ns: a tick at 100 Hz; more is a wrong clock */
#define SCHED_NORMAL	 0
#define SCHED_BATCH	 3
#define SCHED_IDLE	 5

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* What a process has done that the kernel does not add up itself. It has the slot that its number says, if nobody else has it; else
 * this hangs on the thread group's leader: asking the kernel for that meets a dozen cache misses. */
struct process_extra {
	u64 owner; /* in a slot: whose it is; 0 = nobody's, and all else is 0 */
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

/* A process of which all threads slept when it was last read in full, by its number. It says all that a short record does:
 * of one that sleeps on hardly any of the kernel's own memory need be touched. */
struct asleep {
	u64 task;   /* address of its leader; 0 = refer to nothing */
	u64 looks;  /* the leader's */
	u64 start;
	u32 pid;    /* as user space knows it */
	u32 others; /* looks of its other threads; 0 = it has none */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ASLEEP_MAX);
	__type(key, u32);
	__type(value, struct asleep);
} asleep SEC(".maps");

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

__u64 lost_exits;	     /* the ring was full */
__u64 sweep_number;    /* counted by user space */
__u32 retelling;       /* raised when records were lost, or processes changed their parent: none of before is referred to */
__u64 reclaim_sweep;   /* when memory was last taken from processes, whether they ran or not */
__u64 missed_sweeps;   /* the record did not fit the iterator's buffer */
const volatile bool count_sockets = true;
const volatile bool has_socket_lengths = false;
const volatile bool has_sums = false;
const volatile bool sees_reclaim = false;
const volatile bool in_namespace = false; /* the recorder has a pid namespace of its own */

/* That namespace, and how deep it lies; found out at every sweep. */
__u64 own_namespace;
__u32 own_level;

/* How many processes this walk has met. To the verifier a local variable that counts is another loop at each turn. */
__u32 met;

/* CLOCK_MONOTONIC minus the scheduler's clock, measured at every sweep; 0 = not yet */
__s64 clock_offset;

#define PRESENT(i) (1ull << (i))
#define SET(s, i, value)                             \
	do {                                         \
		(s)->v[FEATURE_##i] = (u64)(value);  \
		(s)->present |= PRESENT(FEATURE_##i); \
	} while (0)

static long upid_at(struct pid *pid, u32 level, struct upid *ret)
{
	return bpf_probe_read_kernel(ret, sizeof(*ret), (void *)pid->numbers + level * sizeof(*ret));
}

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

/* A process keeps its number and its start, whichever of its threads calls exec. */
static __always_inline u64 owner_of(struct task_struct *task)
{
	return (task->group_leader->start_boottime * MIX + task->tgid) | 1;
}

/* For one that has no slot, and was not found in its own. */
static __noinline struct process_extra *extra_elsewhere(struct task_struct *task, struct process_extra *slot, u64 owner)
{
	bool create = !(task->flags & PF_EXITING); /* its last word may have been spoken already */
	struct process_extra *extra = bpf_task_storage_get(&extras, task->group_leader, 0, 0);

	if (extra || !create)
		return extra;
	if (slot && !slot->owner && !__sync_val_compare_and_swap(&slot->owner, 0, owner))
		return slot;
	return bpf_task_storage_get(&extras, task->group_leader, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline struct process_extra *extra_of(struct task_struct *task)
{
	u32 key = task->tgid & (EXTRA_SLOTS - 1);
	struct process_extra *slot = bpf_map_lookup_elem(&extra_slots, &key);
	u64 owner = owner_of(task);

	return slot && slot->owner == owner ? slot : extra_elsewhere(task, slot, owner);
}

/* The slot is wiped before it is nobody's: who claims it finds it empty. */
static void release_extra(struct process_extra *extra)
{
	volatile u64 *words = (u64 *)extra;

	if (!extra || !extra->owner)
		return;
	for (u32 i = 1; i < sizeof(*extra) / sizeof(*words); i++)
		words[i] = 0;
	barrier();
	*(volatile u64 *)&extra->owner = 0;
}

static __always_inline void read_identity(struct task_sample *s, struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;
	struct task_struct *parent = task->real_parent;
	const struct cred *cred = task->cred;
	const u64 *comm = (const void *)leader->comm;

	s->flags = 0;
	s->pid = group_number_of(task);
	s->tid = number_of(task);
	s->parent = group_number_of(parent);
	s->start = leader->start_boottime;
	s->thread_start = task->start_boottime;
	s->exec_id = task->self_exec_id;
	s->uid = cred->uid.val;
	s->reserved = 0;
	s->present = 0;
	for (u32 i = 0; i < sizeof(s->comm) / sizeof(*comm); i++)
		((u64 *)s->comm)[i] = comm[i];
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

/* What the flight recorder added up of its time; a wait is charged when it ends. */
static void read_sums(struct task_sample *s, struct task_struct *task)
{
	struct ring_thread *t = has_sums ? thread_of(task) : NULL;

	s->v[FEATURE_WAIT_PREEMPTED] = s->v[FEATURE_WAIT_QUOTA] = s->v[FEATURE_WAIT_LOCK] = s->v[FEATURE_WAIT_DISK] =
		s->v[FEATURE_WAIT_MEMORY] = s->v[FEATURE_WAIT_NETWORK] = s->v[FEATURE_WAIT_PEER] =
			s->v[FEATURE_WAIT_OTHER] = s->v[FEATURE_CPU_IMPOSED] = 0;
	if (!t)
		return;
	SET(s, WAIT_PREEMPTED, t->sum[SUM_PREEMPTED]);
	SET(s, WAIT_QUOTA, t->sum[SUM_QUOTA]);
	SET(s, WAIT_LOCK, t->sum[SUM_LOCK]);
	SET(s, WAIT_DISK, t->sum[SUM_DISK]);
	SET(s, WAIT_MEMORY, t->sum[SUM_FAULT]);
	SET(s, WAIT_NETWORK, t->sum[SUM_NETWORK]);
	SET(s, WAIT_PEER, t->sum[SUM_PEER]);
	SET(s, WAIT_OTHER, t->sum[SUM_OTHER]);
	SET(s, CPU_IMPOSED, t->sum[SUM_IMPOSED]);
}

static __always_inline void read_thread(struct task_sample *s, struct task_struct *task, bool living)
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
	read_sums(s, task);
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

/* Bits up to the highest that is set. Without a branch: the verifier would follow each, for every word. */
static u32 length_of(u64 x)
{
	x |= x >> 1;
	x |= x >> 2;
	x |= x >> 4;
	x |= x >> 8;
	x |= x >> 16;
	x |= x >> 32;
	return popcount(x);
}

struct fd_scan {
	unsigned long *open;
	u32 words;
	u32 n;
	u32 end; /* past the last open descriptor */
	u64 hash;
};

/* Without a branch, as length_of(). */
static __always_inline void add_word(struct fd_scan *scan, u32 i, u64 word)
{
	u64 any = (word | -word) >> 63;

	scan->hash = (scan->hash ^ word) * MIX;
	scan->n += popcount(word);
	scan->end += any * (i * 64 + length_of(word) - scan->end);
}

static long count_word(u32 i, struct fd_scan *scan)
{
	u64 word = 0;

	if (i >= scan->words)
		return 1;
	bpf_probe_read_kernel(&word, sizeof(word), scan->open + i);
	add_word(scan, i, word);
	return 0;
}

static void scan_descriptors(struct fd_scan *scan)
{
	u64 words[FEW_WORDS] = {};

	if (scan->words > FEW_WORDS) {
		bpf_loop(FD_WORDS_MAX, count_word, scan, 0);
		return;
	}
	/* behind a shorter bitmap lie other things of the same allocation */
	bpf_probe_read_kernel(words, sizeof(words), scan->open);
	for (u32 i = 0; i < FEW_WORDS; i++)
		add_word(scan, i, words[i] & (u64)(((s64)i - (s64)scan->words) >> 63));
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

	if (!files)
		return;
	fdt = files->fdt;
	scan.open = fdt->open_fds;
	scan.words = fdt->max_fds / 64;
	scan_descriptors(&scan);
	SET(s, HANDLES_FILES, scan.n);
	if (!extra || !count_sockets)
		return;
	if (!extra->counted || extra->fd_hash != scan.hash ||
	    (((sweep_number + s->pid) & RESCAN_MASK) == 0 && (extra->ran != s->v[FEATURE_CPU_TIME] || !is_alone(task)))) {
		struct socket_scan sockets = {.fd = fdt->fd, .n = scan.end};

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

static __always_inline void put_traffic(struct task_sample *s, const struct process_extra *extra)
{
	if (!has_socket_lengths || !extra)
		return;
	SET(s, NET_RX_BYTES, extra->rx_bytes);
	SET(s, NET_TX_BYTES, extra->tx_bytes);
	SET(s, NET_RX_CALLS, extra->rx_calls);
	SET(s, NET_TX_CALLS, extra->tx_calls);
}

static void read_process(struct task_sample *s, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	struct process_extra *extra = NULL;

	s->flags |= TASK_HAS_PROCESS;
	SET(s, SCHED_NICE, (s64)task->static_prio - 120);
	SET(s, SCHED_POLICY, task->policy);
	read_quota(s, task); /* first: its loop is verified once for each way that leads to it */
	if (mm) {
		extra = extra_of(task);
		read_memory(s, mm);
		read_files(s, task, extra);
		SET(s, OOM_SCORE_ADJ, (s64)task->signal->oom_score_adj);
	}
	put_traffic(s, extra);
}

static bool reclaims(void)
{
	return !sees_reclaim || sweep_number - reclaim_sweep < RECLAIM_SWEEPS;
}

/* Nothing of a thread that has not run since (its exact CPU time stands still) has changed but what others do to it: they
 * change its priority, take its memory away. What is rarer waits for the next full reading. */
static u64 looks_of(struct task_struct *task)
{
	u64 looks = task->se.sum_exec_runtime * MIX + task->static_prio + ((u64)retelling << 16);
	struct mm_struct *mm;

	if (bpf_core_field_exists(struct mm_struct___old, rss_stat.count) || !reclaims())
		return looks;
	mm = task->mm;
	return mm ? (looks * MIX + mm->rss_stat[0].count) * MIX + mm->rss_stat[1].count : looks;
}

/* Has it slept since, a process of one thread? Then it has no more of them now. */
static __always_inline bool has_slept(const struct asleep *before, const struct task_struct *task, u64 looks)
{
	return before->task == (u64)task && before->looks == looks && !before->others;
}

/* ... and still does, and nothing else asks for a full record. */
static __always_inline bool sleeps_on(const struct asleep *before, struct task_struct *task)
{
	return ((sweep_number + before->pid) & RESCAN_MASK) && !task->on_cpu && task->__state;
}

static __always_inline struct asleep *asleep_of(struct task_struct *task)
{
	u32 slot = task->pid & (ASLEEP_MAX - 1);

	return bpf_map_lookup_elem(&asleep, &slot);
}

static bool sleeps(struct task_struct *task)
{
	unsigned int state = task->__state;

	return !task->on_cpu && state && (state & 0x402) != 2 && !(task->flags & PF_EXITING);
}

/* Read in full, a process of which this thread sleeps. */
static void remember(struct asleep *before, struct task_struct *leader, u64 looks, u32 others)
{
	before->looks = looks;
	before->others = others;
	before->start = leader->start_boottime;
	before->pid = group_number_of(leader);
	before->task = (u64)leader;
}

/* Does it sleep, and is it the only thread of a process? Without running it cannot get more of them, nor end. What changed
 * since it was read it has run for. */
static void remember_alone(struct asleep *before, struct task_struct *task)
{
	before->task = 0;
	if (sleeps(task) && is_alone(task))
		remember(before, task, looks_of(task), 0);
}

static void fill_short(struct task_sample_short *s, const struct asleep *before)
{
	s->size = TASK_SAMPLE_SHORT;
	s->flags = TASK_SLEEPS_ON;
	s->pid = before->pid;
	s->tid = before->pid;
	s->parent = 0;
	s->start = before->start;
	s->thread_start = before->start;
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
	if (has_slept(before, task, looks_of(task)) && sleeps_on(before, task))
		r = write_short(ctx->meta->seq, before);
	else
		r = task->exit_state ? 0 : write_full(ctx->meta->seq, task, before);
	if (r < 0)
		__sync_fetch_and_add(&missed_sweeps, 1);
	return 0;
}

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
	met = 0;
	walk->incomplete = 0;
	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, NULL, BPF_TASK_ITER_ALL_PROCS);
	while ((task = bpf_iter_task_next(&it))) {
		fetch_ahead(task);
		if (!record_process(walk, task))
			break;
	}
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

static __always_inline void tell_exit(struct task_struct *task, const struct process_extra *extra, bool last)
{
	struct task_sample *s;

	s = bpf_ringbuf_reserve(&exits, sizeof(*s), 0);
	if (!s) {
		__sync_fetch_and_add(&lost_exits, 1);
		return;
	}
	read_identity(s, task);
	s->flags |= TASK_IS_EXIT;
	if (last) {
		s->flags |= TASK_GROUP_DEAD;
		if (task->children.next != task->children.prev)
			__sync_fetch_and_add(&retelling, 1); /* they get another parent, and most sleep */
	}
	s->size = TASK_SAMPLE_FULL;
	read_thread(s, task, false);
	s->v[FEATURE_CPU_TIME] += unaccounted(task);
	for (int i = THREAD_FEATURE_COUNT; i < PROCESS_FEATURE_COUNT; i++)
		s->v[i] = 0;
	put_traffic(s, extra);
	if (bpf_ringbuf_query(&exits, BPF_RB_AVAIL_DATA) > EXIT_RING_SIZE / 2)
		bpf_ringbuf_submit(s, BPF_RB_FORCE_WAKEUP);
	else
		bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	/* two threads that end at the same moment may both find nobody alive */
	bool last = task->signal->live.counter == 0;
	struct process_extra *extra = extra_of(task);

	if (!in_namespace || number_of(task)) /* else of the machine outside of the recorder's namespace */
		tell_exit(task, extra, last);
	if (last)
		release_extra(extra);
	return 0;
}

static void note_reclaim(void)
{
	reclaim_sweep = sweep_number;
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

static void add_traffic(int bytes, bool sent)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct process_extra *extra;

	if (bytes < 0 || (task->flags & PF_KTHREAD))
		return;
	extra = extra_of(task);
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
