/* One feature of one process over time. */
#pragma once

#include "machine/findings/process-snapshot.h"
#include "machine/recording/store.h"

struct curve_request {
	const char *who;
	size_t feature; /* index among a process's */
	int64_t at, from, to;
	size_t points;
	struct viewer viewer;
};

/* The curve of one feature of one process (a pid, unit or name; of several the one that was there at request->at, else the last),
 * [from, to] (wall ns) in at most `points` parts, none shorter than a tick. Of more than a day the parts are no shorter than ten
 * minutes: they come from the summaries of segments, least and most within 0.8 %, and only what has none is read. *ret_who is a copy the
 * caller frees with entity_info_free(), *ret_curve with curve_free(). 0, -ESRCH: no such process then, -ENODATA: it has no
 * such feature or nothing is recorded, or as store_load(). */
int curve_read(struct store *store, const struct curve_request *request, struct entity_info *ret_who, struct curve *ret_curve);

/* --- shared by curve.c and curve-summed.c --- */

/* load_filter's question with a curve_request: its feature of the one that may be meant. */
feature_set curve_wanted(const struct entity_info *info, void *request);
/* That feature of them, tick by tick. As store_load_filtered(). */
int curve_load(struct store *store, const struct curve_request *q, int64_t from, int64_t to, struct dataset *into);
/* Whom of those in the dataset the request means; NULL = no one. */
const struct subject *curve_choose(const struct dataset *d, const struct curve_request *q);
/* Room for n parts, all missing. 0 or -ENOMEM. */
int curve_begin(struct curve *c, const struct curve_request *q, size_t n);
/* By summaries. As curve_read(); -EAGAIN where too much of the time has none. */
int curve_of_summaries(struct store *store, const struct curve_request *q, struct entity_info *ret_who, struct curve *ret_curve);
