#include "spans/compare/suspect.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/stat/change.h"
#include "lib/stat/rank.h"
#include "lib/stat/welch.h"
#include "spans/compare/span-own.h"
#include "spans/compare/span-pool.h"
#include "spans/compare/span-since.h"
#include "spans/compare/span-strata.h"

#define DAY	     (86400 * NS_PER_SEC)
#define FOLLOW_MOST  64 /* windows in which times and versions are looked at together */
#define MOMENT_SHARE .1 /* of the bucket's time: moments that are no further apart may be one */
#define FOLLOW_LEAST 10 /* requests of one, on average */
#define TIMES_MOVE    .01 /* of the means: what less than that is of the times is left alone */
#define TIME_SHARE    .02 /* of the bucket's time: what is closer came together */
#define TIME_REQUESTS 5

static void free_texts(struct suspect_version *s)
{
	FREE_ALL(s->label, s->only_where, s->together, s->call.label, s->silent.label);
}

void suspects_free(struct suspects *s)
{
	VEC_FREE_EACH(s->list, free_texts(each));
	VEC_FREE_EACH(s->silent, free_texts(each));
	*s = (struct suspects){};
}

static bool is_mix(const struct forest *f, uint32_t version)
{
	return strstr(names_get(f->names, version), VERSION_MIX);
}

