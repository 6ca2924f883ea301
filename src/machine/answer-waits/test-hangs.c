/* Stories in which nothing is short and a program waits for another one. */
#include "machine/answer-why/test-recording.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "machine/answer-live/live-thread.h"
#include "machine/answer-waits/hang-evidence.h"
#include "machine/answer-waits/hangs.h"
#include "machine/answer-why/verdict.h"

#define LONG 8 /* ticks */

static void ask_live(struct story *st, const char *live_root)
{
	struct why_request request = {.at = (1000000 + TICKS - 1) * NS_PER_SEC, .window = 4 * 3600 * NS_PER_SEC, .marked = true, .live_root = live_root, .patient = true};

	assert_int_equal(why_answer(&st->d, &request, &st->answer), 0);
}

/* The thread sanitizer has a thread of its own in each process, which runs now and then while the test's thread stands still. */
static void skip_unless_waits_are_seen(void)
{
#ifdef __SANITIZE_THREAD__
	skip();
#endif
	if (access("/proc/self/syscall", R_OK) < 0)
		skip();
}

static void begin_calm(struct story *st)
{
	begin(st);
	use(add(st, "/bin/editor", 0, TICKS - 1, 0), FEATURE_CPU_TIME, 0, TICKS - 1, 5 * PERCENT);
	press(st, FEATURE_PSI_CPU_SOME, 2, 2);
}

/* A client that waits for a hundredth of the time, and all of it in the last ticks. */
static struct subject *hanging_client(struct story *st)
{
	struct subject *client = add(st, "/bin/client", 0, TICKS - 1, 0);

	use(client, FEATURE_CPU_TIME, 0, TICKS - LONG - 1, PERCENT);
	use(client, FEATURE_WAIT_PEER, 0, TICKS - LONG - 1, PERCENT);
	return client;
}

static void who_waits_longer_than_ever_is_told_of(void **state)
{
	struct subject *client;
	struct story st;

	begin_calm(&st);
	client = hanging_client(&st);
	series_push(&client->series[FEATURE_WAIT_PEER], TICKS - 1, LONG * NS_PER_SEC / client->features[FEATURE_WAIT_PEER].quantum);
	ask_live(&st, NULL);
	assert_false(st.answer.slow);
	assert_int_equal(st.answer.hangs.n, 1);
	assert_ptr_equal(st.answer.hangs.v[0].victim, client);
	assert_int_equal(st.answer.hangs.v[0].kind, FEATURE_WAIT_PEER);
	assert_non_null(strstr(st.answer.summary, "client (pid"));
	assert_non_null(strstr(st.answer.summary, "longer than ever before"));
	end(&st);
}

/* Each chain takes its time. */
static void of_many_that_hang_some_are_looked_at(void **state)
{
	struct story st;

	(void)state;
	begin_calm(&st);
	for (int i = 0; i < 4 * HANGS_MOST; i++) {
		struct subject *client = hanging_client(&st);

		series_push(&client->series[FEATURE_WAIT_PEER], TICKS - 1, LONG * NS_PER_SEC / client->features[FEATURE_WAIT_PEER].quantum);
	}
	ask_live(&st, NULL);
	assert_int_equal(st.answer.hangs.n, HANGS_MOST);
	end(&st);
}

/* A shell that has waited for a lock for minutes is not what has been slow for ten seconds; where nothing else began it may be. */
static void an_old_wait_gives_way_to_a_new_shortage(void **state)
{
	const int64_t at = 1000 * NS_PER_SEC, old = at - 240 * NS_PER_SEC;

	(void)state;
	assert_float_equal(hang_novelty(old, at, 0), 0.25, 1e-9);
	assert_float_equal(hang_novelty(old, at, at - 10 * NS_PER_SEC), 0.05, 1e-9);
	assert_float_equal(hang_novelty(old, at, old + 3 * NS_PER_SEC), 1, 1e-9);
	assert_float_equal(hang_novelty(at - 30 * NS_PER_SEC, at, at - 10 * NS_PER_SEC), 1, 1e-9);
}

/* Another recorder's process, or a question of another user: asking is not seen. */
static void a_process_of_this_program_does_not_hang(void **state)
{
	struct subject *asker;
	struct story st;

	begin_calm(&st);
	asker = add(&st, "/bin/whyslow", 0, TICKS - 1, 0);
	use(asker, FEATURE_CPU_TIME, 0, TICKS - LONG - 1, PERCENT);
	use(asker, FEATURE_WAIT_PEER, 0, TICKS - LONG - 1, PERCENT);
	series_push(&asker->series[FEATURE_WAIT_PEER], TICKS - 1, LONG * NS_PER_SEC / asker->features[FEATURE_WAIT_PEER].quantum);
	ask_live(&st, NULL);
	assert_int_equal(st.answer.hangs.n, 0);
	end(&st);
}

static void who_always_waits_does_not_hang(void **state)
{
	struct subject *reader;
	struct story st;

	begin_calm(&st);
	reader = add(&st, "/bin/reader", 0, TICKS - 1, 0);
	reader->info.present |= FEATURE_BIT(FEATURE_WAIT_PEER);
	for (uint32_t t = 63; t < TICKS; t += 64) /* as an idle process is read */
		series_push(&reader->series[FEATURE_WAIT_PEER], t, 64 * NS_PER_SEC / reader->features[FEATURE_WAIT_PEER].quantum);
	ask_live(&st, NULL);
	assert_int_equal(st.answer.hangs.n, 0);
	assert_non_null(strstr(st.answer.summary, "nothing unusual"));
	end(&st);
}

/* Who presses again and again leaves no moment that is not near a press. */
static void presses_leave_something_to_compare_with(void **state)
{
	struct answer a = {};
	struct subject *client;
	bool excluded[TICKS];
	struct hang_question q = {.at = TICKS - 1, .excluded = excluded};
	struct story st;

	memset(excluded, true, sizeof(excluded));
	begin_calm(&st);
	client = hanging_client(&st);
	series_push(&client->series[FEATURE_WAIT_PEER], TICKS - 1, LONG * NS_PER_SEC / client->features[FEATURE_WAIT_PEER].quantum);
	assert_int_equal(hangs_find(&st.d, &q, &a), 0);
	assert_int_equal(a.hangs.n, 1);
	answer_free(&a);
	end(&st);
}

