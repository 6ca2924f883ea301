/* A wait that was read late is put into the time in which it grew. */
#include "lib/data/test.h"

#include <errno.h>
#include <math.h>

#include "lib/data/clock.h"
#include "machine/model/dataset.h"

#define TICKS 100

/* One process that is there for 100 ticks of a second. */
static struct subject *one_process(struct dataset *d, uint32_t first)
{
	struct entity_info info = {.id = 1, .kind = ENTITY_PROCESS, .name = (char *)"a", .present = UINT64_MAX};
	struct subject *s = NULL;

	for (uint32_t t = 0; t < TICKS; t++) {
		assert_int_equal(dataset_add_tick(d, (t + 1) * NS_PER_SEC, (t + 1) * NS_PER_SEC, NS_PER_SEC), t);
		if (t == first)
			s = dataset_define(d, &info);
	}
	assert_non_null(s);
	s->last = TICKS - 1;
	return s;
}

static void grow(struct subject *s, size_t feature, uint32_t tick, double seconds)
{
	assert_int_equal(series_push(&s->series[feature], tick, (int64_t)(seconds * 1e9) / s->features[feature].quantum), 0);
}

static void is_near(double value, double expected)
{
	if (!(fabs(value - expected) < 1e-6 * (1 + fabs(expected))))
		fail_msg("%g instead of %g", value, expected);
}

static void a_wait_of_half_a_minute_lies_in_that_half_minute(void **state)
{
	struct dataset d = {};
	struct subject *s = one_process(&d, 0);

	grow(s, FEATURE_WAIT_PEER, 3, 0.2);
	grow(s, FEATURE_WAIT_PEER, 59, 29.5); /* from 30.5 s to 60 s */
	is_near(subject_value(&d, s, FEATURE_WAIT_PEER, 59), 1e9);
	is_near(subject_value(&d, s, FEATURE_WAIT_PEER, 31), 1e9);
	is_near(subject_value(&d, s, FEATURE_WAIT_PEER, 30), 0.5e9);
	is_near(subject_value(&d, s, FEATURE_WAIT_PEER, 29), 0);
	is_near(subject_value(&d, s, FEATURE_WAIT_PEER, 3), 0.2e9);
	is_near(subject_growth(&d, s, FEATURE_WAIT_PEER, 0, TICKS - 1), 29.7e9);
	is_near(subject_growth(&d, s, FEATURE_WAIT_PEER, 40, 49), 10e9);
	dataset_free(&d);
}

static void threads_wait_side_by_side(void **state)
{
	struct dataset d = {};
	struct subject *s = one_process(&d, 0);

	grow(s, FEATURE_WAIT_LOCK, 9, 1);
	grow(s, FEATURE_WAIT_LOCK, 19, 40); /* four threads, for the ten seconds since they were read */
	grow(s, FEATURE_WAIT_LOCK, 20, 4);
	is_near(subject_value(&d, s, FEATURE_WAIT_LOCK, 9), 1e9);
	is_near(subject_value(&d, s, FEATURE_WAIT_LOCK, 10), 4e9);
	is_near(subject_value(&d, s, FEATURE_WAIT_LOCK, 19), 4e9);
	is_near(subject_value(&d, s, FEATURE_WAIT_LOCK, 20), 4e9);
	dataset_free(&d);
}

static void nothing_waits_before_it_is_there(void **state)
{
	struct dataset d = {};
	struct subject *s = one_process(&d, 50);

	grow(s, FEATURE_WAIT_OTHER, 59, 30); /* three threads */
	is_near(subject_value(&d, s, FEATURE_WAIT_OTHER, 50), 3e9);
	is_near(subject_growth(&d, s, FEATURE_WAIT_OTHER, 0, 49), 0);
	is_near(subject_growth(&d, s, FEATURE_WAIT_OTHER, 0, TICKS - 1), 30e9);
	dataset_free(&d);
}

/* In a window that begins amid the wait, only what lies in it. */
static void a_wait_may_begin_before_the_window(void **state)
{
	struct dataset d = {};
	struct subject *s = one_process(&d, 0);

	grow(s, FEATURE_WAIT_NETWORK, 9, 25);
	is_near(subject_growth(&d, s, FEATURE_WAIT_NETWORK, 0, TICKS - 1), 10e9);
	dataset_free(&d);
}

static void what_is_no_wait_grew_in_its_tick(void **state)
{
	struct dataset d = {};
	struct subject *s = one_process(&d, 0);

	grow(s, FEATURE_CPU_TIME, 9, 5);
	is_near(subject_value(&d, s, FEATURE_CPU_TIME, 9), 5e9);
	is_near(subject_value(&d, s, FEATURE_CPU_TIME, 8), 0);
	dataset_free(&d);
}

/* Two recordings in one, or a hostile one: numbers of entities meet. */
static void nothing_becomes_another_kind_of_thing(void **state)
{
	struct entity_info info = {.id = 1, .kind = ENTITY_SYSTEM, .name = (char *)"machine", .present = UINT64_MAX};
	struct dataset d = {}, part = {};

	grow(one_process(&part, 0), FEATURE_WAIT_PEER, 3, 0.2);
	assert_int_equal(dataset_add_tick(&d, 0, 0, NS_PER_SEC), 0);
	assert_non_null(dataset_define(&d, &info));
	assert_int_equal(dataset_append(&d, &part, INT64_MIN, INT64_MAX), -EBADMSG);
	dataset_free(&d);
	dataset_free(&part);
}

RUN_TESTS(cmocka_unit_test(a_wait_of_half_a_minute_lies_in_that_half_minute), cmocka_unit_test(threads_wait_side_by_side),
	  cmocka_unit_test(nothing_waits_before_it_is_there), cmocka_unit_test(a_wait_may_begin_before_the_window),
	  cmocka_unit_test(what_is_no_wait_grew_in_its_tick),
	  cmocka_unit_test(nothing_becomes_another_kind_of_thing))
