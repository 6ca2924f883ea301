/* Traces of crowds: thousands of threads that wake one another, as tests and bench/crowd play them.
 *
 *   mesh  each thread wakes any other one: as many pairs as there can be
 *   herd  one signal wakes all, which then take one lock in turn
 *   line  each wakes the next, and goes to the end of the line: clients of one row of a database
 *   pool  clients ask workers of another program, and the workers share a lock
 *
 * A process has CROWD_FAMILY threads. Two CPUs, a switch every few microseconds; the same seed makes the same trace.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/events/trace.h"

#define CROWD_CPUS   2
#define CROWD_FIRST  1000 /* tid */
#define CROWD_FAMILY 10

enum crowd_kind { CROWD_MESH, CROWD_HERD, CROWD_LINE, CROWD_POOL, CROWD_KINDS };

static const char *const crowd_names[CROWD_KINDS] = {"mesh", "herd", "line", "pool"};

struct crowd {
	struct trace *trace;
	enum crowd_kind kind;
	uint32_t threads;
	uint32_t current[CROWD_CPUS]; /* 0 = idle, else a thread's index + 1, as in all of these */
	uint32_t *ready, *asleep;     /* rings of `threads` places */
	uint32_t ready_from, n_ready, asleep_from, n_asleep;
	uint64_t now, seed;
};

static inline uint32_t crowd_roll(struct crowd *c, uint32_t n)
{
	c->seed = c->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(c->seed >> 33) % n;
}

static inline uint32_t crowd_tid(uint32_t who)
{
	return who ? CROWD_FIRST + who - 1 : 0;
}

static inline uint32_t crowd_tgid(uint32_t who)
{
	return CROWD_FIRST + (who - 1) / CROWD_FAMILY * CROWD_FAMILY;
}

static inline uint32_t crowd_workers(const struct crowd *c)
{
	return c->threads / 20 + 1;
}

static inline bool crowd_is_worker(const struct crowd *c, uint32_t who)
{
	return c->kind == CROWD_POOL && who <= crowd_workers(c);
}

static inline int crowd_say(struct crowd *c, uint16_t cpu, struct event e)
{
	e.time = c->now;
	e.cpu = cpu;
	return trace_add(c->trace, &e);
}

static inline void crowd_queue(struct crowd *c, uint32_t who)
{
	c->ready[(c->ready_from + c->n_ready++) % c->threads] = who;
}

/* The one that has slept longest, or any other. */
static inline uint32_t crowd_rouse(struct crowd *c, bool any)
{
	uint32_t at = any ? crowd_roll(c, c->n_asleep) : 0, place = (c->asleep_from + at) % c->threads;
	uint32_t who = c->asleep[place];

	c->asleep[place] = c->asleep[c->asleep_from];
	c->asleep_from = (c->asleep_from + 1) % c->threads;
	c->n_asleep--;
	return who;
}

static inline int crowd_wake(struct crowd *c, uint16_t cpu, uint32_t waker, uint32_t who)
{
	bool by_interrupt = waker == 0;

	crowd_queue(c, who);
	return crowd_say(c, cpu, (struct event){.kind = EVENT_WAKEUP, .thread = crowd_tid(who), .flags = by_interrupt ? WAKEUP_IN_IRQ : 0,
						.wakeup = {.waker = crowd_tid(waker), .target = cpu, .vector = EVENT_TIMER_VECTOR}});
}

/* A thread's act at the end of its turn, before it sleeps: whom it wakes. */
static inline int crowd_hand_over(struct crowd *c, uint16_t cpu, uint32_t who)
{
	uint32_t n = c->kind == CROWD_HERD && crowd_roll(c, c->threads / 2) == 0 ? c->n_asleep : 1;
	int r = 0;

	if (c->kind == CROWD_HERD && n == 1 && c->n_ready > CROWD_CPUS)
		return 0;
	for (uint32_t i = 0; r == 0 && i < n && c->n_asleep; i++)
		r = crowd_wake(c, cpu, who, crowd_rouse(c, c->kind == CROWD_MESH || c->kind == CROWD_POOL));
	return r;
}

