#include "lib/net/http-server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/net/certificate.h"
#include "lib/net/grpc.h"
#include "lib/net/http-incoming.h"
#include "lib/net/peer.h"

#define REQUESTS_MAX	  32
#define CONNECTIONS_EXTRA 64  /* that wait for their next request, or are told that there are too many */
#define CONNECTIONS_LIMIT 4096 /* of the library; the gate's is the lower one */
#define IDLE_TIMEOUT	  30  /* s without a byte, then a connection ends */
#define CONNECTION_MEMORY (32 << 10) /* headers and parameters of a request */
#define THREAD_STACK	  (1 << 20)

static const struct library libmicrohttpd = LIBRARY("libmicrohttpd.so.12", "libmicrohttpd12", MHD_CALLS);

const char *http_query(const struct http_exchange *e, const char *name)
{
	return http_value(e->server, e->connection, MHD_GET_ARGUMENT_KIND, name);
}

bool http_client_has_gone(const struct http_exchange *e)
{
	const union MHD_ConnectionInfo *info = e->server->mhd.MHD_get_connection_info(e->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct pollfd end = {info ? info->connect_fd : -1, POLLRDHUP, 0};

	return poll(&end, 1, 0) > 0;
}

const char *http_header(const struct http_exchange *e, const char *name)
{
	return http_value(e->server, e->connection, MHD_HEADER_KIND, name);
}

/* --- requests --- */

static struct gate_place *place_of(struct http_server *s, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = s->mhd.MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static enum MHD_Result begin(struct http_server *s, struct MHD_Connection *c, const char *path, const char *method, void **state)
{
	struct http_incoming *q = calloc(1, sizeof(*q));
	const struct http_refusal *why;

	if (!q)
		return MHD_NO;
	*state = q;
	http_counted(s, REQUESTS);
	q->server = s;
	q->place = place_of(s, c);
	gate_began(s->gate, q->place);
	q->exchange = (struct http_exchange){.server = s, .context = s->context, .method = method, .path = path, .connection = c,
					     .peer = gate_peer(q->place)};
	why = http_examine(q, c, path);
	if (why)
		return http_refuse(q, c, why);
	q->exchange.body.max = q->route->body_max + 2;
	return MHD_YES;
}

/* What is beyond the bound is read and dropped, for a while, so that the client reads the answer. */
static enum MHD_Result take(struct http_incoming *q, const char *bytes, size_t *n)
{
	q->received += *n;
	if (!q->too_large && !q->crowded && http_charge(q, *n) == 0 &&
	    (q->received > q->route->body_max || str_append(&q->exchange.body, bytes, *n) < 0))
		q->too_large = true;
	if (q->crowded || q->too_large)
		http_free_body(q);
	*n = 0;
	return q->received > 4 * q->route->body_max + (1 << 20) ? MHD_NO : MHD_YES;
}

static enum MHD_Result handle(void *data, struct MHD_Connection *c, const char *path, const char *method, const char *version,
			      const char *upload, size_t *upload_n, void **state)
{
	struct http_incoming *q = *state;
	const struct http_refusal *why;

	(void)version;
	if (!q)
		return begin(data, c, path, method, state);
	if (*upload_n)
		return take(q, upload, upload_n);
	why = http_unpack(q);
	if (why)
		return http_refuse(q, c, why);
	q->route->handle(&q->exchange);
	return http_answer(q, c);
}

static void complete(void *data, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode code)
{
	struct http_server *s = data;
	struct http_incoming *q = *state;

	(void)c, (void)code;
	if (!q)
		return;
	if (q->exchange.stream.close)
		q->exchange.stream.close(q->exchange.stream.state);
	http_free_body(q);
	str_free(&q->exchange.reply);
	http_leave(q);
	gate_ended(s->gate, q->place);
	free(q);
	*state = NULL;
}

/* A connection comes and goes: its place at the gate is what the library keeps of it. */
static void note_connection(void *data, struct MHD_Connection *c, void **context, enum MHD_ConnectionNotificationCode code)
{
	struct http_server *s = data;
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		gate_leave(s->gate, *context);
		*context = NULL;
		return;
	}
	info = s->mhd.MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	*context = info ? gate_find(s->gate, info->connect_fd) : NULL;
}

static bool admit(void *data, int fd, const struct sockaddr *address, socklen_t n)
{
	struct http_server *s = data;

	return s->mhd.MHD_add_connection(s->daemon, fd, address, n) == MHD_YES;
}

/* --- start and stop --- */

/* "ADDRESS:PORT", "[V6]:PORT" or "PORT" (on this machine only). */
static int parse_listen(const char *text, struct sockaddr_storage *ret, socklen_t *ret_n, char **ret_error)
{
	struct addrinfo want = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
	_cleanup_free_ char *copy = strdup(text);
	char *colon = copy ? strrchr(copy, ':') : NULL, *host = copy;
	const char *port = colon ? colon + 1 : copy;
	int code;

	if (!copy)
		return -ENOMEM;
	if (!colon) {
		host = NULL;
	} else {
		*colon = '\0';
		if (*host == '[' && colon[-1] == ']') {
			host++;
			colon[-1] = '\0';
		}
	}
	if (atol(port) > UINT16_MAX) /* getaddrinfo() would take what is left of it */
		return str_fail(ret_error, -EINVAL, "cannot listen on '%s': the highest port is %d", text, UINT16_MAX);
	code = getaddrinfo(host ? (*host ? host : NULL) : "127.0.0.1", port, &want, &found);
	if (code != 0)
		return str_fail(ret_error, -EINVAL, "cannot listen on '%s' (write ADDRESS:PORT): %s", text, gai_strerror(code));
	memcpy(ret, found->ai_addr, found->ai_addrlen);
	*ret_n = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static void keep_complaint(void *data, const char *format, va_list args)
{
	struct http_server *s = data;
	char said[160];

	if (!s->daemon) {
		str_vprintf(&s->complaint, format, args);
		return;
	}
	/* "Error processing request (HTTP response code is 505 ...": HTTP/2 without an upgrade, as gRPC speaks it; no handler sees it */
	vsnprintf(said, sizeof(said), format, args);
	if (strstr(said, " 505 "))
		http_counted(s, NOT_HTTP_1);
}

/* A socket that listens there. */
static int open_socket(const struct sockaddr_storage *address, socklen_t n, int *ret_fd, uint16_t *ret_port)
{
	_cleanup_close_ int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage bound = {};
	socklen_t bound_n = sizeof(bound);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)); /* of one that has ended; not SO_REUSEPORT */
	if (address->ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){1}, sizeof(int));
	if (bind(fd, (const struct sockaddr *)address, n) < 0 || listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, (struct sockaddr *)&bound, &bound_n) < 0)
		return -errno;
	*ret_port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port : ((struct sockaddr_in *)&bound)->sin_port);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int start_library(struct http_server *s, const char *listen, char **ret_error)
{
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ERROR_LOG | MHD_USE_ITC |
			 MHD_USE_NO_LISTEN_SOCKET | (s->certificate ? MHD_USE_TLS : 0);

	s->daemon = s->mhd.MHD_start_daemon(
		flags, 0, NULL, NULL, handle, s, MHD_OPTION_EXTERNAL_LOGGER, keep_complaint, s, MHD_OPTION_NOTIFY_COMPLETED, complete, s,
		MHD_OPTION_NOTIFY_CONNECTION, note_connection, s, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_LIMIT,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_TIMEOUT, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, MHD_OPTION_THREAD_STACK_SIZE, (size_t)THREAD_STACK,
		s->certificate ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, s->certificate, MHD_OPTION_HTTPS_MEM_KEY, s->key,
		MHD_OPTION_HTTPS_PRIORITIES, HTTP_TLS_PRIORITY,
		MHD_OPTION_END);
	if (!s->daemon)
		return str_fail(ret_error, -EINVAL, "cannot listen on %s: %s", listen, s->complaint.len ? s->complaint.data : "out of memory");
	return 0;
}

