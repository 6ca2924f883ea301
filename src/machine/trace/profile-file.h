/* Kept profiles: FOLDER/<start>.pb.gz next to the recording, each of an hour at most, in pprof's format (pprof.h). */
#pragma once

#include <stdint.h>

#include "machine/events/profile.h"

/* Next to the store's file; the caller frees. NULL without memory. */
char *profile_folder(const char *store_file);

/* The profile that is being collected, and its file. */
struct profile_file;
int profile_file_new(const char *folder, struct profile_file **ret);
/* To add to; no earlier than profile_file_save() has returned. */
struct profile *profile_file_profile(struct profile_file *f);
/* Appends what was added since: the `most` heaviest rows, the others as their program's without a stack. A new file begins when this one is an hour old or has 262,144 frames. 0 or -errno: what could not be written
 * is dropped, as memory is bounded. */
int profile_file_save(struct profile_file *f, int64_t now, size_t most);
void profile_file_free(struct profile_file *f);

/* Adds the rows that are wanted (wish->from, to: minutes). Files that are damaged are counted and left out. 0; -ENOENT: there is no file of
 * that time; -errno. */
int profile_load(const char *folder, const struct profile_wish *wish, struct profile *into, unsigned *ret_damaged);
/* Reads one file that may be anyone's. As pprof_read(); -errno. */
int profile_load_file(const char *path, const struct profile_wish *wish, struct profile *into, char **ret_unit);

struct profile_size {
	uint64_t bytes, files;
};
/* Deletes the oldest files beyond an age (ns; 0 = none), which the files after them tell (lib/store/age.h), and until all together have at
 * most so many bytes (0 = any). The newest stays. */
int profile_trim(const char *folder, int64_t age, uint64_t bytes, struct profile_size *ret_left);
