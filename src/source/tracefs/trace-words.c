#include "source/tracefs/trace-words.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/data/clock.h"
#include "model/event/calls.h"
#include "source/process/describe.h"

static const uint8_t calls[CALLS_ROOM] = {CALLS(CALL_ROW)};

uint8_t trace_call(int64_t number)
{
	if (number < 0)
		return CALL_FAULT;
	return number < CALLS_MAX && calls[number] ? calls[number] : CALL_OTHER;
}

static int compare_processes(const void *a, const void *b)
{
	const struct trace_thread *x = a, *y = b;

	return x->tgid != y->tgid ? (x->tgid < y->tgid ? -1 : 1) : x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* One reading of /proc a process; its threads share the words. */
void trace_describe_threads(const char *proc_root, struct trace *t)
{
	struct process_text text = {};
	uint32_t of = 0;

	if (t->threads.n)
		qsort(t->threads.v, t->threads.n, sizeof(t->threads.v[0]), compare_processes);
	for (size_t i = 0; i < t->threads.n; i++) {
		struct trace_thread *thread = &t->threads.v[i];

		if (thread->tgid != of) {
			process_text_free(&text);
			text = (struct process_text){};
			of = thread->tgid;
			if (!(thread->flags & (THREAD_IS_KERNEL | THREAD_HAS_ENDED)))
				(void)process_describe_program(proc_root, of, 0, &text);
		}
		if (text.exe)
			thread->exe = strdup(text.exe);
		if (text.unit)
			thread->unit = strdup(text.unit);
	}
	process_text_free(&text);
}

void trace_describe_machine(struct trace *t)
{
	struct utsname name;

	if (uname(&name) == 0) {
		t->machine = strdup(name.machine);
		t->host = strdup(name.nodename);
		t->kernel = strdup(name.release);
	}
	t->wall_offset = wall_now() - monotonic_now();
	t->boot_offset = boot_now() - monotonic_now();
}
