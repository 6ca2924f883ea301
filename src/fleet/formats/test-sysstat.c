#include "fleet/formats/test-intake.h"

#include <sys/wait.h>

extern const struct fleet_source fleet_source_sysstat;

#define T 1795183801ll /* 2026-11-20T14:10:01Z */

static void members_become_part_of_the_name(void **state)
{
	struct loaded l = load_fixture(&fleet_source_sysstat, "sadf.json");

	check_at(&l, "web-1", "cpu-load.usr[all]", T, 1.5);
	check_at(&l, "web-1", "cpu-load.usr[all]", T + 600, 50);
	check_at(&l, "web-1", "cpu-load.sys[0]", T, 0.25);
	check_at(&l, "web-1", "memory.memfree", T + 600, 1024);
	check_at(&l, "web-1", "network.net-dev.rxkB[eth0]", T, 12.5);
	assert_true(isnan(value_at(&l, "web-1", "network.net-dev.rxkB[eth0]", (T + 600) * NS_PER_SEC)));
	assert_int_equal(counter_named(&l, "memory.memfree")->kind, FLEET_GAUGE);
	check_bad(&l, "record 2 has no date and time");
	loaded_free(&l);
}

static void damaged_files_do_no_harm(void **state)
{
	load_mutated(&fleet_source_sysstat, "sadf.json", 500);
}

/* sar's own collector writes three seconds; sadf must be called, and memory must be what /proc/meminfo says, about. */
static void sar_files_are_read_through_sadf(void **state)
{
	char path[] = "/tmp/whyslow-sa-XXXXXX", command[200];
	int fd = mkstemp(path), status;
	struct loaded l;

	close(fd);
	unlink(path);
	snprintf(command, sizeof(command), "command -v sadf >/dev/null && /usr/lib/sysstat/sadc 1 3 %s", path);
	status = system(command);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		skip();
	assert_true(fleet_source_sysstat.recognise(path) >= 90);
	l = load_location(&fleet_source_sysstat, path);
	unlink(path);
	assert_int_equal(l.result, 0);
	assert_int_equal(intake_count(l.intake).bad, 0);
	assert_int_equal(l.fleet->servers.n, 1);
	assert_int_equal(l.fleet->servers.v[0].n, 2);
	assert_true(l.fleet->counters.n > 30);
	assert_true(l.fleet->servers.v[0].column[fleet_find_counter(l.fleet, "memory.memused")][0] > 1000);
	loaded_free(&l);
}

static void a_damaged_sar_file_is_said(void **state)
{
	static const char bytes[] = "\x96\xd5\x75\x21 and nothing that sadf understands";
	char path[] = "/tmp/whyslow-sa-XXXXXX";
	int fd = mkstemp(path);
	struct loaded l;

	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(fd);
	l = load_location(&fleet_source_sysstat, path);
	assert_int_equal(l.result, 0);
	check_bad(&l, "sadf");
	unlink(path);
	loaded_free(&l);
}

RUN_TESTS(cmocka_unit_test(members_become_part_of_the_name), cmocka_unit_test(damaged_files_do_no_harm),
	  cmocka_unit_test(sar_files_are_read_through_sadf), cmocka_unit_test(a_damaged_sar_file_is_said))
