#include "machine/rule/watch.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "machine/rule/smooth.h"

#define STATES_MAX 200000 /* of smoothed rules over all processes; beyond it new ones are not watched */

struct smoothed {
	struct smoother samples;
	double value; /* of this tick; NaN = missing */
};

/* One rule over one entity. Kept only while there is something to remember. */
struct state {
	struct trigger machine;
	struct entity *entity;
	uint64_t number;
	int64_t began; /* wall */
	double highest;
	int64_t at; /* boot ns of its last sample: control groups are not in every tick */
	bool was_high;
	int64_t *spikes; /* boot ns of the last rises, as many as the rule asks for */
	unsigned n_spikes;
	struct smoothed *smoothed; /* one a slot */
};

struct prepared {
	const struct rule *rule;
	uint32_t *uids; /* of the selectors that name users */
	bool ours;
	bool needs_growth; /* who did nothing in a tick cannot be meant */
	bool asks_machine; /* next to a process's own values: it can hold of one that sleeps on */
};

struct watch {
	VEC(struct prepared) rules;
	struct hmap states;			/* (rule, entity's address) -> struct state: ids can change while an entity lives */
	VEC(uint32_t) by_kind[ENTITY_KIND_END]; /* rules by scope */
	uint64_t numbers;
	int64_t usual; /* ns between two ticks */
	char *own_exe; /* NULL = none */
	uint32_t own_pid;

	/* of the tick in hand */
	const struct tick *tick;
	int64_t span; /* ns */
	const struct sample *machine;
	double cpus_busy; /* u1 of the machine, ns/s; NaN = not known */
	unsigned cpus;
	const struct prepared *rule;
	bool machine_is_open; /* what the machine's values are is left open */
	const struct sample *sample;
	struct state *state;
	double first; /* value of the rule's first comparison */
	watch_report report;
	void *data;
};

static bool has_view(const struct condition *c)
{
	if (c->kind == CONDITION_COMPARISON)
		return c->comparison.view != VIEW_NONE;
	return has_view(c->left) || (c->right && has_view(c->right));
}

static bool needs_growth(const struct condition *c, enum entity_kind scope)
{
	const struct comparison *one = &c->comparison;

	switch (c->kind) {
	case CONDITION_COMPARISON:
		return one->quantity.kind == scope && one->quantity.feature->kind == COUNTER &&
		       one->value > 0 &&
		       (one->operator== OPERATOR_GREATER || one->operator== OPERATOR_GREATER_EQUAL);
	case CONDITION_AND:
		return needs_growth(c->left, scope) || needs_growth(c->right, scope);
	case CONDITION_OR:
		return needs_growth(c->left, scope) && needs_growth(c->right, scope);
	case CONDITION_NOT:
		break;
	}
	return false;
}

static bool asks_machine(const struct condition *c)
{
	if (c->kind == CONDITION_COMPARISON)
		return c->comparison.quantity.kind == ENTITY_SYSTEM;
	return asks_machine(c->left) || (c->right && asks_machine(c->right));
}

static uint32_t uid_of(const char *user)
{
	uint64_t number;
	const struct passwd *known;

	if (str_parse_u64(user, &number) == 0)
		return (uint32_t)number;
	known = getpwnam(user);
	return known ? known->pw_uid : UINT32_MAX;
}

static int prepare(struct watch *w, const struct rule *rule)
{
	struct prepared p = {.rule = rule};
	uint32_t index = (uint32_t)w->rules.n;

	p.ours = !has_view(rule->when) && !(rule->until && has_view(rule->until));
	p.needs_growth = p.ours && rule->slots == 0 && needs_growth(rule->when, rule->scope);
	p.asks_machine = p.ours && rule->scope == ENTITY_PROCESS && asks_machine(rule->when);
	p.uids = calloc(rule->selectors.n + 1, sizeof(*p.uids));
	if (!p.uids)
		return -ENOMEM;
	for (size_t i = 0; i < rule->selectors.n; i++)
		if (rule->selectors.v[i].field == SELECT_USER)
			p.uids[i] = uid_of(rule->selectors.v[i].pattern);
	if (VEC_PUSH_OWNER(w->rules, p.uids, p) < 0)
		return -ENOMEM;
	return p.ours ? VEC_PUSH(w->by_kind[rule->scope], index) : 0;
}

