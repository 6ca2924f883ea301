/* What a trace says next to its events: the machine, and what processes are called. */
#pragma once

#include "machine/events/trace.h"

/* Host, kernel, clocks. */
void trace_describe_machine(struct trace *t);
/* exe and unit of the processes that still live. Takes no lock of their memory: called where nothing may block. `most` > 0: of more
 * processes than that only those of which events speak. */
void trace_describe_threads(const char *proc_root, size_t most, struct trace *t);
/* What a thread waits for in a system call (machine/events/calls.h), CALL_BY_FILE where its first argument decides; a negative number: in
 * none, so for a page. */
uint8_t trace_call(int64_t number);
/* Threads of the machine as /proc has them, with what each waits for now: for recorders that are not in the kernel.
 * `boot_offset`: CLOCK_BOOTTIME - CLOCK_MONOTONIC, ns. 0, -ENOMEM, or -errno of the folder. */
int trace_list_threads(const char *proc_root, int64_t boot_offset, struct trace *t);
