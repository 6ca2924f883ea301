#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"
#include "lib/data/cleanup.h"
#include "machine/symbol/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	_cleanup_fclose_ FILE *f = n ? fmemopen((void *)bytes, n, "r") : NULL;
	struct jit_map *m;

	if (!f || jit_map_parse(f, &m) < 0)
		return 0;
	for (uint64_t address = 0; address < 0x10000; address += 0x101) {
		uint64_t offset;
		const char *name = jit_map_find(m, address, &offset);

		/* printable, and within its entry */
		if (name && (strpbrk(name, "\x1b\n\x7f") || offset > address))
			abort();
	}
	jit_map_free(m);
	return 0;
}
