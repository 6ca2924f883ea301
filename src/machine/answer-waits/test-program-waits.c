/* A program's waits next to what it normally waits for. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/test.h"
#include "machine/answer-waits/program-waits.h"

#define TICKS 60
#define LAST  (TICKS * NS_PER_SEC)

/* Two processes of a server and another program; in the last ticks each process of the server waits for a lock half of the time. */
static void record_from(struct dataset *d, double lock_before, double lock_now, uint32_t since)
{
	static const char *const names[] = {"server", "server", "bystander"};
	size_t quantum = 0;

	*d = (struct dataset){};
	for (int i = 0; i < TICKS; i++)
		assert_true(dataset_add_tick(d, (i + 1) * NS_PER_SEC, (i + 1) * NS_PER_SEC, NS_PER_SEC) >= 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct entity_info info = {.id = i + 1, .kind = ENTITY_PROCESS, .pid = 100 + i, .name = (char *)names[i],
					   .present = FEATURE_BIT(FEATURE_WAIT_LOCK) | FEATURE_BIT(FEATURE_WAIT_PEER)};
		struct subject *s = dataset_define(d, &info);

		s->first = 0;
		s->last = TICKS - 1;
		quantum = (size_t)s->features[FEATURE_WAIT_LOCK].quantum;
		for (uint32_t t = 0; t < TICKS; t++)
			assert_int_equal(series_push(&s->series[FEATURE_WAIT_LOCK], t, (int64_t)((t < since ? lock_before : lock_now) * 1e9 / (double)quantum)), 0);
	}
}

static void record(struct dataset *d, double lock_before, double lock_now)
{
	record_from(d, lock_before, lock_now, TICKS - 5);
}

static const struct program_wait *wait_of(const struct program_waits *p, const char *feature)
{
	for (size_t i = 0; i < p->waits.n; i++)
		if (strcmp(p->waits.v[i].feature->name, feature) == 0)
			return &p->waits.v[i];
	return NULL;
}

static void what_is_beyond_the_baseline_is_unusual(void **state)
{
	_cleanup_(program_waits_free) struct program_waits p = {};
	const struct program_wait *lock, *peer;
	struct dataset d;

	record(&d, 0.01, 0.5);
	assert_int_equal(program_waits_of(&d, "server", LAST, false, &p), 0);
	assert_int_equal(p.pids.n, 2);
	lock = wait_of(&p, "wait.lock");
	assert_non_null(lock);
	assert_true(fabs(lock->now - 1e9) < 1e6); /* of both processes */
	assert_true(fabs(lock->p50 - 2e7) < 1e6);
	assert_true(lock->unusual);
	peer = wait_of(&p, "wait.peer");
	assert_non_null(peer);
	assert_false(peer->unusual);
	dataset_free(&d);
}

/* It lasts for a third of what is recorded. */
static void a_long_episode_is_no_baseline(void **state)
{
	_cleanup_(program_waits_free) struct program_waits p = {};
	struct dataset d;

	record_from(&d, 0.01, 0.5, TICKS - 20);
	assert_int_equal(program_waits_of(&d, "101", LAST, false, &p), 0);
	assert_true(wait_of(&p, "wait.lock")->unusual);
	assert_true(wait_of(&p, "wait.lock")->p90 < 2e7);
	dataset_free(&d);
}

/* A program did that in its first seconds, and has waited since then. */
static void the_first_seconds_of_a_program_are_its_baseline(void **state)
{
	_cleanup_(program_waits_free) struct program_waits p = {};
	struct dataset d;

	record_from(&d, 0.01, 0.5, 7);
	assert_int_equal(program_waits_of(&d, "101", LAST, false, &p), 0);
	assert_true(wait_of(&p, "wait.lock")->unusual);
	dataset_free(&d);
}

static void what_it_always_waits_for_is_not(void **state)
{
	_cleanup_(program_waits_free) struct program_waits p = {};
	struct dataset d;

	record(&d, 0.5, 0.5);
	assert_int_equal(program_waits_of(&d, "101", LAST, false, &p), 0);
	assert_int_equal(p.pids.n, 1);
	assert_int_equal(p.pids.v[0], 101);
	assert_false(wait_of(&p, "wait.lock")->unusual);
	dataset_free(&d);
}

/* A client that asks again after each answer: 40 ms of 90, then 140 of 190, or 60 of 110; and one that seldom asks. */
static void who_always_waits_waits_longer(void **state)
{
	static const struct {
		double now;
		bool unusual;
		double before;
	} then[] = {{0.73, true, 0.44}, {0.55, false, 0.44}, {0.035, true, 0.001}, {0.035, false, 0.002}};

	for (size_t i = 0; i < ARRAY_SIZE(then); i++) {
		_cleanup_(program_waits_free) struct program_waits p = {};
		struct dataset d;

		record(&d, then[i].before, then[i].now);
		assert_int_equal(program_waits_of(&d, "102", LAST, false, &p), 0);
		assert_int_equal(wait_of(&p, "wait.lock")->unusual, then[i].unusual);
		dataset_free(&d);
	}
}

