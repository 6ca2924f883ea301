/* Who sees what: the one policy, for every place that shows something of a process to an unprivileged user.
 *
 * A row of the table is a kind of datum. Users see their own data whole, and so do root and the members of `socket.group`.
 * Of other users' data they see what the row says, which is no more than the kernel shows them (ps, top, /proc). Where /proc is
 * mounted with hidepid they see less. `whyslow config --visibility` prints the table; docs/security.md repeats it (a test compares).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum datum {
	DATUM_MACHINE,
	DATUM_PROCESS,
	DATUM_COUNTERS,
	DATUM_EXECUTABLE,
	DATUM_COMMAND_LINE,
	DATUM_UNIT,
	DATUM_RUNS,
	DATUM_EDGES,
	DATUM_REQUESTS,
	DATUM_INTERRUPTS,
	DATUM_STACKS,
	DATUM_MARKERS,
	DATUM_MARKS,
	DATUM_CAPTURES,
	DATUM_COUNT
};

enum shown {
	SHOWN_WHOLE,
	SHOWN_BASE_NAME, /* of a path what follows its last slash */
	SHOWN_SUMS,	 /* what it adds up to in a tick (VISIBLE_TICK) */
	SHOWN_NOT,
};

#define VISIBLE_TICK  1000000000ll /* ns of CLOCK_MONOTONIC, counted from 0: questions that overlap tell no more than one */
#define VISIBLE_SLICE 10000000ll   /* ns: how finely the sums of a tick are spread over it in a timeline */

/* All zero is root. */
struct viewer {
	uint32_t uid;
	bool in_group;	    /* of `socket.group`: sees what root sees */
	bool hides_others;  /* /proc shows this user no other users' processes (hidepid) */
};

#define VIEWER_NOBODY ((struct viewer){.uid = 65534}) /* for text that is made for strangers */

bool viewer_sees_all(const struct viewer *v);
/* How the viewer sees this datum of a process of `owner`. */
enum shown visibility(const struct viewer *v, enum datum datum, uint32_t owner);
/* Shortens a text as the viewer may see it, to "" where not at all. */
void visibility_shorten(const struct viewer *v, enum datum datum, uint32_t owner, char *text);
/* The same of one that is malloc'ed, or NULL; NULL in place of "". */
void visibility_cut(const struct viewer *v, enum datum datum, uint32_t owner, char **text);
/* The table in Markdown. */
void visibility_print(FILE *out);
