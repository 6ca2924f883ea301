/* Files of spans to forests: every format, bad input, parts against the whole, and what a comparison makes of them. */
#include "lib/data/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "spans/compare/span-change.h"
#include "spans/compare/span-since.h"
#include "spans/compare/suspect.h"
#include "spans/formats/otlp.h"
#include "spans/pipeline/span-pipeline.h"

#define HEAD "TraceID,SpanID,ParentID,service,function,kind,start_us,end_us,status,version,hardware,host,adjusted_count\n"

static struct names *names;

static void write_file(char path[32], const void *bytes, size_t n)
{
	_cleanup_close_ int fd = -1;

	strcpy(path, "/tmp/whyslow-spans-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
}

static struct pipeline_options defaults(void)
{
	return (struct pipeline_options){.late = INT64_MAX};
}

static void load(const struct pipeline_options *o, const void *bytes, size_t n, unsigned jobs, struct forest *ret,
		 struct span_faults *faults)
{
	_cleanup_free_ char *error = NULL;
	char path[32], *paths[] = {path};

	write_file(path, bytes, n);
	assert_int_equal(forest_init(ret, names, 60000000000), 0);
	assert_int_equal(pipeline_load(o, paths, 1, jobs, ret, faults, &error), 0);
	unlink(path);
}

static void load_text(const char *text, struct forest *ret, struct span_faults *faults)
{
	struct pipeline_options o = defaults();

	load(&o, text, strlen(text), 1, ret, faults);
	assert_int_equal(forest_finish(ret), 0);
}

/* Under the sanitizer: a missing trace id is not a place in memory, and an empty forest has nothing to order. */
static void test_a_span_without_a_trace_makes_an_empty_forest(void **state)
{
	static const char message[] = "\x0a\x0e\x12\x0c\x12\x0a\x12\x08\1\2\3\4\5\6\7\x08"; /* resource, scope, span, span_id */
	struct pipeline_options o = defaults();
	struct span_faults faults = {};
	struct forest f;

	load(&o, message, sizeof(message) - 1, 1, &f, &faults);
	assert_int_equal(forest_finish(&f), 0);
	assert_int_equal(f.buckets.n, 0);
	assert_int_equal(f.tally.spans, 0);
	forest_free(&f);
}

static uint32_t vertex_named(const struct forest *f, const char *path)
{
	for (uint32_t v = 0; v < f->vertices.n; v++) {
		_cleanup_free_ char *text = vertex_path(f, v);

		if (!strcmp(text, path))
			return v;
	}
	fail_msg("no vertex %s", path);
	return NO_VERTEX;
}

static const struct forest_group *only_group(const struct forest *f)
{
	assert_int_equal(f->buckets.n, 1);
	assert_int_equal(f->buckets.v[0].groups.n, 1);
	return &f->buckets.v[0].groups.v[0];
}

static void test_an_edge_is_charged_to_the_callee(void **state)
{
	struct span_faults faults = {};
	struct forest f;
	const struct cell *edge;

	load_text(HEAD "t1,1,,web,GET,server,0,100,,,,,\nt1,2,1,web,query,client,10,90,,,,,\nt1,3,2,db,query,server,30,60,,,,,\n", &f, &faults);
	edge = forest_group_cell(only_group(&f),
				 vertex_named(&f, "web GET > web -> db query (network, queue)"));
	assert_true(moments_mean(&edge->path) == 50000);
	assert_string_equal(names_get(names, f.vertices.v[edge->vertex].service), "db");
	forest_free(&f);
}

static void test_adjusted_counts_are_in_every_figure(void **state)
{
	struct span_faults faults = {};
	struct forest f;
	const struct forest_group *g;

	load_text(HEAD "t1,1,,web,GET,server,0,100,,,,,3\nt2,2,,web,GET,server,0,500,,,,,1\n", &f, &faults);
	g = only_group(&f);
	assert_true(moments_count(&g->total) == 4);
	assert_true(moments_mean(&g->total) == 200000);
	assert_int_equal(g->total.samples, 2);
	assert_true(fabs(moments_effective(&g->total) - 1.6) < 1e-9);
	assert_true(fabs(sketch_quantile(g->sketch, .5) - 100000) <= 100000 * SKETCH_ERROR);
	forest_free(&f);
}

static void test_bad_lines_are_counted_with_their_place(void **state)
{
	struct span_faults faults = {};
	struct forest f;

	load_text(HEAD "t1,1,,web,GET,server,0,100,,,,,\nt1,2,1,web,q,client,90,10,,,,,\nnonsense\nt1,,1,web,q,client,1,2,,,,,\n", &f, &faults);
	assert_int_equal(faults.n[SPAN_FAULT_TIME], 1);
	assert_int_equal(faults.n[SPAN_FAULT_SYNTAX], 1);
	assert_int_equal(faults.n[SPAN_FAULT_ID], 1);
	assert_non_null(strstr(faults.first[SPAN_FAULT_TIME], "line 3"));
	assert_non_null(strstr(faults.first[SPAN_FAULT_SYNTAX], "line 4"));
	assert_int_equal(f.tally.requests, 1);
	forest_free(&f);
}

static void test_orphans_are_told_and_are_no_requests(void **state)
{
	struct span_faults faults = {};
	struct forest f;

	load_text(HEAD "t1,1,,web,GET,server,0,100,,,,,\nt1,2,99,web,q,client,10,20,,,,,\nt2,5,98,web,GET,server,0,9,,,,,\n", &f, &faults);
	assert_int_equal(f.tally.requests, 1);
	assert_int_equal(f.tally.orphans, 2);
	assert_int_equal(f.tally.orphan_traces, 1);
	forest_free(&f);
}

static void test_a_record_without_times_is_sdiags(void **state)
{
	struct span_faults faults = {};
	struct forest f;
	const struct forest_group *g;

	load_text("function,duration_ms,activityId,parentId,rootId,hardware_generation,VMType,softwareVersion,component\n"
		  "create,100,1,,7,gen5,d4,1.2,api\ndisk,60,2,1,7,gen5,d4,1.2,agent\n", &f, &faults);
	g = only_group(&f);
	assert_true(moments_mean(&g->total) == 100e6);
	assert_string_equal(names_get(names, f.buckets.v[0].values[0]), "gen5");
	assert_string_equal(names_get(names, f.buckets.v[0].values[1]), "d4");
	forest_free(&f);
}

/* --- the same spans in four formats ----------------------------------------------------------------------------------- */

static const char jaeger[] =
	"{\"data\":[{\"traceID\":\"0a\",\"spans\":[{\"traceID\":\"0a\",\"spanID\":\"1\",\"operationName\":\"GET\",\"references\":[],"
	"\"startTime\":1000,\"duration\":100,\"tags\":[{\"key\":\"span.kind\",\"type\":\"string\",\"value\":\"server\"}],"
	"\"processID\":\"p1\"},{\"traceID\":\"0a\",\"spanID\":\"2\",\"operationName\":\"query\",\"references\":[{\"refType\":"
	"\"CHILD_OF\",\"traceID\":\"0a\",\"spanID\":\"1\"}],\"startTime\":1010,\"duration\":50,\"tags\":[{\"key\":\"error\","
	"\"type\":\"bool\",\"value\":true}],\"processID\":\"p2\"}],\"processes\":{\"p1\":{\"serviceName\":\"web\",\"tags\":[]},"
	"\"p2\":{\"serviceName\":\"db\",\"tags\":[{\"key\":\"host.name\",\"type\":\"string\",\"value\":\"h1\"}]}}}]}";

static const char otlp_json[] =
	"{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"web\"}}]},"
	"\"scopeSpans\":[{\"spans\":[{\"traceId\":\"0000000000000000000000000000000a\",\"spanId\":\"0000000000000001\",\"name\":\"GET\","
	"\"kind\":2,\"startTimeUnixNano\":\"1000000\",\"endTimeUnixNano\":\"1100000\"}]}]},\n{\"resource\":{\"attributes\":[{\"key\":"
	"\"service.name\",\"value\":{\"stringValue\":\"db\"}},{\"key\":\"host.name\",\"value\":{\"stringValue\":\"h1\"}}]},\"scopeSpans\":"
	"[{\"spans\":[{\"traceId\":\"0000000000000000000000000000000A\",\"spanId\":\"0000000000000002\",\"parentSpanId\":"
	"\"0000000000000001\",\"name\":\"query\",\"startTimeUnixNano\":1010000,\"endTimeUnixNano\":\"1060000\",\"status\":{\"code\":2}}]}]}]}";

static const char csv[] = HEAD "0a,1,,web,GET,server,1000,1100,,,,,\n0a,2,1,db,query,,1010,1060,error,,,h1,\n";

static void put(struct str *out, unsigned field, const void *bytes, size_t n)
{
	str_put_varint(out, field << 3 | 2);
	str_put_blob(out, bytes, n);
}

static void put_number(struct str *out, unsigned field, uint64_t value)
{
	str_put_varint(out, field << 3 | 1);
	str_append(out, &value, 8);
}

static void put_pair(struct str *out, unsigned field, const char *key, const char *value)
{
	_cleanup_str_ struct str pair = {}, any = {};

	put(&any, 1, value, strlen(value));
	put(&pair, 1, key, strlen(key));
	put(&pair, 2, any.data, any.len);
	put(out, field, pair.data, pair.len);
}

static void put_span(struct str *out, const char *service, const char *host, uint8_t id, uint8_t parent, const char *name,
		     uint64_t start, uint64_t end, bool server, bool error, const char *tracestate)
{
	_cleanup_str_ struct str span = {}, scope = {}, resource = {}, block = {};
	const uint8_t trace[16] = {[15] = 0x0a}, span_id[8] = {[7] = id}, parent_id[8] = {[7] = parent}, status[] = {3 << 3, 2};

	put(&span, 1, trace, 16);
	put(&span, 2, span_id, 8);
	if (tracestate)
		put(&span, 3, tracestate, strlen(tracestate));
	if (parent)
		put(&span, 4, parent_id, 8);
	put(&span, 5, name, strlen(name));
	str_put_varint(&span, 6 << 3);
	str_put_varint(&span, server ? 2 : 0);
	put_number(&span, 7, start);
	put_number(&span, 8, end);
	if (error)
		put(&span, 15, status, 2);
	put(&scope, 2, span.data, span.len);
	put_pair(&resource, 1, "service.name", service);
	if (host)
		put_pair(&resource, 1, "host.name", host);
	put(&block, 1, resource.data, resource.len);
	put(&block, 2, scope.data, scope.len);
	put(out, 1, block.data, block.len);
}

static void make_otlp(struct str *out, const char *tracestate)
{
	put_span(out, "web", NULL, 1, 0, "GET", 1000000, 1100000, true, false, tracestate);
	put_span(out, "db", "h1", 2, 1, "query", 1010000, 1060000, false, true, NULL);
}

static void check_small(const struct forest *f)
{
	const struct forest_group *g = only_group(f);
	const struct cell *query = forest_group_cell(g, vertex_named(f, "web GET > db query"));

	assert_true(moments_mean(&g->total) == 100000);
	assert_true(moments_mean(&query->path) == 50000);
	assert_int_equal(query->errors, SPAN_WEIGHT_ONE);
	assert_int_equal(f->places.n, 1);
	assert_string_equal(names_get(f->names, f->places.v[0].host), "h1");
}

static void test_every_format_tells_the_same(void **state)
{
	_cleanup_str_ struct str protobuf = {}, framed = {};
	struct span_faults faults = {};
	struct pipeline_options o = defaults();
	struct forest f;

	make_otlp(&protobuf, NULL);
	str_append(&framed, (uint8_t[]){0, 0, 0, (uint8_t)protobuf.len}, 4);
	str_append(&framed, protobuf.data, protobuf.len);
	assert_true(protobuf.len < 256);
	const struct {
		const void *bytes;
		size_t n;
	} inputs[] = {{jaeger, strlen(jaeger)}, {otlp_json, strlen(otlp_json)}, {csv, strlen(csv)}, {protobuf.data, protobuf.len},
		      {framed.data, framed.len}};

	for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
		load(&o, inputs[i].bytes, inputs[i].n, 1, &f, &faults);
		assert_int_equal(forest_finish(&f), 0);
		check_small(&f);
		forest_free(&f);
	}
	for (int i = 0; i < SPAN_FAULT_COUNT; i++)
		assert_int_equal(faults.n[i], 0);
}

