/* The files that a location names. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/data/vec.h"

struct file_list {
	VEC(char *) paths;
	VEC(char *) names; /* of each: its path below the folder given (else its last part), without known endings */
	uint64_t bytes;
};

/* A file, a glob, or a folder with all that lies in it and ends in one of `endings` (NULL-terminated; .gz, .zst and .xz
 * may follow them), by name. 0, -ENOENT (nothing there), -ENOMEM, -errno. */
int files_list(const char *location, const char *const *endings, struct file_list *ret);
/* The same; what is wrong stands in *ret_error (caller frees). */
int files_list_in_words(const char *location, const char *const *endings, struct file_list *ret, char **ret_error);
void file_list_free(struct file_list *l);
/* How likely the files of a location are of a format: 50 by their ending, else what `look` makes of the first whole lines of the first
 * of them; 0 where there are none. */
int files_recognise(const char *location, const char *const *endings, int (*look)(const char *piece, size_t n));
/* The same where others have the same endings: `look` alone decides. */
int files_recognise_by_content(const char *location, const char *const *endings, int (*look)(const char *piece, size_t n));
/* Whether a name ends in one of them. */
int file_has_ending(const char *name, const char *const *endings);
