/* What was learnt of traced requests: call forests as bytes, in one SQLite file.
 *
 * A part is what one load, one window of a receiver, or one worker's shard gave. Its key says which: the same key put
 * again replaces it, so that a worker that is killed and started again counts nothing twice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/database.h"

struct span_store;

struct span_part {
	int64_t id;
	const char *key, *source; /* lent */
	int64_t from, to;	  /* wall ns of the first and last request */
	uint64_t requests, spans;
	const void *bytes; /* forest_write()'s */
	size_t n;
};

/* -errno, with *ret_error in words (caller frees). Only DATABASE_CREATE makes the file. */
int span_store_open(const char *file, enum database_access access, struct span_store **ret, char **ret_error);
void span_store_close(struct span_store *s);
const char *span_store_error(const struct span_store *s);
/* 0 or -errno: the part is on disk when this returns. */
int span_store_put(struct span_store *s, const struct span_part *part);
/* Parts that overlap [from, to], oldest first. `each` returns 0 or -errno that ends it. */
int span_store_each(struct span_store *s, int64_t from, int64_t to, void *state,
		    int (*each)(void *state, const struct span_part *part));
/* Forgets parts that ended before. */
int span_store_forget(struct span_store *s, int64_t before);