/* OpenTelemetry's consistent sampling: th:c leaves a quarter. */
static void test_a_tracestate_says_how_many_a_request_stands_for(void **state)
{
	_cleanup_str_ struct str protobuf = {};
	struct span_faults faults = {};
	struct pipeline_options o = defaults();
	struct forest f;

	make_otlp(&protobuf, "vendor=x,ot=rv:123;th:c");
	load(&o, protobuf.data, protobuf.len, 1, &f, &faults);
	assert_int_equal(forest_finish(&f), 0);
	assert_true(moments_count(&only_group(&f)->total) == 4);
	forest_free(&f);
	assert_int_equal(span_weight_of_tracestate("ot=p:3", 6), 8 * SPAN_WEIGHT_ONE);
	assert_int_equal(span_weight_of_tracestate("ot=th:zz", 8), 0);
}

static void test_a_file_that_ends_in_the_middle_is_told(void **state)
{
	_cleanup_str_ struct str protobuf = {};
	struct span_faults faults = {};
	struct pipeline_options o = defaults();
	struct forest f;

	make_otlp(&protobuf, NULL);
	load(&o, protobuf.data, protobuf.len - 3, 1, &f, &faults);
	assert_int_equal(faults.n[SPAN_FAULT_TRUNCATED], 1);
	assert_int_equal(f.tally.requests, 1);
	forest_free(&f);
	load(&o, jaeger, strlen(jaeger) - 30, 1, &f, &faults);
	assert_int_equal(faults.n[SPAN_FAULT_TRUNCATED], 2);
	forest_free(&f);
}

