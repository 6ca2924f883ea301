/* Takes traces over OTLP/HTTP (/v1/traces, protobuf and JSON, gzip) and OTLP/gRPC into the store; metrics and logs are accepted and dropped;
 * deployments (/v1/deployments, as lib/input/deployments.h reads them) are kept next to them.
 *
 * A window's requests are those whose root began in [k x window, (k + 1) x window) of wall time. Every `flush` the requests that
 * are whole by then are written as the window's part of the store (put again, it replaces itself), so that a crash loses no more
 * than that. A window is complete `late` + `flush` after its end, and the store says so (span_store_complete()); what comes for it
 * later is a part of its own. So is a window that lies ahead of now (of a sender whose clock is): it does not wait for its time to come, and
 * the sender gets a warning. Where more windows are open than may be, the one farthest from now is written and closed. A request is answered 200 once its spans wait for their trace; 429
 * with Retry-After when as many spans wait as memory is given for, 503 when too many requests are at work. All of it takes 256 MiB at most:
 * where the process has RECEIVE_HEAP_MAX resident, senders wait, and windows are written and closed, until it has less. Nothing is
 * dropped silently: names beyond the first RECEIVE_NAMES_MAX become one, and the answer says so; what cannot be read is reported in the answer (partial success) and counted.
 */
#pragma once

#include <stdatomic.h>

#include "spans/pipeline/span-pipeline.h"
#include "spans/store/span-store.h"

#define RECEIVE_LISTEN	 "127.0.0.1:4318" /* OTLP/HTTP's port */
#define RECEIVE_BODY_MAX ((size_t)20 << 20) /* as the OpenTelemetry Collector has it */
#define RECEIVE_WORK_MAX ((uint64_t)64 << 20) /* bytes of bodies and of what JSON is parsed to, of all requests at a time */
#define RECEIVE_HEAP_MAX ((size_t)144 << 20)  /* resident bytes with which more is taken, next to spans that --spans-in-memory has wait */
#define RECEIVE_COPY_MAX ((size_t)64 << 20)   /* ... of windows, with which they are copied to be written */
#define RECEIVE_NAMES_MAX 65536 /* texts: names of operations, services and attributes, and values of these */

struct receive_options {
	const char *listen, *token_file, *cert_file, *key_file;
	const char *listen_grpc; /* "off" = no gRPC; NULL = the port before that of `listen`, if it is free */
	struct pipeline_options pipeline;
	struct span_store *store;
	int64_t window, flush, keep; /* ns */
};

struct receiver;

/* 0 or -errno with *ret_error (caller frees). */
int receiver_start(const struct receive_options *options, struct receiver **ret, char **ret_error);
uint16_t receiver_port(const struct receiver *r);
/* 0 = no gRPC, and why, if that was not asked for. */
uint16_t receiver_grpc_port(const struct receiver *r);
const char *receiver_grpc_error(const struct receiver *r);
/* Writes what is whole, ends windows, forgets what is old: to be called at least every `flush`. 0 or -errno. */
int receiver_tick(struct receiver *r);

/* Counts requests, except where it says something else. */
struct receiver_counts {
	uint64_t requests; /* for traces, with a token */
	uint64_t spans;
	uint64_t rejected;   /* spans, or parts of messages, that cannot be read */
	uint64_t refused;    /* 429 */
	uint64_t no_token;   /* 401 */
	uint64_t unreadable; /* 400 */
	uint64_t grpc;	     /* connections to the port of OTLP/HTTP that began in HTTP/2 */
	uint64_t repeated;   /* the same bytes were taken before: counted once */
	uint64_t dropped;    /* metrics and logs */
	uint64_t deployments; /* received */
	uint64_t ahead;	      /* spans that begin minutes from now */
	uint64_t crowded;     /* windows that were closed early, because others needed their place */
	uint64_t pressed;     /* windows that were closed early for memory */
	uint64_t left_out;    /* requests (traces) of even more windows than those */
	uint64_t other_names; /* names beyond RECEIVE_NAMES_MAX, which are counted as one */
	uint64_t spared;      /* stored parts that only this machine's clock calls too old, when some were last to be forgotten */
	uint32_t waiting;
	char ahead_service[64]; /* of the last span that was ahead */
	int64_t ahead_by;	/* likewise, ns */
};
/* Makes one part of all that a receiver put of the hour that begins there (wall ns). 0 (there is at most one, or they were taken with
 * different --rule or --by), or -errno. */
int receiver_merge_hour(struct span_store *store, int64_t begin);
struct receiver_counts receiver_counts(struct receiver *r);
/* Stops listening, hands on what waits, writes it; *ret_counts also has what came to light then. 0 or -errno of the writing. */
int receiver_stop(struct receiver *r, struct receiver_counts *ret_counts);