static void who_waited_as_long_before_does_not_hang(void **state)
{
	struct subject *client;
	struct story st;

	begin_calm(&st);
	client = add(&st, "/bin/client", 0, TICKS - 1, 0);
	use(client, FEATURE_WAIT_LOCK, 100, 110, 100 * PERCENT);
	use(client, FEATURE_WAIT_LOCK, TICKS - LONG, TICKS - 1, 100 * PERCENT);
	ask_live(&st, NULL);
	assert_int_equal(st.answer.hangs.n, 0);
	end(&st);
}

/* The counters do not know yet, the flight recorder does. */
static void a_wait_that_goes_on_is_in_the_events(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct trace_thread thread = {.state = STATE_PEER, .state_since = 100 * NS_PER_SEC, .comm = "client"};
	struct answer a = {};
	struct hang_question q = {.at = TICKS - 1, .trace = &t};
	struct subject *client;
	struct story st;

	begin_calm(&st);
	client = hanging_client(&st);
	assert_int_equal(trace_begin(&t, 1), 0);
	thread.tid = thread.tgid = client->info.pid;
	assert_int_equal(trace_add_thread(&t, &thread), 0);
	t.frozen = (100 + LONG) * NS_PER_SEC;
	t.wall_offset = st.d.ticks.v[TICKS - 1].wall - (int64_t)t.frozen;
	assert_int_equal(hangs_find(&st.d, &q, &a), 0);
	assert_int_equal(a.hangs.n, 1);
	assert_ptr_equal(a.hangs.v[0].victim, client);
	assert_true(a.hangs.v[0].since <= st.d.ticks.v[TICKS - 1].wall - LONG * NS_PER_SEC);
	answer_free(&a);
	end(&st);
}

/* What was booked of the hang before it was asked about is not what was normal. */
static void the_beginning_of_a_hang_is_no_baseline(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct trace_thread thread = {.state = STATE_PEER, .state_since = 100 * NS_PER_SEC, .comm = "client"};
	struct answer a = {};
	struct hang_question q = {.at = TICKS - 1, .trace = &t};
	struct subject *client;
	struct story st;

	begin_calm(&st);
	client = hanging_client(&st);
	series_push(&client->series[FEATURE_WAIT_PEER], TICKS - LONG + 2, 2 * NS_PER_SEC / client->features[FEATURE_WAIT_PEER].quantum);
	assert_int_equal(trace_begin(&t, 1), 0);
	thread.tid = thread.tgid = client->info.pid;
	assert_int_equal(trace_add_thread(&t, &thread), 0);
	t.frozen = (100 + LONG) * NS_PER_SEC;
	t.wall_offset = st.d.ticks.v[TICKS - 1].wall - (int64_t)t.frozen;
	assert_int_equal(hangs_find(&st.d, &q, &a), 0);
	assert_int_equal(a.hangs.n, 1);
	answer_free(&a);
	end(&st);
}

/* An answer of 1 ms takes four seconds: how many hangs are found of a client that waits in `state`, and waited so long in the minutes before. */
static size_t hangs_of_late_answer(uint8_t waits_in, int64_t waited_before)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct trace_thread client = {.state = waits_in, .state_since = NS_PER_SEC, .longest_before = (uint64_t)waited_before, .comm = "client"}, server = {.tid = 7, .tgid = 7, .comm = "server"};
	struct answer a = {};
	struct hang_question q = {.at = TICKS - 1, .trace = &t};
	struct subject *victim;
	struct story st;
	size_t n;

	begin_calm(&st);
	victim = add(&st, "/bin/client", 0, TICKS - 1, 0);
	assert_int_equal(trace_begin(&t, 1), 0);
	client.tid = client.tgid = victim->info.pid;
	assert_int_equal(trace_add_thread(&t, &client) + trace_add_thread(&t, &server), 0);
	for (uint64_t i = 0; i <= 20; i++) {
		struct event asks = {.kind = EVENT_WAKEUP, .time = (1000 + 50 * i) * NS_PER_MS, .thread = 7, .wakeup = {.waker = client.tid}};
		struct event answers = {.kind = EVENT_WAKEUP, .time = asks.time + NS_PER_MS, .thread = client.tid, .wakeup = {.waker = 7}};

		assert_int_equal(trace_add(&t, &asks), 0);
		assert_int_equal(i < 20 ? trace_add(&t, &answers) : 0, 0);
	}
	t.from = 1;
	t.to = t.frozen = 6 * NS_PER_SEC;
	t.wall_offset = st.d.ticks.v[TICKS - 1].wall - (int64_t)t.frozen;
	assert_int_equal(trace_finish(&t), 0);
	assert_int_equal(hangs_find(&st.d, &q, &a), 0);
	n = a.hangs.n;
	if (n) {
		assert_ptr_equal(a.hangs.v[0].victim, victim);
		assert_int_equal(a.hangs.v[0].took, 4 * NS_PER_SEC);
		assert_int_equal(a.hangs.v[0].normally, waits_in == STATE_IDLE ? NS_PER_MS : waited_before);
	}
	answer_free(&a);
	end(&st);
	return n;
}

/* It polls, which is not a wait: events alone say that it asked. A consumer of a queue without work has waited as long before. */
static void an_answer_later_than_ever_is_a_hang(void **state)
{
	assert_int_equal(hangs_of_late_answer(STATE_IDLE, 3 * NS_PER_SEC), 1);
	assert_int_equal(hangs_of_late_answer(STATE_NETWORK, 10 * NS_PER_MS), 1);
	assert_int_equal(hangs_of_late_answer(STATE_NETWORK, 3 * NS_PER_SEC), 0);
}

static struct subject *is_process(struct subject *s, pid_t pid)
{
	s->info.pid = (uint32_t)pid;
	return s;
}

/* Client and server have asked and answered each other in poll(); since then the server sleeps, and the client polls for four seconds. */
static void tell_of_habit(struct trace *t, uint32_t client, uint32_t server)
{
	struct trace_thread both[] = {{.tid = client, .tgid = client, .comm = "client", .state = STATE_IDLE, .facts.call = CALL_POLL,
				       .state_since = 2 * NS_PER_SEC},
				      {.tid = server, .tgid = server, .comm = "server", .state = STATE_TIMER, .facts.call = CALL_SLEEP,
				       .state_since = 2 * NS_PER_SEC}};

	assert_int_equal(trace_begin(t, 1), 0);
	assert_int_equal(trace_add_thread(t, &both[0]) + trace_add_thread(t, &both[1]), 0);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t at = (1000 + 50 * i) * NS_PER_MS;
		struct event round[] = {
			{.kind = EVENT_SWITCH, .time = at - 10, .thread = server, .out = {.state = TASK_STATE_SLEEPS, .call = CALL_POLL}},
			{.kind = EVENT_WAKEUP, .time = at, .thread = server, .wakeup.waker = client},
			{.kind = EVENT_SWITCH, .time = at + 10, .thread = client, .out = {.state = TASK_STATE_SLEEPS, .call = CALL_POLL}},
			{.kind = EVENT_WAKEUP, .time = at + NS_PER_MS, .thread = client, .wakeup.waker = server},
		};

		for (size_t k = 0; k < ARRAY_SIZE(round); k++)
			assert_int_equal(trace_add(t, &round[k]), 0);
	}
	t->from = 1;
	t->to = t->frozen = 6 * NS_PER_SEC;
	assert_int_equal(trace_finish(t), 0);
}