/* Whatever bytes come: no crash, no endless loop, and what is wrong is counted. */
static void test_damaged_input_is_survived(void **state)
{
	_cleanup_str_ struct str protobuf = {};
	struct pipeline_options o = defaults();
	const char *formats[] = {"jaeger", "otlp-json", "csv", "otlp"};

	make_otlp(&protobuf, "ot=th:8");
	srand(11);
	for (int round = 0; round < 1200; round++) {
		const void *inputs[] = {jaeger, otlp_json, csv, protobuf.data};
		const size_t lengths[] = {strlen(jaeger), strlen(otlp_json), strlen(csv), protobuf.len};
		size_t which = (size_t)round % 4, n = lengths[which];
		_cleanup_free_ uint8_t *copy = malloc(n + 8);
		_cleanup_free_ char *error = NULL;
		struct pipeline p;
		struct input in;

		memcpy(copy, inputs[which], n);
		for (int k = rand() % 6; k >= 0; k--)
			copy[(size_t)rand() % n] = rand() % 3 ? (uint8_t)rand() : (uint8_t) "\"{}[],:\\\n0"[rand() % 10];
		if (rand() % 3 == 0)
			n = (size_t)rand() % n;
		assert_int_equal(pipeline_open(&p, &o, &error), 0);
		input_of_memory(&in, "memory", copy, n);
		assert_int_equal(span_source_named(formats[which])->read(&p.reader, &in), 0);
		assert_int_equal(pipeline_end(&p), 0);
		pipeline_close(&p);
	}
}

static void test_messages_in_memory_are_read_to_their_end(void **state)
{
	_cleanup_str_ struct str protobuf = {};
	_cleanup_free_ char *error = NULL;
	struct pipeline_options o = defaults();
	struct pipeline p;

	make_otlp(&protobuf, NULL);
	assert_int_equal(pipeline_open(&p, &o, &error), 0);
	assert_int_equal(otlp_message(&p.reader, "message", 0, (const uint8_t *)protobuf.data, protobuf.len), 0);
	assert_int_equal(assembler_waiting(p.assembler), 2);
	pipeline_close(&p);
}

static void test_pods_are_of_their_service(void **state)
{
	static const struct {
		const char *pod, *service;
	} pods[] = {{"frontend-579b9bff58-t2dbm", "frontend"}, {"ts-gateway-service-6f6cfc45b-h5m2n", "ts-gateway-service"},
		    {"mysql-0", "mysql"}, {"agent-x7k2p", "agent"}, {"web", "web"}, {"order-service", "order-service"}};

	for (size_t i = 0; i < sizeof(pods) / sizeof(pods[0]); i++)
		assert_int_equal(span_service_of_pod(pods[i].pod, strlen(pods[i].pod)),
				 strlen(pods[i].service));
}

/* --- many requests ------------------------------------------------------------------------------------------------------ */

enum ill { WELL, SEQUENTIAL, MORE_CALLS, RETRIES, SLOW_CALLS, SLOW_HOST };

static int64_t noisy(int64_t us)
{
	return us + us * (rand() % 41 - 20) / 100;
}

