#include "spans/pipeline/span-receive.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "lib/input/deployments.h"
#include "lib/net/http-server.h"
#include "lib/rights/memory-budget.h"
#include "lib/system/locked-memory.h"
#include "spans/formats/otlp.h"

#define RETRY_AFTER 2 /* s */
#define DEPLOYMENTS_BODY ((size_t)1 << 20)

#define HOUR	    (3600 * NS_PER_SEC)
#define APART	    (6 * HOUR)  /* parts are kept as they are for so long: `watch` looks at single ones */
#define BEHIND	    (48 * HOUR) /* what a receiver that was not running may have left */
#define REMEMBERED  ((size_t)2 << 20) /* bytes of resources, by each reader */
#define IDLE_READERS 4
#define PATIENCE    300 /* tenths of a second that a request waits for memory */
#define PIECE_TRACES 1024 /* that are handed on at a time for memory */
#define LONGEST	    65536 /* spans of one trace */
#define TURN_SPANS  512 /* that one request puts before others have their turn: a millisecond */
#define SLOT	    (60 * NS_PER_SEC)
#define TAKEN_KEPT 4096 /* of 100 clients that each send every 5 s: three minutes, longer than an SDK tries again */
#define OPEN_MOST   64 /* windows at a time: of senders whose clocks differ, each has its own */
#define KEPT_MOST   4096 /* ... with those that are closed, but not written yet: of one request each, some 20 MB */
#define AHEAD	    (300 * NS_PER_SEC) /* clocks that are set by a network differ by less */
#define LATE_AGAIN  (30 * NS_PER_SEC) /* what came for a window that has ended is put when this has passed */

/* Requests that began in [begin, begin + window). */
struct open_window {
	int64_t begin;	/* wall ns */
	int64_t opened; /* wall ns; names the part, so that nothing put earlier is replaced */
	bool apart;	/* its time had passed when it was opened, or was far ahead */
	bool closed;	/* others needed its place: takes no more requests */
	struct forest forest;
	uint64_t put, written; /* spans that its part has, and that are known to be in the store */
};

struct receiver {
	struct receive_options options;
	struct http_server *server, *grpc; /* NULL = none */
	char *grpc_error;
	struct memory_budget work;
	pthread_mutex_t turn; /* of who waits for the lock: who lets go of it for others comes behind them */
	pthread_mutex_t lock; /* all below */
	VEC(struct span_reader *) idle; /* each request at work has one */
	VEC(uint64_t) at_work;		/* hashes of their bodies */
	struct pipeline pipeline;
	struct receiver_counts counts;
	VEC(struct open_window) windows;
	uint32_t thinned;  /* of the sample that windows begin with: as many requests as the last ones had */
	struct forest_tally told; /* of the pipeline's counts, what windows already have */
	int64_t written, last_span; /* boot ns */
	int64_t now;	     /* wall ns: when the message that is read came */
	int64_t last_opened; /* wall ns */
	int64_t next_hour; /* wall ns: to be merged next; 0 = not known yet */
	struct deployments deployments; /* that are not in the store yet */
	atomic_bool short_of_memory; /* senders, and traces, wait for it */
	uint64_t handed; /* spans, since memory was looked at */
	uint64_t taken[TAKEN_KEPT]; /* hashes of the bodies taken last */
	size_t n_taken;
};

#define CLOCK_AHEAD "spans begin minutes from now: the clock of their sender is ahead; they were taken with the times they say"

enum body_kind { BODY_PROTOBUF, BODY_JSON, BODY_OTHER };

/* By Content-Type; parameters (";charset=utf-8") and endings ("application/grpc+proto") do not matter. */
static const struct body_type {
	const char *begins;
	enum body_kind kind;
} body_types[] = {{"application/x-protobuf", BODY_PROTOBUF}, {"application/protobuf", BODY_PROTOBUF}, {"application/json", BODY_JSON},
		  {"application/grpc", BODY_PROTOBUF}};

static enum body_kind body_kind(const struct http_exchange *e)
{
	const char *type = http_header(e, "Content-Type");

	for (size_t i = 0; type && i < ARRAY_SIZE(body_types); i++)
		if (!strncasecmp(type, body_types[i].begins, strlen(body_types[i].begins)))
			return body_types[i].kind;
	return BODY_OTHER;
}

static bool json_body(const struct http_exchange *e)
{
	return body_kind(e) == BODY_JSON;
}

/* A request for traces. Its bytes are parsed outside of the lock; what they say is taken under it, a block at a time. */
struct message {
	struct receiver *r;
	struct span_reader *reader;
	struct span_faults faults;
	uint64_t spans, others, ahead; /* taken from it, by the counts of the receiver */
	unsigned since;		       /* spans since others had their turn */
};

