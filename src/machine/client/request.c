#include "machine/client/request.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/fold.h"
#include "lib/data/log.h"
#include "lib/data/vec.h"
#include "lib/system/local-socket.h"

#define COPY_SIZE      65536
#define BEGIN_PATIENCE 20 /* s until an answer begins: the recorder forks a process */

struct message {
	char bytes[REQUEST_MAX];
	size_t n;
};

static int add_word(struct message *m, const char *word)
{
	size_t length = strlen(word) + 1;

	if (m->n + length > sizeof(m->bytes))
		return -E2BIG;
	memcpy(m->bytes + m->n, word, length);
	m->n += length;
	return 0;
}

/* The asker's surroundings on which the answer's words depend. */
static int add_settings(struct message *m)
{
	_cleanup_free_ char *zone = NULL;
	const char *text = getenv("TZ");
	bool colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	int r = 0;

	if (text && asprintf(&zone, "TZ=%s", text) < 0) {
		zone = NULL;
		return -ENOMEM;
	}
	if (zone)
		r = add_word(m, zone);
	return r == 0 && colour ? add_word(m, "COLOR=1") : r;
}

/* The other end answers with the pipes, or with a status alone. */
static int take_pipes(int connection, struct service_request *ret)
{
	int fds[2], r = local_socket_receive_descriptors(connection, fds, 2);

	if (r == -ECONNRESET) /* it closed without reading the question: what it said before that comes second */
		r = local_socket_receive_descriptors(connection, fds, 2);
	if (r == -EPROTO)
		return -EBUSY;
	if (r < 0)
		return r == -ENODATA ? -ECONNRESET : r;
	ret->output = fds[0];
	ret->errors = fds[1];
	return 0;
}

int request_begin(const char *run_dir, int n_words, char *const *words, struct service_request *ret)
{
	const struct timeval patience = {.tv_sec = BEGIN_PATIENCE};
	_cleanup_close_ int fd = -1;
	struct message m = {};
	int r = add_settings(&m);

	for (int i = 0; i < n_words && r == 0; i++)
		r = add_word(&m, words[i]);
	if (r < 0)
		return r;
	fd = local_socket_connect(run_dir, "socket", SOCK_SEQPACKET);
	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (send(fd, m.bytes, m.n, MSG_NOSIGNAL) < 0 && errno != EPIPE) /* a refusal is answered at once, with its reason */
		return -errno;
	r = take_pipes(fd, ret);
	if (r == 0)
		ret->connection = TAKE_FD(fd);
	return r;
}

bool request_is_urgent(const char *verb)
{
	static const char *const verbs[] = {"why", "mark", "show", "list"};

	return ANY_WHERE(i, ARRAY_SIZE(verbs), strcmp(verb, verbs[i]) == 0);
}

/* 1 = there may be more, 0 = that was the end, -errno. */
static int copy_some(int from, struct fold *to)
{
	char bytes[COPY_SIZE];
	ssize_t n = read(from, bytes, sizeof(bytes));
	int r;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 1 : -errno;
	r = fold_write(to, bytes, (size_t)n);
	return r < 0 ? r : n > 0;
}

int request_copy(const struct service_request *q, int output, int errors)
{
	struct pollfd fds[] = {{q->output, POLLIN, 0}, {q->errors, POLLIN, 0}};
	struct fold to[] = {{.fd = output}, {.fd = errors}};
	int r = 0;

	while (r >= 0 && (fds[0].fd >= 0 || fds[1].fd >= 0)) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			r = -errno;
		for (size_t i = 0; i < ARRAY_SIZE(fds) && r >= 0; i++) {
			r = fds[i].fd >= 0 && fds[i].revents ? copy_some(fds[i].fd, &to[i]) : 1;
			if (r == 0)
				fds[i].fd = -1;
		}
	}
	fold_free(&to[0]);
	fold_free(&to[1]);
	return r < 0 ? r : 0;
}

static int say_busy(void)
{
	return log_failure(STATUS_CANNOT, "the recorder is answering too many questions at once: try again in a moment");
}

static int say_silent(const char *run_dir, int r)
{
	return log_failure(STATUS_CANNOT, "the recorder in %s does not answer (%s): see its log", run_dir, strerror(-r));
}

int request_send(const char *run_dir, int n_words, char *const *words, int output)
{
	struct service_request q;
	int r = request_begin(run_dir, n_words, words, &q), copied;

	if (r == -EBUSY)
		return say_busy();
	if (r < 0 && r != -ENOENT && r != -ECONNREFUSED && r != -E2BIG && geteuid() != 0)
		return say_silent(run_dir, r);
	if (r < 0)
		return r;
	copied = request_copy(&q, output, STDERR_FILENO);
	r = request_end(&q);
	if (r >= 0 && copied < 0 && copied != -EPIPE) /* else its reader has left, who wants no more of it */
		return log_failure(STATUS_CANNOT, "cannot write the answer: %s", strerror(-copied));
	if (r >= 0)
		return r;
	return log_failure(STATUS_CANNOT, "the recorder's answer was cut off: see its log for the reason");
}

void request_drop(struct service_request *q)
{
	cleanup_fd(&q->connection);
	cleanup_fd(&q->output);
	cleanup_fd(&q->errors);
	*q = (struct service_request){-1, -1, -1};
}

int request_end(struct service_request *q)
{
	uint8_t status;
	int r = local_socket_receive_bytes(q->connection, &status, 1, -1, NULL) == 1 ? status : -ECONNRESET;

	request_drop(q);
	return r;
}