int watch_leave_out(struct watch *w, const char *exe, uint32_t pid)
{
	char *copy = strdup(exe);

	if (!copy)
		return -ENOMEM;
	free(w->own_exe);
	w->own_exe = copy;
	w->own_pid = pid;
	return 0;
}

int watch_new(const struct rules *rules, struct watch **ret)
{
	struct watch *w = calloc(1, sizeof(*w));
	int r = w ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < rules->list.n; i++)
		r = prepare(w, &rules->list.v[i]);
	if (r < 0) {
		if (w)
			watch_free(w, NULL, NULL);
		return r;
	}
	*ret = w;
	return 0;
}

/* --- who is meant --- */

static const char *last_part(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static bool matches(const char *pattern, const char *text)
{
	return text && fnmatch(pattern, text, 0) == 0;
}

static bool meant_by(const struct selector *s, uint32_t uid, const struct entity_info *info)
{
	switch (s->field) {
	case SELECT_NAME: /* comm is cut after 15 characters: the program's file has the rest */
		return matches(s->pattern, info->name) || matches(s->pattern, last_part(info->exe));
	case SELECT_EXE:
		return matches(s->pattern, info->exe);
	case SELECT_UNIT:
		return matches(s->pattern, info->unit) || matches(s->pattern, last_part(info->unit));
	case SELECT_USER:
		return info->uid == uid;
	case SELECT_CONTAINER:
		return matches(s->pattern, info->container);
	}
	return false;
}

/* A question to the recording computes for a moment, and is not an incident of the machine's; the recorder itself is none. */
static bool is_own_question(const struct watch *w, const struct entity_info *info)
{
	return info->kind == ENTITY_PROCESS && w->own_exe && info->exe && info->pid != w->own_pid && strcmp(info->exe, w->own_exe) == 0;
}

static bool is_meant(const struct watch *w, const struct prepared *p, const struct entity_info *info)
{
	if (!p->rule->selectors.n && is_own_question(w, info))
		return false;
	for (size_t i = 0; i < p->rule->selectors.n; i++)
		if (meant_by(&p->rule->selectors.v[i], p->uids[i], info) == p->rule->selectors.v[i].negated)
			return false;
	return true;
}

/* --- values --- */

/* A wait that was read late has grown for more than this tick: of it, what all threads can have waited in it. */
static double growth_of(const struct sample *s, int feature, int64_t span)
{
	const struct entity *e = s->entity;
	double growth = (double)(s->values[feature] - (e->fresh ? 0 : e->previous[feature]));
	size_t n;

	if (!feature_is_read_late(features_of(e->info.kind, &n), (size_t)feature) || !(s->present >> FEATURE_THREADS & 1))
		return growth;
	return fmin(growth, (double)span * fmax(1, (double)s->values[FEATURE_THREADS]));
}

/* A counter's rate per second, a gauge's level; NaN where it is missing. */
static double value_of(const struct sample *s, int feature, const struct feature *f, int64_t span)
{
	const struct entity *e = s->entity;

	if (!(s->present >> feature & 1))
		return NAN;
	if (f->kind != COUNTER)
		return (double)s->values[feature];
	if (span <= 0 || (e->fresh && !e->born))
		return NAN;
	if (!e->fresh && !(e->measured >> feature & 1))
		return NAN;
	return fmax(0, growth_of(s, feature, span) * 1e9 / (double)span);
}

static double derived_value(const struct watch *w, const struct quantity *q)
{
	size_t n;
	double u1 = q->kind == ENTITY_SYSTEM
			    ? w->cpus_busy
			    : value_of(w->sample, FEATURE_CPU_TIME,
				       &features_of(ENTITY_PROCESS, &n)[FEATURE_CPU_TIME], w->span);

	return q->derived == DERIVED_U1 ? u1 : w->cpus ? u1 / w->cpus : NAN;
}

static int64_t span_of(const struct watch *w, const struct sample *s)
{
	/* of processes and the machine every tick is seen */
	if (w->state && w->state->at && s == w->sample && s->entity->info.kind != ENTITY_PROCESS)
		return w->tick->boot - w->state->at;
	return w->span;
}

static double quantity_value(const struct watch *w, const struct quantity *q)
{
	const struct sample *s = q->kind == ENTITY_SYSTEM ? w->machine : w->sample;

	if (q->kind == ENTITY_SYSTEM && w->machine_is_open)
		return NAN;
	if (q->derived)
		return derived_value(w, q);
	return s && q->index >= 0 ? value_of(s, q->index, q->feature, span_of(w, s)) : NAN;
}

static enum truth test(const struct comparison *c, void *data)
{
	struct watch *w = data;
	double value = c->smoothing && w->state && w->state->smoothed ? w->state->smoothed[c->slot].value
								      : quantity_value(w, &c->quantity);

	if (isnan(w->first))
		w->first = value;
	if (isnan(value))
		return UNKNOWN_;
	return rule_compare(c->operator, value, c->value) ? TRUE_ : FALSE_;
}

/* Every sample counts for what is smoothed, whatever the rest of the condition says. */
static void feed(struct watch *w, const struct condition *c)
{
	const struct comparison *one = &c->comparison;
	struct smoothed *s;

	if (c->kind != CONDITION_COMPARISON) {
		feed(w, c->left);
		if (c->right)
			feed(w, c->right);
		return;
	}
	if (!one->smoothing)
		return;
	s = &w->state->smoothed[one->slot];
	s->value = quantity_value(w, &one->quantity);
	if (!isnan(s->value))
		s->value = smooth(&s->samples, one->smoothing, one->samples, s->value);
}

/* u1 of the machine: time its CPUs were not idle. */
static void measure_machine(struct watch *w)
{
	static const int busy[] = {FEATURE_CORE_USER, FEATURE_CORE_NICE,    FEATURE_CORE_SYSTEM,
				   FEATURE_CORE_IRQ,  FEATURE_CORE_SOFTIRQ, FEATURE_CORE_STEAL};
	size_t n;
	const struct feature *features = features_of(ENTITY_CPU, &n);
	bool known = false;

	w->machine = NULL;
	w->cpus = 0;
	w->cpus_busy = 0;
	VEC_EACH(s, w->tick->samples) {
		if (s->entity->info.kind == ENTITY_SYSTEM)
			w->machine = s;
		if (s->entity->info.kind != ENTITY_CPU)
			continue;
		w->cpus++;
		for (size_t k = 0; k < sizeof(busy) / sizeof(busy[0]); k++) {
			double value = value_of(s, busy[k], &features[busy[k]], w->span);

			known |= !isnan(value);
			w->cpus_busy += isnan(value) ? 0 : value;
		}
	}
	if (!known)
		w->cpus_busy = NAN;
}

/* --- states --- */

static void state_free(struct state *s)
{
	FREE_ALL(s->spikes, s->smoothed, s);
}

static struct state *new_state(struct watch *w, uint32_t rule)
{
	const struct rule *r = w->rules.v[rule].rule;
	struct state *s = w->states.n < STATES_MAX ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return NULL;
	s->entity = w->sample->entity;
	s->spikes = r->spikes ? calloc(r->spikes, sizeof(*s->spikes)) : NULL;
	s->smoothed = r->slots ? calloc(r->slots, sizeof(*s->smoothed)) : NULL;
	if ((r->spikes && !s->spikes) || (r->slots && !s->smoothed) ||
	    hmap_put(&w->states, rule, (uintptr_t)s->entity, s) < 0) {
		state_free(s);
		return NULL;
	}
	return s;
}

/* Nothing to remember: no event, no spike within the window, nothing smoothed. */
static bool is_idle(const struct watch *w, const struct rule *r, const struct state *s)
{
	if (s->machine.state != TRIGGER_NORMAL || s->was_high || s->smoothed ||
	    s->entity->info.kind != ENTITY_PROCESS)
		return false;
	for (unsigned i = 0; i < s->n_spikes; i++)
		if (w->tick->boot - s->spikes[i] <= r->spike_window)
			return false;
	return true;
}

static void drop_state(struct watch *w, uint32_t rule, const struct entity *e)
{
	struct state *s = hmap_remove(&w->states, rule, (uintptr_t)e);

	if (s)
		state_free(s);
}

/* --- events --- */

static const struct comparison *first_comparison(const struct condition *c)
{
	while (c->kind != CONDITION_COMPARISON)
		c = c->left;
	return &c->comparison;
}

static void tell(struct watch *w, const struct rule *rule, const struct state *s, enum trigger_action action)
{
	const struct comparison *first = first_comparison(rule->when);
	struct watch_event e = {
		.action = action,
		.rule = rule,
		.number = s->number,
		.entity = s->entity,
		.feature = first->quantity.feature,
		.quantity = first->quantity.name,
		.highest = s->highest,
		.began = s->began,
		.phases = s->machine.phases,
	};

	if (w->report && action != TRIGGER_NOTHING && action != TRIGGER_COLLECT)
		w->report(&e, w->data);
}

/* Its process, or the watch, ends. */
static void tell_end(struct watch *w, const struct rule *rule, const struct state *s)
{
	if (s->machine.state != TRIGGER_NORMAL)
		tell(w, rule, s, s->machine.state == TRIGGER_HIGH ? TRIGGER_FALL : TRIGGER_END);
}

/* A rise is counted; true once there were k of them within the window. */
static bool enough_spikes(struct state *s, const struct rule *r, int64_t now)
{
	if (!s->was_high) {
		if (s->n_spikes == r->spikes)
			memmove(s->spikes, s->spikes + 1, (r->spikes - 1) * sizeof(*s->spikes));
		else
			s->n_spikes++;
		s->spikes[s->n_spikes - 1] = now;
	}
	return s->n_spikes == r->spikes && now - s->spikes[0] <= r->spike_window;
}

static void step(struct watch *w, const struct rule *r, struct state *s, enum truth high, enum truth low)
{
	const struct trigger_limits limits = {r->spikes ? 0 : r->up, r->down};
	struct trigger_sample sample = {
		.span = span_of(w, w->sample), .high = high == TRUE_, .low = low == TRUE_};
	bool was_normal = s->machine.state == TRIGGER_NORMAL;
	enum trigger_action action;
	unsigned phases = s->machine.phases;

	if (high == UNKNOWN_)
		return;
	if (sample.high && r->spikes)
		sample.high = enough_spikes(s, r, w->tick->boot) || !was_normal;
	s->was_high = high == TRUE_;
	s->machine = trigger_step(s->machine, &limits, &sample, &action);
	if (was_normal && s->machine.state != TRIGGER_NORMAL) {
		s->began = w->tick->wall;
		s->number = ++w->numbers;
		s->highest = w->first;
	}
	if (sample.high && w->first > s->highest)
		s->highest = w->first;
	if (action == TRIGGER_END) {
		s->machine.phases = phases;
		tell(w, r, s, action);
		s->machine.phases = 0;
	} else {
		tell(w, r, s, action);
	}
}

static enum truth below(struct watch *w, const struct rule *r, enum truth high)
{
	if (r->until)
		return condition_holds(r->until, test, w);
	return high == UNKNOWN_ ? UNKNOWN_ : high == TRUE_ ? FALSE_ : TRUE_;
}

/* Only the machine's values decide whether the rule holds of this process: it is looked at in every tick, also when it sleeps on. */
static bool waits_for_machine(struct watch *w)
{
	enum truth truth;

	if (!w->rule->asks_machine)
		return false;
	w->machine_is_open = true;
	truth = condition_holds(w->rule->rule->when, test, w);
	w->machine_is_open = false;
	return truth != FALSE_;
}

static void evaluate(struct watch *w, uint32_t index, const struct sample *sample)
{
	const struct rule *r = w->rules.v[index].rule;
	enum truth high, low;

	w->rule = &w->rules.v[index];
	w->sample = sample;
	w->first = NAN;
	w->state = w->states.n ? hmap_get(&w->states, index, (uintptr_t)sample->entity) : NULL;
	if (sample->same && !w->state && w->rule->needs_growth)
		return; /* most of a machine's processes sleep */
	if (!w->state && r->slots && is_meant(w, w->rule, &sample->entity->info))
		w->state = new_state(w, index);
	if (w->state && r->slots) {
		feed(w, r->when);
		if (r->until)
			feed(w, r->until);
	}
	high = condition_holds(r->when, test, w);
	if (!w->state) {
		/* most processes most of the time: nothing to remember */
		if ((high != TRUE_ && !waits_for_machine(w)) || !is_meant(w, w->rule, &sample->entity->info))
			return;
		w->state = new_state(w, index);
		if (!w->state)
			return;
	}
	low = below(w, r, high);
	step(w, r, w->state, high, high == TRUE_ ? FALSE_ : low);
	w->state->at = w->tick->boot;
	if (is_idle(w, r, w->state) && !waits_for_machine(w))
		drop_state(w, index, sample->entity);
}

static void end_entity(struct watch *w, const struct entity *e)
{
	const enum entity_kind kind = e->info.kind;

	for (size_t k = 0; w->states.n && k < w->by_kind[kind].n; k++) {
		uint32_t rule = w->by_kind[kind].v[k];
		struct state *s = hmap_get(&w->states, rule, (uintptr_t)e);

		if (s)
			tell_end(w, w->rules.v[rule].rule, s);
		drop_state(w, rule, e);
	}
}

/* While the machine slept or stood still nothing was seen, and that counts for nothing. */
static void measure_span(struct watch *w)
{
	int64_t span = w->tick->previous_boot ? w->tick->boot - w->tick->previous_boot : 0;

	w->span = span;
	if (!w->usual || span < 5 * w->usual + 2 * NS_PER_SEC)
		w->usual = span;
}

/* Processes that sleep on are left out of ticks: their counters stand still, and their levels are what they were. Only those of whom something is
 * remembered are looked at: of the others nothing changed. */
static void evaluate_asleep(struct watch *w)
{
	HMAP_FOREACH(slot, &w->states)
	{
		struct state *s;

		/* dropping a state can move another to its place */
		while ((s = slot->value) && s->entity->info.kind == ENTITY_PROCESS && s->at != w->tick->boot) {
			struct sample as_before = {s->entity, s->entity->previous, s->entity->measured, true};

			evaluate(w, (uint32_t)slot->key, &as_before);
		}
	}
}

void watch_tick(struct watch *w, const struct tick *tick, watch_report report, void *data)
{
	w->tick = tick;
	w->report = report;
	w->data = data;
	measure_span(w);
	measure_machine(w);
	VEC_EACH(s, tick->samples) {
		enum entity_kind kind = s->entity->info.kind;

		for (size_t k = 0; s->entity->info.id && k < w->by_kind[kind].n; k++)
			evaluate(w, w->by_kind[kind].v[k], s);
	}
	for (size_t i = 0; i < tick->ended.n; i++)
		end_entity(w, tick->ended.v[i]);
	evaluate_asleep(w);
}

void watch_free(struct watch *w, watch_report report, void *data)
{
	if (!w)
		return;
	w->report = report;
	w->data = data;
	HMAP_FOREACH(slot, &w->states)
	{
		struct state *s = slot->value;

		tell_end(w, w->rules.v[slot->key].rule, s);
		state_free(s);
	}
	hmap_free(&w->states);
	VEC_FREE_EACH(w->rules, free(each->uids));
	for (size_t i = 0; i < ENTITY_KIND_END; i++)
		VEC_FREE(w->by_kind[i]);
	FREE_ALL(w->own_exe, w);
}
