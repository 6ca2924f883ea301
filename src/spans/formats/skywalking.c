/* A trace as SkyWalking's query interface and its page hand it out:
 *
 *   {"data": {"trace": {"spans": [{"traceId": "...", "segmentId": "...", "spanId": 0, "parentSpanId": -1, "refs": [{"traceId": "...", "parentSegmentId": "...",
 *     "parentSpanId": 1, "type": "CROSS_PROCESS"}], "serviceCode": "web", "serviceInstanceName": "web-1", "startTime": ms, "endTime": ms, "endpointName": "GET:/cart",
 *     "type": "Entry", "peer": "", "isError": false, "tags": [{"key": "http.method", "value": "GET"}]}]}}}
 *
 * Spans are numbered within a segment.
 */
#include <inttypes.h>
#include <stdio.h>

#include "spans/formats/span-json.h"

#define ID_MAX 256

static uint64_t id_of(const struct tape_value *segment, const struct tape_value *span)
{
	char text[ID_MAX];
	size_t n;
	const char *number = tape_text(span, &n);

	if (!tape_is(segment, TAPE_TEXT) || !number || *number == '-')
		return 0;
	snprintf(text, sizeof(text), "%.*s:%.*s", segment->n < ID_MAX - 32 ? (int)segment->n : ID_MAX - 32, segment->text, n < 20 ? (int)n : 20, number);
	return span_id_of_text(text, strlen(text));
}

/* The caller is in the same segment, or in another process, which the first reference names. */
static uint64_t parent_of(const struct tape_value *json)
{
	uint64_t parent = id_of(tape_get(json, "segmentId"), tape_get(json, "parentSpanId"));

	TAPE_EACH(ref, tape_get(json, "refs"))
		if (!parent)
			parent = id_of(tape_get(ref, "parentSegmentId"), tape_get(ref, "parentSpanId"));
	return parent;
}

static void read_process(struct span_reader *r, const struct tape_value *json)
{
	span_json_take(r, "service.instance.id", tape_get(json, "serviceInstanceName"), true);
	span_json_take(r, "service.name", tape_get(json, "serviceCode"), true);
}

static void read_tags(struct span_reader *r, struct json_span *s, bool all)
{
	const struct tape_value *peer = tape_get(s->json, "peer");

	TAPE_EACH(tag, tape_get(s->json, "tags"))
		span_json_take_pair(r, tape_get(tag, "key"), tape_get(tag, "value"), &s->span, all);
	if (tape_is(peer, TAPE_TEXT) && peer->n)
		span_json_take(r, "peer.service", peer, all);
}

static int read_span(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json)
{
	struct json_span s = {.json = json, .process = json, .times = "startTime and endTime are not milliseconds", .resource = read_process, .attributes = read_tags};
	const struct tape_value *type = tape_get(json, "type");

	span_json_set_trace(&s, tape_get(json, "traceId"));
	span_json_set_name(&s, tape_get(json, "endpointName"));
	s.span.id = id_of(tape_get(json, "segmentId"), tape_get(json, "spanId"));
	s.span.parent = parent_of(json);
	if (!span_json_time(tape_get(json, "startTime"), 1000000, &s.span.start) || !span_json_time(tape_get(json, "endTime"), 1000000, &s.span.end))
		s.span.end = -1;
	if (tape_is(type, TAPE_TEXT))
		s.span.kind = (uint8_t)span_kind_of_text(type->text, type->n);
	if (tape_is(tape_get(json, "isError"), TAPE_TRUE))
		s.span.flags |= SPAN_ERROR;
	return span_json_put(r, file, offset, &s);
}

static int read_all(struct span_reader *r, struct input *in)
{
	static const char *const keys[] = {"data", "trace", "queryTrace", "spans", NULL};

	return span_json_elements(r, in, keys, read_span);
}

static bool recognises(const uint8_t *head, size_t n)
{
	return span_json_mentions(head, n, "\"segmentId\"") && span_json_mentions(head, n, "\"traceId\"");
}

const struct span_source source_skywalking = {
	.name = "skywalking",
	.help = "SkyWalking's traces as its query interface has them, JSON",
	.recognises = recognises,
	.read = read_all,
};
