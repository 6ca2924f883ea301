#include <locale.h>
#include <string.h>

#include "lib/data/test.h"
#include "lib/view/columns.h"

static void characters_take_their_columns(void **state)
{
	(void)state;
	assert_int_equal(columns_of("abc", 3), 3);
	assert_int_equal(columns_of("Schüler", strlen("Schüler")), 7);
	assert_int_equal(columns_of("日本", strlen("日本")), 4);
	assert_int_equal(columns_of("a\xff" "b", 3), 3); /* no UTF-8 */
	assert_int_equal(columns_of("\xc3", 1), 1);	  /* half of a character */
}

static void what_fits_ends_with_a_character(void **state)
{
	(void)state;
	assert_int_equal(columns_fit("hänge", 2), 3);
	assert_int_equal(columns_fit("hänge", 99), strlen("hänge"));
	assert_int_equal(columns_fit("a日b", 2), 1); /* the second would reach beyond */
	assert_int_equal(columns_fit("a日b", 3), 4);
	assert_int_equal(columns_fit("ab\ncd", 99), 2);
	assert_int_equal(columns_fit("abc", 0), 0);
}

static void lines_break_at_spaces(void **state)
{
	(void)state;
	assert_int_equal(columns_wrap("the others queue", 99), 16);
	assert_int_equal(columns_wrap("the others queue", 12), 10);
	assert_int_equal(columns_wrap("the others queue", 10), 10);
	assert_int_equal(columns_wrap("the others queue", 9), 3);
	assert_int_equal(columns_wrap("undivided", 4), 4);
	assert_int_equal(columns_wrap("  indented", 4), 4);
	assert_int_equal(columns_wrap("x", 0), 1); /* something is shown in each line, so that it ends */
	assert_int_equal(columns_wrap("", 5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_take_their_columns),
		cmocka_unit_test(what_fits_ends_with_a_character),
		cmocka_unit_test(lines_break_at_spaces),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
