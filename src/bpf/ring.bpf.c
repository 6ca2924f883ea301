/* The flight recorder: every switch, wake-up, interrupt and request, into per-CPU rings that nobody reads until they are
 * frozen; and sums of what threads do with their time.
 *
 * A record is reserved by counting up, so an interrupt's records may stand between two of the thread it interrupts. Where
 * sched_* programs run, interrupts are off: the run queue's lock is held, so nothing here allocates (a thread's storage is
 * made at fork, and by `adopt` for those that were there before).
 *
 * Some kernels (seen on 6.18) do not call the tracepoint when certain threads leave: whoever leaves without having come is
 * taken to have come when the scheduler noted it, and that switch is told late. Where it noted nothing (the idle thread), the
 * stint is charged nothing, and it is counted.
 *
 * A thread's sums are charged when a state ends; `look` adds what goes on.
 */
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "model/calls.h"
#include "model/ring-layout.h"

#define MIX		  0x9e3779b97f4a7c15ull
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
#define AF_NETLINK	  16
#define FUTEX_COMMAND	  0x7f
#define FUTEX_LOCK_PI	  6
#define FUTEX_LOCK_PI2	  13
#define FUTEX_TID_MASK	  0x3fffffff
#define FUTEX_HAS_WAITERS 0x80000000u
#define LOCK_WORD_WAITED  2 /* glibc: held, and somebody waits */
#define GLIBC_OWNER	  8 /* pthread_mutex_t.__data.__owner */
#define CONTENTION_SPIN	  1
#define CONTENTION_READ	  2
#define CONTENTION_WRITE  4
#define CONTENTION_RT	  8
#define CONTENTION_PERCPU 16
#define CONTENTION_MUTEX  32
#define HALF_FRAMES	  (RING_FRAMES / 2)
#define REQ_SYNC	  (1 << 11)
#define REQ_META	  (1 << 12)
#define REQ_FUA		  (1 << 17)
#define REQ_PREFLUSH	  (1 << 18)
#define REQ_RAHEAD	  (1 << 19)
#define DIRTIED_LEAST	  (1 << 16) /* bytes: less is told later */
#if defined(__TARGET_ARCH_arm64)
#define INSTRUCTION_POINTER (32 * 8) /* in the registers, with which bpf_perf_event_data begins */
#else
#define INSTRUCTION_POINTER (16 * 8)
#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* by user space: CPUs * 2 * slots */
	__type(key, u32);
	__type(value, struct event);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* by user space: CPUs */
	__type(key, u32);
	__type(value, struct ring_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ring_thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RING_STACKS);
	__type(key, u32);
	__type(value, struct ring_stack);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RING_ENDED);
	__type(key, u32);
	__type(value, struct ring_ended);
} ended SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ring_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RING_WAKINGS);
	__type(key, u32);
	__type(value, struct ring_waking);
} wakings SEC(".maps");

struct frames {
	u64 v[RING_FRAMES];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct frames);
} scratch SEC(".maps");

__u32 generation;		       /* the one that is written; chosen by user space */
const volatile __u32 slots = 1;  /* of a CPU's generation; a power of two */
const volatile bool stacks_on; /* take stacks of long waits and samples */

static const unsigned char calls[CALLS_MAX] = {CALLS(CALL_ROW)};

/* --- records --- */

