/* Of the flight recorder: what a thread waits for. */
#pragma once

#include "machine/bpf/ring-stacks.h"
#include "machine/events/calls.h"
#include "machine/events/futex.h"

#define TS_COMPAT	  2
#define S_IFMT		  0170000
#define S_IFREG		  0100000
#define S_IFDIR		  0040000
#define S_IFBLK		  0060000
#define S_IFIFO		  0010000
#define S_IFCHR		  0020000
#define S_IFSOCK	  0140000
#define ANON_INODE_MAGIC  0x09041934
#define AF_UNIX		  1
#define AF_INET		  2
#define AF_INET6	  10
#define AF_NETLINK	  16
#define GLIBC_OWNER	  8 /* pthread_mutex_t.__data.__owner */

static const unsigned char calls[CALLS_ROOM] = {CALLS(CALL_ROW)};

struct departure {
	struct wait_facts facts;
	s16 syscall;
	u64 object;
	u64 argument0;
	u64 place;
	struct futex_wait futex; /* in futex() */
};

/* The kernel's bits, pressed into a byte. */
static __always_inline u8 press_state(u32 state)
{
	u8 pressed = state & 15;

	if (state & 0xb0) /* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */
		pressed |= TASK_STATE_ENDED;
	if (state & 0x40)
		pressed |= TASK_STATE_PARKED;
	if (state & 0x400)
		pressed |= TASK_STATE_NO_LOAD;
	if (state & 0x100)
		pressed |= TASK_STATE_KILLABLE;
	if (state & 0x8000) /* TASK_FROZEN */
		pressed |= TASK_STATE_STOPPED;
	return state && !pressed ? TASK_STATE_BLOCKED : pressed;
}

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "addresses are compared as little-endian CPUs load them"
#endif
#define LOOPBACK_NET  127	  /* 127.0.0.0/8 */
#define MAPPED_ADDRESS 0xffff0000 /* ::ffff:0.0.0.0/96: the third word */
#define ONE_ADDRESS   0x01000000  /* ::1: the last word */

/* Is the other end's address one of this machine's: of the loopback network, or this end's own? */
static __always_inline bool leads_here(struct sock *sk, u16 family)
{
	u32 to[4] = {}, from[4] = {}, address;

	if (family != AF_INET6) {
		address = BPF_CORE_READ(sk, __sk_common.skc_daddr);
		return (address & 0xff) == LOOPBACK_NET || (address && address == BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr));
	}
	bpf_core_read(to, sizeof(to), &sk->__sk_common.skc_v6_daddr);
	bpf_core_read(from, sizeof(from), &sk->__sk_common.skc_v6_rcv_saddr);
	if (to[0] | to[1])
		return to[0] == from[0] && to[1] == from[1] && to[2] == from[2] && to[3] == from[3];
	if (to[2] == MAPPED_ADDRESS)
		return (to[3] & 0xff) == LOOPBACK_NET || to[3] == from[3];
	return !to[2] && to[3] == ONE_ADDRESS;
}

static __always_inline u8 call_of_sock(struct sock *sk, u16 family)
{
	if (family == AF_UNIX)
		return CALL_LOCAL_SOCKET;
	if (family == AF_NETLINK)
		return CALL_EVENT;
	return (family == AF_INET || family == AF_INET6) && leads_here(sk, family) ? CALL_SOCKET_HERE : CALL_SOCKET;
}

static __always_inline u8 call_of_socket(struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	return call_of_sock(sk, BPF_CORE_READ(sk, __sk_common.skc_family));
}

static __always_inline u8 call_of_inode(struct file *file, struct inode *inode)
{
	u16 mode = BPF_CORE_READ(inode, i_mode);
	u32 major;

	switch (mode & S_IFMT) {
	case S_IFIFO:
		return CALL_PIPE;
	case S_IFSOCK:
		return call_of_socket(file);
	case S_IFCHR:
		major = BPF_CORE_READ(inode, i_rdev) >> 20;
		return major == 4 || major == 5 || (major >= 136 && major < 144) ? CALL_TERMINAL : CALL_DEVICE;
	case S_IFREG:
		return BPF_CORE_READ(inode, i_sb, s_magic) == ANON_INODE_MAGIC ? CALL_EVENT : CALL_FILE;
	case S_IFDIR:
	case S_IFBLK:
		return CALL_FILE;
	}
	return CALL_EVENT;
}

