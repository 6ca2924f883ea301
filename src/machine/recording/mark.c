#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "lib/system/urgent.h"
#include "machine/recording/internal.h"
#include "machine/recording/store.h"

#define GOES_ON (-1) /* in place of presses: found by a rule, and not over yet */

void mark_free(struct mark *m)
{
	free(m->note);
	*m = (struct mark){};
}

void marks_free(struct mark *marks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mark_free(&marks[i]);
	free(marks);
}

/* Marks are pressed while the disk is starved, so while a recorder runs they live next to its journal: RUN/marks.db,
 * attached as "run", and the writer copies them to the store when it next writes. */
static const char *schema_of(const struct store *s)
{
	return s->marks_in_run ? "run" : "main";
}

/* The recorder has ended, and its marks have gone into the file; or another one has begun. */
static bool marks_have_moved(struct store *s)
{
	int moved = 0;

	return s->marks_in_run && sqlite3_file_control(s->db, "run", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved;
}

static int detach(struct store *s)
{
	int r;

	sqlite3_finalize(s->marks_version);
	s->marks_version = NULL;
	sqlite3_finalize(s->told_in_run);
	s->told_in_run = NULL;
	r = store_exec(s, "DETACH run");
	if (r == 0)
		s->marks_in_run = false;
	return r;
}

/* As store_prepare(); every %s of the text stands for the schema that holds the marks, wherever they are by now. */
#define prepare_marks(s, format, ret, ...) prepare_marks_with(s, format, ret, NUMBERS_(__VA_ARGS__))
static int prepare_marks_with(struct store *s, const char *format, sqlite3_stmt **ret, const int64_t *numbers, size_t n)
{
	bool may_move = sqlite3_get_autocommit(s->db); /* within a transaction everything stays where it is */
	_cleanup_str_ struct str sql = {};
	int r = may_move && marks_have_moved(s) ? detach(s) : 0;

	if (r == 0 && may_move && !s->marks_in_run)
		r = store_find_marks(s);
	if (r < 0)
		return r;
	for (const char *at = format; *at; at++) {
		if (at[0] == '%' && at[1] == 's') {
			str_puts(&sql, schema_of(s));
			at++;
		} else {
			str_putc(&sql, *at);
		}
	}
	r = sql.error ? sql.error : store_prepare_with(s, sql.data, ret, numbers, n);
	return r;
}

/* Other users chose such words. A file must not hold lines of theirs, nor what a terminal obeys: it may come to lie, or be shown, where each
 * line of it is read as something else. */
static int bind_text(sqlite3_stmt *stmt, int column, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (!copy)
		return text ? SQLITE_NOMEM : sqlite3_bind_null(stmt, column);
	str_make_printable(copy);
	return sqlite3_bind_text(stmt, column, copy, -1, free);
}

static int bind(sqlite3_stmt *stmt, int column, const struct mark_value *v)
{
	switch (v->kind) {
	case MARK_NUMBER:
		return sqlite3_bind_int64(stmt, column, v->number);
	case MARK_TEXT:
		return bind_text(stmt, column, v->at);
	case MARK_BYTES:
	default:
		return sqlite3_bind_blob64(stmt, column, v->at, (sqlite3_uint64)v->number, SQLITE_STATIC);
	}
}

/* The lock of RUN/marks.db is held for a moment in memory, and presses wait for it. */
static int run_on_marks(struct store *s, sqlite3_stmt *stmt)
{
	const struct urgent_section section = s->marks_in_run ? urgent_section_begin() : (struct urgent_section){};
	int r = store_run(s, stmt);

	if (s->marks_in_run)
		urgent_section_end(&section);
	return r;
}

static int try_change(struct store *s, const char *format, const struct mark_value *values, size_t n)
{
	sqlite3_stmt *stmt;
	int r = prepare_marks(s, format, &stmt);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		(void)bind(stmt, (int)i + 1, &values[i]); /* what was not bound is NULL */
	return run_on_marks(s, stmt);
}

int store_change_marks(struct store *s, const char *format, const struct mark_value *values, size_t n)
{
	int r = try_change(s, format, values, n);

	s->marks_saved = 0; /* the version that a handle sees does not tell of its own changes */
	/* the file went away while we waited for its lock */
	return r == -EROFS && marks_have_moved(s) ? try_change(s, format, values, n) : r;
}

static char *marks_file(const struct store *s)
{
	char *path;

	return asprintf(&path, "%s/marks.db", s->run_dir) < 0 ? NULL : path;
}

static const struct database_shape run_shape = {
	.what = "file of marks",
	.tables = (const struct database_table[]){MARK_SHAPES, {}},
};

static int attach(struct store *s, const char *path)
{
	sqlite3_stmt *stmt;
	int keep = 1, r = store_prepare(s, "ATTACH ? AS run", &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, path, -1, SQLITE_STATIC);
	r = store_run(s, stmt);
	s->marks_in_run = r == 0;
	/* a handle that outlives its recorder must not delete the log of the next one's file, which has the same name */
	if (r == 0)
		(void)sqlite3_file_control(s->db, "run", SQLITE_FCNTL_PERSIST_WAL, &keep);
	r = r ?: store_check_tables(s, "run", &run_shape, true);
	/* it lies in memory, or it would be lost with the journal: who presses must not wait for a disk */
	return r == 0 ? store_exec(s, "PRAGMA run.synchronous = OFF") : r;
}

int store_find_marks(struct store *s)
{
	_cleanup_free_ char *path = store_run_dir(s) ? marks_file(s) : NULL;

	return path && folder_path_exists(path) ? attach(s, path) : 0;
}

#define DROP_ANSWERS(schema)                                                                                       \
	"DELETE FROM " schema ".told WHERE mark NOT IN (SELECT id FROM " schema ".mark);"                           \
	"DELETE FROM " schema ".told WHERE uid <> 0 AND rowid NOT IN"                                               \
	" (SELECT rowid FROM " schema ".told WHERE uid <> 0 ORDER BY mark DESC LIMIT " ANSWERS_KEPT ");"

#define STAGE(table) "CREATE TEMP TABLE saved_" table " AS SELECT * FROM run." table ";"
#define UNSTAGE(table) "DROP TABLE IF EXISTS temp.saved_" table ";"

/* Copied first: while the file is written, which may take as long as its disk likes, presses must not wait for a lock of RUN/marks.db.
 * The recorder's marks are all there are: it took in the file's when it began, and those it deleted go from there, too. */
static const char save_all[] =
	STAGE("mark") STAGE("inspection") STAGE("feedback") STAGE("told")
	"INSERT OR REPLACE INTO main.mark SELECT * FROM temp.saved_mark;"
	"DELETE FROM main.mark WHERE id NOT IN (SELECT id FROM temp.saved_mark);"
	"INSERT OR REPLACE INTO main.inspection SELECT * FROM temp.saved_inspection;"
	"INSERT OR REPLACE INTO main.feedback SELECT * FROM temp.saved_feedback;"
	"DELETE FROM main.feedback WHERE mark NOT IN (SELECT id FROM main.mark);"
	"INSERT OR REPLACE INTO main.told SELECT * FROM temp.saved_told;" DROP_ANSWERS("main")
	"DELETE FROM main.inspection WHERE mark NOT IN (SELECT DISTINCT mark FROM main.inspection ORDER BY mark DESC LIMIT " CAPTURED_MAX ")";
static const char unstage_all[] = UNSTAGE("mark") UNSTAGE("inspection") UNSTAGE("feedback") UNSTAGE("told");

/* They are large, and /run is memory; those that came since are saved the next time. The store is not read for it: presses would wait
 * for its disk. */
static const char forget_saved[] =
	"DELETE FROM run.inspection WHERE (mark, pid, phase, wall) IN (SELECT mark, pid, phase, wall FROM temp.saved_inspection)";

int store_open_marks(struct store *s)
{
	_cleanup_free_ char *path = marks_file(s);
	int r = path ? 0 : -ENOMEM;

	if (r == 0)
		store_make_private(path);
	if (r == 0 && !s->marks_in_run)
		r = attach(s, path);
	if (r == 0) /* who reads it keeps no press waiting */
		r = store_exec(s, "PRAGMA run.journal_mode = WAL");
	r = r ?: store_exec(s, "CREATE TABLE IF NOT EXISTS run." MARK_TABLE
			  "CREATE TABLE IF NOT EXISTS run." CAPTURE_TABLE "CREATE TABLE IF NOT EXISTS run." TOLD_TABLE
			  "CREATE TABLE IF NOT EXISTS run." FEEDBACK_TABLE);
	/* what a killed recorder left there is newer than the store's */
	r = r ?: store_exec(s, "INSERT OR IGNORE INTO run.mark SELECT * FROM main.mark");
	s->marks_saved = 0; /* another file has versions of its own */
	return r;
}

static int marks_version(struct store *s, int64_t *ret)
{
	int code, r = store_prepare_cached(s, "PRAGMA run.data_version", &s->marks_version);

	if (r < 0)
		return r;
	code = sqlite3_step(s->marks_version);
	*ret = sqlite3_column_int64(s->marks_version, 0);
	sqlite3_reset(s->marks_version);
	return code == SQLITE_ROW ? 0 : store_fail(s, code, "cannot read");
}

static int forget_inspections(struct store *s)
{
	sqlite3_stmt *stmt;
	int r = store_prepare(s, forget_saved, &stmt);

	return r < 0 ? r : run_on_marks(s, stmt);
}

static int save_marks(struct store *s, bool forget)
{
	int r = store_exec(s, "PRAGMA temp_store = MEMORY"), dropped;

	r = r ?: store_exec(s, unstage_all);
	r = r ?: store_exec(s, save_all);
	if (r == 0 && forget)
		r = forget_inspections(s);
	dropped = store_exec(s, unstage_all);
	return r < 0 ? r : dropped;
}

/* RUN was deleted. SQLite still reads the marks that were there, and refuses to write any; new ones went into the file since then. */
static int renew_marks(struct store *s)
{
	int r = s->marks_in_run ? store_exec(s, "INSERT OR REPLACE INTO main.mark SELECT * FROM run.mark;"
						"INSERT OR REPLACE INTO main.inspection SELECT * FROM run.inspection;"
						"INSERT OR REPLACE INTO main.feedback SELECT * FROM run.feedback;"
						"INSERT OR REPLACE INTO main.told SELECT * FROM run.told") : 0;

	if (r == 0 && s->marks_in_run)
		r = detach(s);
	return r < 0 ? r : store_open_marks(s);
}

int store_save_marks(struct store *s)
{
	int64_t version = 0;
	int r = !s->marks_in_run || marks_have_moved(s) ? renew_marks(s) : 0;

	r = r ?: marks_version(s, &version);

	if (r < 0 || version == s->marks_saved)
		return r;
	r = save_marks(s, true);
	if (r == 0)
		s->marks_saved = version;
	return r;
}

/* With its log, which would be taken for that of the next recorder's file. */
static int remove_file(const char *path)
{
	static const char *const endings[] = {"-wal", "-shm"};

	if (unlink(path) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		_cleanup_free_ char *beside = NULL;

		if (asprintf(&beside, "%s%s", path, endings[i]) < 0) {
			beside = NULL;
			return -ENOMEM;
		}
		(void)unlink(beside);
	}
	return 0;
}

/* Between what was saved and the end of the file nothing writes to it: the lock is held. */
static int remove_if_saved(struct store *s, const char *path, bool *ret_removed)
{
	int64_t version;
	int r = store_exec(s, "BEGIN IMMEDIATE");

	r = r ?: marks_version(s, &version);
	*ret_removed = r == 0 && version == s->marks_saved;
	if (*ret_removed)
		r = remove_file(path);
	store_rollback(s);
	return r;
}

int store_close_marks(struct store *s)
{
	_cleanup_free_ char *path = marks_file(s);
	bool removed = false;
	int r = path ? 0 : -ENOMEM;

	while (r == 0 && !removed) {
		r = store_save_marks(s);
		r = r ?: remove_if_saved(s, path, &removed);
	}
	return r < 0 ? r : detach(s);
}

int store_copy_marks(struct store *from, struct store *to)
{
	_cleanup_free_ char *path = marks_file(from);
	int r = path ? attach(to, path) : -ENOMEM;

	r = r ?: save_marks(to, false);
	r = r ?: store_exec(to, "DETACH run");
	to->marks_in_run = false;
	return r;
}

/* The id of the newest mark for which the condition holds, which takes the numbers that follow. -ENOENT: there is none. */
#define find_newest(s, condition, ret_id, ...)                                                                                             \
	find_newest_with(s, "SELECT id FROM %s.mark WHERE undone = 0 AND presses > 0 AND " condition " ORDER BY id DESC LIMIT 1", ret_id, \
			 NUMBERS_(__VA_ARGS__))
static int find_newest_with(struct store *s, const char *format, int64_t *ret_id, const int64_t *numbers, size_t n)
{
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = prepare_marks_with(s, format, &stmt, numbers, n);

	if (r < 0 || sqlite3_step(stmt) != SQLITE_ROW)
		return r ?: -ENOENT;
	*ret_id = sqlite3_column_int64(stmt, 0);
	return 0;
}

static int same_event(struct store *s, int64_t wall, uint32_t uid, int64_t *ret_id)
{
	return find_newest(s, "uid = ?1 AND last >= ?2 AND last <= ?3", ret_id, uid, wall - 5 * NS_PER_SEC, wall);
}

static int press_again(struct store *s, int64_t id, int64_t wall, const char *note)
{
	const struct mark_value values[] = {mark_value_of_number(wall), mark_value_of_text(note),
					    mark_value_of_number(id)};

	return store_change_marks(s, "UPDATE %s.mark SET last = ?1, presses = presses + 1, note = substr(CASE WHEN ?2 IS NULL OR instr(note, ?2) > 0 THEN note"
				     " WHEN note IS NULL OR note = '' THEN ?2 ELSE note || '; ' || ?2 END, 1, " MARK_NOTE_MAX ") WHERE id = ?3", values,
				  ARRAY_SIZE(values));
}

/* The newest of each kind stay. */
static int drop_oldest(struct store *s, uint32_t uid)
{
	static const char *const statements[] = {
		"DELETE FROM %s.mark WHERE id IN (SELECT id FROM %s.mark WHERE uid = ?1 AND presses > 0"
		" ORDER BY id DESC LIMIT -1 OFFSET " MARKS_OF_ONE ")",
		"DELETE FROM %s.mark WHERE id IN (SELECT id FROM %s.mark WHERE uid <> 0 AND presses > 0"
		" ORDER BY id DESC LIMIT -1 OFFSET " MARKS_OF_USERS ")",
		"DELETE FROM %s.mark WHERE id IN (SELECT id FROM %s.mark WHERE presses <= 0 ORDER BY id DESC LIMIT -1 OFFSET " MARKS_CAUGHT ")",
	};
	const struct mark_value values[] = {mark_value_of_number(uid)};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(statements); i++)
		r = store_change_marks(s, statements[i], values, i == 0 ? 1 : 0);
	return r;
}

