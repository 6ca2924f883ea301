#include "base/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/span-store.h"

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
		cmocka_unit_test(test_what_is_not_there_is_said),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
