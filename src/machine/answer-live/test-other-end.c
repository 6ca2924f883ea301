/* Who is at the other end, as the kernel tells it of real processes. */
#include "lib/data/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "machine/answer-live/other-end.h"
#include "machine/answer-live/remote-peers.h"

/* A child that keeps all its descriptors but `mine`, and tells when it is there. */
static pid_t begin_child(int mine)
{
	int ready[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(mine);
		(void)!write(ready[1], "r", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* As a question of its own. */
static int find_end(const char *proc_root, unsigned pid, unsigned long long fd, struct other_end *ret)
{
	struct open_files files = {.proc_root = proc_root};
	int r = other_end_find(&files, pid, fd, ret);

	open_files_free(&files);
	return r;
}

static void expect_only(const struct other_end *e, enum end_kind kind, pid_t pid, bool accepted)
{
	assert_int_equal(e->kind, kind);
	assert_int_equal(e->n, 1);
	assert_int_equal(e->pids[0], pid);
	assert_int_equal(e->accepted, accepted);
	assert_false(e->remote);
}

static unsigned count_descriptors(struct open_files *files, const char *link)
{
	unsigned n = 0, pid, fd;

	for (size_t at = 0; open_files_next(files, link, &at, &pid, &fd);) {
		assert_int_equal(pid, getpid());
		n++;
	}
	return n;
}

/* The list leaves out files that were closed since, and shows those opened since after the next reading. */
static void who_has_what_open_is_read_once(void **state)
{
	struct open_files files = {.proc_root = "/proc"};
	char link[OPEN_FILES_LINK] = "", path[64];
	int ends[2], both, later;

	assert_int_equal(pipe(ends), 0);
	both = dup(ends[0]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	assert_true(readlink(path, link, sizeof(link) - 1) > 0);
	assert_int_equal(count_descriptors(&files, link), 3);
	assert_int_equal(count_descriptors(&files, "/no/such/file"), 0);
	close(both);
	assert_int_equal(count_descriptors(&files, link), 2);
	later = dup(ends[1]);
	assert_int_equal(count_descriptors(&files, link), later == both ? 3 : 2);
	open_files_free(&files);
	assert_int_equal(count_descriptors(&files, link), 3);
	open_files_free(&files);
	close(later);
	close(ends[0]);
	close(ends[1]);
}

static void writer_and_reader_of_a_pipe(void **state)
{
	struct other_end e;
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = begin_child(ends[0]);
	close(ends[1]);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)ends[0], &e), 0);
	expect_only(&e, END_PIPE, child, true);
	assert_int_equal(find_end("/proc", (unsigned)child, (unsigned long long)ends[1], &e), 0);
	expect_only(&e, END_PIPE, getpid(), true);
	close(ends[0]);
	end_child(child);
}

/* Both have the same file open, one to read and one to write. */
static void writer_and_reader_of_a_queue(void **state)
{
	struct mq_attr small = {.mq_maxmsg = 1, .mq_msgsize = 8};
	struct other_end e;
	char name[32];
	int reader, writer;
	pid_t child;

	snprintf(name, sizeof(name), "/test-other-end-%d", getpid());
	reader = mq_open(name, O_RDONLY | O_CREAT, 0600, &small);
	if (reader < 0)
		skip(); /* a kernel without message queues */
	writer = mq_open(name, O_WRONLY);
	mq_unlink(name);
	child = begin_child(reader);
	close(writer);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)reader, &e), 0);
	expect_only(&e, END_QUEUE, child, true);
	assert_int_equal(find_end("/proc", (unsigned)child, (unsigned long long)writer, &e), 0);
	expect_only(&e, END_QUEUE, getpid(), true);
	close(reader);
	end_child(child);
}

/* One of several: the master of another terminal is not it. */
static void who_shows_a_terminal(void **state)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), other = posix_openpt(O_RDWR | O_NOCTTY), terminal;
	struct other_end e;
	pid_t child, shows_other;

	if (master < 0 || other < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		skip(); /* without /dev/pts */
	terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(terminal >= 0);
	shows_other = begin_child(master);
	child = begin_child(other);
	close(master);
	close(other);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)terminal, &e), 0);
	expect_only(&e, END_TERMINAL, child, true);
	close(terminal);
	end_child(child);
	end_child(shows_other);
}

static void a_pair_of_local_sockets(void **state)
{
	struct other_end e;
	int ends[2];
	pid_t child;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	child = begin_child(ends[0]);
	close(ends[1]);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)ends[0], &e), 0);
	expect_only(&e, END_LOCAL_SOCKET, child, true);
	close(ends[0]);
	end_child(child);
}

