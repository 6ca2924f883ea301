/* A call forest as a store, a worker or another machine hands it out: read, written again, and put in order. */
#include <stdlib.h>

#include "fuzz/target.h"
#include "spans/forest/forest.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct names *names = names_new();
	struct str again = {};
	struct forest f;

	if (!names || forest_init(&f, names, 1000000000) < 0)
		abort();
	if (forest_read(&f, bytes, n) == 0 && forest_finish(&f) == 0 && forest_write(&f, &again) < 0 && again.error == 0)
		abort(); /* what can be read can be written */
	str_free(&again);
	forest_free(&f);
	names_free(names);
	return 0;
}
