#include "machine/cmd-waits/capture-phases.h"

#include <stdio.h>
#include <stdlib.h>

static void begin_with(char **text, uint32_t phase)
{
	char *longer;

	if (asprintf(&longer, "phase %u: %s", phase, *text) < 0)
		return;
	free(*text);
	*text = longer;
}

int captures_by_phase(struct store *store, int64_t mark, struct capture **ret, size_t *ret_n)
{
	int r = store_captures(store, mark, ret, ret_n);
	uint32_t last = 0;

	for (size_t i = 0; i < *ret_n; i++)
		last = (*ret)[i].phase > last ? (*ret)[i].phase : last;
	for (size_t i = 0; last > 1 && i < *ret_n; i++) {
		if (!(*ret)[i].phase)
			continue;
		begin_with(&(*ret)[i].summary, (*ret)[i].phase);
		begin_with(&(*ret)[i].text, (*ret)[i].phase);
	}
	return r;
}
