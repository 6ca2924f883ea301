#include "spans/compare/suspect.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/stat/rank.h"
#include "lib/stat/welch.h"
#include "spans/compare/span-own.h"
#include "spans/compare/span-pool.h"
#include "spans/compare/span-strata.h"

#define TIMES_MOVE    .01 /* of the means: what less than that is of the times is left alone */
#define TIME_SHARE    .02 /* of the bucket's time: what is closer came together */
#define TIME_REQUESTS 5
#define OWN_TOLERANCE .02 /* of the request: what a service takes longer by itself, at least */

void suspects_free(struct suspects *s)
{
	for (size_t i = 0; i < s->list.n; i++) {
		free(s->list.v[i].label);
		free(s->list.v[i].together);
	}
	VEC_FREE(s->list);
	*s = (struct suspects){};
}

static bool is_mix(const struct forest *f, uint32_t version)
{
	return strstr(names_get(f->names, version), VERSION_MIX);
}

static bool is_service(const struct forest *f, uint32_t package)
{
	for (uint32_t v = 0; v < f->vertices.n; v++)
		if (f->vertices.v[v].service == package)
			return true;
	return false;
}

enum span_side suspect_side(const struct forest *f, const struct suspect_version *s,
			    const struct forest_group *g)
{
	const struct attribute_set *set = names_get_set(f->names, g->versions);
	uint32_t version = attribute_set_value(set, s->package);

	if (s->without && attribute_set_value(set, s->without->package) == s->without->version)
		return SIDE_NONE;
	if (s->is_service && version && is_mix(f, version))
		return SIDE_NONE;

	return !version ? SIDE_NONE : version == s->version ? SIDE_CANDIDATE : SIDE_BASELINE;
}

/* Both means at the times that both sides share, in the suspect's proportions; the share of its requests, and how many of the others'
 * their mean is as sure as: few of them may stand for many of the suspect's. */
struct shared {
	double others, mean, share, n_others;
};

/* False: what they share is too little. */
static bool means_at(const struct strata *strata, const struct forest *f, const struct bucket *b, const struct suspect_version *s,
		     struct shared *ret)
{
	double counts[2][STRATA_MOST] = {}, sums[2][STRATA_MOST] = {}, shared = 0, squares = 0;

	for (size_t j = 0; j < b->groups.n && strata->n > 1; j++) {
		enum span_side side = suspect_side(f, s, &b->groups.v[j]);

		if (side != SIDE_NONE)
			strata_add(strata, &b->groups.v[j], counts[side == SIDE_CANDIDATE], sums[side == SIDE_CANDIDATE]);
	}
	*ret = (struct shared){.share = strata->n > 1 ? strata_shared(strata, counts[1], counts[0]) : 0};
	if (ret->share < STRATA_SHARED || ret->share * s->requests < SPAN_LEAST)
		return false;
	for (size_t h = 0; h < strata->n; h++) {
		if (counts[0][h] < STRATUM_LEAST)
			continue;
		shared += counts[1][h];
		squares += counts[1][h] * counts[1][h] / counts[0][h];
		ret->others += counts[1][h] * sums[0][h] / counts[0][h];
		ret->mean += sums[1][h];
	}
	ret->others /= shared;
	ret->mean /= shared;
	ret->n_others = shared * shared / squares;
	return true;
}

static void take_times_out(const struct forest *f, const struct bucket *b, const struct moments sums[2], struct suspect_version *s)
{
	struct sample_moments before, after;
	struct shared at;
	double df, t;
	int way = 0;

	for (; way < STRATA_WAYS; way++) {
		const struct strata strata = strata_by(b, way);

		if (means_at(&strata, f, b, s, &at))
			break;
	}
	if (way == STRATA_WAYS || (fabs(s->others / at.others - 1) < TIMES_MOVE && fabs(s->mean / at.mean - 1) < TIMES_MOVE))
		return;
	/* adjusted counts stand for fewer samples */
	at.n_others *= moments_effective(&sums[0]) / moments_count(&sums[0]);
	before = (struct sample_moments){at.n_others, at.others, moments_variance(&sums[0])};
	after = (struct sample_moments){at.share * moments_effective(&sums[1]), at.mean, moments_variance(&sums[1])};
	s->others = at.others;
	s->mean = at.mean;
	s->levelled = true;
	t = welch_t(&before, &after, &df);
	s->p = isnan(t) ? 1 : welch_student_p(t, df);
}

