/* A start that nothing recorded, by what a machine keeps of it itself. */
#include "machine/answer-history/boot-late.h"

#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/test.h"
#include "machine/process/start-record.h"

static const char manager[] = "Version=252\nFirmwareTimestampMonotonic=6000000\nLoaderTimestampMonotonic=2000000\n"
			      "UserspaceTimestampMonotonic=3000000\nFinishTimestampMonotonic=41000000\n";
/* The network is waited for; a slow unit that nothing waits for, and one that began long after the start, are not. */
static const char units[] =
	"Id=multi-user.target\nInactiveExitTimestampMonotonic=41000000\nActiveEnterTimestampMonotonic=41000000\nAfter=basic.target postgresql.service\n\n"
	"Id=postgresql.service\nInactiveExitTimestampMonotonic=37000000\nActiveEnterTimestampMonotonic=40900000\nAfter=network-online.target\n\n"
	"Id=network-online.target\nInactiveExitTimestampMonotonic=36990000\nActiveEnterTimestampMonotonic=36990000\nAfter=wait-online.service\n\n"
	"Id=wait-online.service\nInactiveExitTimestampMonotonic=5000000\nActiveEnterTimestampMonotonic=36980000\nAfter=basic.target\n\n"
	"Id=backup.service\nInactiveExitTimestampMonotonic=4000000\nActiveEnterTimestampMonotonic=39900000\nAfter=basic.target\n\n"
	"Id=basic.target\nInactiveExitTimestampMonotonic=4900000\nActiveEnterTimestampMonotonic=4900000\nAfter=\n\n"
	"Id=later.service\nInactiveExitTimestampMonotonic=900000000\nActiveEnterTimestampMonotonic=901000000\nAfter=basic.target\n";
static const char log_text[] = "6,1,100000,-;Linux version 6.18\n SUBSYSTEM=none\n6,2,200000,-;ata1: SATA link down\n30,3,250000,-;systemd says something\n"
			       "6,4,20200000,-;EXT4-fs (vda): mounted\n6,5,20300000,-;Run /sbin/init\n";

static bool has_remark(const struct answer *a, const char *part)
{
	for (size_t i = 0; i < a->remarks.n; i++)
		if (strstr(a->remarks.v[i], part))
			return true;
	return false;
}

static void the_unit_that_the_end_waited_for_is_named(void **state)
{
	struct start_record r = {};
	struct answer a;

	start_record_take_manager(manager, &r);
	assert_int_equal(start_record_take_units(units, &r), 0);
	assert_int_equal(r.units.n, 6);
	assert_int_equal(boot_late_answer(&r, 1000 * NS_PER_SEC, &a), 0);
	assert_string_equal(a.summary, "the start took 47.0 s; 32.0 s of them it waited for wait-online.service");
	assert_true(a.slow);
	assert_string_equal(a.cause, "start-up: waiting for a unit");
	assert_int_equal(a.slow_until, 1041 * NS_PER_SEC);
	assert_true(has_remark(&a, "firmware 4.0 s, boot loader 2.0 s, kernel 3.0 s, units 38.0 s"));
	assert_true(has_remark(&a, "postgresql.service 3.9 s, wait-online.service 32.0 s"));
	assert_false(has_remark(&a, "backup.service"));
	answer_free(&a);
	start_record_free(&r);
}

static void a_kernel_that_waits_is_seen_in_its_log(void **state)
{
	struct start_record r = {.userspace = 20300 * NS_PER_MS, .finished = 30 * NS_PER_SEC};
	struct answer a;

	assert_int_equal(start_record_take_log(log_text, &r), 0);
	assert_int_equal(r.gaps.n, 1); /* programs that write there are not the kernel */
	assert_int_equal(r.gaps.v[0].to - r.gaps.v[0].from, 20 * NS_PER_SEC);
	assert_int_equal(boot_late_answer(&r, 0, &a), 0);
	assert_string_equal(a.summary, "the start took 30.0 s; 20.0 s of them the kernel waited after 'ata1: SATA link down'");
	assert_string_equal(a.cause, "start-up: the kernel waited");
	answer_free(&a);
	start_record_free(&r);
}

/* Without systemd the start is over when for ten seconds no program began that still runs. */
static void programs_tell_the_end_where_systemd_does_not(void **state)
{
	static const struct {
		const char *name;
		int64_t began, cpu;
	} programs[] = {{"init", 1, 2}, {"udevd", 3, 40}, {"sshd", 11, 1}, {"cron", 40, 1}};
	struct start_record r = {};
	struct answer a;

	assert_int_equal(boot_late_answer(&r, 0, &a), -ENODATA);
	for (unsigned i = 0; i < ARRAY_SIZE(programs); i++)
		assert_int_equal(VEC_PUSH(r.processes, (struct start_process){i + 1, strdup(programs[i].name), programs[i].began * NS_PER_SEC,
									   programs[i].cpu * NS_PER_SEC}), 0);
	assert_int_equal(boot_late_answer(&r, 0, &a), 0);
	assert_string_equal(a.summary, "the start took 11.0 s; no part of it took unusually long");
	assert_false(a.slow);
	assert_true(has_remark(&a, "udevd (2) 40.0 s, since 3.0 s, init (1) 2.0 s"));
	assert_false(has_remark(&a, "cron"));
	answer_free(&a);
	start_record_free(&r);
}

RUN_TESTS(cmocka_unit_test(the_unit_that_the_end_waited_for_is_named), cmocka_unit_test(a_kernel_that_waits_is_seen_in_its_log),
	  cmocka_unit_test(programs_tell_the_end_where_systemd_does_not))
