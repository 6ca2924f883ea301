/* Zipkin's JSON, version 2, as its server and its libraries write it:
 *
 *   [{"traceId": "...", "id": "...", "parentId": "...", "name": "get", "kind": "CLIENT", "timestamp": us, "duration": us,
 *     "localEndpoint": {"serviceName": "web", "ipv4": "10.0.0.1"}, "remoteEndpoint": {"serviceName": "db"},
 *     "tags": {"key": "value"}, "shared": true}]
 *
 * A list of spans, a list of traces (lists of spans), or a span on each line. A server span may share its id with its client
 * span (B3): the tree tells them apart by their kinds. Spans without a duration, which messaging writes, take no time.
 */
#include <inttypes.h>
#include <string.h>

#include "source/span/span-json.h"

static void complain(struct span_reader *r, const char *name, uint64_t offset, const json_t *span, enum span_fault fault,
		     const char *what)
{
	const char *id = json_string_value(json_object_get(span, "id"));

	span_fault(r->sink.faults, fault, "%s: byte %" PRIu64 ", span %s: %s", name, offset, id ? id : "?", what);
}

static void take(struct span_reader *r, const char *key, const json_t *value, bool all)
{
	char buf[40];
	size_t n;
	const char *text = json_text(value, buf, &n);

	if (text)
		reader_attribute(r, key, strlen(key), text, n, all);
}

static void read_process(struct span_reader *r, const json_t *span, struct span *ret)
{
	const json_t *local = json_object_get(span, "localEndpoint");

	reader_begin(r);
	take(r, "service.instance.id", json_object_get(local, "ipv4"), true);
	take(r, "service.name", json_object_get(local, "serviceName"), true);
	ret->resource = reader_resource(r, &ret->service);
}

static void read_tags(struct span_reader *r, json_t *json, struct span *span)
{
	const char *key, *text;
	const json_t *value;
	char buf[40];
	size_t n;

	reader_begin(r);
	json_object_foreach(json_object_get(json, "tags"), key, value) {
		text = json_text(value, buf, &n);
		if (!text)
			continue;
		if (span_tag_is_error(key, text, n))
			span->flags |= SPAN_ERROR;
		reader_attribute(r, key, strlen(key), text, n, !span->parent);
	}
	take(r, "peer.service", json_object_get(json_object_get(json, "remoteEndpoint"), "serviceName"), !span->parent);
	span->attributes = reader_set(r);
	span->weight = reader_weight(r, "", 0);
}

static bool read_times(const json_t *json, struct span *span)
{
	const json_t *length = json_object_get(json, "duration");
	int64_t start, duration = 0;

	if (!json_number(json_object_get(json, "timestamp"), &start) || (length && !json_number(length, &duration)))
		return false;
	if (start < 0 || duration < 0 || start > INT64_MAX / 1000 || duration > INT64_MAX / 1000 - start)
		return false;
	span->start = start * 1000;
	span->end = (start + duration) * 1000;
	return true;
}

static uint64_t id_of(const json_t *span, const char *key)
{
	const json_t *id = json_object_get(span, key);

	return json_is_string(id) ? span_id_of_text(json_string_value(id), json_string_length(id)) : 0;
}

static int read_span(struct span_reader *r, const char *file, uint64_t offset, json_t *json)
{
	struct span span = {};
	const json_t *trace = json_object_get(json, "traceId"), *name = json_object_get(json, "name"), *kind = json_object_get(json, "kind");

	if (json_is_string(trace) &&
	    !reader_takes_text(r, json_string_value(trace), json_string_length(trace), &span.trace_high, &span.trace_low))
		return 0;
	span.id = id_of(json, "id");
	span.parent = id_of(json, "parentId");
	if (!span.id || (!span.trace_high && !span.trace_low)) {
		if (json_is_string(trace) || !r->part)
			complain(r, file, offset, json, SPAN_FAULT_ID, "no traceId or id");
		return 0;
	}
	if (!read_times(json, &span)) {
		complain(r, file, offset, json, SPAN_FAULT_TIME, "timestamp and duration are not microseconds");
		return 0;
	}
	if (json_is_string(name))
		span.operation = names_text(r->sink.names, json_string_value(name), json_string_length(name));
	if (json_is_string(kind))
		span.kind = (uint8_t)span_kind_of_text(json_string_value(kind), json_string_length(kind));
	read_process(r, json, &span);
	read_tags(r, json, &span);
	return reader_put(r, &span);
}

/* A span, or a trace: a list of them. */
static int read_element(struct span_reader *r, const char *name, uint64_t offset, json_t *json)
{
	return json_is_array(json) ? json_each(r, name, offset, json, read_span) : read_span(r, name, offset, json);
}

static int read_all(struct span_reader *r, struct input *in)
{
	static const char *const keys[] = {NULL};

	return json_elements(r, in, keys, read_element);
}

static bool recognises(const uint8_t *head, size_t n)
{
	return json_mentions(head, n, "\"traceId\"") && json_mentions(head, n, "\"id\"") && !json_mentions(head, n, "\"spanId\"");
}

const struct span_source source_zipkin = {
	.name = "zipkin",
	.help = "Zipkin, JSON",
	.recognises = recognises,
	.read = read_all,
};
