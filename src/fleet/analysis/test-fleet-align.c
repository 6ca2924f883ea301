#include "lib/data/test.h"

#include <errno.h>
#include <stdlib.h>

#include "fleet/analysis/fleet-align.h"
#include "fleet/analysis/fleet-analysis.h"
#include "fleet/analysis/fleet-views.h"
#include "fleet/analysis/test-fleet.h"
#include "fleet/model/intake.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"

static const struct fleet_span all = {INT64_MIN, INT64_MAX};
/* Servers with a row at each of these times, whose values are the servers' numbers. */
static struct fleet *at_times(size_t servers, size_t n, const int64_t *times)
{
	_cleanup_free_ double *values = calloc(servers * n, sizeof(*values));

	for (size_t i = 0; i < servers * n; i++)
		values[i] = (double)(i / n);
	return fleet_of(servers, n, times, values);
}

static void one_moment_has_one_point(void **state)
{
	struct fleet *f = at_times(2, 1, (const int64_t[]){1000 * NS_PER_SEC});
	struct fleet_view v;

	assert_int_equal(f->interval, 0);
	assert_int_equal(fleet_view_find(f, 0, all, FLEET_DETAIL_VIEW, &v), 0);
	assert_int_equal(v.n, 1);
	assert_true(v.values[0] == 0 && v.values[1] == 1);
	assert_int_equal(v.ts, 1000 * NS_PER_SEC);
	fleet_view_free(&v);
	assert_int_equal(fleet_view_find(f, 0, all, FLEET_TIME_VIEW, &v), 0);
	assert_int_equal(v.rows.n, 1);
	assert_int_equal(v.rows.v[0].n, 2);
	fleet_view_free(&v);
	release(f);
}

static void one_moment_is_too_little_to_correlate(void **state)
{
	struct fleet *f = at_times(2, 1, (const int64_t[]){1000 * NS_PER_SEC});
	struct fleet_question q = fleet_question_default(f);
	struct fleet_findings found = {};

	q.counter = 0;
	assert_int_equal(fleet_analysis_find("correlation")->run(&q, &found), -ENODATA);
	fleet_findings_free(&found);
	release(f);
}

/* Rows of some seconds, and one after twelve years: nearly all points between would be empty. */
static void rows_that_lie_years_apart_take_no_memory(void **state)
{
	const int64_t years = 400000000 * NS_PER_SEC;
	struct fleet *f = at_times(20, 6, (const int64_t[]){1 * NS_PER_SEC, 2 * NS_PER_SEC, 3 * NS_PER_SEC, 4 * NS_PER_SEC, 5 * NS_PER_SEC, years});
	struct fleet_view v;

	assert_int_equal(fleet_view_find(f, 0, all, FLEET_DETAIL_VIEW, &v), -E2BIG);
	assert_int_equal(fleet_view_find(f, 0, (struct fleet_span){INT64_MIN, years}, FLEET_DETAIL_VIEW, &v), 0);
	assert_int_equal(v.n, 5);
	fleet_view_free(&v);
	release(f);
}

/* Their number does not fit into 32 bits. */
static void points_are_counted_in_64_bits(void **state)
{
	struct fleet *f = at_times(1, 4, (const int64_t[]){0, 1, 2, (1LL << 32) + 5});
	struct fleet_alignment a;

	assert_int_equal(fleet_align(f, all, FLEET_BY_TIME, &a), -E2BIG);
	release(f);
}

RUN_TESTS(cmocka_unit_test(rows_that_lie_years_apart_take_no_memory), cmocka_unit_test(points_are_counted_in_64_bits),
	  cmocka_unit_test(one_moment_has_one_point), cmocka_unit_test(one_moment_is_too_little_to_correlate))
