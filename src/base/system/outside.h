/* Opens files whose path or content another user chose. Only regular files are opened: what is named is looked at first
 * (O_PATH), so that neither a FIFO blocks nor a device is touched, whatever a link leads to. */
#pragma once

#include <stddef.h>

/* By a path that is our own, or the kernel's (/proc/PID/exe). A descriptor for reading; -EINVAL for what is no regular file; -errno. */
int outside_open_regular(const char *path);
/* The same of a path that is meant below a root, e.g. /proc/PID/root: absolute links and ".." stay inside of it. */
int outside_open_below(const char *root, const char *path);
/* By its name in a folder that another user may write to: no link is followed. */
int outside_open_in_folder(int folder, const char *name);
/* A folder below a root, for reading it. */
int outside_open_folder_below(const char *root, const char *path);
