#include <stdlib.h>

#include "fuzz/target.h"
#include "lib/data/cleanup.h"
#include "spans/formats/leaf-csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	_cleanup_fclose_ FILE *f = n ? fmemopen((void *)bytes, n, "r") : NULL;
	const struct leaf_columns columns = {.number = {"value", "cnt"}, .time = "min", .ignore = "id"};
	struct leaf_csv csv = {};
	char *error = NULL;

	if (f && leaf_csv_read(f, "input", &columns, &csv, &error) == 0)
		leaf_csv_free(&csv);
	free(error);
	return 0;
}
