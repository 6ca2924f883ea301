/* What was answered for marks: kept in short next to them, so that like incidents are found without answering all again. */
#pragma once

#include "lib/stat/likeness.h"
#include "machine/answer-why/why.h"

struct saved_answer {
	int64_t mark, wall;
	bool slow;
	char *summary, *cause, *culprit, *bottleneck; /* cause, culprit: NULL = none */
	double confidence;
	struct fingerprint print;
};

void saved_answer_free(struct saved_answer *t);
/* The answer that a text (store_read_answer()) says; mark is not set. 0; -EBADMSG, -ENOMEM. */
int saved_answer_read(const char *text, struct saved_answer *ret);
/* Does what it says in words (summary, cause, culprit) contain this, in whatever case? */
bool saved_answer_mentions(const char *text, const char *words);
/* Where answers in short are saved next to their marks. */
struct answer_sink {
	int (*save)(void *data, int64_t mark, const char *text); /* 0 or -errno */
	void *data;
};
/* Keeps an answer in short. 0 or -errno. */
int saved_answer_save(const struct answer_sink *sink, int64_t mark, const struct answer *a);
/* What was reported; where nothing was, the mark is answered now, and `sink` (may be NULL) saves it. 0; -ENODATA when its time is no longer
 * recorded; -errno. */
int saved_answer_get(struct store *store, const struct answer_sink *sink, const struct mark *mark, int64_t window, const struct viewer *viewer, struct saved_answer *ret);

/* Earlier marks like an answer, into a->similar. 0 or -errno. */
int saved_answer_find_similar(struct store *store, const struct mark *marks, size_t n, int64_t this_mark, const struct viewer *viewer, struct answer *a);

/* What this user said of earlier answers moves the confidence of this one; what others said does not. */
void saved_answer_calibrate(struct store *store, const struct mark *marks, size_t n, const struct viewer *viewer, struct answer *a);

/* Marks that are alike. */
struct similar_marks {
	struct saved_answer first; /* the oldest */
	VEC(size_t) marks; /* indexes, oldest first */
};
struct similar_groups {
	VEC(struct similar_marks) list; /* most marks first */
};
/* Groups marks by what was reported about them; a mark whose time is no longer recorded is left out. 0 or -errno. */
int saved_answer_group(struct store *store, const struct answer_sink *sink, const struct mark *marks, size_t n, int64_t window, const struct viewer *viewer, struct similar_groups *ret);
void similar_groups_free(struct similar_groups *a);
/* Puts one mark's answer, which it takes over, to those that are like it. 0 or -ENOMEM. */
int similar_groups_add(struct similar_groups *a, struct saved_answer *t, size_t mark);
void similar_groups_sort(struct similar_groups *a);