static void lock_in_turn(struct receiver *r)
{
	pthread_mutex_lock(&r->turn);
	pthread_mutex_lock(&r->lock);
	pthread_mutex_unlock(&r->turn);
}

/* All that the counts gain while it has the lock comes from it. */
static void hold(void *state, bool held)
{
	struct message *m = state;
	struct receiver *r = m->r;
	uint64_t sign = held ? (uint64_t)-1 : 1;

	if (held)
		lock_in_turn(r);
	m->spans += sign * assembler_tally(r->pipeline.assembler).spans;
	m->others += sign * names_others(r->pipeline.names);
	if (!held)
		pthread_mutex_unlock(&r->lock);
}

static bool is_short_of_memory(const struct receiver *r)
{
	size_t more = r->options.pipeline.most > ASSEMBLE_SPANS_MAX ? (r->options.pipeline.most - ASSEMBLE_SPANS_MAX) * sizeof(struct span) : 0;

	return locked_memory_resident() > RECEIVE_HEAP_MAX + more;
}

/* Others have their turn; where memory is short receiver_tick() makes some. 0 or -EDQUOT. */
static int take_turns(struct message *m)
{
	struct receiver *r = m->r;
	int result = 0;

	hold(m, false);
	for (unsigned i = 0; result == 0 && is_short_of_memory(r); i++) {
		atomic_store(&r->short_of_memory, true);
		result = i < PATIENCE ? 0 : -EDQUOT;
		poll(NULL, 0, 100);
	}
	hold(m, true);
	return result;
}

/* Notes spans whose sender's clock is ahead before they wait for their trace. */
static int put_span(void *state, const struct span *span)
{
	struct message *m = state;
	struct receiver *r = m->r;

	if (span->start > r->now + AHEAD) {
		m->ahead++;
		r->counts.ahead++;
		r->counts.ahead_by = span->start - r->now;
		snprintf(r->counts.ahead_service, sizeof(r->counts.ahead_service), "%s", names_get(r->pipeline.names, span->service));
	}
	int result = ++m->since % TURN_SPANS == 0 ? take_turns(m) : 0;

	return result == 0 ? assembler_put(r->pipeline.assembler, span) : result;
}

static int take_reader(struct message *m)
{
	struct receiver *r = m->r;
	struct span_sink sink = r->pipeline.reader.sink;
	int result = 0;

	if (r->idle.n) {
		m->reader = r->idle.v[--r->idle.n];
	} else {
		m->reader = calloc(1, sizeof(*m->reader));
		result = m->reader ? span_reader_init(m->reader, &sink) : -ENOMEM;
	}
	if (result < 0)
		return result;
	m->reader->remembered_max = REMEMBERED;
	m->reader->sink.state = m;
	m->reader->sink.put = put_span;
	m->reader->sink.hold = hold;
	m->reader->sink.faults = &m->faults;
	m->reader->sink.budget = &r->work;
	return 0;
}

static void give_reader(struct message *m)
{
	if (!m->reader || (m->r->idle.n < IDLE_READERS && VEC_PUSH(m->r->idle, m->reader) == 0))
		return;
	span_reader_free(m->reader);
	free(m->reader);
}

static int read_body(struct message *m, struct http_exchange *e)
{
	struct input in;

	if (!json_body(e))
		return otlp_message(m->reader, "request", 0, (const uint8_t *)e->body.data, e->body.len);
	input_of_memory(&in, "request", e->body.data, e->body.len);
	return source_otlp_json.read(m->reader, &in);
}

static uint64_t faults_of(const struct span_faults *faults)
{
	uint64_t n = 0;

	for (int i = 0; i < SPAN_FAULT_COUNT; i++)
		n += i == SPAN_FAULT_FIELD ? 0 : faults->n[i];
	return n;
}

static const char *first_fault(const struct span_faults *faults)
{
	for (int i = 0; i < SPAN_FAULT_COUNT; i++)
		if (faults->n[i])
			return faults->first[i];
	return "";
}

/* Makes a warning for the answer to a message that was taken; NULL = none. */
static char *warning_of(const struct receiver *r, bool ahead, bool folded)
{
	char *text = NULL;

	if (folded && asprintf(&text, "%" PRIu64 " names beyond the first %d are counted as one, '" NAME_OTHERS "': names of operations hold numbers or addresses; "
				      "name them by the route", names_others(r->pipeline.names), RECEIVE_NAMES_MAX) < 0)
		return NULL;
	return folded ? text : ahead ? strdup(CLOCK_AHEAD) : NULL;
}