/* Of two times of [first, last], which is sure to lie before the other? Requests come by chance. */
static bool well_before(int64_t a, int64_t b, double all, double requests)
{
	return (double)(b - a) > all * fmax(TIME_SHARE, TIME_REQUESTS / fmax(requests, 1));
}

static bool was_replaced(const struct forest *f, const struct bucket *b, const struct suspect_version *s, double requests, double others)
{
	int64_t first[2] = {INT64_MAX, INT64_MAX}, last[2] = {INT64_MIN, INT64_MIN};
	double all;

	for (size_t j = 0; j < b->groups.n; j++) {
		const struct forest_group *g = &b->groups.v[j];
		enum span_side side = suspect_side(f, s, g);
		bool own = side == SIDE_CANDIDATE;

		if (side == SIDE_NONE)
			continue;
		first[own] = g->first_seen < first[own] ? g->first_seen : first[own];
		last[own] = g->last_seen > last[own] ? g->last_seen : last[own];
	}
	all = (double)((last[0] > last[1] ? last[0] : last[1]) - (first[0] < first[1] ? first[0] : first[1]));
	return well_before(first[1], first[0], all, others) && well_before(last[1], last[0], all, requests);
}

/* More calls, or calls in turn, are sure by the whole request; own time by its own test. */
static void judge_own(const struct forest *f, struct suspect_version *s)
{
	struct own_time own;

	if (!s->is_service)
		return;
	own_time_find(f, s, &own);
	s->own_mean = own.mean + own.structure;
	s->own_others = own.others;
	if (own.structure < SPAN_TOLERANCE * s->others || s->mean < s->others)
		s->p = own.p;
	else
		s->p = fmin(1, 2 * fmin(s->p, own.p));
}

static void judge_failures(const struct forest *f, struct suspect_version *s)
{
	struct own_failures own;

	own_failures_find(f, s, &own);
	s->fails = own.share;
	s->fails_others = own.others;
	s->p_fails = own.p;
}

/* 1 = compared, 0 = too few, -ENOMEM. */
static int compare(const struct forest *f, const struct bucket *b, struct suspect_version *s)
{
	struct moments sums[2] = {};
	struct sketch *sketches[2] = {sketch_new(), sketch_new()};
	int r = sketches[0] && sketches[1] ? 0 : -ENOMEM;

	for (size_t j = 0; r == 0 && j < b->groups.n; j++) {
		enum span_side side = suspect_side(f, s, &b->groups.v[j]);

		if (side == SIDE_NONE)
			continue;
		moments_merge(&sums[side == SIDE_CANDIDATE], &b->groups.v[j].total);
		r = sketch_merge(sketches[side == SIDE_CANDIDATE], b->groups.v[j].sketch);
	}
	if (r == 0 && moments_effective(&sums[0]) >= SPAN_LEAST && moments_effective(&sums[1]) >= SPAN_LEAST) {
		s->others = moments_mean(&sums[0]);
		s->mean = moments_mean(&sums[1]);
		s->requests = moments_count(&sums[1]);
		s->superiority = sketch_superiority(sketches[0], sketches[1]);
		s->p = span_change_p(&sums[0], &sums[1], s->superiority);
		s->replaced = was_replaced(f, b, s, moments_effective(&sums[1]), moments_effective(&sums[0]));
		take_times_out(f, b, sums, s);
		judge_own(f, s);
		judge_failures(f, s);
		r = 1;
	}
	sketch_free(sketches[0]);
	sketch_free(sketches[1]);
	return r;
}

static bool seen(const struct suspects *s, uint32_t bucket, uint32_t package, uint32_t version)
{
	for (size_t i = s->list.n; i-- > 0 && s->list.v[i].bucket == bucket;)
		if (s->list.v[i].package == package && s->list.v[i].version == version)
			return true;
	return false;
}

