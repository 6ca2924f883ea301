/* A TCP proxy of a test's own that counts what goes through it, both ways. */
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct proxy {
	int fd;
	uint16_t port, target;
	atomic_uint_fast64_t *bytes; /* may be shared by several proxies */
	pthread_t thread;
	int end[2]; /* a pipe: its writing end is closed when the connections are to end */
	pthread_mutex_t lock;
	pthread_cond_t ended;
	size_t connections;
};

struct proxy_pair {
	int a, b;
	struct proxy *proxy;
};

static inline bool proxy_pass(int from, int to, atomic_uint_fast64_t *bytes)
{
	char piece[65536];
	ssize_t n = read(from, piece, sizeof(piece));

	for (ssize_t sent = 0, k; sent < n; sent += k) {
		k = write(to, piece + sent, (size_t)(n - sent));
		if (k <= 0)
			return false;
	}
	if (n > 0)
		atomic_fetch_add(bytes, (uint64_t)n);
	return n > 0;
}

static inline void proxy_count(struct proxy *p, int change)
{
	pthread_mutex_lock(&p->lock);
	p->connections += (size_t)change;
	pthread_cond_signal(&p->ended);
	pthread_mutex_unlock(&p->lock);
}

static inline void *proxy_connection(void *argument)
{
	struct proxy_pair p = *(struct proxy_pair *)argument;
	struct pollfd fds[] = {{p.a, POLLIN, 0}, {p.b, POLLIN, 0}, {p.proxy->end[0], POLLIN, 0}};

	free(argument);
	while (poll(fds, 3, -1) > 0 && !fds[2].revents)
		if ((fds[0].revents && !proxy_pass(p.a, p.b, p.proxy->bytes)) || (fds[1].revents && !proxy_pass(p.b, p.a, p.proxy->bytes)))
			break;
	close(p.a);
	close(p.b);
	proxy_count(p.proxy, -1);
	return NULL;
}

static inline void *proxy_accept(void *argument)
{
	struct proxy *p = argument;
	int fd;

	while ((fd = accept(p->fd, NULL, NULL)) >= 0) {
		struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(p->target), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		struct proxy_pair *pair = malloc(sizeof(*pair));
		pthread_t thread;

		*pair = (struct proxy_pair){fd, socket(AF_INET, SOCK_STREAM, 0), p};
		proxy_count(p, 1);
		if (connect(pair->b, (struct sockaddr *)&to, sizeof(to)) < 0 ||
		    pthread_create(&thread, NULL, proxy_connection, pair) != 0) {
			close(pair->a);
			close(pair->b);
			free(pair);
			proxy_count(p, -1);
			continue;
		}
		pthread_detach(thread);
	}
	return NULL;
}

/* Listens on a free port; connections go to `target` of this machine. */
static inline int proxy_start(struct proxy *p, uint16_t target, atomic_uint_fast64_t *bytes)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);

	*p = (struct proxy){.fd = socket(AF_INET, SOCK_STREAM, 0), .target = target, .bytes = bytes,
			    .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
	if (pipe(p->end) < 0 || bind(p->fd, (struct sockaddr *)&a, n) < 0 || listen(p->fd, 64) < 0 || getsockname(p->fd, (struct sockaddr *)&a, &n) < 0)
		return -1;
	p->port = ntohs(a.sin_port);
	return pthread_create(&p->thread, NULL, proxy_accept, p);
}

/* Returns when the last connection has ended: `p` may be gone after it. */
static inline void proxy_stop(struct proxy *p)
{
	shutdown(p->fd, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	close(p->fd);
	close(p->end[1]);
	pthread_mutex_lock(&p->lock);
	while (p->connections)
		pthread_cond_wait(&p->ended, &p->lock);
	pthread_mutex_unlock(&p->lock);
	close(p->end[0]);
}
