/* A window that is longer than what is read tick by tick: the summaries must tell what was before. */
#include "machine/answer-why/test-stored.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "machine/answer-why/why.h"

#define HOURS	16
#define SECONDS (HOURS * 3600)
#define TROUBLE 60		 /* seconds at the end */
#define EARLIER (2 * 3600 + 300) /* the same happened here, for so long: */
#define LASTED	600
#define MB	1000000ll

struct machine {
	struct stored stored;
	struct entity *system, *job, *other;
	int64_t values[3][FEATURES_MAX];
};

static struct entity *program(const char *name, const char *exe)
{
	struct entity *e = entity_new(ENTITY_PROCESS, name);

	entity_describe(e, strdup(exe), NULL, NULL, NULL);
	return e;
}

static void live(struct machine *m, int second)
{
	bool trouble = second >= SECONDS - TROUBLE, earlier = second >= EARLIER && second < EARLIER + LASTED;

	m->values[0][FEATURE_PSI_IO_SOME] += (trouble || earlier ? 60 : 1) * NS_PER_SEC / 100;
	m->values[1][FEATURE_IO_READ_BYTES] += trouble || earlier ? 80 * MB : 4096;
	m->values[2][FEATURE_CPU_TIME] += NS_PER_SEC / 100;
	stored_tick_begin(&m->stored, second);
	tick_put(&m->stored.tick, m->system, m->values[0], FEATURE_BIT(FEATURE_PSI_IO_SOME));
	tick_put(&m->stored.tick, m->job, m->values[1], FEATURE_BIT(FEATURE_IO_READ_BYTES) | FEATURE_BIT(FEATURE_CPU_TIME));
	tick_put(&m->stored.tick, m->other, m->values[2], FEATURE_BIT(FEATURE_IO_READ_BYTES) | FEATURE_BIT(FEATURE_CPU_TIME));
}

static void record(struct machine *m)
{
	for (int second = 0; second < SECONDS; second++) {
		live(m, second);
		stored_tick_end(&m->stored, second);
	}
}

static int set_up(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	stored_begin(&m->stored);
	m->system = entity_new(ENTITY_SYSTEM, "machine");
	m->job = program("backup", "/usr/bin/backup");
	m->other = program("other", "/usr/bin/other");
	record(m);
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	struct machine *m = *state;

	entity_free(m->system);
	entity_free(m->job);
	entity_free(m->other);
	stored_end(&m->stored);
	free(m);
	return 0;
}

/* The guilt of the job, seen with so much past; *ret_start = how far back it was looked. */
static double guilt(struct machine *m, int64_t window, const struct mark *mark, int64_t *ret_start)
{
	struct why_request request = {.at = START + (SECONDS - 1) * NS_PER_SEC,
				      .window = window,
				      .marks = mark,
				      .n_marks = mark != NULL};
	struct why_data data = {};
	struct answer a;
	double score;

	assert_int_equal(why_from_store(m->stored.store, &request, &data, &a), 0);
	assert_true(a.ranking.suspects.n > 0);
	assert_string_equal(a.ranking.suspects.v[0].subject->info.name, "backup");
	score = a.ranking.suspects.v[0].score;
	*ret_start = a.window_start;
	assert_int_equal(a.remarks.n, window > 12 * 3600 * NS_PER_SEC);
	/* all was recorded, and the hour of the mark is left out */
	assert_true(llabs(a.window_end - a.window_start - a.recorded - (mark ? 3600 * NS_PER_SEC : 0)) < 60 * NS_PER_SEC);
	answer_free(&a);
	why_data_free(&data);
	return score;
}

static void what_happened_before_surprises_less(void **state)
{
	struct machine *m = *state;
	int64_t start;
	double alone = guilt(m, 4 * 3600 * NS_PER_SEC, NULL, &start), known;

	assert_true(start > START + (HOURS - 5) * 3600 * NS_PER_SEC);
	known = guilt(m, HOURS * 3600 * NS_PER_SEC, NULL, &start);
	assert_int_equal(start, START);
	assert_true(alone > 0.1 && known > 0);
	assert_true(known < 0.6 * alone);
}

static void a_marked_hour_is_not_learnt(void **state)
{
	struct machine *m = *state;
	struct mark mark = {.wall = START + (EARLIER + 10) * NS_PER_SEC,
			    .last = START + (EARLIER + 10) * NS_PER_SEC};
	int64_t start;
	double alone = guilt(m, 4 * 3600 * NS_PER_SEC, NULL, &start);

	assert_true(guilt(m, HOURS * 3600 * NS_PER_SEC, &mark, &start) > 0.9 * alone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_happened_before_surprises_less),
					   cmocka_unit_test(a_marked_hour_is_not_learnt)};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
