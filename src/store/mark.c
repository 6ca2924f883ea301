#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/vec.h"
#include "store/internal.h"
#include "store/store.h"

void mark_free(struct mark *m)
{
	free(m->note);
	*m = (struct mark){};
}

/* Marks are pressed while the disk is starved, so while a recorder runs they live beside its journal: RUN/marks.db,
 * attached as "run", and the writer copies them to the store when it next writes. */
static const char *schema_of(const struct store *s)
{
	return s->marks_in_run ? "run" : "main";
}

int store_prepare_marks(struct store *s, const char *format, sqlite3_stmt **ret)
{
	struct str sql = {};
	int r;

	for (const char *at = format; *at; at++) {
		if (at[0] == '%' && at[1] == 's') {
			str_puts(&sql, schema_of(s));
			at++;
		} else {
			str_putc(&sql, *at);
		}
	}
	r = sql.error ? sql.error : store_prepare(s, sql.data, ret);
	str_free(&sql);
	return r;
}

static char *marks_file(const struct store *s)
{
	char *path;

	return asprintf(&path, "%s/marks.db", s->run_dir) < 0 ? NULL : path;
}

static int attach(struct store *s, const char *path)
{
	sqlite3_stmt *stmt;
	int r = store_prepare(s, "ATTACH ? AS run", &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, path, -1, SQLITE_STATIC);
	r = store_run(s, stmt);
	s->marks_in_run = r == 0;
	return r;
}

int store_find_marks(struct store *s)
{
	_cleanup_free_ char *path = s->run_dir ? marks_file(s) : NULL;

	return path && access(path, F_OK) == 0 ? attach(s, path) : 0;
}

static const char save_all[] =
	"INSERT OR REPLACE INTO main.mark SELECT * FROM run.mark; INSERT OR REPLACE INTO main.inspection SELECT * FROM run.inspection;"
	"INSERT OR REPLACE INTO main.told SELECT * FROM run.told;"
	"DELETE FROM main.inspection WHERE mark NOT IN (SELECT DISTINCT mark FROM main.inspection ORDER BY mark DESC LIMIT " CAPTURED_MAX ")";

int store_open_marks(struct store *s)
{
	_cleanup_free_ char *path = marks_file(s);
	int r = path ? 0 : -ENOMEM;

	if (r == 0)
		store_make_private(path);
	if (r == 0 && !s->marks_in_run)
		r = attach(s, path);
	if (r == 0)
		r = store_exec(s, "PRAGMA run.synchronous = OFF; CREATE TABLE IF NOT EXISTS run." MARK_TABLE
				  "CREATE TABLE IF NOT EXISTS run." CAPTURE_TABLE "CREATE TABLE IF NOT EXISTS run." TOLD_TABLE);
	/* what a killed recorder left there is newer than the store's */
	if (r == 0)
		r = store_exec(s, "INSERT OR IGNORE INTO run.mark SELECT * FROM main.mark");
	return r < 0 ? r : store_save_marks(s);
}

int store_save_marks(struct store *s)
{
	int64_t version;
	int code, r = store_keep(s, "PRAGMA run.data_version", &s->marks_version);

	if (r < 0)
		return r;
	code = sqlite3_step(s->marks_version);
	version = sqlite3_column_int64(s->marks_version, 0);
	sqlite3_reset(s->marks_version);
	if (code != SQLITE_ROW)
		return store_fail(s, code, "cannot read");
	if (version == s->marks_saved)
		return 0;
	r = store_exec(s, save_all);
	if (r == 0) {
		s->marks_saved = version;
		r = store_exec(s, "DELETE FROM run.inspection"); /* they are large, and /run is memory */
	}
	return r;
}

int store_close_marks(struct store *s)
{
	_cleanup_free_ char *path = marks_file(s);
	int r = path ? store_exec(s, save_all) : -ENOMEM;

	sqlite3_finalize(s->marks_version);
	s->marks_version = NULL;
	if (r == 0)
		r = store_exec(s, "DETACH run");
	if (r < 0)
		return r;
	s->marks_in_run = false;
	return unlink(path) < 0 ? -errno : 0;
}

int store_copy_marks(struct store *from, struct store *to)
{
	_cleanup_free_ char *path = marks_file(from);
	int r = path ? attach(to, path) : -ENOMEM;

	if (r == 0)
		r = store_exec(to, save_all);
	if (r == 0)
		r = store_exec(to, "DETACH run");
	to->marks_in_run = false;
	return r;
}

