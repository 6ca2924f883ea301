#include "lib/rights/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/rights/sandbox-enter.h"
#include "lib/system/local-socket.h"

#define REAP_TRIES    200 /* of 10 ms, until one that was ended is gone */
#define QUESTIONS_MAX 64 /* of one call: a program, its debug file, and the libraries that one call chain passes */

enum kind { KIND_REQUEST = 'r', KIND_ANSWER = 'a', KIND_QUESTION = 'q', KIND_FILE = 'f' };

/* --- messages --- */

struct message {
	char kind;
	const char *bytes;
	size_t n;
	const int *files;
	size_t n_files;
};

static int send_message(int socket, const struct message *m, int flags)
{
	char control[CMSG_SPACE(SANDBOX_FILES_MAX * sizeof(int))] __attribute__((aligned(sizeof(size_t)))) = {};
	char kind = m->kind;
	struct iovec parts[] = {{&kind, 1}, {(void *)m->bytes, m->n}};
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = m->n ? 2 : 1};
	ssize_t n;

	if (m->n >= SANDBOX_MESSAGE_MAX || m->n_files > SANDBOX_FILES_MAX)
		return -E2BIG;
	if (m->n_files) {
		struct cmsghdr *c = (struct cmsghdr *)control;

		header.msg_control = control;
		header.msg_controllen = CMSG_SPACE(m->n_files * sizeof(int));
		*c = (struct cmsghdr){CMSG_LEN(m->n_files * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(c), m->files, m->n_files * sizeof(int));
	}
	do
		n = sendmsg(socket, &header, MSG_NOSIGNAL | flags);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static void close_all(int *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cleanup_fd(&files[i]);
}

/* files = NULL: none are expected. `patience` as of local_socket_receive(). Returns the bytes without their kind, -EPIPE at the end, -errno. */
static ssize_t receive_message(int socket, int patience, char *kind, char *bytes, int *files, size_t *n_files)
{
	struct iovec parts[] = {{kind, 1}, {bytes, SANDBOX_MESSAGE_MAX}};
	struct local_message m = {.parts = parts, .n_parts = 2, .patience = patience, .files = files, .files_most = files ? SANDBOX_FILES_MAX : 0};
	ssize_t n = local_socket_receive(socket, &m);

	if (n <= 0)
		return n < 0 && n != -ECONNRESET ? n : -EPIPE;
	if (files)
		*n_files = m.n_files;
	return n - 1;
}

/* --- the child --- */

static struct reader reader_of(const char *bytes, ssize_t n)
{
	const uint8_t *at = (const uint8_t *)bytes;

	return (struct reader){at, at + n, false};
}

_Noreturn static void serve(sandbox_handler handler, void *data)
{
	static char bytes[SANDBOX_MESSAGE_MAX];
	struct str answer = {.max = SANDBOX_MESSAGE_MAX - 1};

	for (;;) {
		struct sandbox_request request = {};
		char kind;
		ssize_t n = receive_message(SANDBOX_SOCKET, -1, &kind, bytes, request.files, &request.n_files);

		if (n < 0 || kind != KIND_REQUEST)
			_exit(n == -EPIPE ? 0 : 1);
		request.bytes = reader_of(bytes, n);
		str_clear(&answer);
		answer.error = 0;
		handler(data, &request, &answer);
		close_all(request.files, request.n_files);
		if (answer.error || send_message(SANDBOX_SOCKET, &(struct message){KIND_ANSWER, answer.data, answer.len, NULL, 0}, 0) < 0)
			_exit(1);
	}
}

int sandbox_ask(const struct str *question)
{
	static char bytes[SANDBOX_MESSAGE_MAX];
	int files[SANDBOX_FILES_MAX];
	size_t n_files = 0;
	ssize_t n;
	char kind;
	int r;

	r = send_message(SANDBOX_SOCKET, &(struct message){KIND_QUESTION, question->data, question->len, NULL, 0}, 0);
	if (r < 0)
		return r;
	n = receive_message(SANDBOX_SOCKET, -1, &kind, bytes, files, &n_files);
	if (n < 0 || kind != KIND_FILE)
		_exit(1);
	if (n_files == 1)
		return files[0];
	close_all(files, n_files);
	return -ENOENT;
}

/* --- the caller --- */

int sandbox_start(sandbox_handler handler, void *data, struct sandbox *ret)
{
	int pair[2], ready = 0;
	_cleanup_close_ int ours = -1, theirs = -1;
	char byte;
	ssize_t n;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	local_socket_refuse_descriptors(ours);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		ready = sandbox_enter(theirs);
		if (ready < 0 || send_message(SANDBOX_SOCKET, &(struct message){.kind = KIND_ANSWER}, 0) < 0)
			_exit(ready < 0 ? -ready : 1);
		serve(handler, data);
	}
	close(TAKE_FD(theirs));
	n = local_socket_receive_bytes(ours, &byte, 1, -1, NULL); /* our own code alone runs there until it has no rights */
	if (n != 1) {
		int status = 0;

		(void)waitpid(pid, &status, 0);
		return WIFEXITED(status) && WEXITSTATUS(status) ? -WEXITSTATUS(status) : -EPERM;
	}
	*ret = (struct sandbox){pid, TAKE_FD(ours)};
	return 0;
}

