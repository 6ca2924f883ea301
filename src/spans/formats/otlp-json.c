/* OpenTelemetry's protocol in its JSON encoding: {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans":
 * [{"spans": []}]}]}, one such object or one on each line, as the collector's file exporter writes them. Also as Tempo
 * ({"batches": []}, {"trace": {}}) and Jaeger's query service ({"result": {}}) hand it out, several in an array, and with the
 * names of the protobuf definition (resource_spans), as protobuf libraries write it on request. */
#include <inttypes.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "spans/formats/span-json.h"

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

static const struct tape_value *field(const struct tape_value *object, const char *name)
{
	return tape_find(object, name, strlen(name));
}

static void complain(struct span_reader *r, const struct otlp_json_position *place, const struct tape_value *span, enum span_fault fault,
		     const char *what)
{
	const struct tape_value *id = field(span, place->keys->span);

	span_fault(r->sink.faults, fault, "%s: byte %" PRIu64 ", span %.*s: %s", place->name, place->offset,
		   tape_is(id, TAPE_TEXT) ? (int)id->n : 1, tape_is(id, TAPE_TEXT) ? id->text : "?", what);
}

/* AnyValue: {"stringValue": "x"}, {"intValue": "3"} ... */
static const char *value_text(const struct spelling *keys, const struct tape_value *value, size_t *ret_n)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys->values); i++) {
		const char *text = tape_text(field(value, keys->values[i]), ret_n);

		if (text)
			return text;
	}
	return NULL;
}

/* only: the key that is to be read, NULL = all of them. Whether any was. */
static bool read_attributes(struct span_reader *r, const struct spelling *keys, const struct tape_value *attributes, const char *only, bool all)
{
	bool any = false;
	size_t n;

	TAPE_EACH(pair, attributes) {
		const struct tape_value *key = tape_get(pair, "key");
		const char *value = value_text(keys, tape_get(pair, "value"), &n);

		if (!tape_is(key, TAPE_TEXT) || !value || (only && !tape_says(key, only)))
			continue;
		span_reader_attribute(r, key->text, key->n, value, n, all);
		any = true;
	}
	return any;
}

/* The class of the first exception. */
static void read_exception(struct span_reader *r, const struct spelling *keys, const struct tape_value *events, bool all)
{
	TAPE_EACH(event, events)
		if (read_attributes(r, keys, tape_get(event, "attributes"), SPAN_EXCEPTION, all))
			return;
}

static int base64_value(char c)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_";
	const char *at = c ? strchr(letters, c) : NULL;

	return !at ? -1 : at - letters < 64 ? (int)(at - letters) : (int)(at - letters) - 2;
}

static bool hex_of_base64(const char *text, size_t n, char *digits)
{
	uint32_t bits = 0;
	size_t have = 0;

	for (size_t used = 0; used < n; have -= 4) {
		int value = have < 4 ? base64_value(*text++) : 0;

		if (value < 0)
			return false;
		if (have < 4) {
			bits = bits << 6 | (uint32_t)value;
			have += 6;
		}
		digits[used++] = "0123456789abcdef"[bits >> (have - 4) & 15];
	}
	return true;
}

/* An id in hexadecimal digits, also where it is in base64, as protobuf's own JSON (and so Tempo's) has bytes: 16 of them end with "==", 8 with
 * "=". NULL: it is not there. */
static const char *id_text(const struct tape_value *id, char room[32], size_t *ret_n)
{
	size_t digits;

	if (!tape_is(id, TAPE_TEXT))
		return NULL;
	digits = id->n == 24 && id->text[22] == '=' ? 32 : id->n == 12 && id->text[11] == '=' ? 16 : 0;
	*ret_n = digits;
	if (digits && hex_of_base64(id->text, digits, room))
		return room;
	*ret_n = id->n;
	return id->text;
}

static uint64_t id_of(const struct tape_value *span, const char *key)
{
	char room[32];
	size_t n;
	const char *id = id_text(field(span, key), room, &n);

	return id ? span_id_of_text(id, n) : 0;
}

static void read_state(const struct tape_value *json, const struct spelling *keys, struct span_reader *r, struct span *span)
{
	const struct tape_value *state = field(json, keys->state);
	const char *text;
	size_t n;

	text = tape_text(tape_get(json, "kind"), &n);
	if (text)
		span->kind = (uint8_t)span_kind_of_text(text, n);
	text = tape_text(tape_get(tape_get(json, "status"), "code"), &n);
	if (text && span_status_is_error(text, n))
		span->flags |= SPAN_ERROR;
	span->weight = tape_is(state, TAPE_TEXT) ? span_reader_weight(r, state->text, state->n) : span_reader_weight(r, "", 0);
}

