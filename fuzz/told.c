/* An answer as it is kept with its mark: JSON that an earlier version, or another person, wrote. */
#include <stdlib.h>
#include <string.h>

#include "answer/told.h"
#include "fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char *text = malloc(n + 1);
	struct told t;

	memcpy(text, bytes, n);
	text[n] = '\0';
	if (told_read(text, &t) == 0)
		told_free(&t);
	free(text);
	return 0;
}
