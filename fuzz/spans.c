#include <stdlib.h>

#include "fuzz/target.h"
#include "spans/pipeline/span-pipeline.h"

/* Whatever is recognized, from the bytes to the call forest; what is not is read as a table. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const struct pipeline_options options = {.late = INT64_MAX, .rule = PATH_CRISP};
	const struct span_source *source;
	struct pipeline p;
	struct input in;
	char *error = NULL;

	if (pipeline_open(&p, &options, &error) == 0) {
		input_of_memory(&in, "input", bytes, n);
		source = span_source_of(&in);
		if ((source ? source : &source_span_csv)->read(&p.reader, &in) == 0)
			pipeline_end(&p);
	}
	pipeline_close(&p);
	free(error);
	return 0;
}