static void read_links(struct span_reader *r, const struct spelling *keys, const struct tape_value *links, struct span *span)
{
	struct span_link link = {.span = span->id};
	uint64_t high, low;

	TAPE_EACH(one, links) {
		char room[32];
		size_t n;
		const char *trace = id_text(field(one, keys->trace), room, &n);

		if (!trace)
			continue;
		span_trace_id_of_text(r->sink.names, trace, n, &high, &low);
		span_reader_link(span, high, low, &link);
	}
	span_reader_end_links(r, span, &link);
}

static int read_span(struct span_reader *r, const struct otlp_json_position *place, const struct tape_value *json, uint32_t resource,
		     uint32_t service)
{
	struct span span = {.resource = resource, .service = service};
	const struct spelling *keys = place->keys;
	const struct tape_value *name = tape_get(json, "name");
	char room[32];
	size_t n;
	bool all;
	const char *trace = id_text(field(json, keys->trace), room, &n);

	if (trace && !span_reader_takes_text(r, trace, n, &span.trace_high, &span.trace_low))
		return 0;
	span.id = id_of(json, keys->span);
	span.parent = id_of(json, keys->parent);
	if (!span.id || (!span.trace_high && !span.trace_low)) {
		if (trace || !r->part)
			complain(r, place, json, SPAN_FAULT_ID, "no traceId or spanId");
		return 0;
	}
	if (!tape_whole(field(json, keys->start), &span.start) || !tape_whole(field(json, keys->end), &span.end) || span.start < 0 ||
	    span.end < span.start) {
		complain(r, place, json, SPAN_FAULT_TIME, "startTimeUnixNano and endTimeUnixNano are not a valid span of time");
		return 0;
	}
	if (tape_is(name, TAPE_TEXT))
		span.operation = span_reader_name(r, name->text, name->n);
	all = span_reader_begin_span(r, &span);
	read_attributes(r, keys, tape_get(json, "attributes"), NULL, all);
	read_exception(r, keys, tape_get(json, "events"), all);
	span_reader_end_span(r, &span);
	read_links(r, keys, tape_get(json, "links"), &span);
	read_state(json, keys, r, &span);
	return span_reader_put(r, &span);
}

static int read_scopes(struct span_reader *r, const struct otlp_json_position *place, const struct tape_value *scopes, uint32_t set,
		       uint32_t service)
{
	TAPE_EACH(scope, scopes) {
		TAPE_EACH(span, tape_get(scope, "spans")) {
			int result = read_span(r, place, span, set, service);

			if (result < 0)
				return result;
		}
	}
	return 0;
}

/* The list that an object has of ResourceSpans, under one of its names; NULL = it is none that has one. */
static const struct tape_value *list_of(const struct tape_value *json)
{
	for (const char *const *name = lists; *name; name++)
		if (tape_is(field(json, *name), TAPE_ARRAY))
			return field(json, *name);
	return NULL;
}

/* A process sends the same bytes each time. */
static uint32_t read_resource(struct span_reader *r, const struct spelling *keys, const struct tape_value *resource, uint32_t *ret_service)
{
	const struct tape_value *attributes = tape_get(resource, "attributes");
	const struct cached_resource *known = attributes ? span_reader_cached(r, attributes->text, attributes->n) : NULL;
	uint32_t set;

	if (known) {
		*ret_service = known->service;
		return known->set;
	}
	span_reader_begin(r);
	read_attributes(r, keys, attributes, NULL, true);
	set = span_reader_resource(r, ret_service);
	if (attributes)
		span_reader_remember(r, attributes->text, attributes->n, set, *ret_service);
	return set;
}

static int read_block(struct span_reader *r, const char *name, uint64_t offset, const struct tape_value *block)
{
	struct otlp_json_position place = {name, offset, field(block, snake.scopes) ? &snake : &camel};
	const struct tape_value *scopes = field(block, place.keys->scopes), *list = list_of(block);
	uint32_t set, service;
	int result = 0;

	if (list) { /* of an array of requests */
		TAPE_EACH(one, list)
			if (result == 0 && !list_of(one))
				result = read_block(r, name, offset, one);
		return result;
	}
	set = read_resource(r, place.keys, tape_get(block, "resource"), &service);
	if (!scopes)
		scopes = tape_get(block, "instrumentationLibrarySpans");
	if (!tape_is(scopes, TAPE_ARRAY) && !r->part)
		complain(r, &place, block, SPAN_FAULT_SYNTAX, "this is not a ResourceSpans: it has no scopeSpans");
	return read_scopes(r, &place, scopes, set, service);
}

static int read_all(struct span_reader *r, struct input *in)
{
	return span_json_elements(r, in, lists, read_block);
}

static bool recognises(const uint8_t *head, size_t n)
{
	return span_json_mentions(head, n, "\"resourceSpans\"") ||
	       span_json_mentions(head, n, "\"resource_spans\"") ||
	       (span_json_mentions(head, n, "\"batches\"") && span_json_mentions(head, n, "\"resource\""));
}

const struct span_source source_otlp_json = {
	.name = "otlp-json",
	.help = "OpenTelemetry protocol, JSON",
	.recognises = recognises,
	.read = read_all,
};
