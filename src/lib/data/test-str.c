#include "lib/data/test.h"

#include <errno.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"

static void varints_come_back(void **state)
{
	static const int64_t values[] = {0, 1, -1, 63, -64, 64, 300, -300, INT64_MAX, INT64_MIN};
	struct str s = {};
	struct reader r;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		str_put_svarint(&s, values[i]);
	r = (struct reader){(uint8_t *)s.data, (uint8_t *)s.data + s.len, false};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_true(reader_svarint(&r) == values[i]);
	assert_false(r.bad);
	reader_varint(&r);
	assert_true(r.bad);
	str_free(&s);
}

static void a_blob_longer_than_the_rest_is_refused(void **state)
{
	static const uint8_t bytes[] = {200, 1, 'x'};
	struct reader r = {bytes, bytes + sizeof(bytes), false};
	size_t n;

	assert_null(str_read_blob(&r, &n));
	assert_true(r.bad);
}

static void a_full_buffer_keeps_what_it_had(void **state)
{
	struct str s = {.max = 100};

	assert_int_equal(str_puts(&s, "kept"), 0);
	for (int i = 0; i < 50; i++)
		str_printf(&s, "%d-----", i);
	assert_int_equal(s.error, -E2BIG);
	assert_true(s.len < 100 && strncmp(s.data, "kept", 4) == 0);
	str_free(&s);
}

static void what_a_terminal_would_obey_is_taken_out(void **state)
{
	char text[] = "caf\xc3\xa9\n\033[31mred\tend\x7f\xc2\x9b" "2J";

	str_make_printable(text);
	assert_string_equal(text, "caf\xc3\xa9 ?[31mred end???2J");
	str_make_printable(NULL);
}

/* A name in Latin-1, or cut off within a character: no JSON could carry it. */
static void what_is_no_utf_8_is_taken_out(void **state)
{
	char text[] = "\x9b" "31m caf\xe9 \xe2\x82\xac \xf0\x9f\x98\x80 \xc0\x80 \xed\xa0\x80 \xf5\x80\x80\x80 \xe2\x82";

	str_make_printable(text);
	assert_string_equal(text, "?31m caf? \xe2\x82\xac \xf0\x9f\x98\x80 ?? ??? ???? ??");
}

/* Texts are looked at eight bytes at a time: nothing hides at any place of them. */
static void utf_8_is_known_wherever_it_stands(void **state)
{
	static const struct {
		const char *bytes;
		bool good;
	} parts[] = {{"\xc3\xa9", true}, {"\xe2\x82\xac", true}, {"\xf0\x9f\x98\x80", true}, {"\x80", false}, {"\xff", false}, {"\xc3", false}, {"\xe2\x82", false}, {"\xed\xa0\x80", false}, {"\xc0\xaf", false}};

	(void)state;
	for (size_t n = 0; n <= 20; n++)
		for (size_t before = 0; before <= n; before++)
			for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
				char text[32];

				memset(text, 'a', sizeof(text));
				assert_true(str_is_utf8(text, n));
				memcpy(text + before, parts[i].bytes, strlen(parts[i].bytes));
				assert_int_equal(str_is_utf8(text, n + strlen(parts[i].bytes)), parts[i].good);
			}
}

/* "exe.\u202egpj": shown as "exe.jpg", and what stands after it on the line in reverse. */
static void what_reorders_a_line_is_taken_out(void **state)
{
	char text[] = "a\xe2\x80\xae" "b\xe2\x81\xa6" "c\xe2\x80\xa8" "d \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xe2\x80\x93";

	str_make_printable(text);
	assert_string_equal(text, "a???b???c???d \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xe2\x80\x93");
}

static void xml_has_entities(void **state)
{
	_cleanup_str_ struct str s = {};

	assert_int_equal(str_puts_xml(&s, "<a href=\"x\">&amp;"), 0);
	assert_string_equal(s.data, "&lt;a href=&quot;x&quot;&gt;&amp;amp;");
}

static void markup_escapes_its_texts_and_nothing_else(void **state)
{
	_cleanup_free_ char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	const char *volatile none = NULL; /* the compiler warns of a NULL that it sees */

	assert_non_null(out);
	str_print_markup(out, "<b>%s</b> %d of %zu, %.1f %%, %llu%c <i>%s</i>", "a<b", -3, (size_t)1 << 40, 2.25, 1ull << 40, '<', none);
	fclose(out);
	assert_string_equal(text, "<b>a&lt;b</b> -3 of 1099511627776, 2.2 %, 1099511627776< <i>?</i>");
}

