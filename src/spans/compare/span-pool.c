#include "spans/compare/span-pool.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/stat/welch.h"
#include "spans/compare/span-mix.h"
#include "spans/compare/span-slow.h"

#define OTHERS_LEAST .1 /* of what all requests say */

static bool is_in(const struct pool_change *p, const struct forest *f, const struct bucket_change *c)
{
	const struct bucket *b = &f->buckets.v[c->bucket];

	if (!c->before || !c->after)
		return false;
	for (uint32_t d = 0; p->key && d < f->n_dimensions; d++)
		if (f->dimensions[d] == p->key)
			return b->values[d] == p->value;
	return !p->value || b->entry == p->value;
}

/* --- which there are --------------------------------------------------------------------------------------------------- */

/* Another pool if it has some buckets, more than one and not all of them, and is none of those there are. */
static int add_pool(const struct forest *f, struct span_change *c, uint32_t key, uint32_t value)
{
	struct pool_change p = {.key = key, .value = value};
	size_t n = 0, all = 0;

	for (size_t i = 0; i < c->pools.n; i++)
		if (c->pools.v[i].key == key && c->pools.v[i].value == value)
			return 0;
	for (size_t i = 0; i < c->buckets.n; i++) {
		n += is_in(&p, f, &c->buckets.v[i]);
		all += is_in(&c->all, f, &c->buckets.v[i]);
	}
	return n > 1 && n < all && VEC_PUSH(c->pools, p) < 0 ? -ENOMEM : 0;
}

static int choose_pools(const struct forest *f, struct span_change *c)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->buckets.n; i++) {
		const struct bucket *b = &f->buckets.v[c->buckets.v[i].bucket];

		if (!is_in(&c->all, f, &c->buckets.v[i]))
			continue;
		for (uint32_t d = 0; r == 0 && d < f->n_dimensions; d++)
			if (b->values[d])
				r = add_pool(f, c, f->dimensions[d], b->values[d]);
		r = r ?: add_pool(f, c, 0, b->entry);
	}
	return r;
}

/* --- within kinds ------------------------------------------------------------------------------------------------------- */

/* By given attributes, by those whose shares moved in any bucket, and by those that tell durations apart in the pool. */
static int find_within(const struct forest *f, const struct span_change *c, const struct span_slow *by, struct span_pair *pairs, struct pool_change *p)
{
	uint32_t keys[SLOW_KEYS];
	struct span_within within = {};
	size_t n = 0, n_keys = 0;
	int r;

	for (size_t k = 0; by && k < by->n_keys; k++)
		span_pool_add_key(keys, &n_keys, ARRAY_SIZE(keys), by->keys[k]);
	VEC_EACH(b, c->buckets) {
		if (!is_in(p, f, b))
			continue;
		pairs[n++] = (struct span_pair){b->before, b->after};
		p->requests += moments_count(&b->after->total);
		for (size_t k = 0; k < b->mix.n_keys; k++)
			span_pool_add_key(keys, &n_keys, ARRAY_SIZE(keys), b->mix.keys[k]);
	}
	r = span_slow_find(f, pairs, n, keys, n_keys, c->least, &p->for_kind);
	r = r ?: span_mix_within(f, pairs, n, p->for_kind.keys, p->for_kind.n_keys, &within);
	if (r < 0)
		return r;
	p->within = within.within;
	p->error = within.error * sqrt(p->for_kind.drift);
	p->freedom = within.freedom;
	p->mean = within.mean;
	p->mixed = within.p_shares <= POOL_SHARES_P;
	return 0;
}

int span_pool_find(const struct forest *f, struct span_change *c)
{
	_cleanup_free_ struct span_pair *pairs = calloc(c->buckets.n + 1, sizeof(*pairs));
	int r = pairs ? choose_pools(f, c) : -ENOMEM;

	r = r ?: find_within(f, c, NULL, pairs, &c->all);
	for (size_t i = 0; r == 0 && i < c->pools.n; i++)
		r = find_within(f, c, &c->all.for_kind, pairs, &c->pools.v[i]);
	return r;
}

/* --- chance ------------------------------------------------------------------------------------------------------------ */

