/* The machine is made unresponsive by a known amount, and the probe must feel it. Needs root, for real-time
 * threads. */
#include "lib/data/test.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "machine/sample/system.h"

#define ATTEMPTS 10
#define HELD (300 * NS_PER_MS)

static volatile int64_t hold_until;

static void *hold_a_cpu(void *argument)
{
	while (clock_boot() < hold_until)
		;
	return argument;
}

/* Nothing of normal priority runs on any CPU for that long. The caller must be real-time itself, on top. */
static void hold_all_cpus(pthread_t *threads, long n)
{
	struct sched_param param = {.sched_priority = 10};
	pthread_attr_t attributes;

	hold_until = clock_boot() + HELD;
	pthread_attr_init(&attributes);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
	pthread_attr_setschedparam(&attributes, &param);
	for (long i = 0; i < n; i++) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET((size_t)i, &one);
		pthread_attr_setaffinity_np(&attributes, sizeof(one), &one);
		if (pthread_create(&threads[i], &attributes, hold_a_cpu, NULL) != 0)
			fail_msg("no real-time thread");
	}
	pthread_attr_destroy(&attributes);
}

struct probed {
	void *state;
	struct tick tick;
	int64_t values[SYSTEM_FEATURE_COUNT];
	feature_set present;
};

static void sample(struct probed *p, double pressure)
{
	p->present = FEATURE_BIT(FEATURE_PSI_CPU_SOME);
	p->values[FEATURE_PSI_CPU_SOME] += (int64_t)(pressure * 1e9);
	tick_begin(&p->tick, p->tick.boot + NS_PER_SEC, 0);
	probe_reader.read(p->state, &p->tick, p->values, &p->present);
}

static bool has(const struct probed *p, int feature)
{
	return p->present >> feature & 1;
}

static struct probed open_probe(const char *file)
{
	struct source_options options = {.probe = true, .probe_file = file};
	struct probed p = {};

	assert_int_equal(probe_reader.open(&options, &p.state), 0);
	p.tick.boot = NS_PER_SEC;
	return p;
}

static void close_probe(struct probed *p)
{
	probe_reader.close(p->state);
	tick_free(&p->tick);
}

static void a_held_machine_wakes_people_late(void **state)
{
	struct sched_param top = {.sched_priority = 20}, normal = {};
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));
	struct probed p = open_probe(NULL);

	sample(&p, 0);
	usleep(100000);
	sample(&p, 0);
	assert_true(has(&p, FEATURE_PROBE_WAKEUP));
	if (sched_setscheduler(0, SCHED_FIFO, &top) < 0) {
		close_probe(&p);
		free(threads);
		skip();
	}
	/* where others keep the CPUs as well, the probe may not have lain down yet when the machine is held */
	for (int i = 0; i < ATTEMPTS && p.values[FEATURE_PROBE_WAKEUP] < HELD * 8 / 10; i++) {
		sched_setscheduler(0, SCHED_OTHER, &normal);
		usleep(100000);
		sched_setscheduler(0, SCHED_FIFO, &top);
		hold_all_cpus(threads, n);
		sample(&p, 0.5); /* a calm machine would not be asked each time */
		for (long k = 0; k < n; k++)
			pthread_join(threads[k], NULL);
		sched_setscheduler(0, SCHED_OTHER, &normal);
		usleep(100000);
		sample(&p, 0);
	}
	sched_setscheduler(0, SCHED_OTHER, &normal);
	assert_in_range(p.values[FEATURE_PROBE_WAKEUP], HELD * 8 / 10, HELD * 4);
	close_probe(&p);
	free(threads);
}

static void only_beside_pressure_it_reads_and_forks(void **state)
{
	const char *folder = getenv("TMPDIR"); /* on a disk: memory is read without one */
	char path[200], block[65536] = {};
	struct probed p;
	int fd;

	snprintf(path, sizeof(path), "%s/whyslow-probe-XXXXXX", folder ? folder : "/var/tmp");
	fd = mkstemp(path);
	assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	fsync(fd);
	close(fd);
	p = open_probe(path);
	sample(&p, 0);
	usleep(200000);
	sample(&p, 0.01);
	usleep(200000);
	assert_true(has(&p, FEATURE_PROBE_WAKEUP));
	assert_false(has(&p, FEATURE_PROBE_READ));
	assert_false(has(&p, FEATURE_PROBE_FORK));
	sample(&p, 0.5);
	usleep(getenv("WHYSLOW_EMULATED") ? 5000000 : 500000);
	sample(&p, 0);
	assert_true(has(&p, FEATURE_PROBE_READ));
	assert_true(has(&p, FEATURE_PROBE_FORK));
	assert_true(p.values[FEATURE_PROBE_READ] > 0);
	assert_true(p.values[FEATURE_PROBE_FORK] > 0);
	usleep(200000);
	sample(&p, 0);
	assert_false(has(&p, FEATURE_PROBE_FORK));
	close_probe(&p);
	unlink(path);
}

/* Two wakeups do not take the same number of ns. */
static int times_felt(struct probed *p, double pressure)
{
	int64_t before = p->values[FEATURE_PROBE_WAKEUP];
	int times = 0;

	for (int i = 0; i < 12; i++) {
		sample(p, pressure);
		assert_true(has(p, FEATURE_PROBE_WAKEUP));
		times += p->values[FEATURE_PROBE_WAKEUP] != before;
		before = p->values[FEATURE_PROBE_WAKEUP];
		usleep(50000);
	}
	return times;
}

static void a_calm_machine_is_woken_less_often(void **state)
{
	struct probed p = open_probe(NULL);
	int least = INT_MAX;

	sample(&p, 0);
	usleep(100000);
	for (int i = 0; i < ATTEMPTS && least > 4; i++) { /* where others keep the CPUs it is woken late, and so each time */
		int times = times_felt(&p, 0);

		least = times < least ? times : least;
	}
	assert_in_range(least, 1, 4);
	assert_true(times_felt(&p, 0.5) > 4);
	close_probe(&p);
}

RUN_TESTS(cmocka_unit_test(a_held_machine_wakes_people_late),
	  cmocka_unit_test(only_beside_pressure_it_reads_and_forks),
	  cmocka_unit_test(a_calm_machine_is_woken_less_often))
