/* `whyslow mcp`: messages are lines on standard input, answers lines on standard output. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/view/json.h"
#include "machine/client/request.h"
#include "machine/verb/verb.h"
#include "web/mcp.h"

static const char *arg_spans, *arg_fleet, *arg_calls, *arg_hosts;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "spans", "FILE", &arg_spans, "traced requests: a store that 'spans load' or 'spans receive' wrote (default: the default store)"},
	{OPTION_TEXT, 0, "fleet", "FILE", &arg_fleet, "counters of a fleet: what 'fleet load' wrote"},
	{OPTION_TEXT, 0, "calls", "FILE", &arg_calls, "which server of the fleet calls which, as 'fleet why --calls'"},
	{OPTION_TEXT, 0, "hosts", "FILE", &arg_hosts, "recorders to ask about slow requests, as 'spans why --hosts'"},
	{},
};

/* One line; of one that is too long only the beginning is kept, which cannot be read as JSON. False: that was all. */
static bool next_line(char line[MCP_MESSAGE_MAX + 1], size_t *ret_len)
{
	size_t n = 0;
	int c;

	while ((c = getc(stdin)) != EOF && c != '\n')
		if (n < MCP_MESSAGE_MAX)
			line[n++] = (char)c;
	line[n] = '\0';
	*ret_len = n;
	return c != EOF || n;
}

static int converse(const struct call_asker *a)
{
	const struct ask_bounds bounds = {.time = ANSWER_TIMEOUT * NS_PER_SEC, .memory = ANSWER_MEMORY};
	_cleanup_free_ char *line = malloc(MCP_MESSAGE_MAX + 1);
	size_t n;
	int r = line ? 0 : -ENOMEM;

	while (r == 0 && next_line(line, &n)) {
		json_t *said = line[strspn(line, " \t\r")] == '\0' ? NULL : mcp_answer(a, line, n, &bounds);

		if (said)
			r = json_print(said, JSON_COMPACT, stdout);
		if (r == 0 && fflush(stdout) == EOF)
			r = -errno;
	}
	return r;
}

static int run(struct common *common, int argc, char **argv)
{
	const struct call_files files = {arg_fleet, arg_hosts, arg_calls};
	const struct asker machine = common_asker(common);
	const struct call_asker a = call_asker_make(&machine, arg_spans, &files, verb_options_of);
	int r;

	if (argc > 1)
		return verb_usage_error("mcp", "unexpected argument '%s'", argv[1]);
	if (verb_give_up_rights(DAEMON_SERVES))
		return EXIT_CANNOT;
	r = converse(&a);
	if (r < 0)
		log_error("cannot answer: %s", strerror(-r));
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

const struct verb verb_mcp = {
	.name = "mcp",
	.group = "Administration",
	.words = "",
	.help = "answer an assistant's questions over standard input and output (Model Context Protocol)",
	.about = "An assistant starts it and asks the questions that change nothing: why, waits, history, list, show and others. "
		 "docs/assistants.md says how to set it up.",
	.examples = (const struct example[]){
		{"whyslow mcp", "as the command of a server of type stdio"},
		{"whyslow mcp --fleet fleet.db", "with the counters of many servers"},
		{}},
	.options = options,
	.text_only = true,
	.runs_programs = true,
	.run = run,
};
