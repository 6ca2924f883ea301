/* What was learnt of traced requests: call forests as bytes, in one SQLite file.
 *
 * A part is what one load, one window of a receiver, or one worker's shard gave. Its key says which: the same key put
 * again replaces it, so that a worker that is killed and started again counts nothing twice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/store/database.h"
#include "lib/input/deployments.h"

struct span_store;

struct span_part {
	int64_t id; /* of one to put: 0 = the next one */
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
/* Puts that come between these two are written together, which is many times as fast; `result` of them < 0: none is. 0 or -errno; the second
 * gives `result` back. */
int span_store_begin(struct span_store *s);
int span_store_end(struct span_store *s, int result);
/* 0 or -errno: the part is on disk when this returns. */
int span_store_put(struct span_store *s, const struct span_part *part);
/* Parts that overlap [from, to], oldest first. `each` returns 0 or -errno that ends it. */
int span_store_each(struct span_store *s, int64_t from, int64_t to, void *state,
		    int (*each)(void *state, const struct span_part *part));
/* Of the parts that begin in [from, to): the id of the one that was put last (0 = there is none), and the sum of their requests.
 * 0 or -errno. */
int span_store_newest(struct span_store *s, int64_t from, int64_t to, int64_t *ret_part, int64_t *ret_requests);
/* Until when (wall ns) a running receiver has put every request that came in time. 1 = read, 0 = no receiver runs, -errno. */
int span_store_complete(struct span_store *s, int64_t *ret);
int span_store_set_complete(struct span_store *s, int64_t until); /* 0 = the receiver has stopped */

/* What `spans watch` decided about the window [begin, begin + width). */
struct span_judged {
	int verdict;	/* enum span_verdict */
	int64_t part;	/* the newest part it saw; a newer one came late */
	unsigned looks; /* how often it was judged */
};
/* 1 = read, 0 = not judged yet, -errno. */
int span_store_judged(struct span_store *s, int64_t width, int64_t begin, struct span_judged *ret);
int span_store_judge(struct span_store *s, int64_t width, int64_t begin, const struct span_judged *j);
/* Puts `whole` in the place of the parts with these ids, all or nothing. It has the id of the newest of them: nothing came late. */
int span_store_merge(struct span_store *s, const int64_t *ids, size_t n, const struct span_part *whole);
/* Keeps a deployment; an equal one is kept once. 0 or -errno. */
int span_store_deploy(struct span_store *s, const struct deployment *d);
/* Adds those of [from, to], by time. 0 or -errno; a store of before deployments has none. */
int span_store_deployments(struct span_store *s, int64_t from, int64_t to, struct deployments *ret);
/* Forgets parts that ended longer than `keep` (ns) ago, and judgements of windows and deployments of before. Two must agree on that: the wall clock,
 * `now`, which may be ahead, and the parts that came later (lib/store/age.h), whose times are their senders'. *ret_spared: how many parts stay
 * that only `now` calls too old. 0 or -errno. Deployments and judgements stay where no part is forgotten. */
int span_store_forget(struct span_store *s, int64_t now, int64_t keep, int64_t *ret_spared);