static __always_inline struct ring_cpu *cpu_at(u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/* A slot that says nothing until commit(). */
static __always_inline struct event *slot_at(u32 cpu, u32 g, u64 n, u64 now, u32 thread)
{
	u32 key = (cpu * 2 + g) * slots + ((u32)n & (slots - 1));
	struct event *e = bpf_map_lookup_elem(&ring, &key);

	if (!e)
		return NULL;
	*(volatile u8 *)&e->kind = EVENT_NONE;
	e->time = now;
	e->thread = thread;
	e->cpu = n / slots;
	return e;
}

static __always_inline struct event *reserve(struct ring_cpu *c, u32 cpu, u64 now, u32 thread)
{
	u32 g = generation & 1;

	return slot_at(cpu, g, __sync_fetch_and_add(&c->head[g], 1), now, thread);
}

/* With interrupts off: no record of another program can come between, and an atomic addition costs as much as the rest
 * of the record. */
static __always_inline struct event *reserve_undisturbed(struct ring_cpu *c, u32 cpu, u64 now, u32 thread)
{
	u32 g = generation & 1;
	u64 n = *(volatile u64 *)&c->head[g];

	*(volatile u64 *)&c->head[g] = n + 1;
	return slot_at(cpu, g, n, now, thread);
}

static __always_inline void commit(struct event *e, u8 kind, u8 flags)
{
	e->flags = flags;
	barrier();
	*(volatile u8 *)&e->kind = kind;
}

/* --- the context --- */

#define CLOCK_FRESH 1000000   /* ns: for so long the two clocks are taken to run alike */
#define CLOCK_OLD   100000000 /* ns: after so long nothing is known of their difference */

/* CLOCK_MONOTONIC, from the clock that the scheduler has just read: reading it costs as much as the rest of a record. And
 * what is told agrees with what the scheduler accounts. The difference is measured every ms; what is too large in a
 * measurement is the time since the scheduler looked. */
static __always_inline u64 scheduler_time(struct ring_cpu *c, struct rq *rq)
{
	u64 clock = rq->clock, passed = clock - c->measured;
	s64 offset, above;

	if (passed < CLOCK_FRESH)
		return clock + c->offset;
	offset = bpf_ktime_get_ns() - clock;
	above = offset - c->offset;
	if (above < 0 || passed > CLOCK_OLD)
		c->offset = offset;
	else
		c->offset += above < 1024 ? above / 8 : 128;
	c->measured = clock;
	return clock + c->offset;
}

static __always_inline u32 count_runnable(struct rq *rq)
{
	if (bpf_core_field_exists(rq->cfs.h_nr_runnable))
		return rq->nr_running - (rq->cfs.h_nr_queued - rq->cfs.h_nr_runnable);
	if (bpf_core_field_exists(rq->cfs.h_nr_delayed))
		return rq->nr_running - rq->cfs.h_nr_delayed;
	return rq->nr_running;
}

static __always_inline void account_queue(struct ring_cpu *c, u64 now)
{
	u64 passed = now - c->queue_at;
	u32 n = c->queued < RING_LENGTHS ? c->queued : RING_LENGTHS - 1;

	if ((s64)passed < 0)
		return;
	c->queue_at = now;
	c->at_length[n & (RING_LENGTHS - 1)] += passed;
	if (c->queued > 1)
		c->imposed += passed * (c->queued - 1);
}

static __always_inline void charge(struct ring_thread *t, u32 sum, u64 now)
{
	s64 passed = now - t->since;

	if (passed > 0 && sum < SUM_COUNT)
		t->sum[sum] += passed;
}

/* It left the CPU untold, some time ago: the fair class knows how long it had run. Since then it slept if it is woken now, when and
 * why it began to is not known; else it was preempted. */
static __always_inline void settle_untold(struct ring_thread *t, struct task_struct *task, u64 now, bool woken)
{
	u64 ran = task->prio < 100 ? 0 : task->se.sum_exec_runtime - task->se.prev_sum_exec_runtime;
	u64 passed = now > t->since ? now - t->since : 0;

	if (ran > passed)
		ran = passed;
	t->sum[SUM_RUNNING] += ran;
	t->sum[woken ? SUM_OTHER : SUM_PREEMPTED] += passed - ran;
	t->since = now;
	t->state = STATE_UNKNOWN;
}

static __always_inline void count_loss(bool waker)
{
	u32 zero = 0;
	struct ring_counts *all = bpf_map_lookup_elem(&counts, &zero);

	if (all && waker)
		all->no_waker++;
	else if (all)
		all->no_storage++;
}

/* --- stacks --- */

static __always_inline stack_ref keep_stack(struct frames *f, u32 n)
{
	struct ring_stack *s;
	struct ring_counts *all;
	u64 hash = n;
	u32 ref, slot, zero = 0;

	if (!n || n > RING_FRAMES)
		return 0;
	for (u32 i = 0; i < RING_FRAMES; i++) {
		if (i >= n)
			break;
		hash = (hash ^ f->v[i]) * MIX;
		hash ^= hash >> 32;
	}
	ref = (u32)hash ? (u32)hash : 1;
	slot = ref & (RING_STACKS - 1);
	s = bpf_map_lookup_elem(&stacks, &slot);
	if (!s || s->ref == ref)
		return s ? ref : 0;
	if (s->ref) {
		all = bpf_map_lookup_elem(&counts, &zero);
		if (all)
			__sync_fetch_and_add(&all->stacks_replaced, 1);
	}
	*(volatile u32 *)&s->ref = 0;
	s->n = n;
	bpf_probe_read_kernel(s->frames, sizeof(s->frames), f->v);
	barrier();
	*(volatile u32 *)&s->ref = ref;
	return ref;
}

/* Whether the table still has it. */
static __always_inline bool is_kept(stack_ref ref)
{
	u32 slot = ref & (RING_STACKS - 1);
	struct ring_stack *s = bpf_map_lookup_elem(&stacks, &slot);

	return ref && s && s->ref == ref;
}

/* In whole frames; 0 = none. */
static __always_inline u32 frames_of(long bytes)
{
	return bytes > 0 && bytes <= RING_FRAMES * 8 ? (u32)bytes / 8 : 0;
}

static __always_inline stack_ref stack_here(void *ctx, u64 flags)
{
	u32 zero = 0;
	struct frames *f = bpf_map_lookup_elem(&scratch, &zero);

	return f ? keep_stack(f, frames_of(bpf_get_stack(ctx, f->v, sizeof(f->v), flags))) : 0;
}

/* Kernel frames, then user frames. */
static __always_inline stack_ref whole_stack_here(void *ctx)
{
	u32 zero = 0, kernel, user;
	struct frames *f = bpf_map_lookup_elem(&scratch, &zero);

	if (!f)
		return 0;
	kernel = frames_of(bpf_get_stack(ctx, f->v, HALF_FRAMES * 8, 0));
	if (kernel > HALF_FRAMES)
		return 0;
	user = frames_of(bpf_get_stack(ctx, f->v + kernel, HALF_FRAMES * 8, BPF_F_USER_STACK));
	return keep_stack(f, kernel + user);
}

static __always_inline stack_ref stack_of_sleeper(struct task_struct *task)
{
	u32 zero = 0;
	struct frames *f = bpf_map_lookup_elem(&scratch, &zero);

	return f ? keep_stack(f, frames_of(bpf_get_task_stack(task, f->v, sizeof(f->v), 0))) : 0;
}

/* --- what a thread waits for --- */

struct departure {
	struct wait_facts facts;
	s16 syscall;
	u64 object;
	u64 argument0, argument1;
	u64 place;
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

static __always_inline u8 call_of_socket(struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	u16 family = BPF_CORE_READ(socket, sk, __sk_common.skc_family);

	if (family == AF_UNIX)
		return CALL_LOCAL_SOCKET;
	return family == AF_NETLINK ? CALL_EVENT : CALL_SOCKET;
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

static __always_inline u8 look_at_file(struct task_struct *task, struct ring_thread *t, u32 number, u64 *ret_object)
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

	if (t && t->file_place == d->place && t->file_number == number && t->since - t->file_seen < FILE_FRESH) {
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

/* The instruction alone is mostly that of a wrapper in libc: with the depth of the stack it tells callers apart. */
static __always_inline u64 place_of(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_arm64)
	return regs->pc ^ regs->sp * MIX;
#else
	return regs->ip ^ regs->sp * MIX;
#endif
}

/* The system call a thread is in, from the registers it saved; its arguments. */
static __always_inline u8 find_call(struct task_struct *task, struct departure *d)
{
	struct pt_regs *regs;
	u32 number;

	d->syscall = EVENT_NO_SYSCALL;
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return CALL_NONE;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (!regs)
		return CALL_UNKNOWN;
	d->place = place_of(regs);
#if defined(__TARGET_ARCH_arm64)
	number = regs->syscallno;
	d->argument0 = regs->regs[0];
	d->argument1 = regs->regs[1];
#else
	if (task->thread_info.status & TS_COMPAT)
		return CALL_UNKNOWN;
	number = regs->orig_ax;
	d->argument0 = regs->di;
	d->argument1 = regs->si;
#endif
	d->syscall = number;
	if (number == (u32)-1)
		return CALL_FAULT;
	if (number >= CALLS_MAX - 1)
		return CALL_OTHER;
	/* for verifiers that have lost sight of the comparison (6.1); written so that the compiler cannot know better */
	asm volatile("%0 &= 511" : "+r"(number));
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
	else if (d->facts.call == CALL_FUTEX)
		d->object = d->argument0;
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

static __always_inline void find_kernel_lock(struct task_struct *task, const struct ring_thread *t, struct lock_facts *l)
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

		owner = BPF_CORE_READ(semaphore, owner.counter);
		if (owner & 1)
			l->flags |= LOCK_HELD_BY_READERS;
	}
	l->owner = tid_of(owner);
}

/* Only while the sleeper is current: its memory is read. */
static __always_inline void find_futex(const struct departure *d, struct lock_facts *l)
{
	u32 command = d->argument1 & FUTEX_COMMAND;
	u32 word = 0, owner = 0;

	l->object = d->argument0;
	l->flags = LOCK_FUTEX;
	bpf_probe_read_user(&word, sizeof(word), (void *)d->argument0);
	l->word = word;
	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2) {
		l->flags = LOCK_FUTEX_PI;
		l->owner = word & FUTEX_TID_MASK;
	} else if (word == LOCK_WORD_WAITED) {
		bpf_probe_read_user(&owner, sizeof(owner), (void *)(d->argument0 + GLIBC_OWNER));
		l->owner = owner;
	} else if (word & FUTEX_HAS_WAITERS) { /* a robust mutex keeps its owner in the word */
		l->owner = word & FUTEX_TID_MASK;
	}
}

/* --- switches --- */

static __always_inline bool is_throttled(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return task->throttled;
	return task->se.cfs_rq->throttle_count > 0;
}

/* Has it run past the deadline it came with, or a group above it? */
static __always_inline bool slice_is_used(struct ring_cpu *c, struct task_struct *prev)
{
	struct sched_entity *se = &prev->se;

	for (int i = 0; i < RING_LEVELS; i++) {
		if (c->deadline[i] && (s64)(se->vruntime - c->deadline[i]) >= 0)
			return true;
		se = se->parent;
		if (!se)
			return false;
	}
	return false;
}

static __always_inline void note_deadlines(struct ring_cpu *c, struct task_struct *next)
{
	struct sched_entity *se = &next->se;

	if (!bpf_core_field_exists(se->deadline))
		return;
	c->deadline[0] = 0;
	if (next->prio < 100 || !next->pid)
		return;
	for (int i = 0; i < RING_LEVELS; i++) {
		c->deadline[i] = se->deadline;
		se = se->parent;
		if (!se) {
			if (i + 1 < RING_LEVELS)
				c->deadline[i + 1] = 0;
			return;
		}
	}
}

static __always_inline void describe_preempted(struct ring_cpu *c, struct task_struct *prev, struct task_struct *next,
					       struct departure *d)
{
	d->facts.call = find_call(prev, d);
	if (d->facts.call == CALL_BY_FILE)
		d->facts.call = CALL_OTHER;
	if (is_throttled(prev))
		d->facts.flags |= WAIT_QUOTA;
	if (next->prio < 100 && next->prio < prev->prio)
		d->facts.flags |= WAIT_CLASS;
	if (!bpf_core_field_exists(prev->se.deadline))
		d->facts.flags |= WAIT_NO_DEADLINE;
	else if (c->deadline[0] && slice_is_used(c, prev))
		d->facts.flags |= WAIT_SLICE;
	if (c->arrival)
		d->facts.flags |= WAIT_ARRIVAL;
	d->object = c->arrival;
}

static __always_inline void write_lock(struct ring_cpu *c, u32 cpu, u64 now, u32 thread, const struct lock_facts *l)
{
	struct event *e = reserve_undisturbed(c, cpu, now, thread);

	if (!e)
		return;
	e->lock.object = l->object;
	e->lock.owner = l->owner;
	e->lock.word = l->word;
	commit(e, EVENT_LOCK, l->flags);
}

/* The user stack, where this thread has last waited long: it cannot be had of a sleeper. */
static __always_inline void note_place(void *ctx, struct ring_thread *t, const struct departure *d)
{
	t->place = d->place;
	if (!stacks_on || t->place != t->long_place)
		return;
	if (t->user_place != t->place || !is_kept(t->user_stack)) {
		t->user_stack = stack_here(ctx, BPF_F_USER_STACK);
		t->user_place = t->place;
	}
	t->stack = t->user_stack;
}

static __always_inline void note_quota_clock(struct task_struct *task, struct ring_thread *t)
{
	struct cfs_rq *queue = task->se.cfs_rq;

	if (!bpf_core_field_exists(queue->throttled_clock_self_time))
		return;
	t->quota_clock = queue->throttled_clock_self_time;
	t->quota_queue = (u64)queue;
}

static __always_inline void tell_dirtied(struct ring_cpu *c, u32 cpu, u64 now, struct task_struct *prev,
					 struct ring_thread *t)
{
	u64 total = prev->ioac.write_bytes;
	struct event *e;

	if (total - t->dirtied < DIRTIED_LEAST)
		return;
	e = reserve_undisturbed(c, cpu, now, prev->pid);
	if (!e)
		return;
	e->dirtied.bytes = total - t->dirtied;
	e->dirtied.total = total;
	t->dirtied = total;
	commit(e, EVENT_DIRTIED, 0);
}

static __always_inline void leave(void *ctx, struct ring_cpu *c, u32 cpu, u64 now, struct task_struct *prev,
				  struct departure *d)
{
	struct ring_thread *t = bpf_task_storage_get(&threads, prev, 0, 0);
	struct lock_facts lock = {};

	if (d->facts.state) {
		describe_blocked(prev, t, d);
		if (d->facts.flags & WAIT_KERNEL_LOCK)
			find_kernel_lock(prev, t, &lock);
		else if (d->facts.call == CALL_FUTEX && d->syscall == CALL_NUMBER_FUTEX)
			find_futex(d, &lock);
		if (lock.flags) {
			d->object = lock.object;
			write_lock(c, cpu, now, prev->pid, &lock);
		}
	}
	if (!t)
		return;
	if (t->state == STATE_RUNNING && c->current == prev->pid) {
		charge(t, SUM_RUNNING, now);
		t->sum[SUM_STOLEN] += c->stolen;
		t->sum[SUM_IMPOSED] += c->imposed;
	}
	t->since = now;
	t->state = classify(d->facts);
	if (!d->facts.state) {
		note_quota_clock(prev, t);
		return;
	}
	t->stack = 0;
	t->place = 0;
	if (d->facts.call != CALL_NONE && state_is_blocked(t->state))
		note_place(ctx, t, d);
	tell_dirtied(c, cpu, now, prev, t);
}

/* Of the wait that ends, what the group's quota took. */
static __always_inline u64 quota_taken(struct task_struct *next, struct ring_thread *t)
{
	struct cfs_rq *queue = next->se.cfs_rq;
	u64 clock;

	if (!bpf_core_field_exists(queue->throttled_clock_self_time) || t->quota_queue != (u64)queue)
		return 0;
	clock = queue->throttled_clock_self_time;
	return clock > t->quota_clock ? clock - t->quota_clock : 0;
}

static __always_inline u64 group_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

static __always_inline void come(struct ring_cpu *c, u32 cpu, u64 now, struct task_struct *next)
{
	struct ring_thread *t = bpf_task_storage_get(&threads, next, 0, 0);
	struct event *e;
	u64 took, waited;

	if (!t) {
		count_loss(false);
		return;
	}
	if (t->state == STATE_RUNNING)
		settle_untold(t, next, now, false);
	took = quota_taken(next, t);
	waited = now > t->since ? now - t->since : 0;
	if (took > waited)
		took = waited;
	if (took) {
		t->sum[SUM_QUOTA] += took;
		t->since += took;
		e = reserve_undisturbed(c, cpu, now, next->pid);
		if (e) {
			e->quota.took = took;
			e->quota.group = group_of(next);
			commit(e, EVENT_QUOTA, 0);
		}
	}
	if (t->state != STATE_UNKNOWN) /* its departure was seen */
		charge(t, sum_of_state(t->state), now);
	t->since = now;
	t->state = STATE_RUNNING;
}

/* `prev` leaves without having come: tells of the switch that brought it. Why the one before left is not known. */
static __always_inline void make_up(struct ring_cpu *c, u32 cpu, u64 now, struct task_struct *prev)
{
	u64 came = prev->sched_info.last_arrival + c->offset;
	struct event *e;

	if (!prev->pid || came <= c->since || came > now) {
		c->missed++;
		return;
	}
	come(c, cpu, came, prev);
	e = reserve_undisturbed(c, cpu, came, c->current);
	if (e) {
		e->out.next = prev->pid;
		e->out.syscall = EVENT_NO_SYSCALL;
		e->out.state = c->current ? TASK_STATE_SLEEPS : 0;
		e->out.call = c->current ? CALL_UNKNOWN : CALL_NONE;
		e->out.object = 0;
		commit(e, EVENT_SWITCH, 0);
	}
	c->since = came;
	c->current = prev->pid;
	c->deadline[0] = 0;
	c->made_up++;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct rq *rq = next->se.cfs_rq->rq;
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_cpu *c = cpu_at(cpu);
	struct departure d = {.syscall = EVENT_NO_SYSCALL};
	struct event *e;
	u64 now;

	if (!c)
		return 0;
	now = scheduler_time(c, rq);
	account_queue(c, now);
	if (c->current != prev->pid)
		make_up(c, cpu, now, prev);
	/* the state is read again: a thread that found a signal on its way to sleep stays runnable */
	d.facts.state = preempt ? 0 : press_state(prev->__state);
	if (!prev->pid) {
		u64 passed = now - c->since;

		d.facts.call = CALL_NONE;
		if (!c->current)
			c->idle += passed - (c->stolen < passed ? c->stolen : passed);
	} else {
		if (!d.facts.state)
			describe_preempted(c, prev, next, &d);
		leave(ctx, c, cpu, now, prev, &d);
	}
	if (next->pid)
		come(c, cpu, now, next);
	e = reserve_undisturbed(c, cpu, now, prev->pid);
	if (e) {
		e->out.next = next->pid;
		e->out.syscall = d.syscall;
		e->out.state = d.facts.state;
		e->out.call = d.facts.call;
		e->out.object = d.object;
		commit(e, EVENT_SWITCH, d.facts.flags);
	}
	c->since = now;
	c->current = next->pid;
	c->arrival = 0;
	c->imposed = 0;
	c->stolen = 0;
	c->switches++;
	c->queued = count_runnable(rq);
	note_deadlines(c, next);
	return 0;
}

/* --- wake-ups --- */

/* By what the entry points of interrupts have noted: the kernel's own count cannot be read everywhere. */
static __always_inline u32 waker_context(const struct ring_cpu *c, u16 *ret_vector)
{
	if (c->irq) {
		*ret_vector = c->irq - 1;
		return WAKEUP_IN_IRQ;
	}
	*ret_vector = c->softirq ? c->softirq - 1 : 0;
	return c->softirq ? WAKEUP_IN_SOFTIRQ : 0;
}

static __always_inline bool waited_long(const struct ring_thread *t, u64 now)
{
	return state_is_blocked(t->state) && (s64)(now - t->since) >= RING_LONG_WAIT;
}

/* Of the waker, who is current, kernel and user. One and the same thread mostly wakes another from the same place. */
static __always_inline stack_ref stack_of_waker(void *ctx, struct ring_thread *t)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct pt_regs *regs;
	u64 place;

	if (waker->flags & (PF_KTHREAD | PF_IO_WORKER))
		return whole_stack_here(ctx);
	regs = (struct pt_regs *)bpf_task_pt_regs(waker);
	place = place_of(regs) + waker->pid;
	if (t->waker_place != place || !is_kept(t->waker_stack)) {
		t->waker_stack = whole_stack_here(ctx);
		t->waker_place = place;
	}
	return t->waker_stack;
}

