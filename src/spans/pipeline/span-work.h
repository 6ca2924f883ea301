/* Spans of tables in ClickHouse, piece by piece: what one process reads, and what any number of workers do.
 *
 * A shard's traces are divided by the hash of their ids into pieces of about WORK_PIECE_SPANS spans, each of which fits into
 * memory whole: no span is late, and the order in which rows come does not matter. A piece's forest has nothing of another
 * piece, so that the same pieces merged are the same bytes, no matter who made them and when. A worker writes each into the table
 * span_parts of its shard (spans/store/span-parts.h) and continues with what is left.
 */
#pragma once

#include <signal.h>

#include "spans/model/span-answer.h"
#include "spans/pipeline/span-pipeline.h"

#define WORK_PIECE_SPANS 2000000ull /* up to 250 MB while it is read */
#define WORK_MARGIN	 900000000000ll /* ns: spans that begin so long after the time asked for may belong to its requests */

struct work_options {
	struct pipeline_options pipeline; /* from, to: of requests */
	int64_t margin;
	uint64_t piece_spans;  /* 0 = WORK_PIECE_SPANS */
	uint32_t part, parts;  /* of several workers each takes its part of a shard's pieces; parts 0: what is left */
	const volatile sig_atomic_t *ended; /* ends after the piece at hand; may be NULL */
};


/* All pieces of the tables, with `jobs` threads, in this process: into *ret (not finished). 0 or -errno with *ret_error. */
int span_work_load(const struct work_options *o, char *const *urls, size_t n, unsigned jobs,
		   struct forest *ret, struct span_faults *faults, char **ret_error);

/* A worker on one shard. 0 or -errno with *ret_error. */
int span_work_run(const struct work_options *o, const char *url, struct work_done *ret, char **ret_error);

/* The parts that workers wrote, of all shards, into *ret (not finished). -EAGAIN while there is work left, -EXDEV if traces
 * are torn between shards; *ret_error in words. */
int span_work_gather(const struct work_options *o, const char *url, struct forest *ret, char **ret_error);
