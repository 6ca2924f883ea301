/* Writes into a folder that other users may write, too.
 *
 * There a name says nothing: between any two calls another user may put a link, a folder or a file of theirs in the place of ours. So
 * nothing is opened there by its name for writing. A file is made in a folder of our own, which no other user may enter and which is
 * reached by its descriptor; once it is whole it is moved to its name, in place of whatever lies there, a link included.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* One file in the making. */
struct own_file {
	int within, folder;		/* where it is to lie, and the folder of our own in that one */
	char folder_name[NAME_MAX + 1]; /* ".NAME.RANDOM" */
	char path[64];			/* of the file, which is empty at first, also for a library that makes files next to it: below /proc/self/fd */
};

/* `name`: under which it is to lie in `within`, which is made where it is missing; `mode`: as open()'s. Removes what earlier ones of this name left that
 * were killed. 0 or -errno in words (the caller frees *ret_error; NULL without memory): also where a link of another user leads to `within`
 * (write-path.h), and where the file system lets other users write into a folder of ours. */
int own_file_begin(const char *within, const char *name, mode_t mode, struct own_file *ret, char **ret_error);
/* Moves it to its name. 0 or -errno; -EEXIST: there is something, which was not to be replaced. */
int own_file_publish(const struct own_file *f, const char *name, bool replace);
/* The file as it is, without a name, for reading. A descriptor or -errno. */
int own_file_open(const struct own_file *f);
/* Removes what was not published. */
void own_file_end(struct own_file *f);

/* The folder NAME in `within`, which such a call made: another user may have given another folder its name, of ours or of theirs, so a label
 * in it says that it is this one. What else has that name is moved aside, and *ret_aside is its new name (the caller frees; NULL = nothing
 * was). A descriptor or -errno. */
int own_folder_open(int within, const char *name, char **ret_aside);
