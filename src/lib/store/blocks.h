/* A zstd frame whose blocks end where they are asked to, to who reads it as any other.
 *
 * Each block has tables of symbols of its own, so bytes of one nature, put in a block, are packed by the baseline among them: that
 * saves more than levels do, and costs less than zstd's own search for where one nature ends.
 */
#pragma once

#include "lib/data/str.h"

/* Where blocks are to end. */
struct block_ends {
	const size_t *v; /* ascending, the last is where all ends */
	size_t n;
};

/* Appends bytes[0..ends' last) packed. 0 or -errno. */
int blocks_pack(const char *bytes, struct block_ends ends, int level, struct str *out);

/* ZSTD_compress() with a checksum of what was packed: unpacking then fails on any wrong byte. What earlier versions packed has
 * none, and is unpacked the same way. Returns what ZSTD_compress() does. */
size_t blocks_pack_checked(void *to, size_t room, const void *from, size_t n, int level);
