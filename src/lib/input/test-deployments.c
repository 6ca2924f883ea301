/* Deployments: each is there once, in order of time; anything else is refused with its place, and nothing of it is taken. */
#include "lib/data/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/input/deployments.h"

#define NOW (1790000000 * NS_PER_SEC)

static int parse(const char *text, struct deployments *d, char **error)
{
	return deployments_parse("told", text, strlen(text), DEPLOYMENT_NEEDS_VERSION, NOW, d, error);
}

/* Fleets need no version, but a time. */
static void test_lists_lines_and_tables_give_the_same(void **state)
{
	static const char *const forms[] = {
		"[{\"service\": \"cart\", \"version\": \"2.3\", \"commit_sha\": \"abc\", \"timestamp\": \"2026-11-20T14:00:00Z\"}, {\"package\": \"mail\", \"time\": 1795183260}]",
		"\n{\"service\": \"cart\", \"version\": \"2.3\", \"commit\": \"abc\", \"at\": \"2026-11-20 14:00\"}\n{\"component\": \"mail\", \"time\": 1795183260000}\n",
		"Time;Service;Commit;Version\n2026-11-20T14:00:00Z;cart;abc;2.3\n1795183260;\"mail\";;\n",
		"\r\nservice,version,commit,deployed_at\r\ncart,2.3,abc,2026-11-20T15:00:00+01:00\r\nmail,,,1795183260\r\n",
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct deployments d = {};
		char *error = NULL;

		if (deployments_parse("file", forms[i], strlen(forms[i]), DEPLOYMENT_NEEDS_TIME, 0, &d, &error) < 0)
			fail_msg("%s", error);
		assert_int_equal(d.list.n, 2);
		assert_string_equal(d.list.v[0].package, "cart");
		assert_string_equal(d.list.v[0].version, "2.3");
		assert_string_equal(d.list.v[0].commit, "abc");
		assert_int_equal(d.list.v[0].time, 1795183200 * NS_PER_SEC);
		assert_string_equal(d.list.v[1].package, "mail");
		assert_int_equal(d.list.v[1].time, 1795183260 * NS_PER_SEC);
		deployments_free(&d);
	}
}

/* A table is not cut off: what would be left out is an error. */
static void test_more_than_fit_are_refused(void **state)
{
	_cleanup_free_ char *text = malloc((DEPLOYMENTS_MAX + 2) * sizeof("a,1") + sizeof("service,time\n")), *error = NULL;
	char *end = stpcpy(text, "service,time\n");
	struct deployments d = {};

	for (int i = 0; i < DEPLOYMENTS_MAX + 1; i++)
		end = stpcpy(end, "a,1\n");
	assert_int_equal(deployments_parse("file", text, strlen(text), DEPLOYMENT_NEEDS_TIME, 0, &d, &error), -EINVAL);
	assert_non_null(strstr(error, "more than 100000 deployments"));
	assert_int_equal(d.list.n, 0);
}

static void test_what_a_fleet_needs_is_named(void **state)
{
	static const struct {
		const char *text, *words;
	} wrong[] = {{"[{\"service\": \"cart\"}]", "byte 1: a deployment needs a \"service\" and a \"time\""},
		     {"service,version\ncart,2.3\n", "byte 16: a deployment needs"},
		     {"{\"service\": \"cart\", \"time\": 1795183260} and more", "this is not JSON"},
		     {"version,time\n2,1\n", "neither JSON nor the header of a table"}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		_cleanup_free_ char *error = NULL;
		struct deployments d = {};

		assert_int_equal(deployments_parse("file", wrong[i].text, strlen(wrong[i].text), DEPLOYMENT_NEEDS_TIME, 0, &d, &error), -EINVAL);
		if (!strstr(error, wrong[i].words))
			fail_msg("%s", error);
	}
}

static void test_all_shapes_are_read(void **state)
{
	static const char text[] =
		"{\"package\": \"cart\", \"version\": \"2.3\", \"host\": \"web-1\", \"time\": \"2026-09-21T16:00:00Z\"}\n"
		"[{\"service\": \"stock\", \"service.version\": 7, \"host.name\": \"web-2\", \"time\": 1789999000}],\n"
		"{\"deployments\": [{\"package\": \"cart\", \"version\": \"2.3\", \"host\": \"web-1\", \"time\": 1790006400000},\n"
		"                 {\"package\": \"kernel\", \"version\": \"6.9\"}]}\n";
	_cleanup_free_ char *error = NULL;
	struct deployments d = {};

	assert_int_equal(parse(text, &d, &error), 0);
	assert_null(error);
	deployments_sort(&d);
	assert_int_equal(d.list.n, 3);
	assert_string_equal(d.list.v[0].package, "stock");
	assert_string_equal(d.list.v[0].version, "7");
	assert_int_equal(d.list.v[0].time, 1789999000 * NS_PER_SEC);
	assert_string_equal(d.list.v[1].package, "kernel");
	assert_string_equal(d.list.v[1].host, "");
	assert_int_equal(d.list.v[1].time, NOW);
	assert_string_equal(d.list.v[2].host, "web-1");
	assert_int_equal(d.list.v[2].time, 1790006400 * NS_PER_SEC);
	deployments_free(&d);
}

static void test_what_is_none_is_refused_as_a_whole(void **state)
{
	static const struct {
		const char *text, *words;
	} wrong[] = {{"{\"package\": \"a\", \"version\": \"1\"} {\"package\": \"b\"}", "byte 33"},
		     {"{\"package\": \"a\", \"version\": \"1\", \"time\": \"soon\"}", "time"},
		     {"[1]", "object"},
		     {"package=a", "JSON"},
		     {"{\"package\": \"a\", \"version\": \"1\"", "JSON"}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		_cleanup_free_ char *error = NULL;
		struct deployments d = {};

		assert_int_equal(parse(wrong[i].text, &d, &error), -EINVAL);
		assert_non_null(error);
		assert_non_null(strstr(error, wrong[i].words));
		assert_int_equal(d.list.n, 0);
		deployments_free(&d);
	}
}

static void test_a_terminal_obeys_none_of_it(void **state)
{
	_cleanup_free_ char *error = NULL;
	struct deployments d = {};

	assert_int_equal(parse("{\"package\": \"a\\u001b[31m\", \"version\": \"1\"}", &d, &error), 0);
	assert_string_equal(d.list.v[0].package, "a?[31m");
	deployments_free(&d);
}

static void test_nothing_is_none(void **state)
{
	_cleanup_free_ char *error = NULL;
	struct deployments d = {};

	assert_int_equal(parse(" \n", &d, &error), 0);
	assert_int_equal(d.list.n, 0);
}

RUN_TESTS(cmocka_unit_test(test_lists_lines_and_tables_give_the_same), cmocka_unit_test(test_more_than_fit_are_refused), cmocka_unit_test(test_what_a_fleet_needs_is_named),
	  cmocka_unit_test(test_all_shapes_are_read), cmocka_unit_test(test_what_is_none_is_refused_as_a_whole),
	  cmocka_unit_test(test_a_terminal_obeys_none_of_it), cmocka_unit_test(test_nothing_is_none))