static void answer_json(struct http_exchange *e, uint64_t rejected, const char *warning)
{
	e->type = "application/json";
	if (rejected)
		str_printf(&e->reply, "{\"partialSuccess\":{\"rejectedSpans\":\"%llu\",\"errorMessage\":\"some of it cannot be read; "
				      "the receiver counts what and where\"}}", (unsigned long long)rejected);
	else
		str_printf(&e->reply, warning ? "{\"partialSuccess\":{\"errorMessage\":\"%s\"}}" : "{}", warning);
}

/* ExportTraceServiceResponse: empty, or { partial_success = 1 { rejected_spans = 1, error_message = 2 } }; nothing rejected, but a
 * message, is a warning. */
static void answer(struct http_exchange *e, uint64_t rejected, const char *first, const char *warning)
{
	_cleanup_str_ struct str partial = {};
	const char *why = rejected ? first : warning;

	if (json_body(e)) {
		answer_json(e, rejected, warning);
		return;
	}
	e->type = "application/x-protobuf";
	str_puts(&e->reply, "");
	if (!rejected && !warning)
		return;
	if (rejected) {
		str_put_varint(&partial, 1 << 3);
		str_put_varint(&partial, rejected);
	}
	str_put_varint(&partial, 2 << 3 | 2);
	str_put_blob(&partial, why, strlen(why));
	str_put_varint(&e->reply, 1 << 3 | 2);
	str_put_blob(&e->reply, partial.data, partial.len);
}

static bool is_full(const struct receiver *r)
{
	uint32_t most = r->options.pipeline.most ? r->options.pipeline.most : ASSEMBLE_SPANS_MAX;

	return assembler_room(r->pipeline.assembler) < most / 16 || atomic_load(&r->short_of_memory);
}

/* A client that heard no answer sends the same bytes again. */
static bool is_at_work(const struct receiver *r, uint64_t hash)
{
	return ANY_WHERE(i, r->at_work.n, r->at_work.v[i] == hash);
}

static void end_work(struct receiver *r, uint64_t hash)
{
	size_t i = 0;

	while (i < r->at_work.n && r->at_work.v[i] != hash)
		i++;
	if (i < r->at_work.n)
		r->at_work.v[i] = r->at_work.v[--r->at_work.n];
}

static bool was_taken(const struct receiver *r, uint64_t hash)
{
	return ANY_WHERE(i, TAKEN_KEPT, r->taken[i] == hash);
}

/* Without the lock, with which it returns. */
static int read_message(struct message *m, struct http_exchange *e)
{
	struct receiver *r = m->r;
	int result, ended;

	hold(m, true);
	r->now = clock_wall();
	assembler_set_now(r->pipeline.assembler, r->now);
	assembler_begin_message(r->pipeline.assembler);
	result = take_reader(m);
	hold(m, false);
	if (result == 0)
		result = read_body(m, e);
	lock_in_turn(r);
	give_reader(m);
	ended = assembler_end_message(r->pipeline.assembler);
	return result < 0 ? result : ended;
}

/* Under the lock, which it lets go of while it reads. */
static void read_traces(struct receiver *r, struct http_exchange *e, uint64_t hash)
{
	_cleanup_free_ char *warning = NULL;
	struct message m = {.r = r};
	int result = VEC_PUSH(r->at_work, hash);
	uint64_t faults;

	if (result == 0) {
		pthread_mutex_unlock(&r->lock);
		result = read_message(&m, e);
		end_work(r, hash);
	}
	faults = faults_of(&m.faults);
	span_faults_add(&r->pipeline.faults, &m.faults);
	r->counts.spans += m.spans;
	r->counts.rejected += faults;
	r->last_span = clock_boot();
	if (result < 0) {
		e->retry_after = RETRY_AFTER;
		http_fail(e, 503, "%s", result == -EDQUOT ? "this request, with others at work, takes more memory than there is for them; send fewer spans at a time" : strerror(-result));
	} else if (!m.spans && (m.faults.n[SPAN_FAULT_SYNTAX] || m.faults.n[SPAN_FAULT_TRUNCATED])) {
		r->counts.unreadable++;
		http_fail(e, 400, "the body is not an ExportTraceServiceRequest in %s", json_body(e) ? "JSON" : "protobuf");
	} else {
		warning = warning_of(r, m.ahead > 0, m.others > 0);
		answer(e, faults, first_fault(&m.faults), warning);
		r->taken[r->n_taken++ % TAKEN_KEPT] = hash;
	}
}

