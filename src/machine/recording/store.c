#include "machine/recording/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/rights/write-path.h"
#include "machine/recording/internal.h"
#include "machine/recording/run-dir.h"

/* 3: chunks whose columns have partners; 4: whose values have points to begin at; 5: feedback by user; 6: pages may have checksums,
 * which a program from before would not renew; 7: the order in which segments were written, and in which boots */
#define SCHEMA_VERSION 7
#define PRESS_STEP     1000  /* us between two tries for the lock of RUN/marks.db */
#define PRESS_TRIES    10000
#define SCHEMA_OLDEST  2 /* that is read, and becomes the newest when it is written to */

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS segment(id INTEGER PRIMARY KEY, first INTEGER, last INTEGER, ticks INTEGER,"
	" highest_entity INTEGER);"
	/* Segments in the order in which they were begun, which their wall times need not have, with the boot and its clock (ns). */
	"CREATE TABLE IF NOT EXISTS written(number INTEGER PRIMARY KEY, segment INTEGER UNIQUE, boot TEXT, boot_first INTEGER, boot_last INTEGER);"
	"CREATE TABLE IF NOT EXISTS raw(segment INTEGER, at INTEGER, bytes BLOB, PRIMARY KEY(segment, at));"
	"CREATE TABLE IF NOT EXISTS chunk(segment INTEGER PRIMARY KEY, bytes BLOB);"
	/* tier 0: of a segment (start = its id); 1: of an hour; 2: of a day; times in ms */
	"CREATE TABLE IF NOT EXISTS summary(tier INTEGER, start INTEGER, until INTEGER, bytes BLOB,"
	" PRIMARY KEY(tier, start)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS feature(id INTEGER PRIMARY KEY, kind INTEGER, name TEXT, UNIQUE(kind, name));"
	"CREATE TABLE IF NOT EXISTS program(id INTEGER PRIMARY KEY, name TEXT UNIQUE);"
	"CREATE TABLE IF NOT EXISTS " MARK_TABLE "CREATE TABLE IF NOT EXISTS " CAPTURE_TABLE "CREATE TABLE IF NOT EXISTS " TOLD_TABLE
	"CREATE TABLE IF NOT EXISTS " FEEDBACK_TABLE;

/* Of all versions that are read: 2 had no answers, and called inspections captures; before 7 no order was kept. A further table or column needs a new
 * SCHEMA_VERSION: else a program from before says that the file is not a recording, and not that it is a newer one's. */
const struct database_shape store_shape = {
	.what = "recording",
	.tables = (const struct database_table[]){
		{"segment", "id,first,last,ticks,highest_entity", false},
		{"written", "number,segment,boot,boot_first,boot_last", true},
		{"raw", "segment,at,bytes", false},
		{"chunk", "segment,bytes", false},
		{"summary", "tier,start,until,bytes", false},
		{"feature", "id,kind,name", false},
		{"program", "id,name", false},
		MARK_SHAPES,
		{"capture", "mark,wall,pid,summary,text,json", true},
		{},
	},
};

const char *store_file(const struct store *s)
{
	return s->file;
}

const char *store_error(const struct store *s)
{
	return store_reason(s, 0);
}

const char *store_reason(const struct store *s, int r)
{
	return s && s->error ? s->error : str_error(r);
}

/* Says what failed and what would fix it; returns the errno. */
int store_fail(struct store *s, int code, const char *what)
{
	int r = database_errno(code);
	const char *remedy = "";

	free(s->error);
	s->error = NULL;
	if (code == SQLITE_NOTADB)
		remedy = ": it is not a recording";
	else if (code == SQLITE_INTERRUPT)
		remedy = ": reading it takes more steps than its size explains; it is damaged, or made to keep its reader busy";
	else if (r == -ENOSPC)
		remedy = ": the disk is full; free some space, or lower store.max_size";
	else if (r == -EROFS)
		remedy = ": the file system is read-only; point store.file at a writable place";
	else if (r == -EUCLEAN)
		remedy = ": the file is damaged; move it away to start afresh ('sqlite3 FILE .recover' may save parts)";
	else if (r == -EACCES && geteuid() == 0)
		remedy = ": its folder belongs to another user, and a recorder gives up the right to write there; choose another store.file";
	else if (r == -EACCES)
		remedy = ": no permission; ask the daemon (whyslow without --store) or use root";
	if (asprintf(&s->error, "%s %s: %s%s", what, s->file, sqlite3_errmsg(s->db), remedy) < 0)
		s->error = NULL;
	return r;
}

int store_prepare_with(struct store *s, const char *sql, sqlite3_stmt **ret, const int64_t *numbers, size_t n)
{
	int code = sqlite3_prepare_v2(s->db, sql, -1, ret, NULL);

	database_renew(&s->budget);
	for (size_t i = 1; code == SQLITE_OK && i <= n; i++)
		code = sqlite3_bind_int64(*ret, (int)i, numbers[i]);
	return code == SQLITE_OK ? 0 : store_fail(s, code, "cannot read");
}

bool store_row(struct store *s, sqlite3_stmt *stmt, int *r)
{
	int code = *r < 0 ? SQLITE_DONE : sqlite3_step(stmt);

	if (code != SQLITE_DONE && code != SQLITE_ROW)
		*r = store_fail(s, code, "cannot read");
	return code == SQLITE_ROW;
}

int store_prepare_cached(struct store *s, const char *sql, sqlite3_stmt **kept)
{
	if (*kept) {
		sqlite3_reset(*kept);
		return 0;
	}
	return store_prepare(s, sql, kept);
}

int store_exec(struct store *s, const char *sql)
{
	int code = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : store_fail(s, code, "cannot write");
}

/* Runs a statement that returns nothing, and finishes it. */
int store_run(struct store *s, sqlite3_stmt *stmt)
{
	int code = sqlite3_step(stmt);
	int r = code == SQLITE_DONE ? 0 : store_fail(s, code, "cannot write");

	sqlite3_finalize(stmt);
	return r;
}

int store_query_with(struct store *s, const char *sql, int64_t *ret, const int64_t *numbers, size_t n)
{
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare_with(s, sql, &stmt, numbers, n);

	if (!store_row(s, stmt, &r))
		return r ?: -ENOENT;
	*ret = sqlite3_column_int64(stmt, 0);
	return 0;
}

int store_run_with(struct store *s, const char *sql, const int64_t *numbers, size_t n)
{
	sqlite3_stmt *stmt;
	int r = store_prepare_with(s, sql, &stmt, numbers, n);

	return r < 0 ? r : store_run(s, stmt);
}

bool store_has_table(struct store *s, const char *name)
{
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;

	return store_prepare(s, "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?", &stmt) == 0 &&
	       sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW;
}

int store_begin(struct store *s)
{
	return store_exec(s, "BEGIN; DELETE FROM main.raw WHERE 0");
}

void store_rollback(struct store *s)
{
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

/* Before anything is changed: a newer program's file must stay as it is. */
static int check_version(struct store *s, int64_t *ret)
{
	const char *format = "%s was written by a newer whyslow (format %" PRId64 ", this one reads %d): upgrade whyslow";
	int r = store_query_int(s, "PRAGMA user_version", ret);

	if (r < 0 || *ret == 0 || (*ret >= SCHEMA_OLDEST && *ret <= SCHEMA_VERSION))
		return r;
	if (*ret < SCHEMA_OLDEST)
		format = "%s was written by an early whyslow (format %" PRId64 ", this one reads %d): move it away to start afresh";
	free(s->error);
	if (asprintf(&s->error, format, s->file, *ret, SCHEMA_VERSION) < 0)
		s->error = NULL;
	return -EPROTONOSUPPORT;
}

int store_set_id(struct store *s, uint32_t id)
{
	int r;

	r = store_exec(s, STR_TEXT(60, "PRAGMA main." ID_PRAGMA " = %" PRIu32, id));
	if (r == 0)
		s->id = id;
	return r;
}

static int give_id(struct store *s)
{
	uint32_t id = 0;

	if (getrandom(&id, sizeof(id), 0) != sizeof(id))
		return -EIO;
	return store_set_id(s, (id & INT32_MAX) | 1); /* the header's number has a sign, and 0 is none */
}

/* Where the tables are as they shall be nothing is written: also on a full disk a recorder starts. */
static int set_up(struct store *s, int64_t version)
{
	int r = version ? 0 : store_exec(s, "PRAGMA auto_vacuum = INCREMENTAL"); /* writes, whatever it was */

	if (r == 0)
		r = store_exec(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
				  "PRAGMA wal_autocheckpoint = 256; PRAGMA journal_size_limit = 4194304; PRAGMA cache_size = -512;"
				  "PRAGMA secure_delete = OFF"); /* Debian's default writes zeros over what is deleted: on a full disk there is no room for them */
	r = r ?: store_exec(s, "BEGIN IMMEDIATE");
	r = r ?: store_exec(s, schema);
	if (r == 0 && version != SCHEMA_VERSION)
		r = store_exec(s, "PRAGMA user_version = " STRINGIFY(SCHEMA_VERSION));
	if (r == 0 && !s->id)
		r = give_id(s);
	r = r ?: store_exec(s, "COMMIT");
	if (r < 0)
		store_rollback(s);
	return r;
}

static bool cannot_write(const char *file)
{
	_cleanup_free_ char *folder = folder_of(file);

	return folder && access(folder, W_OK) < 0;
}

static int reopen(struct store *s, enum database_access access)
{
	int code;

	sqlite3_close(s->db);
	code = database_open(s->file, access, &s->budget, &s->db);
	return code == SQLITE_OK ? 0 : store_fail(s, code, "cannot open");
}

/* On a medium that cannot be written there is no shared memory for the WAL: nothing else writes there either. */
static int open_to_read(struct store *s, int64_t *ret_version)
{
	int r = s->run_dir ? reopen(s, DATABASE_RECOVER) : database_is_whole(s->file, &s->error);

	if (!s->run_dir && r == 0)
		r = reopen(s, DATABASE_FOREIGN);
	if (r == -EACCES && s->run_dir)
		r = reopen(s, DATABASE_READONLY);
	if (r < 0)
		return r;
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); /* the log may be of a file that was replaced a moment ago */
	sqlite3_busy_timeout(s->db, 2000);
	r = check_version(s, ret_version);
	if ((r == -EACCES || r == -EROFS) && s->run_dir && cannot_write(s->file)) {
		r = reopen(s, DATABASE_FOREIGN);
		r = r ?: check_version(s, ret_version);
	}
	return r;
}

static int open_to_write(struct store *s, int64_t *ret_version)
{
	int r = reopen(s, DATABASE_CREATE);

	if (r < 0)
		return r;
	sqlite3_busy_timeout(s->db, 10000);
	return check_version(s, ret_version);
}

int store_check_tables(struct store *s, const char *schema_name, const struct database_shape *of, bool empty)
{
	_cleanup_free_ char *error = NULL;
	int r = database_check(s->db, s->file, schema_name, of, empty, &error);

	if (r < 0) {
		free(s->error);
		s->error = TAKE(error);
	}
	return r;
}

static int read_id(struct store *s)
{
	int64_t id = 0;
	int r = store_query_int(s, "PRAGMA " ID_PRAGMA, &id);

	s->id = r == 0 ? (uint32_t)id : 0;
	return r;
}

/* Which file the log is, so that it is known again when the recording next to it has gone. */
static void note_log(struct store *s)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;

	if (asprintf(&path, "%s-wal", s->file) >= 0 && stat(path, &st) == 0)
		s->log_inode = st.st_ino;
}

