/* A profile of another program, packed or not; and what was read can be written and read again. */
#include <stdlib.h>

#include "fuzz/target.h"
#include "machine/trace/pprof.h"

static void there_and_back(struct profile *p)
{
	struct pprof_written nothing = {};
	struct profile again;
	struct str packed = {};
	char *unit = NULL;

	if (profile_begin(&again) < 0)
		return;
	if (pprof_write(p, 1, &nothing, &packed) == 0 && pprof_read(packed.data, packed.len, &again, &unit) == 0 && again.rows.n > p->rows.n)
		abort();
	free(unit);
	str_free(&packed);
	profile_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct profile p;
	char *unit = NULL;

	if (profile_begin(&p) < 0)
		return 0;
	if (pprof_read(bytes, n, &p, &unit) == 0)
		there_and_back(&p);
	free(unit);
	profile_free(&p);
	return 0;
}
