/* A recording into another file, row by row: so the other one has checksums of its pages (page-sums.h), whatever this one has, and
 * what can be read of a damaged one. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/rights/own-folder.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "lib/store/page-sums.h"
#include "machine/recording/internal.h"

#define UPGRADE_MAX ((off_t)256 << 20) /* bytes: a recorder that begins is not to copy for a minute */
#define SQL_ROOM    400

/* --- rows --- */

static int prepare_insert(struct store *to, const char *table, const char *columns, sqlite3_stmt **ret)
{
	char sql[SQL_ROOM];
	int n = snprintf(sql, sizeof(sql), "INSERT INTO main.%s(%s) VALUES(?", table, columns);

	for (const char *c = columns; *c; c++)
		if (*c == ',')
			n += snprintf(sql + n, sizeof(sql) - (size_t)n, ", ?");
	snprintf(sql + n, sizeof(sql) - (size_t)n, ")");
	return store_prepare(to, sql, ret);
}

static int put_row(struct store *to, sqlite3_stmt *row, sqlite3_stmt *insert)
{
	int code = SQLITE_OK;

	for (int i = 0; code == SQLITE_OK && i < sqlite3_column_count(row); i++)
		code = sqlite3_bind_value(insert, i + 1, sqlite3_column_value(row, i));
	if (code == SQLITE_OK)
		code = sqlite3_step(insert);
	sqlite3_reset(insert);
	return code == SQLITE_DONE ? 0 : store_fail(to, code, "cannot write");
}

/* Up to what is damaged: page_sums_failed() tells of it. */
static int copy_rows(struct store *from, struct store *to, sqlite3_stmt *select, sqlite3_stmt *insert)
{
	int code, r = 0;

	while (r == 0 && (code = sqlite3_step(select)) == SQLITE_ROW)
		r = put_row(to, select, insert);
	if (r < 0 || code == SQLITE_DONE)
		return r;
	r = database_errno(code);
	return r == -EUCLEAN || r == -EIO ? -EBADMSG : store_fail(from, code, "cannot read");
}

static int copy_table(struct store *from, struct store *to, const char *table, const char *columns)
{
	_cleanup_statement_ sqlite3_stmt *select = NULL, *insert = NULL;
	int r;

	if (!store_has_table(from, table) || !store_has_table(to, table))
		return 0;
	r = store_prepare(from, STR_TEXT(SQL_ROOM, "SELECT %s FROM main.%s", columns, table), &select);
	r = r ?: prepare_insert(to, table, columns, &insert);
	return r ?: copy_rows(from, to, select, insert);
}

/* --- chunks, each of which may be damaged --- */

struct segment {
	int64_t id, first, last;
};

static int list_segments(struct store *s, struct segment **ret, size_t *ret_n)
{
	VEC(struct segment) found = {};
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "SELECT id, first, last FROM main.segment ORDER BY id", &stmt);

	while (store_row(s, stmt, &r)) {
		const struct segment one = {sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2)};

		r = VEC_PUSH(found, one);
	}
	if (r < 0) {
		VEC_FREE(found);
		return r;
	}
	*ret = found.v;
	*ret_n = found.n;
	return 0;
}

/* Without its chunk a segment's row tells the copy's reader of the damage. */
static int copy_chunk(struct store *from, struct store *to, const struct segment *segment, sqlite3_stmt *select, sqlite3_stmt *insert)
{
	int r;

	database_renew(&from->budget);
	sqlite3_bind_int64(select, 1, segment->id);
	r = copy_rows(from, to, select, insert);
	sqlite3_reset(select);
	if (r == -EBADMSG)
		store_note_damage(from, segment->first, segment->last);
	return r;
}

static int copy_chunks(struct store *from, struct store *to)
{
	_cleanup_free_ struct segment *segments = NULL;
	_cleanup_statement_ sqlite3_stmt *select = NULL, *insert = NULL;
	bool damaged = false;
	size_t n = 0;
	int r = list_segments(to, &segments, &n);

	r = r ?: store_prepare(from, "SELECT segment, bytes FROM main.chunk WHERE segment = ?", &select);
	r = r ?: prepare_insert(to, "chunk", "segment,bytes", &insert);
	page_sums_ignore(from->db, true); /* chunks have their own, which the copy's reader looks at */
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = copy_chunk(from, to, &segments[i], select, insert);
		damaged = damaged || r == -EBADMSG;
		r = r == -EBADMSG ? 0 : r;
	}
	page_sums_ignore(from->db, false);
	return r == 0 && damaged ? -EBADMSG : r;
}

/* --- all of it --- */

/* -EBADMSG: parts are damaged; the others are there. */
static int copy_tables(struct store *from, struct store *to)
{
	/* first: ids of marks that are gone are not given again */
	int damaged = copy_table(from, to, "sqlite_sequence", "name,seq"), r = damaged == -EBADMSG ? 0 : damaged;

	for (const struct database_table *t = store_shape.tables; r == 0 && t->name; t++) {
		r = strcmp(t->name, "chunk") == 0 ? copy_chunks(from, to) : copy_table(from, to, t->name, t->columns);
		damaged = r == -EBADMSG ? r : damaged;
		r = r == -EBADMSG ? 0 : r;
	}
	return r < 0 ? r : damaged;
}

/* In one moment of the source. -EBADMSG as above; other errors are in words in to->error. */
static int copy_recording(struct store *from, struct store *to)
{
	int r = store_exec(from, "BEGIN"), ended;

	r = r ?: store_begin(to);
	r = r ?: copy_tables(from, to);
	ended = r == 0 || r == -EBADMSG ? store_exec(to, "COMMIT") : 0;
	store_rollback(to);
	store_rollback(from);
	if (from->error && !to->error)
		to->error = TAKE(from->error);
	return ended < 0 ? ended : r;
}

