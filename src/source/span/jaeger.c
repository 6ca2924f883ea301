/* Jaeger's JSON, as its query service and its web page give it:
 *
 *   {"data": [{"traceID": "...", "spans": [{"traceID", "spanID", "operationName", "references": [{"refType": "CHILD_OF",
 *    "spanID"}], "startTime": us, "duration": us, "tags": [{"key", "type", "value"}], "processID": "p1"}],
 *    "processes": {"p1": {"serviceName": "...", "tags": [...]}}}]}
 *
 * Traces also without "data", one on each line or in an array, and single spans with their "process" in them, as Jaeger keeps
 * them in Elasticsearch ("_source": {...} of a dump).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "source/span/span-json.h"

struct jaeger_position {
	const char *name;
	uint64_t offset;
	const char *trace;
};

static void complain(struct span_reader *r, const struct jaeger_position *place, const json_t *span, enum span_fault fault,
		     const char *what)
{
	const char *id = json_string_value(json_object_get(span, "spanID"));

	span_fault(r->sink.faults, fault, "%s: byte %" PRIu64 ", trace %s, span %s: %s", place->name, place->offset,
		   place->trace, id ? id : "?", what);
}

struct sampling {
	bool probabilistic;
	double share;
};

static void read_tags(struct span_reader *r, const json_t *tags, struct span *span, bool all)
{
	struct sampling sampling = {};
	const json_t *tag;
	size_t i, n;
	char buf[40];

	json_array_foreach(tags, i, tag) {
		const char *key = json_string_value(json_object_get(tag, "key"));
		const json_t *json = json_object_get(tag, "value");
		const char *value = json_text(json, buf, &n);

		if (!key || !value)
			continue;
		if (span && !strcmp(key, "span.kind"))
			span->kind = (uint8_t)span_kind_of_text(value, n);
		else if (span && span_tag_is_error(key, value, n))
			span->flags |= SPAN_ERROR;
		else if (!strcmp(key, "sampler.type"))
			sampling.probabilistic = n == 13 && !strncmp(value, "probabilistic", 13);
		else if (!strcmp(key, "sampler.param"))
			sampling.share = json_number_value(json);
		if (strcmp(key, "span.kind") && strcmp(key, "sampler.param"))
			reader_attribute(r, key, strlen(key), value, n, all);
	}
	if (sampling.probabilistic && sampling.share > 0 && sampling.share <= 1)
		r->weight = (uint64_t)((double)SPAN_WEIGHT_ONE / sampling.share + 0.5);
}

/* A reference into another trace is a link, not what called it. Ids of 64 bits are those of 128 cut off. */
static bool same_trace(const json_t *reference, const struct span *span)
{
	const json_t *trace = json_object_get(reference, "traceID");
	uint64_t high, low;

	if (!json_is_string(trace) || !json_string_length(trace))
		return true;
	trace_id_key(json_string_value(trace), json_string_length(trace), &high, &low);
	return low == span->trace_low && (high >> 32 == span->trace_high >> 32 || !high || !span->trace_high);
}

/* The first CHILD_OF; without one, a FOLLOWS_FROM; of the same trace. */
static void read_references(const json_t *span_json, struct span *span)
{
	const json_t *reference;
	size_t i;

	json_array_foreach(json_object_get(span_json, "references"), i, reference) {
		const char *type = json_string_value(json_object_get(reference, "refType"));
		const json_t *id = json_object_get(reference, "spanID");
		bool child = type && !strcmp(type, "CHILD_OF");

		if (!json_is_string(id) || (span->parent && !child) || !same_trace(reference, span))
			continue;
		span->parent = span_id_of_text(json_string_value(id), json_string_length(id));
		if (child) {
			span->flags &= (uint8_t)~SPAN_LINKED;
			return;
		}
		span->flags |= SPAN_LINKED;
	}
	reference = json_object_get(span_json, "parentSpanID");
	if (!span->parent && json_is_string(reference))
		span->parent = span_id_of_text(json_string_value(reference), json_string_length(reference));
}

static bool read_times(const json_t *json, struct span *span)
{
	int64_t start, duration;

	if (!json_number(json_object_get(json, "startTime"), &start) ||
	    !json_number(json_object_get(json, "duration"), &duration))
		return false;
	if (start < 0 || duration < 0 || start > INT64_MAX / 1000 || duration > INT64_MAX / 1000 - start)
		return false;
	span->start = start * 1000;
	span->end = (start + duration) * 1000;
	return true;
}

struct process {
	const char *id;
	uint32_t set, service;
};