static int open_database(struct store *s, enum store_mode mode)
{
	int64_t version;
	int r = mode == STORE_READ ? open_to_read(s, &version) : open_to_write(s, &version);

	r = r ?: store_check_tables(s, "main", &store_shape, version == 0);
	r = r ?: read_id(s);
	if (r < 0)
		return r;
	if (mode == STORE_WRITE || (mode == STORE_MARK && version == 0))
		r = set_up(s, version);
	if (r == 0 && mode == STORE_WRITE)
		note_log(s);
	s->ordered = r == 0 && store_has_table(s, "written");
	if (r == 0 && version == 0 && mode == STORE_READ) {
		free(s->error);
		if (asprintf(&s->error, "%s holds no recording: start the recorder first (whyslow record)", s->file) < 0)
			s->error = NULL;
		return -ENOENT;
	}
	return r;
}

void store_make_private(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
}

static int check_kind(const char *file, char **ret_error)
{
	struct stat st;

	if (stat(file, &st) < 0 || S_ISREG(st.st_mode))
		return 0;
	if (S_ISDIR(st.st_mode))
		return str_fail(ret_error, -EISDIR, "%s is a folder: name the recording in it", file);
	return str_fail(ret_error, -EUCLEAN, "%s is not a regular file: a recording is one", file);
}

