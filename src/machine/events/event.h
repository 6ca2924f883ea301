/* One event of the flight recorder: 32 bytes. Freestanding: the BPF programs write it, user space reads it.
 *
 * Time is CLOCK_MONOTONIC, ns (bpf_ktime_get_ns()), taken when the tracepoint ran. Thread numbers are those of the
 * initial pid namespace; 0 is the idle thread of the record's CPU. Events of one CPU are in order of time but for what
 * an interrupt wrote amid another's writing, and for EVENT_IRQ and EVENT_SOFTIRQ, which are written when they end.
 *
 * Kinds and layouts are persisted: kinds are never renumbered, fields are only added where there is room (written as 0
 * before). A reader skips kinds it does not know and counts them.
 */
#pragma once

#include "machine/events/classify.h"

/* Persisted: never renumber. */
enum event_kind {
	EVENT_NONE = 0,		  /* a slot never written, or torn */
	EVENT_SWITCH = 1,	  /* sched_switch */
	EVENT_WAKEUP = 2,	  /* sched_wakeup, sched_wakeup_new; with what sched_waking knew */
	EVENT_MIGRATE = 3,	  /* sched_migrate_task of a thread that stands in a run queue */
	EVENT_FORK = 4,
	EVENT_EXEC = 5,
	EVENT_EXIT = 6,
	EVENT_NAME = 7,		  /* new comm: after EXEC, or by prctl */
	EVENT_IRQ = 8,		  /* a device's interrupt or the timer's, when it ends */
	EVENT_SOFTIRQ = 9,	  /* a soft interrupt, when it ends; short ones of one kind and one stint together (SOFTIRQ_TOGETHER) */
	EVENT_BLOCK_INSERT = 10,  /* a request enters the I/O scheduler; missing with scheduler `none` */
	EVENT_BLOCK_ISSUE = 11,	  /* a request goes to the device */
	EVENT_BLOCK_COMPLETE = 12,
	EVENT_RECLAIM_BEGIN = 13, /* the thread frees memory itself (direct reclaim) */
	EVENT_RECLAIM_END = 14,
	EVENT_MARKER = 15,	  /* an application's or a person's; long texts continue in EVENT_MARKER_TEXT */
	EVENT_MARKER_TEXT = 16,
	EVENT_SAMPLE = 17,	  /* profile: what the thread was executing */
	EVENT_WAITED = 18,	  /* follows a WAKEUP that ended a wait of 1 ms or more: where the thread slept */
	EVENT_LOCK = 19,	  /* precedes the SWITCH of a thread that waits for a lock: whose it is */
	EVENT_QUOTA = 20,	  /* precedes the SWITCH that brings `thread` back after its group was throttled */
	EVENT_DIRTIED = 21,	  /* precedes a SWITCH: bytes the thread dirtied for storage since its last such record */
	EVENT_KIND_END
};

/* event.flags of each kind. Persisted. */
enum {
	/* EVENT_SWITCH: enum wait_flags of the thread that leaves */

	/* EVENT_WAKEUP: the context the waker was in */
	WAKEUP_IN_IRQ = 1,	   /* hard interrupt: `waker` is a bystander */
	WAKEUP_IN_SOFTIRQ = 2,	   /* soft interrupt: a bystander too (but ksoftirqd serves on its own time) */
	WAKEUP_NEW = 4,		   /* first wake-up of a new thread */
	WAKEUP_STILL_QUEUED = 8,   /* the target had not left its CPU or queue: no wait ended, none begins */
	WAKEUP_NO_WAKING = 16,	   /* its sched_waking was not seen: waker and context are unknown */
	WAKEUP_REMOTE = 32,	   /* queued by an interrupt on the target's CPU; `waker` is still the true one */
	WAKEUP_SENT = 64,	   /* network work of a soft interrupt that no interrupt raised: `waker` has sent to this machine itself */

	/* EVENT_IRQ */
	IRQ_TIMER = 1,		   /* the local timer; `number` is 0 */

	/* EVENT_BLOCK_* */
	BLOCK_WRITE = 1,
	BLOCK_SYNC = 2,
	BLOCK_META = 4,
	BLOCK_FLUSH = 8,	   /* flush or FUA */
	BLOCK_READ_AHEAD = 16,
	BLOCK_DISCARD = 32,
	BLOCK_FAILED = 64,	   /* COMPLETE with an error */

	/* EVENT_RECLAIM_* */
	RECLAIM_GROUP = 1,	   /* within a control group's limit */

	/* EVENT_SAMPLE */
	SAMPLE_USER = 1,	   /* in user mode; else in the kernel */

	/* EVENT_LOCK */
	LOCK_FUTEX = 1,		   /* `owner` as user space noted it: number in the sleeper's pid namespace, 0 = not known */
	LOCK_FUTEX_PI = 2,	   /* `owner` from the futex word: number in the sleeper's pid namespace */
	LOCK_MUTEX = 4,		   /* kernel; `owner` in the initial namespace, 0 = not known */
	LOCK_RW_READ = 8,	   /* kernel rw_semaphore, wanted for reading */
	LOCK_RW_WRITE = 16,
	LOCK_RT = 32,		   /* rt_mutex, the kernel's side of a PI futex */
	LOCK_HELD_BY_READERS = 64, /* `owner` is the last reader that took it: a hint */