static pid_t begin_poller(int ends[2], bool asks)
{
	pid_t pid = fork();
	struct pollfd p = {.fd = ends[0], .events = POLLIN};

	if (pid)
		return pid;
	close(ends[1]);
	if (asks)
		(void)!write(ends[0], "?", 1);
	poll(&p, 1, -1);
	_exit(0);
}

static pid_t begin_sleeper(int ends[2])
{
	pid_t pid = fork();

	if (pid)
		return pid;
	close(ends[0]);
	sleep(1000);
	_exit(0);
}

static void wait_until_in(pid_t pid, const char *call)
{
	for (int i = 0; i < 1000; i++) {
		struct live_thread t;

		if (live_thread_read("/proc", (unsigned)pid, (unsigned)pid, &t) == 0 && t.state == 'S' && t.call && strcmp(t.call, call) == 0)
			return;
		usleep(10000);
	}
}

/* No event tells of it, but its thread never waited longer than `before`. */
static void tell_of_longest(struct trace *t, uint32_t client, uint64_t before)
{
	struct trace_thread one = {.tid = client, .tgid = client, .comm = "client", .state = STATE_IDLE, .facts.call = CALL_POLL, .state_since = 2 * NS_PER_SEC,
				   .longest_lately = 4 * NS_PER_SEC, .longest_before = before};

	assert_int_equal(trace_begin(t, 1), 0);
	assert_int_equal(trace_add_thread(t, &one), 0);
	t->from = 5 * NS_PER_SEC;
	t->to = t->frozen = 6 * NS_PER_SEC;
	assert_int_equal(trace_finish(t), 0);
}

/* longest: as tell_of_longest(); 0 = events tell. */
static void poll_for_an_answer(bool asks, uint64_t longest, size_t hangs)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct answer a = {};
	const struct viewer root = {};
	struct hang_question q = {.at = TICKS - 1, .trace = &t, .proc_root = "/proc", .viewer = &root, .patient = true};
	struct subject *victim;
	pid_t client, server;
	struct story st;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	client = begin_poller(ends, asks);
	server = begin_sleeper(ends);
	close(ends[0]);
	close(ends[1]);
	wait_until_in(client, "poll");
	wait_until_in(server, "clock_nanosleep");
	begin_calm(&st);
	victim = is_process(add(&st, "/bin/client", 0, TICKS - 1, 0), client);
	is_process(add(&st, "/bin/server", 0, TICKS - 1, 0), server);
	if (longest)
		tell_of_longest(&t, (uint32_t)client, longest);
	else
		tell_of_habit(&t, (uint32_t)client, (uint32_t)server);
	assert_int_equal(hangs_find(&st.d, &q, &a), 0);
	kill(client, SIGKILL);
	kill(server, SIGKILL);
	waitpid(client, NULL, 0);
	waitpid(server, NULL, 0);
	assert_int_equal(a.hangs.n, hangs);
	if (hangs) {
		assert_ptr_equal(a.hangs.v[0].victim, victim);
		assert_int_equal(a.hangs.v[0].took, 4 * NS_PER_SEC);
		assert_int_equal(a.hangs.v[0].culprit->info.pid, server);
	}
	answer_free(&a);
	end(&st);
}

/* It was not asleep where it is asked, and so was not woken. */
static void a_request_that_lies_unread_is_a_hang(void **state)
{
	skip_unless_waits_are_seen();
	poll_for_an_answer(true, 0, 1);
	poll_for_an_answer(false, 0, 0);
}

static void who_waits_longer_than_its_thread_ever_did_hangs(void **state)
{
	skip_unless_waits_are_seen();
	poll_for_an_answer(true, 30 * NS_PER_MS, 1);
	poll_for_an_answer(true, NS_PER_SEC, 0);
}

/* A process of this test: takes a lock on the file, says so, and does nothing more. */
static pid_t lock_file(const char *path)
{
	int said[2];
	char one;
	pid_t pid;

	assert_int_equal(pipe(said), 0);
	pid = fork();
	if (pid == 0) {
		int fd = open(path, O_RDWR);

		if (write(said[1], "x", 1) == 1 && flock(fd, LOCK_EX) == 0)
			(void)!write(said[1], "x", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(said[0], &one, 1), 1);
	close(said[1]);
	close(said[0]);
	return pid;
}

static bool waits_for_lock(pid_t pid)
{
	char path[64], word[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)pid);
	f = fopen(path, "re");
	if (f && fgets(word, sizeof(word), f) == NULL)
		word[0] = 0;
	if (f)
		fclose(f);
	return strstr(word, "lock") != NULL;
}

/* A client that waits for a lock that a backup holds, for real; until end_lock(). */
struct lock_play {
	char path[32];
	pid_t holder, waiter;
};

static void begin_lock(struct lock_play *p)
{
	int fd;

	snprintf(p->path, sizeof(p->path), "/tmp/test-hangs-XXXXXX");
	fd = mkstemp(p->path);
	assert_true(fd >= 0);
	skip_unless_waits_are_seen();
	if (flock(fd, LOCK_EX) < 0)
		skip();
	close(fd);
	p->holder = lock_file(p->path);
	for (int i = 0; i < 1000 && (fd = open(p->path, O_RDWR)) >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0; i++) {
		close(fd); /* it has not come that far */
		usleep(10000);
	}
	close(fd);
	p->waiter = lock_file(p->path);
	for (int i = 0; i < 1000 && !waits_for_lock(p->waiter); i++)
		usleep(10000);
}

static void end_lock(struct lock_play *p)
{
	kill(p->holder, SIGKILL);
	kill(p->waiter, SIGKILL);
	waitpid(p->holder, NULL, 0);
	waitpid(p->waiter, NULL, 0);
	unlink(p->path);
}