/* Not for ever: a child may hang in the kernel, on a file of a server that is gone. */
static void reap(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = 10 * NS_PER_MS};

	for (int i = 0; i < REAP_TRIES; i++) {
		pid_t r = waitpid(pid, NULL, WNOHANG);

		if (r == pid || (r < 0 && errno != EINTR))
			return;
		nanosleep(&pause, NULL);
	}
}

void sandbox_stop(struct sandbox *s)
{
	if (s->pid <= 0)
		return;
	close(s->socket);
	(void)kill(s->pid, SIGKILL);
	reap(s->pid);
	*s = (struct sandbox){0, -1};
}

static int wait_for(int socket, short events, int64_t until)
{
	for (;;) {
		int64_t left = until - clock_monotonic();
		struct pollfd p = {socket, events, 0};
		int r = left > 0 ? poll(&p, 1, (int)(left / NS_PER_MS) + 1) : 0;

		if (r > 0)
			return 0;
		if (r == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

static int send_until(const struct sandbox *s, const struct message *m, int64_t until)
{
	int r = wait_for(s->socket, POLLOUT, until);

	if (r == 0)
		r = send_message(s->socket, m, MSG_DONTWAIT);
	return r == -ECONNRESET ? -EPIPE : r;
}

static int provide(const struct sandbox *s, const struct sandbox_call *call, struct reader question, int64_t until)
{
	_cleanup_close_ int fd = call->provider ? call->provider(call->data, &question) : -ENOENT;
	struct message file = {.kind = KIND_FILE, .files = &fd, .n_files = fd >= 0};

	return send_until(s, &file, until);
}

static int converse(struct sandbox *s, const struct sandbox_call *call, char *bytes, struct str *answer)
{
	struct message request = {KIND_REQUEST, call->request->data, call->request->len, call->files, call->n_files};
	int64_t until = clock_monotonic() + call->patience;
	int r = send_until(s, &request, until);

	for (unsigned questions = 0; r == 0 && questions <= QUESTIONS_MAX; questions++) {
		ssize_t n;
		char kind;

		r = wait_for(s->socket, POLLIN, until);
		if (r < 0)
			return r;
		n = receive_message(s->socket, 0, &kind, bytes, NULL, NULL);
		if (n < 0)
			return (int)n;
		if (kind == KIND_ANSWER)
			return str_append(answer, bytes, (size_t)n);
		if (kind != KIND_QUESTION)
			return -EPROTO;
		r = provide(s, call, reader_of(bytes, n), until);
	}
	return r < 0 ? r : -EPROTO;
}

int sandbox_call(struct sandbox *s, const struct sandbox_call *call, struct str *answer)
{
	char bytes[SANDBOX_MESSAGE_MAX];
	int r;

	str_clear(answer);
	if (s->pid <= 0)
		return -EPIPE;
	if (call->request->error || call->request->len >= SANDBOX_MESSAGE_MAX)
		return -E2BIG;
	r = converse(s, call, bytes, answer);
	if (r < 0)
		sandbox_stop(s);
	return r;
}
