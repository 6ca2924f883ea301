/* Live: the BPF source on real processes. Needs root. */
#include "lib/data/test.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "machine/model/name-limit.h"
#include "machine/sample/source.h"
#include "machine/sample/task-inside.h"

#define ENDING_MOST		 500 /* processes that were there before a test and end during it */
#define MORE_THAN_THE_RING_HOLDS 10000

/* Every process's sums at the tick before, to see that none falls and that nothing ends twice. */
struct past {
	int64_t values[PROCESS_FEATURE_COUNT];
	feature_set present;
	bool ended;
};

struct watch {
	void *source;
	struct tick tick;
	struct hmap past; /* (pid, start) */
	unsigned falls, returns;
};

static struct watch watch_open(void)
{
	struct source_options options = {.proc_root = "/proc", .sys_root = "/sys"};
	struct watch w = {};
	const char *why = NULL;

	if (source_task.open(&options, &w.source, &why) < 0)
		fail_msg("%s", why);
	return w;
}

static void watch_close(struct watch *w)
{
	assert_int_equal(w->falls, 0);
	assert_int_equal(w->returns, 0);
	source_task.close(w->source);
	tick_free(&w->tick);
	HMAP_FOREACH(slot, &w->past)
		free(slot->value);
	hmap_free(&w->past);
}

static void compare_with_past(struct watch *w, const struct sample *s)
{
	struct past *past = hmap_get(&w->past, s->entity->info.pid, s->entity->info.start);
	size_t n;
	const struct feature *features = features_of(ENTITY_PROCESS, &n);

	if (!past) {
		past = calloc(1, sizeof(*past));
		assert_non_null(past);
		assert_int_equal(hmap_put(&w->past, s->entity->info.pid, s->entity->info.start, past), 0);
	}
	w->returns += past->ended;
	for (size_t i = 0; i < n; i++) {
		if (features[i].kind != COUNTER || !(s->present & past->present & FEATURE_BIT(i)))
			continue;
		if (s->values[i] < past->values[i]) {
			w->falls++;
			print_message("%s of %s (%u) fell from %lld to %lld\n", features[i].name, s->entity->info.name,
				      s->entity->info.pid, (long long)past->values[i], (long long)s->values[i]);
		}
	}
	memcpy(past->values, s->values, n * sizeof(*s->values));
	past->present = s->present;
}

static void watch_tick(struct watch *w)
{
	tick_begin(&w->tick, clock_boot(), clock_wall());
	source_task.sample(w->source, &w->tick);
	for (size_t i = 0; i < w->tick.samples.n; i++)
		if (w->tick.samples.v[i].entity->info.kind == ENTITY_PROCESS)
			compare_with_past(w, &w->tick.samples.v[i]);
	for (size_t i = 0; i < w->tick.ended.n; i++) {
		struct past *past = hmap_get(&w->past, w->tick.ended.v[i]->info.pid, w->tick.ended.v[i]->info.start);

		if (past)
			past->ended = true;
	}
}

static const struct sample *watch_find(const struct watch *w, pid_t pid)
{
	for (size_t i = 0; i < w->tick.samples.n; i++) {
		const struct sample *s = &w->tick.samples.v[i];

		if (s->entity->info.kind == ENTITY_PROCESS && s->entity->info.pid == (uint32_t)pid)
			return s;
	}
	return NULL;
}

static int64_t watch_value(const struct watch *w, pid_t pid, int feature)
{
	const struct sample *s = watch_find(w, pid);

	assert_non_null(s);
	assert_true(s->present >> feature & 1);
	return s->values[feature];
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

static void spin(int64_t ns)
{
	int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 10000; i++)
			;
}

/* In check-kernel's guest every instruction is emulated: fewer processes there, and clocks that agree less well. */
static bool is_emulated(void)
{
	return getenv("WHYSLOW_EMULATED");
}

static void pause_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * NS_PER_MS};

	nanosleep(&t, NULL);
}

static void *live_briefly(void *argument)
{
	(void)argument;
	spin(3 * NS_PER_MS);
	return NULL;
}