static void put_line(struct str *s, unsigned trace, unsigned span, unsigned parent, const char *service, const char *function,
		     int64_t start, int64_t end, bool failed, const char *version, unsigned host)
{
	str_printf(s, "%x,%x,", trace, span);
	if (parent)
		str_printf(s, "%x", parent);
	str_printf(s, ",%s,%s,internal,%lld,%lld,%s,%s,gen5,host-%u,\n", service, function, (long long)(start + 1790000000000000),
		   (long long)(end + 1790000000000000), failed ? "error" : "ok", version, host);
}

/* A request that creates three disks on an agent; the candidate is ill in one way. */
static void put_request(struct str *s, unsigned trace, enum ill ill, const char *version)
{
	int64_t begin = (int64_t)trace * 10000, t = begin + noisy(2000), end = t;
	unsigned disks = ill == MORE_CALLS ? 9 : 3, span = 10, host = trace % 6;
	_cleanup_str_ struct str lines = {};

	for (unsigned i = 0; i < disks; i++) {
		int64_t from = ill == SEQUENTIAL ? end : t + noisy(100), lasts = noisy(20000);

		if (ill == SLOW_CALLS || (ill == SLOW_HOST && host == 4))
			lasts *= 3;
		if (ill == MORE_CALLS)
			from = end;
		if (ill == RETRIES && i == 0) {
			put_line(&lines, trace, span++, 2, "storage", "create disk", from, from + lasts, true, version, host);
			from += lasts + 10;
		}
		put_line(&lines, trace, span++, 2, "storage", "create disk", from, from + lasts, false, version, host);
		end = from + lasts > end ? from + lasts : end;
	}
	put_line(s, trace, 1, 0, "api", "create vm", begin, end + noisy(3000), false, version, host);
	put_line(s, trace, 2, 1, "agent", "create disks", t - 100, end + 100, false, version, host);
	str_append(s, lines.data, lines.len);
}

static void make_requests(struct str *s, unsigned from, unsigned n, enum ill ill, const char *version)
{
	for (unsigned i = 0; i < n; i++)
		put_request(s, from + i, ill, version);
}

static enum span_side by_version(void *state, const struct bucket *b, const struct forest_group *g)
{
	_cleanup_free_ char *text = forest_set_text(state, g->versions);

	(void)b;
	return strstr(text, "=v2") ? SIDE_CANDIDATE : SIDE_BASELINE;
}

static void test_the_reason_of_a_regression_is_told(void **state)
{
	static const struct {
		enum ill ill;
		enum span_reason reason;
	} cases[] = {{SEQUENTIAL, REASON_SEQUENTIAL}, {MORE_CALLS, REASON_MORE_CALLS}, {RETRIES, REASON_RETRIES},
		     {SLOW_CALLS, REASON_SLOWER}, {SLOW_HOST, REASON_ONE_HOST}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_str_ struct str s = {};
		struct span_faults faults = {};
		struct pipeline_options o = defaults();
		struct forest all, two;
		struct span_change c;
		double sum = 0;

		srand(5);
		str_puts(&s, HEAD);
		make_requests(&s, 1, 300, WELL, "v1");
		make_requests(&s, 1000, 300, cases[i].ill, "v2");
		load(&o, s.data, s.len, 1, &all, &faults);
		assert_int_equal(forest_finish(&all), 0);
		assert_int_equal(forest_init(&two, names, 60000000000), 0);
		assert_int_equal(span_sides_of(&all, by_version, names, &two), 0);
		assert_int_equal(forest_finish(&two), 0);
		assert_int_equal(span_change(&two, 0, SPAN_Q, &c), 0);
		assert_int_equal(c.buckets.v[0].verdict, VERDICT_SLOWER);
		assert_int_equal(span_change_gate(&c), VERDICT_SLOWER);
		assert_string_equal(names_get(names, two.vertices.v[c.buckets.v[0].vertices.v[0].vertex].operation), "create disk");
		assert_string_equal(span_reason_name(c.buckets.v[0].vertices.v[0].reason), span_reason_name(cases[i].reason));
		for (size_t k = 0; k < c.buckets.v[0].vertices.n; k++)
			sum += c.buckets.v[0].vertices.v[k].after - c.buckets.v[0].vertices.v[k].before;
		assert_true(fabs(sum - (c.buckets.v[0].mean_after - c.buckets.v[0].mean_before)) < 1);
		assert_int_equal(c.buckets.v[0].before->total.samples, 300);
		span_change_free(&c);
		forest_free(&two);
		forest_free(&all);
	}
}

static void test_the_bad_version_is_found_and_a_good_one_is_not(void **state)
{
	_cleanup_str_ struct str s = {};
	struct span_faults faults = {};
	struct pipeline_options o = defaults();
	struct suspects suspects;
	struct forest f;

	srand(6);
	str_puts(&s, HEAD);
	make_requests(&s, 1, 200, WELL, "v1");
	make_requests(&s, 1000, 200, WELL, "v2");
	make_requests(&s, 2000, 40, WELL, "v3");
	load(&o, s.data, s.len, 1, &f, &faults);
	assert_int_equal(forest_finish(&f), 0);
	assert_int_equal(suspects_find(&f, NULL, &suspects), 0);
	assert_true(suspects.compared > 0);
	assert_int_equal(suspects.list.n, 0);
	suspects_free(&suspects);
	forest_free(&f);
	make_requests(&s, 3000, 40, SEQUENTIAL, "v4");
	load(&o, s.data, s.len, 1, &f, &faults);
	assert_int_equal(forest_finish(&f), 0);
	assert_int_equal(suspects_find(&f, NULL, &suspects), 0);
	assert_true(suspects.list.n > 0);
	assert_string_equal(names_get(names, suspects.list.v[0].version), "v4");
	suspects_free(&suspects);
	forest_free(&f);
}

