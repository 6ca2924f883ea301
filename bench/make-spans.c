/* Traces of a made-up cloud, for measurements: make-spans FORMAT SPANS [SEED] [story|live] > FILE, FORMAT otlp, csv or
 * jaeger.
 *
 * A request to create a virtual machine: an entry service, a scheduler, an agent on one of 300 hosts of three hardware
 * generations that creates disks side by side, a network call; 20 to 28 spans, client and server spans with the
 * attributes of OpenTelemetry's conventions (about 260 bytes a span). Durations have heavy tails; requests overlap in
 * time, at 2,000 a second, and spans come in the order of their ends.
 *
 * story is what SDiag found (section 4): a day with its cycle of load; agent 1.7.0, 6 % of the requests, creates the temporary
 * disk before the others instead of next to them, but only on hardware gen6, a third of the hosts: there a request takes about
 * 15 % longer.
 *
 * live begins now, with 100,000 spans a second.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "lib/data/str.h"

#define HOSTS 300
#define START 1790000000000000000ll
#define APART 500 /* median us between requests: 1,850 a second, 44,000 spans */
#define APART_LIVE 221

struct made {
	uint64_t trace_high, trace_low, id, parent;
	int64_t start, end;
	unsigned service, operation, host, version;
	unsigned kind;
};

static const char *const services[] = {"api", "auth", "scheduler", "agent", "storage", "network"};
static const char *const operations[] = {"POST /vm", "check token", "place", "create vm", "create disk", "attach disk",
					 "create nic", "SELECT hosts", "boot", "update state"};
static uint64_t state;
static bool story;
static double load = 1; /* of the hour */

