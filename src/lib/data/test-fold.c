#include "lib/data/fold.h"

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/test.h"

static void is_folded(const char *line, size_t width, const char *expected)
{
	_cleanup_str_ struct str s = {};

	assert_int_equal(fold_line(line, strlen(line), width, &s), 0);
	assert_string_equal(s.data ?: "", expected);
}

static void words_stay_whole(void **state)
{
	(void)state;
	is_folded("", 20, "");
	is_folded("it fits in the line", 20, "it fits in the line");
	is_folded("it fits, and this does not", 20, "it fits, and this\n  does not");
	is_folded("   from here on it is indented by more", 20, "   from here on it\n     is indented by\n     more");
}

static void columns_are_continued_under_their_last(void **state)
{
	(void)state;
	is_folded("  --window SPAN  length of the baseline that is used", 40, "  --window SPAN  length of the baseline\n                 that is used");
	is_folded("a name  in the second half comes   the gap", 30, "a name  in the second half\n        comes   the gap");
}

static void what_takes_no_column_counts_for_none(void **state)
{
	(void)state;
	is_folded("\033[1mtwenty columns wide.\033[0m", 20, "\033[1mtwenty columns wide.\033[0m");
	is_folded("one \033[1m two three four five", 20, "one \033[1m two three four\n  five");
	is_folded("▁▂▃▄▅▆▇█ is a curve .", 21, "▁▂▃▄▅▆▇█ is a curve .");
	is_folded("▁▂▃▄▅▆▇█ is a curve .", 20, "▁▂▃▄▅▆▇█ is a curve\n  .");
}

static void a_word_wider_than_a_line_is_continued_at_its_edge(void **state)
{
	(void)state;
	is_folded("see /a/path/that/is/very/long/indeed for more", 20, "see\n/a/path/that/is/very\n/long/indeed for\n  more");
	is_folded("                fifteen-columns", 20, "     fifteen-columns");
}

/* Writes the parts to a terminal of 20 columns, and returns all that it gets. */
static char *shown(const char *const *parts, size_t n)
{
	struct winsize size = {.ws_row = 20, .ws_col = 20};
	int terminal, fd;
	struct fold f = {};
	char *got = calloc(1, 4096);

	assert_int_equal(openpty(&terminal, &fd, NULL, NULL, &size), 0);
	unsetenv("COLUMNS");
	f.fd = fd;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(fold_write(&f, parts[i], strlen(parts[i])), 0);
	fold_free(&f);
	assert_true(fcntl(terminal, F_SETFL, O_NONBLOCK) == 0);
	assert_true(read(terminal, got, 4095) > 0);
	close(terminal);
	close(fd);
	return got;
}

#define SHOWN(...) shown((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void a_terminal_gets_lines_that_fit(void **state)
{
	_cleanup_free_ char *lines = SHOWN("one line that does", " not fit\nand a ", "question? "), *json = SHOWN("{\"a\": \"1 2 3 4 5 6 7 8 9 10\"}\n"), *drawn = SHOWN("\033[?1049h 1 2 3 4 5 6 7 8 9 10\n");

	(void)state;
	assert_string_equal(lines, "one line that does\r\n  not fit\r\nand a question? ");
	assert_string_equal(json, "{\"a\": \"1 2 3 4 5 6 7 8 9 10\"}\r\n");
	assert_string_equal(drawn, "\033[?1049h 1 2 3 4 5 6 7 8 9 10\r\n");
}

RUN_TESTS(cmocka_unit_test(words_stay_whole), cmocka_unit_test(columns_are_continued_under_their_last), cmocka_unit_test(what_takes_no_column_counts_for_none),
	  cmocka_unit_test(a_word_wider_than_a_line_is_continued_at_its_edge), cmocka_unit_test(a_terminal_gets_lines_that_fit))
