/* Causes: their grammar, what they hold of, their words. */
#include "lib/data/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "machine/findings/test-facts.h"
#include "machine/rule/cause.h"

static const char example[] = "# a comment\n"
			      "cause index when short of disk and culprit named \"up*\" and culprit io.read_bytes up\n"
			      "say \"{culprit} reads {culprit io.read_bytes}[, usually {usual culprit io.read_bytes}].\"\n"
			      "next \"renice\" \"{pid}\"\n";

static void parse(const char *text, struct causes *ret)
{
	_cleanup_free_ char *error = NULL;
	int r = causes_parse(text, "test", ret, &error);

	if (r < 0)
		print_error("%s\n", error);
	assert_int_equal(r, 0);
}

static void read_facts(const char *text, struct facts *ret)
{
	unsigned line;

	assert_int_equal(facts_read(text, ret, &line), 0);
}

static const char disk[] = "slow\tyes\tdisk\tprocess\n"
			   "who\tupdatedb\t/usr/bin/updatedb\t-\t812\t1\n"
			   "culprit\tio.read_bytes\t5e6\tnan\t1e5\n";

static void the_built_in_ones_are_read(void **state)
{
	_cleanup_(causes_free) struct causes c = {};
	size_t of_machine = 0;

	assert_int_equal(causes_default(&c), 0);
	for (size_t i = 0; i < c.list.n; i++)
		of_machine += !c.list.v[i].fleet;
	assert_true(of_machine >= 30);
}

static void written_ones_are_the_same(void **state)
{
	_cleanup_(causes_free) struct causes c = {}, again = {};
	struct str once = {}, twice = {};

	assert_int_equal(causes_default(&c), 0);
	for (size_t i = 0; i < c.list.n; i++)
		cause_write(&c.list.v[i], &once);
	parse(once.data, &again);
	assert_int_equal(again.list.n, c.list.n);
	for (size_t i = 0; i < c.list.n; i++) {
		free(again.list.v[i].origin);
		again.list.v[i].origin = strdup(c.list.v[i].origin);
		cause_write(&again.list.v[i], &twice);
	}
	assert_string_equal(once.data, twice.data);
	str_free(&once);
	str_free(&twice);
}

static void it_holds_where_all_of_it_does(void **state)
{
	_cleanup_(causes_free) struct causes c = {};
	_cleanup_(facts_free) struct facts f = {};

	parse(example, &c);
	read_facts(disk, &f);
	assert_true(cause_holds(&c.list.v[0], &f));
	f.list.v[0].usual = 5e6; /* as always */
	assert_false(cause_holds(&c.list.v[0], &f));
	f.list.v[0].usual = 0;
	f.bottleneck = BOTTLENECK_CPU;
	assert_false(cause_holds(&c.list.v[0], &f));
	f.bottleneck = BOTTLENECK_DISK;
	free(f.culprit.name);
	free(f.culprit.exe);
	f.culprit.name = strdup("cp");
	f.culprit.exe = NULL;
	assert_false(cause_holds(&c.list.v[0], &f));
}

static void a_job_is_known_by_the_program_that_does_most_of_it(void **state)
{
	_cleanup_(causes_free) struct causes c = {};
	_cleanup_(facts_free) struct facts f = {};
	_cleanup_free_ char *say = NULL;

	parse(example, &c);
	read_facts("mostly\tupdatedb\n", &f);
	assert_string_equal(f.culprit.mostly, "updatedb");
	facts_free(&f);
	read_facts(disk, &f);
	free(f.culprit.name);
	free(f.culprit.exe);
	f.culprit.name = strdup("sh");
	f.culprit.exe = NULL;
	assert_false(cause_holds(&c.list.v[0], &f));
	f.culprit.mostly = strdup("updatedb");
	assert_true(cause_holds(&c.list.v[0], &f));
	say = cause_words("{culprit} reads", &f);
	assert_string_equal(say, "sh with updatedb reads");
}

static void what_is_not_known_is_left_out_of_the_words(void **state)
{
	_cleanup_(causes_free) struct causes c = {};
	_cleanup_(facts_free) struct facts f = {};
	_cleanup_free_ char *say = NULL, *next = NULL, *known = NULL;

	parse(example, &c);
	read_facts(disk, &f);
	say = cause_words(c.list.v[0].say, &f);
	next = cause_words(c.list.v[0].next, &f);
	assert_string_equal(say, "updatedb reads 5.0 MB/s.");
	assert_string_equal(next, "renice 812");
	f.list.v[0].usual = 1e6;
	known = cause_words(c.list.v[0].say, &f);
	assert_string_equal(known, "updatedb reads 5.0 MB/s, usually 1.0 MB/s.");
}

