/* Files that were made to harm their reader. */
#include "lib/data/cleanup.h"
#include "lib/rights/own-folder.h"
#include "lib/data/str.h"
#include "lib/data/test.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fleet/model/fleet.h"
#include "fleet/store/fleet-store.h"
#include "lib/store/database.h"
#include "machine/recording/store.h"
#include "spans/store/span-store.h"

#define HANGS_AFTER 60 /* s */

static char folder[32], file[64], journal[72], victim[64], run_dir[64];

static int set_up(void **state)
{
	strcpy(folder, "/tmp/test-database-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/hostile.db", folder);
	snprintf(journal, sizeof(journal), "%s-journal", file);
	snprintf(victim, sizeof(victim), "%s/victim", folder);
	snprintf(run_dir, sizeof(run_dir), "%s/run", folder);
	alarm(HANGS_AFTER);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static int tear_down(void **state)
{
	alarm(0);
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* As the attacker writes it: by SQLite itself, with checksums of pages where the file has them. */
static void sql(const char *text)
{
	sqlite3 *db;

	(void)unlink(journal); /* the VFS would refuse what an earlier attack left */
	assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, sqlite3_vfs_find("whyslow") ? "whyslow" : NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void make_recording(void)
{
	const struct store_paths paths = {file, NULL};
	struct store *s;
	char *error = NULL;

	assert_int_equal(store_open(&paths, STORE_WRITE, &s, &error), 0);
	store_close(s);
	sql("PRAGMA journal_mode = DELETE");
}

static void write_file(const char *path, const void *bytes, size_t n)
{
	_cleanup_fclose_ FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
}

static void put_u32(struct str *out, uint32_t value)
{
	const uint8_t bytes[] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value};

	str_append(out, bytes, sizeof(bytes));
}

/* A journal without pages, which is to be rolled back together with the victim, a "super-journal". */
static void lay_hot_journal(void)
{
	static const uint8_t magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
	_cleanup_str_ struct str bytes = {};
	struct stat st;
	uint32_t sum = 0;

	assert_int_equal(stat(file, &st), 0);
	str_append(&bytes, magic, sizeof(magic));
	put_u32(&bytes, 0);				/* pages */
	put_u32(&bytes, 1);				/* of checksums */
	put_u32(&bytes, (uint32_t)(st.st_size / 4096)); /* the file's pages */
	put_u32(&bytes, 512);
	put_u32(&bytes, 4096);
	while (bytes.len < 512)
		str_putc(&bytes, '\0');
	put_u32(&bytes, (1u << 30) / 4096 + 1); /* the page of locks: a name follows */
	str_puts(&bytes, victim);
	put_u32(&bytes, (uint32_t)strlen(victim));
	for (const char *c = victim; *c; c++)
		sum += (uint32_t)*c;
	put_u32(&bytes, sum);
	str_append(&bytes, magic, sizeof(magic));
	write_file(journal, bytes.data, bytes.len);
	write_file(victim, "dear", 4);
}

static bool victim_lives(void)
{
	return access(victim, F_OK) == 0;
}

static void read_by_sqlite(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	sqlite3_exec(db, "SELECT * FROM segment", NULL, NULL, NULL);
	sqlite3_close(db);
}

static int open_store(enum store_mode mode, const char *run, char **ret_error)
{
	const struct store_paths paths = {file, run};
	struct store *s = NULL;
	struct mark *marks;
	size_t n;
	int r = store_open(&paths, mode, &s, ret_error);

	if (r < 0)
		return r;
	if (store_marks(s, INT64_MIN, INT64_MAX, &marks, &n) == 0)
		marks_free(marks, n);
	store_close(s);
	return 0;
}

static void a_journal_that_names_a_victim_deletes_nothing(void **state)
{
	static const enum store_mode modes[] = {STORE_READ, STORE_MARK, STORE_WRITE};

	make_recording();
	lay_hot_journal();
	read_by_sqlite();
	/* the attack is one: the SQLite of Debian 13 deletes the victim, that of sid does not any more */
	assert_true(!victim_lives() || sqlite3_libversion_number() > 3046001);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		_cleanup_free_ char *error = NULL, *with_run = NULL;

		lay_hot_journal();
		(void)open_store(modes[i], NULL, &error);
		assert_true(victim_lives());
		lay_hot_journal();
		(void)open_store(modes[i], run_dir, &with_run);
		assert_true(victim_lives());
	}
}

static void a_journal_beside_marks_deletes_nothing(void **state)
{
	_cleanup_free_ char *error = NULL;
	char recording[64];

	make_recording();
	strcpy(recording, file);
	assert_int_equal(mkdir(run_dir, 0755), 0);
	snprintf(file, sizeof(file), "%.40s/marks.db", run_dir);
	snprintf(journal, sizeof(journal), "%s-journal", file);
	sql("CREATE TABLE mark(id INTEGER PRIMARY KEY AUTOINCREMENT, wall INTEGER, last INTEGER, presses INTEGER,"
	    " uid INTEGER, note TEXT, feedback INTEGER DEFAULT 0, undone INTEGER DEFAULT 0)");
	lay_hot_journal();
	strcpy(file, recording);
	(void)open_store(STORE_READ, run_dir, &error);
	assert_true(victim_lives());
}

static void stores_of_fleets_and_spans_delete_nothing(void **state)
{
	static const enum database_access ways[] = {DATABASE_FOREIGN, DATABASE_READONLY, DATABASE_RECOVER, DATABASE_CREATE};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		_cleanup_free_ char *error = NULL;
		struct span_store *s;

		sql("PRAGMA user_version = 1; CREATE TABLE IF NOT EXISTS part(key TEXT)");
		lay_hot_journal();
		assert_true(span_store_open(file, ways[i], &s, &error) < 0);
		assert_true(victim_lives());
	}
	sql("PRAGMA application_id = 2003201140");
	lay_hot_journal();
	_cleanup_free_ char *error = NULL;
	struct fleet *f;

	assert_true(fleet_store_is(file));
	assert_int_equal(fleet_store_open(file, NULL, &f, &error), -EBUSY);
	assert_true(victim_lives());
}

