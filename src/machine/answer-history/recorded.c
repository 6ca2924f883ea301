#include "machine/answer-history/recorded.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

/* Kinds that a machine has few of, and that outlive processes. */
static const enum entity_kind kinds[] = {ENTITY_SYSTEM, ENTITY_DISK, ENTITY_FILESYSTEM, ENTITY_INTERFACE, ENTITY_SENSOR};

void recorded_free(struct recorded *r)
{
	VEC_FREE_EACH(r->counters, free(each->name); free(each->unit); free(each->values));
	VEC_FREE(r->times);
}

static bool is_wanted(const struct subject *s)
{
	return ANY_WHERE(i, ARRAY_SIZE(kinds), s->info.kind == kinds[i]);
}

static feature_set wanted_features(const struct entity_info *info, void *data)
{
	const struct subject s = {.info = *info};

	(void)data;
	return is_wanted(&s) ? ~0ull : 0;
}

static struct recorded_counter *find_counter(struct recorded *r, const char *name)
{
	return VEC_FIND(x, r->counters, strcmp(x->name, name) == 0);
}

/* A subject that was defined again continues in its counter. */
static struct recorded_counter *get_counter(struct recorded *r, const struct subject *s, size_t feature)
{
	const struct feature *f = &s->features[feature];
	struct recorded_counter c = {.help = f->help}, *known;
	int n = s->info.kind == ENTITY_SYSTEM ? asprintf(&c.name, "%s", f->name)
					      : asprintf(&c.name, "%s.%s[%s]", entity_kind_name(s->info.kind), f->name, s->info.name);

	if (n < 0)
		return NULL;
	known = find_counter(r, c.name);
	if (known) {
		free(c.name);
		return known;
	}
	c.values = malloc((r->times.n + 1) * sizeof(*c.values));
	if (asprintf(&c.unit, "%s%s", unit_name(f->unit), f->kind == COUNTER ? "/s" : "") < 0)
		c.unit = NULL;
	for (size_t i = 0; c.values && i < r->times.n; i++)
		c.values[i] = NAN;
	if (!c.values || !c.unit || VEC_PUSH(r->counters, c) < 0) {
		FREE_ALL(c.name, c.unit, c.values);
		return NULL;
	}
	return &r->counters.v[r->counters.n - 1];
}

static int take_subject(const struct dataset *d, const struct subject *s, uint32_t first, struct recorded *r)
{
	for (size_t f = 0; f < s->n_features; f++) {
		struct recorded_counter *c = subject_has(s, f) ? get_counter(r, s, f) : NULL;

		if (subject_has(s, f) && !c)
			return -ENOMEM;
		for (size_t i = 0; c && i < r->times.n; i++) {
			uint32_t tick = first + (uint32_t)i;

			if (tick >= s->first && tick <= s->last)
				c->values[i] = subject_value(d, s, f, tick);
		}
	}
	return 0;
}

static int take_dataset(const struct dataset *d, int64_t from, int64_t to, struct recorded *ret)
{
	struct recorded r = {};
	uint32_t first = 0;
	int code = 0;

	while (first < d->ticks.n && d->ticks.v[first].wall < from)
		first++;
	for (size_t i = first; i < d->ticks.n && d->ticks.v[i].wall < to && code == 0; i++)
		code = VEC_PUSH(r.times, d->ticks.v[i].wall);
	for (size_t i = 0; i < d->subjects.n && code == 0 && r.times.n; i++)
		if (is_wanted(d->subjects.v[i]))
			code = take_subject(d, d->subjects.v[i], first, &r);
	if (code < 0)
		recorded_free(&r);
	else
		*ret = r;
	return code;
}

int recorded_read(struct store *s, int64_t from, int64_t to, struct recorded *ret)
{
	const struct load_filter filter = {.features = wanted_features};
	_cleanup_(dataset_free) struct dataset d = {};
	unsigned damaged;
	int r = store_load_filtered(s, from, to, &filter, &d, &damaged);

	return r ?: take_dataset(&d, from, to, ret);
}