static struct subject *add_waiter(struct story *st, const struct lock_play *p)
{
	struct subject *client = is_process(add(st, "/bin/client", 0, TICKS - 1, 0), p->waiter);

	use(client, FEATURE_WAIT_LOCK, TICKS - LONG, TICKS - 1, 100 * PERCENT);
	is_process(add(st, "/bin/backup", 0, TICKS - 1, 0), p->holder);
	return client;
}

/* The waiter began LONG ticks ago, and its main thread has waited since. */
static void tell_of_waiter(struct trace *t, const struct story *st, const struct lock_play *p)
{
	struct trace_thread waiter = {.tid = (uint32_t)p->waiter, .tgid = (uint32_t)p->waiter, .comm = "client", .state = STATE_LOCK,
				      .state_since = 100 * NS_PER_SEC};

	assert_int_equal(trace_begin(t, 1), 0);
	assert_int_equal(trace_add_thread(t, &waiter), 0);
	t->from = 1;
	t->to = t->frozen = (100 + LONG) * NS_PER_SEC;
	assert_int_equal(trace_finish(t), 0);
	t->wall_offset = st->d.ticks.v[TICKS - 1].wall - (int64_t)t->frozen;
}

static struct subject *begin_process(struct story *st, uint32_t from, uint32_t to)
{
	struct subject *s = add(st, "/bin/client", from, to, 0);

	s->info.start = (uint64_t)st->d.ticks.v[from].boot;
	s->info.parent = 77;
	return s;
}

/* Processes of the waiter's program before it, one after the other, each for `life` ticks; and those that no sample met, by their parent. */
static void brief_waiter(uint32_t life, unsigned uncounted, uint32_t parent, size_t hangs)
{
	_cleanup_(trace_clear) struct trace t = {};
	const struct viewer root = {};
	struct hang_question q = {.at = TICKS - 1, .trace = &t, .proc_root = "/proc", .viewer = &root, .patient = true};
	struct entity_info group = {.id = 5000, .kind = ENTITY_SHORT_LIVED, .name = (char *)"client", .parent = parent,
				    .present = FEATURE_BIT(FEATURE_CHILDREN_SHORT)};
	struct answer a = {};
	struct lock_play play;
	struct subject *s;
	struct story st;

	begin_lock(&play);
	begin_calm(&st);
	for (uint32_t i = 0; life && i < 20; i++)
		begin_process(&st, 100 + i * life, 100 + (i + 1) * life - 1);
	s = dataset_define(&st.d, &group);
	s->first = 0;
	s->last = TICKS - 1;
	use(s, FEATURE_CHILDREN_SHORT, 10, 9 + uncounted, 1);
	is_process(begin_process(&st, TICKS - 1 - LONG, TICKS - 1), play.waiter);
	is_process(add(&st, "/bin/backup", 0, TICKS - 1, 0), play.holder);
	tell_of_waiter(&t, &st, &play);
	assert_int_equal(hangs_find(&st.d, &q, &a), 0);
	end_lock(&play);
	assert_int_equal(a.hangs.n, hangs);
	if (hangs)
		assert_int_equal(a.hangs.v[0].culprit->info.pid, play.holder);
	answer_free(&a);
	end(&st);
}

/* Only the waiter is recorded. */
static void who_holds_it_up_need_not_be_recorded(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	const struct viewer root = {};
	struct hang_question q = {.at = TICKS - 1, .trace = &t, .proc_root = "/proc", .viewer = &root, .patient = true};
	struct answer a = {};
	struct lock_play play;
	struct story st;

	begin_lock(&play);
	begin_calm(&st);
	use(is_process(hanging_client(&st), play.waiter), FEATURE_WAIT_LOCK, 0, TICKS - LONG - 1, PERCENT);
	tell_of_waiter(&t, &st, &play);
	assert_int_equal(hangs_find(&st.d, &q, &a), 0);
	end_lock(&play);
	assert_int_equal(a.hangs.n, 1);
	a.ranking.method = "blame";
	assert_int_equal(hangs_add_suspects(&a), 0);
	assert_int_equal(a.ranking.suspects.v[0].subject->info.pid, play.holder);
	assert_true(isnan(subject_value(&st.d, a.ranking.suspects.v[0].subject, FEATURE_CPU_TIME, TICKS - 1)));
	answer_free(&a);
	end(&st);
}

static void a_process_of_a_brief_program_that_goes_on_hangs(void **state)
{
	brief_waiter(1, 0, 0, 1);
	brief_waiter(0, 20, 77, 1);
	brief_waiter(0, 20, 78, 0); /* another's children of that name may be other programs */
	brief_waiter(LONG, 0, 0, 0);
	brief_waiter(LONG, 20, 77, 0); /* half of them take as long */
	brief_waiter(0, 5, 77, 0);
}

static void the_holder_of_a_lock_is_named(void **state)
{
	struct subject *client;
	struct lock_play play;
	char words[48];
	struct story st;

	begin_lock(&play);
	begin_calm(&st);
	client = add_waiter(&st, &play);
	ask_live(&st, "/proc");
	end_lock(&play);
	assert_true(st.answer.slow);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_LOCK);
	assert_int_equal(first(&st)->subject->info.pid, play.holder);
	assert_ptr_equal(st.answer.ranking.victims.v[0].subject, client);
	snprintf(words, sizeof(words), "backup (pid %d), which holds it", (int)play.holder);
	assert_non_null(strstr(st.answer.summary, words));
	end(&st);
}

/* A script whose command waits for the lock hangs for the lock. */
static void who_waits_for_a_child_waits_for_what_that_waits_for(void **state)
{
	struct lock_play play;
	struct subject *script;
	struct story st;
	int said[2];
	pid_t pid;

	begin_lock(&play);
	assert_int_equal(pipe(said), 0);
	pid = fork();
	if (pid == 0) {
		int child = lock_file(play.path);

		(void)!write(said[1], &child, sizeof(child));
		waitpid(child, NULL, 0);
		_exit(0);
	}
	kill(play.waiter, SIGKILL);
	waitpid(play.waiter, NULL, 0);
	assert_int_equal(read(said[0], &play.waiter, sizeof(play.waiter)), sizeof(play.waiter));
	wait_until_in(play.waiter, "flock");
	wait_until_in(pid, "wait4");
	begin_calm(&st);
	script = is_process(add(&st, "/bin/script", 0, TICKS - 1, 0), pid);
	use(script, FEATURE_WAIT_PEER, TICKS - LONG, TICKS - 1, 100 * PERCENT);
	is_process(add(&st, "/bin/backup", 0, TICKS - 1, 0), play.holder);
	ask_live(&st, "/proc");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	kill(play.waiter, SIGKILL);
	end_lock(&play);
	assert_int_equal(first(&st)->subject->info.pid, play.holder);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_LOCK);
	close(said[0]);
	close(said[1]);
	end(&st);
}

