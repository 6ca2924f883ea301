/* Forms of JSON whose spans are objects with everything at fixed places: a table says where.
 *
 * A place is keys with '/' between them ("context/trace_id"); of several, with '|' between them, the first that is there counts. What is the same for
 * many spans (their trace, their process) may also be in the object that has the list of them.
 */
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/input/timestamp.h"
#include "spans/formats/span-json.h"

#define PLACES 4 /* of attributes */

struct json_form {
	const char *marks[4]; /* all occur in the first bytes */
	const char *lists[4]; /* keys of lists of spans, or of objects with such lists, from the top of a file */
	const char *spans;    /* the list in an element; NULL = an element is a span */
	bool and_itself;      /* next to its list such an element is a span, too */
	bool is_decimal;      /* ids of spans are decimal numbers */
	const char *trace, *id, *parent, *name, *kind, *type;
	const char *start, *end, *duration; /* end or duration; texts that are moments are so in any case */
	int64_t unit, duration_unit;	    /* of numbers, ns */
	const char *failed; /* "error", true, a number beyond 0 ... */
	const char *well;   /* `failed` is a text, and everything else is a failure */
	const char *weight;
	const char *service, *version, *host;
	const char *process[PLACES], *attributes[PLACES]; /* objects of pairs, or lists of keys and values; "" = the span's own object */
};

/* One span, and what it is in. */
struct found_span {
	const struct json_form *form;
	const struct tape_value *json, *outer; /* outer: NULL = nothing */
};

static const struct tape_value *at_place(const struct tape_value *v, const char *place, size_t n)
{
	for (const char *end = place + n; place < end && v;) {
		size_t key = strcspn(place, "/|");

		v = tape_find(v, place, key);
		place += key + 1;
	}
	return v;
}

static const struct tape_value *find(const struct tape_value *json, const char *places)
{
	const struct tape_value *v = NULL;

	while (json && places && *places && (!v || v->kind == TAPE_NULL)) {
		size_t n = strcspn(places, "|");

		v = at_place(json, places, n);
		places += n + (places[n] == '|');
	}
	return v;
}

static const struct tape_value *find_shared(const struct found_span *f, const char *places)
{
	const struct tape_value *own = find(f->json, places);

	return own ? own : find(f->outer, places);
}

/* A value, or the one that an object is about: {"stringValue": {"value": "x"}}, {"Type": "STRING", "Value": "x"}. */
static const struct tape_value *plain(const struct tape_value *v)
{
	for (int depth = 0; tape_is(v, TAPE_OBJECT) && v->size > 1 && depth < 3; depth++) {
		const struct tape_value *named = tape_get(v, "value") ? tape_get(v, "value") : tape_get(v, "Value");

		v = named ? named : v + 2;
	}
	return v;
}

static void take_pairs(struct span_reader *r, const struct tape_value *from, struct span *span, bool all)
{
	TAPE_PAIRS(key, from)
		if (tape_is(key + 1, TAPE_OBJECT))
			span_json_take_pair(r, key, plain(key + 1), span, all);
		else
			span_json_take_pair(r, key, key + 1, span, all);
	TAPE_EACH(pair, from)
		span_json_take_pair(r, tape_get(pair, "key"), plain(tape_get(pair, "value")), span, all);
}

static const struct tape_value *whole_or_part(const struct tape_value *json, const char *place)
{
	return *place ? find(json, place) : json;
}

static void read_process(struct span_reader *r, const struct tape_value *found)
{
	const struct found_span *f = (const void *)found;
	const struct json_form *form = f->form;

	for (int i = 0; i < PLACES && form->process[i]; i++) {
		span_json_take_process(r, whole_or_part(f->json, form->process[i]));
		span_json_take_process(r, find(f->outer, form->process[i]));
	}
	span_json_take(r, "service.version", find_shared(f, form->version), true);
	span_json_take(r, "host.name", find_shared(f, form->host), true);
	span_json_take(r, "service.name", find_shared(f, form->service), true);
}

static void read_attributes(struct span_reader *r, struct json_span *s, bool all)
{
	const struct found_span *f = (const void *)s->process;

	for (int i = 0; i < PLACES && f->form->attributes[i]; i++)
		take_pairs(r, whole_or_part(f->json, f->form->attributes[i]), &s->span, all);
	span_json_take(r, "sampling.adjusted_count", find(f->json, f->form->weight), all);
}

