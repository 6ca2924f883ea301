#include "lib/data/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/data/clock.h"
#include "machine/chunk/frame.h"

#define PRESENT (FEATURE_BIT(FEATURE_CPU_TIME) | FEATURE_BIT(FEATURE_THREADS))
#define TICKS	5

/* A process whose CPU time and threads are these, born after recording began. */
static const int64_t cpu[TICKS] = {30000000, 30000000, 530000000, 530000000, 1530000000};
static const int64_t threads[TICKS] = {1, 1, 4, 4, 2};

static struct str record(int key_again)
{
	struct frame_encoder enc = {.next_id = 7};
	struct entity *e = entity_new(ENTITY_PROCESS, "worker");
	int64_t values[PROCESS_FEATURE_COUNT] = {};
	struct tick tick = {};
	struct str out = {};

	e->info.pid = 42;
	e->born = true;
	for (int i = 0; i < TICKS; i++) {
		tick_begin(&tick, (100 + i) * NS_PER_SEC, (1000 + i) * NS_PER_SEC);
		values[FEATURE_CPU_TIME] = cpu[i];
		values[FEATURE_THREADS] = threads[i];
		tick_put(&tick, e, values, PRESENT);
		if (i == 3)
			tick_note(&tick, NOTE_KERNEL, 0, "Out of memory: killed %d", 12);
		assert_int_equal(frame_encode(&enc, &tick, i == 0 || i == key_again, &out), 0);
	}
	tick_free(&tick);
	entity_free(e);
	return out;
}

static void check(const struct dataset *d)
{
	const struct subject *s = dataset_subject(d, 7);

	assert_non_null(s);
	assert_int_equal(d->ticks.n, TICKS);
	assert_int_equal(s->info.pid, 42);
	assert_string_equal(s->info.name, "worker");
	assert_false(subject_has(s, FEATURE_CPU_USER));
	assert_true(isnan(subject_value(d, s, FEATURE_CPU_USER, 2)));
	for (uint32_t i = 0; i < TICKS; i++)
		assert_true(subject_value(d, s, FEATURE_THREADS, i) == (double)threads[i]);
	for (uint32_t i = 1; i < TICKS; i++)
		assert_true(subject_value(d, s, FEATURE_CPU_TIME, i) == (double)(cpu[i] - cpu[i - 1]));
	assert_true(subject_growth(d, s, FEATURE_CPU_TIME, 0, TICKS - 1) == (double)cpu[TICKS - 1]);
	assert_int_equal(d->notes.n, 1);
	assert_string_equal(d->notes.v[0].text, "Out of memory: killed 12");
}

static void values_come_back(void **state)
{
	for (int key = -1; key < TICKS; key++) {
		struct str frames = record(key);
		struct dataset d = {};
		size_t used;

		assert_int_equal(frames_read(frames.data, frames.len, INT64_MIN, INT64_MAX, &d, &used), 0);
		assert_int_equal(used, frames.len);
		dataset_finish(&d);
		check(&d);
		dataset_free(&d);
		str_free(&frames);
	}
}

static void a_window_knows_levels_from_before(void **state)
{
	struct str frames = record(-1);
	struct dataset d = {};
	const struct subject *s;
	size_t used;

	assert_int_equal(frames_read(frames.data, frames.len, 1003 * NS_PER_SEC, 1003 * NS_PER_SEC, &d, &used), 0);
	dataset_finish(&d);
	s = dataset_subject(&d, 7);
	assert_int_equal(d.ticks.n, 1);
	assert_true(subject_value(&d, s, FEATURE_THREADS, 0) == 4);
	assert_true(subject_value(&d, s, FEATURE_CPU_TIME, 0) == 0);
	dataset_free(&d);
	str_free(&frames);
}

/* A process that outlives a recorder is two subjects: the first must not continue next to the second. */
static void a_stopped_recorder_follows_nobody(void **state)
{
	struct str first = record(-1);
	struct frame_encoder enc = {.next_id = 8};
	struct entity *e = entity_new(ENTITY_PROCESS, "worker");
	int64_t values[PROCESS_FEATURE_COUNT] = {[FEATURE_THREADS] = 2};
	struct tick tick = {};
	struct dataset d = {};
	size_t used;

	tick_begin(&tick, 200 * NS_PER_SEC, 1100 * NS_PER_SEC);
	tick_put(&tick, e, values, PRESENT);
	assert_int_equal(frame_encode(&enc, &tick, true, &first), 0);
	assert_int_equal(frames_read(first.data, first.len, INT64_MIN, INT64_MAX, &d, &used), 0);
	dataset_finish(&d);
	assert_int_equal(d.ticks.n, TICKS + 1);
	assert_int_equal(dataset_subject(&d, 7)->last, TICKS - 1);
	assert_int_equal(dataset_subject(&d, 8)->first, TICKS);
	dataset_free(&d);
	frames_read(first.data, first.len, 1100 * NS_PER_SEC, INT64_MAX, &d, &used);
	dataset_finish(&d);
	assert_int_equal(d.ticks.n, 1);
	assert_true(dataset_subject(&d, 7)->first > dataset_subject(&d, 7)->last);
	dataset_free(&d);
	tick_free(&tick);
	entity_free(e);
	str_free(&first);
}

