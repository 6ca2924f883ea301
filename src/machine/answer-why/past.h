/* The time before what is read tick by tick: the store's hourly summaries, by program and feature. */
#pragma once

#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "machine/answer-why/marked-times.h"
#include "machine/judge/older.h"
#include "machine/recording/store.h"

struct past {
	struct hmap histories; /* (hash of the program, kind and feature) -> struct history */
	VEC(struct past_hour) hours;
	VEC(double) most; /* ticks of the most complete feature, of each program in each hour */
	uint64_t last[3]; /* hour, program, kind of the row before */
	size_t begin; /* of the hours of the recording that is being read */
	struct marked_times marked;
	int64_t from; /* wall ns of the first hour of the recording that is asked about; 0 = none */
	int64_t recorded; /* ns: of all its hours, in which a recorder ran */
};

/* Hours that overlap [from, to]; those in which a mark lies are left out. Into a zeroed past, which is to be freed also after an error; past_settle() must follow. 0 or as store_summaries(). */
int past_read(struct past *p, struct store *s, int64_t from, int64_t to, const struct mark *marks,
	      size_t n_marks);
/* The same of other machines' recordings, of the 30 days before the hour before `at`: of a file, or of each NAME.db in a folder, as 'whyslow ship' leaves them, but
 * for `asked`, the file that is asked about. *ret_read: how many; *ret_left_out (the caller frees; NULL =
 * none): which could not be read, and why. 0, -ENOMEDIUM (there is no recording), or -errno. */
int past_read_elsewhere(struct past *p, const char *path, const char *asked, int64_t at, size_t *ret_read, char **ret_left_out);
/* After all is read. */
void past_settle(struct past *p);
void past_free(struct past *p);
/* Oldest first; NULL without any. */
const struct older_stretch *past_find(const struct past *p, enum entity_kind kind, const char *program,
				size_t feature, size_t *ret_n);
