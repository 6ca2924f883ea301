/* Zipkin's JSON, version 2, as its server and its libraries write it:
 *
 *   [{"traceId": "...", "id": "...", "parentId": "...", "name": "get", "kind": "CLIENT", "timestamp": us, "duration": us,
 *     "localEndpoint": {"serviceName": "web", "ipv4": "10.0.0.1"}, "remoteEndpoint": {"serviceName": "db"},
 *     "tags": {"key": "value"}, "shared": true}]
 *
 * A list of spans, a list of traces (lists of spans), or a span on each line. A server span may share its id with its client
 * span (B3): the tree tells them apart by their kinds. Spans without a duration, which messaging writes, take no time.
 */

#include "spans/formats/span-json.h"

static void read_process(struct span_reader *r, const struct tape_value *local)
{
	span_json_take(r, "service.instance.id", tape_get(local, "ipv4"), true);
	span_json_take(r, "service.name", tape_get(local, "serviceName"), true);
}

static void read_tags(struct span_reader *r, struct json_span *s, bool all)
{
	span_json_take_pairs(r, tape_get(s->json, "tags"), &s->span, all);
	span_json_take(r, "peer.service", tape_get(tape_get(s->json, "remoteEndpoint"), "serviceName"), all);
}

static int read_span_of(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json, const struct tape_value *trace)
{
	static const struct tape_value none = {.text = "0", .n = 1, .size = 1, .kind = TAPE_NUMBER};
	const struct tape_value *kind = tape_get(json, "kind"), *duration = tape_get(json, "duration");
	struct json_span s = {.json = json, .process = tape_get(json, "localEndpoint"), .times = "timestamp and duration are not microseconds",
			      .resource = read_process, .attributes = read_tags};

	span_json_set_trace(&s, tape_get(json, "traceId") ? tape_get(json, "traceId") : trace);
	span_json_set_name(&s, tape_get(json, "name"));
	span_json_set_times(&s, tape_get(json, "timestamp"), duration ? duration : &none, 1000, 1000);
	s.span.id = span_json_hex(tape_get(json, "id"));
	s.span.parent = span_json_hex(tape_get(json, "parentId"));
	if (tape_is(kind, TAPE_TEXT))
		s.span.kind = (uint8_t)span_kind_of_text(kind->text, kind->n);
	return span_json_put(r, file, offset, &s);
}

static int read_span(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json)
{
	return read_span_of(r, file, offset, json, NULL);
}

/* A trace whose spans do not repeat its id. */
static int read_trace(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json)
{
	int result = 0;

	TAPE_EACH(span, tape_get(json, "spans"))
		result = result ? result : read_span_of(r, file, offset, span, tape_get(json, "traceId"));
	return result;
}

/* A span, or a trace: a list of them. */
static int read_element(struct span_reader *r, const char *name, uint64_t offset, const struct tape_value *json)
{
	if (tape_is(json, TAPE_ARRAY))
		return span_json_each(r, name, offset, json, read_span);
	return tape_is(tape_get(json, "spans"), TAPE_ARRAY) ? read_trace(r, name, offset, json) : read_span(r, name, offset, json);
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
