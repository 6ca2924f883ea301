/* How a source feeds a fleet: register servers and counters, put values, report what was bad; then finish.
 *
 * Values come in any order: by row, by column, one by one, servers mixed; the rows of a server are sorted in the end.
 * What is reported of a counter (kind, unit, help) may come at any time, the first telling counts. Without a kind its
 * behavior decides: a running sum never falls but at a restart. Nothing a source reads is fatal: a bad row is
 * reported with intake_bad() and left out.
 *
 * One thread at a time; several threads feed one intake each, which intake_merge() puts together.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fleet/model/fleet.h"

#define INTAKE_BAD_SHOWN 20 /* reports kept in words; all are counted */

struct intake;

struct counter_info {
	enum fleet_kind kind; /* FLEET_UNKNOWN = not known */
	const char *unit;     /* NULL = not known */
	const char *help;     /* NULL = not known */
};

struct intake_count {
	uint64_t values; /* put, duplicates included */
	uint64_t bad;	 /* rows or values left out; rates that are infinite are known after intake_finish() */
	uint64_t twice;	 /* other values put again for the same server, counter and time: the last one counts */
	uint64_t wraps, restarts; /* of counters; known after intake_finish() */
};

/* How far a source is: bytes or steps, total 0 = not known. */
typedef void intake_progress_fn(void *data, uint64_t done, uint64_t total);

/* NULL without memory. */
struct intake *intake_new(void);
void intake_free(struct intake *in);
/* Counters that match `sums` are running sums, those that match `gauges` are levels, whatever else is reported (shell patterns that live on; NULL = none). */
void intake_kinds(struct intake *in, const char *sums, const char *gauges);
void intake_on_progress(struct intake *in, intake_progress_fn *progress, void *data);

/* Adds one, or finds it by its name: its number, or -ENOMEM. The same names give the same numbers over all sources of
 * one intake, ascending from 0. -ENOMEM also where most of many servers lack most of many counters (intake_refusal()). `info` may be
 * NULL. */
int intake_server(struct intake *in, const char *name);
int intake_counter(struct intake *in, const char *name, const struct counter_info *info);
/* A value that was given in `unit` (NULL or "" = not known) in the counter's own; NaN where they measure different things, which is reported as bad. */
double intake_in_unit(struct intake *in, int counter, const char *unit, double value, const char *file, uint64_t line);
/* The work of a server ("role", "group" of the source): the first one counts. 0 or -ENOMEM. */
int intake_role(struct intake *in, int server, const char *role);
/* Who measures it ("job" of the source): a role is made of it where the source has none (server-role.h). 0 or -ENOMEM. */
int intake_job(struct intake *in, int server, const char *job);

/* A value at a moment (wall ns). One beyond FLEET_TIME_MOST is bad. NaN is missing and ignored; what is infinite as float32 is bad and counted. 0 or
 * -ENOMEM. */
int intake_put(struct intake *in, int server, int counter, int64_t time, double value);
/* n counters of one moment. */
int intake_row(struct intake *in, int server, int64_t time, size_t n, const int *counters, const double *values);
/* n moments of one counter. */
int intake_column(struct intake *in, int server, int counter, size_t n, const int64_t *times, const double *values);
/* The source will put nothing more of this server: its memory is cut to size. Optional. */
void intake_server_done(struct intake *in, int server);

/* Something of the input was left out, and why: "expected 12 fields, found 7". line 0 = none. */
void intake_bad(struct intake *in, const char *file, uint64_t line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A remark for the reader about the input as a whole: "histograms are taken by their sums only". */
void intake_remark(struct intake *in, const char *format, ...) __attribute__((format(printf, 2, 3)));
void intake_progress(struct intake *in, uint64_t done, uint64_t total);

/* Why it took no more, in words that say what to do, where -ENOMEM does not mean a lack of memory; else NULL. */
const char *intake_refusal(const struct intake *in);
/* The reason of one that will not be merged. */
void intake_take_refusal(struct intake *in, struct intake *from);
/* So far. */
struct intake_count intake_count(const struct intake *in);
/* The reports kept: "file:line: reason"; *ret_n <= INTAKE_BAD_SHOWN. */
char *const *intake_bad_rows(const struct intake *in, size_t *ret_n);

/* Adds all that `from` was fed with, as if `in` had been: its rows where `in` has none of the server, else value by value.
 * `from` must still be freed. 0 or -ENOMEM. */
int intake_merge(struct intake *in, struct intake *from);

/* Decides kinds, makes rates, sorts; the intake is empty afterwards and must still be freed. -ENODATA: no value was put.
 * -ENOMEM. The caller frees *ret with fleet_free() and free(). */
int intake_finish(struct intake *in, struct fleet **ret);
