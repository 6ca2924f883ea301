/* Datadog's traces as its tracers send them (v0.4), in JSON: a list of traces, which are lists of spans:
 *
 *   [[{"trace_id": 10, "span_id": 2, "parent_id": 1, "service": "db", "name": "postgres.query", "resource": "SELECT ?", "type": "sql",
 *      "start": ns, "duration": ns, "error": 1, "meta": {"span.kind": "client"}, "metrics": {"_sample_rate": 0.5}}]]
 *
 * Also with "traces" or "spans" around the lists. Ids are decimal numbers.
 */
#include <inttypes.h>
#include <stdio.h>

#include "spans/formats/span-json.h"

static void read_process(struct span_reader *r, const struct tape_value *json)
{
	const struct tape_value *meta = tape_get(json, "meta");

	span_json_take_process(r, meta);
	span_json_take(r, "service.version", tape_get(meta, "version"), true);
	span_json_take(r, "host.name", tape_get(meta, "_dd.hostname"), true);
	span_json_take(r, "service.name", tape_get(json, "service"), true);
}

static void read_meta(struct span_reader *r, struct json_span *s, bool all)
{
	const struct tape_value *metrics = tape_get(s->json, "metrics");
	double share = tape_number(tape_get(metrics, "_sample_rate"));

	span_json_take_pairs(r, tape_get(s->json, "meta"), &s->span, all);
	if (share > 0 && share < 1)
		r->weight = (uint64_t)((double)SPAN_WEIGHT_ONE / share + .5);
}

static int read_span(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json)
{
	struct json_span s = {.json = json, .process = json, .times = "start and duration are not nanoseconds", .resource = read_process,
			      .attributes = read_meta};
	const struct tape_value *resource = tape_get(json, "resource");
	uint64_t trace = span_json_decimal(tape_get(json, "trace_id"));
	char text[17];

	s.trace_n = (size_t)snprintf(text, sizeof(text), "%016" PRIx64, trace);
	s.trace = trace ? text : NULL;
	span_json_set_name(&s, tape_is(resource, TAPE_TEXT) && resource->n ? resource : tape_get(json, "name"));
	span_json_set_times(&s, tape_get(json, "start"), tape_get(json, "duration"), 1, 1);
	s.span.id = span_json_decimal(tape_get(json, "span_id"));
	s.span.parent = span_json_decimal(tape_get(json, "parent_id"));
	s.span.kind = (uint8_t)span_json_kind_of_type(tape_get(json, "type"));
	if (tape_number(tape_get(json, "error")) > 0)
		s.span.flags |= SPAN_ERROR;
	return span_json_put(r, file, offset, &s);
}

static int read_element(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json)
{
	return tape_is(json, TAPE_ARRAY) ? span_json_each(r, file, offset, json, read_span) : read_span(r, file, offset, json);
}

static int read_all(struct span_reader *r, struct input *in)
{
	static const char *const keys[] = {"traces", "spans", NULL};

	return span_json_elements(r, in, keys, read_element);
}

static bool recognises(const uint8_t *head, size_t n)
{
	return span_json_mentions(head, n, "\"trace_id\"") && span_json_mentions(head, n, "\"span_id\"") && span_json_mentions(head, n, "\"resource\"") &&
	       span_json_mentions(head, n, "\"service\"") && !span_json_mentions(head, n, "\"resource_spans\"");
}

const struct span_source source_datadog = {
	.name = "datadog",
	.help = "Datadog's traces (v0.4), JSON",
	.recognises = recognises,
	.read = read_all,
};
