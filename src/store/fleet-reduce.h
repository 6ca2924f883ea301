/* Shared by the files of the engine: what ClickHouse is asked for, per counter or per server and counter. */
#pragma once

#include "net/clickhouse.h"
#include "store/fleet-engine.h"

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

/* Keeps words for fleet_engine_error() and returns the code. */
/* Runs a query in which {table:Table}, {from:Int64} and {to:Int64} stand for the table and the span. */
int engine_query(struct fleet_engine *e, const char *sql, struct fleet_span span, clickhouse_row_fn *row, void *data);
/* A quoted name in SQL that is yet to be given to clickhouse_sql(): its braces must not look like placeholders. */
void engine_put_name(struct str *sql, const char *name);
/* Appends " AND counter IN (...)": those that the engine knows, or the one. */
int engine_counters(const struct fleet_engine *e, int only, struct str *sql);

/* `ret` has one place for each counter; those without values get n = 0. `only` = -1 for all counters. */
int reduce_moments(struct fleet_engine *e, struct fleet_span span, int only, struct counter_moments *ret);
/* The question's statistic over all values of each counter; NaN where there are none. `m` as reduce_moments() gave it. */
int reduce_statistic(struct fleet_engine *e, const struct fleet_question *q, struct fleet_span span,
		     const struct counter_moments *m, double *ret);
/* Calls back with the statistic of each server and counter. */
typedef int reduce_local_fn(void *data, int server, int counter, uint64_t n, double value);
int reduce_local(struct fleet_engine *e, const struct fleet_question *q, struct fleet_span span, reduce_local_fn *each,
		 void *data);
/* SQL of a statistic of the doubles in the column `v`. */
void put_statistic(const struct fleet_question *q, struct str *sql);