static void take_traces(struct http_exchange *e)
{
	struct receiver *r = e->context;
	enum body_kind kind = body_kind(e);
	uint64_t hash = hmap_hash_bytes(e->body.data, e->body.len) | 1;

	lock_in_turn(r);
	r->counts.requests++;
	if (kind == BODY_OTHER) {
		r->counts.unreadable++;
		http_fail(e, 400, "the Content-Type is neither application/x-protobuf nor application/json");
	} else if (!json_body(e) && !otlp_is_request((const uint8_t *)e->body.data, e->body.len)) {
		r->counts.unreadable++; /* none of it is taken: a client that sends it again changed sends all of it */
		http_fail(e, 400, "the body is not an ExportTraceServiceRequest in protobuf");
	} else if (is_full(r)) {
		r->counts.refused++;
		e->retry_after = RETRY_AFTER;
		http_fail(e, 429, "as many spans wait for their traces as there is memory for; try again");
	} else if (is_at_work(r, hash)) {
		e->retry_after = RETRY_AFTER;
		http_fail(e, 503, "the same bytes are being read for another request; try again");
	} else if (was_taken(r, hash)) {
		r->counts.repeated++;
		answer(e, 0, NULL, NULL);
	} else {
		read_traces(r, e, hash);
	}
	pthread_mutex_unlock(&r->lock);
}

/* Every SDK sends metrics and logs, too, unless it is configured not to: they are dropped, and counted. */
static void drop_signal(struct http_exchange *e)
{
	struct receiver *r = e->context;

	pthread_mutex_lock(&r->lock);
	r->counts.dropped++;
	answer(e, 0, NULL, NULL);
	pthread_mutex_unlock(&r->lock);
}

/* "Version X of package P began at host Y": sent by a pipeline that deploys. */
static void take_deployments(struct http_exchange *e)
{
	struct receiver *r = e->context;
	_cleanup_free_ char *error = NULL;
	size_t had;
	int result;

	pthread_mutex_lock(&r->lock);
	had = r->deployments.list.n;
	result = deployments_parse("the body", e->body.data ? e->body.data : "", e->body.len, DEPLOYMENT_NEEDS_VERSION, clock_wall(), &r->deployments, &error);
	r->counts.deployments += r->deployments.list.n - had;
	if (result == -EINVAL) {
		http_fail(e, 400, "%s", error ? error : "expected {\"package\": ..., \"version\": ..., \"host\": ..., \"time\": ...}");
	} else if (result < 0) {
		e->retry_after = RETRY_AFTER;
		http_fail(e, 503, "%s", strerror(-result));
	} else {
		e->type = "application/json";
		str_printf(&e->reply, "{\"deployments\":%zu}", r->deployments.list.n - had);
	}
	pthread_mutex_unlock(&r->lock);
}

static const struct http_route routes[] = {
	{"POST", "/v1/deployments", take_deployments, DEPLOYMENTS_BODY, SCOPE_ALL},
	{"POST", "/v1/traces", take_traces, RECEIVE_BODY_MAX, SCOPE_ALL},
	{"POST", "/v1/metrics", drop_signal, RECEIVE_BODY_MAX, SCOPE_ALL},
	{"POST", "/v1/logs", drop_signal, RECEIVE_BODY_MAX, SCOPE_ALL},
	{},
};

#define COLLECTOR "/opentelemetry.proto.collector."

static const struct http_route grpc_routes[] = {
	{"POST", COLLECTOR "trace.v1.TraceService/Export", take_traces, RECEIVE_BODY_MAX, SCOPE_ALL},
	{"POST", COLLECTOR "metrics.v1.MetricsService/Export", drop_signal, RECEIVE_BODY_MAX, SCOPE_ALL},
	{"POST", COLLECTOR "logs.v1.LogsService/Export", drop_signal, RECEIVE_BODY_MAX, SCOPE_ALL},
	{},
};

/* --- windows ------------------------------------------------------------------------------------------------------------ */

static int64_t begin_of(const struct receiver *r, int64_t wall)
{
	return wall - ((wall % r->options.window) + r->options.window) % r->options.window;
}

/* When every request that began before `wall` and came in time is in its window. */
static int64_t settled_by(const struct receiver *r, int64_t wall)
{
	return wall + r->options.pipeline.late + r->options.flush;
}

static bool has_ended(const struct receiver *r, const struct open_window *w, int64_t now)
{
	return w->closed || now >= (w->apart ? w->opened + LATE_AGAIN : settled_by(r, w->begin + r->options.window));
}

static bool lies_apart(const struct receiver *r, int64_t begin, int64_t now)
{
	return begin > now + AHEAD || now >= settled_by(r, begin + r->options.window);
}

