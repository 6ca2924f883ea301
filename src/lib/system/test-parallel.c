#include "lib/data/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/system/parallel.h"

#define NOBODY	 65534
#define PRIORITY 5
#define JOBS	 200

struct seen {
	atomic_uint times[JOBS];
	atomic_uint urgent, elsewhere;
	pthread_t caller;
};

static int look(void *data, size_t i)
{
	struct seen *s = data;

	usleep(500);
	atomic_fetch_add(&s->times[i], 1);
	atomic_fetch_add(&s->urgent, sched_getscheduler(0) != SCHED_OTHER);
	atomic_fetch_add(&s->elsewhere, !pthread_equal(pthread_self(), s->caller));
	return 0;
}

static void work(struct seen *s)
{
	*s = (struct seen){.caller = pthread_self()};
	assert_int_equal(parallel_run(4, JOBS, look, s), 0);
	for (size_t i = 0; i < JOBS; i++)
		assert_int_equal(s->times[i], 1);
}

static int fail_once(void *data, size_t i)
{
	(void)data;
	return i == 3 ? -EIO : 0;
}

static void each_is_done_once(void **state)
{
	static struct seen s;

	work(&s);
	assert_int_equal(s.urgent, 0);
	assert_true(s.elsewhere > 0);
}

static void an_error_is_returned(void **state)
{
	assert_int_equal(parallel_run(2, JOBS, fail_once, NULL), -EIO);
}

static int become_urgent(void)
{
	return sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &(struct sched_param){.sched_priority = PRIORITY});
}

static void helpers_of_an_urgent_caller_are_urgent(void **state)
{
	static struct seen s;

	if (become_urgent() < 0)
		skip(); /* without the right to real-time priority */
	work(&s);
	(void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
	assert_int_equal(s.urgent, JOBS);
	assert_true(s.elsewhere > 0);
}

/* An answer has the priority and has given up its rights. */
static void an_urgent_caller_without_rights_works_alone(void **state)
{
	static struct seen s;
	int status;
	pid_t pid;

	if (geteuid() != 0 || become_urgent() < 0)
		skip();
	(void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (become_urgent() < 0 || setuid(NOBODY) < 0)
			_exit(1);
		work(&s);
		_exit(s.urgent == JOBS && s.elsewhere == 0 ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_done_once),
		cmocka_unit_test(an_error_is_returned),
		cmocka_unit_test(helpers_of_an_urgent_caller_are_urgent),
		cmocka_unit_test(an_urgent_caller_without_rights_works_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
