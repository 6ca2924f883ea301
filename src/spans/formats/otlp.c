/* OpenTelemetry's protocol in its protobuf encoding (opentelemetry/proto/trace/v1/trace.proto).
 *
 * A file is one TracesData (or ExportTraceServiceRequest: the same bytes), several one after another (which is one
 * again), or messages with their length before them (otlp-frames.h). Only what the analysis needs is looked at; unknown
 * fields are skipped, as the format asks for.
 *
 *   TracesData    1 resource_spans
 *   ResourceSpans 1 resource { 1 attributes }, 2 scope_spans { 2 spans }
 *   Span          1 trace_id, 2 span_id, 3 trace_state, 4 parent_span_id, 5 name, 6 kind, 7 start, 8 end (fixed64 ns),
 *                 9 attributes, 11 events { 3 attributes }, 13 links { 1 trace_id }, 15 status { 3 code }
 *   KeyValue      1 key, 2 value { 1 string, 2 bool, 3 int, 4 double }
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/input/otlp-frames.h"
#include "lib/input/protobuf.h"
#include "spans/formats/otlp.h"
#include "spans/formats/span-reader.h"

/* AnyValue as text; numbers go to buf. */
static int read_value(struct protobuf m, char buf[40], const char **ret, size_t *ret_n)
{
	struct protobuf_field f;
	double number;
	int r;

	*ret_n = 0;
	*ret = buf;
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.number == 1 && f.wire == WIRE_BYTES) {
			*ret = (const char *)f.bytes;
			*ret_n = f.n;
		} else if (f.number == 2 && f.wire == WIRE_VARINT) {
			*ret = f.value ? "true" : "false";
			*ret_n = f.value ? 4 : 5;
		} else if (f.number == 3 && f.wire == WIRE_VARINT) {
			*ret_n = (size_t)snprintf(buf, 40, "%" PRId64, (int64_t)f.value);
		} else if (f.number == 4 && f.wire == WIRE_FIXED64) {
			memcpy(&number, &f.value, 8);
			*ret_n = (size_t)snprintf(buf, 40, "%.17g", number);
		}
	}
	return r;
}

/* only: the key that is to be read, NULL = any. 1 = it was, 0 = another one, -EBADMSG. */
static int read_attribute(struct span_reader *r, const struct protobuf_field *pair, const char *only, bool all)
{
	struct protobuf m = protobuf_inside(pair);
	struct protobuf_field f, key = {}, value = {};
	char buf[40];
	const char *text = buf;
	size_t n;
	int result;

	while ((result = protobuf_next(&m, &f)) > 0) {
		if (f.wire != WIRE_BYTES)
			continue;
		if (f.number == 1)
			key = f;
		else if (f.number == 2)
			value = f;
	}
	if (result < 0 || !key.n || !value.bytes || (only && (key.n != strlen(only) || memcmp(key.bytes, only, key.n) != 0)))
		return result;
	if (read_value(protobuf_inside(&value), buf, &text, &n) < 0)
		return -EBADMSG;
	span_reader_attribute(r, (const char *)key.bytes, key.n, text, n, all);
	return 1;
}

static int read_resource(struct span_reader *r, const struct protobuf_field *resource, uint32_t *ret_set, uint32_t *ret_service)
{
	const struct cached_resource *cached = span_reader_cached(r, resource->bytes, resource->n);
	struct protobuf m = protobuf_inside(resource);
	struct protobuf_field f;
	int result;

	if (cached) {
		*ret_set = cached->set;
		*ret_service = cached->service;
		return 0;
	}
	span_reader_begin(r);
	while ((result = protobuf_next(&m, &f)) > 0)
		if (f.number == 1 && f.wire == WIRE_BYTES && read_attribute(r, &f, NULL, true) < 0)
			return -EBADMSG;
	*ret_set = span_reader_resource(r, ret_service);
	span_reader_remember(r, resource->bytes, resource->n, *ret_set, *ret_service);
	return result;
}

static uint64_t big_endian(const uint8_t *bytes, size_t n)
{
	uint64_t value = 0;

	for (size_t i = 0; i < n; i++)
		value = value << 8 | bytes[i];
	return value;
}