static int listen_on(struct http_server *s, const struct http_server_options *o, char **ret_error)
{
	struct sockaddr_storage address = {};
	const char *listen = o->listen ? o->listen : "127.0.0.1:0";
	_cleanup_close_ int fd = -1;
	socklen_t n = 0;
	int r = parse_listen(listen, &address, &n, ret_error);
	bool (*to)(void *, int, const struct sockaddr *, socklen_t) = o->grpc ? grpc_admit : admit;

	if (r < 0)
		return r;
	s->loopback = peer_is_loopback((struct sockaddr *)&address);
	if (!s->loopback && !s->certificate)
		return str_fail(ret_error, -EACCES, "other machines could listen in on %s: give a certificate and its key "
			"(--tls-cert, --tls-key), or listen on 127.0.0.1", listen);
	r = open_socket(&address, n, &fd, &s->port);
	if (r < 0)
		return str_fail(ret_error, r, "cannot listen on %s: %s", listen,
				r == -EADDRINUSE ? "something else listens there already" : strerror(-r));
	r = o->grpc ? grpc_listen(s, ret_error) : start_library(s, listen, ret_error);
	if (r < 0)
		return r;
	r = gate_start(&(struct gate_options){.fd = TAKE_FD(fd), .places = 2 * s->requests_max + CONNECTIONS_EXTRA, .admit = to, .data = s}, &s->gate);
	return r < 0 ? str_fail(ret_error, r, "cannot listen on %s: %s", listen, strerror(-r)) : 0;
}

