/* What is held, written down: RUN/held/ID, a line each, words separated by tabs. In texts a tab is \t, a newline \n, a backslash \\
 * (version 1 had them as they are). Only its owner may write
 * there, and what another user could have written is not believed: undoing writes wherever a file says. */
#pragma once

#include <stdio.h>

#include "machine/act/hold.h"

struct str;

/* Writes or replaces. 0 or -errno. */
int hold_file_write(const char *run_dir, const struct hold *h);
/* 0, -ENOENT, -EBADMSG (damaged), -EPERM (not to be believed), -errno. The caller frees. */
int hold_file_read(const char *run_dir, const char *id, struct hold *ret);
/* The text of a file, and back: 0, -EBADMSG, -ENOMEM. */
void hold_write(const struct hold *h, struct str *out);
int hold_read(FILE *f, struct hold *ret); /* closes f */
/* 0, also where there is none. */
int hold_file_remove(const char *run_dir, const char *id);
/* All that can be read; the caller frees each and the array. 0 or -errno; -ENOENT: nothing was ever held. */
int hold_file_list(const char *run_dir, struct hold **ret, size_t *ret_n);
/* RUN/held; the caller frees. */
char *hold_folder(const char *run_dir);

/* The lock under which this user's files are written; closing *ret_fd lets it go. Each user has one, so that none keeps another from
 * holding. 0, -EBUSY (another process of the user has it), -errno. */
int hold_lock(const char *run_dir, uint32_t uid, int *ret_fd);
bool hold_file_exists(const char *run_dir, const char *id);
/* What nothing minds any more is undone and its file taken away, also one that was not written to the end; what `calm`
 * keeps stays as long as its process lives. A hold of another boot ended with it. 0, or -errno of the first that could not be undone:
 * its file stays. -EBUSY: of a user who is just holding or releasing; to be tried again. */
int hold_sweep(const char *proc_root, const char *run_dir);
/* By a process that has this user's lock. */
int hold_sweep_locked(const char *proc_root, const char *run_dir, uint32_t uid);
/* Removes empty control groups (in all hierarchies, by PROC/self/mountinfo) that holds left behind a minute ago or longer. */
void hold_group_sweep(const char *proc_root, const char *run_dir);
