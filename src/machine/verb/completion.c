#include "machine/verb/completion.h"

#include <stdio.h>
#include <string.h>

#include "machine/verb/subverb.h"

/* Prints what a shell takes for itself (a character of `special`) behind a backslash, and a quote so that it may stand in
 * single quotes. */
static void put_quoted(const char *text, const char *special, const char *quote)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs(quote, stdout);
		else if (strchr(special, *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void put_names(const struct option_row *rows)
{
	for (; rows->type != OPTION_END; rows++)
		printf("--%s ", rows->name);
}

static void put_bash_words(const struct option_row *rows, const struct option_row *shared)
{
	fputs("words=\"", stdout);
	put_names(rows);
	put_names(shared);
	puts("\" ;;");
}

/* First their names, then the options of the one that is chosen. */
static void put_bash_subverbs(const struct subverbs *s, const struct option_row *shared)
{
	puts("case $COMP_CWORD:${COMP_WORDS[2]} in");
	fputs("\t\t\t2:*) words=\"", stdout);
	for (size_t i = 0; s->list[i]; i++)
		printf("%s ", s->list[i]->name);
	puts("\" ;;");
	for (size_t i = 0; s->list[i]; i++) {
		printf("\t\t\t*:%s) ", s->list[i]->name);
		put_bash_words(s->list[i]->options, shared);
	}
	puts("\t\t\tesac ;;");
}

void completion_bash(const struct option_row *shared)
{
	puts("_whyslow() {\n\tlocal words=\"${COMP_WORDS[1]}\"\n\tcase $COMP_CWORD in\n\t1) words=\"");
	for (size_t i = 0; verbs[i]; i++)
		printf("%s ", verbs[i]->name);
	puts("\" ;;\n\t*)\n\t\tcase $words in");
	for (size_t i = 0; verbs[i]; i++) {
		printf("\t\t%s) ", verbs[i]->name);
		if (verbs[i]->subverbs)
			put_bash_subverbs(verbs[i]->subverbs, shared);
		else
			put_bash_words(verbs[i]->options, verb_shared_options(verbs[i], shared));
	}
	puts("\t\tesac ;;\n\tesac\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"
	     "complete -o default -F _whyslow whyslow");
}

/* '--window[how far back]:SPAN:_files', as _arguments takes it */
static void put_zsh_option(const char *dashes, const char *name, const struct option_row *o)
{
	printf(" '%s%s[", dashes, name);
	put_quoted(o->help, "[]\\", "'\\''");
	putchar(']');
	if (o->argument) {
		putchar(':');
		put_quoted(o->argument, ":\\", "'\\''");
		fputs(":_files", stdout);
	}
	fputs("' \\\n", stdout);
}

static void put_zsh_options(const struct option_row *rows)
{
	for (; rows->type != OPTION_END; rows++) {
		char letter[] = {rows->letter, 0};

		put_zsh_option("--", rows->name, rows);
		if (rows->letter)
			put_zsh_option("-", letter, rows);
	}
}

static void put_zsh_choice(const char *name, const char *help)
{
	printf("\t\t'%s:", name);
	put_quoted(help, ":\\", "'\\''");
	puts("'");
}

/* What stands behind the list of choices: it is offered, or the word that was chosen decides. */
static void put_zsh_choose(const char *list)
{
	printf("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe verb %s\n\t\treturn\n\tfi\n\tshift words\n\t(( CURRENT-- ))\n"
	       "\tcase $words[1] in\n", list);
}

static void put_zsh_arguments(const char *name, const struct option_row *rows, const struct option_row *shared)
{
	printf("\t%s) _arguments \\\n", name);
	put_zsh_options(rows);
	put_zsh_options(shared);
	puts(" '*::word:_files' ;;");
}

static void put_zsh_subverbs(const struct subverbs *s, const struct option_row *shared)
{
	printf("\t%s)\n\tlocal -a subverbs=(\n", s->verb);
	for (size_t i = 0; s->list[i]; i++)
		put_zsh_choice(s->list[i]->name, s->list[i]->help);
	put_zsh_choose("subverbs");
	for (size_t i = 0; s->list[i]; i++)
		put_zsh_arguments(s->list[i]->name, s->list[i]->options, shared);
	puts("\tesac ;;");
}

void completion_zsh(const struct option_row *shared)
{
	puts("#compdef whyslow\n_whyslow() {\n\tlocal -a verbs=(");
	for (size_t i = 0; verbs[i]; i++)
		put_zsh_choice(verbs[i]->name, verbs[i]->help);
	put_zsh_choose("verbs");
	for (size_t i = 0; verbs[i]; i++) {
		if (verbs[i]->subverbs)
			put_zsh_subverbs(verbs[i]->subverbs, shared);
		else
			put_zsh_arguments(verbs[i]->name, verbs[i]->options, verb_shared_options(verbs[i], shared));
	}
	puts("\tesac\n}\n_whyslow \"$@\"");
}

/* `condition`: when they are offered, as fish writes it in single quotes; "" = always */
static void put_fish_options(const char *condition, const struct option_row *rows)
{
	for (; rows->type != OPTION_END; rows++) {
		printf("complete -c whyslow -n '%s' -l %s", *condition ? condition : "true", rows->name);
		if (rows->letter)
			printf(" -s %c", rows->letter);
		printf("%s -d '", rows->argument ? " -r" : "");
		put_quoted(rows->help, "\\", "\\'");
		puts("'");
	}
}

static void put_fish_choice(const char *condition, const char *name, const char *help)
{
	printf("complete -c whyslow -n '%s' -f -a %s -d '", condition, name);
	put_quoted(help, "\\", "\\'");
	puts("'");
}

/* The second word is the verb, the third one the subverb. */
static void put_fish_subverbs(const struct subverbs *s)
{
	for (size_t i = 0; s->list[i]; i++) {
		char chosen[160], open[160];

		snprintf(open, sizeof(open), "test (count (commandline -opc)) -eq 2; and __fish_seen_subcommand_from %s", s->verb);
		snprintf(chosen, sizeof(chosen), "set -l w (commandline -opc); test \"$w[2..3]\" = \"%s %s\"", s->verb, s->list[i]->name);
		put_fish_choice(open, s->list[i]->name, s->list[i]->help);
		put_fish_options(chosen, s->list[i]->options);
	}
}

void completion_fish(const struct option_row *shared)
{
	for (size_t i = 0; verbs[i]; i++) {
		put_fish_choice("__fish_use_subcommand", verbs[i]->name, verbs[i]->help);
		put_fish_options(STR_TEXT(160, "set -l w (commandline -opc); test \"$w[2]\" = \"%s\"", verbs[i]->name), verbs[i]->options);
		if (verbs[i]->subverbs)
			put_fish_subverbs(verbs[i]->subverbs);
	}
	put_fish_options("", shared);
}
