#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/store/page-sums.h"
#include "lib/system/parallel.h"
#include "machine/chunk/chunk.h"
#include "machine/chunk/frame.h"
#include "machine/recording/internal.h"
#include "machine/recording/journal.h"

#define DAY	  (24 * 3600 * NS_PER_SEC)
#define HALF_HOUR (1800 * NS_PER_SEC)
#define WORTH_A_THREAD 200000 /* bytes: below it starting a thread costs more than it saves */

/* A chunk, still packed. */
struct packed {
	int64_t segment, first, last; /* id; wall ns of its ticks */
	void *bytes;
	size_t n;
	bool edge;	     /* it reaches beyond the window: of it only a part is wanted */
	struct dataset part; /* of an edge: all of it, while loading */
	const feature_set *most; /* as of load_filter */
	struct memory_budget *budget;
	bool head;	      /* no more of it was read */
	struct chunk *chunk;
	int result;
};

struct packed_list {
	VEC(struct packed) list;
};

struct open_segment {
	int64_t id;
	struct str frames;
};

struct extract {
	struct store *store;
	int64_t from, to;
	const feature_set *most;	   /* as of load_filter: no load may want more */
	bool heads;		   /* and it wants nothing but who was there */
	bool same_hour;		   /* of each day only the hour around `to` */
	struct memory_budget budget;	   /* what was read of the file, and the chunks' directories */
	VEC(struct packed) chunks; /* oldest first */
	struct open_segment *open;
	size_t n_open;
	unsigned damaged;
};

/* --- reading what is packed --- */

static void packed_free(struct packed *p)
{
	dataset_free(&p->part);
	chunk_close(p->chunk);
	free(p->bytes);
}

/* One step of all chunks' work; what came of it is in each. */
static void do_all(int (*step)(void *packed, size_t i), struct packed *packed, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += packed[i].n;
	(void)parallel_run(bytes < WORTH_A_THREAD, n, step, packed);
}

static int open_packed(void *packed, size_t i)
{
	struct packed *p = (struct packed *)packed + i;

	p->result = p->head ? chunk_open_head(p->bytes, p->n, p->budget, &p->chunk) :
				chunk_open(p->bytes, p->n, p->most, p->budget, &p->chunk);
	return 0;
}

static void lose_chunk(struct extract *e, unsigned *damaged, const struct packed *p)
{
	(*damaged)++;
	store_note_damage(e->store, p->first, p->last);
}

/* SQLite's answer to a row or its pages that are damaged is that of a damaged chunk: the others can still be read. */
static int chunk_code(struct store *s, int code)
{
	int r = database_errno(code);

	return r == -EUCLEAN || r == -EIO ? -EBADMSG : r < 0 ? store_fail(s, code, "cannot read") : 0;
}

/* Only the pages of its head are read. A damaged one is as empty as it looks. */
static int read_head(struct store *s, sqlite3_blob **blob, struct packed *p)
{
	uint8_t start[CHUNK_HEAD_START];
	int code = *blob ? sqlite3_blob_reopen(*blob, p->segment) : sqlite3_blob_open(s->db, "main", "chunk", "bytes", p->segment, 0, blob);
	size_t all = code == SQLITE_OK ? (size_t)sqlite3_blob_bytes(*blob) : 0, n = all < sizeof(start) ? all : sizeof(start);

	if (code == SQLITE_ERROR)
		return -ENOENT; /* no such row */
	if (code == SQLITE_OK)
		code = sqlite3_blob_read(*blob, start, (int)n, 0);
	if (code != SQLITE_OK)
		return chunk_code(s, code);
	p->n = chunk_head_size(start, n);
	p->n = p->n < all ? p->n : all;
	p->bytes = malloc(p->n + 1);
	if (!p->bytes)
		return -ENOMEM;
	return chunk_code(s, sqlite3_blob_read(*blob, p->bytes, (int)p->n, 0));
}

