/* The times of a question: relative ones count from the moment that is asked about. */
#include "machine/cmd-why/why-query.h"

#include <errno.h>

#include "lib/data/clock.h"
#include "lib/data/test.h"
#include "machine/verb/verb.h"

#define AN_HOUR_AGO (clock_wall() - 3600 * NS_PER_SEC)

static void since_counts_from_the_moment_asked_about(void **state)
{
	struct why_query a = {.request.at = AN_HOUR_AGO};
	int64_t at = a.request.at;

	assert_int_equal(why_query_parse_since("why", NULL, &a), EXIT_ANSWERED);
	assert_int_equal(a.request.since, 0);
	assert_int_equal(why_query_parse_since("why", "-3min", &a), EXIT_ANSWERED);
	assert_int_equal(a.request.since, at - 180 * NS_PER_SEC);
}

static void a_start_after_the_moment_is_refused(void **state)
{
	struct why_query a = {.request.at = AN_HOUR_AGO};

	assert_int_equal(why_query_parse_since("why", "+1min", &a), EXIT_USAGE);
	assert_int_equal(why_query_parse_since("why", "nonsense", &a), EXIT_USAGE);
}

static void a_moment_to_come_is_refused(void **state)
{
	struct common here = {};
	struct why_query a = {};

	assert_int_equal(why_query_parse(&here, "+5min", &a), -ERANGE);
	assert_int_equal(why_query_parse(&here, "-5min", &a), 0);
	here.from_file = "another.db"; /* of a machine with another clock */
	assert_int_equal(why_query_parse(&here, "+5min", &a), 0);
}

RUN_TESTS(cmocka_unit_test(since_counts_from_the_moment_asked_about), cmocka_unit_test(a_start_after_the_moment_is_refused),
	  cmocka_unit_test(a_moment_to_come_is_refused))
