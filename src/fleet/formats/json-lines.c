/* One JSON object a line:
 *
 *   long     {"time": "2026-11-20T14:00:00Z", "server": "web-1", "counter": "cpu", "value": 0.7, "kind": "gauge", "unit": "s"}
 *   wide     {"time": 1790000000, "host": "web-1", "cpu": 0.7, "disk": {"read": 12, "written": 3}}  ->  cpu, disk.read ...
 *   series   {"metric": {"__name__": "up", "instance": "web-1", "mode": "idle"}, "timestamps": [ms...], "values": [...]}
 *            (what VictoriaMetrics exports)
 *   Telegraf {"name": "cpu", "tags": {"host": "web-1", "cpu": "cpu0"}, "fields": {"usage_user": 1.5}, "timestamp": 1790000000}
 *            ->  cpu_usage_user{cpu="cpu0"}; or {"metrics": [such objects]}
 *   Beats    {"@timestamp": "...", "host": {"name": "web-1"}, "event": {"module": "system"}, "metricset": {"name": "diskio"}, "system": {"diskio": {"name": "sda", "read": {"bytes": 7}}}}
 *            ->  system.diskio.read.bytes{name="sda"}
 *   Graphite [{"target": "servers.web-1.cpu", "tags": {"host": "web-1"}, "datapoints": [[0.7, 1790000000], [null, 1790000060]]}]
 *   OTLP     {"resourceMetrics": [...]}: otlp-metrics.h
 *   AWS      {"MetricDataResults": [{"Id": "m1", "Label": "i-0a1b CPUUtilization", "Timestamps": ["2026-11-20T14:00:00Z"], "Values": [0.7]}]}: the last word
 *            of a label is the counter, what stands before it the server, else the file; or
 *            {"Label": "CPUUtilization", "Datapoints": [{"Timestamp": "2026-11-20T14:00:00Z", "Average": 0.7, "ExtendedStatistics": {"p99": 1}}]}
 *            ->  CPUUtilization.Average, CPUUtilization.ExtendedStatistics.p99
 *
 * An object or list may also stand on many lines, as jq and aws print it: from a line that only opens it to one that only closes it, both unindented.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "fleet/formats/otlp-metrics.h"
#include "fleet/formats/text-lines.h"
#include "fleet/model/selection.h"
#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/input/files.h"
#include "lib/input/number.h"
#include "lib/input/quantity.h"
#include "lib/input/timestamp.h"

#define DEPTH_MAX 8 /* objects within objects */
#define DOCUMENT_MAX (64u << 20) /* bytes of an object on many lines */

static const char *const endings[] = {".jsonl", ".ndjson", ".json-lines", NULL};
static const char *const all_endings[] = {".jsonl", ".ndjson", ".json-lines", ".json", NULL}; /* others have the last one, too */

static const char *const time_names[] = {"time", "timestamp", "ts", "@timestamp", "datetime", "date", NULL};
static const char *const server_names[] = {"server", "host", "hostname", "host.name", "host.hostname", "agent.hostname", "tags.host", "labels.instance", "instance", "node", "machine", NULL};
static const char *const counter_names[] = {"counter", "metric", "metric_name", "__name__", "name", NULL};
static const char *const value_names[] = {"value", "val", NULL};
static const char *const role_names[] = {"role", "group", NULL};
static const char *const job_names[] = {"job", "service", NULL};
static const char *const other_names[] = {"id", "pid", "value", NULL}; /* numbers that are names */

static const char *const beat_names[] = {"name", "id", "pid", "device_name", "mount_point", "interface", "type", NULL}; /* of what an event is about */

/* "host.name": a key of that name, or `name` within `host`. */
static const json_t *find_path(const json_t *row, const char *path)
{
	const json_t *found = json_object_get(row, path);

	for (const char *dot = found ? NULL : strchr(path, '.'); dot && !found; dot = strchr(dot + 1, '.')) {
		_cleanup_free_ char *key = strndup(path, (size_t)(dot - path));
		const json_t *within = key ? json_object_get(row, key) : NULL;

		found = json_is_object(within) ? find_path(within, dot + 1) : NULL;
	}
	return found;
}

