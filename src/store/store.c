#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "store/frame.h"
#include "store/internal.h"
#include "store/journal.h"

#define SCHEMA_VERSION 1
#define ZSTD_LEVEL     12
#define CHUNK_MAX      ((size_t)512 << 20) /* a ten-minute chunk of 10,000 busy processes is a tenth of this */

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS segment(id INTEGER PRIMARY KEY, first INTEGER, last INTEGER, ticks INTEGER,"
	" highest_entity INTEGER);"
	"CREATE TABLE IF NOT EXISTS raw(segment INTEGER, at INTEGER, bytes BLOB, PRIMARY KEY(segment, at));"
	"CREATE TABLE IF NOT EXISTS chunk(segment INTEGER, part INTEGER, format INTEGER, size INTEGER, bytes BLOB,"
	" PRIMARY KEY(segment, part));"
	"CREATE TABLE IF NOT EXISTS mark(id INTEGER PRIMARY KEY AUTOINCREMENT, wall INTEGER, last INTEGER,"
	" presses INTEGER, uid INTEGER, note TEXT, feedback INTEGER DEFAULT 0, undone INTEGER DEFAULT 0);";

static int errno_of(int sqlite_code)
{
	switch (sqlite_code & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EUCLEAN;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	default:
		return -EIO;
	}
}

const char *store_error(const struct store *s)
{
	return s->error ? s->error : "no error";
}

/* Says what failed and what would mend it; returns the errno. */
static int fail(struct store *s, int code, const char *what)
{
	int r = errno_of(code);
	const char *remedy = "";

	free(s->error);
	s->error = NULL;
	if (r == -ENOSPC)
		remedy = ": the disk is full; free some space, or lower store.max_size";
	else if (r == -EROFS)
		remedy = ": the file system is read-only; point store.file at a writable place";
	else if (r == -EUCLEAN)
		remedy = ": the file is damaged; move it away to start afresh ('sqlite3 FILE .recover' may save parts)";
	else if (r == -EACCES)
		remedy = ": no permission; ask the daemon (whyslow without --store) or use root";
	if (asprintf(&s->error, "%s %s: %s%s", what, s->file, sqlite3_errmsg(s->db), remedy) < 0)
		s->error = NULL;
	return r;
}

static int prepare(struct store *s, const char *sql, sqlite3_stmt **ret)
{
	int code = sqlite3_prepare_v2(s->db, sql, -1, ret, NULL);

	return code == SQLITE_OK ? 0 : fail(s, code, "cannot read");
}

static int exec(struct store *s, const char *sql)
{
	int code = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : fail(s, code, "cannot write");
}

/* Runs a statement that returns nothing, and finishes it. */
static int run(struct store *s, sqlite3_stmt *stmt)
{
	int code = sqlite3_step(stmt);
	int r = code == SQLITE_DONE ? 0 : fail(s, code, "cannot write");

	sqlite3_finalize(stmt);
	return r;
}

static int query_int(struct store *s, const char *sql, int64_t *ret)
{
	sqlite3_stmt *stmt;
	int r = prepare(s, sql, &stmt), code;

	if (r < 0)
		return r;
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	else
		r = code == SQLITE_DONE ? -ENOENT : fail(s, code, "cannot read");
	sqlite3_finalize(stmt);
	return r;
}

static int check_version(struct store *s, enum store_mode mode)
{
	int64_t version = 0;
	int r = query_int(s, "PRAGMA user_version", &version);

	if (r < 0)
		return r;
	if (version > SCHEMA_VERSION) {
		free(s->error);
		if (asprintf(&s->error, "%s was written by a newer whyslow (format %" PRId64 ", this one reads %d): upgrade whyslow",
			     s->file, version, SCHEMA_VERSION) < 0)
			s->error = NULL;
		return -EPROTONOSUPPORT;
	}
	if (mode == STORE_READ)
		return version ? 0 : -ENOENT;
	r = exec(s, schema);
	if (r == 0 && version < SCHEMA_VERSION)
		r = exec(s, "PRAGMA user_version = 1");
	return r;
}

static int open_database(struct store *s, enum store_mode mode)
{
	int flags = mode == STORE_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE;
	int code = sqlite3_open_v2(s->file, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL);

	/* a copy on read-only media can be read as well */
	if (code != SQLITE_OK && mode == STORE_READ) {
		sqlite3_close(s->db);
		code = sqlite3_open_v2(s->file, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	}
	if (code != SQLITE_OK)
		return fail(s, code, "cannot open");
	sqlite3_busy_timeout(s->db, mode == STORE_WRITE ? 10000 : 2000);
	if (mode == STORE_WRITE) {
		int r = exec(s, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
				"PRAGMA wal_autocheckpoint = 256; PRAGMA journal_size_limit = 4194304; PRAGMA cache_size = -512");
		if (r < 0)
			return r;
	}
	return check_version(s, mode);
}

/* Makes the file's folder, one level: /var/lib/whyslow, ~/.local/state/whyslow. */
static void make_folder(const char *file)
{
	_cleanup_free_ char *folder = strdup(file);
	char *slash = folder ? strrchr(folder, '/') : NULL;

	if (!slash || slash == folder)
		return;
	*slash = '\0';
	for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(folder, 0755);
		*at = '/';
	}
	mkdir(folder, 0700);
}

int store_open(const struct store_paths *paths, enum store_mode mode, struct store **ret, char **ret_error)
{
	struct store *s = calloc(1, sizeof(*s));
	int r = -ENOMEM;

	*ret_error = NULL;
	if (!s)
		return r;
	s->file = strdup(paths->file);
	s->run_dir = paths->run_dir ? strdup(paths->run_dir) : NULL;
	if (!s->file || (paths->run_dir && !s->run_dir))
		goto failed;
	if (mode == STORE_WRITE)
		make_folder(s->file);
	else if (access(s->file, F_OK) < 0) {
		r = -errno;
		if (asprintf(ret_error, "nothing is recorded in %s: start the recorder first (whyslow record)", s->file) < 0)
			*ret_error = NULL;
		goto failed;
	}
	r = open_database(s, mode);
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

void store_close(struct store *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	free(s->error);
	free(s->file);
	free(s->run_dir);
	free(s);
}

/* --- writing --- */

static int raw_size(struct store *s, int64_t segment, int64_t *ret)
{
	sqlite3_stmt *stmt;
	int r = prepare(s, "SELECT coalesce(max(at + length(bytes)), 0) FROM raw WHERE segment = ?", &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, segment);
	*ret = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
	sqlite3_finalize(stmt);
	return 0;
}

int store_save_journal(struct store *s, int64_t segment)
{
	_cleanup_free_ char *bytes = NULL;
	sqlite3_stmt *stmt;
	int64_t have;
	size_t n;
	int r = raw_size(s, segment, &have);

	if (r == 0)
		r = journal_read(s->run_dir, segment, (uint64_t)have, &bytes, &n);
	if (r < 0 || n == 0)
		return r;
	r = prepare(s, "INSERT INTO raw(segment, at, bytes) VALUES(?, ?, ?)", &stmt);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, segment);
	sqlite3_bind_int64(stmt, 2, have);
	sqlite3_bind_blob64(stmt, 3, bytes, n, SQLITE_STATIC);
	return run(s, stmt);
}

/* A segment's frames that are not a chunk yet: the journal's if it is there, else the raw rows. */
static int read_frames(struct store *s, int64_t segment, struct str *ret)
{
	sqlite3_stmt *stmt;
	char *bytes;
	size_t n;
	int r = s->run_dir ? journal_read(s->run_dir, segment, 0, &bytes, &n) : -ENOENT;

	if (r == 0) {
		r = str_append(ret, bytes, n);
		free(bytes);
		return r;
	}
	r = prepare(s, "SELECT bytes FROM raw WHERE segment = ? ORDER BY at", &stmt);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, segment);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		str_append(ret, sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0));
	sqlite3_finalize(stmt);
	return ret->error;
}

