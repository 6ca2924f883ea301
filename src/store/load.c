#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "store/chunk.h"
#include "store/frame.h"
#include "store/internal.h"
#include "store/journal.h"

#define THREADS_MAX    7
#define WORTH_A_THREAD 200000 /* values: below it starting a thread costs more than it saves */

struct packed {
	void *bytes;
	struct chunk *chunk;
	int result;
};

struct batch {
	struct packed *packed;
	size_t n;
	atomic_size_t next;
};

int store_highest_entity(struct store *s, uint32_t *ret)
{
	struct dataset open_segments = {};
	int64_t highest = 0;
	unsigned damaged;
	int r = store_query_int(s, "SELECT coalesce(max(highest_entity), 0) FROM segment", &highest);

	/* segments that are not compacted are not in the table */
	if (r == 0)
		r = store_load(s, INT64_MAX - 1, INT64_MAX, &open_segments, &damaged);
	if (r == 0)
		*ret = (uint32_t)highest > dataset_highest_id(&open_segments)
			       ? (uint32_t)highest
			       : dataset_highest_id(&open_segments);
	dataset_free(&open_segments);
	return r;
}

/* --- chunks --- */

struct loading {
	struct store *store;
	int64_t from, to;
	struct dataset *into;
	const struct load_filter *filter;
	unsigned damaged;
	VEC(struct packed) whole; /* chunks that lie in the window, not yet decoded */
};

static void packed_free(struct packed *p)
{
	chunk_close(p->chunk);
	free(p->bytes);
}

/* Takes the next chunk whose turn it is until there is none. */
static void *decode_chunks(void *argument)
{
	struct batch *b = argument;
	size_t i;

	while ((i = atomic_fetch_add(&b->next, 1)) < b->n)
		b->packed[i].result = chunk_decode(b->packed[i].chunk);
	return NULL;
}

static void decode_all(struct batch *b, size_t n_values)
{
	pthread_t threads[THREADS_MAX];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = 0, want = cpus > THREADS_MAX ? THREADS_MAX : cpus > 1 ? (size_t)cpus - 1 : 0;

	/* without further threads this one does it all */
	while (n_values >= WORTH_A_THREAD && n < want && n + 1 < b->n &&
	       pthread_create(&threads[n], NULL, decode_chunks, b) == 0)
		n++;
	decode_chunks(b);
	while (n)
		pthread_join(threads[--n], NULL);
}

/* Room for every value at once, then all chunks side by side. */
static int decode_whole(struct loading *l)
{
	struct batch b = {.packed = l->whole.v, .n = l->whole.n};
	size_t n_values = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < b.n; i++) {
		r = chunk_plan(b.packed[i].chunk, l->into, l->filter);
		n_values += chunk_values(b.packed[i].chunk);
	}
	if (r == 0)
		r = dataset_allocate(l->into);
	if (r == 0)
		decode_all(&b, n_values);
	for (size_t i = b.n; r == 0 && i-- > 0;) {
		if (b.packed[i].result == -EBADMSG) {
			chunk_take_back(b.packed[i].chunk);
			l->damaged++;
		} else {
			r = b.packed[i].result;
		}
	}
	for (size_t i = 0; i < b.n; i++)
		packed_free(&b.packed[i]);
	l->whole.n = 0;
	return r;
}

/* A chunk at the window's edge: all of it, then the part that is wanted. */
static int load_edge(struct loading *l, struct packed *p)
{
	struct dataset part = {};
	int r = chunk_plan(p->chunk, &part, l->filter);

	if (r == 0)
		r = dataset_allocate(&part);
	if (r == 0)
		r = chunk_decode(p->chunk);
	dataset_finish(&part);
	if (r == 0)
		r = dataset_append(l->into, &part, l->from, l->to);
	dataset_free(&part);
	return r;
}

static int take_chunk(struct loading *l, sqlite3_stmt *stmt)
{
	size_t n = (size_t)sqlite3_column_bytes(stmt, 2);
	struct packed p = {.bytes = malloc(n + 1)};
	int r = p.bytes ? 0 : -ENOMEM;

	if (r == 0) {
		memcpy(p.bytes, sqlite3_column_blob(stmt, 2), n);
		r = chunk_open(p.bytes, n, &p.chunk);
	}
	if (r == 0 && sqlite3_column_int64(stmt, 0) >= l->from && sqlite3_column_int64(stmt, 1) <= l->to) {
		r = VEC_PUSH(l->whole, p);
		if (r == 0)
			return 0;
	} else if (r == 0) {
		r = decode_whole(l);
		if (r == 0)
			r = load_edge(l, &p);
	}
	packed_free(&p);
	if (r == -EBADMSG) {
		l->damaged++;
		r = 0;
	}
	return r;
}

