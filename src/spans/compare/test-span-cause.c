/* Which requests became slower: reported by attributes, by none of them, and not by chance. */
#include "lib/data/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "spans/compare/span-cause.h"
#include "spans/compare/span-change.h"

#define MEAN 50e6 /* ns */

static const char *const keys[] = {"region", "tier", "cache", "zone"}; /* zone is region by another name */
static const char *const values[][4] = {{"eu", "us", "asia", "africa"}, {"gold", "silver", "bronze", "free"}, {"hit", "miss"},
					{"e", "u", "a", "f"}};

/* How many times as long a kind of request takes on the candidate's side. */
typedef double slowdown(unsigned region, unsigned tier, unsigned cache);

static uint32_t text(struct names *names, const char *word)
{
	return names_text(names, word, strlen(word));
}

static uint32_t kind_set(struct names *names, unsigned region, unsigned tier, unsigned cache)
{
	const unsigned which[] = {region, tier, cache, region};
	struct attribute v[4];

	for (unsigned k = 0; k < 4; k++)
		v[k] = (struct attribute){text(names, keys[k]), text(names, values[k][which[k]])};
	return names_set(names, text(names, "api"), v, 4);
}

/* Exponential about what the kind normally takes. */
static uint64_t draw(double mean)
{
	return (uint64_t)(-mean * log((rand() % 100000 + 1) / 100001.));
}

static void add_kind(struct forest *f, struct forest_group *g, uint32_t set, double mean, unsigned n, uint64_t weight)
{
	struct leaf *leaf = forest_leaf(f, g, set);

	assert_non_null(leaf);
	for (unsigned i = 0; i < n; i++) {
		uint64_t lasts = draw(mean);

		moments_add(&leaf->total, lasts, weight);
		moments_add(&g->total, lasts, weight);
		assert_int_equal(sketch_add(g->sketch, lasts, weight), 0);
	}
}

static void add_side(struct forest *f, const char *version, slowdown *slow, unsigned n, uint64_t weight)
{
	const uint32_t none[FOREST_DIMENSIONS] = {};
	struct attribute one = {text(f->names, "api"), text(f->names, version)};
	struct forest_group *g = forest_group(f, forest_bucket(f, none, text(f->names, "api GET")), names_set(f->names, 0, &one, 1));

	for (unsigned region = 0; region < 4; region++)
		for (unsigned tier = 0; tier < 4; tier++)
			for (unsigned cache = 0; cache < 2; cache++)
				add_kind(f, g, kind_set(f->names, region, tier, cache),
					 MEAN * (1 + cache / 2.) * (tier == 3 ? 1.2 : 1) * slow(region, tier, cache), n, weight);
}

static enum span_side by_version(void *state, const struct bucket *b, const struct forest_group *g)
{
	char *versions = forest_set_text(state, g->versions);
	enum span_side side = strstr(versions, "=v2") ? SIDE_CANDIDATE : SIDE_BASELINE;

	(void)b;
	free(versions);
	return side;
}

static double as_before(unsigned region, unsigned tier, unsigned cache)
{
	(void)region;
	(void)tier;
	(void)cache;
	return 1;
}

static void find(slowdown *slow, unsigned n, uint64_t weight, struct span_causes *ret)
{
	struct names *names = names_new();
	struct forest f, sides;

	srand(5);
	assert_int_equal(forest_init(&f, names, 1), 0);
	assert_int_equal(forest_init(&sides, names, 1), 0);
	add_side(&f, "v1", as_before, n, weight);
	add_side(&f, "v2", slow, n, weight);
	assert_int_equal(span_sides_of(&f, by_version, names, &sides), 0);
	assert_int_equal(forest_finish(&sides), 0);
	assert_int_equal(span_causes_find(&sides, false, ret), 0);
	forest_free(&f);
	forest_free(&sides);
	names_free(names);
}

static double in_gold_europe(unsigned region, unsigned tier, unsigned cache)
{
	(void)cache;
	return region == 0 && tier == 0 ? 1.6 : 1;
}

static bool names_both(const char *where)
{
	return (strstr(where, "region = eu") || strstr(where, "zone = e")) && strstr(where, "tier = gold") && !strstr(where, "cache");
}

static void test_a_combination_is_found(void **state)
{
	struct span_causes c;

	find(in_gold_europe, 1000, SPAN_WEIGHT_ONE, &c);
	assert_int_equal(c.list.n, 1);
	assert_true(names_both(c.list.v[0].where));
	assert_true(fabs(c.list.v[0].mean / c.list.v[0].expected - 1.6) < .1);
	assert_true(c.explained > .8);
	span_causes_free(&c);
}

static void test_two_names_of_one_attribute_are_one(void **state)
{
	struct span_causes c;

	find(in_gold_europe, 300, SPAN_WEIGHT_ONE, &c);
	assert_int_equal(c.looked_at.n, 3);
	span_causes_free(&c);
}

static void test_what_only_one_side_has_explains_nothing_and_is_told(void **state)
{
	struct span_causes c;

	find(in_gold_europe, 300, SPAN_WEIGHT_ONE, &c);
	assert_int_equal(c.replaced.n, 1);
	assert_string_equal(c.replaced.v[0], "api version = v2 (v1 before)");
	span_causes_free(&c);
}

static double everywhere(unsigned region, unsigned tier, unsigned cache)
{
	return 1.3 * as_before(region, tier, cache);
}

static void test_what_hits_all_alike_has_no_attribute(void **state)
{
	struct span_causes c;

	find(everywhere, 1000, SPAN_WEIGHT_ONE, &c);
	assert_int_equal(c.list.n, 0);
	assert_true(c.alike);
	span_causes_free(&c);
}

/* A quarter of the kinds, which share nothing. */
static double here_and_there(unsigned region, unsigned tier, unsigned cache)
{
	return (region + tier + 2 * cache) % 4 == 0 ? 1.5 : 1;
}

static void test_kinds_that_share_nothing_have_no_cause_among_them(void **state)
{
	struct span_causes c;

	find(here_and_there, 1000, SPAN_WEIGHT_ONE, &c);
	assert_int_equal(c.list.n, 0);
	assert_false(c.alike);
	span_causes_free(&c);
}

/* The same numbers, but each request stands for a hundred: it is one all the same. */
static void test_sampled_requests_are_no_more_certain(void **state)
{
	struct span_causes whole, sampled;

	find(as_before, 40, SPAN_WEIGHT_ONE, &whole);
	find(as_before, 40, 100 * SPAN_WEIGHT_ONE, &sampled);
	assert_int_equal(whole.list.n, 0);
	assert_int_equal(sampled.list.n, 0);
	assert_true(fabs(whole.mean - sampled.mean) < 1);
	span_causes_free(&whole);
	span_causes_free(&sampled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_combination_is_found),
		cmocka_unit_test(test_two_names_of_one_attribute_are_one),
		cmocka_unit_test(test_what_only_one_side_has_explains_nothing_and_is_told),
		cmocka_unit_test(test_what_hits_all_alike_has_no_attribute),
		cmocka_unit_test(test_kinds_that_share_nothing_have_no_cause_among_them),
		cmocka_unit_test(test_sampled_requests_are_no_more_certain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
