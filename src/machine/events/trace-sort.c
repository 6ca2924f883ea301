#include "machine/events/trace-sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/vec.h"

#define SETTLE_MAX 16 /* places by which interrupts put records out of order */

/* A CPU that wakes or moves a thread and the one that then switches to it mostly have the time from the same reading of the clock:
 * of what is reported for the same moment this comes first. */
static bool comes_first(const struct event *e)
{
	return e->kind == EVENT_WAKEUP || e->kind == EVENT_MIGRATE;
}

static bool precedes(const struct event *a, const struct event *b)
{
	return a->time < b->time || (a->time == b->time && a->cpu != b->cpu && comes_first(a) && !comes_first(b));
}

/* Moves an event back to its place if that is near; false = a new run begins with it. */
static bool settle(struct event *events, size_t first, size_t i)
{
	struct event e = events[i];
	size_t to = i;

	while (to > first && i - to < SETTLE_MAX && precedes(&e, &events[to - 1]))
		to--;
	if (to > first && precedes(&e, &events[to - 1]))
		return false;
	memmove(events + to + 1, events + to, (i - to) * sizeof(e));
	events[to] = e;
	return true;
}

struct runs {
	VEC(size_t) starts;
};

static int find_runs(struct event *events, size_t n, struct runs *runs)
{
	size_t first = 0;

	if (VEC_PUSH(runs->starts, 0) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < n; i++) {
		if (!precedes(&events[i], &events[i - 1]) || settle(events, first, i))
			continue;
		first = i;
		if (VEC_PUSH(runs->starts, i) < 0)
			return -ENOMEM;
	}
	return VEC_PUSH(runs->starts, n);
}

static void merge(const struct event *a, size_t n_a, const struct event *b, size_t n_b, struct event *out)
{
	while (n_a && n_b) {
		if (precedes(b, a)) {
			*out++ = *b++;
			n_b--;
		} else {
			*out++ = *a++;
			n_a--;
		}
	}
	memcpy(out, a, n_a * sizeof(*a));
	memcpy(out + n_a, b, n_b * sizeof(*b));
}

/* Merges neighboring runs until one is left: each CPU's records are one, mostly. */
static void merge_runs(struct event **events, struct event **spare, struct runs *runs)
{
	while (runs->starts.n > 2) {
		const size_t *s = runs->starts.v;
		size_t last = runs->starts.n - 1, kept = 0;
		struct event *from = *events;

		for (size_t i = 0; i < last; i += 2) {
			size_t middle = s[i + 1], end = i + 2 <= last ? s[i + 2] : middle;

			merge(from + s[i], middle - s[i], from + middle, end - middle, *spare + s[i]);
			runs->starts.v[kept++] = s[i];
		}
		runs->starts.v[kept] = runs->starts.v[last];
		runs->starts.n = kept + 1;
		*events = *spare;
		*spare = from;
	}
}

int trace_sort(struct trace *t)
{
	struct runs runs = {};
	struct event *spare = NULL;
	int r = t->n_events ? find_runs(t->events, t->n_events, &runs) : 0;

	if (r == 0 && runs.starts.n > 2) {
		spare = reallocarray(NULL, t->n_events, sizeof(*spare));
		if (!spare) {
			r = -ENOMEM;
		} else {
			merge_runs(&t->events, &spare, &runs);
			t->allocated = t->n_events;
		}
	}
	free(spare);
	VEC_FREE(runs.starts);
	return r;
}
