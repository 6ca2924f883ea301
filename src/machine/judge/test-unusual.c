/* What counts as unusual, process by process. */
#include "lib/data/test.h"

#include <math.h>

#include "lib/data/clock.h"
#include "machine/judge/method.h"

#define TICKS	600
#define PERCENT 10000000ll /* of a CPU, per second, ns */

struct fixture {
	struct dataset d;
	struct ranking r;
};

static void begin(struct fixture *f)
{
	*f = (struct fixture){};
	for (int i = 0; i < TICKS; i++)
		dataset_add_tick(&f->d, (1000 + i) * NS_PER_SEC, (1000000 + i) * NS_PER_SEC, NS_PER_SEC);
}

static struct subject *add(struct fixture *f, const char *name, uint32_t first)
{
	static uint32_t id;
	struct entity_info info = {.id = id + 1, .kind = ENTITY_PROCESS, .pid = 101 + id, .name = (char *)name, .exe = (char *)name,
				   .present = FEATURE_BIT(FEATURE_CPU_TIME) | FEATURE_BIT(FEATURE_HANDLES_FILES) | FEATURE_BIT(FEATURE_SCHED_NICE) |
					      FEATURE_BIT(FEATURE_WAIT_CONDITION) | FEATURE_BIT(FEATURE_WAIT_PEER) | FEATURE_BIT(FEATURE_THREADS) | FEATURE_BIT(FEATURE_MEM_ANON)};
	struct subject *s = dataset_define(&f->d, &info);

	id++;
	s->first = first;
	s->last = TICKS - 1;
	return s;
}

static void use(struct subject *s, uint32_t from, uint32_t to, int64_t percent)
{
	for (uint32_t t = from; t <= to; t++)
		series_push(&s->series[FEATURE_CPU_TIME], t, percent * PERCENT / s->features[FEATURE_CPU_TIME].quantum);
}

static void rank(struct fixture *f)
{
	struct method_question q = {.at = TICKS - 1, .focus = TICKS - 10, .train_to = TICKS - 11, .cpus = 2};

	assert_int_equal(method_unusual.rank(&f->d, &q, &f->r), 0);
}

static const struct suspect *find(const struct fixture *f, const struct subject *s)
{
	for (size_t i = 0; i < f->r.suspects.n; i++)
		if (f->r.suspects.v[i].subject == s)
			return &f->r.suspects.v[i];
	fail();
	return NULL;
}

static void end(struct fixture *f)
{
	ranking_free(&f->r);
	dataset_free(&f->d);
}

static void a_change_is_ranked_before_what_is_big_but_usual(void **state)
{
	struct subject *big, *changed;
	struct fixture f;

	begin(&f);
	big = add(&f, "/bin/big", 0);
	changed = add(&f, "/bin/changed", 0);
	use(big, 0, TICKS - 1, 150);
	use(changed, 0, TICKS - 10, 2);
	use(changed, TICKS - 9, TICKS - 1, 30);
	rank(&f);
	assert_ptr_equal(f.r.suspects.v[0].subject, changed);
	assert_string_equal(f.r.suspects.v[0].features.v[0].feature->name, "cpu.time");
	/* median 2 %, spread no less than what can be noticed (1 %): 28 spreads away */
	assert_true(fabs(f.r.suspects.v[0].features.v[0].deviation - 28) < 0.01);
	assert_true(find(&f, big)->score < 0.01);
	end(&f);
}

static void less_than_usual_is_unusual_too(void **state)
{
	struct subject *stuck;
	struct fixture f;

	begin(&f);
	stuck = add(&f, "/bin/stuck", 0);
	use(stuck, 0, TICKS - 10, 80);
	rank(&f);
	assert_true(find(&f, stuck)->score > 0.5);
	assert_true(find(&f, stuck)->features.v[0].deviation < -10);
	end(&f);
}

static void what_happened_before_counts_less(void **state)
{
	struct subject *once, *often;
	struct fixture f;

	begin(&f);
	once = add(&f, "/bin/once", 0);
	often = add(&f, "/bin/often", 0);
	use(once, TICKS - 9, TICKS - 1, 60);
	for (uint32_t t = 50; t < 500; t += 100)
		use(often, t, t + 14, 60);
	use(often, TICKS - 9, TICKS - 1, 60);
	rank(&f);
	assert_true(find(&f, often)->score < 0.2 * find(&f, once)->score);
	end(&f);
}

static void a_young_process_is_compared_with_its_predecessor(void **state)
{
	struct subject *old, *young, *new;
	struct fixture f;

	begin(&f);
	old = add(&f, "/bin/server", 0);
	old->last = TICKS - 20;
	old->ended = true;
	young = add(&f, "/bin/server", TICKS - 19);
	new = add(&f, "/bin/new", TICKS - 19);
	use(old, 0, TICKS - 20, 50);
	use(young, TICKS - 19, TICKS - 1, 50);
	use(new, TICKS - 19, TICKS - 1, 50);
	rank(&f);
	assert_true(find(&f, young)->score < 0.01);
	assert_true(find(&f, new)->score > 0.5);
	assert_true(find(&f, new)->features.v[0].flags & FINDING_NEW);
	end(&f);
}

