/* The results of workers about the traces of each shard, in ClickHouse next to the spans: a piece's call forest is one row.
 *
 * A row says whose question it answers (how buckets are made, which time ...), of which shard and which of how many pieces,
 * and how many rows of spans it was made of. A piece written again replaces itself, whole or not at all: so a worker may be
 * killed at any moment, started again, or run next to others. Rows are read over all shards where there is a table
 * `span_parts_all` (Distributed), which is made where the URL names a cluster.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span_parts;

/* `write`: makes the tables. 0, -ENOENT, ... with *ret_error (caller frees). */
int span_parts_open(const char *url, bool write, struct span_parts **ret, char **ret_error);
void span_parts_close(struct span_parts *p);
const char *span_parts_error(const struct span_parts *p);

struct span_piece {
	const char *question, *shard; /* lent */
	int64_t piece, pieces;
	int64_t rows; /* of spans, when it was made */
	int64_t requests, from, to; /* of the forest */
	const void *bytes; /* forest_write()'s */
	size_t n;
};

/* Writes a piece. When this returns 0 it is there. */
int span_parts_put(struct span_parts *p, const struct span_piece *piece);
/* This shard's pieces of a question into how many, 0 if nothing began; rows[i] of those that are done (of `most` at most),
 * -1 of others. */
int span_parts_done(struct span_parts *p, const char *question, int64_t *ret_pieces, int64_t *rows, size_t most);

/* How far the workers are with a shard: the last division into pieces that is complete, else the last one. */
struct span_progress {
	char *shard;
	int64_t pieces, done, rows;
};
/* *ret of n, one a shard; caller frees with span_progress_free(). */
int span_parts_progress(struct span_parts *p, const char *question, struct span_progress **ret, size_t *ret_n);
void span_progress_free(struct span_progress *v, size_t n);
/* Every piece of a shard's division, in order. `each` returns 0 or -errno that ends it. */
int span_parts_each(struct span_parts *p, const char *question, const struct span_progress *of, void *state,
		    int (*each)(void *state, const struct span_piece *piece));
