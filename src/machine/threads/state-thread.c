#include <errno.h>
#include <string.h>

#include "machine/threads/state-build.h"

static bool is_running(uint8_t state)
{
	return state_table[state].group == GROUP_RUNNING;
}

uint8_t state_of_running(const struct build *b, uint32_t thread)
{
	if (b->t->threads.v[thread].kernel)
		return STATE_KERNEL;
	if (b->now.v[thread].reclaims)
		return STATE_RECLAIMING;
	return STATE_RUNNING;
}

static uint32_t push_interval(struct build *b, uint32_t thread, const struct interval *i)
{
	if (VEC_PUSH(b->t->threads.v[thread].intervals, *i) < 0) {
		b->error = -ENOMEM;
		return NOBODY;
	}
	return (uint32_t)b->t->threads.v[thread].intervals.n - 1;
}

static void open_interval(struct interval *i, int64_t time, uint8_t state, uint16_t cpu)
{
	*i = (struct interval){
		.start = time,
		.waker = NOBODY,
		.holder = NOBODY,
		.object = NOBODY,
		.request = NOBODY,
		.near = NOBODY,
		.cpu = cpu,
		.state = state,
	};
}

uint32_t state_thread_to(struct build *b, uint32_t thread, int64_t time, uint8_t state, uint16_t cpu)
{
	struct thread_now *now = &b->now.v[thread];
	uint32_t index = NOBODY;

	if (time < now->open.start)
		time = now->open.start; /* clocks of two CPUs: by less than it takes to wake */
	if (now->ended && state == STATE_ENDED)
		return NOBODY;
	if (now->ended) { /* it lives: its end was another's with the same number */
		now->ended = false;
		now->open.state = STATE_UNKNOWN;
	}
	if (time > now->open.start && !now->ended) {
		now->open.end = time;
		index = push_interval(b, thread, &now->open);
	}
	now->ended = state == STATE_ENDED;
	open_interval(&now->open, time, state, cpu);
	return index;
}

void state_thread_seen(struct build *b, uint32_t thread, int64_t since, uint8_t before, uint16_t cpu)
{
	struct thread_now *now = &b->now.v[thread];

	if (now->seen)
		return;
	now->seen = true;
	if (since > now->open.start)
		state_thread_to(b, thread, since, before, cpu);
	now->open.state = before;
	now->open.cpu = cpu;
	now->open.flags |= INTERVAL_INFERRED;
}

void state_interval_split(struct build *b, uint32_t thread, size_t index, int64_t time)
{
	struct thread_line *line = &b->t->threads.v[thread];

	if (VEC_GROW(line->intervals) < 0) {
		b->error = -ENOMEM;
		return;
	}
	memmove(line->intervals.v + index + 1, line->intervals.v + index,
		(line->intervals.n - index) * sizeof(*line->intervals.v));
	line->intervals.n++;
	line->intervals.v[index].end = time;
	line->intervals.v[index + 1].start = time;
}

/* Records of interrupts come when they end, those nested in others first: what of [start, end) was running until now
 * was this one's. */
void state_thread_interrupted(struct build *b, uint32_t thread, int64_t start, int64_t end, uint8_t state, uint32_t near)
{
	struct thread_now *now = &b->now.v[thread];
	struct thread_line *line = &b->t->threads.v[thread];
	size_t i;

	if (!is_running(now->open.state))
		return;
	state_thread_to(b, thread, end, now->open.state, now->open.cpu);
	for (i = line->intervals.n; i > 0 && line->intervals.v[i - 1].end > start; i--) {
		struct interval *x = &line->intervals.v[i - 1];

		if (!is_running(x->state) || x->state == STATE_IRQ || x->state == STATE_SOFTIRQ)
			continue;
		if (x->start < start) {
			state_interval_split(b, thread, i - 1, start);
			x = b->error ? x : &line->intervals.v[i];
		}
		x->state = state;
		x->near = near;
	}
}

