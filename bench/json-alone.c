/* What the JSON library takes for Jaeger's traces when nothing looks at them: json-alone FILE reads the file as `whyslow spans` does
 * and has each trace parsed and freed. Prints how many spans there were. */
#include <jansson.h>
#include <stdio.h>

#include "source/span/span-json.h"

static size_t spans;

static int count(struct span_reader *r, const char *name, uint64_t offset, json_t *trace)
{
	(void)r;
	(void)name;
	(void)offset;
	spans += json_array_size(json_object_get(trace, "spans"));
	return 0;
}

int main(int argc, char **argv)
{
	struct span_faults faults = {};
	struct span_reader reader = {.sink.faults = &faults};
	struct input in;

	if (argc != 2 || input_open(&in, argv[1]) < 0) {
		fputs("usage: json-alone FILE\n", stderr);
		return 2;
	}
	if (json_elements(&reader, &in, (const char *const[]){"data", NULL}, count) < 0 || faults.n[SPAN_FAULT_SYNTAX])
		return 1;
	input_close(&in);
	printf("%zu\n", spans);
	return 0;
}
