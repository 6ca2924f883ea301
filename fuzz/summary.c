/* The planes of a summary, which are packed first; and bytes as they would lie in a store. */
#include <stdlib.h>

#include "fuzz/target.h"
#include "lib/store/blocks.h"
#include "machine/recording/summary-rows.h"

static void unpack(const void *bytes, size_t n)
{
	struct summary_rows rows = {};
	struct memory_budget budget = {};

	(void)summary_unpack(bytes, n, &budget, &rows);
	VEC_FREE(rows.list);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct str packed = {};

	unpack(bytes, n);
	str_put_varint(&packed, n);
	if (blocks_pack((const char *)bytes, (struct block_ends){&n, 1}, 1, &packed) == 0)
		unpack(packed.data, packed.len);
	str_free(&packed);
	return 0;
}
