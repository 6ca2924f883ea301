#include "lib/data/cleanup.h"
#include "fuzz/target.h"
#include "lib/data/str.h"
#include "machine/process/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	_cleanup_str_ struct str out = {};

	redact_secrets((const char *)bytes, n, &out);
	return 0;
}