static int put_chunk(struct store *s, int64_t segment, const struct str *frames)
{
	size_t bound = ZSTD_compressBound(frames->len);
	_cleanup_free_ void *packed = malloc(bound);
	sqlite3_stmt *stmt;
	size_t n;
	int r;

	if (!packed)
		return -ENOMEM;
	n = ZSTD_compress(packed, bound, frames->data, frames->len, ZSTD_LEVEL);
	if (ZSTD_isError(n))
		return -EIO;
	r = prepare(s, "INSERT OR REPLACE INTO chunk(segment, part, format, size, bytes) VALUES(?, 0, 1, ?, ?)", &stmt);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, segment);
	sqlite3_bind_int64(stmt, 2, (int64_t)frames->len);
	sqlite3_bind_blob64(stmt, 3, packed, n, SQLITE_STATIC);
	return run(s, stmt);
}

static uint32_t highest_id(const struct dataset *d)
{
	uint32_t highest = 0;

	for (size_t i = 0; i < d->subjects.n; i++)
		if (d->subjects.v[i]->info.id > highest)
			highest = d->subjects.v[i]->info.id;
	return highest;
}

static int put_segment(struct store *s, int64_t segment, const struct dataset *d)
{
	sqlite3_stmt *stmt;
	int r = prepare(s, "INSERT OR REPLACE INTO segment(id, first, last, ticks, highest_entity) VALUES(?, ?, ?, ?, ?)",
			&stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, segment);
	sqlite3_bind_int64(stmt, 2, d->ticks.n ? d->ticks.v[0].wall : 0);
	sqlite3_bind_int64(stmt, 3, d->ticks.n ? d->ticks.v[d->ticks.n - 1].wall : 0);
	sqlite3_bind_int64(stmt, 4, (int64_t)d->ticks.n);
	sqlite3_bind_int64(stmt, 5, highest_id(d));
	return run(s, stmt);
}

