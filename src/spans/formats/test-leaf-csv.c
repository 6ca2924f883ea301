#include "spans/formats/leaf-csv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/test.h"

static const char table[] = "\xef\xbb\xbfmin,cdn,\"isp, long\",value,cnt\r\n"
			    "60,7,\"a \"\"b\"\"\",4,65\r\n"
			    "60,7,c,five,125\n"
			    "120,5,c,5\n"
			    "120,5,c,5,125\n"
			    "\n"
			    "120,7,c,-1,2\n";
static const struct leaf_columns columns = {.number = {"value", "cnt", NULL}, .time = "min"};

static int parse(const void *bytes, size_t n, const struct leaf_columns *wanted, struct leaf_csv *ret, char **ret_error)
{
	_cleanup_fclose_ FILE *in = fmemopen((void *)(uintptr_t)bytes, n, "r");

	return leaf_csv_read(in, "table", wanted, ret, ret_error);
}

static void rows_become_codes_and_numbers_and_bad_ones_are_located(void **state)
{
	struct leaf_csv csv;
	char *error = NULL;

	assert_int_equal(parse(table, sizeof(table) - 1, &columns, &csv, &error), 0);
	assert_int_equal(csv.rows.n, 2);
	assert_int_equal(csv.attributes.n, 2);
	assert_string_equal(csv.attributes.v[1].name, "isp, long");
	assert_string_equal(csv.attributes.v[1].values.v[csv.codes.v[1]], "a \"b\"");
	assert_string_equal(csv.times.v[csv.rows.v[1].time], "120");
	assert_true(csv.rows.v[1].number[LEAF_DENOMINATOR] == 125 && isnan(csv.rows.v[1].number[LEAF_EXPECTED]));
	assert_int_equal(csv.bad, 3);
	assert_string_equal(csv.first_bad, "table:3: not a number of zero or more: five");
	leaf_csv_free(&csv);
}

static void a_header_without_what_was_asked_for_is_refused(void **state)
{
	struct leaf_columns other = columns;
	struct leaf_csv csv;
	char *error = NULL;

	other.number[LEAF_EXPECTED] = "predict";
	assert_int_equal(parse(table, sizeof(table) - 1, &other, &csv, &error), -EINVAL);
	assert_string_equal(error, "table:1: the header has no column predict");
	free(error);
}

static void damaged_tables_never_crash(void **state)
{
	uint64_t seed = 5;

	for (int i = 0; i < 20000; i++) {
		char copy[sizeof(table)];
		char *error = NULL;
		struct leaf_csv csv;
		int e;

		memcpy(copy, table, sizeof(copy));
		for (int k = 0; k < 3; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			copy[(seed >> 33) % (sizeof(table) - 1)] = "\",\n\0x9"[seed >> 60 & 7 ? (seed >> 57) % 6 : 3];
		}
		e = parse(copy, 1 + (seed >> 20) % (sizeof(table) - 1), &columns, &csv, &error);
		assert_true(e == 0 || (e == -EINVAL && error));
		if (e == 0) {
			assert_int_equal(csv.codes.n, csv.rows.n * csv.attributes.n);
			leaf_csv_free(&csv);
		}
		free(error);
	}
}

RUN_TESTS(cmocka_unit_test(rows_become_codes_and_numbers_and_bad_ones_are_located),
	  cmocka_unit_test(a_header_without_what_was_asked_for_is_refused), cmocka_unit_test(damaged_tables_never_crash))
