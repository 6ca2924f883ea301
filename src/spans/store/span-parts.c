#include "spans/store/span-parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/vec.h"
#include "lib/net/clickhouse.h"

#define LOCAL	  "span_parts"
#define WHOLE	  "span_parts_all"
#define PACKED_MAX ((size_t)48 << 20) /* of one row: less than an answer's row may have */
#define PART_MAX  ((uint64_t)2 << 30)

struct span_parts {
	struct clickhouse *clickhouse;
	const char *from; /* the table that is read */
	char *shard, *error;
};

static const char table_sql[] =
	"CREATE TABLE IF NOT EXISTS " LOCAL " (question String, shard String, piece Int64, pieces Int64, rows Int64, requests Int64, "
	"begin Int64, finish Int64, length Int64, written UInt64, forest String) ENGINE = ReplacingMergeTree(written) "
	"ORDER BY (question, shard, pieces, piece)";

const char *span_parts_error(const struct span_parts *p)
{
	return p->error ? p->error : clickhouse_error(p->clickhouse);
}

void span_parts_close(struct span_parts *p)
{
	if (!p)
		return;
	clickhouse_close(p->clickhouse);
	FREE_ALL(p->shard, p->error, p);
}

static int take_text(void *data, size_t n, char *const *fields)
{
	char **text = data;

	if (n != 1 || !fields[0])
		return 0;
	free(*text);
	*text = strdup(fields[0]);
	return *text ? 0 : -ENOMEM;
}

/* Two servers of one host differ in their folders; the column's name depends on the server's version. */
static int find_shard(struct span_parts *p)
{
	_cleanup_free_ char *column = NULL;
	struct clickhouse_parameter name[] = {{"path", {.text = ""}}, {}};
	int r = clickhouse_query(p->clickhouse, "SELECT name FROM system.columns WHERE database = 'system' AND table = 'tables' AND "
				 "name IN ('data_path', 'data_paths')", NULL, take_text, &column);

	if (r < 0)
		return r;
	name[0].text = column ? column : "name";
	return clickhouse_query(p->clickhouse, "SELECT concat(hostName(), ' ', toString({path:Identifier})) FROM system.tables WHERE "
				"database = currentDatabase() AND name = '" LOCAL "'", name, take_text, &p->shard);
}

static int make_tables(struct span_parts *p)
{
	const char *cluster = clickhouse_cluster(p->clickhouse);
	const struct clickhouse_parameter name[] = {{"cluster", {.text = cluster ? cluster : ""}}, {}};
	int r = clickhouse_query(p->clickhouse, table_sql, NULL, NULL, NULL);

	if (r == 0 && cluster)
		r = clickhouse_query(p->clickhouse, "CREATE TABLE IF NOT EXISTS " WHOLE " AS " LOCAL " ENGINE = "
				     "Distributed({cluster:Identifier}, currentDatabase(), " LOCAL ")", name, NULL, NULL);
	return r;
}

static int take_table(void *data, size_t n, char *const *fields)
{
	struct span_parts *p = data;

	if (n == 1 && fields[0] && !strcmp(fields[0], WHOLE))
		p->from = WHOLE;
	else if (n == 1 && fields[0] && !p->from)
		p->from = LOCAL;
	return 0;
}

static int open_tables(struct span_parts *p, bool write)
{
	int r = write ? make_tables(p) : 0;

	r = r ?: clickhouse_query(p->clickhouse, "SELECT name FROM system.tables WHERE database = currentDatabase() AND name IN "
			     "('" LOCAL "', '" WHOLE "')", NULL, take_table, p);
	if (r == 0 && !p->from)
		return str_fail_again(&p->error, -ENOENT, "no worker has run: 'whyslow spans work URL' on each shard makes the parts");
	return r == 0 ? find_shard(p) : r;
}

