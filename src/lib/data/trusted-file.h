/* Files that the program obeys: settings, rules, causes, signatures, plug-ins. Who may write to one tells root what to do, and all users what
 * they see. So what root reads, and what anybody reads below /etc/whyslow, must be root's (or of the user who called sudo), and so must each folder
 * on the way to it; others may not write to them. (In a folder with the sticky bit, as /tmp, only owners replace what is there.) A user's
 * own files are that user's business. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#define TRUSTED_FOLDER "/etc/whyslow"

/* A descriptor for reading. -EPERM with *ret_error (caller frees): which file or folder others may change; -errno. */
int trusted_file_open(const char *path, char **ret_error);
/* A whole text of at most 1 MiB; the caller frees it. As trusted_file_open(); -EINVAL with *ret_error: another file. */
int trusted_file_read(const char *path, char **ret_text, char **ret_error);

typedef int (*trusted_file_taker)(const char *text, const char *path, void *to, char **ret_error);
/* One file, or all of a folder by name, but hidden ones and copies of editors. As trusted_file_read() and the taker, the first error ends it. */
int trusted_files_read(const char *path, trusted_file_taker take, void *to, char **ret_error);

/* Whether no other user than root, and who called sudo, could have put this entry into that open folder, or can put another one in its place. */
bool trusted_entry(int folder, const struct stat *entry);