static int drop_raw(struct store *s, int64_t segment)
{
	sqlite3_stmt *stmt;
	int r = prepare(s, "DELETE FROM raw WHERE segment = ?", &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, segment);
	return run(s, stmt);
}

int store_compact(struct store *s, int64_t segment)
{
	struct str frames = {};
	struct dataset d = {};
	size_t used;
	int r = read_frames(s, segment, &frames);

	if (r == 0 && frames.len) {
		/* what a crash cut off in mid-frame ends here */
		(void)frames_read(frames.data, frames.len, INT64_MIN, INT64_MAX, &d, &used);
		frames.len = used;
	}
	if (r == 0)
		r = exec(s, "BEGIN IMMEDIATE");
	if (r == 0) {
		if (d.ticks.n)
			r = put_chunk(s, segment, &frames);
		if (r == 0 && d.ticks.n)
			r = put_segment(s, segment, &d);
		if (r == 0)
			r = drop_raw(s, segment);
		if (r == 0)
			r = exec(s, "COMMIT");
		if (r < 0)
			sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	}
	if (r == 0 && s->run_dir)
		journal_remove(s->run_dir, segment);
	dataset_free(&d);
	str_free(&frames);
	return r;
}

/* Raw rows of segments that no chunk replaced; ascending; caller frees. */
static int raw_segments(struct store *s, int64_t **ret, size_t *ret_n)
{
	VEC(int64_t) found = {};
	sqlite3_stmt *stmt;
	int r = prepare(s, "SELECT DISTINCT segment FROM raw ORDER BY segment", &stmt);

	if (r < 0)
		return r;
	while (sqlite3_step(stmt) == SQLITE_ROW)
		(void)VEC_PUSH(found, sqlite3_column_int64(stmt, 0));
	sqlite3_finalize(stmt);
	*ret = found.v;
	*ret_n = found.n;
	return 0;
}

int store_recover(struct store *s, int64_t current)
{
	_cleanup_free_ int64_t *left = NULL, *raw = NULL;
	size_t n = 0, n_raw = 0;
	int r = s->run_dir ? journal_list(s->run_dir, &left, &n) : 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		if (left[i] != current)
			r = store_compact(s, left[i]);
	if (r == 0)
		r = raw_segments(s, &raw, &n_raw);
	for (size_t i = 0; r == 0 && i < n_raw; i++)
		if (raw[i] != current)
			r = store_compact(s, raw[i]);
	return r;
}