/* A wake-up that this CPU begins; `here`: it will most probably end here as well, at once, and read the time then. */
static __always_inline void note_waking(void *ctx, struct ring_cpu *c, u32 cpu, struct task_struct *task, struct ring_waking *w,
					bool here)
{
	struct ring_thread *t;
	u16 vector;

	w->thread = task->pid;
	w->waker = c->current;
	w->cpu = cpu;
	w->context = waker_context(c, &vector);
	w->vector = vector;
	w->stack = 0;
	w->time = 0;
	if (here)
		return;
	w->time = bpf_ktime_get_ns();
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (stacks_on && t && waited_long(t, w->time) && !(w->context & WAKEUP_IN_IRQ))
		w->stack = stack_of_waker(ctx, t);
}

static __always_inline struct ring_waking *waking_of(u32 thread)
{
	u32 key = thread & (RING_WAKINGS - 1);

	return bpf_map_lookup_elem(&wakings, &key);
}

#ifndef WITHOUT_KFUNCS
extern struct task_struct *bpf_task_from_pid(int pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *task) __ksym __weak;
#else
/* For kernels that have no such tracepoint either. That a kernel lacks a function, libbpf learns only with CAP_SYS_ADMIN. */
#define bpf_task_from_pid(pid) ((struct task_struct *)NULL)
#define bpf_task_release(task) ((void)(task))
#endif