int store_open(const struct store_paths *paths, enum store_mode mode, struct store **ret, char **ret_error)
{
	struct store *s = calloc(1, sizeof(*s));
	int r = -ENOMEM;

	*ret_error = NULL;
	if (!s)
		return r;
	s->lock_fd = -1;
	if (mode == STORE_WRITE)
		(void)clock_boot_id("/proc", s->boot); /* without one the wall clock alone tells how old a segment is */
	s->file = strdup(paths->file);
	s->run_dir = paths->run_dir ? strdup(paths->run_dir) : NULL;
	if (!s->file || (paths->run_dir && !s->run_dir))
		goto failed;
	if (!*s->file) {
		r = str_fail(ret_error, -ENOENT, "there is no home folder to record in: set HOME, or name a file (--store FILE)");
		goto failed;
	}
	if (mode == STORE_MARK && !s->run_dir) {
		r = str_fail(ret_error, -EROFS, "%s is a past recording (--from), which is only read: to change its marks, name it with --store", s->file);
		goto failed;
	}
	if (mode == STORE_MARK && !folder_path_exists(s->file) && run_dir_recording(s->run_dir)) {
		r = str_fail(ret_error, -ENOENT, "%s is gone: the recorder makes it again within seconds", s->file);
		goto failed;
	}
	if (mode != STORE_READ) {
		r = write_path_prepare(s->file, 0700, ret_error);
		if (r < 0)
			goto failed;
		store_make_private(s->file);
	}
	else if (!folder_path_exists(s->file)) {
		r = -errno;
		if (asprintf(ret_error, "nothing is recorded in %s: start the recorder first (whyslow record)", s->file) < 0)
			*ret_error = NULL;
		goto failed;
	}
	r = check_kind(s->file, ret_error);
	if (r < 0)
		goto failed;
	r = open_database(s, mode);
	if (mode == STORE_WRITE && (r == -ENOSPC || r == -EIO) && store_use_reserve(s)) /* the log and its index have no room */
		r = open_database(s, mode);
	r = r ?: store_find_marks(s);
	if (r == 0) {
		*ret = s;
		return 0;
	}
failed:
	if (!*ret_error)
		*ret_error = TAKE(s->error);
	store_close(s);
	return r;
}