/* Two days, by day everything takes 30 % longer; v2 runs by day only. */
static void put_days(struct str *s, double slower)
{
	for (unsigned i = 0; i < 4000; i++) {
		int64_t at = (int64_t)i * 43200000;
		bool busy = at / 3600000000 % 24 >= 8 && at / 3600000000 % 24 < 20, new = busy && i % 5 == 0;
		double lasts = (double)noisy(busy ? 130000 : 100000) * (new ? slower : 1);

		put_line(s, i + 1, 1, 0, "api", "GET", at, at + (int64_t)lasts, false, new ? "v2" : "v1", 1);
	}
}

static void test_a_version_that_ran_at_the_busy_hours_is_not_slow_for_that(void **state)
{
	const double slower[] = {1, 1.2};

	srand(8);
	for (size_t i = 0; i < 2; i++) {
		_cleanup_str_ struct str s = {};
		struct span_faults faults = {};
		struct pipeline_options o = defaults();
		struct suspects suspects;
		struct forest f;

		str_puts(&s, HEAD);
		put_days(&s, slower[i]);
		load(&o, s.data, s.len, 1, &f, &faults);
		assert_int_equal(forest_finish(&f), 0);
		assert_int_equal(suspects_find(&f, NULL, &suspects), 0);
		assert_int_equal(suspects.list.n, i);
		assert_true(i == 0 || (suspects.list.v[0].levelled && fabs(suspects.list.v[0].mean / suspects.list.v[0].others - 1.2) < .03));
		suspects_free(&suspects);
		forest_free(&f);
	}
}

/* Six hours, from the middle on everything takes 30 % longer; v2 takes half of the requests from a little before. */
static void test_what_befell_all_versions_is_no_versions(void **state)
{
	_cleanup_str_ struct str s = {};
	struct span_faults faults = {};
	struct pipeline_options o = defaults();
	struct suspects suspects;
	struct span_since since = {};
	struct forest f;

	srand(9);
	str_puts(&s, HEAD);
	for (unsigned i = 0; i < 4000; i++) {
		int64_t at = (int64_t)i * 5400000;

		put_line(&s, i + 1, 1, 0, "api", "GET", at, at + noisy(i >= 2000 ? 130000 : 100000), false, i > 1600 && i % 2 ? "v2" : "v1", 1);
	}
	load(&o, s.data, s.len, 1, &f, &faults);
	assert_int_equal(forest_finish(&f), 0);
	assert_int_equal(suspects_find(&f, NULL, &suspects), 0);
	assert_int_equal(suspects.list.n, 0);
	assert_true(span_since_worst(&f, NULL, &since));
	assert_true(llabs(since.since - 1790010800000000000) <= 600000000000 && !since.until);
	assert_true(fabs(since.during / since.before - 1.3) < .02);
	assert_true(!since.against_from && since.against_to == since.since);
	suspects_free(&suspects);
	forest_free(&f);
}

/* 14 days with their cycle, in which twelve versions follow each other: each takes over within a day and a half, so that it meets the
 * others at some times of the day more than at others. */
static void test_versions_that_follow_each_other_are_not_slow_for_their_hours(void **state)
{
	_cleanup_str_ struct str s = {};
	struct span_faults faults = {};
	struct pipeline_options o = defaults();
	struct suspects suspects;
	struct forest f;

	srand(4);
	str_puts(&s, HEAD);
	for (unsigned i = 0; i < 8000; i++) {
		int64_t at = (int64_t)i * 14 * 86400 * 125; /* us: 8000 in 14 days */
		double day = (double)at / 86400e6, version = day * 12 / 14 - 1.3 * rand() / RAND_MAX;
		char name[16];

		snprintf(name, sizeof(name), "v%d", version < 0 ? 0 : (int)version);
		put_line(&s, i + 1, 1, 0, "api", "GET", at, at + noisy((int64_t)(100000 * (1 + .25 * sin(2 * M_PI * day)))), false, name, 1);
	}
	load(&o, s.data, s.len, 1, &f, &faults);
	assert_int_equal(forest_finish(&f), 0);
	assert_int_equal(suspects_find(&f, NULL, &suspects), 0);
	assert_int_equal(suspects.compared, 12);
	assert_int_equal(suspects.list.n, 0);
	suspects_free(&suspects);
	forest_free(&f);
}

/* A slower version that was followed by a faster one is no answer to why it is slow; one that was followed by it and is back is. */
static void test_a_version_that_was_replaced_by_faster_ones_is_no_suspect(void **state)
{
	srand(6);
	for (unsigned back = 0; back < 2; back++) {
		_cleanup_str_ struct str s = {};
		struct span_faults faults = {};
		struct pipeline_options o = defaults();
		struct suspects suspects;
		struct forest f;

		str_puts(&s, HEAD);
		for (unsigned i = 0; i < 1200; i++) {
			bool old = i < 500 || (back && i > 1000);
			int64_t at = (int64_t)i * 10000000;

			put_line(&s, i + 1, 1, 0, "api", "GET", at, at + noisy(old ? 130000 : 100000), false, old ? "v1" : "v2", 1);
		}
		load(&o, s.data, s.len, 1, &f, &faults);
		assert_int_equal(forest_finish(&f), 0);
		assert_int_equal(suspects_find(&f, NULL, &suspects), 0);
		assert_int_equal(suspects.list.n, back);
		assert_int_equal(suspects.replaced, !back);
		suspects_free(&suspects);
		forest_free(&f);
	}
}

