#include "spans/pipeline/span-work.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "spans/formats/span-clickhouse.h"
#include "spans/store/span-parts.h"

#define PIECES_MAX (SPAN_CELLS / 2)
#define GROWN	   4 /* a division into pieces is kept until there are so many times more spans than it was made for */
#define BYTES_MAX  ((size_t)2 << 30)

/* --- one piece --------------------------------------------------------------------------------------------------------- */

static struct span_clickhouse_selection range_of(const struct work_options *o)
{
	int64_t to = o->pipeline.to ? o->pipeline.to : INT64_MAX;

	return (struct span_clickhouse_selection){.from = o->pipeline.from, .to = to < INT64_MAX - o->margin ? to + o->margin : INT64_MAX, .pieces = 1};
}

static int fail_table(struct span_table *t, int r, char **ret_error)
{
	return str_fail(ret_error, r, "%s", span_table_error(t));
}

/* Reads a piece of the table: the canonical bytes of its forest. */
static int read_piece(const struct work_options *o, struct span_table *t, const struct span_clickhouse_selection *rows, struct str *bytes,
		      struct span_part *part, uint64_t *ret_rows, struct span_faults *faults, char **ret_error)
{
	struct pipeline_options own = o->pipeline;
	struct pipeline p;
	int r;

	own.late = INT64_MAX;
	own.ordered = true;
	own.part = own.parts = 0;
	r = pipeline_open(&p, &own, ret_error);
	if (r == 0) {
		r = span_table_read(t, &p.reader, rows, ret_rows);
		if (r < 0)
			fail_table(t, r, ret_error);
	}
	r = r ?: pipeline_end(&p);
	r = r ?: forest_finish(&p.forest);
	r = r ?: pipeline_part(&p.forest, bytes, part);
	span_faults_add(faults, &p.faults);
	pipeline_close(&p);
	return r;
}

static uint32_t pieces_for(uint64_t spans, uint64_t each)
{
	uint32_t pieces = 1;

	while (pieces < PIECES_MAX && (uint64_t)pieces * each < spans)
		pieces *= 2;
	return pieces;
}

static uint64_t piece_spans(const struct work_options *o)
{
	return o->piece_spans ? o->piece_spans : WORK_PIECE_SPANS;
}

static int open_table(const struct work_options *o, const char *url, bool whole, struct span_mapping *mapping, struct span_table **ret,
		      char **ret_error)
{
	int r = span_mapping_init(mapping);

	if (r == 0 && o->pipeline.mapping_file)
		r = span_mapping_read(mapping, o->pipeline.mapping_file, ret_error);
	return r < 0 ? r : span_table_open(url, mapping, whole, ret, ret_error);
}

/* --- in one process -------------------------------------------------------------------------------------------------- */

struct reading_job {
	const struct work_options *options;
	const char *url;
	struct span_clickhouse_selection range; /* pieces of the whole */
	unsigned job, jobs;
	struct str *bytes; /* of each piece */
	struct span_faults faults;
	char *error;
	int result;
	pthread_t thread;
	bool started;
};

static void *run_reading(void *argument)
{
	struct reading_job *j = argument;
	_cleanup_(span_mapping_free) struct span_mapping mapping = {};
	struct span_table *t = NULL;
	struct span_part part;
	uint64_t rows;

	j->result = open_table(j->options, j->url, true, &mapping, &t, &j->error);
	for (uint32_t i = j->job; j->result == 0 && i < j->range.pieces; i += j->jobs) {
		struct span_clickhouse_selection piece = j->range;

		piece.piece = i;
		j->bytes[i].max = BYTES_MAX;
		j->result = read_piece(j->options, t, &piece, &j->bytes[i], &part, &rows, &j->faults, &j->error);
	}
	span_table_close(t);
	return NULL;
}

static int run_readings(struct reading_job *jobs, unsigned n)
{
	int r = 0;

	for (unsigned i = 1; i < n; i++)
		jobs[i].started = pthread_create(&jobs[i].thread, NULL, run_reading, &jobs[i]) == 0;
	run_reading(&jobs[0]);
	for (unsigned i = 1; i < n; i++) {
		if (jobs[i].started)
			pthread_join(jobs[i].thread, NULL);
		else
			run_reading(&jobs[i]);
	}
	for (unsigned i = 0; i < n && r == 0; i++)
		r = jobs[i].result;
	return r;
}

