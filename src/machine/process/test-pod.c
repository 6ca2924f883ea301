#include "lib/data/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "machine/process/pod.h"

static void check_name(const char *logs, const char *container, const char *expected)
{
	char *name = pod_name(logs, container);

	if (expected)
		assert_string_equal(name, expected);
	else
		assert_null(name);
	free(name);
}

static void a_pod_has_the_name_of_its_logs(void **state)
{
	static const char *const folders[] = {"shop_cart-6d9f-x2x7q_0a1b-22", "shop_cart-6d9f-x2x7q_0a1b-2", "no-pod", "kube-system_etcd-n1_c0ffee"};
	char logs[] = "/tmp/whyslow-pods-XXXXXX", path[100];

	(void)state;
	assert_non_null(mkdtemp(logs));
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", logs, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	check_name(logs, "pod0a1b-22/0123456789ab", "shop/cart-6d9f-x2x7q/0123456789ab");
	check_name(logs, "pod0a1b_22/0123456789ab", "shop/cart-6d9f-x2x7q/0123456789ab");
	check_name(logs, "podc0ffee/0123456789ab", "kube-system/etcd-n1/0123456789ab");
	check_name(logs, "pod0a1b-2", NULL); /* no container in it */
	check_name(logs, "pod0a1b-3/0123456789ab", NULL);
	check_name(logs, "pod/0123456789ab", NULL);
	check_name(logs, "0123456789ab", NULL);
	check_name(logs, NULL, NULL);
	check_name("/nonexistent", "pod0a1b-22/0123456789ab", NULL);
	snprintf(path, sizeof(path), "rm -r %s", logs);
	assert_int_equal(system(path), 0);
}

RUN_TESTS(cmocka_unit_test(a_pod_has_the_name_of_its_logs))
