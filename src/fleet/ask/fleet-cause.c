#include "fleet/ask/fleet-cause.h"

#include <fnmatch.h>


struct fleet_facts {
	const struct fleet *fleet;
	const struct fleet_findings *unusual;
	const struct fleet_finding *named, *symptom;
	double enough;
	bool met; /* `named` or `symptom` matched one of the comparisons */
};

static bool is_same(const struct fleet_finding *a, const struct fleet_finding *b)
{
	return a->server == b->server && a->counter == b->counter;
}

static enum truth test_fleet(const struct comparison *c, void *data)
{
	struct fleet_facts *f = data;
	enum truth found = FALSE_;

	for (size_t i = 0; i < f->unusual->list.n && f->unusual->list.v[i].score >= f->enough; i++) {
		const struct fleet_finding *x = &f->unusual->list.v[i];
		unsigned direction = c->direction > 0 ? FLEET_HIGHER : FLEET_LOWER;

		if (x->server != f->named->server || (c->direction && !(x->flags & direction)) ||
		    fnmatch(c->quantity.name, f->fleet->counters.v[x->counter].name, FNM_CASEFOLD) != 0)
			continue;
		found = TRUE_;
		f->met |= is_same(x, f->named) || is_same(x, f->symptom);
	}
	return found;
}

const struct cause *fleet_cause_find(const struct causes *c, const struct fleet *f, const struct fleet_findings *unusual,
					const struct fleet_finding *named, const struct fleet_finding *symptom, double enough)
{
	for (size_t i = 0; i < c->list.n; i++) {
		struct fleet_facts facts = {f, unusual, named, symptom, enough, false};

		if (c->list.v[i].fleet && condition_holds(c->list.v[i].when, test_fleet, &facts) == TRUE_ && facts.met)
			return &c->list.v[i];
	}
	return NULL;
}
