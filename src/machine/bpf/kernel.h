/* The kernel's types, as far as the BPF programs read them.
 *
 * Only field names matter: libbpf relocates every access to where the running kernel keeps the field (CO-RE), so
 * the programs are built without a kernel's headers and run on kernels whose structs look different. A field that
 * not every kernel has is asked for with bpf_core_field_exists() first. "___old" and the like name an older layout
 * of the same struct.
 */
#pragma once

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u64 u64;
typedef __s64 s64;
typedef __s32 s32;
typedef __u32 u32;
typedef __u16 u16;
typedef __s16 s16;
typedef __u8 u8;
typedef _Bool bool;

enum { false, true };

#define BPF_MAP_TYPE_HASH	  1
#define BPF_MAP_TYPE_ARRAY	  2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_SK_STORAGE	  24
#define BPF_MAP_TYPE_RINGBUF	  27
#define BPF_MAP_TYPE_TASK_STORAGE 29
#define BPF_F_USER_STACK	  256
#define BPF_F_NO_PREALLOC	  1
#define BPF_F_MMAPABLE		  1024
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_RB_NO_WAKEUP	  1
#define BPF_RB_FORCE_WAKEUP	  2
#define BPF_RB_AVAIL_DATA	  0

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

typedef struct {
	long counter;
} atomic_long_t;
typedef struct {
	s64 counter;
} atomic64_t;
typedef struct {
	int counter;
} atomic_t;

struct rq;
struct cfs_rq {
	struct rq *rq;
	unsigned int h_nr_queued, h_nr_runnable; /* since 6.14; of those queued, some only wait to be taken out */
	unsigned int h_nr_delayed;		 /* 6.12, 6.13: those */
	int throttle_count;
	u64 throttled_clock_self_time; /* since 6.5: how long it was throttled while it had threads */
};
struct rq {
	unsigned int nr_running;
	u64 clock; /* sched_clock(), as of when the scheduler last looked */
	u64 clock_task; /* of that, what was given to threads */
	u64 prev_irq_time; /* where interrupts are accounted for apart */
	struct cfs_rq cfs;
};

struct sched_entity {
	u64 deadline; /* since 6.6 */
	u64 vruntime;
	struct sched_entity *parent;
	struct cfs_rq *cfs_rq;
	unsigned char sched_delayed; /* since 6.12: still in the queue, but asleep */
	u64 sum_exec_runtime, exec_start; /* until when, by clock_task, it is accounted for */
	u64 prev_sum_exec_runtime; /* when it was last put on a CPU; kept by the fair class only */
	u64 nr_migrations;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
	unsigned long long last_arrival; /* on a CPU, by the scheduler's clock */
	unsigned long long last_queued;	 /* since when it stands in a queue; 0 = in none */
};

struct task_io_accounting {
	u64 rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled_write_bytes;
};

struct task_delay_info {
	u64 blkio_delay, swapin_delay, freepages_delay, thrashing_delay, compact_delay, wpcopy_delay, irq_delay;
	u32 blkio_count;
};

struct percpu_counter {
	s64 count;
};

struct mm_struct {
	atomic_long_t pgtables_bytes;
	unsigned long total_vm, locked_vm, data_vm, stack_vm, hiwater_rss;
	struct percpu_counter rss_stat[4]; /* since 6.2 */
};

struct mm_rss_stat {
	atomic_long_t count[4];
};
struct mm_struct___old { /* until 6.1 */
	struct mm_rss_stat rss_stat;
};

struct super_block {
	unsigned long s_magic;
};
struct inode {
	unsigned short i_mode;
	u32 i_rdev;
	struct super_block *i_sb;
};
struct file {
	struct inode *f_inode;
	void *private_data;
};
struct in6_addr {
	__be32 words[4]; /* only copied as a whole: the kernel has a union here */
};
struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
	unsigned short skc_family;
	volatile unsigned char skc_state;
};
typedef struct {
	atomic_t refs;
} refcount_t;
struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
	refcount_t sk_wmem_alloc; /* 1 while nothing is sent that is not read */
};
struct inet_bind_bucket {
	signed char fastreuse;
};
struct inet_connection_sock {
	struct inet_bind_bucket *icsk_bind_hash;
};
struct tcp_sock {
	u32 write_seq;
	u64 bytes_received;
};
struct unix_address;
struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};
struct rb_node {
	struct rb_node *rb_right, *rb_left;
};
struct rb_root {
	struct rb_node *rb_node;
};
struct rb_root_cached {
	struct rb_root rb_root;
};
struct eventpoll {
	struct rb_root_cached rbr;
};
struct epoll_filefd {
	struct file *file;
};
struct epitem {
	struct rb_node rbn;
	struct epoll_filefd ffd;
};
struct socket {
	struct sock *sk;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
	unsigned long *open_fds;
};
struct files_struct {
	struct fdtable *fdt;
};