/* No two of the same begin have the same key, which says milliseconds. */
static int64_t next_opened(struct receiver *r, int64_t now)
{
	r->last_opened = now > r->last_opened + NS_PER_MS ? now : r->last_opened + NS_PER_MS;
	return r->last_opened;
}

static int open_window(struct receiver *r, int64_t begin)
{
	const struct forest *like = &r->pipeline.forest;
	int64_t now = clock_wall();
	struct open_window fresh = {.begin = begin, .opened = next_opened(r, now), .apart = lies_apart(r, begin, now)};
	int result = forest_init(&fresh.forest, r->pipeline.names, like->slot_width);

	if (result < 0)
		return result;
	fresh.forest.rule = strdup(like->rule);
	fresh.forest.n_dimensions = like->n_dimensions;
	fresh.forest.thinned = r->thinned;
	memcpy(fresh.forest.dimensions, like->dimensions, sizeof(fresh.forest.dimensions));
	if (!fresh.forest.rule || VEC_PUSH(r->windows, fresh) < 0) {
		forest_free(&fresh.forest);
		return -ENOMEM;
	}
	return 0;
}

static uint64_t distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* Where as many windows are open as may be, closes the one farthest from now: ordinary ones stay. */
static void make_room(struct receiver *r)
{
	struct open_window *farthest = NULL;
	int64_t now = clock_wall();
	size_t open = 0;

	for (size_t i = 0; i < r->windows.n; i++) {
		struct open_window *w = &r->windows.v[i];

		if (w->closed)
			continue;
		open++;
		if (!farthest || distance(w->begin, now) > distance(farthest->begin, now))
			farthest = w;
	}
	if (open < OPEN_MOST)
		return;
	farthest->closed = true;
	r->counts.crowded++;
}

/* The window of a moment. 0, -ENOMEM, or -ENOBUFS where too many wait to be written. */
static int window_of(struct receiver *r, int64_t wall, struct open_window **ret)
{
	int64_t begin = begin_of(r, wall);
	int result;

	for (size_t i = r->windows.n; i-- > 0;) {
		*ret = &r->windows.v[i];
		if ((*ret)->begin == begin && !(*ret)->closed)
			return 0;
	}
	if (r->windows.n >= KEPT_MOST && lies_apart(r, begin, clock_wall()))
		return -ENOBUFS;
	make_room(r);
	result = open_window(r, begin);
	if (result == 0)
		*ret = &r->windows.v[r->windows.n - 1];
	return result;
}

/* When a trace's root began; without a root, its first span. */
static int64_t began_at(const struct span *spans, uint32_t n)
{
	int64_t began = INT64_MAX;
	bool rooted = false;

	for (uint32_t i = 0; i < n; i++) {
		bool root = !spans[i].parent;

		if (root == rooted ? spans[i].start < began : root)
			began = spans[i].start;
		rooted |= root;
	}
	return began;
}

/* A trace goes to the window in which it began. */
static int take_trace(void *state, const struct span *spans, uint32_t n)
{
	struct receiver *r = state;
	struct open_window *w = NULL;
	int result = window_of(r, began_at(spans, n), &w);

	if (result == -ENOBUFS)
		r->counts.left_out++;
	if (result < 0)
		return result == -ENOBUFS ? 0 : result;
	r->pipeline.builder.forest = &w->forest;
	result = forest_builder_add(&r->pipeline.builder, spans, n);
	r->thinned = w->forest.thinned > r->thinned ? w->forest.thinned : r->thinned;
	r->handed += n;
	if (result < 0 || r->handed < TURN_SPANS)
		return result;
	r->handed = 0;
	if (is_short_of_memory(r))
		atomic_store(&r->short_of_memory, true);
	return atomic_load(&r->short_of_memory);
}

/* What was counted before traces were whole: reported with the window that is put next. Under the lock. */
static void tell_counts(struct receiver *r, struct forest_tally *to)
{
	struct assembler_tally tally = assembler_tally(r->pipeline.assembler);

	to->cut += tally.cut - r->told.cut;
	to->late += tally.late - r->told.late;
	r->told.cut = tally.cut;
	r->told.late = tally.late;
	for (int i = 0; i < SPAN_FAULT_COUNT; i++) {
		to->faults[i] += r->pipeline.faults.n[i] - r->told.faults[i];
		r->told.faults[i] = r->pipeline.faults.n[i];
	}
}

/* A copy takes as much again. Under the lock. */
static void close_for_memory(struct receiver *r, struct open_window *w)
{
	size_t others = assembler_bytes(r->pipeline.assembler) + atomic_load(&r->work.used);

	if (w->closed || (locked_memory_resident() < others + RECEIVE_COPY_MAX && !atomic_load(&r->short_of_memory)))
		return;
	w->closed = true;
	r->counts.pressed++;
}