static const struct process *process_of(const struct process *processes, size_t n, const char *id)
{
	for (size_t i = 0; id && i < n; i++)
		if (!strcmp(processes[i].id, id))
			return &processes[i];
	return NULL;
}

static void read_process(struct span_reader *r, const json_t *json, struct process *process)
{
	const json_t *service = json_object_get(json, "serviceName");

	reader_begin(r);
	read_tags(r, json_object_get(json, "tags"), NULL, true);
	if (json_is_string(service))
		reader_attribute(r, "service.name", 12, json_string_value(service), json_string_length(service), true);
	process->set = reader_resource(r, &process->service);
}

static int read_span(struct span_reader *r, const struct jaeger_position *place, const json_t *json,
		     const struct process *processes, size_t n_processes)
{
	struct span span = {.weight = SPAN_WEIGHT_ONE};
	const json_t *trace = json_object_get(json, "traceID"), *id = json_object_get(json, "spanID"),
		     *operation = json_object_get(json, "operationName");
	const json_t *own_process = json_object_get(json, "process");
	const struct process *process =
		process_of(processes, n_processes, json_string_value(json_object_get(json, "processID")));
	struct process own;

	if (json_is_string(trace) &&
	    !reader_takes_text(r, json_string_value(trace), json_string_length(trace), &span.trace_high, &span.trace_low))
		return 0;
	if (json_is_string(id))
		span.id = span_id_of_text(json_string_value(id), json_string_length(id));
	if (!span.id || (!span.trace_high && !span.trace_low)) {
		if (json_is_string(trace) || !r->part)
			complain(r, place, json, SPAN_FAULT_ID, "no traceID or spanID");
		return 0;
	}
	if (!read_times(json, &span)) {
		complain(r, place, json, SPAN_FAULT_TIME, "startTime and duration are not microseconds");
		return 0;
	}
	if (json_is_string(operation))
		span.operation = names_text(r->sink.names, json_string_value(operation), json_string_length(operation));
	read_references(json, &span);
	reader_begin(r);
	read_tags(r, json_object_get(json, "tags"), &span, !span.parent);
	span.attributes = reader_set(r);
	if (r->weight)
		span.weight = r->weight;
	if (!process && own_process) {
		read_process(r, own_process, &own);
		process = &own;
	}
	if (process) {
		span.resource = process->set;
		span.service = process->service;
	} else {
		complain(r, place, json, SPAN_FAULT_FIELD, "its processID is none of the trace's processes");
		reader_begin(r);
		span.resource = reader_resource(r, &span.service);
	}
	return reader_put(r, &span);
}

static int read_spans(struct span_reader *r, const char *name, uint64_t offset, json_t *trace)
{
	struct jaeger_position place = {name, offset, json_string_value(json_object_get(trace, "traceID"))};
	json_t *table = json_object_get(trace, "processes"), *json;
	size_t n = json_object_size(table), i = 0;
	struct process *processes = calloc(n + 1, sizeof(*processes));
	const char *id;
	int result = 0;

	if (!processes)
		return -ENOMEM;
	if (!place.trace)
		place.trace = "?";
	json_object_foreach(table, id, json) {
		processes[i].id = id;
		read_process(r, json, &processes[i++]);
	}
	if (!json_is_array(json_object_get(trace, "spans")) && !r->part)
		complain(r, &place, trace, SPAN_FAULT_SYNTAX, "this is not a trace: it has no spans");
	json_array_foreach(json_object_get(trace, "spans"), i, json) {
		result = read_span(r, &place, json, processes, n);
		if (result < 0)
			break;
	}
	free(processes);
	return result;
}

/* A trace, what one answer of the query service holds, or a single span. */
static int read_trace(struct span_reader *r, const char *name, uint64_t offset, json_t *json)
{
	json_t *source = json_object_get(json, "_source"), *data = json_object_get(json, "data");
	struct jaeger_position place = {name, offset, "of its own"};

	if (json_is_object(source))
		json = source;
	if (json_object_get(json, "spanID"))
		return read_span(r, &place, json, NULL, 0);
	return json_is_array(data) ? json_each(r, name, offset, data, read_spans) : read_spans(r, name, offset, json);
}

static int read_all(struct span_reader *r, struct input *in)
{
	static const char *const keys[] = {"data", NULL};

	return json_elements(r, in, keys, read_trace);
}

static bool recognises(const uint8_t *head, size_t n)
{
	return json_mentions(head, n, "\"data\"") || json_mentions(head, n, "\"traceID\"") ||
	       json_mentions(head, n, "\"processes\"");
}

const struct span_source source_jaeger = {
	.name = "jaeger",
	.help = "Jaeger, JSON",
	.recognises = recognises,
	.read = read_all,
};