static uint64_t big_endian_8(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, 8);
	return __builtin_bswap64(value);
}

static uint64_t id_of(const struct protobuf_field *f)
{
	return f->n == 8 ? big_endian_8(f->bytes) : big_endian(f->bytes, f->n < 8 ? f->n : 8);
}

static int read_status(const struct protobuf_field *status, struct span *span)
{
	struct protobuf m = protobuf_inside(status);
	struct protobuf_field f;
	int r;

	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == 3 && f.wire == WIRE_VARINT && f.value == 2)
			span->flags |= SPAN_ERROR;
	return r;
}

/* Attributes come before or after the parent's id: they are read when it is known whether this is a root; links, when it is known of which trace
 * the span is. */
struct span_fields {
	const uint8_t *first_attribute;
	const uint8_t *end;
	const uint8_t *first_event, *events_end;
	const uint8_t *first_link, *links_end;
	struct protobuf_field trace, state;
};

static int read_fields(struct span_reader *r, struct protobuf m, struct span *span, struct span_fields *found)
{
	struct protobuf_field f;
	const uint8_t *at = m.at;
	int result;

	while ((result = protobuf_next(&m, &f)) > 0) {
		switch (f.number << 3 | f.wire) {
		case 1 << 3 | WIRE_BYTES:
			found->trace = f;
			break;
		case 2 << 3 | WIRE_BYTES:
			span->id = id_of(&f);
			break;
		case 3 << 3 | WIRE_BYTES:
			found->state = f;
			break;
		case 4 << 3 | WIRE_BYTES:
			span->parent = id_of(&f);
			break;
		case 5 << 3 | WIRE_BYTES:
			span->operation = span_reader_name(r, (const char *)f.bytes, f.n);
			break;
		case 6 << 3 | WIRE_VARINT:
			span->kind = f.value <= SPAN_CONSUMER ? (uint8_t)f.value : SPAN_UNKNOWN;
			break;
		case 7 << 3 | WIRE_FIXED64:
			span->start = (int64_t)f.value;
			break;
		case 8 << 3 | WIRE_FIXED64:
			span->end = (int64_t)f.value;
			break;
		case 9 << 3 | WIRE_BYTES:
			if (!found->first_attribute)
				found->first_attribute = at;
			found->end = m.at;
			break;
		case 11 << 3 | WIRE_BYTES:
			if (!found->first_event)
				found->first_event = at;
			found->events_end = m.at;
			break;
		case 13 << 3 | WIRE_BYTES:
			if (!found->first_link)
				found->first_link = at;
			found->links_end = m.at;
			break;
		case 15 << 3 | WIRE_BYTES:
			result = read_status(&f, span);
			break;
		}
		if (result < 0)
			return result;
		at = m.at;
	}
	return result;
}

static int read_attributes(struct span_reader *r, const struct span_fields *found, bool all)
{
	struct protobuf m = {found->first_attribute, found->end};
	struct protobuf_field f;
	int result = 0;

	while (m.at && (result = protobuf_next(&m, &f)) > 0)
		if (f.number == 9 && f.wire == WIRE_BYTES && read_attribute(r, &f, NULL, all) < 0)
			return -EBADMSG;
	return result;
}

/* The class of the first exception: of spans whose attributes are all read. */
static int read_exception(struct span_reader *r, const struct span_fields *found, bool all)
{
	struct protobuf m = {found->first_event, found->events_end};
	struct protobuf_field f, pair;
	int result = 0;

	while (m.at && (all || r->reads_more) && (result = protobuf_next(&m, &f)) > 0) {
		struct protobuf inside = protobuf_inside(&f);

		while (f.number == 11 && f.wire == WIRE_BYTES && (result = protobuf_next(&inside, &pair)) > 0) {
			result = pair.number == 3 && pair.wire == WIRE_BYTES ? read_attribute(r, &pair, SPAN_EXCEPTION, all) : 0;
			if (result)
				return result;
		}
		if (result < 0)
			return result;
	}
	return result;
}

