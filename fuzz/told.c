/* An answer as it is kept with its mark: JSON that an earlier version, or another person, wrote. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"
#include "machine/answer-history/answer-history.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char *text = malloc(n + 1);
	struct saved_answer t;

	memcpy(text, bytes, n);
	text[n] = '\0';
	if (saved_answer_read(text, &t) == 0)
		saved_answer_free(&t);
	free(text);
	return 0;
}
