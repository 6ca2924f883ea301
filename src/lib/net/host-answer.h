/* Another machine's recorder answers a question about its host. */
#pragma once

#include <jansson.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"

/* The answer of another machine's recorder. */
struct host_answer {
	json_t *why;	/* as `why --json` prints it there (docs/json.md); NULL: see error */
	char *recorder; /* what was asked: its URL, the recording's file, "this machine"; NULL: none is known for that host */
	char *error;	/* in words */
};

static inline void host_answer_free(struct host_answer *a)
{
	json_decref(a->why);
	FREE_ALL(a->recorder, a->error);
	*a = (struct host_answer){};
}
