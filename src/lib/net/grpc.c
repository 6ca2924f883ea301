#include "lib/net/grpc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/data/cleanup.h"

#define FIELDS_BYTES 2048 /* of the headers that matter, of a call */
#define PREFIX	     5	  /* bytes before a message: whether it is packed, and its length */
#define ACKS_MAX     64	  /* answers to pings and settings that wait to be sent */
#define CALL_TIME    GATE_ANSWER_TIME
#define IDLE_TIME    (900 * NS_PER_SEC) /* of a client that is trusted: exporters keep their connection */

static const struct library nghttp2 = LIBRARY("libnghttp2.so.14", "libnghttp2-14", NGHTTP2_CALLS);

/* Headers that are kept, and the names by which the server looks them up. */
enum field { METHOD, PATH, AUTHORITY, TYPE, ENCODING, AUTHORIZATION, ORIGIN, FIELDS };
static const struct {
	const char *wire, *name;
} fields[FIELDS] = {{":method", ":method"}, {":path", ":path"}, {":authority", "Host"}, {"content-type", "Content-Type"},
		    {"grpc-encoding", "Content-Encoding"}, {"authorization", "Authorization"}, {"origin", "Origin"}};

/* One call, from its headers to the end of its answer. */
struct grpc_call {
	struct http_incoming incoming;
	int32_t stream;
	int64_t began; /* boot ns */
	const char *values[FIELDS]; /* in `text` */
	char text[FIELDS_BYTES];
	size_t text_n;
	bool twice, too_long, whole, answered;
	struct str answer; /* the message, with its prefix */
	size_t sent;
	char status[4];
	struct grpc_call *next;
};

/* --- what the server asks about a request, in place of libmicrohttpd --- */

static const char *look_up(struct MHD_Connection *connection, enum MHD_ValueKind kind, const char *name)
{
	const struct grpc_call *call = (const struct grpc_call *)connection;

	for (size_t i = 0; kind == MHD_HEADER_KIND && i < FIELDS; i++)
		if (strcasecmp(name, fields[i].name) == 0)
			return call->values[i];
	return NULL;
}

/* Tells of headers that came twice by saying them twice. */
static int each_value(struct MHD_Connection *connection, enum MHD_ValueKind kind, MHD_KeyValueIterator next, void *data)
{
	const struct grpc_call *call = (const struct grpc_call *)connection;

	for (int i = 0; kind == MHD_HEADER_KIND && i < 1 + call->twice; i++)
		(void)next(data, kind, "Authorization", "");
	return 1;
}

/* --- answers --- */

/* gRPC's numbers of a status (OK, INVALID_ARGUMENT ...). What a client shall try again is UNAVAILABLE. */
static unsigned status_of(unsigned http)
{
	static const struct {
		unsigned http, grpc;
	} known[] = {{0, 0}, {200, 0}, {400, 3}, {401, 16}, {403, 7}, {421, 7}, {404, 12}, {405, 12}, {415, 12}, {413, 8}, {431, 8}, {429, 14}, {503, 14}};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].http == http)
			return known[i].grpc;
	return 13;
}

