/* The sampler next to a real-time hog. */
#include "lib/data/test.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/system/urgent.h"
#include "machine/recorder/tick-guard.h"

#define INTERVAL (20 * NS_PER_MS)
#define HOG	 50
#define HOG_MOST (20 * NS_PER_SEC)

struct story {
	struct tick_guard *guard;
	atomic_int sampler;   /* thread; 0 = not ready */
	atomic_bool starves;  /* it may tick: the hog runs */
	atomic_bool has_ticked;
	atomic_bool gave_up; /* the hog did: the sampler has not ticked in time */
	pthread_mutex_t lock; /* that the tick needs */
	atomic_int holder;    /* thread that has the lock; 0 = none */
	atomic_bool has_ticked_again;
	int priority_after; /* the holder's */
};

static void stay_on_one_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static int set_priority(int priority)
{
	return sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &(struct sched_param){.sched_priority = priority});
}

static int priority_of(pid_t thread)
{
	struct sched_param param = {};

	(void)sched_getparam(thread, &param);
	return param.sched_priority;
}

/* Too long for a CPU is as good as for ever. */
static void *take_cpu(void *data)
{
	struct story *s = data;
	int64_t end = clock_monotonic() + HOG_MOST;

	stay_on_one_cpu();
	(void)set_priority(HOG);
	atomic_store(&s->starves, true);
	while (!atomic_load(&s->has_ticked) && clock_monotonic() < end)
		;
	atomic_store(&s->gave_up, !atomic_load(&s->has_ticked));
	return NULL;
}

static void *sample(void *data)
{
	struct story *s = data;

	stay_on_one_cpu();
	(void)set_priority(SAMPLER_PRIORITY);
	tick_guard_renew(s->guard, INTERVAL);
	atomic_store(&s->sampler, gettid());
	while (!atomic_load(&s->starves))
		usleep(1000);
	pthread_mutex_lock(&s->lock);
	pthread_mutex_unlock(&s->lock);
	tick_guard_renew(s->guard, INTERVAL);
	atomic_store(&s->has_ticked, true);
	return NULL;
}

/* Holds it until it is raised, or in vain. */
static void *hold_lock(void *data)
{
	struct story *s = data;

	stay_on_one_cpu();
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->holder, gettid());
	while (priority_of(0) != URGENT_PRIORITY && !atomic_load(&s->gave_up))
		usleep(1000);
	pthread_mutex_unlock(&s->lock);
	while (!atomic_load(&s->has_ticked_again))
		usleep(1000);
	s->priority_after = priority_of(0);
	return NULL;
}

static void wait_for(atomic_int *thread)
{
	while (!atomic_load(thread))
		usleep(1000);
}

/* The process that waits, until there is a tick or the hog gives up. */
static void guard(struct story *s)
{
	assert_int_equal(set_priority(URGENT_PRIORITY), 0);
	while (!atomic_load(&s->has_ticked) && !atomic_load(&s->gave_up)) {
		struct pollfd fd = {tick_guard_fd(s->guard), POLLIN, 0};

		if (poll(&fd, 1, 10) == 1)
			tick_guard_act(s->guard, atomic_load(&s->sampler));
	}
	assert_int_equal(set_priority(0), 0);
}

static bool may_be_urgent(void)
{
	return set_priority(URGENT_PRIORITY) == 0 && set_priority(0) == 0;
}

static void a_sampler_that_gets_no_cpu_is_raised(void **state)
{
	struct story s = {.lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t sampler, hog;

	if (!may_be_urgent())
		skip(); /* without the right to real-time priority the sampler has none */
	assert_int_equal(tick_guard_new(&s.guard), 0);
	assert_int_equal(pthread_create(&sampler, NULL, sample, &s), 0);
	wait_for(&s.sampler);
	assert_int_equal(pthread_create(&hog, NULL, take_cpu, &s), 0);
	guard(&s);
	pthread_join(hog, NULL);
	pthread_join(sampler, NULL);
	assert_false(s.gave_up);
	tick_guard_free(s.guard);
}

static void a_thread_that_the_sampler_waits_for_is_raised_until_the_tick(void **state)
{
	struct story s = {.lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t sampler, holder, hog;

	if (!may_be_urgent())
		skip();
	assert_int_equal(tick_guard_new(&s.guard), 0);
	assert_int_equal(pthread_create(&holder, NULL, hold_lock, &s), 0);
	wait_for(&s.holder);
	assert_int_equal(pthread_create(&sampler, NULL, sample, &s), 0);
	wait_for(&s.sampler);
	assert_int_equal(pthread_create(&hog, NULL, take_cpu, &s), 0);
	guard(&s);
	pthread_join(hog, NULL);
	pthread_join(sampler, NULL);
	assert_false(s.gave_up);
	tick_guard_renew(s.guard, INTERVAL); /* the first tick may come while threads are still being raised */
	atomic_store(&s.has_ticked_again, true);
	pthread_join(holder, NULL);
	assert_int_equal(s.priority_after, 0);
	tick_guard_free(s.guard);
}

/* One that ticks, be it late, keeps its priority. */
static void a_sampler_that_ticks_is_left_alone(void **state)
{
	struct tick_guard *guard;
	struct pollfd fd = {.events = POLLIN};
	int before = priority_of(0);

	assert_int_equal(tick_guard_new(&guard), 0);
	fd.fd = tick_guard_fd(guard);
	for (int i = 0; i < 2; i++) {
		tick_guard_renew(guard, INTERVAL);
		assert_int_equal(poll(&fd, 1, -1), 1);
		tick_guard_act(guard, gettid());
		assert_int_equal(priority_of(0), before);
		tick_guard_renew(guard, 1000 * NS_PER_SEC); /* the tick that was late */
		assert_int_equal(poll(&fd, 1, 200), 0);
		usleep(1100000); /* another time, not the same */
	}
	tick_guard_free(guard);
}

static void without_a_guard_nothing_is_done(void **state)
{
	assert_int_equal(tick_guard_fd(NULL), -1);
	tick_guard_renew(NULL, INTERVAL);
	tick_guard_free(NULL);
}

RUN_TESTS(cmocka_unit_test(a_sampler_that_gets_no_cpu_is_raised),
	  cmocka_unit_test(a_thread_that_the_sampler_waits_for_is_raised_until_the_tick), cmocka_unit_test(a_sampler_that_ticks_is_left_alone),
	  cmocka_unit_test(without_a_guard_nothing_is_done))