/* 48 hours with their cycle: what began at 8 is held against the hours up to 8, a day later. */
static void test_what_began_on_the_first_day_is_held_against_the_same_hours(void **state)
{
	const int64_t begin = 1790000000000000000, hour = 3600000000000;
	_cleanup_str_ struct str s = {};
	struct span_faults faults = {};
	struct pipeline_options o = defaults();
	struct span_since since = {};
	struct forest f;

	srand(5);
	str_puts(&s, HEAD);
	for (unsigned i = 0; i < 6000; i++) {
		int64_t at = (int64_t)i * 48 * 600000; /* us: 6000 in 48 h */
		double usual = 100000 * (1 + .2 * sin(2 * M_PI * (double)at / 86400e6));

		put_line(&s, i + 1, 1, 0, "api", "GET", at, at + noisy((int64_t)(at < 8 * 3600000000ll ? usual : 1.2 * usual)), false, "v1", 1);
	}
	load(&o, s.data, s.len, 1, &f, &faults);
	assert_int_equal(forest_finish(&f), 0);
	assert_true(span_since_worst(&f, NULL, &since));
	assert_true(llabs(since.since - begin - 8 * hour) <= hour && !since.until);
	assert_true(llabs(since.from - begin - 24 * hour) <= hour / 2 && since.to == since.since + 24 * hour);
	assert_true(since.against_from == since.from - 24 * hour && since.against_to == since.since);
	forest_free(&f);
}

static void bytes_of(struct forest *f, struct str *out)
{
	assert_int_equal(forest_finish(f), 0);
	assert_int_equal(forest_write(f, out), 0);
}

static void make_many(struct str *s)
{
	srand(9);
	str_puts(s, HEAD);
	for (unsigned i = 0; i < 400; i++)
		put_request(s, 1 + i, (enum ill)(rand() % 6), i % 3 ? "v1" : i % 2 ? "v2" : "v3");
}

static void test_parts_merged_are_the_whole_bit_for_bit(void **state)
{
	_cleanup_str_ struct str s = {}, whole = {}, parts = {}, reread = {};
	struct span_faults faults = {};
	struct pipeline_options o = defaults();
	struct forest f;

	make_many(&s);
	load(&o, s.data, s.len, 1, &f, &faults);
	bytes_of(&f, &whole);
	forest_free(&f);
	load(&o, s.data, s.len, 3, &f, &faults); /* three readers, each with texts of its own */
	bytes_of(&f, &parts);
	forest_free(&f);
	assert_int_equal(parts.len, whole.len);
	assert_memory_equal(parts.data, whole.data, whole.len);
	assert_int_equal(forest_init(&f, names, 60000000000), 0);
	assert_int_equal(forest_read(&f, whole.data, whole.len), 0);
	bytes_of(&f, &reread);
	forest_free(&f);
	assert_int_equal(reread.len, whole.len);
	assert_memory_equal(reread.data, whole.data, whole.len);
}

/* There are 500 entry points, each with two calls: time does not grow with buckets x all call paths. */
static void test_a_bucket_alone_has_only_its_own_call_paths(void **state)
{
	_cleanup_str_ struct str s = {};
	struct span_faults faults = {};
	struct forest f, one;
	const struct forest_group *g;

	str_puts(&s, HEAD);
	for (unsigned i = 0; i < 500; i++)
		str_printf(&s, "t%u,1,,web,GET v%u,server,0,100,,v%u,,,\nt%u,2,1,web,work v%u,internal,10,%u,,,,,\n", i, i, i % 2, i, i, 20 + i % 50);
	load_text(s.data, &f, &faults);
	assert_int_equal(f.vertices.n, 1000);
	assert_int_equal(forest_merge_groups(&f, &f.buckets.v[7], &one), 0);
	assert_int_equal(one.vertices.n, 2);
	g = only_group(&one);
	assert_true(moments_count(&g->total) == 1);
	assert_true(moments_mean(&g->cells.v[1].duration) == moments_mean(&f.buckets.v[7].groups.v[0].cells.v[1].duration));
	assert_int_equal(g->cells.v[1].vertex, 1);
	assert_int_equal(one.vertices.v[1].operation, f.vertices.v[f.buckets.v[7].groups.v[0].cells.v[1].vertex].operation);
	assert_int_equal(g->sample.v[0].spans.n, 2);
	forest_free(&one);
	forest_free(&f);
}

static void test_names_that_were_cut_are_counted(void **state)
{
	_cleanup_str_ struct str s = {};
	struct span_faults faults = {};
	char name[NAME_TEXT_MAX + 1] = "";
	struct forest f;

	memset(name, 'x', NAME_TEXT_MAX);
	str_puts(&s, HEAD);
	for (unsigned i = 0; i < 9; i++)
		str_printf(&s, "t%u,1,,web,%s%u,server,0,100,,,,,\nt%u,2,1,web,work,internal,10,20,,,,,\n", i, name, i, i);
	load_text(s.data, &f, &faults);
	assert_int_equal(f.vertices.n, 2);
	assert_int_equal(forest_cut_names(&f), 1);
	forest_free(&f);
}

/* Ids that are not numbers: the same requests, and the same ones kept, no matter who reads them. */
static void test_ids_that_are_words_are_shared_out_as_well(void **state)
{
	_cleanup_str_ struct str s = {}, words = {}, whole = {}, parts = {};
	struct span_faults faults = {};
	struct pipeline_options o = defaults();
	struct forest f;

	make_many(&s);
	for (char *line = strtok(s.data, "\n"), *first = line; line; line = strtok(NULL, "\n"))
		str_printf(&words, "%s%s\n", line == first ? "" : "request/", line);
	load(&o, words.data, words.len, 1, &f, &faults);
	assert_int_equal(f.tally.requests, 400);
	bytes_of(&f, &whole);
	forest_free(&f);
	load(&o, words.data, words.len, 3, &f, &faults);
	bytes_of(&f, &parts);
	assert_non_null(strstr(span_trace_id_text(f.names, f.buckets.v[0].groups.v[0].sample.v[0].high, f.buckets.v[0].groups.v[0].sample.v[0].low,
					     (char[33]){}), "request/"));
	forest_free(&f);
	assert_int_equal(parts.len, whole.len);
	assert_memory_equal(parts.data, whole.data, whole.len);
}

