/* Chains of real processes that wait for each other. */
#include "lib/data/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/answer-live/live-thread.h"
#include "machine/answer-waits/wait-chain.h"

#define ACTORS 4

static const struct viewer root;

static pid_t actors[ACTORS];
static unsigned n_actors;

/* In a child: gives up what is not its own, and acts until it is killed. */
static pid_t begin(void (*act)(const int *), const int *files, const int *not_its_own)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (; *not_its_own >= 0; not_its_own++)
			close(*not_its_own);
		act(files);
		for (;;)
			sleep(1000);
	}
	actors[n_actors++] = child;
	return child;
}

/* A group whose processes are frozen, and how they are thawed; "" = there is none. */
static char frozen_group[128];
static const char *thaw_file, *thaw_word;

static void write_group(const char *file, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", frozen_group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

#define MADE_MOST 4
static char made[MADE_MOST][sizeof("/tmp/whyslow-chain-XXXXXX")];
static unsigned n_made;

static int end_all(void **state)
{
	while (n_made)
		unlink(made[--n_made]);
	if (*frozen_group)
		write_group(thaw_file, thaw_word);
	while (n_actors) {
		kill(actors[--n_actors], SIGKILL);
		waitpid(actors[n_actors], NULL, 0);
	}
	for (int i = 0; *frozen_group && i < 1000 && rmdir(frozen_group) < 0; i++)
		usleep(1000);
	*frozen_group = '\0';
	return 0;
}

static int new_file(void)
{
	int fd;

	assert_in_range(n_made, 0, MADE_MOST - 1);
	strcpy(made[n_made], "/tmp/whyslow-chain-XXXXXX");
	fd = mkstemp(made[n_made++]);
	assert_true(fd >= 0);
	return fd;
}

static int again(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDWR);
}

static void just_sleep(const int *files)
{
	(void)files;
}

static void lock_and_sleep(const int *files)
{
	flock(files[0], LOCK_EX);
}

/* files: what it locks, what it is asked over */
static void want_lock(const int *files)
{
	flock(again(files[0]), LOCK_EX);
}

static void ask(const int *files)
{
	char byte;

	(void)!write(files[0], "?", 1);
	(void)!read(files[0], &byte, 1);
}

static void poll_for_answer(const int *files)
{
	struct pollfd p = {.fd = files[0], .events = POLLIN};

	poll(&p, 1, -1);
}

/* files: to the one that asks it, to its upstream */
static void loop_between(const int *files)
{
	int loop = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN};

	epoll_ctl(loop, EPOLL_CTL_ADD, files[0], &e);
	epoll_ctl(loop, EPOLL_CTL_ADD, files[1], &e);
	epoll_wait(loop, &e, 1, -1);
}

static void fill_pipe(const int *files)
{
	static const char block[4096];

	while (write(files[0], block, sizeof(block)) > 0)
		continue;
}

/* Until the chain has come to be as it is meant. */
static void find_with(const struct trace *t, pid_t pid, size_t links, enum chain_kind last, struct wait_chain *ret)
{
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .trace = t}, (unsigned)pid, ret), 0);
		if (ret->links.n == links && ret->links.v[links - 1].kind == last)
			return;
		if (i < 4999)
			wait_chain_free(ret);
		usleep(1000);
	}
	for (size_t i = 0; i < ret->links.n; i++)
		print_error("%u %s: %s\n", ret->links.v[i].pid, ret->links.v[i].comm, ret->links.v[i].words);
	fail_msg("the chain has %zu links, not %zu", ret->links.n, links);
}

static void find(pid_t pid, size_t links, enum chain_kind last, struct wait_chain *ret)
{
	find_with(NULL, pid, links, last, ret);
}

static void expect(const struct wait_chain *c, size_t at, pid_t pid, enum chain_kind kind, const char *role)
{
	assert_int_equal(c->links.v[at].pid, pid);
	assert_string_equal(chain_kind_names[c->links.v[at].kind], chain_kind_names[kind]);
	if (role)
		assert_string_equal(c->links.v[at].role, role);
	else
		assert_null(c->links.v[at].role);
}

/* A client asks a server, which wants a file's lock; who holds it sleeps. */
static void from_the_client_to_who_holds_the_lock(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {}, again = {};
	int file = new_file(), ends[2];
	pid_t holder, server, client;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	holder = begin(lock_and_sleep, (int[]){file}, (int[]){ends[0], ends[1], -1});
	find(holder, 1, CHAIN_SLEEPS, &c);
	wait_chain_free(&c);
	server = begin(want_lock, (int[]){file}, (int[]){ends[1], -1});
	client = begin(ask, (int[]){ends[1]}, (int[]){ends[0], -1});
	close(ends[0]);
	close(ends[1]);
	close(file);
	find(client, 3, CHAIN_SLEEPS, &c);
	expect(&c, 0, client, CHAIN_LOCAL_SOCKET, NULL);
	expect(&c, 1, server, CHAIN_FILE_LOCK, "which has not read the request");
	expect(&c, 2, holder, CHAIN_SLEEPS, "which holds it");
	assert_non_null(strstr(c.links.v[1].words, "/tmp/whyslow-chain-"));
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .rest_ns = 1000000}, (unsigned)client, &again), 0);
	assert_false(again.passing);
	assert_false(c.cycle);
}

/* poll -> epoll in the middle, which has a connection to either side -> an upstream that sleeps. */
static void through_an_event_loop(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int front[2], back[2];
	pid_t client, proxy, upstream;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, front), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, back), 0);
	upstream = begin(just_sleep, (int[]){back[1]}, (int[]){front[0], front[1], back[0], -1});
	proxy = begin(loop_between, (int[]){front[1], back[0]}, (int[]){front[0], back[1], -1});
	client = begin(poll_for_answer, (int[]){front[0]}, (int[]){front[1], back[0], back[1], -1});
	for (int i = 0; i < 2; i++) {
		close(front[i]);
		close(back[i]);
	}
	find(client, 3, CHAIN_SLEEPS, &c);
	expect(&c, 1, proxy, CHAIN_LOCAL_SOCKET, "at the other end");
	expect(&c, 2, upstream, CHAIN_SLEEPS, "at the other end");
}

/* files: to the one that asks it, to its upstream, to its master */
static void loop_of_worker(const int *files)
{
	int loop = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN};

	epoll_ctl(loop, EPOLL_CTL_ADD, files[2], &e);
	epoll_ctl(loop, EPOLL_CTL_ADD, files[0], &e);
	epoll_ctl(loop, EPOLL_CTL_ADD, files[1], &e);
	epoll_wait(loop, &e, 1, -1);
}

static void a_worker_does_not_wait_for_its_master(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int front[2], back[2], channel[2];
	pid_t client, upstream;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, front), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, back), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, channel), 0);
	upstream = begin(just_sleep, (int[]){back[1]}, (int[]){front[0], front[1], back[0], channel[0], channel[1], -1});
	begin(loop_of_worker, (int[]){front[1], back[0], channel[1]}, (int[]){front[0], back[1], channel[0], -1});
	client = begin(poll_for_answer, (int[]){front[0]}, (int[]){front[1], back[0], back[1], channel[0], channel[1], -1});
	for (int i = 0; i < 2; i++) {
		close(front[i]);
		close(back[i]);
	}
	close(channel[1]);
	find(client, 3, CHAIN_SLEEPS, &c);
	expect(&c, 2, upstream, CHAIN_SLEEPS, "at the other end");
	close(channel[0]);
}

/* Asks until the first link is of that kind, and the last one has gone to sleep. */
static void find_first(pid_t pid, enum chain_kind kind, struct wait_chain *ret)
{
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root}, (unsigned)pid, ret), 0);
		if (ret->links.n && ret->links.v[0].kind == kind && ret->links.v[ret->links.n - 1].kind != CHAIN_RUNS)
			return;
		wait_chain_free(ret);
		*ret = (struct wait_chain){};
		usleep(1000);
	}
	fail();
}

static char leased[] = "/tmp/whyslow-lease-XXXXXX";

/* It does not give it back when it is asked to. */
static void keep_lease(const int *files)
{
	signal(SIGIO, SIG_IGN);
	fcntl(open(leased, O_RDONLY), F_SETLEASE, F_RDLCK);
	(void)!write(files[0], "x", 1);
}

static void open_to_write(const int *files)
{
	(void)files;
	close(open(leased, O_WRONLY));
}

static void who_has_a_lease(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	pid_t holder, writer;
	int said[2];
	char byte;

	close(mkstemp(leased)); /* who has it open to write keeps others from a lease */
	assert_int_equal(pipe(said), 0);
	holder = begin(keep_lease, (int[]){said[1]}, (int[]){said[0], -1});
	assert_int_equal(read(said[0], &byte, 1), 1);
	writer = begin(open_to_write, NULL, (int[]){said[0], said[1], -1});
	find(writer, 2, CHAIN_SLEEPS, &c);
	expect(&c, 1, holder, CHAIN_SLEEPS, "which has not released it");
	unlink(leased);
	close(said[0]);
	close(said[1]);
}

/* Asked before the file is opened, it says nothing. */
static void scan_and_sleep(const int *files)
{
	int scanner = fanotify_init(FAN_CLASS_CONTENT, O_RDONLY);
	char path[64];
	bool watches;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", files[0]);
	watches = scanner >= 0 && fanotify_mark(scanner, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, path) == 0;
	(void)!write(files[1], watches ? "y" : "n", 1);
}

static void open_scanned(const int *files)
{
	close(again(files[0]));
}

