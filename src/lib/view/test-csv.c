#include "lib/view/csv.h"

#include <stdio.h>

#include "lib/data/cleanup.h"
#include "lib/data/test.h"

/* A name of a process runs nothing in the table that its export is opened with. */
static void a_cell_is_not_a_formula(void **state)
{
	static const struct {
		const char *text, *cell;
	} cases[] = {{"=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""}, {"+1", "\"'+1\""}, {"-bash", "\"'-bash\""}, {"@SUM(A1)", "\"'@SUM(A1)\""},
		     {"\t=1", "\"'\t=1\""}, {"\r\n=1", "\"'\r\n=1\""}, {"\uff1d1", "\"'\uff1d1\""}, {"\uff20x", "\"'\uff20x\""}, {"\uff21", "\uff21"},
		     {"a=b", "a=b"}, {"a,\"b\"", "\"a,\"\"b\"\"\""}, {"", ""}, {NULL, ""}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *cell = NULL;
		size_t n;
		FILE *f = open_memstream(&cell, &n);

		csv_put_text(cases[i].text, f);
		fclose(f);
		assert_string_equal(cell, cases[i].cell);
	}
}

RUN_TESTS(cmocka_unit_test(a_cell_is_not_a_formula))