static void test_uuids_are_numbers(void **state)
{
	uint64_t high, low;
	char buf[33];

	span_trace_id_of_text(names, "550e8400-e29b-41d4-a716-446655440000", 36, &high, &low);
	assert_string_equal(span_trace_id_text(names, high, low, buf), "550e8400e29b41d4a716446655440000");
	span_trace_id_of_text(names, "550e8400-e29b-41d4-a716-44665544000g", 36, &high, &low);
	assert_string_equal(span_trace_id_text(names, high, low, buf),
			    "550e8400-e29b-41d4-a716-44665544000g");
}

static void test_damaged_bytes_of_a_forest_are_refused(void **state)
{
	_cleanup_str_ struct str s = {}, whole = {};
	struct span_faults faults = {};
	struct pipeline_options o = defaults();
	struct forest f;
	unsigned refused = 0;

	make_many(&s);
	load(&o, s.data, s.len / 8, 1, &f, &faults);
	bytes_of(&f, &whole);
	forest_free(&f);
	srand(3);
	for (int round = 0; round < 1500; round++) {
		_cleanup_free_ char *copy = malloc(whole.len);
		size_t n = round % 5 ? whole.len : (size_t)rand() % whole.len;
		int r;

		memcpy(copy, whole.data, whole.len);
		for (int k = rand() % 4; k >= 0; k--)
			copy[(size_t)rand() % whole.len] ^= (char)(1 << rand() % 8);
		assert_int_equal(forest_init(&f, names, 60000000000), 0);
		r = forest_read(&f, copy, n);
		assert_true(r == 0 || r == -EBADMSG);
		refused += r < 0;
		forest_free(&f);
	}
	assert_true(refused > 500);
}

static void test_time_slots_double_when_there_are_too_many(void **state)
{
	_cleanup_str_ struct str s = {};
	struct span_faults faults = {};
	struct pipeline_options o = defaults();
	struct forest f;
	uint64_t samples = 0;

	o.slot_width = 1000000; /* 1 ms; requests begin every 10 ms */
	srand(2);
	str_puts(&s, HEAD);
	make_requests(&s, 1, 500, WELL, "v1");
	load(&o, s.data, s.len, 1, &f, &faults);
	assert_int_equal(forest_finish(&f), 0);
	assert_true(only_group(&f)->slots.n <= FOREST_SLOTS_MAX);
	for (size_t i = 0; i < only_group(&f)->slots.n; i++)
		samples += only_group(&f)->slots.v[i].total.samples;
	assert_int_equal(samples, 500);
	forest_free(&f);
}

static void test_an_inventory_tells_the_hardware_of_hosts(void **state)
{
	static const char table[] = "name,hardware.generation,\"room, floor\"\nhost-1,gen9,a\n\"host-2\",gen8,\"b, \"\"c\"\"\"\n";
	static const char text[] = "TraceID,SpanID,ParentID,service,function,start_us,end_us,host.name\n1,1,,api,x,0,10,host-1\n2,2,,api,x,0,10,host-2\n";
	struct span_faults faults = {};
	struct pipeline_options o = defaults();
	_cleanup_free_ char *spec = NULL;
	struct forest f;
	char path[32];

	write_file(path, table, strlen(table));
	assert_true(asprintf(&spec, "%s:host.name", path) > 0);
	o.join = spec;
	load(&o, text, strlen(text), 1, &f, &faults);
	unlink(path);
	assert_int_equal(forest_finish(&f), 0);
	assert_int_equal(f.buckets.n, 2);
	assert_string_equal(names_get(names, f.buckets.v[0].values[0]), "gen8");
	forest_free(&f);
}

/* --- assembly ------------------------------------------------------------------------------------------------------------- */

struct seen {
	unsigned traces, spans;
	uint64_t last;
};

static int see(void *state, const struct span *spans, uint32_t n)
{
	struct seen *seen = state;

	seen->traces++;
	seen->spans += n;
	seen->last = spans[0].trace_low;
	return 0;
}

static void give(struct assembler *a, uint64_t trace, uint64_t id, int64_t start)
{
	struct span s = {.trace_low = trace, .id = id, .start = start, .end = start + 10};

	assert_int_equal(assembler_put(a, &s), 0);
}

static void test_a_trace_waits_as_long_as_told(void **state)
{
	struct seen seen = {};
	struct assembler_options o = {.late = 100, .state = &seen, .trace = see};
	struct assembler *a = assembler_new(&o);

	give(a, 1, 1, 1000);
	give(a, 2, 2, 1050);
	give(a, 1, 3, 990); /* out of order */
	give(a, 3, 4, 1105);
	give(a, 4, 5, 1130);
	assert_int_equal(seen.traces, 0);
	give(a, 5, 6, 1205);
	give(a, 6, 7, 1206); /* trace 2 ended at 1060, trace 1 at 1010 */
	assert_int_equal(seen.traces, 2);
	assert_int_equal(seen.spans, 3);
	give(a, 2, 8, 1055);
	assert_int_equal(assembler_tally(a).late, 1);
	assert_int_equal(assembler_flush(a, UINT32_MAX), 0);
	assert_int_equal(seen.spans, 8);
	assembler_free(a);
}

static void test_memory_is_bounded_and_what_is_cut_is_counted(void **state)
{
	struct seen seen = {};
	struct assembler_options o = {.late = INT64_MAX, .most = 800, .state = &seen, .trace = see};
	struct assembler *a = assembler_new(&o);

	for (uint64_t i = 1; i <= 10000; i++)
		give(a, i % 3 ? i : 7, i, (int64_t)i);
	assert_true(assembler_waiting(a) <= 808);
	assert_true(assembler_tally(a).cut > 0);
	assert_int_equal(assembler_flush(a, UINT32_MAX), 0);
	assert_int_equal(seen.spans, 10000);
	assembler_free(a);
}