static atomic_bool stop;

static void *start_threads(void *argument)
{
	(void)argument;
	while (!stop) {
		pthread_t threads[3];

		for (int i = 0; i < 3; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, live_briefly, NULL), 0);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	}
	return NULL;
}

static int64_t switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static int64_t own_switches(const struct watch *w)
{
	return watch_value(w, getpid(), FEATURE_CTX_VOLUNTARY) + watch_value(w, getpid(), FEATURE_CTX_INVOLUNTARY);
}

/* As the kernel says. */
struct own {
	int64_t cpu, switched;
};

static struct own own_sums(void)
{
	return (struct own){clock_ns(CLOCK_PROCESS_CPUTIME_ID), switches()};
}

/* This process around one sweep, which is work of its own: what the sweep has read of it lies between. */
struct around {
	struct own before, after, read;
};

static struct around sweep(struct watch *w)
{
	struct around a = {.before = own_sums()};

	watch_tick(w);
	a.read = (struct own){watch_value(w, getpid(), FEATURE_CPU_TIME), own_switches(w)};
	a.after = own_sums();
	return a;
}

static bool lies_between(int64_t value, int64_t least, int64_t most, int64_t tolerance)
{
	return value >= least - tolerance && value <= most + tolerance;
}

static bool agree(const struct around *first, const struct around *last)
{
	int64_t cpu = last->after.cpu - first->before.cpu, switched = last->after.switched - first->before.switched;

	return lies_between(last->read.cpu - first->read.cpu, last->before.cpu - first->after.cpu, cpu, cpu / (is_emulated() ? 20 : 100)) &&
	       lies_between(last->read.switched - first->read.switched, last->before.switched - first->after.switched, switched,
			    switched / 100 + 3);
}

#define STANDS_STILL (60 * NS_PER_SEC) /* nothing further is counted: there is no more */

static void sums_hold_while_threads_come_and_go(void **state)
{
	struct watch w = watch_open();
	struct around first, last;
	pthread_t starter;
	int64_t ended;

	first = sweep(&w);
	stop = false;
	assert_int_equal(pthread_create(&starter, NULL, start_threads, NULL), 0);
	for (int i = 0; i < 30; i++) {
		pause_ms(100);
		watch_tick(&w);
	}
	stop = true;
	pthread_join(starter, NULL);
	ended = clock_boot();
	/* of threads that the sweep before saw the last words are counted now, and what they used after those later */
	do
		last = sweep(&w);
	while (!agree(&first, &last) && clock_boot() - ended < STANDS_STILL);
	print_message("cpu %lld of %lld ns, %lld of %lld switches\n", (long long)(last.read.cpu - first.read.cpu),
		      (long long)(last.after.cpu - first.before.cpu), (long long)(last.read.switched - first.read.switched),
		      (long long)(last.after.switched - first.before.switched));
	assert_true(agree(&first, &last));
	watch_close(&w);
}

