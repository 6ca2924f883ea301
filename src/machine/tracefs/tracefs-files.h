/* What kind of file a process's descriptor is, asked of /proc once each. */
#pragma once

#include <stdint.h>

struct tracefs_files;

/* 0 or -ENOMEM. */
int tracefs_files_new(const char *proc_root, struct tracefs_files **ret);
void tracefs_files_free(struct tracefs_files *f);

/* enum wait_call; of a process that has ended, or a descriptor that it has closed, CALL_OTHER. *ret_object: the inode's number of a pipe
 * or socket, by which its two ends are known to be one. */
uint8_t tracefs_file_kind(struct tracefs_files *f, uint32_t process, uint64_t descriptor, uint64_t *ret_object);
