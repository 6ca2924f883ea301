
#include "lib/data/log.h"
#include "machine/service/record.h"
#include "machine/verb/verb.h"

#include <stdlib.h>

static bool arg_proc, arg_processes_only;

static const struct option_row options[] = {
	{OPTION_FLAG, 0, "proc", NULL, &arg_proc, "read /proc even where BPF is available (slower)"},
	{OPTION_FLAG, 0, "processes-only", NULL, &arg_processes_only,
	 "leave out the machine's own counters (to measure their cost)"},
	{},
};

static int run(struct common *common, int argc, char **argv)
{
	struct record_options record = {
		.config = &common->config,
		.config_file = common->config_file,
		.force_proc = arg_proc,
		.processes_only = arg_processes_only,
		.answer = verbs_answer,
	};

	if (argc > 1)
		return verb_usage_error("record", "unexpected argument '%s'", argv[1]);
	if (common->from_file)
		return verb_usage_error("record", "--from names a past recording; use --store to choose the one to write");
	log_setup(getenv("JOURNAL_STREAM") != NULL, LOG_LEVEL_INFO);
	return record_run(&record) < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

const struct verb verb_record = {
	.name = "record",
	.group = "Administration",
	.words = "",
	.help = "record every process, until stopped",
	.about = "Records what every process does, once a second, keeps the newest events in memory, and answers questions of local users over a "
		 "socket. Started by systemd or by 'make start'; one a machine. As an ordinary user it records what that user may see.",
	.examples = (const struct example[]){
		{"whyslow record", "as root: every process of the machine"},
		{"whyslow record --run-dir /tmp/run --store /tmp/recording.db", "a second one, with places of its own"},
		{}},
	.options = options,
	.text_only = true,
	.runs_programs = true,
	.run = run,
};
