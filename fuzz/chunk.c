/* A chunk without its checksum, which is put before it. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "fuzz/target.h"
#include "store/chunk.h"

static void read_chunk(struct chunk *c)
{
	struct dataset d = {};

	if (chunk_plan(c, &d, NULL) == 0 && dataset_allocate(&d) == 0 && chunk_decode(c) < 0)
		chunk_take_back(c);
	dataset_finish(&d);
	dataset_free(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	uint32_t crc = (uint32_t)crc32(0, bytes, (uInt)n);
	uint8_t *all = malloc(n + sizeof(crc));
	struct chunk *c;

	memcpy(all, &crc, sizeof(crc));
	memcpy(all + sizeof(crc), bytes, n);
	if (chunk_open(all, n + sizeof(crc), &c) == 0) {
		read_chunk(c);
		chunk_close(c);
	}
	free(all);
	return 0;
}
