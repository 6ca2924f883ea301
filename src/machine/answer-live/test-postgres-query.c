/* Answers of psql, and a psql that gives none. */
#include <stdint.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/test.h"
#include "machine/answer-live/postgres-query.h"

static void an_answer_is_a_line_of_four_fields(void **state)
{
	char idle[] = "9278\t240\t180\tupdate t set v = 2\n", works[] = "9278\t3\t\tselect 1\n", hidden[] = "9278\t\t\t\n";
	struct postgres_blocker b;

	assert_true(postgres_blocker_parse(idle, &b));
	assert_int_equal(b.number, 9278);
	assert_int_equal(b.open, 240 * NS_PER_SEC);
	assert_int_equal(b.idle, 180 * NS_PER_SEC);
	assert_string_equal(b.statement, "update t set v = 2");
	assert_true(postgres_blocker_parse(works, &b));
	assert_int_equal(b.open, 3 * NS_PER_SEC);
	assert_int_equal(b.idle, -1);
	assert_true(postgres_blocker_parse(hidden, &b)); /* the role sees only that it is there */
	assert_int_equal(b.open, -1);
	assert_string_equal(b.statement, "");
}

static void what_is_no_answer_is_refused(void **state)
{
	static const char *const lines[] = {"", "9278", "9278\t240\t180", "nobody\t1\t1\tselect 1", "-1\t1\t1\tselect 1"};
	struct postgres_blocker b;
	char line[64];

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		strcpy(line, lines[i]);
		assert_false(postgres_blocker_parse(line, &b));
	}
}

static void who_does_not_answer_is_asked_once(void **state)
{
	struct postgres_access a = {.service = "whyslow-no-such-service"}, none = {};
	struct postgres_blocker b;

	assert_false(postgres_ask(&none, 1, &b));
	assert_false(none.failed);
	assert_false(postgres_ask(&a, 1, &b));
	assert_true(a.failed);
	assert_false(postgres_ask(NULL, 1, &b));
}

RUN_TESTS(cmocka_unit_test(an_answer_is_a_line_of_four_fields), cmocka_unit_test(what_is_no_answer_is_refused), cmocka_unit_test(who_does_not_answer_is_asked_once))
