/* What all sources of spans have in common: which attributes they keep, and how those become fields of a span. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spans/formats/span-input.h"
#include "spans/model/span-mapping.h"
#include "spans/model/span.h"

#define SPAN_PART_MAX	    200 /* bytes of a route, table, method; what is longer is cut */
#define SPAN_MORE_MAX	    32	/* attributes of a span below the root that the mapping does not name */
#define SPAN_VALUES_MAX	    64	/* ... and the values that those have at most: a key with more tells single spans apart */
#define SPAN_EXCEPTION	    "exception.type" /* the one attribute of a span's events that is read */
#define SPAN_ATTRIBUTES_MAX 128 /* of one span or resource; further ones are left out */

struct cached_resource {
	uint8_t *bytes;
	size_t n, allocated;
	uint32_t set, service;
};

/* A part of the name of a span, as an attribute says it. */
struct name_part {
	char text[SPAN_PART_MAX];
	size_t n;    /* 0 = it is not there */
	size_t rank; /* of the attribute among those of its field: the least is preferred */
};
#define NAME_PARTS (FIELD_OPERATION - FIELD_ROUTE + 1)

struct span_reader {
	struct span_sink sink;
	/* several readers may share a file: each takes the traces of its part */
	uint32_t part, parts; /* parts 0 or 1 = all of it */
	/* the attributes of the span or resource being read */
	struct attribute v[SPAN_ATTRIBUTES_MAX];
	size_t n;
	struct attribute more[SPAN_MORE_MAX];
	size_t n_more;
	bool reads_more; /* the span is below the root of a trace that is in the sample */
	uint64_t weight; /* 0 = the attributes did not say */
	struct name_part name[NAME_PARTS]; /* by field, from FIELD_ROUTE on */
	void *form; /* of the source that reads: what earlier elements of its file said */
	/* private */
	uint64_t wanted_shapes[4]; /* lengths and ends of the keys the mapping names */
	uint8_t *wanted;	   /* by text: 0 = not looked up yet, else bits of enum key_use */
	size_t n_wanted;
	struct cached_resource *resources;
	size_t remembered, remembered_max; /* bytes of resources */
	uint32_t service_keys[FIELD_KEYS_MAX + 1];
};

static inline void span_reader_hold(struct span_reader *r, bool held)
{
	if (r->sink.hold)
		r->sink.hold(r->sink.state, held);
}

int span_reader_init(struct span_reader *r, const struct span_sink *sink);
void span_reader_free(struct span_reader *r);

/* Is this trace (by its key) one of this reader's part? */
static inline bool span_reader_takes(const struct span_reader *r, uint64_t high, uint64_t low)
{
	uint64_t h = (low ^ high) * 0x9e3779b97f4a7c15ull;

	return r->parts < 2 || ((h >> 32) * r->parts) >> 32 == r->part;
}

/* The same for a text, whose id it then gives; no id at all is 0, 0. */
bool span_reader_takes_text(struct span_reader *r, const char *trace, size_t n, uint64_t *ret_high, uint64_t *ret_low);

/* A span or resource begins. */
static inline void span_reader_begin(struct span_reader *r)
{
	r->n = 0;
	r->weight = 0;
	for (size_t i = 0; i < NAME_PARTS; i++)
		r->name[i].n = 0;
	r->n_more = 0;
	r->reads_more = false;
}
/* The same for a span whose trace and parent are known: are all its attributes its own? */
bool span_reader_begin_span(struct span_reader *r, struct span *span);
/* A span's name, without what tells single requests apart (span-name.h), as a text. */
uint32_t span_reader_name(struct span_reader *r, const char *name, size_t n);
/* Gives the span what was kept. */
void span_reader_end_span(struct span_reader *r, struct span *span);
/* Keeps an attribute if the mapping names it, or `all`. */
void span_reader_attribute(struct span_reader *r, const char *key, size_t key_n, const char *value, size_t value_n, bool all);
/* What was kept, as a resource; *ret_service is made of what the mapping calls the service. */
uint32_t span_reader_resource(struct span_reader *r, uint32_t *ret_service);
/* The same for bytes that may have been seen before. NULL = not yet: read it, then span_reader_remember(). */
const struct cached_resource *span_reader_cached(struct span_reader *r, const void *bytes, size_t n);
void span_reader_remember(struct span_reader *r, const void *bytes, size_t n, uint32_t set, uint32_t service);

/* One of the traces that a span refers to: the first that is not its own is kept in *link, and how many there are. */
void span_reader_link(const struct span *span, uint64_t high, uint64_t low, struct span_link *link);
/* All of them were looked at: gives the span the one that was kept, where links are wanted. */
void span_reader_end_links(struct span_reader *r, struct span *span, const struct span_link *link);
/* Gives the span on. One whose name does not say what it is for is named as the semantic conventions have it: "GET /price/{id}" (numbers
 * and ids in a path are one), "SELECT orders", "publish invoices", "shop.Cart/Add". Times that are those of today in another unit than the format's are a fault: the span is left out. */
int span_reader_put(struct span_reader *r, struct span *span);

/* "web-579b9bff58-t2dbm" -> 3: the length of a pod's name without what Kubernetes appends (replica set, pod). */
size_t span_service_of_pod(const char *pod, size_t n);
/* How many requests a W3C tracestate says the span stands for ("ot=th:..."), 0 = it does not say. */
uint64_t span_weight_of_tracestate(const char *text, size_t n);
/* Of the span whose attributes were read: what its tracestate says counts before what an attribute does. */
uint64_t span_reader_weight(const struct span_reader *r, const char *tracestate, size_t n);
/* "100", "0.5": in SPAN_WEIGHT_ONE; 0 for what is not a positive number. */
uint64_t span_weight_of_text(const char *text, size_t n);
/* "server", "SPAN_KIND_SERVER", "Server", "2". */
enum span_kind span_kind_of_text(const char *text, size_t n);
/* "Error", "STATUS_CODE_ERROR", "true", "2", "503" ... */
bool span_status_is_error(const char *text, size_t n);
/* Does a tag say that the call failed, by OpenTelemetry's and older conventions? */
bool span_tag_is_error(const char *key, size_t key_n, const char *value, size_t n);

/* One format. Reads until the end; bad input is counted in the sink's faults. 0 or -errno (of the sink, of memory). */
struct span_source {
	const char *name;
	const char *help;
	/* Could a file that begins like this be it? */
	bool (*recognises)(const uint8_t *head, size_t n);
	int (*read)(struct span_reader *r, struct input *in);
};

extern const struct span_source source_otlp, source_otlp_json, source_zipkin, source_jaeger_thrift, source_elastic, source_chrome,
	source_go_stdout, source_xray, source_datadog, source_jaeger, source_skywalking, source_span_csv, source_honeycomb, source_new_relic, source_python_console, source_php_console, source_elastic_documents,
	source_elastic_otel, source_data_prepper, source_clickhouse_rows, source_google_v1, source_google_v2, source_datadog_api, source_instana, source_sentry, source_htrace;
extern const struct span_source *const span_sources[]; /* NULL-terminated */
/* NULL if nothing recognizes it. Looks at the first bytes only. */
const struct span_source *span_source_of(struct input *in);
const struct span_source *span_source_named(const char *name);