static int same_event(struct store *s, int64_t wall, uint32_t uid, int64_t *ret_id)
{
	sqlite3_stmt *stmt;
	int r = store_prepare_marks(s, "SELECT id FROM %s.mark WHERE uid = ? AND undone = 0 AND presses > 0 AND last >= ? AND last <= ? ORDER BY id DESC LIMIT 1",
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
	int r = store_prepare_marks(s, "UPDATE %s.mark SET last = ?, presses = presses + 1, note = coalesce(?, note) WHERE id = ?", &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, wall);
	if (note)
		sqlite3_bind_text(stmt, 2, note, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, id);
	return store_run(s, stmt);
}

static int insert(struct store *s, int64_t wall, int presses, uint32_t uid, const char *note, int64_t *ret_id)
{
	sqlite3_stmt *stmt;
	int r = store_prepare_marks(s, "INSERT INTO %s.mark(wall, last, presses, uid, note) VALUES(?1, ?1, ?2, ?3, ?4)", &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, wall);
	sqlite3_bind_int(stmt, 2, presses);
	sqlite3_bind_int64(stmt, 3, uid);
	if (note)
		sqlite3_bind_text(stmt, 4, note, -1, SQLITE_STATIC);
	r = store_run(s, stmt);
	if (r == 0)
		*ret_id = sqlite3_last_insert_rowid(s->db);
	return r;
}

int store_mark(struct store *s, int64_t wall, uint32_t uid, const char *note, int64_t *ret_id)
{
	int64_t id;
	int r = same_event(s, wall, uid, &id);

	if (r == 0) {
		*ret_id = id;
		return press_again(s, id, wall, note);
	}
	return r == -ENOENT ? insert(s, wall, 1, uid, note, ret_id) : r;
}

int store_caught(struct store *s, int64_t wall, const char *note, int64_t *ret_id)
{
	return insert(s, wall, 0, 0, note, ret_id);
}

int store_caught_more(struct store *s, int64_t id, int64_t wall, const char *note)
{
	sqlite3_stmt *stmt;
	int r = store_prepare_marks(s, "UPDATE %s.mark SET last = ?1, note = ?2 WHERE id = ?3 AND presses = 0", &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, wall);
	sqlite3_bind_text(stmt, 2, note, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, id);
	r = store_run(s, stmt);
	return r < 0 ? r : sqlite3_changes(s->db) ? 0 : -ENOENT;
}

/* UPDATE of one mark that its owner or root may change. */
static int change_mark(struct store *s, const char *sql, int64_t id, uint32_t uid, const char *text, int number)
{
	sqlite3_stmt *stmt;
	int r = store_prepare_marks(s, sql, &stmt);

	if (r < 0)
		return r;
	if (text)
		sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_int(stmt, 1, number);
	sqlite3_bind_int64(stmt, 2, id);
	sqlite3_bind_int64(stmt, 3, uid);
	r = store_run(s, stmt);
	return r < 0 ? r : sqlite3_changes(s->db) ? 0 : -ENOENT;
}

int store_mark_note(struct store *s, int64_t id, uint32_t uid, const char *note)
{
	return change_mark(s, "UPDATE %s.mark SET note = ?1 WHERE id = ?2 AND undone = 0 AND (?3 = 0 OR uid = ?3)", id, uid,
			   note, 0);
}

int store_mark_feedback(struct store *s, int64_t id, uint32_t uid, enum feedback feedback)
{
	return change_mark(s, "UPDATE %s.mark SET feedback = ?1 WHERE id = ?2 AND undone = 0 AND (?3 = 0 OR uid = ?3 OR presses = 0)", id,
			   uid, NULL, (int)feedback);
}

int store_mark_undo(struct store *s, uint32_t uid, int64_t *ret_id)
{
	sqlite3_stmt *stmt;
	int64_t id = 0;
	int r = store_prepare_marks(s, "SELECT id FROM %s.mark WHERE undone = 0 AND presses > 0 AND (?1 = 0 OR uid = ?1) ORDER BY id DESC LIMIT 1", &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, uid);
	r = sqlite3_step(stmt) == SQLITE_ROW ? 0 : -ENOENT;
	if (r == 0)
		id = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	if (r == 0)
		r = change_mark(s, "UPDATE %s.mark SET undone = ?1 WHERE id = ?2 AND (?3 = 0 OR uid = ?3)", id, uid, NULL, 1);
	if (r == 0)
		*ret_id = id;
	return r;
}

int store_tell(struct store *s, int64_t mark, uint32_t uid, const char *json)
{
	sqlite3_stmt *stmt;
	int r = store_prepare_marks(s, "INSERT OR REPLACE INTO %s.told(mark, uid, json) VALUES(?, ?, ?)", &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, mark);
	sqlite3_bind_int64(stmt, 2, uid);
	sqlite3_bind_text(stmt, 3, json, -1, SQLITE_STATIC);
	return store_run(s, stmt);
}

/* Newer ones are beside the journal. */
static char *read_told(struct store *s, const char *sql, int64_t mark, uint32_t uid)
{
	const char *text;
	sqlite3_stmt *stmt;
	char *json = NULL;

	if (store_prepare(s, sql, &stmt) < 0)
		return NULL; /* a recording from before answers were kept */
	sqlite3_bind_int64(stmt, 1, mark);
	sqlite3_bind_int64(stmt, 2, uid);
	if (sqlite3_step(stmt) == SQLITE_ROW && (text = (const char *)sqlite3_column_text(stmt, 0)))
		json = strdup(text);
	sqlite3_finalize(stmt);
	return json;
}

char *store_told(struct store *s, int64_t mark, uint32_t uid)
{
	char *json = s->marks_in_run ? read_told(s, "SELECT json FROM run.told WHERE mark = ? AND uid = ?", mark, uid) : NULL;

	return json ? json : read_told(s, "SELECT json FROM main.told WHERE mark = ? AND uid = ?", mark, uid);
}

int store_marks(struct store *s, int64_t from, int64_t to, struct mark **ret, size_t *ret_n)
{
	VEC(struct mark) marks = {};
	sqlite3_stmt *stmt;
	int r = store_prepare_marks(s,
			"SELECT id, wall, last, presses, uid, note, feedback FROM %s.mark"
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
