/* Which package a file came with, in the process's own root: a container's database is the container's. */
#pragma once

#include <stdint.h>

/* dpkg's database below root ("/proc/PID/root"). At most 2 s. 0; -ENOENT; -ETIME. The caller frees both. */
int package_of(const char *root, const char *path, char **ret_package, char **ret_version);
