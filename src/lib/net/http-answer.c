#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/input/gzip.h"
#include "lib/net/http-incoming.h"

#define GZIP_LEAST	1024 /* smaller answers are not worth packing */
#define STREAM_BLOCK	(32 << 10)
#define STREAM_PAUSE_MS 200
#define BEARER_CHECK	(2 * NS_PER_SEC) /* who logs out, or whose token is revoked, gets no more */
#define EVENT_SILENCE	(15 * NS_PER_SEC) /* a comment is sent then, so that a lost client is noticed */

/* A streamed answer being read by the library. */
struct outflow {
	struct http_server *server;
	struct http_stream stream;
	struct gzip_stream *gzip; /* NULL = plain */
	struct str piece, packed;
	size_t at; /* of what is to be sent next, in `packed` or `piece` */
	int64_t last; /* when something was sent, boot ns */
	int64_t examined; /* when the bearer was, boot ns */
	char *bearer;
	uint32_t peer;
	int connection; /* the library's; -1 = it does not say */
	bool events, ended;
};

void http_put_string(struct str *out, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);

	str_make_printable(copy);
	str_putc(out, '"');
	for (const char *at = copy ? copy : ""; *at; at++) {
		if (*at == '"' || *at == '\\')
			str_putc(out, '\\');
		str_putc(out, *at);
	}
	str_putc(out, '"');
}

void http_fail(struct http_exchange *e, unsigned status, const char *format, ...)
{
	va_list args;

	e->status = status;
	e->failed = true;
	str_clear(&e->reply);
	va_start(args, format);
	str_vprintf(&e->reply, format, args);
	va_end(args);
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

static const char *const safe_headers[][2] = {
	{"Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
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
	const char *accepted = http_value(s, c, MHD_HEADER_KIND, "Accept-Encoding");

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

bool http_server_is_stopping(struct http_server *s)
{
	bool stopping;

	pthread_mutex_lock(&s->lock);
	stopping = s->stopping;
	pthread_mutex_unlock(&s->lock);
	return stopping;
}

static bool may_go_on(struct outflow *o)
{
	struct user user;

	if (!o->bearer || clock_boot() - o->examined < BEARER_CHECK)
		return true;
	o->examined = clock_boot();
	return http_authorise(o->server, o->bearer, o->peer, &user) == 0;
}

/* A page that was left or loaded again: until something is sent to it the library does not notice, and it counts among the requests that
 * its user may have at a time. */
static bool has_left(const struct outflow *o)
{
	struct pollfd end = {o->connection, POLLRDHUP, 0};

	return o->events && o->connection >= 0 && poll(&end, 1, 0) == 1;
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
	if (!o->piece.len && o->events && clock_boot() - o->last > EVENT_SILENCE)
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
		if (o->ended || http_server_is_stopping(o->server) || has_left(o) || !may_go_on(o))
			return MHD_CONTENT_READER_END_OF_STREAM;
		if (refill(o) < 0)
			return MHD_CONTENT_READER_END_WITH_ERROR;
		if (o->at >= from->len && !o->ended)
			wait_a_little(o->server);
	}
	n = from->len - o->at < max ? from->len - o->at : max;
	memcpy(buf, from->data + o->at, n);
	o->at += n;
	o->last = clock_boot();
	return (ssize_t)n;
}

static void outflow_free(void *data)
{
	struct outflow *o = data;

	if (o->stream.close)
		o->stream.close(o->stream.state);
	gzip_stream_free(o->gzip);
	if (o->bearer)
		explicit_bzero(o->bearer, strlen(o->bearer));
	free(o->bearer);
	str_free(&o->piece);
	str_free(&o->packed);
	free(o);
}

static struct MHD_Response *stream_response(struct http_server *s, struct MHD_Connection *c, struct http_exchange *e)
{
	struct outflow *o = calloc(1, sizeof(*o));
	const char *bearer = http_bearer(s, c);
	const union MHD_ConnectionInfo *info;
	struct MHD_Response *response;

	if (o && bearer)
		o->bearer = strdup(bearer);
	if (!o || (bearer && !o->bearer)) {
		free(o);
		return NULL;
	}
	info = s->mhd.MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	o->connection = info ? info->connect_fd : -1;
	o->peer = e->peer;
	o->examined = clock_boot();
	o->server = s;
	o->stream = e->stream;
	e->stream = (struct http_stream){};
	o->last = clock_boot();
	o->events = e->type && strcmp(e->type, "text/event-stream") == 0;
	o->gzip = takes_gzip(s, c) ? gzip_stream_new() : NULL;
	response = s->mhd.MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, outflow_read, o, outflow_free);
	if (!response)
		outflow_free(o);
	else if (o->gzip)
		s->mhd.MHD_add_response_header(response, "Content-Encoding", "gzip");
	return response;
}

enum MHD_Result http_answer(struct http_incoming *q, struct MHD_Connection *c)
{
	struct http_server *s = q->server;
	struct http_exchange *e = &q->exchange;
	_cleanup_str_ struct str words = {};
	struct MHD_Response *response;
	char seconds[16];

	if (e->reply.error)
		http_fail(e, 500, "the answer is too long");
	if (e->failed) {
		e->type = "application/json";
		str_puts(&words, "{\"error\": ");
		http_put_string(&words, e->reply.len ? e->reply.data : "");
		str_puts(&words, "}\n");
	}
	if (e->status >= 500 && e->status != 503)
		http_counted(s, FAILED);
	response = e->stream.next ? stream_response(s, c, e) : whole_response(s, c, e->failed ? &words : &e->reply);
	if (response && (e->status == 429 || e->status == 503)) {
		snprintf(seconds, sizeof(seconds), "%u", e->retry_after ? e->retry_after : 1);
		s->mhd.MHD_add_response_header(response, "Retry-After", seconds);
	}
	if (response && e->status == 401)
		s->mhd.MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	return queue(s, c, e->status ? e->status : 200, e->type ? e->type : "application/json", response);
}

enum MHD_Result http_refuse(struct http_incoming *q, struct MHD_Connection *c, const struct http_refusal *why)
{
	http_counted(q->server, why->count);
	http_fail(&q->exchange, why->status, "%s", why->said);
	return http_answer(q, c);
}
