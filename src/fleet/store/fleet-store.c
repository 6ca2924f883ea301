#include "fleet/store/fleet-store.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/rights/own-folder.h"
#include "lib/store/blocks.h"
#include "lib/store/database.h"
#include "lib/system/parallel.h"

#define APPLICATION_ID	0x77666c74 /* "wflt" */
#define VERSION		1
#define PART_BYTES	((size_t)8 << 20)
#define PART_BYTES_MAX	((size_t)1 << 31) /* one server's column is never split */
#define LEVEL		1
#define THREADS		4
#define PACKED_AT_ONCE	4 /* each takes three times PART_BYTES */

static const struct database_shape shape = {
	.what = "loaded fleet",
	.tables = (const struct database_table[]){
		{"counter", "id,name,unit,help,kind", false},
		{"server", "id,name,role,rows,time", false},
		{"part", "counter,first,present,data", false},
		{"remark", "text", false},
		{},
	},
};

static int fail(sqlite3 *db, const char *path, int r, char **ret_error)
{
	if (asprintf(ret_error, "%s: %s", path, db && sqlite3_errcode(db) != SQLITE_OK ? sqlite3_errmsg(db) : strerror(-r)) < 0)
		*ret_error = NULL;
	return r;
}

static int execute(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -EIO;
}

/* --- bytes as planes: the n-th byte of all values together --- */

static void planes(const uint8_t *from, uint8_t *to, size_t n, size_t width)
{
	for (size_t b = 0; b < width; b++)
		for (size_t i = 0; i < n; i++)
			to[b * n + i] = from[i * width + b];
}

static void values4(const uint8_t *from, uint8_t *to, size_t n)
{
	const uint8_t *a = from, *b = from + n, *c = from + 2 * n, *d = from + 3 * n;

	for (size_t i = 0; i < n; i++) {
		to[4 * i] = a[i];
		to[4 * i + 1] = b[i];
		to[4 * i + 2] = c[i];
		to[4 * i + 3] = d[i];
	}
}

static int pack(const void *values, size_t n, size_t width, struct str *room, struct str *out)
{
	size_t bound = ZSTD_compressBound(n * width), got;

	room->max = out->max = (size_t)4 << 30;
	str_clear(room);
	str_clear(out);
	if (str_reserve(room, n * width) < 0 || str_reserve(out, bound) < 0)
		return -ENOMEM;
	planes(values, (uint8_t *)room->data, n, width);
	got = blocks_pack_checked(out->data, bound, room->data, n * width, LEVEL);
	if (ZSTD_isError(got))
		return -EIO;
	out->len = got;
	return 0;
}

/* --- writing --- */

static int step(sqlite3_stmt *s)
{
	return database_step(s) == SQLITE_DONE ? 0 : -EIO;
}

static int write_counters(sqlite3 *db, const struct fleet *f)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(db, "INSERT INTO counter VALUES (?, ?, ?, ?, ?)", -1, &s, NULL) != SQLITE_OK)
		return -EIO;
	for (size_t i = 0; i < f->counters.n && r == 0; i++) {
		database_bind(s, "ittti", (int64_t)i, f->counters.v[i].name, f->counters.v[i].unit, f->counters.v[i].help,
			      (int64_t)f->counters.v[i].kind);
		r = step(s);
	}
	return r;
}

static int write_servers(sqlite3 *db, const struct fleet *f, struct str *room, struct str *out)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(db, "INSERT INTO server VALUES (?, ?, ?, ?, ?)", -1, &s, NULL) != SQLITE_OK)
		return -EIO;
	for (size_t i = 0; i < f->servers.n && r == 0; i++) {
		const struct fleet_server *x = &f->servers.v[i];

		r = pack(x->time, x->n, sizeof(*x->time), room, out);
		database_bind(s, "ittib", (int64_t)i, x->name, x->role, (int64_t)x->n, out->data, out->len);
		r = r ?: step(s);
	}
	return r;
}

