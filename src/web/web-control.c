#include "web/web-control.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/config.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/system/local-socket.h"

#define QUESTION_MAX 256     /* bytes: a word and a code */
#define ANSWER_MAX   65536   /* SESSIONS_MAX sessions of 300 bytes each */
#define PATIENCE     2000  /* ms for the other side */

struct web_control {
	struct web_control_options options;
	char *folder, *address, *recording;
	int fd, stop_fd[2];
	bool running;
	pthread_t thread;
};

/* --- the folder --- */

/* Only its owner may write it; and the owner is root or one of ours. */
static bool is_private(const struct stat *s, uid_t owner)
{
	return S_ISDIR(s->st_mode) && !(s->st_mode & 022) && (s->st_uid == 0 || s->st_uid == owner);
}

static bool is_safe(const char *folder, uid_t owner)
{
	_cleanup_free_ char *above = strdup(folder);
	char *slash = above ? strrchr(above, '/') : NULL;
	struct stat s;

	if (!slash || slash == above || lstat(folder, &s) < 0 || !is_private(&s, owner))
		return false;
	*slash = '\0';
	return lstat(above, &s) == 0 && is_private(&s, geteuid());
}

int web_folder(const char *run_dir, char **ret, char **ret_error)
{
	const char *unit = getenv("RUNTIME_DIRECTORY");
	_cleanup_free_ char *folder = NULL;
	int r;

	if ((unit && *unit ? asprintf(&folder, "%.*s", (int)strcspn(unit, ":"), unit) : asprintf(&folder, "%s/web", run_dir)) < 0)
		return -ENOMEM;
	r = folder_make(folder, geteuid() == 0 ? 0755 : 0700);
	if (r < 0)
		return str_fail(ret_error, r, "cannot make the folder %s: %s", folder, strerror(-r));
	if (!is_safe(folder, geteuid()))
		return str_fail(ret_error, -EPERM, "others may write the folder %s or the one above it: remove it, or name another with --run-dir", folder);
	*ret = TAKE(folder);
	return 0;
}

#define NAME_SIZE sizeof("65535")

/* The name of a server's socket in its folder. */
static const char *name_of(uint16_t port, char *buf)
{
	snprintf(buf, NAME_SIZE, "%u", port);
	return buf;
}

/* --- the server's side --- */

struct user web_user(uint32_t uid)
{
	struct user user = {.scope = SCOPE_ALL};
	struct passwd entry, *found = NULL;
	char buffer[4096];

	if (getpwuid_r(uid, &entry, buffer, sizeof(buffer), &found) == 0 && found)
		snprintf(user.name, sizeof(user.name), "%s", found->pw_name);
	else
		snprintf(user.name, sizeof(user.name), "uid-%u", uid);
	return user;
}

static json_t *answer_login(struct web_control *c, uint32_t uid, const char *rest)
{
	char code[SECRET_TEXT];
	struct user user = web_user(uid);
	json_t *answer;

	(void)rest;
	if (sessions_make_code(c->options.sessions, &user, CODE_LIFE, code) < 0)
		return NULL;
	answer = json_pack("{s:s, s:s, s:s}", "address", c->address, "recording", c->recording, "code", code);
	explicit_bzero(code, sizeof(code));
	return answer;
}

static json_t *answer_waits(struct web_control *c, uint32_t uid, const char *rest)
{
	(void)uid;
	return json_pack("{s:b}", "waits", sessions_code_waits(c->options.sessions, rest));
}

static void put_session(void *data, const struct listed_session *s)
{
	json_array_append_new(data, json_pack("{s:I, s:s, s:s, s:I, s:I, s:I, s:I}", "number", (json_int_t)s->number, "user", s->user->name,
					      "scope", user_scope_name(s->user->scope), "uid", s->peer == PEER_UNKNOWN ? -1 : (json_int_t)s->peer,
					      "age", (json_int_t)(s->age / NS_PER_SEC), "idle", (json_int_t)(s->idle / NS_PER_SEC), "left",
					      (json_int_t)(s->left / NS_PER_SEC)));
}