static int drop_segment(struct store *s, int64_t segment)
{
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "BEGIN; DELETE FROM chunk WHERE segment = %" PRId64 "; DELETE FROM segment WHERE id = %" PRId64
		 "; COMMIT; PRAGMA incremental_vacuum;",
		 segment, segment);
	return exec(s, sql);
}

int store_retain(struct store *s, const struct retention *keep, int64_t now)
{
	for (;;) {
		int64_t oldest, last, pages, free_pages, page_size;
		bool too_old, too_big;
		int r = query_int(s, "SELECT id FROM segment ORDER BY id LIMIT 1", &oldest);

		if (r < 0)
			return r == -ENOENT ? 0 : r;
		if (query_int(s, "SELECT last FROM segment ORDER BY id LIMIT 1", &last) < 0 ||
		    query_int(s, "PRAGMA page_count", &pages) < 0 || query_int(s, "PRAGMA page_size", &page_size) < 0 ||
		    query_int(s, "PRAGMA freelist_count", &free_pages) < 0)
			return -EIO;
		too_old = keep->age && last < now - keep->age;
		too_big = keep->bytes && (uint64_t)((pages - free_pages) * page_size) > keep->bytes;
		if (!too_old && !too_big)
			return 0;
		r = drop_segment(s, oldest);
		if (r < 0)
			return r;
	}
}

int store_size(struct store *s, struct store_size *ret)
{
	int64_t pages = 0, page_size = 0, raw = 0, chunks = 0, segments = 0, span = 0;

	if (query_int(s, "PRAGMA page_count", &pages) < 0 || query_int(s, "PRAGMA page_size", &page_size) < 0 ||
	    query_int(s, "SELECT coalesce(sum(length(bytes)), 0) FROM raw", &raw) < 0 ||
	    query_int(s, "SELECT coalesce(sum(length(bytes)), 0) FROM chunk", &chunks) < 0 ||
	    query_int(s, "SELECT count(*) FROM segment", &segments) < 0 ||
	    query_int(s, "SELECT coalesce(sum(last - first), 0) FROM segment", &span) < 0)
		return -EIO;
	*ret = (struct store_size){.file = (uint64_t)(pages * page_size),
				   .raw = (uint64_t)raw,
				   .chunks = (uint64_t)chunks,
				   .segments = (uint64_t)segments,
				   .span = span};
	return 0;
}

/* --- reading --- */

int store_highest_entity(struct store *s, uint32_t *ret)
{
	struct dataset open_segments = {};
	int64_t highest = 0;
	unsigned damaged;
	int r = query_int(s, "SELECT coalesce(max(highest_entity), 0) FROM segment", &highest);

	/* segments that are not compacted are not in the table */
	if (r == 0)
		r = store_load(s, INT64_MAX - 1, INT64_MAX, &open_segments, &damaged);
	if (r == 0)
		*ret = (uint32_t)highest > highest_id(&open_segments) ? (uint32_t)highest : highest_id(&open_segments);
	dataset_free(&open_segments);
	return r;
}

static int unpack_chunk(sqlite3_stmt *stmt, struct str *frames)
{
	const void *packed = sqlite3_column_blob(stmt, 1);
	size_t n = (size_t)sqlite3_column_bytes(stmt, 1), size = (size_t)sqlite3_column_int64(stmt, 0), got;

	str_clear(frames);
	if (size > CHUNK_MAX)
		return -EBADMSG;
	if (str_reserve(frames, size) < 0)
		return -ENOMEM;
	got = ZSTD_decompress(frames->data, size, packed, n);
	if (ZSTD_isError(got) || got != size)
		return -EBADMSG;
	frames->len = size;
	return 0;
}

static int load_frames(const struct str *frames, int64_t from, int64_t to, struct dataset *into, unsigned *damaged)
{
	size_t used;
	int r = frames->len ? frames_read(frames->data, frames->len, from, to, into, &used) : 0;

	if (r == -EBADMSG) {
		(*damaged)++;
		r = 0;
	}
	return r;
}

