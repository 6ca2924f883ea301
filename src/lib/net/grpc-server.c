#include "lib/net/grpc.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/data/cleanup.h"

#define BLOCK	   (32 << 10)
#define LOOK_MS	   1000 /* how often what takes too long is looked for */
#define THREAD_STACK (1 << 20)

static const struct library gnutls = LIBRARY("libgnutls.so.30", "libgnutls30", GNUTLS_SERVER_CALLS);

/* --- a connection's socket --- */

static const struct gnutls_server *tls_of(const struct grpc_connection *c)
{
	return &c->server->grpc->tls;
}

/* Waits for the socket. 0; -ETIME where the client, -ECANCELED where the server is to wait no longer. */
static int wait_for(struct grpc_connection *c, short events)
{
	struct pollfd fd = {c->fd, events, 0};

	if (!(events & POLLIN) || !c->tls || !tls_of(c)->gnutls_record_check_pending(c->tls))
		poll(&fd, 1, LOOK_MS);
	return http_server_is_stopping(c->server) ? -ECANCELED : grpc_connection_is_late(c) ? -ETIME : 0;
}

/* Translates what GnuTLS returned: n, 0 at the end, or -EAGAIN, -EPROTO. */
static ssize_t result_of(ssize_t n)
{
	return n >= 0 ? n : n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED ? -EAGAIN : -EPROTO;
}

static ssize_t receive(struct grpc_connection *c, void *buf, size_t room)
{
	ssize_t n = c->tls ? result_of(tls_of(c)->gnutls_record_recv(c->tls, buf, room)) : read(c->fd, buf, room);

	return c->tls || n >= 0 ? n : -errno;
}

static ssize_t transmit(struct grpc_connection *c, const void *bytes, size_t n)
{
	ssize_t sent = c->tls ? result_of(tls_of(c)->gnutls_record_send(c->tls, bytes, n)) : send(c->fd, bytes, n, MSG_NOSIGNAL);

	return c->tls || sent >= 0 ? sent : -errno;
}

/* Everything, or -errno. Nothing is read in the meantime. */
static int transmit_all(struct grpc_connection *c, const uint8_t *bytes, size_t n)
{
	int r = 0;

	while (n && r == 0) {
		ssize_t sent = transmit(c, bytes, n);

		if (sent < 0 && sent != -EAGAIN && sent != -EINTR)
			return (int)sent;
		if (sent < 0) {
			r = wait_for(c, POLLOUT);
			continue;
		}
		bytes += sent;
		n -= (size_t)sent;
	}
	return r;
}

static int send_answers(struct grpc_connection *c)
{
	const uint8_t *bytes;
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = grpc_connection_give(c, &bytes)) != 0)
		r = n < 0 ? (int)n : transmit_all(c, bytes, (size_t)n);
	return r;
}

