/* Waits by what their stacks say, of trees that a test makes up. */
#include "lib/data/test.h"

#include "lib/data/cleanup.h"
#include "machine/answer-waits/wait-reasons.h"

static void add(struct path_tree *t, uint64_t ns, const char *const *names, size_t n)
{
	assert_int_equal(path_tree_add(t, names, n, ns), 0);
}

#define ADD(t, ns, ...) add(t, ns, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void waits_are_summed_by_their_reason(void **state)
{
	_cleanup_(wait_reasons_free) struct wait_reasons r = {};
	_cleanup_(signatures_free) struct signatures s = {};
	struct path_tree t = {};
	char *error;

	(void)state;
	assert_int_equal(signatures_parse("gil | take_gil | the interpreter's lock\n", "test", &s, &error), 0);
	ADD(&t, 300, "python3", "main", "take_gil", "futex_wait_[k]", "[waiting]");
	ADD(&t, 200, "python3", "thread", "take_gil", "pthread_cond_wait", "[waiting]");
	ADD(&t, 90, "python3", "main", "read", "rwsem_down_read_slowpath_[k]", "schedule_[k]", "[waiting]");
	ADD(&t, 10, "python3", "[waiting]");
	assert_int_equal(wait_reasons_make(&t, &s, &r), 0);
	assert_int_equal(r.ns, 600);
	assert_int_equal(r.list.n, 3);
	assert_int_equal(r.list.v[0].kind, REASON_SIGNATURE);
	assert_int_equal(r.list.v[0].ns, 500);
	assert_string_equal(r.list.v[0].words, "the interpreter's lock");
	assert_int_equal(r.list.v[1].kind, REASON_KERNEL);
	assert_string_equal(r.list.v[1].name, "rwsem_down_read_slowpath");
	assert_int_equal(r.list.v[2].kind, REASON_UNKNOWN);
	assert_int_equal(r.list.v[2].ns, 10);
	path_tree_free(&t);
}

RUN_TESTS(cmocka_unit_test(waits_are_summed_by_their_reason))
