/* Stories in which nothing is short and a program waits for another one. */
#include "answer/why/test-recording.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answer/waits/hangs.h"
#include "base/data/cleanup.h"

#define LONG 8 /* ticks */

static void ask_live(struct story *st, const char *live_root)
{
	struct why_request request = {.at = (1000000 + TICKS - 1) * NS_PER_SEC, .window = 4 * 3600 * NS_PER_SEC, .marked = true, .live_root = live_root};

	assert_int_equal(why_answer(&st->d, &request, &st->answer), 0);
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

	(void)state;
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

static void who_always_waits_does_not_hang(void **state)
{
	struct subject *reader;
	struct story st;

	(void)state;
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

static void who_waited_as_long_before_does_not_hang(void **state)
{
	struct subject *client;
	struct story st;

	(void)state;
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

	(void)state;
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

	(void)state;
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

/* It polls, which is no wait: events alone say that it asked. */
static void an_answer_later_than_ever_is_a_hang(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct trace_thread client = {.state = STATE_IDLE, .state_since = NS_PER_SEC, .comm = "client"}, server = {.tid = 7, .tgid = 7, .comm = "server"};
	struct answer a = {};
	struct hang_question q = {.at = TICKS - 1, .trace = &t};
	struct subject *victim;
	struct story st;

	(void)state;
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
	assert_int_equal(trace_finish(&t), 0);
	assert_int_equal(hangs_find(&st.d, &q, &a), 0);
	assert_int_equal(a.hangs.n, 1);
	assert_ptr_equal(a.hangs.v[0].victim, victim);
	assert_int_equal(a.hangs.v[0].took, 4 * NS_PER_SEC);
	assert_int_equal(a.hangs.v[0].normally, NS_PER_MS);
	answer_free(&a);
	end(&st);
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

static struct subject *is_process(struct subject *s, pid_t pid)
{
	s->info.pid = (uint32_t)pid;
	return s;
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
	if (flock(fd, LOCK_EX) < 0 || access("/proc/self/syscall", R_OK) < 0)
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

static void the_holder_of_a_lock_is_named(void **state)
{
	struct subject *client;
	struct lock_play play;
	char words[48];
	struct story st;

	(void)state;
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

/* A shortage that ended some seconds ago is not what it waits for now. */
static void a_hang_is_told_before_what_is_over(void **state)
{
	struct subject *machine;
	struct lock_play play;
	struct story st;

	(void)state;
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

/* Whose command writes nothing for a while does not hang. */
static void who_reads_from_a_pipe_waits_for_work(void **state)
{
	struct subject *reader;
	struct story st;
	int ends[2];
	pid_t pid;
	char byte;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		(void)!read(ends[0], &byte, 1);
		_exit(0);
	}
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

RUN_TESTS(cmocka_unit_test(who_waits_longer_than_ever_is_told_of), cmocka_unit_test(who_always_waits_does_not_hang),
	  cmocka_unit_test(who_waited_as_long_before_does_not_hang), cmocka_unit_test(a_wait_that_goes_on_is_in_the_events),
	  cmocka_unit_test(the_beginning_of_a_hang_is_no_baseline), cmocka_unit_test(an_answer_later_than_ever_is_a_hang),
	  cmocka_unit_test(the_holder_of_a_lock_is_named), cmocka_unit_test(a_hang_is_told_before_what_is_over),
	  cmocka_unit_test(who_reads_from_a_pipe_waits_for_work))
