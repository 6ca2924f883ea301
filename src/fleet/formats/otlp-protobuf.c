/* Metrics of OpenTelemetry in protobuf (opentelemetry/proto/metrics/v1/metrics.proto): one MetricsData (or ExportMetricsServiceRequest: the same bytes), several
 * one after another (which is one again), or messages with their length before them (otlp-frames.h).
 *
 * Each part becomes the object that it is in OTLP's JSON (the tables below name its keys), and is taken as one: the resource, a metric without its points, and
 * point by point, so that a request of any size needs the memory of a point. What is not looked at has no row, and is passed over.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/formats/otlp-metrics.h"
#include "lib/data/cleanup.h"
#include "lib/input/files.h"
#include "lib/input/otlp-frames.h"
#include "lib/input/protobuf.h"
#include "lib/input/stream.h"

#define FILE_MAX    ((size_t)1 << 30) /* bytes, unpacked */
#define MESSAGE_MAX ((size_t)256 << 20)

enum form { TEXT, NUMBER, TRUTH, WHOLE, REAL, OBJECT, LIST }; /* NUMBER: a varint; WHOLE: 8 bytes */

struct member {
	uint32_t field; /* 0 = the end */
	enum form form;
	const char *key;
	const struct member *inside; /* of OBJECT and LIST */
};

static const struct member any_value[] = {{1, TEXT, "stringValue", NULL}, {2, TRUTH, "boolValue", NULL}, {3, NUMBER, "intValue", NULL}, {4, REAL, "doubleValue", NULL}, {}};
static const struct member key_value[] = {{1, TEXT, "key", NULL}, {2, OBJECT, "value", any_value}, {}};
static const struct member resource[] = {{1, LIST, "attributes", key_value}, {}};
static const struct member quantile[] = {{1, REAL, "quantile", NULL}, {2, REAL, "value", NULL}, {}};

#define POINT_TIMES {2, WHOLE, "startTimeUnixNano", NULL}, {3, WHOLE, "timeUnixNano", NULL}
static const struct member number_point[] = {POINT_TIMES,	       {4, REAL, "asDouble", NULL}, {6, WHOLE, "asInt", NULL},
					     {7, LIST, "attributes", key_value}, {8, NUMBER, "flags", NULL}, {}};
static const struct member histogram_point[] = {POINT_TIMES, {4, WHOLE, "count", NULL}, {5, REAL, "sum", NULL}, {9, LIST, "attributes", key_value}, {10, NUMBER, "flags", NULL}, {}};
static const struct member exponential_point[] = {{1, LIST, "attributes", key_value}, POINT_TIMES, {4, WHOLE, "count", NULL}, {5, REAL, "sum", NULL}, {10, NUMBER, "flags", NULL}, {}};
static const struct member summary_point[] = {POINT_TIMES, {4, WHOLE, "count", NULL}, {5, REAL, "sum", NULL}, {6, LIST, "quantileValues", quantile},
					      {7, LIST, "attributes", key_value}, {8, NUMBER, "flags", NULL}, {}};

static const struct member data[] = {{2, NUMBER, "aggregationTemporality", NULL}, {3, TRUTH, "isMonotonic", NULL}, {}};
static const struct member metric[] = {{1, TEXT, "name", NULL},	   {3, TEXT, "unit", NULL},	       {5, OBJECT, "gauge", data}, {7, OBJECT, "sum", data},
				       {9, OBJECT, "histogram", data}, {10, OBJECT, "exponentialHistogram", data}, {11, OBJECT, "summary", data}, {}};

/* The points of a metric are the first field of one of these. */
static const struct {
	uint32_t field;
	const struct member *point;
} point_forms[] = {{5, number_point}, {7, number_point}, {9, histogram_point}, {10, exponential_point}, {11, summary_point}};

static json_t *read_object(const struct protobuf_field *message, const struct member *members);

static bool has_wire_of(enum form form, enum wire wire)
{
	switch (form) {
	case NUMBER:
	case TRUTH:
		return wire == WIRE_VARINT;
	case WHOLE:
	case REAL:
		return wire == WIRE_FIXED64;
	default:
		return wire == WIRE_BYTES;
	}
}

