/* Sources in, frames out: what `record` runs for ever, and what a bare `whyslow` runs for five seconds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/str.h"
#include "machine/chunk/frame.h"
#include "machine/model/source.h"

struct recorder;

/* Where the time comes from; a test injects its own. */
struct recorder_clock {
	int64_t (*boot)(void), (*wall)(void); /* ns */
};

struct recorder_options {
	const struct recorder_clock *clock; /* NULL = the machine's */
	struct source_options source;
	uint32_t first_id;    /* for new entities */
	bool describe_aside;  /* names processes in a thread of its own, so that no sample waits for one */
	bool force_proc;      /* do not try BPF */
	void (*observe)(const struct tick *tick, void *data); /* sees each tick before it is encoded; NULL = no one */
	void *observe_data;
	struct totals *totals; /* machine/model/totals.h: adds each tick; NULL = none */
	bool processes_only;  /* without the machine's own counters */
};

/* 0 or -errno when no source of processes can be had. *ret_error in words. */
int recorder_open(const struct recorder_options *options, struct recorder **ret, char **ret_error);
void recorder_close(struct recorder *r);

/* Reads the clocks for the coming tick. A sleep of the machine and a step of the wall clock are put on the time axis;
 * true after a step: a segment should begin, so that within each one wall time only goes forward. `interval` is the
 * normal time between two ticks, ns. Without this call recorder_tick() reads them itself. */
bool recorder_read_clocks(struct recorder *r, int64_t interval);

/* Takes one sample of everything and appends it to `frame`. `key` begins a segment. 0 or -errno of the buffer. */
int recorder_tick(struct recorder *r, bool key, struct str *frame);
/* To compact the segment takes as much memory as it may: the next tick should begin another. */
bool recorder_segment_is_full(const struct recorder *r);
/* Puts a note on the time axis with the next tick. */
void recorder_note(struct recorder *r, enum note_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

struct dataset;
/* Samples everything so many times, `pause` ms apart, into `ret`, without a recording. 0, or -errno in words; *ret_missing, where it is asked for,
 * as of recorder_missing(), for the caller to free. */
int recorder_look(unsigned ticks, int pause, struct dataset *ret, char **ret_missing, char **ret_error);

/* Readable when a source has more than it should leave until the next tick; -1 = never. */
int recorder_wake_fd(const struct recorder *r);
/* Takes that in. False: it is too much to keep, a sample is wanted at once. */
bool recorder_drain(struct recorder *r);
/* What could not be opened, or is had for more than normal, a line each, for the log and `doctor`; belongs to the recorder. */
const char *recorder_missing(const struct recorder *r);
/* Processes are read from /proc because BPF cannot be had. */
bool recorder_is_partial(const struct recorder *r);
const char *recorder_process_source(const struct recorder *r);
/* In words why they are not read as cheaply as they might be; NULL = they are. */
const char *recorder_process_cost(const struct recorder *r);
/* How busy the machine was in the last tick: CPU time of all processes over the time that passed (2.0 = two CPUs). */
double recorder_busy(const struct recorder *r);