static int count_spans(const struct work_options *o, const char *url, bool whole, uint64_t *ret, char **ret_error)
{
	struct span_clickhouse_selection range = range_of(o);
	_cleanup_(span_mapping_free) struct span_mapping mapping = {};
	struct span_table *t = NULL;
	int r = open_table(o, url, whole, &mapping, &t, ret_error);

	if (r == 0) {
		r = span_table_count(t, &range, ret);
		if (r < 0)
			fail_table(t, r, ret_error);
	}
	span_table_close(t);
	return r;
}

static int load_table(const struct work_options *o, const char *url, unsigned n_jobs, struct forest *ret, struct span_faults *faults,
		      char **ret_error)
{
	struct reading_job *jobs = calloc(n_jobs, sizeof(*jobs));
	struct span_clickhouse_selection range = range_of(o);
	uint64_t spans = 0;
	struct str *bytes = NULL;
	int r = jobs ? count_spans(o, url, true, &spans, ret_error) : -ENOMEM;

	range.pieces = pieces_for(spans, piece_spans(o));
	if (r == 0) {
		bytes = calloc(range.pieces, sizeof(*bytes));
		r = bytes ? 0 : -ENOMEM;
	}
	for (unsigned i = 0; r == 0 && i < n_jobs; i++)
		jobs[i] = (struct reading_job){.options = o, .url = url, .range = range, .job = i, .jobs = n_jobs, .bytes = bytes};
	r = r ?: run_readings(jobs, n_jobs);
	for (unsigned i = 0; jobs && i < n_jobs; i++) {
		span_faults_add(faults, &jobs[i].faults);
		if (jobs[i].error && !*ret_error)
			*ret_error = TAKE(jobs[i].error);
		free(jobs[i].error);
	}
	for (uint32_t i = 0; bytes && i < range.pieces; i++) {
		r = r ?: forest_read(ret, bytes[i].data, bytes[i].len);
		str_free(&bytes[i]);
	}
	FREE_ALL(bytes, jobs);
	return r;
}

int span_work_load(const struct work_options *o, char *const *urls, size_t n, unsigned jobs,
		   struct forest *ret, struct span_faults *faults, char **ret_error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = load_table(o, urls[i], jobs ? jobs : 1, ret, faults, ret_error);
	return r < 0 && !*ret_error ? str_fail(ret_error, r, "%s", strerror(-r)) : r;
}

/* --- the question --------------------------------------------------------------------------------------------------- */

static int hash_file(const char *path, uint64_t *ret, char **ret_error)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	_cleanup_str_ struct str all = {};
	char piece[4096];
	size_t n;

	if (!f)
		return str_fail(ret_error, -errno, "%s: %s", path, strerror(errno));
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		str_append(&all, piece, n);
	if (all.error || ferror(f))
		return all.error ? all.error : -EIO;
	*ret = str_stable_hash(all.data ? all.data : "", all.len);
	return 0;
}

/* "inventory.csv:host.name,..." -> "host.name:HASH ..." */
static int put_joins(const char *specs, struct str *out, char **ret_error)
{
	_cleanup_free_ char *copy = strdup(specs);
	char *rest = copy, *spec;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && rest && (spec = strsep(&rest, ","))) {
		char *attribute = strrchr(spec, ':');
		uint64_t hash;

		if (!attribute)
			return str_fail(ret_error, -EINVAL, "'%s' is not FILE:ATTRIBUTE, as inventory.csv:host.name", spec);
		*attribute++ = '\0';
		r = hash_file(spec, &hash, ret_error);
		r = r ?: str_printf(out, " join=%s:%016" PRIx64, attribute, hash);
	}
	return r;
}

/* What a set of parts answers: how requests are read and grouped, and of what time; files that have a say by what they
 * hold. The same text on every worker. 0, -errno with *ret_error; caller frees both. */