/* A lock of RUN/marks.db is held for a moment: SQLite's own handler would soon sleep for 100 ms at a time. */
static int wait_briefly(void *data, int tries)
{
	(void)data;
	usleep(PRESS_STEP);
	return tries < PRESS_TRIES;
}

int store_open_press(const char *run_dir, struct store **ret, char **ret_error)
{
	struct store *s = calloc(1, sizeof(*s));
	int r = -ENOMEM;

	*ret_error = NULL;
	if (!s)
		return r;
	s->lock_fd = -1;
	s->file = strdup(run_dir); /* for errors */
	s->run_dir = strdup(run_dir);
	s->id = run_dir_recording(run_dir); /* whichever it is */
	if (s->file && s->run_dir)
		r = database_errno(database_open_empty(&s->budget, &s->db));
	if (r == 0) {
		sqlite3_busy_handler(s->db, wait_briefly, NULL);
		r = store_find_marks(s);
	}
	if (r == 0 && !s->marks_in_run)
		r = -ENOENT;
	if (r == 0) {
		*ret = s;
		return 0;
	}
	*ret_error = TAKE(s->error);
	store_close(s);
	return r;
}

bool store_run_dir_is_foreign(const struct store *s)
{
	const uint32_t recording = s->run_dir ? run_dir_recording(s->run_dir) : 0;

	return recording && recording != s->id;
}

const char *store_run_dir(const struct store *s)
{
	return store_run_dir_is_foreign(s) ? NULL : s->run_dir;
}

