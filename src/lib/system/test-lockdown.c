#include "lib/data/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/system/lockdown.h"

static void check_lockdown(const char *sys, const char *text, bool expected)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/kernel/security/lockdown", sys);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(lockdown_is_confidential(sys), expected);
}

static void confidentiality_is_told_from_the_other_levels(void **state)
{
	char sys[] = "/tmp/whyslow-lockdown-XXXXXX", path[100];

	assert_non_null(mkdtemp(sys));
	assert_false(lockdown_is_confidential(sys));
	snprintf(path, sizeof(path), "mkdir -p %s/kernel/security", sys);
	assert_int_equal(system(path), 0);
	check_lockdown(sys, "[none] integrity confidentiality\n", false);
	check_lockdown(sys, "none [integrity] confidentiality\n", false);
	check_lockdown(sys, "none integrity [confidentiality]\n", true);
	check_lockdown(sys, "", false);
	snprintf(path, sizeof(path), "rm -r %s", sys);
	assert_int_equal(system(path), 0);
}

RUN_TESTS(cmocka_unit_test(confidentiality_is_told_from_the_other_levels))
