/* Lists the ticks of a recording, wall time in ns, one a line: `ticks STORE [RUN-DIR]`. For the tests that kill recorders. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "machine/recording/store.h"

int main(int argc, char **argv)
{
	struct store_paths paths = {argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL};
	_cleanup_free_ char *error = NULL;
	struct dataset d = {};
	struct store *store;
	unsigned damaged = 0;
	int r;

	if (!paths.file)
		return 2;
	r = store_open(&paths, STORE_READ, &store, &error);
	if (r == 0) {
		r = store_load(store, INT64_MIN, INT64_MAX, &d, &damaged);
		store_close(store);
	}
	for (size_t i = 0; i < d.ticks.n; i++)
		printf("%" PRId64 "\n", d.ticks.v[i].wall);
	dataset_free(&d);
	if (r < 0 || damaged)
		fprintf(stderr, "%s, %u parts damaged\n", error ? error : strerror(-r), damaged);
	return r < 0 || damaged;
}
