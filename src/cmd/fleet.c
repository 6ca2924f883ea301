/* whyslow fleet SUBVERB: which server, which counter, since when. */
#include "cmd/fleet.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

struct fleet_args fleet_args;

static const struct fleet_subverb *const subverbs[] = {
	&fleet_load, &fleet_info, &fleet_view, &fleet_check_verb, &fleet_correlate, &fleet_compare, &fleet_rank, &fleet_why, &fleet_run, &fleet_watch, NULL,
};

static void help(void)
{
	puts("usage: whyslow fleet SUBVERB DATA ... [OPTIONS]\n\n"
	     "DATA is a file that 'whyslow fleet load' wrote, or what a source reads: a folder of CSV files, say.\n");
	for (size_t i = 0; subverbs[i]; i++)
		printf("  %-10s %-24s %s\n", subverbs[i]->name, subverbs[i]->words, subverbs[i]->help);
	puts("\n'whyslow fleet SUBVERB --help' lists its options.");
}

static void help_subverb(const struct fleet_subverb *v)
{
	printf("usage: whyslow fleet %s %s[OPTIONS]\n\n%s\n\n", v->name, v->words, v->help);
	options_print(v->options);
	if (v != &fleet_load)
		return;
	puts("\nSources:");
	for (size_t i = 0; fleet_sources[i]; i++)
		printf("  %-12s %s\n", fleet_sources[i]->name, fleet_sources[i]->help);
}

int fleet_dispatch(struct common *common, int argc, char **argv)
{
	_cleanup_free_ char *error = NULL;
	int words;

	for (size_t i = 0; subverbs[i]; i++) {
		const struct fleet_subverb *v = subverbs[i];

		if (strcmp(v->name, argv[0]) != 0)
			continue;
		fleet_args = (struct fleet_args){.top = 10};
		words = options_parse(v->options, common->shared_options, false, argc, argv, &error);
		if (words < 0)
			return usage_error("fleet", "%s: %s", v->name, error ? error : "bad options");
		if (common->help) {
			help_subverb(v);
			return EXIT_ANSWERED;
		}
		return v->run(common, &fleet_args, words, argv);
	}
	return usage_error("fleet", "there is no '%s'; 'whyslow fleet' lists what there is", argv[0]);
}

static int run(struct common *common, int argc, char **argv)
{
	if (argc < 2) {
		help();
		return EXIT_ANSWERED;
	}
	return fleet_dispatch(common, argc - 1, argv + 1);
}

static const struct option_row no_options[] = {{}};

const struct verb verb_fleet = {
	.name = "fleet",
	.group = "Many machines",
	.words = "SUBVERB DATA ",
	.help = "many servers: which one, which counter, since when; load, view, check, correlate, compare, rank, why",
	.options = no_options,
	.takes_command = true,
	.run = run,
};
