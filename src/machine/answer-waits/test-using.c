/* Who has a terminal's foreground. */
#include "lib/data/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/answer-waits/using.h"

static char root[] = "/tmp/whyslow-using-XXXXXX";

static void put(unsigned pid, const char *stat)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u", root, pid);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%u/stat", root, pid);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(stat, f);
	fclose(f);
}

static void take_away(unsigned pid)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/%u/stat", root, pid);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%u", root, pid);
	rmdir(path);
}

static void the_group_that_has_the_terminal(void **state)
{
	assert_non_null(mkdtemp(root));
	put(1, "1 (a) b) S 90 812 790 34816 812 4194304\n"); /* foreground, with an unusual name */
	put(2, "2 (shell) S 90 790 790 34816 812 4194304\n"); /* the shell that started it */
	put(3, "3 (daemon) S 1 3 3 0 -1 4194304\n");
	put(4, "4 (torn");
	assert_true(using_in_foreground(root, 1));
	assert_false(using_in_foreground(root, 2));
	assert_false(using_in_foreground(root, 3));
	assert_false(using_in_foreground(root, 4));
	assert_false(using_in_foreground(root, 5));
	for (unsigned pid = 1; pid <= 4; pid++)
		take_away(pid);
	rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_group_that_has_the_terminal)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
