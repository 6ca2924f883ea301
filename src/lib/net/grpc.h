/* gRPC for the HTTP server: unary calls over HTTP/2, which libnghttp2 takes apart. grpc.c has a connection's bytes in and out, and what
 * its calls say; grpc-server.c has its sockets, TLS and threads. A call is a struct http_incoming like any other request: the same routes (a
 * method's path, "/package.Service/Method"), tokens, bounds and budget; its body is the message, and its status becomes gRPC's.
 *
 * A connection has a thread, which handles its calls one after another; so what a client sends in the meantime waits in the socket, and no
 * more than CALLS_MAX calls wait in memory, whose messages are in the budget. Control frames (settings, pings, resets, continuations) are bounded by
 * the library; nothing is read while answers wait to be sent, so that they do not pile up.
 */
#pragma once

#include <gnutls/gnutls.h>
#include <nghttp2/nghttp2.h>

#include "lib/net/http-incoming.h"

#define NGHTTP2_CALLS(CALL) \
	CALL(nghttp2_option_new) CALL(nghttp2_option_del) CALL(nghttp2_option_set_no_closed_streams) CALL(nghttp2_option_set_max_outbound_ack) \
	CALL(nghttp2_session_callbacks_new) CALL(nghttp2_session_callbacks_del) CALL(nghttp2_session_callbacks_set_on_begin_headers_callback) \
	CALL(nghttp2_session_callbacks_set_on_header_callback) CALL(nghttp2_session_callbacks_set_on_frame_recv_callback) \
	CALL(nghttp2_session_callbacks_set_on_data_chunk_recv_callback) CALL(nghttp2_session_callbacks_set_on_frame_send_callback) \
	CALL(nghttp2_session_callbacks_set_on_stream_close_callback) CALL(nghttp2_session_server_new2) CALL(nghttp2_session_del) \
	CALL(nghttp2_session_set_stream_user_data) CALL(nghttp2_session_get_stream_user_data) CALL(nghttp2_session_mem_recv) \
	CALL(nghttp2_session_mem_send) CALL(nghttp2_session_want_read) CALL(nghttp2_submit_settings) CALL(nghttp2_submit_response) \
	CALL(nghttp2_submit_trailer) CALL(nghttp2_submit_rst_stream) CALL(nghttp2_strerror)
struct nghttp2 {
	NGHTTP2_CALLS(LIBRARY_CALL)
};

#define GNUTLS_SERVER_CALLS(CALL) \
	CALL(gnutls_certificate_allocate_credentials) CALL(gnutls_certificate_free_credentials) CALL(gnutls_certificate_set_x509_key_mem2) \
	CALL(gnutls_priority_init) CALL(gnutls_priority_deinit) CALL(gnutls_init) CALL(gnutls_deinit) CALL(gnutls_priority_set) \
	CALL(gnutls_credentials_set) CALL(gnutls_alpn_set_protocols) CALL(gnutls_transport_set_int2) CALL(gnutls_handshake) \
	CALL(gnutls_record_get_direction) CALL(gnutls_record_check_pending) CALL(gnutls_record_recv) CALL(gnutls_record_send) CALL(gnutls_bye) \
	CALL(gnutls_strerror)
struct gnutls_server {
	GNUTLS_SERVER_CALLS(LIBRARY_CALL)
};

/* A server of gRPC: `connections` are under the server's lock, the rest does not change. */
struct grpc {
	struct nghttp2 lib;
	nghttp2_option *option;
	nghttp2_session_callbacks *callbacks;
	struct gnutls_server tls;
	gnutls_certificate_credentials_t credentials; /* NULL = without TLS */
	gnutls_priority_t priority;
	struct grpc_connection *connections;
	pthread_cond_t left;
};

struct grpc_call;
struct grpc_connection {
	struct http_server *server;
	struct gate_place *place; /* NULL = none */
	nghttp2_session *session;
	struct grpc_call *calls; /* that are not answered, or whose answer is not sent */
	int fd;
	gnutls_session_t tls; /* NULL = plain */
	int64_t last; /* boot ns: a call ended */
	struct grpc_connection *next;
};

/* Loads the library and makes what connections share. 0 or -errno with *ret_error (caller frees). */
int grpc_open(struct http_server *s, char **ret_error);
void grpc_close(struct grpc *g);

/* Begins to speak on a connection: 0 or -errno. What it has so far is freed by grpc_connection_end() in either case. */
int grpc_connection_begin(struct grpc_connection *c);
void grpc_connection_end(struct grpc_connection *c);
/* Takes bytes of the client's, and handles the calls that become whole by them: 0, or -EPROTO: it is to be closed. */
int grpc_connection_take(struct grpc_connection *c, const uint8_t *bytes, size_t n);
/* The next bytes to be sent, valid until the next call: how many; 0 = none, -EPROTO. */
ssize_t grpc_connection_give(struct grpc_connection *c, const uint8_t **ret);
/* Has the client left a call half sent, or an answer unread, for too long, or said nothing at all for very long? */
bool grpc_connection_is_late(const struct grpc_connection *c);

/* In place of libmicrohttpd's: the gate's `admit`, and what http_server_stop() does. */
int grpc_listen(struct http_server *s, char **ret_error);
bool grpc_admit(void *server, int fd, const struct sockaddr *address, socklen_t n);
void grpc_stop(struct http_server *s);