static int copy_bytes(sqlite3_stmt *stmt, struct packed *p)
{
	const void *bytes = sqlite3_column_blob(stmt, 0);

	p->n = bytes ? (size_t)sqlite3_column_bytes(stmt, 0) : 0;
	p->bytes = malloc(p->n + 1);
	if (!p->bytes)
		return -ENOMEM;
	if (bytes)
		memcpy(p->bytes, bytes, p->n);
	return 0;
}

static int read_whole(struct store *s, sqlite3_stmt *stmt, struct packed *p)
{
	int code, r;

	sqlite3_bind_int64(stmt, 1, p->segment);
	code = sqlite3_step(stmt);
	r = code == SQLITE_ROW ? copy_bytes(stmt, p) : code == SQLITE_DONE ? -ENOENT : chunk_code(s, code);
	sqlite3_reset(stmt);
	return r;
}

/* Takes the bytes of one. A segment gets its row together with its chunk: where that is missing it was damaged. */
static int take_chunk(struct store *s, struct extract *e, struct packed *p, sqlite3_stmt *stmt, sqlite3_blob **blob)
{
	int r = e->heads ? read_head(s, blob, p) : read_whole(s, stmt, p);

	memory_budget_feed(&e->budget, p->n);
	if (r == 0)
		return VEC_PUSH(e->chunks, *p);
	if (r != -EBADMSG && r != -ENOENT)
		return r;
	lose_chunk(e, &e->damaged, p);
	sqlite3_blob_close(*blob); /* an error makes it useless */
	*blob = NULL;
	return 0;
}

bool store_is_same_hour(int64_t first, int64_t last, int64_t at)
{
	int64_t until_end = (at + HALF_HOUR - last) % DAY; /* from `last` to the end of the next such hour */

	until_end += until_end < 0 ? DAY : 0;
	return until_end <= 2 * HALF_HOUR || until_end + (last - first) >= DAY;
}

bool store_is_same_hour_before(int64_t wall, int64_t at)
{
	return wall < at - DAY / 2 && store_is_same_hour(wall, wall, at);
}

static int list_segments(struct store *s, struct extract *e, struct packed_list *ret)
{
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "SELECT id, first, last FROM " SEGMENTS_READ " AND last >= ? AND first <= ? ORDER BY id", &stmt, e->from, e->to);

	while (store_row(s, stmt, &r)) {
		struct packed p = {.segment = sqlite3_column_int64(stmt, 0),
				   .first = sqlite3_column_int64(stmt, 1),
				   .last = sqlite3_column_int64(stmt, 2),
				   .most = e->most,
				   .budget = &e->budget,
				   .head = e->heads};

		p.edge = p.first < e->from || p.last > e->to;
		if (!e->same_hour || store_is_same_hour(p.first, p.last, e->to))
			r = VEC_PUSH(ret->list, p);
	}
	return r;
}

static int take_chunks(struct store *s, struct extract *e)
{
	struct packed_list segments = {};
	sqlite3_blob *blob = NULL;
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = list_segments(s, e, &segments);

	r = r ?: store_prepare(s, "SELECT bytes FROM chunk WHERE segment = ?", &stmt);
	page_sums_ignore(s->db, true); /* chunks have their own: others on the same page are not lost */
	for (size_t i = 0; r == 0 && i < segments.list.n; i++) {
		database_renew(&s->budget);
		r = take_chunk(s, e, &segments.list.v[i], stmt, &blob);
		if (r < 0 || !e->chunks.n || e->chunks.v[e->chunks.n - 1].segment != segments.list.v[i].segment)
			free(segments.list.v[i].bytes);
	}
	page_sums_ignore(s->db, false);
	sqlite3_blob_close(blob);
	VEC_FREE(segments.list);
	return r;
}

