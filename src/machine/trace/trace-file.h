/* A trace as bytes: one portable, versioned, compressed file that another machine reads.
 *
 *   "WHYTRACE"  version (u32)  then sections: kind (u32) raw size (u64) packed size (u64) zstd data
 *
 * All numbers are little-endian. Each section's data carries zstd's checksum. Sections of unknown kinds are skipped, so
 * that a later program may add some; a file whose version is higher than ours is refused. Events come in blocks, as
 * columns.
 */
#pragma once

#include "machine/events/trace.h"

#define TRACE_FILE_VERSION 1

/* Writes to a file, pipe or socket. 0 or -errno. */
int trace_write(const struct trace *t, int fd);
/* Reads what trace_write() wrote, to its end, and finishes the trace. 0, or -errno with *ret_error in words (the caller
 * frees): -EBADMSG for what is not a trace, is damaged or cut off (where is said), -EPROTONOSUPPORT for a newer version. */
int trace_read(int fd, struct trace *ret, char **ret_error);
/* Opens `path` first. */
int trace_read_file(const char *path, struct trace *ret, char **ret_error);
/* true when a file begins like a trace. */
bool trace_is_file(const char *path);
