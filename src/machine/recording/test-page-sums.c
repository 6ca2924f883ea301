/* Bytes of a recording change below SQLite: an answer is right, or the reader reports the damage. */
#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>

#include "lib/data/cleanup.h"
#include "lib/store/page-sums.h"
#include "machine/chunk/test-ticks.h"
#include "machine/recording/internal.h"

#define PAGE   4096
#define HEADER 100
#define TRIES  4 /* of a page */

/* --- all that a recording says --- */

/* 0 or -errno. */
static int add_marks(struct store *s, struct str *to)
{
	struct mark *marks = NULL;
	struct capture *captures;
	size_t n = 0, n_captures;
	int r = store_marks(s, INT64_MIN, INT64_MAX, &marks, &n);

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *answer = store_read_answer(s, marks[i].id, 0);

		str_printf(to, "%lld %lld %s %s %d\n", (long long)marks[i].id, (long long)marks[i].wall, marks[i].note, answer ? answer : "",
			   (int)store_feedback_by(s, &marks[i], 0));
		if (store_captures(s, marks[i].id, &captures, &n_captures) < 0)
			continue;
		for (size_t k = 0; k < n_captures; k++) {
			str_printf(to, "%s %s\n", captures[k].summary, captures[k].text);
			capture_free(&captures[k]);
		}
		free(captures);
	}
	marks_free(marks, n);
	return r;
}

static int add_ticks(struct store *s, struct str *to)
{
	struct dataset d = {};
	unsigned damaged = 0;
	int r = store_load(s, INT64_MIN, INT64_MAX, &d, &damaged);
	const struct subject *w = r == 0 ? dataset_subject(&d, 1) : NULL;

	for (uint32_t t = 0; w && t < d.ticks.n; t++)
		str_printf(to, "%lld %g ", (long long)d.ticks.v[t].wall, subject_value(&d, w, FEATURE_THREADS, t));
	dataset_free(&d);
	return r;
}

static int add_summary(const struct summary *summary, void *data)
{
	return str_printf(data, "%lld %s %g\n", (long long)summary->from, summary->program, summary->distribution.mean);
}

/* All that is in the file, in words; whether the reader reports damage. */
static bool read_all(const char *file, struct str *to)
{
	const struct store_paths paths = {file, NULL};
	const unsigned before = page_sums_failed();
	_cleanup_free_ char *error = NULL;
	struct store *s;
	unsigned damaged = 0;
	int64_t from = 0, until = 0;
	int r;

	if (store_open(&paths, STORE_READ, &s, &error) < 0)
		return true;
	r = add_marks(s, to);
	if (r == 0)
		r = add_ticks(s, to);
	for (enum summary_tier tier = SUMMARY_SEGMENT; r == 0 && tier <= SUMMARY_DAY; tier++)
		r = store_summaries(s, tier, INT64_MIN, INT64_MAX, add_summary, to, &damaged);
	if (r == 0)
		r = store_extent(s, &from, &until);
	str_printf(to, "%lld %lld\n", (long long)from, (long long)until);
	_cleanup_free_ char *times = store_damage(s);

	store_close(s);
	return r < 0 || times || page_sums_failed() != before;
}

/* --- a recording that has some of everything --- */

static void press(struct fixture *f, int64_t wall, const char *note)
{
	struct capture inspected = {.wall = wall, .pid = 7, .summary = (char *)"it computes", .text = (char *)"where", .json = (char *)"{}"};
	int64_t id;

	assert_int_equal(store_mark(f->store, wall, 0, note, &id), 0);
	assert_int_equal(store_tell(f->store, id, 0, "{\"culprit\": \"worker\"}"), 0);
	assert_int_equal(store_mark_feedback(f->store, id, 0, FEEDBACK_RIGHT), 0);
	inspected.mark = id;
	assert_int_equal(store_capture(f->store, &inspected), 0);
}

/* *ret_file: an export of it. */
static void record_everything(struct fixture *f, char *ret_file, size_t n)
{
	_cleanup_free_ char *error = NULL;
	int64_t raw;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(store_compact(f->store, record(f, 30)), 0);
		press(f, START + f->seconds * 60 * NS_PER_SEC, "it was slow, and then it was not");
	}
	raw = record(f, 10);
	assert_int_equal(store_save_journal(f->store, raw), 0);
	snprintf(ret_file, n, "%s/good.db", f->folder);
	assert_int_equal(store_export(f->store, ret_file, false, &error), 0);
}

static size_t read_bytes(const char *path, uint8_t **ret)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	*ret = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, *ret, (size_t)st.st_size), st.st_size);
	close(fd);
	return (size_t)st.st_size;
}

