#include "net/http-server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/library.h"
#include "net/gzip.h"

#define REQUESTS_MAX	  32
#define CONNECTIONS_EXTRA 64  /* that wait for their next request, or are told that there are too many */
#define IDLE_TIMEOUT	  30  /* s without a byte, then a connection ends */
#define CONNECTION_MEMORY (32 << 10) /* headers and parameters of a request */
#define THREAD_STACK	  (1 << 20)
#define GZIP_LEAST	  1024 /* smaller answers are not worth packing */
#define STREAM_BLOCK	  (32 << 10)
#define STREAM_PAUSE_MS	  200
#define EVENT_SILENCE	  (15 * NS_PER_SEC) /* a comment is sent then, so that a lost client is noticed */
#define PEM_MAX		  (1 << 20)
#define COOKIE		  "whyslow_token"

struct mhd {
	LIBRARY_CALL(MHD_start_daemon);
	LIBRARY_CALL(MHD_stop_daemon);
	LIBRARY_CALL(MHD_get_daemon_info);
	LIBRARY_CALL(MHD_lookup_connection_value);
	LIBRARY_CALL(MHD_create_response_from_buffer);
	LIBRARY_CALL(MHD_create_response_from_callback);
	LIBRARY_CALL(MHD_add_response_header);
	LIBRARY_CALL(MHD_queue_response);
	LIBRARY_CALL(MHD_destroy_response);
};

static const struct library_symbol mhd_symbols[] = {
	LIBRARY_SYMBOL(struct mhd, MHD_start_daemon),
	LIBRARY_SYMBOL(struct mhd, MHD_stop_daemon),
	LIBRARY_SYMBOL(struct mhd, MHD_get_daemon_info),
	LIBRARY_SYMBOL(struct mhd, MHD_lookup_connection_value),
	LIBRARY_SYMBOL(struct mhd, MHD_create_response_from_buffer),
	LIBRARY_SYMBOL(struct mhd, MHD_create_response_from_callback),
	LIBRARY_SYMBOL(struct mhd, MHD_add_response_header),
	LIBRARY_SYMBOL(struct mhd, MHD_queue_response),
	LIBRARY_SYMBOL(struct mhd, MHD_destroy_response),
};
static const struct library libmicrohttpd = {"libmicrohttpd.so.12", "libmicrohttpd12", mhd_symbols, ARRAY_SIZE(mhd_symbols)};

enum count { REQUESTS, NO_TOKEN, WRONG_HOST, WRONG_ORIGIN, UNKNOWN_PATH, TOO_LARGE, TOO_MANY, BAD_BODY, FAILED, COUNTS };

struct http_server {
	struct mhd mhd;
	struct MHD_Daemon *daemon;
	struct users *tokens;
	const struct http_route *routes;
	const char *const *names;
	void *context;
	char *certificate, *key;
	char hostname[256];
	bool loopback; /* listens on this machine only */
	unsigned requests_max;
	atomic_uint under_way;
	atomic_uint_fast64_t counts[COUNTS];
	pthread_mutex_t lock;
	pthread_cond_t stopped;
	bool stopping;
	struct str complaint; /* what the library says while it starts */
};

/* One request, from its headers to the end of its answer. */
struct request {
	struct http_exchange exchange;
	const struct http_route *route;
	struct http_server *server;
	size_t received;
	bool too_large;
};

/* A streamed answer being read by the library. */
struct outflow {
	struct http_server *server;
	struct http_stream stream;
	struct gzip_stream *gzip; /* NULL = plain */
	struct str piece, packed;
	size_t at; /* of what is to be sent next, in `packed` or `piece` */
	int64_t last; /* when something was sent, boot ns */
	bool events, ended;
};

struct refusal {
	unsigned status;
	enum count count;
	const char *said;
};

static void count(struct http_server *s, enum count which)
{
	atomic_fetch_add_explicit(&s->counts[which], 1, memory_order_relaxed);
}

static const char *value_of(const struct http_server *s, struct MHD_Connection *c, enum MHD_ValueKind kind, const char *name)
{
	return s->mhd.MHD_lookup_connection_value(c, kind, name);
}

