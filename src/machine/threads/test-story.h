/* What tests of the timeline are written in: a trace put together event by event. Times in us. */
#pragma once

#include <stdio.h>

#include "lib/data/cleanup.h"
#include "lib/data/test.h"
#include "machine/blame/blame.h"
#include "machine/events/blame.h"
#include "machine/threads/state.h"

#define US 1000ll
#define MS 1000000ll

enum { A = 101, B = 102, C = 103, D = 104, E = 105 };

struct story {
	struct trace trace;
	struct timeline line;
	struct blame_matrix blame;
};

static inline void story_end(struct story *s)
{
	blame_matrix_free(&s->blame);
	timeline_free(&s->line);
	trace_clear(&s->trace);
}

static inline void story_begin(struct story *s, uint32_t cpus)
{
	*s = (struct story){};
	assert_int_equal(trace_begin(&s->trace, cpus), 0);
	for (uint32_t i = 0; i < cpus; i++) {
		s->trace.cpus[i].from = 1;
		s->trace.cpus[i].to = 1;
	}
	s->trace.has_quota_clock = true;
}

static inline void cast_thread(struct story *s, uint32_t tid, uint32_t tgid, const char *comm, uint32_t flags)
{
	struct trace_thread t = {.tid = tid, .tgid = tgid, .ns_tid = tid, .ns_tgid = tgid, .flags = flags};

	snprintf(t.comm, sizeof(t.comm), "%s", comm);
	assert_int_equal(trace_add_thread(&s->trace, &t), 0);
}

static inline void cast_process(struct story *s, uint32_t tid, const char *comm)
{
	cast_thread(s, tid, tid, comm, 0);
}

static inline void say(struct story *s, struct event e, int64_t us)
{
	e.time = (uint64_t)(us * US);
	assert_int_equal(trace_add(&s->trace, &e), 0);
}

/* prev leaves for what `call` says (0 = preempted: then flags say how), next comes */
static inline void leave(struct story *s, int64_t us, uint16_t cpu, uint32_t prev, uint32_t next, uint8_t state, uint8_t flags,
			 uint8_t call)
{
	say(s, (struct event){.kind = EVENT_SWITCH, .cpu = cpu, .thread = prev, .flags = flags,
			      .out = {.next = next, .state = state, .call = call}}, us);
}

static inline void leave_for(struct story *s, int64_t us, uint16_t cpu, uint32_t prev, uint32_t next, uint8_t call, uint64_t object)
{
	say(s, (struct event){.kind = EVENT_SWITCH, .cpu = cpu, .thread = prev,
			      .out = {.next = next, .state = TASK_STATE_SLEEPS, .call = call, .object = object}}, us);
}

static inline void leave_in(struct story *s, int64_t us, uint16_t cpu, uint32_t prev, uint32_t next, uint8_t call, int16_t syscall)
{
	say(s, (struct event){.kind = EVENT_SWITCH, .cpu = cpu, .thread = prev,
			      .out = {.next = next, .state = TASK_STATE_SLEEPS, .call = call, .syscall = syscall}}, us);
}

static inline void wait_futex(struct story *s, int64_t us, uint16_t cpu, uint32_t prev, uint32_t next, uint64_t address, uint32_t owner,
			      uint8_t call)
{
	say(s, (struct event){.kind = EVENT_LOCK, .cpu = cpu, .thread = prev, .flags = LOCK_FUTEX,
			      .lock = {.object = address, .owner = owner, .word = 2}}, us);
	leave_for(s, us, cpu, prev, next, call, address);
}

static inline void wait_lock(struct story *s, int64_t us, uint16_t cpu, uint32_t prev, uint32_t next, uint64_t address,
			     uint32_t owner)
{
	wait_futex(s, us, cpu, prev, next, address, owner, CALL_LOCK);
}

static inline void wake(struct story *s, int64_t us, uint16_t cpu, uint32_t waker, uint32_t thread, uint16_t target)
{
	say(s, (struct event){.kind = EVENT_WAKEUP, .cpu = cpu, .thread = thread,
			      .wakeup = {.waker = waker, .target = target}}, us);
}