/* Since 6.5: this CPU asks another one to end a wake-up. All other wake-ups end where they began, at once. */
SEC("tp_btf/csd_queue_cpu")
int BPF_PROG(on_waking_elsewhere, unsigned int target, unsigned long from, void *function, struct __call_single_data *csd)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_cpu *c = cpu_at(cpu);
	struct task_struct *task;
	struct ring_waking *w;

	if (!c || (csd->node.u_flags & CSD_FLAG_TYPE_MASK) != CSD_TYPE_TTWU)
		return 0;
	task = (void *)csd - bpf_core_field_offset(struct task_struct, wake_entry);
	task = bpf_task_from_pid(BPF_CORE_READ(task, pid));
	if (!task)
		return 0;
	w = waking_of(task->pid);
	if (w)
		note_waking(ctx, c, cpu, task, w, false);
	bpf_task_release(task);
	return 0;
}

/* Before 6.5 each wake-up may be one that ends elsewhere. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_waking *w = waking_of(task->pid);
	struct ring_cpu *c = cpu_at(cpu);

	if (w && c)
		note_waking(ctx, c, cpu, task, w, task->thread_info.cpu == cpu);
	return 0;
}

/* What the kernel does for a call that waits for another program is the same each time; on its way to a disk or for memory it may
 * wait at many places. */
