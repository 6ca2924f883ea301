#include "lib/data/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "machine/rule/signature.h"

static const char *found(const struct signatures *s, const char *const *names, size_t n)
{
	const struct signature *x = signatures_find(s, names, n);

	return x ? x->name : "none";
}

#define FOUND(s, ...) found(s, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void built_in_ones_name_what_stacks_show(void **state)
{
	_cleanup_(signatures_free) struct signatures s = {};
	char *error;

	assert_int_equal(signatures_load("/nonexistent", &s, &error), 0);
	assert_string_equal(FOUND(&s, "main", "PyEval_EvalFrameDefault", "take_gil", "pthread_cond_timedwait", "futex_wait_[k]"), "python-gil");
	/* Debian's interpreter has no names for its own functions; what an extension waits for is not the interpreter's */
	assert_string_equal(FOUND(&s, "thread_run", "_PyEval_EvalFrameDefault", "python3.11+0x4f92c0", "pthread_cond_timedwait", "futex_wait_[k]"), "python-gil");
	assert_string_equal(FOUND(&s, "_PyEval_EvalFrameDefault", "python3.11+0x4f92c0", "THPEngine_run", "pthread_cond_timedwait"), "none");
	assert_string_equal(FOUND(&s, "JavaThread::run", "ObjectMonitor::enter", "os::PlatformEvent::park", "pthread_cond_timedwait"), "jvm-monitor");
	assert_string_equal(FOUND(&s, "Unsafe_Park", "Parker::park", "pthread_cond_wait"), "jvm-park");
	assert_string_equal(FOUND(&s, "worker", "uv_cond_wait", "pthread_cond_wait"), "node-idle");
	assert_string_equal(FOUND(&s, "worker", "compute", "uv_cond_wait", "pthread_cond_wait"), "none");
	assert_string_equal(FOUND(&s, "PostgresMain", "heap_lock_tuple", "ProcSleep", "epoll_wait"), "postgresql-heavy-lock");
	assert_string_equal(FOUND(&s, "main", "work", "__libc_malloc", "__lll_lock_wait_private", "futex_wait_[k]"), "allocator");
	assert_string_equal(FOUND(&s, "main", "fsync", "ext4_sync_file_[k]", "jbd2_log_wait_commit_[k]", "schedule_[k]"), "journal");
	assert_string_equal(FOUND(&s, "main", "poll", "schedule_[k]"), "none");
}

static void functions_match_in_their_order(void **state)
{
	_cleanup_(signatures_free) struct signatures s = {};
	char *error;

	assert_int_equal(signatures_parse("# mine\n\n mine | outer* inner_[k] | my wait \n", "mine", &s, &error), 0);
	assert_int_equal(s.list.n, 1);
	assert_string_equal(s.list.v[0].words, "my wait");
	assert_string_equal(FOUND(&s, "outer_function", "between", "inner_[k]"), "mine");
	assert_string_equal(FOUND(&s, "inner_[k]", "outer_function"), "none");
	assert_string_equal(FOUND(&s, "outer_function", "inner_k"), "none");
	assert_int_equal(signatures_parse("direct | outer >next* inner | my wait\n", "mine", &s, &error), 0);
	assert_string_equal(FOUND(&s, "outer", "next_function", "between", "inner"), "direct");
	assert_string_equal(FOUND(&s, "outer", "other", "outer", "next_function", "inner"), "direct");
	assert_string_equal(FOUND(&s, "outer", "between", "next_function", "inner"), "none");
}

static void what_is_wrong_is_located(void **state)
{
	static const char *const wrong[] = {"a\n", "a | b\n", "a || c\n", " | b | c\n", "a | b | \n", "a | b c d e f g h i j | k\n"};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_(signatures_free) struct signatures s = {};
		_cleanup_free_ char *text = NULL, *error = NULL;

		assert_true(asprintf(&text, "good | f | words\n%s", wrong[i]) > 0);
		assert_int_equal(signatures_parse(text, "mine", &s, &error), -EINVAL);
		assert_non_null(strstr(error, "mine:2: "));
	}
}

static void a_users_own_come_first(void **state)
{
	_cleanup_(signatures_free) struct signatures s = {};
	char folder[] = "/tmp/whyslow-signatures-XXXXXX", path[64], *error;
	FILE *f;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/mine", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("our-lock | take_gil | the lock of our interpreter\n", f);
	fclose(f);
	assert_int_equal(signatures_load(folder, &s, &error), 0);
	assert_string_equal(FOUND(&s, "main", "take_gil"), "our-lock");
	unlink(path);
	rmdir(folder);
}

RUN_TESTS(cmocka_unit_test(built_in_ones_name_what_stacks_show), cmocka_unit_test(functions_match_in_their_order),
	  cmocka_unit_test(what_is_wrong_is_located), cmocka_unit_test(a_users_own_come_first))
