/* The flight recorder's BPF programs share this with user space, next to the events. Freestanding; private to one build:
 * nothing here is persisted.
 *
 * The ring is one array of events: for each CPU two generations of `slots` each, [(cpu * 2 + generation) * slots, ...).
 * Programs write the generation that user space has chosen. A slot holds the lap of its generation's counter in `cpu` (event.h): a slot
 * of another lap than its position says was overwritten or is torn.
 *
 * A record is not written where it will stay: that memory lies in no cache, and the CPU would wait for it at the next atomic
 * instruction. It goes to a small stage, of two blocks of records that are used in turn; when a block is full and the next one half so
 * (by then the one that was interrupted amid a record of it has ended it), it is copied to its place as a whole.
 */
#pragma once

#include "machine/events/event.h"
#include "machine/events/poll.h"

#define RING_GENERATIONS 2
#define RING_BLOCK_BITS	 6
#define RING_BLOCK	 (1 << RING_BLOCK_BITS) /* records */
#define RING_STAGED	 (2 * RING_BLOCK)
#define RING_LEVELS	 6     /* a thread's scheduling entity and the groups above it */
#define RING_LENGTHS	 16    /* run-queue lengths distinguished; the last is "15 or more" */
#define RING_SOFTIRQS	 10
#define RING_BURSTS	 8     /* threads woken by one timer interrupt: 1, 2, 3-4, 5-8 ... */
#define RING_STACKS	 16384 /* slots of the stack table; a power of two */
#define RING_FRAMES	 48
#define RING_ENDED	 16384 /* threads that ended, remembered by name; a power of two */
#define RING_WAKINGS	 8192  /* wake-ups under way at a time; a power of two */
#define RING_LONG_WAIT	 1000000 /* ns: from here on stacks are taken */
#define RING_SPELLS	 8	/* for each a thread's longest wait is kept */
#define RING_SPELL_BITS	 34	/* of 2^34 ns, 17 s */
#define RING_WAIT_BITS	 20	/* in units of about 1 ms */
#define RING_LATELY	 20000000000ull /* ns */
#define RING_THREADS	 8192 /* slots for threads, by number; a power of two */
#define RING_WOKEN_WORDS 1024 /* of 64 bits, by numbers of processes; a power of two */
#define RING_COMM	 16
#define RING_PROFILE_CPU 512 /* stacks of programs that are added up at a time, for each CPU, and at least */
#define RING_PROFILE_LEAST 2048

/* The longest of each is kept. */
enum ring_longest {
	LONGEST_AWAITED, /* waits for what others do, or for events */
	LONGEST_SLEPT,	 /* as long as it asked for */
	RING_LONGEST_KINDS
};

/* The parts of a thread's time that are added up in the kernel. An index into ring_thread.sum. */
enum ring_sum {
	SUM_RUNNING,   /* on a CPU, interrupts served on its time included */
	SUM_STOLEN,    /* of that, by interrupts */
	SUM_IMPOSED,   /* integral of (runnable threads on its CPU - 1) while it ran */
	SUM_RUNNABLE,  /* woken, not yet on a CPU; quota apart */
	SUM_IDLE,      /* waits for work, timers, children; stopped */
	SUM_PEER,
	SUM_NETWORK,
	SUM_CONDITION, /* signals of other threads */
	SUM_LOCK,      /* user space's locks and the kernel's */
	SUM_PREEMPTED, /* by whatever; yields too */
	SUM_QUOTA,
	SUM_DISK,
	SUM_FAULT,     /* page faults and reclaim */
	SUM_OTHER,
	SUM_COUNT
};

struct ring_block {
	struct event records[RING_BLOCK];
};

/* The stage of a CPU's generation: record n is in blocks[n / RING_BLOCK % 2]. */
struct ring_stage {
	struct ring_block blocks[2];
};

/* The number of records that are reserved when the block with this record goes to its place. */
static inline __attribute__((always_inline)) event_u64 ring_put_away_at(event_u64 n)
{
	return ((n >> RING_BLOCK_BITS) + 1) * RING_BLOCK + RING_BLOCK / 2 + 1;
}

/* Each thread has one. What each switch and each wake-up needs stands in three lines of the cache: the one that is woken by another CPU than it last
 * ran on brings each of them over. */