static void who_is_asked_before_a_file_is_opened(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int file = new_file(), said[2];
	pid_t scanner, client;
	char watches;

	assert_int_equal(pipe(said), 0);
	scanner = begin(scan_and_sleep, (int[]){file, said[1]}, (int[]){said[0], -1});
	assert_int_equal(read(said[0], &watches, 1), 1);
	close(said[0]);
	close(said[1]);
	if (watches == 'y') { /* another scanner on this machine may be the one that is asked */
		client = begin(open_scanned, (int[]){file}, (int[]){-1});
		find_first(client, CHAIN_SCANNER, &c);
		if (c.links.n > 1)
			expect(&c, 1, scanner, CHAIN_SLEEPS, "which is asked");
	}
	close(file);
}

#define BUS_CONNECTIONS 40

/* files: to the client, to the service, pairs of idle connections */
static void be_bus(const int *files)
{
	int loop = epoll_create1(0), idle[2];
	struct epoll_event e = {.events = EPOLLIN};

	prctl(PR_SET_NAME, "dbus-daemon");
	for (int i = 0; i < BUS_CONNECTIONS && socketpair(AF_UNIX, SOCK_STREAM, 0, idle) == 0; i++)
		epoll_ctl(loop, EPOLL_CTL_ADD, idle[0], &e);
	epoll_ctl(loop, EPOLL_CTL_ADD, files[0], &e);
	epoll_ctl(loop, EPOLL_CTL_ADD, files[1], &e);
	(void)!write(files[1], "call", 4);
	epoll_wait(loop, &e, 1, -1);
}

/* A client waits for the bus, and the bus for a service that does not read. */
static void through_a_message_bus(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	pid_t service, client;
	int front[2], back[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, front), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, back), 0);
	service = begin(just_sleep, NULL, (int[]){front[0], front[1], back[0], -1});
	begin(be_bus, (int[]){front[1], back[0]}, (int[]){front[0], back[1], -1});
	client = begin(poll_for_answer, (int[]){front[0]}, (int[]){front[1], back[0], back[1], -1});
	for (int i = 0; i < 2; i++) {
		close(front[i]);
		close(back[i]);
	}
	find(client, 3, CHAIN_SLEEPS, &c);
	expect(&c, 2, service, CHAIN_SLEEPS, "which has not read the request");
}

/* A resolver that waits for what it asked others, which no table of the kernel tells. */
static void begin_resolver(const struct sockaddr_in *address)
{
	struct pollfd p = {.fd = socket(AF_INET, SOCK_DGRAM, 0), .events = POLLPRI};

	if (bind(p.fd, (const struct sockaddr *)address, sizeof(*address)) == 0 && fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			poll(&p, 1, -1);
	}
	close(p.fd);
}

/* In a network of its own, where port 53 is free. The answer takes the query's place: so no compiler leaves it out. files: where it says whether it works; the second
 * one is there where a resolver is to be. */
static void ask_name_server(const int *files)
{
	unsigned char query[] = {0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4, 's', 'h', 'o', 'p', 4, 't', 'e', 's', 't', 0, 0, 1, 0, 1};
	struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int s;

	if (unshare(CLONE_NEWNET) == 0) {
		s = socket(AF_INET, SOCK_DGRAM, 0);
		if (ioctl(s, SIOCSIFFLAGS, &loopback) == 0 && files[1])
			begin_resolver(&server);
		if (connect(s, (struct sockaddr *)&server, sizeof(server)) == 0) {
			(void)!write(files[0], "y", 1);
			(void)!recv(s, query, sizeof(query), 0);
		}
	}
	(void)!write(files[0], "n", 1);
}

/* One that asks a name server of its own network, which has a resolver or none. The test is skipped where it cannot have a network. */
static pid_t begin_asker(bool has_resolver)
{
	pid_t client;
	int said[2];
	char works;

	assert_int_equal(pipe(said), 0);
	client = begin(ask_name_server, (int[]){said[1], has_resolver}, (int[]){said[0], -1});
	assert_int_equal(read(said[0], &works, 1), 1);
	close(said[0]);
	close(said[1]);
	if (works == 'n')
		skip();
	return client;
}

static void a_name_server_and_the_name(void **state)
{
	struct trace_thread thread = {.state = STATE_NETWORK, .state_since = 18 * NS_PER_SEC, .comm = "client"};
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	_cleanup_(trace_clear) struct trace t = {};
	pid_t client;

	client = begin_asker(false);
	find(client, 1, CHAIN_REMOTE, &c);
	assert_non_null(strstr(c.links.v[0].words, "waits for the name server at 127.0.0.1:53, which is asked for shop.test"));
	assert_false(c.links.v[0].unanswered);
	wait_chain_free(&c);
	thread.tid = thread.tgid = (uint32_t)client;
	assert_int_equal(trace_begin(&t, 1) + trace_add_thread(&t, &thread), 0);
	t.frozen = 20 * NS_PER_SEC;
	find_with(&t, client, 1, CHAIN_REMOTE, &c);
	assert_true(c.links.v[0].unanswered); /* for two seconds */
	assert_int_equal(c.links.v[0].asked_ms, 2000);
}

static void read_new_messages(const int *files)
{
	static char message[8192];

	for (;;)
		(void)!read(files[0], message, sizeof(message));
}

/* Both are in a call for one file; the trace says that one of them waits for the kernel's lock. The kernel's messages are a file of which reading waits. */
static void who_uses_the_file_whose_lock_it_waits_for(void **state)
{
	struct trace_thread thread = {.state = STATE_KERNEL_LOCK, .state_since = 18 * NS_PER_SEC, .comm = "reader"};
	_cleanup_(wait_chain_free) struct wait_chain c = {}, alone = {};
	_cleanup_(trace_clear) struct trace t = {};
	int messages = open("/dev/kmsg", O_RDONLY | O_CLOEXEC);
	pid_t waits, uses;

	if (messages < 0 || lseek(messages, 0, SEEK_END) < 0)
		skip();
	waits = begin(read_new_messages, (int[]){messages}, (int[]){-1});
	find(waits, 1, CHAIN_UNKNOWN, &alone);
	thread.tid = thread.tgid = (uint32_t)waits;
	assert_int_equal(trace_begin(&t, 1) + trace_add_thread(&t, &thread), 0);
	t.frozen = 20 * NS_PER_SEC;
	wait_chain_free(&alone);
	find_with(&t, waits, 1, CHAIN_UNKNOWN, &alone);
	uses = begin(read_new_messages, (int[]){messages}, (int[]){-1});
	close(messages);
	find_with(&t, waits, 2, CHAIN_UNKNOWN, &c);
	expect(&c, 0, waits, CHAIN_LOCK, NULL);
	expect(&c, 1, uses, CHAIN_UNKNOWN, "which reads or writes it");
	assert_string_equal(c.links.v[0].words, "waits for the kernel's lock of /dev/kmsg");
}

static void a_resolver_that_asks_others(void **state)
{
	struct trace_thread thread = {.state = STATE_NETWORK, .state_since = 18 * NS_PER_SEC, .comm = "client"};
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	_cleanup_(trace_clear) struct trace t = {};
	pid_t client;

	client = begin_asker(true);
	thread.tid = thread.tgid = (uint32_t)client;
	assert_int_equal(trace_begin(&t, 1) + trace_add_thread(&t, &thread), 0);
	t.frozen = 20 * NS_PER_SEC;
	find_with(&t, client, 2, CHAIN_REMOTE, &c);
	expect(&c, 0, client, CHAIN_UDP, NULL);
	assert_string_equal(c.links.v[1].role, "at the other end");
	assert_string_equal(c.links.v[1].words, "has no answer yet, probably of the name servers that it asks");
}

/* A server that waits for its next request does not wait for who asks it. */
static void a_server_without_work_ends_the_chain(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int ends[2];
	pid_t server, client;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	server = begin(poll_for_answer, (int[]){ends[1]}, (int[]){ends[0], -1});
	client = begin(poll_for_answer, (int[]){ends[0]}, (int[]){ends[1], -1});
	close(ends[0]);
	close(ends[1]);
	find(client, 2, CHAIN_EVENTS, &c);
	expect(&c, 1, server, CHAIN_EVENTS, "at the other end");
	assert_string_equal(c.links.v[1].words, "waits for the next request");
}

static void a_pipe_that_is_not_read(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int ends[2];
	pid_t reader, writer;

	assert_int_equal(pipe(ends), 0);
	reader = begin(just_sleep, (int[]){ends[0]}, (int[]){ends[1], -1});
	writer = begin(fill_pipe, (int[]){ends[1]}, (int[]){ends[0], -1});
	close(ends[0]);
	close(ends[1]);
	find(writer, 2, CHAIN_SLEEPS, &c);
	expect(&c, 0, writer, CHAIN_PIPE, NULL);
	expect(&c, 1, reader, CHAIN_SLEEPS, "which reads it");
}

static void wait_for_token(const int *files)
{
	char token;

	(void)!read(files[0], &token, 1);
}

static void add_sleeper(struct trace *t, pid_t pid, uint64_t since)
{
	struct trace_thread thread = {.tid = (uint32_t)pid, .tgid = (uint32_t)pid, .state = STATE_TIMER, .state_since = since, .comm = "job"};

	assert_int_equal(trace_add_thread(t, &thread), 0);
}

/* As make's job server: all have both ends of the pipe open, and one has taken what was in it. */
static void who_took_the_token_of_a_shared_pipe(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	_cleanup_(trace_clear) struct trace t = {};
	int tokens[2];
	pid_t first, last, reader;

	assert_int_equal(pipe(tokens), 0);
	first = begin(just_sleep, NULL, (int[]){-1});
	last = begin(just_sleep, NULL, (int[]){-1});
	reader = begin(wait_for_token, (int[]){tokens[0]}, (int[]){-1});
	close(tokens[0]);
	close(tokens[1]);
	assert_int_equal(trace_begin(&t, 1), 0);
	t.frozen = 100 * NS_PER_SEC;
	add_sleeper(&t, first, 20 * NS_PER_SEC);
	add_sleeper(&t, last, 90 * NS_PER_SEC);
	find_with(&t, reader, 2, CHAIN_SLEEPS, &c);
	expect(&c, 1, last, CHAIN_SLEEPS, "which writes it");
	wait_chain_free(&c);
	t.threads.v[0].state_since = 95 * NS_PER_SEC;
	find_with(&t, reader, 2, CHAIN_SLEEPS, &c);
	expect(&c, 1, first, CHAIN_SLEEPS, "which writes it");
}

