#include "lib/data/fold.h"

#include <locale.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/test.h"

static void characters_take_their_columns(void **state)
{
	(void)state;
	assert_int_equal(fold_columns("abc", 3), 3);
	assert_int_equal(fold_columns("Schüler", strlen("Schüler")), 7);
	assert_int_equal(fold_columns("日本", strlen("日本")), 4);
	assert_int_equal(fold_columns("e\u0301te\u0301", strlen("e\u0301te\u0301")), 3); /* combining accents */
	assert_int_equal(fold_columns("a\xff" "b", 3), 3); /* no UTF-8 */
	assert_int_equal(fold_columns("\xc3", 1), 1);	  /* half of a character */
}

static void what_fits_ends_with_a_character(void **state)
{
	(void)state;
	assert_int_equal(fold_fit("hänge", 2), 3);
	assert_int_equal(fold_fit("hänge", 99), strlen("hänge"));
	assert_int_equal(fold_fit("a日b", 2), 1); /* the second would reach beyond */
	assert_int_equal(fold_fit("a日b", 3), 4);
	assert_int_equal(fold_fit("ab\ncd", 99), 2);
	assert_int_equal(fold_fit("abc", 0), 0);
}

static void lines_break_at_spaces(void **state)
{
	(void)state;
	assert_int_equal(fold_break("the others queue", 99), 16);
	assert_int_equal(fold_break("the others queue", 12), 10);
	assert_int_equal(fold_break("the others queue", 10), 10);
	assert_int_equal(fold_break("the others queue", 9), 3);
	assert_int_equal(fold_break("undivided", 4), 4);
	assert_int_equal(fold_break("  indented", 4), 4);
	assert_int_equal(fold_break("x", 0), 1); /* something is shown in each line, so that it ends */
	assert_int_equal(fold_break("", 5), 0);
}

static void is_folded(const char *line, size_t width, const char *expected)
{
	_cleanup_str_ struct str s = {};

	assert_int_equal(fold_line(line, strlen(line), width, &s), 0);
	assert_string_equal(s.data ?: "", expected);
}

static void words_stay_whole(void **state)
{
	is_folded("", 20, "");
	is_folded("it fits in the line", 20, "it fits in the line");
	is_folded("it fits, and this does not", 20, "it fits, and this\n  does not");
	is_folded("   from here on it is indented by more", 20, "   from here on it\n     is indented by\n     more");
}

static void columns_are_continued_under_their_last(void **state)
{
	is_folded("  --window SPAN  length of the baseline that is used", 40, "  --window SPAN  length of the baseline\n                 that is used");
	is_folded("a name  in the second half comes   the gap", 30, "a name  in the second half\n        comes   the gap");
}

static void what_takes_no_column_counts_for_none(void **state)
{
	is_folded("\033[1mtwenty columns wide.\033[0m", 20, "\033[1mtwenty columns wide.\033[0m");
	is_folded("one \033[1m two three four five", 20, "one \033[1m two three four\n  five");
	is_folded("▁▂▃▄▅▆▇█ is a curve .", 21, "▁▂▃▄▅▆▇█ is a curve .");
	is_folded("▁▂▃▄▅▆▇█ is a curve .", 20, "▁▂▃▄▅▆▇█ is a curve\n  .");
}

static void wide_characters_take_two_columns(void **state)
{
	(void)state;
	is_folded("日本 語日本語日本 語.", 20, "日本 語日本語日本\n  語.");
	is_folded("日本語日本語日本語日本語", 21, "日本語日本語日本語日\n本語");
	is_folded("e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 ab", 20, "e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 ab");
}

static void a_word_wider_than_a_line_is_continued_at_its_edge(void **state)
{
	is_folded("see /a/path/that/is/very/long/indeed for more", 20, "see\n/a/path/that/is/very\n/long/indeed for\n  more");
	is_folded("                fifteen-columns", 20, "     fifteen-columns");
}

/* Writes the parts to a terminal of 20 columns, and returns all that it gets. */
static char *shown(const char *const *parts, size_t n_parts)
{
	struct winsize size = {.ws_row = 20, .ws_col = 20};
	int terminal, fd;
	struct fold f = {};
	char *got = calloc(1, 4096);
	size_t len = 0;
	ssize_t n;

	assert_int_equal(openpty(&terminal, &fd, NULL, NULL, &size), 0);
	unsetenv("COLUMNS");
	f.fd = fd;
	for (size_t i = 0; i < n_parts; i++)
		assert_int_equal(fold_write(&f, parts[i], strlen(parts[i])), 0);
	fold_free(&f);
	close(fd);
	while ((n = read(terminal, got + len, 4095 - len)) > 0) /* it comes in parts; at the end there is no other side any more */
		len += (size_t)n;
	close(terminal);
	return got;
}

#define SHOWN(...) shown((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void a_terminal_gets_lines_that_fit(void **state)
{
	_cleanup_free_ char *lines = SHOWN("one line that does", " not fit\nand a ", "question? "), *json = SHOWN("{\"a\": \"1 2 3 4 5 6 7 8 9 10\"}\n"), *drawn = SHOWN("\033[?1049h 1 2 3 4 5 6 7 8 9 10\n");

	assert_string_equal(lines, "one line that does\r\n  not fit\r\nand a question? ");
	assert_string_equal(json, "{\"a\": \"1 2 3 4 5 6 7 8 9 10\"}\r\n");
	assert_string_equal(drawn, "\033[?1049h 1 2 3 4 5 6 7 8 9 10\r\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_take_their_columns),
		cmocka_unit_test(what_fits_ends_with_a_character),
		cmocka_unit_test(lines_break_at_spaces),
		cmocka_unit_test(words_stay_whole),
		cmocka_unit_test(columns_are_continued_under_their_last),
		cmocka_unit_test(what_takes_no_column_counts_for_none),
		cmocka_unit_test(wide_characters_take_two_columns),
		cmocka_unit_test(a_word_wider_than_a_line_is_continued_at_its_edge),
		cmocka_unit_test(a_terminal_gets_lines_that_fit),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
