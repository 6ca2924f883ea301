#include <stdio.h>

#include "cmd/verb.h"
#include "model/feature.h"

static const struct option_row options[] = {{}};

static int run(struct common *common, int argc, char **argv)
{
	(void)common, (void)argv;
	if (argc > 1)
		return usage_error("features", "takes no words");
	for (int kind = ENTITY_PROCESS; kind < ENTITY_SHORT_LIVED; kind++) {
		size_t n;
		const struct feature *f = features_of((enum entity_kind)kind, &n);

		printf("%s\n", entity_kind_name((enum entity_kind)kind));
		for (size_t i = 0; i < n; i++)
			printf("  %-24s %-6s %-8s %s\n", f[i].name, unit_name(f[i].unit), f[i].kind == COUNTER ? "counter" : "gauge",
			       f[i].help);
	}
	return EXIT_ANSWERED;
}

const struct verb verb_features = {
	.name = "features",
	.group = "Run and tend",
	.words = "",
	.help = "what is measured, and what of it this machine gives",
	.options = options,
	.run = run,
};
