#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/data/vec.h"
#include "lib/store/blocks.h"
#include "machine/recording/internal.h"
#include "machine/recording/summary-rows.h"

#define ZSTD_LEVEL     7 /* a plane a block: 1 % larger than all of it at 15, in a seventh of the time */
#define HOUR_MS	       3600000ll
#define DAY_MS	       86400000ll
#define INSERT_SUMMARY "INSERT OR REPLACE INTO summary(tier, start, until, bytes) VALUES(?, ?, ?, ?)"

/* --- rows as bytes: like next to like, then zstd --- */

static void put_row(struct str planes[PLANES], const struct summary_row *row,
		    const struct summary_row *before)
{
	uint32_t mean = summary_mean_code(row->d.mean), spread = quantiles_code(sqrt(row->d.variance));
	int64_t last = VALUE_ZERO;

	str_put_svarint(&planes[ENTITY], (int64_t)row->entity - before->entity);
	str_put_svarint(&planes[PROGRAM], (int64_t)row->program - before->program);
	str_put_svarint(&planes[FEATURE], (int64_t)row->feature - before->feature);
	str_put_svarint(&planes[TICKS], (int64_t)row->d.n - (int64_t)before->d.n);
	str_putc(&planes[MEAN_HIGH], (char)(mean >> 16));
	str_putc(&planes[MEAN_MIDDLE], (char)(mean >> 8));
	str_putc(&planes[MEAN_LOW], (char)mean);
	str_putc(&planes[SPREAD_HIGH], (char)(spread >> 8));
	str_putc(&planes[SPREAD_LOW], (char)spread);
	str_put_varint(&planes[ERROR], (uint64_t)ceil(row->d.error * ERROR_STEPS));
	for (size_t i = 0; i < QUANTILES; i++) {
		int64_t code = quantiles_code(row->d.q[i]);

		str_put_svarint(&planes[QUANTILE_0 + i], code - last);
		last = code;
	}
}

static int pack(const struct summary_rows *rows, struct str *out)
{
	struct str planes[PLANES] = {}, all = {};
	struct summary_row before = {};
	size_t ends[PLANES];
	int r;

	for (size_t i = 0; i < rows->list.n; i++) {
		put_row(planes, &rows->list.v[i], &before);
		before = rows->list.v[i];
	}
	str_put_varint(&all, rows->list.n);
	for (size_t i = 0; i < PLANES; i++) {
		str_put_blob(&all, planes[i].data, planes[i].len);
		if (planes[i].error)
			all.error = planes[i].error;
		str_free(&planes[i]);
		ends[i] = all.len;
	}
	str_put_varint(out, all.len);
	r = all.error ? all.error : blocks_pack(all.data, (struct block_ends){ends, PLANES}, ZSTD_LEVEL, out);
	str_free(&all);
	return r;
}

/* --- a segment's series --- */

struct summarising {
	const struct dataset *d;
	uint32_t n_spans;		/* of the subject at hand: ticks in which it may have grown */
	struct weighted *values, *room; /* a tick's worth each, and one for the ticks without */
	struct distribution current;
};

static void add_value(struct summarising *z, size_t at, double value, uint32_t weight)
{
	double before = z->current.mean;

	z->values[at] = (struct weighted){quantiles_code(value), weight};
	z->current.n += weight;
	if (!weight)
		return;
	z->current.mean += (value - before) * weight / z->current.n;
	z->current.variance +=
		weight * (value - before) * (value - z->current.mean); /* a sum until the end */
}

/* Where a recorder begins nothing is known of growth. */
static uint32_t count_spans(const struct dataset *d, const struct subject *s)
{
	uint32_t n = 0;

	for (uint32_t t = s->first; t <= s->last && t < d->ticks.n; t++)
		n += d->ticks.v[t].span != 0;
	return n;
}

/* A tick, or of a wait that was read late those in which it grew. */
static uint32_t ticks_of(const struct summarising *z, const struct subject *s, size_t f, size_t i)
{
	struct growth_time grown = subject_growth_time(z->d, s, f, i);
	uint32_t tick = s->series[f].tick[i], first = tick;

	while (first > s->first && z->d->ticks.v[first - 1].elapsed > grown.begin)
		first--;
	return tick - first + 1;
}

static size_t add_growths(struct summarising *z, const struct subject *s, size_t f)
{
	const struct series *series = &s->series[f];
	uint32_t grew = 0;

	for (size_t i = 0; i < series->n; i++) {
		uint32_t tick = series->tick[i], n = ticks_of(z, s, f, i), begin = tick + 1 - n;
		int64_t span = z->d->ticks.v[tick].elapsed - (begin ? z->d->ticks.v[begin - 1].elapsed : 0);

		add_value(z, i, (double)series->value[i] * (double)s->features[f].quantum / (span ? (double)span / 1e9 : 1), n);
		grew += n;
	}
	add_value(z, series->n, 0, z->n_spans > grew ? z->n_spans - grew : 0);
	return series->n + 1;
}

