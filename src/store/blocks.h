/* A zstd frame whose blocks end where they are told to: each has tables of symbols of its own, so that bytes of one nature, put in a
 * block, are packed by what is usual among them. That saves more than a level twice as high does, and much of the work. One frame as any other to
 * who reads it. */
#pragma once

#include "base/str.h"

/* Where blocks are to end. */
struct block_ends {
	const size_t *v; /* ascending, the last is where all ends */
	size_t n;
};

/* Appends bytes[0..ends' last) packed. 0, -ENOMEM or -EIO. */
int blocks_pack(const char *bytes, struct block_ends ends, int level, struct str *out);