/* NULL: damage, or no memory. */
static json_t *read_value(const struct protobuf_field *f, const struct member *member)
{
	double real;

	switch (member->form) {
	case TEXT:
		return json_stringn((const char *)f->bytes, f->n);
	case TRUTH:
		return json_boolean(f->value);
	case REAL:
		memcpy(&real, &f->value, sizeof(real));
		return json_real(real) ?: json_null(); /* JSON has no NaN */
	case OBJECT:
	case LIST:
		return read_object(f, member->inside);
	default:
		return json_integer((json_int_t)f->value);
	}
}

static int add_member(json_t *object, const struct member *member, json_t *value)
{
	json_t *list;

	if (member->form != LIST)
		return json_object_set_new(object, member->key, value);
	list = json_object_get(object, member->key);
	if (!list && json_object_set_new(object, member->key, list = json_array()) < 0) {
		json_decref(value);
		return -1;
	}
	return json_array_append_new(list, value);
}

/* The caller owns it. NULL: damage, or no memory. */
static json_t *read_object(const struct protobuf_field *message, const struct member *members)
{
	_cleanup_(json_decrefp) json_t *object = json_object();
	struct protobuf m = protobuf_inside(message);
	struct protobuf_field f;
	int r = 0;

	while (object && (r = protobuf_next(&m, &f)) > 0) {
		const struct member *member = members;

		while (member->field && member->field != f.number)
			member++;
		if (member->field && has_wire_of(member->form, f.wire) && add_member(object, member, read_value(&f, member)) < 0)
			return NULL;
	}
	return r < 0 ? NULL : json_incref(object);
}

static int damaged(struct text_lines *l, const char *what)
{
	intake_bad(l->into, l->path, l->line, "%s is damaged, and left out", what);
	return 0;
}

static int take_points(const struct otlp_metric *m, const struct protobuf_field *points, const struct member *members)
{
	struct protobuf inside = protobuf_inside(points);
	struct protobuf_field f;
	int r;

	while ((r = protobuf_next(&inside, &f)) > 0) {
		_cleanup_(json_decrefp) json_t *point = NULL;

		if (f.number != 1 || f.wire != WIRE_BYTES)
			continue;
		point = read_object(&f, members);
		if (point && m->counts && !json_object_get(point, "count"))
			(void)json_object_set_new(point, "count", json_integer(0)); /* protobuf leaves zeros out */
		r = point ? otlp_metric_point(m, point) : damaged(m->l, "a point");
		if (r < 0)
			return r;
	}
	return r < 0 ? damaged(m->l, "a metric") : 0;
}

static int take_metric(struct otlp_metric *m, const struct protobuf_field *message)
{
	_cleanup_(json_decrefp) json_t *head = read_object(message, metric);
	struct protobuf inside = protobuf_inside(message);
	struct protobuf_field f;
	int r = 0;

	if (!head)
		return damaged(m->l, "a metric");
	if (!otlp_metric_begin(m, head))
		return 0;
	while (r >= 0 && protobuf_next(&inside, &f) > 0)
		for (size_t i = 0; i < ARRAY_SIZE(point_forms); i++)
			if (f.number == point_forms[i].field && f.wire == WIRE_BYTES)
				r = take_points(m, &f, point_forms[i].point);
	return r;
}

static int take_scope(struct otlp_metric *m, const struct protobuf_field *scope)
{
	struct protobuf inside = protobuf_inside(scope);
	struct protobuf_field f;
	int r;

	while ((r = protobuf_next(&inside, &f)) > 0)
		if (f.number == 2 && f.wire == WIRE_BYTES && (r = take_metric(m, &f)) < 0)
			return r;
	return r < 0 ? damaged(m->l, "a scope") : 0;
}

/* The resource may stand behind its metrics. */
static int take_resource(struct text_lines *l, const struct protobuf_field *message)
{
	_cleanup_(json_decrefp) json_t *attributes = json_object();
	struct protobuf inside = protobuf_inside(message);
	struct protobuf_field f;
	struct otlp_metric m;
	int r;

	while ((r = protobuf_next(&inside, &f)) > 0)
		if (f.number == 1 && f.wire == WIRE_BYTES) {
			json_decref(attributes);
			attributes = read_object(&f, resource);
			if (!attributes)
				return damaged(l, "a resource");
		}
	if (r < 0)
		return damaged(l, "a resource");
	r = otlp_resource_begin(l, attributes, &m);
	inside = protobuf_inside(message);
	while (r >= 0 && protobuf_next(&inside, &f) > 0)
		if (f.number == 2 && f.wire == WIRE_BYTES)
			r = take_scope(&m, &f);
	return r == -ENOENT ? 0 : r;
}