/* Who reads from a pipe by a descriptor that also writes to it takes a token, and does not wait for work. */
static void a_token_is_no_work(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	pid_t holder, reader;
	int ends[2], both;

	assert_int_equal(pipe(ends), 0);
	both = again(ends[0]);
	assert_true(both >= 0);
	close(ends[0]);
	close(ends[1]);
	holder = begin(just_sleep, NULL, (int[]){-1});
	reader = begin(wait_for_token, (int[]){both}, (int[]){-1});
	close(both);
	find(reader, 2, CHAIN_SLEEPS, &c);
	expect(&c, 0, reader, CHAIN_PIPE, NULL);
	expect(&c, 1, holder, CHAIN_SLEEPS, "which has it open, too");
	assert_false(c.links.v[0].reads);
}

static char fifo[64];

static void open_fifo(const int *files)
{
	(void)files;
	open(fifo, O_WRONLY);
}

static void have_its_name(const int *files)
{
	(void)files;
	execl("/bin/sleep", fifo, "1000", NULL);
}

static void who_does_not_open_a_named_pipe(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	pid_t reader, writer;

	snprintf(fifo, sizeof(fifo), "/tmp/whyslow-chain-%d", (int)getpid());
	assert_int_equal(mkfifo(fifo, 0600), 0);
	writer = begin(open_fifo, NULL, (int[]){-1});
	find(writer, 1, CHAIN_PIPE, &c);
	wait_chain_free(&c);
	reader = begin(have_its_name, NULL, (int[]){-1});
	find(writer, 2, CHAIN_SLEEPS, &c);
	unlink(fifo);
	expect(&c, 0, writer, CHAIN_PIPE, NULL);
	assert_non_null(strstr(c.links.v[0].words, fifo));
	expect(&c, 1, reader, CHAIN_SLEEPS, "whose command line names it");
}

static void lock_twice(const int *files)
{
	char byte;

	flock(files[0], LOCK_EX);
	(void)!write(files[2], "r", 1);
	(void)!read(files[3], &byte, 1);
	flock(again(files[1]), LOCK_EX);
}

/* Each holds what the other one wants. */
static void a_deadlock_is_a_circle(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int a = new_file(), b = new_file(), ready[2], go[2];
	char byte[2];
	pid_t one, two;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	one = begin(lock_twice, (int[]){a, b, ready[1], go[0]}, (int[]){-1});
	two = begin(lock_twice, (int[]){b, a, ready[1], go[0]}, (int[]){-1});
	assert_int_equal(read(ready[0], byte, 1) + read(ready[0], byte + 1, 1), 2);
	assert_int_equal(write(go[1], "go", 2), 2);
	for (int i = 0; i < 5000 && !(c.cycle && c.links.v[0].kind == CHAIN_FILE_LOCK && c.links.v[1].kind == CHAIN_FILE_LOCK); i++) {
		wait_chain_free(&c);
		assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root}, (unsigned)one, &c), 0);
		usleep(1000);
	}
	assert_int_equal(c.links.n, 2);
	expect(&c, 1, two, CHAIN_FILE_LOCK, "which holds it");
	assert_true(c.cycle);
	assert_int_equal(c.cycle_pid, one);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *hold_mutex(void *arg)
{
	pthread_mutex_lock(&mutex);
	(void)!write(*(int *)arg, "r", 1);
	sleep(1000);
	return NULL;
}

static void want_mutex(const int *files)
{
	pthread_t thread;
	int ready[2];
	char byte;

	(void)files;
	(void)!pipe(ready);
	pthread_create(&thread, NULL, hold_mutex, &ready[1]);
	(void)!read(ready[0], &byte, 1);
	pthread_mutex_lock(&mutex);
}

static void the_thread_that_holds_a_mutex(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	pid_t pid = begin(want_mutex, NULL, (int[]){-1});

	find(pid, 2, CHAIN_SLEEPS, &c);
	expect(&c, 0, pid, CHAIN_LOCK, NULL);
	expect(&c, 1, pid, CHAIN_SLEEPS, "which holds it");
	assert_int_not_equal(c.links.v[1].tid, c.links.v[0].tid);
}

static void begin_a_child(const int *files)
{
	pid_t child = fork();

	(void)files;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			sleep(1000);
	}
	waitpid(child, NULL, 0);
}

static void a_child_and_who_is_gone(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {}, none = {};
	pid_t parent = begin(begin_a_child, NULL, (int[]){-1});

	find(parent, 2, CHAIN_SLEEPS, &c);
	expect(&c, 0, parent, CHAIN_CHILD, NULL);
	assert_string_equal(c.links.v[1].role, "the child");
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/nowhere", .viewer = &root}, (unsigned)parent, &none), 0);
	assert_int_equal(none.links.n, 0);
}

static void hand_to_and_fro(const int *files)
{
	char byte = 0;

	while (write(files[0], &byte, 1) == 1 && read(files[0], &byte, 1) == 1)
		usleep(100);
}

/* Half a second of it would show thousands of waits: none of them is a hang. */
static void who_goes_on_does_not_hang(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int ends[2];
	pid_t one;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	one = begin(hand_to_and_fro, (int[]){ends[0]}, (int[]){ends[1], -1});
	begin(hand_to_and_fro, (int[]){ends[1]}, (int[]){ends[0], -1});
	for (int i = 0; i < 2000 && !c.passing; i++) { /* now and then it runs when it is looked at */
		usleep(1000);
		wait_chain_free(&c);
		c = (struct wait_chain){};
		assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .rest_ns = 100000000}, (unsigned)one, &c), 0);
	}
	assert_true(c.passing);
}

/* For whom it waits is not reported, and with hidepid not even that it is there. */
static void what_others_wait_for_is_theirs(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {}, told = {}, hidden = {};
	const struct viewer other = {.uid = 64999}, sees_no_others = {.uid = 64999, .hides_others = true};
	int file = new_file();
	pid_t holder = begin(lock_and_sleep, (int[]){file}, (int[]){-1}), waiter;

	if (getuid() == other.uid)
		skip();
	find(holder, 1, CHAIN_SLEEPS, &c);
	waiter = begin(want_lock, (int[]){file}, (int[]){-1});
	close(file);
	wait_chain_free(&c);
	find(waiter, 2, CHAIN_SLEEPS, &c);
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &other}, (unsigned)waiter, &told), 0);
	assert_int_equal(told.links.n, 1);
	assert_null(strstr(told.links.v[0].words, "lock"));
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &sees_no_others}, (unsigned)waiter, &hidden), 0);
	assert_int_equal(hidden.links.n, 0);
}

static void name_itself_and_sleep(const int *files)
{
	(void)files;
	prctl(PR_SET_NAME, "a\n\033[2J\377) R");
}

/* Names and paths are chosen by who is looked at. */
static void names_that_a_terminal_would_obey(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	char path[] = "/tmp/whyslow-chain-\033[31m\n\377XXXXXX";
	int file = mkstemp(path);
	pid_t holder = begin(lock_and_sleep, (int[]){file}, (int[]){-1}), waiter, named;

	find(holder, 1, CHAIN_SLEEPS, &c);
	wait_chain_free(&c);
	waiter = begin(want_lock, (int[]){file}, (int[]){-1});
	close(file);
	find(waiter, 2, CHAIN_SLEEPS, &c);
	unlink(path);
	assert_non_null(strstr(c.links.v[0].words, "/tmp/whyslow-chain-"));
	for (const char *at = c.links.v[0].words; *at; at++)
		assert_in_range(*at, ' ', '~');
	wait_chain_free(&c);
	named = begin(name_itself_and_sleep, NULL, (int[]){-1});
	for (int i = 0; i < 5000 && (!c.links.n || c.links.v[0].comm[0] != 'a'); i++) {
		wait_chain_free(&c);
		c = (struct wait_chain){};
		usleep(1000);
		assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root}, (unsigned)named, &c), 0);
	}
	assert_int_equal(c.links.n, 1);
	for (const char *at = c.links.v[0].comm; *at; at++)
		assert_in_range(*at, ' ', '~');
}

static void be_traced_under_a_name(const int *files)
{
	(void)files;
	prctl(PR_SET_NAME, "TracerPid:\t1");
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
}

/* A name that looks like the line that says who the debugger is. */
static void who_debugs_is_not_said_by_a_name(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	pid_t traced = begin(be_traced_under_a_name, NULL, (int[]){-1});
	char debugger[32];

	snprintf(debugger, sizeof(debugger), "(pid %d)", getpid());
	find(traced, 1, CHAIN_STOPPED, &c);
	assert_non_null(strstr(c.links.v[0].words, debugger));
	assert_null(strstr(c.links.v[0].words, "(pid 1)"));
}

#define TELLS(name) cmocka_unit_test_teardown(name, end_all)

/* As SQLite does to write: its byte at 1 GiB + 1. */
static void lock_database(const int *files)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000001, .l_len = 1};

	fcntl(files[0], F_SETLK, &all);
	(void)!write(files[1], "x", 1);
}