static size_t add_levels(struct summarising *z, const struct subject *s, size_t f)
{
	const struct series *series = &s->series[f];

	for (size_t i = 0; i < series->n; i++) {
		uint32_t until = i + 1 < series->n ? series->tick[i + 1] : s->last + 1;

		add_value(z, i, (double)series->value[i] * (double)s->features[f].quantum,
			  until > series->tick[i] ? until - series->tick[i] : 0);
	}
	return series->n;
}

/* False for one that says nothing. */
static bool summarise(struct summarising *z, const struct subject *s, size_t f)
{
	bool counter = s->features[f].kind == COUNTER;
	size_t n;

	if (s->last < s->first || s->series[f].n < (counter ? 1 : 2))
		return false;
	z->current = (struct distribution){};
	n = counter ? add_growths(z, s, f) : add_levels(z, s, f);
	if (z->current.n <= 0)
		return false;
	z->current.variance /= z->current.n;
	quantiles_of(z->values, z->room, n, z->current.q);
	return true;
}

/* --- ids --- */

/* The two statements take a name, those of a feature its kind, too. */
struct naming {
	struct store *store;
	sqlite3_stmt *find, *insert;
};

static void bind_name(sqlite3_stmt *stmt, const char *name, enum entity_kind kind)
{
	sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	if (sqlite3_bind_parameter_count(stmt) > 1)
		sqlite3_bind_int(stmt, 2, (int)kind);
}

/* The id of a name, which gets one if it has none. */
static int name_id(struct naming *n, const char *name, enum entity_kind kind, uint32_t *ret)
{
	int code;

	bind_name(n->find, name, kind);
	code = sqlite3_step(n->find);
	if (code == SQLITE_ROW)
		*ret = (uint32_t)sqlite3_column_int64(n->find, 0);
	sqlite3_reset(n->find);
	if (code == SQLITE_ROW)
		return 0;
	bind_name(n->insert, name, kind);
	code = sqlite3_step(n->insert);
	*ret = (uint32_t)sqlite3_last_insert_rowid(n->store->db);
	sqlite3_reset(n->insert);
	return code == SQLITE_DONE ? 0 : store_fail(n->store, code, "cannot write");
}

/* Feature ids of all kinds, in the tables' order. */
static int feature_ids(struct store *s, uint32_t ids[ENTITY_KIND_END][FEATURES_MAX])
{
	_cleanup_statement_ sqlite3_stmt *find = NULL, *insert = NULL;
	int r = store_prepare(s, "INSERT OR IGNORE INTO feature(name, kind) VALUES(?, ?)", &insert);

	r = r ?: store_prepare(s, "SELECT id FROM feature WHERE name = ? AND kind = ?", &find);
	for (enum entity_kind kind = ENTITY_PROCESS; r == 0 && kind < ENTITY_KIND_END; kind++) {
		size_t n;
		const struct feature *features = features_of(kind, &n);

		for (size_t f = 0; r == 0 && f < n; f++)
			r = name_id(&(struct naming){s, find, insert}, features[f].name, kind, &ids[kind][f]);
	}
	return r;
}

/* --- writing --- */

static int add_subject(struct summarising *z, struct naming *naming, const uint32_t ids[],
		       const struct subject *s, struct summary_rows *rows)
{
	struct summary_row row = {.entity = s->info.id};
	int r = 0;

	z->n_spans = count_spans(z->d, s);
	for (size_t f = 0; r == 0 && f < s->n_features; f++) {
		if (!summarise(z, s, f))
			continue;
		if (!row.program)
			r = name_id(naming, s->program, ENTITY_PROCESS, &row.program);
		row.feature = ids[f];
		row.d = z->current;
		if (s->features[f].kind == COUNTER) /* no level of a gigabyte: two bytes tell it within 0.2 % */
			row.d.mean = summary_mean_of_code((summary_mean_code(row.d.mean) + 0x80) & ~0xffu);
		r = r ?: VEC_PUSH(rows->list, row);
	}
	return r;
}

static int collect_rows(struct store *s, const struct dataset *d, struct summary_rows *rows)
{
	uint32_t ids[ENTITY_KIND_END][FEATURES_MAX] = {};
	struct summarising z = {.d = d};
	_cleanup_statement_ sqlite3_stmt *find = NULL, *insert = NULL;
	struct naming naming = {.store = s};
	int r = store_prepare(s, "SELECT id FROM program WHERE name = ?", &find);

	r = r ?: store_prepare(s, "INSERT INTO program(name) VALUES(?)", &insert);
	r = r ?: feature_ids(s, ids);
	naming.find = find;
	naming.insert = insert;
	z.values = calloc(d->ticks.n + 2, sizeof(*z.values));
	z.room = calloc(d->ticks.n + 2, sizeof(*z.room));
	if (r == 0 && (!z.values || !z.room))
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < d->subjects.n; i++)
		r = add_subject(&z, &naming, ids[d->subjects.v[i]->info.kind], d->subjects.v[i], rows);
	FREE_ALL(z.values, z.room);
	return r;
}

