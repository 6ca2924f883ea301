/* whyslow fleet run FILE: a saved analysis, one subverb a line, or XML. */
#include <ctype.h>
#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/formats/pad-xml.h"
#include "fleet/verb/fleet-verb.h"
#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/input/stream.h"

#define WORDS_MAX 64
#define FILE_MAX  ((size_t)4 << 20)

static int depth; /* a saved analysis may not run itself for ever */

struct script {
	struct common *common;
	const char *path;
	char *data;
	unsigned line;
	int status;
	XML_Parser parser;
	unsigned long begins; /* line on which the XML begins, from 0 */
};

/* Splits in place at blanks; quotes hold words together. */
static int split(char *line, char **words)
{
	int n = 0;

	for (char *p = line; n < WORDS_MAX - 1;) {
		char *to, quote = 0;

		while (isspace((unsigned char)*p))
			p++;
		if (!*p || *p == '#')
			break;
		words[n++] = to = p;
		for (; *p && (quote || !isspace((unsigned char)*p)); p++)
			if (*p == quote || (!quote && (*p == '"' || *p == '\'')))
				quote = quote ? 0 : *p;
			else
				*to++ = *p;
		if (*p)
			p++;
		*to = 0;
	}
	words[n] = NULL;
	return n;
}

static void run_words(struct script *s, int n, char **words)
{
	int status;

	for (int i = 0; i < n; i++)
		if (strcmp(words[i], "DATA") == 0 && s->data)
			words[i] = s->data;
	if (!s->common->json)
		printf("## %s\n", words[0]);
	status = fleet_dispatch(s->common, n, words);
	if (!s->common->json)
		putchar('\n');
	if (status >= EXIT_USAGE) {
		log_error("%s:%u: this step failed", s->path, s->line);
		s->status = status;
	}
}

static void run_line(struct script *s, char *line)
{
	char *words[WORDS_MAX];
	int n = split(line, words);

	s->line++;
	if (!n)
		return;
	if (strcmp(words[0], "data") == 0 && n == 2) {
		free(s->data);
		s->data = strdup(words[1]);
		return;
	}
	run_words(s, n, words);
}

/* Attributes that are words of the command line, in their place; all others are options. */
static const char *const positional[] = {"data", "counter", "symptom", "rules", "reference", NULL};

static bool is_positional(const char *subverb, const char *name)
{
	if (strcasecmp(subverb, "why") == 0)
		return strcasecmp(name, "data") == 0;
	for (size_t i = 0; positional[i]; i++)
		if (strcasecmp(positional[i], name) == 0)
			return strcasecmp(subverb, "compare") != 0 || strcasecmp(name, "counter") != 0;
	return false;
}

static char *lower(const char *text)
{
	char *copy = strdup(text);

	for (char *p = copy; p && *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return copy;
}

static const char *attribute(const char **attributes, const char *name)
{
	for (; *attributes; attributes += 2)
		if (strcasecmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}

static void element(void *data, const char *name, const char **attributes)
{
	struct script *s = data;
	char *words[WORDS_MAX] = {lower(name)};
	const char *own = attribute(attributes, "data");
	int n = 1, made;

	s->line = (unsigned)(s->begins + XML_GetCurrentLineNumber(s->parser));
	if (strcasecmp(name, "Analysis") == 0) {
		free(s->data);
		s->data = own ? strdup(own) : NULL;
		free(words[0]);
		return;
	}
	if (attribute(attributes, "reference"))
		words[n++] = strdup(attribute(attributes, "reference"));
	words[n++] = strdup(own ? own : s->data ? s->data : "DATA");
	for (size_t i = 0; positional[i]; i++)
		if (strcmp(positional[i], "data") != 0 && strcmp(positional[i], "reference") != 0 && is_positional(name, positional[i]) && attribute(attributes, positional[i]))
			words[n++] = strdup(attribute(attributes, positional[i]));
	for (size_t i = 0; attributes[i] && n + 2 < WORDS_MAX; i += 2) {
		_cleanup_free_ char *option = lower(attributes[i]);

		if (is_positional(name, attributes[i]) || strcasecmp(attributes[i], "reference") == 0)
			continue;
		if (asprintf(&words[n], "--%s", option) >= 0)
			n++;
		if (*attributes[i + 1])
			words[n++] = strdup(attributes[i + 1]);
	}
	words[n] = NULL;
	made = n;
	{
		char *given[WORDS_MAX]; /* options are taken out of it */

		memcpy(given, words, sizeof(given));
		run_words(s, n, given);
	}
	for (int i = 0; i < made; i++)
		free(words[i]);
}

static int run_xml(struct script *s, const struct str *text)
{
	const char *begin = pad_xml_begin(text->data, &s->begins);
	int r = 0;

	s->parser = pad_xml_parser(text->data, text->len);
	if (!s->parser)
		return -ENOMEM;
	XML_SetUserData(s->parser, s);
	XML_SetStartElementHandler(s->parser, element);
	if (XML_Parse(s->parser, begin, (int)(text->len - (size_t)(begin - text->data)), 1) != XML_STATUS_OK) {
		log_error("%s:%lu: %s", s->path, s->begins + XML_GetCurrentLineNumber(s->parser), XML_ErrorString(XML_GetErrorCode(s->parser)));
		r = -EINVAL;
	}
	XML_ParserFree(s->parser);
	return r;
}

static int run_script(struct script *s, struct str *text)
{
	if (pad_xml_is(text->data))
		return run_xml(s, text);
	for (char *line = text->data, *end; line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = 0;
		run_line(s, line);
	}
	return 0;
}

static int run(struct common *common, int argc, char **argv)
{
	const struct fleet_query query = fleet_parsed;
	_cleanup_str_ struct str text = {.max = FILE_MAX};
	struct script s = {.common = common, .path = argc == 2 ? argv[1] : NULL, .status = EXIT_ANSWERED};
	int r;

	if (argc != 2)
		return verb_usage_error("fleet", "run expects a file: one subverb per line, or XML");
	s.data = query.server ? strdup(query.server) : NULL;
	r = ++depth > 3 ? -ELOOP : stream_read_all(argv[1], &text);
	if (r == 0 && !text.len)
		r = -ENODATA;
	if (r < 0)
		log_error("%s: %s", argv[1], r == -ENODATA ? "it is empty" : strerror(-r));
	else
		r = run_script(&s, &text);
	depth--;
	free(s.data);
	return r < 0 ? EXIT_CANNOT : s.status;
}

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "data", "DATA", &fleet_parsed.server, "the value of DATA in the file"},
	{},
};

static const struct grammar analysis_grammar = {
	"FILES OF RUN",
	"FILE has a subverb of 'whyslow fleet' a line, as on the command line:\n"
	"\n"
	"  # DATA stands for --data, or for what the line 'data' names\n"
	"  data /var/lib/counters/monday.fleet\n"
	"  check DATA rules.xml\n"
	"  rank DATA --from 14:00 --to 15:00\n"
	"  view DATA cpu --by time --svg --output cpu.svg\n"
	"\n"
	"or XML, in which each element is a subverb and each attribute an option:\n"
	"\n"
	"  <Analysis Data=\"monday.fleet\">\n"
	"    <Check Rules=\"rules.xml\"/>\n"
	"    <Rank From=\"14:00\" To=\"15:00\"/>\n"
	"    <View Counter=\"cpu\" By=\"time\" Svg=\"\" Output=\"cpu.svg\"/>\n"
	"  </Analysis>\n",
};

const struct subverb fleet_run = {"run", "FILE ", "run a saved analysis: one subverb per line, or XML", options, .run = run, .grammar = &analysis_grammar};