static pid_t fork_as(pid_t wanted)
{
	struct clone_args args = {.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&wanted, .set_tid_size = 1};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* A low number: the sweep has soon passed it, and there is time to begin and end behind its back. Another one than the last time: unless it is
 * asked to, a kernel gives none again before it has given all others. */
static pid_t fork_low(void)
{
	enum { LOWEST = 2, HIGHEST = 5000 };
	static pid_t last = LOWEST;

	for (int i = LOWEST; i < HIGHEST; i++) {
		pid_t pid;

		last = last < HIGHEST ? last + 1 : LOWEST;
		pid = fork_as(last);
		if (pid >= 0 || errno != EEXIST)
			return pid;
	}
	return -1;
}

static void *touch(size_t size)
{
	volatile char *memory = malloc(size);

	assert_non_null((void *)memory);
	for (size_t i = 0; i < size; i += 4096)
		memory[i] = 1;
	return (void *)memory;
}

/* A process that has `n` children, one after the other; they end at once, but to take `memory` down. */
static pid_t start_parent(int n, size_t memory, int *ret_go)
{
	int go[2];
	pid_t parent;

	assert_int_equal(pipe(go), 0);
	parent = fork();
	if (parent == 0) {
		char c;

		close(go[1]);
		if (memory)
			touch(memory);
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		for (int i = 0; i < n; i++) {
			pid_t child = memory ? fork_low() : fork();

			if (child == 0)
				_exit(0);
			waitpid(child, NULL, 0);
		}
		(void)!read(go[0], &c, 1);
		_exit(0);
	}
	close(go[0]);
	*ret_go = go[1];
	return parent;
}

/* Children that a sweep met, each once. */
static unsigned count_met(struct watch *w, pid_t parent, struct hmap *met)
{
	for (size_t i = 0; i < w->tick.samples.n; i++) {
		const struct entity *e = w->tick.samples.v[i].entity;

		if (e->info.kind == ENTITY_PROCESS && e->info.parent == (uint32_t)parent)
			assert_int_equal(hmap_put(met, e->info.pid, e->info.start, w), 0);
	}
	return (unsigned)met->n;
}

/* Children counted with their kind. A group that is idle for long ends, and another one begins. */
struct grouped {
	int64_t before_last_end, now;
};

static void count_grouped(const struct watch *w, pid_t parent, struct grouped *g)
{
	for (size_t i = 0; i < w->tick.samples.n; i++) {
		const struct sample *s = &w->tick.samples.v[i];

		if (s->entity->info.kind == ENTITY_SHORT_LIVED && s->entity->info.parent == (uint32_t)parent)
			g->now = s->values[FEATURE_CHILDREN_SHORT];
	}
	for (size_t i = 0; i < w->tick.ended.n; i++) {
		const struct entity_info *info = &w->tick.ended.v[i]->info;

		if (info->kind != ENTITY_SHORT_LIVED || info->parent != (uint32_t)parent)
			continue;
		g->before_last_end += g->now;
		g->now = 0;
	}
}

static void each_child_is_counted_once(int n, size_t memory, long every_ms)
{
	struct watch w = watch_open();
	struct hmap met = {};
	int go;
	pid_t parent = start_parent(n, memory, &go);
	struct grouped grouped = {};
	int64_t children = 0, counted = 0, moved = clock_boot();
	unsigned seen = 0;

	watch_tick(&w);
	assert_int_equal(write(go, "!", 1), 1);
	while (children + seen < n && clock_boot() - moved < STANDS_STILL) {
		pause_ms(every_ms);
		watch_tick(&w);
		seen = count_met(&w, parent, &met);
		children = watch_value(&w, parent, FEATURE_CHILDREN_SHORT);
		count_grouped(&w, parent, &grouped);
		if (children + seen > counted)
			moved = clock_boot();
		counted = children + seen;
	}
	for (int i = 0; i < 3; i++) {
		watch_tick(&w);
		seen = count_met(&w, parent, &met);
		count_grouped(&w, parent, &grouped);
	}
	children = watch_value(&w, parent, FEATURE_CHILDREN_SHORT);
	print_message("%lld lived between two samples, %u were met by one, of %d\n", (long long)children, seen, n);
	assert_int_equal(children + seen, n);
	assert_int_equal(grouped.before_last_end + grouped.now, children);
	close(go);
	waitpid(parent, NULL, 0);
	hmap_free(&met);
	watch_close(&w);
}

/* Its children have the name that this program gives its processes; they are counted by that name alone. */
static void a_question_is_no_work_of_who_asks(void **state)
{
	struct watch w = watch_open();
	struct hmap met = {};
	struct grouped grouped = {};
	char name[16];
	int go;
	pid_t parent;
	int64_t moved;

	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, "whyslow");
	parent = start_parent(20, 0, &go);
	prctl(PR_SET_NAME, name);
	watch_tick(&w);
	assert_int_equal(write(go, "!", 1), 1);
	moved = clock_boot();
	while (count_met(&w, parent, &met) + grouped.before_last_end + grouped.now < 20 && clock_boot() - moved < STANDS_STILL) {
		pause_ms(100);
		watch_tick(&w);
		count_grouped(&w, parent, &grouped);
	}
	assert_true(grouped.before_last_end + grouped.now > 0);
	assert_int_equal(watch_value(&w, parent, FEATURE_CHILDREN_SHORT), 0);
	close(go);
	waitpid(parent, NULL, 0);
	hmap_free(&met);
	watch_close(&w);
}

