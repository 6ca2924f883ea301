/* A ClickHouse server over its HTTP interface: queries, and rows in batches. Works from version 18.16 (Debian 12) on.
 *
 *   clickhouse://[USER@]HOST[:PORT][/DATABASE[/TABLE]][?cluster=NAME&tls=1&ca=FILE&plain=1]
 *
 * A password never stands in the URL (everybody on the machine can read a command line): it comes from the environment,
 * WHYSLOW_CLICKHOUSE_USER and WHYSLOW_CLICKHOUSE_PASSWORD, or from a private file with USER:PASSWORD, named by
 * WHYSLOW_CLICKHOUSE_CREDENTIALS or given. `plain=1` lets it travel unencrypted to another machine.
 *
 * Parameters stand in SQL as {name:Type}, as newer servers take them; they are put in here, quoted:
 *   String 'text', Identifier `name`, Int64, Table `database`.`name`
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/str.h"

struct clickhouse;

struct clickhouse_parameter {
	const char *name; /* NULL ends a list */
	union {
		const char *text;
		int64_t integer;
	};
};

/* 0; -EINVAL: the URL or the credentials, *ret_error (caller frees) says which part. Does not connect. `ca_file` and
 * `credentials_file` may be NULL. */
int clickhouse_open(const char *url, const char *credentials_file, const char *ca_file, struct clickhouse **ret,
		    char **ret_error);
void clickhouse_close(struct clickhouse *c);
/* What went wrong last, in words. */
const char *clickhouse_error(const struct clickhouse *c);
/* Of the URL; NULL = not given. */
const char *clickhouse_table(const struct clickhouse *c);
const char *clickhouse_cluster(const struct clickhouse *c);

/* Appends SQL with its parameters put in; without a list it stays as it is. 0, -EINVAL for a placeholder without a parameter, or of an unknown type. */
int clickhouse_sql(struct str *out, const char *sql, const struct clickhouse_parameter *parameters);

/* One row of text: n fields, unescaped; NULL for NULL. Other than 0 ends the query, which then returns it. */
typedef int clickhouse_row_fn(void *data, size_t n, char *const *fields);
/* Runs a query, row by row as they come; for one without an answer `row` is NULL. 0, or what the row function returned,
 * or -errno: -EACCES (user, password, rights), -ENOENT (database, table), -EINVAL (column, syntax), -ENOMEM (the server's
 * or ours), -ETIMEDOUT, -EBADMSG (an answer that is no table), -EREMOTEIO (another of the server's errors), or as
 * http_send(). Rows that came before an error have been given out. */
int clickhouse_query(struct clickhouse *c, const char *sql, const struct clickhouse_parameter *parameters,
		     clickhouse_row_fn *row, void *data);

/* The same in RowBinary, for large answers: `row` reads one row's fields; when `in->bad` is set afterwards the row was not
 * all there yet, and is read again from its beginning once more has come. So it acts only where bad is not set. */
typedef int clickhouse_binary_fn(void *data, struct reader *in);
int clickhouse_query_binary(struct clickhouse *c, const char *sql, const struct clickhouse_parameter *parameters,
			    clickhouse_binary_fn *row, void *data);
double clickhouse_read_float64(struct reader *in);
int64_t clickhouse_read_int64(struct reader *in);

/* Rows into a table, sent in batches. After an error nothing more is sent; clickhouse_insert_close() returns it. */
struct clickhouse_insert;
int clickhouse_insert_open(struct clickhouse *c, const char *table, const char *columns, struct clickhouse_insert **ret);
void clickhouse_insert_text(struct clickhouse_insert *i, const char *value);
void clickhouse_insert_bytes(struct clickhouse_insert *i, const void *bytes, size_t n); /* a String of any bytes */
void clickhouse_insert_count(struct clickhouse_insert *i, size_t n); /* an Array's length; its elements follow */
void clickhouse_insert_int64(struct clickhouse_insert *i, int64_t value);
void clickhouse_insert_float64(struct clickhouse_insert *i, double value);
/* Ends a row. 0, or an error as of clickhouse_query(). */
int clickhouse_insert_row(struct clickhouse_insert *i);
/* Sends what is left and frees. 0 when every row has arrived. */
int clickhouse_insert_close(struct clickhouse_insert *i);
