#include "lib/data/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "machine/process/describe.h"
#include "machine/tracefs/trace-words.h"

static void check_cgroup(const char *text, const char *unit, const char *container)
{
	char *got_unit, *got_container;

	describe_cgroup(text, &got_unit, &got_container);
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

	assert_int_equal(describe_live("/proc", (uint32_t)getpid(), 0, &text), 0);
	assert_non_null(strstr(text.exe, "test-process-describe"));
	assert_non_null(text.cmdline);
	process_text_free(&text);
	/* started in another second: a reused pid */
	assert_int_equal(describe_live("/proc", (uint32_t)getpid(), 12345, &text), -ESRCH);
	assert_int_equal(describe_live("/nonexistent", 1, 0, &text), -ESRCH);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static char *repeated(const char *head, const char *part, size_t bytes)
{
	char *text = calloc(1, bytes + strlen(head) + strlen(part) + 1);
	size_t n = strlen(head);

	strcpy(text, head);
	for (; n < bytes; n += strlen(part))
		strcpy(text + n, part);
	return text;
}

/* All that a user can make long: a name in the recording stays short, and still tells which program it is. */
static void long_texts_are_cut(void **state)
{
	char root[] = "/tmp/whyslow-describe-XXXXXX", dir[100], command[120];
	char *exe = repeated("/home", "/folder-of-a-stranger", 4000), *cgroup = repeated("0::", "/jobs-of-a-stranger", 1 << 20),
	     *cmdline = repeated("x", "yz", 3 << 20), *lxc = repeated("0::/lxc/", "n", 3000);
	struct process_text text;
	char *unit, *container;

	assert_non_null(mkdtemp(root));
	snprintf(dir, sizeof(dir), "%s/7", root);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(command, sizeof(command), "%s/exe", dir);
	assert_int_equal(symlink(exe, command), 0);
	write_file(dir, "cgroup", cgroup);
	write_file(dir, "cmdline", cmdline);
	assert_int_equal(describe_live(root, 7, 0, &text), 0);
	assert_int_equal(strlen(text.exe), NAME_TEXT_MAX);
	assert_string_equal(text.exe + NAME_TEXT_MAX - 11, "-a-stranger");
	assert_int_equal(strlen(text.unit), NAME_TEXT_MAX);
	assert_true(strlen(text.cmdline) <= CMDLINE_MAX + 4);
	process_text_free(&text);
	describe_cgroup(lxc, &unit, &container);
	assert_int_equal(strlen(container), NAME_TEXT_MAX);
	free(unit);
	free(container);
	free(exe);
	free(cgroup);
	free(cmdline);
	free(lxc);
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

/* A command line that cannot be read, as a pipe without a writer: what does not need it does not wait for it. */
static void a_program_is_described_without_its_memory(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct trace_thread thread = {.tid = 7, .tgid = 7};
	char root[] = "/tmp/whyslow-describe-XXXXXX", dir[100], path[120];

	assert_non_null(mkdtemp(root));
	snprintf(dir, sizeof(dir), "%s/7", root);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(path, sizeof(path), "%s/exe", dir);
	assert_int_equal(symlink("/usr/bin/blocked", path), 0);
	snprintf(path, sizeof(path), "%s/cmdline", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	write_file(dir, "cgroup", "0::/system.slice/blocked.service\n");
	assert_int_equal(trace_begin(&t, 1), 0);
	assert_int_equal(trace_add_thread(&t, &thread), 0);
	trace_describe_threads(root, 0, &t);
	assert_string_equal(t.threads.v[0].exe, "/usr/bin/blocked");
	assert_string_equal(t.threads.v[0].unit, "blocked.service");
	snprintf(path, sizeof(path), "rm -r %s", root);
	assert_int_equal(system(path), 0);
}

/* Where there are many, and an answer is waited for. */
static void of_many_those_are_described_that_did_something(void **state)
{
	static const struct event switches = {.time = 1, .thread = 8, .kind = EVENT_SWITCH, .out.next = 9};
	_cleanup_(trace_clear) struct trace t = {};
	char root[] = "/tmp/whyslow-describe-XXXXXX", path[120];

	assert_non_null(mkdtemp(root));
	assert_int_equal(trace_begin(&t, 1), 0);
	for (uint32_t pid = 7; pid <= 9; pid++) {
		snprintf(path, sizeof(path), "%s/%u", root, pid);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(path, sizeof(path), "%s/%u/exe", root, pid);
		assert_int_equal(symlink("/usr/bin/one", path), 0);
		assert_int_equal(trace_add_thread(&t, &(struct trace_thread){.tid = pid, .tgid = pid}), 0);
	}
	assert_int_equal(trace_add(&t, &switches), 0);
	trace_describe_threads(root, 2, &t);
	assert_null(t.threads.v[0].exe);
	assert_string_equal(t.threads.v[1].exe, "/usr/bin/one");
	assert_string_equal(t.threads.v[2].exe, "/usr/bin/one");
	snprintf(path, sizeof(path), "rm -r %s", root);
	assert_int_equal(system(path), 0);
}

RUN_TESTS(cmocka_unit_test(of_many_those_are_described_that_did_something), cmocka_unit_test(long_texts_are_cut), cmocka_unit_test(a_program_is_described_without_its_memory), cmocka_unit_test(units_and_containers_are_told_from_the_cgroup),
	  cmocka_unit_test(describes_itself))
