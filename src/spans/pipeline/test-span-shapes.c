/* The same request as different programs write it: whatever the shape of the file, the same spans are read. */
#include "lib/data/test.h"

#include <lzma.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "lib/data/cleanup.h"
#include "spans/pipeline/span-pipeline.h"

/* web GET, 100 us, calls db query, 50 us, which fails on host h1 */
struct shape {
	const char *what, *text;
};

#define RESOURCE(service) "{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"" service "\"}},{\"key\":\"host.name\"," \
			  "\"value\":{\"stringValue\":\"h1\"}},{\"key\":\"list\",\"value\":{\"arrayValue\":{\"values\":[{\"intValue\":\"1\"}]}}},"   \
			  "{\"key\":\"map\",\"value\":{\"kvlistValue\":{\"values\":[]}}},{\"key\":\"raw\",\"value\":{\"bytesValue\":\"AAE=\"}},"      \
			  "{\"key\":\"none\",\"value\":{}}]}"
#define GET_WITH(parent) "{\"traceId\":\"0000000000000000000000000000000a\",\"spanId\":\"0000000000000001\"," parent "\"name\":\"GET\",\"kind\":" \
			 "\"SPAN_KIND_SERVER\",\"startTimeUnixNano\":1700000000000000000,\"endTimeUnixNano\":1700000000000100000,\"status\":{}," \
			 "\"events\":[{\"name\":\"x\"}],\"links\":[{\"traceId\":\"0b\",\"spanId\":\"07\"}]}"
#define QUERY "{\"traceId\":\"0000000000000000000000000000000A\",\"spanId\":\"0000000000000002\",\"parentSpanId\":\"0000000000000001\"," \
	      "\"name\":\"query\",\"startTimeUnixNano\":\"1700000000000010000\",\"endTimeUnixNano\":\"1700000000000060000\","                \
	      "\"status\":{\"code\":\"STATUS_CODE_ERROR\",\"message\":\"no\"}}"
#define BLOCK(service, scopes, span) "{\"resource\":" RESOURCE(service) ",\"" scopes "\":[{\"scope\":{\"name\":\"l\"},\"spans\":[" span "]}]}"
#define BLOCKS BLOCK("web", "scopeSpans", GET_WITH("")) "," BLOCK("db", "scopeSpans", QUERY)

