/* Chrome's trace events, as browsers, Perfetto's converters and many build tools write them:
 *
 *   {"traceEvents": [{"name": "GET", "cat": "http", "ph": "X", "pid": 1, "tid": 2, "ts": us, "dur": us},
 *    {"name": "query", "ph": "B", "pid": 1, "tid": 2, "ts": us}, {"ph": "E", "pid": 1, "tid": 2, "ts": us},
 *    {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "web"}}]}
 *
 * Also the array alone. There are no ids: what lies within another event of its thread was called by it, and an event
 * that lies in none is a request. So all of them are read before the first is given on.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/order.h"
#include "lib/data/str.h"
#include "spans/formats/span-json.h"

#define EVENTS_MOST ((size_t)1 << 24) /* 40 bytes each */
#define NESTED_MOST 1024	      /* events in each other */

struct chrome_event {
	uint32_t process, thread; /* texts */
	uint32_t name, category;  /* 0 = it has none */
	int64_t start, end;	  /* ns; end < start: it has begun and not ended */
};

struct chrome_name {
	uint32_t process, name;
};

struct chrome_events {
	VEC(struct chrome_event) list;
	VEC(struct chrome_name) names; /* of processes */
	size_t left_out;
};

static uint32_t text_of(struct span_reader *r, const struct tape_value *v)
{
	size_t n;
	const char *text = tape_text(v, &n);

	return text ? names_text(r->sink.names, text, n) : 0;
}

/* The last event of the thread that has begun and not ended. */
static void end_event(struct chrome_events *events, const struct chrome_event *end)
{
	size_t looked_at = 0;

	for (size_t i = events->list.n; i-- > 0 && looked_at++ < NESTED_MOST * 8;) {
		struct chrome_event *e = &events->list.v[i];

		if (e->process != end->process || e->thread != end->thread || e->end >= e->start)
			continue;
		if (end->start >= e->start)
			e->end = end->start;
		return;
	}
}

static int read_event(struct span_reader *r, const char *file, uint64_t offset, const struct tape_value *json)
{
	struct chrome_events *events = r->form;
	const struct tape_value *phase = tape_get(json, "ph");
	struct chrome_event e = {.process = text_of(r, tape_get(json, "pid")), .thread = text_of(r, tape_get(json, "tid"))};
	int64_t length = 0;

	if (tape_says(phase, "M") && tape_says(tape_get(json, "name"), "process_name"))
		return VEC_PUSH(events->names, ((struct chrome_name){e.process, text_of(r, tape_get(tape_get(json, "args"), "name"))}));
	if (!tape_says(phase, "X") && !tape_says(phase, "B") && !tape_says(phase, "E"))
		return 0;
	if (!span_json_time(tape_get(json, "ts"), 1000, &e.start) || (tape_get(json, "dur") && !span_json_time(tape_get(json, "dur"), 1000, &length)) ||
	    __builtin_add_overflow(e.start, length, &e.end)) {
		if (!r->part)
			span_fault(r->sink.faults, SPAN_FAULT_TIME, "%s: byte %" PRIu64 ": ts and dur are not microseconds", file, offset);
		return 0;
	}
	if (tape_says(phase, "E")) {
		end_event(events, &e);
		return 0;
	}
	e.end = tape_says(phase, "B") ? e.start - 1 : e.end;
	e.name = text_of(r, tape_get(json, "name"));
	e.category = text_of(r, tape_get(json, "cat"));
	events->left_out += events->list.n >= EVENTS_MOST;
	return events->list.n < EVENTS_MOST ? VEC_PUSH(events->list, e) : 0;
}

/* By thread, then callers before what they call. */
ORDER(by_place, struct chrome_event, ASCENDING(process) ?: ASCENDING(thread) ?: ASCENDING(start) ?: DESCENDING(end))

static const char *name_of_process(const struct span_reader *r, const struct chrome_events *events, uint32_t process, size_t *ret_n)
{
	const char *name = names_get(r->sink.names, process);

	for (size_t i = 0; i < events->names.n; i++)
		if (events->names.v[i].process == process && events->names.v[i].name)
			name = names_get(r->sink.names, events->names.v[i].name);
	*ret_n = strlen(name);
	return name;
}

