#include "spans/store/span-store.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/rights/memory-budget.h"
#include "lib/rights/write-path.h"
#include "lib/store/age.h"
#include "lib/store/blocks.h"
#include "lib/store/database.h"

#define SCHEMA_VERSION 1
#define PART_MAX       ((unsigned long long)2 << 30) /* bytes of one forest */

static const struct database_shape shape = {
	.what = "store of spans",
	.tables = (const struct database_table[]){{"part", "id,key,source,begin,finish,requests,spans,length,forest", false},
						  {"state", "name,value", true},
						  {"judged", "width,begin,verdict,part,looks", true},
						  {"deployment", "package,version,host,time", true},
						  {}},
	.index = "part_time",
};

struct span_store {
	sqlite3 *db;
	struct database_budget budget;
	char *error;
};

static int fail(struct span_store *s, const char *doing)
{
	free(s->error);
	if (asprintf(&s->error, "%s: %s", doing, sqlite3_errmsg(s->db)) < 0)
		s->error = NULL;
	return sqlite3_errcode(s->db) == SQLITE_FULL ? -ENOSPC : -EIO;
}

const char *span_store_error(const struct span_store *s)
{
	return s->error ? s->error : "out of memory";
}

void span_store_close(struct span_store *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	FREE_ALL(s->error, s);
}

static int64_t single(struct span_store *s, const char *sql)
{
	_cleanup_statement_ sqlite3_stmt *q = NULL;

	return sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : -1;
}

