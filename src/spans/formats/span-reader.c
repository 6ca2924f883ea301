#include "spans/formats/span-reader.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "spans/formats/span-name.h"

#define CACHED	       32768 /* resources */
#define REMEMBERED_MAX ((size_t)16 << 20) /* bytes of them: those of 10,000 processes */
#define OUR_DAYS_FIRST (int64_t)1200000000000000000 /* ns: 2008 */
#define OUR_DAYS_LAST  (int64_t)4100000000000000000 /* 2099 */

enum key_use { KEY_KNOWN = 1, KEY_WANTED = 2, KEY_WEIGHT = 4, KEY_NAMES = 8 };

/* Those whose marks are surest first. */
const struct span_source *const span_sources[] = {
	&source_otlp, &source_honeycomb, &source_new_relic, &source_elastic_documents, &source_elastic_otel, &source_data_prepper, &source_clickhouse_rows,
	&source_google_v1, &source_google_v2, &source_datadog_api, &source_sentry, &source_instana, &source_php_console, &source_python_console, &source_skywalking,
	&source_otlp_json, &source_zipkin, &source_jaeger_thrift, &source_elastic, &source_chrome, &source_go_stdout, &source_xray, &source_datadog, &source_jaeger,
	&source_htrace, &source_span_csv, NULL};

static unsigned shape(const char *key, size_t n)
{
	return (unsigned)(n * 7 + (uint8_t)key[0] * 3u + (uint8_t)key[n - 1]) & 255;
}

int span_reader_init(struct span_reader *r, const struct span_sink *sink)
{
	*r = (struct span_reader){.sink = *sink, .remembered_max = REMEMBERED_MAX, .resources = calloc(CACHED, sizeof(*r->resources))};
	if (!r->resources)
		return -ENOMEM;
	for (int f = FIELD_SERVICE; f < FIELD_COUNT; f++) {
		for (char *const *key = sink->mapping->keys[f]; *key; key++) {
			unsigned s = shape(*key, strlen(*key));

			r->wanted_shapes[s / 64] |= (uint64_t)1 << (s % 64);
		}
	}
	for (size_t i = 0; sink->mapping->keys[FIELD_SERVICE][i]; i++) {
		const char *key = sink->mapping->keys[FIELD_SERVICE][i];

		r->service_keys[i] = names_text(sink->names, key, strlen(key));
	}
	return 0;
}

void span_reader_free(struct span_reader *r)
{
	for (size_t i = 0; r->resources && i < CACHED; i++)
		free(r->resources[i].bytes);
	FREE_ALL(r->resources, r->wanted);
	*r = (struct span_reader){};
}

bool span_reader_takes_text(struct span_reader *r, const char *trace, size_t n, uint64_t *ret_high, uint64_t *ret_low)
{
	uint64_t high, low;

	if (r->parts > 1) {
		span_trace_id_key(trace, n, &high, &low);
		if (!span_reader_takes(r, high, low))
			return false;
	}
	span_trace_id_of_text(r->sink.names, trace, n, ret_high, ret_low);
	return true;
}

static bool is_part_of_name(enum span_field field)
{
	return field >= FIELD_ROUTE && field <= FIELD_OPERATION;
}

/* How far the mapping prefers other attributes; FIELD_KEYS_MAX = it is none of the field's. */
static size_t rank_in(const struct span_reader *r, enum span_field field, const char *key, size_t n)
{
	char *const *keys = r->sink.mapping->keys[field];

	for (size_t i = 0; keys[i]; i++)
		if (strlen(keys[i]) == n && !memcmp(keys[i], key, n))
			return i;
	return FIELD_KEYS_MAX;
}

static void keep_part(struct span_reader *r, enum span_field field, const char *key, size_t key_n, const char *value, size_t n)
{
	struct name_part *part = &r->name[field - FIELD_ROUTE];
	size_t rank = rank_in(r, field, key, key_n);

	if (rank == FIELD_KEYS_MAX || (part->n && part->rank <= rank))
		return;
	part->rank = rank;
	part->n = n < sizeof(part->text) ? n : sizeof(part->text);
	memcpy(part->text, value, part->n);
}

static uint8_t use_of(const struct span_reader *r, const char *key, size_t n)
{
	uint8_t use = KEY_KNOWN;

	for (enum span_field f = FIELD_SERVICE; f < FIELD_COUNT; f++)
		if (rank_in(r, f, key, n) < FIELD_KEYS_MAX)
			use |= f == FIELD_WEIGHT ? KEY_WEIGHT : is_part_of_name(f) ? KEY_NAMES : KEY_WANTED;
	return use;
}

