#include "lib/data/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/formats/fleet-calls.h"

static int read_calls(const struct fleet *f, const char *text, struct fleet_calls *ret, char **ret_error)
{
	char path[] = "/tmp/whyslow-test-XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "%s", text) > 0);
	close(fd);
	r = fleet_calls_read(path, f, ret, ret_error);
	unlink(path);
	return r;
}

static void calls_as_lines_and_as_a_matrix(void **state)
{
	static const char *const forms[] = {
		"caller,callee\nfront,service\n\"service\", database\nnobody,front\n",
		"front\tservice\nservice\tdatabase\n",
		",front,service,elsewhere,database\nfront,0.0,1.0,1.0,0.0\nservice,0,0,1,1\ndatabase,0,0,0,0\nelsewhere,1,1,1,1\n",
	};
	struct fleet f = {};

	fleet_add_server(&f, "front");
	fleet_add_server(&f, "service");
	fleet_add_server(&f, "database");
	for (size_t i = 0; i < 3; i++) {
		struct fleet_calls calls;
		char *error = NULL;

		assert_int_equal(read_calls(&f, forms[i], &calls, &error), 0);
		assert_int_equal(calls.list.n, 2);
		assert_int_equal(calls.list.v[0].caller, 0);
		assert_int_equal(calls.list.v[0].callee, 1);
		assert_int_equal(calls.list.v[1].caller, 1);
		assert_int_equal(calls.list.v[1].callee, 2);
		VEC_FREE(calls.list);
	}
	fleet_free(&f);
}

static void calls_of_other_servers_are_an_error(void **state)
{
	struct fleet f = {};
	struct fleet_calls calls;
	char *error = NULL;

	fleet_add_server(&f, "front");
	assert_int_equal(read_calls(&f, "a,b\nfront,front\n\n,\n", &calls, &error), -EINVAL);
	assert_non_null(strstr(error, "no call between servers of this data"));
	free(error);
	error = NULL;
	assert_int_equal(fleet_calls_read("/nonexistent", &f, &calls, &error), -ENOENT);
	free(error);
	fleet_free(&f);
}

RUN_TESTS(cmocka_unit_test(calls_as_lines_and_as_a_matrix), cmocka_unit_test(calls_of_other_servers_are_an_error))
