#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/request.h"

#define CLIENTS_MAX	 8     /* answers at a time; the next ones are told to try again */
#define REQUEST_TIMEOUT	 5     /* s for a client to say what it wants */
#define ANSWER_TIMEOUT	 60000 /* ms for an answer to be computed and read */
#define WORDS_MAX	 64
#define STATUS_BUSY	 3
#define THREAD_STACK	 (128 << 10)

struct server {
	pthread_t thread;
	int fd, stop_fd[2];
	char *path, *run_dir, *store_file;
	atomic_int clients;
};

struct client {
	struct server *server;
	int fd;
};

static int socket_address(const char *run_dir, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if ((size_t)snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/socket", run_dir) >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	return 0;
}

/* The words, and the client's standard output and error. */
static int receive(int fd, char words[REQUEST_MAX + 1], size_t *ret_n, int ret_fds[2])
{
	char control[CMSG_SPACE(2 * sizeof(int))] = {};
	struct iovec io = {words, REQUEST_MAX};
	struct msghdr message = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	if (n < 0)
		return -errno;
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(2 * sizeof(int)))
		return -EPROTO;
	memcpy(ret_fds, CMSG_DATA(c), 2 * sizeof(int));
	if (n == 0 || words[n - 1] != '\0') {
		close(ret_fds[0]);
		close(ret_fds[1]);
		return -EPROTO;
	}
	*ret_n = (size_t)n;
	return 0;
}

static int start_answer(const struct server *s, uid_t uid, char *words, size_t n, const int fds[2], pid_t *ret_pid)
{
	static char *const environment[] = {(char *)"PATH=/usr/bin:/bin", (char *)"LC_ALL=C.UTF-8", NULL};
	char viewer[16];
	char *argv[WORDS_MAX + 8] = {(char *)"whyslow", (char *)"--viewer", viewer,	  (char *)"--run-dir", s->run_dir,
				     (char *)"--store", s->store_file};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int at = 7, r;

	snprintf(viewer, sizeof(viewer), "%u", uid);
	for (size_t i = 0; i < n; i += strlen(words + i) + 1) {
		if (at >= WORDS_MAX + 7)
			return -E2BIG;
		argv[at++] = words + i;
	}
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fds[0], 1);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	r = -posix_spawn(ret_pid, "/proc/self/exe", &actions, &attributes, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return r;
}

/* Waits for the answer; ends it when the client goes away or nobody reads what it writes. */
static int wait_for(pid_t pid, int client)
{
	struct pollfd gone = {client, POLLRDHUP, 0};
	int status, waited = 0;

	for (;;) {
		pid_t done = waitpid(pid, &status, WNOHANG);

		if (done == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_BUSY;
		if (waited >= ANSWER_TIMEOUT || poll(&gone, 1, 10) > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return STATUS_BUSY;
		}
		waited += 10;
	}
}

static void serve(const struct server *s, int fd)
{
	struct timeval patience = {.tv_sec = REQUEST_TIMEOUT};
	char words[REQUEST_MAX + 1];
	struct ucred peer;
	socklen_t length = sizeof(peer);
	int fds[2], status = STATUS_BUSY;
	pid_t pid;
	size_t n = 0;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || receive(fd, words, &n, fds) < 0)
		return;
	if (start_answer(s, peer.uid, words, n, fds, &pid) == 0)
		status = wait_for(pid, fd);
	close(fds[0]);
	close(fds[1]);
	(void)!write(fd, &(uint8_t){(uint8_t)status}, 1);
}

static void *serve_client(void *argument)
{
	struct client *c = argument;

	serve(c->server, c->fd);
	close(c->fd);
	atomic_fetch_sub(&c->server->clients, 1);
	free(c);
	return NULL;
}

