/* What backends of PostgreSQL say of themselves, in a tree that stands in for /proc. */
#include "lib/data/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/data/cleanup.h"
#include "machine/answer-live/hidden-lock.h"

static char tree[64];

static void put(unsigned pid, const char *name, const char *text)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u", tree, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%u/task", tree, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%u/task/%u", tree, pid, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%u/%s", tree, pid, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_backend(unsigned pid, unsigned parent, const char *title)
{
	char stat[64], name[64];

	snprintf(stat, sizeof(stat), "%u (postgres) S %u 1 1", pid, parent);
	snprintf(name, sizeof(name), "task/%u/stat", pid);
	put(pid, name, stat);
	put(pid, "cmdline", title);
	snprintf(name, sizeof(name), "task/%u/status", pid);
	snprintf(stat, sizeof(stat), "Name:\tpostgres\nNSpid:\t%u\n", pid);
	put(pid, name, stat);
}

static void grow(void)
{
	snprintf(tree, sizeof(tree), "/tmp/test-hidden-lock-XXXXXX");
	assert_non_null(mkdtemp(tree));
	put_backend(10, 1, "postgres: 15/main: checkpointer ");
	put_backend(11, 9, "postgres: alice shop [local] UPDATE waiting");
	put_backend(12, 9, "postgres: 15/main: bob shop 192.0.2.7(51234) idle in transaction");
	put_backend(13, 9, "postgres: carol shop [local] idle");
	put_backend(14, 9, "postgres: dave stock [local] idle in transaction");
	put_backend(15, 8, "postgres: eve shop [local] idle in transaction");
	put_backend(16, 9, "postgres: frank shop [local] SELECT");
}

static void fell(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r %s", tree);
	assert_int_equal(system(command), 0);
}

static void a_title_says_who_waits_and_who_may_hold(void **state)
{
	struct postgres_backend b;

	grow();
	assert_false(postgres_backend_read(tree, 10, &b));
	assert_true(postgres_backend_read(tree, 11, &b));
	assert_true(b.waits && !b.in_transaction);
	assert_string_equal(b.database, "shop");
	assert_true(postgres_backend_read(tree, 12, &b));
	assert_true(!b.waits && b.in_transaction);
	assert_string_equal(b.activity, "idle in transaction");
	assert_int_equal(live_inner_number(tree, 12, 12), 12);
	put(12, "task/12/status", "Name:\tpostgres\nNSpid:\t12\t7\n"); /* in a container */
	assert_true(postgres_backend_read(tree, 12, &b));
	assert_int_equal(live_inner_number(tree, 12, 12), 7);
	assert_true(postgres_backend_read(tree, 13, &b));
	assert_false(b.waits || b.in_transaction);
	fell();
}

/* Of the same server and database, the one that is idle in its transaction rather than one that executes. */
static void who_is_idle_in_a_transaction_blocks(void **state)
{
	struct live_thread t;

	grow();
	assert_int_equal(live_thread_read(tree, 11, 11, &t), 0);
	assert_int_equal(postgres_backend_blocker(tree, &t), 12);
	assert_int_equal(postgres_backend_numbered(tree, &t, 16), 16);
	assert_int_equal(postgres_backend_numbered(tree, &t, 15), 0); /* of another server */
	put_backend(12, 9, "postgres: bob shop 192.0.2.7(51234) idle");
	assert_int_equal(postgres_backend_blocker(tree, &t), 16);
	put_backend(13, 9, "postgres: carol shop [local] DELETE");
	assert_int_equal(postgres_backend_blocker(tree, &t), 0);
	fell();
}

RUN_TESTS(cmocka_unit_test(a_title_says_who_waits_and_who_may_hold), cmocka_unit_test(who_is_idle_in_a_transaction_blocks))
