#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "store/internal.h"
#include "store/store.h"

void mark_free(struct mark *m)
{
	free(m->note);
	*m = (struct mark){};
}

static int same_event(struct store *s, int64_t wall, uint32_t uid, int64_t *ret_id)
{
	sqlite3_stmt *stmt;
	int r = store_prepare(s, "SELECT id FROM mark WHERE uid = ? AND undone = 0 AND last >= ? AND last <= ? ORDER BY id DESC LIMIT 1",
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
	int r = store_prepare(s, "UPDATE mark SET last = ?, presses = presses + 1, note = coalesce(?, note) WHERE id = ?", &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, wall);
	if (note)
		sqlite3_bind_text(stmt, 2, note, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, id);
	return store_run(s, stmt);
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
	r = store_prepare(s, "INSERT INTO mark(wall, last, presses, uid, note) VALUES(?1, ?1, 1, ?2, ?3)", &stmt);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, wall);
	sqlite3_bind_int64(stmt, 2, uid);
	if (note)
		sqlite3_bind_text(stmt, 3, note, -1, SQLITE_STATIC);
	r = store_run(s, stmt);
	if (r == 0)
		*ret_id = sqlite3_last_insert_rowid(s->db);
	return r;
}

/* UPDATE of one mark that its owner or root may change. */
static int change_mark(struct store *s, const char *sql, int64_t id, uint32_t uid, const char *text, int number)
{
	sqlite3_stmt *stmt;
	int r = store_prepare(s, sql, &stmt);

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
	int r = store_prepare(s, "SELECT id FROM mark WHERE undone = 0 AND (?1 = 0 OR uid = ?1) ORDER BY id DESC LIMIT 1", &stmt);

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
	int r = store_prepare(s,
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
