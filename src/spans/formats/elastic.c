/* Agents of Elastic APM send events (intake v2): a line for the process, then one for each transaction and span of it:
 *
 *   {"metadata": {"service": {"name": "web", "version": "1"}, "system": {"hostname": "h1"}}}
 *   {"transaction": {"id": "...", "trace_id": "...", "parent_id": "...", "name": "GET /", "type": "request", "timestamp": us, "duration": ms,
 *    "outcome": "failure", "sample_rate": 0.5}}
 *   {"span": {"id": "...", "trace_id": "...", "parent_id": "...", "name": "SELECT", "type": "db", "subtype": "mysql", "timestamp": us, "duration": ms,
 *    "context": {"destination": {"service": {"resource": "mysql"}}}}}
 */
#include <inttypes.h>

#include "spans/formats/span-json.h"

/* The process that the last line about one described. */
struct elastic_process {
	uint32_t set, service;
};

static void read_process(struct span_reader *r, const struct tape_value *json, struct elastic_process *ret)
{
	const struct tape_value *service = tape_get(json, "service"), *system = tape_get(json, "system");

	span_reader_begin(r);
	span_json_take(r, "service.name", tape_get(service, "name"), true);
	span_json_take(r, "service.version", tape_get(service, "version"), true);
	span_json_take(r, "service.instance.id", tape_get(tape_get(service, "node"), "configured_name"), true);
	span_json_take(r, "host.name", tape_get(system, tape_get(system, "hostname") ? "hostname" : "detected_hostname"), true);
	span_json_take(r, "process.pid", tape_get(tape_get(json, "process"), "pid"), true);
	ret->set = span_reader_resource(r, &ret->service);
}

static void read_details(struct span_reader *r, struct json_span *s, bool all)
{
	const struct tape_value *context = tape_get(s->json, "context");
	double share = tape_number(tape_get(s->json, "sample_rate"));

	if (tape_says(tape_get(s->json, "type"), "db"))
		span_json_take(r, "db.system", tape_get(s->json, "subtype"), all);
	span_json_take(r, "peer.service", tape_get(tape_get(tape_get(context, "destination"), "service"), "resource"), all);
	span_json_take_pairs(r, tape_get(context, "tags"), &s->span, all);
	span_json_take_pairs(r, tape_get(s->json, "otel"), &s->span, all);
	if (share > 0 && share < 1)
		r->weight = (uint64_t)((double)SPAN_WEIGHT_ONE / share + .5);
}

static enum span_kind kind_of(const struct tape_value *type, bool transaction)
{
	if (transaction)
		return tape_says(type, "messaging") ? SPAN_CONSUMER : SPAN_SERVER;
	if (tape_says(type, "messaging"))
		return SPAN_PRODUCER;
	return tape_says(type, "db") || tape_says(type, "external") || tape_says(type, "storage") ? SPAN_CLIENT : SPAN_INTERNAL;
}

static int read_event(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json, bool transaction)
{
	const struct elastic_process *process = r->form;
	struct json_span s = {.json = json, .times = "timestamp is not microseconds, or duration not milliseconds", .attributes = read_details};

	span_json_set_trace(&s, tape_get(json, "trace_id"));
	span_json_set_name(&s, tape_get(json, "name"));
	span_json_set_times(&s, tape_get(json, "timestamp"), tape_get(json, "duration"), 1000, 1000000);
	s.span.id = span_json_hex(tape_get(json, "id"));
	s.span.parent = span_json_hex(tape_get(json, "parent_id"));
	s.span.kind = (uint8_t)kind_of(tape_get(json, "type"), transaction);
	s.span.resource = process->set;
	s.span.service = process->service;
	if (tape_says(tape_get(json, "outcome"), "failure"))
		s.span.flags |= SPAN_ERROR;
	return span_json_put(r, file, offset, &s);
}

static int read_line(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json)
{
	const struct tape_value *metadata = tape_get(json, "metadata"), *transaction = tape_get(json, "transaction"), *span = tape_get(json, "span");

	if (metadata)
		read_process(r, metadata, r->form);
	return transaction ? read_event(r, file, offset, transaction, true) : span ? read_event(r, file, offset, span, false) : 0;
}

static int read_all(struct span_reader *r, struct input *in)
{
	static const char *const keys[] = {NULL};
	struct elastic_process process;
	int result;

	span_reader_begin(r);
	process.set = span_reader_resource(r, &process.service);
	r->form = &process;
	result = span_json_elements(r, in, keys, read_line);
	r->form = NULL;
	return result;
}

static bool recognises(const uint8_t *head, size_t n)
{
	return span_json_mentions(head, n, "\"metadata\"") && span_json_mentions(head, n, "\"service\"") && !span_json_mentions(head, n, "\"traceEvents\"");
}

const struct span_source source_elastic = {
	.name = "elastic",
	.help = "Elastic APM's intake, JSON",
	.recognises = recognises,
	.read = read_all,
};