static inline void wake_in(struct story *s, int64_t us, uint16_t cpu, uint32_t current, uint32_t thread, uint16_t target,
			   uint8_t context, uint16_t vector)
{
	say(s, (struct event){.kind = EVENT_WAKEUP, .cpu = cpu, .thread = thread, .flags = context,
			      .wakeup = {.waker = current, .target = target, .vector = vector}}, us);
}

static inline void interrupt(struct story *s, uint8_t kind, int64_t from, int64_t to, uint16_t cpu, uint32_t current, uint32_t number)
{
	say(s, (struct event){.kind = kind, .cpu = cpu, .thread = current,
			      .interrupt = {.took = (uint64_t)((to - from) * US), .number = number}}, to);
}

static inline void block(struct story *s, uint8_t kind, int64_t us, uint32_t current, uint64_t request, uint8_t flags)
{
	say(s, (struct event){.kind = kind, .thread = current, .flags = flags,
			      .block = {.request = request, .device = 8 << 20, .sectors = 8}}, us);
}

/* To the end of the window: builds, checks that nothing overlaps or is missing, and charges. */
static inline void tell(struct story *s, int64_t us)
{
	s->trace.from = 1;
	s->trace.to = s->trace.frozen = (uint64_t)(us * US);
	for (uint32_t i = 0; i < s->trace.n_cpus; i++)
		s->trace.cpus[i].to = s->trace.to;
	assert_int_equal(trace_finish(&s->trace), 0);
	assert_int_equal(timeline_build(&s->trace, &s->line), 0);
	for (size_t i = 0; i < s->line.threads.n; i++) {
		const struct thread_line *line = &s->line.threads.v[i];

		for (size_t k = 1; k < line->intervals.n; k++)
			assert_int_equal(line->intervals.v[k].start, line->intervals.v[k - 1].end);
		if (line->intervals.n)
			assert_true(line->intervals.v[line->intervals.n - 1].end <= s->line.end);
	}
	assert_int_equal(blame_build(&s->line, 1, s->line.end, NULL, 0, LEVEL_THREAD, &s->blame), 0);
	for (int w = 0; w < FOR_COUNT; w++)
		assert_int_equal(s->blame.waits[w], s->blame.charged[w]);
}

static inline uint32_t who(const struct story *s, uint32_t tid)
{
	for (uint32_t i = 0; i < s->line.threads.n; i++)
		if (s->line.threads.v[i].tid == tid)
			return i;
	fail_msg("nobody is %u", tid);
	return NOBODY;
}

/* us in a state over the whole story */
static inline int64_t in_state(const struct story *s, uint32_t tid, uint8_t state)
{
	const struct thread_line *line = &s->line.threads.v[who(s, tid)];
	int64_t sum = 0;

	for (size_t i = 0; i < line->intervals.n; i++)
		if (line->intervals.v[i].state == state)
			sum += line->intervals.v[i].end - line->intervals.v[i].start;
	return sum / US;
}

/* us that a victim's waits of one kind are charged to a culprit (tid of a thread, else the id) */
static inline int64_t charged(const struct story *s, uint32_t victim, enum wait_for wait, enum blamed by, uint32_t id)
{
	int64_t sum = 0;

	if (by == BY_TASK || by == BY_SELF)
		id = who(s, id);
	for (size_t i = 0; i < s->blame.cells.n; i++) {
		const struct blame_cell *c = &s->blame.cells.v[i];

		if (c->victim == who(s, victim) && c->wait == wait && c->culprit == by && (c->id == id || id == NOBODY))
			sum += c->ns;
	}
	return sum / US;
}

/* all that a victim waited for this, us */
static inline int64_t waited(const struct story *s, uint32_t victim, enum wait_for wait)
{
	int64_t sum = 0;

	for (size_t i = 0; i < s->blame.cells.n; i++)
		if (s->blame.cells.v[i].victim == who(s, victim) && s->blame.cells.v[i].wait == wait)
			sum += s->blame.cells.v[i].ns;
	return sum / US;
}
