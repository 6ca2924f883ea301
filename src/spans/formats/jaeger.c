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

#include "lib/data/hmap.h"
#include "spans/formats/span-json.h"

struct jaeger_position {
	const char *name;
	uint64_t offset;
	const char *trace; /* not terminated */
	size_t trace_n;
	const struct tape_value *id; /* of spans that have none of their own; NULL = they must have one */
};

static void complain(struct span_reader *r, const struct jaeger_position *place, const struct tape_value *span, enum span_fault fault,
		     const char *what)
{
	const struct tape_value *id = tape_get(span, "spanID");

	span_fault(r->sink.faults, fault, "%s: byte %" PRIu64 ", trace %.*s, span %.*s: %s", place->name, place->offset,
		   (int)place->trace_n, place->trace, tape_is(id, TAPE_TEXT) ? (int)id->n : 1, tape_is(id, TAPE_TEXT) ? id->text : "?", what);
}

struct sampling {
	bool probabilistic;
	double share;
};

/* Tags with a meaning of their own. True = nothing else is to be kept of it. */
static bool take_tag(const struct tape_value *key, const struct tape_value *json, const char *value, size_t n, struct span *span,
		     struct sampling *sampling)
{
	if (tape_says(key, "span.kind")) {
		if (span)
			span->kind = (uint8_t)span_kind_of_text(value, n);
		return true;
	}
	if (tape_says(key, "sampler.param")) {
		sampling->share = tape_number(json);
		return true;
	}
	if (tape_says(key, "sampler.type"))
		sampling->probabilistic = n == 13 && !strncmp(value, "probabilistic", 13);
	else if (span && span_tag_is_error(key->text, key->n, value, n))
		span->flags |= SPAN_ERROR;
	return false;
}

static void read_tags(struct span_reader *r, const struct tape_value *tags, struct span *span, bool all)
{
	struct sampling sampling = {};
	size_t n;

	TAPE_EACH(tag, tags) {
		const struct tape_value *key = tape_get(tag, "key"), *json = tape_get(tag, "value");
		const char *value = tape_text(json, &n);

		if (tape_is(key, TAPE_TEXT) && value && !take_tag(key, json, value, n, span, &sampling))
			span_reader_attribute(r, key->text, key->n, value, n, all);
	}
	if (sampling.probabilistic && sampling.share > 0 && sampling.share <= 1)
		r->weight = (uint64_t)((double)SPAN_WEIGHT_ONE / sampling.share + 0.5);
}

/* A reference into another trace is a link, not what called it. Ids of 64 bits are those of 128 cut off. */
static bool same_trace(const struct tape_value *reference, const struct span *span)
{
	const struct tape_value *trace = tape_get(reference, "traceID");
	uint64_t high, low;

	if (!tape_is(trace, TAPE_TEXT) || !trace->n)
		return true;
	span_trace_id_key(trace->text, trace->n, &high, &low);
	return low == span->trace_low && (high >> 32 == span->trace_high >> 32 || !high || !span->trace_high);
}

/* The first CHILD_OF; without one, a FOLLOWS_FROM; of the same trace. */
static void read_references(const struct tape_value *json, struct span *span)
{
	const struct tape_value *parent;

	TAPE_EACH(reference, tape_get(json, "references")) {
		const struct tape_value *id = tape_get(reference, "spanID");
		bool child = tape_says(tape_get(reference, "refType"), "CHILD_OF");

		if (!tape_is(id, TAPE_TEXT) || (span->parent && !child) || !same_trace(reference, span))
			continue;
		span->parent = span_id_of_text(id->text, id->n);
		if (child) {
			span->flags &= (uint8_t)~SPAN_LINKED;
			return;
		}
		span->flags |= SPAN_LINKED;
	}
	parent = tape_get(json, "parentSpanID");
	if (!span->parent && tape_is(parent, TAPE_TEXT))
		span->parent = span_id_of_text(parent->text, parent->n);
}

/* References into other traces. */
static void read_links(struct span_reader *r, const struct tape_value *json, struct span *span)
{
	struct span_link link = {.span = span->id};
	uint64_t high, low;

	TAPE_EACH(reference, tape_get(json, "references")) {
		const struct tape_value *trace = tape_get(reference, "traceID");

		if (same_trace(reference, span))
			continue;
		span_trace_id_of_text(r->sink.names, trace->text, trace->n, &high, &low);
		span_reader_link(span, high, low, &link);
	}
	span_reader_end_links(r, span, &link);
}

static bool read_times(const struct tape_value *json, struct span *span)
{
	int64_t start, duration;

	if (!tape_whole(tape_get(json, "startTime"), &start) || !tape_whole(tape_get(json, "duration"), &duration))
		return false;
	if (start < 0 || duration < 0 || start > INT64_MAX / 1000 || duration > INT64_MAX / 1000 - start)
		return false;
	span->start = start * 1000;
	span->end = (start + duration) * 1000;
	return true;
}

struct process {
	uint32_t set, service;
};

/* A trace's, by id: as many as it likes. */
struct processes {
	struct process *v;
	struct hmap by_id; /* (hash of the id, its length) -> process */
};

static const struct process *process_of(const struct processes *processes, const struct tape_value *id)
{
	return tape_is(id, TAPE_TEXT) ? hmap_get(&processes->by_id, hmap_hash_bytes(id->text, id->n), id->n) : NULL;
}