static nghttp2_nv header(const char *name, const char *value)
{
	return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

/* As it is allowed in a header: all but printable ASCII, and '%', as "%0A". */
static void put_message(struct str *out, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		if (*at < ' ' || *at > '~' || *at == '%')
			str_printf(out, "%%%02X", *at);
		else
			str_putc(out, (char)*at);
}

static ssize_t read_answer(nghttp2_session *session, int32_t stream, uint8_t *to, size_t room, uint32_t *flags, nghttp2_data_source *source, void *data)
{
	struct grpc_connection *c = data;
	struct grpc_call *call = source->ptr;
	size_t n = call->answer.len - call->sent < room ? call->answer.len - call->sent : room;
	nghttp2_nv trailer = header("grpc-status", call->status);

	memcpy(to, call->answer.data + call->sent, n);
	call->sent += n;
	if (call->sent < call->answer.len)
		return (ssize_t)n;
	*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
	return c->server->grpc->lib.nghttp2_submit_trailer(session, stream, &trailer, 1) < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : (ssize_t)n;
}

static void put_prefix(struct str *out, size_t n)
{
	uint32_t length = htonl((uint32_t)n);

	str_putc(out, 0);
	str_append(out, &length, sizeof(length));
}

/* A message and its status, or the status and why alone. */
static void answer(struct grpc_connection *c, struct grpc_call *call)
{
	const struct nghttp2 *lib = &c->server->grpc->lib;
	struct http_exchange *e = &call->incoming.exchange;
	const nghttp2_data_provider provider = {{.ptr = call}, read_answer};
	_cleanup_str_ struct str why = {};
	bool failed = e->failed || e->reply.error;
	nghttp2_nv headers[4];
	size_t n = 0;

	call->answered = true;
	http_free_body(&call->incoming);
	snprintf(call->status, sizeof(call->status), "%u", e->reply.error ? 13 : status_of(e->status));
	headers[n++] = header(":status", e->status == 415 && !call->incoming.route ? "415" : "200");
	headers[n++] = header("content-type", "application/grpc");
	if (failed) {
		put_message(&why, e->reply.error ? "the answer is too long" : e->reply.len ? e->reply.data : "");
		headers[n++] = header("grpc-status", call->status);
		headers[n++] = header("grpc-message", why.len ? why.data : "");
	} else {
		put_prefix(&call->answer, e->reply.len);
		str_append(&call->answer, e->reply.len ? e->reply.data : "", e->reply.len);
		failed = call->answer.error;
	}
	if (e->status >= 500 && e->status != 503)
		http_counted(c->server, FAILED);
	(void)lib->nghttp2_submit_response(c->session, call->stream, headers, n, failed ? NULL : &provider);
	str_free(&e->reply);
}

static void refuse(struct grpc_connection *c, struct grpc_call *call, const struct http_refusal *why)
{
	http_counted(c->server, why->count);
	http_fail(&call->incoming.exchange, why->status, "%s", why->said);
	answer(c, call);
}

/* --- calls --- */

static const struct http_refusal no_grpc = {415, BAD_BODY, "the Content-Type is not application/grpc"};
static const struct http_refusal long_headers = {431, BAD_BODY, "the headers are too long"};
static const struct http_refusal no_message = {400, BAD_BODY, "the request is not one message of gRPC"};
static const struct http_refusal too_large = {413, TOO_LARGE, "the message is too large"};
static const struct http_refusal crowded = {503, TOO_MANY, "too many requests at a time, or too many bytes of them"};

static struct grpc_call *call_of(struct grpc_connection *c, int32_t stream)
{
	return c->server->grpc->lib.nghttp2_session_get_stream_user_data(c->session, stream);
}

static int begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
	struct grpc_connection *c = data;
	struct grpc_call *call;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	call = calloc(1, sizeof(*call));
	if (!call)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	call->stream = frame->hd.stream_id;
	call->began = clock_boot();
	call->incoming.server = c->server;
	call->incoming.place = c->place;
	call->incoming.exchange = (struct http_exchange){.server = c->server, .context = c->server->context, .connection = call,
							 .peer = gate_peer(c->place)};
	if (!c->calls)
		gate_began(c->server->gate, c->place);
	call->next = c->calls;
	c->calls = call;
	http_counted(c->server, REQUESTS);
	c->server->grpc->lib.nghttp2_session_set_stream_user_data(session, call->stream, call);
	return 0;
}

static void keep(struct grpc_call *call, enum field field, const uint8_t *value, size_t n)
{
	char *at = call->text + call->text_n;

	call->twice |= call->values[field] != NULL;
	call->too_long |= n >= sizeof(call->text) - call->text_n;
	if (call->twice || call->too_long)
		return;
	memcpy(at, value, n);
	at[n] = '\0';
	call->values[field] = at;
	call->text_n += n + 1;
}