/* The columns of servers [first, end) of a counter, those that are there, behind each other. */
struct part {
	const struct fleet *fleet;
	size_t counter, first, end;
	struct str present, raw, room, out; /* `out`: empty where no server has the counter */
};

static int pack_part(void *data, size_t i)
{
	struct part *p = (struct part *)data + i;

	str_clear(&p->present);
	str_clear(&p->raw);
	str_clear(&p->out);
	p->raw.max = (size_t)4 << 30;
	for (size_t s = p->first; s < p->end; s++) {
		const struct fleet_server *x = &p->fleet->servers.v[s];

		str_putc(&p->present, x->column[p->counter] ? 1 : 0);
		if (x->column[p->counter])
			str_append(&p->raw, (const char *)x->column[p->counter], x->n * sizeof(float));
	}
	if (p->present.error || p->raw.error)
		return -ENOMEM;
	return p->raw.len ? pack(p->raw.data, p->raw.len / sizeof(float), sizeof(float), &p->room, &p->out) : 0;
}

static int insert_part(sqlite3_stmt *s, const struct part *p)
{
	if (!p->out.len)
		return 0;
	database_bind(s, "iibb", (int64_t)p->counter, (int64_t)p->first, p->present.data, p->present.len, p->out.data, p->out.len);
	return step(s);
}

/* The part behind p, of the next counter where that one has all servers. False: all parts are written. */
static bool next_part(const struct fleet *f, struct part *p)
{
	size_t bytes = 0;

	p->first = p->end;
	if (p->first == f->servers.n) {
		p->first = 0;
		p->counter++;
	}
	for (p->end = p->first; p->end < f->servers.n && bytes < PART_BYTES && p->counter < f->counters.n; p->end++)
		bytes += f->servers.v[p->end].column[p->counter] ? f->servers.v[p->end].n * sizeof(float) : 0;
	return p->end > p->first;
}

/* Some parts at a time are packed by all CPUs, and inserted in order. */
static int write_parts(sqlite3_stmt *s, const struct fleet *f, struct part parts[PACKED_AT_ONCE])
{
	struct part at = {};
	bool more = true;
	int r = 0;

	while (more && r == 0) {
		size_t n = 0;

		for (; n < PACKED_AT_ONCE && (more = next_part(f, &at)); n++) {
			parts[n].fleet = f;
			parts[n].counter = at.counter;
			parts[n].first = at.first;
			parts[n].end = at.end;
		}
		r = parallel_run(0, n, pack_part, parts);
		for (size_t i = 0; i < n && r == 0; i++)
			r = insert_part(s, &parts[i]);
	}
	return r;
}

static int write_columns(sqlite3 *db, const struct fleet *f)
{
	struct part parts[PACKED_AT_ONCE] = {};
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	int r;

	if (sqlite3_prepare_v2(db, "INSERT INTO part VALUES (?, ?, ?, ?)", -1, &s, NULL) != SQLITE_OK)
		return -EIO;
	r = f->servers.n ? write_parts(s, f, parts) : 0;
	for (size_t i = 0; i < PACKED_AT_ONCE; i++) {
		str_free(&parts[i].present);
		str_free(&parts[i].raw);
		str_free(&parts[i].room);
		str_free(&parts[i].out);
	}
	return r;
}

static int write_remarks(sqlite3 *db, const struct fleet *f)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(db, "INSERT INTO remark VALUES (?)", -1, &s, NULL) != SQLITE_OK)
		return -EIO;
	for (size_t i = 0; i < f->remarks.n && r == 0; i++) {
		database_bind(s, "t", f->remarks.v[i]);
		r = step(s);
	}
	return r;
}

