/* OpenTelemetry's protocol in its JSON encoding: {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans":
 * [{"spans": []}]}]}, one such object or one on each line, as the collector's file exporter writes them. Also as Tempo
 * ({"batches": []}, {"trace": {}}) and Jaeger's query service ({"result": {}}) hand it out, several in an array, and with the
 * names of the protobuf definition (resource_spans), as protobuf libraries write it on request. */
#include <inttypes.h>

#include "base/data/cleanup.h"
#include "source/span/span-json.h"

struct otlp_json_position {
	const char *name;
	uint64_t offset;
	const struct spelling *keys;
};

/* What a block calls its fields. */
static const struct spelling {
	const char *scopes, *trace, *span, *parent, *state, *start, *end;
	const char *values[4];
} camel = {"scopeSpans", "traceId", "spanId", "parentSpanId", "traceState", "startTimeUnixNano", "endTimeUnixNano",
	   {"stringValue", "intValue", "boolValue", "doubleValue"}},
  snake = {"scope_spans", "trace_id", "span_id", "parent_span_id", "trace_state", "start_time_unix_nano", "end_time_unix_nano",
	   {"string_value", "int_value", "bool_value", "double_value"}};

/* Lists of ResourceSpans, and objects that hold them. */
static const char *const lists[] = {"resourceSpans", "resource_spans", "batches", "result", "trace", NULL};

static void complain(struct span_reader *r, const struct otlp_json_position *place, const json_t *span, enum span_fault fault,
		     const char *what)
{
	const char *id = json_string_value(json_object_get(span, place->keys->span));

	span_fault(r->sink.faults, fault, "%s: byte %" PRIu64 ", span %s: %s", place->name, place->offset, id ? id : "?", what);
}

/* AnyValue: {"stringValue": "x"}, {"intValue": "3"} ... */
static const char *value_text(const struct spelling *keys, const json_t *value, char buf[40], size_t *ret_n)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys->values); i++) {
		const char *text = json_text(json_object_get(value, keys->values[i]), buf, ret_n);

		if (text)
			return text;
	}
	return NULL;
}

static void read_attributes(struct span_reader *r, const struct spelling *keys, const json_t *attributes, bool all)
{
	const json_t *pair;
	size_t i, n;
	char buf[40];

	json_array_foreach(attributes, i, pair) {
		const json_t *key = json_object_get(pair, "key");
		const char *value = value_text(keys, json_object_get(pair, "value"), buf, &n);

		if (json_is_string(key) && value)
			reader_attribute(r, json_string_value(key), json_string_length(key), value, n, all);
	}
}

static uint64_t id_of(const json_t *span, const char *key)
{
	const json_t *id = json_object_get(span, key);

	return json_is_string(id) ? span_id_of_text(json_string_value(id), json_string_length(id)) : 0;
}

static void read_state(const json_t *json, const struct spelling *keys, struct span_reader *r, struct span *span)
{
	const json_t *state = json_object_get(json, keys->state), *code = json_object_get(json_object_get(json, "status"), "code"),
		     *kind = json_object_get(json, "kind");
	const char *text;
	char buf[40];
	size_t n;

	text = json_text(kind, buf, &n);
	if (text)
		span->kind = (uint8_t)span_kind_of_text(text, n);
	text = json_text(code, buf, &n);
	if (text && span_status_is_error(text, n))
		span->flags |= SPAN_ERROR;
	span->weight = reader_weight(r, json_is_string(state) ? json_string_value(state) : "", json_string_length(state));
}

static int read_span(struct span_reader *r, const struct otlp_json_position *place, const json_t *json, uint32_t resource,
		     uint32_t service)
{
	struct span span = {.resource = resource, .service = service};
	const struct spelling *keys = place->keys;
	const json_t *trace = json_object_get(json, keys->trace), *name = json_object_get(json, "name");

	if (json_is_string(trace) &&
	    !reader_takes_text(r, json_string_value(trace), json_string_length(trace), &span.trace_high, &span.trace_low))
		return 0;
	span.id = id_of(json, keys->span);
	span.parent = id_of(json, keys->parent);
	if (!span.id || (!span.trace_high && !span.trace_low)) {
		if (json_is_string(trace) || !r->part)
			complain(r, place, json, SPAN_FAULT_ID, "no traceId or spanId");
		return 0;
	}
	if (!json_number(json_object_get(json, keys->start), &span.start) ||
	    !json_number(json_object_get(json, keys->end), &span.end) || span.start < 0 || span.end < span.start) {
		complain(r, place, json, SPAN_FAULT_TIME, "startTimeUnixNano and endTimeUnixNano are not a valid span of time");
		return 0;
	}
	if (json_is_string(name))
		span.operation = names_text(r->sink.names, json_string_value(name), json_string_length(name));
	reader_begin(r);
	read_attributes(r, keys, json_object_get(json, "attributes"), !span.parent);
	span.attributes = reader_set(r);
	read_state(json, keys, r, &span);
	return reader_put(r, &span);
}

static int read_scopes(struct span_reader *r, const struct otlp_json_position *place, const json_t *scopes, uint32_t set,
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

/* The list that an object has of ResourceSpans, under one of its names; NULL = it is none that has one. */
static const json_t *list_of(const json_t *json)
{
	for (const char *const *name = lists; *name; name++)
		if (json_is_array(json_object_get(json, *name)))
			return json_object_get(json, *name);
	return NULL;
}

static int read_block(struct span_reader *r, const char *name, uint64_t offset, json_t *block)
{
	struct otlp_json_position place = {name, offset, json_object_get(block, snake.scopes) ? &snake : &camel};
	const json_t *scopes = json_object_get(block, place.keys->scopes), *list = list_of(block);
	uint32_t set, service;
	json_t *one;
	size_t i;
	int result = 0;

	if (list) { /* of an array of requests */
		json_array_foreach(list, i, one)
			if (result == 0 && !list_of(one))
				result = read_block(r, name, offset, one);
		return result;
	}
	reader_begin(r);
	read_attributes(r, place.keys, json_object_get(json_object_get(block, "resource"), "attributes"), true);
	set = reader_resource(r, &service);
	if (!scopes)
		scopes = json_object_get(block, "instrumentationLibrarySpans");
	if (!json_is_array(scopes) && !r->part)
		complain(r, &place, block, SPAN_FAULT_SYNTAX, "this is not a ResourceSpans: it has no scopeSpans");
	return read_scopes(r, &place, scopes, set, service);
}

static int read_all(struct span_reader *r, struct input *in)
{
	return json_elements(r, in, lists, read_block);
}

static bool recognises(const uint8_t *head, size_t n)
{
	return json_mentions(head, n, "\"resourceSpans\"") || json_mentions(head, n, "\"resource_spans\"") ||
	       (json_mentions(head, n, "\"batches\"") && json_mentions(head, n, "\"resource\""));
}

const struct span_source source_otlp_json = {
	.name = "otlp-json",
	.help = "OpenTelemetry protocol, JSON",
	.recognises = recognises,
	.read = read_all,
};