struct otlp_position {
	const char *name;
	uint64_t offset;     /* of `base` in the file */
	const uint8_t *base;
};

static void complain(struct span_reader *r, const struct otlp_position *place, const uint8_t *at, enum span_fault fault,
		     const char *what)
{
	if (fault != SPAN_FAULT_SYNTAX || !r->part)
		span_fault(r->sink.faults, fault, "%s: byte %" PRIu64 ": %s", place->name,
			   place->offset + (uint64_t)(at - place->base), what);
}

static bool usable(struct span_reader *r, const struct otlp_position *place, const struct protobuf_field *f, const struct span *span)
{
	if ((!span->trace_low && !span->trace_high) || !span->id) {
		complain(r, place, f->bytes, SPAN_FAULT_ID, "a span without a trace id or an id of its own");
		return false;
	}
	if (span->end < span->start || span->start < 0) {
		complain(r, place, f->bytes, SPAN_FAULT_TIME, "a span that ends before it starts");
		return false;
	}
	return true;
}

/* A ResourceSpans. Its resource is read when the first span is one of this reader's part; what is wrong with it is reported by
 * the reader that has the first of all. */
struct block {
	struct protobuf_field resource; /* bytes NULL = none */
	uint32_t set, service;
	bool begun, first, known;
};

static void begin_block(struct block *b, bool takes)
{
	if (!b->begun)
		b->first = takes;
	b->begun = true;
}

static void know_resource(struct span_reader *r, const struct otlp_position *place, struct block *b)
{
	b->known = true;
	if (b->resource.bytes && read_resource(r, &b->resource, &b->set, &b->service) < 0 && b->first)
		span_fault(r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": a resource that is not a protobuf message", place->name,
			   place->offset + (uint64_t)(b->resource.bytes - place->base));
	if (b->set)
		return;
	span_reader_begin(r);
	b->set = span_reader_resource(r, &b->service);
}

/* Its last eight bytes, and the up to eight before them. */
static void read_trace_id(const struct protobuf_field *trace, uint64_t *ret_high, uint64_t *ret_low)
{
	size_t high = trace->n > 8 ? trace->n - 8 : 0;

	*ret_high = high ? big_endian(trace->bytes, high < 8 ? high : 8) : 0;
	*ret_low = big_endian(trace->bytes + high, trace->n - high);
}

static int read_links(struct span_reader *r, const struct span_fields *found, struct span *span)
{
	struct protobuf m = {found->first_link, found->links_end};
	struct span_link link = {.span = span->id};
	struct protobuf_field f, id;
	int result = 0;

	while (m.at && (result = protobuf_next(&m, &f)) > 0) {
		struct protobuf inside = protobuf_inside(&f);
		uint64_t high, low;

		while (f.number == 13 && f.wire == WIRE_BYTES && (result = protobuf_next(&inside, &id)) > 0) {
			if (id.number != 1 || id.wire != WIRE_BYTES)
				continue;
			read_trace_id(&id, &high, &low);
			span_reader_link(span, high, low, &link);
		}
		if (result < 0)
			return result;
	}
	span_reader_end_links(r, span, &link);
	return result;
}

static int read_span(struct span_reader *r, const struct otlp_position *place, const struct protobuf_field *f, struct block *block)
{
	struct span span = {};
	struct span_fields found = {};
	bool all;

	if (r->parts > 1 && f->n > 18 && f->bytes[0] == 0x0a && f->bytes[1] == 16 &&
	    !span_reader_takes(r, big_endian_8(f->bytes + 2), big_endian_8(f->bytes + 10))) {
		begin_block(block, false);
		return 0;
	}
	if (read_fields(r, protobuf_inside(f), &span, &found) < 0)
		return -EBADMSG;
	if (found.trace.n)
		read_trace_id(&found.trace, &span.trace_high, &span.trace_low);
	begin_block(block, span_reader_takes(r, span.trace_high, span.trace_low));
	if (!span_reader_takes(r, span.trace_high, span.trace_low))
		return 0;
	if (!block->known)
		know_resource(r, place, block);
	span.resource = block->set;
	span.service = block->service;
	if (!usable(r, place, f, &span))
		return 0;
	all = span_reader_begin_span(r, &span);
	if (read_attributes(r, &found, all) < 0 || read_exception(r, &found, all) < 0)
		return -EBADMSG;
	span_reader_end_span(r, &span);
	if (found.first_link && read_links(r, &found, &span) < 0)
		return -EBADMSG;
	span.weight = span_reader_weight(r, (const char *)found.state.bytes, found.state.n);
	return span_reader_put(r, &span);
}

