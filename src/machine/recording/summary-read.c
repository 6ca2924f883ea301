#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/recording/summary-rows.h"

#define SELECT_SUMMARIES                                                                \
	"SELECT start, until, bytes FROM summary WHERE tier = ? AND until >= ? AND start <= ?" \
	" AND start" BETWEEN_MS " AND until" BETWEEN_MS " ORDER BY start"

/* --- rows --- */

static uint8_t read_byte(struct reader *in)
{
	if (in->at < in->end)
		return *in->at++;
	in->bad = true;
	return 0;
}

static void read_row(struct reader planes[PLANES], const struct summary_row *before, struct summary_row *row)
{
	uint32_t mean, spread;
	int64_t code = VALUE_ZERO;

	row->entity = (uint32_t)(before->entity + reader_svarint(&planes[ENTITY]));
	row->program = (uint32_t)(before->program + reader_svarint(&planes[PROGRAM]));
	row->feature = (uint32_t)(before->feature + reader_svarint(&planes[FEATURE]));
	row->d.n = before->d.n + (double)reader_svarint(&planes[TICKS]);
	mean = (uint32_t)read_byte(&planes[MEAN_HIGH]) << 16;
	mean |= (uint32_t)read_byte(&planes[MEAN_MIDDLE]) << 8;
	mean |= read_byte(&planes[MEAN_LOW]);
	spread = (uint32_t)read_byte(&planes[SPREAD_HIGH]) << 8;
	spread |= read_byte(&planes[SPREAD_LOW]);
	row->d.mean = summary_mean_of_code(mean);
	row->d.variance = quantiles_value((uint16_t)spread) * quantiles_value((uint16_t)spread);
	row->d.error = (double)reader_varint(&planes[ERROR]) / ERROR_STEPS;
	for (size_t i = 0; i < QUANTILES; i++) {
		code += reader_svarint(&planes[QUANTILE_0 + i]);
		row->d.q[i] = quantiles_value((uint16_t)code);
	}
}

#define ROW_MEMORY (2 * sizeof(struct summary_row)) /* and what its reader keeps of it */

/* What was packed, unpacked into `room` (one for many: a thousand fresh ones would cost as much as what is in them), and
 * where the planes of its n rows lie in it. */
static int open_planes(const void *bytes, size_t n_bytes, struct memory_budget *budget, struct str *room, struct reader planes[PLANES], uint64_t *ret_n)
{
	struct reader in;
	uint64_t size;
	const uint8_t *all;

	if (!bytes) /* SQLite's empty blob */
		return -EBADMSG;
	in = (struct reader){bytes, (const uint8_t *)bytes + n_bytes, false};
	size = reader_varint(&in);

	if (in.bad || size > BLOB_MAX)
		return -EBADMSG;
	memory_budget_feed(budget, n_bytes);
	str_clear(room);
	room->max = BLOB_MAX + 1;
	if (memory_budget_take(budget, size, 1) < 0 || str_reserve(room, size + 1) < 0)
		return -ENOMEM;
	memory_budget_give(budget, size, 1); /* it is used again for the next */
	all = (const uint8_t *)room->data;
	if (ZSTD_decompress(room->data, size, in.at, (size_t)(in.end - in.at)) != size)
		return -EBADMSG;
	in = (struct reader){all, all + size, false};
	*ret_n = reader_varint(&in);
	for (size_t i = 0; i < PLANES; i++) {
		size_t length;
		const char *plane = str_read_blob(&in, &length);

		if (!plane)
			return -EBADMSG;
		planes[i] = (struct reader){(const uint8_t *)plane, (const uint8_t *)plane + length, false};
	}
	return *ret_n > (size_t)(planes[MEAN_LOW].end - planes[MEAN_LOW].at) ? -EBADMSG : 0;
}

int summary_unpack(const void *bytes, size_t n_bytes, struct memory_budget *budget, struct summary_rows *rows)
{
	struct reader planes[PLANES];
	_cleanup_str_ struct str room = {};
	struct summary_row row = {};
	uint64_t n;
	int r = open_planes(bytes, n_bytes, budget, &room, planes, &n);

	r = r ?: memory_budget_take(budget, n, ROW_MEMORY);
	if (r < 0)
		return r;
	for (uint64_t i = 0; r == 0 && i < n; i++) {
		struct summary_row before = row;

		read_row(planes, &before, &row);
		r = VEC_PUSH(rows->list, row);
	}
	for (size_t i = 0; i < PLANES; i++)
		if (planes[i].bad)
			return -EBADMSG;
	return r;
}

/* --- names --- */

#define NAME_ID_MAX ((int64_t)1 << 24) /* programs of a store; each id has a place in memory */

struct feature_name {
	enum entity_kind kind;
	int feature; /* -1 = this program has none of that name */
};

struct names {
	struct memory_budget *budget;
	VEC(char *) programs; /* by id */
	VEC(struct feature_name) features;
};

