/* JSON where it lies: what is found is what is written, and what is none is said, with its place. */
#include "lib/data/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/input/json-tape.h"

static const char span[] = "{ \"id\" : \"7\", \"tags\": [{\"key\": \"a\", \"value\": -1.5e3}, {\"key\": \"b\", \"value\": true}, [], {}, null],\n"
			   "  \"empty\": {}, \"text\": \"K\\u00f6ln \\ud83d\\ude00 \\\"\\\\\\/\\n\", \"start\": 1790000000000000000 } trailing";

static void test_values_are_found_by_their_keys(void **state)
{
	struct tape t = {};
	const struct tape_value *all, *tag;
	int64_t whole;
	size_t n = 0;

	assert_int_equal(tape_read(&t, span, strlen(span)), 0);
	assert_int_equal(t.end, strlen(span) - strlen(" trailing"));
	all = t.values.v;
	assert_true(tape_says(tape_get(all, "id"), "7"));
	assert_true(tape_whole(tape_get(all, "id"), &whole) && whole == 7);
	assert_true(tape_whole(tape_get(all, "start"), &whole) && whole == 1790000000000000000);
	assert_null(tape_get(all, "none"));
	assert_null(tape_get(tape_get(all, "none"), "more"));
	TAPE_EACH(v, tape_get(all, "tags"))
		n++;
	assert_int_equal(n, 5);
	TAPE_EACH(v, tape_get(all, "empty"))
		fail();
	TAPE_PAIRS(key, tape_get(all, "tags"))
		fail();
	tag = tape_get(all, "tags") + 1;
	assert_true(tape_number(tape_get(tag, "value")) == -1500);
	assert_true(tape_whole(tape_get(tag, "value"), &whole) && whole == -1500);
	assert_string_equal(tape_text(tape_get(tape_next(tag), "value"), &n) ? "text" : "none", "text");
	assert_int_equal(n, 4);
	tape_free(&t);
}

static void test_keys_come_with_their_values(void **state)
{
	static const char text[] = "{\"a\":[1,2],\"b\":{\"c\":3},\"d\":4}";
	struct tape t = {};
	char keys[8] = "";

	assert_int_equal(tape_read(&t, text, strlen(text)), 0);
	TAPE_PAIRS(key, t.values.v)
		strncat(keys, key->text, key->n);
	assert_string_equal(keys, "abd");
	assert_int_equal(tape_get(t.values.v, "b")->n, strlen("{\"c\":3}"));
	tape_free(&t);
}

static void test_escapes_are_what_they_mean(void **state)
{
	static const char meant[] = "K\xc3\xb6ln \xf0\x9f\x98\x80 \"\\/\n";
	static const char odd[] = "[\"\\ud800x\", \"\\u0000\", \"plain\"]";
	struct tape t = {};
	const struct tape_value *text;

	assert_int_equal(tape_read(&t, span, strlen(span)), 0);
	text = tape_get(t.values.v, "text");
	assert_int_equal(text->n, strlen(meant));
	assert_memory_equal(text->text, meant, strlen(meant));
	assert_int_equal(tape_read(&t, odd, strlen(odd)), 0);
	assert_true(tape_says(t.values.v + 1, "?x"));
	assert_true(tape_says(t.values.v + 2, "?"));
	assert_true(tape_says(t.values.v + 3, "plain"));
	assert_int_equal(t.repaired, 0);
	tape_free(&t);
}

/* Each beginning of a value is one that does not end, and nothing beyond it is read (the copy has its size). */
static void test_what_does_not_end_is_told_from_what_is_wrong(void **state)
{
	size_t n = strlen(span) - strlen(" trailing");
	struct tape t = {};

	for (size_t i = 0; i < n; i++) {
		char *copy = malloc(i + 1);

		assert_non_null(copy);
		memcpy(copy, span, i);
		assert_int_equal(tape_read(&t, copy, i), -ENODATA);
		free(copy);
	}
	tape_free(&t);
}

static void test_what_is_no_json_is_refused(void **state)
{
	static const char *const wrong[] = {"[1,]",	 "{\"a\" 1}",  "{\"a\":1,}",	  "[01 ]", "[1 2]", "{]",   "[}", "[nul]",
					    "[\"\\x\"]", "[\"a\tb\"]", "[\"\\u12g4\"]", "[1.]",  "[-]",   "[1e]", ",",  "[+1]"};
	struct tape t = {};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(tape_read(&t, wrong[i], strlen(wrong[i])), -EINVAL);
	tape_free(&t);
}

