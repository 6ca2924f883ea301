#include "spans/model/span-change.h"

#define SEEN_LEAST   .8	  /* of the traffic is to be judged, bucket by bucket or all together */

const char *span_reason_name(enum span_reason reason)
{
	static const char *const names[REASON_COUNT] = {"none", "slower", "more calls", "retries", "sequential", "new", "one host", "some calls"};

	return names[reason];
}

const char *span_ground_name(enum span_ground ground)
{
	static const char *const names[] = {"none", "mean", "tail", "call", "slow"};

	return names[ground];
}

const char *span_verdict_name(enum span_verdict verdict)
{
	static const char *const names[] = {"same", "slower", "faster", "unclear", "failing"};

	return names[verdict];
}

static bool is_worse(const struct pool_change *p, const struct pool_change *than)
{
	if (!span_is_regression(p->verdict))
		return false;
	if (!than || (p->verdict == VERDICT_FAILING) != (than->verdict == VERDICT_FAILING))
		return !than || p->verdict == VERDICT_FAILING;
	return p->p < than->p;
}

const struct pool_change *span_change_worst_pool(const struct span_change *c)
{
	const struct pool_change *worst = is_worse(&c->all, NULL) ? &c->all : NULL;

	for (size_t i = 0; i < c->pools.n; i++)
		worst = is_worse(&c->pools.v[i], worst) ? &c->pools.v[i] : worst;
	return worst;
}

enum span_verdict span_change_gate(const struct span_change *c)
{
	const struct pool_change *pool = span_change_worst_pool(c);
	bool slower = pool && pool->verdict == VERDICT_SLOWER;

	if (pool && pool->verdict == VERDICT_FAILING)
		return VERDICT_FAILING;
	for (size_t i = 0; i < c->buckets.n; i++) {
		if (c->buckets.v[i].verdict == VERDICT_FAILING)
			return VERDICT_FAILING;
		slower |= c->buckets.v[i].verdict == VERDICT_SLOWER;
	}
	if (slower)
		return VERDICT_SLOWER;
	if (c->all.errors_most > c->least)
		return VERDICT_UNCLEAR; /* as many more may fail as matter */
	return c->seen_share >= SEEN_LEAST || c->all.verdict == VERDICT_SAME || c->all.verdict == VERDICT_FASTER ? VERDICT_SAME : VERDICT_UNCLEAR;
}

double span_change_needed(const struct span_change *c, double rise)
{
	double of_rise = c->all.could_see / rise, of_errors = c->all.errors_most / c->least;
	double most = of_rise > of_errors ? of_rise : of_errors;

	return most * most;
}
