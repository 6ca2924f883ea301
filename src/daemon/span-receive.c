#include "daemon/span-receive.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "net/http-server.h"
#include "source/otlp.h"

#define RETRY_AFTER 2 /* s */

struct receiver {
	struct receive_options options;
	struct http_server *server;
	pthread_mutex_t lock; /* all below */
	struct pipeline pipeline;
	struct receiver_counts counts;
	int64_t window_began, written, last_span; /* wall, boot, boot ns */
	uint64_t spans_written;
};

static bool json_body(const struct http_exchange *e)
{
	const char *type = http_header(e, "Content-Type");

	return type && !strncasecmp(type, "application/json", 16);
}

static int read_body(struct receiver *r, struct http_exchange *e)
{
	struct input in;

	if (!json_body(e))
		return otlp_message(&r->pipeline.reader, "request", 0, (const uint8_t *)e->body.data, e->body.len);
	input_of_memory(&in, "request", e->body.data, e->body.len);
	return source_otlp_json.read(&r->pipeline.reader, &in);
}

static uint64_t faults_of(const struct receiver *r)
{
	uint64_t n = 0;

	for (int i = 0; i < SPAN_FAULT_COUNT; i++)
		n += i == SPAN_FAULT_FIELD ? 0 : r->pipeline.faults.n[i];
	return n;
}

static const char *first_fault(const struct receiver *r)
{
	for (int i = 0; i < SPAN_FAULT_COUNT; i++)
		if (r->pipeline.faults.n[i])
			return r->pipeline.faults.first[i];
	return "";
}

/* ExportTraceServiceResponse: empty, or { partial_success = 1 { rejected_spans = 1, error_message = 2 } }. */
static void answer(struct receiver *r, struct http_exchange *e, uint64_t rejected)
{
	_cleanup_str_ struct str partial = {};
	const char *why = first_fault(r);

	if (json_body(e)) {
		e->type = "application/json";
		if (rejected)
			str_printf(&e->reply, "{\"partialSuccess\":{\"rejectedSpans\":\"%llu\",\"errorMessage\":\"some of it cannot be read; "
					      "the receiver counts what and where\"}}", (unsigned long long)rejected);
		else
			str_puts(&e->reply, "{}");
		return;
	}
	e->type = "application/x-protobuf";
	str_puts(&e->reply, "");
	if (!rejected)
		return;
	str_put_varint(&partial, 1 << 3);
	str_put_varint(&partial, rejected);
	str_put_varint(&partial, 2 << 3 | 2);
	str_put_blob(&partial, why, strlen(why));
	str_put_varint(&e->reply, 1 << 3 | 2);
	str_put_blob(&e->reply, partial.data, partial.len);
}

static bool is_full(const struct receiver *r)
{
	uint32_t most = r->options.pipeline.most ? r->options.pipeline.most : ASSEMBLE_SPANS_MAX;

	return assembler_room(r->pipeline.assembler) < most / 16;
}

static void take_traces(struct http_exchange *e)
{
	struct receiver *r = e->context;
	uint64_t before, spans;
	int result;

	pthread_mutex_lock(&r->lock);
	r->counts.requests++;
	if (is_full(r)) {
		r->counts.refused++;
		e->retry_after = RETRY_AFTER;
		http_fail(e, 429, "as many spans wait for their traces as there is memory for; try again");
		pthread_mutex_unlock(&r->lock);
		return;
	}
	before = faults_of(r);
	spans = assembler_tally(r->pipeline.assembler).spans;
	result = read_body(r, e);
	r->counts.spans += assembler_tally(r->pipeline.assembler).spans - spans;
	r->counts.rejected += faults_of(r) - before;
	r->last_span = boot_now();
	if (result < 0) {
		e->retry_after = RETRY_AFTER;
		http_fail(e, 503, "%s", strerror(-result));
	} else {
		answer(r, e, faults_of(r) - before);
	}
	pthread_mutex_unlock(&r->lock);
}

static const struct http_route routes[] = {
	{"POST", "/v1/traces", take_traces, RECEIVE_BODY_MAX, SCOPE_ALL},
	{},
};

