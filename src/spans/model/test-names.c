/* Names of spans, services and attributes are chosen by who is recorded, and read on terminals. */
#include "lib/data/names.h"

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

	(void)state;
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

	(void)state;
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

	(void)state;
	for (int i = 0; i < 2 * NAME_VALUES_MAX; i++)
		assert_string_equal(names_get(names, names_value(names, key, "v\033[2J", 5)), "v?[2J");
	assert_false(names_too_fine(names, key));
	names_free(names);
}

static void faults_do_not_speak_to_a_terminal(void **state)
{
	struct span_faults faults = {};

	(void)state;
	span_fault(&faults, SPAN_FAULT_ID, "%s", "span \033[2J");
	assert_string_equal(faults.first[SPAN_FAULT_ID], "span ?[2J");
	span_assume(&faults, "%s", "'\033c' has no unit");
	assert_string_equal(faults.assumed, "'?c' has no unit");
}

RUN_TESTS(cmocka_unit_test(names_do_not_speak_to_a_terminal), cmocka_unit_test(one_text_has_one_number),
	  cmocka_unit_test(values_are_counted_once), cmocka_unit_test(faults_do_not_speak_to_a_terminal))