struct ring_thread {
	event_u64 thread;  /* in a slot: whose it is; 0 = no one's */
	event_u64 since;   /* when its state began */
	event_u8 state;	   /* enum thread_state */
	event_u8 lock_flags; /* LOCK_ flags; 0 = it waits for no kernel lock */
	event_u8 call;	   /* enum wait_call of `file` */
	event_u8 polls_more; /* other files, next to `polled` */
	event_u8 noted;	   /* a CPU has noted that it wakes it: only then its ring_waking is looked at, a cache miss */
	event_u8 ended;	   /* another thread may have its slot */
	event_u32 file_number; /* the descriptor of the file it last waited for */
	event_u32 spell;       /* the newest of `longest`; the others are the ones before it */
	event_u64 inode;       /* that file's */
	event_u64 file_place, file_seen; /* where it waited for it, and when that was looked at */
	event_u64 place;   /* where it waits, in user space: a hash of the instruction and the depth of the stack; 0 = not looked at */

	event_u16 longest[RING_LONGEST_KINDS][RING_SPELLS]; /* by spell: the longest that ended in it, RING_WAIT_BITS, + 1; 0 = none did */
	event_u64 long_place; /* where it last waited for 1 ms or more; 0 = nowhere */
	event_u64 quota_clock, quota_queue; /* the throttled clock when it became runnable, and whose */
	event_u64 dirtied; /* write_bytes as last reported */

	event_u64 ran_at, queued_at; /* when it came: how long it had run, and stood in queues, by the scheduler's accounts */
	event_u64 sum[SUM_COUNT];
	event_u64 file;
	event_u64 polled;  /* the connection that it polls, of kind `call`; 0 = none, or several */
	struct poll_memory exchanged;
	event_u64 lock;	   /* the kernel lock it contends for */
	/* Stacks that were taken, and where: unwinding costs 1 us and more, and most threads wait at the same place again and again. */
	event_u64 user_place, kernel_place, waker_place;
	stack_ref user_stack, kernel_stack, waker_stack;
	stack_ref stack;   /* user stack at the last switch-out; 0 = not taken */
	event_u64 overcounted; /* sleep that is in its run_delay; only for who checks the kernel */
	event_u64 start;   /* in a slot: start_time of whose it is, for its number may be used again before it is gone */
} __attribute__((aligned(64)));

/* Who began to wake a thread that another CPU is to put into a queue, until that has happened: by the thread's number. */
struct ring_waking {
	event_u32 thread; /* 0 = none */
	event_u32 waker;
	event_u64 time;	  /* 0 = not taken */
	event_u16 cpu;
	event_u16 vector;
	event_u8 context; /* WAKEUP_ flags */
	event_u8 spare[3];
	stack_ref stack;
	event_u32 spare2;
};

/* A CPU's activity, in lines of the cache: a CPU that comes out of its idle state finds none of them, and each that another CPU writes to has to be
 * brought back. */
struct ring_cpu {
	/* that each of its own records needs */
	event_u64 head[RING_GENERATIONS]; /* records reserved */
	event_u64 since;    /* when the thread that runs came */
	event_u32 current;  /* who; 0 = idle */
	event_u32 irq;	    /* line + 1; EVENT_TIMER_VECTOR + 1 = the timer; 0 = none */
	event_u64 irq_from;
	event_u64 irq_total; /* added up since the programs were attached, ns or numbers, as all below of which nothing else is said */
	event_u64 softirq_from;
	event_u64 stolen;   /* in this stint */

	/* of its run queue: that others need as well, who wake a thread on it */
	event_s64 offset;   /* CLOCK_MONOTONIC - the run queue's clock */
	event_u64 measured; /* when that was, by the run queue's clock */
	event_u64 queue_at; /* until when the run queue is accounted for */
	event_u32 queued;   /* runnable threads, the running one included */
	event_u32 arrival;  /* the last thread that was woken or moved here since */
	event_u64 imposed;  /* in this stint */
	event_u64 at_length[RING_LENGTHS]; /* time with so many runnable threads: mostly with one or two */

	event_u64 irq_end; /* of the last interrupt */
	event_u64 idle;
	event_u64 largest_burst;

	event_u32 irq_woken; /* threads woken by this interrupt */
	event_u32 softirq;  /* vector + 1 of the one being served; 0 = none */
	event_u64 softirq_nested; /* irq_total when the soft interrupt began */
	/* short soft interrupts that no record tells yet */
	event_u64 untold_first; /* when the first began */
	event_u64 untold_end;	/* when the last ended */
	event_u32 untold_took;	/* ns, all of them; 0 = there are none */
	event_u32 untold_vector;
	event_u64 timer_time;
	event_u64 wakeups;
	event_u64 switches;

