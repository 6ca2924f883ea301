#include "machine/client/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/config.h"
#include "lib/system/spawn.h"
#include "machine/client/request.h"

#define WORDS_MAX 32
#define READ_SIZE 65536
#define LOOK_AGAIN 250 /* ms: is the answer still wanted? */
#define BUSY_PATIENCE (10 * NS_PER_SEC)
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
	size_t at = 2 + put_options(a, argv + 2);

	for (size_t i = 1; i < n; i++)
		argv[at++] = words[i];
	return spawn_start(&(struct spawn){.program = SELF_PROGRAM,
					   .argv = (char *const *)argv,
					   .environment = environ,
					   .fds = {in < 0 ? SPAWN_NULL : in, out, errors}},
			   ret);
}

static int start_child(const struct asker *a, size_t n, const char *const *words, struct inquiry *q)
{
	_cleanup_close_ int out = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	q->fd = ends[0];
	out = ends[1];
	return ask_start(a, n, words, -1, out, q->errors, &q->child);
}

static int ask_recorder(size_t n, const char *const *words, struct inquiry *q)
{
	int r = request_begin(SYSTEM_RUN_DIR, (int)n, (char *const *)words, &q->request);

	if (r < 0)
		return r;
	fcntl(q->request.errors, F_SETFL, O_NONBLOCK);
	q->fd = q->request.output;
	q->request.output = -1;
	return 0;
}

/* Passes the recorder's errors so far to where a child's go. */
static void fetch_errors(const struct inquiry *q)
{
	char bytes[ERRORS_MAX];
	ssize_t n;

	while (q->request.connection >= 0 && (n = read(q->request.errors, bytes, sizeof(bytes))) > 0)
		(void)!write(q->errors, bytes, (size_t)n);
}

int ask_begin(const struct asker *a, size_t n, const char *const *words, struct inquiry *ret)
{
	struct inquiry q = {
		.asked = true, .fd = -1, .request = {-1, -1, -1}, .errors = memfd_create("errors", MFD_CLOEXEC)};
	int r;

	if (n > WORDS_MAX || q.errors < 0) {
		cleanup_fd(&q.errors);
		return n > WORDS_MAX ? -E2BIG : -errno;
	}
	r = a->by_recorder && a->by_recorder(words[0]) ? ask_recorder(n, words, &q) : start_child(a, n, words, &q);
	if (r < 0) {
		cleanup_fd(&q.fd);
		cleanup_fd(&q.errors);
		return r;
	}
	fcntl(q.fd, F_SETFL, O_NONBLOCK);
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
		q->text.data[q->text.len] = '\0'; /* a text, as all of a struct str: room for it is reserved */
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
	if (str_starts(at, "whyslow") && colon)
		at = colon + 2;
	return str_printf(ret, "%.*s", (int)strcspn(at, "\n"), at);
}

int ask_errors(const struct inquiry *q, struct str *ret)
{
	if (!q->asked)
		return 0;
	fetch_errors(q);
	return ask_said(q->errors, ret);
}

const char *ask_failure(const struct asker *a, int error)
{
	if (a->by_recorder && (error == -ENOENT || error == -ECONNREFUSED))
		return "no recorder runs here: start it (whyslow record), or serve a recording by its name (whyslow serve --store FILE)";
	if (error == -ETIMEDOUT)
		return "the answer took too long and was ended: ask about less time, or fewer counters";
	return strerror(-error);
}

int ask_end(struct inquiry *q)
{
	int status = -ECANCELED;

	if (!q->asked)
		return -ECANCELED;
	close(q->fd); /* who still writes gets SIGPIPE */
	if (q->child > 0) {
		kill(q->child, SIGTERM);
		if (waitpid(q->child, &status, 0) < 0 || !WIFEXITED(status))
			status = -ECANCELED;
		else
			status = WEXITSTATUS(status);
	} else if (q->request.connection >= 0) {
		struct pollfd done = {q->request.connection, POLLIN, 0};

		if (poll(&done, 1, 0) > 0)
			status = request_end(&q->request);
		else
			request_drop(&q->request);
	}
	cleanup_fd(&q->errors);
	str_free(&q->text);
	*q = (struct inquiry){};
	return status;
}

static void bound_child(const struct inquiry *q, const struct ask_bounds *b)
{
	if (q->child <= 0 || !b)
		return;
	spawn_limit(q->child, RLIMIT_CORE, 0);
	spawn_limit(q->child, RLIMIT_CPU, (uint64_t)(b->time / NS_PER_SEC) + 1); /* also where this process ends before it */
	spawn_limit(q->child, RLIMIT_AS, b->memory);
}

static int read_all(struct inquiry *q, const struct ask_bounds *b)
{
	const int64_t begin = clock_boot();
	struct pollfd readable = {q->fd, POLLIN, 0};
	int r = 1;

	while (r > 0) {
		if (b && clock_boot() - begin >= b->time)
			return -ETIMEDOUT;
		if (b && b->unwanted && b->unwanted(b->state))
			return -ECANCELED;
		if (poll(&readable, 1, b ? LOOK_AGAIN : -1) > 0)
			r = ask_read(q);
	}
	return r;
}

/* Waits for its end. The exit status, or -errno. */
static int finish(struct inquiry *q)
{
	int status;

	if (q->child <= 0) {
		fetch_errors(q);
		return request_end(&q->request);
	}
	waitpid(q->child, &status, 0);
	q->child = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ECANCELED;
}

int ask_finish(struct inquiry *q, int r, struct str *text, struct str *errors)
{
	if (r > 0)
		r = read_all(q, NULL);
	*text = q->text;
	q->text = (struct str){};
	r = r ?: finish(q);
	ask_errors(q, errors);
	ask_end(q);
	return r;
}

/* All places of its user are taken, as when many pages are opened at once: it waits for one. */
static int begin_in_turn(const struct asker *a, size_t n, const char *const *words, const struct ask_bounds *b, struct inquiry *ret)
{
	const int64_t begin = clock_boot();
	int r = ask_begin(a, n, words, ret);

	while (r == -EBUSY && b && clock_boot() - begin < BUSY_PATIENCE) {
		if (b->unwanted && b->unwanted(b->state))
			return -ECANCELED;
		poll(NULL, 0, LOOK_AGAIN);
		r = ask_begin(a, n, words, ret);
	}
	return r;
}

int ask_all_within(const struct asker *a, size_t n, const char *const *words, const struct ask_bounds *bounds, struct str *text, struct str *errors)
{
	struct inquiry q;
	int r = begin_in_turn(a, n, words, bounds, &q);

	if (r < 0)
		return r;
	bound_child(&q, bounds);
	return ask_finish(&q, read_all(&q, bounds), text, errors);
}

int ask_all(const struct asker *a, size_t n, const char *const *words, struct str *text, struct str *errors)
{
	return ask_all_within(a, n, words, NULL, text, errors);
}
