/* One process looked at closely, without stopping it.
 *
 * look      one record a thread: state, system call, registers, kernel stack, and a copy of the top of its user stack.
 *           A sleeper's registers are those it entered the kernel with
 * ours      lets through the profile samples of that process alone
 * on_return adds up bytes by file, where a system call that reads or writes one returns
 */
#include "machine/bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "machine/events/capture.h"

#define TASK_INTERRUPTIBLE   1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_STOPPED	     (4 | 8)
#define PF_KTHREAD	     0x00200000
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_NOEXIST	     1
#define FILES_MAX	     4096

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile unsigned int target; /* tgid */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct super_block___look {
	unsigned int s_dev;
};
struct inode___look {
	unsigned long i_ino;
	struct super_block___look *i_sb;
};
struct file___look {
	struct inode___look *f_inode;
};
#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct capture_thread);
} scratch SEC(".maps");

struct file_key {
	u64 inode, device;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FILES_MAX);
	__type(key, struct file_key);
	__type(value, struct capture_file);
} files SEC(".maps");

#if defined(__TARGET_ARCH_x86)
static void take_registers(struct capture_thread *t, struct pt_regs *r)
{
	t->registers[0] = r->ax;
	t->registers[1] = r->dx;
	t->registers[2] = r->cx;
	t->registers[3] = r->bx;
	t->registers[4] = r->si;
	t->registers[5] = r->di;
	t->registers[6] = r->bp;
	t->registers[7] = r->sp;
	t->registers[8] = r->r8;
	t->registers[9] = r->r9;
	t->registers[10] = r->r10;
	t->registers[11] = r->r11;
	t->registers[12] = r->r12;
	t->registers[13] = r->r13;
	t->registers[14] = r->r14;
	t->registers[15] = r->r15;
	t->registers[16] = r->ip;
	t->syscall = (int)r->orig_ax;
	t->argument = r->di;
}
#define STACK_POINTER(t) ((t)->registers[7])
#define CALL_NUMBER(r)	 ((long)(r)->orig_ax)
#define CALL_ARGUMENT(r) ((r)->di)
enum { __NR_read = 0, __NR_write = 1, __NR_pread64 = 17, __NR_pwrite64 = 18, __NR_readv = 19, __NR_writev = 20, __NR_preadv = 295,
       __NR_pwritev = 296, __NR_preadv2 = 327, __NR_pwritev2 = 328 };
#else
static void take_registers(struct capture_thread *t, struct pt_regs *r)
{
	for (int i = 0; i < 31; i++)
		t->registers[i] = r->regs[i];
	t->registers[31] = r->sp;
	t->registers[32] = r->pc;
	t->syscall = r->syscallno;
	t->argument = r->orig_x0;
}
#define STACK_POINTER(t) ((t)->registers[31])
#define CALL_NUMBER(r)	 ((long)(r)->syscallno)
#define CALL_ARGUMENT(r) ((r)->orig_x0)
enum { __NR_read = 63, __NR_write = 64, __NR_pread64 = 67, __NR_pwrite64 = 68, __NR_readv = 65, __NR_writev = 66, __NR_preadv = 69,
       __NR_pwritev = 70, __NR_preadv2 = 286, __NR_pwritev2 = 287 };
#endif

static u32 state_of(struct task_struct *task)
{
	unsigned int state = task->__state;

	if (state == 0)
		return task->on_cpu ? CAPTURE_RUNNING : CAPTURE_RUNNABLE;
	if (state & TASK_STOPPED)
		return CAPTURE_STOPPED;
	return state & TASK_UNINTERRUPTIBLE ? CAPTURE_BLOCKED : CAPTURE_SLEEPING;
}

/* All that is there: a copy that meets the stack's end fails as a whole, so a shorter one is tried. */
static void copy_stack(struct capture_thread *t, struct task_struct *task)
{
	const void *from = (const void *)STACK_POINTER(t);

	t->stack_size = 8192;
	if (bpf_copy_from_user_task(t->stack, 8192, from, task, 0) == 0)
		return;
	t->stack_size = 4096;
	if (bpf_copy_from_user_task(t->stack, 4096, from, task, 0) == 0)
		return;
	t->stack_size = 2048;
	if (bpf_copy_from_user_task(t->stack, 2048, from, task, 0) == 0)
		return;
	t->stack_size = 1024;
	if (bpf_copy_from_user_task(t->stack, 1024, from, task, 0) == 0)
		return;
	t->stack_size = 512;
	if (bpf_copy_from_user_task(t->stack, 512, from, task, 0) == 0)
		return;
	t->stack_size = 0;
}

SEC("iter.s/task")
int look(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct capture_thread *t;
	u32 zero = 0;
	long n;

	if (!task || task->tgid != target || task->exit_state)
		return 0;
	t = bpf_map_lookup_elem(&scratch, &zero);
	if (!t)
		return 0;
	t->kind = CAPTURE_LOOK;
	t->tid = task->pid;
	t->state = state_of(task);
	t->cpu_ns = task->se.sum_exec_runtime;
	t->ready_ns = task->sched_info.run_delay;
	t->start_ns = task->start_boottime;
	BPF_CORE_READ_INTO(&t->comm, task, comm);
	t->syscall = -1;
	t->stack_size = 0;
	t->has_registers = 0;
	n = bpf_get_task_stack(task, t->kernel, sizeof(t->kernel), 0);
	t->n_kernel = n > 0 ? (u32)n / 8 : 0;
	if (!(task->flags & PF_KTHREAD)) {
		struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

		take_registers(t, regs);
		t->has_registers = 1;
		/* what runs is where the profile says; its registers are those of long ago */
		if (t->state != CAPTURE_RUNNING)
			copy_stack(t, task);
	}
	bpf_seq_write(ctx->meta->seq, t, sizeof(*t));
	return 0;
}

SEC("perf_event")
int ours(void *ctx)
{
	(void)ctx;
	return bpf_get_current_pid_tgid() >> 32 == target;
}

static struct capture_file *file_of(unsigned int fd)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file___look *file = NULL;
	struct file_key key;
	struct capture_file fresh = {}, *found;

	if (fd >= BPF_CORE_READ(table, max_fds) || bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd) || !file)
		return NULL;
	key.inode = fresh.inode = BPF_CORE_READ(file, f_inode, i_ino);
	key.device = fresh.device = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	found = bpf_map_lookup_elem(&files, &key);
	if (found)
		return found;
	bpf_map_update_elem(&files, &key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&files, &key);
}

enum way { WAY_NONE, WAY_READ, WAY_WRITE };

static enum way way_of(long call)
{
	switch (call) {
	case __NR_read:
	case __NR_pread64:
	case __NR_readv:
	case __NR_preadv:
	case __NR_preadv2:
		return WAY_READ;
	case __NR_write:
	case __NR_pwrite64:
	case __NR_writev:
	case __NR_pwritev:
	case __NR_pwritev2:
		return WAY_WRITE;
	}
	return WAY_NONE;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_return, struct pt_regs *regs, long ret)
{
	struct capture_file *f;
	enum way way;

	if (bpf_get_current_pid_tgid() >> 32 != target || ret <= 0)
		return 0;
	way = way_of(CALL_NUMBER(regs));
	f = way ? file_of((unsigned int)CALL_ARGUMENT(regs)) : NULL;
	if (!f)
		return 0;
	__sync_fetch_and_add(way == WAY_READ ? &f->read_bytes : &f->written_bytes, (u64)ret);
	__sync_fetch_and_add(way == WAY_READ ? &f->read_calls : &f->write_calls, 1);
	return 0;
}