/* The collector writes JSON with a length before it, too, where it packs. */
static int take_json(struct text_lines *l, const uint8_t *bytes, size_t n)
{
	_cleanup_(json_decrefp) json_t *request = json_loadb((const char *)bytes, n, 0, NULL);

	return request ? otlp_metrics_take(l, json_object_get(request, "resourceMetrics")) : damaged(l, "a message");
}

static int take_message(struct text_lines *l, const uint8_t *bytes, size_t n)
{
	struct protobuf inside = {bytes, bytes + n};
	struct protobuf_field f;
	int r;

	l->line++;
	if (n && *bytes == '{')
		return take_json(l, bytes, n);
	while ((r = protobuf_next(&inside, &f)) > 0)
		if (f.number == 1 && f.wire == WIRE_BYTES && (r = take_resource(l, &f)) < 0)
			return r;
	if (r < 0)
		intake_bad(l->into, l->path, l->line, "damaged, or not there to its end, after %td bytes of this message", inside.at - bytes);
	return 0;
}

static int take_frame(struct text_lines *l, const uint8_t *bytes, size_t n)
{
	_cleanup_free_ uint8_t *unpacked = NULL;
	size_t size;

	if (!otlp_is_packed(bytes, n))
		return take_message(l, bytes, n);
	if (otlp_unpack(bytes, n, MESSAGE_MAX, &unpacked, &size) == 0)
		return take_message(l, unpacked, size);
	l->line++;
	return damaged(l, "a packed message");
}

static int take_frames(struct text_lines *l, enum otlp_framing framing, const uint8_t *at, size_t n)
{
	int r = 0;

	while (r >= 0 && n) {
		uint64_t length = 0;
		size_t head = otlp_frame_head(framing, at, n, &length);

		if (!head || length > n - head) {
			intake_bad(l->into, l->path, l->line + 1, "the message that begins here is not there to its end");
			return 0;
		}
		r = take_frame(l, at + head, (size_t)length);
		at += head + length;
		n -= head + length;
	}
	return r;
}

static int take_file(struct text_lines *l, const void *how)
{
	_cleanup_str_ struct str all = {.max = FILE_MAX};
	int r = stream_read_all(l->path, &all);
	const uint8_t *bytes = (const uint8_t *)all.data;
	enum otlp_framing framing = r < 0 ? OTLP_UNKNOWN : otlp_framing_of(bytes, all.len);

	(void)how;
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		intake_bad(l->into, l->path, 0, "%s", r == -E2BIG ? "more than 1 GiB of protobuf: split it, as the collector's file exporter does by its setting rotation" : strerror(-r));
	else if (framing == OTLP_UNFRAMED)
		return take_message(l, bytes, all.len);
	else if (framing == OTLP_UNKNOWN)
		intake_bad(l->into, l->path, 0, "this is not OTLP in protobuf");
	else
		return take_frames(l, framing, bytes, all.len);
	return 0;
}

static const char *const endings[] = {".pb", ".binpb", ".otlp", NULL};

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	return text_lines_each_file(&(struct text_lines){.input = input, .into = into}, endings, take_file, NULL, ret_error);
}

/* A text that begins with empty lines looks like a message, but has no control characters, as tags and lengths are. */
static int look(const char *piece, size_t n)
{
	bool is_text = true;

	for (size_t i = 0; i < n && i < 256; i++)
		is_text &= (uint8_t)piece[i] >= ' ' || strchr("\t\n\r\f", piece[i] ?: 1);
	return !is_text && otlp_framing_of((const uint8_t *)piece, n) != OTLP_UNKNOWN ? 55 : 0;
}

static int recognise(const char *location)
{
	return files_recognise_by_content(location, endings, look);
}

const struct fleet_source fleet_source_otlp = {
	.name = "otlp",
	.help = "OpenTelemetry's metrics in protobuf (also gz, zst, xz), as the collector's file exporter writes them",
	.recognise = recognise,
	.load = load,
};
