#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/store/blocks.h"
#include "machine/chunk/frame.h"
#include "machine/chunk/test-ticks.h"
#include "machine/recording/internal.h"
#include "machine/recording/journal.h"
#include "machine/recording/store.h"
#include "machine/recording/summary-rows.h"

/* By the VFS of whyslow, which renews the checksums of pages. */
static void sql(struct fixture *f, const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(f->file, &db, SQLITE_OPEN_READWRITE, "whyslow"), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* --- segments --- */

static void journal_and_chunks_are_one_recording(void **state)
{
	struct fixture *f = *state;
	struct dataset d = {};
	unsigned damaged;
	uint32_t highest;
	int64_t from, to;

	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	record(f, 30);
	holds(f->store, 0, 150, 0);
	assert_int_equal(store_highest_entity(f->store, &highest), 0);
	assert_int_equal(highest, 1);
	assert_int_equal(store_extent(f->store, &from, &to), 0);
	assert_true(from == START && to == START + 149 * NS_PER_SEC);
	assert_int_equal(
		store_load(f->store, START + 50 * NS_PER_SEC, START + 130 * NS_PER_SEC, &d, &damaged), 0);
	assert_int_equal(d.ticks.n, 81);
	assert_true(subject_growth(&d, dataset_subject(&d, 1), FEATURE_CPU_TIME, 0, 80) == 81e9);
	dataset_free(&d);
}

/* There was no room for it then, or its compaction is still under way. */
static void a_segment_that_is_not_compacted_keeps_its_place(void **state)
{
	struct fixture *f = *state;

	record(f, 20);
	assert_int_equal(store_compact(f->store, record(f, 20)), 0);
	record(f, 20);
	assert_int_equal(store_compact(f->store, record(f, 20)), 0);
	assert_int_equal(store_compact(f->store, record(f, 20)), 0);
	holds(f->store, 0, 100, 0);
}

/* As a damaged or hostile file has them: two of them cannot be subtracted. */
static void rows_at_the_ends_of_time_are_passed_over(void **state)
{
	struct fixture *f = *state;
	int64_t from, to, first, last;
	struct mark *marks, m;
	size_t n;

	record(f, 20);
	assert_int_equal(store_compact(f->store, record(f, 20)), 0);
	assert_int_equal(store_extent(f->store, &first, &last), 0);
	sql(f, "INSERT INTO segment VALUES(8, 5, 9223372036854775807, 1, 1), (9, -9223372036854775807, 5, 1, 1);"
	       "INSERT INTO raw VALUES(9223372036854775807, 0, x'00'), (-9223372036854775807, 0, x'00');"
	       "INSERT INTO summary VALUES(0, -9223372036854775807, 9223372036854775807, x'00');"
	       "INSERT INTO mark(id, wall, last, presses, uid) VALUES(91, 9223372036854775807, 9223372036854775807, 1, 0),"
	       " (92, -9223372036854775807, 0, 1, 0), (93, 0, 0, 1, 0)");
	assert_int_equal(store_extent(f->store, &from, &to), 0);
	assert_true(from == first && to == last);
	assert_int_equal(store_marks(f->store, INT64_MIN, INT64_MAX, &marks, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(marks[0].id, 93);
	marks_free(marks, n);
	assert_int_equal(store_mark_get(f->store, 91, &m), -ENOENT);
	holds(f->store, 0, 40, 0);
}

static feature_set only_threads(const struct entity_info *info, void *data)
{
	(void)info;
	(void)data;
	return FEATURE_BIT(FEATURE_THREADS);
}

static void an_extract_gives_the_same_ticks_again(void **state)
{
	struct fixture *f = *state;
	struct load_filter filter = {only_threads, NULL, NULL};
	struct dataset some = {}, all = {};
	struct extract *e;
	unsigned damaged;

	assert_int_equal(store_compact(f->store, record(f, 20)), 0);
	assert_int_equal(store_compact(f->store, record(f, 20)), 0);
	record(f, 10);
	assert_int_equal(store_extract(f->store, START + 5 * NS_PER_SEC, INT64_MAX, &e), 0);
	record(f, 5); /* too late for it */
	assert_int_equal(extract_load(e, &filter, &some, &damaged), 0);
	assert_int_equal(extract_load(e, NULL, &all, &damaged), 0);
	extract_close(e);
	assert_int_equal(some.ticks.n, 45);
	assert_int_equal(all.ticks.n, 45);
	assert_true(subject_growth(&some, dataset_subject(&some, 1), FEATURE_CPU_TIME, 0, 44) == 0);
	assert_true(subject_growth(&all, dataset_subject(&all, 1), FEATURE_CPU_TIME, 0, 44) == 45e9);
	for (uint32_t t = 0; t < 45; t++)
		assert_true(subject_value(&some, dataset_subject(&some, 1), FEATURE_THREADS, t) ==
			    subject_value(&all, dataset_subject(&all, 1), FEATURE_THREADS, t));
	dataset_free(&some);
	dataset_free(&all);
}

static void a_killed_recorder_loses_nothing_but_its_last_write(void **state)
{
	struct fixture *f = *state;
	int64_t segment = record(f, 40);
	char path[128];

	assert_int_equal(store_save_journal(f->store, segment), 0);
	record(f, 20);
	snprintf(path, sizeof(path), "%s/journal/%lld", f->run_dir, (long long)f->journal.segment);
	assert_int_equal(truncate(path, (off_t)f->journal.size - 3), 0);
	assert_int_equal(store_recover(f->store, 0), 0);
	holds(f->store, 0, 59, 0);
	assert_int_equal(access(path, F_OK), -1);
}

static void a_power_cut_loses_what_was_not_saved(void **state)
{
	struct fixture *f = *state;
	int64_t segment = record(f, 40);

	assert_int_equal(store_save_journal(f->store, segment), 0);
	assert_int_equal(store_save_journal(f->store, segment), 0);
	assert_int_equal(journal_remove(f->run_dir, segment), 0);
	holds(f->store, 0, 40, 0);
	assert_int_equal(store_recover(f->store, 0), 0);
	holds(f->store, 0, 40, 0);
}

static void the_segment_being_written_is_left_alone(void **state)
{
	struct fixture *f = *state;
	int64_t *left;
	size_t n;

	record(f, 10);
	record(f, 10);
	assert_int_equal(store_recover(f->store, f->journal.segment), 0);
	assert_int_equal(journal_list(f->run_dir, &left, &n), 0);
	assert_true(n == 1 && left[0] == f->journal.segment);
	free(left);
	holds(f->store, 0, 20, 0);
}

/* --- how much is kept --- */

static int count_summaries(const struct summary *s, void *data)
{
	struct distribution *sum = data;

	assert_string_equal(s->program, "worker|");
	if (s->feature == FEATURE_CPU_TIME) {
		assert_true(fabs(s->distribution.q[2] / 1e9 - 1) < 0.01);
		sum->n += s->distribution.n;
	}
	return 0;
}

static double summarised(struct store *s, enum summary_tier tier)
{
	struct distribution sum = {};
	unsigned damaged;

	assert_int_equal(store_summaries(s, tier, INT64_MIN, INT64_MAX, count_summaries, &sum, &damaged), 0);
	assert_int_equal(damaged, 0);
	return sum.n;
}

static void old_segments_go_and_their_hours_stay(void **state)
{
	struct fixture *f = *state;
	struct retention keep = {.age = 1000 * NS_PER_SEC};
	double all;

	for (int i = 0; i < 20; i++)
		assert_int_equal(store_compact(f->store, record(f, 600)), 0);
	assert_true(summarised(f->store, SUMMARY_SEGMENT) == 12000);
	all = summarised(f->store, SUMMARY_HOUR);
	assert_true(all >= 7200 && all < 12000);
	assert_int_equal(store_retain(f->store, &keep), 0);
	holds(f->store, 10800, 1200, 0);
	assert_true(summarised(f->store, SUMMARY_SEGMENT) == 1200);
	assert_true(summarised(f->store, SUMMARY_HOUR) == all);
}

/* --- clocks that are wrong --- */

#define DAY_NS (86400 * NS_PER_SEC)

static const struct retention a_month = {.age = 30 * DAY_NS};

static int64_t segments_of(struct store *s)
{
	struct store_size size;

	assert_int_equal(store_size(s, &size), 0);
	return (int64_t)size.segments;
}

/* The machine was off for so many seconds, and its clock is off by so much now. */
static void start_again(struct fixture *f, const char *boot, int64_t seconds_off, int64_t off_by)
{
	store_close(f->store);
	f->seconds += seconds_off;
	f->booted = f->seconds;
	f->off_by = off_by;
	f->tick.boot = 0; /* another recorder's first tick */
	f->store = open_store(f, STORE_WRITE);
	snprintf(f->store->boot, sizeof(f->store->boot), "%s", boot);
}

static void record_segments(struct fixture *f, int n, int seconds)
{
	for (int i = 0; i < n; i++) {
		assert_int_equal(store_compact(f->store, record(f, seconds)), 0);
		assert_int_equal(store_retain(f->store, &a_month), 0);
	}
}

static void a_start_with_a_clock_ahead_deletes_nothing(void **state)
{
	struct fixture *f = *state;
	int64_t from, to;

	record_segments(f, 3, 600);
	start_again(f, "ahead", 60, 40 * DAY_NS);
	record_segments(f, 1, 8);
	assert_int_equal(segments_of(f->store), 4);
	start_again(f, "right", 60, 0);
	record_segments(f, 2, 600);
	assert_int_equal(segments_of(f->store), 6);
	assert_int_equal(store_extent(f->store, &from, &to), 0);
	assert_true(from == START && to == START + (f->seconds - 1) * NS_PER_SEC);
	record(f, 10); /* not compacted yet */
	assert_int_equal(store_extent(f->store, &from, &to), 0);
	assert_true(from == START && to == START + (f->seconds - 1) * NS_PER_SEC);
}

static void a_clock_that_is_ahead_for_long_deletes_nothing(void **state)
{
	struct fixture *f = *state;

	record_segments(f, 3, 600);
	start_again(f, "ahead", 60, 40 * DAY_NS);
	record_segments(f, 12, 600);
	start_again(f, "ahead again", 60, 80 * DAY_NS);
	record_segments(f, 12, 600);
	assert_int_equal(segments_of(f->store), 27);
}

/* Less than what a machine may have been off: it is believed only after an hour, and taken back when the clock is. */
static void a_clock_that_is_some_days_ahead_for_a_moment_deletes_nothing(void **state)
{
	static const char *const boots[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14"};
	struct fixture *f = *state;
	const struct retention two_days = {.age = 2 * DAY_NS};
	const int64_t n = ARRAY_SIZE(boots);

	for (int64_t i = 0; i < n; i++) {
		start_again(f, boots[i], 60, 0);
		record_segments(f, 7, 600);
		assert_int_equal(store_retain(f->store, &two_days), 0);
		start_again(f, "ahead", 60, (5 * DAY_NS) / 2);
		record_segments(f, 1, 8);
		assert_int_equal(store_retain(f->store, &two_days), 0);
	}
	assert_int_equal(segments_of(f->store), 8 * n);
}

static void a_clock_that_jumps_while_recording_deletes_nothing(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 5; i++) {
		record_segments(f, 2, 600);
		f->off_by = i % 2 ? 0 : (i - 1) * 700 * DAY_NS;
	}
	assert_int_equal(segments_of(f->store), 10);
}

static void within_a_boot_the_boot_clock_tells_the_age(void **state)
{
	struct fixture *f = *state;

	record_segments(f, 3, 600);
	f->off_by = -40 * DAY_NS;
	f->seconds += 31 * 86400; /* it slept */
	record_segments(f, 1, 600);
	assert_int_equal(segments_of(f->store), 1);
}

static void nights_and_weekends_count(void **state)
{
	static const char *const boots[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(boots); i++) {
		start_again(f, boots[i], 2 * 86400, 0);
		record_segments(f, 7, 600);
	}
	assert_in_range(segments_of(f->store), 14 * 7, 16 * 7);
	start_again(f, "after a long journey", 90 * 86400, 0);
	record_segments(f, 7, 600);
	assert_in_range(segments_of(f->store), 14 * 7, 17 * 7);
}

static void steps_of_the_clock_are_told(void **state)
{
	struct fixture *f = *state;
	struct clock_step *steps;
	char words[120];
	size_t n;

	record_segments(f, 2, 600);
	start_again(f, "ahead", 60, 40 * DAY_NS);
	record_segments(f, 1, 60);
	f->off_by = 0; /* the time server answers */
	record_segments(f, 1, 600);
	assert_int_equal(store_clock_steps(f->store, START + f->seconds * NS_PER_SEC + 50 * DAY_NS, 0, &steps, &n), 0);
	assert_int_equal(n, 3);
	assert_string_equal(clock_step_words(&steps[0], words, sizeof(words)), "nothing was recorded for 40 days, or the clock was ahead");
	assert_false(steps[0].within_boot);
	assert_int_equal(steps[0].to - steps[0].from, 40 * DAY_NS + 61 * NS_PER_SEC);
	assert_string_equal(clock_step_words(&steps[1], words, sizeof(words)), "the clock was set back by 40 days");
	assert_true(steps[1].within_boot && steps[1].step == -40 * DAY_NS);
	assert_string_equal(clock_step_words(&steps[2], words, sizeof(words)), "nothing was recorded for 50 days, or the clock was ahead");
	free(steps);
	start_again(f, "behind", 60, -9 * DAY_NS - 90 * NS_PER_SEC);
	record_segments(f, 1, 60);
	assert_int_equal(store_clock_steps(f->store, 0, 0, &steps, &n), 0);
	assert_int_equal(n, 3);
	assert_string_equal(clock_step_words(&steps[2], words, sizeof(words)), "the machine started with its clock 9 days behind the end of the recording");
	free(steps);
}

/* A segment that begins at a time that was recorded before has an id of its own. */
static void a_clock_that_is_set_back_loses_nothing(void **state)
{
	struct fixture *f = *state;
	struct dataset d = {};
	unsigned damaged;

	record_segments(f, 2, 600);
	f->off_by = -900 * NS_PER_SEC;
	record_segments(f, 2, 600);
	assert_int_equal(store_load(f->store, INT64_MIN, INT64_MAX, &d, &damaged), 0);
	assert_int_equal(damaged, 0);
	assert_int_equal(d.ticks.n, 2400);
	dataset_free(&d);
}

/* Two boots of a machine without a battery, each before the time server answers: their segments are not the oldest. */
static void beyond_the_size_the_oldest_written_go(void **state)
{
	struct fixture *f = *state;
	struct retention keep = {.bytes = 1 << 20};
	int64_t from, to;
	char boot[2] = "a";

	record_segments(f, 2, 60);
	for (; *boot < 'c'; (*boot)++) {
		start_again(f, boot, 0, 5 * NS_PER_SEC + (*boot - 'a') * NS_PER_MS - START - f->seconds * NS_PER_SEC);
		record_segments(f, 1, 60);
	}
	sql(f, "UPDATE chunk SET bytes = zeroblob(400000)");
	assert_int_equal(store_retain(f->store, &keep), 0);
	assert_int_equal(segments_of(f->store), 2);
	assert_int_equal(store_extent(f->store, &from, &to), 0);
	assert_true(from == 5 * NS_PER_SEC && to == 64 * NS_PER_SEC + NS_PER_MS);
}

static void hours_are_made_and_kept_whatever_the_clock_says(void **state)
{
	struct fixture *f = *state;

	record_segments(f, 13, 600);
	start_again(f, "ahead", 60, 800 * DAY_NS);
	record_segments(f, 1, 600);
	start_again(f, "right", 60, 0);
	record_segments(f, 13, 600);
	assert_true(summarised(f->store, SUMMARY_HOUR) >= 21 * 600); /* all but the hour that is not over */
	for (int day = 0; day < 400; day++) {
		f->seconds += 86400;
		record_segments(f, 1, 10);
	}
	/* the first are gone; there are those of a year, and the one that claims to lie ahead of all */
	assert_in_range((uint64_t)summarised(f->store, SUMMARY_HOUR), 3600 + 600, 3700 + 600);
}

static int look_at_waits(const struct summary *s, void *data)
{
	double *highest = data;

	if (s->feature == FEATURE_WAIT_PEER && s->distribution.q[QUANTILES - 1] > *highest)
		*highest = s->distribution.q[QUANTILES - 1];
	return 0;
}

static void a_wait_that_was_read_late_is_no_peak_of_a_summary(void **state)
{
	struct fixture *f = *state;
	double highest = 0;
	unsigned damaged;

	record_as(f, 100, true);
	assert_int_equal(store_compact(f->store, f->journal.segment), 0);
	assert_int_equal(store_summaries(f->store, SUMMARY_SEGMENT, INT64_MIN, INT64_MAX, look_at_waits, &highest, &damaged), 0);
	assert_true(highest > 0.9e9 && highest < 1.1e9);
}

static void times_without_a_recording_are_no_past(void **state)
{
	struct fixture *f = *state;
	int64_t from, night = 50000;

	for (int i = 0; i < 6; i++)
		assert_int_equal(store_compact(f->store, record(f, 600)), 0);
	f->seconds += night;
	record(f, 120);
	assert_int_equal(store_extend_window(f->store, START + 3500 * NS_PER_SEC, 1800 * NS_PER_SEC, &from), 0);
	assert_true(from == START + 1700 * NS_PER_SEC);
	assert_int_equal(store_extend_window(f->store, START + (3720 + night) * NS_PER_SEC, 1800 * NS_PER_SEC, &from), 0);
	assert_true(from == START + 1799 * NS_PER_SEC); /* what is not saved yet is not counted */
}

static void the_oldest_go_beyond_the_size(void **state)
{
	struct fixture *f = *state;
	struct retention keep = {.bytes = 1 << 20};
	struct store_size size;
	struct mark mark;
	int64_t id;

	assert_int_equal(store_mark(f->store, START, 0, "kept", &id), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	sql(f, "UPDATE chunk SET bytes = zeroblob(400000)");
	assert_int_equal(store_retain(f->store, &keep), 0);
	assert_int_equal(store_size(f->store, &size), 0);
	assert_true(size.file <= keep.bytes);
	assert_int_equal(size.segments, 2);
	assert_int_equal(store_mark_get(f->store, id, &mark), 0);
	mark_free(&mark);
}

static void an_export_is_whole(void **state)
{
	struct fixture *f = *state;
	char to[64], *error = NULL;
	struct store_paths paths = {to, NULL};
	struct store *copy;

	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	record(f, 30);
	snprintf(to, sizeof(to), "%s/copy.db", f->folder);
	assert_int_equal(store_export(f->store, to, false, &error), 0);
	assert_int_equal(store_open(&paths, STORE_READ, &copy, &error), 0);
	holds(copy, 0, 90, 0);
	store_close(copy);
	holds(f->store, 0, 90, 0);
	assert_int_equal(store_export(f->store, to, false, &error), -EEXIST);
	assert_non_null(strstr(error, "exists already"));
	free(error);
}

/* A file is bytes, wherever it comes to lie: no line of it is a user's. */
static void a_note_is_one_line_of_its_file(void **state)
{
	struct fixture *f = *state;
	static char bytes[1 << 20];
	char to[64], *error = NULL;
	FILE *file;
	int64_t id;
	size_t n;

	assert_int_equal(store_mark(f->store, START, 1000, "slow\nssh-ed25519 AAAA attacker\n", &id), 0);
	assert_int_equal(store_mark_note(f->store, id, 1000, "slow\nssh-ed25519 BBBB attacker\n\033[2J"), 0);
	snprintf(to, sizeof(to), "%s/copy.db", f->folder);
	assert_int_equal(store_export(f->store, to, false, &error), 0);
	file = fopen(to, "re");
	assert_non_null(file);
	n = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	assert_non_null(memmem(bytes, n, "ssh-ed25519 BBBB", 16));
	assert_null(memmem(bytes, n, "\nssh-ed25519", 12));
	assert_null(memmem(bytes, n, "\033[2J", 4));
}

/* --- what goes wrong --- */

static void a_damaged_chunk_is_left_out_and_counted(void **state)
{
	struct fixture *f = *state;
	char text[128];

	record(f, 60);
	assert_int_equal(store_compact(f->store, f->journal.segment), 0);
	snprintf(text, sizeof(text),
		 "UPDATE chunk SET bytes = substr(bytes, 1, length(bytes) - 1) WHERE segment = %lld",
		 (long long)record(f, 60));
	assert_int_equal(store_compact(f->store, f->journal.segment), 0);
	sql(f, text);
	holds(f->store, 0, 60, 1);
}

static void names_as_damaged(struct store *s, int64_t first, int64_t last)
{
	char *times = store_damage(s), words[100], from[40], to[40];

	snprintf(words, sizeof(words), "%s to %s", clock_format_local(START + first * NS_PER_SEC, from, sizeof(from)),
		 clock_format_local(START + last * NS_PER_SEC, to, sizeof(to)));
	assert_non_null(times);
	assert_string_equal(times, words);
	free(times);
}

/* The file's bytes, changed as a disk does it: below SQLite. */
static void spoil_file(const struct fixture *f, const void *there, size_t n)
{
	FILE *file = fopen(f->file, "r+e");
	size_t size, hits = 0;
	char *bytes;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(size);
	assert_int_equal(fread(bytes, 1, size, file), size);
	for (char *at = bytes; (at = memmem(at, size - (size_t)(at - bytes), there, n)); at++, hits++) {
		fseek(file, at - bytes + (long)n / 2, SEEK_SET);
		fputc(at[n / 2] ^ 1, file);
	}
	assert_true(hits > 0);
	free(bytes);
	fclose(file);
}

/* A blob of the store; the caller frees. */
static void *blob_of(struct fixture *f, const char *query, size_t *ret_n)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	void *bytes;

	assert_int_equal(sqlite3_open(f->file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, query, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	*ret_n = (size_t)sqlite3_column_bytes(stmt, 0);
	bytes = malloc(*ret_n);
	memcpy(bytes, sqlite3_column_blob(stmt, 0), *ret_n);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return bytes;
}

static void the_times_of_what_is_damaged_are_named(void **state)
{
	struct fixture *f = *state;
	void *chunk;
	size_t n;

	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	holds(f->store, 0, 120, 0);
	assert_null(store_damage(f->store));
	store_close(f->store); /* and the log is in the file */
	chunk = blob_of(f, "SELECT bytes FROM chunk ORDER BY segment DESC", &n);
	spoil_file(f, (char *)chunk + n / 2, 16);
	free(chunk);
	f->store = open_store(f, STORE_READ);
	holds(f->store, 0, 60, 1);
	names_as_damaged(f->store, 60, 119);
}

static int count_summary(const struct summary *summary, void *data)
{
	(void)summary;
	++*(unsigned *)data;
	return 0;
}

/* Without a checksum most of them would be taken for other figures. */
static void each_wrong_byte_of_a_summary_is_found(void **state)
{
	struct fixture *f = *state;
	unsigned told = 0, damaged;
	size_t n;
	void *whole;

	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	whole = blob_of(f, "SELECT bytes FROM summary", &n);
	assert_int_equal(store_summaries(f->store, SUMMARY_SEGMENT, INT64_MIN, INT64_MAX, count_summary, &told, &damaged), 0);
	assert_true(told > 0 && damaged == 0);
	for (size_t i = 0; i < n; i++) {
		char text[4096], *end = text + sprintf(text, "UPDATE summary SET bytes = x'");

		assert_true(n < 1024);
		for (size_t k = 0; k < n; k++)
			end += sprintf(end, "%02x", ((uint8_t *)whole)[k] ^ (k == i ? 0x41 : 0));
		strcpy(end, "'");
		sql(f, text);
		told = 0;
		assert_int_equal(store_summaries(f->store, SUMMARY_SEGMENT, INT64_MIN, INT64_MAX, count_summary, &told, &damaged), 0);
		if (damaged != 1 || told != 0)
			fail_msg("byte %zu of %zu was taken", i, n);
	}
	free(whole);
}

/* Under the sanitizer: neither has a place in memory. */
static void a_summary_of_nothing_is_damaged(void **state)
{
	static const char *const blobs[] = {"x''", "NULL", "x'0028b52ffd2400010000'", "x'0128b52ffd200109000000'"};
	struct fixture *f = *state;
	char text[80];
	unsigned told = 0, damaged;

	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	sql(f, "INSERT OR REPLACE INTO program VALUES(4611686018427387904, 'far'), (-1, 'before'), (9, NULL)");
	sql(f, "INSERT OR REPLACE INTO feature VALUES(4611686018427387904, 1, 'cpu.time'), (-1, -1, ''), (999, 1, NULL)");
	for (size_t i = 0; i < sizeof(blobs) / sizeof(blobs[0]); i++) {
		snprintf(text, sizeof(text), "UPDATE summary SET bytes = %s", blobs[i]);
		sql(f, text);
		assert_int_equal(store_summaries(f->store, SUMMARY_SEGMENT, INT64_MIN, INT64_MAX, count_summary, &told, &damaged), 0);
		assert_int_equal(damaged, 1);
		assert_int_equal(told, 0);
	}
}

/* Half a million rows of nothing, in as many bytes as one of a real recording. */
static void a_summary_that_claims_much_is_refused(void **state)
{
	enum { ROWS = 512 << 10 };
	struct fixture *f = *state;
	struct str raw = {}, packed = {};
	char text[16000], *end = text + sprintf(text, "UPDATE summary SET bytes = x'");
	unsigned told = 0, damaged;

	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	str_put_varint(&raw, ROWS);
	for (int i = 0; i < PLANES; i++) {
		str_put_varint(&raw, ROWS);
		assert_int_equal(str_reserve(&raw, ROWS), 0);
		memset(raw.data + raw.len, 0, ROWS);
		raw.len += ROWS;
	}
	str_put_varint(&packed, raw.len);
	assert_int_equal(blocks_pack(raw.data, (struct block_ends){&raw.len, 1}, 3, &packed), 0);
	assert_true(packed.len < 7000);
	for (size_t i = 0; i < packed.len; i++)
		end += sprintf(end, "%02x", (uint8_t)packed.data[i]);
	strcpy(end, "'");
	sql(f, text);
	assert_int_equal(store_summaries(f->store, SUMMARY_SEGMENT, INT64_MIN, INT64_MAX, count_summary, &told, &damaged), -EDQUOT);
	assert_int_equal(told, 0);
	str_free(&raw);
	str_free(&packed);
}

static void an_id_that_claims_millions_of_names_is_refused(void **state)
{
	struct fixture *f = *state;
	unsigned told = 0, damaged;

	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	sql(f, "INSERT INTO program VALUES(16777215, 'far')");
	assert_int_equal(store_summaries(f->store, SUMMARY_SEGMENT, INT64_MIN, INT64_MAX, count_summary, &told, &damaged), -EDQUOT);
	sql(f, "DELETE FROM program WHERE id = 16777215; INSERT INTO feature VALUES(16777215, 1, 'far')");
	assert_int_equal(store_summaries(f->store, SUMMARY_SEGMENT, INT64_MIN, INT64_MAX, count_summary, &told, &damaged), -EDQUOT);
}

static void spoil_journal(const struct fixture *f, int64_t segment, long at, int whence)
{
	char path[128];
	FILE *journal;
	int byte;

	snprintf(path, sizeof(path), "%s/journal/%lld", f->run_dir, (long long)segment);
	journal = fopen(path, "r+e");
	assert_non_null(journal);
	fseek(journal, at, whence);
	byte = fgetc(journal);
	fseek(journal, at, whence);
	fputc(byte ^ 0x20, journal);
	fclose(journal);
}

/* Nothing of it can be read: still its time is named. */
/* The page where the rows of a table begin becomes nonsense. */
static void spoil_table(struct fixture *f, const char *query)
{
	static const char nonsense[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int64_t page;
	int fd;

	assert_int_equal(sqlite3_open_v2(f->file, &db, SQLITE_OPEN_READWRITE, "whyslow"), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, query, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	page = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	fd = open(f->file, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, nonsense, sizeof(nonsense), (off_t)(page - 1) * 4096), sizeof(nonsense));
	close(fd);
}

static void damaged_rows_that_are_not_a_chunk_yet_are_named(void **state)
{
	struct fixture *f = *state;
	int64_t raw;

	assert_int_equal(store_compact(f->store, record(f, 10)), 0);
	raw = record(f, 10);
	assert_int_equal(store_save_journal(f->store, raw), 0);
	assert_int_equal(journal_remove(f->run_dir, raw), 0);
	store_close(f->store);
	spoil_table(f, "SELECT rootpage FROM sqlite_schema WHERE name = 'raw'");
	f->store = open_store(f, STORE_READ);
	holds(f->store, 0, 10, 1);
}

static void a_segment_that_is_lost_whole_is_named(void **state)
{
	struct fixture *f = *state;
	int64_t segment;

	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	segment = record(f, 60);
	spoil_journal(f, segment, 12, SEEK_SET);
	assert_int_equal(store_compact(f->store, segment), 0);
	holds(f->store, 0, 60, 1);
	names_as_damaged(f->store, 60, 60);
}

static void a_wrong_byte_of_the_journal_is_remarked(void **state)
{
	struct fixture *f = *state;
	struct dataset d = {};
	int64_t segment = record(f, 60);
	unsigned damaged;

	spoil_journal(f, segment, -200, SEEK_END);
	assert_int_equal(store_compact(f->store, segment), 0);
	assert_int_equal(store_load(f->store, INT64_MIN, INT64_MAX, &d, &damaged), 0);
	assert_true(d.ticks.n > 30 && d.ticks.n < 60);
	assert_int_equal(d.notes.n, 1);
	assert_non_null(strstr(d.notes.v[0].text, "damaged"));
	assert_true(d.notes.v[0].wall == d.ticks.v[d.ticks.n - 1].wall);
	dataset_free(&d);
}

static void opens_with(struct fixture *f, enum store_mode mode, int result, const char *words)
{
	struct store *s;
	char *error = NULL;

	store_close(f->store);
	f->store = NULL;
	assert_int_equal(store_open(&f->paths, mode, &s, &error), result);
	assert_non_null(error);
	if (!strstr(error, words))
		fail_msg("'%s' does not say '%s'", error, words);
	free(error);
}

static void copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	char bytes[4096];
	size_t n;

	assert_non_null(in);
	assert_non_null(out);
	while ((n = fread(bytes, 1, sizeof(bytes), in)))
		assert_int_equal(fwrite(bytes, 1, n, out), n);
	fclose(in);
	fclose(out);
}

/* All growths of processes' CPU time, and how many ticks. */
static double cpu_of_all(struct store *s, size_t *ret_ticks)
{
	struct dataset d = {};
	unsigned damaged;
	double sum = 0;

	assert_int_equal(store_load(s, INT64_MIN, INT64_MAX, &d, &damaged), 0);
	assert_int_equal(damaged, 0);
	for (size_t i = 0; i < d.subjects.n; i++)
		if (d.subjects.v[i]->info.kind == ENTITY_PROCESS)
			sum += subject_growth(&d, d.subjects.v[i], FEATURE_CPU_TIME, 0, (uint32_t)d.ticks.n - 1);
	*ret_ticks = d.ticks.n;
	dataset_free(&d);
	return sum;
}

static int64_t version_of(struct fixture *f)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int64_t version;

	assert_int_equal(sqlite3_open(f->file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	version = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return version;
}

/* --- the run directory of another recording --- */

static void open_other(struct fixture *f, const char *name, enum store_mode mode, struct store **ret)
{
	char path[300], *error = NULL;

	snprintf(path, sizeof(path), "%s.%s", f->file, name);
	assert_int_equal(store_open(&(struct store_paths){path, f->run_dir}, mode, ret, &error), 0);
	assert_null(error);
}

static void claim(struct store *s, bool sets_aside)
{
	bool set_aside;

	assert_int_equal(store_claim_run_dir(s, &set_aside), 0);
	assert_int_equal(set_aside, sets_aside);
}

static size_t marks_in(struct store *s)
{
	struct mark *marks;
	size_t n;

	assert_int_equal(store_marks(s, 0, INT64_MAX, &marks, &n), 0);
	marks_free(marks, n);
	return n;
}

/* "export --store X" without --run-dir took in what the recorder of this machine had recorded. */
static void another_recordings_journal_and_marks_are_left_alone(void **state)
{
	struct fixture *f = *state;
	char copied[300], *error = NULL;
	struct store *other;
	int64_t id;

	claim(f->store, false);
	assert_int_equal(store_open_marks(f->store), 0);
	record(f, 20);
	assert_int_equal(store_mark(f->store, START, 0, "ours", &id), 0);
	open_other(f, "x", STORE_WRITE, &other);
	assert_true(store_run_dir_is_foreign(other));
	holds(other, 0, 0, 0);
	assert_int_equal(marks_in(other), 0);
	assert_int_equal(store_mark(other, START, 0, "theirs", &id), 0);
	snprintf(copied, sizeof(copied), "%s.copy", f->file);
	assert_int_equal(store_export(other, copied, false, &error), 0);
	store_close(other);
	open_other(f, "copy", STORE_READ, &other);
	holds(other, 0, 0, 0);
	store_close(other);
	assert_false(store_run_dir_is_foreign(f->store));
	holds(f->store, 0, 20, 0);
	assert_int_equal(marks_in(f->store), 1);
	assert_int_equal(store_close_marks(f->store), 0);
}

/* A recorder was killed, one with another file began in its place, and then again one with the first. */
static void a_killed_recorders_journal_waits_for_its_own_recording(void **state)
{
	struct fixture *f = *state;
	struct store *other;
	char path[300];

	claim(f->store, false);
	record(f, 20);
	open_other(f, "x", STORE_WRITE, &other);
	claim(other, true);
	assert_int_equal(store_recover(other, 0), 0);
	holds(other, 0, 0, 0);
	store_close(other);
	assert_true(store_run_dir_is_foreign(f->store));
	assert_int_equal(store_recover(f->store, 0), 0);
	holds(f->store, 0, 0, 0);
	claim(f->store, false);
	holds(f->store, 0, 20, 0);
	open_other(f, "y", STORE_WRITE, &other);
	claim(other, true);
	store_close(other);
	open_other(f, "z", STORE_WRITE, &other); /* what two recordings left would be too much memory */
	claim(other, false);
	store_close(other);
	claim(f->store, false);
	holds(f->store, 0, 0, 0);
	snprintf(path, sizeof(path), "%s/journal", f->run_dir);
	assert_int_equal(access(path, F_OK), 0);
}

/* fixtures/store/version-3.db, by the program of that time: ten minutes as a chunk, one as raw rows after a power cut, a mark. */
static void a_store_of_the_version_before_is_taken_over(void **state)
{
	struct fixture *f = *state;
	const struct store_paths foreign = {f->file, NULL};
	struct mark *marks;
	struct store *s;
	char *error = NULL;
	size_t ticks, n;
	double before;

	store_close(f->store);
	f->store = NULL;
	copy_file(FIXTURES "/store/version-3.db", f->file);
	assert_int_equal(store_open(&foreign, STORE_READ, &s, &error), 0);
	before = cpu_of_all(s, &ticks);
	assert_true(before > 0 && ticks == 660);
	store_close(s);
	assert_int_equal(version_of(f), 3); /* reading changes nothing */
	f->store = open_store(f, STORE_WRITE);
	assert_int_equal(version_of(f), 7);
	assert_true(cpu_of_all(f->store, &ticks) == before);
	assert_int_equal(store_recover(f->store, 0), 0);
	assert_true(fabs(cpu_of_all(f->store, &ticks) / before - 1) < 1e-9);
	assert_int_equal(ticks, 660);
	assert_int_equal(store_marks(f->store, INT64_MIN, INT64_MAX, &marks, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(marks[0].note, "slow in version 3");
	marks_free(marks, n);
}

static void a_newer_version_is_refused_and_untouched(void **state)
{
	struct fixture *f = *state;
	sqlite3_stmt *stmt;
	sqlite3 *db;

	sql(f, "PRAGMA user_version = 9; DROP TABLE program");
	opens_with(f, STORE_READ, -EPROTONOSUPPORT, "upgrade whyslow");
	opens_with(f, STORE_WRITE, -EPROTONOSUPPORT, "upgrade whyslow");
	assert_int_equal(sqlite3_open(f->file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM program", -1, &stmt, NULL), SQLITE_ERROR);
	sqlite3_close(db);
}

static void a_corrupted_page_is_said(void **state)
{
	struct fixture *f = *state;
	struct dataset d = {};
	struct mark *marks;
	char rubbish[4096];
	unsigned damaged;
	struct stat st;
	int fd, r;
	size_t n;

	for (int i = 0; i < 3; i++)
		assert_int_equal(store_compact(f->store, record(f, 600)), 0);
	store_close(f->store);
	memset(rubbish, 0xa5, sizeof(rubbish));
	fd = open(f->file, O_WRONLY);
	fstat(fd, &st);
	for (off_t at = 4096; at < st.st_size; at += 4096)
		assert_int_equal(pwrite(fd, rubbish, sizeof(rubbish), at), sizeof(rubbish));
	close(fd);
	f->store = open_store(f, STORE_READ);
	r = store_load(f->store, INT64_MIN, INT64_MAX, &d, &damaged);
	assert_int_equal(r, -EUCLEAN);
	assert_non_null(strstr(store_error(f->store), "move it away"));
	assert_int_equal(store_marks(f->store, INT64_MIN, INT64_MAX, &marks, &n), -EUCLEAN);
	dataset_free(&d);
}

static void no_database_at_all_is_said(void **state)
{
	struct fixture *f = *state;
	FILE *out;

	store_close(f->store);
	f->store = NULL;
	out = fopen(f->file, "w");
	for (int i = 0; i < 1000; i++)
		fputs("this is no database ", out);
	fclose(out);
	opens_with(f, STORE_READ, -EUCLEAN, "not a recording");
	unlink(f->file);
	opens_with(f, STORE_READ, -ENOENT, "start the recorder");
	mkdir(f->file, 0700);
	opens_with(f, STORE_READ, -EISDIR, "folder");
	opens_with(f, STORE_WRITE, -EISDIR, "folder");
	rmdir(f->file);
}

/* A disk of one megabyte, where the rights allow it. */
static bool mount_small(struct fixture *f, char *path, size_t n, const char *options)
{
	snprintf(path, n, "%s/disk", f->folder);
	return mkdir(path, 0700) == 0 && mount("none", path, "tmpfs", 0, options) == 0;
}

static void a_full_disk_loses_nothing(void **state)
{
	struct fixture *f = *state;
	char disk[64], filler[80];
	int64_t segment, id;
	struct store *second;
	int fd;

	if (geteuid() != 0 || !mount_small(f, disk, sizeof(disk), "size=1m"))
		skip();
	store_close(f->store);
	snprintf(f->file, sizeof(f->file), "%s/recording.db", disk);
	f->store = open_store(f, STORE_WRITE);
	segment = record(f, 600);
	snprintf(filler, sizeof(filler), "%s/filler", disk);
	fd = open(filler, O_CREAT | O_WRONLY, 0600);
	while (write(fd, filler, sizeof(filler)) > 0)
		;
	close(fd);
	assert_int_equal(store_compact(f->store, segment), -ENOSPC);
	assert_non_null(strstr(store_error(f->store), "disk is full"));
	assert_int_equal(store_save_journal(f->store, segment), -ENOSPC);
	holds(f->store, 0, 600, 0);
	/* a recorder that was killed begins again */
	second = open_store(f, STORE_WRITE);
	assert_int_equal(store_open_marks(second), 0);
	assert_int_equal(store_mark(second, START, 0, "the disk is full", &id), 0);
	assert_int_equal(store_save_marks(second), -ENOSPC);
	store_close(second);
	unlink(filler);
	assert_int_equal(store_compact(f->store, segment), 0);
	holds(f->store, 0, 600, 0);
	store_close(f->store);
	f->store = NULL;
	umount(disk);
}

static void fill(const char *disk)
{
	char path[80];
	static const char block[4096] = "full";
	int fd;

	snprintf(path, sizeof(path), "%s/filler", disk);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		continue;
	close(fd);
}

/* Each of the size of what ten minutes of a busy machine take. */
static void add_segments(struct fixture *f, int n)
{
	char text[300];

	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "INSERT INTO segment VALUES(%d, 0, 0, 600, 1); INSERT INTO chunk VALUES(%d, randomblob(400000));", i, i);
		sql(f, text);
	}
}

static int64_t bytes_of(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 ? st.st_size : -1;
}

/* Deleting takes room: for the log, and for its index, which a store that was closed in order has to make again. */
static void a_full_disk_is_freed_by_a_smaller_limit(void **state)
{
	struct fixture *f = *state;
	const struct retention plenty = {.bytes = 64 << 20}, less = {.bytes = 2 << 20};
	char disk[64], reserve[110];

	store_close(f->store);
	f->store = NULL;
	if (!mount_small(f, disk, sizeof(disk), "size=10m"))
		skip();
	snprintf(f->file, sizeof(f->file), "%s/recording.db", disk);
	snprintf(reserve, sizeof(reserve), "%s.reserve", f->file);
	f->store = open_store(f, STORE_WRITE);
	assert_int_equal(store_retain(f->store, &plenty), 0);
	assert_true(bytes_of(reserve) > 0);
	add_segments(f, 14);
	store_close(f->store);
	fill(disk);
	f->store = open_store(f, STORE_WRITE);
	assert_int_equal(store_retain(f->store, &less), 0);
	assert_true(bytes_of(f->file) < 3 << 20);
	assert_true(bytes_of(reserve) > 0); /* for the next time */
	fill(disk);
	assert_int_equal(store_retain(f->store, &(struct retention){.bytes = 1 << 20}), 0);
	assert_true(bytes_of(f->file) < 2 << 20);
	store_close(f->store);
	f->store = NULL;
	umount(disk);
}

static void a_copy_on_a_read_only_disk_can_be_read(void **state)
{
	struct fixture *f = *state;
	char disk[64], copy[80], *error = NULL;

	if (geteuid() != 0 || !mount_small(f, disk, sizeof(disk), "size=4m"))
		skip();
	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	snprintf(copy, sizeof(copy), "%s/copy.db", disk);
	assert_int_equal(store_export(f->store, copy, false, &error), 0);
	assert_int_equal(mount("none", disk, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	f->paths = (struct store_paths){copy, NULL};
	store_close(f->store);
	f->store = open_store(f, STORE_READ);
	holds(f->store, 0, 60, 0);
	opens_with(f, STORE_WRITE, -EROFS, "read-only");
	umount(disk);
}

/* --- a file that goes away --- */

static void open_anew(struct fixture *f)
{
	assert_true(store_has_moved(f->store));
	assert_int_equal(store_open_anew(f->store), 0);
	assert_false(store_has_moved(f->store));
	assert_int_equal(store_save_journal(f->store, f->journal.segment), 0);
	assert_int_equal(store_save_marks(f->store), 0);
}

static void a_deleted_file_is_made_again_with_the_journal_and_the_marks(void **state)
{
	struct fixture *f = *state;
	const uint32_t id = f->store->id;
	int64_t mark, segment;
	struct mark m;

	assert_int_equal(store_open_marks(f->store), 0);
	assert_int_equal(store_mark(f->store, START, 0, "kept", &mark), 0);
	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	segment = record(f, 30);
	assert_int_equal(store_save_journal(f->store, segment), 0);
	assert_false(store_has_moved(f->store));
	assert_int_equal(unlink(f->file), 0); /* its log stays behind */
	assert_int_equal(store_compact(f->store, segment), -ESTALE);
	assert_non_null(strstr(store_error(f->store), "was deleted or replaced"));
	open_anew(f);
	assert_int_equal(f->store->id, id);
	holds(f->store, 60, 30, 0);
	assert_int_equal(store_compact(f->store, segment), 0);
	assert_int_equal(store_compact(f->store, record(f, 10)), 0);
	assert_int_equal(store_close_marks(f->store), 0);
	store_close(f->store);
	f->store = open_store(f, STORE_WRITE);
	holds(f->store, 60, 40, 0);
	assert_int_equal(store_mark_get(f->store, mark, &m), 0);
	assert_string_equal(m.note, "kept");
	mark_free(&m);
}

/* Another process reads from the file what was in the log alone: it is not lost when this one is killed afterwards. */
static void a_log_that_is_deleted_is_brought_into_the_file_and_made_again(void **state)
{
	struct fixture *f = *state;
	struct store *reader;
	char log[140];
	int64_t segment;

	snprintf(log, sizeof(log), "%s-wal", f->file);
	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	segment = record(f, 30);
	assert_false(store_log_is_gone(f->store));
	assert_int_equal(unlink(log), 0);
	assert_false(store_has_moved(f->store));
	assert_true(store_log_is_gone(f->store));
	assert_int_equal(store_compact(f->store, segment), -ESTALE); /* the journal stays until a log holds it that others find */
	assert_int_equal(store_open_anew(f->store), 0);
	assert_false(store_log_is_gone(f->store));
	assert_int_equal(access(log, F_OK), 0);
	assert_int_equal(store_compact(f->store, segment), 0);
	reader = open_store(f, STORE_READ);
	holds(reader, 0, 90, 0);
	store_close(reader);
}

static void a_copy_that_is_put_back_continues(void **state)
{
	struct fixture *f = *state;
	char copy[120];

	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	store_close(f->store);
	snprintf(copy, sizeof(copy), "%s.copy", f->file);
	copy_file(f->file, copy);
	f->store = open_store(f, STORE_WRITE);
	assert_int_equal(store_open_marks(f->store), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(store_compact(f->store, record(f, 60)), 0); /* these are in the log alone */
	record(f, 20);
	assert_int_equal(rename(copy, f->file), 0);
	open_anew(f);
	assert_int_equal(store_compact(f->store, f->journal.segment), 0);
	assert_int_equal(segments_of(f->store), 2);
	sql(f, "PRAGMA integrity_check");
}

static void a_deleted_run_directory_takes_no_marks_away(void **state)
{
	struct fixture *f = *state;
	int64_t first, second;
	struct store *other;
	char path[120];

	assert_int_equal(store_open_marks(f->store), 0);
	assert_int_equal(store_mark(f->store, START, 0, "before", &first), 0);
	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	record(f, 20);
	assert_false(journal_is_gone(&f->journal));
	snprintf(path, sizeof(path), "%s/run", f->folder);
	assert_int_equal(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	assert_true(journal_is_gone(&f->journal));
	assert_int_equal(store_save_journal(f->store, f->journal.segment), -ENOENT);
	assert_non_null(strstr(store_error(f->store), "journal: No such file"));
	journal_close(&f->journal);
	assert_int_equal(journal_open(f->run_dir, &f->journal), 0);
	assert_int_equal(store_save_marks(f->store), 0);
	other = open_store(f, STORE_MARK);
	assert_int_equal(store_mark(other, START + 60 * NS_PER_SEC, 0, "after", &second), 0);
	store_close(other);
	assert_int_equal(store_save_marks(f->store), 0);
	assert_int_equal(store_close_marks(f->store), 0);
	for (int i = 0; i < 2; i++) {
		struct mark m;

		assert_int_equal(store_mark_get(f->store, i ? second : first, &m), 0);
		assert_string_equal(m.note, i ? "after" : "before");
		mark_free(&m);
	}
}

/* `cp COPY FILE` while a recorder writes: the same inode, with other bytes and the log of the file before. */
static void a_copy_that_is_written_over_it_continues(void **state)
{
	struct fixture *f = *state;
	char copy[120];

	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	store_close(f->store);
	snprintf(copy, sizeof(copy), "%s.copy", f->file);
	copy_file(f->file, copy);
	f->store = open_store(f, STORE_WRITE);
	assert_int_equal(store_lock(f->store), 0);
	assert_int_equal(store_open_marks(f->store), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	assert_int_equal(sqlite3_wal_checkpoint_v2(f->store->db, "main", SQLITE_CHECKPOINT_FULL, NULL, NULL), SQLITE_OK);
	assert_false(store_has_moved(f->store));
	assert_int_equal(store_compact(f->store, record(f, 60)), 0); /* in the log alone */
	assert_false(store_has_moved(f->store));
	record(f, 20);
	copy_file(copy, f->file);
	open_anew(f);
	assert_int_equal(store_compact(f->store, f->journal.segment), 0);
	assert_int_equal(segments_of(f->store), 2);
	sql(f, "PRAGMA integrity_check");
}

static void another_recording_in_its_place_is_left_alone(void **state)
{
	struct fixture *f = *state;
	char other[120], *error = NULL;
	struct stat before, after;

	assert_int_equal(store_compact(f->store, record(f, 60)), 0);
	assert_int_equal(store_open_marks(f->store), 0);
	snprintf(other, sizeof(other), "%s.other", f->file);
	assert_int_equal(store_export(f->store, other, false, &error), 0);
	record(f, 20);
	assert_int_equal(rename(other, f->file), 0);
	assert_int_equal(stat(f->file, &before), 0);
	for (int tries = 0; tries < 3; tries++) {
		assert_true(store_has_moved(f->store));
		assert_int_equal(store_open_anew(f->store), -EEXIST);
		assert_non_null(strstr(store_error(f->store), "move it away"));
	}
	assert_int_equal(stat(f->file, &after), 0);
	assert_true(before.st_size == after.st_size && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
	assert_int_equal(unlink(f->file), 0);
	open_anew(f);
	holds(f->store, 60, 20, 0);
}

/* --- marks --- */

static struct mark get_mark(struct store *s, int64_t id)
{
	struct mark m;

	assert_int_equal(store_mark_get(s, id, &m), 0);
	return m;
}

static void presses_within_five_seconds_are_one(void **state)
{
	struct fixture *f = *state;
	int64_t first, second, other, later;
	struct mark m;

	assert_int_equal(store_mark(f->store, START, 1000, NULL, &first), 0);
	assert_int_equal(store_mark(f->store, START + 4 * NS_PER_SEC, 1000, "slow", &second), 1);
	assert_int_equal(store_mark(f->store, START + 5 * NS_PER_SEC, 1001, NULL, &other), 0);
	assert_int_equal(store_mark(f->store, START + 9 * NS_PER_SEC, 1000, NULL, &later), 1);
	assert_true(first == second && first == later && other != first);
	m = get_mark(f->store, first);
	assert_true(m.presses == 3 && m.wall == START && m.last == START + 9 * NS_PER_SEC);
	assert_string_equal(m.note, "slow");
	mark_free(&m);
	assert_int_equal(store_mark(f->store, START + 15 * NS_PER_SEC, 1000, NULL, &later), 0);
	assert_true(later != first);
}

/* The note of the first press may be the one that is looked for later. */
static void no_note_of_presses_that_are_one_is_lost(void **state)
{
	struct fixture *f = *state;
	int64_t id;
	struct mark m;

	assert_int_equal(store_mark(f->store, START, 1000, "editor hangs", &id), 0);
	assert_int_equal(store_mark(f->store, START + NS_PER_SEC, 1000, "again", &id), 1);
	assert_int_equal(store_mark(f->store, START + 2 * NS_PER_SEC, 1000, NULL, &id), 1);
	assert_int_equal(store_mark(f->store, START + 3 * NS_PER_SEC, 1000, "again", &id), 1);
	m = get_mark(f->store, id);
	assert_true(m.presses == 4);
	assert_string_equal(m.note, "editor hangs; again");
	mark_free(&m);
}

static void only_the_owner_and_root_change_a_mark(void **state)
{
	struct fixture *f = *state;
	int64_t id, undone;
	struct mark m;

	assert_int_equal(store_mark(f->store, START, 1000, NULL, &id), 0);
	assert_int_equal(store_mark_note(f->store, id, 1001, "not mine"), -ENOENT);
	assert_int_equal(store_mark_feedback(f->store, id, 1001, FEEDBACK_WRONG), -ENOENT);
	assert_int_equal(store_mark_undo(f->store, 1001, &undone), -ENOENT);
	assert_int_equal(store_mark_note(f->store, id, 1000, "mine\033[2J"), 0);
	assert_int_equal(store_mark_feedback(f->store, id, 0, FEEDBACK_FIXED), 0);
	m = get_mark(f->store, id);
	assert_string_equal(m.note, "mine?[2J"); /* shown as it is */
	assert_int_equal(m.feedback, FEEDBACK_FIXED);
	mark_free(&m);
	assert_int_equal(store_mark_undo(f->store, 1000, &undone), 0);
	assert_int_equal(undone, id);
	assert_int_equal(store_mark_get(f->store, id, &m), -ENOENT);
	assert_int_equal(store_mark_note(f->store, id, 0, "gone"), -ENOENT);
}

/* Next to the presses: never joined with one, never taken back, and judged by the one that sat there. */
static void what_a_rule_caught_is_listed_like_a_mark(void **state)
{
	struct fixture *f = *state;
	int64_t mark, caught, again, undone;
	struct mark m, *open;
	size_t n;

	assert_int_equal(store_rule_incident(f->store, START, "cpu: up to 97 %", &caught), 0);
	assert_int_equal(store_mark(f->store, START + NS_PER_SEC, 0, NULL, &mark), 0);
	assert_int_equal(store_rule_incident(f->store, START + 2 * NS_PER_SEC, "disk: up to 80 %", &again), 0);
	assert_true(caught != mark && again != caught);
	m = get_mark(f->store, caught);
	assert_true(mark_is_of_rule(&m) && m.goes_on);
	mark_free(&m);
	assert_int_equal(store_rule_incident_extend(f->store, caught, START + 9 * NS_PER_SEC, "cpu: up to 99 %, for 9 s", true), 0);
	assert_int_equal(store_rule_incident_extend(f->store, mark, START, "a mark is nobody's but its presser's", true), -ENOENT);
	m = get_mark(f->store, caught);
	assert_true(mark_is_of_rule(&m) && !m.goes_on && m.wall == START && m.last == START + 9 * NS_PER_SEC);
	assert_string_equal(m.note, "cpu: up to 99 %, for 9 s");
	mark_free(&m);
	assert_int_equal(store_open_incidents(f->store, &open, &n), 0);
	assert_true(n == 1 && open[0].id == again);
	marks_free(open, n);
	assert_int_equal(store_mark_feedback(f->store, caught, 1000, FEEDBACK_RIGHT), 0);
	m = get_mark(f->store, caught);
	assert_int_equal(store_feedback_by(f->store, &m, 1000), FEEDBACK_RIGHT);
	assert_int_equal(store_feedback_by(f->store, &m, 1001), FEEDBACK_NONE);
	assert_int_equal(store_feedback_by(f->store, &m, 0), FEEDBACK_NONE); /* root's answers go by what root says */
	assert_int_equal(store_mark_feedback(f->store, caught, 0, FEEDBACK_WRONG), 0);
	assert_int_equal(store_feedback_by(f->store, &m, 0), FEEDBACK_WRONG);
	assert_int_equal(store_feedback_by(f->store, &m, 1000), FEEDBACK_RIGHT);
	mark_free(&m);
	assert_int_equal(store_mark_undo(f->store, 0, &undone), 0);
	assert_int_equal(undone, mark);
	assert_int_equal(store_mark_undo(f->store, 0, &undone), -ENOENT);
}

/* The trigger's handle, and those of inspections under way, are older than the end of the recorder, and than the next one. */
static void a_handle_finds_the_marks_again_when_they_move(void **state)
{
	struct fixture *f = *state;
	struct capture c = {.wall = START, .pid = 42, .summary = (char *)"s", .text = (char *)"text", .json = (char *)"{}"};
	struct store *second;
	struct capture *list;
	struct mark m;
	size_t n;
	int64_t id;

	assert_int_equal(store_open_marks(f->store), 0);
	second = open_store(f, STORE_MARK);
	assert_int_equal(store_rule_incident(second, START, "cpu: up to 97 %", &id), 0);
	assert_int_equal(store_close_marks(f->store), 0);
	assert_int_equal(store_rule_incident_extend(second, id, START + 9 * NS_PER_SEC, "cpu: up to 99 %, for 9 s", true), 0);
	c.mark = id;
	assert_int_equal(store_capture(second, &c), 0);
	m = get_mark(f->store, id);
	assert_true(!m.goes_on && m.last == START + 9 * NS_PER_SEC);
	assert_string_equal(m.note, "cpu: up to 99 %, for 9 s");
	mark_free(&m);
	assert_int_equal(store_open_marks(f->store), 0);
	assert_int_equal(store_mark_note(second, id, 0, "seen"), 0);
	assert_int_equal(store_close_marks(f->store), 0);
	m = get_mark(f->store, id);
	assert_string_equal(m.note, "seen");
	mark_free(&m);
	assert_int_equal(store_captures(f->store, id, &list, &n), 0);
	assert_int_equal(n, 1);
	capture_free(&list[0]);
	free(list);
	store_close(second);
}

/* A disk that does not answer, or whose recording is locked, must not hold up the button. */
static void a_press_leaves_the_recording_alone(void **state)
{
	struct fixture *f = *state;
	struct store *press = NULL;
	sqlite3 *busy = NULL;
	char *error = NULL;
	struct mark m;
	int64_t id;

	assert_int_equal(store_open_press(f->run_dir, &press, &error), -ENOENT); /* no recorder */
	free(error);
	assert_int_equal(store_open_marks(f->store), 0);
	assert_int_equal(sqlite3_open(f->file, &busy), SQLITE_OK);
	assert_int_equal(sqlite3_exec(busy, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(store_open_press(f->run_dir, &press, &error), 0);
	assert_int_equal(store_mark(press, START, 0, "crawls", &id), 0);
	store_close(press);
	sqlite3_close(busy);
	assert_int_equal(store_close_marks(f->store), 0);
	m = get_mark(f->store, id);
	assert_string_equal(m.note, "crawls");
	mark_free(&m);
}

/* Who compacts or deletes writes as long as the disk likes. */
static void a_press_waits_for_no_write_to_the_recording(void **state)
{
	struct fixture *f = *state;
	struct store *press = NULL;
	char *error = NULL;
	int64_t id;

	assert_int_equal(store_open_marks(f->store), 0);
	assert_int_equal(store_open_press(f->run_dir, &press, &error), 0);
	assert_int_equal(store_begin(f->store), 0);
	assert_int_equal(store_mark(press, START, 0, "crawls", &id), 0);
	store_rollback(f->store);
	store_close(press);
	assert_int_equal(store_close_marks(f->store), 0);
}

static void open_run(struct fixture *f, sqlite3 **ret)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/marks.db", f->run_dir);
	assert_int_equal(sqlite3_open(path, ret), SQLITE_OK);
}

/* An answer that reads the marks may have no CPU for a long time. */
static void a_press_waits_for_no_reader(void **state)
{
	struct fixture *f = *state;
	sqlite3_stmt *stmt = NULL;
	struct store *press = NULL;
	sqlite3 *reader = NULL;
	char *error = NULL;
	int64_t id;

	assert_int_equal(store_open_marks(f->store), 0);
	assert_int_equal(store_mark(f->store, START, 0, "first", &id), 0);
	open_run(f, &reader);
	assert_int_equal(sqlite3_prepare_v2(reader, "SELECT * FROM mark", -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(store_open_press(f->run_dir, &press, &error), 0);
	assert_int_equal(store_mark(press, START + 60 * NS_PER_SEC, 0, "crawls", &id), 0);
	store_close(press);
	sqlite3_finalize(stmt);
	sqlite3_close(reader);
	assert_int_equal(store_close_marks(f->store), 0);
}

static bool has_run_file(const struct fixture *f, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", f->run_dir, name);
	return access(path, F_OK) == 0;
}

/* The next recorder's file has the same name: an older log next to it would be read as its own. */
static void marks_leave_no_log_and_take_no_other_ones(void **state)
{
	struct fixture *f = *state;
	struct store *late = NULL;
	char *error = NULL;
	int64_t id;

	assert_int_equal(store_open_marks(f->store), 0);
	assert_int_equal(store_open_press(f->run_dir, &late, &error), 0);
	assert_int_equal(store_mark(late, START, 0, "crawls", &id), 0);
	assert_int_equal(store_close_marks(f->store), 0);
	assert_false(has_run_file(f, "marks.db-wal") || has_run_file(f, "marks.db-shm") || has_run_file(f, "marks.db"));
	assert_int_equal(store_open_marks(f->store), 0);
	assert_int_equal(store_mark(f->store, START + 60 * NS_PER_SEC, 0, "again", &id), 0);
	store_close(late);
	assert_true(has_run_file(f, "marks.db-wal"));
	assert_int_equal(store_close_marks(f->store), 0);
}

/* A recorder that was killed leaves its marks next to the journal; the next one says until when it is known of. */
static void what_a_killed_recorder_had_caught_is_ended(void **state)
{
	struct fixture *f = *state;
	int64_t id, over;
	struct mark m;

	assert_int_equal(store_open_marks(f->store), 0);
	assert_int_equal(store_rule_incident(f->store, START, "cpu: up to 97 %", &id), 0);
	assert_int_equal(store_rule_incident(f->store, START, "disk: up to 97 %", &over), 0);
	assert_int_equal(store_rule_incident_extend(f->store, over, START + NS_PER_SEC, "disk: up to 97 %, for 1 s", true), 0);
	store_close(f->store);
	f->store = open_store(f, STORE_WRITE);
	assert_int_equal(store_open_marks(f->store), 0);
	assert_int_equal(store_rule_incidents_end(f->store, START + 60 * NS_PER_SEC, ", and then?"), 0);
	assert_int_equal(store_close_marks(f->store), 0);
	m = get_mark(f->store, id);
	assert_true(mark_is_of_rule(&m) && !m.goes_on && m.last == START + 60 * NS_PER_SEC);
	assert_string_equal(m.note, "cpu: up to 97 %, and then?");
	mark_free(&m);
	m = get_mark(f->store, over);
	assert_int_equal(m.last, START + NS_PER_SEC);
	mark_free(&m);
}

/* Asked by another process: does something hold a lock on the file? */
static bool is_locked(const char *file)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
		int fd = open(file, O_RDWR);

		_exit(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 7 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

/* Else the next reader takes the recording for abandoned, and deletes the log that the recorder continues writing. */
static void a_second_handle_takes_no_locks_away(void **state)
{
	struct fixture *f = *state;
	struct store *second;
	char *error = NULL;
	int64_t segment = record(f, 30);

	assert_int_equal(store_save_journal(f->store, segment), 0);
	assert_true(is_locked(f->file));
	assert_int_equal(store_open(&f->paths, STORE_MARK, &second, &error), 0);
	assert_true(is_locked(f->file));
	store_close(second);
	assert_true(is_locked(f->file));
}

static void one_recorder_writes_at_a_time(void **state)
{
	struct fixture *f = *state;
	struct store *second = open_store(f, STORE_WRITE), *marker = open_store(f, STORE_MARK);
	int64_t id;

	assert_int_equal(store_lock(f->store), 0);
	assert_int_equal(store_lock(second), -EBUSY);
	assert_non_null(strstr(store_error(second), "another recorder writes to"));
	store_close(second);
	assert_int_equal(store_mark(marker, START, 0, NULL, &id), 0);
	store_close(marker);
	store_close(f->store);
	f->store = open_store(f, STORE_WRITE);
	assert_int_equal(store_lock(f->store), 0);
}

static void captures_are_kept_with_their_incident(void **state)
{
	struct fixture *f = *state;
	struct capture c = {.mark = 3, .wall = START, .pid = 42, .summary = (char *)"s", .text = (char *)"text", .json = (char *)"{}"};
	struct capture *list;
	char *large;
	size_t n;

	assert_int_equal(store_capture(f->store, &c), 0);
	c.pid = 43;
	assert_int_equal(store_capture(f->store, &c), 0);
	c.mark = 4;
	assert_int_equal(store_capture(f->store, &c), 0);
	c.mark = 3;
	c.phase = 2; /* what it did after a dip stands next to what it did before */
	c.wall++;
	assert_int_equal(store_capture(f->store, &c), 0);
	assert_int_equal(store_captures(f->store, 3, &list, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(list[1].pid, 43);
	assert_int_equal(list[1].phase, 0);
	assert_int_equal(list[2].pid, 43);
	assert_int_equal(list[2].phase, 2);
	assert_string_equal(list[1].text, "text");
	assert_string_equal(list[1].json, "{}");
	for (size_t i = 0; i < n; i++)
		capture_free(&list[i]);
	free(list);
	large = calloc(1, (9 << 20) + 1);
	memset(large, 'x', 9 << 20);
	c.text = large;
	assert_int_equal(store_capture(f->store, &c), -E2BIG);
	assert_null(strstr(store_error(f->store), "no error"));
	assert_string_equal(store_reason(f->store, -E2BIG), str_error(-E2BIG));
	free(large);
}

struct counted {
	size_t all, of_root, caught;
	int64_t oldest_of_user;
};

static struct counted count_marks(struct store *s)
{
	struct counted c = {.oldest_of_user = INT64_MAX};
	struct mark *marks;
	size_t n;

	assert_int_equal(store_marks(s, INT64_MIN, INT64_MAX, &marks, &n), 0);
	for (size_t i = 0; i < n; i++) {
		c.all++;
		c.caught += mark_is_of_rule(&marks[i]);
		c.of_root += !mark_is_of_rule(&marks[i]) && !marks[i].uid;
		if (marks[i].uid && marks[i].wall < c.oldest_of_user)
			c.oldest_of_user = marks[i].wall;
	}
	marks_free(marks, n);
	return c;
}

/* Any user may press the button. */
static void the_marks_of_one_user_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct counted c;
	int64_t id;

	assert_int_equal(store_mark(f->store, START, 0, "root's", &id), 0);
	assert_int_equal(store_open_marks(f->store), 0);
	assert_int_equal(store_rule_incident(f->store, START, "caught", &id), 0);
	for (int i = 1; i <= 1030; i++)
		assert_int_equal(store_mark(f->store, START + 10 * i * NS_PER_SEC, 1000, "mine", &id), 0);
	c = count_marks(f->store);
	assert_int_equal(c.all, 1002);
	assert_int_equal(c.of_root, 1);
	assert_int_equal(c.caught, 1);
	assert_int_equal(c.oldest_of_user, START + 310 * NS_PER_SEC);
	assert_int_equal(store_tell(f->store, id, 1000, "{}"), 0);
	assert_int_equal(store_close_marks(f->store), 0);
	assert_int_equal(count_marks(f->store).all, 1002);
	free(store_read_answer(f->store, id, 1000));
	assert_int_equal(store_open_marks(f->store), 0); /* those that went do not come back */
	assert_int_equal(count_marks(f->store).all, 1002);
	assert_int_equal(store_close_marks(f->store), 0);
}

static void many_users_marks_are_bounded_together(void **state)
{
	struct fixture *f = *state;
	struct counted c;
	int64_t id;

	assert_int_equal(store_open_marks(f->store), 0);
	assert_int_equal(store_mark(f->store, START, 0, "root's", &id), 0);
	for (uint32_t uid = 100000; uid < 105050; uid++)
		assert_int_equal(store_mark(f->store, START + NS_PER_SEC, uid, NULL, &id), 0);
	c = count_marks(f->store);
	assert_int_equal(c.all, 5001);
	assert_int_equal(c.of_root, 1);
	assert_int_equal(store_close_marks(f->store), 0);
}

static void a_note_is_cut(void **state)
{
	struct fixture *f = *state;
	char *note = calloc(1, 100001);
	struct mark m;
	int64_t id;

	memset(note, 'n', 100000);
	assert_int_equal(store_mark(f->store, START, 1000, note, &id), 0);
	assert_int_equal(store_mark_note(f->store, id, 1000, note), 0);
	assert_int_equal(store_mark(f->store, START, 1000, note, &id), 1);
	assert_int_equal(store_mark_get(f->store, id, &m), 0);
	assert_int_equal(strlen(m.note), 1000);
	mark_free(&m);
	assert_int_equal(store_mark_get(f->store, id + 1, &m), -ENOENT);
	free(note);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

RUN_TESTS(CASE(journal_and_chunks_are_one_recording), CASE(a_segment_that_is_not_compacted_keeps_its_place), CASE(rows_at_the_ends_of_time_are_passed_over), CASE(an_extract_gives_the_same_ticks_again),
	  CASE(a_killed_recorder_loses_nothing_but_its_last_write),
	  CASE(a_power_cut_loses_what_was_not_saved), CASE(the_segment_being_written_is_left_alone),
	  CASE(old_segments_go_and_their_hours_stay),
	  CASE(a_start_with_a_clock_ahead_deletes_nothing), CASE(a_clock_that_is_ahead_for_long_deletes_nothing),
	  CASE(a_clock_that_is_some_days_ahead_for_a_moment_deletes_nothing), CASE(a_clock_that_jumps_while_recording_deletes_nothing),
	  CASE(within_a_boot_the_boot_clock_tells_the_age), CASE(nights_and_weekends_count), CASE(beyond_the_size_the_oldest_written_go),
	  CASE(a_deleted_file_is_made_again_with_the_journal_and_the_marks), CASE(a_log_that_is_deleted_is_brought_into_the_file_and_made_again),
	  CASE(a_copy_that_is_put_back_continues), CASE(a_copy_that_is_written_over_it_continues),
	  CASE(another_recording_in_its_place_is_left_alone), CASE(a_deleted_run_directory_takes_no_marks_away),
	  CASE(steps_of_the_clock_are_told), CASE(a_clock_that_is_set_back_loses_nothing),
	  CASE(hours_are_made_and_kept_whatever_the_clock_says), CASE(a_wait_that_was_read_late_is_no_peak_of_a_summary),
	  CASE(times_without_a_recording_are_no_past),
	  CASE(the_oldest_go_beyond_the_size),
	  CASE(an_export_is_whole), CASE(a_note_is_one_line_of_its_file), CASE(a_damaged_chunk_is_left_out_and_counted),
	  CASE(the_times_of_what_is_damaged_are_named), CASE(each_wrong_byte_of_a_summary_is_found),
	  CASE(a_summary_of_nothing_is_damaged), CASE(a_summary_that_claims_much_is_refused),
	  CASE(an_id_that_claims_millions_of_names_is_refused), CASE(a_wrong_byte_of_the_journal_is_remarked),
	  CASE(a_segment_that_is_lost_whole_is_named), CASE(damaged_rows_that_are_not_a_chunk_yet_are_named),
	  CASE(a_store_of_the_version_before_is_taken_over), CASE(a_newer_version_is_refused_and_untouched), CASE(a_corrupted_page_is_said),
	  CASE(no_database_at_all_is_said), CASE(a_full_disk_loses_nothing), CASE(a_full_disk_is_freed_by_a_smaller_limit),
	  CASE(a_copy_on_a_read_only_disk_can_be_read), CASE(presses_within_five_seconds_are_one), CASE(no_note_of_presses_that_are_one_is_lost),
	  CASE(only_the_owner_and_root_change_a_mark), CASE(what_a_rule_caught_is_listed_like_a_mark),
	  CASE(a_handle_finds_the_marks_again_when_they_move), CASE(a_press_leaves_the_recording_alone),
	  CASE(a_press_waits_for_no_write_to_the_recording), CASE(a_press_waits_for_no_reader), CASE(marks_leave_no_log_and_take_no_other_ones), CASE(what_a_killed_recorder_had_caught_is_ended),
	  CASE(the_marks_of_one_user_are_bounded), CASE(many_users_marks_are_bounded_together), CASE(a_note_is_cut),
	  CASE(a_second_handle_takes_no_locks_away), CASE(one_recorder_writes_at_a_time),
	  CASE(another_recordings_journal_and_marks_are_left_alone), CASE(a_killed_recorders_journal_waits_for_its_own_recording),
	  CASE(captures_are_kept_with_their_incident))
