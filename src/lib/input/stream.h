/* A file in pieces of whole lines; gzip, zstd and xz are recognized by their first bytes and unpacked on the way. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/str.h"

#define STREAM_LINE_MAX ((size_t)64 << 20) /* a row of a million columns fits */

struct stream;

/* "-" is standard input. 0, -ENOMEM, or -errno of the file. */
int stream_open(const char *path, struct stream **ret);
void stream_close(struct stream *s);
bool stream_is_packed(const struct stream *s);
/* The next whole lines, which the caller may change until the next call: each ends with '\n' (the last one too), and a
 * NUL stands behind the piece. A first line that is long comes together with the second one. 1 with a piece, 0 at the end, -EBADMSG (damaged archive, or a line beyond
 * STREAM_LINE_MAX), -EIO. */
int stream_next(struct stream *s, char **ret_piece, size_t *ret_n);
/* Bytes instead of lines. How many were read (0 = the end), or -EBADMSG, -EIO. */
ssize_t stream_read(struct stream *s, void *to, size_t n);
/* All of a file, up to out->max. 0, -E2BIG, or as stream_open() and stream_read(). */
int stream_read_all(const char *path, struct str *out);
/* How a file begins, as text with a NUL behind it: in `n` bytes, "" of one that cannot be read. */
void stream_head(const char *path, char *to, size_t n);
/* Bytes of the file that were consumed, as they lie on disk. */
uint64_t stream_done(const struct stream *s);
