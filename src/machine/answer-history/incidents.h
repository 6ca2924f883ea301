/* Whom the marked moments were blamed on, program by program: did a change of software help? */
#pragma once

#include "machine/answer-why/why.h"

struct program_incidents {
	char *program;		       /* label; NULL = no one was named */
	unsigned before, after;	       /* of the split; without one all count as before */
	unsigned right, wrong, fixed;  /* feedback */
};

struct incidents {
	VEC(struct program_incidents) list; /* most incidents first */
};
void incidents_free(struct incidents *i);

/* Counts the first culprits of what was reported about each mark (or is reported now). `split` = wall ns, 0 = none. Marks whose time is no longer recorded
 * count as no one's. 0 or -errno of the store. */
int incidents_by_program(struct store *store, const struct mark *marks, size_t n, int64_t window, int64_t split,
			 const struct viewer *viewer, struct incidents *ret);
