/* gzip in memory and in pieces, with a bound on what comes out: a small body can unpack to any size. */
#pragma once

#include "lib/data/str.h"
#include "lib/rights/memory-budget.h"

/* Appends `n` bytes compressed. 0, -ENOMEM or -E2BIG (out->max). */
int gzip_pack(const void *bytes, size_t n, struct str *out);
/* Appends what a complete gzip (or zlib) body unpacks to. -EBADMSG on damage or a truncated one, -E2BIG beyond out->max, -EDQUOT where the
 * budget has no more: what was appended was taken from it in each case. */
int gzip_unpack(const void *bytes, size_t n, struct memory_budget *budget, struct str *out);

/* The same of several bodies one after the other. A last one that is damaged or cut off, as by a power cut, is left out. */
int gzip_unpack_members(const void *bytes, size_t n, struct str *out);

/* A stream that is packed piece by piece, each readable as soon as it has arrived. */
struct gzip_stream;
struct gzip_stream *gzip_stream_new(void); /* NULL without memory */
int gzip_stream_add(struct gzip_stream *s, const void *bytes, size_t n, struct str *out);
int gzip_stream_end(struct gzip_stream *s, struct str *out);
void gzip_stream_free(struct gzip_stream *s);
