#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/system/local-socket.h"

#define LINGERS	    30000 /* s: a test that waits for it is ended by the alarm */
#define HANGS_AFTER 60	  /* s */

/* A TCP connection with bytes that its other end does not read, whose last close waits. *ret_other keeps it open. */
static int lingering(int *ret_other)
{
	const struct linger linger = {1, LINGERS};
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(address);
	static char bytes[65536];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&address, n), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &n), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, n), 0);
	*ret_other = accept(listener, NULL, NULL);
	assert_true(*ret_other >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	return fd;
}

struct fixture {
	int ends[2], other;
	struct linger_guard guard;
};

static int set_up(void **state)
{
	static struct fixture f;

	f.other = -1;
	alarm(HANGS_AFTER);
	*state = &f;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, f.ends) < 0 || linger_guard_open(&f.guard) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	linger_guard_close(&f->guard);
	cleanup_fd(&f->ends[0]);
	cleanup_fd(&f->ends[1]);
	cleanup_fd(&f->other);
	alarm(0);
	return 0;
}

/* The message has the last descriptor of it. */
static void send_lingering(struct fixture *f)
{
	int fd = lingering(&f->other);

	assert_int_equal(local_socket_send_descriptors(f->ends[0], &fd, 1), 0);
	close(fd);
}

static void descriptors_that_are_not_expected_are_refused_and_cost_no_time(void **state)
{
	struct fixture *f = *state;
	char byte;

	send_lingering(f);
	assert_int_equal(local_socket_receive_bytes(f->ends[1], &byte, 1, 0, &f->guard), -EPROTO);
	assert_int_equal(send(f->ends[0], "x", 1, 0), 1);
	assert_int_equal(local_socket_receive_bytes(f->ends[1], &byte, 1, 0, &f->guard), 1);
}

static void a_connection_is_closed_with_what_was_not_read(void **state)
{
	struct fixture *f = *state;

	send_lingering(f);
	local_socket_close(f->ends[1], &f->guard);
	f->ends[1] = -1;
}

static void what_listens_is_closed_with_those_that_wait(void **state)
{
	struct fixture *f = *state;

	send_lingering(f);
	local_socket_close(f->ends[1], NULL);
	f->ends[1] = -1;
}

static void another_number_than_the_expected_one_is_closed(void **state)
{
	struct fixture *f = *state;
	int ends[2], got[2];
	struct stat st;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(local_socket_send_descriptors(f->ends[0], ends, 2), 0);
	assert_int_equal(local_socket_receive_descriptors(f->ends[1], got, 2), 0);
	assert_int_equal(fstat(got[1], &st), 0);
	close(got[1]);
	assert_int_equal(local_socket_send_descriptors(f->ends[0], ends, 2), 0);
	close(ends[1]);
	assert_int_equal(local_socket_receive_descriptors(f->ends[1], got + 1, 1), -EPROTO);
	assert_int_equal(read(ends[0], &(char){0}, 1), 0); /* no copy of the other end is left */
	close(ends[0]);
	close(got[0]);
}

static void a_message_that_is_cut_off_is_none(void **state)
{
	struct fixture *f = *state;
	char bytes[4];

	assert_int_equal(send(f->ends[0], "too long", 8, 0), 8);
	assert_int_equal(local_socket_receive_bytes(f->ends[1], bytes, sizeof(bytes), 0, NULL), -EPROTO);
	assert_int_equal(local_socket_receive_bytes(f->ends[1], bytes, sizeof(bytes), 0, NULL), -EAGAIN);
}

static void the_kernel_says_who_sent_it(void **state)
{
	struct fixture *f = *state;
	char byte;
	struct iovec io = {&byte, 1};
	struct local_message m = {.parts = &io, .n_parts = 1, .guard = &f->guard};

	assert_int_equal(setsockopt(f->ends[1], SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)), 0);
	assert_int_equal(send(f->ends[0], "x", 1, 0), 1);
	assert_int_equal(local_socket_receive(f->ends[1], &m), 1);
	assert_int_equal(m.from.pid, getpid());
	assert_int_equal(m.from.uid, getuid());
}

/* With the sender's name, which the socket asks for, next to them. */
static void descriptors_next_to_a_name_are_refused(void **state)
{
	struct fixture *f = *state;
	char byte;

	assert_int_equal(setsockopt(f->ends[1], SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)), 0);
	send_lingering(f);
	assert_int_equal(local_socket_receive_bytes(f->ends[1], &byte, 1, 0, &f->guard), -EPROTO);
}

/* Where the kernel can, it does not even let them in. */
static void nobody_sends_descriptors_to_what_listens(void **state)
{
	char folder[] = "/tmp/whyslow-socket-XXXXXX";
	int listener, client, server, r, one = 1;
	socklen_t n = sizeof(one);
	char byte;

	assert_non_null(mkdtemp(folder));
	listener = local_socket_listen(folder, "socket", SOCK_SEQPACKET, 0600);
	assert_true(listener >= 0);
	client = local_socket_connect(folder, "socket", SOCK_SEQPACKET);
	assert_true(client >= 0);
	r = local_socket_send_descriptors(client, &listener, 1);
	server = local_socket_accept(listener);
	assert_true(server >= 0);
	if (getsockopt(listener, SOL_SOCKET, 83 /* SO_PASSRIGHTS */, &one, &n) == 0 && !one)
		assert_int_equal(r, -EPERM);
	else
		assert_int_equal(local_socket_receive_bytes(server, &byte, 1, 0, NULL), -EPROTO);
	close(client);
	close(server);
	close(listener);
	local_socket_unlink_in(folder, "socket");
	assert_int_equal(rmdir(folder), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

RUN_TESTS(TEST(descriptors_that_are_not_expected_are_refused_and_cost_no_time), TEST(a_connection_is_closed_with_what_was_not_read),
	  TEST(what_listens_is_closed_with_those_that_wait), TEST(another_number_than_the_expected_one_is_closed),
	  TEST(a_message_that_is_cut_off_is_none), TEST(the_kernel_says_who_sent_it), TEST(descriptors_next_to_a_name_are_refused),
	  TEST(nobody_sends_descriptors_to_what_listens))
