/* Rules of an administrator: what is understood is written, and must be read again as the same. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"
#include "machine/rule/rule.h"

static void write_and_read_again(const struct rules *rules)
{
	struct str first = {}, second = {};
	struct rules again = {};
	char *error = NULL;

	rules_write(rules, &first);
	if (!first.data || rules_parse(first.data, "again", &again, &error) < 0)
		abort();
	rules_write(&again, &second);
	if (!second.data || strcmp(first.data, second.data) != 0)
		abort();
	rules_free(&again);
	str_free(&first);
	str_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char *text = malloc(n + 1), *error = NULL;
	struct rules rules = {};

	memcpy(text, bytes, n);
	text[n] = '\0';
	if (rules_parse(text, "input", &rules, &error) == 0) {
		if (rules.list.n)
			write_and_read_again(&rules);
		rules_free(&rules);
	}
	free(error);
	free(text);
	return 0;
}
