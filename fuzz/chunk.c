/* A chunk without its checksum, which is put before it. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "fuzz/target.h"
#include "machine/chunk/chunk.h"

static void read_chunk(struct chunk *c, struct memory_budget *budget, const struct load_filter *filter)
{
	struct dataset d = {.budget = budget};

	if (chunk_plan(c, &d, filter) == 0 && dataset_allocate(&d) == 0 && chunk_decode(c) < 0)
		chunk_take_back(c);
	dataset_finish(&d);
	dataset_free(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	uint32_t crc = (uint32_t)crc32(0, bytes, (uInt)n);
	const feature_set few[ENTITY_KIND_END] = {[ENTITY_PROCESS] = FEATURE_BIT(FEATURE_CPU_TIME)};
	uint8_t *all = malloc(n + sizeof(crc));
	struct memory_budget budget = {};
	struct chunk *c;

	memory_budget_feed(&budget, n);
	memcpy(all, &crc, sizeof(crc));
	memcpy(all + sizeof(crc), bytes, n);
	if (chunk_open(all, n + sizeof(crc), NULL, &budget, &c) == 0) {
		read_chunk(c, &budget, NULL);
		chunk_close(c);
	}
	if (chunk_open(all, n + sizeof(crc), few, &budget, &c) == 0) {
		read_chunk(c, &budget, &(struct load_filter){.most = few});
		chunk_close(c);
	}
	free(all);
	return 0;
}