/* As bytes: of a copy where the window takes more requests. Under the lock. */
static int pack(struct receiver *r, struct open_window *w, struct str *out, struct span_part *part)
{
	struct forest copy;
	int result = w->closed ? forest_finish(&w->forest) : forest_init(&copy, r->pipeline.names, w->forest.slot_width);

	if (w->closed)
		return result == 0 ? pipeline_part(&w->forest, out, part) : result;
	if (result == 0)
		result = forest_merge(&copy, &w->forest);
	if (result == 0)
		result = forest_finish(&copy);
	if (result == 0)
		result = pipeline_part(&copy, out, part);
	forest_free(&copy);
	return result;
}

/* Puts what a window has, if that is more than before. */
static int put_window(struct receiver *r, size_t i)
{
	_cleanup_str_ struct str bytes = {.max = (size_t)2 << 30};
	struct span_part part = {};
	char key[96], begin[32], opened[32];
	struct open_window *w;
	uint64_t spans;
	int result = 0;

	pthread_mutex_lock(&r->lock);
	w = &r->windows.v[i];
	spans = w->forest.tally.spans;
	snprintf(key, sizeof(key), "receive %s, opened %s",
		 clock_format_rfc3339(w->begin, begin, sizeof(begin)),
		 clock_format_rfc3339(w->opened, opened, sizeof(opened)));
	if (spans != w->written) {
		close_for_memory(r, w);
		tell_counts(r, &w->forest.tally);
		result = pack(r, w, &bytes, &part);
	}
	pthread_mutex_unlock(&r->lock);
	part.key = key;
	part.source = "receive";
	if (result == 0 && bytes.len && part.requests)
		result = span_store_put(r->options.store, &part);
	pthread_mutex_lock(&r->lock);
	if (result == 0)
		r->windows.v[i].put = spans;
	pthread_mutex_unlock(&r->lock);
	return result;
}

/* The first n of them; many at once. */
static int put_windows(struct receiver *r, size_t n)
{
	bool together = n > OPEN_MOST;
	int result = together ? span_store_begin(r->options.store) : 0;

	if (result < 0)
		return result;
	/* only this thread takes windows away: those that are there stay */
	for (size_t i = 0; i < n && result == 0; i++)
		result = put_window(r, i);
	if (together)
		result = span_store_end(r->options.store, result);
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < n && result == 0; i++)
		r->windows.v[i].written = r->windows.v[i].put;
	pthread_mutex_unlock(&r->lock);
	return result;
}

/* Where it had few requests, the next one has a sample of more of them. */
static void end_window(struct receiver *r, struct open_window *w)
{
	if (!w->apart && !w->closed && r->thinned && w->forest.n_requests < FOREST_REQUESTS_MAX / 4)
		r->thinned--;
	forest_free(&w->forest);
}

/* Frees windows that have ended and are in the store. */
static bool close_windows(struct receiver *r, int64_t now)
{
	size_t kept = 0, n;

	pthread_mutex_lock(&r->lock);
	n = r->windows.n;
	for (size_t i = 0; i < n; i++) {
		struct open_window *w = &r->windows.v[i];

		if (has_ended(r, w, now) && w->written == w->forest.tally.spans)
			end_window(r, w);
		else
			r->windows.v[kept++] = *w;
	}
	r->windows.n = kept;
	pthread_mutex_unlock(&r->lock);
	return kept < n;
}

static int write_windows(struct receiver *r)
{
	int64_t now = clock_wall(), spared = 0;
	int result;
	size_t n;

	pthread_mutex_lock(&r->lock);
	n = r->windows.n;
	pthread_mutex_unlock(&r->lock);
	result = put_windows(r, n);
	if (result == 0 && close_windows(r, now)) {
		result = span_store_forget(r->options.store, now, r->options.keep, &spared);
		pthread_mutex_lock(&r->lock);
		r->counts.spared = (uint64_t)spared;
		pthread_mutex_unlock(&r->lock);
	}
	if (result == 0)
		result = span_store_set_complete(r->options.store, begin_of(r, now - (settled_by(r, 0))));
	return result;
}

/* --- hours ---------------------------------------------------------------------------------------------------------------- */

struct hour {
	int64_t begin;
	struct forest forest;
	VEC(int64_t) ids;
};

static int add_to_hour(void *state, const struct span_part *part)
{
	struct hour *h = state;
	int r = 0;

	if (part->from < h->begin || part->from >= h->begin + HOUR || strcmp(part->source, "receive"))
		return 0;
	r = forest_read(&h->forest, part->bytes, part->n);
	return r == 0 ? VEC_PUSH(h->ids, part->id) : r;
}

