#include "lib/data/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/options.h"

static bool flag;
static const char *text;
static int64_t span;
static uint64_t count;
static const struct option_row rows[] = {
	{OPTION_FLAG, 'f', "flag", NULL, &flag, ""},
	{OPTION_TEXT, 't', "text", "T", &text, ""},
	{OPTION_SPAN, 0, "span", "S", &span, ""},
	{},
};
static const struct option_row more[] = {{OPTION_COUNT, 'n', "count", "N", &count, ""}, {}};

static int parse(bool stop, int argc, const char *const *given, char **argv, char **error)
{
	memcpy(argv, given, (size_t)(argc + 1) * sizeof(*argv));
	flag = false;
	text = NULL;
	span = 0;
	count = 0;
	*error = NULL;
	return options_parse(rows, more, stop, argc, argv, error);
}

#define PARSE(stop, ...)                                                                                        \
	parse(stop, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__, NULL}, argv, \
	      &error)

static void options_are_found_anywhere(void **state)
{
	char *argv[16], *error;

	assert_int_equal(PARSE(false, "verb", "word", "-f", "--text", "a", "--span=5min", "other", "-n3"), 3);
	assert_true(flag && span == 300000000000ll && count == 3);
	assert_string_equal(text, "a");
	assert_string_equal(argv[1], "word");
	assert_string_equal(argv[2], "other");
	assert_null(argv[3]);
}

static void two_dashes_end_them(void **state)
{
	char *argv[16], *error;

	assert_int_equal(PARSE(false, "verb", "--", "-f", "--"), 3);
	assert_false(flag);
	assert_string_equal(argv[1], "-f");
}

static void a_time_before_now_is_no_option(void **state)
{
	char *argv[16], *error;

	assert_int_equal(PARSE(false, "verb", "-10min", "-f", "now"), 3);
	assert_string_equal(argv[1], "-10min");
	assert_true(flag);
}

static void a_command_keeps_its_own(void **state)
{
	char *argv[16], *error;

	assert_int_equal(PARSE(true, "run", "-n", "1", "ls", "-f", "--text"), 4);
	assert_true(count == 1 && !flag);
	assert_string_equal(argv[2], "-f");
}

static void mistakes_are_named(void **state)
{
	char *argv[16], *error;

	assert_int_equal(PARSE(false, "verb", "--none"), -EINVAL);
	assert_non_null(strstr(error, "--none"));
	free(error);
	assert_int_equal(PARSE(false, "verb", "--text"), -EINVAL);
	free(error);
	assert_int_equal(PARSE(false, "verb", "--span", "soon"), -EINVAL);
	assert_non_null(strstr(error, "soon"));
	free(error);
	assert_int_equal(PARSE(false, "verb", "--flag=1"), -EINVAL);
	free(error);
	assert_int_equal(PARSE(false, "verb", "-n", "-3"), -EINVAL);
	free(error);
}

RUN_TESTS(cmocka_unit_test(options_are_found_anywhere), cmocka_unit_test(two_dashes_end_them), cmocka_unit_test(a_time_before_now_is_no_option),
	  cmocka_unit_test(a_command_keeps_its_own), cmocka_unit_test(mistakes_are_named))