static int see_and_pause(void *state, const struct span *spans, uint32_t n)
{
	int r = see(state, spans, n);

	return r < 0 ? r : 1;
}

/* A receiver that is short of memory takes one trace after the other; what waited is free when none is left. */
static void test_traces_are_handed_on_in_pieces(void **state)
{
	struct seen seen = {};
	struct assembler_options o = {.late = INT64_MAX, .longest = 100, .state = &seen, .trace = see_and_pause};
	struct assembler *a = assembler_new(&o);
	size_t empty = assembler_bytes(a);

	for (uint64_t i = 1; i <= 250; i++)
		give(a, 7, i, (int64_t)i);
	assert_int_equal(seen.spans, 200);
	assert_int_equal(assembler_tally(a).cut, 2);
	for (uint64_t i = 1; i <= 3; i++)
		give(a, 100 + i, 1000 + i, (int64_t)i);
	assert_true(assembler_bytes(a) > empty);
	for (unsigned left = 4; left > 0; left--) {
		assert_int_equal(assembler_flush(a, UINT32_MAX), 0);
		assert_int_equal(seen.traces, 2 + 5 - left);
	}
	assert_int_equal(seen.spans, 253);
	assert_int_equal(assembler_bytes(a), empty);
	give(a, 9, 9, 9);
	assert_int_equal(assembler_waiting(a), 1);
	assembler_free(a);
}

static void test_one_clock_ahead_does_not_close_all_traces(void **state)
{
	struct seen seen = {};
	struct assembler_options o = {.late = 100, .state = &seen, .trace = see};
	struct assembler *a = assembler_new(&o);

	give(a, 1, 1, 1000);
	give(a, 2, 2, 5000000);
	give(a, 3, 3, 1010);
	assert_int_equal(seen.traces, 0);
	assembler_free(a);
}

static void test_a_clock_ahead_of_now_keeps_no_trace_waiting(void **state)
{
	struct seen seen = {};
	struct assembler_options o = {.late = 100, .state = &seen, .trace = see};
	struct assembler *a = assembler_new(&o);

	assembler_set_now(a, 1010);
	give(a, 1, 1, 5000000); /* would stay at the head of those that wait */
	give(a, 2, 2, 1000);
	for (uint64_t i = 3; i < 60; i++)
		give(a, i, i, 5000000); /* would move the clock on by 100 each */
	assert_int_equal(seen.traces, 0);
	assembler_set_now(a, 1200);
	give(a, 60, 60, 1190);
	give(a, 61, 61, 1191);
	give(a, 62, 62, 1192);
	assert_int_equal(seen.traces, 59);
	assembler_free(a);
}

static int make_names(void **state)
{
	names = names_new();
	return names ? 0 : -1;
}

static int free_names(void **state)
{
	names_free(names);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_edge_is_charged_to_the_callee),
		cmocka_unit_test(test_adjusted_counts_are_in_every_figure),
		cmocka_unit_test(test_bad_lines_are_counted_with_their_place),
		cmocka_unit_test(test_orphans_are_told_and_are_no_requests),
		cmocka_unit_test(test_a_record_without_times_is_sdiags),
		cmocka_unit_test(test_every_format_tells_the_same),
		cmocka_unit_test(test_a_tracestate_says_how_many_a_request_stands_for),
		cmocka_unit_test(test_a_file_that_ends_in_the_middle_is_told),
		cmocka_unit_test(test_damaged_input_is_survived),
		cmocka_unit_test(test_messages_in_memory_are_read_to_their_end),
		cmocka_unit_test(test_pods_are_of_their_service),
		cmocka_unit_test(test_the_reason_of_a_regression_is_told),
		cmocka_unit_test(test_the_bad_version_is_found_and_a_good_one_is_not),
		cmocka_unit_test(test_a_version_that_ran_at_the_busy_hours_is_not_slow_for_that),
		cmocka_unit_test(test_what_befell_all_versions_is_no_versions),
		cmocka_unit_test(test_parts_merged_are_the_whole_bit_for_bit),
		cmocka_unit_test(test_a_bucket_alone_has_only_its_own_call_paths),
		cmocka_unit_test(test_names_that_were_cut_are_counted),
		cmocka_unit_test(test_ids_that_are_words_are_shared_out_as_well),
		cmocka_unit_test(test_uuids_are_numbers),
		cmocka_unit_test(test_damaged_bytes_of_a_forest_are_refused),
		cmocka_unit_test(test_versions_that_follow_each_other_are_not_slow_for_their_hours),
		cmocka_unit_test(test_a_version_that_was_replaced_by_faster_ones_is_no_suspect),
		cmocka_unit_test(test_what_began_on_the_first_day_is_held_against_the_same_hours),
		cmocka_unit_test(test_time_slots_double_when_there_are_too_many),
		cmocka_unit_test(test_an_inventory_tells_the_hardware_of_hosts),
		cmocka_unit_test(test_a_trace_waits_as_long_as_told),
		cmocka_unit_test(test_memory_is_bounded_and_what_is_cut_is_counted),
		cmocka_unit_test(test_traces_are_handed_on_in_pieces),
		cmocka_unit_test(test_a_span_without_a_trace_makes_an_empty_forest), cmocka_unit_test(test_one_clock_ahead_does_not_close_all_traces),
		cmocka_unit_test(test_a_clock_ahead_of_now_keeps_no_trace_waiting),
	};

	return cmocka_run_group_tests(tests, make_names, free_names);
}
