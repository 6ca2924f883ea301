/* Servers x counters x time: what was measured of many machines, as sources leave it and analyses read it.
 *
 * Each server has its own time axis (ascending, wall ns: clocks differ, see fleet_align()), and for each counter that
 * it has a column of as many float32. A missing sample is NaN, never zero. Counters (running sums) are rates per
 * second here: intake made them so, in double precision, wraps and restarts seen to. Memory is 4 bytes a value, 8 a
 * row, and some dozens a column. docs/decisions/0007-fleet-is-its-own-type.md says why this is not struct dataset.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/hmap.h"
#include "lib/data/vec.h"

#define FLEET_TIME_MOST	    ((int64_t)4000000000 * 1000000000) /* ns before and after 1970: the distance of two moments fits into 64 bits */
#define FLEET_INTERVAL_MOST ((int64_t)1 << 58)			 /* ns, nine years: some of them fit, too */

/* Persisted: never renumber. */
enum fleet_kind {
	FLEET_UNKNOWN = 0, /* only before intake_finish() */
	FLEET_GAUGE = 1,
	FLEET_COUNTER = 2, /* was a running sum; its columns hold the rate per second */
};

struct fleet_counter {
	char *name;
	char *unit; /* of the level, or of what is summed ("bytes": the column is then bytes/s); NULL = not known */
	char *help; /* NULL = none */
	enum fleet_kind kind;
};

struct fleet_server {
	char *name;
	char *role; /* whom to compare it with: servers of one role do the same work; NULL = not known */
	uint32_t n; /* rows */
	int64_t *time;	/* n of them */
	float **column; /* one per counter of the fleet; NULL = this server does not have it, or it was not asked for */
};

struct fleet {
	VEC(struct fleet_server) servers;
	VEC(struct fleet_counter) counters;
	int64_t interval;    /* ns: the most normal distance of two rows; 0 = no server has two; at most
			      * FLEET_INTERVAL_MOST */
	VEC(char *) remarks; /* what the reader must know: bad rows, restarts, unmeasured servers */
	struct hmap server_index, counter_index; /* (hash of the name, 0) -> index + 1 */
	VEC(void *) blocks; /* memory of the columns */
};

void fleet_free(struct fleet *f);

/* A copy of a text that was read, as it may be shown: what a terminal would obey is replaced. NULL without memory. */
char *fleet_text(const char *text);
/* Adds one, or finds it by its name. Its index, or -ENOMEM. Names are copied (fleet_text()), and two that look the same are
 * one; columns of servers that are there grow by NULL. Not for analyses. */
int fleet_add_server(struct fleet *f, const char *name);
int fleet_add_counter(struct fleet *f, const char *name);
/* Index, or -ENOENT. */
int fleet_find_server(const struct fleet *f, const char *name);
int fleet_find_counter(const struct fleet *f, const char *name);
/* "205 ms", "3.2 MB/s", "-": a value of a counter (-1: of none) with its unit where known, for people. Returns buf. */
char *fleet_value_text(const struct fleet *f, int counter, double value, char *buf, size_t n);
/* The same as a text that lasts as long as the block where it stands. */
#define FLEET_VALUE_TEXT(f, counter, value) fleet_value_text((f), (counter), (value), (char[48]){}, 48)
/* A remark for the reader. 0 or -ENOMEM. */
int fleet_remark(struct fleet *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Finds the interval from the time axes, once they are complete. */
void fleet_find_interval(struct fleet *f);

/* The rows of a server in [from, to): the first, and how many. */
uint32_t fleet_rows(const struct fleet_server *s, int64_t from, int64_t to, uint32_t *ret_first);
/* The time of the first and last row of any server; 0 and 0 for none. */
void fleet_extent(const struct fleet *f, int64_t *ret_first, int64_t *ret_last);
/* Values that are there (not NaN), and places for values. */
uint64_t fleet_values(const struct fleet *f, uint64_t *ret_places);
