/* AWS X-Ray's segment documents:
 *
 *   {"trace_id": "1-58406520-a006649127e371903a2de979", "id": "70de5b6f19ff9a0a", "parent_id": "...", "name": "web", "start_time": s, "end_time": s,
 *    "http": {"request": {"method": "GET", "url": "https://..."}, "response": {"status": 200}}, "fault": true, "service": {"version": "1"},
 *    "annotations": {"tier": "gold"}, "subsegments": [{"id": "...", "name": "db", "namespace": "remote", ...}]}
 *
 * One each line, in an array, or as texts in what BatchGetTraces answers ({"Traces": [{"Segments": [{"Document": "{...}"}]}]}).
 * A segment is what a service did; a subsegment with a namespace is a call of the service that it is named after.
 */
#include <errno.h>
#include <inttypes.h>

#include "lib/data/cleanup.h"
#include "spans/formats/span-json.h"

#define NESTED_MOST 64 /* subsegments in subsegments */

struct segment {
	const char *file;
	uint64_t offset;
	const struct tape_value *top; /* whose process all of it ran in */
	uint64_t id;
	unsigned depth;
};

static void read_process(struct span_reader *r, const struct tape_value *segment)
{
	const struct tape_value *aws = tape_get(segment, "aws");

	span_json_take(r, "service.name", tape_get(segment, "name"), true);
	span_json_take(r, "service.version", tape_get(tape_get(segment, "service"), "version"), true);
	span_json_take(r, "host.name", tape_get(tape_get(aws, "ec2"), "instance_id"), true);
	span_json_take(r, "service.instance.id", tape_get(tape_get(aws, "ecs"), "container"), true);
}

static bool is_true(const struct tape_value *json, const char *key)
{
	return tape_is(tape_get(json, key), TAPE_TRUE);
}

static void read_details(struct span_reader *r, struct json_span *s, bool all)
{
	const struct tape_value *http = tape_get(s->json, "http"), *request = tape_get(http, "request"), *sql = tape_get(s->json, "sql");

	span_json_take(r, "url.full", tape_get(request, "url"), all);
	span_json_take(r, "http.request.method", tape_get(request, "method"), all);
	span_json_take(r, "http.response.status_code", tape_get(tape_get(http, "response"), "status"), all);
	span_json_take(r, "db.system", tape_get(sql, "database_type"), all);
	if (s->span.kind == SPAN_CLIENT)
		span_json_take(r, "peer.service", tape_get(s->json, "name"), all);
	span_json_take_pairs(r, tape_get(s->json, "annotations"), &s->span, all);
}

static void find_kind(const struct tape_value *json, bool is_segment, struct span *span)
{
	const struct tape_value *space = tape_get(json, "namespace");

	span->kind = is_segment ? SPAN_SERVER : tape_is(space, TAPE_TEXT) ? SPAN_CLIENT : SPAN_INTERNAL;
	if (is_true(json, "fault") || is_true(json, "error") || is_true(json, "throttle"))
		span->flags |= SPAN_ERROR;
}

static int read_segment(struct span_reader *r, const struct segment *above, const struct tape_value *json);

static int read_subsegments(struct span_reader *r, const struct segment *s, const struct tape_value *json)
{
	int result = 0;

	if (s->depth == NESTED_MOST) {
		span_fault(r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": more than %d subsegments in each other", s->file, s->offset, NESTED_MOST);
		return 0;
	}
	TAPE_EACH(one, tape_get(json, "subsegments"))
		result = result ? result : read_segment(r, s, one);
	return result;
}

static int read_segment(struct span_reader *r, const struct segment *above, const struct tape_value *json)
{
	struct segment own = {above->file, above->offset, above->top ? above->top : json, span_json_hex(tape_get(json, "id")), above->depth + 1};
	const struct tape_value *method = tape_get(tape_get(tape_get(json, "http"), "request"), "method");
	struct json_span s = {.json = json, .process = own.top, .times = "start_time and end_time are not seconds", .resource = read_process,
			      .attributes = read_details};
	int result;

	span_json_set_trace(&s, tape_get(own.top, "trace_id"));
	span_json_set_name(&s, method ? method : tape_get(json, "name"));
	s.span.id = own.id;
	s.span.parent = above->id ? above->id : span_json_hex(tape_get(json, "parent_id"));
	if (!span_json_time(tape_get(json, "start_time"), 1000000000, &s.span.start) || !span_json_time(tape_get(json, "end_time"), 1000000000, &s.span.end))
		s.span.end = -1;
	find_kind(json, own.top == json, &s.span);
	result = span_json_put(r, own.file, own.offset, &s);
	return result ? result : read_subsegments(r, &own, json);
}

static int read_document(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json)
{
	return read_segment(r, &(struct segment){.file = file, .offset = offset}, json);
}

/* A document as a text within JSON. */
static int read_packed(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *text)
{
	_cleanup_(tape_free) struct tape tape = {};
	int result = tape_read(&tape, text->text, text->n);

	if (result == 0)
		result = read_document(r, file, offset, tape.values.v);
	else if (result != -ENOMEM) {
		if (!r->part)
			span_fault(r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": a segment's document is not JSON", file, offset);
		result = 0;
	}
	return result;
}

/* A segment, or a trace with the documents of its segments. */
static int read_element(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json)
{
	const struct tape_value *segments = tape_get(json, "Segments");
	int result = 0;

	if (!tape_is(segments, TAPE_ARRAY))
		return tape_is(json, TAPE_TEXT) ? read_packed(r, file, offset, json) : read_document(r, file, offset, json);
	TAPE_EACH(segment, segments) {
		const struct tape_value *document = tape_get(segment, "Document");

		if (result == 0 && tape_is(document, TAPE_TEXT))
			result = read_packed(r, file, offset, document);
	}
	return result;
}

static int read_all(struct span_reader *r, struct input *in)
{
	static const char *const keys[] = {"Traces", NULL};

	return span_json_elements(r, in, keys, read_element);
}

static bool recognises(const uint8_t *head, size_t n)
{
	return span_json_mentions(head, n, "\"Segments\"") || (span_json_mentions(head, n, "\"trace_id\"") && span_json_mentions(head, n, "\"start_time\"") &&
								 !span_json_mentions(head, n, "\"span_id\""));
}

const struct span_source source_xray = {
	.name = "xray",
	.help = "AWS X-Ray's segments, JSON",
	.recognises = recognises,
	.read = read_all,
};
