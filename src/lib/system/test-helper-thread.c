/* Jobs that come back, and jobs that do not: they wait for a pipe. */
#include "lib/data/test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/system/helper-thread.h"

struct job {
	int wait_on; /* -1 = nothing */
	bool done;
	unsigned *released;
};

static void work(void *data)
{
	struct job *j = data;
	char byte;

	if (j->wait_on >= 0)
		assert_int_equal(read(j->wait_on, &byte, 1), 1);
	j->done = true;
}

static void release(void *data)
{
	struct job *j = data;

	__atomic_add_fetch(j->released, 1, __ATOMIC_SEQ_CST);
	free(j);
}

static struct job *job_new(int wait_on, unsigned *released)
{
	struct job *j = calloc(1, sizeof(*j));

	assert_non_null(j);
	*j = (struct job){wait_on, false, released};
	return j;
}

static int leave_one(struct helper *h, int wait_on, unsigned *released)
{
	struct job *j = job_new(wait_on, released);
	int r = helper_do(h, work, release, j, NS_PER_MS);

	if (r != -ETIMEDOUT)
		free(j);
	return r;
}

static void do_one(struct helper *h, unsigned *released)
{
	struct job *j = job_new(-1, released);

	assert_int_equal(helper_do(h, work, release, j, 60 * NS_PER_SEC), 0);
	assert_true(j->done);
	free(j);
}

static void wait_until_released(const unsigned *released, unsigned n)
{
	while (__atomic_load_n(released, __ATOMIC_SEQ_CST) < n)
		usleep(1000);
}

static void jobs_come_back_to_the_caller(void **state)
{
	unsigned released = 0;
	struct helper *h;

	assert_int_equal(helper_new(&h), 0);
	for (unsigned i = 0; i < 100; i++)
		do_one(h, &released);
	helper_free(h);
	assert_int_equal(released, 0);
}

static void a_job_that_blocks_is_left_and_released_later(void **state)
{
	unsigned released = 0;
	struct helper *h;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(helper_new(&h), 0);
	assert_int_equal(leave_one(h, ends[0], &released), -ETIMEDOUT);
	do_one(h, &released); /* by another thread */
	assert_int_equal(released, 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	wait_until_released(&released, 1);
	helper_free(h);
	close(ends[0]);
	close(ends[1]);
}

static void no_more_are_left_than_may_be(void **state)
{
	unsigned released = 0;
	struct helper *h;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(helper_new(&h), 0);
	for (unsigned i = 0; i < HELPERS_LEFT_MAX; i++)
		assert_int_equal(leave_one(h, ends[0], &released), -ETIMEDOUT);
	assert_int_equal(leave_one(h, ends[0], &released), -EBUSY);
	helper_free(h); /* waits for none of them */
	assert_int_equal(write(ends[1], "xxxx", HELPERS_LEFT_MAX), HELPERS_LEFT_MAX);
	wait_until_released(&released, HELPERS_LEFT_MAX);
	close(ends[0]);
	close(ends[1]);
}

RUN_TESTS(cmocka_unit_test(jobs_come_back_to_the_caller), cmocka_unit_test(a_job_that_blocks_is_left_and_released_later),
	  cmocka_unit_test(no_more_are_left_than_may_be))