static int put_hour(struct span_store *store, struct hour *h)
{
	_cleanup_str_ struct str bytes = {.max = (size_t)2 << 30};
	struct span_part part = {};
	char key[64], when[32];
	int r = forest_finish(&h->forest);

	if (r == 0)
		r = pipeline_part(&h->forest, &bytes, &part);
	snprintf(key, sizeof(key), "receive hour %s", clock_format_rfc3339(h->begin, when, sizeof(when)));
	part.key = key;
	part.source = "receive";
	return r == 0 ? span_store_merge(store, h->ids.v, h->ids.n, &part) : r;
}

int receiver_merge_hour(struct span_store *store, int64_t begin)
{
	struct names *names = names_new();
	struct hour h = {.begin = begin};
	int r = names ? forest_init(&h.forest, names, SLOT) : -ENOMEM;

	if (r == 0)
		r = span_store_each(store, begin, begin + HOUR - 1, &h, add_to_hour);
	if (r == 0 && h.ids.n > 1)
		r = put_hour(store, &h);
	forest_free(&h.forest);
	VEC_FREE(h.ids);
	names_free(names);
	return r == -EEXIST ? 0 : r;
}

/* One hour a time: those that are older than every window that is judged. */
static int merge_old(struct receiver *r)
{
	int64_t last = (clock_wall() - APART) / HOUR * HOUR - HOUR;
	int result;

	if (!r->next_hour)
		r->next_hour = last - BEHIND;
	if (r->next_hour > last)
		return 0;
	result = receiver_merge_hour(r->options.store, r->next_hour);
	r->next_hour += HOUR;
	return result;
}

/* New ones are taken out under the lock, and kept again where they cannot be written. */
static int write_deployments(struct receiver *r)
{
	struct deployments fresh;
	int result = 0;

	pthread_mutex_lock(&r->lock);
	fresh = r->deployments;
	r->deployments = (struct deployments){};
	pthread_mutex_unlock(&r->lock);
	for (size_t i = 0; i < fresh.list.n && result == 0; i++)
		result = span_store_deploy(r->options.store, &fresh.list.v[i]);
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; result < 0 && i < fresh.list.n; i++)
		(void)deployments_add(&r->deployments, &fresh.list.v[i]);
	pthread_mutex_unlock(&r->lock);
	deployments_free(&fresh);
	return result;
}

/* Do many windows wait to be written? */
static bool is_crowded(struct receiver *r)
{
	bool crowded;

	pthread_mutex_lock(&r->lock);
	crowded = r->windows.n > KEPT_MOST / 4;
	pthread_mutex_unlock(&r->lock);
	return crowded;
}

/* Hands on the traces that wait, all of them or those whose memory is needed. Where memory is short the windows are written and freed before. */
static int hand_on(struct receiver *r, bool all)
{
	bool waits = true;
	int result = 0;

	while (result == 0 && waits) {
		bool is_short = is_short_of_memory(r);

		atomic_store(&r->short_of_memory, is_short);
		if (is_short) {
			result = write_windows(r);
			locked_memory_release();
		}
		if (result < 0 || (!all && !is_short_of_memory(r)))
			break;
		pthread_mutex_lock(&r->lock);
		result = assembler_flush(r->pipeline.assembler, PIECE_TRACES);
		waits = assembler_waiting(r->pipeline.assembler) > 0;
		pthread_mutex_unlock(&r->lock);
	}
	atomic_store(&r->short_of_memory, false);
	return result;
}

int receiver_tick(struct receiver *r)
{
	int64_t now = clock_boot();
	bool silent;
	int result = 0;

	pthread_mutex_lock(&r->lock);
	silent = r->last_span && now - r->last_span > r->options.pipeline.late; /* nothing will come */
	pthread_mutex_unlock(&r->lock);
	if (silent || atomic_load(&r->short_of_memory))
		result = hand_on(r, silent);
	if (result == 0)
		result = write_deployments(r);
	if (result == 0 && (now - r->written >= r->options.flush || is_crowded(r))) {
		r->written = now;
		result = write_windows(r);
		if (result == 0)
			result = merge_old(r);
	}
	return result;
}

/* The address for gRPC where none is given: that of HTTP, with the port before it, as 4317 is before 4318; of any port, any. NULL without memory. */
static char *port_before(const char *listen)
{
	const char *colon = strrchr(listen, ':'), *port = colon ? colon + 1 : listen;
	long number = atol(port);
	char *text;

	return asprintf(&text, "%.*s%ld", (int)(port - listen), listen, number > 1 ? number - 1 : 0) < 0 ? NULL : text;
}