static const struct shape otlp[] = {
	{"one object", "{\"resourceSpans\":[" BLOCKS "]}"},
	{"a line each, the root's parent empty", "{\"resourceSpans\":[" BLOCK("web", "scopeSpans", GET_WITH("\"parentSpanId\":\"\",")) "]}\n"
						 "{\"resourceSpans\":[" BLOCK("db", "scopeSpans", QUERY) "]}\n"},
	{"the root's parent zero", "{\"resourceSpans\":[" BLOCK("db", "scopeSpans", QUERY) ","
				   BLOCK("web", "scopeSpans", GET_WITH("\"parentSpanId\":\"0000000000000000\",")) "]}"},
	{"an older collector's", "{\"resourceSpans\":[" BLOCK("web", "instrumentationLibrarySpans", GET_WITH("")) ","
				 BLOCK("db", "instrumentationLibrarySpans", QUERY) "]}"},
	{"an array of requests", "[{\"resourceSpans\":[" BLOCK("web", "scopeSpans", GET_WITH("")) "]},\n {\"resourceSpans\":["
				 BLOCK("db", "scopeSpans", QUERY) "]}]"},
	{"Tempo's", "{\"batches\":[" BLOCKS "]}"},
	{"Tempo's of today", "{\"trace\":{\"resourceSpans\":[" BLOCKS "]}, \"metrics\":{}}"},
	{"Jaeger's query service's", "{\"result\":{\"resourceSpans\":[" BLOCKS "]}}"},
	{"a byte order mark, and blanks", "\xef\xbb\xbf\r\n{\r\n  \"resourceSpans\": [\r\n" BLOCKS "\r\n  ]\r\n}\r\n"},
	{"a line that was cut off before it", "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"serv\n{\"resourceSpans\":[" BLOCKS "]}\n"},
	{"a line that was cut off between values", "{\"resourceSpans\":[{\"resource\":{},\n{\"resourceSpans\":[" BLOCKS "]}\n"},
	{"protobuf's own names",
	 "{\"resource_spans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"string_value\":\"web\"}}]},\"scope_spans\":["
	 "{\"spans\":[{\"trace_id\":\"AAAAAAAAAAAAAAAAAAAACg==\",\"span_id\":\"AAAAAAAAAAE=\",\"name\":\"GET\",\"kind\":2,"
	 "\"start_time_unix_nano\":\"1700000000000000000\",\"end_time_unix_nano\":\"1700000000000100000\"}]}]},{\"resource\":{\"attributes\":["
	 "{\"key\":\"service.name\",\"value\":{\"string_value\":\"db\"}},{\"key\":\"host.name\",\"value\":{\"string_value\":\"h1\"}}]},"
	 "\"scope_spans\":[{\"spans\":[{\"trace_id\":\"AAAAAAAAAAAAAAAAAAAACg==\",\"span_id\":\"AAAAAAAAAAI=\",\"parent_span_id\":"
	 "\"AAAAAAAAAAE=\",\"name\":\"query\",\"start_time_unix_nano\":\"1700000000000010000\",\"end_time_unix_nano\":"
	 "\"1700000000000060000\",\"status\":{\"code\":2}}]}]}]}"},
};

#define TAGS(error) "\"tags\":[{\"key\":\"error\",\"type\":\"bool\",\"value\":" error "}]"
#define JGET(more) "{\"traceID\":\"0a\",\"spanID\":\"1\",\"operationName\":\"GET\",\"references\":[],\"startTime\":1700000000000000,\"duration\":100," \
		   TAGS("false") more "}"
#define JQUERY(more) "{\"traceID\":\"0a\",\"spanID\":\"2\",\"operationName\":\"query\",\"references\":[{\"refType\":\"FOLLOWS_FROM\",\"traceID\":\"0b\"," \
		     "\"spanID\":\"9\"},{\"refType\":\"CHILD_OF\",\"traceID\":\"0a\",\"spanID\":\"1\"}],\"startTime\":1700000000000010,"                  \
		     "\"duration\":50," TAGS("true") more "}"
#define JHOST "\"tags\":[{\"key\":\"host.name\",\"type\":\"string\",\"value\":\"h1\"}]"
#define JTRACE "{\"traceID\":\"0a\",\"spans\":[" JGET(",\"processID\":\"p1\"") "," JQUERY(",\"processID\":\"p2\"") "],\"processes\":{\"p1\":" \
	       "{\"serviceName\":\"web\"},\"p2\":{\"serviceName\":\"db\"," JHOST "}}}"
#define JWEB ",\"process\":{\"serviceName\":\"web\"}"
#define JDB  ",\"process\":{\"serviceName\":\"db\"," JHOST "}"

static const struct shape jaeger[] = {
	{"the page's download", "{\"data\":[" JTRACE "],\"total\":0,\"errors\":null}"},
	{"a list of traces", "[" JTRACE "]"},
	{"a trace a line", JTRACE "\n"},
	{"a list of downloads", "[{\"data\":[" JTRACE "]}]"},
	{"spans as they are stored", JGET(JWEB) "\n" JQUERY(JDB) "\n"},
	{"a dump of Elasticsearch", "{\"_index\":\"jaeger-span\",\"_source\":" JGET(JWEB) "}\n{\"_index\":\"jaeger-span\",\"_source\":" JQUERY(JDB) "}\n"},
};

#define ZGET "{\"traceId\":\"000000000000000a\",\"id\":\"0000000000000001\",\"name\":\"GET\",\"kind\":\"SERVER\",\"timestamp\":1700000000000000," \
	     "\"duration\":100,\"localEndpoint\":{\"serviceName\":\"web\"},\"tags\":{\"http.path\":\"/\"}}"
#define ZQUERY "{\"traceId\":\"000000000000000a\",\"parentId\":\"0000000000000001\",\"id\":\"0000000000000002\",\"name\":\"query\",\"timestamp\":" \
	       "1700000000000010,\"duration\":50,\"localEndpoint\":{\"serviceName\":\"db\",\"ipv4\":\"h1\"},\"tags\":{\"error\":\"no\"}}"

static const struct shape zipkin[] = {
	{"a list of spans", "[" ZGET "," ZQUERY "]"},
	{"a list of traces", "[[" ZGET "," ZQUERY "]]"},
	{"a span a line", ZQUERY "\n" ZGET "\n"},
};

static const struct shape tables[] = {
	{"words apart, large letters, quotes, a byte order mark",
	 "\xef\xbb\xbf\"Trace ID\",\"Span ID\",\"Parent Span ID\",\"Service Name\",\"Span Name\",\"Start Time\",\"Duration (us)\",\"Status Code\",\"HOST\"\r\n"
	 "\"0a\",\"1\",\"\",\"web\",\"GET\",\"2023-11-14T22:13:20Z\",\"100\",\"Ok\",\"h1\"\r\n"
	 "\"0a\",\"2\",\"1\",\"db\",\"query\",\"2023-11-15T00:13:20.00001+02:00\",\"50\",\"Error\",\"h1\"\r\n"},
	{"another order, blanks, ms, no caller named", "host, service, status, endTimeMs, startTimeMs, operation_name, parent_id, span_id, trace_id\n"
						       "h1, db, error, 1700000000000.06, 1700000000000.01, query, 1, 2, 0a\n"
						       "h1, web, ok, 1700000000000.1, 1700000000000, GET, None, 1, 0a\n"},
	{"tabs, seconds", "trace_id\tspan_id\tparent_id\tservice\tname\tstart_s\tduration_us\tstatus\thostname\n"
			  "0a\t1\tnull\tweb\tGET\t1700000000\t100\tOK\th1\n0a\t2\t1\tdb\tquery\t1700000000.00001\t50\tERROR\th1"},
	{"its own caller is the root", "TraceID;SpanID;ParentID;service;function;StartTimeUnixNano;EndTimeUnixNano;error;host\n"
				       "0a;1;1;web;GET;1700000000000000000;1700000000000100000;false;h1\n"
				       "0a;2;1;db;query;1700000000000010000;1700000000000060000;true;h1\n"},
	{"ClickHouse's, with maps", "Timestamp,TraceId,SpanId,ParentSpanId,SpanName,SpanKind,ServiceName,ResourceAttributes,SpanAttributes,Duration,StatusCode\n"
				    "\"2023-11-14 22:13:20.000000000\",0a,1,,GET,Server,web,\"{'host.name':'h1','os':'linux'}\",{},100000,Unset\n"
				    "\"2023-11-14 22:13:20.000010000\",0a,2,1,query,,db,\"{'host.name':'h1','a':'it''s'}\",\"{'k':'v'}\",50000,Error\n"},
};

static struct names *names;

static int load_bytes(const void *bytes, size_t n, struct forest *ret, struct span_faults *faults)
{
	char path[] = "/tmp/whyslow-shape-XXXXXX", *paths[] = {path};
	struct pipeline_options o = {.late = INT64_MAX};
	_cleanup_free_ char *error = NULL;
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
	names = names_new();
	assert_int_equal(forest_init(ret, names, 60000000000), 0);
	r = pipeline_load(&o, paths, 1, 1, ret, faults, &error);
	unlink(path);
	return r == 0 ? forest_finish(ret) : r;
}

/* What the only group spent in a function, wherever it was called from. */
static const struct cell *cell_of(const struct forest *f, const char *service, const char *operation)
{
	for (uint32_t v = 0; v < f->vertices.n; v++)
		if (f->vertices.v[v].kind == VERTEX_CALL && !strcmp(names_get(f->names, f->vertices.v[v].service), service) &&
		    !strcmp(names_get(f->names, f->vertices.v[v].operation), operation))
			return forest_group_cell(&f->buckets.v[0].groups.v[0], v);
	return NULL;
}

static const char *host_of(const struct forest *f, const char *service)
{
	for (size_t i = 0; i < f->places.n; i++)
		if (!strcmp(names_get(f->names, f->vertices.v[f->places.v[i].vertex].service), service))
			return names_get(f->names, f->places.v[i].host);
	return "";
}

static void check(const char *what, const void *bytes, size_t n, struct span_faults *faults)
{
	struct forest f;
	const struct cell *query;

	if (load_bytes(bytes, n, &f, faults) != 0 || f.buckets.n != 1 || f.tally.requests != 1 || f.tally.spans != 2)
		fail_msg("%s: %llu spans, %llu requests; %s%s%s", what, (unsigned long long)f.tally.spans, (unsigned long long)f.tally.requests,
			 faults->first[SPAN_FAULT_SYNTAX], faults->first[SPAN_FAULT_ID], faults->first[SPAN_FAULT_TIME]);
	query = cell_of(&f, "db", "query");
	if (!query)
		fail_msg("%s: no query", what);
	if (moments_mean(&f.buckets.v[0].groups.v[0].total) != 100000 || moments_mean(&query->path) != 50000)
		fail_msg("%s: %g and %g ns", what, moments_mean(&f.buckets.v[0].groups.v[0].total), moments_mean(&query->path));
	if (query->errors != SPAN_WEIGHT_ONE)
		fail_msg("%s: no error", what);
	if (strcmp(host_of(&f, "db"), "h1") != 0)
		fail_msg("%s: host '%s'", what, host_of(&f, "db"));
	forest_free(&f);
	names_free(names);
}

static void check_shapes(const struct shape *shapes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct span_faults faults = {};
		bool cut = strstr(shapes[i].what, "cut off");

		check(shapes[i].what, shapes[i].text, strlen(shapes[i].text), &faults);
		for (int k = 0; k < SPAN_FAULT_COUNT; k++)
			if (faults.n[k] != (cut && k == SPAN_FAULT_SYNTAX))
				fail_msg("%s: %llu %s: %s", shapes[i].what, (unsigned long long)faults.n[k], span_fault_name((enum span_fault)k),
					 faults.first[k]);
	}
}

