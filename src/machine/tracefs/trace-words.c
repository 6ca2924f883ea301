#include "machine/tracefs/trace-words.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "machine/events/calls.h"
#include "machine/process/describe.h"

#define TID_MAX (1u << 22) /* PID_MAX_LIMIT of the kernel */

static const uint8_t calls[CALLS_ROOM] = {CALLS(CALL_ROW)};

uint8_t trace_call(int64_t number)
{
	if (number < 0)
		return CALL_FAULT;
	return number < CALLS_MAX && calls[number] ? calls[number] : CALL_OTHER;
}

ORDER(compare_processes, struct trace_thread, ASCENDING(tgid) ?: ASCENDING(tid))

static void note(uint64_t *spoken_of, uint32_t tid)
{
	if (tid < TID_MAX)
		spoken_of[tid / 64] |= 1ull << tid % 64;
}

/* The threads that events name, one bit each; the caller frees. NULL without memory. */
static uint64_t *find_spoken_of(const struct trace *t)
{
	uint64_t *spoken_of = calloc(TID_MAX / 64, sizeof(*spoken_of));

	for (size_t i = 0; spoken_of && i < t->n_events; i++) {
		const struct event *e = &t->events[i];

		note(spoken_of, e->thread);
		if (e->kind == EVENT_SWITCH)
			note(spoken_of, e->out.next);
		else if (e->kind == EVENT_WAKEUP)
			note(spoken_of, e->wakeup.waker);
		else if (e->kind == EVENT_FORK)
			note(spoken_of, e->fork.parent);
	}
	return spoken_of;
}

static bool is_spoken_of(const struct trace_thread *threads, size_t n, const uint64_t *spoken_of)
{
	return ANY_WHERE(i, n, threads[i].tid < TID_MAX && spoken_of[threads[i].tid / 64] >> threads[i].tid % 64 & 1);
}

/* From i on, of one process. */
static size_t count_threads(const struct trace *t, size_t i)
{
	size_t n = 1;

	while (i + n < t->threads.n && t->threads.v[i + n].tgid == t->threads.v[i].tgid)
		n++;
	return n;
}

static size_t count_processes(const struct trace *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->threads.n; i += count_threads(t, i))
		n++;
	return n;
}

/* One reading of /proc; its threads share the words. */
static void describe_process(const char *proc_root, struct trace_thread *threads, size_t n)
{
	_cleanup_(process_text_free) struct process_text text = {};

	if (!(threads[0].flags & (THREAD_IS_KERNEL | THREAD_HAS_ENDED)))
		(void)describe_program(proc_root, threads[0].tgid, 0, &text);
	for (size_t i = 0; i < n; i++) {
		if (text.exe)
			threads[i].exe = strdup(text.exe);
		if (text.unit)
			threads[i].unit = strdup(text.unit);
	}
}

void trace_describe_threads(const char *proc_root, size_t most, struct trace *t)
{
	_cleanup_free_ uint64_t *spoken_of = NULL;

	VEC_SORT(t->threads, compare_processes);
	if (most && count_processes(t) > most)
		spoken_of = find_spoken_of(t);
	for (size_t i = 0, n; i < t->threads.n; i += n) {
		n = count_threads(t, i);
		if (!spoken_of || is_spoken_of(&t->threads.v[i], n, spoken_of))
			describe_process(proc_root, &t->threads.v[i], n);
	}
}

void trace_describe_machine(struct trace *t)
{
	struct utsname name;

	if (uname(&name) == 0) {
		t->machine = strdup(name.machine);
		t->host = strdup(name.nodename);
		t->kernel = strdup(name.release);
	}
	t->wall_offset = clock_wall() - clock_monotonic();
	t->boot_offset = clock_boot() - clock_monotonic();
}
