#include "cmd/help.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cmd/completion.h"

static bool arg_man, arg_bash, arg_zsh, arg_fish;

static const struct option_row options[] = {
	{OPTION_FLAG, 0, "man", NULL, &arg_man, "the manual page, in roff"},
	{OPTION_FLAG, 0, "bash", NULL, &arg_bash, "completion for bash"},
	{OPTION_FLAG, 0, "zsh", NULL, &arg_zsh, "completion for zsh"},
	{OPTION_FLAG, 0, "fish", NULL, &arg_fish, "completion for fish"},
	{},
};

static const char time_help[] = "TIME is what journalctl takes (now, -5min, 14:32, '2026-11-20 14:32:07') or a mark's id.";
static const char status_help[] = "Exit status: 0 answered, 1 asked and nothing found wrong, 2 usage, 3 cannot (and says why).";

void help_overview(void)
{
	const char *group = "";

	puts("Usage: whyslow [VERB] [OPTIONS]\n\nWhy is it slow? Without a verb: why now.");
	for (size_t i = 0; verbs[i]; i++) {
		char left[64];

		if (strcmp(group, verbs[i]->group) != 0)
			printf("\n%s\n", verbs[i]->group);
		group = verbs[i]->group;
		snprintf(left, sizeof(left), "%s %s", verbs[i]->name, verbs[i]->words);
		printf("  %-32s %s\n", left, verbs[i]->help);
	}
	puts("\n'whyslow VERB --help' lists a verb's options.");
}

void help_verb(const struct verb *verb, const struct option_row *shared)
{
	printf("Usage: whyslow %s %s[OPTIONS]\n\n%c%s.\n\nOptions:\n", verb->name, verb->words,
	       toupper((unsigned char)verb->help[0]), verb->help + 1);
	options_print(verb->options);
	options_print(shared);
	printf("\n%s\n%s\n", time_help, status_help);
}

/* roff takes a leading dot or quote for a request, and a bare dash for a hyphen */
static void put_roff(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
	}
}

static void put_roff_options(const struct option_row *rows)
{
	for (; rows->type != OPTION_END; rows++) {
		fputs(".TP\n.B \\-\\-", stdout);
		put_roff(rows->name);
		if (rows->letter)
			printf(", \\-%c", rows->letter);
		if (rows->argument)
			printf(" \\fI%s\\fR", rows->argument);
		putchar('\n');
		put_roff(rows->help);
		putchar('\n');
	}
}

static void put_man(const struct option_row *shared)
{
	puts(".TH WHYSLOW 1 \"\" \"whyslow " WHYSLOW_VERSION "\" \"User Commands\"\n.SH NAME\nwhyslow \\- why is it slow?\n"
	     ".SH SYNOPSIS\n.B whyslow\n[\\fIVERB\\fR] [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n"
	     "Records what every process does, every second, and answers why the machine is or was slow: which process,\n"
	     "which resource, since when, and how unusual that is. Without a verb: why now.\n.SH VERBS");
	for (size_t i = 0; verbs[i]; i++) {
		printf(".SS %s %s\n", verbs[i]->name, verbs[i]->words);
		put_roff(verbs[i]->help);
		putchar('\n');
		put_roff_options(verbs[i]->options);
	}
	puts(".SH OPTIONS OF ALL VERBS");
	put_roff_options(shared);
	puts(".SH TIMES AND EXIT STATUS");
	put_roff(time_help);
	puts("\n.PP");
	put_roff(status_help);
	puts("\n.SH FILES\n.TP\n.I " CONFIG_FILE "\nsettings; 'whyslow config' prints those in force\n.TP\n"
	     ".I /var/lib/whyslow/recording.db\nthe recording\n.TP\n.I /run/whyslow\nthe newest minutes, and the recorder's socket");
}

static int run(struct common *common, int argc, char **argv)
{
	const struct verb *verb = argc > 1 ? verb_find(argv[1]) : NULL;

	if (argc > 1 && !verb)
		return usage_error("help", "there is no verb '%s'; 'whyslow help' lists them", argv[1]);
	if (arg_man)
		put_man(common->shared_options);
	else if (arg_bash)
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
	.group = "Run and tend",
	.words = "[VERB] ",
	.help = "this list, or a verb's options",
	.options = options,
	.run = run,
};