static int take_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n, const uint8_t *value, size_t n,
		       uint8_t flags, void *data)
{
	struct grpc_call *call = call_of(data, frame->hd.stream_id);

	(void)session, (void)flags;
	for (size_t i = 0; call && !call->answered && i < FIELDS; i++)
		if (strlen(fields[i].wire) == name_n && memcmp(name, fields[i].wire, name_n) == 0)
			keep(call, (enum field)i, value, n);
	return 0;
}

static bool is_grpc(const char *type)
{
	size_t n = type ? strcspn(type, "; ") : 0;

	return (n == 16 && strncasecmp(type, "application/grpc", n) == 0) || (n == 22 && strncasecmp(type, "application/grpc+proto", n) == 0);
}

static void examine(struct grpc_connection *c, struct grpc_call *call)
{
	struct http_exchange *e = &call->incoming.exchange;
	const struct http_refusal *why;

	e->method = call->values[METHOD] ? call->values[METHOD] : "";
	e->path = call->values[PATH] ? call->values[PATH] : "";
	why = call->too_long ? &long_headers : !is_grpc(call->values[TYPE]) ? &no_grpc : http_examine(&call->incoming, (void *)call, e->path);
	if (why)
		refuse(c, call, why);
	else
		e->body.max = call->incoming.route->body_max + PREFIX + 2;
}

static int take_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t n, void *data)
{
	struct grpc_connection *c = data;
	struct grpc_call *call = call_of(c, stream);

	(void)session, (void)flags;
	if (!call || call->answered)
		return 0;
	if (http_charge(&call->incoming, n) < 0)
		refuse(c, call, &crowded);
	else if (str_append(&call->incoming.exchange.body, bytes, n) < 0)
		refuse(c, call, &too_large);
	return 0;
}

/* Takes the prefix off. Requests have one message. */
static const struct http_refusal *unframe(struct grpc_call *call)
{
	struct str *body = &call->incoming.exchange.body;
	uint32_t length;

	if (body->len < PREFIX || (unsigned char)body->data[0] > 1 || (body->data[0] && !call->values[ENCODING]))
		return &no_message;
	memcpy(&length, body->data + 1, sizeof(length));
	if (ntohl(length) != body->len - PREFIX)
		return &no_message;
	if (!body->data[0])
		call->values[ENCODING] = NULL;
	body->len -= PREFIX;
	memmove(body->data, body->data + PREFIX, body->len + 1);
	return http_unpack(&call->incoming);
}

static void handle(struct grpc_connection *c, struct grpc_call *call)
{
	const struct http_refusal *why = unframe(call);

	if (why) {
		refuse(c, call, why);
		return;
	}
	call->incoming.route->handle(&call->incoming.exchange);
	answer(c, call);
}

static int take_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
	struct grpc_connection *c = data;
	struct grpc_call *call = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA ? call_of(c, frame->hd.stream_id) : NULL;

	(void)session;
	if (!call)
		return 0;
	call->whole = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		examine(c, call);
	if (!call->answered && call->whole)
		handle(c, call);
	return 0;
}

/* A client that got its answer while it still sends is asked to stop. (A reset that is queued sooner replaces the answer.) */
static int stop_sender(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
	struct grpc_connection *c = data;
	struct grpc_call *call = frame->hd.type == NGHTTP2_HEADERS && frame->hd.flags & NGHTTP2_FLAG_END_STREAM ? call_of(c, frame->hd.stream_id) : NULL;

	if (call && !call->whole)
		(void)c->server->grpc->lib.nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream, NGHTTP2_NO_ERROR);
	return 0;
}