const char *http_query(const struct http_exchange *e, const char *name)
{
	return value_of(e->server, e->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *http_header(const struct http_exchange *e, const char *name)
{
	return value_of(e->server, e->connection, MHD_HEADER_KIND, name);
}

void http_fail(struct http_exchange *e, unsigned status, const char *format, ...)
{
	_cleanup_str_ struct str text = {};
	va_list args;

	va_start(args, format);
	str_vprintf(&text, format, args);
	va_end(args);
	e->status = status;
	e->type = "application/json";
	str_clear(&e->reply);
	str_puts(&e->reply, "{\"error\": \"");
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '"' || text.data[i] == '\\')
			str_putc(&e->reply, '\\');
		str_putc(&e->reply, (unsigned char)text.data[i] < ' ' ? ' ' : text.data[i]);
	}
	str_puts(&e->reply, "\"}\n");
}

void http_event(struct str *out, const char *name, const char *data)
{
	if (name)
		str_printf(out, "event: %s\n", name);
	while (*data) {
		size_t n = strcspn(data, "\n");

		str_puts(out, "data: ");
		str_append(out, data, n);
		str_putc(out, '\n');
		data += n + (data[n] == '\n');
	}
	str_putc(out, '\n');
}

/* --- who may ask, and under which name --- */

/* The name in "name", "name:port", "[v6]:port". */
static size_t host_length(const char *host)
{
	const char *end = *host == '[' ? strchr(host, ']') : NULL;

	return end ? (size_t)(end + 1 - host) : strcspn(host, ":");
}

static bool is_address(const char *host, size_t n)
{
	char text[INET6_ADDRSTRLEN + 2] = "";
	struct in6_addr address;

	if (n >= sizeof(text))
		return false;
	if (host[0] == '[' && n > 2) {
		memcpy(text, host + 1, n - 2);
		return inet_pton(AF_INET6, text, &address) == 1;
	}
	memcpy(text, host, n);
	return inet_pton(AF_INET, text, &address) == 1;
}

static bool same_name(const char *host, size_t n, const char *name)
{
	return strlen(name) == n && strncasecmp(host, name, n) == 0;
}

/* A page of elsewhere can have its own name point here, but not send another Host than that name: addresses, this
 * machine's names and those it was told of are fine. */
static bool is_own_host(const struct http_server *s, const char *host)
{
	size_t n = host_length(host);

	if (same_name(host, n, "localhost") || is_address(host, n))
		return true;
	if (!s->loopback && same_name(host, n, s->hostname))
		return true;
	for (const char *const *name = s->names; name && *name; name++)
		if (same_name(host, n, *name))
			return true;
	return false;
}

static bool is_own_origin(const struct http_server *s, struct MHD_Connection *c, const char *host)
{
	const char *origin = value_of(s, c, MHD_HEADER_KIND, "Origin");
	const char *site = value_of(s, c, MHD_HEADER_KIND, "Sec-Fetch-Site");
	const char *scheme = s->certificate ? "https://" : "http://";

	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return false;
	return !origin || (text_starts(origin, scheme) && strcasecmp(origin + strlen(scheme), host) == 0);
}

static bool is_known_user(struct http_server *s, struct MHD_Connection *c, char ret_user[TOKEN_USER_MAX])
{
	const char *bearer = value_of(s, c, MHD_HEADER_KIND, "Authorization");
	const char *cookie = value_of(s, c, MHD_COOKIE_KIND, COOKIE);

	if (bearer && text_starts(bearer, "Bearer "))
		return users_check(s->tokens, bearer + strlen("Bearer "), ret_user) == 0;
	return cookie && users_check(s->tokens, cookie, ret_user) == 0;
}

static bool brings_token(const struct http_server *s, struct MHD_Connection *c)
{
	return value_of(s, c, MHD_HEADER_KIND, "Authorization") || value_of(s, c, MHD_COOKIE_KIND, COOKIE);
}

/* --- answers --- */

static const char *const safe_headers[][2] = {
	{"Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Cache-Control", "no-store"},
};

static enum MHD_Result queue(struct http_server *s, struct MHD_Connection *c, unsigned status, const char *type,
			     struct MHD_Response *response)
{
	enum MHD_Result done;

	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < ARRAY_SIZE(safe_headers); i++)
		s->mhd.MHD_add_response_header(response, safe_headers[i][0], safe_headers[i][1]);
	if (type)
		s->mhd.MHD_add_response_header(response, "Content-Type", type);
	done = s->mhd.MHD_queue_response(c, status, response);
	s->mhd.MHD_destroy_response(response);
	return done;
}