int receiver_start(const struct receive_options *options, struct receiver **ret, char **ret_error)
{
	struct receiver *r = calloc(1, sizeof(*r));
	struct http_server_options server = {.listen = options->listen ? options->listen : RECEIVE_LISTEN,
					     .cert_file = options->cert_file,
					     .key_file = options->key_file,
					     .token_file = options->token_file,
					     .routes = routes,
					     .context = r};
	int result;

	if (!r)
		return -ENOMEM;
	r->options = *options;
	pthread_mutex_init(&r->lock, NULL);
	r->window_began = wall_now();
	result = pipeline_open(&r->pipeline, &options->pipeline, ret_error);
	if (result == 0)
		result = http_server_start(&server, &r->server, ret_error);
	if (result < 0) {
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

/* A copy, finished, as bytes: the forest itself goes on growing. Under the lock. */
static int pack(struct receiver *r, struct str *out, struct span_part *part)
{
	struct forest copy;
	int result = forest_init(&copy, r->pipeline.names, r->pipeline.forest.slot_width);

	if (result == 0)
		result = forest_merge(&copy, &r->pipeline.forest);
	if (result == 0)
		result = forest_finish(&copy);
	if (result == 0)
		result = pipeline_part(&copy, out, part);
	forest_free(&copy);
	return result;
}

/* The next window's requests go to a fresh forest; spans that wait go on waiting. Under the lock. */
static int next_window(struct receiver *r)
{
	struct forest fresh;
	struct forest *f = &r->pipeline.forest;
	int result = forest_init(&fresh, r->pipeline.names, f->slot_width);

	if (result < 0)
		return result;
	fresh.rule = strdup(f->rule);
	fresh.n_dimensions = f->n_dimensions;
	memcpy(fresh.dimensions, f->dimensions, sizeof(fresh.dimensions));
	if (!fresh.rule) {
		forest_free(&fresh);
		return -ENOMEM;
	}
	forest_free(f);
	*f = fresh;
	r->window_began = wall_now();
	r->spans_written = 0;
	return 0;
}

static int write_window(struct receiver *r, bool ends)
{
	_cleanup_str_ struct str bytes = {.max = (size_t)2 << 30};
	struct span_part part = {};
	char key[64], when[32];
	int result = 0;

	pthread_mutex_lock(&r->lock);
	snprintf(key, sizeof(key), "receive %s", format_rfc3339(r->window_began, when, sizeof(when)));
	if (r->pipeline.forest.tally.spans != r->spans_written)
		result = pack(r, &bytes, &part);
	r->spans_written = r->pipeline.forest.tally.spans;
	if (result == 0 && ends)
		result = next_window(r);
	pthread_mutex_unlock(&r->lock);
	part.key = key;
	part.source = "receive";
	return result == 0 && bytes.len && part.requests ? span_store_put(r->options.store, &part) : result;
}

int receiver_tick(struct receiver *r)
{
	int64_t now = boot_now();
	bool ends = wall_now() - r->window_began >= r->options.window;
	int result = 0;

	pthread_mutex_lock(&r->lock);
	if (r->last_span && now - r->last_span > r->options.pipeline.late)
		result = assembler_flush(r->pipeline.assembler); /* nobody sends: nothing will come */
	pthread_mutex_unlock(&r->lock);
	if (result == 0 && (ends || now - r->written >= r->options.flush)) {
		r->written = now;
		result = write_window(r, ends);
	}
	if (result == 0 && ends)
		result = span_store_forget(r->options.store, wall_now() - r->options.keep);
	return result;
}

int receiver_stop(struct receiver *r)
{
	int result;

	http_server_stop(r->server);
	result = pipeline_end(&r->pipeline);
	if (result == 0)
		result = write_window(r, false);
	pipeline_close(&r->pipeline);
	pthread_mutex_destroy(&r->lock);
	free(r);
	return result;
}

struct receiver_counts receiver_counts(struct receiver *r)
{
	struct receiver_counts counts;

	pthread_mutex_lock(&r->lock);
	counts = r->counts;
	counts.waiting = assembler_waiting(r->pipeline.assembler);
	pthread_mutex_unlock(&r->lock);
	return counts;
}
