/* A file of holds: what is read is written, and is read again as the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"
#include "lib/data/str.h"
#include "machine/act/hold-file.h"

static int read_bytes(const void *bytes, size_t size, struct hold *ret)
{
	FILE *f = size ? fmemopen((void *)bytes, size, "r") : NULL;

	return f ? hold_read(f, ret) : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str once = {}, twice = {};
	struct hold h, again;

	if (read_bytes(data, size, &h) < 0)
		return 0;
	hold_write(&h, &once);
	if (once.error || read_bytes(once.data, once.len, &again) < 0)
		abort();
	hold_write(&again, &twice);
	if (twice.error || once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
		abort();
	hold_free(&h);
	hold_free(&again);
	str_free(&once);
	str_free(&twice);
	return 0;
}
