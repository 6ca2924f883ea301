/* The flight recorder within the daemon: holds the ring, freezes it when asked, keeps what a mark froze.
 *
 * A thread sleeps on RUN/ring, a datagram socket anybody may write to:
 *
 *   marker   an application's or a person's text, for the time axis of traces (include/whyslow-marker.h)
 *   freeze   root only (the process that answers an unprivileged user is root's): the trace comes through a descriptor
 *            that is sent along
 *   mark     root only: freezes now and 5 s later, and keeps both as the mark's trace
 *
 * The sampler is never made to wait.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "model/trace.h"
#include "source/flight.h"

struct capture;

/* Without BPF the kernel's trace buffers are read instead (source/tracefs.h). 0, or -errno with *ret_why in words (static). */
int capture_start(const struct config *config, bool without_bpf, struct capture **ret, const char **ret_why);
void capture_stop(struct capture *c);
/* At every tick: turns a full ring, and takes samples only while the machine is busy (CPUs' worth of work, as
 * recorder_busy()). NULL is allowed. */
void capture_tick(struct capture *c, double busy);
/* NULL where nothing is added up in the kernel. */
struct ring *capture_ring(struct capture *c);

/* --- from other processes --- */

/* The daemon freezes and keeps a trace for this mark. Does not wait. -ENOENT or -ECONNREFUSED: there is no recorder, or
 * it has no ring. */
int capture_mark(const char *run_dir, int64_t mark);
/* A trace of now. As trace_read(). */
int capture_now(const char *run_dir, struct trace *ret, char **ret_error);
/* A marker; the text may be cut off. flags: MARKER_. */
int capture_marker(const char *run_dir, unsigned flags, const char *text);
/* The sums of what threads do: the daemon's, or without one those of programs of our own from now on, until the ring is closed. Root
 * only. *ret_live (may be NULL): they are the daemon's. 0 or -errno, said on standard error. */
int capture_open_sums(const char *run_dir, struct ring **ret, bool *ret_live);
