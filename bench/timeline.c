/* How fast events become answers, on one core: timeline EVENTS [FILE]. With a file the events are only written to it, as a
 * trace; else it prints "events seconds_states seconds_blame seconds_all seconds_pivot",
 * where all is from the events as a freeze leaves them (CPU after CPU) to the printed matrix, and pivot to the printed table of 'waits --by reason,waker'. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/data/cleanup.h"
#include "lib/rights/memory-budget.h"
#include "machine/blame/blame.h"
#include "machine/threads/state.h"
#include "machine/trace/trace-file.h"
#include "machine/view-waits/wait-pivot.h"
#include "machine/view-waits/waits.h"

#define CPUS	2
#define THREADS 400
#define FIRST	1000
#define FAMILY	40 /* threads that work together */

static uint64_t seed = 7;

static uint32_t roll(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

/* CPU time: the program reads and writes nothing, and what else runs must not count. */
static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct machine {
	struct trace *trace;
	struct trace slices[CPUS];
	uint32_t queue[CPUS][THREADS], queued[CPUS], current[CPUS];
	uint32_t sleepers[THREADS], n_sleepers;
	uint64_t now;
};

static void say(struct machine *m, uint16_t cpu, struct event e)
{
	e.time = m->now;
	e.cpu = cpu;
	trace_add(&m->slices[cpu], &e);
}

/* One thread leaves, another comes; some wait for a lock, a disk, a pipe or a timer. */
static void reschedule(struct machine *m, uint16_t cpu)
{
	static const uint8_t calls[] = {CALL_FUTEX, CALL_FILE, CALL_PIPE, CALL_POLL, CALL_SLEEP, CALL_SOCKET};
	uint32_t prev = m->current[cpu], next = 0;
	bool sleeps = prev && roll(4);
	uint8_t call = calls[roll(sizeof(calls))];

	if (m->queued[cpu]) {
		next = m->queue[cpu][0];
		m->queued[cpu]--;
		for (uint32_t i = 0; i < m->queued[cpu]; i++)
			m->queue[cpu][i] = m->queue[cpu][i + 1];
	} else if (!sleeps) {
		return;
	}
	if (sleeps && call == CALL_FUTEX)
		say(m, cpu, (struct event){.kind = EVENT_LOCK, .thread = prev, .flags = LOCK_FUTEX,
					   .lock = {.object = 0x1000, .owner = prev / 4 * 4 + roll(4), .word = 2}});
	say(m, cpu, (struct event){.kind = EVENT_SWITCH, .thread = prev, .flags = sleeps ? 0 : WAIT_SLICE,
				   .out = {.next = next, .state = sleeps, .call = call, .object = 0x1000 + prev % 8}});
	m->current[cpu] = next;
	if (sleeps)
		m->sleepers[m->n_sleepers++] = prev;
	else if (prev)
		m->queue[cpu][m->queued[cpu]++] = prev;
}

static void wake_one(struct machine *m, uint16_t cpu)
{
	uint32_t at, one, current = m->current[cpu];
	uint16_t target = (uint16_t)roll(CPUS);
	bool near;

	if (!m->n_sleepers || m->queued[target] > 6)
		return;
	at = roll(m->n_sleepers);
	one = m->sleepers[at];
	near = current && current / FAMILY == one / FAMILY; /* threads wake those they work with; others, interrupts do */
	m->sleepers[at] = m->sleepers[--m->n_sleepers];
	m->queue[target][m->queued[target]++] = one;
	say(m, cpu, (struct event){.kind = EVENT_WAKEUP, .thread = one, .flags = near ? 0 : WAKEUP_IN_IRQ,
				   .wakeup = {.waker = current, .target = target, .vector = EVENT_TIMER_VECTOR}});
}

static void play(struct machine *m, size_t events)
{
	for (uint32_t i = 0; i < THREADS; i++)
		m->sleepers[m->n_sleepers++] = FIRST + i;
	m->now = 1000000;
	while (m->slices[0].n_events + m->slices[1].n_events < events) {
		uint16_t cpu = (uint16_t)roll(CPUS);

		m->now += 200 + roll(2000);
		if (roll(10) == 0)
			say(m, cpu, (struct event){.kind = EVENT_SOFTIRQ, .thread = m->current[cpu],
						   .interrupt = {.took = 150, .number = 3}});
		else if (roll(2))
			wake_one(m, cpu);
		else
			reschedule(m, cpu);
	}
}

static int gather(struct machine *m, struct trace *t)
{
	trace_begin(t, CPUS);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct trace_thread one = {.tid = FIRST + i, .tgid = FIRST + i / 4 * 4, .pid_ns = 1, .ns_tid = FIRST + i};

		snprintf(one.comm, sizeof(one.comm), "thread%u", i / 4);
		trace_add_thread(t, &one);
	}
	for (uint16_t cpu = 0; cpu < CPUS; cpu++) {
		struct event *at = trace_reserve(t, m->slices[cpu].n_events);

		if (!at)
			return -1;
		for (size_t i = 0; i < m->slices[cpu].n_events; i++)
			at[i] = m->slices[cpu].events[i];
		t->n_events += m->slices[cpu].n_events;
		trace_clear(&m->slices[cpu]);
	}
	return 0;
}

static int print_pivot(const struct timeline *line, const struct waits_options *o, FILE *out)
{
	_cleanup_(wait_pivot_free) struct wait_pivot pivot = {};
	const struct pivot_question question = {.from = line->start, .to = line->end};
	int r = wait_pivot_parse("reason,waker", pivot.chosen, &pivot.n_chosen);

	r = r ?: wait_pivot_make(line, &question, &pivot);
	if (r == 0)
		wait_pivot_text(line, &pivot, o, out);
	return r;
}

int main(int argc, char **argv)
{
	static struct machine m;
	struct trace t = {};
	struct timeline line;
	struct blame_matrix processes;
	struct waits_options o = {.top = 8};
	size_t events = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000000;
	_cleanup_fclose_ FILE *nowhere = fopen("/dev/null", "w");
	double began, sorted, built, blamed, printed, pivoted;

	memory_budget_keep_freed(); /* as a question does */
	for (uint16_t cpu = 0; cpu < CPUS; cpu++)
		trace_begin(&m.slices[cpu], CPUS);
	play(&m, events);
	if (gather(&m, &t) < 0)
		return 1;
	began = seconds();
	if (trace_finish(&t) < 0)
		return 1;
	if (argc > 2) {
		_cleanup_close_ int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		return fd < 0 || trace_write(&t, fd) < 0;
	}
	sorted = seconds();
	if (timeline_build(&t, &line) < 0)
		return 1;
	built = seconds();
	if (blame_build(&line, line.start, line.end, NULL, 0, LEVEL_PROCESS, &processes) < 0)
		return 1;
	blamed = seconds();
	waits_text(&line, &processes, &o, nowhere);
	printed = seconds();
	if (print_pivot(&line, &o, nowhere) < 0)
		return 1;
	pivoted = seconds();
	printf("%zu %.4f %.4f %.4f %.4f\n", t.n_events, built - sorted, blamed - built, printed - began, built - began + pivoted - printed);
	return 0;
}
