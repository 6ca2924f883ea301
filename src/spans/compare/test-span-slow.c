/* Requests that are slow for their kind: counted by hand, not hidden by another kind, none where only the mix of kinds changed. */
#include "spans/compare/span-slow.h"

#include <math.h>
#include <string.h>

#include "lib/data/clock.h"
#include "lib/data/test.h"
#include "lib/stat/welch.h"
#include "spans/compare/span-pool.h"

#define MS 1000000.

static uint32_t text(struct names *names, const char *word)
{
	return names_text(names, word, strlen(word));
}

/* Duration of the i-th of n requests of a side, ms; *ret_tier may be changed from "small". */
typedef double took(unsigned i, unsigned n, const char **ret_tier);

static struct forest_group *add_side(struct forest *f, const char *version, unsigned n, took *of)
{
	const uint32_t none[FOREST_DIMENSIONS] = {};
	struct attribute one = {text(f->names, "api"), text(f->names, version)};
	struct forest_group *g = forest_group(f, forest_bucket(f, none, text(f->names, "api GET")), names_set(f->names, 0, &one, 1));

	for (unsigned i = 0; i < n; i++) {
		const char *tier = "small";
		double ms = of(i, n, &tier);
		struct attribute attribute = {text(f->names, "tier"), text(f->names, tier)};
		struct sampled_request r = {.high = text(f->names, version), .low = i * 0x9e3779b97f4a7c15ull, .duration = (int64_t)(ms * MS), .weight = SPAN_WEIGHT_ONE,
					    .set = names_set(f->names, 0, &attribute, 1)};

		assert_int_equal(forest_keep_request(f, g, &r), 0);
	}
	return g;
}

#define REQUESTS 2000

/* Requests one after another whose load wanders by `load`, 500 of them a turn. */
static double drift_of(double load)
{
	struct names *names = names_new();
	struct span_pair pair;
	struct forest f;
	struct span_slow slow;

	assert_int_equal(forest_init(&f, names, NS_PER_SEC), 0);
	for (unsigned i = 0; i < 2 * REQUESTS; i++) {
		const uint32_t none[FOREST_DIMENSIONS] = {};
		struct attribute version = {text(names, "api"), text(names, i < REQUESTS ? "1" : "2")};
		struct forest_group *g = forest_group(&f, forest_bucket(&f, none, text(names, "api GET")), names_set(names, 0, &version, 1));
		double ms = 10 * (1 + (i * 7919 % 1000) / 1000.) * (1 + load * sin(i * M_PI / 250));
		struct sampled_request r = {.low = i * 0x9e3779b97f4a7c15ull, .start = i * NS_PER_SEC, .duration = (int64_t)(ms * MS), .weight = SPAN_WEIGHT_ONE};

		assert_int_equal(forest_keep_request(&f, g, &r), 0);
	}
	assert_int_equal(forest_finish(&f), 0);
	pair = (struct span_pair){&f.buckets.v[0].groups.v[0], &f.buckets.v[0].groups.v[1]};
	assert_int_equal(span_slow_find(&f, &pair, 1, NULL, 0, .05, &slow), 0);
	forest_free(&f);
	names_free(names);
	return slow.drift;
}

static void load_that_wanders_makes_means_less_sure(void **state)
{
	assert_true(drift_of(0) < 1.5);
	assert_true(drift_of(.2) > 10);
}

static struct span_slow compare(unsigned n_before, took *before, unsigned n_after, took *after)
{
	struct names *names = names_new();
	struct span_pair pair;
	struct forest f;
	struct span_slow slow;

	assert_int_equal(forest_init(&f, names, NS_PER_SEC), 0);
	add_side(&f, "1", n_before, before);
	add_side(&f, "2", n_after, after);
	assert_int_equal(forest_finish(&f), 0);
	pair = (struct span_pair){&f.buckets.v[0].groups.v[0], &f.buckets.v[0].groups.v[1]};
	assert_int_equal(span_slow_find(&f, &pair, 1, NULL, 0, .05, &slow), 0);
	forest_free(&f);
	names_free(names);
	return slow;
}

