/* What a thread that is not running waits for: one classifier, for the BPF programs and for user space. Freestanding.
 *
 * The kernel says at sched_switch why a thread left the CPU; classify() makes one state of it. The order of its questions
 * matters and is that of docs/decisions (a thread in reclaim also waits for a disk). What a later event tells is not its
 * business: the waker's context, the owner of a lock, the quota's clock at the next switch-in.
 */
#pragma once

#ifdef __bpf__
typedef unsigned long long event_u64;
typedef long long event_s64;
typedef unsigned int event_u32;
typedef unsigned short event_u16;
typedef short event_s16;
typedef unsigned char event_u8;
#else
#include <stdint.h>
typedef uint64_t event_u64;
typedef int64_t event_s64;
typedef uint32_t event_u32;
typedef uint16_t event_u16;
typedef int16_t event_s16;
typedef uint8_t event_u8;
#endif

/* Persisted: never renumber. Each ns of each thread is in exactly one. */
enum thread_state {
	STATE_UNKNOWN = 0,	     /* before the first event that tells; after a gap */
	STATE_RUNNING = 1,	     /* on a CPU (interrupts that are served on its time included) */
	STATE_RUNNABLE = 2,	     /* woken or new, and not yet on a CPU */
	STATE_PREEMPTED_SLICE = 3,   /* it had used its slice, or a group it is in had */
	STATE_PREEMPTED_ARRIVAL = 4, /* overtaken: a thread was woken or moved here while it ran */
	STATE_PREEMPTED_CLASS = 5,   /* overtaken by a higher scheduling class or real-time priority */
	STATE_PREEMPTED_OTHER = 6,   /* preempted, and none of the above is known to be why */
	STATE_YIELDED = 7,	     /* sched_yield() */
	STATE_QUOTA = 8,	     /* its control group, or one above, has used up its CPU quota */
	STATE_LOCK = 9,		     /* a lock of user space (a futex that is one), or of a file */
	STATE_KERNEL_LOCK = 10,	     /* a mutex, semaphore or rt_mutex in the kernel; PI futexes too */
	STATE_DISK = 11,	     /* block I/O, or a file system's journal */
	STATE_FAULT = 12,	     /* a page fault that neither reads a disk nor frees memory */
	STATE_RECLAIM = 13,	     /* it frees memory itself, or waits for pages that were evicted a moment ago */
	STATE_NETWORK = 14,	     /* a socket to another machine (or through the loopback interface) */
	STATE_PEER = 15,	     /* a pipe, a local socket, a message queue: a process of this machine */
	STATE_TIMER = 16,	     /* it asked to sleep */
	STATE_IDLE = 17,	     /* waits for work: poll, epoll, accept, signals, event descriptors. Not blocked! */
	STATE_CHILD = 18,	     /* wait4(), vfork() */
	STATE_STOPPED = 19,	     /* by a signal, a debugger, a frozen group */
	STATE_ENDED = 20,
	STATE_IDLE_KERNEL = 21,	     /* a kernel thread without work */
	STATE_OTHER = 22,	     /* blocked, and nothing says on what */
	STATE_CONDITION = 23,	     /* a futex without a lock: waits for a signal of another thread, and perhaps for work */
	STATE_COUNT
};

/* What kind of call a thread was in, the kind of the file it was called for included. Machine-independent, so that a
 * trace can be read on another architecture. Persisted: never renumber. */
enum wait_call {
	CALL_UNKNOWN = 0,     /* not recorded, or a 32-bit program's */
	CALL_NONE = 1,	      /* a kernel thread */
	CALL_FAULT = 2,	      /* no system call: an exception, in a blocked thread a page fault */
	CALL_FUTEX = 3,	      /* for what is not known: of earlier recordings, and of calls for several futexes */
	CALL_SLEEP = 4,	      /* nanosleep, clock_nanosleep */
	CALL_POLL = 5,	      /* poll, select, epoll_wait, io_getevents, io_uring_enter */
	CALL_CHILD = 6,	      /* wait4, waitid, vfork */
	CALL_SIGNAL = 7,      /* pause, sigsuspend, sigtimedwait */
	CALL_FILE = 8,	      /* on a regular file or folder, and what changes or syncs file systems */
	CALL_PIPE = 9,
	CALL_LOCAL_SOCKET = 10,
	CALL_SOCKET = 11,
	CALL_ACCEPT = 12,
	CALL_EVENT = 13,      /* read of an eventfd, timerfd, inotify, signalfd ... */
	CALL_TERMINAL = 14,
	CALL_MESSAGE = 15,    /* SysV and POSIX message queues, SysV semaphores */
	CALL_FILE_LOCK = 16,  /* flock, fcntl(F_SETLKW) */
	CALL_YIELD = 17,
	CALL_DEVICE = 18,     /* read, write, ioctl of a device */
	CALL_OTHER = 19,
	CALL_LOCK = 20,	      /* futex, for a lock (machine/events/futex.h) */
	CALL_CONDITION = 21,  /* futex, for a signal */
	CALL_SOCKET_HERE = 22, /* as CALL_SOCKET, and the other end has an address of this machine */
	CALL_COUNT
};

/* task_struct.__state, pressed into a byte. Persisted. */
enum task_state {
	TASK_STATE_RUNNABLE = 0,
	TASK_STATE_SLEEPS = 1,	   /* S: interruptible */
	TASK_STATE_BLOCKED = 2,	   /* D: uninterruptible */
	TASK_STATE_STOPPED = 4,	   /* T */
	TASK_STATE_TRACED = 8,	   /* t */
	TASK_STATE_ENDED = 16,	   /* X, Z */
	TASK_STATE_PARKED = 32,	   /* P: a kernel thread set aside */
	TASK_STATE_NO_LOAD = 64,   /* with D: I, idle */
	TASK_STATE_KILLABLE = 128, /* with D: only a deadly signal ends it */
};

