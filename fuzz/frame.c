/* A segment's frames: pieces of [length u16][payload], each given the header that belongs to it, so that what lies behind
 * the checksum is reached. */
#include <zlib.h>

#include "fuzz/target.h"
#include "machine/chunk/frame.h"

static void put_frame(struct str *out, const uint8_t *payload, uint32_t n)
{
	uint32_t header[2] = {n, (uint32_t)crc32(0, payload, n)};

	str_append(out, header, sizeof(header));
	str_append(out, payload, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct str frames = {};
	struct dataset d = {};
	size_t used;

	while (n >= 2) {
		size_t length = bytes[0] | (size_t)bytes[1] << 8;

		bytes += 2;
		n -= 2;
		if (length > n)
			length = n;
		put_frame(&frames, bytes, (uint32_t)length);
		bytes += length;
		n -= length;
	}
	(void)frames_read(frames.data, frames.len, INT64_MIN, INT64_MAX, &d, &used);
	dataset_finish(&d);
	dataset_free(&d);
	str_free(&frames);
	return 0;
}
