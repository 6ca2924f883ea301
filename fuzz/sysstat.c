#include "fuzz/fleet-file.h"

extern const struct fleet_source fleet_source_sysstat;

/* The JSON of `sadf -j`. Files of sar itself, which begin with its magic number, are read by sadf. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	if (n >= 2 && (bytes[0] == 0x96 || bytes[0] == 0xd5))
		return 0;
	return read_as_fleet(&fleet_source_sysstat, bytes, n);
}
