#include "fleet/formats/pad-xml.h"

#include <ctype.h>
#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/input/stream.h"

#define FILE_MAX ((size_t)16 << 20)

struct name_value {
	const char *name;
	int value;
	const char *words;
};

static const struct name_value views[] = {
	{"DetailView", FLEET_DETAIL_VIEW, "detail view"}, {"DetailedView", FLEET_DETAIL_VIEW, "detail view"},
	{"ServerView", FLEET_SERVER_VIEW, "server view"}, {"TimeView", FLEET_TIME_VIEW, "time view"}, {},
};
static const struct name_value statistics[] = {
	{"Any", OF_ANY, "any"},	       {"All", OF_EVERY, "every"},	 {"Average", OF_AVERAGE, "average"}, {"Mean", OF_AVERAGE, "average"},
	{"Median", OF_MEDIAN, "median"}, {"Min", OF_MINIMUM, "minimum"}, {"Minimum", OF_MINIMUM, "minimum"}, {"Max", OF_MAXIMUM, "maximum"},
	{"Maximum", OF_MAXIMUM, "maximum"}, {"Quantile", OF_QUANTILE, "quantile"}, {"ZScore", OF_ANY, "z-score of any"}, {},
};
static const struct name_value operators[] = {
	{"GreaterThan", IS_GREATER, ">"}, {"GreaterThanOrEqual", IS_GREATER_EQUAL, ">="}, {"GreaterThanOrEqualTo", IS_GREATER_EQUAL, ">="},
	{"LessThan", IS_LESS, "<"},	  {"LessThanOrEqual", IS_LESS_EQUAL, "<="},	  {"LessThanOrEqualTo", IS_LESS_EQUAL, "<="},
	{"Equal", IS_EQUAL, "="},	  {"EqualTo", IS_EQUAL, "="},	  {"NotEqual", IS_UNEQUAL, "!="}, {"NotEqualTo", IS_UNEQUAL, "!="}, {},
};

struct reading {
	XML_Parser parser;
	unsigned long line; /* on which the parser's text begins, from 0 */
	const char *file;
	char *error;
	struct fleet_thresholds *ret;
	char *counter;
	struct fleet_threshold rule;
	bool in_rule, has_value, has_operator;
	const char *view, *statistic, *operator, *of; /* in words */
	struct str text;
};

static void wrong(struct reading *r, const char *format, const char *what)
{
	_cleanup_free_ char *message = NULL;

	if (r->error || asprintf(&message, format, what) < 0)
		return;
	if (asprintf(&r->error, "%s:%lu: %s", r->file, r->line + XML_GetCurrentLineNumber(r->parser), message) < 0)
		r->error = NULL;
	XML_StopParser(r->parser, XML_FALSE);
}

static const struct name_value *look_up(const struct name_value *table, const char *name)
{
	for (; table->name; table++)
		if (strcasecmp(table->name, name) == 0)
			return table;
	return NULL;
}

