/* Live: the walk over all tasks and the kernel's iterator tell the same. Needs root. */
#include "base/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hmap.h"
#include "source/source.h"

#define SLEEPERS      40
#define SAME_MIN      20 /* processes that did not run in between, of SLEEPERS and all else here */
#define TICKS	      70 /* more than the 64 between two full readings */
#define TICK_PAUSE_US 20000

struct eye {
	void *source;
	struct tick tick;
};

static void eye_open(struct eye *eye, bool iterator)
{
	struct source_options options = {.proc_root = "/proc", .sys_root = "/sys", .sockets = true, .iterator = iterator};
	const char *why = NULL;

	*eye = (struct eye){};
	if (source_task.open(&options, &eye->source, &why) < 0)
		fail_msg("%s", why);
}

static void eye_look(struct eye *eye)
{
	tick_begin(&eye->tick, boot_now(), wall_now());
	source_task.sample(eye->source, &eye->tick);
}

static void eye_close(struct eye *eye)
{
	source_task.close(eye->source);
	tick_free(&eye->tick);
}

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
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
	return a->values[FEATURE_CPU_TIME] == b->values[FEATURE_CPU_TIME] && a->values[FEATURE_THREADS_RUNNING] == 0 &&
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

static void walk_and_iterator_tell_the_same(void **state)
{
	pid_t sleepers[SLEEPERS];
	struct eye walk, iterator;

	(void)state;
	for (int i = 0; i < SLEEPERS; i++)
		sleepers[i] = start_sleeper();
	eye_open(&walk, false);
	eye_open(&iterator, true);
	usleep(TICK_PAUSE_US);
	for (int i = 0; i < TICKS; i++) {
		eye_look(&walk);
		eye_look(&iterator);
		compare(&walk, &iterator, sleepers);
		compare(&iterator, &walk, sleepers);
		/* one ends and one begins: the order in which they are told of changes */
		end_sleeper(sleepers[i % SLEEPERS]);
		sleepers[i % SLEEPERS] = start_sleeper();
		usleep(TICK_PAUSE_US);
	}
	for (int i = 0; i < SLEEPERS; i++)
		end_sleeper(sleepers[i]);
	eye_close(&walk);
	eye_close(&iterator);
}

RUN_TESTS(cmocka_unit_test(walk_and_iterator_tell_the_same))
