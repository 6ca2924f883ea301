/* Catalogues of causes, and the facts they are tried on: two texts, parted by a NUL. What is read is written, and is read
 * again. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"
#include "machine/findings/test-facts.h"
#include "machine/rule/cause.h"

static void try_on(const struct causes *causes, const char *text)
{
	struct facts facts;
	unsigned line;

	if (facts_read(text, &facts, &line) < 0)
		return;
	for (size_t i = 0; i < causes->list.n; i++) {
		(void)cause_holds(&causes->list.v[i], &facts);
		free(cause_words(causes->list.v[i].say, &facts));
	}
	(void)cause_find(causes, &facts);
	facts_free(&facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 2), *error = NULL;
	struct causes causes = {}, again = {};
	struct str out = {};

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = text[size + 1] = '\0';
	if (causes_parse(text, "fuzz", &causes, &error) == 0) {
		for (size_t i = 0; i < causes.list.n; i++)
			cause_write(&causes.list.v[i], &out);
		if (out.data && causes_parse(out.data, "again", &again, &error) < 0)
			abort();
		try_on(&causes, text + strlen(text) + (strlen(text) < size));
	}
	causes_free(&causes);
	causes_free(&again);
	str_free(&out);
	free(error);
	free(text);
	return 0;
}
