#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

/* Makes a folder and whatever is missing above it (those 0755). 0, also if it is there, or -errno. */
int folder_make(const char *path, mode_t mode);
/* The folder that a file lies in: "." where its name has no slash. The caller frees; NULL = no memory. */
char *folder_of(const char *file);
/* The same made, as above. */
int folder_make_parent(const char *file, mode_t mode);

/* The folder of what belongs to FOLDER/NAME.db and to no other recording: FOLDER/NAME.WHAT. The caller frees; NULL = no memory. */
char *folder_own(const char *file, const char *what);
/* The same where it is there, else FOLDER/WHAT, where earlier recorders put what belongs to all recordings of a folder. */
char *folder_beside(const char *file, const char *what);
/* A path of the user's own: $VARIABLE/PATH, or HOME/BELOW/PATH. Without HOME the user's entry in passwd counts. The caller frees; NULL: there is no home
 * (ENOENT), or no memory. Never one in a folder that all may write to. */
char *folder_of_user(const char *variable, const char *below, const char *path);

/* May this process trust what it finds in and writes into this folder? In a folder that all may write to (/dev/shm) anybody may
 * have made it first. 0, also if it is not there; -EPERM: it is a link, another user's (root's is trusted), or others may write there. */
int folder_check_owner(const char *path);

/* Whether there is something of this name that this process can reach. access() asks with the real user's rights and without
 * capabilities: what an answer for another user may read in root's folder is not there for it. */
bool folder_path_exists(const char *path);

/* Opens a folder inside of a folder (or of AT_FDCWD), not through a link in its last part. NULL with errno. */
DIR *folder_open_at(int folder, const char *name);

/* For _cleanup_(): a folder that is being read. */
static inline void folder_close(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

struct folder_walk {
	DIR *folder;
	const char *name; /* until the next one */
	unsigned char type; /* DT_DIR and so on; DT_UNKNOWN where the file system does not say it */
};

/* The next name; false behind the last one. */
bool folder_walk_next(struct folder_walk *w);
void folder_walk_end(struct folder_walk *w);
/* For each name but "." and ".." of a folder: `x.name`. `opened` is a DIR *, which is closed in the end, or NULL for no names. */
#define FOLDER_EACH(x, opened) \
	for (__attribute__((cleanup(folder_walk_end))) struct folder_walk x = {.folder = (opened)}; folder_walk_next(&x);)
