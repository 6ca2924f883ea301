/* What was answered for marks: kept in short beside them, so that like incidents are found without answering all anew. */
#pragma once

#include "answer/likeness.h"
#include "answer/why.h"

struct told {
	int64_t mark, wall;
	bool slow;
	char *summary, *cause, *culprit, *bottleneck; /* cause, culprit: NULL = none */
	double confidence;
	struct fingerprint print;
};

void told_free(struct told *t);
/* The answer that a text (store_told()) says; mark is not set. 0; -EBADMSG, -ENOMEM. */
int told_read(const char *text, struct told *ret);
/* Keeps an answer in short. The store must be open for marks. 0 or -errno. */
int told_keep(struct store *store, int64_t mark, uint32_t uid, const struct answer *a);
/* What was told; where nothing was, the mark is answered now, and `keep` (may be NULL) remembers it. 0; -ENODATA when its time is no longer
 * recorded; -errno. */
int told_get(struct store *store, struct store *keep, const struct mark *mark, int64_t window, const struct viewer *viewer, struct told *ret);

/* Earlier marks like an answer, into a->similar. 0 or -errno. */
int told_find_like(struct store *store, const struct mark *marks, size_t n, int64_t this_mark, const struct viewer *viewer, struct answer *a);

/* What this user said of earlier answers moves the confidence of this one; what others said does not. */
void told_calibrate(struct store *store, const struct mark *marks, size_t n, const struct viewer *viewer, struct answer *a);

/* Marks that are alike. */
struct alike {
	struct told first; /* the oldest */
	VEC(size_t) marks; /* indexes, oldest first */
};
struct alikes {
	VEC(struct alike) list; /* most marks first */
};
/* Groups marks by what was told of them; a mark whose time is no longer recorded is left out. 0 or -errno. */
int told_group(struct store *store, struct store *keep, const struct mark *marks, size_t n, int64_t window, const struct viewer *viewer, struct alikes *ret);
void alikes_free(struct alikes *a);
