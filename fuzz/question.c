/* The words of a question as any user sends them: options of a verb, times and spans. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"
#include "lib/data/clock.h"
#include "lib/data/options.h"

#define WORDS_MAX 64
#define BYTES_MAX 4096 /* of a question */

static void read_values(char *text)
{
	int64_t span, moment;

	(void)clock_parse_span(text, &span);
	/* what is taken is a moment that can be printed */
	if (clock_parse_time(text, 1790000000000000000, &moment) == 0) {
		char printed[64];

		clock_format_local(moment, printed, sizeof(printed));
		if (!*printed)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const char *text = NULL;
	bool flag = false;
	int64_t span = 0;
	uint64_t count = 0;
	const struct option_row rows[] = {
		{OPTION_TEXT, 'a', "at", "TIME", &text, ""},	{OPTION_FLAG, 'j', "json", NULL, &flag, ""},
		{OPTION_SPAN, 'w', "window", "SPAN", &span, ""}, {OPTION_COUNT, 0, "top", "N", &count, ""}, {},
	};
	char copy[BYTES_MAX + 1], *words[WORDS_MAX + 1], *error = NULL;
	int n_words = 0, left;

	n = n < BYTES_MAX ? n : BYTES_MAX;
	memcpy(copy, bytes, n);
	copy[n] = '\0';
	for (size_t at = 0; at < n && n_words < WORDS_MAX; at += strlen(copy + at) + 1)
		words[n_words++] = copy + at;
	words[n_words] = NULL;
	if (!n_words)
		return 0;
	left = options_parse(rows, NULL, copy[0] == 'r', n_words, words, &error);
	if (left > n_words || (left >= 0 && words[left]))
		abort();
	for (int i = 0; i < left; i++)
		read_values(words[i]);
	if (text)
		read_values((char *)text);
	free(error);
	return 0;
}