/* 10 ms, one in five is of another kind and takes ten times that. */
static double calm(unsigned i, unsigned n, const char **ret_tier)
{
	(void)n;
	*ret_tier = i % 5 ? "small" : "large";
	return i % 5 ? 10 : 100;
}

static double mostly_large(unsigned i, unsigned n, const char **ret_tier)
{
	return calm(i % 2 ? i : 0, n, ret_tier);
}

/* One small one in twenty takes three times as long: far less than a large one. */
static double some_slow(unsigned i, unsigned n, const char **ret_tier)
{
	return calm(i, n, ret_tier) * (i % 20 == 1 ? 3 : 1);
}

static double barely_slower(unsigned i, unsigned n, const char **ret_tier)
{
	return calm(i, n, ret_tier) * 1.04;
}

/* Durations vary; one request in ten takes twice as long. */
static double varied(unsigned i, unsigned n, const char **ret_tier)
{
	return calm(i, n, ret_tier) * (1 + (i * 7919 % 1000) / 1000.);
}

static double some_twice(unsigned i, unsigned n, const char **ret_tier)
{
	return varied(i, n, ret_tier) * (i % 10 == 1 ? 2 : 1);
}

static void the_mean_within_kinds_rises_by_what_some_take(void **state)
{
	struct span_slow s = compare(4000, varied, 1000, some_twice);

	assert_true(s.n_keys == 1 && fabs(s.shift - .1) < .03 && s.shift > 5 * s.shift_error);
	s = compare(4000, varied, 1000, varied);
	assert_true(fabs(s.shift) < 2 * s.shift_error && s.shift_error < .02);
}

static void what_other_kinds_hide_is_told(void **state)
{
	struct span_slow s = compare(2000, calm, 400, some_slow);
	const struct span_slow_share *worst = span_slow_worst(&s);

	assert_non_null(worst);
	assert_true(s.requests == 400 && worst->after == 20 && worst->usual == 0 && worst->all == 20);
	/* each of the twenty is the candidate's with the chance 400/2400 of small ones' 320/1920: 6^-20, of five quantiles */
	assert_true(fabs(log(s.p) - (log(5) - 20 * log(6))) < 1e-6);
	assert_true(worst->times > .9 && worst->times < 3);
}

static void another_mix_of_kinds_is_no_rise(void **state)
{
	struct span_slow s = compare(1000, calm, 1000, mostly_large);

	assert_null(span_slow_worst(&s));
	assert_true(s.p == 1);
}

static void what_is_tolerated_is_no_rise(void **state)
{
	struct span_slow s = compare(1000, calm, 1000, barely_slower);

	assert_null(span_slow_worst(&s));
}

#define BUCKETS 40
#define OF_EACH 8

/* Buckets of eight requests a side, a quarter of which are large before and three quarters after; large ones take four times as long. */
static struct span_slow compare_small(bool together, double slower)
{
	struct names *names = names_new();
	struct span_pair pairs[BUCKETS];
	struct forest f;
	struct span_slow slow;
	unsigned id = 0;

