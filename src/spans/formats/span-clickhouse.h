/* Spans in ClickHouse: clickhouse://[USER@]HOST[:PORT]/DATABASE[/TABLE] (docs/clickhouse.md).
 *
 * Which column is which field is the mapping's, as in a CSV file, so that OpenTelemetry's otel_traces and the flat table
 * `spans` of the documentation are read in the same way. Attributes are a Map (ResourceAttributes, SpanAttributes), or for servers
 * without it Nested(key, value) (resource, attribute); columns the mapping names are attributes as well. Times are ns since
 * 1970 in an integer, or DateTime64.
 *
 * A trace is reported by its id: the first twelve bits of cityHash64() of it are its cell, one of SPAN_CELLS. A table whose
 * order begins with a column `cell` of them gives some cells without reading the others.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spans/formats/span-reader.h"
#include "spans/model/span-mapping.h"

#define SPAN_CELLS 4096

struct span_table;

/* Which rows: those that began in [from, to), wall ns (0 and INT64_MAX: no bound), of traces in the i-th of `pieces` equal
 * ranges of cells. */
struct span_clickhouse_selection {
	int64_t from, to;
	uint32_t piece, pieces;
};

bool span_table_is(const char *location);
/* Looks at the table's columns. `whole`: where no table is named, one over all shards (NAME_all) counts before NAME.
 * 0, -ENOENT, -EINVAL ... with *ret_error (caller frees). */
int span_table_open(const char *url, const struct span_mapping *mapping, bool whole, struct span_table **ret, char **ret_error);
void span_table_close(struct span_table *t);
const char *span_table_error(const struct span_table *t);
/* Spans of each piece of the range into counts[pieces]. 0 or as clickhouse_query(). */
int span_table_count(struct span_table *t, const struct span_clickhouse_selection *range, uint64_t *counts);
/* Gives the spans to the reader's sink, in no order; how many rows there were. 0, the sink's error, or as clickhouse_query(). */
int span_table_read(struct span_table *t, struct span_reader *r, const struct span_clickhouse_selection *rows, uint64_t *ret_rows);
/* Looks at a 64th of the traces: is any of them on more than one shard? 0, -EXDEV if so. */
int span_table_check_shards(struct span_table *t, const struct span_clickhouse_selection *range);