static int work_question(const struct work_options *o, char **ret, char **ret_error)
{
	const struct pipeline_options *p = &o->pipeline;
	_cleanup_str_ struct str s = {};
	uint64_t hash;
	int r = 0;

	str_printf(&s, "rule=%s by=%s slot=%" PRId64, path_rule_name(p->rule), p->dimensions ? p->dimensions : SPAN_DIMENSIONS, p->slot_width);
	if (p->from || p->to)
		str_printf(&s, " from=%" PRId64 " to=%" PRId64 " margin=%" PRId64, p->from, p->to, o->margin);
	if (p->mapping_file) {
		r = hash_file(p->mapping_file, &hash, ret_error);
		if (r == 0)
			str_printf(&s, " mapping=%016" PRIx64, hash);
	}
	if (r == 0 && p->asynchronous) {
		r = hash_file(p->asynchronous, &hash, ret_error);
		if (r == 0)
			str_printf(&s, " asynchronous=%016" PRIx64, hash);
	}
	if (r == 0 && p->join)
		r = put_joins(p->join, &s, ret_error);
	if (r < 0 || s.error)
		return r < 0 ? r : s.error;
	*ret = TAKE(s.data);
	return 0;
}

/* --- a worker ------------------------------------------------------------------------------------------------------------ */

struct worker {
	const struct work_options *options;
	struct span_mapping mapping;
	struct span_table *table;
	struct span_parts *parts;
	char *question;
	struct span_clickhouse_selection range;
	int64_t *done; /* rows of each piece that is there, or -1 */
	uint64_t *counts; /* rows of each piece now */
	struct work_done tally;
};

static int worker_open(struct worker *w, const char *url, char **ret_error)
{
	int r = work_question(w->options, &w->question, ret_error);

	r = r ?: open_table(w->options, url, false, &w->mapping, &w->table, ret_error);
	r = r ?: span_parts_open(url, true, &w->parts, ret_error);
	w->done = calloc(PIECES_MAX, sizeof(*w->done));
	w->counts = calloc(PIECES_MAX, sizeof(*w->counts));
	return r < 0 ? r : w->done && w->counts ? 0 : -ENOMEM;
}

static void worker_close(struct worker *w)
{
	span_table_close(w->table);
	span_parts_close(w->parts);
	span_mapping_free(&w->mapping);
	FREE_ALL(w->question, w->done, w->counts);
}

static int look_what_is_done(struct worker *w, int64_t *ret_pieces, char **ret_error)
{
	int r = span_parts_done(w->parts, w->question, ret_pieces, w->done, PIECES_MAX);

	return r < 0 ? str_fail(ret_error, r, "%s", span_parts_error(w->parts)) : 0;
}

/* The division that other workers, or an earlier start, began with; else one of our own. */
static int divide(struct worker *w, char **ret_error)
{
	struct span_clickhouse_selection all = range_of(w->options);
	uint64_t spans = 0;
	int64_t pieces;
	uint32_t wanted;
	int r = span_table_count(w->table, &all, &spans);

	if (r < 0)
		return fail_table(w->table, r, ret_error);
	r = look_what_is_done(w, &pieces, ret_error);
	if (r < 0)
		return r;
	wanted = pieces_for(spans, piece_spans(w->options));
	w->range = all;
	w->range.pieces = pieces > 0 && pieces <= PIECES_MAX && wanted <= (uint64_t)pieces * GROWN ? (uint32_t)pieces : wanted;
	if (w->range.pieces != pieces)
		for (uint32_t i = 0; i < PIECES_MAX; i++)
			w->done[i] = -1;
	r = span_table_count(w->table, &w->range, w->counts);
	return r < 0 ? fail_table(w->table, r, ret_error) : 0;
}

static bool is_done(const struct worker *w, uint32_t i)
{
	return w->done[i] >= 0 && (uint64_t)w->done[i] == w->counts[i];
}

static int make_piece(struct worker *w, uint32_t i, char **ret_error)
{
	_cleanup_str_ struct str bytes = {.max = BYTES_MAX};
	struct span_clickhouse_selection rows = w->range;
	struct span_faults faults = {};
	struct span_part part;
	struct span_piece piece;
	uint64_t n = 0;
	int r;

	rows.piece = i;
	r = read_piece(w->options, w->table, &rows, &bytes, &part, &n, &faults, ret_error);
	if (r < 0)
		return r;
	piece = (struct span_piece){.question = w->question, .piece = i, .pieces = w->range.pieces, .rows = (int64_t)n,
				    .requests = (int64_t)part.requests, .from = part.from, .to = part.to, .bytes = part.bytes, .n = part.n};
	r = span_parts_put(w->parts, &piece);
	if (r < 0)
		return str_fail(ret_error, r, "%s", span_parts_error(w->parts));
	w->done[i] = (int64_t)n;
	w->counts[i] = n;
	w->tally.made++;
	w->tally.spans += n;
	return 0;
}

