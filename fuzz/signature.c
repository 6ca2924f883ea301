#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"
#include "machine/rule/signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static const char *const stack[] = {"main", "runtime.gcAssistAlloc1", "take_gil", "futex_wait_[k]"};
	struct signatures signatures = {};
	char *text = malloc(n + 1), *error = NULL;

	if (!text)
		return 0;
	memcpy(text, bytes, n);
	text[n] = '\0';
	if (signatures_parse(text, "input", &signatures, &error) == 0)
		(void)signatures_find(&signatures, stack, sizeof(stack) / sizeof(*stack));
	signatures_free(&signatures);
	free(error);
	free(text);
	return 0;
}
