#include "fleet/formats/otlp-metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fleet/model/selection.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"

#define TEMPORALITY_DELTA 1
#define NO_VALUE	  1 /* in a point's flags */

/* The value of an attribute as text; NULL: it has none, or one that is not plain. */
static const char *text_of(const json_t *value, char number[32])
{
	const json_t *text = json_object_get(value, "stringValue"), *whole = json_object_get(value, "intValue"), *truth = json_object_get(value, "boolValue");

	if (json_is_string(text) || json_is_string(whole))
		return json_string_value(json_is_string(text) ? text : whole);
	if (json_is_integer(whole))
		snprintf(number, 32, "%" JSON_INTEGER_FORMAT, json_integer_value(whole));
	else if (json_is_number(json_object_get(value, "doubleValue")))
		snprintf(number, 32, "%g", json_number_value(json_object_get(value, "doubleValue")));
	else
		return json_is_boolean(truth) ? json_is_true(truth) ? "true" : "false" : NULL;
	return number;
}

static const char *attribute(const json_t *attributes, const char *key)
{
	const json_t *one;
	size_t i;

	json_array_foreach((json_t *)attributes, i, one) {
		const char *name = json_string_value(json_object_get(one, "key"));

		if (name && strcmp(name, key) == 0)
			return json_string_value(json_object_get(json_object_get(one, "value"), "stringValue"));
	}
	return NULL;
}

static const char *server_name(const struct text_lines *l, const json_t *attributes)
{
	static const char *const keys[] = {"k8s.pod.name", "container.name", "host.name", "service.instance.id", "service.name", NULL};
	const char *found = NULL;

	if (l->input->server_column)
		return attribute(attributes, l->input->server_column);
	for (size_t i = 0; !found && keys[i]; i++)
		found = attribute(attributes, keys[i]);
	return found ?: l->name;
}

/* Numbers of 64 bits are texts in OTLP's JSON. */
static bool whole_of(const json_t *value, int64_t *ret)
{
	uint64_t number;

	if (json_is_integer(value) && json_integer_value(value) >= 0)
		*ret = json_integer_value(value);
	else if (json_is_string(value) && str_parse_u64(json_string_value(value), &number) == 0 && number <= INT64_MAX)
		*ret = (int64_t)number;
	else
		return false;
	return true;
}

static bool number_of(const json_t *point, double *ret)
{
	const json_t *value = json_object_get(point, "asDouble"), *whole = json_object_get(point, "asInt");
	const char *text = json_string_value(whole);
	long long number;
	int end = 0;

	if (text && sscanf(text, "%lld%n", &number, &end) == 1 && !text[end])
		*ret = (double)number;
	else if (json_is_number(value) || json_is_number(whole))
		*ret = json_number_value(json_is_number(value) ? value : whole);
	else
		return false;
	return true;
}

static void put_label(struct str *out, const char *key, const char *value)
{
	str_printf(out, "%s%s=\"%s\"", memchr(out->data, '{', out->len) ? "," : "{", key, value);
}

/* "http.requests{method="GET"}": the attributes of a point, and one more of `label`. */
static void put_name(const struct otlp_metric *m, const char *ending, const json_t *point, const char *label, const char *value, struct str *out)
{
	const json_t *one;
	size_t i;

	str_printf(out, "%s%s", m->name, ending);
	if (m->service && !out->error)
		put_label(out, "service", m->service);
	json_array_foreach(json_object_get(point, "attributes"), i, one) {
		char number[32];
		const char *text = text_of(json_object_get(one, "value"), number), *key = json_string_value(json_object_get(one, "key"));

		if (text && key && !out->error)
			put_label(out, key, text);
	}
	if (label && !out->error)
		put_label(out, label, value);
	if (!out->error && memchr(out->data, '{', out->len))
		str_putc(out, '}');
}

static int put(const struct otlp_metric *m, const char *name, enum fleet_kind kind, int64_t time, double number)
{
	return selection_wants_counter(m->l->input, name) ? text_lines_put(m->l, m->server, name, &(struct counter_info){.kind = kind, .unit = m->unit}, time, number) : 0;
}

/* The number of a point, or of one of its totals. */
static bool value_of(const json_t *point, const json_t *total, double *ret)
{
	int64_t count;

	if (!total)
		return number_of(point, ret);
	if (json_is_string(total) && whole_of(total, &count))
		*ret = (double)count;
	else if (json_is_number(total))
		*ret = json_number_value(total);
	else
		return false;
	return true;
}

/* A running sum as it is; what came since the point before as its rate, as the column of a sum holds it. */
static int put_number(const struct otlp_metric *m, const char *ending, const json_t *point, const json_t *total, bool sums, int64_t time)
{
	_cleanup_str_ struct str name = {};
	double number;
	int64_t begin;

	if (!value_of(point, total, &number)) {
		intake_bad(m->l->into, m->l->path, m->l->line, "a point of %s%s has no number", m->name, ending);
		return 0;
	}
	put_name(m, ending, point, NULL, NULL, &name);
	if (name.error)
		return -ENOMEM;
	if (!sums || !m->is_delta)
		return put(m, name.data, sums ? FLEET_COUNTER : FLEET_GAUGE, time, number);
	if (!whole_of(json_object_get(point, "startTimeUnixNano"), &begin) || begin >= time) {
		intake_bad(m->l->into, m->l->path, m->l->line, "a point of %s says what came since a time, and not since when", name.data);
		return 0;
	}
	return put(m, name.data, FLEET_GAUGE, time, number * NS_PER_SEC / (double)(time - begin));
}

