#include <stdlib.h>

#include "fuzz/target.h"
#include "lib/input/deployments.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct deployments d = {};
	char *error = NULL;

	if (deployments_parse("input", (const char *)bytes, n, n & 1 ? DEPLOYMENT_NEEDS_VERSION : DEPLOYMENT_NEEDS_TIME, 1790000000000000000, &d, &error) == 0)
		deployments_sort(&d);
	else if (d.list.n) /* all of them, or none */
		abort();
	deployments_free(&d);
	free(error);
	return 0;
}