static int read_scope(struct span_reader *r, const struct otlp_position *place, const struct protobuf_field *scope, struct block *block)
{
	struct protobuf m = protobuf_inside(scope);
	struct protobuf_field f;
	int result;

	while ((result = protobuf_next(&m, &f)) > 0) {
		if (f.number != 2 || f.wire != WIRE_BYTES)
			continue;
		result = read_span(r, place, &f, block);
		if (result == -EBADMSG)
			complain(r, place, f.bytes, SPAN_FAULT_SYNTAX, "a span that is not a protobuf message");
		else if (result < 0)
			return result;
	}
	if (result == -EBADMSG) {
		complain(r, place, m.at, SPAN_FAULT_SYNTAX, "this is not a protobuf field; the rest of its message is left out");
		result = 0;
	}
	return result;
}

static int read_resource_spans(struct span_reader *r, const struct otlp_position *place, const struct protobuf_field *block)
{
	struct protobuf m = protobuf_inside(block);
	struct protobuf_field f;
	struct block known = {};
	int result;

	while ((result = protobuf_next(&m, &f)) > 0)
		if (f.number == 1 && f.wire == WIRE_BYTES)
			known.resource = f;
	if (result == -EBADMSG)
		complain(r, place, m.at, SPAN_FAULT_SYNTAX, "this is not a protobuf field; the rest of its message is left out");
	m = protobuf_inside(block);
	while ((result = protobuf_next(&m, &f)) > 0) {
		if (f.number != 2 || f.wire != WIRE_BYTES)
			continue;
		result = read_scope(r, place, &f, &known);
		if (result < 0)
			return result;
	}
	return 0;
}

int otlp_message(struct span_reader *r, const char *name, uint64_t offset, const uint8_t *bytes, size_t n)
{
	struct otlp_position place = {name, offset, bytes};
	struct protobuf m = {bytes, bytes + n};
	struct protobuf_field f;
	int result;

	while ((result = protobuf_next(&m, &f)) > 0) {
		if (f.number != 1 || f.wire != WIRE_BYTES)
			continue;
		span_reader_hold(r, true);
		result = read_resource_spans(r, &place, &f);
		span_reader_hold(r, false);
		if (result < 0)
			return result;
	}
	if (result == -EBADMSG)
		complain(r, &place, m.at, SPAN_FAULT_SYNTAX, "this is not a protobuf field; the rest is left out");
	return 0;
}

static bool is_whole(struct protobuf m, unsigned depth)
{
	static const uint32_t lists[] = {1, 2, 2}; /* ResourceSpans, ScopeSpans, Span */
	struct protobuf_field f;
	bool found = false;
	int r;

	while ((r = protobuf_next(&m, &f)) > 0) {
		if (depth == sizeof(lists) / sizeof(*lists) || f.number != lists[depth])
			continue;
		found = true;
		if (f.wire != WIRE_BYTES || !is_whole(protobuf_inside(&f), depth + 1))
			return false;
	}
	return r == 0 && (depth || found);
}

bool otlp_is_request(const uint8_t *bytes, size_t n)
{
	return !n || is_whole((struct protobuf){bytes, bytes + n}, 0);
}

