#include "daemon/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "daemon/request.h"

#define WORDS_MAX 32
#define READ_SIZE 65536
#define ERRORS_MAX 4000 /* bytes of an error that are shown */

extern char **environ;

static size_t put_options(const struct asker *a, const char **argv)
{
	const struct {
		const char *name, *value;
	} given[] = {{"--store", a->store_file}, {"--from", a->from_file}, {"--run-dir", a->run_dir}, {"--config", a->config_file}};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		if (given[i].value) {
			argv[n++] = given[i].name;
			argv[n++] = given[i].value;
		}
	return n;
}

int ask_start(const struct asker *a, size_t n, const char *const *words, int in, int out, int errors, pid_t *ret)
{
	const char *argv[WORDS_MAX + 10] = {"whyslow", words[0]};
	posix_spawn_file_actions_t actions;
	size_t at = 2 + put_options(a, argv + 2);
	int r;

	for (size_t i = 1; i < n; i++)
		argv[at++] = words[i];
	posix_spawn_file_actions_init(&actions);
	if (in < 0)
		posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	else
		posix_spawn_file_actions_adddup2(&actions, in, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawn_file_actions_adddup2(&actions, errors, 2);
	r = -posix_spawn(ret, "/proc/self/exe", &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

static int start(const struct asker *a, size_t n, const char *const *words, int out, struct inquiry *q)
{
	const int fds[2] = {out, q->errors};

	if (!a->by_recorder || !a->by_recorder(words[0]))
		return ask_start(a, n, words, -1, out, q->errors, &q->child);
	q->connection = request_begin(SYSTEM_RUN_DIR, (int)n, (char *const *)words, fds);
	return q->connection < 0 ? q->connection : 0;
}

int ask_begin(const struct asker *a, size_t n, const char *const *words, struct inquiry *ret)
{
	struct inquiry q = {.asked = true, .connection = -1, .errors = memfd_create("errors", MFD_CLOEXEC)};
	_cleanup_close_ int out = -1;
	int ends[2], r;

	if (n > WORDS_MAX || q.errors < 0 || pipe2(ends, O_CLOEXEC) < 0) {
		close_fd(&q.errors);
		return n > WORDS_MAX ? -E2BIG : -errno;
	}
	out = ends[1];
	q.fd = ends[0];
	fcntl(q.fd, F_SETFL, O_NONBLOCK);
	r = start(a, n, words, out, &q);
	if (r < 0) {
		close_fd(&q.fd);
		close_fd(&q.errors);
		return r;
	}
	*ret = q;
	return 0;
}

int ask_read(struct inquiry *q)
{
	ssize_t n;

	do {
		if (str_reserve(&q->text, READ_SIZE) < 0)
			return -ENOMEM;
		n = read(q->fd, q->text.data + q->text.len, READ_SIZE);
		if (n > 0)
			q->text.len += (size_t)n;
	} while (n == READ_SIZE);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	return n > 0;
}

json_t *ask_take(struct inquiry *q)
{
	json_t *value = NULL;
	char *end;

	while (!value && q->text.len && (end = memchr(q->text.data, '\n', q->text.len))) {
		value = json_loadb(q->text.data, (size_t)(end - q->text.data), 0, NULL);
		q->text.len -= (size_t)(end - q->text.data) + 1;
		memmove(q->text.data, end + 1, q->text.len);
	}
	return value;
}

int ask_said(int errors, struct str *ret)
{
	char bytes[ERRORS_MAX + 1];
	ssize_t n = pread(errors, bytes, ERRORS_MAX, 0);
	const char *at = bytes, *colon;

	if (n < 0)
		return -errno;
	bytes[n] = '\0';
	colon = strstr(at, ": ");
	if (text_starts(at, "whyslow") && colon)
		at = colon + 2;
	return str_printf(ret, "%.*s", (int)strcspn(at, "\n"), at);
}

int ask_errors(const struct inquiry *q, struct str *ret)
{
	return q->asked ? ask_said(q->errors, ret) : 0;
}

int ask_end(struct inquiry *q)
{
	int status = -ECANCELED, r;

	if (!q->asked)
		return -ECANCELED;
	close(q->fd); /* who still writes gets SIGPIPE */
	if (q->child > 0) {
		kill(q->child, SIGTERM);
		if (waitpid(q->child, &status, 0) < 0 || !WIFEXITED(status))
			status = -ECANCELED;
		else
			status = WEXITSTATUS(status);
	} else if (q->connection >= 0) {
		struct pollfd done = {q->connection, POLLIN, 0};

		r = poll(&done, 1, 0);
		status = r > 0 ? request_end(q->connection) : (close(q->connection), -ECANCELED);
	}
	close_fd(&q->errors);
	str_free(&q->text);
	*q = (struct inquiry){};
	return status;
}

int ask_all(const struct asker *a, size_t n, const char *const *words, struct str *text, struct str *errors)
{
	struct inquiry q;
	struct pollfd readable;
	int r = ask_begin(a, n, words, &q);

	if (r < 0)
		return r;
	readable = (struct pollfd){q.fd, POLLIN, 0};
	do {
		poll(&readable, 1, -1);
		r = ask_read(&q);
	} while (r > 0);
	*text = q.text;
	q.text = (struct str){};
	if (q.child > 0) {
		int status;

		waitpid(q.child, &status, 0);
		q.child = 0;
		r = WIFEXITED(status) ? WEXITSTATUS(status) : -ECANCELED;
	} else {
		r = request_end(q.connection);
		q.connection = -1;
	}
	ask_errors(&q, errors);
	ask_end(&q);
	return r;
}