static void sizes_are_read_as_people_write_them(void **state)
{
	uint64_t n = 0;

	assert_int_equal(str_parse_size("64M", &n), 0);
	assert_int_equal(n, 64 << 20);
	assert_int_equal(str_parse_size("2 GiB", &n), 0);
	assert_int_equal(n, 2ull << 30);
	assert_int_equal(str_parse_size("512", &n), 0);
	assert_int_equal(n, 512);
	assert_int_equal(str_parse_size("12x", &n), -EINVAL);
	assert_int_equal(str_parse_size("99999999999999T", &n), -EINVAL);
	assert_int_equal(str_parse_u64("18446744073709551616", &n), -ERANGE);
	assert_int_equal(str_parse_u64("1 ", &n), -EINVAL);
}

static void no_error_is_without_its_reason(void **state)
{
	assert_non_null(strstr(str_error(-E2BIG), "does not fit"));
	assert_string_equal(str_error(E2BIG), str_error(-E2BIG));
	assert_string_equal(str_error(-EACCES), strerror(EACCES));
	assert_null(strstr(str_error(0), "Success"));
}

static void lines_of_a_report_stay_lines(void **state)
{
	char text[] = "one\033[2J\ntwo\ttabs\n\nfour\xc2\x9b";

	str_make_lines_printable(text);
	assert_string_equal(text, "one?[2J\ntwo tabs\n\nfour??");
	str_make_lines_printable(NULL);
}

static void json_escapes_nothing_that_a_terminal_obeys(void **state)
{
	static const struct {
		const char *given, *made;
	} cases[] = {
		{"{\"a\": \"x\\u001b[2J\"}", "{\"a\": \"x\\u003f[2J\"}"},
		{"\"\\u009b\\u202e\\u2067\\u0000\"", "\"\\u003f\\u003f\\u003f\\u003f\""},
		{"\"\\n\\r\\b\\f\\t\"", "\"          \""},
		{"\"\\\\u001b \\\" \\/\"", "\"\\\\u001b \\\" \\/\""}, /* a backslash, then letters */
		{"\"\\u00e4 \\u20ac \\ud83d\\ude00\"", "\"\\u00e4 \\u20ac \\ud83d\\ude00\""},
		{"\"a\033b\nc\"", "\"a?b c\""},
		{"\"\\u00", "\"\\u00"},
		{"\"\\", "\"\\"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[80];

		snprintf(text, sizeof(text), "%s", cases[i].given);
		str_make_json_printable(text);
		assert_string_equal(text, cases[i].made);
	}
	str_make_json_printable(NULL);
}

static void a_misspelled_word_is_known(void **state)
{
	assert_true(str_is_misspelled("wyh", "why"));
	assert_true(str_is_misspelled("wy", "why"));
	assert_true(str_is_misspelled("whyy", "why"));
	assert_true(str_is_misspelled("histroyy", "history"));
	assert_false(str_is_misspelled("foo", "top"));
	assert_false(str_is_misspelled("hist", "history"));
	assert_false(str_is_misspelled("a-word-of-more-letters-than-any-of-ours-has", "why"));
}

RUN_TESTS(cmocka_unit_test(a_misspelled_word_is_known), cmocka_unit_test(utf_8_is_known_wherever_it_stands), cmocka_unit_test(no_error_is_without_its_reason), cmocka_unit_test(varints_come_back), cmocka_unit_test(a_blob_longer_than_the_rest_is_refused),
	  cmocka_unit_test(a_full_buffer_keeps_what_it_had), cmocka_unit_test(what_a_terminal_would_obey_is_taken_out), cmocka_unit_test(what_is_no_utf_8_is_taken_out),
	  cmocka_unit_test(what_reorders_a_line_is_taken_out), cmocka_unit_test(xml_has_entities),
	  cmocka_unit_test(markup_escapes_its_texts_and_nothing_else), cmocka_unit_test(lines_of_a_report_stay_lines),
	  cmocka_unit_test(json_escapes_nothing_that_a_terminal_obeys), cmocka_unit_test(sizes_are_read_as_people_write_them))