static void test_otlp_in_json(void **state)
{
	check_shapes(otlp, ARRAY_SIZE(otlp));
}

static void test_jaegers_json(void **state)
{
	check_shapes(jaeger, ARRAY_SIZE(jaeger));
}

static void test_zipkins_json(void **state)
{
	check_shapes(zipkin, ARRAY_SIZE(zipkin));
}

/* --- tables ------------------------------------------------------------------------------------------------------------ */

static void test_tables(void **state)
{
	check_shapes(tables, ARRAY_SIZE(tables));
}

static void test_a_column_whose_name_is_none_is_named(void **state)
{
	static const char text[] = "trace_id,span_id,began,took\n0a,1,5,6\n";
	struct span_faults faults = {};
	struct forest f;

	assert_int_equal(load_bytes(text, strlen(text), &f, &faults), 0);
	assert_non_null(strstr(faults.first[SPAN_FAULT_SYNTAX], "no column is the function's"));
	forest_free(&f);
	names_free(names);
}

/* 20 requests a second apart: a root of 40 to 59 and a call of 10 that begins 5 later; durations in the text's unit. */
static void put_requests(struct str *out, const char *duration, bool as_text, double unit_s)
{
	const char *begin = as_text ? "2023-11-14 22:13:" : "17000000", *point = as_text ? "." : "";
	int later = (int)(5 * unit_s * 1e6);

	str_printf(out, "trace_id,span_id,parent_id,service,function,start,%s\n", duration);
	for (int i = 0; i < 20; i++) {
		str_printf(out, "%d,1,,web,GET,%s%02d%s000000,%d\n", i + 1, begin, i, point, 40 + i);
		str_printf(out, "%d,2,1,db,query,%s%02d%s%06d,10\n", i + 1, begin, i, point, later);
	}
}

