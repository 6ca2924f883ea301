#include <stdio.h>

#include "cmd/verb.h"

static const struct option_row options[] = {{}};

static int run(struct common *common, int argc, char **argv)
{
	if (argc > 1)
		return usage_error("config", "takes no words: '%s'", argv[1]);
	config_print(&common->config, stdout);
	return EXIT_ANSWERED;
}

const struct verb verb_config = {
	.name = "config",
	.group = "Run and tend",
	.words = "",
	.help = "print the settings in force",
	.options = options,
	.run = run,
};
