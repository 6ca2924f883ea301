#include "lib/data/test.h"

#include <math.h>

#include "lib/data/clock.h"
#include "machine/judge/gaussian.h"
#include "machine/judge/method.h"

static void densities_equal_those_computed_by_hand(void **state)
{
	/* N(0,1) at 0: -log(2 pi)/2 = -0.918938533204673; at 2: that - 2 */
	assert_true(fabs(gaussian_log_likelihood(0, 0, 1) + 0.918938533204673) < 1e-12);
	assert_true(fabs(gaussian_log_likelihood(2, 0, 1) + 2.918938533204673) < 1e-12);
	/* N(10, 2) at 13: -log 2 - 0.9189... - 1.125 */
	assert_true(fabs(gaussian_log_likelihood(13, 10, 2) + 2.737085713764618) < 1e-12);
}

/* Gauges 25, 26, ... of a process take these values at ticks 0..4; the query is tick 5. */
static struct subject *add_process(struct dataset *d, uint32_t id, int varying, const int64_t values[6])
{
	struct entity_info info = {.id = id, .kind = ENTITY_PROCESS, .pid = id, .name = (char *)"p"};
	struct subject *s;

	for (int f = 0; f < PROCESS_FEATURE_COUNT; f++)
		if (features_of(ENTITY_PROCESS, &(size_t){0})[f].kind == GAUGE)
			info.present |= FEATURE_BIT(f);
	s = dataset_define(d, &info);
	s->first = 0;
	for (uint32_t t = 0; t < 6; t++)
		for (int f = 0, n = 0; f < PROCESS_FEATURE_COUNT; f++)
			if (info.present >> f & 1)
				series_push(&s->series[f], t, n++ < varying ? values[t] : 3);
	return s;
}

static void processes_rank_by_mean_log_likelihood(void **state)
{
	static const int64_t calm[6] = {1, 2, 3, 2, 1, 2}, wild[6] = {1, 2, 3, 2, 1, 9};
	struct method_question q = {.at = 5, .train_from = 0, .train_to = 4, .tolerance = NS_PER_SEC};
	struct ranking r = {};
	struct dataset d = {};
	/* mean 1.8, sd sqrt(0.56) of 1 2 3 2 1, in units of each feature's quantum */
	double sd = sqrt(0.56), sum = 0;
	int gauges = 0;

	for (int i = 0; i < 6; i++)
		dataset_add_tick(&d, (10 + i) * NS_PER_SEC, (10 + i) * NS_PER_SEC, NS_PER_SEC);
	add_process(&d, 1, 12, calm);
	add_process(&d, 2, 12, wild);
	add_process(&d, 3, 10, wild); /* ten features that vary are not "more than 10" */
	dataset_finish(&d);
	assert_int_equal(method_gaussian.rank(&d, &q, &r), 0);
	assert_int_equal(r.suspects.n, 2);
	assert_int_equal(r.suspects.v[0].subject->info.id, 2);
	assert_int_equal(r.suspects.v[1].subject->info.id, 1);
	assert_int_equal(r.suspects.v[0].features.n, 12);
	for (size_t f = 0; f < PROCESS_FEATURE_COUNT && gauges < 12; f++) {
		const struct feature *feature = &r.suspects.v[0].subject->features[f];
		double quantum = (double)feature->quantum;

		if (feature->kind != GAUGE)
			continue;
		gauges++;
		sum += gaussian_log_likelihood(9 * quantum, 1.8 * quantum, sd * quantum);
	}
	assert_true(fabs(r.suspects.v[0].score + sum / 12) < 1e-9);
	ranking_free(&r);
	dataset_free(&d);
}

