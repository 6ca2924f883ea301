#include "lib/data/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/formats/fleet-deployments.h"
#include "lib/data/clock.h"

static int read_text(const char *text, struct fleet_deployments *ret, char **ret_error)
{
	char path[] = "/tmp/whyslow-test-XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "%s", text) > 0);
	close(fd);
	r = fleet_deployments_read(path, ret, ret_error);
	unlink(path);
	return r;
}

static void lists_lines_and_tables_say_the_same(void **state)
{
	static const char *const forms[] = {
		"[{\"service\": \"cart\", \"version\": \"2.3\", \"commit_sha\": \"abc\", \"timestamp\": \"2026-11-20T14:00:00Z\"}, {\"package\": \"mail\", \"time\": 1795183260}]",
		"\n{\"service\": \"cart\", \"version\": \"2.3\", \"commit\": \"abc\", \"at\": \"2026-11-20 14:00\"}\n{\"component\": \"mail\", \"time\": 1795183260000}\n",
		"Time;Service;Commit;Version\n2026-11-20T14:00:00Z;cart;abc;2.3\n1795183260;\"mail\";;\n",
		"service,version,commit,deployed_at\r\ncart,2.3,abc,2026-11-20T15:00:00+01:00\r\nmail,,,1795183260\r\n",
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct fleet_deployments d;
		char *error = NULL;

		if (read_text(forms[i], &d, &error) < 0)
			fail_msg("%s", error);
		assert_int_equal(d.list.n, 2);
		assert_string_equal(d.list.v[0].service, "cart");
		assert_string_equal(d.list.v[0].version, "2.3");
		assert_string_equal(d.list.v[0].commit, "abc");
		assert_int_equal(d.list.v[0].time, 1795183200 * NS_PER_SEC);
		assert_string_equal(d.list.v[1].service, "mail");
		assert_int_equal(d.list.v[1].time, 1795183260 * NS_PER_SEC);
		fleet_deployments_free(&d);
	}
}

static void what_is_missing_is_said(void **state)
{
	static const char *const forms[] = {"[{\"service\": \"cart\"}]", "[{\"service\": \"cart\", \"time\": 1795183260}", "service,version\ncart,2.3\n", "\n", "[]", "{}", "[1, 2]",
					    "{\"service\": \"cart\", \"time\": 1795183260} and more"};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct fleet_deployments d;
		char *error = NULL;

		assert_int_equal(read_text(forms[i], &d, &error), -EINVAL);
		assert_non_null(strstr(error, "expected a list of"));
		free(error);
	}
}

RUN_TESTS(cmocka_unit_test(lists_lines_and_tables_say_the_same), cmocka_unit_test(what_is_missing_is_said))