static bool takes_gzip(const struct http_server *s, struct MHD_Connection *c)
{
	const char *accepted = value_of(s, c, MHD_HEADER_KIND, "Accept-Encoding");

	return accepted && strstr(accepted, "gzip") && !strstr(accepted, "gzip;q=0");
}

static struct MHD_Response *whole_response(struct http_server *s, struct MHD_Connection *c, const struct str *text)
{
	_cleanup_str_ struct str packed = {};
	const struct str *body = text;
	struct MHD_Response *response;

	if (text->len >= GZIP_LEAST && takes_gzip(s, c) && gzip_pack(text->data, text->len, &packed) == 0)
		body = &packed;
	response = s->mhd.MHD_create_response_from_buffer(body->len, body->data ? body->data : (char *)"", MHD_RESPMEM_MUST_COPY);
	if (response && body == &packed)
		s->mhd.MHD_add_response_header(response, "Content-Encoding", "gzip");
	return response;
}

static void wait_a_little(struct http_server *s)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += STREAM_PAUSE_MS * NS_PER_MS;
	until.tv_sec += until.tv_nsec / NS_PER_SEC;
	until.tv_nsec %= NS_PER_SEC;
	pthread_mutex_lock(&s->lock);
	if (!s->stopping)
		pthread_cond_timedwait(&s->stopped, &s->lock, &until);
	pthread_mutex_unlock(&s->lock);
}

static bool is_stopping(struct http_server *s)
{
	bool stopping;

	pthread_mutex_lock(&s->lock);
	stopping = s->stopping;
	pthread_mutex_unlock(&s->lock);
	return stopping;
}

/* Fetches the next piece into what is to be sent; 0, or -errno. */
static int refill(struct outflow *o)
{
	int more;

	str_clear(&o->piece);
	str_clear(&o->packed);
	o->at = 0;
	more = o->stream.next(o->stream.state, &o->piece);
	if (more < 0 || o->piece.error)
		return more < 0 ? more : o->piece.error;
	o->ended = more == 0;
	if (!o->piece.len && o->events && boot_now() - o->last > EVENT_SILENCE)
		str_puts(&o->piece, ":\n\n");
	if (!o->gzip)
		return 0;
	if (o->piece.len && gzip_stream_add(o->gzip, o->piece.data, o->piece.len, &o->packed) < 0)
		return -ENOMEM;
	return o->ended ? gzip_stream_end(o->gzip, &o->packed) : 0;
}

static ssize_t outflow_read(void *data, uint64_t position, char *buf, size_t max)
{
	struct outflow *o = data;
	struct str *from = o->gzip ? &o->packed : &o->piece;
	size_t n;

	(void)position;
	while (o->at >= from->len) {
		if (o->ended || is_stopping(o->server))
			return MHD_CONTENT_READER_END_OF_STREAM;
		if (refill(o) < 0)
			return MHD_CONTENT_READER_END_WITH_ERROR;
		if (o->at >= from->len && !o->ended)
			wait_a_little(o->server);
	}
	n = from->len - o->at < max ? from->len - o->at : max;
	memcpy(buf, from->data + o->at, n);
	o->at += n;
	o->last = boot_now();
	return (ssize_t)n;
}

static void outflow_free(void *data)
{
	struct outflow *o = data;

	if (o->stream.close)
		o->stream.close(o->stream.state);
	gzip_stream_free(o->gzip);
	str_free(&o->piece);
	str_free(&o->packed);
	free(o);
}

static struct MHD_Response *stream_response(struct http_server *s, struct MHD_Connection *c, struct http_exchange *e)
{
	struct outflow *o = calloc(1, sizeof(*o));
	struct MHD_Response *response;

	if (!o)
		return NULL;
	o->server = s;
	o->stream = e->stream;
	e->stream = (struct http_stream){};
	o->last = boot_now();
	o->events = e->type && strcmp(e->type, "text/event-stream") == 0;
	o->gzip = takes_gzip(s, c) ? gzip_stream_new() : NULL;
	response = s->mhd.MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, outflow_read, o, outflow_free);
	if (!response)
		outflow_free(o);
	else if (o->gzip)
		s->mhd.MHD_add_response_header(response, "Content-Encoding", "gzip");
	return response;
}

static enum MHD_Result answer(struct request *q, struct MHD_Connection *c)
{
	struct http_server *s = q->server;
	struct http_exchange *e = &q->exchange;
	struct MHD_Response *response;
	char seconds[16];