static uint64_t draw(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static double uniform(void)
{
	return (double)(draw() >> 11) / 9007199254740992.0;
}

/* Log-normal about a median, ns. */
static int64_t lasts(double median_us)
{
	double z = sqrt(-2 * log(uniform() + 1e-300)) * cos(6.283185307179586 * uniform());

	double tail = story && draw() % 200 == 0 ? 2 / sqrt(uniform() + 1e-3) : 1;

	return (int64_t)(median_us * 1000 * load * tail * exp(.4 * z));
}

struct request {
	struct made spans[40];
	unsigned n;
	unsigned host, version;
};

static unsigned add(struct request *r, unsigned parent, unsigned service, unsigned operation, unsigned kind, int64_t start,
		    int64_t end)
{
	struct made *s = &r->spans[r->n];

	*s = (struct made){r->spans[0].trace_high, r->spans[0].trace_low, draw() | 1, r->n ? r->spans[parent].id : 0, start, end,
			   service, operation, r->host, r->version, kind};
	return r->n++;
}

/* A client span, and below it the server's; returns the server span. *end = when the client has its answer. */
static unsigned call(struct request *r, unsigned parent, unsigned from, unsigned to, unsigned operation, int64_t start,
		     int64_t work, int64_t *end)
{
	int64_t there = lasts(150), back = lasts(150);
	unsigned client = add(r, parent, from, operation, 3, start, start + there + work + back);

	*end = start + there + work + back;
	return add(r, client, to, operation, 2, start + there, start + there + work);
}

static void make(struct request *r, int64_t at)
{
	uint64_t high = draw(), low = draw();
	int64_t t = at + lasts(300), end, disks, temporary;
	unsigned server, n_disks = 2 + (unsigned)(draw() % 3);

	*r = (struct request){.host = (unsigned)(draw() % HOSTS), .version = (unsigned)(draw() % 12)};
	if (story) /* 7 is being rolled out: 6 % */
		r->version = draw() % 100 < 6 ? 7 : (unsigned)(draw() % 11 + 8) % 12;
	r->spans[0].trace_high = high;
	r->spans[0].trace_low = low;
	add(r, 0, 0, 0, 2, at, at);
	call(r, 0, 0, 1, 1, t, lasts(900), &t);
	server = call(r, 0, 0, 2, 2, t, lasts(3000), &end);
	add(r, server, 2, 7, 3, r->spans[server].start + 1000, r->spans[server].end - 1000);
	t = end + lasts(100);
	server = r->n + 1;
	call(r, 0, 0, 3, 3, t, 0, &end);
	disks = r->spans[server].start + lasts(500);
	end = disks;
	call(r, server, 3, 4, 4, disks, lasts(16000), &temporary);
	end = temporary;
	if (story && r->version == 7 && r->host % 3 == 1)
		disks = temporary;
	for (unsigned i = 0; i < n_disks; i++) {
		int64_t done;
		unsigned disk = call(r, server, 3, 4, 4, disks, lasts(40000), &done);

		add(r, disk, 4, 5, 1, r->spans[disk].start, r->spans[disk].end - lasts(200));
		end = done > end ? done : end;
	}
	call(r, server, 3, 5, 6, end, lasts(15000), &end);
	t = end + lasts(30000);
	add(r, server, 3, 8, 1, end, t);
	r->spans[server].end = t + lasts(100);
	r->spans[server - 1].end = r->spans[server].end + lasts(150);
	t = r->spans[server - 1].end;
	call(r, 0, 0, 2, 9, t, lasts(1500), &t);
	r->spans[0].end = t + lasts(200);
}

/* --- formats ---------------------------------------------------------------------------------------------------------- */

static void put_bytes(struct str *s, unsigned field, const void *bytes, size_t n)
{
	str_put_varint(s, field << 3 | 2);
	str_put_blob(s, bytes, n);
}

static void put_attribute(struct str *s, unsigned field, const char *key, const char *value)
{
	struct str pair = {}, any = {};

	put_bytes(&any, 1, value, strlen(value));
	put_bytes(&pair, 1, key, strlen(key));
	put_bytes(&pair, 2, any.data, any.len);
	put_bytes(s, field, pair.data, pair.len);
	str_free(&pair);
	str_free(&any);
}

static void put_fixed(struct str *s, unsigned field, uint64_t value)
{
	str_put_varint(s, field << 3 | 1);
	str_append(s, &value, 8);
}

static void put_id(struct str *s, unsigned field, uint64_t high, uint64_t low, bool both)
{
	uint64_t bytes[2] = {__builtin_bswap64(high), __builtin_bswap64(low)};

	put_bytes(s, field, both ? bytes : bytes + 1, both ? 16 : 8);
}

static void otlp_span(struct str *out, const struct made *m)
{
	struct str s = {};
	char text[32];

	put_id(&s, 1, m->trace_high, m->trace_low, true);
	put_id(&s, 2, 0, m->id, false);
	if (m->parent)
		put_id(&s, 4, 0, m->parent, false);
	put_bytes(&s, 5, operations[m->operation], strlen(operations[m->operation]));
	str_put_varint(&s, 6 << 3);
	str_put_varint(&s, m->kind);
	put_fixed(&s, 7, (uint64_t)m->start);
	put_fixed(&s, 8, (uint64_t)m->end);
	put_attribute(&s, 9, "http.request.method", "POST");
	put_attribute(&s, 9, "http.response.status_code", "200");
	snprintf(text, sizeof(text), "10.0.%u.%u", m->host / 250, m->host % 250);
	put_attribute(&s, 9, "network.peer.address", text);
	put_attribute(&s, 9, "thread.name", "worker-7");
	if (!m->parent)
		put_attribute(&s, 9, "vm.type", m->host % 4 == 0 ? "d2" : m->host % 4 == 1 ? "d4" : m->host % 4 == 2 ? "e8" : "m64");
	put_bytes(out, 2, s.data, s.len);
	str_free(&s);
}

static void otlp_resource(struct str *out, const struct made *m)
{
	char text[64];

	put_attribute(out, 1, "service.name", services[m->service]);
	snprintf(text, sizeof(text), "1.%u.0", m->service == 3 ? m->version : 4);
	put_attribute(out, 1, "service.version", text);
	snprintf(text, sizeof(text), "host-%u", m->host);
	put_attribute(out, 1, "host.name", text);
	snprintf(text, sizeof(text), "gen%u", m->host % 3 + 5);
	put_attribute(out, 1, "hardware.generation", text);
	put_attribute(out, 1, "telemetry.sdk.language", "go");
	put_attribute(out, 1, "os.type", "linux");
}

static bool same_process(const struct made *a, const struct made *b)
{
	return a->service == b->service && a->host == b->host && a->version == b->version;
}

static int by_process(const void *a, const void *b)
{
	const struct made *x = a, *y = b;
	uint64_t p = (uint64_t)x->service << 40 | (uint64_t)x->host << 8 | x->version,
		 q = (uint64_t)y->service << 40 | (uint64_t)y->host << 8 | y->version;

	return p < q ? -1 : p > q ? 1 : x->end < y->end ? -1 : x->end > y->end;
}

/* As an exporter's batches: the spans of one process in a block. */
static void write_otlp(struct made *spans, size_t n)
{
	qsort(spans, n, sizeof(*spans), by_process);
	for (size_t i = 0; i < n;) {
		struct str scope = {}, resource = {}, block = {}, whole = {};
		size_t first = i;

		for (; i < n && same_process(&spans[first], &spans[i]); i++)
			otlp_span(&scope, &spans[i]);
		otlp_resource(&resource, &spans[first]);
		put_bytes(&block, 1, resource.data, resource.len);
		put_bytes(&block, 2, scope.data, scope.len);
		put_bytes(&whole, 1, block.data, block.len);
		fwrite(whole.data, 1, whole.len, stdout);
		str_free(&scope);
		str_free(&resource);
		str_free(&block);
		str_free(&whole);
	}
}

static void json_attribute(bool first, const char *key, const char *value)
{
	printf("%s{\"key\":\"%s\",\"value\":{\"stringValue\":\"%s\"}}", first ? "" : ",", key, value);
}

static void otlp_json_span(const struct made *m, bool first)
{
	char text[32];

	printf("%s{\"traceId\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanId\":\"%016" PRIx64 "\",\"parentSpanId\":\"", first ? "" : ",", m->trace_high,
	       m->trace_low, m->id);
	if (m->parent)
		printf("%016" PRIx64, m->parent);
	printf("\",\"name\":\"%s\",\"kind\":%u,\"startTimeUnixNano\":\"%" PRId64 "\",\"endTimeUnixNano\":\"%" PRId64 "\",\"attributes\":[",
	       operations[m->operation], m->kind, m->start, m->end);
	json_attribute(true, "http.request.method", "POST");
	json_attribute(false, "http.response.status_code", "200");
	snprintf(text, sizeof(text), "10.0.%u.%u", m->host / 250, m->host % 250);
	json_attribute(false, "network.peer.address", text);
	json_attribute(false, "thread.name", "worker-7");
	fputs("],\"status\":{}}", stdout);
}

/* One request of an exporter a line, as the collector's file exporter writes them. */
static void write_otlp_json(struct made *spans, size_t n)
{
	char text[64];

	qsort(spans, n, sizeof(*spans), by_process);
	for (size_t i = 0; i < n;) {
		size_t first = i;

		fputs("{\"resourceSpans\":[{\"resource\":{\"attributes\":[", stdout);
		json_attribute(true, "service.name", services[spans[i].service]);
		snprintf(text, sizeof(text), "host-%u", spans[i].host);
		json_attribute(false, "host.name", text);
		fputs("]},\"scopeSpans\":[{\"scope\":{},\"spans\":[", stdout);
		for (; i < n && same_process(&spans[first], &spans[i]); i++)
			otlp_json_span(&spans[i], i == first);
		puts("]}]}]}");
	}
}

static void write_csv(struct made *spans, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct made *m = &spans[i];
		char parent[24] = "root";

		if (m->parent)
			snprintf(parent, sizeof(parent), "%016" PRIx64, m->parent);
		printf("%016" PRIx64 "%016" PRIx64 ",%016" PRIx64 ",%s,%s-579b9bff58-t2d%02u,%s,%" PRId64 ",%" PRId64 ",%" PRId64 "\n",
		       m->trace_high, m->trace_low, m->id, parent, services[m->service], m->host % 100, operations[m->operation], m->start,
		       m->end, (m->end - m->start) / 1000);
	}
}

