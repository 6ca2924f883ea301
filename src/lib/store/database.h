/* Opens SQLite files, so that a file can hold rows and do nothing else.
 *
 * Every SQLite file of whyslow is opened here: recordings, RUN/marks.db, stores of spans, loaded fleets. Another person may have
 * made any of them. SQLite itself would roll back a journal that lies next to the file, and delete the "super-journal" that it
 * names, which may be any file of the reader; it would run views and triggers that the file brings along. Here
 *   - no super-journal is opened or deleted, and nothing but NAME-journal and NAME-wal is ever deleted (a VFS of its own);
 *   - a foreign file is opened read-only and immutable: nothing next to it is read, no lock is taken, nothing is written;
 *   - views, triggers, extensions and recursive queries are refused, and the tables must be those that are expected;
 *   - pages have checksums in files that are made here (page-sums.h): a damaged one is SQLITE_CORRUPT;
 *   - a statement on a foreign file ends after a number of steps that grows with the size of the file.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/data/cleanup.h"

/* Finalizes a statement at the end of its scope; NULL is none. */
static inline void database_finish(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}
#define _cleanup_statement_ _cleanup_(database_finish)

enum database_access {
	DATABASE_FOREIGN,  /* may be from anywhere; nothing writes it now */
	DATABASE_READONLY, /* this machine's own, perhaps written by another process at the same time */
	DATABASE_RECOVER,  /* the same, and what a killed writer left is rolled back */
	DATABASE_CREATE,   /* to write */
};

/* How many steps of SQLite's machine a statement may still take. It must live as long as the handle. */
struct database_budget {
	uint64_t each, left; /* in thousands; 0 = without limit */
};

/* Opens FILE. Returns SQLite's code; *ret is a handle for sqlite3_errmsg() and sqlite3_close() also on failure. Anything but a
 * regular file is not opened: SQLITE_NOTADB, and *ret is NULL. */
int database_open(const char *file, enum database_access access, struct database_budget *budget, sqlite3 **ret);
/* A database in memory, to attach others to. As above. */
int database_open_empty(struct database_budget *budget, sqlite3 **ret);
/* Before each statement on a handle with a budget. */
static inline void database_renew(struct database_budget *budget)
{
	budget->left = budget->each;
}

/* 0, or -EBUSY in words: FILE was written when it was copied, or is written now (FILE-wal or FILE-journal holds something).
 * A foreign file would be read without that. */
int database_is_whole(const char *file, char **ret_error);

struct database_table {
	const char *name;
	const char *columns; /* their names in order, with a comma between them */
	bool optional;	     /* early versions have no such table */
};
struct database_shape {
	const char *what;		     /* "recording": for the error */
	const struct database_table *tables; /* ends with a NULL name; further tables are refused */
	const char *index;		     /* the only index with a statement of its own; NULL = none */
};
/* 0; -EUCLEAN in words: the schema ("main") holds something else. `empty`: no table at all is fine, too. */
int database_check(sqlite3 *db, const char *file, const char *schema, const struct database_shape *shape, bool empty, char **ret_error);

/* The -errno of SQLite's code; 0 for OK, DONE and ROW. */
int database_errno(int code);

/* Binds the parameters of a statement from the first on: 't' is a text (NULL = none), 'i' an int64_t, 'b' bytes and their size_t number. Texts
 * and bytes are not copied. */
void database_bind(sqlite3_stmt *stmt, const char *types, ...);
/* Runs a statement that returns no rows and resets it. Returns SQLite's code, SQLITE_DONE where it has run. */
int database_step(sqlite3_stmt *stmt);

/* A text of a row, made printable (lib/data/str.h), which the caller frees. NULL: it has none, or there is no memory. Texts of rows are read
 * by nothing else: a file of others chooses them, and they go to terminals, pages and tables. */
char *database_text(sqlite3_stmt *stmt, int column);
