/* Live: the walk, by itself and next to the flight recorder, and the kernel's iterator tell the same. Needs root. */
#include "lib/data/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/flight/ring.h"
#include "machine/sample/source.h"

#define SLEEPERS      40
#define SAME_MIN      20 /* processes that did not run in between, of SLEEPERS and all else here */
#define TICKS	      70 /* more than the 64 between two full readings */
#define TICK_PAUSE_US 20000
#define WORK_NS	      (20 * NS_PER_MS)

#define WORKERS	      16
#define ROUNDS	      40
#define CROWD	      4    /* processes, and their threads: some 6 MiB of records */
#define CROWD_THREADS 4000

struct eye {
	void *source;
	struct tick tick;
};

/* `ring`: of the one that tells what threads wait for, NULL = nothing does. */
static void eye_open(struct eye *eye, struct ring *ring, bool iterator)
{
	struct source_options options = {.proc_root = "/proc", .sys_root = "/sys", .sockets = true, .ring = ring, .iterator = iterator};
	const char *why = NULL;

	*eye = (struct eye){};
	if (source_task.open(&options, &eye->source, &why) < 0)
		fail_msg("%s", why);
}

static void eye_look(struct eye *eye)
{
	tick_begin(&eye->tick, clock_boot(), clock_wall());
	source_task.sample(eye->source, &eye->tick);
}

static void eye_close(struct eye *eye)
{
	source_task.close(eye->source);
	tick_free(&eye->tick);
}

static void *sleep_on(void *argument)
{
	for (;;)
		pause();
	return argument;
}

/* Waits on a pipe into which nothing is written. */
static pid_t start_reader(void)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		(void)!read(ends[0], &(char){0}, 1);
		sleep_on(NULL);
	}
	close(ends[0]); /* the other end stays open until this program ends */
	return pid;
}

static pid_t start_sleeper(int more_threads)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid == 0) {
		for (int i = 0; i < more_threads; i++)
			(void)pthread_create(&thread, NULL, sleep_on, NULL);
		sleep_on(NULL);
	}
	return pid;
}

