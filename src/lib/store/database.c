#include "lib/store/database.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/store/page-sums.h"

#define STEPS_AT_ONCE  1000 /* the unit of a budget */
#define STEPS_LEAST    20000 /* thousands: a fifth of a second; what a small file may cost */
#define STEPS_A_KBYTE  32    /* thousands: a row of 16 bytes may be visited by 500 steps; real queries take 20 */
#define LENGTH_LEAST   (1 << 20) /* bytes: a row whose pages lead in a circle claims more than its file has */
#define SQL_MAX	       16384 /* bytes of a statement, also of those in the schema; ours are below 1,000 */

int database_errno(int code)
{
	switch (code & 0xff) {
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
	case SQLITE_INTERRUPT: /* the budget is spent */
	case SQLITE_TOOBIG:
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

/* --- a VFS that deletes no other files, and checks pages --- */

static sqlite3_vfs guarded; /* SQLite's own with two functions replaced, and checksums of pages; written once */
static pthread_once_t guarded_once = PTHREAD_ONCE_INIT;

/* Transactions of whyslow never span two files with a journal: a super-journal is never its own. */
static int open_guarded(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	if (flags & SQLITE_OPEN_SUPER_JOURNAL) {
		file->pMethods = NULL;
		return SQLITE_CANTOPEN;
	}
	return page_sums_open(sqlite3_vfs_find(NULL), vfs, name, file, flags, ret_flags);
}

static bool has_ending(const char *name, const char *ending)
{
	size_t n = strlen(name), n_ending = strlen(ending);

	return n > n_ending && strcmp(name + n - n_ending, ending) == 0;
}

static int delete_guarded(sqlite3_vfs *vfs, const char *name, int sync)
{
	if (!has_ending(name, "-journal") && !has_ending(name, "-wal"))
		return SQLITE_IOERR_DELETE;
	return sqlite3_vfs_find(NULL)->xDelete(vfs, name, sync);
}

/* access() asks with the real user's rights and without capabilities. An answer for another user has capabilities alone, and would
 * find no recording in a folder that is root's. */
static int access_as_effective(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS);
}

/* A place below an open folder (lib/rights/own-folder.h) must stay one: SQLite would put the path in its place that the folder has now. */
static int find_path_guarded(sqlite3_vfs *vfs, const char *name, int n, char *ret)
{
	if (!str_starts(name, "/proc/self/fd/"))
		return sqlite3_vfs_find(NULL)->xFullPathname(vfs, name, n, ret);
	return snprintf(ret, (size_t)n, "%s", name) < n ? SQLITE_OK : SQLITE_CANTOPEN;
}

static void register_guarded(void)
{
	sqlite3_vfs *standard = sqlite3_vfs_find(NULL);

	if (!standard)
		return;
	if (standard->iVersion >= 3 && standard->xSetSystemCall)
		(void)standard->xSetSystemCall(standard, "access", (sqlite3_syscall_ptr)access_as_effective);
	guarded = *standard;
	guarded.szOsFile += (int)page_sums_room();
	guarded.zName = "whyslow";
	guarded.xOpen = open_guarded;
	guarded.xDelete = delete_guarded;
	guarded.xFullPathname = find_path_guarded;
	if (sqlite3_vfs_register(&guarded, 0) != SQLITE_OK)
		guarded.zName = NULL;
}

/* NULL: never SQLite's own in its place. */
static const char *guarded_name(void)
{
	(void)pthread_once(&guarded_once, register_guarded);
	return guarded.zName;
}

/* --- what statements may do --- */

static bool is_harmless_pragma(const char *name)
{
	static const char *const names[] = {"user_version", "application_id", "page_count", "page_size", "freelist_count", "table_xinfo"};

	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
		if (sqlite3_stricmp(name, names[i]) == 0)
			return true;
	return false;
}

/* `within` names the view or trigger that wants it. */
static int authorize(void *unused, int action, const char *a, const char *b, const char *schema, const char *within)
{
	(void)unused, (void)a, (void)b, (void)schema;
	if (within)
		return SQLITE_DENY;
	switch (action) {
	case SQLITE_RECURSIVE:
	case SQLITE_CREATE_TRIGGER:
	case SQLITE_CREATE_VIEW:
	case SQLITE_CREATE_VTABLE:
		return SQLITE_DENY;
	default:
		return SQLITE_OK;
	}
}

static int authorize_foreign(void *unused, int action, const char *a, const char *b, const char *schema, const char *within)
{
	(void)unused, (void)b, (void)schema;
	if (within)
		return SQLITE_DENY;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_FUNCTION:
	case SQLITE_TRANSACTION:
		return SQLITE_OK;
	case SQLITE_PRAGMA:
		return is_harmless_pragma(a) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static int spend(void *data)
{
	struct database_budget *budget = data;

	return budget->left == 0 || --budget->left == 0;
}

static void set_limits(sqlite3 *db)
{
	static const struct { int what, most; } limits[] = {
		{SQLITE_LIMIT_SQL_LENGTH, SQL_MAX}, {SQLITE_LIMIT_COLUMN, 64},	     {SQLITE_LIMIT_EXPR_DEPTH, 100},
		{SQLITE_LIMIT_COMPOUND_SELECT, 8},  {SQLITE_LIMIT_ATTACHED, 1},	     {SQLITE_LIMIT_VARIABLE_NUMBER, 64},
		{SQLITE_LIMIT_TRIGGER_DEPTH, 1},    {SQLITE_LIMIT_WORKER_THREADS, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		sqlite3_limit(db, limits[i].what, limits[i].most);
}

static int harden(sqlite3 *db)
{
	static const struct { int what, on; } settings[] = {
		{SQLITE_DBCONFIG_DEFENSIVE, 1},	      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},	   {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
		{SQLITE_DBCONFIG_ENABLE_VIEW, 0},     {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}, {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
		{SQLITE_DBCONFIG_DQS_DDL, 0},	      {SQLITE_DBCONFIG_DQS_DML, 0},		   {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
		{SQLITE_DBCONFIG_ENABLE_FKEY, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (sqlite3_db_config(db, settings[i].what, settings[i].on, NULL) != SQLITE_OK)
			return SQLITE_MISUSE;
	set_limits(db);
	return sqlite3_exec(db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL);
}

/* --- opening --- */

/* To open a FIFO or a device may wait, or do something. What is not there SQLite reports. */
static bool is_openable(const char *file, int64_t *ret_size)
{
	struct stat st;

	if (stat(file, &st) < 0)
		return true;
	*ret_size = st.st_size;
	return S_ISREG(st.st_mode);
}

/* The URI of a path that may hold any byte, and begin with two slashes, which a URI takes for a host. */
static int immutable_uri(const char *file, struct str *ret)
{
	str_puts(ret, "file:");
	for (const char *c = file; *c; c++)
		str_printf(ret, "%%%02x", (unsigned char)*c);
	return str_puts(ret, "?immutable=1");
}

static int open_immutable(const char *file, const char *vfs, sqlite3 **ret)
{
	_cleanup_str_ struct str uri = {};

	if (immutable_uri(file, &uri) < 0)
		return SQLITE_NOMEM;
	return sqlite3_open_v2(uri.data, ret, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, vfs);
}

static int open_with(const char *file, enum database_access access, sqlite3 **ret)
{
	static const int flags[] = {
		[DATABASE_READONLY] = SQLITE_OPEN_READONLY,
		[DATABASE_RECOVER] = SQLITE_OPEN_READWRITE,
		[DATABASE_CREATE] = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
	};
	const char *vfs = guarded_name();

	*ret = NULL;
	if (!vfs)
		return SQLITE_NOMEM;
	return access == DATABASE_FOREIGN ? open_immutable(file, vfs, ret) : sqlite3_open_v2(file, ret, flags[access] | SQLITE_OPEN_NOMUTEX, vfs);
}

int database_open(const char *file, enum database_access access, struct database_budget *budget, sqlite3 **ret)
{
	int64_t size = 0;
	int code;

	*ret = NULL;
	*budget = (struct database_budget){};
	if (!is_openable(file, &size))
		return SQLITE_NOTADB;
	code = open_with(file, access, ret);
	if (code == SQLITE_OK)
		code = harden(*ret);
	if (code != SQLITE_OK)
		return code;
	if (access == DATABASE_CREATE)
		page_sums_begin(*ret);
	sqlite3_set_authorizer(*ret, access == DATABASE_FOREIGN ? authorize_foreign : authorize, NULL);
	if (access == DATABASE_FOREIGN) {
		sqlite3_limit(*ret, SQLITE_LIMIT_LENGTH, size < LENGTH_LEAST ? LENGTH_LEAST : size > INT_MAX ? INT_MAX : (int)size);
		budget->each = STEPS_LEAST + (uint64_t)size / 1024 * STEPS_A_KBYTE;
		database_renew(budget);
		sqlite3_progress_handler(*ret, STEPS_AT_ONCE, spend, budget);
	}
	return SQLITE_OK;
}

int database_open_empty(struct database_budget *budget, sqlite3 **ret)
{
	int code;

	*ret = NULL;
	*budget = (struct database_budget){};
	code = open_with(":memory:", DATABASE_CREATE, ret);
	if (code == SQLITE_OK)
		code = harden(*ret);
	if (code == SQLITE_OK)
		sqlite3_set_authorizer(*ret, authorize, NULL);
	return code;
}

int database_is_whole(const char *file, char **ret_error)
{
	static const char *const endings[] = {"-wal", "-journal"};

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		_cleanup_free_ char *beside = NULL;
		struct stat st;

		if (asprintf(&beside, "%s%s", file, endings[i]) < 0)
			return -ENOMEM;
		if (stat(beside, &st) == 0 && st.st_size > 0)
			return str_fail(ret_error, -EBUSY,
					 "%s is not complete: %s belongs to it. Read a live recording with --store, or copy it with"
					 " 'whyslow export --format store'; to read the file as it is, move %s away",
					 file, beside, beside);
	}
	return 0;
}

/* --- the tables --- */

static const struct database_table *find_table(const struct database_shape *shape, const char *name)
{
	for (const struct database_table *t = shape->tables; t->name; t++)
		if (strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

static bool is_own_table(const struct database_shape *shape, const char *name, const char *sql, int64_t root)
{
	static const char begin[] = "CREATE TABLE ";

	/* a virtual table has no pages; lost_and_found is what '.recover' of sqlite3 adds */
	return (find_table(shape, name) || strcmp(name, "sqlite_sequence") == 0 || strcmp(name, "lost_and_found") == 0) && root > 0 && sql && strncmp(sql, begin, strlen(begin)) == 0;
}

static bool is_own_index(const struct database_shape *shape, const char *name, const char *sql)
{
	return sql ? shape->index && strcmp(name, shape->index) == 0 : strncmp(name, "sqlite_autoindex_", strlen("sqlite_autoindex_")) == 0;
}

static const char *column_text(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? text : "";
}

void database_bind(sqlite3_stmt *stmt, const char *types, ...)
{
	va_list args;

	va_start(args, types);
	for (int i = 1; *types; types++, i++) {
		const void *at = *types == 'i' ? NULL : va_arg(args, const void *);

		if (*types == 'i')
			sqlite3_bind_int64(stmt, i, va_arg(args, int64_t));
		else if (*types == 't')
			sqlite3_bind_text(stmt, i, at, -1, SQLITE_STATIC); /* NULL binds NULL */
		else
			sqlite3_bind_blob64(stmt, i, at, va_arg(args, size_t), SQLITE_STATIC);
	}
	va_end(args);
}

int database_step(sqlite3_stmt *stmt)
{
	int code = sqlite3_step(stmt);

	sqlite3_reset(stmt);
	return code;
}

char *database_text(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);
	char *copy = text ? strdup(text) : NULL;

	str_make_printable(copy);
	return copy;
}

struct checking {
	sqlite3 *db;
	const char *file, *schema;
	const struct database_shape *shape;
	char **ret_error;
};

/* A row of the schema: type, name, statement, first page. */
static int check_object(const struct checking *c, sqlite3_stmt *stmt)
{
	const char *sql = (const char *)sqlite3_column_text(stmt, 2);
	_cleanup_free_ char *type = strdup(column_text(stmt, 0)), *name = strdup(column_text(stmt, 1));

	if (!type || !name)
		return -ENOMEM;
	if (strcmp(type, "table") == 0 ? is_own_table(c->shape, name, sql, sqlite3_column_int64(stmt, 3)) :
	    strcmp(type, "index") == 0 ? is_own_index(c->shape, name, sql) :
					 false)
		return 0;
	str_make_printable(type);
	str_make_printable(name);
	return str_fail(c->ret_error, -EUCLEAN, "%s is not a %s of whyslow: its %.20s '%.60s' does not belong there", c->file, c->shape->what, type, name);
}

static int cannot_check(const struct checking *c, int code)
{
	return str_fail(c->ret_error, database_errno(code), "cannot read %s: %s", c->file, sqlite3_errmsg(c->db));
}

static int prepare(const struct checking *c, const char *format, const char *argument, sqlite3_stmt **ret)
{
	int code;

	code = sqlite3_prepare_v2(c->db, STR_TEXT(200, format, c->schema, argument), -1, ret, NULL);
	return code == SQLITE_OK ? 0 : cannot_check(c, code);
}

static int check_objects(const struct checking *c, size_t *ret_n)
{
	sqlite3_stmt *stmt;
	int code = SQLITE_DONE, r = prepare(c, "SELECT type, name, sql, rootpage FROM %s.sqlite_schema%s", "", &stmt);

	if (r < 0)
		return r;
	for (*ret_n = 0; r == 0 && (code = sqlite3_step(stmt)) == SQLITE_ROW; (*ret_n)++)
		r = check_object(c, stmt);
	if (r == 0 && code != SQLITE_DONE)
		r = cannot_check(c, code);
	sqlite3_finalize(stmt);
	return r;
}

static int check_columns(const struct checking *c, const struct database_table *t)
{
	_cleanup_str_ struct str found = {};
	sqlite3_stmt *stmt;
	int code, r = prepare(c, "PRAGMA %s.table_xinfo(%s)", t->name, &stmt);

	if (r < 0)
		return r;
	while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
		str_printf(&found, "%s%s", found.len ? "," : "", column_text(stmt, 1));
		if (sqlite3_column_int(stmt, 6)) /* one that is computed */
			str_puts(&found, "()");
	}
	if (code != SQLITE_DONE)
		r = cannot_check(c, code);
	sqlite3_finalize(stmt);
	if (r < 0 || found.error)
		return r < 0 ? r : found.error;
	if (!found.len && t->optional)
		return 0;
	if (!found.len)
		return str_fail(c->ret_error, -EUCLEAN, "%s is not a %s of whyslow: it has no table '%s'", c->file, c->shape->what, t->name);
	return strcmp(found.data, t->columns) == 0 ? 0 :
		       str_fail(c->ret_error, -EUCLEAN, "%s is not a %s of whyslow: its table '%s' has other columns", c->file, c->shape->what, t->name);
}

int database_check(sqlite3 *db, const char *file, const char *schema, const struct database_shape *shape, bool empty, char **ret_error)
{
	const struct checking c = {db, file, schema, shape, ret_error};
	size_t n;
	int r = check_objects(&c, &n);

	if (r < 0 || (n == 0 && empty))
		return r;
	for (const struct database_table *t = shape->tables; r == 0 && t->name; t++)
		r = check_columns(&c, t);
	return r;
}