/* Damaged ones are left out and counted. */
static int open_chunks(struct extract *e)
{
	size_t kept = 0;
	int r = 0;

	do_all(open_packed, e->chunks.v, e->chunks.n);
	VEC_EACH(p, e->chunks) {
		if (p->result == 0) {
			e->chunks.v[kept++] = *p;
			continue;
		}
		if (p->result == -EBADMSG)
			lose_chunk(e, &e->damaged, p);
		else
			r = p->result;
		packed_free(p);
	}
	e->chunks.n = kept;
	return r;
}

/* --- decoding --- */

struct loading {
	struct extract *extract;
	struct memory_budget budget; /* of this load: the caller may free what an earlier one put */
	struct dataset *into;
	const struct load_filter *filter;
	unsigned damaged;
	size_t open; /* the next open segment */
};

static int decode_packed(void *packed, size_t i)
{
	struct packed *p = (struct packed *)packed + i;

	p->result = chunk_decode(p->chunk);
	return 0;
}

static int decode_edge(void *packed, size_t i)
{
	const struct packed *p = (struct packed *)packed + i;

	return p->edge && p->result == 0 ? decode_packed(packed, i) : 0;
}

/* Room for every value at once, then all chunks side by side. */
static int decode_whole(struct loading *l, struct packed *packed, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = chunk_plan(packed[i].chunk, l->into, l->filter);
	r = r ?: dataset_allocate(l->into);
	if (r == 0)
		do_all(decode_packed, packed, n);
	for (size_t i = n; r == 0 && i-- > 0;) {
		if (packed[i].result == -EBADMSG) {
			chunk_take_back(packed[i].chunk);
			lose_chunk(l->extract, &l->damaged, &packed[i]);
		} else {
			r = packed[i].result;
		}
	}
	return r;
}

/* Chunks at the window's edges are decoded by themselves: all of each, of which a part is wanted. */
static void decode_edges(struct loading *l, struct packed *packed, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct packed *p = &packed[i];

		if (!p->edge)
			continue;
		p->part.budget = &l->budget;
		p->result = chunk_plan(p->chunk, &p->part, l->filter);
		if (p->result == 0)
			p->result = dataset_allocate(&p->part);
	}
	do_all(decode_edge, packed, n);
}

static int append_edge(struct loading *l, struct packed *p)
{
	int r = p->result;

	dataset_finish(&p->part);
	r = r ?: dataset_append(l->into, &p->part, l->extract->from, l->extract->to);
	dataset_free(&p->part);
	p->part = (struct dataset){};
	if (r == -EBADMSG) {
		lose_chunk(l->extract, &l->damaged, p);
		r = 0;
	}
	return r;
}

/* --- what is not a chunk yet --- */

static int load_frames(struct loading *l, int64_t segment, const struct str *frames)
{
	const struct dataset *d = l->into;
	int64_t begin = segment * NS_PER_MS, last;
	size_t used;
	int r = frames->len ? frames_read_filtered(frames->data, frames->len, l->extract->from,
						   l->extract->to, l->filter, l->into, &used)
			    : 0;

	if (r == -EBADMSG || r == -EPROTONOSUPPORT) {
		last = d->ticks.n ? d->ticks.v[d->ticks.n - 1].wall : begin;
		store_note_damage(l->extract->store, last > begin ? last : begin, 0);
		l->damaged++;
		r = 0;
	}
	return r;
}

/* --- both, in order of time --- */

/* Open segments that lie before a chunk: one that could not be compacted waits while the next ones are. */
static int load_open_before(struct loading *l, int64_t segment)
{
	const struct extract *e = l->extract;
	int r = 0;

	for (; r == 0 && l->open < e->n_open && e->open[l->open].id < segment; l->open++)
		r = load_frames(l, e->open[l->open].id, &e->open[l->open].frames);
	return r;
}

