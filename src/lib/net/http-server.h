/* An HTTP server over libmicrohttpd, for the web view, for remote recorders and for receivers; or one of gRPC (grpc.h).
 *
 * Nothing is answered without "Authorization: Bearer TOKEN", save for routes that are public. TOKEN is a line of the token file, or a
 * session: POST /login exchanges a login code (lib/net/sessions.h) or a token for one, POST /logout ends it. There are no cookies: browsers
 * send those to every port of a host, the one that listens there. Without a certificate it listens on this machine only. A request with a
 * foreign Host (a name that was made to point here) or Origin is refused; there is no CORS. Routes are a const table; each request runs
 * in a thread of its own; at most `requests_max` at a time, the next ones get 503 with Retry-After, nothing is queued. What half-open
 * and slow connections may take is lib/net/gate.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/str.h"
#include "lib/net/sessions.h"
#include "lib/net/users.h"
#include "lib/rights/memory-budget.h"

struct http_server;

/* An answer that comes in pieces. `next` appends the next piece: 1 = there may be more (nothing appended = not yet: it
 * is asked again within 200 ms), 0 = that was all, -errno = break off. It does not block for long. */
struct http_stream {
	int (*next)(void *state, struct str *out);
	void (*close)(void *state);
	void *state;
};

struct http_exchange {
	/* what was asked */
	struct http_server *server;
	void *context; /* of the server's options */
	const char *method, *path;
	struct user user;
	uint32_t peer; /* uid at the other end; PEER_UNKNOWN: another machine's */
	struct str body; /* unpacked */
	void *connection;

	/* the answer: body or stream */
	bool failed; /* `reply` is why, in words */
	unsigned status;  /* 200 unless set */
	const char *type; /* static; "application/json" unless set */
	struct str reply;
	struct http_stream stream;
	unsigned retry_after; /* s; sent with 429 and 503 */
};

struct http_route {
	const char *method;
	const char *path; /* "/v1/traces"; with an asterisk at its end all that begin so */
	void (*handle)(struct http_exchange *e);
	size_t body_max; /* bytes, unpacked; 0 = no body */
	enum scope needs; /* SCOPE_ALL unless set */
};

struct http_server_options {
	const char *listen; /* "ADDRESS:PORT", "PORT", "[::1]:PORT"; NULL = "127.0.0.1:0"; port 0 = any free one */
	const char *cert_file, *key_file; /* PEM; both or neither */
	const char *token_file; /* with `sessions` it may be missing */
	bool grpc;		/* unary calls of gRPC instead of HTTP: POST, of application/grpc */
	bool sessions;		/* users log in: codes, sessions, /login, /logout, /session */
	const char *const *names;	 /* further Host names under which it is known; NULL-terminated, or NULL */
	const struct http_route *routes; /* ended by one without a path */
	const char *json_below; /* "/api/": bodies to paths that begin so must say that they are JSON; NULL = none */
	void *context;
	struct memory_budget *memory; /* lent; what bodies take until they are answered. A request beyond it gets 503; NULL = no bound */
	unsigned requests_max; /* at a time; 0 = 32. With `sessions` one user alone has at most three quarters of them */
};

/* Counted since the start. Refused ones are in `requests` too. */
struct http_counts {
	uint64_t requests, no_token, too_narrow, wrong_host, wrong_origin, unknown_path, too_large, too_many, bad_body, failed;
	uint64_t not_http_1; /* HTTP/2 without an upgrade: gRPC */
};

/* 0, or -errno with *ret_error (caller frees): no token in the file, an address that is not this machine's without a
 * certificate, a certificate that cannot be read, an address in use, no libmicrohttpd. */
int http_server_start(const struct http_server_options *options, struct http_server **ret, char **ret_error);
/* Ends streams, waits for handlers. */
void http_server_stop(struct http_server *s);
uint16_t http_server_port(const struct http_server *s);
/* Who is logged in; NULL where one cannot. */
struct sessions *http_server_sessions(const struct http_server *s);
/* How many tokens of its file stand there themselves. */
size_t http_server_tokens_in_clear(const struct http_server *s);
/* Connections that were ended for others' sake. */
uint64_t http_server_evicted(const struct http_server *s);
struct http_counts http_server_counts(const struct http_server *s);

/* For handlers. A query's parameter, decoded, or a header; NULL = not given. They live as long as the exchange. */
const char *http_query(const struct http_exchange *e, const char *name);
const char *http_header(const struct http_exchange *e, const char *name);
/* Whether the other end has closed the connection, or its half of it: most of those that do so read no answer. */
bool http_client_has_gone(const struct http_exchange *e);
/* Answers with a status and {"error": "..."}. */
void http_fail(struct http_exchange *e, unsigned status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Appends one server-sent event; `data` may have several lines. */
void http_event(struct str *out, const char *name, const char *data);
