/* How other processes ask the recorder's flight recorder (machine/recorder/capture.h) for events, and have it keep those of a mark. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "machine/events/trace.h"

#define CAPTURE_TEXT	96
#define FREEZE_PATIENCE 20000 /* ms for all events with their names, on a machine that starves */

enum capture_request { CAPTURE_MARKER = 1, CAPTURE_FREEZE = 2, CAPTURE_MARK = 3 };

/* A message on RUN/ring (only markers) or RUN/press. include/whyslow-marker.h writes the same. */
struct capture_message {
	uint32_t kind, flags;
	int64_t mark; /* of a freeze: how many events at most; 0 = all */
	uint64_t time; /* CLOCK_MONOTONIC; 0 = when it arrives */
	uint32_t thread;
	uint32_t length; /* of the text */
	char text[CAPTURE_TEXT];
};

/* The daemon freezes and keeps a trace for this mark. Does not wait. -ENOENT or -ECONNREFUSED: there is no recorder, or
 * it has no ring. */
int capture_mark(const char *run_dir, int64_t mark);
/* A trace of now: the newest `most` events (0 = all), within `patience` ms (-1 = any time). As trace_read(); -ETIMEDOUT; -ENODATA:
 * the recorder could not make one. */
int capture_now(const char *run_dir, size_t most, int patience, struct trace *ret, char **ret_error);
/* A marker; the text may be cut off. flags: MARKER_. */
int capture_marker(const char *run_dir, unsigned flags, const char *text);