int span_parts_open(const char *url, bool write, struct span_parts **ret, char **ret_error)
{
	struct span_parts *p = calloc(1, sizeof(*p));
	int r = p ? clickhouse_open(url, NULL, NULL, &p->clickhouse, ret_error) : -ENOMEM;

	if (r < 0) {
		free(p);
		return r;
	}
	r = open_tables(p, write);
	if (r < 0) {
		str_fail(ret_error, r, "%s: %s", url, span_parts_error(p));
		span_parts_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

int span_parts_put(struct span_parts *p, const struct span_piece *piece)
{
	size_t room = ZSTD_compressBound(piece->n), n;
	_cleanup_free_ void *packed = malloc(room);
	struct clickhouse_insert *in;
	int r, closed;

	if (!packed)
		return -ENOMEM;
	n = ZSTD_compress(packed, room, piece->bytes, piece->n, 3);
	if (ZSTD_isError(n))
		return -EIO;
	if (n > PACKED_MAX)
		return str_fail_again(&p->error, -E2BIG, "piece %" PRId64 " of %" PRId64 " is too large: %zu MB; use fewer values with --by, or "
				  "less time", piece->piece + 1, piece->pieces, n >> 20);
	r = clickhouse_insert_open(p->clickhouse, LOCAL, "question, shard, piece, pieces, rows, requests, begin, finish, length, written, forest", &in);
	if (r < 0)
		return r;
	clickhouse_insert_text(in, piece->question);
	clickhouse_insert_text(in, p->shard);
	clickhouse_insert_int64(in, piece->piece);
	clickhouse_insert_int64(in, piece->pieces);
	clickhouse_insert_int64(in, piece->rows);
	clickhouse_insert_int64(in, piece->requests);
	clickhouse_insert_int64(in, piece->from);
	clickhouse_insert_int64(in, piece->to);
	clickhouse_insert_int64(in, (int64_t)piece->n);
	clickhouse_insert_int64(in, clock_wall());
	clickhouse_insert_bytes(in, packed, n);
	r = clickhouse_insert_row(in);
	closed = clickhouse_insert_close(in);
	return r < 0 ? r : closed;
}

struct done {
	int64_t pieces, *rows;
	size_t most;
};

static int take_done(void *data, size_t n, char *const *fields)
{
	struct done *d = data;
	int64_t pieces, piece;

	if (n != 3 || !fields[0] || !fields[1] || !fields[2])
		return 0;
	pieces = strtoll(fields[0], NULL, 10);
	piece = strtoll(fields[1], NULL, 10);
	if (!d->pieces)
		d->pieces = pieces;
	if (pieces == d->pieces && piece >= 0 && (size_t)piece < d->most)
		d->rows[piece] = strtoll(fields[2], NULL, 10);
	return 0;
}

/* Parts of the same piece that were not merged yet: the last one counts. */
#define LATEST "SELECT shard, pieces, piece, argMax(rows, written) AS r, max(written) AS w FROM {table:Identifier} WHERE " \
	       "question = {question:String} GROUP BY shard, pieces, piece"

int span_parts_done(struct span_parts *p, const char *question, int64_t *ret_pieces, int64_t *rows, size_t most)
{
	const struct clickhouse_parameter parameters[] = {
		{"table", {.text = LOCAL}}, {"question", {.text = question}}, {"shard", {.text = p->shard}}, {}};
	struct done d = {.rows = rows, .most = most};
	int r;

	for (size_t i = 0; i < most; i++)
		rows[i] = -1;
	/* of two divisions the one that was begun last: more spans have come since the other */
	r = clickhouse_query(p->clickhouse, "SELECT pieces, piece, r FROM (" LATEST ") WHERE shard = {shard:String} "
			     "ORDER BY pieces DESC, piece", parameters, take_done, &d);
	*ret_pieces = d.pieces;
	return r;
}

struct all_progress {
	VEC(struct span_progress) v;
};

/* By shard; of its divisions the last written one first. */
static int take_progress(void *data, size_t n, char *const *fields)
{
	struct all_progress *all = data;
	struct span_progress x = {}, *last = all->v.n ? &all->v.v[all->v.n - 1] : NULL;

	if (n != 4)
		return 0;
	x = (struct span_progress){NULL, strtoll(fields[1], NULL, 10), strtoll(fields[2], NULL, 10), strtoll(fields[3], NULL, 10)};
	if (last && !strcmp(last->shard, fields[0])) {
		if (last->done != last->pieces && x.done == x.pieces) {
			x.shard = last->shard;
			*last = x;
		}
		return 0;
	}
	x.shard = strdup(fields[0]);
	return VEC_PUSH_OWNER(all->v, x.shard, x);
}

int span_parts_progress(struct span_parts *p, const char *question, struct span_progress **ret, size_t *ret_n)
{
	const struct clickhouse_parameter parameters[] = {{"table", {.text = p->from}}, {"question", {.text = question}}, {}};
	struct all_progress all = {};
	int r = clickhouse_query(p->clickhouse, "SELECT shard, pieces, count(), sum(r) FROM (" LATEST ") GROUP BY shard, pieces "
				 "ORDER BY shard, max(w) DESC", parameters, take_progress, &all);

	if (r < 0) {
		span_progress_free(all.v.v, all.v.n);
		return r;
	}
	*ret = all.v.v;
	*ret_n = all.v.n;
	return 0;
}

void span_progress_free(struct span_progress *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i].shard);
	free(v);
}

struct each {
	struct span_piece piece; /* what all have in common */
	void *state;
	int (*each)(void *state, const struct span_piece *piece);
	int64_t read;
};

static int take_piece(void *data, struct reader *in)
{
	struct each *e = data;
	struct span_piece piece = e->piece;
	_cleanup_free_ void *bytes = NULL;
	const char *packed;
	size_t n, length;

	piece.piece = clickhouse_read_int64(in);
	piece.rows = clickhouse_read_int64(in);
	piece.requests = clickhouse_read_int64(in);
	piece.from = clickhouse_read_int64(in);
	piece.to = clickhouse_read_int64(in);
	piece.n = (size_t)clickhouse_read_int64(in);
	packed = str_read_blob(in, &n);
	if (in->bad)
		return 0;
	bytes = piece.n <= PART_MAX ? malloc(piece.n + 1) : NULL;
	if (!bytes)
		return -ENOMEM;
	length = ZSTD_decompress(bytes, piece.n, packed, n);
	if (ZSTD_isError(length) || length != piece.n)
		return -EBADMSG;
	piece.bytes = bytes;
	e->read++;
	return e->each(e->state, &piece);
}

int span_parts_each(struct span_parts *p, const char *question, const struct span_progress *of, void *state,
		    int (*each)(void *state, const struct span_piece *piece))
{
	const struct clickhouse_parameter parameters[] = {{"table", {.text = p->from}}, {"question", {.text = question}},
							  {"shard", {.text = of->shard}}, {"pieces", {.integer = of->pieces}}, {}};
	struct each e = {.piece = {.question = question, .shard = of->shard, .pieces = of->pieces}, .state = state, .each = each};
	int r = clickhouse_query_binary(p->clickhouse, "SELECT piece, rows, requests, begin, finish, length, forest FROM {table:Identifier} "
					"WHERE question = {question:String} AND shard = {shard:String} AND pieces = {pieces:Int64} "
					"ORDER BY piece, written DESC LIMIT 1 BY piece", parameters, take_piece, &e);

	if (r == -EBADMSG)
		return str_fail_again(&p->error, r, "a part is damaged: let a worker make it again");
	if (r == 0 && e.read != of->pieces)
		return str_fail_again(&p->error, -EAGAIN, "the parts are being written: ask again");
	return r;
}
