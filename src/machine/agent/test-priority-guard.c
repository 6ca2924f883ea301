#include "lib/data/test.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "machine/agent/priority-guard.h"

#define LOW	 20
#define HIGH	 50
#define HOG_MOST (20 * NS_PER_SEC)

static atomic_bool was_read;

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

/* Takes the CPU until the other thread has read; too long for a CPU is as good as for ever. */
static void *take_cpu(void *data)
{
	int64_t end = clock_monotonic() + HOG_MOST;

	(void)data;
	stay_on_one_cpu();
	(void)set_priority(HIGH);
	while (!atomic_load(&was_read) && clock_monotonic() < end)
		;
	return (void *)(uintptr_t)atomic_load(&was_read);
}

struct reader {
	int fd;
	struct priority_guard *guard;
	atomic_bool ready;
};

static void *read_with_low_priority(void *data)
{
	struct reader *r = data;
	struct pollfd fd = {r->fd, POLLIN, 0};
	uint64_t count;

	stay_on_one_cpu();
	if (set_priority(LOW) < 0 || priority_guard_start(r->fd, &r->guard) < 0)
		return NULL;
	atomic_store(&r->ready, true);
	if (poll(&fd, 1, -1) == 1 && read(r->fd, &count, sizeof(count)) == sizeof(count))
		atomic_store(&was_read, true);
	return NULL;
}

static void a_thread_below_a_real_time_hog_runs_at_normal_priority(void **state)
{
	struct reader r = {.fd = eventfd(0, EFD_CLOEXEC)};
	pthread_t reader, hog;
	const uint64_t one = 1;
	void *in_time;

	if (set_priority(HIGH) < 0)
		skip(); /* without the right to real-time priority there is nothing to guard */
	assert_int_equal(set_priority(0), 0);
	assert_int_equal(pthread_create(&reader, NULL, read_with_low_priority, &r), 0);
	while (!atomic_load(&r.ready))
		usleep(1000);
	assert_int_equal(pthread_create(&hog, NULL, take_cpu, NULL), 0);
	usleep(100000);
	assert_int_equal(write(r.fd, &one, sizeof(one)), sizeof(one));
	pthread_join(hog, &in_time);
	pthread_join(reader, NULL);
	assert_true(in_time != NULL);
	assert_true(priority_guard_acted(r.guard));
	assert_false(priority_guard_acted(r.guard));
	priority_guard_stop(r.guard);
	close(r.fd);
}

static void who_reads_keeps_its_priority(void **state)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	struct priority_guard *guard;
	uint64_t count = 1;

	assert_int_equal(priority_guard_start(fd, &guard), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(write(fd, &count, sizeof(count)), sizeof(count));
		usleep(5000);
		assert_int_equal(read(fd, &count, sizeof(count)), sizeof(count));
		count = 1;
	}
	assert_false(priority_guard_acted(guard));
	priority_guard_stop(guard);
	priority_guard_stop(NULL);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_below_a_real_time_hog_runs_at_normal_priority),
		cmocka_unit_test(who_reads_keeps_its_priority),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