static void refused_with(const char *words)
{
	_cleanup_free_ char *error = NULL, *other = NULL;

	assert_int_equal(open_store(STORE_READ, NULL, &error), -EUCLEAN);
	if (!strstr(error, words))
		fail_msg("'%s' does not say: %s", error, words);
	assert_int_equal(open_store(STORE_WRITE, run_dir, &other), -EUCLEAN);
	assert_non_null(strstr(other, words));
}

static void a_view_in_place_of_a_table_is_refused(void **state)
{
	make_recording();
	sql("DROP TABLE mark; CREATE VIEW mark AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)"
	    " SELECT id, 0 AS wall, 0 AS last, 1 AS presses, 0 AS uid, '' AS note, 0 AS feedback, 0 AS undone FROM n");
	refused_with("its view 'mark'");
}

static void what_a_recording_has_not_is_refused(void **state)
{
	static const struct { const char *sql, *words; } hostile[] = {
		{"CREATE TRIGGER t AFTER INSERT ON mark BEGIN DELETE FROM chunk; END", "its trigger 't'"},
		{"CREATE VIEW v AS SELECT 1", "its view 'v'"},
		{"CREATE VIRTUAL TABLE told USING fts4(mark, uid, json)", "its table 'told"},
		{"CREATE INDEX i ON raw(abs(at))", "its index 'i'"},
		{"CREATE TABLE other(x)", "its table 'other'"},
		{"CREATE TABLE \"\x1b[2Jtold\"(x)", "?[2Jtold'"},
		{"ALTER TABLE mark ADD COLUMN more", "table 'mark' has other columns"},
		{"ALTER TABLE raw ADD COLUMN more AS (abs(at))", "table 'raw' has other columns"},
		{"CREATE TABLE r2 AS SELECT * FROM raw; DROP TABLE raw; ALTER TABLE r2 RENAME TO chunk2", "its table 'chunk2'"},
		{"DROP TABLE raw", "it has no table 'raw'"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		(void)unlink(file);
		make_recording();
		sql(i < 2 || i > 2 ? hostile[i].sql : "DROP TABLE told");
		if (i == 2)
			sql(hostile[i].sql);
		refused_with(hostile[i].words);
	}
}

static void another_program_s_database_is_left_alone(void **state)
{
	_cleanup_free_ char *error = NULL;
	sqlite3 *db;

	sql("CREATE TABLE bookmarks(x)");
	assert_int_equal(open_store(STORE_WRITE, run_dir, &error), -EUCLEAN);
	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "SELECT * FROM segment", NULL, NULL, NULL), SQLITE_ERROR);
	sqlite3_close(db);
}

static void a_recording_that_is_not_complete_is_said(void **state)
{
	_cleanup_free_ char *error = NULL;
	char wal[72];

	make_recording();
	snprintf(wal, sizeof(wal), "%s-wal", file);
	write_file(wal, "", 0);
	assert_int_equal(open_store(STORE_READ, NULL, &error), 0);
	write_file(wal, "x", 1);
	assert_int_equal(open_store(STORE_READ, NULL, &error), -EBUSY);
	assert_non_null(strstr(error, wal));
	assert_non_null(strstr(error, "--store"));
}

static void a_pipe_is_not_waited_for(void **state)
{
	_cleanup_free_ char *error = NULL;
	struct database_budget budget;
	sqlite3 *db;

	assert_int_equal(mkfifo(file, 0600), 0);
	assert_int_equal(open_store(STORE_READ, NULL, &error), -EUCLEAN);
	assert_non_null(strstr(error, "not a regular file"));
	assert_false(fleet_store_is(file));
	assert_int_equal(database_open(file, DATABASE_READONLY, &budget, &db), SQLITE_NOTADB);
}