static void test_a_duration_without_a_unit_is_what_lets_calls_run_within_their_callers(void **state)
{
	static const struct {
		const char *duration;
		bool as_text;
		double unit_s;
		const char *told;
	} cases[] = {
		{"duration", true, 1e-3, "is read as ms"},   {"duration", true, 1e-6, "is read as us"}, {"duration_ms", true, 1e-3, ""},
		{"duration", false, 1e-6, ""} /* both in us */, {"duration", false, 1e-3, "is read as ms"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_str_ struct str text = {};
		struct span_faults faults = {};
		struct forest f;

		put_requests(&text, cases[i].duration, cases[i].as_text, cases[i].unit_s);
		assert_int_equal(load_bytes(text.data, text.len, &f, &faults), 0);
		assert_int_equal(f.tally.requests, 20);
		assert_true(fabs(moments_mean(&f.buckets.v[0].groups.v[0].total) / (49.5e9 * cases[i].unit_s) - 1) < 1e-9);
		if (*cases[i].told ? !strstr(faults.assumed, cases[i].told) : *faults.assumed)
			fail_msg("table %zu: '%s'", i, faults.assumed);
		forest_free(&f);
		names_free(names);
	}
}

/* --- packed, and messages with their length before them ------------------------------------------------------------------ */

static void put(struct str *out, unsigned field, const void *bytes, size_t n)
{
	str_put_varint(out, field << 3 | 2);
	str_put_blob(out, bytes, n);
}

static void put_pair(struct str *out, const char *key, const char *value)
{
	_cleanup_str_ struct str pair = {}, any = {};

	put(&any, 1, value, strlen(value));
	put(&pair, 1, key, strlen(key));
	put(&pair, 2, any.data, any.len);
	put(out, 1, pair.data, pair.len);
}

static void put_time(struct str *out, unsigned field, uint64_t us)
{
	uint64_t ns = 1700000000000000000 + us * 1000;

	str_put_varint(out, field << 3 | 1);
	str_append(out, &ns, 8);
}

/* A message of one span. */
static void put_message(struct str *out, const char *service, uint8_t id, uint8_t parent, const char *name, uint64_t start, uint64_t end, bool error)
{
	_cleanup_str_ struct str span = {}, scope = {}, resource = {}, block = {};
	const uint8_t trace[16] = {[15] = 0x0a}, span_id[8] = {[7] = id}, parent_id[8] = {[7] = parent}, status[] = {3 << 3, 2};

	put(&span, 1, trace, 16);
	put(&span, 2, span_id, 8);
	put(&span, 4, parent_id, 8);
	put(&span, 5, name, strlen(name));
	put_time(&span, 7, start);
	put_time(&span, 8, end);
	if (error)
		put(&span, 15, status, 2);
	put(&scope, 2, span.data, span.len);
	put_pair(&resource, "service.name", service);
	put_pair(&resource, "host.name", "h1");
	put(&block, 1, resource.data, resource.len);
	put(&block, 2, scope.data, scope.len);
	put(out, 1, block.data, block.len);
}

static void make_messages(struct str v[2])
{
	put_message(&v[0], "web", 1, 0, "GET", 0, 100, false);
	put_message(&v[1], "db", 2, 1, "query", 10, 60, true);
}

static void pack(const struct str *from, struct str *to)
{
	size_t n = ZSTD_compressBound(from->len);
	_cleanup_free_ void *room = malloc(n);

	n = ZSTD_compress(room, n, from->data, from->len, 1);
	assert_false(ZSTD_isError(n));
	str_append(to, room, n);
}

static void put_framed(struct str *out, const void *bytes, size_t n)
{
	str_append(out, (uint8_t[]){0, 0, (uint8_t)(n >> 8), (uint8_t)n}, 4);
	str_append(out, bytes, n);
}

static void test_messages_with_their_length_before_them(void **state)
{
	_cleanup_str_ struct str framed = {}, delimited = {}, packed = {}, json = {};
	struct str v[2] = {};
	struct span_faults faults = {};

	make_messages(v);
	for (int i = 0; i < 2; i++) {
		_cleanup_str_ struct str small = {};

		put_framed(&framed, v[i].data, v[i].len);
		str_put_varint(&delimited, v[i].len);
		str_append(&delimited, v[i].data, v[i].len);
		pack(&v[i], &small);
		put_framed(&packed, small.data, small.len);
	}
	for (size_t i = 0; i < 2; i++) { /* the collector's JSON, packed message by message */
		_cleanup_str_ struct str text = {}, small = {};

		str_puts(&text, i ? "{\"resourceSpans\":[" BLOCK("db", "scopeSpans", QUERY) "]}" :
				    "{\"resourceSpans\":[" BLOCK("web", "scopeSpans", GET_WITH("")) "]}");
		pack(&text, &small);
		put_framed(&json, small.data, small.len);
	}
	check("four bytes", framed.data, framed.len, &faults);
	check("a varint", delimited.data, delimited.len, &faults);
	check("packed protobuf", packed.data, packed.len, &faults);
	check("packed JSON", json.data, json.len, &faults);
	str_free(&v[0]);
	str_free(&v[1]);
	for (int k = 0; k < SPAN_FAULT_COUNT; k++)
		assert_int_equal(faults.n[k], 0);
}

static void test_a_damaged_message_is_told_and_the_next_is_read(void **state)
{
	_cleanup_str_ struct str file = {}, small = {};
	struct str v[2] = {};
	struct span_faults faults = {};
	struct forest f;

	make_messages(v);
	pack(&v[1], &small);
	put_framed(&file, small.data, small.len / 2);
	small.len = 0;
	pack(&v[0], &small);
	put_framed(&file, small.data, small.len);
	assert_int_equal(load_bytes(file.data, file.len, &f, &faults), 0);
	assert_int_equal(faults.n[SPAN_FAULT_SYNTAX], 1);
	assert_non_null(strstr(faults.first[SPAN_FAULT_SYNTAX], "byte 4: a packed message"));
	assert_int_equal(f.tally.requests, 1);
	forest_free(&f);
	names_free(names);
	str_free(&v[0]);
	str_free(&v[1]);
}

static void test_whole_files_that_are_packed(void **state)
{
	_cleanup_str_ struct str text = {}, small = {};
	struct span_faults faults = {};
	uint8_t room[8192];
	size_t n = 0;
	z_stream z = {.next_out = room, .avail_out = sizeof(room)};

	str_puts(&text, jaeger[0].text);
	pack(&text, &small);
	check("zstd", small.data, small.len, &faults);
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)text.data;
	z.avail_in = (uInt)text.len;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	check("gzip", room, sizeof(room) - z.avail_out, &faults);
	deflateEnd(&z);
	assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (const uint8_t *)text.data, text.len, room, &n, sizeof(room)), LZMA_OK);
	check("xz", room, n, &faults);
	for (int k = 0; k < SPAN_FAULT_COUNT; k++)
		assert_int_equal(faults.n[k], 0);
}

