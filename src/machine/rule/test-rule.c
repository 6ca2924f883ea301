#include "lib/data/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "machine/rule/rule.h"

static struct rules parse(const char *text)
{
	struct rules r;
	char *error = NULL;

	if (rules_parse(text, "rules", &r, &error) < 0)
		fail_msg("%s", error);
	return r;
}

static void refused(const char *text, const char *expected)
{
	struct rules r;
	char *error = NULL;

	if (rules_parse(text, "rules", &r, &error) == 0)
		fail_msg("not refused: %s", text);
	assert_string_equal(error, expected);
	free(error);
}

static void a_rule_for_the_machine(void **state)
{
	struct rules r = parse("when psi.memory.full > 10 % for 3 s until < 2 % for 10 s capture");
	const struct rule *one = &r.list.v[0];

	assert_int_equal(r.list.n, 1);
	assert_int_equal(one->scope, ENTITY_SYSTEM);
	assert_int_equal(one->when->comparison.quantity.index, FEATURE_PSI_MEMORY_FULL);
	assert_int_equal(one->when->comparison.operator, OPERATOR_GREATER);
	assert_true(one->when->comparison.value == 1e8); /* ns per second */
	assert_int_equal(one->up, 3 * NS_PER_SEC);
	assert_int_equal(one->until->comparison.operator, OPERATOR_LESS);
	assert_true(one->until->comparison.value == 2e7);
	assert_int_equal(one->down, 10 * NS_PER_SEC);
	assert_int_equal(one->actions, ACTION_CAPTURE);
	rules_free(&r);
}

static void memory_and_instructions_of_the_culprit_are_asked_for(void **state)
{
	struct rules r = parse("when psi.memory.full > 10 % for 3 s memory, instructions, notify");
	struct str text = {};

	assert_int_equal(r.list.v[0].actions, ACTION_CAPTURE | ACTION_MEMORY | ACTION_INSTRUCTIONS | ACTION_NOTIFY);
	rules_write(&r, &text);
	assert_non_null(strstr(text.data, " capture, memory, instructions, notify\n"));
	str_free(&text);
	rules_free(&r);
}

static void a_rule_for_some_processes(void **state)
{
	struct rules r = parse("hog: when process name = \"tracker*\", user != root, unit=x.service\n"
			       "  (u1 >= 85% and psi.cpu.some > 200 ms/s) or mem.anon > 1.5 GiB\n"
			       "  for 1min capture, notify, run \"logger \\\"slow\\\"\"");
	const struct rule *one = &r.list.v[0];

	assert_string_equal(one->name, "hog");
	assert_int_equal(one->scope, ENTITY_PROCESS);
	assert_int_equal(one->selectors.n, 3);
	assert_int_equal(one->selectors.v[1].field, SELECT_USER);
	assert_true(one->selectors.v[1].negated);
	assert_int_equal(one->when->kind, CONDITION_OR);
	assert_int_equal(one->when->left->kind, CONDITION_AND);
	assert_int_equal(one->when->left->left->comparison.quantity.derived, DERIVED_U1);
	assert_int_equal(one->when->left->left->comparison.quantity.kind, ENTITY_PROCESS);
	assert_int_equal(one->when->left->right->comparison.quantity.kind, ENTITY_SYSTEM);
	assert_true(one->when->left->right->comparison.value == 2e8);
	assert_true(one->when->right->comparison.value == 1.5 * 1024 * 1024 * 1024);
	assert_null(one->until);
	assert_int_equal(one->down, 60 * NS_PER_SEC); /* as long as it took to begin */
	assert_int_equal(one->actions, ACTION_CAPTURE | ACTION_NOTIFY | ACTION_RUN);
	assert_string_equal(one->command, "logger \"slow\"");
	rules_free(&r);
}

static void spikes(void **state)
{
	struct rules r =
		parse("when disk name=sda disk.busy > 90 % 5 times in 60 s until < 10 % notify "
		      "when average without outliers of 9 samples of u2 > 85 % for 5 s until < 50 % capture");

	assert_int_equal(r.list.v[0].spikes, 5);
	assert_int_equal(r.list.v[0].spike_window, 60 * NS_PER_SEC);
	assert_int_equal(r.list.v[0].down, 60 * NS_PER_SEC);
	assert_int_equal(r.list.v[1].when->comparison.smoothing, SMOOTHING_NO_OUTLIERS);
	assert_int_equal(r.list.v[1].when->comparison.samples, 9);
	assert_int_equal(r.list.v[1].slots, 2); /* until is smoothed by itself */
	rules_free(&r);
}