static void other_programs_are_named_where_they_wait(void **state)
{
	_cleanup_(facts_free) struct facts f = {};
	_cleanup_free_ char *slow = NULL, *alone = NULL;

	read_facts(disk, &f);
	slow = cause_words("{culprit} reads[, and {others} wait].", &f);
	assert_int_equal(facts_add(&f, (struct fact){.of = FACT_CULPRIT, .feature = fact_derived_feature("alone", NULL), .now = 1}), 0);
	alone = cause_words("{culprit} reads[, and {others} wait].", &f);
	assert_string_equal(slow, "updatedb reads, and other programs wait.");
	assert_string_equal(alone, "updatedb reads.");
}

/* A command for a process that is not known, or that has ended, is left out. */
static void advice_without_its_values_is_left_out(void **state)
{
	struct cause c = {.next = (char *)"If it is not needed, wait. To see it: whyslow inspect {pid}. Wait. To end it: kill {pids}."};
	_cleanup_(facts_free) struct facts f = {};
	_cleanup_free_ char *whole = NULL, *unknown = NULL, *ended = NULL, *none = NULL;

	read_facts(disk, &f);
	whole = cause_advice(&c, &f);
	assert_string_equal(whole, "If it is not needed, wait. To see it: whyslow inspect 812.");
	assert_int_equal(facts_add(&f, (struct fact){.of = FACT_CULPRIT, .feature = fact_derived_feature("ended", NULL), .now = 1e9}), 0);
	ended = cause_advice(&c, &f);
	assert_string_equal(ended, "Wait.");
	f.list.n--;
	f.culprit.pid = 0;
	unknown = cause_advice(&c, &f);
	assert_string_equal(unknown, "If it is not needed, wait. Wait.");
	c.next = (char *)"kill {pid}";
	none = cause_advice(&c, &f);
	assert_null(none);
}

static void that_there_is_one_process_is_not_said(void **state)
{
	static const char words[] = "{culprit}[, in {processes} processes,] computes";
	_cleanup_(facts_free) struct facts f = {};
	_cleanup_free_ char *one = NULL, *many = NULL;

	read_facts(disk, &f);
	one = cause_words(words, &f);
	f.culprit.members = 3;
	many = cause_words(words, &f);
	assert_string_equal(one, "updatedb computes");
	assert_string_equal(many, "updatedb, in 3 processes, computes");
}

/* A command for all processes of a program is for these alone, and its name does nothing in a shell. */
static void all_processes_are_named_for_a_shell(void **state)
{
	_cleanup_(facts_free) struct facts f = {};
	_cleanup_free_ char *one = NULL, *named = NULL, *many = NULL, *hostile = NULL, *job = NULL, *end = NULL, *end_one = NULL;

	read_facts(disk, &f);
	one = cause_words("renice {pids}", &f);
	end_one = cause_words("kill {tree}", &f);
	f.culprit.members = 30;
	many = cause_words("renice {pids}", &f);
	end = cause_words("kill {tree}", &f);
	assert_string_equal(end_one, "kill 812");
	assert_string_equal(end, "kill 812 $(pgrep -d' ' -P 812)"); /* never by name: others have the same one */
	free(f.culprit.name);
	f.culprit.name = strdup("$(reboot)");
	hostile = cause_words("renice {pids}", &f);
	f.culprit.job = true;
	job = cause_words("renice {pids}", &f);
	assert_string_equal(job, "renice 812 $(pgrep -d' ' -P 812)"); /* another one's processes may have the name */
	f.culprit.pids = strdup("812 813");
	named = cause_words("renice {pids}", &f);
	assert_string_equal(one, "renice 812");
	assert_string_equal(many, "renice $(pgrep -d' ' -x updatedb)");
	assert_string_equal(hostile, "renice 812");
	assert_string_equal(named, "renice 812 813");
}

/* A sentence about a program says nothing where no program is named. */
static void a_cause_that_cannot_be_said_is_not_found(void **state)
{
	static const char two[] = "cause named when short of disk say \"{culprit} reads {culprit io.read_bytes}[, usually {normal disk.reads}].\" next \"a\"\n"
				  "cause plain when short of disk say \"Many read.\" next \"b\"";
	static const struct {
		const char *facts, *found;
	} rows[] = {
		{disk, "named"},
		{"slow\tyes\tdisk\t-\nculprit\tio.read_bytes\t5e6\tnan\t1e5\n", "plain"},
		{"slow\tyes\tdisk\tprocess\nwho\tupdatedb\t/usr/bin/updatedb\t-\t812\t1\n", "plain"},
	};
	_cleanup_(causes_free) struct causes c = {};

	parse(two, &c);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(facts_free) struct facts f = {};

		read_facts(rows[i].facts, &f);
		assert_string_equal(cause_find(&c, &f)->id, rows[i].found);
	}
}

