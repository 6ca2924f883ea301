/* A window that is longer than what is read tick by tick: the summaries must tell what was before. */
#include "base/test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/why.h"
#include "base/clock.h"
#include "store/frame.h"
#include "store/journal.h"

#define START	(497222ll * 3600 * NS_PER_SEC) /* a full hour */
#define HOURS	16
#define SECONDS (HOURS * 3600)
#define TROUBLE 60		 /* seconds at the end */
#define EARLIER (2 * 3600 + 300) /* the same happened here, for so long: */
#define LASTED	600
#define MB	1000000ll

struct machine {
	char folder[32], file[96], run_dir[64];
	struct entity *system, *job, *other;
	int64_t values[3][FEATURES_MAX];
	struct tick tick;
	struct frame_encoder encoder;
	struct journal journal;
	struct store *store;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

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
	tick_begin(&m->tick, (second + 100) * NS_PER_SEC, START + second * NS_PER_SEC);
	tick_put(&m->tick, m->system, m->values[0], 1ull << FEATURE_PSI_IO_SOME);
	tick_put(&m->tick, m->job, m->values[1], 1ull << FEATURE_IO_READ_BYTES | 1ull << FEATURE_CPU_TIME);
	tick_put(&m->tick, m->other, m->values[2], 1ull << FEATURE_IO_READ_BYTES | 1ull << FEATURE_CPU_TIME);
}

static void record(struct machine *m)
{
	struct str frame = {};

	for (int second = 0; second < SECONDS; second++) {
		bool key = second % 600 == 0;
		int64_t before = m->journal.segment;

		live(m, second);
		if (key)
			assert_int_equal(journal_begin(&m->journal, m->tick.wall / NS_PER_MS), 0);
		str_clear(&frame);
		assert_int_equal(frame_encode(&m->encoder, &m->tick, key, &frame), 0);
		assert_int_equal(journal_append(&m->journal, frame.data, frame.len), 0);
		if (key && before)
			assert_int_equal(store_compact(m->store, before), 0);
	}
	str_free(&frame);
}

static int set_up(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct store_paths paths = {m->file, m->run_dir};
	char *error = NULL;

	strcpy(m->folder, "/tmp/test-past-XXXXXX");
	assert_non_null(mkdtemp(m->folder));
	snprintf(m->file, sizeof(m->file), "%s/recording.db", m->folder);
	snprintf(m->run_dir, sizeof(m->run_dir), "%s/run", m->folder);
	assert_int_equal(store_open(&paths, STORE_WRITE, &m->store, &error), 0);
	assert_int_equal(journal_open(m->run_dir, &m->journal), 0);
	m->encoder.next_id = 1;
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

	store_close(m->store);
	journal_close(&m->journal);
	entity_free(m->system);
	entity_free(m->job);
	entity_free(m->other);
	tick_free(&m->tick);
	nftw(m->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
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

	assert_int_equal(why_from_store(m->store, &request, &data, &a), 0);
	assert_true(a.ranking.suspects.n > 0);
	assert_string_equal(a.ranking.suspects.v[0].subject->info.name, "backup");
	score = a.ranking.suspects.v[0].score;
	*ret_start = a.window_start;
	assert_int_equal(a.remarks.n, window > 12 * 3600 * NS_PER_SEC);
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
