#include "spans/attribute/attributes.h"

#include <errno.h>
#include <math.h>

#include "lib/data/test.h"

/* Three attributes of 6, 5 and 4 values. */
enum { A = 6, B = 5, C = 4, LEAVES = A * B * C };

struct world {
	uint32_t codes[LEAVES * 3];
	double observed[LEAVES], expected[LEAVES], exposure[LEAVES];
	struct leaf_table table;
};

static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) * 0x1p-53;
}

static double normal(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform();
	return sum;
}

static void make(struct world *w, double noise)
{
	for (uint32_t i = 0; i < LEAVES; i++) {
		w->codes[3 * i] = i / (B * C);
		w->codes[3 * i + 1] = i / C % B;
		w->codes[3 * i + 2] = i % C;
		w->expected[i] = 50 + 100 * uniform();
		w->observed[i] = w->expected[i] * (1 + noise * normal());
	}
	w->table = (struct leaf_table){.n = LEAVES, .attributes = 3, .codes = w->codes, .observed = w->observed,
				       .expected = w->expected, .quiet = {NAN, NAN, 0}};
}

static void slow_down(struct world *w, uint32_t a, uint32_t b, uint32_t c, double by)
{
	for (size_t i = 0; i < LEAVES; i++) {
		const uint32_t *code = w->codes + 3 * i;

		if ((a == ATTRIBUTE_ANY || code[0] == a) && (b == ATTRIBUTE_ANY || code[1] == b) && (c == ATTRIBUTE_ANY || code[2] == c))
			w->observed[i] = w->expected[i] * by;
	}
}

static bool is(const struct element *e, uint32_t a, uint32_t b, uint32_t c)
{
	return e->value[0] == a && e->value[1] == b && e->value[2] == c && e->value[3] == ATTRIBUTE_ANY;
}

static void a_pair_of_values_is_found_and_no_coarser_or_finer_one(void **state)
{
	struct world w;
	struct attribute_findings f;

	seed = 1;
	make(&w, 0.05);
	slow_down(&w, 4, ATTRIBUTE_ANY, 2, 1.5);
	assert_int_equal(attributes_search(&w.table, &(struct attribute_options){}, &f), 0);
	assert_int_equal(f.elements.n, 1);
	assert_true(is(&f.elements.v[0], 4, ATTRIBUTE_ANY, 2));
	assert_int_equal(f.elements.v[0].leaves, B);
	assert_true(f.up && fabs(f.elements.v[0].shift - 1.0 / 3) < 0.02 && f.elements.v[0].moved > 0.9);
	attribute_findings_free(&f);
}

static void two_causes_that_fell_are_two_findings(void **state)
{
	struct world w;
	struct attribute_findings f;

	seed = 2;
	make(&w, 0.1);
	slow_down(&w, ATTRIBUTE_ANY, 3, ATTRIBUTE_ANY, 0.4);
	slow_down(&w, 1, 0, ATTRIBUTE_ANY, 0.1);
	assert_int_equal(attributes_search(&w.table, &(struct attribute_options){}, &f), 0);
	assert_int_equal(f.elements.n, 2);
	assert_true(is(&f.elements.v[0], ATTRIBUTE_ANY, 3, ATTRIBUTE_ANY));
	assert_true(is(&f.elements.v[1], 1, 0, ATTRIBUTE_ANY));
	assert_true(!f.up && f.explained > 0.7);
	attribute_findings_free(&f);
}

static void noise_alone_has_no_cause(void **state)
{
	int found = 0;

	for (int run = 0; run < 300; run++) {
		struct world w;
		struct attribute_findings f;

		seed = 100 + (uint64_t)run;
		make(&w, 0.02 + 0.2 * uniform());
		assert_int_equal(attributes_search(&w.table, &(struct attribute_options){}, &f), 0);
		found += f.elements.n > 0;
		attribute_findings_free(&f);
	}
	assert_true(found <= 8); /* a hundredth is meant: 3; more than 8 has p < .004 */
}

static void a_change_of_leaves_at_random_is_not_among_the_attributes(void **state)
{
	struct world w;
	struct attribute_findings f;

	seed = 3;
	make(&w, 0.02);
	for (size_t i = 0; i < LEAVES; i++)
		if (i * 2654435761u % 7 == 0)
			w.observed[i] = 1.4 * w.expected[i];
	w.table.quiet.whims = 0.1;
	assert_int_equal(attributes_search(&w.table, &(struct attribute_options){}, &f), 0);
	assert_int_equal(f.elements.n, 0);
	assert_true(f.changed);
	attribute_findings_free(&f);
}