static void end_sleeper(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static const struct sample *find(const struct tick *tick, const struct entity_info *info)
{
	for (size_t i = 0; i < tick->samples.n; i++) {
		const struct entity_info *other = &tick->samples.v[i].entity->info;

		if (other->kind == ENTITY_PROCESS && other->pid == info->pid && other->start == info->start)
			return &tick->samples.v[i];
	}
	return NULL;
}

static bool stood_still(const struct sample *a, const struct sample *b)
{
	/* (who is woken is moved to a CPU before it is ready to run there) */
	return a->values[FEATURE_CPU_TIME] == b->values[FEATURE_CPU_TIME] && a->values[FEATURE_CPU_MIGRATIONS] == b->values[FEATURE_CPU_MIGRATIONS] &&
	       a->values[FEATURE_THREADS_RUNNING] == 0 &&
	       b->values[FEATURE_THREADS_RUNNING] == 0;
}

static void assert_same(const struct sample *a, const struct sample *b)
{
	assert_true(a->present == b->present);
	for (size_t i = 0; i < PROCESS_FEATURE_COUNT; i++)
		if (a->present >> i & 1 && a->values[i] != b->values[i])
			fail_msg("feature %zu of %s (%u): %lld and %lld", i, a->entity->info.name, a->entity->info.pid,
				 (long long)a->values[i], (long long)b->values[i]);
	assert_string_equal(a->entity->info.name, b->entity->info.name);
	assert_int_equal(a->entity->info.parent, b->entity->info.parent);
	assert_int_equal(a->entity->info.uid, b->entity->info.uid);
}

/* Of the sleepers all values, of the rest of the machine who is there. */
static void compare(const struct eye *a, const struct eye *b, const pid_t *sleepers)
{
	unsigned missing = 0, same = 0;

	for (size_t i = 0; i < a->tick.samples.n; i++) {
		const struct sample *s = &a->tick.samples.v[i], *other;

		if (s->entity->info.kind != ENTITY_PROCESS)
			continue;
		other = find(&b->tick, &s->entity->info);
		missing += !other; /* began or ended in between */
		for (size_t n = 0; n < SLEEPERS; n++)
			if (other && s->entity->info.pid == (uint32_t)sleepers[n] && stood_still(s, other)) {
				assert_same(s, other);
				same++;
			}
	}
	assert_true(missing <= a->tick.samples.n / 10);
	assert_true(same >= SAME_MIN);
}

static void tell_the_same(struct ring *ring)
{
	pid_t sleepers[SLEEPERS];
	struct eye walk, iterator;

	for (int i = 0; i < SLEEPERS; i++)
		sleepers[i] = start_sleeper(i % 2 * 3);
	eye_open(&walk, ring, false);
	eye_open(&iterator, ring, true);
	usleep(TICK_PAUSE_US);
	for (int i = 0; i < TICKS; i++) {
		eye_look(&walk);
		eye_look(&iterator);
		compare(&walk, &iterator, sleepers);
		compare(&iterator, &walk, sleepers);
		/* one ends and one begins: the order in which they are reported of changes */
		end_sleeper(sleepers[i % SLEEPERS]);
		sleepers[i % SLEEPERS] = start_sleeper(i % 2 * 3);
		usleep(TICK_PAUSE_US);
	}
	for (int i = 0; i < SLEEPERS; i++)
		end_sleeper(sleepers[i]);
	eye_close(&walk);
	eye_close(&iterator);
}

static void walk_and_iterator_tell_the_same(void **state)
{
	tell_the_same(NULL);
	tell_the_same(*state);
}

/* --- a process of several threads --- */

struct worker {
	int ask[2], done[2];
};

static void work_for(int64_t ns)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * NS_PER_SEC + t.tv_nsec < ns);
}

static void *work_when_asked(void *argument)
{
	struct worker *w = argument;
	char byte;

	for (int64_t so_far = WORK_NS; read(w->ask[0], &byte, 1) == 1; so_far += WORK_NS) {
		work_for(so_far);
		(void)!write(w->done[1], &byte, 1);
	}
	return NULL;
}

static pid_t start_worker(struct worker *w)
{
	pthread_t thread;
	pid_t pid;

	assert_int_equal(pipe(w->ask) | pipe(w->done), 0);
	pid = fork();
	if (pid == 0) {
		(void)pthread_create(&thread, NULL, sleep_on, NULL);
		(void)pthread_create(&thread, NULL, work_when_asked, w);
		sleep_on(NULL);
	}
	return pid;
}

static void ask_to_work(struct worker *w)
{
	char byte = 0;

	assert_int_equal(write(w->ask[1], &byte, 1), 1);
	assert_int_equal(read(w->done[0], &byte, 1), 1);
}

static const struct sample *find_pid(const struct tick *tick, pid_t pid)
{
	for (size_t i = 0; i < tick->samples.n; i++)
		if (tick->samples.v[i].entity->info.pid == (uint32_t)pid)
			return &tick->samples.v[i];
	fail_msg("process %d is not seen", pid);
	return NULL;
}

static const struct sample *look_for(struct eye *eye, pid_t pid)
{
	usleep(TICK_PAUSE_US);
	eye_look(eye);
	return find_pid(&eye->tick, pid);
}

/* The kernel's iterator reads all threads. */
static bool can_walk(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;
	struct stat ns;

	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 && major * 1000 + minor >= 6007 &&
	       stat("/proc/self/ns/pid", &ns) == 0 && ns.st_ino == 0xEFFFFFFCu;
}

