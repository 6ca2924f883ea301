/* The file system in user space (FUSE) for which a thread waits, by its system call: the file that is open, or the path that it
 * names; else by the files that it has mapped.
 *
 * /proc alone: nothing here asks that file system, which may never answer. */
#pragma once

#include "machine/answer-live/live-thread.h"

#define FUSE_PLACE 256
#define FUSE_TYPE  64

struct fuse_mount {
	unsigned connection;	/* the minor number of its device, which is its number in /sys/fs/fuse/connections */
	char type[FUSE_TYPE];	/* "sshfs"; "" = not said */
	char place[FUSE_PLACE]; /* where it is mounted, as mountinfo has it */
};

/* False: neither tells, or the mount is not there. */
bool fuse_mount_find(const char *proc_root, const struct live_thread *t, struct fuse_mount *ret);
/* Whether a process that has /dev/fuse open serves that mount: by the number of the connection (fdinfo, since Linux 6.16), else by its name. */
bool fuse_mount_is_served_by(const char *proc_root, const struct fuse_mount *m, unsigned pid);