/* The pieces of the wait, over all CPUs it was queued on, from its first on. */
void state_thread_throttled(struct build *b, uint32_t thread, int64_t ns)
{
	struct thread_line *line = &b->t->threads.v[thread];
	size_t last = line->intervals.n, i = last;

	while (i > 0 && line->intervals.v[i - 1].end > b->now.v[thread].stint &&
	       state_table[line->intervals.v[i - 1].state].group == GROUP_RUNNABLE)
		i--;
	for (; i < line->intervals.n && ns > 0; i++) {
		struct interval *x = &line->intervals.v[i];
		int64_t length = x->end - x->start;

		if (length > ns) {
			state_interval_split(b, thread, i, x->start + ns);
			x = &line->intervals.v[i];
		}
		x->state = STATE_QUOTA;
		ns -= length;
	}
	for (; i < line->intervals.n; i++)
		if (line->intervals.v[i].state == STATE_QUOTA)
			line->intervals.v[i].state = STATE_RUNNABLE; /* no longer throttled, and still without a CPU */
}

/* No event tells of it: as it was found at the freeze. */
static void finish_silent(struct build *b, uint32_t thread)
{
	const struct trace_thread *known = &b->trace->threads.v[thread];
	struct thread_now *now = &b->now.v[thread];
	uint32_t lock = NOBODY, holder = NOBODY;
	uint8_t state = known->state < STATE_COUNT ? known->state : STATE_UNKNOWN;
	uint16_t cpu = known->cpu < b->trace->n_cpus ? known->cpu : 0; /* a damaged file says anything */

	if (known->state_since && (int64_t)known->state_since > now->open.start)
		state_thread_to(b, thread, (int64_t)known->state_since, STATE_UNKNOWN, cpu);
	if (state == STATE_RUNNING)
		state = state_of_running(b, thread);
	now->lock_object = known->object;
	now->lock_flags = known->lock_flags;
	now->lock_holder = known->owner;
	state = state_of_giving(b, state, known->facts.call, known->syscall);
	state = state_refine_wait(b, thread, state, known->facts, known->object, now->open.start, &lock,
				  &holder);
	now = &b->now.v[thread];
	now->open.state = state;
	now->open.object = lock;
	now->open.holder = holder;
	now->open.call = known->facts.call;
	now->open.cpu = cpu;
	now->open.flags |= INTERVAL_INFERRED;
	now->ended = state == STATE_ENDED || known->flags & THREAD_HAS_ENDED;
}

/* The kernel does not tell every switch (machine/bpf/ring.bpf.c), and records may be lost. A thread that ended cannot have waited until it did; and one that
 * is in a run queue to the end by its events, which the freeze found waiting for something else, had a CPU in the meantime. Since when it did not wait any
 * more for what its events say is not known. */
static void correct_last(struct build *b, uint32_t thread)
{
	const struct trace_thread *known = &b->trace->threads.v[thread];
	struct thread_now *now = &b->now.v[thread];
	bool asleep = state_table[now->open.state].group == GROUP_RUNNABLE && known->state < STATE_COUNT && known->state != STATE_UNKNOWN &&
		      known->state != STATE_ENDED && state_table[known->state].group != GROUP_RUNNABLE && !is_running(known->state) &&
		      known->state_since && (int64_t)known->state_since < b->t->end;
	bool has_ended = known->flags & THREAD_HAS_ENDED && (int64_t)known->end < b->t->end; /* end: 0 = not known */

	if (now->ended)
		return;
	if (has_ended || asleep) {
		now->open.state = STATE_UNKNOWN;
		now->open.flags |= INTERVAL_INFERRED;
	}
	if (asleep && (int64_t)known->state_since > now->open.start) {
		state_thread_to(b, thread, (int64_t)known->state_since, known->state, now->open.cpu);
		now->open.call = known->facts.call;
	}
	if (has_ended && known->end)
		state_thread_to(b, thread, (int64_t)known->end, STATE_ENDED, now->open.cpu);
}

void state_threads_finish(struct build *b)
{
	for (uint32_t i = 0; i < b->now.n && !b->error; i++) {
		if (!b->now.v[i].seen && i < b->trace->threads.n)
			finish_silent(b, i);
		else if (i < b->trace->threads.n)
			correct_last(b, i);
		b->now.v[i].open.flags |= INTERVAL_OPEN;
		state_thread_to(b, i, b->t->end, STATE_ENDED, 0);
	}
}