static uint8_t look_up(struct span_reader *r, uint32_t id, const char *key, size_t n)
{
	uint8_t use = use_of(r, key, n);

	if (id >= r->n_wanted) {
		size_t more = 2 * (size_t)id + 64;
		uint8_t *grown = realloc(r->wanted, more);

		if (!grown)
			return use;
		memset(grown + r->n_wanted, 0, more - r->n_wanted);
		r->wanted = grown;
		r->n_wanted = more;
	}
	r->wanted[id] = use;
	return use;
}

/* The same fixed order of traces as the forest's, whose part of a source this is not: one of 2^thinned. */
static bool is_read_whole(const struct span_reader *r, const struct span *span)
{
	const struct span_sampling *s = r->sink.sampling;
	uint32_t thinned;

	if (!s || names_set_count(r->sink.names) >= NAME_SETS_MAX / 4)
		return false;
	thinned = *s->thinned > s->ahead ? *s->thinned : s->ahead;
	return !thinned || span_trace_id_lot(span->trace_high, span->trace_low) >> (64 - thinned) == 0;
}

static void count_root(struct span_sampling *s, const struct span *span)
{
	if (!s->most || span->start < s->from || span->start >= s->to || ++s->roots <= s->most)
		return;
	s->ahead++;
	s->roots /= 2;
}

bool span_reader_begin_span(struct span_reader *r, struct span *span)
{
	bool whole = is_read_whole(r, span);

	if (whole && !span->parent)
		count_root(r->sink.sampling, span);
	span_reader_begin(r);
	span->flags |= whole ? SPAN_WHOLE : 0;
	r->reads_more = whole && span->parent;
	return !span->parent;
}

uint32_t span_reader_name(struct span_reader *r, const char *name, size_t n)
{
	char plain[NAME_TEXT_MAX];

	return names_text(r->sink.names, plain, span_name_plain(name, n, plain));
}

void span_reader_end_span(struct span_reader *r, struct span *span)
{
	span->attributes = r->n ? names_set(r->sink.names, 0, r->v, r->n) : 0;
	span->more = r->n_more ? names_set(r->sink.names, 0, r->more, r->n_more) : 0;
}

static void keep_more(struct span_reader *r, uint32_t key, const char *value, size_t n)
{
	uint32_t text;

	if (r->n_more == SPAN_MORE_MAX || names_values(r->sink.names, key) > SPAN_VALUES_MAX)
		return;
	text = names_value(r->sink.names, key, value, n);
	if (text)
		r->more[r->n_more++] = (struct attribute){key, text};
}

void span_reader_attribute(struct span_reader *r, const char *key, size_t key_n, const char *value, size_t value_n, bool all)
{
	unsigned s;
	uint32_t id;
	uint8_t use;

	if (!key_n || !value_n || r->n == SPAN_ATTRIBUTES_MAX)
		return;
	s = shape(key, key_n);
	if (!all && !r->reads_more && !(r->wanted_shapes[s / 64] >> (s % 64) & 1))
		return;
	id = names_text(r->sink.names, key, key_n);
	use = id < r->n_wanted ? r->wanted[id] : 0;
	if (!use)
		use = look_up(r, id, key, key_n);
	if (use & KEY_WEIGHT) {
		r->weight = span_weight_of_text(value, value_n);
		return;
	}
	for (enum span_field f = FIELD_ROUTE; use & KEY_NAMES && f <= FIELD_OPERATION; f++)
		keep_part(r, f, key, key_n, value, value_n);
	if (!(use & KEY_WANTED) && !all) {
		if (r->reads_more)
			keep_more(r, id, value, value_n);
		return;
	}
	r->v[r->n] = (struct attribute){id, names_value(r->sink.names, id, value, value_n)};
	r->n += r->v[r->n].value != 0;
}

void span_reader_link(const struct span *span, uint64_t high, uint64_t low, struct span_link *link)
{
	if ((!high && !low) || (high == span->trace_high && low == span->trace_low))
		return;
	if (!link->n++) {
		link->high = high;
		link->low = low;
	}
}

void span_reader_end_links(struct span_reader *r, struct span *span, const struct span_link *link)
{
	span->link = link->n && r->sink.links ? span_links_add(r->sink.links, link) : 0;
}

/* --- giving on ---------------------------------------------------------------------------------------------------------- */