	event_u64 deadline[RING_LEVELS]; /* of the thread that runs and of the groups above it */
	event_u64 irq_time;
	event_u64 missed; /* switches that the kernel did not tell: another thread left than had come */
	event_u64 made_up; /* such switches whose moment was known nevertheless */
	event_u64 softirq_time[RING_SOFTIRQS];
	event_u64 seen_length[RING_LENGTHS]; /* timer interrupts that met so many: what a sampler sees */
	event_u64 bursts[RING_BURSTS];	     /* timer interrupts that woke so many */
} __attribute__((aligned(128)));

struct ring_stack {
	stack_ref ref; /* 0 = free, or being written */
	event_u32 n;
	event_u64 frames[RING_FRAMES]; /* kernel (bit 63 set) before user, each innermost first */
};

/* A sum for profiles that are kept is of one process (or the waker's thread) at one stack, running or in one kind of wait. */
struct ring_profile_key {
	event_u32 process;
	stack_ref kernel, user; /* of a wait: the sleeper's */
	stack_ref waker_stack;
	event_u32 waker; /* thread; 0 = none, or it is not known */
	event_u8 state;	 /* enum thread_state; STATE_RUNNING = samples */
	event_u8 spare[3];
};
struct ring_profile_sum {
	event_u64 samples, waited; /* number; ns */
	event_u64 start;	   /* of the process, CLOCK_BOOTTIME ns */
	event_u32 uid;
	event_u32 is_kernel; /* a kernel thread */
	char comm[RING_COMM];	   /* the process's */
};

/* The whole machine's. */
struct ring_counts {
	event_u64 stacks_replaced; /* slots used again for another stack */
	event_u64 ended;	   /* threads that ended: the next place is ended % RING_ENDED */
	event_u64 no_storage;	   /* events of threads without a ring_thread */
	event_u64 no_waker;	   /* wake-ups whose sched_waking was not seen */
	event_u64 profile_lost;	   /* samples and waits for which the table of profiles had no room */
};

/* A thread's identity, as the kernel has it. */
struct ring_identity {
	event_u32 tid, tgid, parent, uid;
	event_u32 ns_tid, ns_tgid, pid_ns;
	event_u32 flags; /* enum trace_thread_flags */
	event_s16 prio;
	event_u16 spare;
	event_u32 spare2;
	event_u64 start; /* CLOCK_MONOTONIC */
	event_u64 group; /* control group id */
	char comm[RING_COMM];
};

struct ring_ended {
	event_u64 end; /* 0 = being written */
	struct ring_identity who;
	event_u64 utime, stime;
	event_u64 sum[SUM_COUNT];
};

/* One living thread, by the iterator. */
struct ring_task {
	struct ring_identity who;
	event_u64 since, object;
	event_u64 cpu_time, run_delay, overcounted, switches, write_bytes, utime, stime;
	event_u64 disk_delay; /* blkio_delay of delay accounting, where that is on */
	event_u32 owner;
	event_s16 syscall;
	event_u16 cpu;
	struct wait_facts facts;
	event_u8 state;	     /* enum thread_state */
	event_u8 lock_flags;
	event_u8 has_sums;
	event_u8 spare[2];
	/* The longest wait for what others do, ns: of the last RING_LATELY and more, one that continues included, and of the 100 s and more before. 0 = not
	 * known: it waited in less than two spells then. */
	event_u64 longest_lately, longest_before;
	event_u64 slept_before; /* the longest sleep of that time before; 0 = not known */
	event_u64 sum[SUM_COUNT]; /* what continues included */
};

/* Does a thread wait in this state for what others do (in a page fault a file system in user space), or for events? Not while it wants a CPU or has
 * asked to sleep. */
static inline __attribute__((always_inline)) event_u8 ring_awaits(event_u8 state)
{
	const event_u64 awaits = 1ull << STATE_LOCK | 1ull << STATE_KERNEL_LOCK | 1ull << STATE_CONDITION | 1ull << STATE_DISK | 1ull << STATE_NETWORK | 1ull << STATE_PEER | 1ull << STATE_IDLE | 1ull << STATE_FAULT;

	return state < 64 && awaits >> state & 1;
}

