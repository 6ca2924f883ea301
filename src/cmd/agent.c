#include "daemon/agent.h"
#include "cmd/verb.h"

static const struct option_row options[] = {{}};

static int run(struct common *common, int argc, char **argv)
{
	(void)common;
	if (argc > 1)
		return usage_error("agent", "takes no words: '%s'", argv[1]);
	return agent_run() < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

const struct verb verb_agent = {
	.name = "agent",
	.group = "Run and tend",
	.words = "",
	.help = "show notifications in this session when the recorder catches something",
	.options = options,
	.run = run,
};