static bool is_method(const char *name)
{
	static const char *const methods[] = {"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "CONNECT", "TRACE", "HTTP"};
	const char *word = !strncasecmp(name, "HTTP ", 5) ? name + 5 : name;

	return ANY_WHERE(i, ARRAY_SIZE(methods), !strcasecmp(word, methods[i]));
}

/* The part before '?' and '#', without "scheme://host", ids as "{}". */
static void put_route(struct str *out, const char *route, size_t n)
{
	const char *host = memmem(route, n, "://", 3), *path = host ? memchr(host + 3, '/', n - (size_t)(host + 3 - route)) : NULL;
	char plain[NAME_TEXT_MAX];
	size_t length = 0;

	if (host) {
		n = path ? n - (size_t)(path - route) : 1;
		route = path ? path : "/";
	}

	while (length < n && route[length] != '?' && route[length] != '#')
		length++;
	str_append(out, plain, span_name_plain(route, length, plain));
}

/* A name that says how, or with what, but not for what: "query", "grpc", "SELECT", or the operation alone. */
static bool is_generic(const char *name, const struct name_part *operation)
{
	static const char *const words[] = {"query", "execute", "db", "sql", "grpc", "rpc", "redis", "mysql", "postgresql", "postgres",
					    "mongodb", "cassandra", "kafka", "rabbitmq", "send", "publish", "receive", "process"};

	if (is_method(name) || (strlen(name) == operation->n && !strncasecmp(name, operation->text, operation->n)))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcasecmp(name, words[i]))
			return true;
	return *name && !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")];
}

/* A method may be named with its service. */
static void put_remote(struct str *out, const struct name_part *service, const struct name_part *method)
{
	if (!memchr(method->text, '/', method->n)) {
		str_append(out, service->text, service->n);
		str_puts(out, "/");
	}
	str_append(out, method->text, method->n);
}

/* The name with what the span is for, or nothing: the name says it, or it is not known. */
static void put_name(const struct span_reader *r, const char *name, struct str *out)
{
	const struct name_part *route = &r->name[0], *target = &r->name[FIELD_TARGET - FIELD_ROUTE],
			       *service = &r->name[FIELD_REMOTE - FIELD_ROUTE], *operation = &r->name[FIELD_OPERATION - FIELD_ROUTE];

	if (route->n && is_method(name)) {
		str_printf(out, "%s ", name);
		put_route(out, route->text, route->n);
	} else if (!is_generic(name, operation)) {
		return;
	} else if (service->n && operation->n) {
		put_remote(out, service, operation);
	} else if (target->n && !span_name_is_id(target->text, target->n)) {
		if (operation->n)
			str_append(out, operation->text, operation->n);
		else
			str_puts(out, name);
		str_puts(out, " ");
		put_route(out, target->text, target->n);
	}
}

static uint32_t name_of(struct span_reader *r, uint32_t operation)
{
	_cleanup_str_ struct str name = {};
	uint32_t text = 0;

	put_name(r, names_get(r->sink.names, operation), &name);
	if (name.len && !name.error)
		text = names_text(r->sink.names, name.data, name.len);
	return text ? text : operation;
}

static bool has_parts(const struct span_reader *r)
{
	size_t n = 0;

	for (size_t i = 0; i < NAME_PARTS; i++)
		n += r->name[i].n;
	return n > 0;
}

/* Which unit times of our days would have to be in to be read as this one (ns); NULL = none. Small times are those of traces that begin
 * at 0. */
static const char *unit_mistaken(int64_t start)
{
	static const struct {
		int64_t times;
		const char *words;
	} units[] = {{1000, "1000 times as great (microseconds read as nanoseconds, or milliseconds as microseconds)"},
		     {1000000, "a million times as great (milliseconds read as nanoseconds, or seconds as microseconds)"}};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (start >= OUR_DAYS_FIRST / units[i].times && start < OUR_DAYS_LAST / units[i].times)
			return units[i].words;
	return NULL;
}