	/* EVENT_MARKER */
	MARKER_FROM_PERSON = 1,	   /* `whyslow mark --trace` */
	MARKER_BEGIN = 2,	   /* of a span; ends with MARKER_END of the same thread */
	MARKER_END = 4,

	/* EVENT_EXIT */
	EXIT_GROUP = 1,		   /* the process's last thread */
};

/* Soft interrupts, ns. */
#define SOFTIRQ_TOGETHER 50000	 /* shorter ones become one record, when they took that long or the thread leaves the CPU */
#define SOFTIRQ_NEAR	 1000000 /* those that began within so long */
#define SOFTIRQ_RAISED	 3000	 /* work that an interrupt raised begins that soon after it */
#define SOFTIRQ_NET_RX	 3	 /* the kernel's number of received network packets' work */

#define EVENT_TEXT 16 /* bytes of text in a record, not NUL-terminated when full */

/* References to stacks: the low bits are a slot of the stack table, all of them the stack's hash: a slot that was used
 * for another stack since no longer bears the reference. 0 = no stack. */
typedef event_u32 stack_ref;

struct event {
	event_u64 time;	  /* CLOCK_MONOTONIC, ns */
	event_u32 thread; /* whom it is about */
	event_u16 cpu;	  /* on which it was written (in the ring itself: the lap, by which readers know torn slots) */
	event_u8 kind;
	event_u8 flags;
	union {
		/* SWITCH: `thread` leaves `cpu`, `next` comes. */
		struct {
			event_u32 next;
			event_s16 syscall; /* its number; -1 = a fault, -2 = none or not known. Of the recording machine */
			event_u8 state;	   /* enum task_state bits of the one that leaves; 0 = preempted */
			event_u8 call;	   /* enum wait_call */
			/* what it waits on: futex address, kernel lock, inode of the pipe, socket; 0 = nothing known. Preempted:
			 * the thread that last was woken or moved here in its stint (WAIT_ARRIVAL) */
			event_u64 object;
		} out;
		/* WAKEUP: `thread` stands in the run queue of `target` from `time` on; its wait ended when the waker called,
		 * `since_waking` ns before. run_delay begins at `time`. */
		struct {
			event_u32 waker;  /* on the waker's CPU at that moment; in interrupts a bystander */
			event_u16 target; /* CPU */
			event_u16 vector; /* WAKEUP_IN_SOFTIRQ: its number; WAKEUP_IN_IRQ: the interrupt's, 0xffff = the timer */
			event_u32 since_waking;
			stack_ref stack;  /* of the waker, kernel and user; waits of 1 ms or more only */
		} wakeup;
		struct {
			event_u32 by; /* the thread that ran where it was decided */
			event_u16 from, to;
		} migrate;
		/* FORK: `thread` is the child. Its first WAKEUP follows. */
		struct {
			event_u32 process; /* the child's */
			event_u32 parent;  /* the thread that forked */
			event_u32 parent_process;
		} fork;
		/* EXEC: before it the thread had the number `before` (another thread than the leader may call it) */
		struct {
			event_u32 process, before;
		} exec;
		struct {
			event_u32 process;
			event_u32 code; /* as wait4() tells it */
		} exit;
		char text[EVENT_TEXT]; /* NAME, MARKER, MARKER_TEXT */
		/* IRQ, SOFTIRQ: served from `time` - `took` to `time` on `cpu`, while `thread` was current. */
		struct {
			event_u64 took;	  /* ns, interrupts within it included: they have records of their own */
			event_u32 number; /* the interrupt line or the soft interrupt's vector */
			event_u32 nested; /* ns of `took` that those took */
		} interrupt;
		/* BLOCK_*: `thread` was current: the owner at INSERT and mostly at ISSUE, a bystander at COMPLETE. */
		struct {
			event_u64 request; /* the same number in all events of one request; used again afterwards */
			event_u32 device;  /* major << 20 | minor */
			event_u32 sectors; /* of 512 bytes */
		} block;
		struct {
			event_u64 pages; /* END: freed */
			event_u32 order; /* BEGIN: of the allocation */
		} reclaim;
		struct {
			event_u64 ip;
			stack_ref kernel, user;
		} sample;
		/* WAITED: the sleeper's stacks. The user stack is that of the switch-out, and only where the thread had waited
		 * long at this place before; else its instruction pointer is all. */
		struct {
			event_u64 ip; /* in user space; 0 = a kernel thread */
			stack_ref kernel, user;
		} waited;
		struct {
			event_u64 object; /* the futex's address in the process, or the kernel lock's */
			event_u32 owner;  /* when the wait began; see the LOCK_ flags for whose numbers */
			event_u32 word;	  /* futex: its value */
		} lock;
		/* QUOTA: of the time since it left the CPU or was woken, its group (or one above) was throttled for `took`. */
		struct {
			event_u64 took;	 /* ns */
			event_u64 group; /* the thread's control group: its id */
		} quota;
		struct {
			event_u64 bytes;
			event_u64 total; /* of the thread, ever */
		} dirtied;
		event_u64 word[2];
	};
};

_Static_assert(sizeof(struct event) == 32, "the ring's slots are 32 bytes");

#define EVENT_NO_SYSCALL (-2)
#define EVENT_TIMER_VECTOR 0xffff

static inline struct wait_facts event_facts(const struct event *e)
{
	struct wait_facts facts = {e->out.state, e->flags, e->out.call};

	return facts;
}