/* Named or not: it has connected. */
static void who_accepted_a_local_connection_serves(bool client_has_name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX}; /* the kernel chooses a name */
	socklen_t length = sizeof(address);
	int door = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0), taken;
	struct other_end e;

	assert_int_equal(bind(door, (const void *)&address, sizeof(sa_family_t)) + listen(door, 1), 0);
	assert_int_equal(client_has_name ? bind(client, (const void *)&address, sizeof(sa_family_t)) : 0, 0);
	assert_int_equal(getsockname(door, (void *)&address, &length), 0);
	assert_int_equal(connect(client, (const void *)&address, length), 0);
	taken = accept(door, NULL, NULL);
	assert_true(other_end_listens("/proc", (unsigned)getpid(), (unsigned long long)door));
	assert_false(other_end_listens("/proc", (unsigned)getpid(), (unsigned long long)taken));
	assert_false(other_end_listens("/proc", (unsigned)getpid(), (unsigned long long)client));
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)taken, &e), 0);
	assert_true(e.serves);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)client, &e), 0);
	assert_false(e.serves);
	close(taken);
	close(client);
	close(door);
}

static void who_accepted_a_local_connection(void **state)
{
	who_accepted_a_local_connection_serves(false);
	who_accepted_a_local_connection_serves(true);
}

static void what_is_not_read_from_a_local_socket(void **state)
{
	struct other_end e;
	int ends[2];
	pid_t child;
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	child = begin_child(ends[0]);
	assert_int_equal(write(ends[0], "?", 1), 1);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)ends[0], &e), 0);
	assert_true(e.unread);
	assert_int_equal(read(ends[1], &byte, 1), 1);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)ends[0], &e), 0);
	assert_false(e.unread);
	close(ends[0]);
	close(ends[1]);
	end_child(child);
}

/* The listener is in the child alone, and never accepts. */
static void a_connection_that_is_not_accepted(int family, const struct sockaddr *address, socklen_t length, enum end_kind kind)
{
	struct sockaddr_storage bound;
	socklen_t n = sizeof(bound);
	struct other_end e;
	int listener = socket(family, SOCK_STREAM, 0), client = socket(family, SOCK_STREAM, 0);
	pid_t child;

	assert_int_equal(bind(listener, address, length), 0);
	assert_int_equal(listen(listener, 5), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&bound, &n), 0);
	child = begin_child(client);
	close(listener);
	assert_int_equal(connect(client, (struct sockaddr *)&bound, n), 0);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)client, &e), 0);
	expect_only(&e, kind, child, false);
	close(client);
	end_child(child);
}

static void who_does_not_accept(void **state)
{
	const struct sockaddr_un local = {.sun_family = AF_UNIX}; /* the kernel chooses a name */
	const struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};

	a_connection_that_is_not_accepted(AF_UNIX, (const void *)&local, sizeof(sa_family_t), END_LOCAL_SOCKET);
	a_connection_that_is_not_accepted(AF_INET, (const void *)&ipv4, sizeof(ipv4), END_TCP);
	if (access("/proc/net/if_inet6", F_OK) == 0)
		a_connection_that_is_not_accepted(AF_INET6, (const void *)&ipv6, sizeof(ipv6), END_TCP);
}

static void a_connection_over_both_protocols(void **state)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	struct sockaddr_in there = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET6, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), taken;
	socklen_t n = sizeof(any);
	struct other_end e;
	pid_t child;

	if (listener < 0 || bind(listener, (void *)&any, sizeof(any)) < 0)
		skip();
	assert_int_equal(listen(listener, 5), 0);
	assert_int_equal(getsockname(listener, (void *)&any, &n), 0);
	there.sin_port = any.sin6_port;
	assert_int_equal(connect(client, (void *)&there, sizeof(there)), 0);
	taken = accept(listener, NULL, NULL);
	child = begin_child(client);
	close(taken);
	close(listener);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)client, &e), 0);
	expect_only(&e, END_TCP, child, true);
	assert_non_null(strstr(e.place, "127.0.0.1:"));
	close(client);
	end_child(child);
}

/* A server that answers any program that asks has no connection. */
static void who_is_asked_over_udp(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct other_end e;
	pid_t child;

	assert_int_equal(bind(server, (struct sockaddr *)&address, length), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&address, &length), 0);
	child = begin_child(client);
	close(server);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)client, &e), -ENOENT);
	assert_int_equal(connect(client, (struct sockaddr *)&address, length), 0);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)client, &e), 0);
	expect_only(&e, END_UDP, child, true);
	end_child(child);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)client, &e), 0);
	assert_true(e.remote);
	close(client);
}

static void what_has_no_other_end(void **state)
{
	struct other_end e;
	int s = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)s, &e), -ENOENT);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), 4000000, &e), -ENOENT);
	assert_int_equal(find_end("/nowhere", 1, 0, &e), -ENOENT);
	close(s);
}

static void reader_of_a_named_pipe(void **state)
{
	char folder[] = "/tmp/test-other-end-XXXXXX", path[64];
	struct other_end e;
	int reader, writer;
	pid_t child;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/values", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	writer = open(path, O_WRONLY | O_CLOEXEC);
	child = begin_child(writer);
	close(reader);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)writer, &e), 0);
	expect_only(&e, END_PIPE, child, true);
	end_child(child);
	close(writer);
	unlink(path);
	rmdir(folder);
}