static inline __attribute__((always_inline)) enum ring_longest ring_longest_kind(event_u8 state)
{
	return ring_awaits(state) ? LONGEST_AWAITED : state == STATE_TIMER ? LONGEST_SLEPT : RING_LONGEST_KINDS;
}

/* A thread's wait ends now. What is normal of it is then known without its events, which do not reach back far enough. */
static inline __attribute__((always_inline)) void ring_note_longest(struct ring_thread *t, event_u64 now)
{
	event_u32 spell = (event_u32)(now >> RING_SPELL_BITS), passed = spell - t->spell;
	event_u64 waited = now > t->since ? ((now - t->since) >> RING_WAIT_BITS) + 1 : 1;
	enum ring_longest kind = ring_longest_kind(t->state);
	event_u16 *longest = t->longest[kind % RING_LONGEST_KINDS];

	if (kind == RING_LONGEST_KINDS)
		return;
	for (event_u32 i = 0; passed && i < RING_SPELLS; i++)
		if (i < passed)
			t->longest[LONGEST_AWAITED][(spell - i) % RING_SPELLS] = t->longest[LONGEST_SLEPT][(spell - i) % RING_SPELLS] = 0;
	t->spell = spell;
	if (waited > longest[spell % RING_SPELLS])
		longest[spell % RING_SPELLS] = waited < 0xffff ? (event_u16)waited : 0xffff;
}

/* As struct ring_task has them. For a wait that continues, before is before it began. */
static inline __attribute__((always_inline)) void ring_find_longest(const struct ring_thread *t, enum ring_longest kind, event_u64 now,
								    event_u64 *ret_lately, event_u64 *ret_before)
{
	event_u64 waits = ring_longest_kind(t->state) == kind && now > t->since ? now - t->since : 0, at = waits > RING_LATELY ? t->since : now;
	event_u64 lately = 0, before = 0;
	event_u32 recent = (event_u32)((at - RING_LATELY) >> RING_SPELL_BITS), spells = 0;

	for (event_u32 i = 0; i < RING_SPELLS; i++) {
		event_u32 spell = t->spell - i;
		event_u64 longest = (event_u64)t->longest[kind][spell % RING_SPELLS] << RING_WAIT_BITS;

		if (!longest)
			continue;
		if (spell >= recent) {
			lately = longest > lately ? longest : lately;
			continue;
		}
		before = longest > before ? longest : before;
		spells++;
	}
	*ret_lately = spells < 2 ? 0 : waits > lately ? waits : lately;
	*ret_before = spells < 2 ? 0 : before;
}

static inline __attribute__((always_inline)) enum ring_sum ring_sum_of_state(event_u8 state)
{
	static const event_u8 sums[EVENT_BYTES] = { /* + 1 */
		[STATE_RUNNING] = SUM_RUNNING + 1,
		[STATE_RUNNABLE] = SUM_RUNNABLE + 1,
		[STATE_PREEMPTED_SLICE] = SUM_PREEMPTED + 1,
		[STATE_PREEMPTED_ARRIVAL] = SUM_PREEMPTED + 1,
		[STATE_PREEMPTED_CLASS] = SUM_PREEMPTED + 1,
		[STATE_PREEMPTED_OTHER] = SUM_PREEMPTED + 1,
		[STATE_YIELDED] = SUM_PREEMPTED + 1,
		[STATE_QUOTA] = SUM_QUOTA + 1,
		[STATE_LOCK] = SUM_LOCK + 1,
		[STATE_KERNEL_LOCK] = SUM_LOCK + 1,
		[STATE_CONDITION] = SUM_CONDITION + 1,
		[STATE_DISK] = SUM_DISK + 1,
		[STATE_FAULT] = SUM_FAULT + 1,
		[STATE_RECLAIM] = SUM_FAULT + 1,
		[STATE_NETWORK] = SUM_NETWORK + 1,
		[STATE_PEER] = SUM_PEER + 1,
		[STATE_TIMER] = SUM_IDLE + 1,
		[STATE_IDLE] = SUM_IDLE + 1,
		[STATE_CHILD] = SUM_IDLE + 1,
		[STATE_STOPPED] = SUM_IDLE + 1,
		[STATE_IDLE_KERNEL] = SUM_IDLE + 1,
	};

	return sums[state] ? (enum ring_sum)(sums[state] - 1) : SUM_OTHER;
}
