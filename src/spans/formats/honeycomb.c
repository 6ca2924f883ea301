/* Honeycomb's events, of spans:
 *
 *   [{"time": "2023-11-14T22:13:20Z", "samplerate": 2, "data": {"trace.trace_id": "0a", "trace.span_id": "2", "trace.parent_id": "1", "name": "query",
 *     "service.name": "db", "duration_ms": 0.05, "error": true}}]
 *
 * Also one each line, and without "data" around the fields, as queries are exported ("Timestamp").
 */

#include "lib/input/timestamp.h"
#include "spans/formats/span-json.h"

static void read_fields(struct span_reader *r, struct json_span *s, bool all)
{
	span_json_take_pairs(r, s->process, &s->span, all);
	span_json_take(r, "sampling.adjusted_count", tape_get(s->json, "samplerate"), all);
}

/* When it began: next to the fields, or one of them. */
static bool read_time(const struct tape_value *json, const struct tape_value *data, int64_t *ret)
{
	static const char *const keys[] = {"time", "timestamp", "Timestamp", NULL};

	for (const char *const *key = keys; *key; key++) {
		const struct tape_value *time = tape_get(json, *key) ? tape_get(json, *key) : tape_get(data, *key);
		size_t n;
		const char *text = tape_text(time, &n);

		if (text)
			return timestamp_parse(text, text + n, ret) == 0;
	}
	return false;
}

static int read_event(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json)
{
	const struct tape_value *data = tape_is(tape_get(json, "data"), TAPE_OBJECT) ? tape_get(json, "data") : json;
	struct json_span s = {.json = json, .process = data, .times = "time is not a moment, or duration_ms not milliseconds",
			      .resource = span_json_take_process, .attributes = read_fields};
	int64_t start, duration;

	span_json_set_trace(&s, tape_get(data, "trace.trace_id"));
	span_json_set_name(&s, tape_get(data, "name"));
	s.span.id = span_json_hex(tape_get(data, "trace.span_id"));
	s.span.parent = span_json_hex(tape_get(data, "trace.parent_id"));
	s.span.end = -1;
	if (read_time(json, data, &start) && span_json_time(tape_get(data, "duration_ms"), 1000000, &duration)) {
		s.span.start = start;
		s.span.end = start + duration;
	}
	return span_json_put(r, file, offset, &s);
}

static int read_all(struct span_reader *r, struct input *in)
{
	static const char *const keys[] = {NULL};

	return span_json_elements(r, in, keys, read_event);
}

static bool recognises(const uint8_t *head, size_t n)
{
	return span_json_mentions(head, n, "\"trace.trace_id\"");
}

const struct span_source source_honeycomb = {
	.name = "honeycomb",
	.help = "Honeycomb's events, JSON",
	.recognises = recognises,
	.read = read_all,
};