static int write_all(sqlite3 *db, const struct fleet *f)
{
	_cleanup_str_ struct str room = {}, out = {};
	int r;

	r = execute(db, STR_TEXT(128, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA application_id=%d; PRAGMA user_version=%d", APPLICATION_ID, VERSION));
	if (r == 0)
		r = execute(db, "BEGIN;"
				"CREATE TABLE counter (id INTEGER PRIMARY KEY, name TEXT, unit TEXT, help TEXT, kind INTEGER);"
				"CREATE TABLE server (id INTEGER PRIMARY KEY, name TEXT, role TEXT, rows INTEGER, time BLOB);"
				"CREATE TABLE part (counter INTEGER, first INTEGER, present BLOB, data BLOB, PRIMARY KEY (counter, first));"
				"CREATE TABLE remark (text TEXT);");
	r = r ?: write_counters(db, f);
	r = r ?: write_servers(db, f, &room, &out);
	r = r ?: write_columns(db, f);
	r = r ?: write_remarks(db, f);
	return r == 0 ? execute(db, "COMMIT") : r;
}

static int write_to(const struct own_file *made, const struct fleet *f, const char *path, char **ret_error)
{
	struct database_budget budget;
	sqlite3 *db = NULL;
	int r = database_open(made->path, DATABASE_CREATE, &budget, &db) == SQLITE_OK ? 0 : -EIO;

	r = r ?: write_all(db, f);
	if (r < 0)
		r = fail(db, path, r, ret_error);
	if (sqlite3_close(db) != SQLITE_OK && r == 0)
		r = -EIO;
	return r;
}

/* A half written file never has the name. */
int fleet_store_write(const struct fleet *f, const char *path, char **ret_error)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_free_ char *folder = folder_of(path), *reason = NULL;
	struct own_file made;
	int r;

	if (!folder)
		return -ENOMEM;
	if (access(path, F_OK) == 0 && !fleet_store_is(path))
		return str_fail(ret_error, -EEXIST, "%s exists and is not a fleet store: choose another name", path);
	r = own_file_begin(folder, name, 0666, &made, &reason);
	if (r < 0)
		return str_fail(ret_error, r, "cannot write %s: %s", path, reason ? reason : strerror(-r));
	r = write_to(&made, f, path, ret_error);
	if (r == 0 && (r = own_file_publish(&made, name, true)) < 0)
		r = fail(NULL, path, r, ret_error);
	own_file_end(&made);
	return r;
}

/* --- reading --- */

static int query_int(sqlite3 *db, const char *sql)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;

	return sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int(s, 0) : -1;
}

bool fleet_store_is(const char *path)
{
	struct database_budget budget;
	sqlite3 *db = NULL;
	bool is = access(path, R_OK) == 0 && database_open(path, DATABASE_FOREIGN, &budget, &db) == SQLITE_OK &&
		  query_int(db, "PRAGMA application_id") == APPLICATION_ID;

	sqlite3_close(db);
	return is;
}

static int prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret)
{
	return sqlite3_prepare_v2(db, sql, -1, ret, NULL) == SQLITE_OK ? 0 : -EBADMSG;
}

/* Goes to the next row. False after the last one, where *r is an error already, and where rows cannot be read, which are not the end of them:
 * *r says so then. */
static bool next_row(sqlite3_stmt *s, int *r)
{
	int code = *r < 0 ? SQLITE_DONE : sqlite3_step(s);

	if (code != SQLITE_DONE && code != SQLITE_ROW)
		*r = code == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
	return code == SQLITE_ROW;
}

static int take_text(sqlite3_stmt *s, int at, char **to)
{
	*to = database_text(s, at);
	return !*to && sqlite3_column_type(s, at) != SQLITE_NULL ? -ENOMEM : 0;
}

static int read_counters(sqlite3 *db, struct fleet *f)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	int r = prepare(db, "SELECT id, name, unit, help, kind FROM counter ORDER BY id", &s);

	while (next_row(s, &r)) {
		_cleanup_free_ char *name = database_text(s, 1);
		int id = name ? fleet_add_counter(f, name) : -EBADMSG;

		if (id < 0 || id != sqlite3_column_int(s, 0))
			return id == -ENOMEM ? id : -EBADMSG;
		r = take_text(s, 2, &f->counters.v[id].unit);
		r = r ?: take_text(s, 3, &f->counters.v[id].help);
		f->counters.v[id].kind = sqlite3_column_int(s, 4) == FLEET_COUNTER ? FLEET_COUNTER : FLEET_GAUGE;
	}
	return r;
}

