#include "lib/data/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "spans/store/span-store.h"

static char file[64];

static struct span_store *open_store(enum database_access access)
{
	_cleanup_free_ char *error = NULL;
	struct span_store *s = NULL;

	assert_int_equal(span_store_open(file, access, &s, &error), 0);
	return s;
}

static void put(struct span_store *s, const char *key, int64_t from, const char *bytes)
{
	const struct span_part part = {.key = key, .source = "test", .from = from, .to = from + 10, .requests = 1, .spans = 2,
				       .bytes = bytes, .n = strlen(bytes)};

	assert_int_equal(span_store_put(s, &part), 0);
}

static int gather(void *state, const struct span_part *part)
{
	strncat(state, part->bytes, part->n);
	return 0;
}

static void test_a_part_put_again_replaces_itself(void **state)
{
	struct span_store *s = open_store(DATABASE_CREATE);
	char seen[64] = "";

	(void)state;
	put(s, "b", 200, "second ");
	put(s, "a", 100, "lost ");
	put(s, "a", 100, "first ");
	assert_int_equal(span_store_each(s, 0, 1000, seen, gather), 0);
	assert_string_equal(seen, "first second ");
	seen[0] = '\0';
	assert_int_equal(span_store_each(s, 111, 1000, seen, gather), 0);
	assert_string_equal(seen, "second ");
	assert_int_equal(span_store_forget(s, 150), 0);
	seen[0] = '\0';
	assert_int_equal(span_store_each(s, 0, 1000, seen, gather), 0);
	assert_string_equal(seen, "second ");
	span_store_close(s);
}

static void test_a_window_is_complete_judged_and_reopened(void **state)
{
	struct span_store *s = open_store(DATABASE_CREATE);
	struct span_judged judged = {};
	int64_t part, later, requests, until = 0;

	(void)state;
	assert_int_equal(span_store_complete(s, &until), 0);
	assert_int_equal(span_store_set_complete(s, 4000), 0);
	assert_int_equal(span_store_complete(s, &until), 1);
	assert_int_equal(until, 4000);
	put(s, "window", 3000, "x");
	assert_int_equal(span_store_newest(s, 3000, 4000, &part, &requests), 0);
	assert_int_equal(requests, 1);
	assert_int_equal(span_store_judged(s, 1000, 3000, &judged), 0);
	assert_int_equal(span_store_judge(s, 1000, 3000, &(struct span_judged){1, part, 1}), 0);
	assert_int_equal(span_store_judged(s, 1000, 3000, &judged), 1);
	assert_true(judged.verdict == 1 && judged.part == part && judged.looks == 1);
	assert_int_equal(span_store_judged(s, 500, 3000, &judged), 0); /* another length is another window */
	put(s, "window, late", 3990, "y");
	assert_int_equal(span_store_newest(s, 3000, 4000, &later, &requests), 0);
	assert_true(later > part && requests == 2);
	assert_int_equal(span_store_forget(s, 5000), 0);
	assert_int_equal(span_store_judged(s, 1000, 3000, &judged), 0);
	assert_int_equal(span_store_newest(s, 3000, 4000, &later, &requests), 0);
	assert_true(later == 0 && requests == 0);
	assert_int_equal(span_store_set_complete(s, 0), 0);
	assert_int_equal(span_store_complete(s, &until), 0);
	span_store_close(s);
}

static void test_merged_parts_are_replaced_and_nothing_came_late(void **state)
{
	struct span_store *s = open_store(DATABASE_CREATE);
	const struct span_part whole = {.key = "hour", .source = "test", .from = 9000, .to = 9030, .requests = 2, .bytes = "both ", .n = 5};
	int64_t ids[2], requests;
	char seen[64] = "";

	(void)state;
	put(s, "minute 1", 9000, "one ");
	assert_int_equal(span_store_newest(s, 9000, 9010, &ids[0], &requests), 0);
	put(s, "minute 2", 9020, "two ");
	assert_int_equal(span_store_newest(s, 9010, 9100, &ids[1], &requests), 0);
	assert_int_equal(span_store_merge(s, ids, 2, &whole), 0);
	assert_int_equal(span_store_each(s, 9000, 9100, seen, gather), 0);
	assert_string_equal(seen, "both ");
	assert_int_equal(span_store_newest(s, 9000, 9100, &ids[0], &requests), 0);
	assert_true(ids[0] == ids[1] && requests == 2);
	span_store_close(s);
}

static void test_parts_put_together_are_all_there_or_none(void **state)
{
	struct span_store *s = open_store(DATABASE_CREATE);
	char seen[64] = "";

	(void)state;
	assert_int_equal(span_store_begin(s), 0);
	put(s, "far 1", 20000, "one ");
	put(s, "far 2", 20010, "two ");
	assert_int_equal(span_store_end(s, -EIO), -EIO);
	assert_int_equal(span_store_each(s, 20000, 20100, seen, gather), 0);
	assert_string_equal(seen, "");
	assert_int_equal(span_store_begin(s), 0);
	put(s, "far 1", 20000, "one ");
	put(s, "far 2", 20010, "two ");
	assert_int_equal(span_store_end(s, 0), 0);
	assert_int_equal(span_store_each(s, 20000, 20100, seen, gather), 0);
	assert_string_equal(seen, "one two ");
	span_store_close(s);
}

static void test_what_is_not_there_is_said(void **state)
{
	_cleanup_free_ char *error = NULL;
	struct span_store *s = NULL;

	(void)state;
	assert_int_equal(span_store_open("/nonexistent/spans.db", DATABASE_READONLY, &s, &error), -ENOENT);
	assert_non_null(strstr(error, "spans load"));
}

static int make_file(void **state)
{
	(void)state;
	strcpy(file, "/tmp/whyslow-span-store-XXXXXX");
	close(mkstemp(file));
	return 0;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_part_put_again_replaces_itself),
		cmocka_unit_test(test_a_window_is_complete_judged_and_reopened),
		cmocka_unit_test(test_merged_parts_are_replaced_and_nothing_came_late),
		cmocka_unit_test(test_parts_put_together_are_all_there_or_none),
		cmocka_unit_test(test_what_is_not_there_is_said),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