/* An address that was not asked for need not be free, nor the library there: why is kept. */
static int start_grpc(struct receiver *r, struct http_server_options server, char **ret_error)
{
	_cleanup_free_ char *before = r->options.listen_grpc ? NULL : port_before(server.listen);
	int result;

	if (r->options.listen_grpc && !strcmp(r->options.listen_grpc, "off"))
		return 0;
	server.listen = r->options.listen_grpc ? r->options.listen_grpc : before;
	server.routes = grpc_routes;
	server.grpc = true;
	result = server.listen ? http_server_start(&server, &r->grpc, r->options.listen_grpc ? ret_error : &r->grpc_error) : -ENOMEM;
	return r->options.listen_grpc ? result : 0;
}

int receiver_start(const struct receive_options *options, struct receiver **ret, char **ret_error)
{
	struct receiver *r = calloc(1, sizeof(*r));
	struct http_server_options server = {.listen = options->listen ? options->listen : RECEIVE_LISTEN,
					     .cert_file = options->cert_file,
					     .key_file = options->key_file,
					     .token_file = options->token_file,
					     .routes = routes,
					     .memory = &r->work,
					     .context = r};
	int result;

	if (!r)
		return -ENOMEM;
	r->options = *options;
	r->options.pipeline.longest = LONGEST;
	r->options.pipeline.trace = take_trace;
	r->options.pipeline.state = r;
	r->options.pipeline.thinned = &r->thinned;
	r->work.most = RECEIVE_WORK_MAX;
	pthread_mutex_init(&r->turn, NULL);
	pthread_mutex_init(&r->lock, NULL);
	result = pipeline_open(&r->pipeline, &r->options.pipeline, ret_error);
	if (result == 0)
		result = names_bound(r->pipeline.names, RECEIVE_NAMES_MAX);
	if (result == 0 && (result = span_store_set_complete(options->store, begin_of(r, clock_wall()))) < 0)
		str_fail(ret_error, result, "%s", span_store_error(options->store));
	if (result == 0)
		result = http_server_start(&server, &r->server, ret_error);
	if (result == 0)
		result = start_grpc(r, server, ret_error);
	if (result < 0) {
		http_server_stop(r->server);
		pipeline_close(&r->pipeline);
		free(r);
		return result;
	}
	*ret = r;
	return 0;
}

uint16_t receiver_port(const struct receiver *r)
{
	return http_server_port(r->server);
}

uint16_t receiver_grpc_port(const struct receiver *r)
{
	return r->grpc ? http_server_port(r->grpc) : 0;
}

const char *receiver_grpc_error(const struct receiver *r)
{
	return r->grpc_error;
}

struct receiver_counts receiver_counts(struct receiver *r)
{
	struct http_counts http = http_server_counts(r->server), grpc = r->grpc ? http_server_counts(r->grpc) : (struct http_counts){};
	struct receiver_counts counts;

	pthread_mutex_lock(&r->lock);
	counts = r->counts;
	counts.waiting = assembler_waiting(r->pipeline.assembler);
	counts.other_names = names_others(r->pipeline.names);
	pthread_mutex_unlock(&r->lock);
	counts.no_token = http.no_token + grpc.no_token;
	counts.unreadable += grpc.bad_body;
	counts.grpc = http.not_http_1;
	return counts;
}

int receiver_stop(struct receiver *r, struct receiver_counts *ret_counts)
{
	int result;

	*ret_counts = receiver_counts(r);
	http_server_stop(r->server);
	http_server_stop(r->grpc);
	result = hand_on(r, true);
	if (result == 0)
		result = pipeline_end(&r->pipeline);
	ret_counts->crowded = r->counts.crowded;
	ret_counts->pressed = r->counts.pressed;
	ret_counts->left_out = r->counts.left_out;
	if (result == 0)
		result = write_deployments(r);
	if (result == 0)
		result = write_windows(r);
	if (result == 0)
		result = span_store_set_complete(r->options.store, 0);
	deployments_free(&r->deployments);
	VEC_FREE_EACH(r->windows, forest_free(&each->forest));
	VEC_FREE_EACH(r->idle, span_reader_free(*each); free(*each));
	VEC_FREE(r->at_work);
	r->pipeline.builder.forest = &r->pipeline.forest;
	pipeline_close(&r->pipeline);
	pthread_mutex_destroy(&r->turn);
	pthread_mutex_destroy(&r->lock);
	FREE_ALL(r->grpc_error, r);
	return result;
}