static __always_inline stack_ref stack_of_wait(struct task_struct *task, struct ring_thread *t)
{
	bool same = t->state == STATE_LOCK || t->state == STATE_PEER || t->state == STATE_NETWORK;

	if (!same || t->kernel_place != t->place || !is_kept(t->kernel_stack)) {
		t->kernel_stack = stack_of_sleeper(task);
		t->kernel_place = same ? t->place : 0;
	}
	return t->kernel_stack;
}

/* Where it slept; and whether that is a place to take the user stack at next time. */
static __always_inline void tell_wait(struct ring_cpu *c, u32 cpu, u64 now, struct task_struct *task,
				      struct ring_thread *t)
{
	struct pt_regs *regs;
	stack_ref kernel;
	struct event *e;

	t->long_place = t->place;
	if (!stacks_on)
		return;
	kernel = stack_of_wait(task, t);
	e = reserve_undisturbed(c, cpu, now, task->pid);
	if (!e)
		return;
	e->waited.ip = 0;
	if (!(task->flags & PF_KTHREAD)) {
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_arm64)
		e->waited.ip = regs->pc;
#else
		e->waited.ip = regs->ip;
#endif
	}
	e->waited.kernel = kernel;
	e->waited.user = t->stack;
	commit(e, EVENT_WAITED, 0);
}

/* It began here, unless another CPU has noted that it did there. */
static __always_inline u8 fill_waker(struct event *e, u64 now, u32 cpu, struct ring_cpu *c, const struct ring_waking *w,
				     bool new)
{
	u16 vector;
	u8 context;

	e->wakeup.since_waking = 0;
	e->wakeup.stack = 0;
	if (new || !w->thread) {
		e->wakeup.waker = c->current;
		context = waker_context(c, &vector);
		e->wakeup.vector = vector;
		return new ? 0 : context;
	}
	e->wakeup.vector = 0;
	if (w->thread != e->thread) { /* another thread's of the same remainder came between, perhaps */
		e->wakeup.waker = 0;
		return WAKEUP_NO_WAKING;
	}
	e->wakeup.waker = w->waker;
	e->wakeup.vector = w->vector;
	e->wakeup.stack = w->stack;
	if (w->time && now > w->time)
		e->wakeup.since_waking = now - w->time;
	return w->context | (w->cpu != cpu ? WAKEUP_REMOTE : 0);
}

