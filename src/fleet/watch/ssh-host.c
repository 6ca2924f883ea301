#include "fleet/watch/ssh-host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/system/spawn.h"

#define SCHEME	    "ssh://"
#define ANSWER_MAX  ((size_t)64 << 20)
#define NOT_FOUND   127 /* of a shell */
#define NOT_REACHED 255 /* of ssh itself */
#define FAILED	    2   /* of whyslow, from here on */

bool ssh_host_is(const char *url)
{
	return str_starts(url, SCHEME);
}

/* Neither an option of ssh nor anything that a shell reads otherwise. */
static bool is_name(const char *name, size_t n)
{
	return n && *name != '-' && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@:%") >= n;
}

/* The command of the other machine's shell: each word in quotes. */
static int put_command(struct str *to, size_t n, const char *const *words)
{
	int r = str_puts(to, "whyslow");

	for (size_t i = 0; i < n && r == 0; i++) {
		r = str_puts(to, " '");
		for (const char *at = words[i]; *at && r == 0; at++)
			r = *at == '\'' ? str_puts(to, "'\\''") : str_putc(to, *at);
		r = r ?: str_putc(to, '\'');
	}
	return r;
}

/* ssh's output and its errors, which come as they come. */
struct talk {
	pid_t child;
	int fds[2];
	struct str *text[2];
};

static int start(const char *host, const char *port, const char *command, struct talk *t)
{
	char *const argv[] = {"sh", "-c", "exec ${WHYSLOW_SSH:-ssh} -o BatchMode=yes -o ConnectTimeout=10 ${2:+-p \"$2\"} -- \"$1\" \"$3\"",
			      "sh", (char *)host, (char *)port, (char *)command, NULL};
	_cleanup_close_ int output = -1, errors = -1;
	struct spawn s = {.program = "/bin/sh", .argv = argv, .environment = environ};
	int ends[2][2];

	if (pipe2(ends[0], O_CLOEXEC) < 0)
		return -errno;
	t->fds[0] = ends[0][0];
	output = ends[0][1];
	if (pipe2(ends[1], O_CLOEXEC) < 0)
		return -errno;
	t->fds[1] = ends[1][0];
	errors = ends[1][1];
	s.fds[0] = SPAWN_NULL;
	s.fds[1] = output;
	s.fds[2] = errors;
	return spawn_start(&s, &t->child);
}

/* 0 when both have ended. */
static int listen_to(struct talk *t, int64_t timeout)
{
	int64_t until = clock_monotonic() + timeout;

	while (t->fds[0] >= 0 || t->fds[1] >= 0) {
		struct pollfd fds[] = {{t->fds[0], POLLIN, 0}, {t->fds[1], POLLIN, 0}};
		int64_t left = until - clock_monotonic();

		if (left <= 0 || poll(fds, 2, (int)(left / NS_PER_MS) + 1) == 0)
			return -ETIMEDOUT;
		for (size_t i = 0; i < 2; i++) {
			char bytes[65536];
			ssize_t n = fds[i].revents ? read(t->fds[i], bytes, sizeof(bytes)) : -1;

			if (n > 0 && (t->text[i]->len + (size_t)n > ANSWER_MAX || str_append(t->text[i], bytes, (size_t)n) < 0))
				return -E2BIG;
			if (n == 0) {
				cleanup_fd(&t->fds[i]);
				t->fds[i] = -1;
			}
		}
	}
	return 0;
}

/* The last line of what was said is the reason; without "whyslow: ". */
static int explain(int status, struct str *said, char **ret_error)
{
	char *last;

	while (said->len && said->data[said->len - 1] <= ' ')
		said->data[--said->len] = '\0';
	last = said->len ? strrchr(said->data, '\n') : NULL;
	last = last ? last + 1 : said->len ? said->data : "";
	str_make_printable(last);
	if (status == NOT_FOUND)
		return str_fail(ret_error, -EREMOTEIO, "whyslow is not installed there, or not in the PATH of that user's shell");
	if (status == NOT_REACHED)
		return str_fail(ret_error, -EREMOTEIO, "%s", *last ? last : "ssh cannot connect");
	return str_fail(ret_error, -EREMOTEIO, "%s", *last ? (str_starts(last, "whyslow: ") ? last + 9 : last) : "it ended without an answer");
}

static int talk(const char *host, const char *port, const char *command, int64_t timeout, struct str *ret, char **ret_error)
{
	_cleanup_str_ struct str said = {};
	struct talk t = {.fds = {-1, -1}, .text = {ret, &said}};
	int status = 0, r = start(host, port, command, &t);

	r = r ?: listen_to(&t, timeout);
	cleanup_fd(&t.fds[0]);
	cleanup_fd(&t.fds[1]);
	if (t.child && r < 0)
		kill(t.child, SIGKILL);
	if (t.child)
		while (waitpid(t.child, &status, 0) < 0 && errno == EINTR)
			continue;
	if (r == -ETIMEDOUT)
		return str_fail(ret_error, r, "no answer within %s", CLOCK_SPAN(timeout));
	if (r < 0)
		return str_fail(ret_error, r, "%s", strerror(-r));
	return WIFEXITED(status) && WEXITSTATUS(status) < FAILED ? 0 : explain(WIFEXITED(status) ? WEXITSTATUS(status) : NOT_REACHED, &said, ret_error);
}

int ssh_host_ask(const char *url, size_t n, const char *const *words, int64_t timeout, struct str *ret, char **ret_error)
{
	const char *at = url + strlen(SCHEME), *colon = strrchr(at, ':');
	_cleanup_free_ char *host = colon ? strndup(at, (size_t)(colon - at)) : strdup(at);
	_cleanup_str_ struct str command = {};

	if (!host || put_command(&command, n, words) < 0)
		return -ENOMEM;
	if (!is_name(host, strlen(host)) || (colon && strspn(colon + 1, "0123456789") != strlen(colon + 1)))
		return str_fail(ret_error, -EINVAL, "invalid host '%s'; expected ssh://[USER@]HOST[:PORT]", url);
	return talk(host, colon ? colon + 1 : "", command.data, timeout, ret, ret_error);
}