	if (e->reply.error)
		http_fail(e, 500, "the answer is too long");
	if (e->status >= 500 && e->status != 503)
		count(s, FAILED);
	response = e->stream.next ? stream_response(s, c, e) : whole_response(s, c, &e->reply);
	if (response && (e->status == 429 || e->status == 503)) {
		snprintf(seconds, sizeof(seconds), "%u", e->retry_after ? e->retry_after : 1);
		s->mhd.MHD_add_response_header(response, "Retry-After", seconds);
	}
	if (response && e->status == 401)
		s->mhd.MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	return queue(s, c, e->status ? e->status : 200, e->type ? e->type : "application/json", response);
}

/* What a browser shows that comes without a token: everything else of the page is behind it. %s: what is wrong. */
static const char door[] =
	"<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
	"<meta name=\"color-scheme\" content=\"light dark\"><title>whyslow</title></head><body><h1>whyslow</h1><p>%s.</p>"
	"<p>Open the address that <code>whyslow serve</code> printed, which has the token in it, or enter the token (the second word of a line "
	"in the token file):</p><form action=\"/\"><label>Token <input name=\"token\" type=\"password\" autocomplete=\"current-password\" autofocus></label> "
	"<button>Open</button></form></body></html>\n";

static bool asks_for_page(const struct http_exchange *e)
{
	return strcmp(e->method, "GET") == 0 && strcmp(e->path, "/") == 0;
}

static enum MHD_Result refuse(struct request *q, struct MHD_Connection *c, const struct refusal *why)
{
	struct http_exchange *e = &q->exchange;

	count(q->server, why->count);
	http_fail(e, why->status, "%s", why->said);
	if (why->status == 401 && asks_for_page(e)) {
		e->type = "text/html; charset=utf-8";
		str_clear(&e->reply);
		str_printf(&e->reply, door, why->said);
	}
	return answer(q, c);
}

/* GET /?token=TOKEN of a browser: the token moves into a cookie, out of the address that is shown and kept. */
static enum MHD_Result sign_in(struct request *q, struct MHD_Connection *c, const char *token)
{
	struct http_server *s = q->server;
	struct MHD_Response *response = s->mhd.MHD_create_response_from_buffer(0, (char *)"", MHD_RESPMEM_PERSISTENT);
	_cleanup_str_ struct str cookie = {};

	str_printf(&cookie, COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict%s", token, s->certificate ? "; Secure" : "");
	if (!response || cookie.error)
		return MHD_NO;
	s->mhd.MHD_add_response_header(response, "Set-Cookie", cookie.data);
	s->mhd.MHD_add_response_header(response, "Location", "/");
	return queue(s, c, 303, NULL, response);
}

/* --- requests --- */

static const struct http_route *find_route(const struct http_route *routes, const char *method, const char *path, bool *ret_path_known)
{
	*ret_path_known = false;
	for (; routes->path; routes++) {
		size_t n = strlen(routes->path);
		bool rest = n && routes->path[n - 1] == '*';

		if (rest ? strncmp(path, routes->path, n - 1) != 0 : strcmp(path, routes->path) != 0)
			continue;
		*ret_path_known = true;
		if (strcmp(routes->method, method) == 0)
			return routes;
	}
	return NULL;
}

static bool announces_too_much(const struct request *q, struct MHD_Connection *c)
{
	const char *length = value_of(q->server, c, MHD_HEADER_KIND, "Content-Length");

	return length && strtoull(length, NULL, 10) > q->route->body_max;
}

static const struct refusal no_host = {421, WRONG_HOST, "this machine is not known under that name: add it with --name"};
static const struct refusal wrong_origin = {403, WRONG_ORIGIN, "pages of other sites may not ask"};
static const struct refusal no_token = {401, NO_TOKEN, "a token is wanted: Authorization: Bearer TOKEN"};
static const struct refusal wrong_token = {401, NO_TOKEN, "that token is not known here: whyslow serve prints the address with the right one"};
static const struct refusal no_path = {404, UNKNOWN_PATH, "there is nothing of that name here"};
static const struct refusal no_method = {405, UNKNOWN_PATH, "it cannot be asked that way"};
static const struct refusal too_many = {503, TOO_MANY, "too many requests at a time"};
static const struct refusal too_large = {413, TOO_LARGE, "the body is too large"};
static const struct refusal bad_encoding = {415, BAD_BODY, "the body may be plain or gzip"};
static const struct refusal bad_body = {400, BAD_BODY, "the body cannot be unpacked"};

/* What speaks against a request, from its headers alone; NULL = nothing. */
static const struct refusal *examine(struct request *q, struct MHD_Connection *c, const char *path)
{
	struct http_server *s = q->server;
	const char *host = value_of(s, c, MHD_HEADER_KIND, "Host");
	bool path_known;

	if (!host || !is_own_host(s, host))
		return &no_host;
	if (!is_own_origin(s, c, host))
		return &wrong_origin;
	if (!is_known_user(s, c, q->exchange.user))
		return brings_token(s, c) ? &wrong_token : &no_token;
	q->route = find_route(s->routes, q->exchange.method, path, &path_known);
	if (!q->route)
		return path_known ? &no_method : &no_path;
	if (announces_too_much(q, c))
		return &too_large;
	return atomic_load(&s->under_way) > s->requests_max ? &too_many : NULL;
}

static enum MHD_Result begin(struct http_server *s, struct MHD_Connection *c, const char *path, const char *method, void **state)
{
	struct request *q = calloc(1, sizeof(*q));
	const struct refusal *why;
	const char *token;