static int insert(struct store *s, int64_t wall, int presses, uint32_t uid, const char *note, int64_t *ret_id)
{
	const struct mark_value values[] = {mark_value_of_number(wall), mark_value_of_number(presses), mark_value_of_number(uid), mark_value_of_text(note)};
	int r = store_change_marks(s, "INSERT INTO %s.mark(wall, last, presses, uid, note) VALUES(?1, ?1, ?2, ?3, substr(?4, 1, " MARK_NOTE_MAX "))",
				   values, ARRAY_SIZE(values));

	if (r < 0)
		return r;
	*ret_id = sqlite3_last_insert_rowid(s->db);
	return drop_oldest(s, uid);
}

int store_mark(struct store *s, int64_t wall, uint32_t uid, const char *note, int64_t *ret_id)
{
	int64_t id;
	int r = same_event(s, wall, uid, &id);

	if (r == 0) {
		*ret_id = id;
		r = press_again(s, id, wall, note);
		return r < 0 ? r : 1;
	}
	return r == -ENOENT ? insert(s, wall, 1, uid, note, ret_id) : r;
}

static int changed_one(const struct store *s, int r)
{
	return r < 0 ? r : sqlite3_changes(s->db) ? 0 : -ENOENT;
}

int store_rule_incident(struct store *s, int64_t wall, const char *note, int64_t *ret_id)
{
	return insert(s, wall, GOES_ON, 0, note, ret_id);
}

