/* Names of spans, services and attributes are chosen by who is recorded, and read on terminals. */
#include "spans/model/names.h"

#include <stdio.h>
#include <string.h>

#include "lib/data/test.h"
#include "spans/model/span.h"

static uint32_t put(struct names *names, const char *text)
{
	return names_text(names, text, strlen(text));
}

static void names_do_not_speak_to_a_terminal(void **state)
{
	struct names *names = names_new();

	assert_string_equal(names_get(names, put(names, "GET /\033]0;root#\a\n")), "GET /?]0;root#? ");
	assert_string_equal(names_get(names, put(names, "a\xc2\x9b" "2J")), "a??2J");
	assert_string_equal(names_get(names, names_text(names, "a\0b", 3)), "a?b");
	assert_string_equal(names_get(names, put(names, "Gr\xc3\xbc\xc3\x9f" "e")), "Gr\xc3\xbc\xc3\x9f" "e");
	names_free(names);
}

static void one_text_has_one_number(void **state)
{
	struct names *names = names_new();
	uint32_t first = put(names, "a\033b");

	assert_int_equal(put(names, "a\033b"), first);
	assert_int_equal(put(names, "a?b"), first);
	assert_int_equal(names_find(names, "a?b"), first);
	names_free(names);
}

/* The same bad value a thousand times is one value. */
static void values_are_counted_once(void **state)
{
	struct names *names = names_new();
	uint32_t key = put(names, "key");

	for (int i = 0; i < 2 * NAME_VALUES_MAX; i++)
		assert_string_equal(names_get(names, names_value(names, key, "v\033[2J", 5)), "v?[2J");
	assert_false(names_too_fine(names, key));
	names_free(names);
}

/* Operations that are named by ids: a server is to live with them for months. */
static void a_bounded_table_counts_further_texts_as_one(void **state)
{
	enum { MOST = 1000, GIVEN = 20000 };
	struct names *names = names_new();
	uint32_t others = 0, key = put(names, "key"), sets = 0;
	char text[40];

	assert_int_equal(names_bound(names, MOST), 0);
	assert_int_equal(names_others(names), 0);
	for (int i = 0; i < GIVEN; i++) {
		struct attribute a = {key, 0};
		uint32_t id;

		snprintf(text, sizeof(text), "GET /item/%d", i);
		id = put(names, text);
		assert_int_equal(put(names, text), id);
		others += !strcmp(names_get(names, id), NAME_OTHERS);
		a.value = (uint32_t)i + 1;
		sets += names_set(names, id, &a, 1) != 0;
	}
	assert_true(names_count(names) <= MOST + 1);
	assert_in_range(others, GIVEN - MOST, GIVEN - MOST + 3);
	assert_in_range(names_others(names), (GIVEN - MOST) * 98 / 100, (GIVEN - MOST) * 102 / 100);
	assert_int_equal(sets, MOST - 1);
	assert_string_equal(names_get(names, put(names, "GET /item/5")), "GET /item/5");
	names_free(names);
}

static void a_bounded_table_has_a_bound_of_bytes(void **state)
{
	enum { MOST = 1000 };
	struct names *names = names_new();
	char text[NAME_TEXT_MAX];

	assert_int_equal(names_bound(names, MOST), 0);
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < MOST; i++) {
		text[snprintf(text, sizeof(text), "%d", i)] = ' ';
		names_text(names, text, sizeof(text));
	}
	assert_in_range(names_count(names), MOST / 2, MOST * 3 / 4 + 2);
	names_free(names);
}

static void faults_do_not_speak_to_a_terminal(void **state)
{
	struct span_faults faults = {};

	span_fault(&faults, SPAN_FAULT_ID, "%s", "span \033[2J");
	assert_string_equal(faults.first[SPAN_FAULT_ID], "span ?[2J");
	span_assume(&faults, "%s", "'\033c' has no unit");
	assert_string_equal(faults.assumed, "'?c' has no unit");
}

RUN_TESTS(cmocka_unit_test(names_do_not_speak_to_a_terminal), cmocka_unit_test(one_text_has_one_number),
	  cmocka_unit_test(values_are_counted_once), cmocka_unit_test(a_bounded_table_counts_further_texts_as_one),
	  cmocka_unit_test(a_bounded_table_has_a_bound_of_bytes),
	  cmocka_unit_test(faults_do_not_speak_to_a_terminal))