static void a_ratio_that_rose_in_one_place_is_found_through_counting_noise(void **state)
{
	struct world w;
	struct attribute_findings f;

	seed = 4;
	make(&w, 0);
	for (size_t i = 0; i < LEAVES; i++) {
		w.exposure[i] = 40 + 400 * uniform();
		w.expected[i] = 0.02 * w.exposure[i];
		w.observed[i] = fmax(0, floor(w.expected[i] + sqrt(w.expected[i]) * normal() + 0.5));
	}
	slow_down(&w, 2, ATTRIBUTE_ANY, ATTRIBUTE_ANY, 8);
	w.table.exposure = w.exposure;
	w.table.counts = true;
	assert_int_equal(attributes_search(&w.table, &(struct attribute_options){}, &f), 0);
	assert_int_equal(f.elements.n, 1);
	assert_true(is(&f.elements.v[0], 2, ATTRIBUTE_ANY, ATTRIBUTE_ANY));
	assert_true(f.elements.v[0].share > 0.7);
	attribute_findings_free(&f);
}

static void what_cannot_be_searched_is_refused(void **state)
{
	struct world w;
	struct attribute_findings f;

	make(&w, 0);
	w.table.n = 0;
	assert_int_equal(attributes_search(&w.table, &(struct attribute_options){}, &f), -EINVAL);
	w.table.n = 1;
	w.table.attributes = ATTRIBUTES_MAX + 1;
	assert_int_equal(attributes_search(&w.table, &(struct attribute_options){}, &f), -EINVAL);
}

static void expectations_leave_raised_slices_out(void **state)
{
	/* two leaves, four slices: the second slice was raised, the last is the one asked about */
	double numerator[] = {10, 100, 50, 500, 12, 100, 40, 400}, denominator[] = {1000, 10000, 1000, 10000, 1000, 10000, 2000, 20000};
	double expected[2], whole = 222.0 / 22000;
	struct leaf_quiet quiet;

	assert_int_equal(attributes_expect(numerator, denominator, 4, 2, expected, &quiet), 0);
	assert_true(fabs(expected[0] - 2000 * (22 + 50 * whole) / 2050) < 1e-9);
	assert_true(fabs(expected[1] - 20000 * (200 + 50 * whole) / 20050) < 1e-9);
	assert_int_equal(attributes_expect(numerator, denominator, 1, 2, expected, &quiet), -EINVAL);
}

/* Every combination that a leaf has counts once, also where one leaf alone has it. */
static void all_combinations_are_counted(void **state)
{
	struct world w;
	struct attribute_findings f;

	seed = 8;
	make(&w, 0.05);
	assert_int_equal(attributes_search(&w.table, &(struct attribute_options){}, &f), 0);
	assert_int_equal(f.elements_tried, (A + 1) * (B + 1) * (C + 1) - 1);
	attribute_findings_free(&f);
	w.table.n = C + 1; /* the first value of A, one value of B with all of C, and another with one */
	assert_int_equal(attributes_search(&w.table, &(struct attribute_options){}, &f), 0);
	assert_int_equal(f.elements_tried, 1 + 2 + C + 2 + C + (C + 1) + (C + 1));
	attribute_findings_free(&f);
}

static void a_leaf_that_is_alone_has_the_attributes_that_tell_it(void **state)
{
	struct world w;
	struct attribute_findings f;

	seed = 9;
	make(&w, 0.02);
	slow_down(&w, 4, 2, 1, 3);
	assert_int_equal(attributes_search(&w.table, &(struct attribute_options){}, &f), 0);
	assert_int_equal(f.elements.n, 1);
	assert_true(is(&f.elements.v[0], 4, 2, 1));
	assert_int_equal(f.elements.v[0].leaves, 1);
	attribute_findings_free(&f);
}

RUN_TESTS(cmocka_unit_test(all_combinations_are_counted), cmocka_unit_test(a_leaf_that_is_alone_has_the_attributes_that_tell_it),
	  cmocka_unit_test(a_pair_of_values_is_found_and_no_coarser_or_finer_one),
	  cmocka_unit_test(two_causes_that_fell_are_two_findings), cmocka_unit_test(noise_alone_has_no_cause),
	  cmocka_unit_test(a_change_of_leaves_at_random_is_not_among_the_attributes),
	  cmocka_unit_test(a_ratio_that_rose_in_one_place_is_found_through_counting_noise),
	  cmocka_unit_test(what_cannot_be_searched_is_refused), cmocka_unit_test(expectations_leave_raised_slices_out))