static void jaeger_span(const struct made *m, bool first)
{
	printf("%s{\"traceID\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanID\":\"%016" PRIx64 "\",\"flags\":1,\"operationName\":\"%s\","
	       "\"references\":[",
	       first ? "" : ",", m->trace_high, m->trace_low, m->id, operations[m->operation]);
	if (m->parent)
		printf("{\"refType\":\"CHILD_OF\",\"traceID\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanID\":\"%016" PRIx64 "\"}", m->trace_high,
		       m->trace_low, m->parent);
	printf("],\"startTime\":%" PRId64 ",\"duration\":%" PRId64 ",\"tags\":[{\"key\":\"span.kind\",\"type\":\"string\",\"value\":\"%s\"},"
	       "{\"key\":\"http.status_code\",\"type\":\"int64\",\"value\":200}],\"logs\":[],\"processID\":\"p%u\",\"warnings\":null}",
	       m->start / 1000, (m->end - m->start) / 1000, m->kind == 2 ? "server" : m->kind == 3 ? "client" : "internal", m->service);
}

static void write_jaeger(struct made *spans, size_t n)
{
	static bool any;

	for (size_t i = 0; i < n;) {
		size_t first = i;

		printf("%s{\"traceID\":\"%016" PRIx64 "%016" PRIx64 "\",\"spans\":[", any ? "," : "", spans[i].trace_high, spans[i].trace_low);
		for (; i < n && spans[i].trace_low == spans[first].trace_low; i++)
			jaeger_span(&spans[i], i == first);
		printf("],\"processes\":{");
		for (unsigned s = 0; s < sizeof(services) / sizeof(services[0]); s++)
			printf("%s\"p%u\":{\"serviceName\":\"%s\",\"tags\":[{\"key\":\"host.name\",\"type\":\"string\",\"value\":\"host-%u\"}]}",
			       s ? "," : "", s, services[s], spans[first].host);
		printf("},\"warnings\":null}\n");
		any = true;
	}
}