int store_rule_incident_extend(struct store *s, int64_t id, int64_t wall, const char *note, bool over)
{
	const struct mark_value values[] = {mark_value_of_number(wall), mark_value_of_text(note), mark_value_of_number(over ? 0 : GOES_ON), mark_value_of_number(id)};

	return changed_one(s, store_change_marks(s, "UPDATE %s.mark SET last = ?1, note = ?2, presses = ?3 WHERE id = ?4 AND presses <= 0",
						 values, ARRAY_SIZE(values)));
}

int store_rule_incidents_end(struct store *s, int64_t wall, const char *remark)
{
	const struct mark_value values[] = {mark_value_of_number(wall), mark_value_of_text(remark)};

	return store_change_marks(s, "UPDATE %s.mark SET last = max(last, ?1), note = note || ?2, presses = 0 WHERE presses < 0", values,
				  ARRAY_SIZE(values));
}

/* UPDATE of one mark that its owner or root may change. */
static int change_mark(struct store *s, const char *sql, int64_t id, uint32_t uid, struct mark_value value)
{
	const struct mark_value values[] = {value, mark_value_of_number(id), mark_value_of_number(uid)};

	return changed_one(s, store_change_marks(s, sql, values, ARRAY_SIZE(values)));
}

int store_mark_note(struct store *s, int64_t id, uint32_t uid, const char *note)
{
	return change_mark(s, "UPDATE %s.mark SET note = substr(?1, 1, " MARK_NOTE_MAX ") WHERE id = ?2 AND undone = 0 AND (?3 = 0 OR uid = ?3)", id, uid,
			   mark_value_of_text(note));
}

