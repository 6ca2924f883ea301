/* Spans in any order become traces, in bounded memory.
 *
 * A trace is handed on when nothing of it can come any more: when the latest start seen lies `late` beyond its last
 * end, when more than `most` spans wait (the trace that waited longest goes first, and is counted), when it has `longest` spans, or at the end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spans/model/span.h"

#define ASSEMBLE_SPANS_MAX (1u << 20) /* about 80 MB */

struct assembler_options {
	int64_t late;  /* ns; INT64_MAX = wait until memory is short */
	uint32_t most; /* spans that there is room for, in fours of a trace; 0 = ASSEMBLE_SPANS_MAX */
	uint32_t longest; /* spans of one trace: what has more is handed on in pieces; 0 = any number */
	bool ordered;  /* spans of a trace come in no order: they are handed on by start, then id */
	void *state;
	/* Spans of one trace in the order they came; lent. 0; 1: the next ones are to wait, until the next call; or -errno that ends the reading. */
	int (*trace)(void *state, const struct span *spans, uint32_t n);
};

struct assembler_tally {
	uint64_t spans, traces;
	uint64_t cut;  /* traces handed on early, for memory */
	uint64_t late; /* traces, or parts of them, that came after theirs was handed on */
};

struct assembler;

struct assembler *assembler_new(const struct assembler_options *options);
void assembler_free(struct assembler *a);
/* It is `now` (wall ns): spans that begin or end later have a clock that is ahead. They do not move the clock of the assembler beyond it, and
 * no trace waits for it. Never called: any time may be. */
void assembler_set_now(struct assembler *a, int64_t now);
/* For struct span_sink. 0 or -errno. */
int assembler_put(void *assembler, const struct span *span);
/* Spans of one message come in no order of time, one service after another: until it ends, nothing is handed on but for memory.
 * Several may be read in turns. 0 or -errno. */
void assembler_begin_message(struct assembler *a);
int assembler_end_message(struct assembler *a);
/* Hands on all that waits, or so many traces of it, the oldest first. When nothing waits any more its memory is free again. */
int assembler_flush(struct assembler *a, uint32_t traces);
/* Bytes of memory of what waits. */
size_t assembler_bytes(const struct assembler *a);
/* Spans there is still room for before traces are cut. */
uint32_t assembler_room(const struct assembler *a);
uint32_t assembler_waiting(const struct assembler *a);
struct assembler_tally assembler_tally(const struct assembler *a);