static void sleeps_on_until_one_of_its_threads_works(struct ring *ring)
{
	const struct sample *s;
	struct worker worker;
	struct eye eye;
	pid_t pid = start_worker(&worker);
	bool slept = false;

	eye_open(&eye, ring, false);
	ask_to_work(&worker); /* all threads are there */
	for (int round = 0; round < 3; round++) {
		int64_t before;

		slept = !can_walk();
		for (int i = 0; i < TICKS && !slept; i++)
			slept = look_for(&eye, pid)->same;
		assert_true(slept);
		s = look_for(&eye, pid);
		assert_int_equal(s->values[FEATURE_THREADS], 3);
		before = s->values[FEATURE_CPU_TIME];
		ask_to_work(&worker);
		s = look_for(&eye, pid);
		assert_false(s->same);
		assert_true(s->values[FEATURE_CPU_TIME] - before >= WORK_NS / 2);
	}
	end_sleeper(pid);
	eye_close(&eye);
}

static void a_process_sleeps_on_until_one_of_its_threads_works(void **state)
{
	sleeps_on_until_one_of_its_threads_works(NULL);
	sleeps_on_until_one_of_its_threads_works(*state);
}

/* Of those who look one after the other the later one has seen no less, however long who works has slept. */
static void no_work_is_missed(struct ring *ring)
{
	struct worker workers[WORKERS];
	struct eye walk, iterator;
	pid_t pids[WORKERS];
	unsigned chance = 1;

	for (int i = 0; i < WORKERS; i++)
		pids[i] = start_worker(&workers[i]);
	eye_open(&walk, ring, false);
	eye_open(&iterator, ring, true);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < WORKERS; i++)
			if ((chance = chance * 1103515245 + 12345) >> 16 & 1 && chance >> 17 & 1 && chance >> 18 & 1)
				ask_to_work(&workers[i]);
		eye_look(&iterator);
		eye_look(&walk);
		for (int i = 0; i < WORKERS; i++)
			assert_true(find_pid(&walk.tick, pids[i])->values[FEATURE_CPU_TIME] >=
				    find_pid(&iterator.tick, pids[i])->values[FEATURE_CPU_TIME]);
	}
	for (int i = 0; i < WORKERS; i++)
		end_sleeper(pids[i]);
	eye_close(&walk);
	eye_close(&iterator);
}

static void who_works_now_and_then_is_told_of(void **state)
{
	no_work_is_missed(NULL);
	no_work_is_missed(*state);
}

/* A child that sleeps, and whose only parent ends. */
static void who_gets_another_parent_is_told_of(void **state)
{
	struct eye eye;
	pid_t child, parent;
	int told[2];

	assert_int_equal(pipe(told), 0);
	parent = fork();
	if (parent == 0) {
		child = start_sleeper(0);
		(void)!write(told[1], &child, sizeof(child));
		sleep_on(NULL);
	}
	assert_int_equal(read(told[0], &child, sizeof(child)), sizeof(child));
	eye_open(&eye, *state, false);
	for (int i = 0; i < 5; i++)
		assert_int_equal(look_for(&eye, child)->entity->info.parent, parent);
	end_sleeper(parent);
	assert_int_not_equal(look_for(&eye, child)->entity->info.parent, parent);
	kill(child, SIGKILL); /* another's by now */
	eye_close(&eye);
}

/* More threads than the walk's memory holds records of. */
static void a_walk_goes_on_where_there_was_no_room(void **state)
{
	pid_t pids[CROWD];
	struct eye eye;
	const struct sample *s;

	if (!can_walk())
		skip();
	for (int i = 0; i < CROWD; i++)
		pids[i] = start_sleeper(CROWD_THREADS - 1);
	eye_open(&eye, *state, false);
	for (int i = 0; i < CROWD; i++) {
		do
			s = look_for(&eye, pids[i]);
		while (s->values[FEATURE_THREADS] < CROWD_THREADS); /* they are being made */
		assert_int_equal(s->values[FEATURE_THREADS], CROWD_THREADS);
	}
	eye_close(&eye);
	eye_open(&eye, *state, false); /* tells of all in its first walk */
	eye_look(&eye);
	for (int i = 0; i < CROWD; i++) {
		s = find_pid(&eye.tick, pids[i]);
		assert_int_equal(s->values[FEATURE_THREADS], CROWD_THREADS);
		end_sleeper(pids[i]);
	}
	eye_close(&eye);
}

