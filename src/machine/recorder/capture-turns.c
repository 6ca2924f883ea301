#include "machine/recorder/capture-turns.h"

#include <math.h>

#include "lib/data/clock.h"

#define RECENT_SPAN  (5.0 * NS_PER_SEC)
#define WORTH_TURN   0.05 /* of what all use: below it a process does not matter */
#define STILL_ACTIVE 0.25 /* of its mean of the phase: a process that uses less now has stopped */
#define EQUAL_GAPS   3
#define DOUBLED_MOST 16

static struct turn_event *find_event(struct turns *t, uint64_t number)
{
	for (size_t i = 0; i < TURN_EVENTS_MAX; i++)
		if (t->events[i].number == number)
			return &t->events[i];
	return NULL;
}

void turns_begin(struct turns *t, uint64_t number, unsigned phase, uint32_t pid, enum resource resource)
{
	struct turn_event *e = find_event(t, number);

	if (e && e->phase == 0) {
		e->phase = phase;
		return;
	}
	if (!e)
		e = find_event(t, 0);
	if (e)
		*e = (struct turn_event){
			.number = number, .phase = phase, .pid = pid, .resource = resource, .due = pid ? 0 : TURN_FIRST};
}

/* What a process did in this tick of what the machine lacks. */
static int64_t growth_of(const struct sample *s, enum resource resource)
{
	static const int features[RESOURCE_COUNT][2] = {
		[RESOURCE_IO] = {FEATURE_IO_READ_BYTES, FEATURE_IO_WRITE_BYTES},
		[RESOURCE_MEMORY] = {FEATURE_FAULTS_MAJOR, FEATURE_FAULTS_MINOR},
	};
	static const int cpu[2] = {FEATURE_CPU_TIME, -1};
	const int *of = resource == RESOURCE_IO || resource == RESOURCE_MEMORY ? features[resource] : cpu;
	int64_t sum = 0;

	for (size_t i = 0; i < 2; i++)
		if (of[i] >= 0 && s->present >> of[i] & 1)
			sum += s->values[of[i]] - s->entity->previous[of[i]];
	return sum;
}

/* A process that is not known yet takes the place of the smallest one, if that is smaller. */
static struct turn_candidate *candidate_of(struct turn_event *e, const struct entity_info *info, double rate)
{
	struct turn_candidate *smallest = &e->candidates[0];

	for (size_t i = 0; i < TURN_CANDIDATES_MAX; i++) {
		struct turn_candidate *c = &e->candidates[i];

		if (c->id == info->id)
			return c;
		if (!c->id || (smallest->id && c->recent < smallest->recent))
			smallest = c;
	}
	if (smallest->id && smallest->recent >= rate)
		return NULL;
	*smallest = (struct turn_candidate){.id = info->id, .pid = info->pid};
	return smallest;
}

static void add_sample(struct turn_event *e, const struct sample *s, double seconds, double weight)
{
	const double grown = fmax(0, (double)growth_of(s, e->resource)), rate = grown / seconds;
	struct turn_candidate *c = grown > 0 ? candidate_of(e, &s->entity->info, rate) : NULL;

	e->recent += weight * rate;
	if (!c)
		return;
	c->sum += grown;
	c->recent += weight * rate;
}

static bool may_have_turn(const struct turns *t, const struct sample *s)
{
	return s->entity->info.kind == ENTITY_PROCESS && s->entity->info.id && !s->same && !s->entity->fresh &&
	       !entity_is_of_recorder(s->entity, NULL, t->recorder);
}

static void add_tick(const struct turns *t, struct turn_event *e, const struct tick *tick, int64_t span)
{
	const double weight = fmin(1, (double)span / fmin(RECENT_SPAN, (double)(e->span + span))), seconds = (double)span / NS_PER_SEC;

	e->span += span;
	e->recent *= 1 - weight;
	for (size_t i = 0; i < TURN_CANDIDATES_MAX; i++)
		e->candidates[i].recent *= 1 - weight;
	for (size_t i = 0; i < tick->samples.n; i++)
		if (may_have_turn(t, &tick->samples.v[i]))
			add_sample(e, &tick->samples.v[i], seconds, weight);
	for (size_t i = 0; i < tick->ended.n; i++)
		for (size_t k = 0; k < TURN_CANDIDATES_MAX; k++)
			if (e->candidates[k].id == tick->ended.v[i]->info.id)
				e->candidates[k] = (struct turn_candidate){};
}

/* NULL: no process matters now. */
static struct turn_candidate *next_candidate(struct turn_event *e)
{
	struct turn_candidate *best = NULL;
	double most = 0;

	for (size_t i = 0; i < TURN_CANDIDATES_MAX; i++) {
		struct turn_candidate *c = &e->candidates[i];
		const double mean = c->sum * NS_PER_SEC / (double)e->span, use = fmin(mean, c->recent), claim = use / (c->turns + 1);

		if (c->id && c->recent >= fmax(STILL_ACTIVE * mean, WORTH_TURN * e->recent) && claim > most) {
			most = claim;
			best = c;
		}
	}
	return best;
}

uint32_t turns_end(struct turns *t, uint64_t number)
{
	struct turn_event *e = find_event(t, number);
	const struct turn_candidate *c = e && !e->turns && !e->pid && e->span ? next_candidate(e) : NULL;

	if (e)
		e->number = 0;
	return c ? c->pid : 0;
}

static int64_t gap_after(unsigned turns)
{
	const unsigned doubled = turns > EQUAL_GAPS ? turns - EQUAL_GAPS : 0;

	return TURN_EVERY << (doubled < DOUBLED_MOST ? doubled : DOUBLED_MOST);
}

/* The pid whose turn it is; 0 = none. */
static uint32_t take_turn(struct turn_event *e)
{
	struct turn_candidate *c = e->pid ? NULL : next_candidate(e);

	if (!e->pid && !c)
		return 0;
	if (c)
		c->turns++;
	e->due = e->span + gap_after(++e->turns);
	return c ? c->pid : e->pid;
}

void turns_tick(struct turns *t, const struct tick *tick,
		void (*inspect)(uint64_t number, unsigned phase, uint32_t pid, void *data), void *data)
{
	const int64_t span = tick->previous_boot ? tick->boot - tick->previous_boot : 0;

	for (size_t i = 0; i < TURN_EVENTS_MAX; i++) {
		struct turn_event *e = &t->events[i];
		uint32_t pid;

		if (!e->number)
			continue;
		if (span > 0)
			add_tick(t, e, tick, span);
		pid = e->phase && e->span >= e->due ? take_turn(e) : 0;
		if (pid)
			inspect(e->number, e->phase, pid, data);
	}
}
