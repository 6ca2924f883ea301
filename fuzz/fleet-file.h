/* A file of a fleet's counters, read whole by its source and put together as `whyslow fleet` does. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "fleet/model/fleet-source.h"
#include "fuzz/memory-file.h"
#include "fuzz/target.h"

static inline int read_as_fleet(const struct fleet_source *source, const uint8_t *bytes, size_t n)
{
	int fd = memory_file(bytes, n);
	struct intake *into = intake_new();
	struct fleet *fleet = NULL;
	char path[64], *error = NULL;
	struct fleet_input input = {.location = path, .from = INT64_MIN, .to = INT64_MAX, .begin = 1795183200000000000};

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0 && into && source->load(&input, into, &error) == 0)
		(void)intake_finish(into, &fleet);
	if (fleet)
		fleet_free(fleet);
	free(fleet);
	intake_free(into);
	free(error);
	if (fd >= 0)
		close(fd);
	return 0;
}
