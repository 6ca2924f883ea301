/* Zipkin's JSON, version 2, as its server and its libraries write it:
 *
 *   [{"traceId": "...", "id": "...", "parentId": "...", "name": "get", "kind": "CLIENT", "timestamp": us, "duration": us,
 *     "localEndpoint": {"serviceName": "web", "ipv4": "10.0.0.1"}, "remoteEndpoint": {"serviceName": "db"},
 *     "tags": {"key": "value"}, "shared": true}]
 *
 * A list of spans, a list of traces (lists of spans), or a span on each line. A server span may share its id with its client
 * span (B3): the tree tells them apart by their kinds. Spans without a duration, which messaging writes, take no time.
 *
 * Version 1 has annotations instead of a kind, of both sides in one span, and tags in a list:
 *
 *   {"traceId": "...", "id": "...", "parentId": "...", "name": "get", "timestamp": us, "duration": us, "annotations": [{"timestamp": us, "value": "cs",
 *     "endpoint": {"serviceName": "web", "ipv4": "10.0.0.1"}}], "binaryAnnotations": [{"key": "http.path", "value": "/", "endpoint": {"serviceName": "web"}}]}
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

/* --- version 1 --- */

static void read_annotated_tags(struct span_reader *r, struct json_span *s, bool all)
{
	TAPE_EACH(tag, tape_get(s->json, "binaryAnnotations"))
		span_json_take_pair(r, tape_get(tag, "key"), tape_get(tag, "value"), &s->span, all);
}

static const struct tape_value *annotation(const struct tape_value *json, const char *value)
{
	TAPE_EACH(one, tape_get(json, "annotations"))
		if (tape_says(tape_get(one, "value"), value))
			return one;
	return NULL;
}

/* The client's or the server's side of a span, which its annotations `first` and `last` bound. */
static int put_side(struct span_reader *r, const char *file, uint64_t offset, const struct json_span *common, enum span_kind kind, const char *first,
		    const char *last)
{
	const struct tape_value *from = annotation(common->json, first), *to = annotation(common->json, last);
	struct json_span s = *common;

	s.process = tape_get(from ? from : to, "endpoint");
	s.span.kind = (uint8_t)kind;
	if (from && to && (!span_json_time(tape_get(from, "timestamp"), 1000, &s.span.start) || !span_json_time(tape_get(to, "timestamp"), 1000, &s.span.end)))
		s.span.end = -1;
	return from || to ? span_json_put(r, file, offset, &s) : 0;
}

static int read_version_1(struct span_reader *r, const char *file, uint64_t offset, struct json_span *s)
{
	int result;

	s->attributes = read_annotated_tags;
	if (!annotation(s->json, "cs") && !annotation(s->json, "sr")) {
		TAPE_EACH(tag, tape_get(s->json, "binaryAnnotations"))
			s->process = tape_get(tag, "endpoint");
		return span_json_put(r, file, offset, s);
	}
	result = put_side(r, file, offset, s, SPAN_CLIENT, "cs", "cr");
	return result == 0 ? put_side(r, file, offset, s, SPAN_SERVER, "sr", "ss") : result;
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
	if (tape_get(json, "binaryAnnotations"))
		return read_version_1(r, file, offset, &s);
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
	.help = "Zipkin (v2, v1), JSON",
	.recognises = recognises,
	.read = read_all,
};
