/* OpenTelemetry's protocol in its JSON encoding: {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans":
 * [{"spans": []}]}]}, one such object or one on each line, as the collector's file exporter writes them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "source/span-json.h"

struct place {
	const char *name;
	uint64_t offset;
};

static void complain(struct span_reader *r, const struct place *place, const json_t *span, enum span_fault fault,
		     const char *what)
{
	const char *id = json_string_value(json_object_get(span, "spanId"));

	span_fault(r->sink.faults, fault, "%s: byte %" PRIu64 ", span %s: %s", place->name, place->offset, id ? id : "?", what);
}

/* AnyValue: {"stringValue": "x"}, {"intValue": "3"} ... */
static const char *value_text(const json_t *value, char buf[40], size_t *ret_n)
{
	static const char *const kinds[] = {"stringValue", "intValue", "boolValue", "doubleValue"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char *text = json_text(json_object_get(value, kinds[i]), buf, ret_n);

		if (text)
			return text;
	}
	return NULL;
}

static void read_attributes(struct span_reader *r, const json_t *attributes, bool all)
{
	const json_t *pair;
	size_t i, n;
	char buf[40];

	json_array_foreach(attributes, i, pair) {
		const json_t *key = json_object_get(pair, "key");
		const char *value = value_text(json_object_get(pair, "value"), buf, &n);

		if (json_is_string(key) && value)
			reader_attribute(r, json_string_value(key), json_string_length(key), value, n, all);
	}
}

static uint64_t id_of(const json_t *span, const char *key)
{
	const json_t *id = json_object_get(span, key);

	return json_is_string(id) ? span_id_of_text(json_string_value(id), json_string_length(id)) : 0;
}

static void read_state(const json_t *json, struct span_reader *r, struct span *span)
{
	const json_t *state = json_object_get(json, "traceState"), *code = json_object_get(json_object_get(json, "status"), "code"),
		     *kind = json_object_get(json, "kind");
	const char *text;
	char buf[40];
	size_t n;

	text = json_text(kind, buf, &n);
	if (text)
		span->kind = (uint8_t)span_kind_of_text(text, n);
	if (json_integer_value(code) == 2 || (json_is_string(code) && !strcmp(json_string_value(code), "STATUS_CODE_ERROR")))
		span->flags |= SPAN_ERROR;
	span->weight = reader_weight(r, json_is_string(state) ? json_string_value(state) : "", json_string_length(state));
}

static int read_span(struct span_reader *r, const struct place *place, const json_t *json, uint32_t resource,
		     uint32_t service)
{
	struct span span = {.resource = resource, .service = service};
	const json_t *trace = json_object_get(json, "traceId"), *name = json_object_get(json, "name");

	if (json_is_string(trace) &&
	    !reader_takes_text(r, json_string_value(trace), json_string_length(trace), &span.trace_high, &span.trace_low))
		return 0;
	span.id = id_of(json, "spanId");
	span.parent = id_of(json, "parentSpanId");
	if (!span.id || (!span.trace_high && !span.trace_low)) {
		if (json_is_string(trace) || !r->part)
			complain(r, place, json, SPAN_FAULT_ID, "no traceId or spanId");
		return 0;
	}
	if (!json_number(json_object_get(json, "startTimeUnixNano"), &span.start) ||
	    !json_number(json_object_get(json, "endTimeUnixNano"), &span.end) || span.start < 0 || span.end < span.start) {
		complain(r, place, json, SPAN_FAULT_TIME, "startTimeUnixNano and endTimeUnixNano are no span of time");
		return 0;
	}
	if (json_is_string(name))
		span.operation = names_text(r->sink.names, json_string_value(name), json_string_length(name));
	reader_begin(r);
	read_attributes(r, json_object_get(json, "attributes"), !span.parent);
	span.attributes = reader_set(r);
	read_state(json, r, &span);
	return r->sink.put(r->sink.state, &span);
}

static int read_scopes(struct span_reader *r, const struct place *place, const json_t *scopes, uint32_t set,
		       uint32_t service)
{
	const json_t *scope, *span;
	size_t i, j;
	int result;

	json_array_foreach(scopes, i, scope) {
		json_array_foreach(json_object_get(scope, "spans"), j, span) {
			result = read_span(r, place, span, set, service);
			if (result < 0)
				return result;
		}
	}
	return 0;
}

static int read_block(struct span_reader *r, const char *name, uint64_t offset, json_t *block)
{
	struct place place = {name, offset};
	const json_t *scopes = json_object_get(block, "scopeSpans");
	uint32_t set, service;

	reader_begin(r);
	read_attributes(r, json_object_get(json_object_get(block, "resource"), "attributes"), true);
	set = reader_resource(r, &service);
	if (!scopes)
		scopes = json_object_get(block, "instrumentationLibrarySpans");
	if (!json_is_array(scopes) && !r->part)
		complain(r, &place, block, SPAN_FAULT_SYNTAX, "this is no ResourceSpans: it has no scopeSpans");
	return read_scopes(r, &place, scopes, set, service);
}

static int read_all(struct span_reader *r, struct input *in)
{
	return json_elements(r, in, "resourceSpans", read_block);
}

static bool recognises(const uint8_t *head, size_t n)
{
	return json_mentions(head, n, "\"resourceSpans\"");
}

const struct span_source source_otlp_json = {
	.name = "otlp-json",
	.help = "OpenTelemetry protocol, JSON",
	.recognises = recognises,
	.read = read_all,
};