static int by_end(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	return x->end < y->end ? -1 : x->end > y->end;
}

static const struct form {
	const char *name, *head, *end;
	void (*write)(struct made *spans, size_t n);
	bool by_trace; /* else in order of time */
} forms[] = {{"otlp", "", "", write_otlp, false},
	     {"otlp-json", "", "", write_otlp_json, false},
	     {"csv", "TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration\n", "", write_csv, false},
	     {"jaeger", "{\"data\":[", "]}\n", write_jaeger, true}};

static const struct form *form_named(const char *name)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (!strcmp(forms[i].name, name))
			return &forms[i];
	return NULL;
}

int main(int argc, char **argv)
{
	static char buffer[1 << 20];
	static struct made batch[8192];
	uint64_t wanted = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, made = 0;
	const struct form *form = argc > 1 ? form_named(argv[1]) : NULL;
	struct request r;
	int64_t at = START, began;
	bool live = argc > 4 && !strcmp(argv[4], "live");

	if (!wanted || !form) {
		fputs("usage: make-spans otlp|otlp-json|csv|jaeger SPANS [SEED] [story|live]\n", stderr);
		return 2;
	}
	state = argc > 3 ? strtoull(argv[3], NULL, 10) : 7;
	story = argc > 4 && !strcmp(argv[4], "story");
	began = at = live ? clock_wall() : START;
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	fputs(form->head, stdout);
	while (made < wanted) {
		size_t n = 0;

		for (; n + 40 < (story ? 80 : sizeof(batch) / sizeof(batch[0])) && made < wanted; at += story ? (int64_t)(uniform() * 2 * 86400e9 * 24 / (double)wanted) : lasts(live ? APART_LIVE : APART)) {
			load = story ? 1 + .15 * sin((double)(at - began) / 86400e9 * 6.283185307179586) : 1;
			make(&r, at);
			memcpy(batch + n, r.spans, r.n * sizeof(*r.spans));
			n += r.n;
			made += r.n;
		}
		if (!form->by_trace)
			qsort(batch, n, sizeof(*batch), by_end);
		form->write(batch, n);
	}
	fputs(form->end, stdout);
	return ferror(stdout) || fflush(stdout);
}