static bool read_moment(const struct tape_value *v, int64_t unit, int64_t *ret)
{
	if (tape_is(v, TAPE_TEXT) && memchr(v->text, ':', v->n))
		return timestamp_parse(v->text, v->text + v->n, ret) == 0;
	return span_json_time(v, unit, ret);
}

static void read_times(const struct found_span *f, struct span *span)
{
	const struct json_form *form = f->form;
	int64_t duration;
	bool whole = read_moment(find(f->json, form->start), form->unit, &span->start);

	if (whole && form->duration)
		whole = span_json_time(find(f->json, form->duration), form->duration_unit, &duration) && !__builtin_add_overflow(span->start, duration, &span->end);
	else if (whole)
		whole = read_moment(find(f->json, form->end), form->unit, &span->end);
	if (!whole)
		span->end = -1;
}

static bool has_failed(const struct json_form *form, const struct tape_value *v)
{
	if (form->well)
		return tape_is(v, TAPE_TEXT) && !tape_says(v, form->well);
	return tape_is(v, TAPE_TRUE) || (tape_is(v, TAPE_NUMBER) && tape_number(v) > 0) || (tape_is(v, TAPE_TEXT) && span_status_is_error(v->text, v->n));
}

/* "SpanKind.SERVER", "RPC_SERVER", 2; or by what kind of thing it is: "db". */
static enum span_kind kind_of(const struct found_span *f)
{
	const struct tape_value *kind = find(f->json, f->form->kind), *type = find(f->json, f->form->type);
	size_t n, skipped = 0;
	const char *text = tape_text(kind, &n);

	for (size_t i = 0; text && i < n; i++)
		if (text[i] == '.' || text[i] == '_')
			skipped = i + 1;
	return text ? span_kind_of_text(text + skipped, n - skipped) : span_json_kind_of_type(type);
}

/* An id, or a name that has it: "projects/shop/traces/ID/spans/...". */
static void set_trace(struct json_span *s, const struct tape_value *trace)
{
	static const char before[] = "/traces/";
	const char *at;

	span_json_set_trace(s, trace);
	at = s->trace ? memmem(s->trace, s->trace_n, before, sizeof(before) - 1) : NULL;
	if (!at)
		return;
	at += sizeof(before) - 1;
	s->trace_n -= (size_t)(at - s->trace);
	s->trace = at;
	at = memchr(at, '/', s->trace_n);
	s->trace_n = at ? (size_t)(at - s->trace) : s->trace_n;
}

static int read_span(struct span_reader *r, const char *file, uint64_t offset, const struct found_span *f)
{
	const struct json_form *form = f->form;
	const struct tape_value *parent = find(f->json, form->parent);
	uint64_t (*id_of)(const struct tape_value *) = form->is_decimal ? span_json_decimal : span_json_hex;
	struct json_span s = {.json = f->json, .process = (const void *)f, .times = "its times are not those of this form", .resource = read_process,
			      .attributes = read_attributes};

	set_trace(&s, find_shared(f, form->trace));
	span_json_set_name(&s, find(f->json, form->name));
	s.span.id = id_of(find(f->json, form->id));
	s.span.parent = id_of(tape_is(parent, TAPE_ARRAY) && parent->size > 1 ? parent + 1 : parent);
	s.span.kind = (uint8_t)kind_of(f);
	read_times(f, &s.span);
	if (has_failed(form, find(f->json, form->failed)))
		s.span.flags |= SPAN_ERROR;
	return span_json_put(r, file, offset, &s);
}

static int read_element(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json)
{
	const struct json_form *form = r->form;
	const struct tape_value *list = form->spans ? find(json, form->spans) : NULL;
	int result = 0;

	if (form->and_itself && !find(json, form->trace) && !find(json, form->id))
		return 0; /* a header between such elements */
	if (!list || form->and_itself)
		result = read_span(r, file, offset, &(struct found_span){form, json, NULL});
	TAPE_EACH(one, list)
		if (result == 0)
			result = read_span(r, file, offset, &(struct found_span){form, one, json});
	return result;
}

static int read_form(const struct json_form *form, struct span_reader *r, struct input *in)
{
	int result;

	r->form = (void *)form;
	result = span_json_elements(r, in, form->lists, read_element);
	r->form = NULL;
	return result;
}

