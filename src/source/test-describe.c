#include "base/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/describe.h"

static void check_cgroup(const char *text, const char *unit, const char *container)
{
	char *got_unit, *got_container;

	cgroup_names(text, &got_unit, &got_container);
	if (unit)
		assert_string_equal(got_unit, unit);
	else
		assert_null(got_unit);
	if (container)
		assert_string_equal(got_container, container);
	else
		assert_null(got_container);
	free(got_unit);
	free(got_container);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void units_and_containers_are_told_from_the_cgroup(void **state)
{
	(void)state;
	check_cgroup("0::/system.slice/nginx.service\n", "nginx.service", NULL);
	check_cgroup("0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-firefox.scope\n", "app-firefox.scope", NULL);
	check_cgroup("0::/\n", NULL, NULL);
	check_cgroup("9:name=systemd:/\n4:memory:/jobs/x1\n0::/\n", "/jobs/x1", NULL);
	check_cgroup("0::/system.slice/docker-" ID ".scope\n", "docker-" ID ".scope", "0123456789ab");
	check_cgroup("0::/docker/" ID "\n", "/docker/" ID, "0123456789ab");
	check_cgroup("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podaa_bb.slice/cri-containerd-" ID ".scope\n",
		     "cri-containerd-" ID ".scope", "podaa_bb/0123456789ab");
	check_cgroup("0::/kubepods/besteffort/podaa-bb/" ID "\n", "/kubepods/besteffort/podaa-bb/" ID, "podaa-bb/0123456789ab");
	check_cgroup("0::/system.slice/docker-f" ID ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podcc.slice/cri-containerd-" ID
		     ".scope\n", "cri-containerd-" ID ".scope", "podcc/0123456789ab");
	check_cgroup("0::/machine.slice/systemd-nspawn@deb.service/payload\n", "systemd-nspawn@deb.service", "deb");
	check_cgroup("0::/lxc/web1/init.scope\n", "init.scope", "web1");
}

static void describes_itself(void **state)
{
	struct process_text text;

	(void)state;
	assert_int_equal(process_describe("/proc", (uint32_t)getpid(), 0, &text), 0);
	assert_non_null(strstr(text.exe, "test-source-describe"));
	assert_non_null(text.cmdline);
	process_text_free(&text);
	/* started in another second: a reused pid */
	assert_int_equal(process_describe("/proc", (uint32_t)getpid(), 12345, &text), -ESRCH);
	assert_int_equal(process_describe("/nonexistent", 1, 0, &text), -ESRCH);
}

RUN_TESTS(cmocka_unit_test(units_and_containers_are_told_from_the_cgroup),
	  cmocka_unit_test(describes_itself))