/* --- a kernel that refuses --- */

static bool refusing;

static bool is_walk(const union bpf_attr *attr)
{
	return attr->prog_type == BPF_PROG_TYPE_SYSCALL && strcmp(attr->prog_name, "walk") == 0;
}

/* libbpf's calls come by here, as its dynamic linker finds this one first. */
long syscall(long number, ...)
{
	long (*further)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list list;

	va_start(list, number);
	for (size_t i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (refusing && number == SYS_bpf && a[0] == BPF_PROG_LOAD && is_walk((const union bpf_attr *)a[1])) {
		errno = EACCES;
		return -1;
	}
	return further(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void who_is_refused_the_walk_says_so_and_goes_on(void **state)
{
	struct source_options options = {.proc_root = "/proc", .sys_root = "/sys", .sockets = true};
	const char *why = NULL;
	struct eye eye = {};

	if (!can_walk())
		skip();
	assert_int_equal(source_task.open(&options, &eye.source, &why), 0);
	assert_null(why);
	source_task.close(eye.source);
	refusing = true;
	assert_int_equal(source_task.open(&options, &eye.source, &why), 0);
	refusing = false;
	assert_non_null(why);
	assert_non_null(strstr(why, "refuses the walk"));
	eye_look(&eye);
	assert_true(eye.tick.samples.n > 0);
	eye_close(&eye);
}

/* --- waits that continue --- */

static void a_wait_that_goes_on_is_read_when_a_question_is_asked(void **state)
{
	_cleanup_(trace_clear) struct trace trace = {};
	pid_t reader = start_reader();
	const struct sample *s;
	struct eye eye;
	int64_t before = 0;

	eye_open(&eye, *state, false);
	/* each is read in full every 64th tick, and the last of these is at most 64 ticks ago */
	for (int i = 0; i < 2 * TICKS; i++) {
		usleep(TICK_PAUSE_US);
		eye_look(&eye);
		s = find_pid(&eye.tick, reader);
		assert_non_null(s);
		if (i == 1)
			before = s->values[FEATURE_WAIT_PEER];
	}
	assert_true(s->values[FEATURE_WAIT_PEER] - before >= TICKS * TICK_PAUSE_US * 1000);
	eye_look(&eye);
	before = find_pid(&eye.tick, reader)->values[FEATURE_WAIT_PEER];
	usleep(10 * TICK_PAUSE_US);
	assert_int_equal(ring_freeze_since(*state, 0, 0, &trace), 0);
	eye_look(&eye);
	s = find_pid(&eye.tick, reader);
	assert_non_null(s);
	assert_true(s->values[FEATURE_WAIT_PEER] - before >= 10 * TICK_PAUSE_US * 1000);
	end_sleeper(reader);
	eye_close(&eye);
}

static int open_ring(void **state)
{
	const struct ring_options small = {.sums_only = true};
	const char *why = NULL;
	struct ring *ring = NULL;
	int r = ring_open(&small, &ring, &why);

	if (r < 0)
		print_error("%s\n", why);
	*state = ring;
	return r;
}

static int close_ring(void **state)
{
	ring_close(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walk_and_iterator_tell_the_same),
		cmocka_unit_test(who_is_refused_the_walk_says_so_and_goes_on),
		cmocka_unit_test(a_process_sleeps_on_until_one_of_its_threads_works),
		cmocka_unit_test(who_works_now_and_then_is_told_of),
		cmocka_unit_test(who_gets_another_parent_is_told_of),
		cmocka_unit_test(a_walk_goes_on_where_there_was_no_room),
		cmocka_unit_test(a_wait_that_goes_on_is_read_when_a_question_is_asked),
	};

	return cmocka_run_group_tests(tests, open_ring, close_ring);
}
