#include "lib/data/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
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
	int64_t spared;

	put(s, "b", 200, "second ");
	put(s, "a", 100, "lost ");
	put(s, "a", 100, "first ");
	assert_int_equal(span_store_each(s, 0, 1000, seen, gather), 0);
	assert_string_equal(seen, "first second ");
	seen[0] = '\0';
	assert_int_equal(span_store_each(s, 111, 1000, seen, gather), 0);
	assert_string_equal(seen, "second ");
	assert_int_equal(span_store_forget(s, 245, 95, &spared), 0);
	assert_int_equal(spared, 0);
	seen[0] = '\0';
	assert_int_equal(span_store_each(s, 0, 1000, seen, gather), 0);
	assert_string_equal(seen, "second ");
	span_store_close(s);
}

static void test_a_window_is_complete_judged_and_reopened(void **state)
{
	struct span_store *s = open_store(DATABASE_CREATE);
	struct span_judged judged = {};
	int64_t part, later, requests, until = 0, spared;

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
	put(s, "newer", 9000, "z");
	assert_int_equal(span_store_forget(s, 10000, 4999, &spared), 0);
	assert_int_equal(span_store_judged(s, 1000, 3000, &judged), 0);
	assert_int_equal(span_store_newest(s, 3000, 4000, &later, &requests), 0);
	assert_true(later == 0 && requests == 0);
	assert_int_equal(span_store_set_complete(s, 0), 0);
	assert_int_equal(span_store_complete(s, &until), 0);
	span_store_close(s);
}

#define HOUR (3600 * NS_PER_SEC)
#define DAY  (24 * HOUR)

/* A part of half an hour, every half an hour. */
static void put_half_hours(struct span_store *s, int64_t from, int n)
{
	for (int i = 0; i < n; i++) {
		const int64_t begin = from + i * HOUR / 2;
		const struct span_part part = {.key = STR_TEXT(32, "%lld", (long long)begin), .source = "test", .from = begin, .to = begin + HOUR / 2, .requests = 1, .bytes = "x", .n = 1};

		assert_int_equal(span_store_put(s, &part), 0);
	}
}

static int count(void *state, const struct span_part *part)
{
	(void)part;
	++*(int *)state;
	return 0;
}

static int parts_of(struct span_store *s)
{
	int n = 0;

	assert_int_equal(span_store_each(s, 0, INT64_MAX, &n, count), 0);
	return n;
}

static void test_a_clock_that_is_ahead_forgets_nothing(void **state)
{
	struct span_store *s;
	int64_t spared;

	(void)state;
	unlink(file);
	s = open_store(DATABASE_CREATE);
	put_half_hours(s, 1000 * DAY, 10);
	assert_int_equal(span_store_forget(s, 1040 * DAY, 30 * DAY, &spared), 0);
	assert_int_equal(parts_of(s), 10);
	assert_int_equal(spared, 10);
	put_half_hours(s, 1040 * DAY, 4); /* and what is received by that clock */
	assert_int_equal(span_store_forget(s, 1040 * DAY + 2 * HOUR, 30 * DAY, &spared), 0);
	assert_int_equal(parts_of(s), 14);
	assert_int_equal(spared, 10);
	assert_int_equal(span_store_forget(s, 1040 * DAY + 2 * HOUR, HOUR, &spared), 0); /* the jump does not count, the two hours of parts after it do */
	assert_int_equal(parts_of(s), 3);
	assert_int_equal(spared, 0);
	span_store_close(s);
}

static void test_senders_ahead_make_nothing_old(void **state)
{
	struct span_store *s;
	int64_t spared;

	(void)state;
	unlink(file);
	s = open_store(DATABASE_CREATE);
	put_half_hours(s, 1000 * DAY, 10);
	for (int i = 1; i < 20; i++)
		put_half_hours(s, (1000 + 2 * i) * DAY, 4);
	assert_int_equal(span_store_forget(s, 1000 * DAY + 5 * HOUR, 30 * DAY, &spared), 0);
	assert_int_equal(parts_of(s), 10 + 19 * 4);
	assert_int_equal(spared, 0);
	span_store_close(s);
}

/* 80 MiB of zeros: some KB in the file. */
static void test_a_part_that_unpacks_to_more_than_its_size_buys_is_refused(void **state)
{
	const size_t n = (size_t)80 << 20;
	_cleanup_free_ void *zeros = calloc(1, n);
	const struct span_part part = {.key = "bomb", .source = "test", .requests = 1, .bytes = zeros, .n = n};
	struct span_store *s;
	int parts = 0;

	(void)state;
	unlink(file);
	s = open_store(DATABASE_CREATE);
	assert_int_equal(span_store_put(s, &part), 0);
	assert_int_equal(span_store_each(s, 0, INT64_MAX, &parts, count), -EDQUOT);
	assert_int_equal(parts, 0);
	assert_non_null(strstr(span_store_error(s), "more memory than a file of its size may"));
	span_store_close(s);
}

static void test_merged_parts_are_replaced_and_nothing_came_late(void **state)
{
	struct span_store *s = open_store(DATABASE_CREATE);
	const struct span_part whole = {.key = "hour", .source = "test", .from = 9000, .to = 9030, .requests = 2, .bytes = "both ", .n = 5};
	int64_t ids[2], requests;
	char seen[64] = "";

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

	assert_int_equal(span_store_open("/nonexistent/spans.db", DATABASE_READONLY, &s, &error), -ENOENT);
	assert_non_null(strstr(error, "spans load"));
}

static int make_file(void **state)
{
	strcpy(file, "/tmp/whyslow-span-store-XXXXXX");
	close(mkstemp(file));
	return 0;
}

static int remove_file(void **state)
{
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_part_put_again_replaces_itself),
		cmocka_unit_test(test_a_window_is_complete_judged_and_reopened),
		cmocka_unit_test(test_a_clock_that_is_ahead_forgets_nothing),
		cmocka_unit_test(test_senders_ahead_make_nothing_old),
		cmocka_unit_test(test_a_part_that_unpacks_to_more_than_its_size_buys_is_refused),
		cmocka_unit_test(test_merged_parts_are_replaced_and_nothing_came_late),
		cmocka_unit_test(test_parts_put_together_are_all_there_or_none),
		cmocka_unit_test(test_what_is_not_there_is_said),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