static void facts_survive_being_written(void **state)
{
	static const char more[] = "slow\tyes\tdisk\tprocess\n"
				   "who\tupdatedb\t/usr/bin/updatedb\t-\t812\t1\n"
				   "victim\tvim\t-\ta.scope\t90\t1\tusing\n"
				   "said\tout of memory\n"
				   "machine\tpsi.io.some\t5e+08\t0\t1e+07\n"
				   "part\tsda\tdisk.busy\t9e+08\t1e+07\t1e+07\n"
				   "culprit\tio.read_bytes\t5e+06\tnan\t1e+05\n";
	_cleanup_(facts_free) struct facts f = {};
	struct str out = {};

	read_facts(more, &f);
	facts_write(&f, &out);
	assert_string_equal(out.data, more);
	str_free(&out);
}

static void of_parts_any_or_what_is_said(void **state)
{
	static const char two[] = "slow\tyes\tcpu\t-\npart\tcpu0\tcore.steal\t4e8\t0\t1e7\npart\tcpu1\tcore.steal\t0\t0\t1e7\n";
	static const char *const holds[] = {"any core.steal > 30 %", "average core.steal > 10 %", "maximum core.steal > 30 %", "core.steal up", "nobody"};
	static const char *const does_not[] = {"every core.steal > 30 %", "average core.steal > 30 %", "minimum core.steal > 1 %", "not nobody",
					       "any core.irq up", "any core.irq > 1 %"};
	_cleanup_(facts_free) struct facts f = {};

	read_facts(two, &f);
	for (size_t i = 0; i < ARRAY_SIZE(holds) + ARRAY_SIZE(does_not); i++) {
		_cleanup_(causes_free) struct causes c = {};
		char text[200];

		snprintf(text, sizeof(text), "cause x when %s say \"a\" next \"b\"",
			 i < ARRAY_SIZE(holds) ? holds[i] : does_not[i - ARRAY_SIZE(holds)]);
		parse(text, &c);
		if (cause_holds(&c.list.v[0], &f) != (i < ARRAY_SIZE(holds)))
			fail_msg("%s", text);
	}
}

static void what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *text, *said;
	} wrong[] = {
		{"cause x when short of time say \"a\" next \"b\"", "test:1:23: expected cpu, memory"},
		{"cause x when cpu.time up say \"a\" next \"b\"", "test:1:14: cpu.time belongs to programs: write 'culprit cpu.time'"},
		{"cause x when culprit cpu.tiem up say \"a\" next \"b\"", "did you mean cpu.time?"},
		{"cause x when nobody say next", "expected words in quotes"},
		{"cause x when nobody say \"a\"", "expected 'next'"},
		{"cause x when nobody say \"{culprit cpu.tiem} is\" \"a\" next \"b\"", "test:1:25: there is no feature 'cpu.tiem'; did you mean cpu.time?"},
		{"cause x when nobody say \"a {normal cpu.time}\" next \"b\"", "write 'culprit cpu.time'"},
		{"cause x when nobody say \"a {culprt}\" next \"b\"", "test:1:25: there is no feature 'culprt'"},
		{"cause x of fleet when *cpu* 3 say \"a\" next \"b\"", "expected up, down or either"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_(causes_free) struct causes c = {};
		_cleanup_free_ char *error = NULL;

		assert_int_equal(causes_parse(wrong[i].text, "test", &c, &error), -EINVAL);
		if (!strstr(error, wrong[i].said))
			fail_msg("%s: %s", wrong[i].text, error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_built_in_ones_are_read),
		cmocka_unit_test(written_ones_are_the_same),
		cmocka_unit_test(it_holds_where_all_of_it_does),
		cmocka_unit_test(a_job_is_known_by_the_program_that_does_most_of_it),
		cmocka_unit_test(what_is_not_known_is_left_out_of_the_words),
		cmocka_unit_test(all_processes_are_named_for_a_shell),
		cmocka_unit_test(other_programs_are_named_where_they_wait),
		cmocka_unit_test(advice_without_its_values_is_left_out),
		cmocka_unit_test(that_there_is_one_process_is_not_said),
		cmocka_unit_test(a_cause_that_cannot_be_said_is_not_found),
		cmocka_unit_test(facts_survive_being_written),
		cmocka_unit_test(of_parts_any_or_what_is_said),
		cmocka_unit_test(what_is_wrong_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
