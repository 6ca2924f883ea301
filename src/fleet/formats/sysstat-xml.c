/* The XML of sadf -x:
 *
 *   <sysstat><host nodename="web-1"><statistics>
 *     <timestamp date="2026-11-20" time="14:00:01" utc="1" interval="600">
 *       <cpu-load><cpu number="all" usr="1.20"/></cpu-load>
 *       <memory unit="kB"><memfree>12</memfree></memory>
 *       <network per="second"><net-dev iface="lo" rxpck="2.00"/></network>
 *     </timestamp> ...
 *
 * Each timestamp becomes the object that sadf -j writes of it, and is taken as one (sysstat.c): elements are objects, attributes and texts their values, and those
 * that are named by their first attribute (number, iface ...) members of a list.
 */
#include "fleet/formats/sysstat-record.h"

#include <errno.h>
#include <expat.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/input/number.h"

#define DEPTH_MAX 8

struct xml_reading {
	const struct text_lines *at;
	XML_Parser parser;
	char *host;
	json_t *inside[DEPTH_MAX]; /* [0] = the timestamp, which this owns; below it elements, which their parents own */
	int depth;		   /* elements that are open from the timestamp on */
	uint64_t record;
	struct str text;
	int error;
};

/* Attributes that name a member of a list, though they may look like numbers. */
static bool is_name(const char *key)
{
	static const char *const names[] = {"number", "line", "bus_number", "cpu", "intr", "iface", "dev", "fsname"};

	return ANY_WHERE(i, ARRAY_SIZE(names), strcmp(names[i], key) == 0);
}

static json_t *value_of(const char *key, const char *text)
{
	double number;

	if (strcmp(key, "utc") == 0)
		return json_boolean(strcmp(text, "1") == 0);
	return !is_name(key) && number_parse_slowly(text, strchr(text, 0), &number) && isfinite(number) ? json_real(number) : json_string(text);
}

/* Adds an attribute; the second name of an element is put behind its first (intr="36" cpu="all"). */
static int set_attribute(json_t *object, const char **name_key, const char *key, const char *text)
{
	_cleanup_str_ struct str both = {};
	json_t *value = value_of(key, text);

	if (!is_name(key) || !*name_key) {
		*name_key = json_is_string(value) && !*name_key ? key : *name_key;
		return json_object_set_new(object, key, value);
	}
	json_decref(value);
	str_printf(&both, "%s,%s", json_string_value(json_object_get(object, *name_key)), text);
	return both.error ? -1 : json_object_set_new(object, *name_key, json_string(both.data));
}

/* The object of an element. *ret_named: one of its attributes is a name. The caller owns it; NULL = no memory. */
static json_t *object_of(const char **attributes, bool *ret_named)
{
	_cleanup_(json_decrefp) json_t *object = json_object();
	const char *name_key = NULL;

	for (; object && *attributes; attributes += 2)
		if (strcmp(attributes[0], "per") != 0 && strcmp(attributes[0], "unit") != 0 && set_attribute(object, &name_key, attributes[0], attributes[1]) < 0)
			return NULL;
	*ret_named = name_key;
	return json_incref(object);
}

/* Puts an element into the one around it; a named one into a list. The JSON leaves out the name of such an element where nothing else is there ("cpu-load": [...]). */
static int add_to(json_t *parent, const char *name, bool named, json_t *object)
{
	json_t *list = json_object_get(parent, name);

	if (!named)
		return json_object_set_new(parent, name, object);
	if (!list && json_object_set_new(parent, name, list = json_array()) < 0) {
		json_decref(object);
		return -1;
	}
	return json_array_append_new(list, object);
}

static void XMLCALL begin_element(void *data, const XML_Char *name, const XML_Char **attributes)
{
	struct xml_reading *x = data;
	bool named = false, is_record = strcmp(name, "timestamp") == 0;
	json_t *object;

	x->text.len = 0;
	if (strcmp(name, "host") == 0) {
		free(x->host);
		x->host = NULL;
		for (; *attributes && !x->host; attributes += 2)
			if (strcmp(attributes[0], "nodename") == 0)
				x->host = strdup(attributes[1]);
	}
	if (!is_record && !x->depth)
		return;
	if (x->depth == DEPTH_MAX) {
		x->error = -EBADMSG;
		XML_StopParser(x->parser, XML_FALSE);
		return;
	}
	object = object_of(attributes, &named);
	if (!object || (x->depth && add_to(x->inside[x->depth - 1], name, named, object) < 0)) {
		x->error = -ENOMEM;
		XML_StopParser(x->parser, XML_FALSE);
		return;
	}
	x->inside[x->depth++] = object;
}