/* Starts in ms, durations in us: as ms they would last for seconds, during which calls begin within the first ones of their callers. */
static void test_a_duration_may_have_a_smaller_unit_than_the_start(void **state)
{
	_cleanup_str_ struct str text = {};
	struct span_faults faults = {};
	struct forest f;

	str_puts(&text, "trace_id,span_id,parent_id,service,function,start,duration\n");
	for (int i = 0; i < 20; i++) {
		str_printf(&text, "%d,1,,web,GET,17000000000%02d,%d\n", i + 1, i, 25000 + i);
		str_printf(&text, "%d,2,1,db,query,17000000000%02d,9000\n", i + 1, i + 8);
	}
	assert_int_equal(load_bytes(text.data, text.len, &f, &faults), 0);
	assert_true(fabs(moments_mean(&f.buckets.v[0].groups.v[0].total) / 25009.5e3 - 1) < 1e-9);
	assert_non_null(strstr(faults.assumed, "is read as us"));
	forest_free(&f);
	names_free(names);
}

RUN_TESTS(cmocka_unit_test(test_otlp_in_json), cmocka_unit_test(test_jaegers_json), cmocka_unit_test(test_zipkins_json),
	  cmocka_unit_test(test_tables), cmocka_unit_test(test_a_column_whose_name_is_none_is_named),
	  cmocka_unit_test(test_a_duration_without_a_unit_is_what_lets_calls_run_within_their_callers),
	  cmocka_unit_test(test_a_duration_may_have_a_smaller_unit_than_the_start),
	  cmocka_unit_test(test_messages_with_their_length_before_them),
	  cmocka_unit_test(test_a_damaged_message_is_told_and_the_next_is_read), cmocka_unit_test(test_whole_files_that_are_packed))
