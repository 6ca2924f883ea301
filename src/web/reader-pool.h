/* Answers about one recording of events, again and again: a verb that stays, and reads its questions from standard input.
 *
 * A frozen ring is 64 MB of events; reading and analysing them takes about a second, an answer from them some
 * milliseconds. A view that pans asks many times a second, so the process that has read them is kept. Each holds a few
 * hundred megabytes: there are at most two, the longest unused makes room for another recording, and each ends by itself
 * when no one asks for five minutes. An index file next to the trace was the alternative: it would be written at each
 * freeze, also for those no one looks at, and read again for each answer.
 */
#pragma once

#include "machine/client/ask.h"

struct reader_pool;

/* The asker must outlive it. 0 or -ENOMEM. */
int reader_pool_new(const struct asker *asker, struct reader_pool **ret);
/* Ends its processes; no one may be asking. */
void reader_pool_free(struct reader_pool *k);

/* `key` names the recording; `begin` are the words that open it, should it not be open yet. The answer (a line of JSON) and
 * what was said on standard error are the caller's to free. The exit status, or -errno: -EBUSY when all are at work on
 * other recordings, -ETIMEDOUT. */
int reader_pool_ask(struct reader_pool *k, const char *key, size_t n_begin, const char *const *begin, size_t n, const char *const *words,
	     struct str *text, struct str *errors);
