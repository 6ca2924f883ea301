/* Which package a file came with, in the process's own root: a container's database is the container's, and the one that runs it
 * writes there what they like. It is opened here (lib/rights/outside.h) and read by a process without rights (lib/rights/sandbox.h). */
#pragma once

/* dpkg's database below root ("/proc/PID/root"). At most 2 s. 0; -ENOENT; -ETIME; -EBADMSG for one that dpkg did not write;
 * -errno. What is given consists of the letters that dpkg allows. The caller frees both; the version may be NULL. */
int owner_package(const char *root, const char *path, char **ret_package, char **ret_version);