static void who_tries_an_sqlite_database_again_and_again(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int file = new_file(), ready[2];
	pid_t holder, waiter;
	char byte;

	assert_int_equal(pipe(ready), 0);
	holder = begin(lock_database, (int[]){file, ready[1]}, (int[]){-1});
	assert_int_equal(read(ready[0], &byte, 1), 1);
	waiter = begin(just_sleep, NULL, (int[]){-1});
	find_first(waiter, CHAIN_FILE_LOCK, &c);
	assert_int_equal(c.links.n, 2);
	expect(&c, 1, holder, CHAIN_SLEEPS, "which has a transaction open");
	assert_true(c.links.v[0].retries);
	close(file);
	close(ready[0]);
	close(ready[1]);
}

/* Several databases are written to: the one that it has open counts. */
static void whose_database_is_tried_again(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int other = new_file(), file = new_file(), ready[2];
	pid_t holder, waiter;
	char bytes[2];

	assert_int_equal(pipe(ready), 0);
	begin(lock_database, (int[]){other, ready[1]}, (int[]){file, -1});
	holder = begin(lock_database, (int[]){file, ready[1]}, (int[]){other, -1});
	assert_int_equal(read(ready[0], bytes, 1), 1);
	assert_int_equal(read(ready[0], bytes, 1), 1);
	waiter = begin(just_sleep, NULL, (int[]){other, -1});
	find_first(waiter, CHAIN_FILE_LOCK, &c);
	assert_int_equal(c.links.n, 2);
	expect(&c, 1, holder, CHAIN_SLEEPS, "which has a transaction open");
	close(other);
	close(file);
	close(ready[0]);
	close(ready[1]);
}

/* Of the description: such a lock has no process. Who waits for it opened the file itself. */
static void take_ofd_lock(const int *files)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	fcntl(again(files[0]), F_OFD_SETLKW, &all);
	(void)!write(files[1], "x", 1);
}

static void who_has_a_lock_of_an_open_file_description(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int file = new_file(), ready[2];
	pid_t holder, waiter;
	char byte;

	assert_int_equal(pipe(ready), 0);
	holder = begin(take_ofd_lock, (int[]){file, ready[1]}, (int[]){-1});
	assert_int_equal(read(ready[0], &byte, 1), 1);
	waiter = begin(take_ofd_lock, (int[]){file, ready[1]}, (int[]){-1});
	find_first(waiter, CHAIN_FILE_LOCK, &c);
	assert_int_equal(c.links.n, 2);
	expect(&c, 1, holder, CHAIN_SLEEPS, "which holds it");
	close(file);
	close(ready[0]);
	close(ready[1]);
}

static sem_t *semaphore;

static void take_semaphore(const int *files)
{
	sem_wait(semaphore);
	(void)!write(files[0], "x", 1);
}

static void who_has_a_semaphore_in_shared_memory(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int file = new_file(), ready[2];
	pid_t keeper, waiter;
	char byte;

	assert_int_equal(ftruncate(file, 4096), 0);
	semaphore = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_true(semaphore != MAP_FAILED);
	assert_int_equal(sem_init(semaphore, 1, 1), 0);
	assert_int_equal(pipe(ready), 0);
	keeper = begin(take_semaphore, (int[]){ready[1]}, (int[]){-1});
	assert_int_equal(read(ready[0], &byte, 1), 1);
	waiter = begin(take_semaphore, (int[]){ready[1]}, (int[]){-1});
	munmap(semaphore, 4096);
	find_first(waiter, CHAIN_LOCK, &c);
	assert_int_equal(c.links.n, 2);
	expect(&c, 1, keeper, CHAIN_SLEEPS, "which has it mapped, too");
	close(file);
	close(ready[0]);
	close(ready[1]);
}

/* As the processes of a database, which hear by it that their parent has ended. */
static void a_pipe_from_its_parent_is_not_waited_for(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = begin(poll_for_answer, (int[]){ends[0]}, (int[]){ends[1], -1});
	close(ends[0]);
	find(child, 1, CHAIN_EVENTS, &c);
	assert_string_equal(c.links.v[0].words, "waits for events");
	close(ends[1]);
}

/* Nor does one wait for an answer that reads from its parent what this one's clients want. */
static void a_worker_reads_its_next_work(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int ends[2];
	pid_t child;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	child = begin(ask, (int[]){ends[0]}, (int[]){ends[1], -1});
	close(ends[0]);
	find(child, 2, CHAIN_RUNS, &c);
	expect(&c, 1, getpid(), CHAIN_RUNS, "which has not read the request");
	assert_true(c.links.v[0].serves);
	close(ends[1]);
}

/* An event loop with two upstreams waits for the one that it asked last, and whose thread that was. */
static void events_say_which_connection_of_a_loop_is_meant(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	struct peer_request asked = {};
	struct peer_requests requests = {};
	int left[2], right[2];
	pid_t loop, one, other;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, left), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, right), 0);
	loop = begin(loop_between, (int[]){left[0], right[0]}, (int[]){left[1], right[1], -1});
	one = begin(just_sleep, NULL, (int[]){left[0], right[0], right[1], -1});
	other = begin(just_sleep, NULL, (int[]){left[0], right[0], left[1], -1});
	for (int i = 0; i < 2; i++) {
		close(left[i]);
		close(right[i]);
	}
	find(loop, 1, CHAIN_EVENTS, &c);
	asked = (struct peer_request){.process = (uint32_t)loop, .server = (uint32_t)other, .asked = (uint32_t)other};
	assert_int_equal(VEC_PUSH(requests.pending, asked), 0);
	wait_chain_free(&c);
	c = (struct wait_chain){};
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .requests = &requests}, (unsigned)loop, &c), 0);
	assert_int_equal(c.links.n, 2);
	expect(&c, 1, other, CHAIN_SLEEPS, "at the other end");
	assert_true(one != other);
	peer_requests_free(&requests);
}

/* files: to its asker, to two upstreams */
static void loop_between_three(const int *files)
{
	struct pollfd p[] = {{.fd = files[0], .events = POLLIN}, {.fd = files[1], .events = POLLIN}, {.fd = files[2], .events = POLLIN}};
	char request;

	(void)!read(files[0], &request, 1);
	poll(p, 3, -1);
}

/* Without events it is the upstream that has done one thing since about when the loop was asked. */
static void which_connection_of_a_loop_is_meant_without_events(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	_cleanup_(trace_clear) struct trace t = {};
	struct trace_thread old = {.state = STATE_TIMER, .state_since = 5 * NS_PER_SEC, .comm = "old"};
	struct trace_thread new = {.state = STATE_TIMER, .state_since = 10 * NS_PER_SEC + NS_PER_MS, .comm = "new"};
	struct trace_thread reader = {.state = STATE_PEER, .state_since = 10 * NS_PER_SEC, .comm = "client"};
	int front[2], ends[2][2];
	pid_t upstreams[2], loop, client;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, front) + socketpair(AF_UNIX, SOCK_STREAM, 0, ends[0]) + socketpair(AF_UNIX, SOCK_STREAM, 0, ends[1]), 0);
	loop = begin(loop_between_three, (int[]){front[1], ends[0][0], ends[1][0]}, (int[]){front[0], ends[0][1], ends[1][1], -1});
	client = begin(ask, (int[]){front[0]}, (int[]){front[1], ends[0][0], ends[0][1], ends[1][0], ends[1][1], -1});
	for (int i = 0; i < 2; i++)
		upstreams[i] = begin(just_sleep, NULL, (int[]){front[0], front[1], ends[0][0], ends[1][0], ends[!i][1], -1});
	for (int i = 0; i < 2; i++) {
		close(front[i]);
		close(ends[0][i]);
		close(ends[1][i]);
	}
	find(client, 2, CHAIN_EVENTS, &c);
	expect(&c, 1, loop, CHAIN_EVENTS, "at the other end");
	wait_chain_free(&c);
	reader.tid = reader.tgid = (uint32_t)client;
	old.tid = old.tgid = (uint32_t)upstreams[0];
	new.tid = new.tgid = (uint32_t)upstreams[1];
	assert_int_equal(trace_begin(&t, 1), 0);
	t.frozen = 20 * NS_PER_SEC;
	assert_int_equal(trace_add_thread(&t, &reader) + trace_add_thread(&t, &old) + trace_add_thread(&t, &new), 0);
	assert_int_equal(trace_finish(&t), 0);
	find_with(&t, client, 3, CHAIN_SLEEPS, &c);
	expect(&c, 2, upstreams[1], CHAIN_SLEEPS, "at the other end");
}

/* Polls, of which the descriptors say nothing, while a child sleeps. */
static void poll_beside_sleeper(const int *files)
{
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(files[0]);
		for (;;)
			sleep(1000);
	}
	poll(NULL, 0, -1);
}

/* ... while a child waits for what its parent has for it. */
static void poll_beside_reader(const int *files)
{
	int work[2];

	if (pipe(work) == 0 && fork() == 0) {
		char byte;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(files[0]);
		close(work[1]);
		(void)!read(work[0], &byte, 1);
		_exit(0);
	}
	close(work[0]);
	poll(NULL, 0, -1);
}

static void ask_one(void (*server)(const int *), pid_t *ret_client, pid_t *ret_server)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	*ret_server = begin(server, (int[]){ends[0]}, (int[]){ends[1], -1});
	*ret_client = begin(ask, (int[]){ends[1]}, (int[]){ends[0], -1});
	close(ends[0]);
	close(ends[1]);
}

/* An event loop of its own, in which a server waits for a command, is not seen by its descriptors. */
static void a_server_waits_for_its_only_child_that_does_something(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain busy = {}, idle = {};
	pid_t client, server;

	ask_one(poll_beside_sleeper, &client, &server);
	find(client, 3, CHAIN_SLEEPS, &busy);
	assert_int_equal(busy.links.v[1].pid, server);
	assert_int_equal(busy.links.v[1].kind, CHAIN_CHILD);
	assert_string_equal(busy.links.v[2].role, "the child");
	ask_one(poll_beside_reader, &client, &server);
	find(client, 2, CHAIN_EVENTS, &idle);
}