static bool is_service(const struct forest *f, uint32_t package)
{
	return ANY_WHERE(v, f->vertices.n, f->vertices.v[v].service == package);
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

bool suspect_at_same_times(const struct forest *f, const struct suspect_version *s, const struct strata *strata, uint32_t vertex, double least,
			   struct suspect_times *ret)
{
	const struct bucket *b = &f->buckets.v[s->bucket];
	double counts[2][STRATA_MOST] = {}, sums[2][STRATA_MOST] = {}, squares = 0;

	for (size_t j = 0; j < b->groups.n && strata->n > 1; j++) {
		enum span_side side = suspect_side(f, s, &b->groups.v[j]);

		if (side != SIDE_NONE)
			strata_add(strata, &b->groups.v[j], vertex, counts[side == SIDE_CANDIDATE], sums[side == SIDE_CANDIDATE]);
	}
	*ret = (struct suspect_times){.share = strata->n > 1 ? strata_shared(strata, counts[1], counts[0]) : 0};
	if (ret->share < least || !(ret->share > 0))
		return false;
	for (size_t h = 0; h < strata->n; h++) {
		if (counts[0][h] < STRATUM_LEAST)
			continue;
		ret->n += counts[1][h];
		squares += counts[1][h] * counts[1][h] / counts[0][h];
		ret->others += counts[1][h] * sums[0][h] / counts[0][h];
		ret->mean += sums[1][h];
	}
	ret->others /= ret->n;
	ret->mean /= ret->n;
	ret->n_others = ret->n * ret->n / squares;
	return true;
}

static void take_times_out(const struct forest *f, const struct bucket *b, const struct moments sums[2], struct suspect_version *s)
{
	struct sample_moments before, after;
	struct suspect_times at;
	double df, t;
	int way = 0;

	for (; way < STRATA_WAYS; way++) {
		const struct strata strata = strata_by(b, way);

		if (suspect_at_same_times(f, s, &strata, NO_VERTEX, STRATA_SHARED, &at) && at.share * s->requests >= SPAN_LEAST)
			break;
	}
	s->at_other_times = way == STRATA_WAYS || way == STRATA_BY_HOURS;
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

/* Is the first of two times of [first, last] sure to lie before the other? Requests come by chance. */
static bool well_before(int64_t a, int64_t b, double all, double requests)
{
	return (double)(b - a) > all * fmax(TIME_SHARE, TIME_REQUESTS / fmax(requests, 1));
}

static bool was_replaced(const struct forest *f, const struct bucket *b, const struct suspect_version *s, double requests, double others)
{
	int64_t first[2] = {INT64_MAX, INT64_MAX}, last[2] = {INT64_MIN, INT64_MIN};
	double all;

	VEC_EACH(g, b->groups) {
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
static void judge_own(const struct own_calls *calls, struct suspect_version *s)
{
	struct own_time own;

	if (!s->is_service)
		return;
	own_time_find(calls, s, &own);
	if (s->at_other_times)
		s->rise_of_others = span_own_rise_of_others(calls, s);
	s->call = own.call;
	s->silent = own.silent;
	s->p_silent = own.p_silent;
	s->own_mean = own.mean + own.structure;
	s->own_others = own.others;
	if (own.structure < SPAN_TOLERANCE * s->others || s->mean < s->others)
		s->p = own.p;
	else
		s->p = fmin(1, 2 * fmin(s->p, own.p));
	/* one call may be surer than all of them together, some of which vary much */
	if (own.p_call < s->p) {
		s->call = own.surest;
		s->by_call = true;
	}
	s->p = fmin(1, 2 * fmin(s->p, own.p_call));
}

/* If requests fail since some moment, is it about this one? What is not known of the requests is not known of the moment. */
static bool failed_since(const struct bucket *b, int64_t moment)
{
	int64_t first, last, width;
	struct span_since since;

	if (!strata_times(b, &first, &last, &width) || !span_since_find_failures(b, SINCE_LEVEL, &since))
		return true;
	return llabs(since.since - moment) <= (int64_t)((double)(last - first) * MOMENT_SHARE);
}

static void judge_failures(const struct own_calls *calls, struct suspect_version *s)
{
	struct own_failures own;

	own_failures_find(calls, s, &own);
	s->fails = own.share;
	s->fails_others = own.others;
	s->p_fails = own.p;
	if (own.at_other_times && own.p <= SPAN_Q && !failed_since(&calls->f->buckets.v[s->bucket], own.first))
		s->p_fails = 1;
}

/* --- versions that ran at other times than the rest --- */

/* A bucket's time in windows: what its requests took, and what share of them ran the version. */
struct following {
	struct window windows[FOLLOW_MOST];
	double share[FOLLOW_MOST];
	int64_t first, width;
	size_t n;
};

/* Its own time of the requests in a slot, ns, in all its calls or in one; all of it where the package is not a service, or calls one after another. */
static double time_of_slot(const struct own_calls *calls, const struct suspect_version *s, uint32_t call, const struct slot *slot)
{
	wide sum = 0;

	if (!s->is_service || (call == NO_VERTEX && s->call.reason == REASON_SEQUENTIAL))
		return moments_count(&slot->total) * moments_mean(&slot->total);
	for (size_t i = 0; i < slot->cells.n; i++) {
		uint32_t v = slot->cells.v[i].vertex;

		if (call == NO_VERTEX ? calls->owners[v] == s->package : v == call)
			sum += slot->cells.v[i].self;
	}
	return (double)((long double)sum / SPAN_WEIGHT_ONE);
}

/* Requests that one window has on average; one varies by this much. */
static void choose_windows(const struct bucket *b, struct following *w)
{
	int64_t first, last, width, step, slots;
	double requests = 0;

	w->n = 0;
	if (!strata_times(b, &first, &last, &width))
		return;
	for (size_t i = 0; i < b->groups.n; i++)
		requests += moments_effective(&b->groups.v[i].total);
	slots = (last - first + width - 1) / width;
	step = (int64_t)ceil((double)slots / fmax(fmin(requests / FOLLOW_LEAST, FOLLOW_MOST), 1));
	w->first = first;
	w->width = width * step;
	w->n = (size_t)((slots + step - 1) / step);
}

/* The sampled requests that spend more in a call than a multiple of its median. */
static void fill_with_some(const struct own_calls *calls, const struct suspect_version *s, const struct suspect_call *call, struct following *w)
{
	const struct bucket *b = &calls->f->buckets.v[s->bucket];
	uint32_t text = own_call_text(calls->f, call->vertex);

	for (size_t j = 0; j < b->groups.n; j++)
		VEC_EACH(r, b->groups.v[j].requests) {
			size_t at = (size_t)((r->start - w->first) / w->width);
			bool some = false;

			for (size_t k = 0; k < r->marks.n && !r->marks.v[k].key; k++)
				some |= r->marks.v[k].call == text && (double)r->marks.v[k].path > call->beyond;
			if (r->start < w->first || at >= w->n)
				continue; /* of a damaged store */
			w->windows[at].count++;
			w->windows[at].mean += some;
			w->share[at] += suspect_side(calls->f, s, &b->groups.v[j]) == SIDE_CANDIDATE;
		}
}

static void fill_windows(const struct own_calls *calls, const struct suspect_version *s, uint32_t call, struct following *w)
{
	const struct bucket *b = &calls->f->buckets.v[s->bucket];

	for (size_t j = 0; j < b->groups.n; j++)
		VEC_EACH(slot, b->groups.v[j].slots) {
			size_t at = (size_t)((slot->start - w->first) / w->width);

			if (!slot->total.count || at >= w->n)
				continue;
			w->windows[at].count += moments_count(&slot->total);
			w->windows[at].mean += time_of_slot(calls, s, call, slot);
			if (suspect_side(calls->f, s, &b->groups.v[j]) == SIDE_CANDIDATE)
				w->share[at] += moments_count(&slot->total);
		}
}

/* The variance of one request, by how far neighboring windows differ: those in which nothing happened do not vary less. */
static void spread_of_windows(struct following *w)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i + 1 < w->n; i++) {
		const struct window *x = &w->windows[i], *y = &w->windows[i + 1];

		if (!(x->count > 0) || !(y->count > 0))
			continue;
		sum += (x->mean - y->mean) * (x->mean - y->mean) / (1 / x->count + 1 / y->count);
		n++;
	}
	for (size_t i = 0; i < w->n; i++)
		w->windows[i].variance = sum / fmax(n, 1);
}

/* A version that ran at other times may only have been there when times were slow: did they become so with it, and at no other moment? By one call, or
 * (NULL) by all that it does. Where the call takes longer in the few requests that ran while others did, too, no moment is needed. */
static bool began_with_it(const struct own_calls *calls, const struct suspect_version *s, const struct suspect_call *call)
{
	struct following w = {};

	if (!s->at_other_times || span_own_rose_at_same_times(calls, s, call ? call : &s->call))
		return true;
	choose_windows(&calls->f->buckets.v[s->bucket], &w);
	if (!w.n)
		return true;
	if (call && call->reason == REASON_SOME)
		fill_with_some(calls, s, call, &w);
	else
		fill_windows(calls, s, call ? call->vertex : NO_VERTEX, &w);
	for (size_t i = 0; i < w.n; i++) {
		w.windows[i].mean /= fmax(w.windows[i].count, 1);
		w.share[i] /= fmax(w.windows[i].count, 1);
	}
	spread_of_windows(&w);
	return change_follows(w.windows, w.share, w.n, (double)DAY / (double)w.width, SPAN_Q);
}

/* 1 = compared, 0 = too few, -ENOMEM. */
static int compare(const struct own_calls *calls, struct suspect_version *s)
{
	const struct forest *f = calls->f;
	const struct bucket *b = &f->buckets.v[s->bucket];
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
		judge_own(calls, s);
		judge_failures(calls, s);
		r = 1;
	}
	sketch_free(sketches[0]);
	sketch_free(sketches[1]);
	return r;
}

static bool is_worse_in(const struct suspects *s, uint32_t bucket, uint32_t package, uint32_t version)
{
	return ANY_WHERE(i, s->list.n, s->list.v[i].bucket == bucket && s->list.v[i].package == package && s->list.v[i].version == version);
}

static int compare_bucket(struct own_calls *calls, uint32_t index, struct suspects *ret)
{
	const struct forest *f = calls->f;
	const struct bucket *b = &f->buckets.v[index];
	bool any = false;

	if (own_calls_of_bucket(calls, b) < 0)
		return -ENOMEM;
	for (size_t j = 0; j < b->groups.n; j++) {
		const struct attribute_set *set = names_get_set(f->names, b->groups.v[j].versions);

		for (uint32_t i = 0; i < set->n; i++) {
			struct suspect_version s = {.bucket = index, .package = set->v[i].key, .version = set->v[i].value, .p_silent = 1,
						    .call = {.vertex = NO_VERTEX}, .silent = {.vertex = NO_VERTEX}};
			int r;

			s.is_service = is_service(f, s.package);
			if ((s.is_service && is_mix(f, s.version)) || is_worse_in(ret, index, s.package, s.version))
				continue;
			r = compare(calls, &s);
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
static double cost_of(const struct suspect_version *s)
{
	return (s->failing ? s->fails - s->fails_others : excess_of(s)) * s->requests;
}

ORDER(by_cost, struct suspect_version, DESCENDING(failing) ?: CMP(cost_of(b), cost_of(a)))

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
	if (s->by_call)
		return true; /* it adds enough by itself */
	if (s->is_service)
		return s->own_mean >= (1 + SPAN_TOLERANCE) * s->own_others && s->own_mean - s->own_others >= OWN_DELAYS * s->others;
	return s->mean >= (1 + SPAN_TOLERANCE) * s->others && (s->superiority >= .5 || s->levelled);
}

/* Time, failures and single calls have a q each. */
static int find_q(struct suspects *s)
{
	size_t n = s->list.n;
	_cleanup_free_ double *p = calloc(3 * n + 1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		p[i] = s->list.v[i].p;
		p[n + i] = s->list.v[i].p_fails;
		p[2 * n + i] = s->list.v[i].p_silent;
	}
	if (rank_benjamini_hochberg(p, n) < 0 || rank_benjamini_hochberg(p + n, n) < 0 || rank_benjamini_hochberg(p + 2 * n, n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		s->list.v[i].q = p[i];
		s->list.v[i].q_fails = p[n + i];
		s->list.v[i].q_silent = p[2 * n + i];
	}
	return 0;
}

/* "GET /cart" of the package's own, or "SELECT orders of postgresql"; NULL: none. */
static char *call_label(const struct forest *f, uint32_t package, uint32_t vertex)
{
	const struct vertex *v = vertex == NO_VERTEX ? NULL : &f->vertices.v[vertex];
	char *text;

	if (!v)
		return NULL;
	if (v->kind == VERTEX_CALL && v->service == package)
		return strdup(names_get(f->names, v->operation));
	return asprintf(&text, "%s of %s", names_get(f->names, v->operation), names_get(f->names, v->service)) < 0 ? NULL : text;
}

static void label(const struct forest *f, struct suspect_version *s)
{
	s->label = label_of(f, &f->buckets.v[s->bucket]);
	s->call.label = call_label(f, s->package, s->call.vertex);
	s->silent.label = call_label(f, s->package, s->silent.vertex);
}

ORDER(by_silent, struct suspect_version, ASCENDING(p_silent) ?: DESCENDING(silent.gain))

static bool names_version(const struct suspect_version *list, size_t n, const struct suspect_version *s)
{
	return ANY_WHERE(i, n, list[i].package == s->package && list[i].version == s->version);
}

/* Each version once, and none that delays requests elsewhere. */
static void settle_silent(const struct forest *f, struct suspects *s)
{
	size_t kept = 0;

	VEC_SORT(s->silent, by_silent);
	for (size_t i = 0; i < s->silent.n; i++) {
		struct suspect_version one = s->silent.v[i];

		if (names_version(s->list.v, s->list.n, &one) || names_version(s->silent.v, kept, &one))
			continue;
		label(f, &one);
		s->silent.v[kept++] = one;
	}
	s->silent.n = kept;
}

#define OTHERS_ROSE .5 /* of its own rise: so much is then also that of packages that have nothing to do with it */

/* A version that ran at other times, when all calls of all packages took longer: `call` by itself, or (NULL) all that it does. */
static bool rose_with_others(const struct suspect_version *s, const struct suspect_call *call)
{
	bool slower = call && call->reason == REASON_SLOWER && call->each_others > 0;
	double own = slower ? call->each / call->each_others : s->own_others > 0 ? s->own_mean / s->own_others : 0;

	return s->is_service && s->at_other_times && !(call && !slower) && own > 1 && s->rise_of_others - 1 >= OTHERS_ROSE * (own - 1);
}

static int keep_worse(const struct own_calls *calls, struct suspects *s)
{
	const struct forest *f = calls->f;
	size_t kept = 0;

	if (find_q(s) < 0)
		return -ENOMEM;
	s->compared = (unsigned)s->list.n;
	for (size_t i = 0; i < s->compared; i++) {
		struct suspect_version one = s->list.v[i];

		one.slower = one.q <= SPAN_Q && is_slower(&one) && !rose_with_others(&one, one.by_call ? &one.call : NULL) &&
			     began_with_it(calls, &one, one.by_call ? &one.call : NULL);
		one.failing = one.q_fails <= SPAN_Q && span_pool_is_much_more(one.fails_others, one.fails, POOL_LEAST);
		if (!one.slower && !one.failing && (one.q_silent > SPAN_Q || rose_with_others(&one, &one.silent) || !began_with_it(calls, &one, &one.silent)))
			continue;
		if (one.replaced) {
			s->replaced++;
		} else if (one.slower || one.failing) {
			label(f, &one);
			s->list.v[kept++] = one;
		} else if (VEC_PUSH(s->silent, one) < 0) {
			s->list.n = kept;
			s->silent.n = 0;
			return -ENOMEM;
		}
	}
	s->list.n = kept;
	s->slower = (unsigned)kept;
	if (kept)
		qsort(s->list.v, kept, sizeof(*s->list.v), by_cost);
	settle_silent(f, s);
	return 0;
}

/* --- where it is worse --- */

static double requests_in(const struct forest *f, const struct suspect_version *one, uint32_t bucket)
{
	struct suspect_version there = *one;
	double n = 0;

	there.bucket = bucket;
	VEC_EACH(g, f->buckets.v[bucket].groups)
		if (suspect_side(f, &there, g) == SIDE_CANDIDATE)
			n += moments_effective(&g->total);
	return n;
}

/* Do all buckets in which it is worse have the value that the suspect's has, and does another one that it ran in have none of it? */
static bool tells_where(const struct forest *f, const struct bucket_choice *choice, const struct suspects *s, const struct suspect_version *one, uint32_t d)
{
	uint32_t value = f->buckets.v[one->bucket].values[d];
	bool elsewhere = false;

	for (uint32_t i = 0; value && i < f->buckets.n; i++) {
		bool same = f->buckets.v[i].values[d] == value;

		if (!bucket_is_chosen(choice, f, &f->buckets.v[i]) || same)
			continue;
		if (is_worse_in(s, i, one->package, one->version))
			return false;
		elsewhere = elsewhere || requests_in(f, one, i) >= SPAN_LEAST;
	}
	return elsewhere;
}

static int find_where(const struct forest *f, const struct bucket_choice *choice, struct suspects *s)
{
	VEC_EACH(one, s->list) {
		struct str text = {};

		for (uint32_t d = 0; d < f->n_dimensions; d++)
			if (tells_where(f, choice, s, one, d))
				str_printf(&text, "%s%s=%s", text.len ? ", " : "", names_get(f->names, f->dimensions[d]),
					   names_get(f->names, f->buckets.v[one->bucket].values[d]));
		if (text.error)
			return -ENOMEM;
		one->only_where = text.data;
	}
	return 0;
}

enum outcome { IS_FEW, IS_WORSE, IS_NOT };

static double rise_of(const struct suspect_version *s)
{
	return s->is_service ? s->own_mean / s->own_others - 1 : s->mean / s->others - 1;
}

/* How `s` does in requests that do not run `other`. */
static int outcome_without(struct own_calls *calls, const struct suspect_version *s, const struct suspect_version *other, enum outcome *ret)
{
	struct suspect_version alone = {.bucket = s->bucket, .package = s->package, .version = s->version, .is_service = s->is_service, .without = other};
	int r = own_calls_of_bucket(calls, &calls->f->buckets.v[s->bucket]);

	if (r < 0)
		return r;
	r = compare(calls, &alone);
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

/* Finds which of two that ran together is slow without the other. If neither is, or it is not known, the service is reported with the
 * other one, or the first with the second. */
static int tell_apart(struct own_calls *calls, struct suspect_version *a, struct suspect_version *b, bool *ret_drop_a, bool *ret_drop_b)
{
	enum outcome a_alone, b_alone;
	int r = outcome_without(calls, a, b, &a_alone);

	r = r ?: outcome_without(calls, b, a, &b_alone);
	if (r < 0 || (a_alone == IS_WORSE && b_alone == IS_WORSE))
		return r;
	*ret_drop_a = b_alone == IS_WORSE || (a_alone != IS_WORSE && b->is_service);
	*ret_drop_b = !*ret_drop_a;
	if (a_alone == IS_WORSE || b_alone == IS_WORSE)
		return 0;
	return *ret_drop_a ? add_together(calls->f, b, a) : add_together(calls->f, a, b);
}

/* Services are distinguished by their own time; other packages by requests that ran without the other. */
static int keep_apart(struct own_calls *calls, struct suspects *s)
{
	_cleanup_free_ bool *drop = calloc(s->list.n + 1, sizeof(*drop));
	size_t kept = 0;
	int r = drop ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < s->list.n; i++) {
		for (size_t j = i + 1; r == 0 && j < s->list.n && !drop[i]; j++) {
			struct suspect_version *a = &s->list.v[i], *b = &s->list.v[j];

			if (!drop[j] && a->bucket == b->bucket && a->package != b->package && a->failing == b->failing && !(a->is_service && b->is_service))
				r = tell_apart(calls, a, b, &drop[i], &drop[j]);
		}
	}
	for (size_t i = 0; r == 0 && i < s->list.n; i++) {
		if (drop[i]) {
			free_texts(&s->list.v[i]);
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
	struct own_calls calls;
	int r = own_calls_init(f, &calls);

	*ret = (struct suspects){};
	for (uint32_t i = 0; r == 0 && i < f->buckets.n; i++)
		if (bucket_is_chosen(choice, f, &f->buckets.v[i]))
			r = compare_bucket(&calls, i, ret);
	r = r ?: keep_worse(&calls, ret);
	r = r ?: keep_apart(&calls, ret);
	r = r ?: find_where(f, choice, ret);
	own_calls_free(&calls);
	if (r < 0)
		suspects_free(ret);
	return r;
}

static void translate(struct suspect_version *list, size_t n, const struct names *from, struct names *to)
{
	for (size_t i = 0; i < n; i++) {
		const char *package = names_get(from, list[i].package), *version = names_get(from, list[i].version);

		list[i].package = names_text(to, package, strlen(package));
		list[i].version = names_text(to, version, strlen(version));
	}
}

void suspects_translate(struct suspects *s, const struct names *from, struct names *to)
{
	translate(s->list.v, s->list.n, from, to);
	translate(s->silent.v, s->silent.n, from, to);
}