/* The chunks from i on that can be decoded at once. */
static size_t count_whole(const struct loading *l, size_t i)
{
	const struct extract *e = l->extract;
	const int64_t open = l->open < e->n_open ? e->open[l->open].id : INT64_MAX;
	size_t n = 0;

	while (i + n < e->chunks.n && !e->chunks.v[i + n].edge && e->chunks.v[i + n].segment < open)
		n++;
	return n;
}

static int load_all(struct loading *l)
{
	struct packed *chunks = l->extract->chunks.v;
	const size_t n = l->extract->chunks.n;
	int r = 0;

	decode_edges(l, chunks, n);
	for (size_t i = 0, whole; r == 0 && i < n; i += whole ? whole : 1) {
		r = load_open_before(l, chunks[i].segment);
		whole = count_whole(l, i);
		r = r ?: (whole ? decode_whole(l, chunks + i, whole) : append_edge(l, &chunks[i]));
	}
	return r < 0 ? r : load_open_before(l, INT64_MAX);
}

static bool has_chunk(struct store *s, int64_t segment)
{
	int64_t found;

	return store_query_int(s, "SELECT 1 FROM segment WHERE id = ?", &found, segment) == 0;
}

ORDER(compare_i64, int64_t, CMP(*a, *b))

int store_open_segments(struct store *s, int64_t **ret, size_t *ret_n)
{
	_cleanup_free_ int64_t *journal = NULL;
	int64_t *all;
	size_t n_journal = 0, n, kept = 0;
	const char *run_dir = store_run_dir(s);
	int r = store_raw_segments(s, &all, &n);

	if (r == 0 && run_dir)
		r = journal_list(run_dir, &journal, &n_journal);
	if (r < 0)
		return r;
	if (n_journal) {
		int64_t *grown = reallocarray(all, n + n_journal, sizeof(*all));

		if (!grown) {
			free(all);
			return -ENOMEM;
		}
		all = grown;
		memcpy(all + n, journal, n_journal * sizeof(*all));
		n += n_journal;
	}
	if (n)
		qsort(all, n, sizeof(*all), compare_i64);
	for (size_t i = 0; i < n; i++)
		if ((kept == 0 || all[kept - 1] != all[i]) && !has_chunk(s, all[i]))
			all[kept++] = all[i];
	*ret = all;
	*ret_n = kept;
	return 0;
}

/* SQLite finds rows or their pages damaged: the other segments can still be read. */
static int read_open_segment(struct store *s, struct open_segment *open, unsigned *damaged)
{
	int r = store_read_frames(s, open->id, &open->frames);

	if (r == -EUCLEAN || r == -EIO) {
		store_note_damage(s, open->id * NS_PER_MS, 0);
		(*damaged)++;
	}
	return r == -ENOMEM ? r : 0;
}

/* Reads every open segment's bytes, so that a compaction in the meantime takes nothing away. */
static int read_open_segments(struct store *s, struct open_segment **ret, size_t *ret_n, unsigned *damaged)
{
	_cleanup_free_ int64_t *ids = NULL;
	struct open_segment *open;
	size_t n;
	int r = store_open_segments(s, &ids, &n);

	if (r < 0)
		return r;
	open = calloc(n ? n : 1, sizeof(*open));
	if (!open)
		return -ENOMEM;
	*ret = open;
	*ret_n = n;
	for (size_t i = 0; r == 0 && i < n; i++) {
		open[i].id = ids[i];
		open[i].frames.max = CHUNK_MAX;
		r = read_open_segment(s, &open[i], damaged);
	}
	return r; /* the caller frees what is there */
}

/* Those that did not become a chunk. */
static void keep_open(struct store *s, struct extract *e)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->n_open; i++) {
		if (has_chunk(s, e->open[i].id))
			str_free(&e->open[i].frames);
		else
			e->open[kept++] = e->open[i];
	}
	e->n_open = kept;
	for (size_t i = 0; i < kept; i++)
		memory_budget_feed(&e->budget, e->open[i].frames.len);
}

