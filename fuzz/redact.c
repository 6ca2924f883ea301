#include "base/data/cleanup.h"
#include "base/data/str.h"
#include "fuzz/target.h"
#include "source/process/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	_cleanup_str_ struct str out = {};

	redact_secrets((const char *)bytes, n, &out);
	return 0;
}
