/* Opens files whose path or content another user chose. Only regular files are opened: what is named is looked at first
 * (O_PATH), so that neither a FIFO blocks nor a device is touched, whatever a link leads to.
 *
 * Nor is a file system asked that a user serves: in a user namespace of their own all users may mount FUSE and, over it, an overlay. To the
 * first the kernel lets no one else, to the second it does, and who touches it waits for an answer of that user's; no signal ends that. So
 * overlays and FUSE are touched only where the same file system is mounted in our mount namespace or in that of process 1, which only root
 * can do. Below the root of a process whose user decides what is mounted there no other mount is entered: one may come at any moment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* By a path that is our own, or the kernel's (/proc/PID/exe). A descriptor for reading; -EINVAL for what is not a regular file; -EACCES for a
 * file system that a user serves; -errno. */
int outside_open_regular(const char *path);
/* The same of a path that is meant below a root, e.g. /proc/PID/root: absolute links and ".." stay inside of it. */
int outside_open_below(const char *root, const char *path);
/* By its name in a folder that another user may write to: no link is followed. */
int outside_open_in_folder(int folder, const char *name);
/* A folder below a root, for reading it. */
int outside_open_folder_below(const char *root, const char *path);
/* As fstatat(), by what the kernel knows: no file system is asked. 0 or -errno. */
int outside_stat(int folder, const char *name, int flags, struct stat *ret);
/* Whether memory that is mapped from a file of this device may be read as another process has it mapped: of that no right is asked, and a file
 * system that a user serves (FUSE) may let the reader wait for ever. */
bool outside_may_read_mapped(dev_t device);
/* As outside_stat() of what a path below a root names itself, of links the link (outside_open_below() has what it leads to), to be looked at and
 * opened as one: a descriptor (O_PATH), or -errno. */
int outside_find_below(const char *root, const char *path, struct stat *ret);
/* The file of outside_find_below() for reading, as outside_open_below(). */
int outside_open_found(int found, const char *root);
/* Whether its user may mount something where the process sees it: then no path below its root is to be walked but by the above. */
bool outside_has_own_mounts(const char *proc_root, uint32_t pid);
/* Whose process it is: root's where it has several user ids (a program with the set-user-ID bit, a service that left root for a while), as
 * none of these users may look into it. By a folder like /proc: 0; -ESRCH: there is no such process. */
int outside_owner(const char *proc_root, unsigned pid, uint32_t *ret);
/* The same by the text of /proc/PID/status. */
uint32_t outside_owner_parse(const char *status);
