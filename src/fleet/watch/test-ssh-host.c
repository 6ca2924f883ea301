/* A script stands in for ssh: the other machine's shell is this one's. */
#include "fleet/watch/ssh-host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/test.h"

static char folder[] = "/tmp/test-ssh-host-XXXXXX";

static void write_script(const char *name, const char *text)
{
	_cleanup_free_ char *path = NULL;
	FILE *f;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", text);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
}

static int set_up(void **state)
{
	char *ssh;

	assert_non_null(mkdtemp(folder));
	assert_true(asprintf(&ssh, "%s/ssh -F none", folder) > 0);
	setenv("WHYSLOW_SSH", ssh, 1);
	free(ssh);
	write_script("ssh", "echo \"$*\" >\"${0%/*}/asked\"\nwhile [ \"$1\" != -- ]; do shift; done\nPATH=${0%/*}:$PATH exec sh -c \"$3\"");
	write_script("whyslow", "[ \"$1\" != fail ] || { echo 'whyslow: no recorder' >&2; exit 3; }\n[ \"$1\" != sleep ] || exec sleep 5\nprintf '%s|' \"$@\"");
	return 0;
}

static int tear_down(void **state)
{
	_cleanup_free_ char *command = NULL;

	return asprintf(&command, "rm -rf %s", folder) < 0 || system(command); /* NOLINT(cert-env33-c): the name is mkdtemp()'s */
}

static int ask(const char *url, const char *a, const char *b, struct str *ret, char **ret_error)
{
	const char *words[] = {a, b};

	return ssh_host_ask(url, b ? 2 : 1, words, 5 * NS_PER_SEC, ret, ret_error);
}

static void words_arrive_as_they_are(void **state)
{
	_cleanup_str_ struct str text = {};
	_cleanup_free_ char *error = NULL;

	assert_int_equal(ask("ssh://web-1", "why", "it's $(touch x); `id` \"*\" \\", &text, &error), 0);
	assert_string_equal(text.data, "why|it's $(touch x); `id` \"*\" \\|");
}

static void failures_have_their_reason(void **state)
{
	_cleanup_str_ struct str text = {};
	_cleanup_free_ char *there = NULL, *missing = NULL, *named = NULL, *port = NULL;

	assert_int_equal(ask("ssh://web-1", "fail", NULL, &text, &there), -EREMOTEIO);
	assert_string_equal(there, "no recorder");
	assert_int_equal(ask("ssh://-oProxyCommand=id", "why", NULL, &text, &named), -EINVAL);
	assert_int_equal(ask("ssh://web-1:22x", "why", NULL, &text, &port), -EINVAL);
	setenv("WHYSLOW_SSH", "/nowhere/ssh", 1);
	assert_int_equal(ask("ssh://web-1", "why", NULL, &text, &missing), -EREMOTEIO);
	assert_int_equal(text.len, 0);
}

static void a_silent_host_is_left(void **state)
{
	const char *words[] = {"sleep"};
	_cleanup_str_ struct str text = {};
	_cleanup_free_ char *error = NULL;

	assert_int_equal(ssh_host_ask("ssh://web-1", 1, words, 300 * NS_PER_MS, &text, &error), -ETIMEDOUT);
	assert_string_equal(error, "no answer within 300 ms");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(words_arrive_as_they_are), cmocka_unit_test(a_silent_host_is_left), cmocka_unit_test(failures_have_their_reason)};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