static int load_chunks(struct store *s, int64_t from, int64_t to, struct dataset *into, unsigned *damaged)
{
	struct str frames = {.max = CHUNK_MAX};
	sqlite3_stmt *stmt;
	int code = SQLITE_DONE;
	int r = prepare(s,
			"SELECT c.size, c.bytes FROM segment g JOIN chunk c ON c.segment = g.id"
			" WHERE g.last >= ? AND g.first <= ? ORDER BY g.id, c.part",
			&stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, from);
	sqlite3_bind_int64(stmt, 2, to);
	while (r == 0 && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		r = unpack_chunk(stmt, &frames);
		if (r == -EBADMSG) {
			(*damaged)++;
			r = 0;
			continue;
		}
		if (r == 0)
			r = load_frames(&frames, from, to, into, damaged);
	}
	if (r == 0 && code != SQLITE_DONE)
		r = fail(s, code, "cannot read");
	sqlite3_finalize(stmt);
	str_free(&frames);
	return r;
}

static bool has_chunk(struct store *s, int64_t segment)
{
	char sql[100];
	int64_t found;

	snprintf(sql, sizeof(sql), "SELECT 1 FROM segment WHERE id = %" PRId64, segment);
	return query_int(s, sql, &found) == 0;
}

static int compare_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Segments without a chunk, from the journal and from raw rows, each once, ascending. */
static int open_segments(struct store *s, int64_t **ret, size_t *ret_n)
{
	_cleanup_free_ int64_t *journal = NULL;
	int64_t *all;
	size_t n_journal = 0, n, kept = 0;
	int r = raw_segments(s, &all, &n);

	if (r == 0 && s->run_dir)
		r = journal_list(s->run_dir, &journal, &n_journal);
	if (r < 0)
		return r;
	if (n_journal) {
		int64_t *grown = reallocarray(all, n + n_journal, sizeof(*all));

		if (!grown) {
			free(all);
			return -ENOMEM;
		}
		all = grown;
		memcpy(all + n, journal, n_journal * sizeof(*all));
		n += n_journal;
	}
	if (n)
		qsort(all, n, sizeof(*all), compare_i64);
	for (size_t i = 0; i < n; i++)
		if ((kept == 0 || all[kept - 1] != all[i]) && !has_chunk(s, all[i]))
			all[kept++] = all[i];
	*ret = all;
	*ret_n = kept;
	return 0;
}

struct open_segment {
	int64_t id;
	struct str frames;
};

/* Reads every open segment's bytes, so that a compaction in the meantime takes nothing away. */
static int read_open_segments(struct store *s, struct open_segment **ret, size_t *ret_n)
{
	_cleanup_free_ int64_t *ids = NULL;
	struct open_segment *open;
	size_t n;
	int r = open_segments(s, &ids, &n);

	if (r < 0)
		return r;
	open = calloc(n ? n : 1, sizeof(*open));
	if (!open)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		open[i].id = ids[i];
		open[i].frames.max = CHUNK_MAX;
		(void)read_frames(s, ids[i], &open[i].frames);
	}
	*ret = open;
	*ret_n = n;
	return 0;
}

/* A segment is compacted into a chunk before its journal file goes. So what is open is read first, then the chunks
 * in one transaction, then of the open ones those that did not become a chunk meanwhile: each exactly once. */
int store_load(struct store *s, int64_t from, int64_t to, struct dataset *into, unsigned *ret_damaged)
{
	struct open_segment *open = NULL;
	unsigned damaged = 0;
	size_t n = 0;
	int r = read_open_segments(s, &open, &n);

	if (r == 0)
		r = exec(s, "BEGIN");
	if (r == 0) {
		r = load_chunks(s, from, to, into, &damaged);
		for (size_t i = 0; r == 0 && i < n; i++)
			if (!has_chunk(s, open[i].id))
				r = load_frames(&open[i].frames, from, to, into, &damaged);
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	}
	for (size_t i = 0; i < n; i++)
		str_free(&open[i].frames);
	free(open);
	dataset_finish(into);
	*ret_damaged = damaged;
	return r;
}