static int run(sqlite3 *db, struct database_budget *budget, const char *text)
{
	sqlite3_stmt *stmt = NULL;
	int code = sqlite3_prepare_v2(db, text, -1, &stmt, NULL);

	database_renew(budget);
	while (code == SQLITE_OK || code == SQLITE_ROW)
		code = sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	return code;
}

static void a_foreign_file_gives_rows_and_nothing_else(void **state)
{
	struct database_budget budget;
	sqlite3 *db;

	sql("CREATE TABLE t(x); WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000) INSERT INTO t SELECT x FROM n;"
	    "CREATE VIEW v AS SELECT * FROM t");
	assert_int_equal(database_open(file, DATABASE_FOREIGN, &budget, &db), SQLITE_OK);
	assert_int_equal(run(db, &budget, "SELECT max(x), count(*) FROM t"), SQLITE_DONE);
	assert_int_equal(run(db, &budget, "SELECT count(*) FROM t a, t b, t c, t d"), SQLITE_INTERRUPT);
	assert_int_equal(database_errno(SQLITE_INTERRUPT), -EUCLEAN);
	assert_int_equal(run(db, &budget, "SELECT * FROM t"), SQLITE_DONE); /* the next one has a budget of its own */
	assert_int_not_equal(run(db, &budget, "SELECT * FROM v"), SQLITE_DONE);
	assert_int_equal(run(db, &budget, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT * FROM n"), SQLITE_AUTH);
	assert_int_equal(run(db, &budget, "ATTACH '/tmp/x' AS y"), SQLITE_AUTH);
	assert_int_equal(run(db, &budget, "PRAGMA journal_mode = DELETE"), SQLITE_AUTH);
	assert_int_equal(run(db, &budget, "DELETE FROM t"), SQLITE_AUTH);
	sqlite3_close(db);
}

static void any_name_can_be_opened(void **state)
{
	char odd[96];
	struct database_budget budget;
	sqlite3 *db;

	sql("CREATE TABLE t(x)");
	snprintf(odd, sizeof(odd), "//%s/a?mode=rw&b#c%%41\xff.db", folder);
	assert_int_equal(rename(file, odd), 0);
	assert_int_equal(database_open(odd, DATABASE_FOREIGN, &budget, &db), SQLITE_OK);
	assert_int_equal(run(db, &budget, "SELECT * FROM t"), SQLITE_DONE);
	sqlite3_close(db);
}

/* In a folder that others may write: they move the one in which SQLite works, and put a link in its place. */
static void a_folder_that_is_moved_stays_the_one_that_is_written(void **state)
{
	char inside[128], moved[128], *error = NULL;
	struct database_budget budget;
	struct own_file made;
	struct stat st;
	sqlite3 *db;

	assert_int_equal(mkdir(run_dir, 0700), 0);
	assert_int_equal(own_file_begin(folder, "r.db", 0600, &made, &error), 0);
	snprintf(inside, sizeof(inside), "%s/%.90s", folder, made.folder_name);
	snprintf(moved, sizeof(moved), "%s/moved", folder);
	assert_int_equal(rename(inside, moved), 0);
	assert_int_equal(symlink(run_dir, inside), 0);
	assert_int_equal(database_open(made.path, DATABASE_CREATE, &budget, &db), SQLITE_OK);
	assert_int_equal(run(db, &budget, "PRAGMA journal_mode = WAL"), SQLITE_DONE);
	assert_int_equal(run(db, &budget, "CREATE TABLE t(x)"), SQLITE_DONE);
	sqlite3_close(db);
	assert_int_equal(own_file_publish(&made, "r.db", true), 0);
	own_file_end(&made);
	assert_int_equal(rmdir(run_dir), 0); /* nothing was made there */
	snprintf(moved, sizeof(moved), "%s/r.db", folder);
	assert_int_equal(stat(moved, &st), 0);
	assert_int_equal(st.st_mode & 077, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

RUN_TESTS(TEST(a_journal_that_names_a_victim_deletes_nothing), TEST(a_journal_beside_marks_deletes_nothing),
	  TEST(stores_of_fleets_and_spans_delete_nothing), TEST(a_view_in_place_of_a_table_is_refused),
	  TEST(what_a_recording_has_not_is_refused), TEST(another_program_s_database_is_left_alone),
	  TEST(a_recording_that_is_not_complete_is_said), TEST(a_pipe_is_not_waited_for),
	  TEST(a_foreign_file_gives_rows_and_nothing_else), TEST(any_name_can_be_opened),
	  TEST(a_folder_that_is_moved_stays_the_one_that_is_written))