/* The events of one thread that those which come next may lie in. */
struct chrome_thread {
	struct span process;			   /* its fields */
	uint64_t high, low;			   /* the request */
	const struct chrome_event *open[NESTED_MOST];
	size_t depth;
};

static void read_category(struct span_reader *r, struct json_span *s, bool all)
{
	const char *category = r->form;

	(void)s;
	span_reader_attribute(r, "category", strlen("category"), category, strlen(category), all);
}

static void begin_thread(struct span_reader *r, const struct chrome_events *events, const struct chrome_event *e, struct chrome_thread *t)
{
	size_t n;
	const char *service = name_of_process(r, events, e->process, &n), *pid = names_get(r->sink.names, e->process),
		   *thread = names_get(r->sink.names, e->thread);

	*t = (struct chrome_thread){.high = str_stable_hash(pid, strlen(pid)) ^ str_stable_hash(thread, strlen(thread)) << 1};
	span_reader_begin(r);
	span_reader_attribute(r, "service.name", strlen("service.name"), service, n, true);
	span_reader_attribute(r, "process.pid", strlen("process.pid"), pid, strlen(pid), true);
	t->process.resource = span_reader_resource(r, &t->process.service);
}

static int put_event(struct span_reader *r, const char *file, const struct chrome_event *first, const struct chrome_event *e, struct chrome_thread *t)
{
	struct json_span s = {.span = t->process, .times = "an event that began did not end", .attributes = read_category};
	char trace[33];

	while (t->depth && e->end > t->open[t->depth - 1]->end)
		t->depth--;
	s.span.parent = t->depth ? (uint64_t)(t->open[t->depth - 1] - first) + 1 : 0;
	s.span.id = (uint64_t)(e - first) + 1;
	if (!t->depth)
		t->low = s.span.id;
	s.span.start = e->start;
	s.span.end = e->end;
	s.trace = trace;
	s.trace_n = (size_t)snprintf(trace, sizeof(trace), "%016" PRIx64 "%016" PRIx64, t->high, t->low);
	s.name = names_get(r->sink.names, e->name);
	s.name_n = strlen(s.name);
	r->form = (void *)(uintptr_t)names_get(r->sink.names, e->category);
	if (e->end >= e->start && t->depth < NESTED_MOST)
		t->open[t->depth++] = e;
	return span_json_put(r, file, 0, &s);
}

static int put_all(struct span_reader *r, const char *file, struct chrome_events *events)
{
	const struct chrome_event *v = events->list.v;
	struct chrome_thread thread;
	int result = 0;

	VEC_SORT(events->list, by_place);
	for (size_t i = 0; result == 0 && i < events->list.n; i++) {
		if (!i || v[i].process != v[i - 1].process || v[i].thread != v[i - 1].thread)
			begin_thread(r, events, &v[i], &thread);
		result = put_event(r, file, v, &v[i], &thread);
	}
	if (events->left_out && !r->part)
		span_fault(r->sink.faults, SPAN_FAULT_TRUNCATED, "%s: only the first %zu events are read, %zu are left out", file, EVENTS_MOST, events->left_out);
	return result;
}

static int read_all(struct span_reader *r, struct input *in)
{
	static const char *const keys[] = {"traceEvents", NULL};
	struct chrome_events events = {};
	const char *file = in->name;
	int result;

	r->form = &events;
	result = span_json_elements(r, in, keys, read_event);
	result = result ?: put_all(r, file, &events);
	r->form = NULL;
	VEC_FREE(events.list);
	VEC_FREE(events.names);
	return result;
}

static bool recognises(const uint8_t *head, size_t n)
{
	return span_json_mentions(head, n, "\"traceEvents\"") || (span_json_mentions(head, n, "\"ph\"") && span_json_mentions(head, n, "\"ts\""));
}

const struct span_source source_chrome = {
	.name = "chrome",
	.help = "Chrome's trace events, JSON",
	.recognises = recognises,
	.read = read_all,
};