static void *wait_for_another(void *of)
{
	sem_wait(of);
	return NULL;
}

/* One thread waits for what another one does not do, the main thread for connections. */
static void wait_inside(const int *files)
{
	pthread_t worker;
	sem_t never;

	(void)files;
	sem_init(&never, 0, 0);
	pthread_create(&worker, NULL, wait_for_another, &never);
	poll(NULL, 0, -1);
}

/* Its thread that waits for another one. */
static unsigned worker_of(pid_t pid)
{
	unsigned tids[2];
	struct live_thread t;

	for (int i = 0; i < 5000; i++, usleep(1000))
		if (live_threads("/proc", (unsigned)pid, tids, 2) == 2 && live_thread_read("/proc", (unsigned)pid, tids[1], &t) == 0 && t.call &&
		    strncmp(t.call, "futex", 5) == 0)
			return t.tid;
	fail();
	return 0;
}

/* A server with a thread for each connection, which waits for another one of these: for which is only known where another client asked before. */
static void whose_older_request_a_server_has_not_answered(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {}, alone = {};
	struct peer_requests requests = {};
	pid_t server, before, client;
	int mine[2], others[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, mine) + socketpair(AF_UNIX, SOCK_STREAM, 0, others), 0);
	server = begin(wait_inside, (int[]){mine[0], others[0]}, (int[]){mine[1], others[1], -1});
	before = begin(ask, (int[]){others[1]}, (int[]){mine[0], mine[1], others[0], -1});
	client = begin(ask, (int[]){mine[1]}, (int[]){mine[0], others[0], others[1], -1});
	for (int i = 0; i < 2; i++) {
		close(mine[i]);
		close(others[i]);
	}
	find_first(client, CHAIN_LOCAL_SOCKET, &c);
	wait_chain_free(&c);
	c = (struct wait_chain){};
	for (int i = 0; i < 3; i++) {
		/* the second one is of a process that has no connection to the server: it sent a signal */
		struct peer_request r = {.process = (uint32_t)(i == 0 ? client : i == 1 ? getpid() : before), .server = (uint32_t)server,
					 .asked = worker_of(server), .since = 3 - i, .took = (8 + i) * NS_PER_SEC};

		assert_int_equal(VEC_PUSH(requests.pending, r), 0);
		if (i == 1)
			assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .requests = &requests}, (unsigned)client, &alone), 0);
	}
	assert_int_equal(alone.links.n, 3);
	expect(&alone, 1, server, CHAIN_DATABASE, "which has not read the request");
	assert_int_equal(alone.links.v[1].tid, worker_of(server));
	expect(&alone, 2, before, CHAIN_SLEEPS, "the only other client");
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .requests = &requests}, (unsigned)client, &c), 0);
	assert_int_equal(c.links.n, 3);
	expect(&c, 1, server, CHAIN_OLDER_REQUEST, "which has not read the request");
	assert_non_null(strstr(c.links.v[1].words, "10 s old"));
	expect(&c, 2, before, CHAIN_SLEEPS, "whose request that is");
	peer_requests_free(&requests);
}

/* A pool of connections: the client's request waits until an older one is answered, which is known by when both were sent. */
static void who_works_on_the_older_request_of_a_pool(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {}, unknown = {};
	struct peer_requests requests = {};
	int front[2], other[2], back[2];
	pid_t upstream, older, pool, client;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, front), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, back), 0);
	upstream = begin(just_sleep, NULL, (int[]){front[0], front[1], other[0], other[1], back[0], -1});
	older = begin(poll_for_answer, (int[]){other[0]}, (int[]){front[0], front[1], other[1], back[0], back[1], -1});
	pool = begin(loop_of_worker, (int[]){front[1], other[1], back[0]}, (int[]){front[0], other[0], back[1], -1});
	client = begin(poll_for_answer, (int[]){front[0]}, (int[]){front[1], other[0], other[1], back[0], back[1], -1});
	for (int i = 0; i < 2; i++) {
		close(front[i]);
		close(other[i]);
		close(back[i]);
	}
	find(client, 2, CHAIN_EVENTS, &c);
	wait_chain_free(&c);
	for (int i = 0; i < 2; i++) {
		struct peer_request r = {.process = (uint32_t)(i ? client : pool), .server = (uint32_t)(i ? pool : upstream), .since = 1 + i};

		assert_int_equal(VEC_PUSH(requests.pending, r), 0);
	}
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .requests = &requests}, (unsigned)client, &unknown), 0);
	assert_int_equal(unknown.links.n, 2); /* what it woke may be no request */
	requests.pending.v[0].asks = true;
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .requests = &requests}, (unsigned)client, &c), 0);
	assert_int_equal(c.links.n, 3);
	expect(&c, 1, pool, CHAIN_LOCAL_SOCKET, "at the other end");
	assert_non_null(strstr(c.links.v[1].words, "older"));
	expect(&c, 2, upstream, CHAIN_SLEEPS, "at the other end");
	assert_int_not_equal(c.links.v[2].pid, older);
	peer_requests_free(&requests);
}

/* The answer of a process to which it has no connection that the kernel tells of, as of a UDP socket that is not connected. */
static void whom_a_loop_asked_over_no_connection(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	struct peer_requests requests = {};
	pid_t upstream, loop, client;
	int front[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, front), 0);
	upstream = begin(just_sleep, NULL, (int[]){front[0], front[1], -1});
	loop = begin(poll_for_answer, (int[]){front[1]}, (int[]){front[0], -1});
	client = begin(poll_for_answer, (int[]){front[0]}, (int[]){front[1], -1});
	close(front[0]);
	close(front[1]);
	find(client, 2, CHAIN_EVENTS, &c);
	wait_chain_free(&c);
	for (int i = 0; i < 2; i++) {
		struct peer_request r = {.process = (uint32_t)(i ? loop : client), .server = (uint32_t)(i ? upstream : loop), .since = 1 + i, .asks = true};

		assert_int_equal(VEC_PUSH(requests.pending, r), 0);
	}
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .requests = &requests}, (unsigned)client, &c), 0);
	assert_int_equal(c.links.n, 3);
	expect(&c, 2, upstream, CHAIN_SLEEPS, "which it asked");
	wait_chain_free(&c);
	requests.pending.v[1].asks = false; /* too few answers are known to tell */
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .requests = &requests}, (unsigned)client, &c), 0);
	assert_int_equal(c.links.n, 3);
	wait_chain_free(&c);
	requests.pending.v[1].since += NS_PER_SEC; /* and not at once: it may be for another */
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .requests = &requests}, (unsigned)client, &c), 0);
	assert_int_equal(c.links.n, 2);
	peer_requests_free(&requests);
}

/* The same, but another of its threads sleeps, with what the first one waits for. */
static void *sleep_with_it(void *unused)
{
	(void)unused;
	sleep(1000);
	return NULL;
}

static void wait_for_a_sleeper(const int *files)
{
	pthread_t sleeper;

	char request[64];

	pthread_create(&sleeper, NULL, sleep_with_it, NULL);
	(void)!read(files[0], request, sizeof(request));
	wait_inside(files);
}

static void find_worker(pid_t server, pid_t client, struct wait_chain *ret)
{
	struct peer_requests requests = {};
	struct peer_request r = {.process = (uint32_t)client, .server = (uint32_t)server, .since = 1, .took = 8 * NS_PER_SEC};
	unsigned tids[8];
	struct live_thread t;
	size_t n = live_threads("/proc", (unsigned)server, tids, ARRAY_SIZE(tids));

	for (size_t i = 0; i < n; i++)
		if (live_thread_read("/proc", (unsigned)server, tids[i], &t) == 0 && t.call && strncmp(t.call, "futex", 5) == 0)
			r.asked = tids[i];
	assert_int_equal(VEC_PUSH(requests.pending, r), 0);
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .requests = &requests}, (unsigned)client, ret), 0);
	peer_requests_free(&requests);
}

static void poll_beside_a_sleeper(const int *files)
{
	pthread_t sleeper;

	pthread_create(&sleeper, NULL, sleep_with_it, NULL);
	poll_for_answer(files);
}

static unsigned sleeper_of(pid_t server)
{
	unsigned tids[8];
	size_t n = 0;

	while (n < 2)
		n = live_threads("/proc", (unsigned)server, tids, ARRAY_SIZE(tids));
	return tids[1];
}

/* A server with a thread for each request, or a pool of them: the one that has slept since about then works on it. */
static void the_thread_that_has_slept_since_it_was_asked(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {}, before = {};
	_cleanup_(trace_clear) struct trace t = {};
	struct peer_requests requests = {};
	struct peer_request r = {.since = 10 * NS_PER_SEC};
	struct trace_thread thread = {.state = STATE_TIMER, .state_since = 10 * NS_PER_SEC + NS_PER_MS, .comm = "worker"};
	pid_t server, client;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	server = begin(poll_beside_a_sleeper, (int[]){ends[1]}, (int[]){ends[0], -1});
	client = begin(poll_for_answer, (int[]){ends[0]}, (int[]){ends[1], -1});
	close(ends[0]);
	close(ends[1]);
	find(client, 2, CHAIN_EVENTS, &c);
	wait_chain_free(&c);
	thread.tid = sleeper_of(server);
	thread.tgid = (uint32_t)server;
	r.process = (uint32_t)client;
	r.server = (uint32_t)server;
	assert_int_equal(VEC_PUSH(requests.pending, r), 0);
	assert_int_equal(trace_begin(&t, 1), 0);
	t.frozen = 20 * NS_PER_SEC;
	assert_int_equal(trace_add_thread(&t, &thread), 0);
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .requests = &requests, .trace = &t}, (unsigned)client, &c), 0);
	assert_int_equal(c.links.n, 3);
	expect(&c, 2, server, CHAIN_SLEEPS, "which works on it");
	assert_int_equal(c.links.v[2].tid, thread.tid);
	t.threads.v[0].state_since = 15 * NS_PER_SEC; /* as one that wakes now and then */
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .requests = &requests, .trace = &t}, (unsigned)client, &before), 0);
	assert_int_equal(before.links.n, 2);
	peer_requests_free(&requests);
}

