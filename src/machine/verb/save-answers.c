#include "machine/verb/save-answers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/system/local-socket.h"
#include "machine/verb/client-rights.h"

struct message {
	int64_t mark;
	char text[SAVED_ANSWER_MAX];
};

struct answer_saver {
	struct answer_sink sink;
	struct store *store; /* NULL: `socket` leads to the process that writes */
	uint32_t uid;
	int socket;
	pid_t pid;
};

/* --- the process that writes --- */

static void keep_only(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd); /* what the asker reads ends with the answer, not with this process */
	if (socket != STDERR_FILENO + 1)
		(void)dup2(socket, STDERR_FILENO + 1);
	if (syscall(SYS_close_range, STDERR_FILENO + 2u, ~0u, 0) == 0)
		return;
	for (int fd = STDERR_FILENO + 2; fd < sysconf(_SC_OPEN_MAX); fd++) /* before Linux 5.9 */
		close(fd);
}

_Noreturn static void write_answers(struct common *c, int socket)
{
	static struct message m;
	struct store_paths paths = common_paths(c);
	_cleanup_free_ char *error = NULL;
	struct store *store;
	ssize_t n;

	keep_only(socket);
	if (client_keep_writing(c) || store_open(&paths, STORE_MARK, &store, &error) < 0)
		_exit(EXIT_FAILURE);
	while ((n = local_socket_receive_bytes(STDERR_FILENO + 1, &m, sizeof(m), -1, NULL)) > 0) {
		bool whole = (size_t)n > offsetof(struct message, text) && ((const char *)&m)[n - 1] == '\0';
		uint8_t saved = whole && store_tell(store, m.mark, c->viewer.uid, m.text) == 0;

		(void)send(STDERR_FILENO + 1, &saved, 1, MSG_NOSIGNAL);
	}
	store_close(store);
	_exit(EXIT_SUCCESS);
}

static int hand_over(void *data, int64_t mark, const char *text)
{
	const struct answer_saver *s = data;
	size_t length = strlen(text) + 1;
	struct message m = {.mark = mark};
	uint8_t saved = 0;

	if (length > sizeof(m.text))
		return -E2BIG;
	memcpy(m.text, text, length);
	if (send(s->socket, &m, offsetof(struct message, text) + length, MSG_NOSIGNAL) < 0)
		return -errno;
	return local_socket_receive_bytes(s->socket, &saved, 1, -1, NULL) == 1 && saved ? 0 : -EIO;
}

void save_answers_begin(struct common *c)
{
	struct answer_saver *s = calloc(1, sizeof(*s));
	int pair[2];

	if (!s || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		free(s);
		return;
	}
	*s = (struct answer_saver){.sink = {hand_over, s}, .socket = pair[0], .pid = fork()};
	if (s->pid == 0)
		write_answers(c, pair[1]);
	close(pair[1]);
	c->saver = s;
}

/* --- the process that answers --- */

static int tell(void *data, int64_t mark, const char *text)
{
	const struct answer_saver *s = data;

	return store_tell(s->store, mark, s->uid, text);
}

static struct answer_saver *open_saver(const struct common *c)
{
	struct store_paths paths = common_paths(c);
	_cleanup_free_ char *error = NULL;
	struct answer_saver *s = c->from_file || c->rights_given_up ? NULL : calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct answer_saver){.sink = {tell, s}, .uid = c->viewer.uid, .socket = -1};
	if (store_open(&paths, STORE_MARK, &s->store, &error) == 0)
		return s;
	free(s);
	return NULL;
}

const struct answer_sink *save_answers(struct common *c)
{
	if (!c->saver)
		c->saver = open_saver(c);
	return c->saver ? &c->saver->sink : NULL;
}

void save_answers_end(struct common *c)
{
	struct answer_saver *s = c->saver;

	if (!s)
		return;
	store_close(s->store);
	cleanup_fd(&s->socket);
	if (s->pid > 0)
		(void)waitpid(s->pid, NULL, 0);
	free(s);
	c->saver = NULL;
}