/* The journal is in another place: its segments become raw rows, then chunks, of the copy. */
static int copy_journal(struct store *from, struct store *to)
{
	_cleanup_free_ int64_t *segments = NULL;
	const char *run_dir = store_run_dir(from);
	size_t n = 0;
	int r = store_open_segments(from, &segments, &n);

	to->run_dir = run_dir ? strdup(run_dir) : NULL;
	for (size_t i = 0; r == 0 && to->run_dir && i < n; i++) {
		r = store_save_journal(to, segments[i]);
		if (r == -ENOENT)
			r = 0;
	}
	free(to->run_dir);
	to->run_dir = NULL; /* the journal stays where it is */
	return r == 0 ? store_recover(to, 0) : r;
}

/* Names the file as the reader knows it, not by the place where it is made. */
static void name_target(char **error, const char *made, const char *to)
{
	char *at = *error ? strstr(*error, made) : NULL, *named;

	if (!at || asprintf(&named, "%.*s%s%s", (int)(at - *error), *error, to, at + strlen(made)) < 0)
		return;
	free(*error);
	*error = named;
}

static int export_into(struct store *s, const struct own_file *place, const char *to, char **ret_error)
{
	const struct store_paths paths = {.file = place->path};
	struct store *copy = NULL;
	int r = store_open(&paths, STORE_WRITE, &copy, ret_error);

	if (r < 0) {
		name_target(ret_error, place->path, to);
		return r;
	}
	r = copy_recording(s, copy);
	if (r == -EBADMSG)
		r = 0;
	if (r == 0 && s->marks_in_run)
		r = store_copy_marks(s, copy);
	r = r ?: copy_journal(s, copy);
	r = r ?: store_exec(copy, "PRAGMA main.journal_mode = DELETE");
	if (r < 0 && !*ret_error)
		*ret_error = TAKE(copy->error);
	store_close(copy);
	name_target(ret_error, place->path, to);
	return r;
}

static int begin_copy(const char *folder, const char *name, const char *to, struct own_file *ret, char **ret_error)
{
	_cleanup_free_ char *reason = NULL;
	int r = own_file_begin(folder, name, 0600, ret, &reason);

	return r < 0 ? str_fail(ret_error, r, "cannot write %s: %s", to, reason ? reason : strerror(-r)) : 0;
}

int store_export(struct store *s, const char *to, bool replace, char **ret_error)
{
	const char *slash = strrchr(to, '/'), *name = slash ? slash + 1 : to;
	_cleanup_free_ char *folder = folder_of(to);
	struct own_file place;
	struct stat st;
	int r;

	if (!folder)
		return -ENOMEM;
	if (!replace && lstat(to, &st) == 0)
		return str_fail(ret_error, -EEXIST, "%s exists already: name another file", to);
	r = begin_copy(folder, name, to, &place, ret_error);
	if (r < 0)
		return r;
	r = export_into(s, &place, to, ret_error);
	if (r == 0) {
		r = own_file_publish(&place, name, replace);
		if (r < 0)
			(void)str_fail(ret_error, r, "cannot write %s: %s", to, strerror(-r));
	}
	own_file_end(&place);
	return r;
}

int store_export_open(struct store *s, const char *folder, int *ret_fd, char **ret_error)
{
	struct own_file place;
	int r = begin_copy(folder, "whyslow-copy", folder, &place, ret_error);

	if (r < 0)
		return r;
	r = export_into(s, &place, folder, ret_error);
	r = r ?: own_file_open(&place);
	if (r >= 0)
		*ret_fd = r;
	own_file_end(&place);
	return r < 0 ? r : 0;
}

/* --- an older recording --- */

static int make_anew(struct store *s, const char *path)
{
	const struct store_paths paths = {.file = path};
	_cleanup_free_ char *error = NULL;
	_cleanup_store_ struct store *copy = NULL;
	int r = store_open(&paths, STORE_WRITE, &copy, &error);

	if (r < 0)
		return r;
	r = copy_recording(s, copy);
	if (r == 0)
		r = store_set_id(copy, s->id); /* the journal and marks in the run directory are its */
	return r ?: store_exec(copy, "PRAGMA main.journal_mode = DELETE");
}

/* Its log would be taken for that of the new file: without another process that has the file open SQLite ends it. */
static int replace(struct store *s, const struct own_file *made, const char *name)
{
	int r = store_exec(s, "PRAGMA main.journal_mode = DELETE");

	return r < 0 ? r : own_file_publish(made, name, true);
}

/* With the lock of the new file. A descriptor is closed after SQLite's: closing it takes away their locks (POSIX). */
static int open_again(struct store *s)
{
	const bool locked = s->lock_fd >= 0;
	int r;

	store_close_database(s);
	r = store_reopen(s);
	return r == 0 && locked ? store_lock(s) : r;
}

int store_upgrade(struct store *s)
{
	const char *slash = strrchr(s->file, '/'), *name = slash ? slash + 1 : s->file;
	_cleanup_free_ char *folder = NULL, *unused = NULL;
	struct own_file made;
	struct stat st;

	if (page_sums_are_there(s->db) || stat(s->file, &st) < 0 || st.st_size > UPGRADE_MAX)
		return 0;
	folder = folder_of(s->file);
	if (!folder)
		return -ENOMEM;
	if (own_file_begin(folder, name, 0600, &made, &unused) < 0)
		return 0;
	if (make_anew(s, made.path) == 0)
		(void)replace(s, &made, name);
	own_file_end(&made);
	free(s->error);
	s->error = NULL;
	return open_again(s);
}