#define FILE_FRESH 10000000 /* ns: for so long the same descriptor at the same place is taken to be the same file */

static __noinline u8 look_at_file(struct task_struct *task, struct ring_thread *t, u32 number, u64 *ret_object)
{
	struct files_struct *files = task->files;
	struct file **slot, *file;
	struct inode *inode;
	u8 call;

	if (!files || number >= files->fdt->max_fds)
		return CALL_OTHER;
	slot = files->fdt->fd;
	if (bpf_probe_read_kernel(&file, sizeof(file), slot + number) < 0 || !file)
		return CALL_OTHER;
	inode = BPF_CORE_READ(file, f_inode);
	*ret_object = (u64)inode;
	if (t && t->file == (u64)file && t->inode == (u64)inode)
		return t->call;
	call = call_of_inode(file, inode);
	if (t) {
		t->file = (u64)file;
		t->inode = (u64)inode;
		t->call = call;
	}
	return call;
}

/* Threads wait for the same file again and again. When it is asked, a thread that runs has its arrival in `since`. */
static __always_inline u8 call_of_file(struct task_struct *task, struct ring_thread *t, struct departure *d)
{
	u32 number = d->argument0;
	u8 call;

	if (!unlikely(!t || t->file_place != d->place || t->file_number != number || t->since - t->file_seen >= FILE_FRESH)) {
		d->object = t->inode;
		return t->call;
	}
	call = look_at_file(task, t, number, &d->object);
	if (t && call != CALL_OTHER) {
		t->file_place = d->place;
		t->file_number = number;
		t->file_seen = t->since;
	}
	return call;
}

/* What user space had in its registers. The kernel's own function for it costs a call and a return, which some CPUs are made to
 * predict wrongly each time: 10 ns. */
static __always_inline struct pt_regs *registers_of(struct task_struct *task)
{
#ifndef WITHOUT_KFUNCS
	return bpf_rdonly_cast(task->stack + registers_at, bpf_core_type_id_kernel(struct pt_regs));
#else
	return (struct pt_regs *)bpf_task_pt_regs(task);
#endif
}

/* The instruction alone is mostly that of a wrapper in libc: with the depth of the stack it tells callers apart. */
static __always_inline u64 place_of(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_arm64)
	return regs->pc ^ regs->sp * MIX;
#else
	return regs->ip ^ regs->sp * MIX;
#endif
}

static __always_inline u8 call_of_futex(const struct pt_regs *regs, struct departure *d)
{
	d->futex.word = d->argument0;
#if defined(__TARGET_ARCH_arm64)
	d->futex.operation = regs->regs[1];
	d->futex.expected = regs->regs[2];
	d->futex.limit = regs->regs[3];
	d->futex.stack = regs->sp;
#else
	d->futex.operation = regs->si;
	d->futex.expected = regs->dx;
	d->futex.limit = regs->r10;
	d->futex.stack = regs->sp;
#endif
	d->object = d->futex.word;
	return futex_call(&d->futex);
}

static __always_inline u8 call_of_restarted(const struct pt_regs *regs, struct departure *d)
{
#if defined(__TARGET_ARCH_arm64)
	u8 call = futex_restarted_call(d->argument0, regs->regs[1]);
#else
	u8 call = futex_restarted_call(d->argument0, regs->si);
#endif
	return call == CALL_FUTEX ? call_of_futex(regs, d) : call;
}

/* The system call a thread is in, from the registers it saved; its arguments. */
static __always_inline u8 find_call(struct task_struct *task, struct departure *d)
{
	struct pt_regs *regs;
	u32 number;

	d->syscall = EVENT_NO_SYSCALL;
	if (unlikely(task->flags & (PF_KTHREAD | PF_IO_WORKER)))
		return CALL_NONE;
	regs = registers_of(task);
	d->place = place_of(regs);
#if defined(__TARGET_ARCH_arm64)
	number = regs->syscallno;
	d->argument0 = regs->regs[0];
#else
	if (unlikely(task->thread_info.status & TS_COMPAT))
		return CALL_UNKNOWN;
	number = regs->orig_ax;
	d->argument0 = regs->di;
#endif
	d->syscall = number;
	if (unlikely(number >= CALLS_MAX))
		return number == (u32)-1 ? CALL_FAULT : CALL_OTHER;
	/* for verifiers that have lost sight of the comparison (6.1); written so that the compiler cannot track_pid better */
	asm volatile("%0 &= 511" : "+r"(number));
	if (number == CALL_NUMBER_FUTEX)
		return call_of_futex(regs, d);
	if (unlikely(number == CALL_NUMBER_RESTART))
		return call_of_restarted(regs, d);
	return calls[number] ? calls[number] : CALL_OTHER;
}

