/* Within the state machine: what is known at the moment of the event being read. */
#pragma once

#include "lib/data/hmap.h"
#include "machine/events/interval.h"

/* A wakeup as it will end a wait. */
struct wake {
	int64_t at;	/* in the run queue from then on */
	int64_t called; /* when the waker called */
	uint32_t waker;
	uint8_t kind;
	uint16_t target, cpu; /* cpu: where it was written */
	stack_ref stack;
};

/* One thread, now. */
struct thread_now {
	struct interval open; /* has begun, and continues */
	struct wake early;    /* came while it still ran; at = 0: none */
	int64_t stint;	      /* since when it runs */
	int64_t throttled;    /* ns of its wait in which its group was; for the switch-in that follows */
	uint64_t object;      /* what its last wait was for */
	uint32_t slept;	      /* its last blocked interval: index + 1 */
	uint32_t lock_holder; /* read by the LOCK record that precedes its switch-out */
	uint64_t lock_object;
	uint8_t lock_flags;
	bool seen, reclaims, ended;
};

struct state_cpu {
	uint32_t current;   /* thread; NOBODY: the idle one */
	bool known;
	uint32_t completed; /* the last request that completed here; NOBODY */
	int64_t completed_at;
};

struct build {
	struct timeline *t;
	const struct trace *trace;
	uint32_t *by_tid; /* the first thread with this number: index + 1 */
	size_t tids;
	struct hmap extra; /* (tid, 0) -> index + 1 of threads that are in no table */
	VEC(struct thread_now) now;
	struct state_cpu *cpus;
	struct hmap locks;    /* (address, tgid) -> index + 1 */
	struct hmap requests; /* (request, 0) -> index + 1 */
	struct hmap owners;   /* (thread, number in its namespace) -> index + 1 */
	VEC(uint32_t) flying; /* by disk: requests in flight */
	int error;
};

/* The thread with this number at that time; adds one that no table knows, and `now` may move. NOBODY for the idle thread or
 * without memory. */
uint32_t state_thread(struct build *b, uint32_t tid, int64_t time);

/* state-thread.c */
/* Ends the thread's open interval at `time` and opens the next one. Returns the ended one's index, or NOBODY when it was
 * empty. What it did before its first event is concluded from `before`. */
uint32_t state_thread_to(struct build *b, uint32_t thread, int64_t time, uint8_t state, uint16_t cpu);
void state_thread_seen(struct build *b, uint32_t thread, int64_t since, uint8_t before, uint16_t cpu);
uint8_t state_of_running(const struct build *b, uint32_t thread);
/* From `start` to `end` it had the CPU, but interrupts used it; near: about where in the CPU's segments. */
void state_thread_interrupted(struct build *b, uint32_t thread, int64_t start, int64_t end, uint8_t state, uint32_t near);
/* The first `ns` of the wait for a CPU that now ends were its quota's doing. */
void state_thread_throttled(struct build *b, uint32_t thread, int64_t ns);
void state_threads_finish(struct build *b);
/* Cuts the interval in two at `time`; the second begins there. */
void state_interval_split(struct build *b, uint32_t thread, size_t index, int64_t time);

/* state-cpu.c */
void state_on_switch(struct build *b, const struct event *e);
void state_on_interrupt(struct build *b, const struct event *e);
void state_on_migrate(struct build *b, const struct event *e);
void state_on_exec(struct build *b, const struct event *e);
void state_on_reclaim(struct build *b, const struct event *e);
void state_on_quota(struct build *b, const struct event *e);
void state_on_sample(struct build *b, const struct event *e);
void state_cpus_finish(struct build *b);

/* state-wake.c */
void state_on_wakeup(struct build *b, const struct event *e);
void state_on_waited(struct build *b, const struct event *e);
void state_on_lock(struct build *b, const struct event *e);
void state_thread_woken(struct build *b, uint32_t thread, const struct wake *wake);
/* What the thread that leaves its CPU is about to wait for: fills in the open interval. May add a lock's holder: `now` may move. */
void state_thread_blocks(struct build *b, uint32_t thread, const struct event *e, uint8_t state);
/* Who waits in a call that gives data away waits for the one that is to take it; on the network it may be the line that is full. */
uint8_t state_of_giving(const struct build *b, uint8_t state, uint8_t call, int16_t syscall);
/* The state of a wait, made finer; and the lock it is for. May add its holder: `now` may move. */
uint8_t state_refine_wait(struct build *b, uint32_t thread, uint8_t state, struct wait_facts facts, uint64_t object, int64_t time,
		    uint32_t *ret_lock, uint32_t *ret_holder);

/* state-disk.c */
void state_on_block(struct build *b, const struct event *e);
void state_on_dirtied(struct build *b, const struct event *e);
/* The request that ended a wait of `thread` when something on `cpu` woke it. */
uint32_t state_ended_request(const struct build *b, uint32_t thread, int64_t since, int64_t time, uint16_t cpu);