static int64_t cpu_of_children(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SEC + ((int64_t)usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* The kernel speaks of an end before the memory is taken down, which of a short life may be half. */
static void an_end_is_part_of_a_life(void **state)
{
	struct watch w = watch_open();
	char *memory = touch(50 << 20);
	int64_t before, used, counted, ended;

	watch_tick(&w);
	before = watch_value(&w, getpid(), FEATURE_CHILDREN_CPU);
	used = cpu_of_children();
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork_low();

		if (pid == 0)
			_exit(0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	used = cpu_of_children() - used;
	ended = clock_boot();
	do {
		pause_ms(10);
		watch_tick(&w);
		counted = watch_value(&w, getpid(), FEATURE_CHILDREN_CPU) - before;
	} while (!lies_between(counted, used, used, used / 20) && clock_boot() - ended < STANDS_STILL);
	print_message("%lld of %lld ns\n", (long long)counted, (long long)used);
	assert_true(lies_between(counted, used, used, used / 20));
	free(memory);
	watch_close(&w);
}

static pid_t start_and_end(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	return waitpid(pid, NULL, 0);
}

/* Forks on this machine since it was started: what others start in the time of a test is counted, too. */
static int64_t count_forks(void)
{
	FILE *f = fopen("/proc/stat", "re");
	long long n = -1;
	char line[4096];

	assert_non_null(f);
	while (n < 0 && fgets(line, sizeof(line), f))
		(void)!sscanf(line, "processes %lld", &n);
	fclose(f);
	assert_true(n >= 0);
	return n;
}

/* However fast programs end: what wakes the recorder is that half of the ring is full, not that there is something in it. */
static void a_storm_of_exits_is_taken_in_between_two_ticks(void **state)
{
	struct watch w = watch_open();
	struct pollfd wake = {source_task.wake_fd(w.source), POLLIN, 0};
	int64_t before, forks;
	int late;

	watch_tick(&w);
	before = watch_value(&w, getpid(), FEATURE_CHILDREN_SHORT);
	for (int i = 0; i < 5000; i++)
		assert_true(start_and_end() > 0);
	assert_int_equal(poll(&wake, 1, 0), 1);
	assert_true(source_task.drain(w.source));
	do { /* on a busy machine the kernel lets go of many processes a little later */
		usleep(200000);
		late = poll(&wake, 1, 0);
		source_task.drain(w.source);
	} while (late);
	forks = count_forks();
	for (int i = 0; i < 100; i++)
		assert_true(start_and_end() > 0);
	if (count_forks() - forks < 500) /* others' processes end in the same ring */
		assert_int_equal(poll(&wake, 1, 0), 0);
	watch_tick(&w);
	if (!w.tick.lost_exits)
		assert_int_equal(watch_value(&w, getpid(), FEATURE_CHILDREN_SHORT) - before, 5100);
	watch_close(&w);
}

/* More end at once than the ring holds: of each either its last word is there, or it is counted as lost. */
static void exits_that_found_no_room_are_counted(void **state)
{
	struct watch w = watch_open();
	int64_t before, forks = count_forks();

	watch_tick(&w);
	before = watch_value(&w, getpid(), FEATURE_CHILDREN_SHORT);
	assert_int_equal(w.tick.lost_exits, 0);
	for (int i = 0; i < MORE_THAN_THE_RING_HOLDS; i++)
		assert_true(start_and_end() > 0);
	watch_tick(&w);
	watch_tick(&w);
	before = watch_value(&w, getpid(), FEATURE_CHILDREN_SHORT) - before;
	assert_true(w.tick.hears_exits);
	assert_true(w.tick.lost_exits > 0);
	assert_true(before <= MORE_THAN_THE_RING_HOLDS);
	assert_in_range(before + w.tick.lost_exits, MORE_THAN_THE_RING_HOLDS, count_forks() - forks + ENDING_MOST);
	watch_close(&w);
}

static void end_under_a_new_name(int number)
{
	char name[16];

	if (fork() == 0) {
		snprintf(name, sizeof(name), "n%x", number);
		prctl(PR_SET_NAME, name);
		_exit(0);
	}
	wait(NULL);
}

/* Each name would be a group of its own, kept for a minute and looked at in every tick. */
static void ever_new_names_share_a_group(void **state)
{
	const int names = is_emulated() ? 3000 : 8000;
	struct watch w = watch_open();
	size_t groups = 0;
	int64_t children = 0, forks = count_forks();

	watch_tick(&w);
	for (int i = 0; i < names; i++) {
		end_under_a_new_name(i);
		if (i % 1000 == 999)
			watch_tick(&w);
	}
	watch_tick(&w);
	for (size_t i = 0; i < w.tick.samples.n; i++) {
		const struct sample *s = &w.tick.samples.v[i];
		bool others = strcmp(s->entity->info.name, NAME_OF_OTHERS) == 0;

		if (s->entity->info.kind != ENTITY_SHORT_LIVED || (s->entity->info.parent != (uint32_t)getpid() && !others))
			continue;
		groups++;
		children += s->values[FEATURE_CHILDREN_SHORT];
	}
	assert_in_range(groups, 100, 4096 / 2);
	assert_in_range(children + w.tick.lost_exits, names - 100, count_forks() - forks + ENDING_MOST);
	watch_close(&w);
}

static void short_lived_processes_are_counted_once(void **state)
{
	each_child_is_counted_once(is_emulated() ? 1000 : 4000, 0, 50);
}

/* Taking memory down takes longer than the time between two samples here: they are met while they end. */
static void ending_slowly_is_ending_once(void **state)
{
	each_child_is_counted_once(is_emulated() ? 20 : 200, 192 << 20, 0);
}

static void traffic_never_falls(void **state)
{
	struct task_process p = {};
	struct task_sample s = {};

	s.v[FEATURE_NET_RX_BYTES] = 100;
	s.v[FEATURE_NET_TX_CALLS] = 1;
	task_take_traffic(&p, &s);
	s.v[FEATURE_NET_RX_BYTES] = 120;
	s.v[FEATURE_NET_TX_CALLS] = 0;
	task_take_traffic(&p, &s);
	assert_int_equal(p.now[FEATURE_NET_RX_BYTES], 120);
	assert_int_equal(p.now[FEATURE_NET_TX_CALLS], 1);
}

static bool is_unnamed(const struct watch *w, pid_t pid)
{
	for (size_t i = 0; i < w->tick.unnamed.n; i++)
		if (w->tick.unnamed.v[i]->info.pid == (uint32_t)pid)
			return true;
	return false;
}

static pid_t start_waiting(int *ret_go)
{
	int go[2];
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		char c;

		close(go[1]);
		if (read(go[0], &c, 1) == 1)
			execl("/bin/sleep", "sleep", "60", NULL);
		_exit(0);
	}
	close(go[0]);
	*ret_go = go[1];
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void exec_is_described_anew(void **state)
{
	struct watch w = watch_open();
	const struct entity *e;
	int go;
	pid_t pid = start_waiting(&go);

	watch_tick(&w);
	assert_true(is_unnamed(&w, pid));
	e = watch_find(&w, pid)->entity;
	watch_tick(&w);
	assert_false(is_unnamed(&w, pid));
	assert_int_equal(write(go, "!", 1), 1);
	for (int i = 0; i < 200 && !is_unnamed(&w, pid); i++) {
		pause_ms(10);
		watch_tick(&w);
	}
	assert_true(is_unnamed(&w, pid));
	assert_ptr_equal(watch_find(&w, pid)->entity, e); /* the same process */
	watch_tick(&w);
	assert_string_equal(e->info.name, "sleep");
	close(go);
	end_child(pid);
	watch_close(&w);
}

static void a_reused_pid_is_another_process(void **state)
{
	struct watch w = watch_open();
	uint64_t first;
	pid_t pid, again;
	int go;

	pid = start_waiting(&go);
	watch_tick(&w);
	first = watch_find(&w, pid)->entity->info.start;
	end_child(pid);
	close(go);
	again = fork_as(pid);
	if (again == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(again, pid);
	watch_tick(&w);
	/* the old one's last sample and end, the new one's first sample */
	assert_int_equal(w.tick.ended.n > 0, 1);
	watch_tick(&w);
	assert_true(watch_find(&w, pid)->entity->info.start > first);
	assert_true(watch_find(&w, pid)->entity->born);
	end_child(pid);
	watch_close(&w);
}

static void *spin_for_ever(void *argument)
{
	(void)argument;
	for (;;)
		spin(NS_PER_MS);
	return NULL;
}

static void a_process_outlives_its_leader(void **state)
{
	struct watch w = watch_open();
	int64_t before;
	pid_t pid = fork();

	if (pid == 0) {
		pthread_t thread;

		spin(30 * NS_PER_MS);
		if (pthread_create(&thread, NULL, spin_for_ever, NULL) != 0)
			_exit(1);
		pthread_exit(NULL);
	}
	pause_ms(100);
	watch_tick(&w);
	before = watch_value(&w, pid, FEATURE_CPU_TIME);
	for (int i = 0; i < 3; i++) {
		pause_ms(100);
		watch_tick(&w);
		assert_true(watch_value(&w, pid, FEATURE_CPU_TIME) > before);
		before = watch_value(&w, pid, FEATURE_CPU_TIME);
		assert_int_equal(watch_value(&w, pid, FEATURE_THREADS), 1);
	}
	assert_true(before > 30 * NS_PER_MS);
	end_child(pid);
	watch_tick(&w);
	watch_tick(&w);
	assert_null(watch_find(&w, pid));
	watch_close(&w);
}

static void *spin_and_exec(void *argument)
{
	(void)argument;
	spin(40 * NS_PER_MS);
	execl("/bin/sleep", "sleep", "60", NULL);
	return NULL;
}

/* exec ends all other threads, and the one that called it gets the leader's number: both histories count. */
static void exec_by_a_thread_keeps_all_sums(void **state)
{
	struct watch w = watch_open();
	pid_t pid;

	watch_tick(&w);
	pid = fork();
	if (pid == 0) {
		pthread_t thread;

		spin(60 * NS_PER_MS);
		if (pthread_create(&thread, NULL, spin_and_exec, NULL) == 0)
			pthread_join(thread, NULL);
		_exit(1);
	}
	for (int i = 0; i < 100; i++) {
		const struct sample *s;

		pause_ms(10);
		watch_tick(&w);
		s = watch_find(&w, pid);
		if (s && strcmp(s->entity->info.name, "sleep") == 0)
			break;
	}
	for (int i = 0; i < 3; i++)
		watch_tick(&w);
	assert_string_equal(watch_find(&w, pid)->entity->info.name, "sleep");
	assert_true(watch_value(&w, pid, FEATURE_CPU_TIME) >= 100 * NS_PER_MS);
	end_child(pid);
	watch_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_hold_while_threads_come_and_go),
		cmocka_unit_test(an_end_is_part_of_a_life),
		cmocka_unit_test(a_storm_of_exits_is_taken_in_between_two_ticks),
		cmocka_unit_test(exits_that_found_no_room_are_counted),
		cmocka_unit_test(ever_new_names_share_a_group),
		cmocka_unit_test(short_lived_processes_are_counted_once),
		cmocka_unit_test(ending_slowly_is_ending_once),
		cmocka_unit_test(traffic_never_falls),
		cmocka_unit_test(a_question_is_no_work_of_who_asks),
		cmocka_unit_test(exec_is_described_anew),
		cmocka_unit_test(a_reused_pid_is_another_process),
		cmocka_unit_test(a_process_outlives_its_leader),
		cmocka_unit_test(exec_by_a_thread_keeps_all_sums),
	};

	if (geteuid() != 0) {
		puts("needs root for BPF");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