/* The two rules of PAD's listing 1, the percentage of a median and the Z-score of its text. */
static void thresholds_of_a_fleet(void **state)
{
	struct rules r =
		parse("when any Runtime.GC.PercentOfTimeInGC in detail view > 15 report\n"
		      "when average MessageQueue.NumQueuedMsgs in time view > 5 report\n"
		      "when any \"Total \\\\ Requests per sec\" in server view > 120 % of median report\n"
		      "when z-score of any X in detail view > 3 report\n"
		      "when quantile 0.95 of cpu.time in server view >= 80 report\n"
		      "when every X in server view != -2 report\n"
		      "when maximum X in detail view <= 150 % of quantile 0.9 report");
	rules_free(&r);
}

static void fleet_rules_say_what_they_mean(void **state)
{
	struct rules r = parse("when any \"a \\\\ b\" in server view > 120 % of median report "
			       "when z-score of average X in time view < -3 report");
	const struct comparison *c = &r.list.v[0].when->comparison;

	assert_int_equal(c->statistic, STATISTIC_ANY);
	assert_int_equal(c->view, VIEW_SERVER);
	assert_string_equal(c->quantity.name, "a \\ b");
	assert_null(c->quantity.feature);
	assert_int_equal(c->of, STATISTIC_MEDIAN);
	assert_true(c->value == 120);
	c = &r.list.v[1].when->comparison;
	assert_true(c->z_score);
	assert_int_equal(c->statistic, STATISTIC_AVERAGE);
	assert_int_equal(c->view, VIEW_TIME);
	assert_true(c->value == -3);
	rules_free(&r);
}

static void errors_say_where_and_what_was_expected(void **state)
{
	refused("wen psi.cpu.some", "rules:1:5: expected ':', not 'psi.cpu.some'");
	refused("when psi.memory.ful > 10 % capture",
		"rules:1:6: there is no feature 'psi.memory.ful'; did you mean psi.memory.full?");
	refused("# note\nwhen\n  cpu.time > 10 % capture",
		"rules:3:3: cpu.time belongs to process: write 'when process ... cpu.time'");
	refused("when psi.cpu.some > 10 capture",
		"rules:1:24: expected % (of the time) or ms/s (psi.cpu.some is measured so)");
	refused("when psi.cpu.some > 10 MB capture",
		"rules:1:24: expected % (of the time) or ms/s (psi.cpu.some is measured so), not 'MB'");
	refused("when memory.free < 1 GB/s capture",
		"rules:1:22: expected kB, MB, GB or KiB, MiB, GiB (memory.free is measured so), not 'GB/s'");
	refused("when psi.cpu.some is 10 % capture",
		"rules:1:19: expected a comparison: > >= < <= = or !=, not 'is'");
	refused("when psi.cpu.some > 10 % for 3 bananas capture",
		"rules:1:32: expected a span such as 500 ms, 3 s or 10 min");
	refused("when psi.cpu.some > 10 % for 3",
		"rules:1:31: expected a unit of time: ms, s, min, h or d, but the text ends here");
	refused("when psi.cpu.some > 10 %",
		"rules:1:25: expected 'for', 'until', 'and', 'or', or what to do: capture, memory, instructions, notify, report, "
		"run \"COMMAND\" or post \"URL\", but the text ends here");
	refused("when (psi.cpu.some > 10 % capture", "rules:1:27: expected ')', not 'capture'");
	refused("when u2 > 85 % run reboot", "rules:1:20: expected a command in quotes, not 'reboot'");
	refused("when u2 > 85 % post \"ftp://x\"",
		"rules:1:21: expected an address in quotes, \"https://...\", not 'ftp://x'");
	refused("when u2 > 85 % post \"http://a/\", post \"http://b/\"", "rules:1:39: a rule posts to one address");
	refused("\"größe\": when u2 > 85 % run \"reboot",
		"rules:1:29: expected a command in quotes, but the quotes that begin here are not closed");
	refused("when any psi.cpu.some > 10 % capture", "rules:1:6: 'any' is taken of many values: write 'in "
							"detail view', 'server view' or 'time view'");
	refused("when u2 > 1 % and u1 > 2 % until < 3 % capture",
		"rules:1:34: 'when' has more than one condition: say which feature 'until' is about");
	refused("when name = x u2 > 1 % capture",
		"rules:1:6: 'name' chooses among processes, disks ...: say which before it");
	refused("when u2 > 1 % 0 times in 3 s capture",
		"rules:1:15: expected a number of times from 1 to 1000");
	refused("when average of 1000 samples of u2 > 1 % capture",
		"rules:1:17: expected a number of samples from 1 to 64");
	refused("when u2 > 120 % of median capture", "rules:1:15: a percentage of a statistic needs a view: "
						     "write 'in detail view' before the comparison");
}

