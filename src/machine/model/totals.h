/* Running sums since a recorder began, for those who ask now and then and want to miss nothing between (Prometheus): of each program all its
 * processes together, the ended ones and those that lived for less than a sample included, and of each other thing the kernel's own sums.
 *
 * They lie in a file of the recorder's folder that both sides map: the recorder adds to it at each tick, and a reader needs no answer of the
 * recorder. Numbers are stored whole, texts before the row that has them counts as used; so a reader needs no lock, and two numbers may be
 * of two ticks.
 *
 * There is also a row for each rule, with its incidents since then and how many of them continue, and one for the recorder itself.
 *
 * Programs of the same name but other users have rows of their own, so that each viewer gets the names that it may see (totals_view()).
 *
 * There are at most TOTALS_ROWS rows. Where more programs are known, those without a living process go, the oldest first; where all live,
 * further ones are added up as TOTALS_OTHERS.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "machine/model/tick.h"
#include "machine/model/visibility.h"

#define TOTALS_ROWS   1024
#define TOTALS_TEXT   128 /* bytes of a text, its end included; a longer one is cut off */
#define TOTALS_OTHERS "(others)"

/* In place of a kind of entity, and what their values are. */
enum { TOTALS_RULE = ENTITY_KIND_END, TOTALS_RECORDER, TOTALS_KINDS_END };
enum { TOTALS_RULE_INCIDENTS, TOTALS_RULE_CONTINUING };
enum { TOTALS_RECORDER_TICKS, TOTALS_RECORDER_STARTED /* wall ns */, TOTALS_RECORDER_LAST /* the last tick, wall ns */ };

struct totals_row {
	uint32_t kind; /* enum entity_kind, or TOTALS_RULE and so on; 0 = free. Programs have ENTITY_PROCESS */
	uint32_t living; /* processes of a program; of a rule and the recorder 1 */
	uint64_t last;	 /* the tick that changed it last */
	char name[TOTALS_TEXT], unit[TOTALS_TEXT], container[TOTALS_TEXT]; /* "" = none */
	char plain[TOTALS_TEXT]; /* of a program: its name for those who may not see its command line */
	uint32_t uid;		 /* of a program */
	feature_set present; /* of a program: counters that have grown */
	int64_t values[FEATURES_MAX];
};

struct totals;

/* The recorder's: a file of its own in its folder, readable by its user alone, in place of an earlier recorder's. 0 or -errno. */
int totals_new(const char *run_dir, struct totals **ret);
/* Before the tick is encoded: only then it is known how much has grown. */
void totals_take(struct totals *t, const struct tick *tick);
/* Counts for a rule ("" = those without a name) incidents that began and, of those, how many more or fewer continue. By the thread that calls totals_take(). */
void totals_count_incidents(struct totals *t, const char *rule, int began, int continuing);
void totals_free(struct totals *t);

/* A reader's. 0, -ENOENT where no recorder runs, -EBADMSG of a file that is none, or -errno; totals_close(). */
int totals_open(const char *run_dir, const struct totals_row **ret_rows);
/* A copy of the rows as a viewer may see them, with one row for all programs that then have the same texts. The caller frees it. 0 or -ENOMEM. */
int totals_view(const struct totals_row *rows, const struct viewer *v, struct totals_row **ret);
/* The one with that number, of TOTALS_ROWS; NULL = it is free. */
const struct totals_row *totals_at(const struct totals_row *rows, size_t i);
void totals_close(const struct totals_row *rows);
