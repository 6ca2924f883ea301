#include "lib/system/local-socket.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/data/cleanup.h"

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

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

int local_socket_receive_descriptors(int connection, int *ret_fds, size_t n)
{
	char control[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))] = {}, byte;
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(connection, &m, MSG_CMSG_CLOEXEC);
	struct cmsghdr *h = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	int fds[DESCRIPTORS_MAX];
	size_t have;

	if (got <= 0)
		return got < 0 ? -errno : -ENODATA;
	if (!h || h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
		return -EPROTO;
	have = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(h), have * sizeof(int));
	if (have != n) {
		close_all(fds, have);
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
