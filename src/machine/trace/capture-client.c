#include "machine/trace/capture-client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/system/local-socket.h"
#include "machine/trace/trace-file.h"

static int send_press(const char *run_dir, const struct capture_message *r, int *ret_connection)
{
	_cleanup_close_ int fd = local_socket_connect(run_dir, "press", SOCK_SEQPACKET);

	if (fd < 0)
		return fd;
	if (send(fd, r, sizeof(*r), MSG_NOSIGNAL) < 0)
		return -errno;
	if (ret_connection)
		*ret_connection = TAKE_FD(fd);
	return 0;
}

int capture_mark(const char *run_dir, int64_t mark)
{
	struct capture_message r = {.kind = CAPTURE_MARK, .mark = mark};

	return send_press(run_dir, &r, NULL);
}

int capture_now(const char *run_dir, size_t most, int patience, struct trace *ret, char **ret_error)
{
	struct capture_message request = {.kind = CAPTURE_FREEZE, .mark = (int64_t)most};
	_cleanup_close_ int connection = -1, fd = -1;
	int r = send_press(run_dir, &request, &connection);

	*ret_error = NULL;
	if (r < 0)
		return r;
	if (poll(&(struct pollfd){connection, POLLIN, 0}, 1, patience) == 0)
		return -ETIMEDOUT;
	r = local_socket_receive_descriptors(connection, &fd, 1);
	return r < 0 ? r : trace_read(fd, ret, ret_error);
}

int capture_marker(const char *run_dir, unsigned flags, const char *text)
{
	struct capture_message r = {.kind = CAPTURE_MARKER, .flags = flags, .time = (uint64_t)clock_monotonic(), .thread = (uint32_t)gettid()};
	_cleanup_close_ int fd = local_socket_connect(run_dir, "ring", SOCK_DGRAM);

	if (fd < 0)
		return fd;
	r.length = (uint32_t)strnlen(text, CAPTURE_TEXT);
	memcpy(r.text, text, r.length);
	return send(fd, &r, sizeof(r), MSG_NOSIGNAL) < 0 ? -errno : 0;
}
