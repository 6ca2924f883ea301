/* Live: a connection that waits for its answer for a known time moves tcp.handshake* by that. Needs root.
 *
 * A listener with a backlog of 0 holds one connection that nothing accepted; the SYN of the next is dropped, and answered
 * when it is sent again, a second later. */
#include "lib/data/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "machine/sample/system.h"

#define ANSWERED 3000 /* ms within which the SYN is sent again */

struct eye {
	void *source;
	int64_t values[SYSTEM_FEATURE_COUNT];
	feature_set present;
};

static void eye_open(struct eye *eye)
{
	struct source_options options = {.proc_root = "/proc", .sys_root = "/sys"};

	*eye = (struct eye){};
	if (geteuid() != 0)
		skip();
	assert_int_equal(connect_reader.open(&options, &eye->source), 0);
	connect_reader.read(eye->source, NULL, eye->values, &eye->present);
}

static socklen_t loopback(int family, struct sockaddr_storage *address)
{
	struct sockaddr_in *four = (void *)address;
	struct sockaddr_in6 *six = (void *)address;

	*address = (struct sockaddr_storage){.ss_family = (sa_family_t)family};
	if (family == AF_INET)
		four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		six->sin6_addr = in6addr_loopback;
	return family == AF_INET ? sizeof(*four) : sizeof(*six);
}

/* -1 where the family is not available. */
static int listen_at(int family, struct sockaddr_storage *address)
{
	socklen_t n = loopback(family, address);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (void *)address, n) < 0) {
		close(fd);
		return -1;
	}
	assert_int_equal(listen(fd, 0), 0);
	assert_int_equal(getsockname(fd, (void *)address, &n), 0);
	return fd;
}

static int begin_connect(int family, const struct sockaddr_storage *address)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	(void)connect(fd, (const void *)address, sizeof(*address));
	return fd;
}

static void until_answered(int fd)
{
	struct pollfd ready = {fd, POLLOUT, 0};

	assert_int_equal(poll(&ready, 1, ANSWERED), 1);
}

/* ns: how long it took is between these, however late we are woken. */
struct bounds {
	int64_t least, most;
};

/* Opens two connections, the second of which has to wait. */
static struct bounds wait_for_answer(int family, int listener, const struct sockaddr_storage *address)
{
	int first = begin_connect(family, address), second;
	int64_t began, sent;
	struct bounds took;

	until_answered(first);
	began = clock_boot();
	second = begin_connect(family, address);
	sent = clock_boot();
	usleep(100000); /* its SYN has come and was dropped */
	took.least = clock_boot() - sent;
	close(accept(listener, NULL, NULL));
	until_answered(second);
	took.most = clock_boot() - began;
	close(first);
	close(second);
	return took;
}

static void measure(int family)
{
	struct sockaddr_storage address;
	int listener;
	struct eye before, after;
	struct bounds took;
	int64_t longest;

	eye_open(&before);
	listener = listen_at(family, &address);
	if (listener < 0) {
		connect_reader.close(before.source);
		skip();
	}
	took = wait_for_answer(family, listener, &address);
	after = before;
	connect_reader.read(after.source, NULL, after.values, &after.present);
	assert_true(took.most > NS_PER_SEC / 2); /* it had to ask again */
	longest = after.values[FEATURE_SYS_TCP_HANDSHAKE_LONGEST];
	/* others of this machine may open connections in the meantime */
	assert_true(longest >= took.least);
	assert_true(after.values[FEATURE_SYS_TCP_HANDSHAKES] - before.values[FEATURE_SYS_TCP_HANDSHAKES] >= 2);
	assert_true(after.values[FEATURE_SYS_TCP_HANDSHAKE_TIME] - before.values[FEATURE_SYS_TCP_HANDSHAKE_TIME] >= took.least);
	if (after.values[FEATURE_SYS_TCP_HANDSHAKES] - before.values[FEATURE_SYS_TCP_HANDSHAKES] == 2)
		assert_true(longest <= took.most);
	connect_reader.read(after.source, NULL, after.values, &after.present);
	assert_true(after.values[FEATURE_SYS_TCP_HANDSHAKE_LONGEST] < longest); /* it is reported once */
	connect_reader.close(after.source);
	close(listener);
}

static void ipv4_is_timed(void **state)
{
	measure(AF_INET);
}

static void ipv6_is_timed(void **state)
{
	measure(AF_INET6);
}

/* Refused at once: it has an end, and took next to no time. */
static void what_is_refused_has_ended(void **state)
{
	struct sockaddr_storage address;
	struct eye before, after;
	int listener;

	eye_open(&before);
	listener = listen_at(AF_INET, &address);
	if (listener < 0) {
		connect_reader.close(before.source);
		skip();
	}
	close(listener); /* nothing listens there any more */
	close(begin_connect(AF_INET, &address));
	after = before;
	connect_reader.read(after.source, NULL, after.values, &after.present);
	assert_true(after.values[FEATURE_SYS_TCP_HANDSHAKES] > before.values[FEATURE_SYS_TCP_HANDSHAKES]);
	connect_reader.close(after.source);
}

RUN_TESTS(cmocka_unit_test(ipv4_is_timed), cmocka_unit_test(ipv6_is_timed), cmocka_unit_test(what_is_refused_has_ended))