int store_mark_feedback(struct store *s, int64_t id, uint32_t uid, enum feedback feedback)
{
	const struct mark_value values[] = {mark_value_of_number(id), mark_value_of_number(uid),
					    mark_value_of_number(feedback)};
	int r = change_mark(s, "UPDATE %s.mark SET feedback = ?1 WHERE id = ?2 AND undone = 0 AND (?3 = 0 OR uid = ?3 OR presses <= 0)", id,
			    uid, mark_value_of_number(feedback));

	return r < 0 ? r : store_change_marks(s, "INSERT OR REPLACE INTO %s.feedback(mark, uid, feedback) VALUES(?, ?, ?)", values, ARRAY_SIZE(values));
}

static int read_feedback(struct store *s, const char *sql, int64_t mark, uint32_t uid)
{
	int64_t feedback;

	return store_query_int(s, sql, &feedback, mark, uid) == 0 ? (int)feedback : -1; /* -1 of a recording from before it was kept by user, too */
}

enum feedback store_feedback_by(struct store *s, const struct mark *mark, uint32_t uid)
{
	int feedback = s->marks_in_run ? read_feedback(s, "SELECT feedback FROM run.feedback WHERE mark = ? AND uid = ?", mark->id, uid) : -1;

	if (feedback < 0)
		feedback = read_feedback(s, "SELECT feedback FROM main.feedback WHERE mark = ? AND uid = ?", mark->id, uid);
	if (feedback < 0) /* of old recordings what is the owner's word, or root's */
		return mark->uid == uid && !mark_is_of_rule(mark) ? mark->feedback : FEEDBACK_NONE;
	return (enum feedback)feedback;
}

