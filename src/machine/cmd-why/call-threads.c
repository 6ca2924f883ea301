#include "machine/cmd-why/call-threads.h"

#include "lib/data/clock.h"

#define CLOCKS_DIFFER (NS_PER_MS / 5) /* at most, those of a span and of the recorder, on the same machine */

static bool is_awake(const struct thread_line *line, int64_t at)
{
	VEC_EACH(i, line->intervals) {
		const enum state_group group = state_table[i->state].group;

		if (i->end >= at - CLOCKS_DIFFER && i->start <= at + CLOCKS_DIFFER && (group == GROUP_RUNNING || group == GROUP_RUNNABLE))
			return true;
	}
	return false;
}

size_t call_threads(const struct timeline *t, int64_t begin, int64_t end, uint32_t *threads, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		const uint32_t thread = threads[i];
		const struct thread_line *line = &t->threads.v[thread];

		if ((begin != CALL_BEGAN_BEFORE && !is_awake(line, begin)) || !is_awake(line, end))
			continue;
		threads[i] = threads[kept];
		threads[kept++] = thread;
	}
	return kept;
}