static void names_free(struct names *n)
{
	VEC_FREE_EACH(n->programs, free(*each));
	VEC_FREE(n->features);
}

/* Rows of a damaged table say anything. */
static bool is_name_id(int64_t id)
{
	return id >= 0 && id < NAME_ID_MAX;
}

/* Room for all ids up to this one, of a row that is as long as its text. */
static int reserve_ids(struct names *names, size_t n, int64_t id, size_t text)
{
	memory_budget_feed(names->budget, text);
	return memory_budget_take(names->budget, id < (int64_t)n ? 1 : (uint64_t)id + 1 - n, 2 * sizeof(char *));
}

static int put_program(struct names *names, int64_t id, const char *name)
{
	char *copy = reserve_ids(names, names->programs.n, id, strlen(name)) == 0 ? strdup(name) : NULL;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (int64_t)names->programs.n < id)
		r = VEC_PUSH(names->programs, NULL);
	r = r ?: VEC_PUSH(names->programs, copy);
	if (r < 0)
		free(copy);
	return r;
}

static int put_feature(struct names *names, int64_t id, enum entity_kind kind, const char *name)
{
	int r = reserve_ids(names, names->features.n, id, strlen(name));

	while (r == 0 && (int64_t)names->features.n < id)
		r = VEC_PUSH(names->features, (struct feature_name){0, -1});
	return r == 0 ? VEC_PUSH(names->features, (struct feature_name){kind, feature_index(kind, name)}) : r;
}

static int read_programs(struct store *s, struct names *names)
{
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "SELECT id, name FROM program ORDER BY id", &stmt);

	while (store_row(s, stmt, &r)) {
		_cleanup_free_ char *name = database_text(stmt, 1);

		if (name && is_name_id(sqlite3_column_int64(stmt, 0)))
			r = put_program(names, sqlite3_column_int64(stmt, 0), name);
	}
	return r;
}

static int read_features(struct store *s, struct names *names)
{
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "SELECT id, kind, name FROM feature ORDER BY id", &stmt);

	while (store_row(s, stmt, &r)) {
		_cleanup_free_ char *name = database_text(stmt, 2);

		if (name && is_name_id(sqlite3_column_int64(stmt, 0)))
			r = put_feature(names, sqlite3_column_int64(stmt, 0), (enum entity_kind)sqlite3_column_int(stmt, 1), name);
	}
	return r;
}

struct telling {
	struct memory_budget budget;
	struct names names;
	struct summary_rows rows;
	int (*each)(const struct summary *summary, void *data);
	void *data;
};

static int tell_rows(struct telling *t, int64_t from, int64_t to)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->rows.list.n; i++) {
		const struct summary_row *row = &t->rows.list.v[i];
		struct summary summary = {
			.from = from, .to = to, .entity = row->entity, .distribution = row->d};

		if (row->feature >= t->names.features.n || row->program >= t->names.programs.n ||
		    t->names.features.v[row->feature].feature < 0 || !t->names.programs.v[row->program])
			continue; /* a feature this program no longer has */
		summary.program = t->names.programs.v[row->program];
		summary.kind = t->names.features.v[row->feature].kind;
		summary.feature = t->names.features.v[row->feature].feature;
		r = t->each(&summary, t->data);
	}
	return r;
}

static int tell_all(struct store *s, struct telling *t, sqlite3_stmt *stmt, unsigned *damaged)
{
	int code = SQLITE_DONE, r = 0;

	while (r == 0 && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		t->rows.list.n = 0;
		r = summary_unpack(sqlite3_column_blob(stmt, 2), (size_t)sqlite3_column_bytes(stmt, 2), &t->budget, &t->rows);
		r = r ?: tell_rows(t, sqlite3_column_int64(stmt, 0) * NS_PER_MS,
			      sqlite3_column_int64(stmt, 1) * NS_PER_MS);
		if (r == -EBADMSG) {
			(*damaged)++;
			store_note_damage(s, sqlite3_column_int64(stmt, 0) * NS_PER_MS, sqlite3_column_int64(stmt, 1) * NS_PER_MS);
			r = 0;
		}
	}
	if (r < 0 || code == SQLITE_DONE)
		return r;
	if (database_errno(code) != -EUCLEAN)
		return store_fail(s, code, "cannot read");
	(*damaged)++; /* a damaged page: an answer has less of a past */
	return 0;
}

int store_summaries(struct store *s, enum summary_tier tier, int64_t from, int64_t to,
		    int (*each)(const struct summary *summary, void *data), void *data, unsigned *ret_damaged)
{
	struct telling t = {.each = each, .data = data};
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r;

	t.names.budget = &t.budget;
	r = read_programs(s, &t.names);
	*ret_damaged = 0;
	r = r ?: read_features(s, &t.names);
	r = r ?: store_prepare(s, SELECT_SUMMARIES, &stmt, tier, from / NS_PER_MS, to / NS_PER_MS);
	r = r ?: tell_all(s, &t, stmt, ret_damaged);
	names_free(&t.names);
	VEC_FREE(t.rows.list);
	return memory_budget_result(&t.budget, r);
}

