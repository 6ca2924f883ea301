/* A process's memory by what it is of, from a file as the kernel writes it. */
#include "lib/data/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "machine/answer-inspect/memory-summary.h"

#define MAPPING(range, name, size, rss, anonymous, swap)                                                                                   \
	range " rw-p 00000000 fd:00 12 " name "\nSize: " #size " kB\nKernelPageSize: 4 kB\nRss: " #rss " kB\nAnonymous: " #anonymous       \
	      " kB\nAnonHugePages: 999 kB\nSwap: " #swap " kB\nSwapPss: 7 kB\nVmFlags: rd mr\n"

static char root[] = "/tmp/whyslow-smaps-XXXXXX";

static void put(const char *text)
{
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "%s/7", root);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/7/smaps", root);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void mappings_are_summed_by_name(void **state)
{
	struct inspection n = {};

	put(MAPPING("00400000-00500000", "/usr/bin/a program", 100, 40, 0, 0) MAPPING("7f00-7f10", "", 5000, 3000, 3000, 100)
		    MAPPING("00500000-00600000", "/usr/bin/a program", 10, 4, 4, 0) MAPPING("7f20-7f30", "[heap]", 2000, 10, 10, 1900)
			    MAPPING("7f30-7f40", "", 10, 5, 5, 0));
	assert_int_equal(memory_summary_read(root, 7, &n), 0);
	assert_int_equal(n.memory.n, 3);
	assert_string_equal(n.memory.v[0].name, "anonymous");
	assert_int_equal(n.memory.v[0].mappings, 2);
	assert_int_equal(n.memory.v[0].size, 5010 << 10);
	assert_int_equal(n.memory.v[0].resident, 3005 << 10);
	assert_int_equal(n.memory.v[0].swapped, 100 << 10);
	assert_string_equal(n.memory.v[1].name, "[heap]");
	assert_string_equal(n.memory.v[2].name, "/usr/bin/a program");
	assert_int_equal(n.memory.v[2].anonymous, 4 << 10);
	inspection_free(&n);
}

static void many_become_one(void **state)
{
	struct inspection n = {};
	char text[64 * 1024];
	size_t at = 0;

	for (int i = 0; i < 40; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%x-%x r--p 0 0:0 0 /lib/%d.so\nSize: 4 kB\nRss: %d kB\n", i, i + 1, i, i + 1);
	put(text);
	assert_int_equal(memory_summary_read(root, 7, &n), 0);
	assert_int_equal(n.memory.n, MEMORY_KINDS_SHOWN + 1);
	assert_string_equal(n.memory.v[0].name, "/lib/39.so");
	assert_string_equal(n.memory.v[MEMORY_KINDS_SHOWN].name, "25 others");
	assert_int_equal(n.memory.v[MEMORY_KINDS_SHOWN].mappings, 25);
	assert_int_equal(n.memory.v[MEMORY_KINDS_SHOWN].resident, (25 * 26 / 2) << 10);
	inspection_free(&n);
}

static void one_that_is_gone_has_none(void **state)
{
	struct inspection n = {};

	assert_int_equal(memory_summary_read(root, 8, &n), -ESRCH);
	assert_int_equal(n.memory.n, 0);
}

static int make(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static int clear(void **state)
{
	char command[120];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(mappings_are_summed_by_name), cmocka_unit_test(many_become_one), cmocka_unit_test(one_that_is_gone_has_none)};

	return cmocka_run_group_tests(tests, make, clear);
}