/* The length of the next ResourceSpans (its tag included) once its head is there; 0 at the end. */
static int64_t next_piece(struct span_reader *r, struct input *in)
{
	int64_t have = input_need(in, 16);
	const uint8_t *at;
	struct protobuf m;
	uint64_t tag, n;

	if (have <= 0)
		return have;
	at = input_at(in);
	m = (struct protobuf){at, at + have};
	if (protobuf_number(&m, &tag) < 0 || protobuf_number(&m, &n) < 0 || tag != (1 << 3 | WIRE_BYTES)) {
		if (!r->part)
			span_fault(r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": this is not a protobuf field; the rest is left out",
			   in->name, input_offset(in));
		return -EBADMSG;
	}
	return n > INT64_MAX / 2 ? -E2BIG : (int64_t)n + (m.at - at);
}

static int read_message(struct span_reader *r, const struct input *file, uint64_t offset, const uint8_t *bytes, size_t n)
{
	struct input in;

	if (!n || bytes[0] != '{')
		return otlp_message(r, file->name, offset, bytes, n);
	input_of_memory(&in, file->name, bytes, n);
	in.before = offset;
	return source_otlp_json.read(r, &in);
}

static int read_frame(struct span_reader *r, const struct input *file, uint64_t offset, const uint8_t *bytes, size_t n)
{
	uint8_t *unpacked;
	int result;

	if (!otlp_is_packed(bytes, n))
		return read_message(r, file, offset, bytes, n);
	if (otlp_unpack(bytes, n, INPUT_PIECE_MAX, &unpacked, &n) < 0) {
		if (!r->part)
			span_fault(r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": a packed message that cannot be unpacked",
				   file->name, offset);
		return 0;
	}
	result = read_message(r, file, offset, unpacked, n);
	free(unpacked);
	return result;
}

/* Reads all messages; damage is counted. 0 or -errno of the sink, of memory. */
static int read_frames(struct span_reader *r, struct input *in, enum otlp_framing framing)
{
	for (;;) {
		int64_t have = input_need(in, 16);
		const uint8_t *at = input_at(in);
		uint64_t length = 0;
		size_t head;
		int result;

		if (have <= 0)
			return (int)have;
		head = otlp_frame_head(framing, at, (size_t)have, &length);
		if (!head || length > INPUT_PIECE_MAX)
			have = -E2BIG;
		else
			have = input_need(in, head + (size_t)length);
		if (have == -ENOMEM || have == -EIO)
			return (int)have;
		if (have < 0 || (uint64_t)have < head + length) { /* of a length beyond INPUT_PIECE_MAX the sum may wrap */
			if (!r->part)
				span_fault(r->sink.faults, SPAN_FAULT_TRUNCATED, "%s: byte %" PRIu64 ": the message that begins here is not there to its end",
					   in->name, input_offset(in));
			return 0;
		}
		result = read_frame(r, in, input_offset(in) + head, input_at(in) + head, (size_t)length);
		if (result < 0)
			return result;
		in->at += head + (size_t)length;
	}
}

static int read_all(struct span_reader *r, struct input *in)
{
	int64_t looked = input_need(in, 64);
	enum otlp_framing framing = looked > 0 ? otlp_framing_of(input_at(in), (size_t)looked) : OTLP_UNKNOWN;

	if (framing == OTLP_FRAMED || framing == OTLP_DELIMITED)
		return read_frames(r, in, framing);
	for (;;) {
		int64_t n = next_piece(r, in), have;
		int result;

		if (n == 0 || n == -EBADMSG)
			return 0;
		have = n > 0 ? input_need(in, (size_t)n) : n;
		if (have == -ENOMEM || have == -EIO)
			return (int)have;
		if (have == -E2BIG || have < n) {
			if (!r->part)
				span_fault(r->sink.faults, SPAN_FAULT_TRUNCATED, "%s: byte %" PRIu64 ": the message that begins here is not there to its end",
				   in->name, input_offset(in));
			return 0;
		}
		result = otlp_message(r, in->name, input_offset(in), input_at(in), (size_t)n);
		if (result < 0)
			return result;
		in->at += (size_t)n;
	}
}

static bool recognises(const uint8_t *head, size_t n)
{
	return otlp_framing_of(head, n) != OTLP_UNKNOWN;
}

const struct span_source source_otlp = {
	.name = "otlp",
	.help = "OpenTelemetry protocol, protobuf",
	.recognises = recognises,
	.read = read_all,
};