static void write_bytes(const char *path, const uint8_t *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

/* --- damage --- */

struct trial {
	char good[64], bad[64];
	uint8_t *bytes;
	size_t n, reported, right;
	struct str said; /* of the good one */
};

static void begin_trial(struct fixture *f, struct trial *t)
{
	*t = (struct trial){};
	record_everything(f, t->good, sizeof(t->good));
	snprintf(t->bad, sizeof(t->bad), "%.40s/bad.db", f->folder);
	t->n = read_bytes(t->good, &t->bytes);
	assert_false(read_all(t->good, &t->said));
}

static void spoil(struct trial *t, size_t at, size_t n)
{
	_cleanup_str_ struct str said = {};
	bool reported;

	for (size_t i = at; i < at + n && i < t->n; i++)
		t->bytes[i] ^= (uint8_t)(1 + (at * 31 + i) % 255);
	write_bytes(t->bad, t->bytes, t->n);
	reported = read_all(t->bad, &said);
	if (!reported && strcmp(said.data, t->said.data) != 0)
		fail_msg("%zu bytes at %zu of page %zu change the answer without a word:\n%s\n%s", n, at % PAGE, at / PAGE + 1, t->said.data, said.data);
	t->reported += reported;
	t->right += !reported;
	for (size_t i = at; i < at + n && i < t->n; i++)
		t->bytes[i] ^= (uint8_t)(1 + (at * 31 + i) % 255);
}

static void no_damage_changes_an_answer_without_a_word(void **state)
{
	static const size_t lengths[TRIES] = {1, 4, 64, 1};
	struct fixture *f = *state;
	struct trial t;
	unsigned seed = 7;

	begin_trial(f, &t);
	for (size_t at = 0; at < HEADER; at++)
		spoil(&t, at, 1);
	for (size_t page = 0; page < t.n / PAGE; page++)
		for (size_t i = 0; i < TRIES; i++)
			spoil(&t, page * PAGE + (size_t)rand_r(&seed) % PAGE, lengths[i]);
	print_message("%zu pages: %zu damages reported, %zu not read\n", t.n / PAGE, t.reported, t.right);
	assert_true(t.reported > t.n / PAGE * TRIES / 2);
	str_free(&t.said);
	free(t.bytes);
}

/* A page of another place is whole, and wrong there. */
static void pages_that_changed_places_are_reported(void **state)
{
	struct fixture *f = *state;
	_cleanup_str_ struct str said = {};
	uint8_t room[PAGE];
	struct trial t;

	begin_trial(f, &t);
	memcpy(room, t.bytes + PAGE, PAGE);
	memcpy(t.bytes + PAGE, t.bytes + 2 * PAGE, PAGE);
	memcpy(t.bytes + 2 * PAGE, room, PAGE);
	write_bytes(t.bad, t.bytes, t.n);
	assert_true(read_all(t.bad, &said));
	str_free(&t.said);
	free(t.bytes);
}

/* --- files without checksums --- */

static bool has_sums(const char *file)
{
	struct database_budget budget;
	sqlite3 *db;
	bool has;

	assert_int_equal(database_open(file, DATABASE_FOREIGN, &budget, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "SELECT count(*) FROM mark", NULL, NULL, NULL), SQLITE_OK);
	has = page_sums_are_there(db);
	sqlite3_close(db);
	return has;
}

static void put_old_recording(struct fixture *f)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t n = read_bytes(FIXTURES "/store/version-3.db", &bytes);

	store_close(f->store);
	f->store = NULL;
	write_bytes(f->file, bytes, n);
	assert_false(has_sums(f->file));
}

