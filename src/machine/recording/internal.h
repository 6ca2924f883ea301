/* Shared by the files of the layer `store`: the database under a recording. */
#pragma once

#include <sqlite3.h>

#include "lib/store/database.h"
#include "lib/store/age.h"
#include "machine/recording/store.h"

#define STRINGIFY_(x) #x
#define STRINGIFY(x)  STRINGIFY_(x)
#define CHUNK_MAX ((size_t)512 << 20) /* frames of ten minutes of 10,000 busy processes are a tenth of this */

#define DAMAGE_MAX 32 /* times that are kept to be named; of more only the number is said */

struct damage {
	int64_t from, to; /* wall ns; to = 0: up to the end of that segment */
};

/* How much of which log is in the file. */
struct backfill {
	uint32_t salts[2];
	uint32_t pages;
};

/* The file when it was last looked at. */
struct seen_file {
	bool looked;
	uint32_t id; /* in its header; 0 = not yet written */
	bool settled; /* the rest is known: of the last look at which no log was just being brought in */
	struct backfill backfill;
	struct timespec written;
};

struct store {
	sqlite3 *db;
	int lock_fd; /* of store_lock(); -1 = none */
	struct database_budget budget;
	char *file;
	char *run_dir; /* maybe another recording's: store_run_dir() */
	ino_t log_inode; /* of FILE-wal, which belongs to the file that is open */
	struct seen_file seen;
	bool ordered;  /* it has the order of its segments: it was written by this version, or later */
	uint32_t id;   /* of the recording, for RUN/recording; 0 = from before, and never written since */
	char boot[CLOCK_BOOT_ID]; /* in which this handle writes; "" = not known */
	char *error;
	/* the writer's: what it asks every few seconds */
	sqlite3_stmt *put_raw, *marks_version;
	sqlite3_stmt *told_in_run, *told_in_file; /* asked for each mark of an answer */
	int64_t raw_segment, raw_size; /* of the segment last saved */
	int64_t numbered; /* the segment that is known to have its place in the order; 0 = none */
	bool marks_in_run;   /* RUN/marks.db is attached and holds the marks */
	struct damage damage[DAMAGE_MAX];
	size_t n_damage;
	int64_t marks_saved; /* its data_version when they were last copied; 0 = never, or changed since */
};

#define MARK_TABLE                                                                                      \
	"mark(id INTEGER PRIMARY KEY AUTOINCREMENT, wall INTEGER, last INTEGER, presses INTEGER,"         \
	" uid INTEGER, note TEXT, feedback INTEGER DEFAULT 0, undone INTEGER DEFAULT 0);"

/* Inspections made when a rule found something; of the newest CAPTURED_MAX incidents. */
#define CAPTURE_TABLE \
	"inspection(mark INTEGER, wall INTEGER, pid INTEGER, phase INTEGER, summary TEXT, text BLOB, json BLOB,"         \
	" PRIMARY KEY(mark, pid, phase));"
#define CAPTURED_MAX "200"

/* What a user said of the answer for a mark: it calibrates that user's answers alone. */
#define FEEDBACK_TABLE "feedback(mark INTEGER, uid INTEGER, feedback INTEGER, PRIMARY KEY(mark, uid));"

/* What was answered for a mark, and to whom: others may not see as much. */
#define TOLD_TABLE "told(mark INTEGER, uid INTEGER, json TEXT, PRIMARY KEY(mark, uid));"

/* The tables that are in RUN/marks.db as well. */
#define MARK_SHAPES                                                            \
	{"mark", "id,wall,last,presses,uid,note,feedback,undone", true},        \
	{"inspection", "mark,wall,pid,phase,summary,text,json", true},          \
	{"told", "mark,uid,json", true},                                        \
	{"feedback", "mark,uid,feedback", true}

extern const struct database_shape store_shape;

#define ID_PRAGMA "application_id" /* a number in the file's header that is free for programs to use: here the recording's id */

/* store.c: each keeps what went wrong, in words, for store_error(), and returns -errno */
int store_fail(struct store *s, int code, const char *what);
#define NUMBERS_(...) (const int64_t[]){0, ##__VA_ARGS__}, sizeof((const int64_t[]){0, ##__VA_ARGS__}) / sizeof(int64_t) - 1
/* Prepares a statement whose first parameters are the numbers that follow; the caller binds the others. */
#define store_prepare(s, sql, ret, ...) store_prepare_with(s, sql, ret, NUMBERS_(__VA_ARGS__))
int store_prepare_with(struct store *s, const char *sql, sqlite3_stmt **ret, const int64_t *numbers, size_t n);
/* Goes to the statement's next row. False after the last one, where *r is an error already, and where the row cannot be read: *r says why then. */
bool store_row(struct store *s, sqlite3_stmt *stmt, int *r);
int store_exec(struct store *s, const char *sql);
/* Runs a statement that returns nothing, and finishes it. */
int store_run(struct store *s, sqlite3_stmt *stmt);
/* Runs a statement that takes the numbers that follow and returns nothing. */
#define store_run_sql(s, sql, ...) store_run_with(s, sql, NUMBERS_(__VA_ARGS__))
int store_run_with(struct store *s, const char *sql, const int64_t *numbers, size_t n);
bool store_has_table(struct store *s, const char *name);
/* The first number of the first row; the statement takes the numbers that follow. -ENOENT without a row. */
#define store_query_int(s, sql, ret, ...) store_query_with(s, sql, ret, NUMBERS_(__VA_ARGS__))
int store_query_with(struct store *s, const char *sql, int64_t *ret, const int64_t *numbers, size_t n);
/* Prepares *kept at first use; it is reset, and lives as long as the store. */
int store_prepare_cached(struct store *s, const char *sql, sqlite3_stmt **kept);
/* Begins to write to the recording, and to it alone: BEGIN IMMEDIATE would take the lock of RUN/marks.db, too, for as long as the
 * recording's disk likes. */