/* Workers that were not given a part begin at places of their own, and look before each piece what others did. */
static int make_pieces(struct worker *w, char **ret_error)
{
	const struct work_options *o = w->options;
	uint32_t n = w->range.pieces, first = o->parts ? 0 : (uint32_t)((uint64_t)getpid() * 0x9e3779b97f4a7c15ull >> 32) % n;
	int64_t pieces;
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < n && !(o->ended && *o->ended); k++) {
		uint32_t i = (first + k) % n;

		if (o->parts && i % o->parts != o->part)
			continue;
		if (!o->parts && w->tally.made)
			r = look_what_is_done(w, &pieces, ret_error);
		if (r == 0 && !is_done(w, i))
			r = make_piece(w, i, ret_error);
	}
	return r;
}

int span_work_run(const struct work_options *o, const char *url, struct work_done *ret, char **ret_error)
{
	_cleanup_(worker_close) struct worker w = {.options = o};
	int64_t began = clock_boot();
	int r = worker_open(&w, url, ret_error);

	r = r ?: divide(&w, ret_error);
	if (r == 0) {
		w.tally.pieces = w.range.pieces;
		for (uint32_t i = 0; i < w.range.pieces; i++)
			w.tally.had += is_done(&w, i);
		r = make_pieces(&w, ret_error);
	}
	w.tally.took = clock_boot() - began;
	*ret = w.tally;
	return r < 0 && !*ret_error ? str_fail(ret_error, r, "%s", strerror(-r)) : r;
}

/* --- what workers wrote ------------------------------------------------------------------------------------------------ */

static int merge_piece(void *forest, const struct span_piece *piece)
{
	return forest_read(forest, piece->bytes, piece->n);
}

/* Is every span that the table has in exactly one part? */
static int check_whole(const struct work_options *o, const char *url, const struct span_progress *v, size_t n, char **ret_error)
{
	struct span_clickhouse_selection range = range_of(o);
	_cleanup_(span_mapping_free) struct span_mapping mapping = {};
	struct span_table *t = NULL;
	uint64_t spans = 0;
	int64_t rows = 0;
	int r = open_table(o, url, true, &mapping, &t, ret_error);

	for (size_t i = 0; r == 0 && i < n; i++) {
		rows += v[i].rows;
		if (v[i].done != v[i].pieces)
			r = str_fail(ret_error, -EAGAIN, "of %s %" PRId64 " of %" PRId64 " parts are done: 'whyslow spans work' continues with the rest",
				      v[i].shard, v[i].done, v[i].pieces);
	}
	if (r == 0) {
		r = span_table_check_shards(t, &range);
		r = r ?: span_table_count(t, &range, &spans);
		if (r < 0)
			fail_table(t, r, ret_error);
	}
	if (r == 0 && (uint64_t)rows < spans)
		r = str_fail(ret_error, -EAGAIN, "workers have read %" PRId64 " of %" PRIu64 " spans on %zu shards: let 'whyslow spans work' run on "
			      "each shard (with the same --by, --rule, --since ...); of a table that grows, ask with --until", rows, spans, n);
	if (r == 0 && (uint64_t)rows > spans)
		r = str_fail(ret_error, -EAGAIN, "the parts count %" PRId64 " spans, the table has %" PRIu64 ": spans were deleted since, or a shard "
			      "was read under two names (TRUNCATE TABLE span_parts, and let workers begin again)", rows, spans);
	span_table_close(t);
	return r;
}

int span_work_gather(const struct work_options *o, const char *url, struct forest *ret, char **ret_error)
{
	_cleanup_free_ char *question = NULL;
	struct span_progress *progress = NULL;
	struct span_parts *parts = NULL;
	size_t n = 0;
	int r = work_question(o, &question, ret_error);

	r = r ?: span_parts_open(url, false, &parts, ret_error);
	if (r == 0) {
		r = span_parts_progress(parts, question, &progress, &n);
		if (r < 0)
			str_fail(ret_error, r, "%s", span_parts_error(parts));
	}
	r = r ?: check_whole(o, url, progress, n, ret_error);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = span_parts_each(parts, question, &progress[i], ret, merge_piece);
		if (r < 0)
			str_fail(ret_error, r, "%s", span_parts_error(parts));
	}
	span_progress_free(progress, n);
	span_parts_close(parts);
	return r < 0 && !*ret_error ? str_fail(ret_error, r, "%s", strerror(-r)) : r;
}
