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

struct nghttp2 {
	LIBRARY_CALL(nghttp2_option_new);
	LIBRARY_CALL(nghttp2_option_del);
	LIBRARY_CALL(nghttp2_option_set_no_closed_streams);
	LIBRARY_CALL(nghttp2_option_set_max_outbound_ack);
	LIBRARY_CALL(nghttp2_session_callbacks_new);
	LIBRARY_CALL(nghttp2_session_callbacks_del);
	LIBRARY_CALL(nghttp2_session_callbacks_set_on_begin_headers_callback);
	LIBRARY_CALL(nghttp2_session_callbacks_set_on_header_callback);
	LIBRARY_CALL(nghttp2_session_callbacks_set_on_frame_recv_callback);
	LIBRARY_CALL(nghttp2_session_callbacks_set_on_data_chunk_recv_callback);
	LIBRARY_CALL(nghttp2_session_callbacks_set_on_frame_send_callback);
	LIBRARY_CALL(nghttp2_session_callbacks_set_on_stream_close_callback);
	LIBRARY_CALL(nghttp2_session_server_new2);
	LIBRARY_CALL(nghttp2_session_del);
	LIBRARY_CALL(nghttp2_session_set_stream_user_data);
	LIBRARY_CALL(nghttp2_session_get_stream_user_data);
	LIBRARY_CALL(nghttp2_session_mem_recv);
	LIBRARY_CALL(nghttp2_session_mem_send);
	LIBRARY_CALL(nghttp2_session_want_read);
	LIBRARY_CALL(nghttp2_submit_settings);
	LIBRARY_CALL(nghttp2_submit_response);
	LIBRARY_CALL(nghttp2_submit_trailer);
	LIBRARY_CALL(nghttp2_submit_rst_stream);
	LIBRARY_CALL(nghttp2_strerror);
};

struct gnutls_server {
	LIBRARY_CALL(gnutls_certificate_allocate_credentials);
	LIBRARY_CALL(gnutls_certificate_free_credentials);
	LIBRARY_CALL(gnutls_certificate_set_x509_key_mem2);
	LIBRARY_CALL(gnutls_priority_init);
	LIBRARY_CALL(gnutls_priority_deinit);
	LIBRARY_CALL(gnutls_init);
	LIBRARY_CALL(gnutls_deinit);
	LIBRARY_CALL(gnutls_priority_set);
	LIBRARY_CALL(gnutls_credentials_set);
	LIBRARY_CALL(gnutls_alpn_set_protocols);
	LIBRARY_CALL(gnutls_transport_set_int2);
	LIBRARY_CALL(gnutls_handshake);
	LIBRARY_CALL(gnutls_record_get_direction);
	LIBRARY_CALL(gnutls_record_check_pending);
	LIBRARY_CALL(gnutls_record_recv);
	LIBRARY_CALL(gnutls_record_send);
	LIBRARY_CALL(gnutls_bye);
	LIBRARY_CALL(gnutls_strerror);
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