static int compare_bucket(const struct forest *f, uint32_t index, struct suspects *ret)
{
	const struct bucket *b = &f->buckets.v[index];
	bool any = false;

	for (size_t j = 0; j < b->groups.n; j++) {
		const struct attribute_set *set = names_get_set(f->names, b->groups.v[j].versions);

		for (uint32_t i = 0; i < set->n; i++) {
			struct suspect_version s = {.bucket = index, .package = set->v[i].key, .version = set->v[i].value};
			int r;

			s.is_service = is_service(f, s.package);
			if ((s.is_service && is_mix(f, s.version)) || seen(ret, index, s.package, s.version))
				continue;
			r = compare(f, b, &s);
			if (r < 0 || (r > 0 && VEC_PUSH(ret->list, s) < 0))
				return -ENOMEM;
			any |= r > 0;
		}
	}
	ret->buckets += any;
	ret->alone += !any;
	ret->few += !any && b->groups.n > 1;
	return 0;
}

static double excess_of(const struct suspect_version *s)
{
	return s->is_service ? s->own_mean - s->own_others : s->mean - s->others;
}

/* Those that fail first. */
static int by_cost(const void *a, const void *b)
{
	const struct suspect_version *x = a, *y = b;
	double cx = x->failing ? (x->fails - x->fails_others) * x->requests : excess_of(x) * x->requests;
	double cy = y->failing ? (y->fails - y->fails_others) * y->requests : excess_of(y) * y->requests;

	if (x->failing != y->failing)
		return x->failing ? -1 : 1;
	return cx > cy ? -1 : cx < cy;
}

static char *label_of(const struct forest *f, const struct bucket *b)
{
	_cleanup_str_ struct str s = {};

	for (uint32_t d = 0; d < f->n_dimensions; d++)
		if (b->values[d])
			str_printf(&s, "%s=%s, ", names_get(f->names, f->dimensions[d]), names_get(f->names, b->values[d]));
	str_puts(&s, names_get(f->names, b->entry));
	return s.error ? NULL : TAKE(s.data);
}

static bool is_slower(const struct suspect_version *s)
{
	if (s->is_service)
		return s->own_mean >= (1 + SPAN_TOLERANCE) * s->own_others && s->own_mean - s->own_others >= OWN_TOLERANCE * s->others;
	return s->mean >= (1 + SPAN_TOLERANCE) * s->others && (s->superiority >= .5 || s->levelled);
}

