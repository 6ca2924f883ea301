/* A body that is gzip or says so: unpacked within its bound; and anything packed unpacks to itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"
#include "lib/input/gzip.h"

#define UNPACKED_MAX ((size_t)1 << 20)

static void unpack(const uint8_t *bytes, size_t n)
{
	struct str out = {.max = UNPACKED_MAX};

	(void)gzip_unpack(bytes, n, NULL, &out);
	if (out.len > UNPACKED_MAX)
		abort();
	str_free(&out);
}

static void there_and_back(const uint8_t *bytes, size_t n)
{
	struct str packed = {}, out = {.max = UNPACKED_MAX};

	if (gzip_pack(bytes, n, &packed) == 0 &&
	    (gzip_unpack(packed.data, packed.len, NULL, &out) < 0 || out.len != n || (n && memcmp(out.data, bytes, n) != 0)))
		abort();
	str_free(&packed);
	str_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	unpack(bytes, n);
	if (n < UNPACKED_MAX / 2)
		there_and_back(bytes, n);
	return 0;
}
