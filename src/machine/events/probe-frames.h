/* Frames of the recorder's own programs in a stack that one of them took: it ran where the tracepoint is, above what is asked about.
 *
 *   bpf_prog_4f2..._stack_here < bpf_prog_8a1..._on_waking < bpf_trace_run1 < __traceiter_sched_waking < try_to_wake_up < ...
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The name of kernel code; NULL where it is not known. */
typedef const char *(*frame_name)(const void *data, uint64_t address);
/* How many of the innermost frames lead to the tracepoint's call, that call included; 0 where there is none. */
uint32_t probe_frames(const uint64_t *frames, uint32_t n, frame_name name, const void *data);