/* A receiver and a watch may begin at the same moment: either makes what is not there. Early versions have only the parts. */
static int make_tables(struct span_store *s)
{
	/* another process may be doing the same: then it is not refused for long, and the transaction waits */
	sqlite3_exec(s->db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
	if (sqlite3_exec(s->db,
			 "BEGIN IMMEDIATE;"
			 "CREATE TABLE IF NOT EXISTS part (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, source TEXT NOT NULL,"
			 " begin INTEGER NOT NULL, finish INTEGER NOT NULL, requests INTEGER NOT NULL, spans INTEGER NOT NULL,"
			 " length INTEGER NOT NULL, forest BLOB NOT NULL);"
			 "CREATE INDEX IF NOT EXISTS part_time ON part (begin, finish);"
			 "CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value INTEGER NOT NULL);"
			 "CREATE TABLE IF NOT EXISTS judged (width INTEGER NOT NULL, begin INTEGER NOT NULL, verdict INTEGER NOT NULL,"
			 " part INTEGER NOT NULL, looks INTEGER NOT NULL, PRIMARY KEY (width, begin));"
			 "CREATE TABLE IF NOT EXISTS deployment (package TEXT NOT NULL, version TEXT NOT NULL, host TEXT NOT NULL,"
			 " time INTEGER NOT NULL, PRIMARY KEY (package, version, host, time));"
			 "PRAGMA user_version=1; COMMIT",
			 NULL, NULL, NULL) != SQLITE_OK)
		return fail(s, "cannot make the tables");
	return 0;
}

static int prepare_schema(struct span_store *s, const char *file, bool write, char **ret_error)
{
	int64_t version = single(s, "PRAGMA user_version");
	int r;

	if (version > SCHEMA_VERSION)
		return -EPROTONOSUPPORT;
	if (version == 0 && !write)
		return -ENOENT;
	r = database_check(s->db, file, "main", &shape, version == 0, ret_error);
	return r == 0 && write ? make_tables(s) : r;
}

static int explain(char **ret_error, const char *file, int r)
{
	const char *what = r == -ENOENT		? "nothing is loaded there; 'whyslow spans load FILE ...' loads spans" :
			   r == -EPROTONOSUPPORT ? "written by another version of whyslow" :
						   strerror(-r);

	return *ret_error ? r : str_fail(ret_error, r, "%s: %s", file, what);
}

static int open_file(struct span_store *s, const char *file, enum database_access access, char **ret_error)
{
	bool write = access == DATABASE_CREATE;
	int r = access == DATABASE_FOREIGN ? database_is_whole(file, ret_error) : 0;

	if (r < 0)
		return r;
	if (write && (r = write_path_prepare(file, 0750, ret_error)) < 0)
		return r;
	if (database_open(file, access, &s->budget, &s->db) != SQLITE_OK)
		return write ? -EACCES : -ENOENT;
	sqlite3_busy_timeout(s->db, 10000);
	return prepare_schema(s, file, write, ret_error);
}

int span_store_open(const char *file, enum database_access access, struct span_store **ret, char **ret_error)
{
	struct span_store *s = calloc(1, sizeof(*s));
	int r;

	*ret_error = NULL;
	if (!s)
		return -ENOMEM;
	r = open_file(s, file, access, ret_error);
	if (r < 0) {
		explain(ret_error, file, r);
		span_store_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

int span_store_put(struct span_store *s, const struct span_part *part)
{
	size_t room = ZSTD_compressBound(part->n), n;
	_cleanup_free_ void *packed = malloc(room);
	_cleanup_statement_ sqlite3_stmt *q = NULL;

	if (!packed)
		return -ENOMEM;
	n = blocks_pack_checked(packed, room, part->bytes, part->n, 3);
	if (ZSTD_isError(n))
		return -EIO;
	if (sqlite3_prepare_v2(s->db, "REPLACE INTO part (key, source, begin, finish, requests, spans, length, forest, id)"
				      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", -1, &q, NULL) != SQLITE_OK)
		return fail(s, "cannot write");
	database_bind(q, part->id ? "ttiiiiibi" : "ttiiiiib", part->key, part->source, part->from, part->to, (int64_t)part->requests,
		      (int64_t)part->spans, (int64_t)part->n, packed, n, part->id);
	return database_step(q) == SQLITE_DONE ? 0 : fail(s, "cannot write");
}

static int unpack_forest(sqlite3_stmt *q, size_t n, struct memory_budget *budget, void **ret)
{
	const void *packed = sqlite3_column_blob(q, 8);
	size_t n_packed = (size_t)sqlite3_column_bytes(q, 8);
	_cleanup_free_ void *bytes = NULL;

	if (!packed || n > PART_MAX || ZSTD_getFrameContentSize(packed, n_packed) != n)
		return -EUCLEAN;
	memory_budget_feed(budget, n_packed);
	bytes = memory_budget_take(budget, n, 1) < 0 ? NULL : malloc(n + 1);
	if (!bytes)
		return memory_budget_result(budget, -ENOMEM);
	if (ZSTD_decompress(bytes, n, packed, n_packed) != n)
		return -EUCLEAN;
	*ret = TAKE(bytes);
	return 0;
}

static int read_part(struct span_store *s, sqlite3_stmt *q, void *state,
		     int (*each)(void *state, const struct span_part *part))
{
	_cleanup_free_ char *key = database_text(q, 1), *source = database_text(q, 2);
	struct span_part part = {
		.id = sqlite3_column_int64(q, 0),
		.key = key,
		.source = source,
		.from = sqlite3_column_int64(q, 3),
		.to = sqlite3_column_int64(q, 4),
		.requests = (uint64_t)sqlite3_column_int64(q, 5),
		.spans = (uint64_t)sqlite3_column_int64(q, 6),
		.n = (size_t)sqlite3_column_int64(q, 7),
	};
	_cleanup_free_ void *bytes = NULL;
	struct memory_budget budget = {}; /* of one part: they are read one after the other */
	int r = part.key && part.source ? unpack_forest(q, part.n, &budget, &bytes) : -EUCLEAN;

	if (r == -EUCLEAN || r == -EDQUOT) {
		free(s->error);
		s->error = strdup(r == -EDQUOT ? str_error(r) : "a part of the stored spans is damaged, or of another version; load it again");
	}
	if (r < 0)
		return r;
	part.bytes = bytes;
	return each(state, &part);
}

int span_store_each(struct span_store *s, int64_t from, int64_t to, void *state,
		    int (*each)(void *state, const struct span_part *part))
{
	_cleanup_statement_ sqlite3_stmt *q = NULL;
	int r = 0, step;

	if (sqlite3_prepare_v2(s->db, "SELECT id, key, source, begin, finish, requests, spans, length, forest FROM part"
				      " WHERE finish >= ? AND begin <= ? ORDER BY begin, key", -1, &q, NULL) != SQLITE_OK)
		return fail(s, "cannot read");
	database_bind(q, "ii", from, to);
	while (r == 0 && (step = sqlite3_step(q)) != SQLITE_DONE)
		r = step == SQLITE_ROW ? read_part(s, q, state, each) : fail(s, "cannot read");
	return r;
}

/* One row of integers for `sql`, whose n parameters are bound in order. 1 = read, 0 = there is none, -errno. */
static int read_row(struct span_store *s, const char *sql, const int64_t *bound, int n, int64_t *ret, int n_ret)
{
	_cleanup_statement_ sqlite3_stmt *q = NULL;
	int step;

	if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK)
		return fail(s, "cannot read");
	for (int i = 0; i < n; i++)
		sqlite3_bind_int64(q, i + 1, bound[i]);
	step = sqlite3_step(q);
	for (int i = 0; step == SQLITE_ROW && i < n_ret; i++)
		ret[i] = sqlite3_column_int64(q, i);
	return step == SQLITE_ROW ? 1 : step == SQLITE_DONE ? 0 : fail(s, "cannot read");
}

int span_store_newest(struct span_store *s, int64_t from, int64_t to, int64_t *ret_part, int64_t *ret_requests)
{
	const int64_t bound[] = {from, to};
	int64_t row[2] = {};
	int r = read_row(s, "SELECT coalesce(max(id), 0), coalesce(sum(requests), 0) FROM part WHERE begin >= ? AND begin < ?", bound, 2, row, 2);

	*ret_part = row[0];
	*ret_requests = row[1];
	return r < 0 ? r : 0;
}

int span_store_complete(struct span_store *s, int64_t *ret)
{
	return read_row(s, "SELECT value FROM state WHERE name = 'receive.complete'", NULL, 0, ret, 1);
}

int span_store_set_complete(struct span_store *s, int64_t until)
{
	char sql[128];

	if (until)
		snprintf(sql, sizeof(sql), "REPLACE INTO state VALUES ('receive.complete', %lld)", (long long)until);
	else
		snprintf(sql, sizeof(sql), "DELETE FROM state WHERE name = 'receive.complete'");
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(s, "cannot write");
}

int span_store_judged(struct span_store *s, int64_t width, int64_t begin, struct span_judged *ret)
{
	const int64_t bound[] = {width, begin};
	int64_t row[3] = {};
	int r = read_row(s, "SELECT verdict, part, looks FROM judged WHERE width = ? AND begin = ?", bound, 2, row, 3);

	if (r > 0)
		*ret = (struct span_judged){(int)row[0], row[1], (unsigned)row[2]};
	return r;
}

int span_store_judge(struct span_store *s, int64_t width, int64_t begin, const struct span_judged *j)
{
	char sql[192];

	snprintf(sql, sizeof(sql), "REPLACE INTO judged VALUES (%lld, %lld, %d, %lld, %u)", (long long)width, (long long)begin, j->verdict,
		 (long long)j->part, j->looks);
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(s, "cannot write");
}

int span_store_begin(struct span_store *s)
{
	return sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(s, "cannot write");
}

int span_store_end(struct span_store *s, int result)
{
	if (result == 0 && sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	result = result < 0 ? result : fail(s, "cannot write");
	sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return result;
}

int span_store_merge(struct span_store *s, const int64_t *ids, size_t n, const struct span_part *whole)
{
	struct span_part part = *whole;
	int r = span_store_begin(s);

	if (r < 0)
		return r;
	part.id = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		part.id = ids[i] > part.id ? ids[i] : part.id;
		r = sqlite3_exec(s->db, STR_TEXT(64, "DELETE FROM part WHERE id = %lld", (long long)ids[i]), NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(s, "cannot write");
	}
	r = r ?: span_store_put(s, &part);
	return span_store_end(s, r);
}

int span_store_deploy(struct span_store *s, const struct deployment *d)
{
	_cleanup_statement_ sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(s->db, "REPLACE INTO deployment VALUES (?, ?, ?, ?)", -1, &q, NULL) != SQLITE_OK)
		return fail(s, "cannot write");
	database_bind(q, "ttti", d->package, d->version, d->host, d->time);
	return database_step(q) == SQLITE_DONE ? 0 : fail(s, "cannot write");
}

static int read_deployment(sqlite3_stmt *q, struct deployments *ret)
{
	_cleanup_free_ char *package = database_text(q, 0), *version = database_text(q, 1), *host = database_text(q, 2);

	return package && version && host ? deployments_add(ret, &(struct deployment){package, version, host, NULL, sqlite3_column_int64(q, 3)}) : -ENOMEM;
}

int span_store_deployments(struct span_store *s, int64_t from, int64_t to, struct deployments *ret)
{
	_cleanup_statement_ sqlite3_stmt *q = NULL;
	int r = 0, step;

	if (single(s, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'deployment'") <= 0)
		return 0;
	if (sqlite3_prepare_v2(s->db, "SELECT package, version, host, time FROM deployment WHERE time BETWEEN ? AND ? ORDER BY time", -1, &q,
			       NULL) != SQLITE_OK)
		return fail(s, "cannot read");
	database_bind(q, "ii", from, to);
	while (r == 0 && (step = sqlite3_step(q)) != SQLITE_DONE)
		r = step != SQLITE_ROW ? fail(s, "cannot read") :
					 read_deployment(q, ret);
	return r == -EINVAL || r == -E2BIG ? -EUCLEAN : r;
}

/* When the newest part ended of those that ended longer than `keep` ago, as the parts after them tell; INT64_MIN: none did. */
static int find_aged(struct span_store *s, int64_t keep, int64_t *ret)
{
	_cleanup_statement_ sqlite3_stmt *q = NULL;
	struct age age = {};
	int step;

	*ret = INT64_MIN;
	if (sqlite3_prepare_v2(s->db, "SELECT begin, finish FROM part ORDER BY begin DESC, finish DESC", -1, &q, NULL) != SQLITE_OK)
		return fail(s, "cannot read");
	while ((step = sqlite3_step(q)) == SQLITE_ROW) {
		const struct age_span span = {.first = sqlite3_column_int64(q, 0), .last = sqlite3_column_int64(q, 1)};

		if (age_add(&age, &span) > keep) {
			*ret = span.last;
			return 0;
		}
	}
	return step == SQLITE_DONE ? 0 : fail(s, "cannot read");
}

int span_store_forget(struct span_store *s, int64_t now, int64_t keep, int64_t *ret_spared)
{
	static const char count[] = "SELECT count(*) FROM part WHERE finish < ?";
	const int64_t too_old = now - keep;
	int64_t aged, before;
	char sql[224];
	int r = read_row(s, count, &too_old, 1, ret_spared, 1);

	if (r < 0 || !*ret_spared)
		return r < 0 ? r : 0;
	r = find_aged(s, keep, &aged);
	if (r < 0 || aged == INT64_MIN)
		return r;
	before = aged < too_old ? aged + 1 : too_old;
	snprintf(sql, sizeof(sql), "DELETE FROM part WHERE finish < %lld; DELETE FROM judged WHERE begin < %lld;"
				   " DELETE FROM deployment WHERE time < %lld", (long long)before, (long long)before, (long long)before);
	if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return fail(s, "cannot forget old parts");
	r = read_row(s, count, &too_old, 1, ret_spared, 1);
	return r < 0 ? r : 0;
}
