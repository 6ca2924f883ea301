#include "machine/findings/trial.h"

#include "lib/data/cleanup.h"

const char *const trial_verdict_names[] = {"unclear", "yes", "no"};

void trial_free(struct trial *t)
{
	VEC_FREE(t->pids);
	VEC_FREE(t->samples);
	VEC_FREE(t->victims);
	FREE_ALL(t->unit, t->how, t->reason);
	*t = (struct trial){};
}