/* Time and failures have a q each. */
static int find_q(struct suspects *s)
{
	size_t n = s->list.n;
	_cleanup_free_ double *p = calloc(2 * n + 1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		p[i] = s->list.v[i].p;
		p[n + i] = s->list.v[i].p_fails;
	}
	if (rank_benjamini_hochberg(p, n) < 0 || rank_benjamini_hochberg(p + n, n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		s->list.v[i].q = p[i];
		s->list.v[i].q_fails = p[n + i];
	}
	return 0;
}

static int keep_worse(const struct forest *f, struct suspects *s)
{
	size_t kept = 0;

	if (find_q(s) < 0)
		return -ENOMEM;
	s->compared = (unsigned)s->list.n;
	for (size_t i = 0; i < s->compared; i++) {
		struct suspect_version one = s->list.v[i];

		one.slower = one.q <= SPAN_Q && is_slower(&one);
		one.failing = one.q_fails <= SPAN_Q && span_pool_is_much_more(one.fails_others, one.fails, POOL_LEAST);
		if (!one.slower && !one.failing)
			continue;
		if (one.replaced) {
			s->replaced++;
			continue;
		}
		one.label = label_of(f, &f->buckets.v[one.bucket]);
		s->list.v[kept++] = one;
	}
	s->list.n = kept;
	s->slower = (unsigned)kept;
	if (kept)
		qsort(s->list.v, kept, sizeof(*s->list.v), by_cost);
	return 0;
}

enum outcome { IS_FEW, IS_WORSE, IS_NOT };

#define CAUSE_KEEPS .5 /* of its excess, where the other did not run */

static double rise_of(const struct suspect_version *s)
{
	return s->is_service ? s->own_mean / s->own_others - 1 : s->mean / s->others - 1;
}

/* How `s` does in requests that do not run `other`. */
static int outcome_without(const struct forest *f, const struct suspect_version *s, const struct suspect_version *other, enum outcome *ret)
{
	struct suspect_version alone = {.bucket = s->bucket, .package = s->package, .version = s->version, .is_service = s->is_service, .without = other};
	int r = compare(f, &f->buckets.v[s->bucket], &alone);

	if (r == 0)
		*ret = IS_FEW;
	else if (s->failing)
		*ret = alone.p_fails <= SPAN_Q && alone.fails - alone.fails_others >= CAUSE_KEEPS * (s->fails - s->fails_others) ? IS_WORSE : IS_NOT;
	else
		*ret = alone.p <= SPAN_Q && rise_of(&alone) >= CAUSE_KEEPS * rise_of(s) ? IS_WORSE : IS_NOT;
	return r < 0 ? r : 0;
}

static int add_together(const struct forest *f, struct suspect_version *to, const struct suspect_version *other)
{
	char *text;

	if (asprintf(&text, "%s%s%s %s", to->together ? to->together : "", to->together ? ", " : "", names_get(f->names, other->package),
		     names_get(f->names, other->version)) < 0)
		return -ENOMEM;
	free(to->together);
	to->together = text;
	return 0;
}

/* Of two that ran together, the one that is slow without the other. If neither is, or it cannot be told, the service is told with the
 * other one, or the first with the second. */
static int tell_apart(const struct forest *f, struct suspect_version *a, struct suspect_version *b, bool *ret_drop_a, bool *ret_drop_b)
{
	enum outcome a_alone, b_alone;
	int r = outcome_without(f, a, b, &a_alone);

	if (r == 0)
		r = outcome_without(f, b, a, &b_alone);
	if (r < 0 || (a_alone == IS_WORSE && b_alone == IS_WORSE))
		return r;
	*ret_drop_a = b_alone == IS_WORSE || (a_alone != IS_WORSE && b->is_service);
	*ret_drop_b = !*ret_drop_a;
	if (a_alone == IS_WORSE || b_alone == IS_WORSE)
		return 0;
	return *ret_drop_a ? add_together(f, b, a) : add_together(f, a, b);
}

/* Services are told apart by their own time; what is none, by requests that ran without the other. */
static int keep_apart(const struct forest *f, struct suspects *s)
{
	_cleanup_free_ bool *drop = calloc(s->list.n + 1, sizeof(*drop));
	size_t kept = 0;
	int r = drop ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < s->list.n; i++) {
		for (size_t j = i + 1; r == 0 && j < s->list.n && !drop[i]; j++) {
			struct suspect_version *a = &s->list.v[i], *b = &s->list.v[j];

			if (!drop[j] && a->bucket == b->bucket && a->package != b->package && a->failing == b->failing && !(a->is_service && b->is_service))
				r = tell_apart(f, a, b, &drop[i], &drop[j]);
		}
	}
	for (size_t i = 0; r == 0 && i < s->list.n; i++) {
		if (drop[i]) {
			free(s->list.v[i].label);
			free(s->list.v[i].together);
		} else {
			s->list.v[kept++] = s->list.v[i];
		}
	}
	if (r == 0)
		s->list.n = s->slower = (unsigned)kept;
	return r;
}

int suspects_find(const struct forest *f, const struct bucket_choice *choice, struct suspects *ret)
{
	int r = 0;

	*ret = (struct suspects){};
	for (uint32_t i = 0; r == 0 && i < f->buckets.n; i++)
		if (bucket_is_chosen(choice, f, &f->buckets.v[i]))
			r = compare_bucket(f, i, ret);
	if (r == 0)
		r = keep_worse(f, ret);
	if (r == 0)
		r = keep_apart(f, ret);
	if (r < 0)
		suspects_free(ret);
	return r;
}

void suspects_translate(struct suspects *s, const struct names *from, struct names *to)
{
	for (size_t i = 0; i < s->list.n; i++) {
		struct suspect_version *x = &s->list.v[i];
		const char *package = names_get(from, x->package), *version = names_get(from, x->version);

		x->package = names_text(to, package, strlen(package));
		x->version = names_text(to, version, strlen(version));
	}
}