/* The processes of a service are the same bytes in every trace. */
static void read_process(struct span_reader *r, const struct tape_value *json, struct process *process)
{
	const struct tape_value *service = tape_get(json, "serviceName");
	const struct cached_resource *known = span_reader_cached(r, json->text, json->n);

	if (known) {
		process->set = known->set;
		process->service = known->service;
		return;
	}
	span_reader_begin(r);
	read_tags(r, tape_get(json, "tags"), NULL, true);
	if (tape_is(service, TAPE_TEXT))
		span_reader_attribute(r, "service.name", 12, service->text, service->n, true);
	process->set = span_reader_resource(r, &process->service);
	span_reader_remember(r, json->text, json->n, process->set, process->service);
}

static int read_span(struct span_reader *r, const struct jaeger_position *place, const struct tape_value *json,
		     const struct processes *processes)
{
	struct span span = {.weight = SPAN_WEIGHT_ONE};
	const struct tape_value *own_trace = tape_get(json, "traceID"), *id = tape_get(json, "spanID"), *operation = tape_get(json, "operationName"),
				*own_process = tape_get(json, "process"), *trace = own_trace ? own_trace : place->id;
	const struct process *process = process_of(processes, tape_get(json, "processID"));
	struct process own = {};

	if (tape_is(trace, TAPE_TEXT) && !span_reader_takes_text(r, trace->text, trace->n, &span.trace_high, &span.trace_low))
		return 0;
	if (tape_is(id, TAPE_TEXT))
		span.id = span_id_of_text(id->text, id->n);
	if (!span.id || (!span.trace_high && !span.trace_low)) {
		if (tape_is(trace, TAPE_TEXT) || !r->part)
			complain(r, place, json, SPAN_FAULT_ID, "no traceID or spanID");
		return 0;
	}
	if (!read_times(json, &span)) {
		complain(r, place, json, SPAN_FAULT_TIME, "startTime and duration are not microseconds");
		return 0;
	}
	if (tape_is(operation, TAPE_TEXT))
		span.operation = span_reader_name(r, operation->text, operation->n);
	read_references(json, &span);
	read_links(r, json, &span);
	read_tags(r, tape_get(json, "tags"), &span, span_reader_begin_span(r, &span));
	span_reader_end_span(r, &span);
	if (r->weight)
		span.weight = r->weight;
	if (!process && tape_is(own_process, TAPE_OBJECT)) {
		read_process(r, own_process, &own);
		process = &own;
	}
	if (process) {
		span.resource = process->set;
		span.service = process->service;
	} else {
		complain(r, place, json, SPAN_FAULT_FIELD, "its processID is none of the trace's processes");
		span_reader_begin(r);
		span.resource = span_reader_resource(r, &span.service);
	}
	return span_reader_put(r, &span);
}

/* The first of two processes with one id counts. 0 or -ENOMEM; free_processes() either way. */
static int read_processes(struct span_reader *r, const struct tape_value *table, struct processes *ret)
{
	size_t n = 0;
	int result = 0;

	TAPE_PAIRS(id, table)
		n++;
	ret->v = calloc(n + 1, sizeof(*ret->v));
	if (!ret->v)
		return -ENOMEM;
	n = 0;
	TAPE_PAIRS(id, table) {
		read_process(r, id + 1, &ret->v[n]);
		if (result == 0 && !process_of(ret, id))
			result = hmap_put(&ret->by_id, hmap_hash_bytes(id->text, id->n), id->n, &ret->v[n]);
		n++;
	}
	return result;
}

static void free_processes(struct processes *p)
{
	hmap_free(&p->by_id);
	free(p->v);
}

static int read_spans(struct span_reader *r, const char *name, uint64_t offset, const struct tape_value *trace)
{
	const struct tape_value *id = tape_get(trace, "traceID"), *spans = tape_get(trace, "spans");
	struct jaeger_position place = {name, offset, tape_is(id, TAPE_TEXT) ? id->text : "?", tape_is(id, TAPE_TEXT) ? id->n : 1, id};
	struct processes processes = {};
	int result = read_processes(r, tape_get(trace, "processes"), &processes);

	if (result < 0) {
		free_processes(&processes);
		return result;
	}
	if (!tape_is(spans, TAPE_ARRAY) && !r->part)
		complain(r, &place, trace, SPAN_FAULT_SYNTAX, "this is not a trace: it has no spans");
	TAPE_EACH(json, spans) {
		result = read_span(r, &place, json, &processes);
		if (result < 0)
			break;
	}
	free_processes(&processes);
	return result;
}

/* A trace, what one answer of the query service holds, or a single span. */
static int read_trace(struct span_reader *r, const char *name, uint64_t offset, const struct tape_value *json)
{
	const struct tape_value *source = tape_get(json, "_source"), *data = tape_get(json, "data");
	struct jaeger_position place = {name, offset, "of its own", 10, NULL};

	if (tape_is(source, TAPE_OBJECT))
		json = source;
	if (tape_get(json, "spanID"))
		return read_span(r, &place, json, &(struct processes){});
	return tape_is(data, TAPE_ARRAY) ? span_json_each(r, name, offset, data, read_spans) : read_spans(r, name, offset, json);
}

static int read_all(struct span_reader *r, struct input *in)
{
	static const char *const keys[] = {"data", NULL};

	return span_json_elements(r, in, keys, read_trace);
}

static bool recognises(const uint8_t *head, size_t n)
{
	return span_json_mentions(head, n, "\"data\"") || span_json_mentions(head, n, "\"traceID\"") ||
	       span_json_mentions(head, n, "\"processes\"");
}

const struct span_source source_jaeger = {
	.name = "jaeger",
	.help = "Jaeger, JSON",
	.recognises = recognises,
	.read = read_all,
};