struct list_head {
	struct list_head *next, *prev;
};

struct signal_struct {
	atomic_t live; /* threads that have not begun to exit */
	short oom_score_adj;
	struct list_head thread_head;
};

struct cfs_bandwidth {
	int nr_throttled;
	u64 throttled_time;
};
struct task_group {
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
};

typedef struct {
	unsigned int val;
} kuid_t;
struct cred {
	kuid_t uid, suid, euid;
};

struct pid_namespace;
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1]; /* level + 1 of them: the number in each namespace, the initial one's first */
};

#if defined(__TARGET_ARCH_arm64)
struct thread_info {
	u32 cpu;
};
struct pt_regs {
	u64 regs[31];
	u64 sp, pc, pstate;
	u64 orig_x0;
	s32 syscallno;
};
#else
struct thread_info {
	u32 status, cpu;
};
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip;
	unsigned short cs;
	unsigned long flags, sp;
};
#endif

struct ns_common {
	unsigned int inum;
};
struct pid_namespace {
	struct ns_common ns;
};
struct kernfs_node {
	u64 id;
};
struct cgroup {
	struct kernfs_node *kn;
};
struct css_set {
	struct cgroup *dfl_cgrp;
};

struct mutex;
struct rt_mutex_base {
	struct task_struct *owner; /* the lowest bit is a flag */
};
struct rt_mutex_waiter {
	struct rt_mutex_base *lock;
};
struct rw_semaphore {
	atomic_long_t owner; /* the lowest bits are flags */
};

/* What one CPU asks another to do. */
struct __call_single_node {
	unsigned int u_flags;
};
struct __call_single_data {
	struct __call_single_node node;
};
#define CSD_FLAG_TYPE_MASK 0xf0
#define CSD_TYPE_TTWU	   0x30 /* finish waking a thread */

struct task_struct {
	struct thread_info thread_info;
	void *stack;
	struct __call_single_node wake_entry;
	unsigned int __state;
	unsigned int flags;
	unsigned int on_cpu, on_rq; /* bytes in 7.2: where its size changed, only an unsigned member is read as it is there */
	int static_prio;
	unsigned int policy;
	struct sched_entity se;
	struct task_group *sched_task_group;
	struct sched_info sched_info;
	struct list_head tasks;
	struct mm_struct *mm;
	int exit_state, exit_code;
	int pid, tgid;
	struct task_struct *real_parent;
	struct list_head children, sibling; /* the list of the former goes through the latter */
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct list_head thread_node;
	u64 utime, stime;
	unsigned long nvcsw, nivcsw;
	u64 start_time, start_boottime;
	unsigned long min_flt, maj_flt;
	const struct cred *cred;
	char comm[16];
	struct files_struct *files;
	struct signal_struct *signal;
	u64 self_exec_id;
	struct task_io_accounting ioac;
	struct task_delay_info *delays;
	int prio;
	bool throttled; /* since 6.18 */
	unsigned in_iowait : 1;
	unsigned in_memstall : 1;
	unsigned in_thrashing : 1;
	struct rt_mutex_waiter *pi_blocked_on;
	struct mutex *blocked_on;
	struct css_set *cgroups;
};

struct gendisk {
	int major, first_minor;
};
struct request_queue {
	struct gendisk *disk;
};
struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
};
struct irqaction;
struct linux_binprm;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* An open-coded iterator (kernel 6.7); the kernel keeps its own things in it. */
struct bpf_iter_task {
	u64 opaque[3];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));

#define BPF_TASK_ITER_ALL_PROCS	   0
#define BPF_TASK_ITER_PROC_THREADS 2

/* What rarely happens is laid out behind what mostly does: the programs run amid the kernel's most frequent paths, and share
 * the CPU's cache of instructions with them. */
#ifndef unlikely
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#endif

#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_KTHREAD 0x00200000