static int unpack(const void *packed, int n_packed, void *to, size_t n, size_t width, struct str *room)
{
	size_t got;

	room->max = (size_t)4 << 30;
	str_clear(room);
	if (str_reserve(room, n * width + 1) < 0)
		return -ENOMEM;
	got = ZSTD_decompress(room->data, n * width, packed, (size_t)n_packed);
	if (ZSTD_isError(got) || got != n * width)
		return -EBADMSG;
	if (width == 4)
		values4((const uint8_t *)room->data, to, n);
	else
		for (size_t b = 0; b < width; b++)
			for (size_t i = 0; i < n; i++)
				((uint8_t *)to)[i * width + b] = (uint8_t)room->data[b * n + i];
	return 0;
}

/* As an intake leaves them. */
static bool are_times(const struct fleet_server *s)
{
	return !ANY_WHERE(i, s->n, s->time[i] < -FLEET_TIME_MOST || s->time[i] > FLEET_TIME_MOST || (i && s->time[i] <= s->time[i - 1]));
}

static int read_server(sqlite3_stmt *s, struct fleet *f, struct str *room)
{
	_cleanup_free_ char *name = database_text(s, 1);
	int64_t rows = sqlite3_column_int64(s, 3);
	int id = name ? fleet_add_server(f, name) : -EBADMSG;
	struct fleet_server *x;
	int r;

	if (id < 0 || id != sqlite3_column_int(s, 0) || rows < 0 || rows > (int64_t)1 << 30)
		return id == -ENOMEM ? id : -EBADMSG;
	x = &f->servers.v[id];
	x->n = (uint32_t)rows;
	x->time = malloc(((size_t)rows + 1) * sizeof(*x->time));
	if (!x->time || take_text(s, 2, &x->role) < 0)
		return -ENOMEM;
	r = unpack(sqlite3_column_blob(s, 4), sqlite3_column_bytes(s, 4), x->time, x->n, sizeof(*x->time), room);
	return r == 0 && !are_times(x) ? -EBADMSG : r;
}

static int read_servers(sqlite3 *db, struct fleet *f)
{
	_cleanup_str_ struct str room = {};
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	int r = prepare(db, "SELECT id, name, role, rows, time FROM server ORDER BY id", &s);

	while (next_row(s, &r))
		r = read_server(s, f, &room);
	return r;
}

static int read_remarks(sqlite3 *db, struct fleet *f)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	int r = prepare(db, "SELECT text FROM remark", &s);

	while (next_row(s, &r)) {
		_cleanup_free_ char *text = database_text(s, 0);

		r = text ? fleet_remark(f, "%s", text) : -EBADMSG;
	}
	return r;
}

struct reading {
	const char *path, *wanted;
	struct fleet *fleet;
	atomic_size_t next;
	atomic_int error;
	pthread_mutex_t lock;
};

static int read_part(struct reading *d, sqlite3_stmt *s, size_t counter, struct str *room)
{
	struct fleet *f = d->fleet;
	size_t first = (size_t)sqlite3_column_int64(s, 0), n = (size_t)sqlite3_column_bytes(s, 1), total = 0;
	const uint8_t *present = sqlite3_column_blob(s, 1);
	float *values;
	int r;

	if (first + n > f->servers.n || first + n < first)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		total += present[i] ? f->servers.v[first + i].n : 0;
	if (total * sizeof(float) > PART_BYTES_MAX)
		return -EBADMSG;
	values = malloc((total + 1) * sizeof(*values));
	if (!values)
		return -ENOMEM;
	pthread_mutex_lock(&d->lock);
	r = VEC_PUSH(f->blocks, values);
	pthread_mutex_unlock(&d->lock);
	if (r < 0) {
		free(values);
		return r;
	}
	r = unpack(sqlite3_column_blob(s, 2), sqlite3_column_bytes(s, 2), values, total, sizeof(float), room);
	for (size_t i = 0; i < n && r == 0; i++)
		if (present[i]) {
			f->servers.v[first + i].column[counter] = values;
			values += f->servers.v[first + i].n;
		}
	return r;
}

