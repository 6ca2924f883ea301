#include "lib/system/local-socket.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* linux/include/uapi/asm-generic/socket.h, since 6.16 */
#endif
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
#define LINGER_SIGNAL SIGRTMIN
#define BACKLOG	     128
#define ACCEPT_PAUSE 50 /* ms */

static int address_of(const char *folder, const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if ((size_t)snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/%s", folder, name) >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	return 0;
}

int local_socket_listen(const char *folder, const char *name, int type, mode_t mode)
{
	_cleanup_close_ int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	int r = address_of(folder, name, &address);

	if (r < 0 || fd < 0)
		return r < 0 ? r : -errno;
	unlink(address.sun_path);
	local_socket_refuse_descriptors(fd);
	fchmod(fd, mode); /* before it can be reached: the file gets the socket's own mode */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(address.sun_path, mode) < 0 ||
	    (type != SOCK_DGRAM && listen(fd, BACKLOG) < 0))
		return -errno;
	return TAKE_FD(fd);
}

int local_socket_connect(const char *folder, const char *name, int type)
{
	_cleanup_close_ int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	int r = address_of(folder, name, &address);

	if (r < 0 || fd < 0)
		return r < 0 ? r : -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

void local_socket_refuse_descriptors(int socket)
{
	(void)setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &(int){0}, sizeof(int));
}

static bool has_run_out(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

int local_socket_accept(int fd)
{
	int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC), r = -errno;

	if (connection >= 0)
		return connection;
	if (has_run_out(-r))
		poll(NULL, 0, ACCEPT_PAUSE);
	return r;
}

/* --- what others make us wait for --- */

static void interrupt(int number)
{
	(void)number;
}

int linger_guard_open(struct linger_guard *ret)
{
	const struct sigaction action = {.sa_handler = interrupt}; /* no SA_RESTART: it is there to interrupt */
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = LINGER_SIGNAL};

	event.sigev_notify_thread_id = gettid();
	if (sigaction(LINGER_SIGNAL, &action, NULL) < 0 || timer_create(CLOCK_MONOTONIC, &event, &ret->timer) < 0)
		return -errno;
	return 0;
}

void linger_guard_close(struct linger_guard *g)
{
	timer_delete(g->timer);
}

static void interrupt_every(struct linger_guard *g, long ns)
{
	const struct itimerspec when = {.it_interval = {.tv_nsec = ns}, .it_value = {.tv_nsec = ns}};

	if (g)
		timer_settime(g->timer, 0, &when, NULL);
}

static void close_guarded(int socket, struct linger_guard *guard)
{
	interrupt_every(guard, LINGER_MOST * (long)NS_PER_MS);
	close(socket);
	interrupt_every(guard, 0);
}

void local_socket_close(int socket, struct linger_guard *guard)
{
	struct linger_guard own;
	sigset_t lingers, before;

	if (socket < 0)
		return;
	if (guard || linger_guard_open(&own) < 0) {
		close_guarded(socket, guard);
		return;
	}
	sigemptyset(&lingers);
	sigaddset(&lingers, LINGER_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &lingers, &before);
	close_guarded(socket, &own);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	linger_guard_close(&own);
}

/* --- messages --- */

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

/* Signals only interrupt the guarded call, which does not wait for a message. */
static int wait_for_message(int socket, int patience)
{
	struct pollfd readable = {socket, POLLIN, 0};
	int n;

	do
		n = poll(&readable, 1, patience);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n > 0 ? 0 : -EAGAIN;
}

/* Room for as many descriptors as are expected: the kernel drops all others, and says so. */
static void take_control(struct local_message *m, struct msghdr *header)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		size_t n = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS && n >= sizeof(m->from))
			memcpy(&m->from, CMSG_DATA(c), sizeof(m->from));
		for (size_t at = 0; c->cmsg_type == SCM_RIGHTS && at + sizeof(int) <= n; at += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
			if (m->n_files < m->files_most) {
				m->files[m->n_files++] = fd;
			} else {
				header->msg_flags |= MSG_CTRUNC;
				close(fd);
			}
		}
	}
}

static ssize_t receive(int socket, struct local_message *m, int flags)
{
	char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))] __attribute__((aligned(sizeof(size_t)))) = {};
	struct msghdr header = {.msg_iov = m->parts, .msg_iovlen = m->n_parts, .msg_control = control, .msg_controllen = CMSG_SPACE(sizeof(struct ucred))};
	ssize_t n;

	if (m->files_most)
		header.msg_controllen += CMSG_SPACE(m->files_most * sizeof(int));
	n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | flags);
	if (n < 0)
		return -errno;
	take_control(m, &header);
	if (!(header.msg_flags & (MSG_CTRUNC | MSG_TRUNC)))
		return n;
	close_all(m->files, m->n_files);
	m->n_files = 0;
	return -EPROTO;
}

ssize_t local_socket_receive(int socket, struct local_message *m)
{
	const bool waits = m->guard || m->patience >= 0;
	ssize_t n = waits ? wait_for_message(socket, m->patience) : 0;

	m->n_files = 0;
	m->from = (struct ucred){};
	if (n < 0)
		return n;
	interrupt_every(m->guard, LINGER_MOST * (long)NS_PER_MS);
	do
		n = receive(socket, m, waits ? MSG_DONTWAIT : 0);
	while (n == -EINTR && !m->guard);
	interrupt_every(m->guard, 0);
	return n;
}

ssize_t local_socket_receive_bytes(int socket, void *bytes, size_t n, int patience, struct linger_guard *guard)
{
	struct iovec io = {bytes, n};

	return local_socket_receive(socket, &(struct local_message){.parts = &io, .n_parts = 1, .patience = patience, .guard = guard});
}

int local_socket_send_descriptors(int connection, const int *fds, size_t n)
{
	char control[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))] = {}, byte = 0;
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	if (n > DESCRIPTORS_MAX)
		return -E2BIG;
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(h), fds, n * sizeof(int));
	return sendmsg(connection, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int local_socket_receive_descriptors(int connection, int *ret_fds, size_t n)
{
	int fds[DESCRIPTORS_MAX];
	char byte;
	struct iovec io = {&byte, 1};
	struct local_message m = {.parts = &io, .n_parts = 1, .patience = -1, .files = fds, .files_most = n};
	ssize_t got = n > DESCRIPTORS_MAX ? -E2BIG : local_socket_receive(connection, &m);

	if (got <= 0)
		return got < 0 ? (int)got : -ENODATA;
	if (m.n_files != n) {
		close_all(fds, m.n_files);
		return -EPROTO;
	}
	memcpy(ret_fds, fds, n * sizeof(int));
	return 0;
}

void local_socket_unlink_in(const char *folder, const char *name)
{
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) < sizeof(path))
		unlink(path);
}