/* A reader continues at a whole line behind one that was cut off. */
static void test_what_is_cut_off_is_wrong_where_the_next_line_begins(void **state)
{
	static const char *const cut[] = {"{\"a\":1\n{\"b\":2}", "{\"a\":[1\n{\"b\":2}", "{\"a\":\"x\n{\"b\":2}", "{\"a\":{\"b\":{}\n{\"b\":2}"};
	struct tape t = {};

	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
		size_t line = (size_t)(strchr(cut[i], '\n') - cut[i]);

		assert_int_equal(tape_read(&t, cut[i], strlen(cut[i])), -EINVAL);
		assert_in_range(t.end, line, line + 1);
	}
	tape_free(&t);
}

static void test_bytes_that_are_no_text_are_replaced_and_told(void **state)
{
	static const char text[] = "[\"good \xc3\xb6\", \"b\xf6se\", \"\xc3\\n\"]";
	struct tape t = {};

	assert_int_equal(tape_read(&t, text, strlen(text)), 0);
	assert_true(tape_says(t.values.v + 1, "good \xc3\xb6"));
	assert_true(tape_says(t.values.v + 2, "b?se"));
	assert_int_equal(t.repaired, 14);
	tape_free(&t);
}

static void test_depth_costs_no_stack(void **state)
{
	enum { DEEP = 1000000 };
	char *text = malloc(2 * DEEP);
	struct tape t = {};

	assert_non_null(text);
	memset(text, '[', DEEP);
	memset(text + DEEP, ']', DEEP);
	assert_int_equal(tape_read(&t, text, 2 * DEEP), 0);
	assert_int_equal(t.values.n, DEEP);
	assert_int_equal(t.values.v[0].n, 2 * DEEP);
	free(text);
	tape_free(&t);
}

static void test_values_take_no_more_than_the_budget(void **state)
{
	enum { VALUES = 1 << 20 };
	char *text = malloc(2 * VALUES + 1);
	struct memory_budget budget = {.most = VALUES * sizeof(struct tape_value) / 2};
	struct tape t = {.budget = &budget};

	assert_non_null(text);
	for (size_t i = 0; i < VALUES; i++)
		memcpy(text + 2 * i, ",1", 2);
	text[0] = '[';
	text[2 * VALUES] = ']';
	assert_int_equal(tape_read(&t, text, 2 * VALUES + 1), -EDQUOT);
	assert_true(budget.used <= budget.most);
	tape_free(&t);
	assert_int_equal(budget.used, 0);
	t.budget = &budget;
	assert_int_equal(tape_read(&t, "[1, \"\\u0041\"]", 13), 0);
	tape_free(&t);
	assert_int_equal(budget.used, 0);
	free(text);
}

static void test_numbers_have_bounds(void **state)
{
	static const char text[] = "[9223372036854775807, 9223372036854775808, -3, \"12\", \"12x\", 1e30, 2.75]";
	static const bool known[] = {true, false, true, true, false, false, true};
	static const int64_t values[] = {INT64_MAX, 0, -3, 12, 0, 0, 2};
	struct tape t = {};
	int64_t whole;
	size_t i = 0;

	assert_int_equal(tape_read(&t, text, strlen(text)), 0);
	TAPE_EACH(v, t.values.v) {
		assert_int_equal(tape_whole(v, &whole), known[i]);
		if (known[i])
			assert_int_equal(whole, values[i]);
		i++;
	}
	assert_int_equal(i, 7);
	tape_free(&t);
}

RUN_TESTS(cmocka_unit_test(test_values_are_found_by_their_keys), cmocka_unit_test(test_keys_come_with_their_values),
	  cmocka_unit_test(test_escapes_are_what_they_mean), cmocka_unit_test(test_what_does_not_end_is_told_from_what_is_wrong),
	  cmocka_unit_test(test_what_is_no_json_is_refused), cmocka_unit_test(test_what_is_cut_off_is_wrong_where_the_next_line_begins), cmocka_unit_test(test_bytes_that_are_no_text_are_replaced_and_told),
	  cmocka_unit_test(test_depth_costs_no_stack), cmocka_unit_test(test_values_take_no_more_than_the_budget), cmocka_unit_test(test_numbers_have_bounds))