int span_reader_put(struct span_reader *r, struct span *span)
{
	const char *mistaken = span->start < OUR_DAYS_FIRST / 2 ? unit_mistaken(span->start) : NULL;

	if (mistaken) {
		if (r->part == 0)
			span_fault(r->sink.faults, SPAN_FAULT_TIME, "span %016" PRIx64 ": it began in 1970; the times would be of our days if they were %s",
				   span->id, mistaken);
		return 0;
	}
	if (has_parts(r))
		span->operation = name_of(r, span->operation);
	return r->sink.put(r->sink.state, span);
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static uint32_t service_of(struct span_reader *r)
{
	struct names *names = r->sink.names;

	for (const uint32_t *key = r->service_keys; *key; key++) {
		for (size_t i = r->n; i-- > 0;) {
			const char *name, *value;

			if (r->v[i].key != *key)
				continue;
			name = names_get(names, *key);
			value = names_get(names, r->v[i].value);
			if (ends_with(name, "pod.name") || ends_with(name, "PodName") || !strcmp(name, "cmdb_id"))
				return names_text(names, value, span_service_of_pod(value, strlen(value)));
			return r->v[i].value;
		}
	}
	return names_text(names, SPAN_SERVICE_UNKNOWN, strlen(SPAN_SERVICE_UNKNOWN));
}

uint32_t span_reader_resource(struct span_reader *r, uint32_t *ret_service)
{
	*ret_service = service_of(r);
	return names_set(r->sink.names, *ret_service, r->v, r->n);
}

static struct cached_resource *cache_place(struct span_reader *r, const uint8_t *bytes, size_t n)
{
	uint64_t h = n, word;

	for (size_t at = 0; at + 8 <= n; at += n > 64 ? n / 8 : 8) {
		memcpy(&word, bytes + at, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	}
	if (n >= 8) {
		memcpy(&word, bytes + n - 8, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	}
	return &r->resources[h >> 32 & (CACHED - 1)];
}

const struct cached_resource *span_reader_cached(struct span_reader *r, const void *bytes, size_t n)
{
	const struct cached_resource *c = cache_place(r, bytes, n);

	return c->set && c->n == n && (!n || !memcmp(c->bytes, bytes, n)) ? c : NULL;
}

void span_reader_remember(struct span_reader *r, const void *bytes, size_t n, uint32_t set, uint32_t service)
{
	struct cached_resource *c = cache_place(r, bytes, n);
	uint8_t *grown = c->bytes;

	c->set = 0;
	if (n > c->allocated) {
		if (n - c->allocated > r->remembered_max - r->remembered)
			return;
		grown = realloc(c->bytes, n);
		if (!grown)
			return;
		c->bytes = grown;
		r->remembered += n - c->allocated;
		c->allocated = n;
	}
	if (n)
		memcpy(c->bytes, bytes, n);
	c->n = n;
	c->set = set;
	c->service = service;
}

static bool all_of(const char *text, size_t n, size_t least, size_t most)
{
	if (n < least || n > most)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]))
			return false;
	return true;
}

static size_t last_dash(const char *text, size_t n)
{
	while (n > 0 && text[n - 1] != '-')
		n--;
	return n ? n - 1 : SIZE_MAX;
}