int store_begin(struct store *s);
void store_rollback(struct store *s);
/* Makes this the recording's id. */
int store_set_id(struct store *s, uint32_t id);
/* All that is open: the file, the marks, the lock. */
void store_close_database(struct store *s);
/* Opens it to write after that. */
int store_reopen(struct store *s);
/* What was recorded in that time cannot be read: for store_damage(). */
void store_note_damage(struct store *s, int64_t from, int64_t to);
/* The run directory, where it is this recording's: NULL if it is another's, or there is none. */
const char *store_run_dir(const struct store *s);
/* reserve.c. Makes it where there is room and it is not there. */
void store_make_reserve(const struct store *s);
/* Whether there is more room now than before. */
bool store_use_reserve(const struct store *s);
/* database_check() of one of the handle's files. */
int store_check_tables(struct store *s, const char *schema_name, const struct database_shape *of, bool empty);
/* Makes a file for its owner alone, if it is not there: command lines and notes of all users are in it. One that is there
 * is not opened: closing it would drop the locks that another handle of this process holds on it (POSIX), and the one that
 * reads it next would take it for abandoned and delete the log with what is not in the file yet. */
void store_make_private(const char *file);

/* Any user may press the button and ask about any mark, and each answer reads them all. The oldest go: a user's own beyond MARKS_OF_ONE;
 * of all users but root beyond MARKS_OF_USERS; what rules found beyond MARKS_CAUGHT; answers kept for users beyond ANSWERS_KEPT. */
#define MARKS_OF_ONE   "1000"
#define MARKS_OF_USERS "5000"
#define MARKS_CAUGHT   "5000"
#define ANSWERS_KEPT   "10000"
#define MARK_NOTE_MAX  "1000" /* characters */

/* SQL of a wall time, in ns or ms, of which two can be subtracted in 64 bits: a hostile or damaged file has others, whose rows are passed
 * over. */
#define BETWEEN_TIMES " BETWEEN -4000000000000000000 AND 4000000000000000000"
#define BETWEEN_MS    " BETWEEN -4000000000000 AND 4000000000000"
/* Compacted segments by the order in which they were written, whatever their clocks said: those of a recording from before it was kept come first. */
#define SEGMENTS_IN_ORDER "segment LEFT JOIN written ON written.segment = segment.id ORDER BY number"
#define SEGMENTS_READ "segment WHERE first" BETWEEN_TIMES " AND last" BETWEEN_TIMES

/* mark.c: uses RUN/marks.db if a recorder keeps one. */
int store_find_marks(struct store *s);
struct mark_value {
	enum { MARK_NUMBER, MARK_TEXT, MARK_BYTES } kind;
	int64_t number; /* of bytes: how many */
	const void *at; /* NULL = NULL */
};
static inline struct mark_value mark_value_of_number(int64_t number)
{
	return (struct mark_value){.kind = MARK_NUMBER, .number = number};
}
static inline struct mark_value mark_value_of_text(const char *text)
{
	return (struct mark_value){.kind = MARK_TEXT, .at = text};
}
static inline struct mark_value mark_value_of_bytes(const void *at, size_t n)
{
	return (struct mark_value){.kind = MARK_BYTES, .number = (int64_t)n, .at = at};
}
/* Runs such a statement, which returns nothing, with the values of its parameters in order. A recorder may begin or end
 * in the meantime: what is written then is not lost. */
int store_change_marks(struct store *s, const char *format, const struct mark_value *values, size_t n);
/* Those of `from`'s recorder into the file of `to`. */
int store_copy_marks(struct store *from, struct store *to);

/* segment.c */
int store_read_frames(struct store *s, int64_t segment, struct str *ret);
/* Segments that have raw rows, ascending; caller frees. */
int store_raw_segments(struct store *s, int64_t **ret, size_t *ret_n);
uint32_t store_highest_id(const struct dataset *d);

/* first, last, boot, boot_first, boot_last: of a row, from this column on. */
struct age_span store_age_span(sqlite3_stmt *row, int column);

/* load.c: segments without a chunk, from the journal and from raw rows, each once, ascending. */
int store_open_segments(struct store *s, int64_t **ret, size_t *ret_n);
/* Reads what they recorded at `from` (wall ns) or later, and nothing that is in a chunk. What is damaged is left out. */
int store_load_open(struct store *s, int64_t from, struct dataset *into);

/* summary.c, within the caller's transaction */
int store_put_summaries(struct store *s, int64_t segment, const struct dataset *d);
/* Makes the hours and days that a new segment ends: those of the one written before it, and its own if the one after it is there. */
int store_put_tiers(struct store *s, int64_t segment);
