#include "machine/act/experiment.h"

struct run {
	const struct experiment *e;
	struct trial *t;
	int64_t began, seen;
};

/* Looks every `sample` until a moment. */
static int look_until(struct run *r, int64_t until, int phase, bool held, bool settling)
{
	const struct experiment *e = r->e;

	while (r->seen < until) {
		int64_t next = r->seen + e->sample < until ? r->seen + e->sample : until, now;
		struct trial_sample s = {.phase = phase, .held = held, .settling = settling};
		int n = e->rest(e->data, next);

		if (n == 0)
			n = e->look(e->data, &s);
		if (n < 0)
			return n;
		now = e->now();
		s.at = (r->seen + now) / 2 - r->began;
		r->seen = now;
		if (VEC_PUSH(r->t->samples, s) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int run_phase(struct run *r, int phase)
{
	const struct experiment *e = r->e;
	bool held = r->t->phases[phase].held;
	int n = 0;

	/* two in the same way in a row: nothing changes, and the same part of it is left out */
	if (held != (phase > 0 && r->t->phases[phase - 1].held))
		n = e->change(e->data, held);
	if (n == 0)
		n = look_until(r, r->seen + e->settle, phase, held, true);
	return n < 0 ? n : look_until(r, r->seen + e->phase, phase, held, false);
}

int experiment_run(const struct experiment *e, struct trial *t)
{
	struct run r = {.e = e, .t = t};
	struct trial_sample nothing;
	int n = e->look(e->data, &nothing), last;

	r.began = r.seen = e->now();
	if (n == 0)
		n = look_until(&r, r.seen + e->before, -1, false, false);
	if (n == 0)
		n = e->ready(e->data);
	r.seen = e->now();
	for (int i = 0; n == 0 && i < TRIAL_PHASES; i++)
		n = run_phase(&r, i);
	last = e->change(e->data, false);
	if (n == 0)
		n = last;
	return n < 0 ? n : look_until(&r, r.seen + e->after, TRIAL_PHASES, false, false);
}