	if (!q)
		return MHD_NO;
	*state = q;
	count(s, REQUESTS);
	atomic_fetch_add(&s->under_way, 1);
	q->server = s;
	q->exchange = (struct http_exchange){.server = s, .context = s->context, .method = method, .path = path, .connection = c};
	why = examine(q, c, path);
	if (why != &no_host && why != &wrong_origin && asks_for_page(&q->exchange) && (token = http_query(&q->exchange, "token"))) {
		if (users_check(s->tokens, token, q->exchange.user) == 0)
			return sign_in(q, c, token);
		why = &wrong_token;
	}
	if (why)
		return refuse(q, c, why);
	q->exchange.body.max = q->route->body_max + 2;
	return MHD_YES;
}

/* What is beyond the bound is read and dropped, for a while, so that the client reads the answer. */
static enum MHD_Result take(struct request *q, const char *bytes, size_t *n)
{
	q->received += *n;
	if (!q->too_large && (q->received > q->route->body_max || str_append(&q->exchange.body, bytes, *n) < 0))
		q->too_large = true;
	*n = 0;
	return q->received > 4 * q->route->body_max + (1 << 20) ? MHD_NO : MHD_YES;
}

static const struct refusal *unpack(struct request *q)
{
	const char *encoding = http_header(&q->exchange, "Content-Encoding");
	struct str plain = {.max = q->route->body_max + 2};
	int r;

	if (q->too_large)
		return &too_large;
	if (!encoding || strcmp(encoding, "identity") == 0)
		return NULL;
	if (strcmp(encoding, "gzip") != 0)
		return &bad_encoding;
	r = gzip_unpack(q->exchange.body.data, q->exchange.body.len, &plain);
	str_free(&q->exchange.body);
	q->exchange.body = plain;
	return r == 0 ? NULL : r == -E2BIG ? &too_large : &bad_body;
}

static enum MHD_Result handle(void *data, struct MHD_Connection *c, const char *path, const char *method, const char *version,
			      const char *upload, size_t *upload_n, void **state)
{
	struct request *q = *state;
	const struct refusal *why;

	(void)version;
	if (!q)
		return begin(data, c, path, method, state);
	if (*upload_n)
		return take(q, upload, upload_n);
	why = unpack(q);
	if (why)
		return refuse(q, c, why);
	q->route->handle(&q->exchange);
	return answer(q, c);
}

static void complete(void *data, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode code)
{
	struct http_server *s = data;
	struct request *q = *state;

	(void)c, (void)code;
	if (!q)
		return;
	if (q->exchange.stream.close)
		q->exchange.stream.close(q->exchange.stream.state);
	str_free(&q->exchange.body);
	str_free(&q->exchange.reply);
	free(q);
	*state = NULL;
	atomic_fetch_sub(&s->under_way, 1);
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
	code = getaddrinfo(host ? (*host ? host : NULL) : "127.0.0.1", port, &want, &found);
	if (code != 0)
		return fail_with(ret_error, -EINVAL, "cannot listen on '%s' (write ADDRESS:PORT): %s", text, gai_strerror(code));
	memcpy(ret, found->ai_addr, found->ai_addrlen);
	*ret_n = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static bool is_loopback(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static int read_pem(const char *file, char **ret, char **ret_error)
{
	_cleanup_fclose_ FILE *f = fopen(file, "re");
	_cleanup_free_ char *text = malloc(PEM_MAX);
	size_t n;

	if (!f)
		return fail_with(ret_error, -errno, "cannot read %s: %s", file, strerror(errno));
	if (!text)
		return -ENOMEM;
	n = fread(text, 1, PEM_MAX - 1, f);
	text[n] = '\0';
	if (!strstr(text, "-----BEGIN "))
		return fail_with(ret_error, -EINVAL, "%s is no PEM file", file);
	*ret = TAKE(text);
	return 0;
}

static void keep_complaint(void *data, const char *format, va_list args)
{
	struct http_server *s = data;

	if (!s->daemon)
		str_vprintf(&s->complaint, format, args);
}

static int listen_on(struct http_server *s, const struct http_server_options *o, char **ret_error)
{
	struct sockaddr_storage address = {};
	const char *listen = o->listen ? o->listen : "127.0.0.1:0";
	socklen_t n;
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ERROR_LOG;
	unsigned connections = 2 * s->requests_max + CONNECTIONS_EXTRA;
	int r = parse_listen(listen, &address, &n, ret_error);

	if (r < 0)
		return r;
	s->loopback = is_loopback(&address);
	if (!s->loopback && !s->certificate)
		return fail_with(ret_error, -EACCES, "other machines could listen in on %s: give a certificate and its key "
			"(--tls-cert, --tls-key), or listen on 127.0.0.1", listen);
	if (address.ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	if (s->certificate)
		flags |= MHD_USE_TLS;
	errno = 0;
	s->daemon = s->mhd.MHD_start_daemon(
		flags, 0, NULL, NULL, handle, s, MHD_OPTION_EXTERNAL_LOGGER, keep_complaint, s, MHD_OPTION_SOCK_ADDR,
		(struct sockaddr *)&address, MHD_OPTION_NOTIFY_COMPLETED, complete, s, MHD_OPTION_CONNECTION_LIMIT, connections,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_TIMEOUT, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, MHD_OPTION_THREAD_STACK_SIZE, (size_t)THREAD_STACK, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u,
		s->certificate ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, s->certificate, MHD_OPTION_HTTPS_MEM_KEY, s->key,
		MHD_OPTION_END);
	if (!s->daemon)
		return fail_with(ret_error, errno ? -errno : -EINVAL, "cannot listen on %s: %s", listen,
				errno == EADDRINUSE ? "something else listens there already" :
				s->complaint.len    ? s->complaint.data : strerror(errno));
	return 0;
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
	s->context = o->context;
	s->requests_max = o->requests_max ? o->requests_max : REQUESTS_MAX;
	gethostname(s->hostname, sizeof(s->hostname) - 1);
	if (!o->cert_file != !o->key_file)
		return fail_with(ret_error, -EINVAL, "a certificate wants its key, and a key its certificate");
	r = users_open(o->token_file, &s->tokens, ret_error);
	if (r == 0 && o->cert_file)
		r = read_pem(o->cert_file, &s->certificate, ret_error);
	if (r == 0 && o->key_file)
		r = read_pem(o->key_file, &s->key, ret_error);
	return r;
}

int http_server_start(const struct http_server_options *options, struct http_server **ret, char **ret_error)
{
	struct http_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	r = set_up(s, options, ret_error);
	if (r == 0)
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
	if (s->daemon)
		s->mhd.MHD_stop_daemon(s->daemon);
	users_free(s->tokens);
	if (s->key)
		explicit_bzero(s->key, strlen(s->key));
	free(s->key);
	free(s->certificate);
	str_free(&s->complaint);
	pthread_cond_destroy(&s->stopped);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

uint16_t http_server_port(const struct http_server *s)
{
	const union MHD_DaemonInfo *info = s->mhd.MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);

	return info ? info->port : 0;
}

struct http_counts http_server_counts(const struct http_server *s)
{
	const atomic_uint_fast64_t *n = s->counts;

	return (struct http_counts){n[REQUESTS],     n[NO_TOKEN],  n[WRONG_HOST], n[WRONG_ORIGIN], n[UNKNOWN_PATH],
				    n[TOO_LARGE], n[TOO_MANY], n[BAD_BODY],   n[FAILED]};
}
