/* Paths of results, where other users may write to a folder on the way.
 *
 * Such a user may put a link into that folder, also in the place of a folder, and so choose where root's file comes to lie, or which file it
 * replaces. So root follows a link only where no other user than root, and who called sudo, could have put it there. A folder is entered
 * whichever user owns it: where a folder had its name, other users can only move one to it that they may write to, or one from next to it.
 * Other users' own paths are opened as they are.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* The folder `path`, for reading it and making files in it; `make`: with what is missing of it, for its owner alone. A descriptor, or -errno; -EPERM
 * in words: a link on the way may be another user's. *ret_error (caller frees) is NULL where there are no words beyond the number's. */
int write_path_folder(const char *path, bool make, char **ret_error);

/* Makes the folder of a file that a library opens by its path and keeps, and what is missing above it (mode: of the last). The way is looked at once: what others
 * put there later is followed. 0, also where no folder can be made, of which opening the file says why; -EPERM in words. */
int write_path_prepare(const char *file, mode_t mode, char **ret_error);

/* The file `path` for writing, by open()'s flags and mode. As above; also -EPERM in words: in a folder of others it is a device, a pipe
 * or a hard link. */
int write_path_open(const char *path, int flags, mode_t mode, char **ret_error);
/* The same as a stream: 'w' makes or replaces, 'x' makes what is not there, 'a' appends. NULL with errno: *ret_error (caller
 * frees; itself NULL without memory) says why, with the path. */
FILE *write_path_stream(const char *path, char how, char **ret_error);
