/* The analyses of a fleet that fit into SQL, computed by ClickHouse where the rows are: only reductions come over the wire.
 *
 *   within, between   PAD's Equations 1 and 2 over medians, averages or quantiles: the same numbers as the local analyses
 *   correlation       Pearson, with lags, of the server and of all others
 *   views             one counter by server or by time point
 *
 * The table is that of docs/clickhouse.md, on one server or Distributed over shards, a server's rows all on one shard; it
 * holds levels and rates as fleet_engine_save() writes them (counters that are told to be running sums are left out, and
 * that is remarked). Values are taken as float32, as in struct fleet: order statistics are exact (a search by the bits of
 * the value, four a round, counts over the wire), sums are double. Time points are those of the clock: a row belongs to
 * the point it lies nearest to.
 */
#pragma once

#include "fleet/model/fleet-finding.h"
#include "fleet/model/fleet-view.h"

struct fleet_engine;

/* `url` as lib/net/clickhouse.h says. 0, or -errno with *ret_error (caller frees). */
int fleet_engine_open(const char *url, const char *credentials_file, const char *ca_file, struct fleet_engine **ret,
		      char **ret_error);
void fleet_engine_close(struct fleet_engine *e);
const char *fleet_engine_error(const struct fleet_engine *e);
/* Names, kinds, interval and remarks of what the table has, and of each server its first and last time as if they were its
 * only rows; no columns. For questions and views. */
const struct fleet *fleet_engine_fleet(const struct fleet_engine *e);

/* As the analysis of that name run on the same data. question->fleet is fleet_engine_fleet(); question->reference is NULL
 * (the `normal` time of the same table), or fleet_engine_fleet() of `reference`. 0, -EOPNOTSUPP (an analysis, or Spearman,
 * that only the local engine has), -EINVAL, -ENODATA, or of clickhouse_query(); then fleet_engine_error() has words. */
int fleet_engine_run(struct fleet_engine *e, struct fleet_engine *reference, const char *analysis,
		     const struct fleet_question *q, struct fleet_findings *ret);

/* One counter by server or by time point: fills rows (and ts, d, n in the time view). By time its median and quantiles need the
 * counter's values of every point, which come over the wire. -EOPNOTSUPP for the detail view. The caller frees rows. */
int fleet_engine_view(struct fleet_engine *e, int counter, struct fleet_span window, enum fleet_view_kind kind, struct fleet_view *ret);

/* Writes a fleet into the table: makes it (Distributed over `cluster` of the URL where it names one) if it is not there. */
int fleet_engine_save(const char *url, const char *credentials_file, const char *ca_file, const struct fleet *f,
		      char **ret_error);