/* The recorder began 20 s ago: the window that the answer names has the process's own values. */
static void without_a_history_the_window_is_compared_with(void **state)
{
	struct method_question q = {.at = 20, .focus = 15, .train_to = -1, .cpus = 2};
	const struct deviation *dev;
	struct subject *changed, *steady;
	struct fixture f;

	begin(&f);
	changed = add(&f, "/bin/changed", 0);
	steady = add(&f, "/bin/steady", 0);
	use(steady, 0, 20, 90);
	use(changed, 0, 17, 2);
	use(changed, 18, 20, 62);
	assert_int_equal(method_unusual.rank(&f.d, &q, &f.r), 0);
	dev = &find(&f, changed)->features.v[0];
	assert_string_equal(dev->feature->name, "cpu.time");
	assert_false(dev->flags & FINDING_NO_HISTORY);
	assert_in_range((int)(100 * dev->score), 80, 90); /* 2 %, and 60 of the least that can be noticed away */
	assert_true(find(&f, steady)->features.v[0].score < 0.05);
	end(&f);
	begin(&f); /* with five ticks there is none to speak of */
	changed = add(&f, "/bin/changed", 14);
	use(changed, 14, 20, 62);
	assert_int_equal(method_unusual.rank(&f.d, &q, &f.r), 0);
	assert_true(find(&f, changed)->features.v[0].flags & FINDING_NO_HISTORY);
	end(&f);
}

/* Threads that wait for work, and memory of which the machine has enough, are there from the beginning. */
static void an_idle_new_program_is_no_news(void **state)
{
	struct entity_info machine = {.id = 900, .kind = ENTITY_SYSTEM, .name = (char *)"machine", .present = FEATURE_BIT(FEATURE_SYS_MEM_TOTAL)};
	struct subject *idle, *large, *system;
	struct fixture f;

	begin(&f);
	system = dataset_define(&f.d, &machine);
	system->first = 0;
	system->last = TICKS - 1;
	series_push(&system->series[FEATURE_SYS_MEM_TOTAL], 0, (8ll << 30) / 4096);
	idle = add(&f, "/bin/idle", TICKS - 9);
	large = add(&f, "/bin/large", TICKS - 9);
	for (uint32_t t = TICKS - 9; t < TICKS; t++) {
		series_push(&idle->series[FEATURE_WAIT_CONDITION], t, 1800 * PERCENT / idle->features[FEATURE_WAIT_CONDITION].quantum);
		series_push(&idle->series[FEATURE_WAIT_PEER], t, 100 * PERCENT / idle->features[FEATURE_WAIT_PEER].quantum);
	}
	series_push(&idle->series[FEATURE_THREADS], TICKS - 9, 40);
	series_push(&idle->series[FEATURE_MEM_ANON], TICKS - 9, (40 << 20) / 4096);
	series_push(&large->series[FEATURE_MEM_ANON], TICKS - 9, (4ll << 30) / 4096);
	rank(&f);
	assert_true(find(&f, idle)->score < 0.05);
	assert_true(find(&f, large)->score > 0.5);
	end(&f);
}

/* Nine threads wait all the time. The recorder reads them once a minute, and has not yet for the last twenty seconds. */
static void a_wait_that_is_read_late_is_as_usual(void **state)
{
	struct subject *pool, *woken;
	struct fixture f;
	int64_t second;

	begin(&f);
	pool = add(&f, "/bin/pool", 0);
	woken = add(&f, "/bin/woken", 0);
	second = 900 * PERCENT / pool->features[FEATURE_WAIT_CONDITION].quantum;
	for (uint32_t t = 39; t < TICKS - 1; t += 60)
		series_push(&pool->series[FEATURE_WAIT_CONDITION], t, (t == 39 ? 40 : 60) * second);
	for (uint32_t t = 39; t < TICKS - 60; t += 60)
		series_push(&woken->series[FEATURE_WAIT_CONDITION], t, (t == 39 ? 40 : 60) * second);
	use(woken, TICKS - 9, TICKS - 1, 2); /* so it is known not to have waited */
	rank(&f);
	assert_true(find(&f, pool)->score < 0.001);
	for (size_t i = 0; i < find(&f, pool)->features.n; i++)
		if (find(&f, pool)->features.v[i].feature == &pool->features[FEATURE_WAIT_CONDITION])
			assert_true(find(&f, pool)->features.v[i].usual > 8.9e9 && fabs(find(&f, pool)->features.v[i].deviation) < 1);
	assert_true(find(&f, woken)->score > 0.1);
	end(&f);
}

RUN_TESTS(cmocka_unit_test(a_wait_that_is_read_late_is_as_usual), cmocka_unit_test(an_idle_new_program_is_no_news), cmocka_unit_test(without_a_history_the_window_is_compared_with), cmocka_unit_test(a_change_is_ranked_before_what_is_big_but_usual), cmocka_unit_test(less_than_usual_is_unusual_too),
	  cmocka_unit_test(what_happened_before_counts_less), cmocka_unit_test(a_young_process_is_compared_with_its_predecessor))
