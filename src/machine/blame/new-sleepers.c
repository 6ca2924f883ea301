#include "machine/blame/new-sleepers.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/clock.h"
#include "lib/data/order.h"

#define RECENT (10 * NS_PER_SEC)
#define LONGER 2 /* times than any before */
#define ALREADY 3 /* of its sleeps: no later did it sleep so when the events begin */

struct sleeper {
	uint64_t since; /* 0 = it is awake, or in another call */
	uint64_t before, lately; /* the longest sleep */
	uint64_t first_lately;
};

static void end_sleep(const struct trace *t, struct sleeper *s, uint64_t at)
{
	uint64_t took = s->since && at > s->since ? at - s->since : 0;
	uint64_t *longest = at + RECENT < t->frozen ? &s->before : &s->lately;

	if (took > *longest)
		*longest = took;
	if (took && longest == &s->lately && !s->first_lately)
		s->first_lately = s->since;
	s->since = 0;
}

static void look_at(const struct trace *t, struct sleeper *sleepers, const struct event *e)
{
	const struct trace_thread *th;

	if (e->kind != EVENT_WAKEUP && (e->kind != EVENT_SWITCH || e->out.call != CALL_SLEEP || !e->out.state))
		return;
	th = trace_thread(t, e->thread, e->time);
	if (!th)
		return;
	if (e->kind == EVENT_SWITCH)
		sleepers[th - t->threads.v].since = e->time;
	else
		end_sleep(t, &sleepers[th - t->threads.v], e->time);
}

static bool is_new(const struct trace *t, const struct trace_thread *th, struct sleeper *s)
{
	if (th->end || th->state != STATE_TIMER || th->facts.call != CALL_SLEEP || th->state_since <= t->from ||
	    th->flags & (THREAD_IS_KERNEL | THREAD_IS_IDLE | THREAD_IS_SELF))
		return false;
	s->since = th->state_since;
	end_sleep(t, s, t->frozen);
	if (s->before < th->slept_before)
		s->before = th->slept_before; /* the events may not reach back that far */
	if (th->slept_before && s->first_lately < t->from + ALREADY * s->lately)
		s->first_lately = t->frozen - RECENT; /* they begin when it slept so already */
	return s->lately > LONGER * s->before;
}

ORDER(most_first, struct new_sleeper, DESCENDING(longer) ?: ASCENDING(thread))

int new_sleepers_find(const struct trace *t, struct new_sleepers *ret)
{
	struct sleeper *sleepers = calloc(t->threads.n + 1, sizeof(*sleepers));
	struct new_sleepers found = {};
	int r = sleepers ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < t->n_events && t->events[i].time <= t->frozen; i++)
		look_at(t, sleepers, &t->events[i]);
	for (uint32_t i = 0; r == 0 && i < t->threads.n; i++)
		if (is_new(t, &t->threads.v[i], &sleepers[i]))
			r = VEC_PUSH(found.list, (struct new_sleeper){i, sleepers[i].first_lately, sleepers[i].lately - sleepers[i].before});
	VEC_SORT(found.list, most_first);
	free(sleepers);
	if (r < 0)
		new_sleepers_free(&found);
	else
		*ret = found;
	return r;
}

void new_sleepers_free(struct new_sleepers *s)
{
	VEC_FREE(s->list);
}
