/* Limits that are reached: in a tree that stands in for /proc, and of real processes. */
#include "machine/answer-why/test-recording.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "machine/answer-live/other-end.h"
#include "machine/answer-live/tcp-sockets.h"
#include "machine/answer-waits/exhausted-limits.h"

static char tree[64];
static const struct viewer root;

static void put(const char *name, const char *text)
{
	char path[192], command[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", tree, name);
	snprintf(command, sizeof(command), "mkdir -p $(dirname %s)", path);
	assert_int_equal(system(command), 0);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void grow(void)
{
	snprintf(tree, sizeof(tree), "/tmp/test-used-up-XXXXXX");
	assert_non_null(mkdtemp(tree));
	put("10/stat", "10 (worker (x) 1) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 95 0 1");
	put("10/cgroup", "0::/shop.slice/worker.service\n");
	put("11/stat", "11 (other) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1");
	put("11/cgroup", "0::/shop.slice/other.service\n");
}

static void fell(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r %s", tree);
	assert_int_equal(system(command), 0);
}

static const struct exhausted_limit *find_in(const struct exhausted_limits *l, const char *what)
{
	for (size_t i = 0; i < l->list.n; i++)
		if (strcmp(l->list.v[i].what, what) == 0)
			return &l->list.v[i];
	return NULL;
}

static void tasks_of_a_group(void **state)
{
	struct exhausted_limits found;
	const struct exhausted_limit *u;
	struct story st;
	struct str words = {};

	grow();
	begin(&st);
	put("group/shop.slice/pids.max", "100\n");
	put("group/shop.slice/pids.current", "96\n");
	put("group/shop.slice/worker.service/pids.max", "max\n");
	put("group/shop.slice/worker.service/pids.current", "95\n");
	{
		char groups[96];

		snprintf(groups, sizeof(groups), "%s/group", tree);
		assert_int_equal(exhausted_limits_find(&st.d, TICKS - 1, tree, groups, &root, INT64_MAX, &found), 0);
	}
	assert_int_equal(found.list.n, 1);
	u = find_in(&found, "tasks of a control group");
	assert_non_null(u);
	assert_string_equal(u->of, "/shop.slice");
	assert_int_equal(u->pid, 10);
	assert_int_equal(u->has, 95);
	exhausted_limits_words(u, &words);
	assert_non_null(strstr(words.data, "tasks of a control group /shop.slice are nearly used up: 96 of 100; worker (x) 1 (pid 10) has 95 of them. "));
	str_free(&words);
	exhausted_limits_free(&found);
	end(&st);
	fell();
}

/* There are too many processes: who has most is not known, and the limit is all the same. */
static void a_census_that_takes_too_long_is_left_out(void **state)
{
	struct exhausted_limits found;
	struct story st;

	grow();
	begin(&st);
	put("sys/kernel/threads-max", "100\n");
	put("loadavg", "0.00 0.00 0.00 1/99 4711\n");
	assert_int_equal(exhausted_limits_find(&st.d, TICKS - 1, tree, tree, &root, 0, &found), 0);
	assert_int_equal(found.list.n, 1);
	assert_string_equal(found.list.v[0].what, "threads of the machine");
	assert_int_equal(found.list.v[0].pid, 0);
	exhausted_limits_free(&found);
	end(&st);
	fell();
}

static void limits_of_the_machine(void **state)
{
	static const struct {
		const char *file, *text, *what;
	} full[] = {
		{"sys/fs/file-nr", "9600\t0\t10000\n", "file handles of the machine"},
		{"key-users", "    0:     9 8/8 3/1000000 40/25000000\n 1000:     9 8/8 199/200 40/20000\n", "keys"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(full); i++) {
		struct exhausted_limits found;
		struct story st;

		grow();
		begin(&st);
		put(full[i].file, full[i].text);
		put("loadavg", "0.50 0.40 0.30 8/201 705\n");
		put("sys/kernel/threads-max", "1000\n");
		assert_int_equal(exhausted_limits_find(&st.d, TICKS - 1, tree, tree, &root, INT64_MAX, &found), 0);
		assert_int_equal(found.list.n, 1);
		assert_string_equal(found.list.v[0].what, full[i].what);
		exhausted_limits_free(&found);
		end(&st);
		fell();
	}
}

/* By the numbers of loadavg: tasks that run and that there are. */
static void threads_of_the_machine(void **state)
{
	struct exhausted_limits found;
	struct story st;

	grow();
	begin(&st);
	put("loadavg", "0.50 0.40 0.30 8/201 705\n");
	put("sys/kernel/threads-max", "205\n");
	assert_int_equal(exhausted_limits_find(&st.d, TICKS - 1, tree, tree, &root, INT64_MAX, &found), 0);
	assert_int_equal(found.list.n, 1);
	assert_int_equal(found.list.v[0].used, 201);
	assert_int_equal(found.list.v[0].pid, 10);
	exhausted_limits_free(&found);
	end(&st);
	fell();
}

static void a_full_file_system(void **state)
{
	struct entity_info info = {.kind = ENTITY_FILESYSTEM, .name = (char *)"/srv"};
	struct exhausted_limits found;
	struct subject *s;
	struct story st;

	grow();
	begin(&st);
	info.id = ++st.next_id;
	s = dataset_define(&st.d, &info);
	s->first = 0;
	s->last = TICKS - 1;
	level(s, FEATURE_FS_SIZE, 0, 1000000 * 4096ll);
	level(s, FEATURE_FS_FREE, 0, 4 * 65536ll);
	level(s, FEATURE_FS_FILES_FREE, 0, 16000);
	assert_int_equal(exhausted_limits_find(&st.d, TICKS - 1, tree, tree, &root, INT64_MAX, &found), 0);
	assert_int_equal(found.list.n, 1);
	assert_string_equal(found.list.v[0].what, "bytes of the file system");
	assert_string_equal(found.list.v[0].of, "/srv");
	exhausted_limits_free(&found);
	end(&st);
	fell();
}

/* A process that may have 44, and opens all it can: a child, which waits. */
static pid_t begin_greedy(void)
{
	int said[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(said), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = 44, .rlim_max = 44});
		while (open("/dev/null", O_RDONLY) >= 0)
			continue;
		(void)!write(said[1], "x", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(said[0], &byte, 1), 1);
	close(said[0]);
	close(said[1]);
	return pid;
}

static void file_handles_of_a_process(void **state)
{
	struct exhausted_limits found;
	struct story st;
	pid_t greedy = begin_greedy();
	bool seen = false;

	begin(&st);
	assert_int_equal(exhausted_limits_find(&st.d, TICKS - 1, "/proc", "/nowhere", &root, INT64_MAX, &found), 0);
	kill(greedy, SIGKILL);
	waitpid(greedy, NULL, 0);
	for (size_t i = 0; i < found.list.n; i++)
		seen |= found.list.v[i].pid == (uint32_t)greedy && found.list.v[i].used >= 40 && found.list.v[i].limit == 44;
	assert_true(seen);
	exhausted_limits_free(&found);
	end(&st);
}

/* This process watches one folder, in a tree where no more may be watched. */
static void watches_of_a_user(void **state)
{
	struct exhausted_limits found;
	const struct exhausted_limit *u;
	char fds[96], self[32];
	struct story st;
	int watcher = inotify_init1(IN_CLOEXEC);

	if (watcher < 0)
		skip();
	grow();
	begin(&st);
	put("sys/fs/inotify/max_user_watches", "1\n");
	assert_true(inotify_add_watch(watcher, tree, IN_CREATE) >= 0);
	snprintf(self, sizeof(self), "/proc/%d/fd", (int)getpid());
	snprintf(fds, sizeof(fds), "%s/10/fd", tree);
	assert_int_equal(symlink(self, fds), 0);
	snprintf(self, sizeof(self), "/proc/%d/fdinfo", (int)getpid());
	snprintf(fds, sizeof(fds), "%s/10/fdinfo", tree);
	assert_int_equal(symlink(self, fds), 0);
	assert_int_equal(exhausted_limits_find(&st.d, TICKS - 1, tree, tree, &root, INT64_MAX, &found), 0);
	u = find_in(&found, "inotify watches");
	assert_non_null(u);
	assert_int_equal(u->used, 1);
	assert_int_equal(u->pid, 10);
	exhausted_limits_free(&found);
	end(&st);
	close(watcher);
	fell();
}

/* A server that does not accept: its queue has room for six, and six wait. */
static void a_full_queue_of_connections(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int door = socket(AF_INET, SOCK_STREAM, 0), clients[6];
	socklen_t length = sizeof(address);
	struct tcp_pressure found;

	assert_int_equal(bind(door, (struct sockaddr *)&address, length) + listen(door, 5), 0);
	assert_int_equal(getsockname(door, (struct sockaddr *)&address, &length), 0);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		clients[i] = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(connect(clients[i], (struct sockaddr *)&address, length), 0);
	}
	assert_int_equal(tcp_pressure_find("/proc", &found), 0);
	assert_true(found.queue >= found.queue_limit); /* another's may be fuller */
	if (found.queue_port == ntohs(address.sin_port)) {
		assert_int_equal(found.queue, 6);
		assert_int_equal(found.queue_pid, getpid());
	}
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		close(clients[i]);
	close(door);
}

#define SLOW_LINE "ip link set lo up && ip address add 10.99.0.1/32 dev lo && tc qdisc replace dev lo root tbf rate 4mbit burst 70k latency 2s"

static int connect_to(const struct sockaddr_in *to)
{
	int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	(void)setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	(void)connect(s, (const struct sockaddr *)to, sizeof(*to));
	return s;
}

/* One byte there and one back, so that the kernel knows how long that takes; what the other one is sent is read, too. */
static void exchange(int asks, int *served, size_t n_served)
{
	static char bytes[1 << 16];

	(void)!send(asks, "x", 1, MSG_NOSIGNAL);
	for (size_t i = 0; i < n_served; i++)
		while (recv(served[i], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			continue;
	usleep(10000);
}

/* Both ends in a network of their own, with one line; 0 = as it should be, 1 = not, 2 = there cannot be such a network. */
static int play_full_line(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int door = -1, asks, fills, served[2];
	socklen_t length = sizeof(address);
	static char much[1 << 16];
	struct tcp_pressure found;

	if (unshare(CLONE_NEWNET) < 0 || system(SLOW_LINE) != 0)
		return 2;
	inet_pton(AF_INET, "10.99.0.1", &address.sin_addr);
	door = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(door, (struct sockaddr *)&address, length) + listen(door, 5) + getsockname(door, (struct sockaddr *)&address, &length) != 0)
		return 2;
	asks = connect_to(&address);
	served[0] = accept(door, NULL, NULL);
	fills = connect_to(&address);
	served[1] = accept(door, NULL, NULL);
	for (int i = 0; i < 30; i++)
		exchange(asks, served, 2);
	if (tcp_pressure_find("/proc", &found) < 0 || found.delay.kind)
		return 1;
	for (int i = 0; i < 1000; i++) {
		while (send(fills, much, sizeof(much), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
			continue;
		exchange(asks, served, 2);
		if (tcp_pressure_find("/proc", &found) == 0 && found.delay.kind)
			return !(found.delay.kind == TCP_DELAY_OUT && found.delay.pid == (uint32_t)getpid() && strcmp(found.delay.of, "lo") == 0 && found.delay.ns >= 100000000);
	}
	return 1;
}

/* The same, and no other connection tells of it: the queue does. */
static int play_full_queue(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int door, fills, served;
	socklen_t length = sizeof(address);
	static char much[1 << 16];
	struct tcp_pressure found;

	if (unshare(CLONE_NEWNET) < 0 || system(SLOW_LINE) != 0)
		return 2;
	inet_pton(AF_INET, "10.99.0.1", &address.sin_addr);
	door = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(door, (struct sockaddr *)&address, length) + listen(door, 5) + getsockname(door, (struct sockaddr *)&address, &length) != 0)
		return 2;
	fills = connect_to(&address);
	served = accept(door, NULL, NULL);
	for (int i = 0; i < 1000; i++) {
		while (send(fills, much, sizeof(much), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
			continue;
		exchange(fills, &served, 1);
		if (tcp_pressure_find("/proc", &found) == 0 && found.delay.kind)
			return !(found.delay.kind == TCP_DELAY_OUT && found.delay.pid == (uint32_t)getpid() && strcmp(found.delay.of, "lo") == 0 && !found.delay.waits.n);
	}
	return 1;
}

/* Answers in two pieces, or asks for them, until the test ends. */
static pid_t begin_end(int s, int other, bool answers)
{
	static char bytes[400];
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(other);
	for (;;) {
		if (answers && recv(s, bytes, 100, 0) > 0) {
			(void)!send(s, bytes, 200, MSG_NOSIGNAL);
			(void)!send(s, bytes, 200, MSG_NOSIGNAL);
		} else if (answers || send(s, "what?", 5, MSG_NOSIGNAL) < 0 || recv(s, bytes, sizeof(bytes), MSG_WAITALL) <= 0) {
			_exit(0);
		}
	}
}

static int play_held_back(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int door, asks, answers;
	socklen_t length = sizeof(address);
	struct tcp_pressure found = {};
	char of[72];
	pid_t client, server;
	bool right = false, seen = false;

	if (unshare(CLONE_NEWNET) < 0 || system("ip link set lo up") != 0)
		return 2;
	door = socket(AF_INET, SOCK_STREAM, 0);
	asks = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(door, (struct sockaddr *)&address, length) + listen(door, 5) + getsockname(door, (struct sockaddr *)&address, &length) != 0 ||
	    connect(asks, (struct sockaddr *)&address, length) < 0)
		return 2;
	answers = accept(door, (struct sockaddr *)&address, &length);
	snprintf(of, sizeof(of), "127.0.0.1:%u", ntohs(address.sin_port));
	server = begin_end(answers, asks, true);
	client = begin_end(asks, answers, false);
	close(asks);
	close(answers);
	for (int i = 0; i < 200 && !(right && seen); i++) {
		_cleanup_(open_files_free) struct open_files files = {.proc_root = "/proc"};
		struct other_end end = {};

		seen |= other_end_find(&files, (unsigned)client, (unsigned)asks, &end) == 0 && end.held;
		if (!right && tcp_pressure_find("/proc", &found) == 0 && found.delay.kind)
			right = found.delay.kind == TCP_DELAY_HELD && found.delay.pid == (uint32_t)server && found.delay.waits.n == 1 && found.delay.waits.pids[0] == (uint32_t)client && strcmp(found.delay.of, of) == 0;
		usleep(5000);
	}
	kill(client, SIGKILL);
	kill(server, SIGKILL);
	return !(right && seen);
}

static pid_t begin_connecting(const struct sockaddr_in *to, unsigned n)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (n--)
		connect_to(to);
	for (;;)
		pause();
}

/* It has sent the first packet again, which it does after a second. */
static bool tries_to_connect(pid_t pid)
{
	_cleanup_(open_files_free) struct open_files files = {.proc_root = "/proc"};
	struct other_end end;
	bool found = false;

	for (unsigned fd = 3; fd < 64 && !found; fd++)
		found = other_end_find(&files, (unsigned)pid, fd, &end) == 0 && end.kind == END_TCP && end.asked_ms >= 1000 && end.retransmits;
	return found;
}

/* A server that accepts no connection: of one process, which opens many, and another one, which opens one after them. */
static int play_connections(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int door;
	socklen_t length = sizeof(address);
	uint32_t most = 0, waits = 0;
	uint64_t n = 0;
	pid_t many, one = 0;

	if (unshare(CLONE_NEWNET) < 0 || system("ip link set lo up") != 0)
		return 2;
	door = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(door, (struct sockaddr *)&address, length) + listen(door, 1) + getsockname(door, (struct sockaddr *)&address, &length) != 0)
		return 2;
	many = begin_connecting(&address, 20);
	for (int i = 0; i < 1000 && waits != (uint32_t)one + !one; i++) {
		_cleanup_(open_files_free) struct open_files files = {.proc_root = "/proc"};
		struct tcp_waits in_vain = {};

		most = tcp_most_connections(&files, &n);
		if (n == 20 && !one)
			one = begin_connecting(&address, 1);
		tcp_connects_in_vain(&files, (uint32_t)many, &in_vain);
		waits = in_vain.pids[0];
		usleep(10000);
	}
	kill(many, SIGKILL);
	if (one && !tries_to_connect(one))
		waits = 0;
	if (one)
		kill(one, SIGKILL);
	return !(most == (uint32_t)many && n == 20 && waits == (uint32_t)one);
}

static void in_own_network(int (*play)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(play());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The bytes that one connection sends keep the other one's bytes waiting. */
static void a_line_that_one_process_fills(void **state)
{
	in_own_network(play_full_line);
}

static void a_line_whose_queue_is_full(void **state)
{
	in_own_network(play_full_queue);
}

/* Without TCP_NODELAY the second piece of an answer waits until the first one is confirmed. */
static void answers_in_pieces(void **state)
{
	in_own_network(play_held_back);
}

static void who_has_the_connections(void **state)
{
	in_own_network(play_connections);
}

static void a_line_in_words(void **state)
{
	struct exhausted_limit u = {.what = "uplink", .says = "fills the uplink of %s: what goes out there waits %s", .of = "eth0", .used = 1, .limit = 1, .delay = 700 * NS_PER_MS, .pid = 812, .comm = "curl"};
	struct str words = {};

	exhausted_limits_claim(&u, &words);
	assert_string_equal(words.data, "curl (pid 812) fills the uplink of eth0: what goes out there waits 700 ms");
	str_free(&words);
}

RUN_TESTS(cmocka_unit_test(a_line_that_one_process_fills), cmocka_unit_test(a_line_whose_queue_is_full), cmocka_unit_test(answers_in_pieces), cmocka_unit_test(who_has_the_connections), cmocka_unit_test(a_line_in_words), cmocka_unit_test(tasks_of_a_group), cmocka_unit_test(a_census_that_takes_too_long_is_left_out), cmocka_unit_test(limits_of_the_machine), cmocka_unit_test(threads_of_the_machine),
	  cmocka_unit_test(a_full_file_system), cmocka_unit_test(file_handles_of_a_process), cmocka_unit_test(watches_of_a_user),
	  cmocka_unit_test(a_full_queue_of_connections))