size_t span_service_of_pod(const char *pod, size_t n)
{
	size_t dash = last_dash(pod, n), above;
	bool number = true;

	if (dash == SIZE_MAX || !dash)
		return n;
	for (size_t i = dash + 1; i < n; i++)
		number &= isdigit((unsigned char)pod[i]) != 0;
	if (number && n - dash - 1 <= 4 && n > dash + 1)
		return dash; /* a stateful set's */
	if (!all_of(pod + dash + 1, n - dash - 1, 5, 5))
		return n;
	above = last_dash(pod, dash);
	if (above != SIZE_MAX && above && all_of(pod + above + 1, dash - above - 1, 6, 10) &&
	    strcspn(pod + above + 1, "0123456789") < dash - above - 1)
		return above;
	return dash;
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* OpenTelemetry, "TraceState: Probability Sampling": of 2^56 random values those from the threshold on are sampled. */
static uint64_t weight_of_threshold(const char *digits, size_t n)
{
	const uint64_t range = (uint64_t)1 << 56;
	uint64_t threshold = 0;

	for (size_t i = 0; i < 14; i++) {
		int digit = i < n ? hex(digits[i]) : 0;

		if (digit < 0)
			return 0;
		threshold = threshold << 4 | (uint64_t)digit;
	}
	return (uint64_t)((unsigned __int128)range * SPAN_WEIGHT_ONE / (range - threshold));
}

static uint64_t weight_of_member(const char *member, size_t n)
{
	for (size_t at = 0; at < n;) {
		const char *field = member + at, *end = memchr(field, ';', n - at);
		size_t length = end ? (size_t)(end - field) : n - at;

		if (length > 3 && length <= 17 && !memcmp(field, "th:", 3))
			return weight_of_threshold(field + 3, length - 3);
		if (length > 2 && length < 5 && !memcmp(field, "p:", 2)) {
			unsigned p = (unsigned)strtoul(field + 2, NULL, 10);

			return p < 46 ? SPAN_WEIGHT_ONE << p : 0;
		}
		at += length + 1;
	}
	return 0;
}

uint64_t span_weight_of_tracestate(const char *text, size_t n)
{
	char copy[512];

	if (n >= sizeof(copy))
		return 0;
	memcpy(copy, text, n);
	copy[n] = '\0';
	for (char *rest = copy, *member; (member = strsep(&rest, ","));) {
		member += strspn(member, " \t");
		if (!strncmp(member, "ot=", 3))
			return weight_of_member(member + 3, strlen(member + 3));
	}
	return 0;
}

uint64_t span_reader_weight(const struct span_reader *r, const char *tracestate, size_t n)
{
	uint64_t weight = n ? span_weight_of_tracestate(tracestate, n) : 0;

	return weight ? weight : r->weight ? r->weight : SPAN_WEIGHT_ONE;
}

uint64_t span_weight_of_text(const char *text, size_t n)
{
	char copy[32], *end;
	double value;

	if (!n || n >= sizeof(copy))
		return 0;
	memcpy(copy, text, n);
	copy[n] = '\0';
	value = strtod(copy, &end);
	if (*end || !(value > 0) || value > 0x1p40)
		return 0;
	return (uint64_t)llround(value * (double)SPAN_WEIGHT_ONE);
}

enum span_kind span_kind_of_text(const char *text, size_t n)
{
	static const char *const kinds[] = {"unspecified", "internal", "server", "client", "producer", "consumer"},
				 *const skywalking[] = {"", "local", "entry", "exit"};

	if (n > 10 && !strncasecmp(text, "span_kind_", 10)) {
		text += 10;
		n -= 10;
	}
	if (n == 1 && *text >= '0' && *text <= '5')
		return (enum span_kind)(*text - '0');
	for (int i = SPAN_INTERNAL; i <= SPAN_CONSUMER; i++)
		if (strlen(kinds[i]) == n && !strncasecmp(kinds[i], text, n))
			return (enum span_kind)i;
	for (int i = SPAN_INTERNAL; i <= SPAN_CLIENT; i++)
		if (strlen(skywalking[i]) == n && !strncasecmp(skywalking[i], text, n))
			return (enum span_kind)i;
	return SPAN_UNKNOWN;
}

bool span_status_is_error(const char *text, size_t n)
{
	static const char *const bad[] = {"error", "status_code_error", "true", "2", "failed", "failure"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (n == strlen(bad[i]) && !strncasecmp(text, bad[i], n))
			return true;
	return n == 3 && text[0] == '5';
}

static bool is_not_false(const char *value, size_t n)
{
	return !(n == 5 && !strncasecmp(value, "false", 5));
}

static bool is_error_word(const char *value, size_t n)
{
	return n == 5 && !strncmp(value, "ERROR", 5);
}

static bool is_http_error(const char *value, size_t n)
{
	return n == 3 && value[0] == '5';
}

static bool is_grpc_error(const char *value, size_t n)
{
	return !(n == 2 && !strncasecmp(value, "OK", 2)) && !(n == 1 && *value == '0');
}

bool span_tag_is_error(const char *key, size_t key_n, const char *value, size_t n)
{
	static const struct {
		const char *key;
		bool (*failed)(const char *value, size_t n);
	} tags[] = {{"error", is_not_false}, {"otel.status_code", is_error_word}, {"http.status_code", is_http_error},
		    {"http.response.status_code", is_http_error}, {"grpc.status", is_grpc_error}, {"rpc.grpc.status_code", is_grpc_error}};

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		if (strlen(tags[i].key) == key_n && !strncasecmp(tags[i].key, key, key_n))
			return tags[i].failed(value, n);
	return false;
}

const struct span_source *span_source_of(struct input *in)
{
	int64_t n = input_need(in, 4096);

	for (const struct span_source *const *s = span_sources; n > 0 && *s; s++)
		if ((*s)->recognises(input_at(in), (size_t)n))
			return *s;
	return NULL;
}

const struct span_source *span_source_named(const char *name)
{
	for (const struct span_source *const *s = span_sources; *s; s++)
		if (!strcmp((*s)->name, name))
			return *s;
	return NULL;
}
