#include "machine/verb/manual.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "machine/verb/help.h"
#include "machine/verb/subverb.h"

/* roff takes a leading dot for a request, a bare dash for a hyphen, and prints other characters for these three than a shell takes */
static void put_roff(const char *text)
{
	if (*text == '.')
		fputs("\\&", stdout);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\'')
			fputs("\\(aq", stdout);
		else if (*text == '~')
			fputs("\\(ti", stdout);
		else if (*text == '^')
			fputs("\\(ha", stdout);
		else
			putchar(*text);
	}
}

static void put_paragraph(const char *text)
{
	puts(".PP");
	put_roff(text);
	putchar('\n');
}

static void put_upper(const char *text)
{
	for (; *text; text++)
		putchar(toupper((unsigned char)*text));
}

/* The title and the first two sections. `verb` is "" for the program's own page. */
static void put_head(const char *verb, const char *words, const char *help)
{
	const char *dash = *verb ? "-" : "";

	printf(".TH WHYSLOW%s", dash);
	put_upper(verb);
	printf(" 1 \"\" \"whyslow " WHYSLOW_VERSION "\" \"User Commands\"\n.SH NAME\nwhyslow%s%s \\- ", *verb ? "\\-" : "", verb);
	put_roff(help);
	printf("\n.SH SYNOPSIS\n.B whyslow %s\n", verb);
	put_roff(words);
	puts("[\\fIOPTIONS\\fR]");
}

static void put_options(const struct option_row *rows)
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

static void put_foot(const struct option_row *shared, const char *see_also)
{
	puts(".SH OPTIONS OF ALL VERBS");
	put_options(shared);
	puts(".SH TIMES AND EXIT STATUS");
	put_roff(help_times);
	putchar('\n');
	put_paragraph(help_status);
	puts(".SH FILES\n.TP\n.I " CONFIG_FILE "\nsettings; see \\fBwhyslow.conf\\fR(5)\n.TP\n"
	     ".I /var/lib/whyslow/recording.db\nthe recording\n.TP\n.I /run/whyslow\nthe newest minutes, and the recorder's socket");
	printf(".SH SEE ALSO\n\\fBwhyslow%s\\fR(1), \\fBwhyslow.conf\\fR(5)\n", see_also);
}

static void put_subverbs(const struct subverbs *s)
{
	puts(".SH SUBVERBS");
	for (size_t i = 0; s->list[i]; i++) {
		printf(".SS %s ", s->list[i]->name);
		put_roff(s->list[i]->words);
		putchar('\n');
		put_roff(s->list[i]->help);
		putchar('\n');
		put_options(s->list[i]->options);
	}
}

/* A line a paragraph. */
static void put_description(const char *text)
{
	puts(".SH DESCRIPTION");
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		put_paragraph(STR_TEXT(1024, "%.*s", (int)n, text));
	}
}

static void put_examples(const struct example *examples)
{
	puts(".SH EXAMPLES");
	for (; examples->command; examples++) {
		fputs(".TP\n.B ", stdout);
		put_roff(examples->command);
		putchar('\n');
		put_roff(examples->meaning);
		putchar('\n');
	}
}

void manual_overview(const struct option_row *shared)
{
	put_head("", "[VERB] ", "why is it slow?");
	puts(".SH DESCRIPTION\n"
	     "Records what every process does, every second, and answers why the machine is or was slow: which process,\n"
	     "which resource, since when, and how unusual that is. Without a verb: why now.\n"
	     "Each verb has a page of its own, \\fBwhyslow\\-\\fIVERB\\fR(1).\n.SH VERBS");
	for (size_t i = 0; verbs[i]; i++) {
		printf(".TP\n\\fB%s\\fR ", verbs[i]->name);
		put_roff(verbs[i]->words);
		putchar('\n');
		put_roff(verbs[i]->help);
		putchar('\n');
	}
	put_foot(shared, "\\-why");
}

/* Lines as they are. */
static void put_grammar(const struct grammar *g)
{
	printf(".SH %s\n.nf\n", g->title);
	for (const char *text = g->text, *end; *text; text = end + 1) {
		end = strchr(text, '\n');
		put_roff(STR_TEXT(256, "%.*s", (int)(end - text), text));
		putchar('\n');
	}
	puts(".fi");
}

void manual_verb(const struct verb *verb, const struct option_row *shared)
{
	put_head(verb->name, verb->words, verb->help);
	put_description(verb->subverbs ? verb->subverbs->intro : verb->about);
	if (verb->subverbs)
		put_subverbs(verb->subverbs);
	if (verb->options->type != OPTION_END) {
		puts(".SH OPTIONS");
		put_options(verb->options);
	}
	if (verb->grammar)
		put_grammar(verb->grammar);
	for (const struct subverb *const *s = verb->subverbs ? verb->subverbs->list : NULL; s && *s; s++)
		if ((*s)->grammar)
			put_grammar((*s)->grammar);
	put_examples(verb->examples);
	put_foot(verb_shared_options(verb, shared), "");
}

static void put_setting(const char *name, const char *help, const char *value, void *data)
{
	(void)data;
	printf(".TP\n.B %s\n", name);
	put_roff(help);
	fputs(". Default: ", stdout);
	put_roff(value);
	putchar('\n');
}

int manual_settings(const struct config *config)
{
	int r;

	puts(".TH WHYSLOW.CONF 5 \"\" \"whyslow " WHYSLOW_VERSION "\" \"File Formats\"\n.SH NAME\nwhyslow.conf \\- settings of whyslow\n"
	     ".SH SYNOPSIS\n.I " CONFIG_FILE "\n.SH DESCRIPTION\n"
	     "A setting is a line NAME = VALUE. A line that begins with # is a comment. An unknown name or a bad value is an error.\n"
	     "Spans have a unit (1s, 5min, 30d), sizes too (64M, 2G); a switch is yes or no.\n"
	     "\\fBwhyslow config\\fR prints the settings in force; \\fBsystemctl reload whyslow\\fR reads them again.\n.SH SETTINGS");
	r = config_each(config, put_setting, NULL);
	puts(".SH SEE ALSO\n\\fBwhyslow\\fR(1), \\fBwhyslow\\-config\\fR(1)");
	return r;
}