/* A trace that knows since when two threads wait, and has no events. */
static void take_without_events(struct trace *t, const struct trace_thread *one, const struct trace_thread *other)
{
	assert_int_equal(trace_begin(t, 1), 0);
	t->frozen = 20 * NS_PER_SEC;
	assert_int_equal(trace_add_thread(t, one->tid < other->tid ? one : other), 0);
	assert_int_equal(trace_add_thread(t, one->tid < other->tid ? other : one), 0);
	assert_int_equal(trace_finish(t), 0);
}

static void read_and_wait_inside(const int *files)
{
	char request;

	(void)!read(files[0], &request, 1);
	wait_inside(files);
}

/* Without events, too, a lock inside a server that no thread of its own works on is kept by its only other client. */
static void the_only_other_client_keeps_what_is_waited_for(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	_cleanup_(trace_clear) struct trace t = {};
	struct trace_thread worker = {.state = STATE_LOCK, .state_since = 10 * NS_PER_SEC + NS_PER_MS, .comm = "worker"};
	struct trace_thread reader = {.state = STATE_PEER, .state_since = 10 * NS_PER_SEC, .comm = "client"};
	pid_t server, client, other;
	int mine[2], others[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, mine) + socketpair(AF_UNIX, SOCK_STREAM, 0, others), 0);
	server = begin(read_and_wait_inside, (int[]){mine[0], others[0]}, (int[]){mine[1], others[1], -1});
	other = begin(just_sleep, NULL, (int[]){mine[0], mine[1], others[0], -1});
	client = begin(ask, (int[]){mine[1]}, (int[]){mine[0], others[0], others[1], -1});
	for (int i = 0; i < 2; i++) {
		close(mine[i]);
		close(others[i]);
	}
	worker.tid = worker_of(server);
	worker.tgid = (uint32_t)server;
	reader.tid = reader.tgid = (uint32_t)client;
	take_without_events(&t, &worker, &reader);
	find_with(&t, client, 4, CHAIN_SLEEPS, &c);
	expect(&c, 2, server, CHAIN_DATABASE, "which works on it");
	expect(&c, 3, other, CHAIN_SLEEPS, "the only other client");
}

struct own_pipe {
	int ends[2], from;
};

static void *read_elsewhere(void *of)
{
	const struct own_pipe *p = of;
	char byte;

	(void)!read(p->from, &byte, 1);
	return NULL;
}

/* files: from another process, which its second thread reads; the first one reads what that hands on. */
static void hand_on(const int *files)
{
	struct own_pipe p = {.from = files[0]};
	pthread_t other;
	char byte;

	if (pipe(p.ends) == 0 && pthread_create(&other, NULL, read_elsewhere, &p) == 0)
		(void)!read(p.ends[0], &byte, 1);
}

/* As git does, which takes messages out of what it is sent: the thread that is asked about reads from its own process. */
static void a_pipe_to_itself_leads_to_its_other_thread(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	pid_t reader, writer;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	writer = begin(just_sleep, (int[]){ends[1]}, (int[]){ends[0], -1});
	reader = begin(hand_on, (int[]){ends[0]}, (int[]){ends[1], -1});
	close(ends[0]);
	close(ends[1]);
	find(reader, 3, CHAIN_SLEEPS, &c);
	expect(&c, 0, reader, CHAIN_PIPE, NULL);
	expect(&c, 1, reader, CHAIN_PIPE, "its other thread");
	expect(&c, 2, writer, CHAIN_SLEEPS, "which writes it");
}

/* Its first child sleeps, the second one waits for a lock that processes share, as idle workers do; it waits for a signal of its own threads. */
static void wait_for_children(const int *files)
{
	pthread_mutex_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t between_processes;
	sem_t never;

	(void)files;
	pthread_mutexattr_init(&between_processes);
	pthread_mutexattr_setpshared(&between_processes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(shared, &between_processes);
	pthread_mutex_lock(shared);
	for (int i = 0; i < 2; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (i)
				pthread_mutex_lock(shared);
			sleep(1000);
		}
	sem_init(&never, 0, 0);
	wait_for_another(&never);
}

static void who_waits_for_its_own_work_waits_for_the_child_that_does_it(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	pid_t parent;

	parent = begin(wait_for_children, (int[]){-1}, (int[]){-1});
	find(parent, 2, CHAIN_SLEEPS, &c);
	expect(&c, 0, parent, CHAIN_CHILD, NULL);
	assert_string_equal(c.links.v[1].role, "the child");
}

static void read_beside_a_sleeper(const int *files)
{
	char request;

	(void)!read(files[0], &request, 1);
	poll_beside_a_sleeper(files);
}

/* Where events do not reach back to the request, it is about as old as the wait for its answer. */
static void the_thread_that_has_slept_since_its_client_reads(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {}, before = {};
	_cleanup_(trace_clear) struct trace t = {};
	struct trace_thread worker = {.state = STATE_TIMER, .state_since = 10 * NS_PER_SEC + NS_PER_MS, .comm = "worker"};
	struct trace_thread reader = {.state = STATE_PEER, .state_since = 10 * NS_PER_SEC, .comm = "client"};
	pid_t server, client;

	ask_one(read_beside_a_sleeper, &client, &server);
	find(client, 2, CHAIN_EVENTS, &c);
	wait_chain_free(&c);
	worker.tid = sleeper_of(server);
	worker.tgid = (uint32_t)server;
	reader.tid = reader.tgid = (uint32_t)client;
	take_without_events(&t, &worker, &reader);
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .trace = &t}, (unsigned)client, &c), 0);
	assert_int_equal(c.links.n, 3);
	expect(&c, 2, server, CHAIN_SLEEPS, "which works on it");
	assert_int_equal(c.links.v[2].tid, worker.tid);
	wait_chain_free(&c);
	((struct trace_thread *)trace_thread(&t, worker.tid, t.frozen))->state_since = 10 * NS_PER_SEC - NS_PER_MS; /* its client lost the CPU before it read */
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .trace = &t}, (unsigned)client, &c), 0);
	assert_int_equal(c.links.n, 3);
	((struct trace_thread *)trace_thread(&t, worker.tid, t.frozen))->state_since = 15 * NS_PER_SEC; /* as one that wakes now and then */
	assert_int_equal(wait_chain_find(&(struct chain_question){.proc_root = "/proc", .viewer = &root, .trace = &t}, (unsigned)client, &before), 0);
	assert_int_equal(before.links.n, 2);
}

/* Such a lock does not say who has it: where one other thread does something, it is that one, and no client. */
static void the_only_busy_thread_is_waited_for(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int mine[2], others[2];
	pid_t server, client;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, mine) + socketpair(AF_UNIX, SOCK_STREAM, 0, others), 0);
	server = begin(wait_for_a_sleeper, (int[]){mine[0], others[0]}, (int[]){mine[1], others[1], -1});
	begin(ask, (int[]){others[1]}, (int[]){mine[0], mine[1], others[0], -1});
	client = begin(ask, (int[]){mine[1]}, (int[]){mine[0], others[0], others[1], -1});
	for (int i = 0; i < 2; i++) {
		close(mine[i]);
		close(others[i]);
	}
	find_first(client, CHAIN_LOCAL_SOCKET, &c);
	for (int i = 0; i < 5000 && c.links.n != 3; i++, usleep(1000)) { /* until all its threads are there */
		wait_chain_free(&c);
		c = (struct wait_chain){};
		find_worker(server, client, &c);
	}
	assert_int_equal(c.links.n, 3);
	expect(&c, 1, server, CHAIN_LOCK, "at the other end");
	expect(&c, 2, server, CHAIN_SLEEPS, "the only other thread that does something");
}

static struct sockaddr_in door_address;

static int connect_to_door(void)
{
	int s = socket(AF_INET, SOCK_STREAM, 0);

	return connect(s, (struct sockaddr *)&door_address, sizeof(door_address)) == 0 ? s : -1;
}

static void *read_one(void *of)
{
	char byte;

	(void)!read(*(int *)of, &byte, 1);
	return NULL;
}

/* Its only worker reads from who came first; who comes then is let in, and waits. */
static void serve_one(const int *files)
{
	int first = accept(files[0], NULL, NULL);
	pthread_t worker;

	pthread_create(&worker, NULL, read_one, &first);
	for (;;)
		accept(files[0], NULL, NULL);
}

static void connect_and_sleep(const int *files)
{
	connect_to_door();
	(void)!write(files[0], "x", 1);
}

static void connect_and_ask(const int *files)
{
	int s = connect_to_door();

	(void)files;
	ask(&s);
}

/* On a port that the kernel chooses. */
static int open_door(void)
{
	socklen_t length = sizeof(door_address);
	int door = socket(AF_INET, SOCK_STREAM, 0);

	door_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	assert_int_equal(bind(door, (struct sockaddr *)&door_address, length) + listen(door, 4), 0);
	assert_int_equal(getsockname(door, (struct sockaddr *)&door_address, &length), 0);
	return door;
}

static void who_has_used_up_the_workers(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int door = open_door(), ready[2];
	pid_t server, silent, client;
	char byte;

	assert_int_equal(pipe(ready), 0);
	server = begin(serve_one, (int[]){door}, (int[]){-1});
	silent = begin(connect_and_sleep, (int[]){ready[1]}, (int[]){door, -1});
	assert_int_equal(read(ready[0], &byte, 1), 1);
	client = begin(connect_and_ask, NULL, (int[]){door, -1});
	close(door);
	find(client, 3, CHAIN_SLEEPS, &c);
	expect(&c, 1, server, CHAIN_TCP, "which has not read the request");
	expect(&c, 2, silent, CHAIN_SLEEPS, "at the other end");
	close(ready[0]);
	close(ready[1]);
}

