/* What threads did before their first event, concluded from the rest of the trace. */
#include "machine/threads/state-build.h"

/* Nothing stands in a run queue while its CPU is idle: up to then it is not known what it did. */
static void doubt_queueing(struct build *b, struct thread_line *line, size_t index)
{
	struct interval *i = &line->intervals.v[index];
	const struct cpu_line *cpu = &b->t->cpus.v[i->cpu];
	int64_t idle_until = i->start;

	for (size_t s = segment_find(cpu, i->start); s < cpu->segments.n && cpu->segments.v[s].start < i->end; s++) {
		int64_t end = s + 1 < cpu->segments.n ? cpu->segments.v[s + 1].start : cpu->end;

		if (cpu->segments.v[s].kind == SEGMENT_IDLE)
			idle_until = end < i->end ? end : i->end;
	}
	if (idle_until == i->end) {
		i->state = STATE_UNKNOWN;
	} else if (idle_until > i->start) {
		state_interval_split(b, (uint32_t)(line - b->t->threads.v), index, idle_until);
		if (!b->error)
			line->intervals.v[index].state = STATE_UNKNOWN;
	}
}

static bool is_lasting(uint8_t state)
{
	return state_table[state].group == GROUP_RESTING || state_table[state].wait >= FOR_PEER;
}

/* It slept, and was woken: most likely for what it sleeps next, if that is a thing one sleeps long for. */
static void guess_sleep(struct thread_line *line, struct interval *i)
{
	for (size_t k = 0; k < line->intervals.n; k++) {
		const struct interval *x = &line->intervals.v[k];
		enum state_group group = state_table[x->state].group;

		if (x == i || (group != GROUP_BLOCKED && group != GROUP_RESTING))
			continue;
		if (is_lasting(x->state))
			i->state = x->state;
		return;
	}
}

void state_infer_beginnings(struct build *b)
{
	for (size_t n = 0; n < b->t->threads.n && !b->error; n++) {
		struct thread_line *line = &b->t->threads.v[n];

		for (size_t i = 0; i < line->intervals.n && i < 2; i++) {
			struct interval *x = &line->intervals.v[i];

			if (!(x->flags & INTERVAL_INFERRED))
				continue;
			if (x->state == STATE_RUNNABLE)
				doubt_queueing(b, line, i);
			else if (x->state == STATE_OTHER)
				guess_sleep(line, x);
			break;
		}
	}
}