/* Shares of the requests over the buckets: Mantel and Haenszel (1959), so that another mix of buckets does not count as a difference. `share`
 * says a bucket's, before or after. */
static double shares_of_pool(const struct forest *f, const struct span_change *c, const struct pool_change *p,
			     double (*share)(const struct bucket_change *b, int side, size_t which), size_t which,
			    double ret[2])
{
	double off = 0, variance = 0, requests = 0;

	ret[0] = ret[1] = 0;
	VEC_EACH(b, c->buckets) {
		double x[2], n[2], all, both, weight;

		if (!is_in(p, f, b))
			continue;
		n[0] = moments_effective(&b->before->total);
		n[1] = moments_effective(&b->after->total);
		for (int side = 0; side < 2; side++)
			x[side] = share(b, side, which) * n[side];
		all = n[0] + n[1];
		both = x[0] + x[1];
		off += x[1] - both * n[1] / all;
		variance += all > 1 ? both * (all - both) * n[0] * n[1] / (all * all * (all - 1)) : 0;
		weight = moments_count(&b->after->total);
		requests += weight;
		for (int side = 0; side < 2; side++)
			ret[side] += weight * x[side] / n[side];
	}
	for (int side = 0; side < 2; side++)
		ret[side] /= fmax(requests, 1);
	return variance > 0 && off > .5 ? welch_normal_p((off - .5) / sqrt(variance)) / 2 : 1;
}

static double errors_of(const struct bucket_change *b, int side, size_t which)
{
	(void)which;
	return side ? b->errors_after : b->errors_before;
}

/* Where kinds have other shares, the tail is another one, too. */
static double tail_of(const struct bucket_change *b, int side, size_t which)
{
	return b->mixed ? 0 : b->tails[side][which];
}

/* Wilson's interval of a share of n requests: its lower (-1) or upper (1) end. */
static double wilson_end(double share, double n, int way)
{
	double z = POOL_POWER_Z, middle = share + z * z / (2 * n), half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n));

	return (middle + way * half) / (1 + z * z / n);
}

/* The greatest rise of the share that fails, and of the mean within kinds, that these requests leave possible: Newcombe (1998), 95 % sure. */
static void find_bounds(const struct forest *f, const struct span_change *c, struct pool_change *p)
{
	double n[2] = {}, a = p->errors_before, b = p->errors_after, up, down;

	VEC_EACH(x, c->buckets) {
		if (!is_in(p, f, x))
			continue;
		n[0] += moments_effective(&x->before->total);
		n[1] += moments_effective(&x->after->total);
	}
	p->errors_most = 0;
	p->rise_most = p->mean > 0 ? (p->within + POOL_POWER_Z * p->error) / p->mean : INFINITY;
	if (p->for_kind.shift_error > 0)
		p->rise_most = fmin(p->rise_most, p->for_kind.shift + POOL_POWER_Z * p->for_kind.shift_error);
	if (!(n[0] > 0) || !(n[1] > 0))
		return;
	up = wilson_end(b, n[1], 1) - b;
	down = a - wilson_end(a, n[0], -1);
	p->errors_most = b - a + sqrt(up * up + down * down);
}

static void test_shares(const struct forest *f, const struct span_change *c, struct pool_change *p)
{
	double shares[2];

	p->p_errors = shares_of_pool(f, c, p, errors_of, 0, shares);
	p->errors_before = shares[0];
	p->errors_after = shares[1];
	p->p_tail = 1;
	for (size_t i = 0; i < SPAN_TAILS; i++) {
		double chance = shares_of_pool(f, c, p, tail_of, i, shares);

		if (chance >= p->p_tail)
			continue;
		p->p_tail = chance;
		p->tail_before = shares[0];
		p->tail_after = shares[1];
	}
	p->p_tail = p->mixed ? 1 : fmin(1, SPAN_TAILS * p->p_tail);
}

/* The shift of the others, without what all requests have of s. 0 = s has none of them, or nearly all. */
static double others_of(const struct span_slow *all, const struct span_slow *s, double *ret_variance)
{
	double of_all = all->drift / (all->shift_error * all->shift_error), own = s->drift / (s->shift_error * s->shift_error), left = of_all - own;

	if (!(own > 0) || !(left > OTHERS_LEAST * of_all))
		return 0;
	*ret_variance = 1 / left;
	return (all->shift * of_all - s->shift * own) / left;
}