static int shake_hands(struct grpc_connection *c)
{
	static const gnutls_datum_t h2 = {(unsigned char *)"h2", 2};
	const struct gnutls_server *tls = tls_of(c);
	const struct grpc *g = c->server->grpc;
	int r, waited = 0;

	if (!g->credentials)
		return 0;
	if (tls->gnutls_init(&c->tls, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0)
		return -ENOMEM;
	tls->gnutls_priority_set(c->tls, g->priority);
	tls->gnutls_credentials_set(c->tls, GNUTLS_CRD_CERTIFICATE, g->credentials);
	tls->gnutls_alpn_set_protocols(c->tls, &h2, 1, 0);
	tls->gnutls_transport_set_int2(c->tls, c->fd, c->fd);
	while (waited == 0 && (r = (int)result_of(tls->gnutls_handshake(c->tls))) != 0) {
		if (r != -EAGAIN)
			return r;
		waited = wait_for(c, tls->gnutls_record_get_direction(c->tls) ? POLLOUT : POLLIN);
	}
	return waited;
}

static void converse(struct grpc_connection *c)
{
	uint8_t block[BLOCK];
	int r = grpc_connection_begin(c);

	if (r == 0)
		r = shake_hands(c);
	while (r == 0) {
		ssize_t n;

		r = send_answers(c);
		if (r == 0)
			r = wait_for(c, POLLIN);
		if (r < 0)
			break;
		n = receive(c, block, sizeof(block));
		if (n != -EAGAIN && n != -EINTR)
			r = n <= 0 ? -EPIPE : grpc_connection_take(c, block, (size_t)n);
	}
	if (r == -EPROTO)
		(void)send_answers(c); /* why it ends */
}

/* --- a server's connections --- */

static void leave(struct grpc_connection *c)
{
	struct http_server *s = c->server;
	struct grpc_connection **at = &s->grpc->connections;

	pthread_mutex_lock(&s->lock);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	gate_leave(s->gate, c->place);
	close(c->fd);
	pthread_cond_broadcast(&s->grpc->left); /* the last use of the server */
	pthread_mutex_unlock(&s->lock);
	free(c);
}

static void *serve(void *argument)
{
	struct grpc_connection *c = argument;

	converse(c);
	grpc_connection_end(c);
	if (c->tls) {
		(void)tls_of(c)->gnutls_bye(c->tls, GNUTLS_SHUT_WR);
		tls_of(c)->gnutls_deinit(c->tls);
	}
	leave(c);
	return NULL;
}

static int start_thread(struct grpc_connection *c)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r = -pthread_attr_init(&attr);

	if (r < 0)
		return r;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	r = -pthread_create(&thread, &attr, serve, c);
	pthread_attr_destroy(&attr);
	return r;
}

bool grpc_admit(void *server, int fd, const struct sockaddr *address, socklen_t n)
{
	struct http_server *s = server;
	struct grpc_connection *c = calloc(1, sizeof(*c));
	int r = c ? 0 : -ENOMEM;

	(void)address, (void)n;
	if (r == 0) {
		*c = (struct grpc_connection){.server = s, .fd = fd, .place = gate_find(s->gate, fd)};
		pthread_mutex_lock(&s->lock);
		c->next = s->grpc->connections;
		s->grpc->connections = c;
		r = start_thread(c);
		if (r < 0)
			s->grpc->connections = c->next;
		pthread_mutex_unlock(&s->lock);
	}
	if (r < 0) {
		close(fd);
		free(c);
	}
	return r == 0;
}

/* --- start and stop --- */

static int take_certificate(struct http_server *s, char **ret_error)
{
	struct grpc *g = s->grpc;
	const gnutls_datum_t certificate = {(unsigned char *)s->certificate, (unsigned)strlen(s->certificate)}, key = {(unsigned char *)s->key, (unsigned)strlen(s->key)};
	int code, r = library_load(&gnutls, &g->tls, ret_error);

	if (r < 0)
		return r;
	code = g->tls.gnutls_priority_init(&g->priority, HTTP_TLS_PRIORITY, NULL);
	if (code >= 0)
		code = g->tls.gnutls_certificate_allocate_credentials(&g->credentials);
	if (code >= 0)
		code = g->tls.gnutls_certificate_set_x509_key_mem2(g->credentials, &certificate, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
	return code >= 0 ? 0 : str_fail(ret_error, -EINVAL, "cannot use the certificate or its key: %s", g->tls.gnutls_strerror(code));
}

int grpc_listen(struct http_server *s, char **ret_error)
{
	int r = grpc_open(s, ret_error);

	if (r == 0)
		pthread_cond_init(&s->grpc->left, NULL);
	return r == 0 && s->certificate ? take_certificate(s, ret_error) : r;
}

void grpc_stop(struct http_server *s)
{
	struct grpc *g = s->grpc;

	if (!g)
		return;
	pthread_mutex_lock(&s->lock);
	for (struct grpc_connection *c = g->connections; c; c = c->next)
		shutdown(c->fd, SHUT_RD); /* its thread wakes; an answer on its way is still sent */
	while (g->connections)
		pthread_cond_wait(&g->left, &s->lock);
	pthread_mutex_unlock(&s->lock);
	if (g->credentials)
		g->tls.gnutls_certificate_free_credentials(g->credentials);
	if (g->priority)
		g->tls.gnutls_priority_deinit(g->priority);
	grpc_close(g);
}
