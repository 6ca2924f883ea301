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

#include "model/dataset.h"
#include "model/tick.h"
#include "store/filter.h"

struct frame_encoder {
	uint32_t next_id;    /* for entities that have none yet; start at the store's highest + 1 */
	uint32_t segment;    /* counts key frames */
	uint64_t values;     /* counted: values compared */
	uint64_t changed;    /* ... and written */
	uint64_t regressions; /* counters that fell and were taken as restarted */
};

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