/* files: to the one that asks it. Asks twice at the door, where it is not let in. */
static void ask_twice_at_door(const int *files)
{
	int first = connect_to_door(), second = connect_to_door();
	struct pollfd p[] = {{.fd = files[0], .events = POLLIN}, {.fd = first, .events = POLLIN}, {.fd = second, .events = POLLIN}};

	(void)!write(first, "?", 1);
	(void)!write(second, "?", 1);
	poll(p, ARRAY_SIZE(p), -1);
}

static void workers_that_share_a_door_are_asked_together(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int door = open_door(), front[2];
	pid_t client, proxy;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, front), 0);
	begin(just_sleep, (int[]){door}, (int[]){front[0], front[1], -1});
	begin(just_sleep, (int[]){door}, (int[]){front[0], front[1], -1});
	proxy = begin(ask_twice_at_door, (int[]){front[1]}, (int[]){front[0], door, -1});
	client = begin(poll_for_answer, (int[]){front[0]}, (int[]){front[1], door, -1});
	close(front[0]);
	close(front[1]);
	close(door);
	find(client, 3, CHAIN_SLEEPS, &c);
	expect(&c, 1, proxy, CHAIN_TCP, "at the other end");
	assert_string_equal(c.links.v[2].role, "which has not accepted the connection");
}

/* files: the door, to another machine. Its only worker, which accepts, waits for that one. */
static void have_worker_accept(const int *files)
{
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		poll_for_answer(&files[1]);
		sleep(1000);
	}
	close(files[1]);
	poll(NULL, 0, -1);
}

static void a_master_has_its_workers_accept(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int door = open_door(), back = socket(AF_INET, SOCK_DGRAM, 0);
	pid_t client;

	(void)state;
	assert_int_equal(connect(back, (struct sockaddr *)&address, sizeof(address)), 0);
	begin(have_worker_accept, (int[]){door, back}, (int[]){-1});
	client = begin(connect_and_ask, NULL, (int[]){door, back, -1});
	close(door);
	close(back);
	find(client, 2, CHAIN_REMOTE, &c);
	assert_string_equal(c.links.v[1].role, "which has not accepted the connection");
}

/* Two sockets of one proxy lead to one address at which no process of this machine is. */
static void one_server_of_another_machine_over_two_connections(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int front[2], back[2];
	pid_t client, proxy;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, front), 0);
	for (int i = 0; i < 2; i++) {
		back[i] = socket(AF_INET, SOCK_DGRAM, 0);
		assert_int_equal(connect(back[i], (struct sockaddr *)&address, sizeof(address)), 0);
	}
	proxy = begin(loop_of_worker, (int[]){front[1], back[0], back[1]}, (int[]){front[0], -1});
	client = begin(poll_for_answer, (int[]){front[0]}, (int[]){front[1], back[0], back[1], -1});
	for (int i = 0; i < 2; i++) {
		close(front[i]);
		close(back[i]);
	}
	find(client, 2, CHAIN_REMOTE, &c);
	expect(&c, 1, proxy, CHAIN_REMOTE, "at the other end");
}

/* It has read the request, says so in the pipe of its second file, and polls its door and the connection. */
static void read_and_poll(const int *files)
{
	int client = accept(files[0], NULL, NULL);
	struct pollfd p[] = {{.fd = files[0], .events = POLLIN}, {.fd = client, .events = POLLIN}};
	char byte;

	(void)!read(client, &byte, 1);
	(void)!write(files[1], &byte, 1);
	for (;;)
		poll(p, ARRAY_SIZE(p), -1);
}

static void who_has_read_a_request_and_does_not_answer(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int door = open_door(), ready[2];
	pid_t server, client;
	char byte;

	assert_int_equal(pipe(ready), 0);
	server = begin(read_and_poll, (int[]){door, ready[1]}, (int[]){-1});
	client = begin(connect_and_ask, NULL, (int[]){door, -1});
	close(door);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	find(client, 2, CHAIN_EVENTS, &c);
	expect(&c, 1, server, CHAIN_EVENTS, "at the other end");
	assert_true(c.links.v[0].asked_ms > 0);
	assert_non_null(strstr(c.links.v[1].words, "does not answer"));
	close(ready[0]);
	close(ready[1]);
}

/* files: a door, its upstream. Has two clients, writes to the first, and polls. */
static void serve_two(const int *files)
{
	struct pollfd p[] = {{.fd = files[0], .events = POLLIN}, {}, {}, {.fd = files[1], .events = POLLIN}}; /* what the clients sent lies there */
	char byte;

	p[1].fd = accept(files[0], NULL, NULL);
	(void)!write(p[1].fd, "x", 1);
	p[2].fd = accept(files[0], NULL, NULL);
	(void)!read(p[2].fd, &byte, 1);
	poll(p, files[1] < 0 ? 3 : 4, -1);
}

/* files: where it says that it is connected */
static void connect_and_stop(const int *files)
{
	connect_and_sleep(files);
	raise(SIGSTOP);
}

/* As a database that waits until its copy has what it wrote. */
static void who_is_stopped_and_does_not_read(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int door = open_door(), ready[2];
	pid_t server, copy, client;
	char byte;

	assert_int_equal(pipe(ready), 0);
	server = begin(serve_two, (int[]){door, -1}, (int[]){-1});
	copy = begin(connect_and_stop, (int[]){ready[1]}, (int[]){door, -1});
	assert_int_equal(read(ready[0], &byte, 1), 1);
	client = begin(connect_and_ask, NULL, (int[]){door, -1});
	close(door);
	find(client, 3, CHAIN_STOPPED, &c);
	expect(&c, 1, server, CHAIN_TCP, "at the other end");
	expect(&c, 2, copy, CHAIN_STOPPED, "which has not read the request");
	close(ready[0]);
	close(ready[1]);
}

static void be_a_busy_backend(const int *files)
{
	(void)files;
	execl("/bin/sleep", "postgres: alice shop [local] SELECT", "1000", NULL);
}

/* files: where it says that it has asked */
static void connect_ask_and_say(const int *files)
{
	int s = connect_to_door();
	char byte;

	(void)!read(s, &byte, 1); /* what its server writes at once */
	usleep(50000);		  /* TCP counts in ticks of the kernel */
	(void)!write(s, "?", 1);
	(void)!write(files[0], "x", 1);
	(void)!read(s, &byte, 1);
}

/* As a pool with one connection to a database: events tell of no request. */
static void who_has_the_only_connection_of_a_pool(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int door = open_door(), ready[2], upstream[2];
	pid_t pool, first, client;
	char byte;

	assert_int_equal(pipe(ready) + socketpair(AF_UNIX, SOCK_STREAM, 0, upstream), 0);
	begin(be_a_busy_backend, NULL, (int[]){door, upstream[0], ready[0], ready[1], -1});
	pool = begin(serve_two, (int[]){door, upstream[0]}, (int[]){upstream[1], -1});
	first = begin(connect_ask_and_say, (int[]){ready[1]}, (int[]){door, upstream[0], upstream[1], -1});
	assert_int_equal(read(ready[0], &byte, 1), 1);
	usleep(600000); /* what TCP says of times is not exact */
	client = begin(connect_and_ask, NULL, (int[]){door, upstream[0], upstream[1], -1});
	close(door);
	close(upstream[0]);
	close(upstream[1]);
	find(client, 3, CHAIN_SLEEPS, &c);
	expect(&c, 1, pool, CHAIN_OLDER_REQUEST, "at the other end");
	expect(&c, 2, first, CHAIN_SLEEPS, "whose request that is");
	close(ready[0]);
	close(ready[1]);
}

static int set; /* of semaphores */

/* files: where it says that it has come that far */
static void take_of_set(const int *files)
{
	semop(set, &(struct sembuf){.sem_op = -1}, 1);
	(void)!write(files[0], "x", 1);
}

static void who_used_a_semaphore_last(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	pid_t keeper, waiter;
	int ready[2];
	char byte;

	set = semget(IPC_PRIVATE, 1, 0600);
	if (set < 0)
		skip(); /* a kernel without them */
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(semctl(set, 0, SETVAL, 1), 0);
	keeper = begin(take_of_set, (int[]){ready[1]}, (int[]){-1});
	assert_int_equal(read(ready[0], &byte, 1), 1);
	waiter = begin(take_of_set, (int[]){ready[1]}, (int[]){-1});
	find(waiter, 2, CHAIN_SLEEPS, &c);
	expect(&c, 0, waiter, CHAIN_LOCK, NULL);
	expect(&c, 1, keeper, CHAIN_SLEEPS, "the last to take or release it");
	close(ready[0]);
	close(ready[1]);
	semctl(set, 0, IPC_RMID);
}

/* files: its connection, where it says that it has come that far; the one before it is its server. */
static void debug_the_one_before(const int *files)
{
	pid_t server = actors[n_actors - 1];

	if (ptrace(PTRACE_ATTACH, server, NULL, NULL) == 0)
		waitpid(server, NULL, 0);
	prctl(PR_SET_NAME, "debugger");
	(void)!write(files[0], "x", 1);
}

static void who_debugs_a_server(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	int ends[2], ready[2];
	pid_t server, client, debugger;
	char byte, words[64];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(pipe(ready), 0);
	client = begin(ask, (int[]){ends[1]}, (int[]){ends[0], -1});
	server = begin(just_sleep, NULL, (int[]){ends[1], -1});
	debugger = begin(debug_the_one_before, (int[]){ready[1]}, (int[]){ends[0], ends[1], -1});
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	close(ready[0]);
	close(ready[1]);
	find(client, 2, CHAIN_STOPPED, &c);
	expect(&c, 1, server, CHAIN_STOPPED, "which has not read the request");
	snprintf(words, sizeof(words), "is stopped by debugger (pid %d)", (int)debugger);
	assert_non_null(strstr(c.links.v[1].words, words));
}