/* A program that is unusual but delays no one is not what a user waits for. */
static void a_hang_is_told_before_what_delays_no_one(void **state)
{
	struct lock_play play;
	struct subject *reader;
	struct story st;

	begin_lock(&play);
	begin_calm(&st);
	reader = add(&st, "/bin/reader", TICKS - 10, TICKS - 1, 0);
	use(reader, FEATURE_IO_READ_BYTES, TICKS - 10, TICKS - 1, MB);
	add_waiter(&st, &play);
	ask_live(&st, "/proc");
	end_lock(&play);
	assert_int_equal(first(&st)->subject->info.pid, play.holder);
	end(&st);
}

/* Two CPUs have room for both: a program that computes by itself delays no other. */
static void a_hang_is_told_before_who_computes_by_itself(void **state)
{
	struct subject *office;
	struct lock_play play;
	struct story st;

	begin_lock(&play);
	begin(&st);
	office = add(&st, "/bin/office", 0, TICKS - 1, 0);
	use(office, FEATURE_CPU_TIME, 0, FROM - 1, 2 * PERCENT);
	use(office, FEATURE_CPU_TIME, FROM, TICKS - 1, 100 * PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 2);
	add_waiter(&st, &play);
	ask_live(&st, "/proc");
	end_lock(&play);
	assert_int_equal(first(&st)->subject->info.pid, play.holder);
	assert_int_equal(st.answer.bottleneck, BOTTLENECK_LOCK);
	end(&st);
}

/* A hog, and a client that waits for a lock for as long. */
static struct subject *begin_user(struct story *st, const struct lock_play *p, int64_t use_of_cpu, int64_t normal, int64_t pressure)
{
	struct subject *hog, *editor;

	begin(st);
	editor = add(st, "/bin/editor", 0, TICKS - 1, 0);
	use(editor, FEATURE_CPU_RUN_DELAY, 0, FROM - 1, normal * PERCENT);
	use(editor, FEATURE_CPU_RUN_DELAY, FROM, TICKS - 1, 60 * PERCENT);
	hog = add(st, "/bin/hog", FROM, TICKS - 1, 0);
	use(hog, FEATURE_CPU_TIME, FROM, TICKS - 1, use_of_cpu * PERCENT);
	press(st, FEATURE_PSI_CPU_SOME, normal, pressure);
	add_waiter(st, p);
	return hog;
}

static struct subject *begin_hog(struct story *st, const struct lock_play *p, int64_t normal, int64_t pressure)
{
	return begin_user(st, p, 100, normal, pressure);
}

static bool lists(const struct story *st, const struct subject *s)
{
	for (size_t i = 0; i < st->answer.ranking.suspects.n; i++)
		if (st->answer.ranking.suspects.v[i].subject == s)
			return true;
	return false;
}

/* Who stands still waits all the time, who is delayed by the hog a quarter of it; what is normal delays no one more. */
static void a_hang_is_told_before_a_smaller_shortage(void **state)
{
	struct lock_play play;
	struct story small, great, normal;
	struct subject *hog, *other;

	begin_lock(&play);
	other = begin_hog(&small, &play, 2, 25);
	ask_live(&small, "/proc");
	hog = begin_hog(&great, &play, 2, 80);
	ask_live(&great, "/proc");
	begin_hog(&normal, &play, 50, 80);
	ask_live(&normal, "/proc");
	end_lock(&play);
	assert_int_equal(first(&small)->subject->info.pid, play.holder);
	assert_int_equal(first(&normal)->subject->info.pid, play.holder);
	assert_true(lists(&small, other));
	assert_ptr_equal(first(&great)->subject, hog);
	end(&small);
	end(&great);
	end(&normal);
}

/* A shortage that ended some seconds ago is not what it waits for now. */
static void a_hang_is_told_before_what_is_over(void **state)
{
	struct subject *machine;
	struct lock_play play;
	struct story st;

	begin_lock(&play);
	begin(&st);
	use(add(&st, "/bin/editor", 0, TICKS - 1, 0), FEATURE_CPU_RUN_DELAY, TICKS - 20, TICKS - 8, 60 * PERCENT);
	use(add(&st, "/bin/hog", TICKS - 20, TICKS - 1, 0), FEATURE_CPU_TIME, TICKS - 20, TICKS - 8, 100 * PERCENT);
	machine = dataset_define(&st.d, &(struct entity_info){.id = ++st.next_id, .kind = ENTITY_SYSTEM, .name = (char *)"machine"});
	machine->first = 0;
	machine->last = TICKS - 1;
	use(machine, FEATURE_PSI_CPU_SOME, 0, TICKS - 21, 2 * PERCENT);
	use(machine, FEATURE_PSI_CPU_SOME, TICKS - 20, TICKS - 8, 80 * PERCENT);
	use(machine, FEATURE_PSI_CPU_SOME, TICKS - 7, TICKS - 1, 2 * PERCENT);
	add_waiter(&st, &play);
	ask_live(&st, "/proc");
	end_lock(&play);
	assert_int_equal(first(&st)->subject->info.pid, play.holder);
	end(&st);
}

/* Others wait for much, but not for who uses little. */
static void a_hang_is_told_before_who_uses_little(void **state)
{
	struct lock_play play;
	struct story little, much;

	begin_lock(&play);
	begin_user(&little, &play, 18, 2, 80);
	ask_live(&little, "/proc");
	begin_user(&much, &play, 90, 2, 80);
	ask_live(&much, "/proc");
	end_lock(&play);
	assert_int_equal(first(&little)->subject->info.pid, play.holder);
	assert_int_not_equal(first(&much)->subject->info.pid, play.holder);
	end(&little);
	end(&much);
}

