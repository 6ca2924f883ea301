/* Rows into a table, in batches. */
#include "lib/net/clickhouse-inside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

#define BATCH ((size_t)4 << 20)

struct clickhouse_insert {
	struct clickhouse *c;
	char *url;
	struct str batch;
	uint64_t sent, rows; /* rows of whole batches, of this batch */
	int error;
};

int clickhouse_insert_open(struct clickhouse *c, const char *table, const char *columns, struct clickhouse_insert **ret)
{
	const struct clickhouse_parameter name[] = {{"table", {.text = table}}, {}};
	_cleanup_str_ struct str sql = {}, url = {};
	struct clickhouse_insert *i;

	clickhouse_sql(&sql, "INSERT INTO {table:Table} (", name);
	str_printf(&sql, "%s) FORMAT RowBinary", columns);
	str_printf(&url, "%s%sinsert_distributed_sync=1&query=", c->base, c->database ? "&" : "");
	if (sql.error || url.error)
		return -ENOMEM;
	http_url_escape(&url, sql.data);
	i = url.error ? NULL : calloc(1, sizeof(*i));
	if (!i)
		return -ENOMEM;
	i->c = c;
	i->url = TAKE(url.data);
	*ret = i;
	return 0;
}

void clickhouse_insert_text(struct clickhouse_insert *i, const char *value)
{
	str_put_blob(&i->batch, value, strlen(value));
}

void clickhouse_insert_bytes(struct clickhouse_insert *i, const void *bytes, size_t n)
{
	str_put_blob(&i->batch, bytes, n);
}

void clickhouse_insert_count(struct clickhouse_insert *i, size_t n)
{
	str_put_varint(&i->batch, n);
}

void clickhouse_insert_int64(struct clickhouse_insert *i, int64_t value)
{
	str_append(&i->batch, &value, sizeof(value));
}

void clickhouse_insert_float64(struct clickhouse_insert *i, double value)
{
	str_append(&i->batch, &value, sizeof(value));
}

static int send_batch(struct clickhouse_insert *i)
{
	struct http_request q = {.url = i->url, .body = i->batch.data, .n = i->batch.len, .gzip = true};

	if (i->error || !i->rows)
		return i->error;
	i->error = clickhouse_send(i->c, &q);
	if (i->error < 0 && i->c->error) {
		_cleanup_free_ char *said = TAKE(i->c->error);

		str_fail_again(&i->c->error, i->error, "rows %" PRIu64 " to %" PRIu64 " were not taken, %" PRIu64 " before them were: %s", i->sent + 1,
		     i->sent + i->rows, i->sent, said);
	}
	i->sent += i->rows;
	i->rows = 0;
	str_clear(&i->batch);
	return i->error;
}

int clickhouse_insert_row(struct clickhouse_insert *i)
{
	if (i->error || i->batch.error)
		return i->error ? i->error : i->batch.error;
	i->rows++;
	return i->batch.len >= BATCH ? send_batch(i) : 0;
}

int clickhouse_insert_close(struct clickhouse_insert *i)
{
	int r = i->batch.error ? i->batch.error : send_batch(i);

	str_free(&i->batch);
	FREE_ALL(i->url, i);
	return r;
}
