#include "machine/answer-inspect/judge-trial.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/stat/permutation.h"

struct groups {
	double waits[2][TRIAL_PHASES];
	size_t n[2];
};

/* The means of the samples that are not just after a change. */
static int fill_phase(struct trial *t, int phase)
{
	struct trial_phase *p = &t->phases[phase];
	double waits = 0, use = 0, late = 0;
	unsigned n = 0, felt = 0;

	VEC_EACH(s, t->samples) {
		if (s->phase != phase || s->settling)
			continue;
		n++;
		waits += s->waits;
		use += s->use;
		if (isfinite(s->late)) {
			felt++;
			late += s->late;
		}
	}
	if (!n)
		return -ENODATA;
	p->waits = waits / n;
	p->use = use / n;
	p->late = felt ? late / felt : NAN;
	return 0;
}

static void fill_means(struct trial *t, struct groups *g)
{
	double use[2] = {0}, late[2] = {0};

	*g = (struct groups){};
	for (int i = 0; i < TRIAL_PHASES; i++) {
		const struct trial_phase *p = &t->phases[i];

		g->waits[p->held][g->n[p->held]++] = p->waits;
		use[p->held] += p->use;
		late[p->held] += p->late;
	}
	t->waits_free = t->waits_held = 0;
	for (size_t i = 0; i < g->n[0]; i++)
		t->waits_free += g->waits[0][i] / (double)g->n[0];
	for (size_t i = 0; i < g->n[1]; i++)
		t->waits_held += g->waits[1][i] / (double)g->n[1];
	t->use_free = use[0] / (double)g->n[0];
	t->use_held = use[1] / (double)g->n[1];
	t->late_free = late[0] / (double)g->n[0];
	t->late_held = late[1] / (double)g->n[1];
}

static int unclear(struct trial *t, const char *reason)
{
	t->verdict = TRIAL_UNCLEAR;
	t->reason = strdup(reason);
	return t->reason ? 0 : -ENOMEM;
}

static int decide(struct trial *t)
{
	double least = TRIAL_LEAST_SHARE * t->waits_free;

	if (t->waits_free < TRIAL_LEAST_WAITS && t->waits_held < TRIAL_LEAST_WAITS)
		return unclear(t, "no program waits for anything now, with or without it: ask while it is slow");
	if (t->p <= TRIAL_LEVEL && t->low > 0 && t->effect >= least && t->effect >= TRIAL_LEAST_WAITS) {
		t->verdict = TRIAL_YES;
		return 0;
	}
	if (!t->bound)
		return unclear(t, "it used nearly as much while it was held back: what can be done here does "
				  "not bind it");
	if (t->high < least || t->high < TRIAL_LEAST_WAITS) {
		t->verdict = TRIAL_NO;
		return 0;
	}
	return unclear(t, "waiting varies too much to see whether it makes a difference: ask "
			  "again, or with longer phases");
}

static double least_use(const char *of)
{
	return strcmp(of, "disk") == 0 ? TRIAL_LEAST_BYTES : TRIAL_LEAST_CPU;
}

int judge_trial(struct trial *t)
{
	struct groups g;
	struct shift s;
	int r = 0;

	for (int i = 0; r == 0 && i < TRIAL_PHASES; i++)
		r = fill_phase(t, i);
	if (r < 0)
		return r;
	fill_means(t, &g);
	r = shift_find(g.waits[0], g.n[0], g.waits[1], g.n[1], TRIAL_COVERAGE, &s);
	if (r < 0)
		return r;
	t->p = permutation_p(g.waits[0], g.n[0], g.waits[1], g.n[1]);
	t->effect = s.estimate;
	t->low = s.low;
	t->high = s.high;
	t->coverage = s.coverage;
	/* who uses next to nothing needs no binding */
	t->bound = t->use_held <= TRIAL_BOUND * t->use_free || t->use_free < least_use(t->of);
	return decide(t);
}