/* What else was true of it when it left the CPU. Persisted. */
enum wait_flags {
	WAIT_IO = 1,	      /* in_iowait */
	WAIT_MEMORY = 2,      /* in_memstall or in_thrashing */
	WAIT_KERNEL_LOCK = 4, /* blocked_on, pi_blocked_on, or between lock:contention_begin and _end */
	WAIT_QUOTA = 8,	      /* throttled */
	WAIT_CLASS = 16,      /* runnable; who came next is of a higher class or real-time priority */
	WAIT_SLICE = 32,      /* runnable; it or a group above it ran past its deadline in this stint (kernel 6.6) */
	WAIT_ARRIVAL = 64,    /* runnable; a thread was woken or moved to this CPU since it came */
	WAIT_NO_DEADLINE = 128, /* the kernel keeps no deadlines: WAIT_SLICE cannot be known */
};

struct wait_facts {
	event_u8 state; /* enum task_state bits */
	event_u8 flags; /* enum wait_flags */
	event_u8 call;	/* enum wait_call */
};

/* Preempted: the kernel's `preempt` argument is not asked, because a preemption on the way back to user space does not
 * set it. Before 6.6 a thread that was neither throttled nor overtaken can only have been sent away by the tick that
 * found its slice used. */
static inline __attribute__((always_inline)) enum thread_state classify_runnable(struct wait_facts f)
{
	if (f.flags & WAIT_QUOTA)
		return STATE_QUOTA;
	if (f.call == CALL_YIELD)
		return STATE_YIELDED;
	if (f.flags & WAIT_CLASS)
		return STATE_PREEMPTED_CLASS;
	if (f.flags & WAIT_SLICE)
		return STATE_PREEMPTED_SLICE;
	if (f.flags & WAIT_ARRIVAL)
		return STATE_PREEMPTED_ARRIVAL;
	return f.flags & WAIT_NO_DEADLINE ? STATE_PREEMPTED_SLICE : STATE_PREEMPTED_OTHER;
}

/* Tables, and as long as a byte can count: the BPF programs read them without a comparison. */
#define EVENT_BYTES 256

static inline __attribute__((always_inline)) enum thread_state classify_call(event_u8 call)
{
	static const event_u8 states[EVENT_BYTES] = {
		[CALL_FAULT] = STATE_FAULT,
		[CALL_FUTEX] = STATE_CONDITION,
		[CALL_CONDITION] = STATE_CONDITION,
		[CALL_LOCK] = STATE_LOCK,
		[CALL_FILE_LOCK] = STATE_LOCK,
		[CALL_SLEEP] = STATE_TIMER,
		[CALL_POLL] = STATE_IDLE,
		[CALL_SIGNAL] = STATE_IDLE,
		[CALL_ACCEPT] = STATE_IDLE,
		[CALL_EVENT] = STATE_IDLE,
		[CALL_TERMINAL] = STATE_IDLE,
		[CALL_CHILD] = STATE_CHILD,
		[CALL_FILE] = STATE_DISK,
		[CALL_PIPE] = STATE_PEER,
		[CALL_LOCAL_SOCKET] = STATE_PEER,
		[CALL_MESSAGE] = STATE_PEER,
		[CALL_SOCKET] = STATE_NETWORK,
		[CALL_SOCKET_HERE] = STATE_NETWORK,
	};

	return states[call] ? (enum thread_state)states[call] : STATE_OTHER;
}

static inline __attribute__((always_inline)) enum thread_state classify_blocked(struct wait_facts f)
{
	if (f.state & (TASK_STATE_STOPPED | TASK_STATE_TRACED))
		return STATE_STOPPED;
	/* kernel threads sleep in S or I until there is work; in D without either they wait for something */
	if (f.call == CALL_NONE && (!(f.state & TASK_STATE_BLOCKED) || (f.state & (TASK_STATE_NO_LOAD | TASK_STATE_PARKED))) &&
	    !(f.flags & (WAIT_IO | WAIT_KERNEL_LOCK | WAIT_MEMORY)))
		return STATE_IDLE_KERNEL;
	if (f.flags & WAIT_KERNEL_LOCK)
		return STATE_KERNEL_LOCK;
	if (f.flags & WAIT_MEMORY)
		return STATE_RECLAIM;
	if (f.flags & WAIT_IO)
		return STATE_DISK;
	return classify_call(f.call);
}

/* The state of a thread from its switch-out to its wake-up (blocked) or to its next switch-in (preempted). */
static inline __attribute__((always_inline)) enum thread_state classify(struct wait_facts f)
{
	if (f.state & TASK_STATE_ENDED)
		return STATE_ENDED;
	return f.state == TASK_STATE_RUNNABLE ? classify_runnable(f) : classify_blocked(f);
}

/* Ready, and kept from a CPU. */
static inline int thread_state_is_runnable(enum thread_state s)
{
	return s >= STATE_RUNNABLE && s <= STATE_QUOTA;
}

/* Waits for something that something owes it: what counts as blocked. */
static inline int thread_state_is_blocked(enum thread_state s)
{
	return (s >= STATE_LOCK && s <= STATE_PEER) || s == STATE_OTHER || s == STATE_CONDITION;
}
