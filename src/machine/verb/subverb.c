#include "machine/verb/subverb.h"

#include <jansson.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/view/json.h"
#include "machine/verb/help.h"

void subverbs_list(const struct subverbs *s)
{
	printf("Usage: whyslow %s SUBVERB ... [OPTIONS]\n\n%s\n\n", s->verb, s->intro);
	for (size_t i = 0; s->list[i]; i++) {
		printf("  %-32s %s\n", STR_TEXT(64, "%s %s", s->list[i]->name, s->list[i]->words), s->list[i]->help);
	}
	printf("\n'whyslow %s SUBVERB --help' lists a subverb's options.\n", s->verb);
}

static int help(const struct common *common, const struct subverbs *s, const struct subverb *v)
{
	struct verb shown = {.words = v->words, .help = v->help, .options = v->options};

	shown.name = STR_TEXT(64, "%s %s", s->verb, v->name);
	help_verb(&shown, common->shared_options);
	if (v->grammar)
		printf("\n%s", v->grammar->text);
	if (v->more)
		v->more();
	return EXIT_ANSWERED;
}

/* Who asked for JSON gets JSON, unless something of an answer is there already. */
static void print_error(void)
{
	if (*log_last_error() && !__fpending(stdout))
		json_print(json_pack("{s:s, s:o}", "schema", "whyslow.error/1", "error", json_text(log_last_error())), JSON_INDENT(1), stdout);
}

static int run(struct common *common, const struct subverbs *s, const struct subverb *v, int argc, char **argv)
{
	_cleanup_free_ char *error = NULL;
	int words, status;

	if (s->reset)
		s->reset();
	words = options_parse(v->options, common->shared_options, false, argc, argv, &error);
	if (words < 0) {
		return verb_usage_error(STR_TEXT(64, "%s %s", s->verb, v->name), "%s", error ? error : "bad options");
	}
	if (common->help)
		return help(common, s, v);
	status = v->run(common, words, argv);
	if (common->json && status >= EXIT_USAGE)
		print_error();
	return status;
}

int subverbs_run(struct common *common, const struct subverbs *s, int argc, char **argv)
{
	if (argc < 1 && common->json)
		return verb_usage_error(s->verb, "expected a subverb; 'whyslow %s' lists them", s->verb);
	if (argc < 1) {
		subverbs_list(s);
		return EXIT_ANSWERED;
	}
	for (size_t i = 0; s->list[i]; i++)
		if (!strcmp(s->list[i]->name, argv[0]))
			return run(common, s, s->list[i], argc, argv);
	for (size_t i = 0; s->list[i]; i++)
		if (str_is_misspelled(argv[0], s->list[i]->name))
			return verb_usage_error(s->verb, "unknown subverb '%s'; did you mean '%s'?", argv[0], s->list[i]->name);
	return verb_usage_error(s->verb, "unknown subverb '%s'; 'whyslow %s' lists them", argv[0], s->verb);
}
