/* Takes traces over OTLP/HTTP (/v1/traces, protobuf and JSON, gzip) into the store.
 *
 * Every `flush` the requests that are whole by then are written as the window's part of the store (put again, it replaces
 * itself), so that a crash loses no more than that. A request is answered 200 once its spans wait for their trace; 429
 * with Retry-After when as many spans wait as memory is given for, 503 when too many requests are at work. Nothing is
 * dropped silently: what cannot be read is told in the answer (partial success) and counted.
 */
#pragma once

#include <stdatomic.h>

#include "daemon/span-pipeline.h"
#include "store/span-store.h"

#define RECEIVE_LISTEN	 "127.0.0.1:4318" /* OTLP/HTTP's port */
#define RECEIVE_BODY_MAX ((size_t)64 << 20)

struct receive_options {
	const char *listen, *token_file, *cert_file, *key_file;
	struct pipeline_options pipeline;
	struct span_store *store;
	int64_t window, flush, keep; /* ns */
};

struct receiver;

/* 0 or -errno with *ret_error (caller frees). */
int receiver_start(const struct receive_options *options, struct receiver **ret, char **ret_error);
uint16_t receiver_port(const struct receiver *r);
/* Ends windows, writes what is whole, forgets what is old: to be called at least every `flush`. 0 or -errno. */
int receiver_tick(struct receiver *r);
/* Stops listening, hands on what waits, writes it. 0 or -errno of the writing. */
int receiver_stop(struct receiver *r);

struct receiver_counts {
	uint64_t requests, spans, rejected, refused; /* refused: requests answered 429 */
	uint32_t waiting;
};
struct receiver_counts receiver_counts(struct receiver *r);