int store_claim_run_dir(struct store *s, bool *ret_set_aside)
{
	int r = run_dir_claim(s->run_dir, s->id, s->file, ret_set_aside);

	return r < 0 ? str_fail_again(&s->error, r, "cannot take %s for %s: %s", s->run_dir, s->file, strerror(-r)) : 0;
}

int store_lock(struct store *s)
{
	int fd = open(s->file, O_RDONLY | O_CLOEXEC), r = fd < 0 ? -errno : 0;

	if (r == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		r = -errno == -EWOULDBLOCK ? -EBUSY : -errno;
	s->lock_fd = fd; /* also without the lock */
	if (r < 0)
		str_fail_again(&s->error, r, r == -EBUSY ? "another recorder writes to %s: stop it first, or give this one another store.file" :
						      "cannot lock %s, so that no other recorder writes to it", s->file);
	return r;
}

void store_close_database(struct store *s)
{
	sqlite3_stmt **const kept[] = {&s->put_raw, &s->marks_version, &s->told_in_run, &s->told_in_file};

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		sqlite3_finalize(*kept[i]);
		*kept[i] = NULL;
	}
	sqlite3_close(s->db);
	s->db = NULL;
	s->marks_in_run = false;
	s->seen = (struct seen_file){};
	if (s->lock_fd >= 0) /* only now: closing a descriptor of the file takes away the locks that SQLite has on it (POSIX) */
		close(s->lock_fd);
	s->lock_fd = -1;
}

int store_reopen(struct store *s)
{
	int r = open_database(s, STORE_WRITE);

	return r == 0 ? store_find_marks(s) : r;
}

#define HEADER_ID 68 /* https://sqlite.org/fileformat.html: the number that holds the recording's id, big-endian */

/* https://sqlite.org/walformat.html: the salts of the log change whenever it starts over, and the other two are how many of its pages have been brought
 * into the file, and were begun to be. The index is mapped through SQLite: closing a descriptor of our own would take its locks away. */
#define INDEX_BYTES      32768
#define INDEX_SALTS      32
#define INDEX_BACKFILLED 96
#define INDEX_ATTEMPTED  128

/* How far the log has been brought into the file. False: not known, or it is just being brought. */
static bool read_backfill(struct store *s, struct backfill *ret)
{
	sqlite3_file *file = NULL;
	volatile void *index = NULL;
	uint32_t attempted, pages;

	if (!s->log_inode) /* where there is no log, asking for its index would make one that is not freed */
		return false;
	if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file->pMethods ||
	    file->pMethods->iVersion < 2 || file->pMethods->xShmMap(file, 0, INDEX_BYTES, false, &index) != SQLITE_OK || !index)
		return false;
	memcpy(&attempted, (const uint8_t *)index + INDEX_ATTEMPTED, sizeof(attempted));
	memcpy(&pages, (const uint8_t *)index + INDEX_BACKFILLED, sizeof(pages));
	if (pages != attempted)
		return false;
	memcpy(ret->salts, (const uint8_t *)index + INDEX_SALTS, sizeof(ret->salts));
	ret->pages = pages;
	return true;
}

/* Whether another program wrote over the file (`cp COPY FILE`): it is another recording now, or none, or was written to while nothing was
 * brought into it from the log. The log that lies next to it holds pages of the file before. */
static bool was_overwritten(struct store *s)
{
	uint8_t id[4];
	bool whole = s->lock_fd >= 0 && pread(s->lock_fd, id, sizeof(id), HEADER_ID) == sizeof(id);
	struct seen_file seen = s->seen;
	const bool settled = s->lock_fd >= 0 && read_backfill(s, &seen.backfill); /* before the time is read: a log that is brought in now counts later */
	struct stat st = {};

	seen.id = whole ? (uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3] : 0;
	if (s->lock_fd < 0 || fstat(s->lock_fd, &st) < 0)
		return false;
	if (s->seen.looked && seen.id != s->seen.id && seen.id != s->id)
		return true;
	if (settled && s->seen.settled && memcmp(&seen.backfill, &s->seen.backfill, sizeof(seen.backfill)) == 0 &&
	    (st.st_mtim.tv_sec != seen.written.tv_sec || st.st_mtim.tv_nsec != seen.written.tv_nsec))
		return true;
	seen.looked = true;
	seen.settled |= settled;
	if (settled)
		seen.written = st.st_mtim;
	s->seen = seen;
	return false;
}