static int put_quantiles(const struct otlp_metric *m, const json_t *point, int64_t time)
{
	const json_t *one;
	size_t i;
	int r = 0;

	json_array_foreach(json_object_get(point, "quantileValues"), i, one) {
		_cleanup_str_ struct str name = {};
		char quantile[32];

		snprintf(quantile, sizeof(quantile), "%g", json_number_value(json_object_get(one, "quantile")));
		put_name(m, "", point, "quantile", quantile, &name);
		if (name.error)
			return -ENOMEM;
		r = put(m, name.data, FLEET_GAUGE, time, json_number_value(json_object_get(one, "value")));
		if (r < 0)
			break;
	}
	return r;
}

int otlp_metric_point(const struct otlp_metric *m, const json_t *point)
{
	const json_t *count = json_object_get(point, "count"), *sum = json_object_get(point, "sum");
	int64_t time;
	int r = 0;

	if (!whole_of(json_object_get(point, "timeUnixNano"), &time)) {
		intake_bad(m->l->into, m->l->path, m->l->line, "a point of %s has no time", m->name);
		return 0;
	}
	if ((json_integer_value(json_object_get(point, "flags")) & NO_VALUE) || !selection_wants_time(m->l->input, time))
		return 0;
	if (!m->counts)
		return put_number(m, "", point, NULL, m->is_sum, time);
	if (count)
		r = put_number(m, "_count", point, count, true, time);
	if (r >= 0 && sum)
		r = put_number(m, "_sum", point, sum, true, time);
	return r < 0 ? r : put_quantiles(m, point, time);
}

static bool is_delta(const json_t *data)
{
	const json_t *how = json_object_get(data, "aggregationTemporality");
	const char *word = json_string_value(how);

	return word ? strcmp(word, "AGGREGATION_TEMPORALITY_DELTA") == 0 : json_integer_value(how) == TEMPORALITY_DELTA;
}

/* UCUM's units of what is counted ("1", "{request}") say nothing more than the name, and its byte is By. NULL: none. */
static const char *unit_of(const char *unit)
{
	if (!unit || strcmp(unit, "1") == 0 || *unit == '{' || !*unit)
		return NULL;
	return strcmp(unit, "By") == 0 ? "B" : unit;
}

const json_t *otlp_metric_begin(struct otlp_metric *m, const json_t *metric)
{
	static const struct {
		const char *key;
		bool counts;
	} forms[] = {{"gauge", false}, {"sum", false}, {"histogram", true}, {"exponentialHistogram", true}, {"summary", true}};
	const json_t *data = NULL;

	m->name = json_string_value(json_object_get(metric, "name"));
	m->unit = unit_of(json_string_value(json_object_get(metric, "unit")));
	for (size_t i = 0; i < ARRAY_SIZE(forms) && !data; i++) {
		data = json_object_get(metric, forms[i].key);
		m->counts = forms[i].counts;
	}
	if (!m->name || !data) {
		intake_bad(m->l->into, m->l->path, m->l->line, "a metric without a name, or without points of a form that is known");
		return NULL;
	}
	m->is_sum = json_is_true(json_object_get(data, "isMonotonic"));
	m->is_delta = is_delta(data);
	return data;
}

int otlp_resource_begin(struct text_lines *l, const json_t *resource, struct otlp_metric *ret)
{
	const json_t *attributes = json_object_get(resource, "attributes");
	const char *name = server_name(l, attributes), *service = attribute(attributes, "service.name");

	if (!name) {
		intake_bad(l->into, l->path, l->line, "a resource has no attribute '%s' that names a server", l->input->server_column);
		return -ENOENT;
	}
	*ret = (struct otlp_metric){.l = l, .server = intake_server(l->into, name), .service = service && strcmp(service, name) != 0 ? service : NULL};
	return ret->server < 0 ? ret->server : 0;
}

static int take_metric(struct otlp_metric *m, const json_t *metric)
{
	const json_t *data = otlp_metric_begin(m, metric), *point;
	size_t i;
	int r = 0;

	json_array_foreach(json_object_get(data, "dataPoints"), i, point) {
		r = otlp_metric_point(m, point);
		if (r < 0)
			break;
	}
	return r;
}

static int take_resource(struct text_lines *l, const json_t *resource)
{
	const json_t *scope, *metric;
	struct otlp_metric m;
	size_t i, k;
	int r = otlp_resource_begin(l, json_object_get(resource, "resource"), &m);

	json_array_foreach(json_object_get(resource, "scopeMetrics"), i, scope)
		json_array_foreach(json_object_get(scope, "metrics"), k, metric)
			if (r >= 0)
				r = take_metric(&m, metric);
	return r == -ENOENT ? 0 : r;
}

int otlp_metrics_take(struct text_lines *l, const json_t *resource_metrics)
{
	const json_t *resource;
	size_t i;
	int r = 0;

	json_array_foreach((json_t *)resource_metrics, i, resource)
		if (r >= 0)
			r = take_resource(l, resource);
	return r;
}
