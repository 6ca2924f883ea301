/* Answers of the clients of databases, and a client that gives none. */
#include <stdint.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/test.h"
#include "machine/answer-live/database-query.h"

static void an_answer_is_a_line_of_five_fields(void **state)
{
	char idle[] = "9278\t\t240\t180\tupdate t set v = 2\n", works[] = "42\t9311\t3\t\tselect 1\n", hidden[] = "9278\t\t\t\t\n";
	struct database_blocker b;

	assert_true(database_blocker_parse(idle, &b));
	assert_int_equal(b.number, 9278);
	assert_int_equal(b.open, 240 * NS_PER_SEC);
	assert_int_equal(b.idle, 180 * NS_PER_SEC);
	assert_string_equal(b.statement, "update t set v = 2");
	assert_true(database_blocker_parse(works, &b));
	assert_int_equal(b.number, 42);
	assert_int_equal(b.thread, 9311);
	assert_int_equal(b.open, 3 * NS_PER_SEC);
	assert_int_equal(b.idle, -1);
	assert_true(database_blocker_parse(hidden, &b)); /* the role sees only that it is there */
	assert_int_equal(b.open, -1);
	assert_string_equal(b.statement, "");
}

static void what_is_no_answer_is_refused(void **state)
{
	static const char *const lines[] = {"", "9278", "9278\t\t240\t180", "nobody\t\t1\t1\tselect 1", "-1\t\t1\t1\tselect 1", "1\tno\t1\t1\tselect 1"};
	struct database_blocker b;
	char line[64];

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		strcpy(line, lines[i]);
		assert_false(database_blocker_parse(line, &b));
	}
}

static void who_does_not_answer_is_asked_once(void **state)
{
	struct database_clients a = {.by = {"whyslow-no-such-service", "/whyslow-no-such-file"}}, none = {};
	struct database_blocker b;

	for (enum database which = 0; which < DATABASES; which++) {
		assert_false(database_ask(&none, which, 1, &b));
		assert_false(none.failed[which]);
		assert_false(database_ask(&a, which, 1, &b));
		assert_true(a.failed[which]);
		assert_false(database_ask(NULL, which, 1, &b));
	}
}

RUN_TESTS(cmocka_unit_test(an_answer_is_a_line_of_five_fields), cmocka_unit_test(what_is_no_answer_is_refused), cmocka_unit_test(who_does_not_answer_is_asked_once))
