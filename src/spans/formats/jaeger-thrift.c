/* Jaeger's Thrift model in JSON, as its older clients and agents write batches:
 *
 *   {"process": {"serviceName": "web", "tags": [{"key": "host.name", "vType": "STRING", "vStr": "h1"}]},
 *    "spans": [{"traceIdLow": 10, "traceIdHigh": 0, "spanId": 2, "parentSpanId": 1, "operationName": "query", "startTime": us, "duration": us,
 *     "references": [{"refType": "CHILD_OF", "spanId": 1}], "tags": [{"key": "error", "vType": "BOOL", "vBool": true}]}]}
 *
 * Ids are signed decimal numbers.
 */
#include <inttypes.h>
#include <stdio.h>

#include "spans/formats/span-json.h"

static const struct tape_value *value_of(const struct tape_value *tag)
{
	static const char *const keys[] = {"vStr", "vLong", "vDouble", "vBool", NULL};
	const struct tape_value *value = NULL;

	for (const char *const *key = keys; *key && !value; key++)
		value = tape_get(tag, *key);
	return value;
}

static void read_tags(struct span_reader *r, const struct tape_value *tags, struct span *span, bool all)
{
	TAPE_EACH(tag, tags) {
		const struct tape_value *key = tape_get(tag, "key");
		size_t n;
		const char *text = tape_text(value_of(tag), &n);

		if (!tape_is(key, TAPE_TEXT) || !text)
			continue;
		if (span && tape_says(key, "span.kind"))
			span->kind = (uint8_t)span_kind_of_text(text, n);
		else if (span && span_tag_is_error(key->text, key->n, text, n))
			span->flags |= SPAN_ERROR;
		span_reader_attribute(r, key->text, key->n, text, n, all);
	}
}

static void read_own(struct span_reader *r, struct json_span *s, bool all)
{
	read_tags(r, tape_get(s->json, "tags"), &s->span, all);
}

static uint64_t parent_of(const struct tape_value *json)
{
	uint64_t parent = span_json_decimal(tape_get(json, "parentSpanId"));

	TAPE_EACH(reference, tape_get(json, "references"))
		if (!parent && tape_says(tape_get(reference, "refType"), "CHILD_OF"))
			parent = span_json_decimal(tape_get(reference, "spanId"));
	return parent;
}

static int read_batch(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *batch)
{
	const struct tape_value *process = tape_get(batch, "process");
	struct span of_process = {};
	int result = 0;

	span_reader_begin(r);
	read_tags(r, tape_get(process, "tags"), NULL, true);
	span_json_take(r, "service.name", tape_get(process, "serviceName"), true);
	of_process.resource = span_reader_resource(r, &of_process.service);
	if (!tape_is(tape_get(batch, "spans"), TAPE_ARRAY) && !r->part)
		span_fault(r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": this is not a batch: it has no spans", file, offset);
	TAPE_EACH(json, tape_get(batch, "spans")) {
		struct json_span s = {.span = of_process, .json = json, .times = "startTime and duration are not microseconds", .attributes = read_own};
		uint64_t high = span_json_decimal(tape_get(json, "traceIdHigh")), low = span_json_decimal(tape_get(json, "traceIdLow"));
		char trace[33];

		s.trace_n = (size_t)snprintf(trace, sizeof(trace), "%016" PRIx64 "%016" PRIx64, high, low);
		s.trace = high || low ? trace : NULL;
		span_json_set_name(&s, tape_get(json, "operationName"));
		span_json_set_times(&s, tape_get(json, "startTime"), tape_get(json, "duration"), 1000, 1000);
		s.span.id = span_json_decimal(tape_get(json, "spanId"));
		s.span.parent = parent_of(json);
		result = result ? result : span_json_put(r, file, offset, &s);
	}
	return result;
}

static int read_all(struct span_reader *r, struct input *in)
{
	static const char *const keys[] = {"batches", "data", NULL};

	return span_json_elements(r, in, keys, read_batch);
}

static bool recognises(const uint8_t *head, size_t n)
{
	return span_json_mentions(head, n, "\"traceIdLow\"");
}

const struct span_source source_jaeger_thrift = {
	.name = "jaeger-thrift",
	.help = "Jaeger's Thrift model, JSON",
	.recognises = recognises,
	.read = read_all,
};