static void free_call(struct grpc_connection *c, struct grpc_call *call)
{
	struct grpc_call **at = &c->calls;

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	c->last = clock_boot();
	http_free_body(&call->incoming);
	http_leave(&call->incoming);
	if (!c->calls)
		gate_ended(c->server->gate, c->place);
	explicit_bzero(call->text, sizeof(call->text));
	str_free(&call->incoming.exchange.reply);
	str_free(&call->answer);
	free(call);
}

static int close_stream(nghttp2_session *session, int32_t stream, uint32_t code, void *data)
{
	struct grpc_call *call = call_of(data, stream);

	(void)session, (void)code;
	if (call)
		free_call(data, call);
	return 0;
}

/* --- a connection --- */

int grpc_connection_begin(struct grpc_connection *c)
{
	struct grpc *g = c->server->grpc;
	const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, c->server->requests_max / 2},
						   {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 2 * FIELDS_BYTES}};

	c->last = clock_boot();
	if (g->lib.nghttp2_session_server_new2(&c->session, g->callbacks, c, g->option) != 0)
		return -ENOMEM;
	return g->lib.nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, ARRAY_SIZE(settings)) == 0 ? 0 : -ENOMEM;
}

void grpc_connection_end(struct grpc_connection *c)
{
	c->server->grpc->lib.nghttp2_session_del(c->session);
	while (c->calls)
		free_call(c, c->calls);
}

int grpc_connection_take(struct grpc_connection *c, const uint8_t *bytes, size_t n)
{
	const struct nghttp2 *lib = &c->server->grpc->lib;

	return lib->nghttp2_session_mem_recv(c->session, bytes, n) == (ssize_t)n && lib->nghttp2_session_want_read(c->session) ? 0 : -EPROTO;
}

ssize_t grpc_connection_give(struct grpc_connection *c, const uint8_t **ret)
{
	ssize_t n = c->server->grpc->lib.nghttp2_session_mem_send(c->session, ret);

	return n < 0 ? -EPROTO : n;
}

bool grpc_connection_is_late(const struct grpc_connection *c)
{
	int64_t now = clock_boot();
	bool late = now - c->last > IDLE_TIME && !c->calls;

	for (const struct grpc_call *call = c->calls; call && !late; call = call->next)
		late = now - call->began > CALL_TIME;
	return late;
}

/* --- what connections share --- */

int grpc_open(struct http_server *s, char **ret_error)
{
	struct grpc *g = s->grpc = calloc(1, sizeof(*g));
	struct nghttp2 *lib;
	int r = g ? library_load(&nghttp2, &g->lib, ret_error) : -ENOMEM;

	if (r < 0)
		return r;
	lib = &g->lib;
	s->mhd.MHD_lookup_connection_value = look_up;
	s->mhd.MHD_get_connection_values = each_value;
	if (lib->nghttp2_option_new(&g->option) != 0 || lib->nghttp2_session_callbacks_new(&g->callbacks) != 0)
		return -ENOMEM;
	lib->nghttp2_option_set_no_closed_streams(g->option, 1);
	lib->nghttp2_option_set_max_outbound_ack(g->option, ACKS_MAX);
	lib->nghttp2_session_callbacks_set_on_begin_headers_callback(g->callbacks, begin_headers);
	lib->nghttp2_session_callbacks_set_on_header_callback(g->callbacks, take_header);
	lib->nghttp2_session_callbacks_set_on_frame_recv_callback(g->callbacks, take_frame);
	lib->nghttp2_session_callbacks_set_on_data_chunk_recv_callback(g->callbacks, take_data);
	lib->nghttp2_session_callbacks_set_on_frame_send_callback(g->callbacks, stop_sender);
	lib->nghttp2_session_callbacks_set_on_stream_close_callback(g->callbacks, close_stream);
	return 0;
}

void grpc_close(struct grpc *g)
{
	if (!g)
		return;
	if (g->option)
		g->lib.nghttp2_option_del(g->option);
	if (g->callbacks)
		g->lib.nghttp2_session_callbacks_del(g->callbacks);
	free(g);
}
