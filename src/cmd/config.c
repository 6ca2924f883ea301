#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/view/json.h"
#include "machine/model/visibility.h"
#include "machine/rule/cause.h"
#include "machine/rule/rule.h"
#include "machine/rule/signature.h"
#include "machine/verb/verb.h"

static bool arg_rules, arg_causes, arg_signatures, arg_visibility;

static const struct option_row options[] = {
	{OPTION_FLAG, 0, "rules", NULL, &arg_rules, "print the active rules and their grammar instead"},
	{OPTION_FLAG, 0, "causes", NULL, &arg_causes, "print the known causes instead: yours (" SYSTEM_CAUSES ") first"},
	{OPTION_FLAG, 0, "signatures", NULL, &arg_signatures, "print the built-in signatures of waits and their grammar instead"},
	{OPTION_FLAG, 0, "visibility", NULL, &arg_visibility, "print the visibility policy instead: what users see of other users' processes"},
	{},
};

static const struct grammar trigger_grammar = {
	"RULES OF THE RECORDER",
	"[NAME:] when [SCOPE] CONDITION [for SPAN | N times in SPAN] [until END [for SPAN]] ACTION, ...\n"
	"  SCOPE      machine, process, disk, cpu, cgroup, filesystem, interface or sensor, and which of them:\n"
	"             name, exe, unit, user or container = PATTERN, or !=\n"
	"  CONDITION  [SMOOTHING] QUANTITY OP NUMBER [UNIT], with 'and', 'or', 'not' and parentheses between them\n"
	"  SMOOTHING  'average of N samples of', 'median of N samples of', 'average without outliers of N samples of'\n"
	"  QUANTITY   a feature ('whyslow features'), u1 (CPU time over time) or u2 (u1 over the CPUs)\n"
	"  OP         > >= < <= = !=\n"
	"  END        OP NUMBER [UNIT] of the same quantity, or a CONDITION\n"
	"  ACTION     capture, memory (capture, and what the memory of the process consists of), instructions (capture, and each instruction of 20 ms where\n"
	"             the CPU traces them: Intel PT, with perf), notify, run \"COMMAND\", post \"URL\"\n",
};

/* As comments, so that what is printed is a file of rules. */
static void print_grammar(void)
{
	for (const char *line = trigger_grammar.text; *line; line = strchr(line, '\n') + 1)
		printf("# %.*s\n", (int)strcspn(line, "\n"), line);
}

static int print_rules(const struct config *config)
{
	_cleanup_free_ char *error = NULL;
	struct rules rules;
	_cleanup_str_ struct str text = {};
	int r = rules_read(config->record_rules, &rules, &error);

	print_grammar();
	printf("# %s\n", r == -ENOENT ? "built in; to change them write them to a file of your own:" : "from");
	printf("# %s\n", config->record_rules);
	if (r == -ENOENT)
		r = rules_parse(default_rules, "built-in rules", &rules, &error);
	if (r < 0)
		return log_failure(EXIT_CANNOT, "%s", error ? error : strerror(-r));
	rules_write(&rules, &text);
	fputs(text.data ? text.data : "", stdout);
	rules_free(&rules);
	return EXIT_ANSWERED;
}

static int print_causes(void)
{
	_cleanup_free_ char *error = NULL;
	_cleanup_(causes_free) struct causes causes = {};
	_cleanup_str_ struct str text = {};
	int r = causes_load(SYSTEM_CAUSES, &causes, &error);

	if (r < 0)
		return log_failure(EXIT_CANNOT, "%s", error ? error : strerror(-r));
	for (size_t i = 0; i < causes.list.n; i++)
		cause_write(&causes.list.v[i], &text);
	fputs(text.data ? text.data : "", stdout);
	return EXIT_ANSWERED;
}

static void add_setting(const char *name, const char *help, const char *value, void *settings)
{
	json_array_append_new(settings, json_pack("{s:s, s:s, s:s}", "name", name, "value", value, "help", help));
}

static int print_json(const struct config *config)
{
	json_t *settings = json_array();

	if (config_each(config, add_setting, settings) < 0) {
		json_decref(settings);
		return EXIT_CANNOT;
	}
	json_print(json_pack("{s:s, s:o}", "schema", "whyslow.config/1", "settings", settings), JSON_INDENT(1), stdout);
	return EXIT_ANSWERED;
}

static int run(struct common *common, int argc, char **argv)
{
	if (common->json && (arg_rules || arg_causes || arg_signatures || arg_visibility))
		return verb_usage_error("config", "--json is for settings; what the other options print is a file of rules, causes or signatures, or a table");
	if (argc > 1)
		return verb_usage_error("config", "unexpected argument '%s'", argv[1]);
	if (arg_rules)
		return print_rules(&common->config);
	if (arg_causes)
		return print_causes();
	if (arg_signatures) {
		printf("# yours are files in " SYSTEM_SIGNATURES ", which come first\n%s", default_signatures);
		return EXIT_ANSWERED;
	}
	if (arg_visibility) {
		visibility_print(stdout);
		return EXIT_ANSWERED;
	}
	if (common->json)
		return print_json(&common->config);
	return config_print(&common->config, stdout) < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

const struct verb verb_config = {
	.name = "config",
	.group = "Administration",
	.words = "",
	.help = "print the active settings",
	.about = "Prints the settings in force: those of /etc/whyslow/whyslow.conf, and the defaults of all others; or the rules and causes that "
		 "are known.",
	.examples = (const struct example[]){
		{"whyslow config", "all settings"},
		{"whyslow config --rules", "when does a rule begin an incident?"},
		{"whyslow config --causes", "what can be said of a cause?"},
		{}},
	.options = options,
	.grammar = &trigger_grammar,
	.run = run,
};