int store_mark_undo(struct store *s, uint32_t uid, int64_t *ret_id)
{
	int64_t id = 0;
	int r = find_newest(s, "(?1 = 0 OR uid = ?1)", &id, uid);

	r = r ?: change_mark(s, "UPDATE %s.mark SET undone = ?1 WHERE id = ?2 AND (?3 = 0 OR uid = ?3)", id, uid, mark_value_of_number(1));
	if (r == 0)
		*ret_id = id;
	return r;
}

int store_tell(struct store *s, int64_t mark, uint32_t uid, const char *json)
{
	const struct mark_value values[] = {mark_value_of_number(mark), mark_value_of_number(uid),
					    mark_value_of_text(json)};

	int r = store_change_marks(s, "INSERT OR REPLACE INTO %s.told(mark, uid, json) VALUES(?, ?, ?)", values, ARRAY_SIZE(values));

	return r < 0 ? r : store_change_marks(s, "DELETE FROM %s.told WHERE uid <> 0 AND rowid NOT IN (SELECT rowid FROM %s.told"
					      " WHERE uid <> 0 ORDER BY mark DESC LIMIT " ANSWERS_KEPT ")", NULL, 0);
}

/* Newer ones are next to the journal. */
static char *read_told(struct store *s, const char *sql, sqlite3_stmt **kept, int64_t mark, uint32_t uid)
{
	char *json = NULL;

	if (store_prepare_cached(s, sql, kept) < 0)
		return NULL; /* a recording from before answers were kept */
	sqlite3_bind_int64(*kept, 1, mark);
	sqlite3_bind_int64(*kept, 2, uid);
	if (sqlite3_step(*kept) == SQLITE_ROW)
		json = database_text(*kept, 0);
	str_make_json_printable(json);
	sqlite3_reset(*kept);
	return json;
}