void extract_close(struct extract *e)
{
	if (!e)
		return;
	VEC_FREE_EACH(e->chunks, packed_free(each));
	for (size_t i = 0; i < e->n_open; i++)
		str_free(&e->open[i].frames);
	FREE_ALL(e->open, e);
}

/* A segment is compacted into a chunk before its journal file goes. So what is open is read first, then the
 * chunks in one transaction, then of the open ones those that did not become a chunk in the meantime: each exactly
 * once. */
static int extract_open(struct store *s, const struct extract *what, struct extract **ret)
{
	struct extract *e = malloc(sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	*e = *what;
	e->store = s;
	r = read_open_segments(s, &e->open, &e->n_open, &e->damaged);
	r = r ?: store_exec(s, "BEGIN");
	if (r == 0) {
		r = take_chunks(s, e);
		if (r == 0)
			keep_open(s, e);
		store_rollback(s);
	}
	r = r ?: memory_budget_result(&e->budget, open_chunks(e));
	if (r < 0) {
		extract_close(e);
		return r;
	}
	*ret = e;
	return 0;
}

int store_load_open(struct store *s, int64_t from, struct dataset *into)
{
	struct extract *e = calloc(1, sizeof(*e));
	unsigned damaged;
	int r = e ? 0 : -ENOMEM;

	if (r == 0) {
		*e = (struct extract){.store = s, .from = from, .to = INT64_MAX};
		r = read_open_segments(s, &e->open, &e->n_open, &e->damaged);
	}
	if (r == 0) {
		keep_open(s, e);
		r = extract_load(e, NULL, into, &damaged);
	}
	extract_close(e);
	return r;
}

int store_extract(struct store *s, int64_t from, int64_t to, struct extract **ret)
{
	return extract_open(s, &(struct extract){.from = from, .to = to}, ret);
}

int store_extract_same_hour(struct store *s, int64_t from, int64_t to, struct extract **ret)
{
	return extract_open(s, &(struct extract){.from = from, .to = to, .same_hour = true}, ret);
}

int extract_load(struct extract *e, const struct load_filter *filter, struct dataset *into, unsigned *ret_damaged)
{
	struct loading l = {.extract = e, .into = into, .filter = filter, .damaged = e->damaged};
	int r;

	memory_budget_feed(&l.budget, e->budget.fed);
	into->budget = &l.budget;
	r = load_all(&l);
	into->budget = NULL;
	dataset_finish(into);
	*ret_damaged = l.damaged;
	return memory_budget_result(&l.budget, r);
}

int store_load_filtered(struct store *s, int64_t from, int64_t to, const struct load_filter *filter,
			struct dataset *into, unsigned *ret_damaged)
{
	struct extract *e;
	int r = extract_open(s, &(struct extract){.from = from, .to = to, .most = filter ? filter->most : NULL}, &e);

	if (r < 0)
		return r;
	r = extract_load(e, filter, into, ret_damaged);
	extract_close(e);
	return r;
}

feature_set store_wants_processes(const struct entity_info *info, void *data)
{
	(void)data;
	return info->kind == ENTITY_PROCESS ? FEATURES_ALL : 0;
}

int store_load_entities(struct store *s, int64_t from, int64_t to, feature_set (*wanted)(const struct entity_info *info, void *data),
			void *data, struct dataset *into, unsigned *ret_damaged)
{
	static const feature_set nothing[ENTITY_KIND_END];
	const struct load_filter filter = {wanted, data, nothing};
	struct extract *e;
	int r = extract_open(s, &(struct extract){.from = from, .to = to, .most = nothing, .heads = true}, &e);

	if (r < 0)
		return r;
	r = extract_load(e, &filter, into, ret_damaged);
	extract_close(e);
	return r;
}

int store_load(struct store *s, int64_t from, int64_t to, struct dataset *into, unsigned *ret_damaged)
{
	return store_load_filtered(s, from, to, NULL, into, ret_damaged);
}
