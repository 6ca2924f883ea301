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

#include "spans/formats/span-json.h"

static void complain(struct span_reader *r, const char *name, uint64_t offset, const struct tape_value *span, enum span_fault fault,
		     const char *what)
{
	const struct tape_value *id = tape_get(span, "id");

	span_fault(r->sink.faults, fault, "%s: byte %" PRIu64 ", span %.*s: %s", name, offset, tape_is(id, TAPE_TEXT) ? (int)id->n : 1,
		   tape_is(id, TAPE_TEXT) ? id->text : "?", what);
}

static void take(struct span_reader *r, const char *key, const struct tape_value *value, bool all)
{
	size_t n;
	const char *text = tape_text(value, &n);

	if (text)
		span_reader_attribute(r, key, strlen(key), text, n, all);
}

static void read_process(struct span_reader *r, const struct tape_value *span, struct span *ret)
{
	const struct tape_value *local = tape_get(span, "localEndpoint");

	span_reader_begin(r);
	take(r, "service.instance.id", tape_get(local, "ipv4"), true);
	take(r, "service.name", tape_get(local, "serviceName"), true);
	ret->resource = span_reader_resource(r, &ret->service);
}

static void read_tags(struct span_reader *r, const struct tape_value *json, struct span *span)
{
	bool all = span_reader_begin_span(r, span);

	TAPE_PAIRS(key, tape_get(json, "tags")) {
		size_t n;
		const char *text = tape_text(key + 1, &n);

		if (!text)
			continue;
		if (span_tag_is_error(key->text, key->n, text, n))
			span->flags |= SPAN_ERROR;
		span_reader_attribute(r, key->text, key->n, text, n, all);
	}
	take(r, "peer.service", tape_get(tape_get(json, "remoteEndpoint"), "serviceName"), all);
	span_reader_end_span(r, span);
	span->weight = span_reader_weight(r, "", 0);
}

static bool read_times(const struct tape_value *json, struct span *span)
{
	const struct tape_value *length = tape_get(json, "duration");
	int64_t start, duration = 0;

	if (!tape_whole(tape_get(json, "timestamp"), &start) || (length && !tape_whole(length, &duration)))
		return false;
	if (start < 0 || duration < 0 || start > INT64_MAX / 1000 || duration > INT64_MAX / 1000 - start)
		return false;
	span->start = start * 1000;
	span->end = (start + duration) * 1000;
	return true;
}

static int read_span(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json)
{
	struct span span = {};
	const struct tape_value *trace = tape_get(json, "traceId"), *id = tape_get(json, "id"), *parent = tape_get(json, "parentId"),
				*name = tape_get(json, "name"), *kind = tape_get(json, "kind");

	if (tape_is(trace, TAPE_TEXT) && !span_reader_takes_text(r, trace->text, trace->n, &span.trace_high, &span.trace_low))
		return 0;
	span.id = tape_is(id, TAPE_TEXT) ? span_id_of_text(id->text, id->n) : 0;
	span.parent = tape_is(parent, TAPE_TEXT) ? span_id_of_text(parent->text, parent->n) : 0;
	if (!span.id || (!span.trace_high && !span.trace_low)) {
		if (tape_is(trace, TAPE_TEXT) || !r->part)
			complain(r, file, offset, json, SPAN_FAULT_ID, "no traceId or id");
		return 0;
	}
	if (!read_times(json, &span)) {
		complain(r, file, offset, json, SPAN_FAULT_TIME, "timestamp and duration are not microseconds");
		return 0;
	}
	if (tape_is(name, TAPE_TEXT))
		span.operation = span_reader_name(r, name->text, name->n);
	if (tape_is(kind, TAPE_TEXT))
		span.kind = (uint8_t)span_kind_of_text(kind->text, kind->n);
	read_process(r, json, &span);
	read_tags(r, json, &span);
	return span_reader_put(r, &span);
}

/* A span, or a trace: a list of them. */
static int read_element(struct span_reader *r, const char *name, uint64_t offset, const struct tape_value *json)
{
	return tape_is(json, TAPE_ARRAY) ? span_json_each(r, name, offset, json, read_span) : read_span(r, name, offset, json);
}

static int read_all(struct span_reader *r, struct input *in)
{
	static const char *const keys[] = {NULL};

	return span_json_elements(r, in, keys, read_element);
}

static bool recognises(const uint8_t *head, size_t n)
{
	return span_json_mentions(head, n, "\"traceId\"") && span_json_mentions(head, n, "\"id\"") && !span_json_mentions(head, n, "\"spanId\"");
}

const struct span_source source_zipkin = {
	.name = "zipkin",
	.help = "Zipkin, JSON",
	.recognises = recognises,
	.read = read_all,
};
