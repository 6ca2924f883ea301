/* A finished segment as columns: docs/decisions/0002-columns-of-a-chunk.md says why so.
 *
 *   crc      u32 little endian, of everything behind it
 *   meta     size, then zstd: features by name, ticks, definitions, the columns' directory and models, notes
 *   streams  for each kind of entity the ticks in which each was active; for each (kind, feature) when and by
 * how much
 *
 * A series says in which of the entity's active ticks (or of another feature's, where that is a closer
 * superset) it changed, and how. Growths are kept within 1 % (machine/chunk/precision.h) and their sum over the chunk
 * exactly; all else is exact.
 */
#pragma once

#include "lib/data/str.h"
#include "machine/model/dataset.h"
#include "machine/model/filter.h"

/* Appends the bytes of a dataset that holds one segment. 0 or -errno. */
int chunk_write(const struct dataset *d, struct str *out);

/* Reading is in steps, so that many chunks go into one dataset at once: open each; plan each, in order, which
 * adds ticks and subjects and asks for room; dataset_allocate(); decode each, in any order and in any thread;
 * settle those that failed, the last first. */
struct chunk;
/* `bytes` must outlive the chunk. features: by kind of entity, those that a plan may want (load_filter's `most`); of the
 * others not even the directory is read. NULL = all. budget: of the input, for the directory; what is planned and decoded is taken from the
 * dataset's. 0, -EBADMSG, -ENOMEM. */
int chunk_open(const void *bytes, size_t n, const feature_set *features, struct memory_budget *budget, struct chunk **ret);
/* Who is in it, and when its ticks were, from the part that stands in front: its size by its first CHUNK_HEAD_START bytes (0 = damaged).
 * A plan of it may want no feature. What is damaged further behind is not seen. */
#define CHUNK_HEAD_START 32
size_t chunk_head_size(const void *bytes, size_t n);
int chunk_open_head(const void *bytes, size_t n, struct memory_budget *budget, struct chunk **ret);
void chunk_close(struct chunk *c);
int chunk_plan(struct chunk *c, struct dataset *into, const struct load_filter *filter);
int chunk_decode(struct chunk *c);
/* Takes back what a chunk that could not be decoded was to put. */
void chunk_take_back(struct chunk *c);