/* A process that was running before recording began has no growth in the first tick. */
static void the_first_sample_of_an_old_process_is_no_growth(void **state)
{
	struct frame_encoder enc = {.next_id = 1};
	struct entity *e = entity_new(ENTITY_PROCESS, "old");
	int64_t values[PROCESS_FEATURE_COUNT] = {};
	struct tick tick = {};
	struct str out = {};
	struct dataset d = {};
	size_t used;

	for (int i = 0; i < 2; i++) {
		tick_begin(&tick, (100 + i) * NS_PER_SEC, (1000 + i) * NS_PER_SEC);
		values[FEATURE_CPU_TIME] = 3600 * NS_PER_SEC + i * 100 * NS_PER_MS;
		tick_put(&tick, e, values, PRESENT);
		frame_encode(&enc, &tick, i == 0, &out);
	}
	assert_int_equal(frames_read(out.data, out.len, INT64_MIN, INT64_MAX, &d, &used), 0);
	dataset_finish(&d);
	assert_true(subject_growth(&d, dataset_subject(&d, 1), FEATURE_CPU_TIME, 0, 1) == 1e8);
	dataset_free(&d);
	tick_free(&tick);
	entity_free(e);
	str_free(&out);
}

/* Whatever is cut off or flipped, whole frames before it are kept, and nothing worse happens. */
static void damage_is_found(void **state)
{
	struct str frames = record(-1);
	size_t used, whole = 0;

	for (size_t cut = 0; cut < frames.len; cut++) {
		struct dataset d = {};
		int r = frames_read(frames.data, cut, INT64_MIN, INT64_MAX, &d, &used);

		assert_true(r == 0 || r == -EBADMSG);
		assert_true(used <= cut && d.ticks.n <= TICKS);
		assert_true(d.ticks.n >= whole);
		whole = d.ticks.n;
		dataset_free(&d);
	}
	assert_int_equal(whole, TICKS - 1);
	for (size_t bit = 0; bit < frames.len * 8; bit++) {
		struct dataset d = {};

		frames.data[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(frames_read(frames.data, frames.len, INT64_MIN, INT64_MAX, &d, &used), -EBADMSG);
		frames.data[bit / 8] ^= (char)(1 << bit % 8);
		dataset_free(&d);
	}
	str_free(&frames);
}

static void a_counter_that_falls_is_taken_as_restarted(void **state)
{
	struct frame_encoder enc = {.next_id = 1};
	struct entity *e = entity_new(ENTITY_PROCESS, "odd");
	static const int64_t sums[] = {0, 5000000, 1000000, 3000000};
	int64_t values[PROCESS_FEATURE_COUNT] = {};
	struct tick tick = {};
	struct str out = {};
	struct dataset d = {};
	size_t used;

	e->born = true;
	for (int i = 0; i < 4; i++) {
		tick_begin(&tick, (100 + i) * NS_PER_SEC, (1000 + i) * NS_PER_SEC);
		values[FEATURE_CPU_TIME] = sums[i];
		tick_put(&tick, e, values, PRESENT);
		frame_encode(&enc, &tick, i == 0, &out);
	}
	frames_read(out.data, out.len, INT64_MIN, INT64_MAX, &d, &used);
	dataset_finish(&d);
	assert_true(subject_growth(&d, dataset_subject(&d, 1), FEATURE_CPU_TIME, 0, 3) == 7e6);
	assert_int_equal(enc.regressions, 1);
	dataset_free(&d);
	tick_free(&tick);
	entity_free(e);
	str_free(&out);
}

/* A sleeper's sample is taken at its word, but a key frame and a new description go out all the same. */
static void a_sleeper_is_there_in_key_frames_and_by_its_new_name(void **state)
{
	struct frame_encoder enc = {.next_id = 1};
	struct entity *e = entity_new(ENTITY_PROCESS, "sleeper");
	int64_t values[PROCESS_FEATURE_COUNT] = {[FEATURE_THREADS] = 3};
	struct str before = {}, segment = {};
	struct tick tick = {};
	struct dataset d = {};
	size_t used;

	tick_begin(&tick, 100 * NS_PER_SEC, 1000 * NS_PER_SEC);
	tick_put(&tick, e, values, PRESENT);
	frame_encode(&enc, &tick, true, &before);
	for (int i = 1; i < 3; i++) {
		tick_begin(&tick, (100 + i) * NS_PER_SEC, (1000 + i) * NS_PER_SEC);
		tick_put_same(&tick, e, values, PRESENT);
		frame_encode(&enc, &tick, i == 1, &segment);
		entity_describe(e, strdup("/bin/sleeper"), NULL, NULL, NULL);
	}
	assert_int_equal(frames_read(segment.data, segment.len, INT64_MIN, INT64_MAX, &d, &used), 0);
	dataset_finish(&d);
	assert_true(subject_value(&d, dataset_subject(&d, 1), FEATURE_THREADS, 1) == 3);
	assert_string_equal(dataset_subject(&d, 1)->info.exe, "/bin/sleeper");
	dataset_free(&d);
	tick_free(&tick);
	entity_free(e);
	str_free(&before);
	str_free(&segment);
}

/* A counter that can be measured only from some moment on, and a level that is not available when a segment begins. */
static void what_comes_and_goes_is_right_when_it_is_there(void **state)
{
	static const uint64_t cpu_bit = FEATURE_BIT(FEATURE_CPU_TIME), threads_bit = FEATURE_BIT(FEATURE_THREADS);
	static const feature_set present[] = {threads_bit, threads_bit | cpu_bit, cpu_bit, threads_bit | cpu_bit};
	struct frame_encoder enc = {.next_id = 1};
	struct entity *e = entity_new(ENTITY_PROCESS, "p");
	int64_t values[PROCESS_FEATURE_COUNT] = {};
	struct tick tick = {};
	struct str out = {};
	struct dataset d = {};
	size_t used, segment = 0;

	e->born = true;
	for (int i = 0; i < 4; i++) {
		tick_begin(&tick, (100 + i) * NS_PER_SEC, (1000 + i) * NS_PER_SEC);
		values[FEATURE_CPU_TIME] = 3600 * NS_PER_SEC + i * 100 * NS_PER_MS;
		values[FEATURE_THREADS] = i < 3 ? 7 : 9;
		tick_put(&tick, e, values, present[i]);
		if (i == 2)
			segment = out.len;
		assert_int_equal(frame_encode(&enc, &tick, i == 0 || i == 2, &out), 0);
	}
	/* the second segment by itself */
	assert_int_equal(frames_read(out.data + segment, out.len - segment, INT64_MIN, INT64_MAX, &d, &used), 0);
	dataset_finish(&d);
	assert_true(subject_value(&d, dataset_subject(&d, 1), FEATURE_THREADS, 0) == 7);
	assert_true(subject_value(&d, dataset_subject(&d, 1), FEATURE_THREADS, 1) == 9);
	dataset_free(&d);
	assert_int_equal(frames_read(out.data, out.len, INT64_MIN, INT64_MAX, &d, &used), 0);
	dataset_finish(&d);
	assert_true(subject_growth(&d, dataset_subject(&d, 1), FEATURE_CPU_TIME, 0, 3) == 2e8);
	assert_true(subject_value(&d, dataset_subject(&d, 1), FEATURE_THREADS, 3) == 9);
	dataset_free(&d);
	tick_free(&tick);
	entity_free(e);
	str_free(&out);
}

/* Not put when the segment began, put later: the segment can be read, and the level is right. */
static void one_that_was_away_comes_back(void **state)
{
	struct frame_encoder enc = {.next_id = 1};
	struct entity *e = entity_new(ENTITY_CGROUP, "/g");
	int64_t values[CGROUP_FEATURE_COUNT] = {[CGROUP_FEATURE_COUNT - 1] = 0};
	struct tick tick = {};
	struct str out = {};
	struct dataset d = {};
	size_t used, segment = 0;

	for (int i = 0; i < 4; i++) {
		tick_begin(&tick, (100 + i) * NS_PER_SEC, (1000 + i) * NS_PER_SEC);
		values[FEATURE_CG_MEMORY] = 65536 * 5;
		values[FEATURE_CG_CPU] = 1000000 * i;
		if (i != 2)
			tick_put(&tick, e, values, FEATURE_BIT(FEATURE_CG_MEMORY) | FEATURE_BIT(FEATURE_CG_CPU));
		else
			segment = out.len;
		assert_int_equal(frame_encode(&enc, &tick, i == 0 || i == 2, &out), 0);
	}
	assert_int_equal(frames_read(out.data + segment, out.len - segment, INT64_MIN, INT64_MAX, &d, &used), 0);
	dataset_finish(&d);
	assert_int_equal(d.subjects.n, 1);
	assert_true(subject_value(&d, d.subjects.v[0], FEATURE_CG_MEMORY, 1) == 65536 * 5);
	assert_true(subject_growth(&d, d.subjects.v[0], FEATURE_CG_CPU, 0, 1) == 2e6);
	dataset_free(&d);
	assert_int_equal(frames_read(out.data, out.len, INT64_MIN, INT64_MAX, &d, &used), 0);
	dataset_free(&d);
	tick_free(&tick);
	entity_free(e);
	str_free(&out);
}

RUN_TESTS(cmocka_unit_test(one_that_was_away_comes_back), cmocka_unit_test(what_comes_and_goes_is_right_when_it_is_there), cmocka_unit_test(a_sleeper_is_there_in_key_frames_and_by_its_new_name),
	  cmocka_unit_test(values_come_back), cmocka_unit_test(a_window_knows_levels_from_before), cmocka_unit_test(a_stopped_recorder_follows_nobody),
	  cmocka_unit_test(the_first_sample_of_an_old_process_is_no_growth), cmocka_unit_test(damage_is_found),
	  cmocka_unit_test(a_counter_that_falls_is_taken_as_restarted))