	assert_int_equal(forest_init(&f, names, NS_PER_SEC), 0);
	for (unsigned b = 0; b < BUCKETS; b++)
		for (unsigned i = 0; i < 2 * OF_EACH; i++) {
			const uint32_t values[FOREST_DIMENSIONS] = {together ? 0 : b + 1};
			bool after = i >= OF_EACH, large = i % 4 < (after ? 3 : 1);
			struct attribute version = {text(names, "api"), text(names, after ? "2" : "1")};
			struct attribute tier = {text(names, "tier"), text(names, large ? "large" : "small")};
			struct forest_group *g =
				forest_group(&f, forest_bucket(&f, values, text(names, "api GET")), names_set(names, 0, &version, 1));
			double ms = (large ? 40 : 10) * (1 + (++id * 7919 % 1000) / 1000.) * (after ? slower : 1);
			struct sampled_request r = {.low = id * 0x9e3779b97f4a7c15ull, .duration = (int64_t)(ms * MS), .weight = SPAN_WEIGHT_ONE,
						    .set = names_set(names, 0, &tier, 1)};

			assert_int_equal(forest_keep_request(&f, g, &r), 0);
		}
	assert_int_equal(forest_finish(&f), 0);
	for (size_t b = 0; b < f.buckets.n; b++) {
		const struct forest_group *g = f.buckets.v[b].groups.v;
		bool first = !strcmp(names_get(names, names_get_set(names, g[0].versions)->v[0].value), "1");

		pairs[b] = (struct span_pair){&g[!first], &g[first]};
	}
	assert_int_equal(span_slow_find(&f, pairs, f.buckets.n, NULL, 0, .05, &slow), 0);
	forest_free(&f);
	names_free(names);
	return slow;
}

/* None of them tells by itself that tiers differ. */
static void small_buckets_are_divided_as_all_of_them(void **state)
{
	for (int together = 0; together < 2; together++) {
		struct span_slow same = compare_small(together, 1), slower = compare_small(together, 1.3);

		assert_true(same.n_keys == 1 && fabs(same.shift) < 3 * same.shift_error && same.p == 1);
		assert_true(slower.n_keys == 1 && fabs(slower.shift - .3) < .12 && slower.shift > 4 * slower.shift_error);
	}
}

static void of_nothing_nothing_is_told(void **state)
{
	struct span_slow s = compare(3, calm, 1, calm);

	assert_null(span_slow_worst(&s));
}

/* A pool and the others, whose load wanders, as inverse variances make all of them of both. */
static double p_next_to_others(double own, double others, bool all_slower)
{
	const double error = .03, drift = 4, of_all = 1 + 2 * (drift - 1); /* the same load, of twice as many requests */
	struct span_slow pool = {.shift = own, .shift_error = error * sqrt(drift), .shift_freedom = 1000, .drift = drift};
	struct span_change c = {.all_slower = all_slower, .all.for_kind = {.shift = (own + others) / 2, .shift_error = error * sqrt(.5 * of_all),
									   .shift_freedom = 2000, .drift = of_all}};
	double shift;

	return span_pool_shift_p(&c, &pool, &shift);
}

static void others_of_the_same_time_show_what_load_that_wanders_does(void **state)
{
	double alone = p_next_to_others(.2, 0, true);

	assert_true(fabs(alone - welch_student_p(.2 / .06, 1000)) < 1e-9);
	assert_true(p_next_to_others(.2, 0, false) < alone / 10); /* the others are as before: it is not the load */
	assert_true(p_next_to_others(.2, .2, false) > alone);	  /* all rose by as much: it may be */
	assert_true(fabs(p_next_to_others(.2, .2, true) - alone) < 1e-9); /* ... unless that is sure by itself */
}

static void a_rise_is_no_surer_by_a_fall(void **state)
{
	assert_true(span_pool_two_ways(1, .01, 1, 1e-6) < 2e-6);
	assert_true(span_pool_two_ways(1, .01, -1, 1e-6) > .009);
}

RUN_TESTS(cmocka_unit_test(load_that_wanders_makes_means_less_sure), cmocka_unit_test(the_mean_within_kinds_rises_by_what_some_take), cmocka_unit_test(what_other_kinds_hide_is_told), cmocka_unit_test(another_mix_of_kinds_is_no_rise), cmocka_unit_test(what_is_tolerated_is_no_rise),
	  cmocka_unit_test(small_buckets_are_divided_as_all_of_them), cmocka_unit_test(of_nothing_nothing_is_told), cmocka_unit_test(others_of_the_same_time_show_what_load_that_wanders_does),
	  cmocka_unit_test(a_rise_is_no_surer_by_a_fall))
