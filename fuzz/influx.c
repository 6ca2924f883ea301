#include "fuzz/fleet-file.h"

extern const struct fleet_source fleet_source_influx, fleet_source_influx_csv;

/* Annotated CSV begins with '#'. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	return read_as_fleet(n && *bytes == '#' ? &fleet_source_influx_csv : &fleet_source_influx, bytes, n);
}
