#include "machine/judge/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/order.h"
#include "lib/stat/rank.h"
#include "lib/stat/robust.h"
#include "machine/judge/blocks.h"
#include "machine/judge/method.h"

#define MINUTE	    60000000000ll
#define MINUTES_MIN 5

/* A program's members in both times. */
struct pair {
	VEC(const struct subject *) members[2];
};

struct minutes {
	const struct dataset *d;
	uint32_t *start; /* n + 1 ticks */
	size_t n;
	double *values; /* scratch */
};

static int cut_minutes(const struct dataset *d, struct minutes *ret)
{
	struct minutes m = {.d = d};
	int64_t since = 0;

	m.start = calloc(d->ticks.n + 2, sizeof(*m.start));
	m.values = calloc(d->ticks.n + 2, sizeof(*m.values));
	if (!m.start || !m.values) {
		FREE_ALL(m.start, m.values);
		return -ENOMEM;
	}
	for (size_t t = 0; t < d->ticks.n; t++) {
		since += d->ticks.v[t].span;
		if (since < MINUTE)
			continue;
		m.start[++m.n] = (uint32_t)t + 1;
		since = 0;
	}
	*ret = m;
	return 0;
}

/* Per minute the sum over members; minutes without any member do not count. */
static size_t fill(struct minutes *m, const struct subject *const *members, size_t n_members, size_t f)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		double sum = NAN;

		for (size_t k = 0; k < n_members; k++) {
			double value = subject_mean(m->d, members[k], f, m->start[i], m->start[i + 1] - 1);

			if (!isnan(value))
				sum = (isnan(sum) ? 0 : sum) + value;
		}
		if (!isnan(sum))
			m->values[n++] = sum;
	}
	return n;
}

static int gather(const struct dataset *d, int which, struct hmap *pairs)
{
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		struct pair *pair;
		uint64_t key;

		if (s->info.kind != ENTITY_PROCESS || s->first > s->last)
			continue;
		key = hmap_hash_text(s->program);
		pair = hmap_get(pairs, key, 0);
		if (!pair) {
			pair = calloc(1, sizeof(*pair));
			if (!pair || hmap_put(pairs, key, 0, pair) < 0) {
				free(pair);
				return -ENOMEM;
			}
		}
		if (VEC_PUSH(pair->members[which], s) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int compare_feature(struct minutes m[2], const struct pair *pair, size_t f, struct changes *ret)
{
	size_t n_a = fill(&m[0], pair->members[0].v, pair->members[0].n, f);
	size_t n_b = fill(&m[1], pair->members[1].v, pair->members[1].n, f);
	struct compared_change c = {.n_a = (unsigned)n_a, .n_b = (unsigned)n_b};

	if (n_a < MINUTES_MIN || n_b < MINUTES_MIN)
		return 0;
	c.subject = pair->members[1].v[0];
	c.feature = &c.subject->features[f];
	c.p = rank_mann_whitney(m[0].values, n_a, m[1].values, n_b, &c.superiority); /* sorts both */
	c.a = robust_quantile(m[0].values, n_a, 0.5);
	c.b = robust_quantile(m[1].values, n_b, 0.5);
	c.spread = blocks_spread(c.feature, robust_scale(m[0].values, n_a), c.a);
	c.effect = (c.b - c.a) / c.spread;
	return VEC_PUSH(ret->list, c);
}

ORDER(by_effect, struct compared_change, CMP(fabs(b->effect), fabs(a->effect)))

static int keep_real_changes(struct changes *c)
{
	_cleanup_free_ double *q = calloc(c->list.n ? c->list.n : 1, sizeof(*q));
	size_t kept = 0;

	if (!q)
		return -ENOMEM;
	for (size_t i = 0; i < c->list.n; i++)
		q[i] = c->list.v[i].p;
	if (rank_benjamini_hochberg(q, c->list.n) < 0)
		return -ENOMEM;
	c->compared = (unsigned)c->list.n;
	for (size_t i = 0; i < c->list.n; i++) {
		c->list.v[i].q = q[i];
		if (q[i] <= 0.05 && fabs(c->list.v[i].effect) >= 1)
			c->list.v[kept++] = c->list.v[i];
	}
	c->list.n = kept;
	if (kept)
		qsort(c->list.v, kept, sizeof(c->list.v[0]), by_effect);
	return 0;
}

int compare_times(const struct dataset *a, const struct dataset *b, struct changes *ret)
{
	struct minutes m[2] = {};
	struct hmap pairs = {};
	int r = gather(a, 0, &pairs);

	r = r ?: gather(b, 1, &pairs);
	r = r ?: cut_minutes(a, &m[0]);
	r = r ?: cut_minutes(b, &m[1]);
	HMAP_FOREACH(slot, &pairs) {
		struct pair *pair = slot->value;

		for (size_t f = 0; r == 0 && pair->members[0].n && pair->members[1].n && f < PROCESS_FEATURE_COUNT; f++)
			if (subject_has(pair->members[0].v[0], f) && subject_has(pair->members[1].v[0], f))
				r = compare_feature(m, pair, f, ret);
		VEC_FREE(pair->members[0]);
		VEC_FREE(pair->members[1]);
		free(pair);
	}
	r = r ?: keep_real_changes(ret);
	hmap_free(&pairs);
	for (int i = 0; i < 2; i++) {
		FREE_ALL(m[i].start, m[i].values);
	}
	return r;
}