static int put_rows(struct store *s, enum summary_tier tier, int64_t start, int64_t until,
		    const struct summary_rows *rows)
{
	_cleanup_str_ struct str bytes = {};
	sqlite3_stmt *stmt;
	int r = pack(rows, &bytes);

	r = r ?: store_prepare(s, INSERT_SUMMARY, &stmt, tier, start, until);
	if (r == 0) {
		sqlite3_bind_blob64(stmt, 4, bytes.data, bytes.len, SQLITE_STATIC);
		r = store_run(s, stmt);
	}
	return r;
}

int store_put_summaries(struct store *s, int64_t segment, const struct dataset *d)
{
	struct summary_rows rows = {};
	int r = collect_rows(s, d, &rows);

	r = r ?: put_rows(s, SUMMARY_SEGMENT, segment, d->ticks.v[d->ticks.n - 1].wall / NS_PER_MS, &rows);
	VEC_FREE(rows.list);
	return r;
}

/* --- tiers --- */

ORDER(by_program, struct summary_row, ASCENDING(program) ?: ASCENDING(feature))

/* Rows of the same program and feature become one. */
static int merge_rows(struct summary_rows *from, struct summary_rows *to)
{
	_cleanup_vec_ VEC(struct distribution) parts = {};
	int r = 0;

	VEC_SORT(from->list, by_program);
	for (size_t i = 0; r == 0 && i < from->list.n; i++) {
		struct summary_row *row = &from->list.v[i];

		r = VEC_PUSH(parts, row->d);
		if (r < 0 || (i + 1 < from->list.n && by_program(row, row + 1) == 0))
			continue;
		row->entity = 0;
		r = distribution_merge(parts.v, parts.n, &row->d);
		r = r ?: VEC_PUSH(to->list, *row);
		parts.n = 0;
	}
	return r;
}

static int read_tier(struct store *s, enum summary_tier tier, int64_t start, int64_t until,
		     struct summary_rows *rows)
{
	struct memory_budget budget = {};
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "SELECT bytes FROM summary WHERE tier = ? AND start >= ? AND start < ?", &stmt, tier, start, until);

	while (store_row(s, stmt, &r)) {
		r = summary_unpack(sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0), &budget, rows);
		if (r == -EBADMSG) /* a damaged one counts for nothing */
			r = 0;
	}
	return memory_budget_result(&budget, r);
}

static int put_tier(struct store *s, enum summary_tier tier, int64_t start, int64_t length)
{
	struct summary_rows below = {}, merged = {};
	int r = read_tier(s, tier - 1, start, start + length, &below);

	r = r ?: merge_rows(&below, &merged);
	r = r ?: put_rows(s, tier, start, start + length, &merged);
	VEC_FREE(below.list);
	VEC_FREE(merged.list);
	return r;
}

#define NUMBER_OF_SEGMENT "(SELECT number FROM written WHERE segment = ?1)"

/* The hour and the day of a segment, unless the next one written is in the same. */
static int put_ended(struct store *s, int64_t segment, int64_t next)
{
	const int64_t hour = segment / HOUR_MS, day = segment / DAY_MS;
	int r = hour == next / HOUR_MS ? 0 : put_tier(s, SUMMARY_HOUR, hour * HOUR_MS, HOUR_MS);

	return r < 0 || day == next / DAY_MS ? r : put_tier(s, SUMMARY_DAY, day * DAY_MS, DAY_MS);
}

/* By the order in which segments were written: a clock that was ahead once must not keep later hours from being made. One that is compacted late
 * may already have the next one. */
int store_put_tiers(struct store *s, int64_t segment)
{
	int64_t neighbor;
	int r = store_query_int(s, "SELECT id FROM segment LEFT JOIN written ON written.segment = id WHERE id <> ?1 AND coalesce(number, 0) < "
				   NUMBER_OF_SEGMENT " ORDER BY number DESC, id DESC LIMIT 1", &neighbor, segment);

	r = r ?: put_ended(s, neighbor, segment);
	if (r == 0 || r == -ENOENT)
		r = store_query_int(s, "SELECT id FROM segment JOIN written ON written.segment = id WHERE number > " NUMBER_OF_SEGMENT
				       " ORDER BY number LIMIT 1", &neighbor, segment);
	r = r ?: put_ended(s, segment, neighbor);
	return r == -ENOENT ? 0 : r;
}