/* --- one feature over many segments --- */

/* Which rows are of the feature: their places and entities. */
struct places {
	VEC(struct { size_t at; uint32_t entity; }) list;
};

static int find_places(const struct names *names, enum entity_kind kind, int feature, uint64_t n, struct reader planes[PLANES], struct places *ret)
{
	uint32_t entity = 0, id = 0;

	for (uint64_t i = 0; i < n; i++) {
		entity = (uint32_t)(entity + reader_svarint(&planes[ENTITY]));
		id = (uint32_t)(id + reader_svarint(&planes[FEATURE]));
		if (id >= names->features.n || names->features.v[id].feature != feature || names->features.v[id].kind != kind)
			continue;
		if (VEC_GROW(ret->list) < 0)
			return -ENOMEM;
		ret->list.v[ret->list.n].at = i;
		ret->list.v[ret->list.n++].entity = entity;
	}
	return planes[ENTITY].bad || planes[FEATURE].bad ? -EBADMSG : 0;
}

/* Passes over so many numbers: each ends with a byte below 128. */
static void skip_numbers(struct reader *in, size_t n)
{
	const uint8_t *at = in->at;

	while (n && at < in->end)
		n -= *at++ < 128;
	in->at = at;
	in->bad |= n > 0;
}

/* Only what a curve needs of each: the moments' number, the mean, the least and the most. */
static int read_places(const struct places *places, struct reader planes[PLANES], struct segment_history *out)
{
	size_t next = 0;
	double ticks = 0;

	for (size_t k = 0; k < places->list.n; k++) {
		size_t at = places->list.v[k].at;
		struct segment_row row = {.entity = places->list.v[k].entity};
		int64_t code = VALUE_ZERO;

		for (size_t i = next; i <= at; i++)
			ticks += (double)reader_svarint(&planes[TICKS]);
		row.n = ticks;
		row.mean = summary_mean_of_code((uint32_t)planes[MEAN_HIGH].at[at] << 16 | (uint32_t)planes[MEAN_MIDDLE].at[at] << 8 | planes[MEAN_LOW].at[at]);
		for (size_t q = 0; q < QUANTILES; q++) {
			skip_numbers(&planes[QUANTILE_0 + q], at - next);
			code += reader_svarint(&planes[QUANTILE_0 + q]);
			if (q == 0)
				row.low = quantiles_value((uint16_t)code);
		}
		row.high = quantiles_value((uint16_t)code);
		next = at + 1;
		if (VEC_PUSH(out->rows, row) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < PLANES; i++)
		if (planes[i].bad)
			return -EBADMSG;
	return 0;
}

/* The three bytes of a mean are read by place. */
static bool has_means(const struct reader planes[PLANES], uint64_t n)
{
	return n <= (size_t)(planes[MEAN_HIGH].end - planes[MEAN_HIGH].at) && n <= (size_t)(planes[MEAN_MIDDLE].end - planes[MEAN_MIDDLE].at);
}

static int read_history(const struct names *names, enum entity_kind kind, int feature, const void *bytes, size_t n_bytes, struct str *room,
			struct segment_history *out)
{
	struct reader planes[PLANES];
	struct places places = {};
	uint64_t n;
	int r = open_planes(bytes, n_bytes, names->budget, room, planes, &n);

	r = r ?: (!has_means(planes, n) ? -EBADMSG : memory_budget_take(names->budget, n, ROW_MEMORY) < 0 ? -ENOMEM : find_places(names, kind, feature, n, planes, &places));
	r = r ?: read_places(&places, planes, out);
	VEC_FREE(places.list);
	return r;
}

int store_history(struct store *s, enum entity_kind kind, int feature, int64_t from, int64_t to,
		  int (*each)(const struct segment_history *segment, void *data), void *data)
{
	_cleanup_str_ struct str room = {};
	struct memory_budget budget = {};
	_cleanup_(names_free) struct names names = {.budget = &budget};
	struct segment_history h = {};
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = read_features(s, &names);

	r = r ?: store_prepare(s, SELECT_SUMMARIES, &stmt, SUMMARY_SEGMENT, from / NS_PER_MS, to / NS_PER_MS);
	while (store_row(s, stmt, &r)) {
		h.from = sqlite3_column_int64(stmt, 0) * NS_PER_MS;
		h.to = sqlite3_column_int64(stmt, 1) * NS_PER_MS;
		h.rows.n = 0;
		r = read_history(&names, kind, feature, sqlite3_column_blob(stmt, 2), (size_t)sqlite3_column_bytes(stmt, 2), &room, &h);
		if (r == 0)
			r = each(&h, data);
		else if (r == -EBADMSG) /* as if it were not there: the one that asks reads the segment itself */
			r = 0;
	}
	VEC_FREE(h.rows);
	return memory_budget_result(&budget, r);
}
