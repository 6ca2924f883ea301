/* For tests/capture: what a trace file holds, a kind a line, and its markers. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/trace-file.h"

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

int main(int argc, char **argv)
{
	_cleanup_(trace_clear) struct trace t = {};
	_cleanup_free_ char *error = NULL;
	size_t kinds[EVENT_KIND_END] = {};

	if (argc < 2 || trace_read_file(argv[1], &t, &error) < 0) {
		fprintf(stderr, "%s\n", error ? error : "usage: events TRACE");
		return 1;
	}
	for (size_t i = 0; i < t.n_events; i++)
		kinds[t.events[i].kind]++;
	for (int k = 0; k < EVENT_KIND_END; k++)
		if (kinds[k])
			printf("%s %zu\n", event_kind_name((enum event_kind)k), kinds[k]);
	printf("after the press %.3f s, before %.3f s\n", (double)(t.to - t.frozen) / 1e9, (double)(t.frozen - t.from) / 1e9);
	printf("stacks %zu modules %zu mappings %zu symbols %zu\n", t.stacks.n, t.modules.n, t.mappings.n, t.symbols.n);
	print_markers(&t);
	return 0;
}