static void accept_one(struct server *s)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
	struct client *c = fd >= 0 ? malloc(sizeof(*c)) : NULL;
	pthread_attr_t small;
	pthread_t thread;

	if (!c || atomic_fetch_add(&s->clients, 1) >= CLIENTS_MAX) {
		if (c)
			atomic_fetch_sub(&s->clients, 1);
		free(c);
		if (fd >= 0)
			close(fd);
		return;
	}
	*c = (struct client){s, fd};
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, THREAD_STACK);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &small, serve_client, c) != 0) {
		atomic_fetch_sub(&s->clients, 1);
		close(fd);
		free(c);
	}
	pthread_attr_destroy(&small);
}

static void *accept_all(void *argument)
{
	struct server *s = argument;
	struct pollfd fds[] = {{s->fd, POLLIN, 0}, {s->stop_fd[0], POLLIN, 0}};

	while (poll(fds, ARRAY_SIZE(fds), -1) >= 0 || errno == EINTR) {
		if (fds[1].revents)
			break;
		if (fds[0].revents)
			accept_one(s);
	}
	return NULL;
}

static int listen_on(struct server *s)
{
	struct sockaddr_un address;
	int r = socket_address(s->run_dir, &address);

	if (r < 0)
		return r;
	s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return -errno;
	unlink(address.sun_path); /* the lock in RUN says that nobody else listens */
	if (bind(s->fd, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(address.sun_path, 0666) < 0 ||
	    listen(s->fd, CLIENTS_MAX) < 0 || pipe2(s->stop_fd, O_CLOEXEC) < 0)
		return -errno;
	s->path = strdup(address.sun_path);
	return s->path ? 0 : -ENOMEM;
}

int server_start(const char *run_dir, const char *store_file, struct server **ret)
{
	struct server *s = calloc(1, sizeof(*s));
	pthread_attr_t small;
	int r;

	if (!s)
		return -ENOMEM;
	s->fd = s->stop_fd[0] = s->stop_fd[1] = -1;
	s->run_dir = strdup(run_dir);
	s->store_file = strdup(store_file);
	r = s->run_dir && s->store_file ? listen_on(s) : -ENOMEM;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, THREAD_STACK);
	if (r == 0)
		r = -pthread_create(&s->thread, &small, accept_all, s);
	pthread_attr_destroy(&small);
	if (r < 0) {
		s->thread = 0;
		server_stop(s);
		return r;
	}
	pthread_setname_np(s->thread, "server");
	*ret = s;
	return 0;
}

void server_stop(struct server *s)
{
	if (!s)
		return;
	if (s->thread) {
		close(s->stop_fd[1]);
		s->stop_fd[1] = -1;
		pthread_join(s->thread, NULL);
	}
	/* answers that are under way end with their process */
	for (int i = 0; i < 100 && atomic_load(&s->clients); i++)
		poll(NULL, 0, 10);
	if (s->path)
		unlink(s->path);
	close_fd(&s->fd);
	close_fd(&s->stop_fd[0]);
	close_fd(&s->stop_fd[1]);
	if (atomic_load(&s->clients))
		return; /* a thread still reads it: leave it to the process's end */
	free(s->path);
	free(s->run_dir);
	free(s->store_file);
	free(s);
}

static int send_request(int fd, const char *words, size_t n, const int fds[2])
{
	char control[CMSG_SPACE(2 * sizeof(int))] = {};
	struct iovec io = {(void *)words, n};
	struct msghdr message = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(c), fds, 2 * sizeof(int));
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int request_begin(const char *run_dir, int n_words, char *const *words, const int fds[2])
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	char bytes[REQUEST_MAX];
	size_t n = 0;
	int r = socket_address(run_dir, &address), connection;

	if (r < 0 || fd < 0)
		return r < 0 ? r : -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	for (int i = 0; i < n_words; i++) {
		size_t length = strlen(words[i]) + 1;

		if (n + length > sizeof(bytes))
			return -E2BIG;
		memcpy(bytes + n, words[i], length);
		n += length;
	}
	r = send_request(fd, bytes, n, fds);
	if (r < 0)
		return r;
	connection = fd;
	fd = -1;
	return connection;
}

int request_end(int connection)
{
	_cleanup_close_ int fd = connection;
	uint8_t status;

	return read(fd, &status, 1) == 1 ? status : -ECONNRESET;
}