/* A hog that computed until some seconds ago; others still have much to catch up with. */
static void a_hang_is_told_before_who_has_ended(void **state)
{
	struct lock_play play;
	struct story ended, there;
	struct subject *hog;

	begin_lock(&play);
	hog = begin_hog(&ended, &play, 2, 80);
	hog->last = TICKS - 6;
	hog->ended = true;
	ask_live(&ended, "/proc");
	begin_hog(&there, &play, 2, 80);
	ask_live(&there, "/proc");
	end_lock(&play);
	assert_int_equal(first(&ended)->subject->info.pid, play.holder);
	assert_int_not_equal(first(&there)->subject->info.pid, play.holder);
	end(&ended);
	end(&there);
}

static pid_t begin_reader(int fd, int other)
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	close(other);
	(void)!read(fd, &byte, 1);
	_exit(0);
}

/* Longer than ever, from ends[0]. */
static void reader_does_not_hang(const int ends[2])
{
	struct subject *reader;
	struct story st;
	pid_t pid = begin_reader(ends[0], ends[1]);

	wait_until_in(pid, "read");
	begin_calm(&st);
	reader = is_process(add(&st, "/bin/reader", 0, TICKS - 1, 0), pid);
	use(reader, FEATURE_WAIT_PEER, TICKS - LONG, TICKS - 1, 100 * PERCENT);
	ask_live(&st, "/proc");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(st.answer.hangs.n, 0);
	end(&st);
}

/* Whose command writes nothing for a while does not hang. */
static void who_reads_from_a_pipe_waits_for_work(void **state)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	reader_does_not_hang(ends);
}

/* Whose client pauses does not hang. */
static void who_accepted_a_connection_waits_for_work(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX}; /* the kernel chooses a name */
	socklen_t length = sizeof(address);
	int door = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(bind(door, (const void *)&address, sizeof(sa_family_t)) + listen(door, 1), 0);
	assert_int_equal(getsockname(door, (void *)&address, &length) + connect(client, (const void *)&address, length), 0);
	reader_does_not_hang((const int[]){accept(door, NULL, NULL), client});
	close(door);
}

/* A delivery that sleeps between attempts to make a lock file, which names a backup; until end_retries(). */
struct retry_play {
	char path[32];
	pid_t holder, seeker;
	int64_t since; /* wall ns, of the file */
};

static void begin_retries(struct retry_play *p)
{
	struct stat st;
	int fd;

#ifdef __SANITIZE_THREAD__
	skip(); /* the name is looked for in the memory of a sleeper, of which this sanitizer takes more than is read */
#endif
	snprintf(p->path, sizeof(p->path), "/tmp/XXXXXX.lock");
	fd = mkstemps(p->path, 5);
	assert_true(fd >= 0);
	p->holder = fork();
	if (p->holder == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(dprintf(fd, "%d\n", (int)p->holder) > 0);
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	p->since = st.st_ctim.tv_sec * NS_PER_SEC + st.st_ctim.tv_nsec;
	p->seeker = fork();
	if (p->seeker == 0) {
		char *name = strdup(p->path); /* in its own memory */

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (mkdir(name, 0700) < 0)
			sleep(20);
		_exit(0);
	}
	wait_until_in(p->seeker, "clock_nanosleep");
}

static void end_retries(struct retry_play *p)
{
	kill(p->seeker, SIGKILL);
	kill(p->holder, SIGKILL);
	waitpid(p->seeker, NULL, 0);
	waitpid(p->holder, NULL, 0);
	unlink(p->path);
}

/* It sleeps by a timer since a second, for the first time. */
static void tell_of_sleep(struct trace *t, pid_t pid)
{
	struct trace_thread sleeper = {.tid = (uint32_t)pid, .tgid = (uint32_t)pid, .comm = "delivery", .state = STATE_TIMER, .facts.call = CALL_SLEEP,
				       .state_since = 5 * NS_PER_SEC};

	assert_int_equal(trace_begin(t, 1), 0);
	assert_int_equal(trace_add_thread(t, &sleeper), 0);
	t->from = 1;
	t->to = t->frozen = 6 * NS_PER_SEC;
	assert_int_equal(trace_finish(t), 0);
}

/* The answer of a moment at which the file is `age` old. How many hang. */
static size_t hangs_at_age(const struct retry_play *p, int64_t age)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct answer a = {};
	const struct viewer root = {};
	struct hang_question q = {.at = TICKS - 1, .trace = &t, .proc_root = "/proc", .viewer = &root, .patient = true};
	const struct subject *seeker, *holder;
	struct story st;
	size_t n;

	begin_calm(&st);
	seeker = is_process(add(&st, "/bin/delivery", 0, TICKS - 1, 0), p->seeker);
	holder = is_process(add(&st, "/bin/backup", 0, TICKS - 1, 0), p->holder);
	tell_of_sleep(&t, p->seeker);
	for (int64_t i = 0; i < TICKS; i++)
		st.d.ticks.v[i].wall = p->since + age - (TICKS - 1 - i) * NS_PER_SEC;
	assert_int_equal(hangs_find(&st.d, &q, &a), 0);
	n = a.hangs.n;
	if (n) {
		assert_ptr_equal(a.hangs.v[0].victim, seeker);
		assert_ptr_equal(a.hangs.v[0].culprit, holder);
		assert_int_equal(a.hangs.v[0].since, p->since);
	}
	answer_free(&a);
	end(&st);
	return n;
}

/* A file that was there long before the sleeps changed, or is only just there, is not what the sleeps are for. */
static void only_a_lock_file_of_that_time_is_a_hang(void **state)
{
	struct retry_play play;
	size_t n = 0;

	skip_unless_waits_are_seen();
	begin_retries(&play);
	for (int i = 0; i < 200 && !(n = hangs_at_age(&play, 10 * NS_PER_SEC)); i++)
		usleep(50000); /* until the file is old enough to be looked at; a busy machine may not find it in time */
	assert_int_equal(n, 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(hangs_at_age(&play, 2 * NS_PER_SEC), 0);
		assert_int_equal(hangs_at_age(&play, 30 * NS_PER_SEC), 0);
	}
	end_retries(&play);
}

static void spin_or_pause(bool spins, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0); /* which was killed before */
	for (volatile bool on = true; on;)
		if (!spins)
			pause();
	_exit(0);
}

/* A script that waits for its child, of that name, which computes or does nothing. */
static void script_with_child(const char *name, bool spins)
{
	struct subject *script;
	struct story st;
	pid_t pid = fork();

	if (pid == 0) {
		pid_t self = getpid(), child;

		prctl(PR_SET_NAME, name); /* the child has it from the beginning */
		child = fork();
		if (child == 0)
			spin_or_pause(spins, self);
		prctl(PR_SET_NAME, "script");
		waitpid(child, NULL, 0);
		_exit(0);
	}
	wait_until_in(pid, "wait4");
	begin_calm(&st);
	script = is_process(add(&st, "/bin/script", 0, TICKS - 1, 0), pid);
	use(script, FEATURE_WAIT_PEER, TICKS - LONG, TICKS - 1, 100 * PERCENT);
	ask_live(&st, "/proc");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(st.answer.hangs.n, 0);
	end(&st);
}

