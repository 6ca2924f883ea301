/* The unusual times in four hours of a recording: a backup that writes for ten minutes, and a stranger's process. */
#include "machine/answer-why/test-stored.h"

#include <errno.h>

#include "machine/answer-history/history.h"
#include "machine/judge/anomaly.h"

#define EVERY	5 /* s: a tick */
#define SECONDS (4 * 3600)
#define BEGAN	(2 * 3600 + 600) /* s: the backup */
#define ENDED	(BEGAN + 600)
#define MB	(1 << 20)
#define OWNER	1000

struct machine {
	struct stored stored;
	struct entity *system, *worker, *backup;
	int64_t values[3][FEATURES_MAX];
};

static struct entity *process(const char *name, uint32_t pid, uint32_t uid)
{
	struct entity *e = entity_new(ENTITY_PROCESS, name);

	e->info.pid = pid;
	e->info.uid = uid;
	e->info.start = 1000;
	return e;
}

static void live(struct machine *m, int second)
{
	const bool ill = second > BEGAN && second <= ENDED;

	m->values[0][FEATURE_PSI_IO_SOME] += EVERY * NS_PER_SEC / (ill ? 2 : 100);
	m->values[1][FEATURE_CPU_TIME] += EVERY * NS_PER_SEC / (10 + second / 60 % 7);
	m->values[2][FEATURE_IO_WRITE_BYTES] += ill ? EVERY * 100ll * MB : EVERY * 1000;
	stored_tick_begin(&m->stored, second);
	tick_put(&m->stored.tick, m->system, m->values[0], FEATURE_BIT(FEATURE_PSI_IO_SOME));
	tick_put(&m->stored.tick, m->worker, m->values[1], FEATURE_BIT(FEATURE_CPU_TIME));
	tick_put(&m->stored.tick, m->backup, m->values[2], FEATURE_BIT(FEATURE_IO_WRITE_BYTES));
	stored_tick_end(&m->stored, second);
}

static int set_up(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	stored_begin(&m->stored);
	m->system = entity_new(ENTITY_SYSTEM, "machine");
	m->worker = process("worker", 77, OWNER);
	m->backup = process("backup", 78, 0);
	for (int second = 0; second < SECONDS; second += EVERY)
		live(m, second);
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	struct machine *m = *state;

	entity_free(m->system);
	entity_free(m->worker);
	entity_free(m->backup);
	stored_end(&m->stored);
	free(m);
	return 0;
}

static const struct viewer root;

static void the_ten_minutes_are_found_with_their_program(void **state)
{
	struct machine *m = *state;
	const struct anomaly_episode *e;
	struct history h;

	assert_int_equal(history_read(m->stored.store, START, START + SECONDS * NS_PER_SEC, NULL, &root, &h), 0);
	assert_int_equal(h.n, 240);
	assert_int_equal(h.n_recorded, 240);
	assert_int_equal(h.episodes.list.n, 1);
	e = h.episodes.list.v;
	assert_in_range(e->from, BEGAN / 60 - 1, BEGAN / 60 + 1);
	assert_in_range(e->to, ENDED / 60 - 1, ENDED / 60 + 1);
	assert_string_equal(h.series.v[h.machine[e->peak].series].feature->name, "psi.io.some");
	assert_string_equal(h.series.v[h.programs[e->peak].series].label, "backup");
	assert_string_equal(h.series.v[h.programs[e->peak].series].feature->name, "io.write_bytes");
	assert_true(h.programs[e->peak].value > 95.0f * MB && h.programs[e->peak].value < 105.0f * MB);
	assert_true(h.machine[e->peak].value > 0.45e9f && h.machine[e->peak].value < 0.55e9f);
	history_free(&h);
}

static void of_one_program_the_others_say_nothing(void **state)
{
	struct machine *m = *state;
	struct history h;

	assert_int_equal(history_read(m->stored.store, START, START + SECONDS * NS_PER_SEC, "worker", &root, &h), 0);
	assert_int_equal(h.programs_seen, 1);
	assert_int_equal(h.episodes.list.n, 0);
	history_free(&h);
}

static void a_user_sees_no_stranger(void **state)
{
	const struct viewer user = {.uid = OWNER, .hides_others = true};
	struct machine *m = *state;
	struct history h;

	assert_int_equal(history_read(m->stored.store, START, START + SECONDS * NS_PER_SEC, NULL, &user, &h), 0);
	for (size_t i = 0; i < h.series.n; i++)
		assert_true(!h.series.v[i].label || strcmp(h.series.v[i].label, "backup") != 0);
	assert_int_equal(h.episodes.list.n, 1); /* the machine's pressure is everybody's */
	history_free(&h);
}

static void times_without_a_recording_have_none(void **state)
{
	struct machine *m = *state;
	struct history h;

	assert_int_equal(history_read(m->stored.store, START - 7200 * NS_PER_SEC, START - 3600 * NS_PER_SEC, NULL, &root, &h), -ENODATA);
	assert_int_equal(history_read(m->stored.store, START, START, NULL, &root, &h), -EINVAL);
}

static void what_was_marked_then_is_listed_with_it(void **state)
{
	struct machine *m = *state;
	struct history h, of_one;
	int64_t id;

	assert_int_equal(store_mark(m->stored.store, START + 1800 * NS_PER_SEC, OWNER, "editor hangs", &id), 0);
	assert_int_equal(store_mark(m->stored.store, START + (SECONDS + 60) * NS_PER_SEC, OWNER, "later", &(int64_t){0}), 0);
	assert_int_equal(history_read(m->stored.store, START, START + SECONDS * NS_PER_SEC, NULL, &root, &h), 0);
	assert_int_equal(h.incidents.n, 1);
	assert_int_equal(h.incidents.v[0].id, id);
	assert_string_equal(h.incidents.v[0].note, "editor hangs");
	assert_false(h.incidents.v[0].by_rule);
	assert_int_equal(history_read(m->stored.store, START, START + SECONDS * NS_PER_SEC, "worker", &root, &of_one), 0);
	assert_int_equal(of_one.incidents.n, 0);
	history_free(&h);
	history_free(&of_one);
}

RUN_TESTS(cmocka_unit_test_setup_teardown(the_ten_minutes_are_found_with_their_program, set_up, tear_down),
	  cmocka_unit_test_setup_teardown(of_one_program_the_others_say_nothing, set_up, tear_down),
	  cmocka_unit_test_setup_teardown(a_user_sees_no_stranger, set_up, tear_down),
	  cmocka_unit_test_setup_teardown(times_without_a_recording_have_none, set_up, tear_down),
	  cmocka_unit_test_setup_teardown(what_was_marked_then_is_listed_with_it, set_up, tear_down))
