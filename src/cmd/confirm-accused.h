/* Whom an answer accuses: of a mark, or of now. */
#pragma once

#include <stdint.h>

#include "act/hold.h"
#include "cmd/verb.h"

struct accused {
	uint32_t pid;
	int64_t start; /* boot ns; 0 = not known */
	int of;	       /* enum hold_short, or -1 where the answer does not tell */
};

/* mark: 0 = now. EXIT_ANSWERED, or another exit status after having said why not on standard error. */
int find_accused(struct common *common, int64_t mark, struct accused *ret);
