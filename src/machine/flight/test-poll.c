/* Where the kernel allows it: a client that polls its one connection waits for the other end, and a server that polls for new work is idle. */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/test.h"
#include "machine/flight/ring.h"

/* Listening sockets of TCP and of this machine's own, and who listens to them. */
struct ends {
	int tcp, local;
	struct sockaddr_in at;
	struct sockaddr_un local_at;
};

static void listen_to_both(struct ends *e)
{
	socklen_t size = sizeof(e->at);

	*e = (struct ends){.tcp = socket(AF_INET, SOCK_STREAM, 0), .local = socket(AF_UNIX, SOCK_STREAM, 0),
			   .at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, .local_at.sun_family = AF_UNIX};
	snprintf(e->local_at.sun_path + 1, sizeof(e->local_at.sun_path) - 1, "whyslow-test-poll-%d", (int)getpid());
	assert_int_equal(bind(e->tcp, (struct sockaddr *)&e->at, sizeof(e->at)), 0);
	assert_int_equal(bind(e->local, (struct sockaddr *)&e->local_at, sizeof(e->local_at)), 0);
	assert_int_equal(getsockname(e->tcp, (struct sockaddr *)&e->at, &size), 0);
	assert_int_equal(listen(e->tcp, 20) | listen(e->local, 20), 0);
}

static int open_tcp(const struct ends *e)
{
	int s = socket(AF_INET, SOCK_STREAM, 0);

	return connect(s, (const struct sockaddr *)&e->at, sizeof(e->at)) == 0 ? s : -1;
}

static int wait_for_all(const int *files, size_t n)
{
	int loop = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};

	for (size_t i = 0; i < n; i++)
		epoll_ctl(loop, EPOLL_CTL_ADD, files[i], &event);
	return loop;
}

static void poll_connection(const struct ends *e)
{
	poll(&(struct pollfd){open_tcp(e), POLLIN, 0}, 1, 60000);
}

static void poll_local_connection(const struct ends *e)
{
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	connect(s, (const struct sockaddr *)&e->local_at, sizeof(e->local_at));
	poll(&(struct pollfd){s, POLLIN, 0}, 1, 60000);
}

static void select_connection(const struct ends *e)
{
	int s = open_tcp(e);
	fd_set set;

	FD_ZERO(&set);
	FD_SET(s, &set);
	select(s + 1, &set, NULL, NULL, NULL);
}

static void poll_question(const struct ends *e)
{
	int server = socket(AF_INET, SOCK_DGRAM, 0), s = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);

	(void)e;
	bind(server, (struct sockaddr *)&at, sizeof(at));
	getsockname(server, (struct sockaddr *)&at, &size);
	connect(s, (struct sockaddr *)&at, sizeof(at));
	poll(&(struct pollfd){s, POLLIN, 0}, 1, 60000);
}

/* An event loop with one connection, on which it has sent something: 1, or has also been answered: 2. */
static void loop_after(const struct ends *e, int turns)
{
	int files[] = {eventfd(0, 0), open_tcp(e)}, loop = wait_for_all(files, 2), accepted = accept(e->tcp, NULL, NULL);
	struct epoll_event event;
	char byte = 0;

	send(files[1], &byte, 1, 0);
	if (turns > 1) {
		epoll_wait(loop, &event, 1, 50); /* nothing comes */
		send(accepted, &byte, 1, 0);
		epoll_wait(loop, &event, 1, -1);
		recv(files[1], &byte, 1, 0);
	}
	epoll_wait(loop, &event, 1, -1);
}

static void loop_that_asked(const struct ends *e)
{
	loop_after(e, 1);
}

static void loop_that_was_answered(const struct ends *e)
{
	loop_after(e, 2);
}

static void serve(const struct ends *e, bool listens)
{
	int client = open_tcp(e), files[] = {accept(e->tcp, NULL, NULL), e->tcp}, loop = wait_for_all(files, listens ? 2 : 1);
	struct epoll_event event;
	char byte = 0;

	send(client, &byte, 1, 0);
	epoll_wait(loop, &event, 1, -1);
	recv(files[0], &byte, 1, 0);
	send(files[0], &byte, 1, 0);
	epoll_wait(loop, &event, 1, -1);
}

static void serve_one(const struct ends *e)
{
	serve(e, false);
}

static void serve_more(const struct ends *e)
{
	serve(e, true);
}

static void loop_with_many(const struct ends *e)
{
	int files[12];
	struct epoll_event event;
	char byte = 0;

	for (size_t i = 0; i < 12; i++)
		files[i] = open_tcp(e);
	send(files[3], &byte, 1, 0);
	epoll_wait(wait_for_all(files, 12), &event, 1, -1);
}

static void poll_pair(const struct ends *e)
{
	int pair[2];

	(void)e;
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	poll(&(struct pollfd){pair[0], POLLIN, 0}, 1, 60000);
}

static const struct {
	void (*sleep)(const struct ends *);
	enum thread_state state;
} cases[] = {
	{poll_connection, STATE_NETWORK},	{select_connection, STATE_NETWORK}, {poll_local_connection, STATE_PEER}, {poll_question, STATE_NETWORK},
	{loop_that_asked, STATE_NETWORK},	{loop_that_was_answered, STATE_IDLE}, {serve_one, STATE_IDLE},		 {serve_more, STATE_IDLE},
	{loop_with_many, STATE_IDLE},		{poll_pair, STATE_IDLE},
};

struct found {
	uint32_t pid;
	struct ring_task task;
};

static void find_one(const struct ring_task *task, void *data)
{
	struct found *f = data;

	if (task->who.tid == f->pid)
		f->task = *task;
}

/* Sleeps for a second at least, and so no more in what led there. */
static struct ring_task asleep_in(struct ring *r, pid_t pid)
{
	struct found f = {.pid = (uint32_t)pid};

	for (int i = 0; i < 3000; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 10 * NS_PER_MS}, NULL);
		assert_int_equal(ring_look(r, find_one, &f), 0);
		if (f.task.facts.state == TASK_STATE_SLEEPS && f.task.since && (int64_t)f.task.since + NS_PER_SEC / 2 < clock_monotonic())
			return f.task;
	}
	fail_msg("process %d does not sleep", (int)pid);
	return f.task;
}

static void a_client_waits_and_a_server_rests(void **state)
{
	const char *why = NULL;
	struct ends ends;
	struct ring *r;

	if (ring_open(&(struct ring_options){.bytes = 1 << 20}, &r, &why) < 0) {
		print_message("skipped: %s\n", why ? why : "no memory");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ring_task before, after;
		pid_t pid;

		listen_to_both(&ends);
		pid = fork();
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			cases[i].sleep(&ends);
			_exit(0);
		}
		before = asleep_in(r, pid);
		if (before.state != cases[i].state)
			print_error("case %zu: state %d instead of %d\n", i, before.state, cases[i].state);
		assert_int_equal(before.state, cases[i].state);
		assert_int_equal(classify(before.facts), cases[i].state); /* what events say, too */
		assert_true(cases[i].state != STATE_NETWORK || before.facts.call == CALL_SOCKET_HERE);
		nanosleep(&(struct timespec){.tv_nsec = 20 * NS_PER_MS}, NULL);
		after = asleep_in(r, pid);
		assert_true(after.sum[ring_sum_of_state(cases[i].state)] > before.sum[ring_sum_of_state(cases[i].state)]);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(ends.tcp);
		close(ends.local);
	}
	ring_close(r);
}

RUN_TESTS(cmocka_unit_test(a_client_waits_and_a_server_rests))