static int read_columns(struct reading *d, sqlite3 *db)
{
	_cleanup_str_ struct str room = {};
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	int r = prepare(db, "SELECT first, present, data FROM part WHERE counter = ?", &s);

	while (r == 0 && !atomic_load(&d->error)) {
		size_t c = atomic_fetch_add(&d->next, 1);

		if (c >= d->fleet->counters.n)
			break;
		if (d->wanted && fnmatch(d->wanted, d->fleet->counters.v[c].name, FNM_CASEFOLD) != 0)
			continue;
		sqlite3_bind_int64(s, 1, (int64_t)c);
		while (next_row(s, &r))
			r = read_part(d, s, c, &room);
		sqlite3_reset(s);
	}
	return r;
}

static void *reader(void *data)
{
	struct reading *d = data;
	struct database_budget budget;
	sqlite3 *db = NULL;
	int r = -EIO;

	if (database_open(d->path, DATABASE_FOREIGN, &budget, &db) == SQLITE_OK)
		r = read_columns(d, db);
	sqlite3_close(db);
	if (r < 0)
		atomic_store(&d->error, r);
	return NULL;
}

static int read_all_columns(const char *path, const char *wanted, struct fleet *f)
{
	struct reading d = {.path = path, .wanted = wanted, .fleet = f, .lock = PTHREAD_MUTEX_INITIALIZER};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t ids[THREADS];
	int started = 0;

	while (started + 1 < cores && started < THREADS && pthread_create(&ids[started], NULL, reader, &d) == 0)
		started++;
	reader(&d);
	for (int i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
	return atomic_load(&d.error);
}

/* Opens the file and looks at its tables. -EUCLEAN with *ret_error. */
static int open_loaded(const char *path, struct database_budget *budget, sqlite3 **ret, char **ret_error)
{
	int r = database_is_whole(path, ret_error);

	if (r < 0)
		return r;
	if (database_open(path, DATABASE_FOREIGN, budget, ret) != SQLITE_OK)
		return -EIO;
	if (query_int(*ret, "PRAGMA user_version") > VERSION)
		return -EPROTONOSUPPORT;
	return database_check(*ret, path, "main", &shape, false, ret_error);
}

int fleet_store_open(const char *path, const char *wanted, struct fleet **ret, char **ret_error)
{
	struct fleet *f = calloc(1, sizeof(*f));
	struct database_budget budget;
	sqlite3 *db = NULL;
	int r = f ? 0 : -ENOMEM;

	*ret_error = NULL;
	r = r ?: open_loaded(path, &budget, &db, ret_error);
	r = r ?: read_counters(db, f);
	r = r ?: read_servers(db, f);
	r = r ?: read_remarks(db, f);
	r = r ?: read_all_columns(path, wanted, f);
	if (r == -EPROTONOSUPPORT && asprintf(ret_error, "%s was written by a newer version of whyslow", path) < 0)
		*ret_error = NULL;
	else if (r == -EBADMSG && asprintf(ret_error, "%s is damaged: load its source again ('whyslow fleet load')", path) < 0)
		*ret_error = NULL;
	else if (r < 0 && r != -EPROTONOSUPPORT && r != -EBADMSG && !*ret_error)
		fail(db, path, r, ret_error);
	sqlite3_close(db);
	if (r < 0) {
		fleet_free(f);
		free(f);
		return r;
	}
	fleet_find_interval(f);
	*ret = f;
	return 0;
}