/* It left, and comes back into a queue. */
static __always_inline void end_wait(void *ctx, struct ring_cpu *c, u32 cpu, u64 now, struct task_struct *task,
				     struct ring_thread *t, struct event *e, u8 flags)
{
	bool was_long = false;

	if (!(flags & WAKEUP_NEW)) {
		was_long = waited_long(t, now);
		if (was_long && stacks_on && e && !e->wakeup.stack && !(flags & (WAKEUP_IN_IRQ | WAKEUP_REMOTE)))
			e->wakeup.stack = stack_of_waker(ctx, t);
		if (was_long)
			tell_wait(c, cpu, now, task, t);
		else if (t->place == t->long_place)
			t->long_place = 0;
	}
	charge(t, sum_of_state(t->state), now);
	t->since = now;
	t->state = STATE_RUNNABLE;
	note_quota_clock(task, t);
}

static __always_inline int wake(void *ctx, struct task_struct *task, u8 flags)
{
	u32 cpu = bpf_get_smp_processor_id();
	u32 target = task->thread_info.cpu;
	struct rq *rq = task->se.cfs_rq->rq;
	struct ring_cpu *c = cpu_at(cpu), *there = cpu_at(target);
	struct ring_thread *t = bpf_task_storage_get(&threads, task, 0, 0);
	struct ring_waking *w = waking_of(task->pid);
	bool away = t && t->state == STATE_RUNNING && !task->on_cpu; /* it left untold */
	bool queued = t && !away && !(flags & WAKEUP_NEW) && (t->state == STATE_RUNNING || state_is_runnable(t->state));
	struct event *e;
	u64 now;

	if (!c || !there || !w)
		return 0;
	/* of a thread that did not leave the scheduler asked for no time */
	now = queued ? bpf_ktime_get_ns() : scheduler_time(there, rq);
	account_queue(there, now);
	there->queued = count_runnable(rq);
	if (queued)
		flags |= WAKEUP_STILL_QUEUED;
	else
		there->arrival = task->pid;
	c->wakeups++;
	if (c->irq == EVENT_TIMER_VECTOR + 1)
		c->irq_woken++;
	/* a thread that wakes itself has interrupts on */
	e = queued ? reserve(c, cpu, now, task->pid) : reserve_undisturbed(c, cpu, now, task->pid);
	if (e) {
		e->wakeup.target = target;
		flags |= fill_waker(e, now, cpu, c, w, flags & WAKEUP_NEW);
		if (flags & WAKEUP_NO_WAKING)
			count_loss(true);
	}
	if (w->thread == task->pid)
		w->thread = 0;
	if (away)
		settle_untold(t, task, now, true);
	if (t && !queued)
		end_wait(ctx, c, cpu, now, task, t, e, flags);
	else if (!t)
		count_loss(false);
	if (e)
		commit(e, EVENT_WAKEUP, flags);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	return wake(ctx, task, 0);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	return wake(ctx, task, WAKEUP_NEW);
}

/* A thread that sleeps goes to another CPU with its wake-up, which says so. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *task, int to)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_cpu *c = cpu_at(cpu), *there = cpu_at(to);
	struct event *e;

	if (!c || !there || !task->on_rq)
		return 0;
	there->arrival = task->pid;
	e = reserve(c, cpu, bpf_ktime_get_ns(), task->pid);
	if (!e)
		return 0;
	e->word[1] = 0;
	e->migrate.by = (u32)bpf_get_current_pid_tgid();
	e->migrate.from = task->thread_info.cpu;
	e->migrate.to = to;
	commit(e, EVENT_MIGRATE, 0);
	return 0;
}

/* --- lives --- */

static __always_inline struct event *begin(struct ring_cpu **ret_c, u32 thread)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct event *e;

	*ret_c = cpu_at(cpu);
	if (!*ret_c)
		return NULL;
	e = reserve(*ret_c, cpu, bpf_ktime_get_ns(), thread);
	if (e)
		e->word[0] = e->word[1] = 0;
	return e;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct ring_thread *t = bpf_task_storage_get(&threads, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct ring_cpu *c;
	struct event *e = begin(&c, child->pid);

	if (t)
		t->since = bpf_ktime_get_ns();
	if (!e)
		return 0;
	e->fork.process = child->tgid;
	e->fork.parent = parent->pid;
	e->fork.parent_process = parent->tgid;
	commit(e, EVENT_FORK, 0);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int before)
{
	struct ring_cpu *c;
	struct event *e = begin(&c, task->pid);

	if (!e)
		return 0;
	e->exec.process = task->tgid;
	e->exec.before = before;
	commit(e, EVENT_EXEC, 0);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *name)
{
	struct ring_cpu *c;
	struct event *e = begin(&c, task->pid);

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
	u32 level;

	who->tid = task->pid;
	who->tgid = task->tgid;
	who->parent = task->real_parent->tgid;
	who->uid = task->cred->uid.val;
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
	level = BPF_CORE_READ(pid, level);
	if (level > 32)
		return;
	{
		struct upid *upid = (void *)pid + bpf_core_field_offset(pid->numbers) + level * bpf_core_type_size(struct upid);

		who->ns_tid = BPF_CORE_READ(upid, nr);
		who->pid_ns = BPF_CORE_READ(upid, ns, ns.inum);
	}
	pid = BPF_CORE_READ(leader, thread_pid);
	if (pid) {
		struct upid *upid = (void *)pid + bpf_core_field_offset(pid->numbers) + level * bpf_core_type_size(struct upid);

		who->ns_tgid = BPF_CORE_READ(upid, nr);
	}
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct ring_counts *all;
	struct ring_ended *slot;
	struct ring_thread *t;
	struct ring_cpu *c;
	u64 now;
	struct event *e = begin(&c, task->pid);
	u32 zero = 0, key;

	if (e) {
		e->exit.process = task->tgid;
		e->exit.code = task->exit_code;
		commit(e, EVENT_EXIT, task->signal->live.counter == 0 ? EXIT_GROUP : 0);
	}
	all = bpf_map_lookup_elem(&counts, &zero);
	if (!all)
		return 0;
	key = __sync_fetch_and_add(&all->ended, 1) & (RING_ENDED - 1);
	slot = bpf_map_lookup_elem(&ended, &key);
	if (!slot)
		return 0;
	*(volatile u64 *)&slot->end = 0;
	identify(task, &slot->who);
	slot->utime = task->utime;
	slot->stime = task->stime;
	now = bpf_ktime_get_ns();
	t = bpf_task_storage_get(&threads, task, 0, 0);
	for (int i = 0; i < SUM_COUNT; i++)
		slot->sum[i] = t ? t->sum[i] : 0;
	if (t && now > t->since)
		slot->sum[SUM_RUNNING] += now - t->since;
	barrier();
	*(volatile u64 *)&slot->end = now;
	return 0;
}