/* False: no hierarchy of control groups can freeze. */
static bool make_group(void)
{
	static const struct {
		const char *root, *file, *thawed;
	} freezers[] = {{"/sys/fs/cgroup/freezer", "freezer.state", "THAWED"},
			{"/sys/fs/cgroup/unified", "cgroup.freeze", "0"},
			{"/sys/fs/cgroup", "cgroup.freeze", "0"}};

	for (size_t i = 0; i < ARRAY_SIZE(freezers); i++) {
		char path[160];

		snprintf(path, sizeof(path), "%s/cgroup.procs", freezers[i].root);
		if (access(path, W_OK) < 0)
			continue;
		snprintf(frozen_group, sizeof(frozen_group), "%s/whyslow-chain-%d", freezers[i].root, (int)getpid());
		if (mkdir(frozen_group, 0755) < 0)
			break;
		thaw_file = freezers[i].file;
		thaw_word = freezers[i].thawed;
		return true;
	}
	*frozen_group = '\0';
	return false;
}

static void who_is_frozen_with_its_group(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	char pid[16], words[64];
	pid_t server, client;
	int ends[2];

	if (!make_group())
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	server = begin(just_sleep, NULL, (int[]){ends[1], -1});
	client = begin(ask, (int[]){ends[1]}, (int[]){ends[0], -1});
	close(ends[0]);
	close(ends[1]);
	snprintf(pid, sizeof(pid), "%d", (int)server);
	write_group("cgroup.procs", pid);
	write_group(thaw_file, *thaw_word == '0' ? "1" : "FROZEN");
	find(client, 2, CHAIN_STOPPED, &c);
	expect(&c, 1, server, CHAIN_STOPPED, "which has not read the request");
	snprintf(words, sizeof(words), "is frozen with its control group /whyslow-chain-%d", (int)getpid());
	assert_string_equal(c.links.v[1].words, words);
}

static void spin(const int *files)
{
	(void)files;
	for (;;)
		continue;
}

static void add_spinner(struct trace *t, pid_t pid)
{
	assert_int_equal(trace_add_thread(t, &(struct trace_thread){.tid = (uint32_t)pid, .tgid = (uint32_t)pid, .comm = "spinner"}), 0);
}

/* The first one came at once, the second one a tenth of a second before the end; then the group was throttled. */
static void take_quota(struct trace *t, pid_t most, pid_t held, uint64_t took)
{
	const uint64_t end = 20 * NS_PER_SEC;

	assert_int_equal(trace_begin(t, 1), 0);
	t->frozen = end;
	add_spinner(t, most);
	add_spinner(t, held);
	assert_int_equal(trace_add(t, &(struct event){.time = end - 2 * NS_PER_SEC, .kind = EVENT_SWITCH, .out.next = (uint32_t)most}), 0);
	assert_int_equal(trace_add(t, &(struct event){.time = end - NS_PER_SEC / 10, .kind = EVENT_QUOTA, .thread = (uint32_t)held, .quota.took = took}), 0);
	assert_int_equal(trace_add(t, &(struct event){.time = end - NS_PER_SEC / 10, .kind = EVENT_SWITCH, .thread = (uint32_t)most, .out.next = (uint32_t)held}), 0);
	assert_int_equal(trace_add(t, &(struct event){.time = end - NS_PER_MS, .kind = EVENT_SWITCH, .thread = (uint32_t)held}), 0);
	assert_int_equal(trace_finish(t), 0);
}

static void who_uses_up_the_quota_of_its_group(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	_cleanup_(trace_clear) struct trace t = {}, little = {};
	pid_t held = begin(spin, NULL, (int[]){-1}), most = begin(spin, NULL, (int[]){-1});

	take_quota(&t, most, held, NS_PER_SEC);
	find_with(&t, held, 2, CHAIN_RUNS, &c);
	expect(&c, 0, held, CHAIN_QUOTA, NULL);
	expect(&c, 1, most, CHAIN_RUNS, "which uses most of it");
	wait_chain_free(&c);
	take_quota(&little, most, held, NS_PER_SEC / 10);
	find_with(&little, held, 1, CHAIN_RUNS, &c);
}

/* It has no one but itself to wait for. */
static void who_uses_up_its_own_quota(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {};
	_cleanup_(trace_clear) struct trace t = {};
	pid_t other = begin(spin, NULL, (int[]){-1}), held = begin(spin, NULL, (int[]){-1});

	take_quota(&t, held, other, NS_PER_SEC);
	t.events[trace_find(&t, 20 * NS_PER_SEC - NS_PER_SEC / 10)].thread = (uint32_t)held;
	find_with(&t, held, 1, CHAIN_QUOTA, &c);
}

/* The last of the connections is one that asks. files: a socket that listens */
static void connect_to(const int *files, int n)
{
	struct sockaddr_in at;
	socklen_t size = sizeof(at);

	getsockname(files[0], (struct sockaddr *)&at, &size);
	close(files[0]);
	while (n--) {
		int s = socket(AF_INET, SOCK_STREAM, 0);
		char byte;

		(void)!connect(s, (struct sockaddr *)&at, sizeof(at));
		if (!n) {
			(void)!write(s, "?", 1);
			(void)!read(s, &byte, 1);
		}
	}
}

static void hold_many(const int *files)
{
	connect_to(files, 60);
}

static void ask_once(const int *files)
{
	connect_to(files, 1);
}

static void accept_all(const int *files)
{
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){40, 40});
	while (accept(files[0], NULL, NULL) >= 0)
		continue;
}

/* The server has no handle left for the client that comes last. */
static void who_holds_what_a_server_is_short_of(void **state)
{
	_cleanup_(wait_chain_free) struct wait_chain c = {}, holder = {};
	int door = socket(AF_INET, SOCK_STREAM, 0);
	pid_t hog, server, client;

	assert_int_equal(bind(door, (struct sockaddr *)&(struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
			      sizeof(struct sockaddr_in)) + listen(door, 100), 0);
	hog = begin(hold_many, (int[]){door}, (int[]){-1});
	find(hog, 2, CHAIN_RUNS, &holder); /* this process has the socket that listens */
	server = begin(accept_all, (int[]){door}, (int[]){-1});
	client = begin(ask_once, (int[]){door}, (int[]){-1});
	close(door);
	find(client, 3, CHAIN_LIMIT, &c);
	expect(&c, 0, client, CHAIN_TCP, NULL);
	expect(&c, 1, server, CHAIN_LIMIT, "which has not accepted the connection");
	expect(&c, 2, hog, CHAIN_LIMIT, "which has the other ends of most of them");
	assert_non_null(strstr(c.links.v[1].words, "of 40)"));
}

RUN_TESTS(TELLS(one_server_of_another_machine_over_two_connections), TELLS(a_resolver_that_asks_others), TELLS(who_uses_the_file_whose_lock_it_waits_for), TELLS(workers_that_share_a_door_are_asked_together), TELLS(a_master_has_its_workers_accept),
	  TELLS(who_holds_what_a_server_is_short_of), TELLS(from_the_client_to_who_holds_the_lock), TELLS(through_an_event_loop), TELLS(through_a_message_bus), TELLS(a_name_server_and_the_name), TELLS(a_server_without_work_ends_the_chain),
	  TELLS(a_pipe_that_is_not_read), TELLS(who_took_the_token_of_a_shared_pipe), TELLS(a_token_is_no_work), TELLS(who_does_not_open_a_named_pipe), TELLS(a_deadlock_is_a_circle), TELLS(the_thread_that_holds_a_mutex),
	  TELLS(a_child_and_who_is_gone), TELLS(what_others_wait_for_is_theirs), TELLS(names_that_a_terminal_would_obey), TELLS(who_debugs_is_not_said_by_a_name),
	  TELLS(who_goes_on_does_not_hang), TELLS(a_worker_does_not_wait_for_its_master), TELLS(a_pipe_from_its_parent_is_not_waited_for), TELLS(a_worker_reads_its_next_work), TELLS(who_has_a_lease),
	  TELLS(who_is_asked_before_a_file_is_opened), TELLS(who_tries_an_sqlite_database_again_and_again), TELLS(whose_database_is_tried_again),
	  TELLS(who_has_a_semaphore_in_shared_memory), TELLS(events_say_which_connection_of_a_loop_is_meant), TELLS(which_connection_of_a_loop_is_meant_without_events),
	  TELLS(who_has_used_up_the_workers), TELLS(who_has_read_a_request_and_does_not_answer), TELLS(who_is_stopped_and_does_not_read), TELLS(who_has_the_only_connection_of_a_pool), TELLS(whose_older_request_a_server_has_not_answered), TELLS(who_works_on_the_older_request_of_a_pool),
	  TELLS(whom_a_loop_asked_over_no_connection), TELLS(the_thread_that_has_slept_since_it_was_asked), TELLS(the_thread_that_has_slept_since_its_client_reads),
	  TELLS(a_pipe_to_itself_leads_to_its_other_thread), TELLS(the_only_other_client_keeps_what_is_waited_for), TELLS(who_waits_for_its_own_work_waits_for_the_child_that_does_it),
	  TELLS(the_only_busy_thread_is_waited_for),
	  TELLS(a_server_waits_for_its_only_child_that_does_something),
	  TELLS(who_used_a_semaphore_last), TELLS(who_debugs_a_server), TELLS(who_is_frozen_with_its_group),
	  TELLS(who_uses_up_the_quota_of_its_group), TELLS(who_uses_up_its_own_quota),
	  TELLS(who_has_a_lock_of_an_open_file_description))