static const json_t *find(const json_t *row, const char *given, const char *const *names)
{
	if (given)
		return find_path(row, given);
	for (; *names; names++) {
		const json_t *found = find_path(row, *names);

		if (found && !json_is_object(found))
			return found;
	}
	return NULL;
}

static bool is_one_of(const char *name, const char *given, const char *const *names)
{
	if (given)
		return strcmp(name, given) == 0;
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static int take_time(const struct fleet_input *input, const json_t *time, int64_t *ret)
{
	char text[64];

	if (json_is_string(time) && input->time_format)
		return timestamp_parse_as(input->time_format, json_string_value(time), json_string_value(time) + json_string_length(time), ret);
	if (json_is_string(time))
		return timestamp_parse(json_string_value(time), json_string_value(time) + json_string_length(time), ret);
	if (!json_is_number(time))
		return -EINVAL;
	snprintf(text, sizeof(text), "%.*f", json_is_integer(time) ? 0 : 6, json_number_value(time));
	return timestamp_parse(text, text + strlen(text), ret);
}

/* The server's number, -ENOENT where the key that was given is not there (reported), or -ENOMEM. */
static int server_of(struct text_lines *l, const json_t *row)
{
	const json_t *server = find(row, l->input->server_column, server_names);
	const json_t *role = find(row, l->input->role_column, role_names), *job = find(row, NULL, job_names);
	char digits[32];
	int number;

	if (l->input->server_column && !json_is_string(server) && !json_is_integer(server)) {
		intake_bad(l->into, l->path, l->line, "there is no '%s' that names a server", l->input->server_column);
		return -ENOENT;
	}
	snprintf(digits, sizeof(digits), "%" JSON_INTEGER_FORMAT, json_integer_value(server));
	number = intake_server(l->into, json_is_string(server) ? json_string_value(server) : json_is_integer(server) ? digits : l->name);

	if (number >= 0 && json_is_string(role) && intake_role(l->into, number, json_string_value(role)) < 0)
		return -ENOMEM;
	if (number >= 0 && json_is_string(job) && intake_job(l->into, number, json_string_value(job)) < 0)
		return -ENOMEM;
	return number;
}

/* Numbers, and texts that are numbers, also with a unit. */
static bool number_of(const json_t *value, double *ret, char ret_unit[QUANTITY_UNIT_MAX])
{
	const char *text = json_string_value(value);

	*ret_unit = 0;
	*ret = json_number_value(value);
	return json_is_number(value) ||
	       (text && *text && (number_parse_slowly(text, text + strlen(text), ret) != NULL || quantity_parse(text, text + strlen(text), ret, ret_unit)));
}

static enum fleet_kind kind_of(const char *word)
{
	static const struct {
		const char *word;
		enum fleet_kind kind;
	} words[] = {{"counter", FLEET_COUNTER}, {"sum", FLEET_COUNTER}, {"gauge", FLEET_GAUGE}};

	for (size_t i = 0; word && i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].kind;
	return FLEET_UNKNOWN;
}

static int put_long(struct text_lines *l, const json_t *row, const char *counter, const json_t *value, int server, int64_t time)
{
	struct counter_info info = {
		.kind = kind_of(json_string_value(find(row, NULL, (const char *const[]){"kind", "type", NULL}))),
		.unit = json_string_value(json_object_get(row, "unit")),
		.help = json_string_value(json_object_get(row, "help")),
	};
	char unit[QUANTITY_UNIT_MAX];
	double number;

	if (!selection_wants_counter(l->input, counter))
		return 0;
	if (!number_of(value, &number, unit)) {
		if (!json_is_null(value))
			intake_bad(l->into, l->path, l->line, "the value of %s is not a number", counter);
		return 0;
	}
	info.unit = *unit ? unit : info.unit;
	return text_lines_put(l, server, counter, &info, time, number);
}

/* labels: behind each name; "" or "{...}". */
static int put_wide(struct text_lines *l, const json_t *object, const char *above, const char *labels, int server, int64_t time, int depth)
{
	const char *key;
	json_t *value;
	int r = 0;

	json_object_foreach((json_t *)object, key, value) {
		_cleanup_str_ struct str name = {};
		char unit[QUANTITY_UNIT_MAX] = "";
		double number;

		str_printf(&name, "%s%s%s", above, *above ? "." : "", key);
		if (name.error)
			return -ENOMEM;
		if (json_is_object(value) && depth < DEPTH_MAX) {
			r = put_wide(l, value, name.data, labels, server, time, depth + 1);
		} else if (*labels && is_one_of(key, NULL, beat_names)) {
			continue;
		} else if (!*above && (is_one_of(key, l->input->time_column, time_names) || is_one_of(key, NULL, other_names) ||
				       is_one_of(key, l->input->server_column, server_names))) {
			continue;
		} else if (!is_one_of(name.data, l->input->server_column, server_names) && number_of(value, &number, unit) && (str_puts(&name, labels), selection_wants_counter(l->input, name.data))) {
			r = text_lines_put(l, server, name.data, &(struct counter_info){.unit = unit}, time, number);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* {label="value",...} without the labels that say which server. */
static int series_labels(const json_t *labels, const struct fleet_input *input, struct str *out)
{
	const char *key;
	json_t *value;
	bool any = false;

	json_object_foreach((json_t *)labels, key, value) {
		if (strcmp(key, "__name__") == 0 || is_one_of(key, input->server_column, server_names) || is_one_of(key, input->role_column, role_names) || is_one_of(key, NULL, job_names))
			continue;
		str_printf(out, "%s%s=\"%s\"", any ? "," : "{", key, json_string_value(value) ? json_string_value(value) : "");
		any = true;
	}
	if (any)
		str_putc(out, '}');
	return out->error;
}

static int put_points(struct text_lines *l, int server, const char *name, const json_t *times, const json_t *values)
{
	int counter, r = 0;

	if (!selection_wants_counter(l->input, name))
		return 0;
	if (json_array_size(times) != json_array_size(values)) {
		intake_bad(l->into, l->path, l->line, "%zu timestamps, but %zu values", json_array_size(times), json_array_size(values));
		return 0;
	}
	counter = server < 0 ? server : intake_counter(l->into, name, NULL);
	for (size_t i = 0; counter >= 0 && r >= 0 && i < json_array_size(times); i++) {
		int64_t time;
		char unit[QUANTITY_UNIT_MAX];
		double value;

		if (take_time(l->input, json_array_get(times, i), &time) < 0)
			intake_bad(l->into, l->path, l->line, "timestamp %zu is not a time", i + 1);
		else if (number_of(json_array_get(values, i), &value, unit) && selection_wants_time(l->input, time))
			r = intake_put(l->into, server, counter, time, value);
	}
	return counter < 0 ? counter : r;
}

static int put_series(struct text_lines *l, const json_t *row, const json_t *metric)
{
	const char *metric_name = json_string_value(json_object_get(metric, "__name__"));
	_cleanup_str_ struct str name = {};
	int server = server_of(l, metric);

	if (server == -ENOENT)
		return 0;
	str_puts(&name, metric_name ? metric_name : "value");
	if (server < 0 || series_labels(metric, l->input, &name) < 0)
		return -ENOMEM;
	return put_points(l, server, name.data, json_object_get(row, "timestamps"), json_object_get(row, "values"));
}

/* CloudWatch's results. Those with the same label as another one have their id, too. */
static int put_results(struct text_lines *l, const json_t *results)
{
	const json_t *one, *other;
	size_t i, k;
	int r = 0;

	json_array_foreach((json_t *)results, i, one) {
		const char *id = json_string_value(json_object_get(one, "Id")), *label = json_string_value(json_object_get(one, "Label")) ?: id ?: "value";
		const char *last = strrchr(label, ' '), *space = last && last > label && last[1] ? last : NULL;
		_cleanup_free_ char *server = space ? strndup(label, (size_t)(space - label)) : strdup(l->name);
		_cleanup_str_ struct str name = {};
		size_t same = 0;

		json_array_foreach((json_t *)results, k, other)
			same += json_equal(json_object_get(one, "Label"), json_object_get(other, "Label"));
		str_puts(&name, space ? space + 1 : label);
		if (same > 1 && id)
			str_printf(&name, "{id=\"%s\"}", id);
		if (!server || name.error)
			return -ENOMEM;
		r = put_points(l, intake_server(l->into, server), name.data, json_object_get(one, "Timestamps"), json_object_get(one, "Values"));
		if (r < 0)
			break;
	}
	return r;
}

static int put_statistics(struct text_lines *l, const char *label, const json_t *points)
{
	int server = intake_server(l->into, l->name), r = server;
	json_t *point;
	size_t i;

	json_array_foreach((json_t *)points, i, point) {
		int64_t time;

		if (r >= 0 && take_time(l->input, json_object_get(point, "Timestamp"), &time) < 0)
			intake_bad(l->into, l->path, l->line, "datapoint %zu of %.80s has no time", i + 1, label);
		else if (r >= 0 && selection_wants_time(l->input, time) && json_object_del(point, "Timestamp") == 0)
			r = put_wide(l, point, label, "", server, time, 0);
	}
	return r;
}

/* Telegraf's fields, each a counter of the measurement and its tags. */
static int put_fields(struct text_lines *l, const json_t *row, int64_t time)
{
	const json_t *tags = json_object_get(row, "tags"), *fields = json_object_get(row, "fields");
	const char *measurement = json_string_value(json_object_get(row, "name")), *field;
	int server = server_of(l, row), r = 0;
	json_t *value;

	json_object_foreach((json_t *)fields, field, value) {
		_cleanup_str_ struct str name = {};
		char unit[QUANTITY_UNIT_MAX];
		double number;

		str_printf(&name, "%s_%s", measurement, field);
		if (server < 0 || series_labels(tags, l->input, &name) < 0)
			return server == -ENOENT ? 0 : -ENOMEM;
		if (json_is_number(value) && number_of(value, &number, unit) && selection_wants_counter(l->input, name.data))
			r = text_lines_put(l, server, name.data, &(struct counter_info){}, time, number);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Appends what names the thing that an event is about: "name", "mount_point" ... at any depth, with its path below `above` as the label. */
static void find_beat_labels(const json_t *object, const char *above, struct str *out, int depth)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value) {
		_cleanup_str_ struct str path = {};

		str_printf(&path, "%s%s%s", above, *above ? "." : "", key);
		if (path.error)
			out->error = path.error;
		else if (json_is_object(value) && depth < DEPTH_MAX)
			find_beat_labels(value, path.data, out, depth + 1);
		else if (is_one_of(key, NULL, beat_names) && json_is_string(value))
			str_printf(out, "%s%s=\"%s\"", out->len ? "," : "{", path.data, json_string_value(value));
		else if (is_one_of(key, NULL, beat_names) && json_is_integer(value))
			str_printf(out, "%s%s=\"%" JSON_INTEGER_FORMAT "\"", out->len ? "," : "{", path.data, json_integer_value(value));
	}
}

/* An event of Metricbeat: the counters of its module. NULL: it is none. */
static const json_t *beat_of(const json_t *row, const char **ret_module)
{
	const json_t *module = find_path(row, "event.module") ?: find_path(row, "metricset.module");

	*ret_module = json_string_value(module);
	return *ret_module && json_is_string(find_path(row, "metricset.name")) ? json_object_get(row, *ret_module) : NULL;
}

static int put_beat(struct text_lines *l, const json_t *row, const json_t *values, const char *module, int64_t time)
{
	const char *metricset = json_string_value(find_path(row, "metricset.name"));
	const json_t *inside = json_object_get(values, metricset);
	_cleanup_(json_decrefp) json_t *beside = json_copy((json_t *)values); /* of which pod a container is stands next to it */
	_cleanup_str_ struct str labels = {};
	int server = server_of(l, row);

	if (server < 0)
		return server == -ENOENT ? 0 : server;
	if (!beside)
		return -ENOMEM;
	if (json_is_object(inside)) {
		find_beat_labels(inside, "", &labels, 0);
		json_object_del(beside, metricset);
	}
	find_beat_labels(beside, "", &labels, 0);
	find_beat_labels(json_object_get(row, "process"), "process", &labels, 0);
	find_beat_labels(json_object_get(row, "container"), "container", &labels, 0);
	if (labels.len)
		str_putc(&labels, '}');
	return labels.error ? -ENOMEM : put_wide(l, values, module, labels.len ? labels.data : "", server, time, 0);
}

/* Takes the part with that number, as Graphite's aliasByNode() counts them, out of a dotted name: it is the server, the rest the counter. False: it has
 * fewer. */
static bool split_path(const char *path, const char *number, char **ret_server, char **ret_rest)
{
	const char *begin = path, *end;
	uint64_t node;

	if (str_parse_u64(number, &node) < 0)
		return false;
	for (; node && begin; node--)
		begin = (begin = strchr(begin, '.')) ? begin + 1 : NULL;
	if (!begin)
		return false;
	end = begin + strcspn(begin, ".");
	*ret_server = strndup(begin, (size_t)(end - begin));
	if (asprintf(ret_rest, "%.*s%s", (int)(begin - path), path, *end ? end + 1 : "") < 0)
		*ret_rest = NULL;
	return *ret_server && *ret_rest;
}

/* A series as Graphite's render API prints it. */
static int put_target(struct text_lines *l, const json_t *series)
{
	const json_t *tags = json_object_get(series, "tags"), *host = find(tags, NULL, server_names), *point;
	const char *target = json_string_value(json_object_get(series, "target"));
	_cleanup_free_ char *part = NULL, *rest = NULL;
	int server, counter, r = 0;
	size_t i;

	if (l->input->server_column && !split_path(target, l->input->server_column, &part, &rest)) {
		intake_bad(l->into, l->path, l->line, "'%.80s' has no part %s: --server-column counts from 0, as aliasByNode() does", target, l->input->server_column);
		return 0;
	}
	if (!selection_wants_counter(l->input, rest ? rest : target))
		return 0;
	server = intake_server(l->into, part ? part : json_is_string(host) ? json_string_value(host) : l->name);
	counter = server < 0 ? server : intake_counter(l->into, rest ? rest : target, NULL);
	if (counter < 0)
		return counter;
	json_array_foreach(json_object_get(series, "datapoints"), i, point) {
		int64_t time;

		if (take_time(l->input, json_array_get(point, 1), &time) < 0)
			intake_bad(l->into, l->path, l->line, "datapoint %zu of %.80s has no time", i + 1, target);
		else if (json_is_number(json_array_get(point, 0)) && selection_wants_time(l->input, time))
			r = intake_put(l->into, server, counter, time, json_number_value(json_array_get(point, 0)));
		if (r < 0)
			break;
	}
	return r;
}

static int take_object(struct text_lines *l, const json_t *row);

static int take_batch(struct text_lines *l, const json_t *metrics)
{
	const json_t *row;
	size_t i;
	int r = 0;

	json_array_foreach((json_t *)metrics, i, row)
		if (!json_is_object(row))
			intake_bad(l->into, l->path, l->line, "element %zu is not a JSON object", i + 1);
		else if (r >= 0)
			r = take_object(l, row);
	return r;
}

static int take_object(struct text_lines *l, const json_t *row)
{
	const json_t *counter = find(row, l->input->counter_column, counter_names);
	const json_t *value = find(row, l->input->value_column, value_names);
	const json_t *when = find(row, l->input->time_column, time_names), *beat;
	const char *module;
	int64_t time;
	int server;

	if (json_is_object(json_object_get(row, "metric")) && json_is_array(json_object_get(row, "values")))
		return put_series(l, row, json_object_get(row, "metric"));
	if (json_is_string(json_object_get(row, "target")) && json_is_array(json_object_get(row, "datapoints")))
		return put_target(l, row);
	if (json_is_array(json_object_get(row, "resourceMetrics")))
		return otlp_metrics_take(l, json_object_get(row, "resourceMetrics"));
	if (json_is_array(json_object_get(row, "MetricDataResults")))
		return put_results(l, json_object_get(row, "MetricDataResults"));
	if (json_is_string(json_object_get(row, "Label")) && json_is_array(json_object_get(row, "Datapoints")))
		return put_statistics(l, json_string_value(json_object_get(row, "Label")), json_object_get(row, "Datapoints"));
	if (!when && json_is_array(json_object_get(row, "metrics")))
		return take_batch(l, json_object_get(row, "metrics"));
	if (!when || take_time(l->input, when, &time) < 0) {
		intake_bad(l->into, l->path, l->line, when ? "no time that is understood" : "no time: no field named time, timestamp or ts");
		return 0;
	}
	if (!selection_wants_time(l->input, time))
		return 0;
	if (json_is_object(json_object_get(row, "fields")) && json_is_object(json_object_get(row, "tags")) && json_is_string(json_object_get(row, "name")))
		return put_fields(l, row, time);
	beat = beat_of(row, &module);
	if (json_is_object(beat))
		return put_beat(l, row, beat, module, time);
	server = server_of(l, row);
	if (server < 0)
		return server == -ENOENT ? 0 : server;
	if (json_is_string(counter) && value)
		return put_long(l, row, json_string_value(counter), value, server, time);
	return put_wide(l, row, "", "", server, time, 0);
}

static int take_json(struct text_lines *l, const char *text, size_t n)
{
	json_error_t error;
	_cleanup_(json_decrefp) json_t *row = json_loadb(text, n, 0, &error);

	if (!row)
		intake_bad(l->into, l->path, l->line, "no JSON at byte %d: %s", error.position, error.text);
	else if (json_is_object(json_array_get(row, 0)))
		return take_batch(l, row);
	else if (!json_is_object(row))
		intake_bad(l->into, l->path, l->line, "no JSON object");
	else
		return take_object(l, row);
	return 0;
}

struct json_lines {
	struct text_lines at;
	struct str document; /* the lines of an object that is not closed yet */
};

static bool opens(const char *line)
{
	return strcmp(line, "{") == 0 || strcmp(line, "[") == 0 || strcmp(line, "[{") == 0;
}

static bool closes(const char *line)
{
	return strcmp(line, "}") == 0 || strcmp(line, "]") == 0 || strcmp(line, "}]") == 0;
}

static int take_line(struct text_lines *l, char *line)
{
	struct json_lines *j = (struct json_lines *)l;
	size_t n = strlen(line);
	int r = 0;

	while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
		line[--n] = 0;
	if (!n)
		return 0;
	if (!j->document.len && !opens(line))
		return take_json(l, line, n);
	str_printf(&j->document, "%s\n", line);
	if (j->document.error)
		return -ENOMEM;
	if (closes(line))
		r = take_json(l, j->document.data, j->document.len);
	else if (j->document.len <= DOCUMENT_MAX)
		return 0;
	else
		intake_bad(l->into, l->path, l->line, "a JSON object of more than %u MiB", DOCUMENT_MAX >> 20);
	str_clear(&j->document);
	return r;
}

static void end_file(struct text_lines *l)
{
	struct json_lines *j = (struct json_lines *)l;

	if (j->document.len)
		intake_bad(l->into, l->path, l->line, "the last JSON object is not closed: the file is cut off");
	str_clear(&j->document);
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	struct json_lines j = {.at = {.input = input, .into = into}};
	int r = text_lines_load(&j.at, all_endings, end_file, take_line, ret_error);

	str_free(&j.document);
	return r;
}

/* The first line is a JSON object, or Graphite's list; a file of one line may lack its end. Of one on many lines it has a key of theirs. */
static int look(const char *piece, size_t n)
{
	static const char *const keys[] = {"\"MetricDataResults\"", "\"Datapoints\"", "\"datapoints\"", "\"resourceMetrics\"", "\"timestamps\""};
	const char *end = memchr(piece, '\n', n) ?: piece + n;
	_cleanup_(json_decrefp) json_t *row = *piece == '{' || *piece == '[' ? json_loadb(piece, (size_t)(end - piece), 0, NULL) : NULL;

	for (size_t i = 0; !row && i < ARRAY_SIZE(keys) && (*piece == '{' || *piece == '['); i++)
		if (memmem(piece, n, keys[i], strlen(keys[i])))
			return 60;
	return json_is_object(row) || json_object_get(json_array_get(row, 0), "datapoints") ? 60 : 0;
}

static int recognise(const char *location)
{
	return files_recognise(location, endings, look) ?: files_recognise_by_content(location, all_endings, look);
}

const struct fleet_source fleet_source_json_lines = {
	.name = "jsonl",
	.help = "JSON lines (also gz, zst, xz): wide, long, whole series as VictoriaMetrics exports them, Telegraf's, Metricbeat's, OpenTelemetry's, Graphite's, CloudWatch's",
	.recognise = recognise,
	.load = load,
};
