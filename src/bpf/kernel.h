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
typedef __u32 u32;
typedef _Bool bool;

enum { false, true };

#define BPF_MAP_TYPE_HASH	  1
#define BPF_MAP_TYPE_ARRAY	  2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_RINGBUF	  27
#define BPF_MAP_TYPE_TASK_STORAGE 29
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

struct sched_entity {
	u64 sum_exec_runtime;
	u64 prev_sum_exec_runtime; /* when it was last put on a CPU; kept by the fair class only */
	u64 nr_migrations;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
	unsigned long long last_arrival; /* on a CPU, by the scheduler's clock */
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
	unsigned long total_vm, locked_vm, data_vm, stack_vm;
	struct percpu_counter rss_stat[4]; /* since 6.2 */
};

struct mm_rss_stat {
	atomic_long_t count[4];
};
struct mm_struct___old { /* until 6.1 */
	struct mm_rss_stat rss_stat;
};

struct inode {
	unsigned short i_mode;
};
struct file {
	struct inode *f_inode;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
	unsigned long *open_fds;
};
struct files_struct {
	struct fdtable *fdt;
};

struct signal_struct {
	atomic_t live; /* threads that have not begun to exit */
	short oom_score_adj;
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
	kuid_t uid;
};

struct list_head {
	struct list_head *next, *prev;
};

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	int static_prio;
	unsigned int policy;
	struct sched_entity se;
	struct task_group *sched_task_group;
	struct sched_info sched_info;
	struct mm_struct *mm;
	int exit_state;
	int pid, tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
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
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct sock;

#pragma clang attribute pop

/* An open-coded iterator (kernel 6.7); the kernel keeps its own things in it. */
struct bpf_iter_task {
	u64 opaque[3];
} __attribute__((aligned(8)));

#define BPF_TASK_ITER_ALL_PROCS	   0
#define BPF_TASK_ITER_PROC_THREADS 2

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000