static void an_old_recording_gets_checksums_when_a_recorder_begins(void **state)
{
	struct fixture *f = *state;
	_cleanup_str_ struct str before = {}, after = {};
	struct stat st;

	put_old_recording(f);
	assert_false(read_all(f->file, &before));
	f->store = open_store(f, STORE_WRITE);
	assert_int_equal(store_lock(f->store), 0);
	assert_int_equal(store_upgrade(f->store), 0);
	assert_int_equal(store_mark(f->store, START, 0, "written after it", &(int64_t){0}), 0);
	assert_int_equal(store_mark_undo(f->store, 0, &(int64_t){0}), 0);
	store_close(f->store);
	f->store = NULL;
	assert_true(has_sums(f->file));
	assert_int_equal(stat(f->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_false(read_all(f->file, &after));
	assert_string_equal(after.data, before.data);
}

static void two_recorders_do_not_write_after_an_upgrade(void **state)
{
	struct fixture *f = *state;
	struct store *other;

	put_old_recording(f);
	f->store = open_store(f, STORE_WRITE);
	assert_int_equal(store_lock(f->store), 0);
	assert_int_equal(store_upgrade(f->store), 0);
	other = open_store(f, STORE_WRITE);
	assert_int_equal(store_lock(other), -EBUSY);
	store_close(other);
}

static void an_old_recording_that_is_read_stays_as_it_is(void **state)
{
	struct fixture *f = *state;
	struct store *reader;
	size_t n;
	struct mark *marks;

	put_old_recording(f);
	f->store = open_store(f, STORE_WRITE);
	reader = open_store(f, STORE_READ);
	assert_int_equal(store_exec(reader, "BEGIN; SELECT count(*) FROM mark"), 0);
	assert_int_equal(store_lock(f->store), 0);
	assert_int_equal(store_upgrade(f->store), 0);
	assert_false(page_sums_are_there(f->store->db));
	assert_int_equal(store_marks(f->store, INT64_MIN, INT64_MAX, &marks, &n), 0);
	assert_int_equal(n, 1);
	marks_free(marks, n);
	store_rollback(reader);
	store_close(reader);
}

static void an_export_of_an_old_recording_has_checksums(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *error = NULL;
	char to[64];

	put_old_recording(f);
	f->store = open_store(f, STORE_READ);
	snprintf(to, sizeof(to), "%s/copy.db", f->folder);
	assert_int_equal(store_export(f->store, to, false, &error), 0);
	assert_true(has_sums(to));
}

static void copy_with_log(const struct fixture *f, const char *to)
{
	static const char *const endings[] = {"", "-wal"};
	char from_path[128], to_path[128];

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		_cleanup_free_ uint8_t *bytes = NULL;
		size_t n;

		snprintf(from_path, sizeof(from_path), "%s%s", f->file, endings[i]);
		snprintf(to_path, sizeof(to_path), "%s%s", to, endings[i]);
		n = read_bytes(from_path, &bytes);
		assert_true(n > PAGE);
		write_bytes(to_path, bytes, n);
	}
}

/* A recorder was killed, and the first to open its file is not whyslow. */
static void a_log_that_another_program_takes_in_is_no_damage(void **state)
{
	struct fixture *f = *state;
	_cleanup_str_ struct str before = {}, after = {};
	char good[64], copy[64];
	sqlite3 *db;

	assert_int_equal(store_exec(f->store, "PRAGMA wal_checkpoint(TRUNCATE)"), 0);
	record_everything(f, good, sizeof(good));
	snprintf(copy, sizeof(copy), "%s/copy.db", f->folder);
	copy_with_log(f, copy);
	assert_int_equal(sqlite3_open(copy, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "SELECT count(*) FROM mark", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_true(has_sums(copy));
	store_close(f->store);
	f->store = NULL;
	assert_false(read_all(f->file, &before));
	assert_false(read_all(copy, &after));
	assert_string_equal(after.data, before.data);
}

/* --- with damaged pages --- */

/* Where the page with that text begins. */
static off_t page_within(const char *file, const char *text)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t n = read_bytes(file, &bytes);
	const uint8_t *at = memmem(bytes, n, text, strlen(text));

	assert_non_null(at);
	return (at - bytes) / PAGE * PAGE;
}

static void flip(const char *file, off_t at)
{
	int fd = open(file, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void an_export_has_what_is_not_damaged(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *error = NULL;
	struct trial t;
	char to[64];
	sqlite3_stmt *stmt;
	_cleanup_str_ struct str said = {};
	struct store *s;

	begin_trial(f, &t);
	s = NULL;
	assert_int_equal(store_open(&(struct store_paths){t.good, NULL}, STORE_READ, &s, &error), 0);
	assert_int_equal(store_prepare(s, "SELECT rootpage FROM sqlite_schema WHERE name = 'summary'", &stmt), 0);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	flip(t.good, (off_t)(sqlite3_column_int64(stmt, 0) - 1) * PAGE + 1000);
	sqlite3_finalize(stmt);
	store_close(s);
	assert_int_equal(store_open(&(struct store_paths){t.good, NULL}, STORE_READ, &s, &error), 0);
	snprintf(to, sizeof(to), "%.40s/rest.db", f->folder);
	assert_int_equal(store_export(s, to, false, &error), 0);
	store_close(s);
	assert_int_equal(store_open(&(struct store_paths){to, NULL}, STORE_READ, &s, &error), 0);
	holds(s, 0, f->seconds, 0);
	assert_int_equal(add_marks(s, &said), 0);
	assert_non_null(strstr(said.data, "it was slow"));
	store_close(s);
	str_free(&t.said);
	free(t.bytes);
}

/* Otherwise it would fill the disk. */
static void what_is_damaged_is_deleted_in_time(void **state)
{
	struct fixture *f = *state;
	const struct retention keep = {.age = NS_PER_SEC};
	struct store_size size;

	assert_int_equal(store_compact(f->store, record(f, 600)), 0);
	store_close(f->store);
	flip(f->file, page_within(f->file, "\x28\xb5\x2f\xfd") + 2000); /* a chunk is packed by zstd */
	f->store = open_store(f, STORE_WRITE);
	holds(f->store, 0, 0, 1);
	assert_int_equal(store_compact(f->store, record(f, 10)), 0);
	assert_int_equal(store_retain(f->store, &keep), 0);
	assert_int_equal(store_size(f->store, &size), 0);
	assert_int_equal(size.segments, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

RUN_TESTS(CASE(no_damage_changes_an_answer_without_a_word), CASE(pages_that_changed_places_are_reported),
	  CASE(an_old_recording_gets_checksums_when_a_recorder_begins), CASE(two_recorders_do_not_write_after_an_upgrade),
	  CASE(an_old_recording_that_is_read_stays_as_it_is), CASE(an_export_of_an_old_recording_has_checksums), CASE(a_log_that_another_program_takes_in_is_no_damage),
	  CASE(an_export_has_what_is_not_damaged), CASE(what_is_damaged_is_deleted_in_time))