static void too_deep(void **state)
{
	char text[600] = "when ";
	struct rules r;
	char *error = NULL;

	memset(text + 5, '(', 500);
	assert_int_equal(rules_parse(text, "rules", &r, &error), -EINVAL);
	assert_string_equal(error, "rules:1:38: conditions are nested more than 32 deep");
	free(error);
}

static const char *const samples[] = {
	default_rules,
	"a: when not (u2 > 1 % or not u1 < 3 %) and psi.io.some >= 3 ms/s for 2 s until u2 < 1 % and u1 < 1 "
	"% for 3 min notify, run \"x\", post \"https://a.example/b?c=\\\"\\\\\"",
	"when process exe != \"/usr/*\" unit = a.service container=\"*\" cpu.run_delay > 20 % 3 times in 1 "
	"min until < 1 % for 1 s report",
	"when any \"a b\" in detail view > 120 % of quantile 0.5 and z-score of minimum X.y in time view < "
	"-2.5 report",
	"when any psi.memory.full in detail view > 10 for 300 s report", /* a view has the data's own unit */
	"when average of 3 samples of u2 > 1 % or u2 > 2 % or u2 > 3 % and u1 > 4 % and u1 > 5 % capture",
};

static void what_is_written_is_read_the_same(void **state)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		struct rules r = parse(samples[i]), again;
		struct str first = {}, second = {};

		rules_write(&r, &first);
		again = parse(first.data);
		rules_write(&again, &second);
		assert_string_equal(first.data, second.data);
		rules_free(&r);
		rules_free(&again);
		str_free(&first);
		str_free(&second);
	}
}

/* Whatever is written, it is taken or refused with a place. */
static void mutated_text_is_taken_or_refused(void **state)
{
	unsigned refusals = 0;

	srandom(4);
	for (unsigned i = 0; i < 40000; i++) {
		char text[1600];
		size_t n;
		struct rules r;
		char *error = NULL;

		snprintf(text, sizeof(text), "%s", samples[i % 5]);
		n = strlen(text);
		for (unsigned k = 0; k <= i % 4; k++) {
			size_t at = (size_t)random() % n, from = (size_t)random() % n,
			       len = (size_t)random() % 12;

			if (random() % 2)
				text[at] = (char)(1 + random() % 255);
			else if (at + len < n && from + len < n)
				memmove(text + at, text + from, len);
		}
		if (rules_parse(text, "rules", &r, &error) == 0) {
			rules_free(&r);
			continue;
		}
		refusals++;
		assert_non_null(error);
		assert_int_equal(strncmp(error, "rules:", 6), 0);
		free(error);
	}
	assert_in_range(refusals, 10000, 39000);
}

RUN_TESTS(cmocka_unit_test(memory_and_instructions_of_the_culprit_are_asked_for), cmocka_unit_test(a_rule_for_the_machine), cmocka_unit_test(a_rule_for_some_processes),
	  cmocka_unit_test(spikes), cmocka_unit_test(thresholds_of_a_fleet),
	  cmocka_unit_test(fleet_rules_say_what_they_mean),
	  cmocka_unit_test(errors_say_where_and_what_was_expected), cmocka_unit_test(too_deep),
	  cmocka_unit_test(what_is_written_is_read_the_same),
	  cmocka_unit_test(mutated_text_is_taken_or_refused))