static void XMLCALL take_text(void *data, const XML_Char *text, int n)
{
	struct xml_reading *x = data;

	if (x->depth)
		str_append(&x->text, text, (size_t)n);
}

/* <memfree>12</memfree>: a number in the element around it. */
static int take_number(struct xml_reading *x, const char *name)
{
	const char *text = x->text.len ? x->text.data : "", *from = text + strspn(text, " \t\r\n"), *end = strchr(from, 0);
	double number;

	while (end > from && strchr(" \t\r\n", end[-1]))
		end--;
	if (end == from || x->depth < 1 || !number_parse_slowly(from, end, &number) || !isfinite(number) ||
	    json_is_array(json_object_get(x->inside[x->depth - 1], name)))
		return 0;
	return json_object_set_new(x->inside[x->depth - 1], name, json_real(number));
}

/* "cpu-load": {"cpu": [...]} becomes "cpu-load": [...]. The kinds of a network keep their names: there are several of them. */
static int shorten(json_t *record)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(record, next, key, value) {
		json_t *only = json_is_object(value) && json_object_size(value) == 1 && strcmp(key, "network") != 0 ? json_object_iter_value(json_object_iter(value)) : NULL;

		if (json_is_array(only) ? json_object_set(record, key, only) < 0 : json_is_object(value) && shorten(value) < 0)
			return -1;
	}
	return 0;
}

static int take_record(struct xml_reading *x)
{
	json_t *record = x->inside[0], *timestamp = json_object();
	static const char *const parts[] = {"date", "time", "utc", "interval"};
	int r = timestamp && shorten(record) == 0 ? 0 : -ENOMEM;

	for (size_t i = 0; i < ARRAY_SIZE(parts) && r == 0; i++) {
		json_t *part = json_object_get(record, parts[i]);

		r = part && json_object_set(timestamp, parts[i], part) < 0 ? -ENOMEM : 0;
		json_object_del(record, parts[i]);
	}
	r = r ?: json_object_set(record, "timestamp", timestamp) < 0 ? -ENOMEM : 0;
	json_decref(timestamp);
	r = r ?: sysstat_record_take(x->at, x->host ? x->host : x->at->name, ++x->record, record);
	json_decref(record);
	x->inside[0] = NULL;
	return r;
}

static void XMLCALL end_element(void *data, const XML_Char *name)
{
	struct xml_reading *x = data;
	int r = 0;

	if (!x->depth)
		return;
	x->depth--;
	if (!x->depth)
		r = take_record(x);
	else if (x->text.len)
		r = take_number(x, name);
	x->text.len = 0;
	if (r < 0 || x->text.error) {
		x->error = -ENOMEM;
		XML_StopParser(x->parser, XML_FALSE);
	}
}

int sysstat_xml_take(const struct text_lines *l, const struct str *text)
{
	struct xml_reading x = {.at = l, .parser = XML_ParserCreate(NULL)};
	int r = 0;

	if (!x.parser)
		return -ENOMEM;
	XML_SetUserData(x.parser, &x);
	XML_SetElementHandler(x.parser, begin_element, end_element);
	XML_SetCharacterDataHandler(x.parser, take_text);
	if (XML_Parse(x.parser, text->data, (int)text->len, 1) == XML_STATUS_ERROR) {
		r = x.error == -ENOMEM ? -ENOMEM : 0;
		if (r == 0)
			intake_bad(l->into, l->path, XML_GetCurrentLineNumber(x.parser), "invalid XML: %s", x.error ? "elements within elements" : XML_ErrorString(XML_GetErrorCode(x.parser)));
	}
	if (x.depth)
		json_decref(x.inside[0]);
	XML_ParserFree(x.parser);
	free(x.host);
	str_free(&x.text);
	return r;
}