char *store_read_answer(struct store *s, int64_t mark, uint32_t uid)
{
	static const char in_run[] = "SELECT json FROM run.told WHERE mark = ? AND uid = ?",
			  in_file[] = "SELECT json FROM main.told WHERE mark = ? AND uid = ?";
	char *json = s->marks_in_run ? read_told(s, in_run, &s->told_in_run, mark, uid) : NULL;

	return json ? json : read_told(s, in_file, &s->told_in_file, mark, uid);
}

static struct mark read_mark(sqlite3_stmt *stmt)
{
	int presses = sqlite3_column_int(stmt, 3);
	struct mark m = {
		.id = sqlite3_column_int64(stmt, 0),
		.wall = sqlite3_column_int64(stmt, 1),
		.last = sqlite3_column_int64(stmt, 2),
		.presses = presses > 0 ? (uint32_t)presses : 0,
		.goes_on = presses == GOES_ON,
		.uid = (uint32_t)sqlite3_column_int64(stmt, 4),
		.note = database_text(stmt, 5),
		.feedback = (enum feedback)sqlite3_column_int(stmt, 6),
	};

	return m;
}

#define MARK_COLUMNS                                                              \
	"SELECT id, wall, last, presses, uid, note, feedback FROM %s.mark"        \
	" WHERE undone = 0 AND wall" BETWEEN_TIMES " AND last" BETWEEN_TIMES " AND "

/* The rows of a statement that prepare_marks() returned `r` for, which is finalized. */
static int read_marks(struct store *s, sqlite3_stmt *prepared, int r, struct mark **ret, size_t *ret_n)
{
	VEC(struct mark) marks = {};
	_cleanup_statement_ sqlite3_stmt *stmt = prepared;

	while (store_row(s, stmt, &r)) {
		struct mark m = read_mark(stmt);

		if (VEC_PUSH(marks, m) < 0)
			mark_free(&m);
	}
	if (r < 0) {
		marks_free(marks.v, marks.n);
		return r;
	}
	*ret = marks.v;
	*ret_n = marks.n;
	return 0;
}

int store_marks(struct store *s, int64_t from, int64_t to, struct mark **ret, size_t *ret_n)
{
	sqlite3_stmt *stmt = NULL;
	int r = prepare_marks(s, MARK_COLUMNS "wall BETWEEN ? AND ? ORDER BY wall, id", &stmt, from, to);

	return read_marks(s, stmt, r, ret, ret_n);
}

int store_open_incidents(struct store *s, struct mark **ret, size_t *ret_n)
{
	sqlite3_stmt *stmt = NULL;
	int r = prepare_marks(s, MARK_COLUMNS "presses < 0 ORDER BY wall, id", &stmt);

	return read_marks(s, stmt, r, ret, ret_n);
}

int store_mark_get(struct store *s, int64_t id, struct mark *ret)
{
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = prepare_marks(s, MARK_COLUMNS "id = ?", &stmt, id);

	if (!store_row(s, stmt, &r))
		return r ?: -ENOENT;
	*ret = read_mark(stmt);
	return 0;
}
