/* What the server's files share: the library, the server, and one request on its way. http-server.c starts, stops and takes
 * requests in, http-examine.c says what speaks against one, http-answer.c sends what it gets, http-login.c begins and ends sessions.
 * A server of gRPC has another way in and out (grpc.h); of `mhd` it has the two calls that look headers up, by functions of its own. */
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/net/gate.h"
#include "lib/net/http-server.h"
#include "lib/system/library.h"

/* GnuTLS's words: TLS 1.2 and 1.3 alone, forward secrecy, no CBC */
#define HTTP_TLS_PRIORITY "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-AES-128-CBC:-AES-256-CBC:%SERVER_PRECEDENCE"

#define MHD_CALLS(CALL) \
	CALL(MHD_start_daemon) CALL(MHD_stop_daemon) CALL(MHD_add_connection) CALL(MHD_get_connection_info) CALL(MHD_lookup_connection_value) \
	CALL(MHD_get_connection_values) CALL(MHD_create_response_from_buffer) CALL(MHD_create_response_from_callback) \
	CALL(MHD_add_response_header) CALL(MHD_queue_response) CALL(MHD_destroy_response)
struct mhd {
	MHD_CALLS(LIBRARY_CALL)
};

enum http_count { REQUESTS, NO_TOKEN, TOO_NARROW, WRONG_HOST, WRONG_ORIGIN, UNKNOWN_PATH, TOO_LARGE, TOO_MANY, BAD_BODY, FAILED, NOT_HTTP_1, COUNTS };

struct http_server {
	struct mhd mhd;
	struct MHD_Daemon *daemon;
	struct grpc *grpc; /* NULL = HTTP */
	struct gate *gate;
	struct users *tokens;
	struct sessions *sessions; /* NULL = no one logs in here */
	const struct http_route *routes;
	const char *const *names;
	const char *json_below;
	void *context;
	char *certificate, *key;
	char hostname[256];
	bool loopback; /* listens on this machine only */
	uint16_t port;
	struct memory_budget *memory;
	unsigned requests_max;
	unsigned under_way;	       /* with `asking`: under the lock */
	struct http_incoming *asking;
	atomic_uint_fast64_t counts[COUNTS];
	pthread_mutex_t lock;
	pthread_cond_t stopped;
	bool stopping;
	struct str complaint; /* what the library says while it starts */
};

/* One request, from its headers to the end of its answer. */
struct http_incoming {
	struct http_exchange exchange;
	const struct http_route *route;
	struct http_server *server;
	struct gate_place *place;
	size_t received;
	size_t charged; /* bytes of the memory for bodies */
	bool too_large, crowded, counted; /* among those under way */
	struct http_incoming *next; /* of those */
};

struct http_refusal {
	unsigned status;
	enum http_count count;
	const char *said;
};

static inline void http_counted(struct http_server *s, enum http_count which)
{
	atomic_fetch_add_explicit(&s->counts[which], 1, memory_order_relaxed);
}

static inline const char *http_value(const struct http_server *s, struct MHD_Connection *c, enum MHD_ValueKind kind, const char *name)
{
	return s->mhd.MHD_lookup_connection_value(c, kind, name);
}

/* Appends a JSON string of any bytes, without what a terminal would obey. */
void http_put_string(struct str *out, const char *text);
/* What speaks against a request, from its headers alone; NULL = nothing, and it has its route. */
const struct http_refusal *http_examine(struct http_incoming *q, struct MHD_Connection *c, const char *path);
/* n bytes more of a body. 0, or -ENOMEM: the request is `crowded`. */
int http_charge(struct http_incoming *q, size_t n);
void http_free_body(struct http_incoming *q);
/* It is no longer one of those under way. */
void http_leave(struct http_incoming *q);
/* The same of its body, which is unpacked where it has to be. */
const struct http_refusal *http_unpack(struct http_incoming *q);
/* The bearer token or session of a request, or NULL. */
const char *http_bearer(const struct http_server *s, struct MHD_Connection *c);
/* Whose a bearer token or session is: 0; -ETIME: it has expired or ended; -EACCES. */
int http_authorise(struct http_server *s, const char *bearer, uint32_t peer, struct user *ret);
/* Routes of the server itself, where one can log in: /login, /logout, /session. */
extern const struct http_route http_login_routes[];

/* Whether http_server_close() waits for those that answer: they end early. */
bool http_server_is_stopping(struct http_server *s);
/* Sends what the exchange has got. MHD_NO: the connection ends without an answer. */
enum MHD_Result http_answer(struct http_incoming *q, struct MHD_Connection *c);
enum MHD_Result http_refuse(struct http_incoming *q, struct MHD_Connection *c, const struct http_refusal *why);

