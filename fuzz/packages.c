#include "fuzz/followed-file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	follow(&source_packages, "var/log", "dpkg.log", bytes, n);
	return 0;
}
