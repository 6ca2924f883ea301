/* For tests: what a trace file holds, a kind a line, and its markers; with --strangers how long those ran who are hidden, and which of
 * their switches lie off the grid that the policy spreads them over (machine/model/visibility.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "machine/events/test-event-names.h"
#include "machine/model/visibility.h"
#include "machine/trace/trace-file.h"

static void print_markers(const struct trace *t)
{
	for (size_t i = 0; i < t->n_events; i++) {
		const struct event *e = &t->events[i];

		if (e->kind == EVENT_MARKER)
			printf("\nmarker ");
		if (e->kind == EVENT_MARKER || e->kind == EVENT_MARKER_TEXT)
			printf("%.*s", EVENT_TEXT, e->text);
	}
	putchar('\n');
}

static bool is_hidden(const struct trace *t, uint32_t tid, uint64_t time)
{
	const struct trace_thread *thread = trace_thread(t, tid, time);

	return thread && thread->flags & THREAD_IS_HIDDEN;
}

/* Where a thread of the viewer's comes, goes or queues, the moment is its own. */
static bool is_own_moment(const struct trace *t, uint64_t time)
{
	for (size_t i = trace_find(t, time); i < t->n_events && t->events[i].time == time; i++) {
		const struct event *e = &t->events[i];

		if ((e->thread && !is_hidden(t, e->thread, time)) || (e->kind == EVENT_SWITCH && e->out.next && !is_hidden(t, e->out.next, time)))
			return true;
	}
	return false;
}

static void print_strangers(const struct trace *t)
{
	for (size_t i = 0; i < t->n_events; i++) {
		const struct event *e = &t->events[i];
		bool from = is_hidden(t, e->thread, e->time);

		if (e->kind == EVENT_SWITCH && from)
			printf("%s\n", trace_thread(t, e->thread, e->time)->comm);
		if (e->kind == EVENT_SWITCH && from && e->time % VISIBLE_SLICE && !is_own_moment(t, e->time))
			printf("%u off the grid\n", e->thread);
	}
}

int main(int argc, char **argv)
{
	_cleanup_(trace_clear) struct trace t = {};
	_cleanup_free_ char *error = NULL;
	size_t kinds[EVENT_KIND_END] = {};

	if (argc < 2 || trace_read_file(argv[1], &t, &error) < 0) {
		fprintf(stderr, "%s\n", error ? error : "usage: events TRACE");
		return 1;
	}
	if (argc > 2 && strcmp(argv[2], "--strangers") == 0) {
		print_strangers(&t);
		return 0;
	}
	for (size_t i = 0; i < t.n_events; i++)
		kinds[t.events[i].kind]++;
	for (int k = 0; k < EVENT_KIND_END; k++)
		if (kinds[k])
			printf("%s %zu\n", trace_event_name((enum event_kind)k), kinds[k]);
	printf("after the press %.3f s, before %.3f s\n", (double)(t.to - t.frozen) / 1e9, (double)(t.frozen - t.from) / 1e9);
	printf("stacks %zu modules %zu mappings %zu symbols %zu\n", t.stacks.n, t.modules.n, t.mappings.n, t.symbols.n);
	print_markers(&t);
	return 0;
}