static json_t *answer_sessions(struct web_control *c, uint32_t uid, const char *rest)
{
	json_t *list = json_array();

	(void)uid, (void)rest;
	sessions_each(c->options.sessions, put_session, list);
	return json_pack("{s:s, s:o}", "address", c->address, "sessions", list);
}

static json_t *answer_end(struct web_control *c, uint32_t uid, const char *rest)
{
	uint64_t number;

	(void)uid;
	if (str_parse_u64(rest, &number) < 0)
		return NULL;
	return json_pack("{s:I}", "ended", (json_int_t)sessions_end_number(c->options.sessions, number));
}

static const struct {
	const char *word;
	json_t *(*answer)(struct web_control *c, uint32_t uid, const char *rest);
} questions[] = {{"login", answer_login}, {"waits", answer_waits}, {"sessions", answer_sessions}, {"end", answer_end}};

static json_t *answer(struct web_control *c, uint32_t uid, char *words)
{
	char *rest = strchr(words, ' ');

	if (rest)
		*rest++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
		if (strcmp(questions[i].word, words) == 0)
			return questions[i].answer(c, uid, rest ? rest : "");
	return NULL;
}

static void set_patience(int fd)
{
	struct timeval patience = {.tv_sec = PATIENCE / 1000};

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

static int peer_of(int fd, uint32_t *ret)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
		return -errno;
	*ret = peer.uid;
	return 0;
}

static void answer_connection(struct web_control *c, int fd, uint32_t uid, struct linger_guard *guard)
{
	char words[QUESTION_MAX + 1];
	_cleanup_free_ char *text = NULL;
	json_t *said;
	ssize_t n;

	set_patience(fd);
	n = local_socket_receive_bytes(fd, words, QUESTION_MAX, PATIENCE, guard);
	if (n <= 0)
		return;
	words[n] = '\0';
	said = answer(c, uid, words);
	text = said ? json_dumps(said, JSON_COMPACT) : NULL;
	json_decref(said);
	if (text && send(fd, text, strlen(text), MSG_NOSIGNAL) > 0)
		explicit_bzero(text, strlen(text));
	explicit_bzero(words, sizeof(words));
}

/* Every user can connect; only root and the server's own user are heard. */
static void serve_one(struct web_control *c, struct linger_guard *guard)
{
	int fd = local_socket_accept(c->fd);
	uint32_t uid = PEER_UNKNOWN;

	if (fd >= 0 && peer_of(fd, &uid) == 0 && (uid == 0 || uid == geteuid()))
		answer_connection(c, fd, uid, guard);
	local_socket_close(fd, guard);
}

static void *serve_all(void *argument)
{
	struct web_control *c = argument;
	struct pollfd fds[] = {{c->stop_fd[0], POLLIN, 0}, {c->fd, POLLIN, 0}};
	struct linger_guard guard;
	int r = linger_guard_open(&guard);

	if (r < 0) {
		log_warning("'whyslow open' will not find this server: cannot make a timer (%s)", strerror(-r));
		return NULL;
	}
	while (poll(fds, ARRAY_SIZE(fds), -1) >= 0 || errno == EINTR) {
		if (fds[0].revents)
			break;
		if (fds[1].revents)
			serve_one(c, &guard);
	}
	linger_guard_close(&guard);
	return NULL;
}

static int listen_there(struct web_control *c)
{
	char name[NAME_SIZE];

	/* one that lies there is of a server that was killed: the port is ours now */
	c->fd = local_socket_listen(c->folder, name_of(c->options.port, name), SOCK_SEQPACKET | SOCK_NONBLOCK, 0666);
	if (c->fd < 0)
		return c->fd;
	return pipe2(c->stop_fd, O_CLOEXEC) < 0 ? -errno : 0;
}