/* --- interrupts --- */

static __always_inline void end_irq(struct ring_cpu *c, u32 cpu, u32 number, u8 flags)
{
	u64 now = bpf_ktime_get_ns(), took = now - c->irq_from;
	struct event *e;

	if (!c->irq_from)
		return;
	c->irq_from = 0;
	c->irq = 0;
	c->irq_total += took;
	c->stolen += took;
	if (flags & IRQ_TIMER)
		c->timer_time += took;
	else
		c->irq_time += took;
	e = reserve(c, cpu, now, (u32)bpf_get_current_pid_tgid());
	if (!e)
		return;
	e->interrupt.took = took;
	e->interrupt.number = number;
	e->interrupt.nested = 0;
	commit(e, EVENT_IRQ, flags);
}

static __always_inline struct ring_cpu *here(u32 *ret_cpu)
{
	*ret_cpu = bpf_get_smp_processor_id();
	return cpu_at(*ret_cpu);
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq, int irq)
{
	u32 cpu;
	struct ring_cpu *c = here(&cpu);

	if (c) {
		c->irq_from = bpf_ktime_get_ns();
		c->irq = irq + 1;
	}
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_end, int irq)
{
	u32 cpu;
	struct ring_cpu *c = here(&cpu);

	if (c)
		end_irq(c, cpu, irq, 0);
	return 0;
}

SEC("tp_btf/local_timer_entry")
int BPF_PROG(on_timer)
{
	u32 cpu;
	struct ring_cpu *c = here(&cpu);
	u32 n;

	if (!c)
		return 0;
	n = c->queued < RING_LENGTHS ? c->queued : RING_LENGTHS - 1;
	c->seen_length[n & (RING_LENGTHS - 1)]++;
	c->irq_from = bpf_ktime_get_ns();
	c->irq = EVENT_TIMER_VECTOR + 1;
	c->irq_woken = 0;
	return 0;
}

