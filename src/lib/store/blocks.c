#include "lib/store/blocks.h"

#include <errno.h>
#include <zstd.h>
#include <zstd_errors.h>

#define BLOCK_BOUND 64 /* a block that zstd does not count on has a header, and an end of its stream of symbols */

static int pack_all(ZSTD_CCtx *zstd, const char *bytes, struct block_ends ends, ZSTD_outBuffer *to)
{
	size_t at = 0;

	for (size_t i = 0; i < ends.n; i++) {
		ZSTD_inBuffer from = {bytes + at, ends.v[i] - at, 0};

		/* nothing is left over: there is room for all of it */
		if (ZSTD_compressStream2(zstd, to, &from, i + 1 < ends.n ? ZSTD_e_flush : ZSTD_e_end))
			return -EIO;
		at = ends.v[i];
	}
	return 0;
}

int blocks_pack(const char *bytes, struct block_ends ends, int level, struct str *out)
{
	size_t n = ends.n ? ends.v[ends.n - 1] : 0, bound = ZSTD_compressBound(n) + ends.n * BLOCK_BOUND;
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	ZSTD_outBuffer to = {};
	int r = zstd ? str_reserve(out, bound) : -ENOMEM;

	if (r == 0) {
		to = (ZSTD_outBuffer){out->data + out->len, bound, 0};
		if (ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level)) ||
		    ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1)) || ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(zstd, n)))
			r = -EIO;
	}
	r = r ?: pack_all(zstd, bytes, ends, &to);
	if (r == 0)
		out->len += to.pos;
	ZSTD_freeCCtx(zstd);
	return r;
}

size_t blocks_pack_checked(void *to, size_t room, const void *from, size_t n, int level)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	size_t used;

	if (!zstd)
		return (size_t)-ZSTD_error_memory_allocation;
	used = ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
	if (!ZSTD_isError(used))
		used = ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	if (!ZSTD_isError(used))
		used = ZSTD_compress2(zstd, to, room, from, n);
	ZSTD_freeCCtx(zstd);
	return used;
}
