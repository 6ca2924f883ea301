#include "fuzz/fleet-file.h"

extern const struct fleet_source fleet_source_top;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	return read_as_fleet(&fleet_source_top, bytes, n);
}