int store_extent(struct store *s, int64_t *ret_from, int64_t *ret_to)
{
	_cleanup_free_ int64_t *segments = NULL;
	struct dataset tail = {};
	unsigned damaged;
	int64_t from = 0, to = 0;
	size_t n = 0;
	int r = query_int(s, "SELECT coalesce(min(first), 0) FROM segment", &from);

	if (r == 0)
		r = query_int(s, "SELECT coalesce(max(last), 0) FROM segment", &to);
	if (r == 0)
		r = open_segments(s, &segments, &n);
	if (r == 0 && n)
		r = store_load(s, segments[0] * NS_PER_MS - 1, INT64_MAX, &tail, &damaged);
	if (r == 0 && tail.ticks.n) {
		if (!from)
			from = tail.ticks.v[0].wall;
		if (tail.ticks.v[tail.ticks.n - 1].wall > to)
			to = tail.ticks.v[tail.ticks.n - 1].wall;
	}
	dataset_free(&tail);
	*ret_from = from;
	*ret_to = to;
	return r;
}

int store_export(struct store *s, const char *to, char **ret_error)
{
	struct store_paths paths = {.file = to, .run_dir = NULL};
	_cleanup_free_ int64_t *segments = NULL;
	struct store *copy = NULL;
	sqlite3_backup *backup;
	size_t n;
	int r, code;

	if (access(to, F_OK) == 0) {
		if (asprintf(ret_error, "%s exists already: name another file", to) < 0)
			*ret_error = NULL;
		return -EEXIST;
	}
	r = store_open(&paths, STORE_WRITE, &copy, ret_error);
	if (r < 0)
		return r;
	backup = sqlite3_backup_init(copy->db, "main", s->db, "main");
	code = backup ? sqlite3_backup_step(backup, -1) : SQLITE_ERROR;
	if (backup)
		sqlite3_backup_finish(backup);
	r = code == SQLITE_DONE ? 0 : fail(copy, code, "cannot write");
	if (r == 0)
		r = open_segments(s, &segments, &n);
	/* the journal is in another place: its segments become raw rows, then chunks, of the copy */
	free(copy->run_dir);
	copy->run_dir = s->run_dir ? strdup(s->run_dir) : NULL;
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = store_save_journal(copy, segments[i]);
		if (r == -ENOENT)
			r = 0;
	}
	free(copy->run_dir);
	copy->run_dir = NULL; /* the journal stays where it is */
	if (r == 0)
		r = store_recover(copy, 0);
	if (r == 0)
		r = exec(copy, "PRAGMA journal_mode = DELETE");
	if (r < 0 && !*ret_error)
		*ret_error = TAKE(copy->error);
	store_close(copy);
	return r;
}

/* --- marks --- */

void mark_free(struct mark *m)
{
	free(m->note);
	*m = (struct mark){};
}

static int same_event(struct store *s, int64_t wall, uint32_t uid, int64_t *ret_id)
{
	sqlite3_stmt *stmt;
	int r = prepare(s, "SELECT id FROM mark WHERE uid = ? AND undone = 0 AND last >= ? AND last <= ? ORDER BY id DESC LIMIT 1",
			&stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, uid);
	sqlite3_bind_int64(stmt, 2, wall - 5 * NS_PER_SEC);
	sqlite3_bind_int64(stmt, 3, wall);
	r = sqlite3_step(stmt) == SQLITE_ROW ? 0 : -ENOENT;
	if (r == 0)
		*ret_id = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return r;
}

static int press_again(struct store *s, int64_t id, int64_t wall, const char *note)
{
	sqlite3_stmt *stmt;
	int r = prepare(s, "UPDATE mark SET last = ?, presses = presses + 1, note = coalesce(?, note) WHERE id = ?", &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, wall);
	if (note)
		sqlite3_bind_text(stmt, 2, note, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, id);
	return run(s, stmt);
}

