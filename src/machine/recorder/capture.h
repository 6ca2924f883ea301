/* The flight recorder within the daemon: holds the ring, freezes it when asked, keeps what a mark froze.
 *
 * Two threads sleep, each on a socket:
 *
 *   RUN/ring    datagrams of any user: a marker, which is an application's or a person's text for the time axis of traces
 *               (include/whyslow-marker.h)
 *   RUN/press   connections of root: "mark" freezes now and 5 s later and keeps both as the mark's trace; "freeze" gets a trace
 *               as a file in memory
 *
 * No message to either may carry descriptors. The sampler is never made to wait.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/config.h"
#include "machine/events/trace.h"
#include "machine/flight/flight.h"

struct capture;

/* Loads the flight recorder's programs; without BPF reads the kernel's trace buffers (machine/tracefs/tracefs.h). 0, or -errno with *ret_why
 * in words (static). Processes that are forked between this and capture_start() inherit the flight recorder. */
int capture_open(const struct config *config, bool without_bpf, struct capture **ret, const char **ret_why);
/* Attaches the programs and answers, in a thread of its own. 0 or -errno. */
int capture_start(struct capture *c);
void capture_stop(struct capture *c);
/* In a process that was forked in between; NULL is allowed. */
void capture_inherit(struct capture *c);
/* There: the newest `most` events (0 = all) after `since` (CLOCK_MONOTONIC ns), with the names of functions or without. As capture_now(),
 * without a word. */
int capture_freeze(struct capture *c, uint64_t since, size_t most, bool named, int patience, struct trace *ret);
/* The same for a question about now, without names. One within two seconds of another gets the other's events and its moment: *at (wall ns) is the
 * moment asked about, and afterwards the one to be judged. Two questions at the same time wait for one copy. */
int capture_freeze_now(struct capture *c, uint64_t since, size_t most, int patience, int64_t *at, struct trace *ret);
/* There: gives up what questions share, before the process works for another user. NULL is allowed. */
void capture_leave(struct capture *c);
/* At every tick: turns a full ring, and takes samples only while the machine is busy (CPUs' worth of work, as
 * recorder_busy()). NULL is allowed. */
void capture_tick(struct capture *c, double busy);
/* NULL where nothing is added up in the kernel. */
struct ring *capture_ring(struct capture *c);

/* --- from other processes: see also machine/trace/capture-client.h --- */

/* The sums that a running recorder's programs add up, without loading any. 0; -ENOENT without a recorder, or with one that adds nothing up; or as
 * ring_join(). */
int capture_join_sums(const char *run_dir, struct ring **ret);
/* The sums of what threads do: the daemon's, or without one those of programs of our own from now on, until the ring is closed. Root
 * only. *ret_live (may be NULL): they are the daemon's. 0 or -errno, said on standard error. */
int capture_open_sums(const char *run_dir, struct ring **ret, bool *ret_live);
