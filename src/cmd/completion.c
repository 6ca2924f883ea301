#include "cmd/completion.h"

#include <stdio.h>
#include <string.h>

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

void completion_bash(const struct option_row *shared)
{
	puts("_whyslow() {\n\tlocal words=\"${COMP_WORDS[1]}\"\n\tcase $COMP_CWORD in\n\t1) words=\"");
	for (size_t i = 0; verbs[i]; i++)
		printf("%s ", verbs[i]->name);
	puts("\" ;;\n\t*)\n\t\tcase $words in");
	for (size_t i = 0; verbs[i]; i++) {
		printf("\t\t%s) words=\"", verbs[i]->name);
		put_names(verbs[i]->options);
		put_names(shared);
		puts("\" ;;");
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

void completion_zsh(const struct option_row *shared)
{
	puts("#compdef whyslow\n_whyslow() {\n\tlocal -a verbs=(");
	for (size_t i = 0; verbs[i]; i++) {
		printf("\t\t'%s:", verbs[i]->name);
		put_quoted(verbs[i]->help, ":\\", "'\\''");
		puts("'");
	}
	puts("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe verb verbs\n\t\treturn\n\tfi\n\tshift words\n\t(( CURRENT-- ))\n"
	     "\tcase $words[1] in");
	for (size_t i = 0; verbs[i]; i++) {
		printf("\t%s) _arguments \\\n", verbs[i]->name);
		put_zsh_options(verbs[i]->options);
		put_zsh_options(shared);
		puts(" '*::word:_files' ;;");
	}
	puts("\tesac\n}\n_whyslow \"$@\"");
}

static void put_fish_options(const char *condition, const struct option_row *rows)
{
	for (; rows->type != OPTION_END; rows++) {
		printf("complete -c whyslow %s -l %s", condition, rows->name);
		if (rows->letter)
			printf(" -s %c", rows->letter);
		printf("%s -d '", rows->argument ? " -r" : "");
		put_quoted(rows->help, "\\", "\\'");
		puts("'");
	}
}

void completion_fish(const struct option_row *shared)
{
	for (size_t i = 0; verbs[i]; i++) {
		char condition[96];

		printf("complete -c whyslow -n __fish_use_subcommand -f -a %s -d '", verbs[i]->name);
		put_quoted(verbs[i]->help, "\\", "\\'");
		puts("'");
		snprintf(condition, sizeof(condition), "-n '__fish_seen_subcommand_from %s'", verbs[i]->name);
		put_fish_options(condition, verbs[i]->options);
	}
	put_fish_options("", shared);
}