static int load_chunks(struct loading *l)
{
	sqlite3_stmt *stmt;
	int code = SQLITE_DONE;
	int r = store_prepare(
		l->store,
		"SELECT g.first, g.last, c.bytes FROM segment g JOIN chunk c ON c.segment = g.id"
		" WHERE g.last >= ? AND g.first <= ? ORDER BY g.id",
		&stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, l->from);
	sqlite3_bind_int64(stmt, 2, l->to);
	while (r == 0 && (code = sqlite3_step(stmt)) == SQLITE_ROW)
		r = take_chunk(l, stmt);
	if (r == 0)
		r = store_finish_rows(l->store, stmt, code);
	else
		sqlite3_finalize(stmt);
	if (r == 0)
		r = decode_whole(l);
	for (size_t i = 0; i < l->whole.n; i++)
		packed_free(&l->whole.v[i]);
	VEC_FREE(l->whole);
	return r;
}

/* --- what is not a chunk yet --- */

static int load_frames(struct loading *l, const struct str *frames)
{
	size_t used;
	int r = frames->len ? frames_read_filtered(frames->data, frames->len, l->from, l->to, l->filter,
						   l->into, &used)
			    : 0;

	if (r == -EBADMSG || r == -EPROTONOSUPPORT) {
		l->damaged++;
		r = 0;
	}
	return r;
}

static bool has_chunk(struct store *s, int64_t segment)
{
	char sql[100];
	int64_t found;

	snprintf(sql, sizeof(sql), "SELECT 1 FROM segment WHERE id = %" PRId64, segment);
	return store_query_int(s, sql, &found) == 0;
}

static int compare_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

int store_open_segments(struct store *s, int64_t **ret, size_t *ret_n)
{
	_cleanup_free_ int64_t *journal = NULL;
	int64_t *all;
	size_t n_journal = 0, n, kept = 0;
	int r = store_raw_segments(s, &all, &n);

	if (r == 0 && s->run_dir)
		r = journal_list(s->run_dir, &journal, &n_journal);
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

struct open_segment {
	int64_t id;
	struct str frames;
};

/* Reads every open segment's bytes, so that a compaction in the meantime takes nothing away. */
static int read_open_segments(struct store *s, struct open_segment **ret, size_t *ret_n)
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
	for (size_t i = 0; i < n; i++) {
		open[i].id = ids[i];
		open[i].frames.max = CHUNK_MAX;
		(void)store_read_frames(s, ids[i], &open[i].frames);
	}
	*ret = open;
	*ret_n = n;
	return 0;
}

/* A segment is compacted into a chunk before its journal file goes. So what is open is read first, then the
 * chunks in one transaction, then of the open ones those that did not become a chunk meanwhile: each exactly
 * once. */
int store_load_filtered(struct store *s, int64_t from, int64_t to, const struct load_filter *filter,
			struct dataset *into, unsigned *ret_damaged)
{
	struct loading l = {.store = s, .from = from, .to = to, .into = into, .filter = filter};
	struct open_segment *open = NULL;
	size_t n = 0;
	int r = read_open_segments(s, &open, &n);

	if (r == 0)
		r = store_exec(s, "BEGIN");
	if (r == 0) {
		r = load_chunks(&l);
		for (size_t i = 0; r == 0 && i < n; i++)
			if (!has_chunk(s, open[i].id))
				r = load_frames(&l, &open[i].frames);
		store_rollback(s);
	}
	for (size_t i = 0; i < n; i++)
		str_free(&open[i].frames);
	free(open);
	dataset_finish(into);
	*ret_damaged = l.damaged;
	return r;
}

int store_load(struct store *s, int64_t from, int64_t to, struct dataset *into, unsigned *ret_damaged)
{
	return store_load_filtered(s, from, to, NULL, into, ret_damaged);
}

int store_extent(struct store *s, int64_t *ret_from, int64_t *ret_to)
{
	_cleanup_free_ int64_t *segments = NULL;
	struct dataset tail = {};
	unsigned damaged;
	int64_t from = 0, to = 0;
	size_t n = 0;
	int r = store_query_int(s, "SELECT coalesce(min(first), 0) FROM segment", &from);

	if (r == 0)
		r = store_query_int(s, "SELECT coalesce(max(last), 0) FROM segment", &to);
	if (r == 0)
		r = store_open_segments(s, &segments, &n);
	if (r == 0 && n)
		r = store_load(s, segments[0] * NS_PER_MS - 1, INT64_MAX, &tail, &damaged);
	if (r == 0 && tail.ticks.n) {
		if (!from)
			from = tail.ticks.v[0].wall;
		if (tail.ticks.v[tail.ticks.n - 1].wall > to)
			to = tail.ticks.v[tail.ticks.n - 1].wall;
	}
	dataset_free(&tail);
	*ret_from = from;
	*ret_to = to;
	return r;
}