int store_mark(struct store *s, int64_t wall, uint32_t uid, const char *note, int64_t *ret_id)
{
	sqlite3_stmt *stmt;
	int64_t id;
	int r = same_event(s, wall, uid, &id);

	if (r == 0) {
		*ret_id = id;
		return press_again(s, id, wall, note);
	}
	if (r != -ENOENT)
		return r;
	r = prepare(s, "INSERT INTO mark(wall, last, presses, uid, note) VALUES(?1, ?1, 1, ?2, ?3)", &stmt);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, wall);
	sqlite3_bind_int64(stmt, 2, uid);
	if (note)
		sqlite3_bind_text(stmt, 3, note, -1, SQLITE_STATIC);
	r = run(s, stmt);
	if (r == 0)
		*ret_id = sqlite3_last_insert_rowid(s->db);
	return r;
}

/* UPDATE of one mark that its owner or root may change. */
static int change_mark(struct store *s, const char *sql, int64_t id, uint32_t uid, const char *text, int number)
{
	sqlite3_stmt *stmt;
	int r = prepare(s, sql, &stmt);

	if (r < 0)
		return r;
	if (text)
		sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_int(stmt, 1, number);
	sqlite3_bind_int64(stmt, 2, id);
	sqlite3_bind_int64(stmt, 3, uid);
	r = run(s, stmt);
	return r < 0 ? r : sqlite3_changes(s->db) ? 0 : -ENOENT;
}

int store_mark_note(struct store *s, int64_t id, uint32_t uid, const char *note)
{
	return change_mark(s, "UPDATE mark SET note = ?1 WHERE id = ?2 AND undone = 0 AND (?3 = 0 OR uid = ?3)", id, uid,
			   note, 0);
}

int store_mark_feedback(struct store *s, int64_t id, uint32_t uid, enum feedback feedback)
{
	return change_mark(s, "UPDATE mark SET feedback = ?1 WHERE id = ?2 AND undone = 0 AND (?3 = 0 OR uid = ?3)", id,
			   uid, NULL, (int)feedback);
}

int store_mark_undo(struct store *s, uint32_t uid, int64_t *ret_id)
{
	sqlite3_stmt *stmt;
	int64_t id = 0;
	int r = prepare(s, "SELECT id FROM mark WHERE undone = 0 AND (?1 = 0 OR uid = ?1) ORDER BY id DESC LIMIT 1", &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, uid);
	r = sqlite3_step(stmt) == SQLITE_ROW ? 0 : -ENOENT;
	if (r == 0)
		id = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	if (r == 0)
		r = change_mark(s, "UPDATE mark SET undone = ?1 WHERE id = ?2 AND (?3 = 0 OR uid = ?3)", id, uid, NULL, 1);
	if (r == 0)
		*ret_id = id;
	return r;
}

int store_marks(struct store *s, int64_t from, int64_t to, struct mark **ret, size_t *ret_n)
{
	VEC(struct mark) marks = {};
	sqlite3_stmt *stmt;
	int r = prepare(s,
			"SELECT id, wall, last, presses, uid, note, feedback FROM mark"
			" WHERE undone = 0 AND wall BETWEEN ? AND ? ORDER BY wall, id",
			&stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, from);
	sqlite3_bind_int64(stmt, 2, to);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *note = (const char *)sqlite3_column_text(stmt, 5);
		struct mark m = {
			.id = sqlite3_column_int64(stmt, 0),
			.wall = sqlite3_column_int64(stmt, 1),
			.last = sqlite3_column_int64(stmt, 2),
			.presses = (uint32_t)sqlite3_column_int(stmt, 3),
			.uid = (uint32_t)sqlite3_column_int64(stmt, 4),
			.note = note ? strdup(note) : NULL,
			.feedback = (enum feedback)sqlite3_column_int(stmt, 6),
		};

		if (VEC_PUSH(marks, m) < 0)
			mark_free(&m);
	}
	sqlite3_finalize(stmt);
	*ret = marks.v;
	*ret_n = marks.n;
	return 0;
}

int store_mark_get(struct store *s, int64_t id, struct mark *ret)
{
	struct mark *marks;
	size_t n;
	int r = store_marks(s, INT64_MIN, INT64_MAX, &marks, &n);

	if (r < 0)
		return r;
	r = -ENOENT;
	for (size_t i = 0; i < n; i++) {
		if (marks[i].id == id) {
			*ret = marks[i];
			r = 0;
		} else {
			mark_free(&marks[i]);
		}
	}
	free(marks);
	return r;
}