static void the_event_itself_is_not_learnt(void **state)
{
	static const int64_t wild[6] = {1, 2, 3, 2, 1, 9};
	struct method_question past = {.at = 5, .train_to = 4, .tolerance = NS_PER_SEC};
	struct method_question block = {.at = 5, .train_to = 5, .tolerance = NS_PER_SEC};
	struct ranking a = {}, b = {};
	struct dataset d = {};

	for (int i = 0; i < 6; i++)
		dataset_add_tick(&d, (10 + i) * NS_PER_SEC, (10 + i) * NS_PER_SEC, NS_PER_SEC);
	add_process(&d, 1, 12, wild);
	dataset_finish(&d);
	method_gaussian.rank(&d, &past, &a);
	method_gaussian.rank(&d, &block, &b);
	assert_true(a.suspects.v[0].score > b.suspects.v[0].score);
	assert_true(a.suspects.v[0].features.v[0].deviation > 9);
	assert_true(b.suspects.v[0].features.v[0].deviation < 3);
	ranking_free(&a);
	ranking_free(&b);
	dataset_free(&d);
}

/* One of the features is read every third second only, the last time at tick 3; the process is there throughout. */
static void of_each_feature_the_closest_value_counts(void **state)
{
	static const int64_t wild[6] = {1, 2, 3, 2, 1, 9};
	struct method_question q = {.at = 3, .train_to = 5, .tolerance = 2 * NS_PER_SEC};
	struct ranking r = {};
	struct dataset d = {};
	struct subject *s;
	size_t late = 0;

	for (int i = 0; i < 6; i++)
		dataset_add_tick(&d, (10 + i) * NS_PER_SEC, (10 + i) * NS_PER_SEC, NS_PER_SEC);
	s = add_process(&d, 1, 12, wild);
	while (s->series[late].n < 6)
		late++;
	s->series[late].n = 0;
	series_push(&s->series[late], 4, 7);
	series_push(&s->series[late], 5, 8);
	dataset_finish(&d);
	assert_int_equal(method_gaussian.rank(&d, &q, &r), 0);
	assert_int_equal(r.suspects.v[0].features.n, 12);
	for (size_t i = 0; i < 12; i++) {
		const struct deviation *dev = &r.suspects.v[0].features.v[i];
		bool is_late = dev->feature == &s->features[late];

		assert_true(dev->observed == (is_late ? 7 : 2) * (double)dev->feature->quantum);
	}
	ranking_free(&r);
	q.tolerance = NS_PER_SEC / 2; /* then it is out of reach */
	assert_int_equal(method_gaussian.rank(&d, &q, &r), 0);
	assert_int_equal(r.suspects.v[0].features.n, 11);
	ranking_free(&r);
	dataset_free(&d);
}

/* The value closest to the query is of the tick before the block, from which nothing is learnt in block mode. */
static void a_value_from_outside_the_block_is_not_judged_by_it(void **state)
{
	static const int64_t wild[6] = {1, 900000, 1, 2, 1, 1};
	struct method_question q = {.at = 2, .train_from = 2, .train_to = 5, .tolerance = 30 * NS_PER_SEC};
	struct ranking r = {};
	struct dataset d = {};

	for (int i = 0; i < 6; i++)
		dataset_add_tick(&d, (10 + i) * NS_PER_SEC, (10 + i) * NS_PER_SEC, i == 2 ? 0 : NS_PER_SEC);
	add_process(&d, 1, 12, wild);
	dataset_finish(&d);
	assert_int_equal(method_gaussian.rank(&d, &q, &r), 0);
	assert_int_equal(r.suspects.n, 1);
	for (size_t i = 0; i < r.suspects.v[0].features.n; i++)
		assert_true(fabs(r.suspects.v[0].features.v[i].deviation) <= sqrt(r.suspects.v[0].features.v[i].compared));
	ranking_free(&r);
	dataset_free(&d);
}

RUN_TESTS(cmocka_unit_test(densities_equal_those_computed_by_hand), cmocka_unit_test(processes_rank_by_mean_log_likelihood),
	  cmocka_unit_test(the_event_itself_is_not_learnt), cmocka_unit_test(of_each_feature_the_closest_value_counts),
	  cmocka_unit_test(a_value_from_outside_the_block_is_not_judged_by_it))