static inline int crowd_sleep(struct crowd *c, uint16_t cpu, uint32_t who, uint32_t next)
{
	static const uint8_t calls[] = {CALL_FUTEX, CALL_PIPE, CALL_SOCKET, CALL_FUTEX};
	uint8_t call = c->kind == CROWD_MESH ? calls[crowd_roll(c, sizeof(calls))] :
		       c->kind == CROWD_POOL && !crowd_is_worker(c, who) ? CALL_SOCKET : CALL_FUTEX;
	uint64_t object = 0x1000 + (c->kind == CROWD_MESH ? who % 8 : 0);
	int r = 0;

	if (call == CALL_FUTEX && c->kind != CROWD_LINE)
		r = crowd_say(c, cpu, (struct event){.kind = EVENT_LOCK, .thread = crowd_tid(who), .flags = LOCK_FUTEX,
						     .lock = {.object = object, .owner = crowd_tgid(who) + crowd_roll(c, CROWD_FAMILY), .word = 2}});
	c->asleep[(c->asleep_from + c->n_asleep++) % c->threads] = who;
	return r ?: crowd_say(c, cpu, (struct event){.kind = EVENT_SWITCH, .thread = crowd_tid(who),
						     .out = {.next = crowd_tid(next), .state = 1, .call = call, .object = object}});
}

static inline uint32_t crowd_next(struct crowd *c)
{
	uint32_t who = c->n_ready ? c->ready[c->ready_from] : 0;

	if (who) {
		c->ready_from = (c->ready_from + 1) % c->threads;
		c->n_ready--;
	}
	return who;
}

static inline int crowd_turn(struct crowd *c, uint16_t cpu)
{
	uint32_t who = c->current[cpu];
	int r;

	c->now += 1000 + crowd_roll(c, 4000);
	r = who ? crowd_hand_over(c, cpu, who) : c->n_ready ? 0 : crowd_wake(c, cpu, 0, crowd_rouse(c, true));
	c->current[cpu] = crowd_next(c);
	if (r == 0 && who)
		return crowd_sleep(c, cpu, who, c->current[cpu]);
	return r ?: crowd_say(c, cpu, (struct event){.kind = EVENT_SWITCH, .out = {.next = crowd_tid(c->current[cpu])}});
}

static inline int crowd_cast(struct crowd *c)
{
	int r = 0;

	for (uint32_t who = 1; r == 0 && who <= c->threads; who++) {
		struct trace_thread one = {.tid = crowd_tid(who), .tgid = crowd_tgid(who), .pid_ns = 1, .ns_tid = crowd_tid(who)};

		one.ns_tgid = one.tgid;
		snprintf(one.comm, sizeof(one.comm), "%s%u", crowd_is_worker(c, who) ? "worker" : "client", one.tgid);
		c->asleep[c->n_asleep++] = who;
		r = trace_add_thread(c->trace, &one);
	}
	return r;
}

/* A finished trace of about so many events. 0 or -ENOMEM; trace_clear() in any case. */
static inline int crowd_play(struct trace *t, enum crowd_kind kind, uint32_t threads, size_t events)
{
	struct crowd c = {.trace = t, .kind = kind, .threads = threads, .now = 1000000, .seed = 7};
	int r = trace_begin(t, CROWD_CPUS);

	c.ready = calloc(threads, sizeof(*c.ready));
	c.asleep = calloc(threads, sizeof(*c.asleep));
	r = r ?: c.ready && c.asleep ? crowd_cast(&c) : -ENOMEM;
	while (r == 0 && t->n_events < events)
		r = crowd_turn(&c, (uint16_t)crowd_roll(&c, CROWD_CPUS));
	free(c.ready);
	free(c.asleep);
	return r ?: trace_finish(t);
}