static const char *attribute(const char **attributes, const char *name)
{
	for (; attributes && *attributes; attributes += 2)
		if (strcasecmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}

static void begin_rule(struct reading *r, const char **attributes)
{
	const char *to = attribute(attributes, "AppliesTo");
	const struct name_value *view = look_up(views, to ? to : "DetailView");

	if (!r->counter) {
		wrong(r, "a Rule stands outside a PerformanceCounter%s", "");
		return;
	}
	if (!view) {
		wrong(r, "AppliesTo=\"%s\": it is DetailView, ServerView or TimeView", to);
		return;
	}
	r->rule = (struct fleet_threshold){.view = (enum fleet_view_kind)view->value, .statistic = OF_ANY, .quantile = 0.5};
	r->view = view->words;
	r->statistic = "any";
	r->of = NULL;
	r->in_rule = true;
	r->has_value = r->has_operator = false;
}

static void begin_percentage(struct reading *r, const char **attributes)
{
	const char *of = attribute(attributes, "Of");
	const struct name_value *statistic = look_up(statistics, of ? of : "Median");

	if (!statistic) {
		wrong(r, "Of=\"%s\" is not a statistic", of);
		return;
	}
	r->rule.percent_of = true;
	r->rule.of = (enum threshold_statistic)statistic->value;
	r->of = statistic->words;
}

static void begin(void *data, const char *name, const char **attributes)
{
	struct reading *r = data;
	const char *quantile = attribute(attributes, "Quantile"), *counter = attribute(attributes, "Name");

	str_clear(&r->text);
	if (strcasecmp(name, "PerformanceCounter") == 0) {
		free(r->counter);
		r->counter = counter ? strdup(counter) : NULL;
		if (!counter)
			wrong(r, "a PerformanceCounter needs a Name%s", "");
	} else if (strcasecmp(name, "Rule") == 0) {
		begin_rule(r, attributes);
	} else if (strcasecmp(name, "ExpectedPercentage") == 0) {
		begin_percentage(r, attributes);
	} else if (strcasecmp(name, "Statistic") == 0 && quantile) {
		r->rule.quantile = strtod(quantile, NULL);
		if (!(r->rule.quantile >= 0 && r->rule.quantile <= 1))
			wrong(r, "Quantile=\"%s\": it is between 0 and 1", quantile);
	}
}

static void take_text(void *data, const char *text, int n)
{
	struct reading *r = data;

	str_append(&r->text, text, (size_t)n);
}

static char *trimmed(struct reading *r)
{
	char *p = r->text.data, *end;

	if (!p)
		return NULL;
	while (isspace((unsigned char)*p))
		p++;
	for (end = p + strlen(p); end > p && isspace((unsigned char)end[-1]); end--)
		end[-1] = 0;
	return p;
}

static void take_statistic(struct reading *r, const char *text)
{
	const struct name_value *s = look_up(statistics, text);

	if (!s) {
		wrong(r, "Statistic '%s': it is Any, All, Average, Median, Min, Max, Quantile or ZScore", text);
		return;
	}
	r->rule.statistic = (enum threshold_statistic)s->value;
	r->rule.z_score = strcasecmp(text, "ZScore") == 0;
	r->statistic = s->words;
}

static void take_operator(struct reading *r, const char *text)
{
	const struct name_value *o = look_up(operators, text);

	if (!o) {
		wrong(r, "ComparisonOperator '%s': it is GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual, Equal or NotEqual",
		      text);
		return;
	}
	r->rule.operator = (enum threshold_operator)o->value;
	r->operator = o->words;
	r->has_operator = true;
}

static void take_value(struct reading *r, const char *text)
{
	char *end;

	r->rule.expected = strtod(text, &end);
	r->has_value = end != text && (!*end || strcmp(end, "%") == 0);
	if (!r->has_value)
		wrong(r, "'%s' is not a number", text);
}

static void finish_rule(struct reading *r)
{
	struct fleet_threshold rule = r->rule;
	int n;

	r->in_rule = false;
	if (!r->has_value || !r->has_operator) {
		wrong(r, "a Rule needs %s", r->has_value ? "a ComparisonOperator" : "an ExpectedValue");
		return;
	}
	rule.counter = strdup(r->counter);
	n = asprintf(&rule.words, "%s %s in %s %s %g%s%s", r->statistic, r->counter, r->view, r->operator, rule.expected,
		     r->of ? " % of " : "", r->of ? r->of : "");
	if (n < 0)
		rule.words = NULL;
	if (!rule.counter || !rule.words || VEC_PUSH(r->ret->list, rule) < 0) {
		FREE_ALL(rule.counter, rule.words);
		wrong(r, "no memory%s", "");
	}
}

static void end(void *data, const char *name)
{
	struct reading *r = data;
	const char *text = trimmed(r);

	if (r->in_rule && strcasecmp(name, "Statistic") == 0)
		take_statistic(r, text ? text : "");
	else if (r->in_rule && strcasecmp(name, "ComparisonOperator") == 0)
		take_operator(r, text ? text : "");
	else if (r->in_rule && (strcasecmp(name, "ExpectedValue") == 0 || strcasecmp(name, "ExpectedPercentage") == 0))
		take_value(r, text ? text : "");
	else if (r->in_rule && strcasecmp(name, "Rule") == 0)
		finish_rule(r);
	str_clear(&r->text);
}

/* No document of ours has entities: one that declares some is refused (they can grow without end). */
static void refuse_entity(void *data, const char *name, int parameter, const char *value, int n, const char *base,
			  const char *system, const char *public, const char *notation)
{
	(void)parameter, (void)value, (void)n, (void)base, (void)system, (void)public, (void)notation;
	wrong(data, "entity '%s': entities are not read", name);
}

XML_Parser pad_xml_parser(const char *text, size_t n)
{
	return XML_ParserCreate(str_is_utf8(text, n) ? "UTF-8" : NULL);
}

int pad_xml_parse(const char *text, size_t n, const char *file, struct fleet_thresholds *ret, char **ret_error)
{
	struct reading r = {.file = file, .ret = ret, .text = {.max = 65536}};
	const char *begin_of_xml = pad_xml_begin(text, &r.line);
	int result = 0;

	r.parser = pad_xml_parser(text, n);
	if (!r.parser)
		return -ENOMEM;
	n -= (size_t)(begin_of_xml - text);
	XML_SetUserData(r.parser, &r);
	XML_SetElementHandler(r.parser, begin, end);
	XML_SetCharacterDataHandler(r.parser, take_text);
	XML_SetEntityDeclHandler(r.parser, refuse_entity);
	if (XML_Parse(r.parser, begin_of_xml, (int)n, 1) != XML_STATUS_OK) {
		if (!r.error)
			wrong(&r, "%s", XML_ErrorString(XML_GetErrorCode(r.parser)));
		result = -EINVAL;
	}
	XML_ParserFree(r.parser);
	free(r.counter);
	str_free(&r.text);
	if (result < 0)
		*ret_error = r.error;
	return result;
}

int pad_xml_read(const char *path, struct fleet_thresholds *ret, char **ret_error)
{
	_cleanup_str_ struct str text = {.max = FILE_MAX};
	int r = stream_read_all(path, &text);

	return r < 0 ? r : pad_xml_parse(text.data ? text.data : "", text.len, path, ret, ret_error);
}

const char *pad_xml_begin(const char *text, unsigned long *ret_lines)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";

	if (strncmp(text, byte_order_mark, strlen(byte_order_mark)) == 0)
		text += strlen(byte_order_mark);
	for (*ret_lines = 0; isspace((unsigned char)*text); text++)
		*ret_lines += *text == '\n';
	return text;
}

bool pad_xml_is(const char *text)
{
	unsigned long lines;

	return *pad_xml_begin(text, &lines) == '<';
}
