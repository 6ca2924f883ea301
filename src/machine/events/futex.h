/* A thread that sleeps in futex(2) waits for a lock, or for a signal of another thread: this tells which. Freestanding: for the BPF programs
 * and for user space.
 *
 * The kernel knows only that the thread sleeps until another one wakes the word. What the word is for shows in how libraries call:
 *
 *   a mutex that is held, and for which others wait, is 2 in glibc, Rust, Go and Android, and the holder's number with the highest bit set
 *   in musl and in robust mutexes. They wait until it is given back, without a time limit and so without a clock
 *   condition variables, semaphores, barriers, latches and parked threads have counters or states of their own there. glibc passes a clock
 *   for all of them. musl has 2, too, in a word on the stack of the one that waits
 *
 * So a thread of a pool that waits for work does not wait for a lock. A mutex that is waited for with a time limit (pthread_mutex_timedlock)
 * is one if a thread's number is where glibc has its holder. Of locks that are made of condition variables (Java, .NET) or semaphores
 * (Python) no system call tells: they count as signals.
 */
#pragma once

#include "machine/events/classify.h"

#define FUTEX_ANY_WAIT	    0 /* FUTEX_WAIT */
#define FUTEX_MASKED_WAIT   9 /* FUTEX_WAIT_BITSET */
#define FUTEX_PI	    6 /* FUTEX_LOCK_PI */
#define FUTEX_PI_CLOCK	    13 /* FUTEX_LOCK_PI2 */
#define FUTEX_OPERATION	    0x7f
#define FUTEX_OF_CLOCK	    256 /* FUTEX_CLOCK_REALTIME */
#define FUTEX_OF_PROCESS    128 /* FUTEX_PRIVATE_FLAG */
#define FUTEX_WAITED	    2
#define FUTEX_OWNED	    0x80000000u
#define FUTEX_OWNER	    0x3fffffffu
#define FUTEX_MUSL_HELD	    0x80000010u /* musl's mutexes that do not keep their holder */
#define FUTEX_ON_STACK	    512
#define FUTEX_THREADS	    (1u << 22) /* PID_MAX_LIMIT */

struct futex_wait {
	event_u64 word;	    /* its address */
	event_u32 operation, expected; /* what it was when the thread went to sleep */
	event_u64 limit;    /* of time; 0 = none */
	event_u64 stack;    /* where the thread's stack ends; 0 = not known */
	event_u32 beside;   /* where glibc has a mutex's holder; 0 = none, or not read */
};

static inline __attribute__((always_inline)) int futex_is_thread(event_u32 number)
{
	return number && number <= FUTEX_THREADS;
}

static inline __attribute__((always_inline)) int futex_is_pi(event_u32 operation)
{
	event_u32 command = operation & FUTEX_OPERATION;

	return command == FUTEX_PI || command == FUTEX_PI_CLOCK;
}

/* CALL_LOCK or CALL_CONDITION. */
static inline __attribute__((always_inline)) event_u8 futex_call(const struct futex_wait *w)
{
	event_u32 command = w->operation & FUTEX_OPERATION;

	if (futex_is_pi(w->operation))
		return CALL_LOCK;
	if (command != FUTEX_ANY_WAIT && command != FUTEX_MASKED_WAIT)
		return CALL_CONDITION;
	if (w->expected & FUTEX_OWNED)
		return futex_is_thread(w->expected & FUTEX_OWNER) ? CALL_LOCK : CALL_CONDITION;
	if (w->expected != FUTEX_WAITED)
		return CALL_CONDITION;
	if (futex_is_thread(w->beside))
		return CALL_LOCK;
	return w->operation & FUTEX_OF_CLOCK || w->limit || w->word - w->stack < FUTEX_ON_STACK ? CALL_CONDITION : CALL_LOCK;
}

/* The kernel has a thread that was stopped or frozen continue a wait with a time limit by restart_syscall(2), with the arguments of the call
 * that it restarts: futex(), clock_nanosleep(), nanosleep() or poll(), which differ in them. */
#define RESTARTED_CLOCKS 16	   /* fewer: clock_nanosleep()'s first argument */
#define RESTARTED_FILES	 (1 << 20) /* poll()'s second one; nanosleep() has an address there, or none */

static inline __attribute__((always_inline)) event_u8 futex_restarted_call(event_u64 first, event_u64 second)
{
	event_u64 futex = second & ~(event_u64)FUTEX_OF_CLOCK;

	if (futex == (FUTEX_ANY_WAIT | FUTEX_OF_PROCESS) || futex == (FUTEX_MASKED_WAIT | FUTEX_OF_PROCESS))
		return CALL_FUTEX;
	return first < RESTARTED_CLOCKS || !second || second > RESTARTED_FILES ? CALL_SLEEP : CALL_POLL;
}

/* The same of what is known without the thread's memory: what its system call waits for (`call`, of calls.h), its arguments, four at least. */
static inline __attribute__((always_inline)) event_u8 futex_refine_call(event_u8 call, int restarted, const event_u64 *arguments, event_u64 stack)
{
	const struct futex_wait w = {arguments[0], (event_u32)arguments[1], (event_u32)arguments[2], arguments[3], stack, 0};

	if (restarted)
		call = futex_restarted_call(arguments[0], arguments[1]);
	return call == CALL_FUTEX ? futex_call(&w) : call;
}

/* The holder, as user space numbers threads; 0 = not known. Of a PI mutex the word is read when the thread sleeps. */
static inline __attribute__((always_inline)) event_u32 futex_holder(const struct futex_wait *w, event_u32 word)
{
	if (futex_is_pi(w->operation))
		return word & FUTEX_OWNER;
	if (w->expected == FUTEX_WAITED)
		return w->beside;
	return w->expected & FUTEX_OWNED && w->expected != FUTEX_MUSL_HELD ? w->expected & FUTEX_OWNER : 0;
}
