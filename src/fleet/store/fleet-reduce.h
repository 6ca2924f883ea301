/* Shared by the files of the engine: what ClickHouse is asked for, per counter or per server and counter. */
#pragma once

#include "fleet/store/fleet-engine.h"
#include "lib/net/clickhouse.h"

/* Rows that count, as float32. */
#define ENGINE_ROWS  " FROM {table:Table} WHERE time >= {from:Int64} AND time < {to:Int64} AND NOT isNaN(value)"
#define ENGINE_VALUE "toFloat64(toFloat32(value))"

struct fleet_engine {
	struct clickhouse *clickhouse;
	char *table;
	struct fleet *fleet;
	struct fleet_span extent;
	char *error;
};

/* Of all values of a counter in a span. */
struct counter_moments {
	uint64_t n;
	double mean, sd, min, max;
};

/* Runs a query in which {table:Table}, {from:Int64} and {to:Int64} stand for the table and the span. */
int fleet_engine_query(struct fleet_engine *e, const char *sql, struct fleet_span span, clickhouse_row_fn *row, void *data);
/* Names do not cross the wire with each row: "transform(counter, [...], [0, 1, ...], -1) AS c", and the same AS s of
 * servers; -1 for one that the engine does not know, which fleet_engine_index() refuses. */
void fleet_engine_put_indices(const struct fleet_engine *e, bool servers, struct str *sql);
/* An index as it came back, or -ENOENT. */
int fleet_engine_index(const char *field, size_t n);
/* A quoted name in SQL that is yet to be given to clickhouse_sql(): its braces must not look like placeholders. */
void fleet_engine_put_name(struct str *sql, const char *name);
/* Appends " AND counter = ..." if there is but one to be read. */
void fleet_engine_put_only(const struct fleet_engine *e, int only, struct str *sql);

/* `ret` has one place for each counter; those without values get n = 0. `only` = -1 for all counters. */
int fleet_reduce_moments(struct fleet_engine *e, struct fleet_span span, int only,
			 struct counter_moments *ret);
/* The question's statistic over all values of each counter; NaN where there are none. `m` as fleet_reduce_moments() gave it. */
int fleet_reduce_statistic(struct fleet_engine *e, const struct fleet_question *q, struct fleet_span span,
		     const struct counter_moments *m, double *ret);
/* Calls back with the statistic of each server and counter. */
typedef int reduce_local_fn(void *data, int server, int counter, uint64_t n, double value);
int fleet_reduce_local(struct fleet_engine *e, const struct fleet_question *q, struct fleet_span span, reduce_local_fn *each,
		 void *data);
/* SQL of a statistic of the doubles in the column `v`. */
void fleet_reduce_put_statistic(const struct fleet_question *q, struct str *sql);

/* The part of a span that the table has. */
struct fleet_span fleet_engine_covered(const struct fleet_engine *e, struct fleet_span span);
/* "intDiv(time - ts + d/2, d)": the point a row lies nearest to. */
void fleet_engine_put_point(struct str *sql, int64_t ts, int64_t interval);

struct engine_ends {
	int server;
	int64_t first, last;
	bool used;
};

/* The time that servers have in common. */
struct engine_common {
	struct fleet_engine *e;
	VEC(struct engine_ends) servers;
	int64_t ts;
	uint32_t n;
	struct fleet_span span; /* of the rows that lie nearest to one of the n points */
};

/* `with_last`: the point of the last row counts too, as where rows are paired by time. ret->servers is the caller's to free, also
 * after an error. */
int fleet_engine_find_common(struct fleet_engine *e, struct fleet_span window, bool with_last, struct engine_common *ret);
/* " AND server NOT IN (...)" of those that are left out. */
void fleet_engine_put_used(const struct engine_common *c, struct str *sql);

/* The analyses, of fleet_engine_run(). */
int fleet_engine_run_within(struct fleet_engine *e, struct fleet_engine *reference, const struct fleet_question *q, struct fleet_findings *ret);
int fleet_engine_run_between(struct fleet_engine *e, struct fleet_engine *reference, const struct fleet_question *q, struct fleet_findings *ret);
int fleet_engine_run_correlation(struct fleet_engine *e, struct fleet_engine *reference, const struct fleet_question *q,
			   struct fleet_findings *ret);
