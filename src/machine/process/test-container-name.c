#include "lib/data/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "machine/process/container-name.h"

#define ID     "0123456789ab"
#define NUMBER ID "cdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char root[] = "/tmp/whyslow-containers-XXXXXX";

static int begin(void **state)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

/* The folders of a path below the root are made, too. */
static void put_file(const char *path, const char *text)
{
	char full[500];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(full, 0700);
		*at = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void check_name(const char *container, const char *expected)
{
	char *name = container_name(root, container);

	if (expected)
		assert_string_equal(name, expected);
	else
		assert_null(name);
	free(name);
}

static void a_container_of_a_pod_has_the_names_of_its_logs(void **state)
{
	put_file("/var/log/pods/shop_cart-6d9f-x2x7q_0a1b-22/x", "");
	put_file("/var/log/pods/shop_cart-6d9f-x2x7q_0a1b-2/x", "");
	put_file("/var/log/pods/kube-system_etcd-n1_c0ffee/x", "");
	put_file("/var/log/pods/no-pod/x", "");
	check_name("pod0a1b-22/" ID, "shop/cart-6d9f-x2x7q/" ID);
	check_name("pod0a1b_22/" ID, "shop/cart-6d9f-x2x7q/" ID);
	check_name("podc0ffee/" ID, "kube-system/etcd-n1/" ID);
	check_name("pod0a1b-2", NULL); /* no container in it */
	check_name("pod0a1b-3/" ID, NULL);
	check_name("pod/" ID, NULL);
	check_name(ID, NULL);
	check_name(NULL, NULL);
	put_file("/var/log/containers/cart-6d9f-x2x7q_shop_web-server-" NUMBER ".log", "");
	put_file("/var/log/containers/other_shop_web-f" NUMBER ".log", "");
	check_name("pod0a1b-22/" ID, "shop/cart-6d9f-x2x7q/web-server");
	check_name("pod0a1b-22/ffffffffffff", "shop/cart-6d9f-x2x7q/ffffffffffff");
	check_name(ID, "shop/cart-6d9f-x2x7q/web-server"); /* where the control group does not tell of a pod */
}

static void docker_keeps_its_names_in_a_folder_each(void **state)
{
	put_file("/var/lib/docker/containers/" NUMBER "/config.v2.json",
		 "{\"Config\":{\"Env\":[\"X={\\\"Name\\\":\\\"/false\\\"}\"]},\"RestartPolicy\":{\"Name\":\"always\"},\"Name\":\"/web_1\"}");
	check_name(ID, "web_1");
	check_name("0123456789ac", NULL);
	put_file("/var/lib/docker/containers/" NUMBER "/config.v2.json", "{\"Name\":\"/we b\"}");
	check_name(ID, NULL);
}

static void podman_keeps_its_names_in_one_file(void **state)
{
	put_file("/var/lib/containers/storage/overlay-containers/containers.json",
		 "[{\"id\":\"" ID "00\",\"image\":\"x\"},{\"id\":\"ffffffffffff00\",\"names\":[\"db\"],\"metadata\":\"{\\\"id\\\":\\\"" ID "\\\"}\"}]");
	check_name("ffffffffffff", "db");
	check_name(ID, NULL); /* the next one's name is not its own */
	put_file("/run/containers/storage/overlay-containers/volatile-containers.json", "[{\"id\":\"" NUMBER "\",\"names\":[\"web\"]}]");
	check_name(ID, "web");
}

RUN_TESTS(cmocka_unit_test_setup_teardown(a_container_of_a_pod_has_the_names_of_its_logs, begin, end),
	  cmocka_unit_test_setup_teardown(docker_keeps_its_names_in_a_folder_each, begin, end),
	  cmocka_unit_test_setup_teardown(podman_keeps_its_names_in_one_file, begin, end))