/* 1, 2, 3-4, 5-8 ... */
static __always_inline u32 burst_class(u32 n)
{
	u32 class = 0;

	for (u32 limit = 1; class < RING_BURSTS - 1 && n > limit; limit *= 2)
		class++;
	return class;
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(on_timer_end)
{
	u32 cpu;
	struct ring_cpu *c = here(&cpu);

	if (!c)
		return 0;
	if (c->irq_woken) {
		c->bursts[burst_class(c->irq_woken) & (RING_BURSTS - 1)]++;
		if (c->irq_woken > c->largest_burst)
			c->largest_burst = c->irq_woken;
	}
	end_irq(c, cpu, 0, IRQ_TIMER);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq, unsigned int vector)
{
	u32 cpu;
	struct ring_cpu *c = here(&cpu);

	if (c) {
		c->softirq = vector + 1;
		c->softirq_nested = c->irq_total;
		c->softirq_from = bpf_ktime_get_ns();
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_end, unsigned int vector)
{
	u32 cpu;
	struct ring_cpu *c = here(&cpu);
	u64 now, took, nested;
	struct event *e;

	if (!c || !c->softirq_from)
		return 0;
	now = bpf_ktime_get_ns();
	took = now - c->softirq_from;
	nested = c->irq_total - c->softirq_nested;
	if (nested > took)
		nested = took;
	c->softirq_from = 0;
	c->softirq = 0;
	c->stolen += took - nested;
	if (vector < RING_SOFTIRQS)
		c->softirq_time[vector] += took - nested;
	e = reserve(c, cpu, now, (u32)bpf_get_current_pid_tgid());
	if (!e)
		return 0;
	e->interrupt.took = took;
	e->interrupt.number = vector;
	e->interrupt.nested = nested;
	commit(e, EVENT_SOFTIRQ, 0);
	return 0;
}

/* --- disks --- */

static __always_inline u8 block_flags(u32 flags)
{
	u8 op = flags & 0xff, found = 0;

	if (op == 1 || op == 9)
		found |= BLOCK_WRITE;
	if (op == 2 || (flags & (REQ_FUA | REQ_PREFLUSH)))
		found |= BLOCK_FLUSH;
	if (op == 3 || op == 5)
		found |= BLOCK_DISCARD;
	if (flags & REQ_SYNC)
		found |= BLOCK_SYNC;
	if (flags & REQ_META)
		found |= BLOCK_META;
	if (flags & REQ_RAHEAD)
		found |= BLOCK_READ_AHEAD;
	return found;
}

static __always_inline int tell_request(struct request *rq, u32 bytes, u8 kind, u8 more)
{
	struct ring_cpu *c;
	struct event *e = begin(&c, (u32)bpf_get_current_pid_tgid());
	struct gendisk *disk;

	if (!e)
		return 0;
	disk = rq->q->disk;
	e->block.request = (u64)rq;
	e->block.device = disk ? (u32)disk->major << 20 | (u32)disk->first_minor : 0;
	e->block.sectors = bytes >> 9;
	commit(e, kind, block_flags(rq->cmd_flags) | more);
	return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_block_insert, struct request *rq)
{
	return tell_request(rq, rq->__data_len, EVENT_BLOCK_INSERT, 0);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_block_issue, struct request *rq)
{
	return tell_request(rq, rq->__data_len, EVENT_BLOCK_ISSUE, 0);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_block_complete, struct request *rq, unsigned char error, unsigned int bytes)
{
	return tell_request(rq, bytes, EVENT_BLOCK_COMPLETE, error ? BLOCK_FAILED : 0);
}

/* --- memory --- */

static __always_inline int reclaim(u8 kind, u8 flags, u32 order, u64 pages)
{
	struct ring_cpu *c;
	struct event *e = begin(&c, (u32)bpf_get_current_pid_tgid());

	if (!e)
		return 0;
	e->reclaim.pages = pages;
	e->reclaim.order = order;
	commit(e, kind, flags);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(on_reclaim, int order)
{
	return reclaim(EVENT_RECLAIM_BEGIN, 0, order, 0);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(on_reclaim_end, unsigned long pages)
{
	return reclaim(EVENT_RECLAIM_END, 0, 0, pages);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(on_group_reclaim, int order)
{
	return reclaim(EVENT_RECLAIM_BEGIN, RECLAIM_GROUP, order, 0);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(on_group_reclaim_end, unsigned long pages)
{
	return reclaim(EVENT_RECLAIM_END, RECLAIM_GROUP, 0, pages);
}

/* --- locks of the kernel --- */

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention, void *lock, unsigned int flags)
{
	struct ring_thread *t;

	if ((flags & CONTENTION_SPIN) && !(flags & CONTENTION_MUTEX))
		return 0;
	t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
	if (!t)
		return 0;
	t->lock = (u64)lock;
	if (flags & CONTENTION_RT)
		t->lock_flags = LOCK_RT;
	else if (flags & CONTENTION_READ)
		t->lock_flags = LOCK_RW_READ;
	else if (flags & CONTENTION_WRITE)
		t->lock_flags = LOCK_RW_WRITE;
	else
		t->lock_flags = LOCK_MUTEX;
	if (flags & CONTENTION_PERCPU) /* another struct than rw_semaphore: its owner is not kept where that has it */
		t->lock_flags = LOCK_RT;
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(on_contention_end, void *lock)
{
	struct ring_thread *t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);

	if (t)
		t->lock_flags = 0;
	return 0;
}

/* --- the profile --- */

SEC("perf_event")
int on_sample(void *ctx)
{
	struct ring_cpu *c;
	u32 thread = (u32)bpf_get_current_pid_tgid();
	stack_ref kernel = 0, user;
	struct event *e;
	bool in_user;
	u64 ip;

	if (!thread)
		return 0;
	ip = *(volatile u64 *)(ctx + INSTRUCTION_POINTER);
	in_user = !(ip >> 63);
	if (!in_user)
		kernel = stack_here(ctx, 0);
	user = stack_here(ctx, BPF_F_USER_STACK);
	e = begin(&c, thread);
	if (!e)
		return 0;
	e->sample.ip = ip;
	e->sample.kernel = kernel;
	e->sample.user = user;
	commit(e, EVENT_SAMPLE, in_user ? SAMPLE_USER : 0);
	return 0;
}

/* --- a look at every thread --- */

static __always_inline void look_at(struct task_struct *task, struct ring_thread *t, struct ring_task *r, u64 now)
{
	struct departure d = {.syscall = EVENT_NO_SYSCALL};
	struct lock_facts lock = {};

	d.facts.state = press_state(task->__state);
	if (task->exit_state)
		d.facts.state |= TASK_STATE_ENDED;
	if (d.facts.state) {
		describe_blocked(task, t, &d);
		if (d.facts.flags & WAIT_KERNEL_LOCK)
			find_kernel_lock(task, t, &lock);
	}
	r->facts = d.facts;
	r->syscall = d.syscall;
	r->object = lock.flags ? lock.object : d.object;
	r->owner = lock.owner;
	r->lock_flags = lock.flags;
	if (task->on_cpu)
		r->state = STATE_RUNNING;
	else if (!d.facts.state)
		r->state = t && state_is_runnable(t->state) ? t->state : STATE_RUNNABLE;
	else
		r->state = classify(d.facts);
}

SEC("iter/task")
int look(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ring_thread *t;
	struct task_delay_info *delays;
	struct ring_task r = {};
	u64 now = bpf_ktime_get_ns();

	if (!task || !task->pid)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	identify(task, &r.who);
	look_at(task, t, &r, now);
	r.cpu = task->thread_info.cpu;
	r.cpu_time = task->se.sum_exec_runtime;
	r.run_delay = task->sched_info.run_delay;
	r.switches = task->sched_info.pcount;
	r.write_bytes = task->ioac.write_bytes;
	delays = task->delays;
	r.disk_delay = delays ? delays->blkio_delay : 0;
	r.utime = task->utime;
	r.stime = task->stime;
	if (t) {
		u32 going = sum_of_state(t->state);

		r.since = t->since;
		r.has_sums = 1;
		for (int i = 0; i < SUM_COUNT; i++)
			r.sum[i] = t->sum[i];
		if (going < SUM_COUNT && now > t->since)
			r.sum[going] += now - t->since;
	}
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}

/* Threads that were there before the programs: gives them storage, and says what they do unless a switch just did. */
SEC("iter/task")
int adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct departure d = {.syscall = EVENT_NO_SYSCALL};
	struct ring_thread *t;
	u8 state;

	if (!task || !task->pid)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t || t->since)
		return 0;
	d.facts.state = press_state(task->__state);
	if (d.facts.state)
		describe_blocked(task, t, &d);
	state = task->on_cpu ? STATE_RUNNING : d.facts.state ? classify(d.facts) : STATE_RUNNABLE;
	if (t->since)
		return 0;
	t->dirtied = task->ioac.write_bytes;
	t->state = state;
	t->since = bpf_ktime_get_ns();
	return 0;
}