/* A script that asks again and again waits for each answer. */
static void who_asks_us_does_not_hang(void **state)
{
	script_with_child("whyslow", false);
}

static void a_script_whose_child_computes_does_not_hang(void **state)
{
	script_with_child("compiler", true);
}

/* A shell that reads what a polling script writes, whose `sleep` has not ended: the reader's thread never waited as long. */
static void begin_poll(pid_t all[3], int ends[2])
{
	int said[2];

	assert_int_equal(pipe(ends) + pipe(said), 0);
	all[0] = begin_reader(ends[0], ends[1]);
	all[1] = fork();
	if (all[1] == 0) {
		pid_t self = getpid(), child;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child = fork();
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() == self)
				sleep(1000);
			_exit(0);
		}
		(void)!write(said[1], &child, sizeof(child));
		waitpid(child, NULL, 0);
		_exit(0);
	}
	assert_int_equal(read(said[0], &all[2], sizeof(all[2])), sizeof(all[2]));
	close(said[0]);
	close(said[1]);
	close(ends[1]);
	wait_until_in(all[0], "read");
	wait_until_in(all[1], "wait4");
	wait_until_in(all[2], "clock_nanosleep");
}

/* Who reads from a program that waits for a child that sleeps, and that is `age` (ns) older than the wait. */
static size_t hangs_behind_a_sleeper(int64_t age)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct why_request request = {.at = (1000000 + TICKS - 1) * NS_PER_SEC, .window = 4 * 3600 * NS_PER_SEC, .marked = true, .live_root = "/proc",
				      .patient = true, .trace = &t};
	struct trace_thread reader = {.comm = "reader", .state = STATE_PEER, .facts.call = CALL_PIPE, .state_since = (100 - LONG) * NS_PER_SEC,
				      .longest_lately = LONG * NS_PER_SEC, .longest_before = 30 * NS_PER_MS};
	struct story st;
	struct subject *script;
	size_t hangs;
	pid_t all[3];
	int ends[2];

	begin_poll(all, ends);
	begin_calm(&st);
	use(is_process(add(&st, "/bin/reader", 0, TICKS - 1, 0), all[0]), FEATURE_WAIT_PEER, TICKS - LONG, TICKS - 1, 100 * PERCENT);
	script = is_process(add(&st, "/bin/script", 0, TICKS - 1, 0), all[1]);
	script->info.start = (uint64_t)(st.d.ticks.v[TICKS - 1].boot - LONG * NS_PER_SEC - age);
	is_process(add(&st, "/bin/sleep", 0, TICKS - 1, 0), all[2]);
	assert_int_equal(trace_begin(&t, 1), 0);
	reader.tid = reader.tgid = (uint32_t)all[0];
	assert_int_equal(trace_add_thread(&t, &reader), 0);
	t.from = 1;
	t.to = t.frozen = 100 * NS_PER_SEC;
	assert_int_equal(trace_finish(&t), 0);
	t.wall_offset = st.d.ticks.v[TICKS - 1].wall - (int64_t)t.frozen;
	assert_int_equal(why_answer(&st.d, &request, &st.answer), 0);
	for (size_t i = 0; i < 3; i++)
		kill(all[i], SIGKILL);
	waitpid(all[0], NULL, 0);
	waitpid(all[1], NULL, 0);
	close(ends[0]);
	hangs = st.answer.hangs.n;
	assert_int_equal(st.answer.culprit_is_named, hangs > 0);
	end(&st);
	return hangs;
}

static void who_reads_what_a_poller_writes_does_not_hang(void **state)
{
	skip_unless_waits_are_seen();
	assert_int_equal(hangs_behind_a_sleeper(0), 0);
}

static void who_was_answered_before_by_one_that_sleeps_now_hangs(void **state)
{
	skip_unless_waits_are_seen();
	assert_int_equal(hangs_behind_a_sleeper(60 * NS_PER_SEC), 1);
}

/* The same wait, by a client for a lock that is handed from one to the next all the time, is ordinary in its program. */
static double score_with_habit(bool has_habit)
{
	struct lock_play play;
	struct subject *earlier;
	struct story st;
	double score;

	begin_lock(&play);
	begin_calm(&st);
	add_waiter(&st, &play);
	earlier = add(&st, "/bin/client", 0, TICKS / 2, 0);
	if (has_habit)
		use(earlier, FEATURE_WAIT_LOCK, 100, 100 + 4 * LONG, 100 * PERCENT);
	ask_live(&st, "/proc");
	end_lock(&play);
	score = st.answer.hangs.n ? st.answer.hangs.v[0].score : 0;
	end(&st);
	return score;
}

static void what_a_program_always_waits_for_counts_less(void **state)
{
	assert_true(score_with_habit(false) > 0.3);
	assert_true(score_with_habit(true) < 0.15);
}

/* Its chain is one link: what another machine does is not known. */
static void who_waits_for_another_machine_alone_is_told_of(void **state)
{
	struct hang h = {.kind = FEATURE_WAIT_NETWORK, .now = NS_PER_SEC, .score = 0.9};
	struct chain_link link = {.kind = CHAIN_REMOTE, .words = strdup("waits for an answer over TCP from 192.0.2.7:80")};
	struct answer a = {};
	struct story st;

	begin_calm(&st);
	h.victim = add(&st, "/bin/client", 0, TICKS - 1, 0);
	link.pid = h.victim->info.pid;
	assert_int_equal(VEC_PUSH(h.chain.links, link), 0);
	assert_int_equal(VEC_PUSH(a.hangs, h), 0);
	assert_false(hang_counts_alone(&a.hangs.v[0]));
	a.hangs.v[0].chain.links.v[0].unanswered = true;
	assert_true(hang_counts_alone(&a.hangs.v[0]));
	a.ranking.method = "blame";
	assert_int_equal(hangs_add_suspects(&a), 0);
	verdict_judge(&a, &(const struct method_question){}, &(const struct shortages){}, &method_blame, false);
	assert_true(a.slow);
	assert_false(a.culprit_is_named);
	assert_int_equal(hang_tell(&a.hangs.v[0], &a), 0);
	assert_int_equal(a.bottleneck, BOTTLENECK_REMOTE);
	assert_int_equal(a.ranking.suspects.n, 0);
	assert_int_equal(a.ranking.victims.n, 1);
	assert_ptr_equal(a.ranking.victims.v[0].subject, h.victim);
	answer_free(&a);
	end(&st);
}

