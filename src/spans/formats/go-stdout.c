/* OpenTelemetry's stdout exporter for Go prints an object a span:
 *
 *   {"Name": "query", "SpanContext": {"TraceID": "0a", "SpanID": "02"}, "Parent": {"TraceID": "0a", "SpanID": "01"}, "SpanKind": 3,
 *    "StartTime": "2023-11-14T22:13:20.00001Z", "EndTime": "...", "Attributes": [{"Key": "db.system", "Value": {"Type": "STRING", "Value": "mysql"}}],
 *    "Status": {"Code": "Error"}, "Resource": [{"Key": "service.name", "Value": {"Type": "STRING", "Value": "db"}}]}
 */

#include "lib/input/timestamp.h"
#include "spans/formats/span-json.h"

static void read_list(struct span_reader *r, const struct tape_value *list, bool all)
{
	TAPE_EACH(pair, list) {
		const struct tape_value *key = tape_get(pair, "Key");
		size_t n;
		const char *text = tape_text(tape_get(tape_get(pair, "Value"), "Value"), &n);

		if (tape_is(key, TAPE_TEXT) && text)
			span_reader_attribute(r, key->text, key->n, text, n, all);
	}
}

static void read_process(struct span_reader *r, const struct tape_value *resource)
{
	read_list(r, resource, true);
}

static void read_attributes(struct span_reader *r, struct json_span *s, bool all)
{
	struct span_link link = {.span = s->span.id};

	read_list(r, tape_get(s->json, "Attributes"), all);
	TAPE_EACH(one, tape_get(s->json, "Links")) {
		const struct tape_value *trace = tape_get(tape_get(one, "SpanContext"), "TraceID");
		uint64_t high, low;

		if (!tape_is(trace, TAPE_TEXT))
			continue;
		span_trace_id_of_text(r->sink.names, trace->text, trace->n, &high, &low);
		span_reader_link(&s->span, high, low, &link);
	}
	span_reader_end_links(r, &s->span, &link);
}

static bool read_moment(const struct tape_value *text, int64_t *ret)
{
	return tape_is(text, TAPE_TEXT) && timestamp_parse(text->text, text->text + text->n, ret) == 0;
}

static int read_span(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json)
{
	const struct tape_value *context = tape_get(json, "SpanContext"), *status = tape_get(tape_get(json, "Status"), "Code"),
				*kind = tape_get(json, "SpanKind");
	struct json_span s = {.json = json, .process = tape_get(json, "Resource"), .times = "StartTime and EndTime are not moments",
			      .resource = read_process, .attributes = read_attributes};
	size_t n;
	const char *text = tape_text(kind, &n);

	span_json_set_trace(&s, tape_get(context, "TraceID"));
	span_json_set_name(&s, tape_get(json, "Name"));
	s.span.id = span_json_hex(tape_get(context, "SpanID"));
	s.span.parent = span_json_hex(tape_get(tape_get(json, "Parent"), "SpanID"));
	if (!read_moment(tape_get(json, "StartTime"), &s.span.start) || !read_moment(tape_get(json, "EndTime"), &s.span.end))
		s.span.end = -1;
	s.span.kind = (uint8_t)(text ? span_kind_of_text(text, n) : SPAN_UNKNOWN);
	if (tape_is(status, TAPE_TEXT) && span_status_is_error(status->text, status->n))
		s.span.flags |= SPAN_ERROR;
	return span_json_put(r, file, offset, &s);
}

static int read_all(struct span_reader *r, struct input *in)
{
	static const char *const keys[] = {NULL};

	return span_json_elements(r, in, keys, read_span);
}

static bool recognises(const uint8_t *head, size_t n)
{
	return span_json_mentions(head, n, "\"SpanContext\"");
}

const struct span_source source_go_stdout = {
	.name = "go-stdout",
	.help = "OpenTelemetry's stdout exporter for Go, JSON",
	.recognises = recognises,
	.read = read_all,
};