static __always_inline u8 blocked_flags(struct task_struct *task, const struct ring_thread *t)
{
	u8 flags = 0;

	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		flags |= WAIT_IO;
	if (bpf_core_field_exists(task->in_memstall) && BPF_CORE_READ_BITFIELD(task, in_memstall))
		flags |= WAIT_MEMORY;
	if (bpf_core_field_exists(task->in_thrashing) && BPF_CORE_READ_BITFIELD(task, in_thrashing))
		flags |= WAIT_MEMORY;
	if ((t && t->lock_flags) || task->pi_blocked_on)
		flags |= WAIT_KERNEL_LOCK;
	if (bpf_core_field_exists(task->blocked_on) && task->blocked_on)
		flags |= WAIT_KERNEL_LOCK;
	return flags;
}

/* Of a thread that has left the CPU, or is leaving it, because it must wait. */
static __always_inline void describe_blocked(struct task_struct *task, struct ring_thread *t, struct departure *d)
{
	d->facts.flags = blocked_flags(task, t);
	d->facts.call = find_call(task, d);
	if (d->facts.call == CALL_BY_FILE)
		d->facts.call = call_of_file(task, t, d);
}

struct lock_facts {
	u64 object;
	u32 owner, word;
	u8 flags;
};

static __always_inline u32 tid_of(u64 owner)
{
	struct task_struct *task = (void *)(owner & ~7ull);

	return task ? BPF_CORE_READ(task, pid) : 0;
}

static __noinline void find_kernel_lock(struct task_struct *task, const struct ring_thread *t, struct lock_facts *l)
{
	struct rt_mutex_waiter *waiter = task->pi_blocked_on;
	u64 owner = 0;

	if (waiter) {
		l->object = (u64)BPF_CORE_READ(waiter, lock);
		owner = (u64)BPF_CORE_READ(waiter, lock, owner);
		l->flags = LOCK_RT;
	} else if (t && t->lock_flags) {
		l->object = t->lock;
		l->flags = t->lock_flags;
	} else if (bpf_core_field_exists(task->blocked_on)) {
		l->object = (u64)task->blocked_on;
		l->flags = LOCK_MUTEX;
	}
	if (l->flags & LOCK_MUTEX) { /* its owner is its first word */
		bpf_probe_read_kernel(&owner, sizeof(owner), (void *)l->object);
	} else if (l->flags & (LOCK_RW_READ | LOCK_RW_WRITE)) {
		struct rw_semaphore *semaphore = (void *)l->object;

		if (bpf_core_field_exists(semaphore->owner)) /* with PREEMPT_RT it is another struct */
			owner = BPF_CORE_READ(semaphore, owner.counter);
		if (owner & 1)
			l->flags |= LOCK_HELD_BY_READERS;
	}
	l->owner = tid_of(owner);
}

/* Only while the sleeper is current: its memory is read, of what is or may be a lock. */
static __noinline void find_futex(struct departure *d, struct lock_facts *l)
{
	u32 read[GLIBC_OWNER / 4 + 1] = {};

	if (bpf_probe_read_user(read, sizeof(read), (void *)d->futex.word) < 0) /* behind the word the memory may end */
		bpf_probe_read_user(read, sizeof(read[0]), (void *)d->futex.word);
	d->futex.beside = read[GLIBC_OWNER / 4];
	d->facts.call = futex_call(&d->futex);
	if (d->facts.call != CALL_LOCK)
		return;
	l->object = d->futex.word;
	l->flags = futex_is_pi(d->futex.operation) ? LOCK_FUTEX_PI : LOCK_FUTEX;
	l->word = read[0];
	l->owner = futex_holder(&d->futex, read[0]);
}

static __always_inline u64 group_of(struct task_struct *task)
{
	return task->cgroups->dfl_cgrp->kn->id;
}