double span_pool_shift_p(const struct span_change *c, const struct span_slow *s, double *ret_shift)
{
	const struct span_slow *all = &c->all.for_kind;
	double variance = s->shift_error * s->shift_error, alone = variance / s->drift, wanders = all->shift_error * all->shift_error * (1 - 1 / all->drift);
	double of_others = INFINITY, others = s == all ? 0 : others_of(all, s, &of_others), taken;

	*ret_shift = s->shift;
	if (!(s->shift_error > 0))
		return 1;
	if (!c->all_slower && isfinite(of_others) && wanders > 0) {
		/* the best linear guess of what wandered, and what it leaves unsure */
		taken = wanders / (wanders + of_others);
		*ret_shift -= taken * others;
		variance = fmax(variance - wanders, alone) + taken * of_others;
	}
	return welch_student_p(*ret_shift / sqrt(variance), s->shift_freedom);
}

/* By the mean and the shift; where requests are few, both are to be sure, as in a bucket. */
static double mean_p(const struct span_change *c, const struct pool_change *p)
{
	double by_mean = p->error > 0 ? welch_student_p(p->within / p->error, p->freedom) : 1, shift, by_shift = span_pool_shift_p(c, &p->for_kind, &shift);

	return p->for_kind.requests < SPAN_LEAST ? fmax(by_mean, by_shift) : span_pool_two_ways(p->within, by_mean, shift, by_shift);
}

static void test(const struct forest *f, const struct span_change *c, struct pool_change *p)
{
	p->low = p->within - 1.96 * p->error;
	p->high = p->within + 1.96 * p->error;
	test_shares(f, c, p);
	find_bounds(f, c, p);
	p->p_mean = mean_p(c, p);
	p->p = span_pool_p(p->p_mean, p->for_kind.p, p->p_tail, p->p_errors);
}

void span_pool_test(const struct forest *f, struct span_change *c)
{
	test(f, c, &c->all);
	c->all_slower = c->all.within > 0 && span_pool_is_sure(c->level, 2 * c->all.p, c->all.p_mean, POOL_MEAN);
	for (size_t i = 0; i < c->pools.n; i++)
		test(f, c, &c->pools.v[i]);
}

/* --- verdict ----------------------------------------------------------------------------------------------------------- */

void span_pool_judge(const struct span_change *c, double z, struct pool_change *p)
{
	double tolerated = c->least * p->mean;

	p->could_see = p->mean > 0 ? span_pool_seen_by_mean(p->error, p->mean, z, c->least) : INFINITY;
	if (p->for_kind.shift_error > 0)
		p->could_see = fmin(p->could_see, span_pool_seen_by_mean(p->for_kind.shift_error, 1, z, c->least));
	p->verdict = VERDICT_UNCLEAR;
	if (!(p->mean > 0))
		return;
	if (span_pool_is_sure(c->level, p->q, p->p_errors, POOL_ERRORS) && span_pool_is_much_more(p->errors_before, p->errors_after, POOL_LEAST)) {
		p->verdict = VERDICT_FAILING;
	} else if (span_pool_is_sure(c->level, p->q, p->p_mean, POOL_MEAN) &&
		   (fabs(p->within) > tolerated || (p->within > 0 && p->for_kind.shift > c->least))) {
		p->verdict = p->within > 0 ? VERDICT_SLOWER : VERDICT_FASTER;
		p->ground = p->within > 0 ? GROUND_MEAN : GROUND_NONE;
	} else if (span_pool_is_sure(c->level, p->q, p->p_tail, POOL_TAIL) && span_pool_is_much_more(p->tail_before, p->tail_after, POOL_LEAST)) {
		p->verdict = VERDICT_SLOWER;
		p->ground = GROUND_TAIL;
	} else if (span_slow_worst(&p->for_kind) && span_pool_is_sure(c->level, p->q, p->for_kind.p, POOL_SLOW)) {
		p->verdict = VERDICT_SLOWER;
		p->ground = GROUND_SLOW;
	} else if (p->rise_most <= 2 * c->least) {
		p->verdict = VERDICT_SAME;
	}
}
