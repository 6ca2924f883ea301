/* Waits by what their stacks say, and by who ended them. */
#include "lib/data/test.h"

#include "lib/data/cleanup.h"
#include "machine/answer-waits/wait-reasons.h"

static const struct {
	const char *functions[6];
	const char *words; /* NULL = nothing is known */
} waits[] = {
	{{"main", "take_gil", "futex_wait_[k]"}, "the interpreter's lock"},
	{{"thread", "take_gil", "pthread_cond_wait", "woken-by:python3"}, "the interpreter's lock"},
	{{"main", "read", "rwsem_down_read_slowpath_[k]", "schedule_[k]", "woken-by:cp"}, "the kernel's rwsem_down_read_slowpath"},
	{{"pthread_cond_wait", "futex_wait_[k]", "woken-by:GC Thread#3"}, "a collector"},
	{{"futex_wait_[k]", "futex_do_wait_[k]", "woken-by:worker 3"}, NULL},
	{{NULL}, NULL},
};

static void reasons_are_found(void **state)
{
	_cleanup_(signatures_free) struct signatures s = {};
	char *error;

	assert_int_equal(signatures_parse("gil | take_gil | the interpreter's lock\ngc | woken-by:GC?Thread#* | a collector\n", "test", &s, &error), 0);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		_cleanup_free_ char *words = NULL;
		size_t n = 0;

		while (waits[i].functions[n])
			n++;
		words = wait_reason_words(&s, waits[i].functions, n);
		if (waits[i].words)
			assert_string_equal(words, waits[i].words);
		else
			assert_null(words);
	}
}

RUN_TESTS(cmocka_unit_test(reasons_are_found))