/* Who connected has asked where it sent last; who accepted has answered. */
static void what_was_asked_over_tcp(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int door = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), server;
	socklen_t length = sizeof(address);
	struct other_end e;
	char byte;

	assert_int_equal(bind(door, (struct sockaddr *)&address, length) + listen(door, 1), 0);
	assert_int_equal(getsockname(door, (struct sockaddr *)&address, &length), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, length), 0);
	server = accept(door, NULL, NULL);
	assert_int_equal(write(client, "?", 1), 1); /* in the tick of the kernel's clock in which it was connected */
	usleep(20000);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)client, &e), 0);
	assert_true(e.asked_ms);
	assert_int_equal(e.retransmits, 0);
	assert_true(e.unread);
	assert_int_equal(read(server, &byte, 1), 1);
	assert_int_equal(write(server, "!", 1), 1);
	usleep(20000);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)client, &e), 0);
	assert_int_equal(e.asked_ms, 0);
	assert_false(e.unread);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)server, &e), 0);
	assert_int_equal(e.asked_ms, 0);
	assert_int_equal(write(client, "?", 1), 1);
	usleep(20000);
	assert_int_equal(find_end("/proc", (unsigned)getpid(), (unsigned long long)client, &e), 0);
	assert_true(e.asked_ms);
	close(client);
	close(server);
	close(door);
}

/* Thousands of copies of a descriptor are one process that has it. */
static void copies_of_a_descriptor(void **state)
{
	_cleanup_(open_files_free) struct open_files files = {.proc_root = "/proc"};
	unsigned pid, fd, looks = 0;
	struct other_end e;
	pid_t child;
	int ends[2];
	char link[OPEN_FILES_LINK];
	size_t at = 0;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < 500; i++)
			if (dup(ends[1]) < 0)
				_exit(1);
		(void)!write(ends[1], "x", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &link, 1), 1);
	close(ends[1]);
	assert_true(live_fd_link("/proc", (unsigned)getpid(), (unsigned long long)ends[0], link, sizeof(link)));
	while (open_files_next(&files, link, &at, &pid, &fd)) {
		looks++;
		open_files_skip_process(&files, &at);
	}
	assert_int_equal(looks, 2);
	assert_int_equal(other_end_find(&files, (unsigned)getpid(), (unsigned long long)ends[0], &e), 0);
	assert_int_equal(e.n, 1);
	assert_int_equal(e.pids[0], child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ends[0]);
}

static int connect_to(int type, const char *address, uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = port};
	int fd = socket(AF_INET, type, 0);

	inet_pton(AF_INET, address, &to.sin_addr);
	if (connect(fd, (const void *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A connection of this process to itself leads to this machine, one to an address for documentation (RFC 5737) does not. */
static void who_talks_to_this_machine_alone_has_no_remote_peers(void **state)
{
	struct open_files files = {.proc_root = "/proc"};
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(here);
	int door = socket(AF_INET, SOCK_STREAM, 0), local, remote;

	assert_int_equal(bind(door, (const void *)&here, sizeof(here)) + listen(door, 1) + getsockname(door, (void *)&here, &length), 0);
	local = connect_to(SOCK_STREAM, "127.0.0.1", here.sin_port);
	assert_true(local >= 0);
	assert_int_equal(remote_peers_find(&files, (unsigned)getpid()), 0);
	remote = connect_to(SOCK_DGRAM, "192.0.2.7", htons(9));
	if (remote >= 0) { /* a machine without a network has no way there */
		open_files_free(&files);
		assert_int_equal(remote_peers_find(&files, (unsigned)getpid()), 1);
		close(remote);
	}
	assert_int_equal(remote_peers_find(&files, 4194305), -ENOENT);
	open_files_free(&files);
	close(local);
	close(door);
}

RUN_TESTS(cmocka_unit_test(who_talks_to_this_machine_alone_has_no_remote_peers), cmocka_unit_test(who_has_what_open_is_read_once), cmocka_unit_test(copies_of_a_descriptor), cmocka_unit_test(writer_and_reader_of_a_pipe), cmocka_unit_test(writer_and_reader_of_a_queue), cmocka_unit_test(who_shows_a_terminal),
	  cmocka_unit_test(a_pair_of_local_sockets),
	  cmocka_unit_test(who_accepted_a_local_connection),
	  cmocka_unit_test(what_is_not_read_from_a_local_socket),
	  cmocka_unit_test(who_does_not_accept), cmocka_unit_test(a_connection_over_both_protocols), cmocka_unit_test(who_is_asked_over_udp),
	  cmocka_unit_test(what_has_no_other_end), cmocka_unit_test(what_was_asked_over_tcp),
	  cmocka_unit_test(reader_of_a_named_pipe))
