#include "lib/data/test.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/system/urgent.h"

static int policy(void)
{
	return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

static int priority(void)
{
	struct sched_param param;

	assert_int_equal(sched_getparam(0, &param), 0);
	return param.sched_priority;
}

static void skip_without_rights(void)
{
	if (urgent_set(true) < 0) {
		print_message("no right to real-time priority here\n");
		skip();
	}
	assert_int_equal(urgent_set(false), 0);
}

static void a_section_raises_and_gives_back(void **state)
{
	const struct sched_param low = {.sched_priority = 7};
	struct urgent_section s;

	skip_without_rights();
	s = urgent_section_begin();
	assert_int_equal(policy(), SCHED_RR);
	assert_int_equal(priority(), URGENT_PRIORITY);
	urgent_section_end(&s);
	assert_int_equal(policy(), SCHED_OTHER);
	assert_int_equal(sched_setscheduler(0, SCHED_FIFO, &low), 0);
	s = urgent_section_begin();
	assert_int_equal(priority(), URGENT_PRIORITY);
	urgent_section_end(&s);
	assert_int_equal(policy(), SCHED_FIFO);
	assert_int_equal(priority(), 7);
	assert_int_equal(urgent_set(false), 0);
}

static void a_section_lowers_nothing(void **state)
{
	const struct sched_param high = {.sched_priority = URGENT_PRIORITY + 1};
	struct urgent_section s;

	skip_without_rights();
	assert_int_equal(sched_setscheduler(0, SCHED_FIFO, &high), 0);
	s = urgent_section_begin();
	assert_int_equal(priority(), URGENT_PRIORITY + 1);
	urgent_section_end(&s);
	assert_int_equal(priority(), URGENT_PRIORITY + 1);
	assert_int_equal(urgent_set(false), 0);
}

static int64_t cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

static void use_cpu(int64_t ns)
{
	const int64_t until = cpu_now() + ns;

	while (cpu_now() < until)
		;
}

/* A holder that lost its priority would be starved with the lock. */
static void a_budget_ends_after_the_section(void **state)
{
	struct urgent_budget budget;
	struct urgent_section s;

	skip_without_rights();
	assert_int_equal(urgent_budget_open(&budget, CLOCK_THREAD_CPUTIME_ID), 0);
	assert_int_equal(urgent_set(true), 0);
	urgent_budget_set(&budget, 5 * NS_PER_MS);
	assert_true(urgent_budget_is_left(&budget));
	s = urgent_section_begin();
	use_cpu(30 * NS_PER_MS);
	assert_int_equal(policy(), SCHED_RR);
	urgent_section_end(&s);
	assert_int_equal(policy(), SCHED_OTHER);
	assert_false(urgent_budget_is_left(&budget));
	assert_int_equal(urgent_set(true), 0);
	urgent_budget_set(&budget, 5 * NS_PER_MS);
	use_cpu(30 * NS_PER_MS);
	assert_int_equal(policy(), SCHED_OTHER);
	urgent_budget_close(&budget);
}

/* "FDSize:	64": room in the table of descriptors. */
static int room_for_files(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	int room = 0;

	assert_non_null(f);
	while (!room && fgets(line, sizeof(line), f))
		if (sscanf(line, "FDSize: %d", &room) != 1)
			room = 0;
	fclose(f);
	return room;
}

static void a_table_of_files_is_made_large_and_nothing_stays_open(void **state)
{
	int before = dup(0), after;

	assert_true(room_for_files() < 1000);
	urgent_reserve_files(1000);
	assert_true(room_for_files() >= 1000);
	after = dup(0);
	assert_int_equal(after, before + 1);
	close(after);
	close(before);
}

RUN_TESTS(cmocka_unit_test(a_table_of_files_is_made_large_and_nothing_stays_open), cmocka_unit_test(a_section_raises_and_gives_back), cmocka_unit_test(a_section_lowers_nothing), cmocka_unit_test(a_budget_ends_after_the_section))
