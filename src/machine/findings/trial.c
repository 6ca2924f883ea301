#include "machine/findings/trial.h"

#include <stdlib.h>

const char *const trial_verdict_names[] = {"unclear", "yes", "no"};

void trial_free(struct trial *t)
{
	VEC_FREE(t->pids);
	VEC_FREE(t->samples);
	VEC_FREE(t->victims);
	free(t->unit);
	free(t->how);
	free(t->reason);
	*t = (struct trial){};
}
