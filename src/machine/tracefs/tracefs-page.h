/* Records out of the pages of a CPU's trace buffer (per_cpu/cpuN/trace_pipe_raw), one after another.
 *
 * A page has the time of its first record; each record has the time since the one before. In the first word of a record
 * (events/header_event) the low 5 bits are its kind or its length in words, the others that time:
 *
 *	type_len : 5, time_delta : 27, array[]
 *	type == 29: padding; 30: more of the time; 31: the time itself; 1 .. 28: so many words of data; 0: array[0] bytes
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "machine/tracefs/tracefs-layout.h"

struct tracefs_record {
	uint64_t time; /* CLOCK_MONOTONIC, ns: the instance's clock is mono */
	uint16_t cpu;
	uint8_t point;	 /* enum trace_point */
	uint8_t context; /* CONTEXT_ */
	uint32_t thread; /* that was current */
	int64_t values[TRACEFS_VALUES]; /* 0 for a field that this kernel does not have; the first word of an array */
	const char *text;		/* within the page, `text_size` bytes; "" without */
	size_t text_size;
};

/* common_flags of include/linux/trace_events.h: bits of enum trace_flag_type */
#define CONTEXT_HARDIRQ 0x08
#define CONTEXT_SOFTIRQ 0x10

/* Pages of one CPU, in order. */
struct tracefs_pages {
	const struct tracefs_layout *layout;
	const uint8_t *bytes; /* n * layout->page_size */
	size_t n;
	uint16_t cpu;

	size_t page;	 /* where the reading is */
	size_t at, end;	 /* in the page's data; 0, 0 = the page is not begun */
	uint64_t time;
	uint64_t damaged; /* pages that ended amid a record */
};

/* The next record of one of our points: 1, or 0 at the end. Never reads beyond the pages, whatever they hold. */
int tracefs_next(struct tracefs_pages *p, struct tracefs_record *ret);

/* Of a page as read: the time of its first record; whether records before it were overwritten; whether it holds any. */
uint64_t tracefs_page_time(const struct tracefs_layout *l, const uint8_t *page);
bool tracefs_page_lost(const struct tracefs_layout *l, const uint8_t *page);
bool tracefs_page_empty(const struct tracefs_layout *l, const uint8_t *page);