int web_control_start(const struct web_control_options *options, struct web_control **ret)
{
	struct web_control *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	*c = (struct web_control){.options = *options, .fd = -1, .stop_fd = {-1, -1}};
	c->folder = strdup(options->folder);
	c->address = strdup(options->address);
	c->recording = strdup(options->recording);
	r = c->folder && c->address && c->recording ? listen_there(c) : -ENOMEM;
	r = r ?: -pthread_create(&c->thread, NULL, serve_all, c);
	c->running = r == 0;
	if (r < 0)
		web_control_stop(c);
	else
		*ret = c;
	return r;
}

void web_control_stop(struct web_control *c)
{
	char name[NAME_SIZE];

	if (!c)
		return;
	if (c->running) {
		(void)!write(c->stop_fd[1], "", 1);
		pthread_join(c->thread, NULL);
	}
	if (c->fd >= 0)
		local_socket_unlink_in(c->folder, name_of(c->options.port, name));
	local_socket_close(c->fd, NULL);
	cleanup_fd(&c->stop_fd[0]);
	cleanup_fd(&c->stop_fd[1]);
	FREE_ALL(c->folder, c->address, c->recording, c);
}

/* --- the asker's side --- */

/* The folder's owner serves, and no one else could have put a socket there. */
static bool is_proven(int fd, const char *folder)
{
	struct stat s;
	uint32_t uid = PEER_UNKNOWN;

	return peer_of(fd, &uid) == 0 && lstat(folder, &s) == 0 && (uid == s.st_uid || uid == 0);
}

json_t *web_ask(const char *folder, uint16_t port, const char *words)
{
	_cleanup_free_ char *text = malloc(ANSWER_MAX);
	_cleanup_close_ int fd = -1;
	char name[NAME_SIZE];
	ssize_t n;

	if (!text)
		return NULL;
	fd = local_socket_connect(folder, name_of(port, name), SOCK_SEQPACKET | SOCK_NONBLOCK); /* one whose queue is full waits for nothing */
	if (fd < 0 || fcntl(fd, F_SETFL, 0) < 0)
		return NULL;
	set_patience(fd);
	if (!is_proven(fd, folder) || send(fd, words, strlen(words), MSG_NOSIGNAL) < 0)
		return NULL;
	n = local_socket_receive_bytes(fd, text, ANSWER_MAX, PATIENCE, NULL);
	return n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
}

/* Asks the servers of one folder. How many answered; *ret_on: whether to continue. */
static int ask_folder(const char *folder, const char *words, web_answer_fn *take, void *data, bool *ret_on)
{
	int n = 0;

	FOLDER_EACH(entry, opendir(folder)) {
		uint64_t port;
		json_t *said;

		if (!*ret_on)
			break;
		if (str_parse_u64(entry.name, &port) < 0 || port > UINT16_MAX)
			continue;
		said = web_ask(folder, (uint16_t)port, words);
		if (!said)
			continue;
		n++;
		*ret_on = take(data, folder, (uint16_t)port, said);
		json_decref(said);
	}
	return n;
}

/* The unit's folder is in /run, where only root makes one: its owner is right. */
static bool is_trusted(const char *folder)
{
	struct stat s;

	if (strcmp(folder, SYSTEM_WEB_DIR) == 0)
		return lstat(folder, &s) == 0 && is_safe(folder, s.st_uid);
	return is_safe(folder, geteuid());
}

int web_ask_all(const char *run_dir, const char *words, web_answer_fn *take, void *data)
{
	_cleanup_free_ char *own = NULL;
	const char *folders[] = {NULL, SYSTEM_RUN_DIR "/web", SYSTEM_WEB_DIR};
	bool on = true;
	int n = 0;

	if (asprintf(&own, "%s/web", run_dir) < 0)
		return -ENOMEM;
	folders[0] = own;
	for (size_t i = 0; i < ARRAY_SIZE(folders) && on; i++)
		if ((i == 0 || strcmp(folders[i], own) != 0) && is_trusted(folders[i]))
			n += ask_folder(folders[i], words, take, data, &on);
	return n;
}