/* Where no one can log in, a file without tokens lets in no one: that is a mistake. */
static int open_users(struct http_server *s, const struct http_server_options *o, char **ret_error)
{
	int r = users_open(o->token_file, o->sessions, &s->tokens, ret_error);

	if (r == 0 && !o->sessions && users_count(s->tokens) == 0)
		return str_fail(ret_error, -EINVAL, "%s has no token: one line NAME TOKEN for each user", o->token_file);
	return r;
}

static int set_up(struct http_server *s, const struct http_server_options *o, char **ret_error)
{
	pthread_condattr_t monotonic;
	int r;

	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->stopped, &monotonic);
	pthread_condattr_destroy(&monotonic);
	s->routes = o->routes;
	s->names = o->names;
	s->json_below = o->json_below;
	s->context = o->context;
	s->memory = o->memory;
	s->requests_max = o->requests_max ? o->requests_max : REQUESTS_MAX;
	gethostname(s->hostname, sizeof(s->hostname) - 1);
	if (!o->cert_file != !o->key_file)
		return str_fail(ret_error, -EINVAL, "a certificate requires its key, and a key its certificate");
	if (o->sessions && !(s->sessions = sessions_new(NULL)))
		return -ENOMEM;
	r = open_users(s, o, ret_error);
	if (r == 0 && o->cert_file)
		r = certificate_read_pem(o->cert_file, &s->certificate, ret_error);
	if (r == 0 && o->key_file)
		r = certificate_read_key(o->key_file, &s->key, ret_error);
	return r;
}

int http_server_start(const struct http_server_options *options, struct http_server **ret, char **ret_error)
{
	struct http_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	r = set_up(s, options, ret_error);
	if (r == 0 && !options->grpc)
		r = library_load(&libmicrohttpd, &s->mhd, ret_error);
	if (r == 0)
		r = listen_on(s, options, ret_error);
	if (r < 0)
		http_server_stop(s);
	else
		*ret = s;
	return r;
}

void http_server_stop(struct http_server *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_broadcast(&s->stopped);
	pthread_mutex_unlock(&s->lock);
	gate_stop(s->gate);
	if (s->daemon)
		s->mhd.MHD_stop_daemon(s->daemon);
	grpc_stop(s);
	gate_free(s->gate);
	users_free(s->tokens);
	sessions_free(s->sessions);
	if (s->key)
		explicit_bzero(s->key, strlen(s->key));
	FREE_ALL(s->key, s->certificate);
	str_free(&s->complaint);
	pthread_cond_destroy(&s->stopped);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}

struct sessions *http_server_sessions(const struct http_server *s)
{
	return s->sessions;
}

size_t http_server_tokens_in_clear(const struct http_server *s)
{
	return users_in_clear(s->tokens);
}

uint64_t http_server_evicted(const struct http_server *s)
{
	return gate_evicted(s->gate);
}

struct http_counts http_server_counts(const struct http_server *s)
{
	const atomic_uint_fast64_t *n = s->counts;

	return (struct http_counts){n[REQUESTS],  n[NO_TOKEN], n[TOO_NARROW], n[WRONG_HOST], n[WRONG_ORIGIN], n[UNKNOWN_PATH],
				    n[TOO_LARGE], n[TOO_MANY], n[BAD_BODY],   n[FAILED], n[NOT_HTTP_1]};
}