bool store_has_moved(struct store *s)
{
	int moved = 0;

	return !s->db || (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved) || was_overwritten(s);
}

bool store_log_is_gone(const struct store *s)
{
	struct stat st;

	if (!s->log_inode)
		return false;
	return stat(STR_TEXT(PATH_MAX, "%s-wal", s->file), &st) < 0 ? errno == ENOENT : st.st_ino != s->log_inode;
}

/* The log that SQLite still has open is found by no other process any more. All of it is brought in, or the log that is made next would continue where this one ends. */
static int bring_in_log(struct store *s)
{
	int code = sqlite3_wal_checkpoint_v2(s->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);

	return code == SQLITE_OK ? 0 : store_fail(s, code, "cannot bring its log, which was deleted, into");
}

/* The log that is left there belongs to the file that has gone: SQLite would take it in. Another one came with the file that is there. */
static void remove_old_log(const struct store *s)
{
	static const char *const endings[] = {"-wal", "-shm"};
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		_cleanup_free_ char *path = NULL;

		if (asprintf(&path, "%s%s", s->file, endings[i]) < 0 || (i == 0 && (stat(path, &st) < 0 || st.st_ino != s->log_inode)))
			return;
		(void)unlink(path);
	}
}

/* Before anything is changed: what another program put there stays as it is, unless it is this recording, or empty. */
static int open_own(struct store *s, uint32_t id)
{
	int64_t version;
	int r = open_to_write(s, &version);

	r = r ?: store_check_tables(s, "main", &store_shape, version == 0);
	r = r ?: read_id(s);
	if (r == 0 && version && s->id != id)
		r = str_fail_again(&s->error, -EEXIST, "%s is another recording now, which stays as it is: move it away, or end this recorder first", s->file);
	r = r ?: set_up(s, version);
	if (r == 0 && s->id != id)
		r = store_set_id(s, id);
	r = r ?: store_find_marks(s);
	r = r ?: store_lock(s);
	if (r == 0)
		(void)was_overwritten(s); /* from here on it is looked at */
	return r;
}

static int prepare_folder(struct store *s)
{
	_cleanup_free_ char *error = NULL;
	int r = write_path_prepare(s->file, 0700, &error);

	if (r < 0)
		return str_fail_again(&s->error, r, "%s", error);
	store_make_private(s->file);
	return 0;
}

int store_open_anew(struct store *s)
{
	const uint32_t id = s->id;
	int r = store_has_moved(s) ? 0 : bring_in_log(s);

	if (r < 0)
		return r;
	if (s->db) /* its log must not go into the file that is there now */
		sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	store_close_database(s);
	remove_old_log(s);
	r = prepare_folder(s) ?: open_own(s, id);
	s->id = id;
	s->raw_segment = s->numbered = s->marks_saved = 0; /* of the file before */
	s->ordered = r == 0;
	if (r == 0)
		note_log(s);
	else
		store_close_database(s);
	return r;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	store_close_database(s);
	FREE_ALL(s->error, s->file, s->run_dir, s);
}

int store_size(struct store *s, struct store_size *ret)
{
	static const char *const queries[] = {
		"PRAGMA page_count",
		"PRAGMA page_size",
		"SELECT coalesce(sum(length(bytes)), 0) FROM raw",
		"SELECT coalesce(sum(length(bytes)), 0) FROM chunk",
		"SELECT coalesce(sum(length(bytes)), 0) FROM summary",
		"SELECT count(*) FROM segment",
		"SELECT coalesce(sum(last - first), 0) FROM " SEGMENTS_READ,
	};
	int64_t answers[ARRAY_SIZE(queries)];
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(queries); i++)
		r = store_query_int(s, queries[i], &answers[i]);
	if (r < 0)
		return r;
	*ret = (struct store_size){.file = (uint64_t)(answers[0] * answers[1]),
				   .raw = (uint64_t)answers[2],
				   .chunks = (uint64_t)answers[3],
				   .summaries = (uint64_t)answers[4],
				   .segments = (uint64_t)answers[5],
				   .span = answers[6]};
	return 0;
}
