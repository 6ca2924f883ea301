/* The kernel's trace records, turned into the flight recorder's events.
 *
 * What the ring's programs read in the kernel is put together from records here: the system call a thread is in from the last
 * that it entered and did not leave, the waker from sched_waking, an interrupt's time from its two ends. A thread that waits
 * without being woken by the disk, and is not in one of the calls of machine/events/calls.h, waits for something unknown. A file's kind is
 * asked of /proc, of processes that still live. The calls of 32-bit programs have other numbers: what they wait for may be reported wrong.
 */
#pragma once

#include "machine/events/trace.h"
#include "machine/tracefs/tracefs-page.h"

/* Appends what the n CPUs' pages tell up to the time `until`, in order of time. `t` has the threads that live
 * (tracefs-threads.h); those that only the records know of are added. 0, -ENOMEM, -EINVAL. */
int tracefs_translate(struct tracefs_pages *cpus, uint32_t n, const char *proc_root, uint64_t until, struct trace *t);
