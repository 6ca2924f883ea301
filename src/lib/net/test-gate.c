/* Connections without the library behind them: who is ended for whom. */
#include "lib/data/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/net/gate.h"
#include "lib/net/peer.h"
#include "lib/net/sessions.h"

#define PLACES 8
#define OTHER  65534 /* a user that is not root */

struct hall {
	struct gate *gate;
	uint16_t port;
	atomic_uint admitted;
	int fds[64];
};

static bool admit(void *data, int fd, const struct sockaddr *address, socklen_t n)
{
	struct hall *h = data;

	(void)address, (void)n;
	h->fds[h->admitted] = fd;
	atomic_fetch_add(&h->admitted, 1);
	return true;
}

static void open_hall(struct hall *h, int64_t header_time)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t n = sizeof(a);

	*h = (struct hall){};
	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	h->port = ntohs(a.sin_port);
	assert_int_equal(gate_start(&(struct gate_options){.fd = fd, .places = PLACES, .header_time = header_time, .admit = admit, .data = h}, &h->gate), 0);
}

static void close_hall(struct hall *h)
{
	gate_stop(h->gate);
	for (unsigned i = 0; i < h->admitted; i++) {
		gate_leave(h->gate, gate_find(h->gate, h->fds[i]));
		close(h->fds[i]);
	}
	gate_free(h->gate);
}

static int enter(const struct hall *h)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(h->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void wait_for(const struct hall *h, unsigned admitted)
{
	while (h->admitted < admitted)
		poll(NULL, 0, 1);
}

static bool is_ended(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, 0) > 0;
}

static void wait_for_end(int fd)
{
	char byte;

	assert_int_equal(read(fd, &byte, 1), 0);
}

static void the_oldest_makes_room(void **state)
{
	struct hall h;
	int fds[PLACES + 2];

	open_hall(&h, 0);
	for (unsigned i = 0; i < PLACES + 2; i++) {
		fds[i] = enter(&h);
		wait_for(&h, i + 1);
	}
	wait_for_end(fds[0]);
	wait_for_end(fds[1]);
	for (unsigned i = 2; i < PLACES + 2; i++)
		assert_false(is_ended(fds[i]));
	assert_int_equal(gate_evicted(h.gate), 2);
	for (unsigned i = 0; i < PLACES + 2; i++)
		close(fds[i]);
	close_hall(&h);
}

static void a_trusted_one_stays(void **state)
{
	struct hall h;
	int first, more[PLACES];

	open_hall(&h, 0);
	first = enter(&h);
	wait_for(&h, 1);
	gate_trust(h.gate, gate_find(h.gate, h.fds[0]));
	for (unsigned i = 0; i < PLACES; i++) {
		more[i] = enter(&h);
		wait_for(&h, i + 2);
	}
	wait_for_end(more[0]);
	assert_false(is_ended(first));
	close(first);
	for (unsigned i = 0; i < PLACES; i++)
		close(more[i]);
	close_hall(&h);
}

static void where_all_are_trusted_an_idle_one_makes_room(void **state)
{
	struct hall h;
	int fds[PLACES], late, too_late;

	open_hall(&h, 0);
	for (unsigned i = 0; i < PLACES; i++) {
		fds[i] = enter(&h);
		wait_for(&h, i + 1);
		gate_trust(h.gate, gate_find(h.gate, h.fds[i]));
		if (i != 3)
			gate_began(h.gate, gate_find(h.gate, h.fds[i]));
	}
	late = enter(&h);
	wait_for_end(fds[3]);
	wait_for(&h, PLACES + 1);
	gate_trust(h.gate, gate_find(h.gate, h.fds[PLACES]));
	gate_began(h.gate, gate_find(h.gate, h.fds[PLACES]));
	too_late = enter(&h); /* all are being answered */
	wait_for_end(too_late);
	for (unsigned i = 0; i < PLACES; i++)
		assert_int_equal(is_ended(fds[i]), i == 3);
	assert_false(is_ended(late));
	for (unsigned i = 0; i < PLACES; i++)
		close(fds[i]);
	close(late);
	close(too_late);
	close_hall(&h);
}

static void one_that_says_nothing_is_ended(void **state)
{
	struct hall h;
	int fd;

	open_hall(&h, 1);
	fd = enter(&h);
	wait_for_end(fd);
	close(fd);
	close_hall(&h);
}

/* The other user opens thrice as many as there are places, and holds them. */
static pid_t crowd(const struct hall *h, int *ret_ready)
{
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (setresuid(OTHER, OTHER, OTHER) < 0)
			_exit(1);
		for (unsigned i = 0; i < 3 * PLACES; i++)
			(void)enter(h);
		(void)!write(ready[1], "x", 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	*ret_ready = ready[0];
	return pid;
}

static void a_user_pushes_out_that_user_alone(void **state)
{
	struct hall h;
	int mine[2], ready;
	char byte;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	open_hall(&h, 0);
	mine[0] = enter(&h);
	mine[1] = enter(&h);
	wait_for(&h, 2);
	pid = crowd(&h, &ready);
	assert_int_equal(read(ready, &byte, 1), 1);
	wait_for(&h, 2 + 3 * PLACES);
	assert_false(is_ended(mine[0]));
	assert_false(is_ended(mine[1]));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready);
	close(mine[0]);
	close(mine[1]);
	close_hall(&h);
}

/* Asked of a child that runs as another user; what the kernel says of a socket that is closed is not believed. */
static void the_other_end_is_known(void **state)
{
	struct hall h;
	uint32_t uid = 12345;
	int fd;

	open_hall(&h, 0);
	fd = enter(&h);
	wait_for(&h, 1);
	assert_int_equal(peer_uid(h.fds[0], &uid), 0);
	assert_int_equal(uid, geteuid());
	close(fd);
	assert_int_equal(peer_uid(h.fds[0], &uid), -ENOENT);
	close_hall(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_makes_room),	       cmocka_unit_test(a_trusted_one_stays),
		cmocka_unit_test(where_all_are_trusted_an_idle_one_makes_room),
		cmocka_unit_test(one_that_says_nothing_is_ended),     cmocka_unit_test(a_user_pushes_out_that_user_alone),
		cmocka_unit_test(the_other_end_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