static void what_events_say_of_now_counts(void **state)
{
	_cleanup_(program_waits_free) struct program_waits p = {};
	struct wait_report asleep = {.from = 0, .to = PROGRAM_NOW, .state[STATE_LOCK] = PROGRAM_NOW, .state[STATE_PEER] = PROGRAM_NOW,
				     .state[STATE_DISK] = PROGRAM_NOW / 10};
	struct dataset d;

	record(&d, 0.01, 0);
	assert_int_equal(program_waits_of(&d, "101", LAST, false, &p), 0);
	assert_false(wait_of(&p, "wait.lock")->unusual);
	assert_int_equal(program_waits_add_events(&p, &asleep), 0);
	assert_true(wait_of(&p, "wait.lock")->unusual);
	assert_true(fabs(wait_of(&p, "wait.lock")->now - 1e9) < 1);
	assert_true(wait_of(&p, "wait.peer")->now == 0); /* it may be idle */
	assert_true(fabs(wait_of(&p, "wait.disk")->now - 1e8) < 1); /* the counters had nothing of it */
	assert_false(wait_of(&p, "wait.disk")->unusual);
	assert_null(wait_of(&p, "wait.memory"));
	dataset_free(&d);
}

static void what_the_counters_know_better_stays(void **state)
{
	_cleanup_(program_waits_free) struct program_waits p = {};
	struct wait_report less = {.from = 0, .to = PROGRAM_NOW, .state[STATE_LOCK] = PROGRAM_NOW / 100};
	struct dataset d;

	record(&d, 0.01, 0.5);
	assert_int_equal(program_waits_of(&d, "server", LAST, false, &p), 0);
	assert_int_equal(program_waits_add_events(&p, &less), 0);
	assert_true(fabs(wait_of(&p, "wait.lock")->now - 1e9) < 1e6);
	dataset_free(&d);
}

/* A process and its grandchild, which waits for a disk since the last ticks, and what it computes itself. */
static void record_family(struct dataset *d, double cpu_before, double cpu_now)
{
	*d = (struct dataset){};
	for (int i = 0; i < TICKS; i++)
		assert_true(dataset_add_tick(d, (i + 1) * NS_PER_SEC, (i + 1) * NS_PER_SEC, NS_PER_SEC) >= 0);
	for (uint32_t i = 0; i < 3; i++) {
		const size_t feature = i ? FEATURE_WAIT_DISK : FEATURE_CPU_TIME;
		struct entity_info info = {.id = i + 1, .kind = ENTITY_PROCESS, .pid = 100 + i, .parent = i ? 99 + i : 1, .name = i ? "part" : "whole",
					   .present = FEATURE_BIT(feature)};
		struct subject *s = dataset_define(d, &info);

		s->first = i == 2 ? TICKS - 5 : 0;
		s->last = TICKS - 1;
		for (uint32_t t = s->first; t < TICKS; t++)
			assert_int_equal(series_push(&s->series[feature], t, (int64_t)((i == 2 ? 0.8 : i ? 0 : t < TICKS - 5 ? cpu_before : cpu_now) * 1e9 /
											(double)s->features[feature].quantum)), 0);
	}
}

static bool has_work(const struct program_waits *p, const char *words)
{
	for (size_t i = 0; i < p->work.n; i++)
		if (strcmp(p->work.v[i].words, words) == 0)
			return true;
	return false;
}

static void its_own_work_and_that_of_its_children_count(void **state)
{
	_cleanup_(program_waits_free) struct program_waits p = {}, q = {};
	struct dataset d;

	record_family(&d, 0.1, 0.4);
	assert_int_equal(program_waits_of(&d, "whole", LAST, false, &p), 0);
	assert_true(has_work(&p, "computes"));
	assert_true(has_work(&p, "has children that wait for disks"));
	assert_int_equal(p.work.n, 2);
	dataset_free(&d);
	record_family(&d, 0.4, 0.41);
	assert_int_equal(program_waits_of(&d, "101", LAST, false, &q), 0);
	assert_int_equal(q.work.n, 1);
	dataset_free(&d);
}

static void who_or_when_is_not_recorded(void **state)
{
	_cleanup_(program_waits_free) struct program_waits p = {}, q = {};
	struct dataset d;

	record(&d, 0, 0);
	assert_int_equal(program_waits_of(&d, "nothing", LAST, false, &p), -ESRCH);
	assert_int_equal(program_waits_of(&d, "server", LAST + 3600 * NS_PER_SEC, false, &q), -ENODATA);
	dataset_free(&d);
}

/* PostgreSQL calls a session by the number that it has in its own namespace. */
static void a_transaction_that_others_wait_for_can_be_ended(void **state)
{
	struct chain_link links[] = {{.pid = 11, .comm = "psql"}, {.pid = 12, .comm = "postgres", .ends = "select pg_terminate_backend(7);"}, {.pid = 13, .comm = "python3", .label = (char *)"python3 report.py"}};
	struct wait_chain c = {.links = {.v = links, .n = 3}};
	_cleanup_free_ char *with_client = wait_chain_remedy(&c), *alone = NULL, *none = NULL;

	assert_string_equal(with_client, "Commit or roll back in python3 report.py (pid 13). Or end that session, and lose what it has not committed: select pg_terminate_backend(7);");
	c.links.n = 2;
	alone = wait_chain_remedy(&c);
	assert_string_equal(alone, "End that session, and lose what it has not committed: select pg_terminate_backend(7);");
	c.links.n = 1;
	none = wait_chain_remedy(&c);
	assert_null(none);
}

RUN_TESTS(cmocka_unit_test(what_is_beyond_the_baseline_is_unusual), cmocka_unit_test(a_long_episode_is_no_baseline), cmocka_unit_test(the_first_seconds_of_a_program_are_its_baseline), cmocka_unit_test(what_it_always_waits_for_is_not), cmocka_unit_test(who_always_waits_waits_longer),
	  cmocka_unit_test(what_events_say_of_now_counts), cmocka_unit_test(what_the_counters_know_better_stays), cmocka_unit_test(its_own_work_and_that_of_its_children_count),
	  cmocka_unit_test(who_or_when_is_not_recorded), cmocka_unit_test(a_transaction_that_others_wait_for_can_be_ended))
