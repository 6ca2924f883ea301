#include "fleet/formats/test-intake.h"

#include <sys/wait.h>

extern const struct fleet_source fleet_source_pcp;

static void an_archive_tells_its_machine_and_its_kinds(void **state)
{
	struct loaded l = load_fixture(&fleet_source_pcp, "pcp/web-1");

	assert_int_equal(l.fleet->servers.n, 1);
	assert_string_equal(l.fleet->servers.v[0].name, "web-1");
	assert_int_equal(counter_named(&l, "kernel.all.cpu.user")->kind, FLEET_COUNTER);
	assert_string_equal(counter_named(&l, "kernel.all.cpu.user")->unit, "millisec");
	assert_int_equal(counter_named(&l, "kernel.all.load[1 minute]")->kind, FLEET_GAUGE);
	assert_int_equal(counter_named(&l, "disk.dev.read[vda]")->kind, FLEET_COUNTER);
	assert_true(l.fleet->interval > NS_PER_SEC * 9 / 10 && l.fleet->interval < NS_PER_SEC * 11 / 10);
	loaded_free(&l);
}

static void a_folder_of_archives_is_a_fleet(void **state)
{
	struct loaded l = load_fixture(&fleet_source_pcp, "pcp");

	assert_int_equal(l.fleet->servers.n, 1);
	loaded_free(&l);
}

static void no_archive_is_said(void **state)
{
	struct loaded l = load_location(&fleet_source_pcp, "/nowhere/arch");

	assert_int_equal(l.result, -ENOENT);
	assert_non_null(strstr(l.error, "no archive of pmlogger's"));
	loaded_free(&l);
}

static void copy_cut(const char *folder, const char *ending, size_t keep)
{
	char name[64], path[200];
	size_t n;
	const char *bytes;
	FILE *f;

	snprintf(name, sizeof(name), "pcp/web-1.%s", ending);
	bytes = read_fixture(name, &n);
	snprintf(path, sizeof(path), "%s/web-1.%s", folder, ending);
	f = fopen(path, "w");
	assert_non_null(f);
	fwrite(bytes, 1, n < keep ? n : keep, f);
	fclose(f);
}

/* An archive that a killed pmlogger or a full disk leaves behind: reported, and what can be read is. */
static void cut_off_archives_are_reported(void **state)
{
	char folder[] = "/tmp/whyslow-pcp-XXXXXX", command[64];

	assert_non_null(mkdtemp(folder));
	for (size_t keep = 0; keep < 1800; keep += 61) {
		struct loaded l;

		copy_cut(folder, "0", keep);
		copy_cut(folder, "meta", 1 << 16);
		copy_cut(folder, "index", 1 << 16);
		l = load_location(&fleet_source_pcp, folder);
		assert_int_equal(l.result, 0);
		loaded_free(&l);
		copy_cut(folder, "0", 1 << 16);
		copy_cut(folder, "meta", keep);
		l = load_location(&fleet_source_pcp, folder);
		assert_int_equal(l.result, 0);
		if (keep < 132)
			assert_true(intake_count(l.intake).bad > 0);
		loaded_free(&l);
	}
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static const char namespace_and_log[] =
	"cd %s && cat >names <<E\nroot { kernel mem }\nkernel { all }\nkernel.all { load 60:2:0 cpu }\n"
	"kernel.all.cpu { user 60:0:20 idle 60:0:23 }\nmem { physmem 60:1:9 }\nE\n"
	"cat >wanted <<E\nlog mandatory on 200 msec { kernel.all.cpu.user kernel.all.cpu.idle mem.physmem }\nE\n"
	"command -v pmlogger >/dev/null && pmlogger -o -n names -c wanted -s 8 -H live-1 -l log archive";

/* pmlogger of this machine, without pmcd: idle and user time of all CPUs, in ms each second, cannot be more than they are. */
static void pmlogger_writes_and_we_read(void **state)
{
	char folder[] = "/tmp/whyslow-pcp-XXXXXX", command[1000];
	struct loaded l;
	int status;

	assert_non_null(mkdtemp(folder));
	snprintf(command, sizeof(command), namespace_and_log, folder);
	status = system(command);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		const struct fleet_server *s;
		int idle, user;

		l = load_location(&fleet_source_pcp, folder);
		assert_int_equal(l.result, 0);
		s = &l.fleet->servers.v[0];
		assert_string_equal(s->name, "live-1");
		idle = fleet_find_counter(l.fleet, "kernel.all.cpu.idle");
		user = fleet_find_counter(l.fleet, "kernel.all.cpu.user");
		assert_true(s->n >= 5);
		for (uint32_t i = 1; i < s->n; i++)
			assert_true(s->column[idle][i] + s->column[user][i] < 1300.f * (float)sysconf(_SC_NPROCESSORS_ONLN));
		assert_int_equal(counter_named(&l, "kernel.all.cpu.idle")->kind, FLEET_COUNTER);
		loaded_free(&l);
	}
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		skip();
}

RUN_TESTS(cmocka_unit_test(an_archive_tells_its_machine_and_its_kinds), cmocka_unit_test(a_folder_of_archives_is_a_fleet),
	  cmocka_unit_test(no_archive_is_said), cmocka_unit_test(cut_off_archives_are_reported),
	  cmocka_unit_test(pmlogger_writes_and_we_read))
