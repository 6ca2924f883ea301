
#include "machine/agent/agent.h"
#include "machine/agent/hotkey.h"
#include "machine/verb/verb.h"

static const char *arg_key, *arg_way, *arg_device;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "key", "KEY", &arg_key,
	 "the button: Scroll_Lock, Ctrl+Alt+F12 ... or none (default: agent.key)"},
	{OPTION_TEXT, 0, "hotkey", "WAY", &arg_way,
	 "listen by x11, portal or evdev (default: what the session supports)"},
	{OPTION_TEXT, 0, "device", "FILE", &arg_device, "evdev: this input device only"},
	{},
};

static int run(struct common *common, int argc, char **argv)
{
	struct agent_options agent = {
		.key = arg_key ? arg_key : common->config.agent_key,
		.way = arg_way,
		.device = arg_device,
		.hangs = common->config.agent_windows,
		.asker = common_asker(common),
	};

	if (argc > 1)
		return verb_usage_error("agent", "unexpected argument '%s'", argv[1]);
	if (arg_way && !hotkey_find_way(arg_way))
		return verb_usage_error("agent", "invalid --hotkey '%s'; expected x11, portal or evdev", arg_way);
	if (verb_give_up_rights(DAEMON_SERVES))
		return EXIT_CANNOT;
	return agent_run(&agent) < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

const struct verb verb_agent = {
	.name = "agent",
	.group = "Administration",
	.words = "",
	.help = "listen for the keyboard button, and show notifications of incidents, in this "
		"session",
	.about = "Runs in a desktop's session, from its start. The button marks that it is slow; the notification has the answer, and holds the "
		 "culprit back if you want.",
	.examples = (const struct example[]){
		{"whyslow agent", "with the key of the settings (agent.key)"},
		{"whyslow agent --key Ctrl+Alt+F12", "with another key"},
		{}},
	.options = options,
	.text_only = true,
	.runs_programs = true,
	.run = run,
};