static bool is_form(const struct json_form *form, const uint8_t *head, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(form->marks) && form->marks[i]; i++)
		if (!span_json_mentions(head, n, form->marks[i]))
			return false;
	return true;
}

#define FORM(symbol, form_name, words, ...)                                                \
	static const struct json_form form_##symbol = {__VA_ARGS__};                        \
	static bool is_##symbol(const uint8_t *head, size_t n)                              \
	{                                                                                   \
		return is_form(&form_##symbol, head, n);                                    \
	}                                                                                   \
	static int read_##symbol(struct span_reader *r, struct input *in)                   \
	{                                                                                   \
		return read_form(&form_##symbol, r, in);                                    \
	}                                                                                   \
	const struct span_source source_##symbol = {form_name, words, is_##symbol, read_##symbol};

#define MAP   "attributes/attributeMap/"
#define VALUE "/stringValue/value"

#define US 1000
#define MS 1000000
#define S  1000000000

FORM(honeycomb, "honeycomb", "Honeycomb's events, JSON; also as queries are exported", .marks = {"\"trace.trace_id\""},
     .trace = "data/trace.trace_id|trace.trace_id", .id = "data/trace.span_id|trace.span_id", .parent = "data/trace.parent_id|trace.parent_id",
     .name = "data/name|name", .start = "time|timestamp|Timestamp|data/time|data/timestamp", .duration = "data/duration_ms|duration_ms", .duration_unit = MS,
     .weight = "samplerate", .process = {"data", ""}, .attributes = {"data", ""})

FORM(new_relic, "new-relic", "New Relic's trace API, JSON", .marks = {"\"trace.id\"", "\"duration.ms\""}, .spans = "spans", .trace = "trace.id|common/attributes/trace.id",
     .id = "id", .parent = "attributes/parent.id", .name = "attributes/name", .start = "timestamp|common/timestamp", .unit = MS, .duration = "attributes/duration.ms",
     .duration_unit = MS, .service = "attributes/service.name|common/attributes/service.name", .host = "attributes/host|common/attributes/host",
     .process = {"attributes", "common/attributes"}, .attributes = {"attributes"})

FORM(python_console, "python-console", "OpenTelemetry's console exporter for Python, JSON", .marks = {"\"context\"", "\"parent_id\"", "\"start_time\""},
     .trace = "context/trace_id", .id = "context/span_id", .parent = "parent_id", .name = "name", .kind = "kind", .start = "start_time", .end = "end_time",
     .failed = "status/status_code", .process = {"resource/attributes", "resource"}, .attributes = {"attributes"})

FORM(php_console, "php-console", "OpenTelemetry's console exporter for PHP, JSON", .marks = {"\"context\"", "\"parent_span_id\"", "\"KIND_"},
     .trace = "context/trace_id", .id = "context/span_id", .parent = "parent_span_id", .name = "name", .kind = "kind", .start = "start", .end = "end", .unit = 1,
     .failed = "status/code", .process = {"resource"}, .attributes = {"attributes"})

FORM(elastic_documents, "elastic-documents", "Elastic APM's documents of Elasticsearch, JSON", .marks = {"\"processor\"", "\"trace\"", "\"transaction\""},
     .trace = "trace/id", .id = "span/id|transaction/id", .parent = "parent/id", .name = "span/name|transaction/name", .kind = "span/kind", .type = "span/type|transaction/type",
     .start = "timestamp/us|@timestamp", .unit = US, .duration = "span/duration/us|transaction/duration/us", .duration_unit = US, .failed = "event/outcome",
     .weight = "span/representative_count|transaction/representative_count", .service = "service/name", .version = "service/version",
     .host = "host/hostname|host/name", .attributes = {"labels"})

FORM(elastic_otel, "elastic-otel", "OpenTelemetry's documents of Elasticsearch, JSON", .marks = {"\"@timestamp\"", "\"trace_id\"", "\"span_id\""}, .trace = "trace_id",
     .id = "span_id", .parent = "parent_span_id", .name = "name", .kind = "kind", .start = "@timestamp", .unit = MS, .duration = "duration", .duration_unit = 1,
     .failed = "status/code", .process = {"resource/attributes"}, .attributes = {"attributes"})

FORM(data_prepper, "data-prepper", "documents of OpenSearch's Data Prepper, JSON", .marks = {"\"traceId\"", "\"durationInNanos\""}, .trace = "traceId", .id = "spanId",
     .parent = "parentSpanId", .name = "name", .kind = "kind", .start = "startTime", .duration = "durationInNanos", .duration_unit = 1, .failed = "status.code|status/code",
     .service = "serviceName", .process = {"resource/attributes", "resource"}, .attributes = {"attributes", "span/attributes"})

FORM(clickhouse_rows, "clickhouse-rows", "rows of OpenTelemetry's table in ClickHouse, as JSON", .marks = {"\"TraceId\"", "\"SpanId\"", "\"SpanName\""}, .lists = {"data"},
     .trace = "TraceId", .id = "SpanId", .parent = "ParentSpanId", .name = "SpanName", .kind = "SpanKind", .start = "Timestamp", .unit = 1, .duration = "Duration",
     .duration_unit = 1, .failed = "StatusCode", .service = "ServiceName", .process = {"ResourceAttributes"}, .attributes = {"SpanAttributes"})

FORM(google_v1, "google-v1", "Google Cloud Trace (v1), JSON", .marks = {"\"projectId\"", "\"traceId\"", "\"spanId\""}, .lists = {"traces"}, .spans = "spans",
     .is_decimal = true, .trace = "traceId", .id = "spanId", .parent = "parentSpanId", .name = "name", .kind = "kind", .start = "startTime", .end = "endTime",
     .service = "labels/service.name|labels/component|projectId", .process = {"labels"}, .attributes = {"labels"})

FORM(google_v2, "google-v2", "Google Cloud Trace (v2), JSON", .marks = {"\"displayName\"", "\"spanId\"", "projects/"}, .lists = {"spans"}, .trace = "name", .id = "spanId",
     .parent = "parentSpanId", .name = "displayName/value", .kind = "spanKind", .start = "startTime", .end = "endTime", .failed = "status/code",
     .service = MAP "service.name" VALUE, .version = MAP "service.version" VALUE, .host = MAP "host.name" VALUE,
     .attributes = {"attributes/attributeMap"})

FORM(datadog_api, "datadog-api", "spans that Datadog's API found, JSON", .marks = {"\"start_timestamp\"", "\"resource_name\""}, .lists = {"data"}, .is_decimal = true,
     .trace = "attributes/trace_id", .id = "attributes/span_id", .parent = "attributes/parent_id", .name = "attributes/resource_name", .type = "attributes/type",
     .start = "attributes/start_timestamp", .end = "attributes/end_timestamp", .failed = "attributes/status", .service = "attributes/service", .host = "attributes/host",
     .process = {"attributes/custom"}, .attributes = {"attributes/custom", "attributes/attributes"})

FORM(instana, "instana", "Instana's spans, JSON", .marks = {"\"ts\":", "\"ec\":", "\"data\":", "\"s\":"}, .trace = "t", .id = "s", .parent = "p",
     .name = "data/sdk/name|data/http/path_tpl|n", .start = "ts", .unit = MS, .duration = "d", .duration_unit = MS, .failed = "ec", .service = "data/service",
     .host = "f/h", .attributes = {"data/http", "data/pg", "data/mysql", "data/sdk/custom/tags"})

FORM(sentry, "sentry", "Sentry's transactions, JSON", .marks = {"\"start_timestamp\"", "\"contexts\""}, .spans = "spans", .and_itself = true, .trace = "trace_id|contexts/trace/trace_id",
     .id = "span_id|contexts/trace/span_id", .parent = "parent_span_id|contexts/trace/parent_span_id", .name = "description|transaction|op", .type = "op|contexts/trace/op",
     .start = "start_timestamp", .end = "timestamp", .unit = S, .failed = "status|contexts/trace/status", .well = "ok", .service = "tags/service|project|sdk/name",
     .version = "release", .host = "server_name", .attributes = {"data", "tags"})

FORM(htrace, "htrace", "Apache HTrace's spans (Hadoop, HBase; version 3), JSON", .marks = {"\"i\":", "\"s\":", "\"b\":", "\"e\":"}, .trace = "i", .id = "s", .parent = "p", .name = "d",
     .start = "b", .end = "e", .unit = MS, .service = "r", .attributes = {"n"})
