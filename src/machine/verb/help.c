#include "machine/verb/help.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "machine/verb/completion.h"
#include "machine/verb/manual.h"
#include "machine/verb/subverb.h"

static bool arg_man, arg_bash, arg_zsh, arg_fish;

static const struct option_row options[] = {
	{OPTION_FLAG, 0, "man", NULL, &arg_man, "the manual page instead, in roff: of whyslow, of VERB, or of " MANUAL_SETTINGS},
	{OPTION_FLAG, 0, "bash", NULL, &arg_bash, "completion for bash"},
	{OPTION_FLAG, 0, "zsh", NULL, &arg_zsh, "completion for zsh"},
	{OPTION_FLAG, 0, "fish", NULL, &arg_fish, "completion for fish"},
	{},
};

const char help_times[] = "TIME is written as for journalctl (now, -5min, 14:32, '2026-11-20 14:32:07') or a mark's id.";
const char help_status[] = "Exit status: 0 answered, 1 nothing wrong found, 2 usage error, 3 failed (with a message), 4 there is no such mark, process or program.";

void help_overview(void)
{
	const char *group = "";

	puts("Usage: whyslow [VERB] [OPTIONS]\n\nWhy is it slow? Without a verb: why now.");
	for (size_t i = 0; verbs[i]; i++) {
		if (strcmp(group, verbs[i]->group) != 0)
			printf("\n%s\n", verbs[i]->group);
		group = verbs[i]->group;
		printf("  %-32s %s\n", STR_TEXT(64, "%s %s", verbs[i]->name, verbs[i]->words), verbs[i]->help);
	}
	puts("\n'whyslow VERB --help' lists a verb's options.");
}

static void print_examples(const struct example *examples)
{
	puts("\nExamples:");
	for (; examples->command; examples++)
		printf("  %s\n      %s\n", examples->command, examples->meaning);
}

void help_verb(const struct verb *verb, const struct option_row *shared)
{
	if (verb->subverbs)
		subverbs_list(verb->subverbs);
	else
		printf("Usage: whyslow %s %s[OPTIONS]\n\n%c%s.\n", verb->name, verb->words, toupper((unsigned char)verb->help[0]), verb->help + 1);
	puts("\nOptions:");
	options_print(verb->options, NULL);
	options_print(verb_shared_options(verb, shared), verb->options);
	if (verb->examples)
		print_examples(verb->examples);
	printf("\n%s\n%s\n", help_times, help_status);
}

/* `--man`, for all of whyslow, for a verb, or for the settings. */
static int print_manual(const struct common *common, const char *page, const struct verb *verb)
{
	if (!page)
		manual_overview(common->shared_options);
	else if (verb)
		manual_verb(verb, common->shared_options);
	else
		return manual_settings(&common->config) < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
	return EXIT_ANSWERED;
}

static int run(struct common *common, int argc, char **argv)
{
	const struct verb *verb = argc > 1 ? verb_find(argv[1]) : NULL;

	if (argc > 1 && !verb && !(arg_man && strcmp(argv[1], MANUAL_SETTINGS) == 0))
		return verb_unknown("help", argv[1]);
	if (arg_man)
		return print_manual(common, argc > 1 ? argv[1] : NULL, verb);
	if (arg_bash)
		completion_bash(common->shared_options);
	else if (arg_zsh)
		completion_zsh(common->shared_options);
	else if (arg_fish)
		completion_fish(common->shared_options);
	else if (verb)
		help_verb(verb, common->shared_options);
	else
		help_overview();
	return EXIT_ANSWERED;
}

const struct verb verb_help = {
	.name = "help",
	.group = "Administration",
	.words = "[VERB] ",
	.help = "this list, or a verb's options",
	.about = "Lists the verbs, describes one, or prints a manual page or the completion of a shell.",
	.examples = (const struct example[]){
		{"whyslow help why", "the options of a verb"},
		{"whyslow help --man why | man -l -", "its manual page"},
		{"whyslow help --bash >~/.local/share/bash-completion/completions/whyslow", "completion for bash"},
		{}},
	.options = options,
	.text_only = true,
	.run = run,
};
