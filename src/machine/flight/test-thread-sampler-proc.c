#include "lib/data/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/flight/thread-sampler-proc.h"

static char root[] = "/tmp/whyslow-look-XXXXXX";

struct seen {
	struct capture_thread threads[8];
	unsigned n;
};

static void keep(const struct capture_thread *t, const uint64_t *user, void *data)
{
	struct seen *seen = data;

	(void)user;
	assert_true(seen->n < 8);
	seen->threads[seen->n++] = *t;
}

static void put(const char *tid, const char *name, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/4711/task/%s", root, tid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/4711/task/%s/%s", root, tid, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static const struct capture_thread *find(const struct seen *seen, unsigned tid)
{
	for (unsigned i = 0; i < seen->n; i++)
		if (seen->threads[i].tid == tid)
			return &seen->threads[i];
	fail_msg("thread %u is not there", tid);
	return NULL;
}

static struct seen look(unsigned *ret_missing)
{
	struct seen seen = {};
	const struct thread_sampler_callbacks callbacks = {keep, &seen};
	const char *missing[THREAD_SAMPLER_MISSING_MAX];
	struct capture_thread scratch = {};
	struct thread_sampler_proc *l;
	int n;

	assert_int_equal(thread_sampler_proc_open(root, 4711, 99, &l), 0);
	n = thread_sampler_proc_read(l, &scratch, &callbacks);
	assert_int_equal(n, seen.n);
	*ret_missing = thread_sampler_proc_missing(l, missing);
	thread_sampler_proc_close(l);
	return seen;
}

static void threads_are_read_from_proc(void **state)
{
	unsigned missing;
	struct seen seen;
	const struct capture_thread *t;

	put("4711", "stat", "4711 (a (b) c) S 1 4711 4711 0 -1 4194304 95 0 0 0 7 3 0 0 20 0 9 0 1234 8 0\n");
	put("4711", "schedstat", "123456789 1000 12\n");
	put("4711", "syscall", "7 0x7ffd00 0x1 0x2710 0x8 0x0 0x3 0x7ffd32f0 0x7f1c9a\n");
	put("4711", "wchan", "do_sys_poll");
	put("4712", "stat", "4712 (busy) R 1 4711 4711 0 -1 4194304 95 0 0 0 70 30 0 0 20 0 9 0 1300 8 0\n");
	put("4712", "schedstat", "1000000000 2000 13\n");
	put("4712", "syscall", "running\n");
	put("4712", "wchan", "0");
	put("4713", "stat", "4713 (faulting) D 1 4711 4711 0 -1 4194304 95 0 0 0 0 0 0 0 20 0 9 0 1300 8 0\n");
	put("4713", "schedstat", "5 6 7\n");
	put("4713", "syscall", "-1 0x7ffd3000 0x55aa\n");
	put("4713", "wchan", "folio_wait_bit_common");
	put("4714", "stat", "4714 (gone) Z 1 4711 4711 0 -1 4194304 95 0 0 0 0 0 0 0 20 0 9 0 1300 8 0\n");
	seen = look(&missing);
	assert_int_equal(seen.n, 3); /* the ended one is none */

	t = find(&seen, 4711);
	assert_string_equal(t->comm, "a (b) c");
	assert_int_equal(t->state, CAPTURE_SLEEPING);
	assert_int_equal(t->syscall, 7);
	assert_int_equal(t->argument, 0x7ffd00);
	assert_int_equal(t->cpu_ns, 123456789);
	assert_int_equal(t->ready_ns, 1000);
	assert_int_equal(t->start_ns, 1234ull * 1000000000 / (unsigned long long)sysconf(_SC_CLK_TCK));
	assert_string_equal(t->waits_in, "do_sys_poll");
	assert_true(t->has_registers);
#if defined(__x86_64__)
	assert_int_equal(t->registers[7], 0x7ffd32f0);
	assert_int_equal(t->registers[16], 0x7f1c9a);
#endif
	t = find(&seen, 4712);
	assert_int_equal(t->state, CAPTURE_RUNNING);
	assert_false(t->has_registers);
	assert_string_equal(t->waits_in, "");
	t = find(&seen, 4713);
	assert_int_equal(t->state, CAPTURE_BLOCKED);
	assert_int_equal(t->syscall, -1);
	assert_true(t->has_registers);
}

static void what_is_not_there_is_said(void **state)
{
	unsigned whole, less;
	char path[200];
	struct seen seen;

	seen = look(&whole);
	snprintf(path, sizeof(path), "%s/4711/task/4712/schedstat", root);
	assert_int_equal(unlink(path), 0);
	seen = look(&less);
	assert_int_equal(less, whole + 1);
	/* the clock tick's time stands in: 70 + 30 ticks */
	assert_int_equal(find(&seen, 4712)->cpu_ns, 100ull * 1000000000 / (unsigned long long)sysconf(_SC_CLK_TCK));
}

/* Whatever stands there, it is read or left out. */
static void odd_text_does_no_harm(void **state)
{
	static const char *const odd[] = {"", "4712", "4712 (", "4712 ()", "4712 (x) R 1 2 3", ")(", "-1 ", "999999999999 0x 0x", "\n\n"};
	unsigned missing;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		put("4712", "stat", odd[i]);
		assert_int_equal(look(&missing).n, 2);
	}
	put("4712", "stat", "4712 (busy) S 1 4711 4711 0 -1 4194304 95 0 0 0 70 30 0 0 20 0 9 0 1300 8 0\n");
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct seen seen;

		put("4712", "syscall", odd[i]);
		put("4712", "schedstat", odd[i]);
		put("4712", "wchan", odd[i]);
		seen = look(&missing);
		assert_int_equal(seen.n, 3);
		assert_false(find(&seen, 4712)->has_registers);
	}
}

static void nobody_there(void **state)
{
	struct thread_sampler_proc *l;

	assert_int_equal(thread_sampler_proc_open(root, 4712, 99, &l), -ESRCH);
}

static int set_up(void **state)
{
	char path[200];

	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/4711", root);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/4711/task", root);
	return mkdir(path, 0755);
}

static int tear_down(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_read_from_proc),
		cmocka_unit_test(what_is_not_there_is_said),
		cmocka_unit_test(odd_text_does_no_harm),
		cmocka_unit_test(nobody_there),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
