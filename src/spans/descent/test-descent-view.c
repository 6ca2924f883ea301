/* The last line of an answer: which of the recorders' sentences is the reason. */
#include "lib/data/test.h"

#include <stdlib.h>
#include <string.h>

#include "spans/ask/span-view.h"

static struct names *names;

static json_t *answer(bool slow, const char *summary)
{
	return json_pack("{s:b, s:s}", "slow", slow, "summary", summary);
}

/* Two places: the first has these answers (NULL: none), the second one of its machine. */
static void check_two(json_t *machine, json_t *program, json_t *second, const char *expected)
{
	struct forest f = {.names = names};
	struct exemplar request = {.start = 1790000000000000000};
	struct exemplar_span spans[2] = {{.host = names_text(names, "db-1", 4), .end = 5}, {.host = names_text(names, "web-1", 5), .end = 5}};
	struct descent d = {.forest = &f};
	char *reason;

	for (int i = 0; i < 2; i++)
		assert_int_equal(VEC_PUSH(d.places, ((struct descent_place){.request = &request, .span = &spans[i]})), 0);
	d.places.v[0].machine.why = machine;
	d.places.v[0].program.why = program;
	d.places.v[1].machine.why = second;
	reason = span_descent_reason(&d);
	assert_non_null(reason);
	if (!strstr(reason, expected))
		fail_msg("'%s' is not in '%s'", expected, reason);
	free(reason);
	descent_free(&d);
}

/* The second one says that nothing is slow. */
static void check(json_t *machine, json_t *program, const char *expected)
{
	check_two(machine, program, answer(false, "Nothing is slow."), expected);
}

static void test_a_place_where_something_is_unusual_comes_first(void **state)
{
	names = names_new();
	check_two(answer(false, "Nothing is slow."), answer(false, "It waits for nothing unusual."), answer(true, "backup uses the disk"), "the reason on web-1 at ");
	check_two(answer(false, "Nothing is slow."), answer(true, "It waited for a lock."), answer(true, "backup uses the disk"), "the reason on db-1 at ");
	check_two(answer(false, "Nothing is slow."), NULL, answer(false, "Nothing is slow."), "the reason on db-1 at ");
	names_free(names);
}

static void test_what_the_process_waited_for_then_the_machine(void **state)
{
	names = names_new();
	check(answer(true, "backup uses the disk"), answer(true, "It waited for a lock."), "the reason on db-1 at ");
	check(answer(true, "backup uses the disk"), answer(true, "It waited for a lock."), ": backup uses the disk");
	check(answer(true, "backup uses the disk"), json_pack("{s:b, s:s, s:[{s:s}]}", "slow", true, "summary", "It waited for a lock.", "events", "wait", "lock"),
	      ": It waited for a lock.");
	check(answer(true, "backup uses the disk"), json_pack("{s:b, s:s, s:b}", "slow", true, "summary", "It computed itself.", "call", true), ": It computed itself.");
	check(answer(true, "backup uses the disk"), json_pack("{s:b, s:s, s:b}", "slow", false, "summary", "It waits for nothing.", "call", true), ": backup uses");
	check(answer(false, "Nothing is slow."), answer(true, "It waited for a lock."), ": It waited for a lock.");
	check(answer(false, "Nothing is slow."), NULL, "db-1");
	check(NULL, NULL, "the reason on web-1 at ");
	check(answer(true, "a\033[2J"), NULL, ": a");
	names_free(names);
}

static void test_without_an_answer_there_is_none(void **state)
{
	const struct descent d = {};

	assert_null(span_descent_reason(&d));
}

RUN_TESTS(cmocka_unit_test(test_a_place_where_something_is_unusual_comes_first), cmocka_unit_test(test_what_the_process_waited_for_then_the_machine), cmocka_unit_test(test_without_an_answer_there_is_none))