/* It waits for the network for so much of each second now, and did for a hundredth before; what another program has used up is known. */
static void wait_for_what_is_used_up(uint32_t share, struct answer *ret)
{
	struct exhausted_limit full = {.what = "uplink", .says = "fills the uplink of %s: what goes out there waits %s", .of = "eth0", .used = 1, .limit = 1, .delay = 700 * NS_PER_MS,
				       .comm = "backup"};
	struct exhausted_limits limits = {};
	struct hang_question q = {.at = TICKS - 1, .limits = &limits, .viewer = &(const struct viewer){}};
	struct subject *client, *other, *backup;
	struct story st;
	char *words;

	begin_calm(&st);
	client = add(&st, "/bin/client", TICKS - LONG - 5, TICKS - 1, 0); /* no longer there: what is used up makes up for a short past */
	backup = add(&st, "/bin/backup", TICKS - LONG, TICKS - 1, 0);
	use(client, FEATURE_WAIT_NETWORK, TICKS - LONG - 5, TICKS - LONG - 1, PERCENT);
	use(client, FEATURE_WAIT_NETWORK, TICKS - LONG, TICKS - 1, share * PERCENT);
	full.pid = backup->info.pid;
	other = add(&st, "/bin/other", TICKS - LONG - 5, TICKS - 1, 0);
	use(other, FEATURE_WAIT_NETWORK, TICKS - LONG - 5, TICKS - LONG - 1, PERCENT);
	use(other, FEATURE_WAIT_NETWORK, TICKS - LONG, TICKS - 1, share * PERCENT);
	full.waits = (struct tcp_waits){{client->info.pid, other->info.pid}, 2};
	assert_int_equal(VEC_PUSH(limits.list, full), 0);
	assert_int_equal(hangs_find(&st.d, &q, ret), 0);
	for (size_t i = 0; i < ret->hangs.n; i++) {
		assert_ptr_equal(ret->hangs.v[i].victim, i ? other : client);
		assert_ptr_equal(ret->hangs.v[i].culprit, backup);
		assert_string_equal(ret->hangs.v[i].chain.links.v[1].words, "fills the uplink of eth0: what goes out there waits 700 ms");
		words = hang_words(&ret->hangs.v[i], st.d.ticks.v[TICKS - 1].wall);
		assert_non_null(strstr(words, " has waited for the network for 40 % of the last 8 s: backup (pid 1004) fills the uplink of eth0: what goes"));
		free(words);
	}
	if (ret->hangs.n) { /* the others that wait for it are victims, too */
		assert_int_equal(hang_tell(&ret->hangs.v[1], ret), 0);
		assert_int_equal(ret->bottleneck, BOTTLENECK_NETWORK);
		assert_int_equal(ret->ranking.victims.n, 2);
		assert_ptr_equal(ret->ranking.victims.v[0].subject, other);
		assert_ptr_equal(ret->ranking.victims.v[1].subject, client);
	}
	exhausted_limits_free(&limits);
	end(&st);
}

static void who_waits_for_what_is_used_up_hangs(void **state)
{
	struct answer a = {};

	wait_for_what_is_used_up(40, &a);
	assert_int_equal(a.hangs.n, 2);
	answer_free(&a);
}

/* It may always be full: no one waits for it more than ever. */
static void what_is_used_up_and_hurts_no_one_is_no_hang(void **state)
{
	struct answer a = {};

	wait_for_what_is_used_up(1, &a);
	assert_int_equal(a.hangs.n, 0);
	answer_free(&a);
}

RUN_TESTS(cmocka_unit_test(who_waits_longer_than_ever_is_told_of), cmocka_unit_test(of_many_that_hang_some_are_looked_at),
	  cmocka_unit_test(an_old_wait_gives_way_to_a_new_shortage),
	  cmocka_unit_test(who_waits_for_what_is_used_up_hangs), cmocka_unit_test(what_is_used_up_and_hurts_no_one_is_no_hang), cmocka_unit_test(who_waits_for_another_machine_alone_is_told_of), cmocka_unit_test(a_process_of_this_program_does_not_hang), cmocka_unit_test(who_holds_it_up_need_not_be_recorded),
	  cmocka_unit_test(who_always_waits_does_not_hang),
	  cmocka_unit_test(who_waited_as_long_before_does_not_hang), cmocka_unit_test(a_wait_that_goes_on_is_in_the_events),
	  cmocka_unit_test(the_beginning_of_a_hang_is_no_baseline), cmocka_unit_test(an_answer_later_than_ever_is_a_hang),
	  cmocka_unit_test(a_request_that_lies_unread_is_a_hang), cmocka_unit_test(who_waits_longer_than_its_thread_ever_did_hangs),
	  cmocka_unit_test(the_holder_of_a_lock_is_named),
	  cmocka_unit_test(a_process_of_a_brief_program_that_goes_on_hangs), cmocka_unit_test(presses_leave_something_to_compare_with),
	  cmocka_unit_test(who_waits_for_a_child_waits_for_what_that_waits_for), cmocka_unit_test(a_hang_is_told_before_what_delays_no_one),
	  cmocka_unit_test(a_hang_is_told_before_who_computes_by_itself),
	  cmocka_unit_test(a_hang_is_told_before_a_smaller_shortage), cmocka_unit_test(a_hang_is_told_before_who_uses_little),
	  cmocka_unit_test(a_hang_is_told_before_what_is_over), cmocka_unit_test(a_hang_is_told_before_who_has_ended),
	  cmocka_unit_test(who_reads_from_a_pipe_waits_for_work), cmocka_unit_test(who_reads_what_a_poller_writes_does_not_hang),
	  cmocka_unit_test(who_was_answered_before_by_one_that_sleeps_now_hangs),
	  cmocka_unit_test(what_a_program_always_waits_for_counts_less),
	  cmocka_unit_test(who_accepted_a_connection_waits_for_work), cmocka_unit_test(only_a_lock_file_of_that_time_is_a_hang), cmocka_unit_test(who_asks_us_does_not_hang),
	  cmocka_unit_test(a_script_whose_child_computes_does_not_hang))
