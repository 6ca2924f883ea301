/* One tick as bytes: what goes into the journal, into the store before compaction, and back into a dataset.
 *
 *   length  u32 little endian, of what follows the checksum
 *   crc     u32 little endian (zlib's crc32 of the payload)
 *   payload varints: version, flags, boot, wall, span; definitions; samples; ended; notes
 *
 * A sample lists only the features that changed, as differences of quantised values. The first frame of a segment is
 * a key frame: everybody is defined, gauges start from nothing. So a segment can be read without any other.
 */
#pragma once

#include "machine/model/dataset.h"
#include "machine/model/filter.h"
#include "machine/model/tick.h"

struct frame_encoder {
	uint32_t next_id;    /* for entities that have none yet; start at the store's highest + 1 */
	uint32_t segment;    /* counts key frames */
	uint64_t values;     /* counted: values compared */
	feature_set changed;    /* ... and written */
	uint64_t regressions; /* counters that fell and were taken as restarted */
	/* of the segment so far, and of its first frame */
	uint64_t segment_entities, segment_values, key_memory;
};

/* Compacting a segment takes memory for each entity (12 kB: series, sets of ticks, rounded values) and each value (20 bytes),
 * measured by tests/storm and bench/make-recording. When a segment would take this much, the next one should begin; but where
 * the entities that live take that much alone, only when it would take twice what its first frame takes. */
#define ENTITY_MEMORY  12000
#define VALUE_MEMORY   20
#define SEGMENT_MEMORY ((uint64_t)48 << 20) /* with what the process has else less than 64 MiB */
bool frame_segment_is_full(const struct frame_encoder *enc);

/* Appends one frame. `key` begins a segment. Marks entities as defined. 0 or -errno of the buffer. */
int frame_encode(struct frame_encoder *enc, struct tick *tick, bool key, struct str *out);

/* Takes frames from a segment's start into a dataset. Ids of one store are unique, so segments may follow each other.
 * Reads until the end or the first damage; *ret_used = bytes of whole frames. Frames before `from_wall` or after
 * `to_wall` (ns) are read for their definitions and levels but not kept. 0, -EBADMSG (damage before the end; what came
 * before is kept), -ENOMEM. */
int frames_read(const void *bytes, size_t n, int64_t from_wall, int64_t to_wall, struct dataset *into,
		size_t *ret_used);
/* As frames_read(), but only what a filter (NULL = everything) wants. */
int frames_read_filtered(const void *bytes, size_t n, int64_t from_wall, int64_t to_wall, const struct load_filter *filter,
			 struct dataset *into, size_t *ret_used);

/* Whether what is left behind the whole frames was cut off in mid-frame, as by a power cut; else bytes of it are wrong. */
bool frames_are_torn(const void *bytes, size_t n, size_t used);
