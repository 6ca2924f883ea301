#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/system/locked-memory.h"
#include "machine/chunk/chunk.h"
#include "machine/chunk/frame.h"
#include "machine/recording/internal.h"
#include "machine/recording/journal.h"

/* Only this process writes: what it has saved it need not ask for again. */
static int saved_size(struct store *s, int64_t segment)
{
	int r = s->raw_segment == segment ? 0 :
		store_query_int(s, "SELECT coalesce(max(at + length(bytes)), 0) FROM raw WHERE segment = ?", &s->raw_size, segment);

	if (r == 0)
		s->raw_segment = segment;
	return r;
}

/* Gives a segment its place in the order, unless it has one: when the first of it is written. */
static int store_number_segment(struct store *s, int64_t segment, bool in_this_boot)
{
	sqlite3_stmt *stmt;
	int r = s->numbered == segment ? 0 : store_prepare(s, "INSERT OR IGNORE INTO written(segment, boot) VALUES(?, nullif(?, ''))", &stmt, segment);

	if (r < 0 || s->numbered == segment)
		return r;
	sqlite3_bind_text(stmt, 2, in_this_boot ? s->boot : "", -1, SQLITE_STATIC);
	r = store_run(s, stmt);
	if (r == 0)
		s->numbered = segment;
	return r;
}

struct age_span store_age_span(sqlite3_stmt *row, int column)
{
	struct age_span span = {.first = sqlite3_column_int64(row, column), .last = sqlite3_column_int64(row, column + 1)};
	_cleanup_free_ char *boot = database_text(row, column + 2);

	if (!boot || sqlite3_column_type(row, column + 4) != SQLITE_INTEGER)
		return span;
	snprintf(span.boot, sizeof(span.boot), "%s", boot);
	span.boot_first = sqlite3_column_int64(row, column + 3);
	span.boot_last = sqlite3_column_int64(row, column + 4);
	return span;
}

int store_save_journal(struct store *s, int64_t segment)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n;
	int code, r = saved_size(s, segment);

	if (r < 0)
		return r;
	r = journal_read(s->run_dir, segment, (uint64_t)s->raw_size, &bytes, &n);
	if (r < 0)
		return str_fail_again(&s->error, r, "cannot read %s/journal: %s", s->run_dir, strerror(-r));
	if (n == 0)
		return 0;
	r = store_number_segment(s, segment, true); /* RUN does not outlive a boot: what is in its journal is of this one */
	r = r ?: store_prepare_cached(s, "INSERT INTO raw(segment, at, bytes) VALUES(?, ?, ?)", &s->put_raw);
	if (r < 0)
		return r;
	sqlite3_bind_int64(s->put_raw, 1, segment);
	sqlite3_bind_int64(s->put_raw, 2, s->raw_size);
	sqlite3_bind_blob64(s->put_raw, 3, bytes, n, SQLITE_STATIC);
	code = sqlite3_step(s->put_raw);
	r = code == SQLITE_DONE ? 0 : store_fail(s, code, "cannot write");
	sqlite3_reset(s->put_raw);
	sqlite3_clear_bindings(s->put_raw);
	s->raw_size += r == 0 ? (int64_t)n : 0;
	return r;
}

static int read_raw(struct store *s, int64_t segment, struct str *ret)
{
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "SELECT bytes FROM raw WHERE segment = ? ORDER BY at", &stmt, segment);

	while (store_row(s, stmt, &r))
		str_append(ret, sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0));
	return r < 0 ? r : ret->error;
}

/* A segment's frames that are not a chunk yet: the journal's if it is there, else the raw rows. */
int store_read_frames(struct store *s, int64_t segment, struct str *ret)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n;
	const char *run_dir = store_run_dir(s);
	int r = run_dir ? journal_read(run_dir, segment, 0, &bytes, &n) : -ENOENT;

	if (r == -ENOENT)
		return read_raw(s, segment, ret);
	if (r < 0)
		return r;
	return str_append(ret, bytes, n);
}

static int put_chunk(struct store *s, int64_t segment, const struct str *bytes)
{
	sqlite3_stmt *stmt;
	int r = store_prepare(s, "INSERT OR REPLACE INTO chunk(segment, bytes) VALUES(?, ?)", &stmt, segment);

	if (r < 0)
		return r;
	sqlite3_bind_blob64(stmt, 2, bytes->data, bytes->len, SQLITE_STATIC);
	return store_run(s, stmt);
}

uint32_t store_highest_id(const struct dataset *d)
{
	uint32_t highest = 0;

	for (size_t i = 0; i < d->subjects.n; i++)
		if (d->subjects.v[i]->info.id > highest)
			highest = d->subjects.v[i]->info.id;
	return highest;
}

static int put_segment(struct store *s, int64_t segment, const struct dataset *d)
{
	return store_run_sql(s, "INSERT OR REPLACE INTO segment(id, first, last, ticks, highest_entity) VALUES(?, ?, ?, ?, ?)", segment,
			     d->ticks.n ? d->ticks.v[0].wall : segment * NS_PER_MS,
			     d->ticks.n ? d->ticks.v[d->ticks.n - 1].wall : segment * NS_PER_MS, (int64_t)d->ticks.n, store_highest_id(d));
}

static int put_boot_times(struct store *s, int64_t segment, const struct dataset *d)
{
	return store_run_sql(s, "UPDATE written SET boot_first = ?, boot_last = ? WHERE segment = ?", d->ticks.v[0].boot,
			     d->ticks.v[d->ticks.n - 1].boot, segment);
}

/* What follows in the segment builds on the frame that is damaged. */
static int remark_damage(struct dataset *d, size_t lost)
{
	struct note note = {.kind = NOTE_RECORDER, .wall = d->ticks.n ? d->ticks.v[d->ticks.n - 1].wall : 0};

	if (asprintf(&note.text, "%zu bytes of the journal were damaged: the recording has a gap from here to the end of these ten minutes", lost) < 0)
		return -ENOMEM;
	return VEC_PUSH_OWNER(d->notes, note.text, note);
}

/* What a crash cut off in mid-frame ends there; anything else that goes wrong must not lose frames. */
static int read_segment(struct store *s, int64_t segment, struct dataset *ret)
{
	_cleanup_str_ struct str frames = {.max = CHUNK_MAX};
	size_t used;
	int r = store_read_frames(s, segment, &frames);

	if (r == 0 && frames.len)
		r = frames_read(frames.data, frames.len, INT64_MIN, INT64_MAX, ret, &used);
	if (r == -EBADMSG)
		r = frames_are_torn(frames.data, frames.len, used) ? 0 : remark_damage(ret, frames.len - used);
	dataset_finish(ret);
	return r;
}

static int replace_raw(struct store *s, int64_t segment, const struct dataset *d, const struct str *chunk)
{
	int r = store_begin(s);

	if (r == 0 && d->ticks.n)
		r = put_chunk(s, segment, chunk);
	if (r == 0 && (d->ticks.n || d->notes.n)) { /* without a tick, but with a remark: its first frame was damaged */
		r = put_segment(s, segment, d);
		r = r ?: store_number_segment(s, segment, journal_has(s->run_dir, segment));
	}
	if (r == 0 && d->ticks.n)
		r = put_boot_times(s, segment, d);
	if (r == 0 && d->ticks.n)
		r = store_put_summaries(s, segment, d);
	if (r == 0 && d->ticks.n)
		r = store_put_tiers(s, segment);
	r = r ?: store_run_sql(s, "DELETE FROM raw WHERE segment = ?", segment);
	r = r ?: store_exec(s, "COMMIT");
	if (r < 0) {
		store_rollback(s);
		s->numbered = 0;
	}
	return r;
}

/* Errors that are not SQLite's. */
static int explain(struct store *s, int64_t segment, int r)
{
	free(s->error);
	if (asprintf(&s->error, "cannot compact what was recorded from %" PRId64 " on: %s; it stays as it is",
		     segment, strerror(-r)) < 0)
		s->error = NULL;
	return r;
}

int store_compact(struct store *s, int64_t segment)
{
	struct dataset d = {};
	struct str chunk = {.max = CHUNK_MAX};
	int r;

	free(s->error);
	s->error = NULL;
	r = read_segment(s, segment, &d);
	if (r == 0 && d.ticks.n)
		r = chunk_write(&d, &chunk);
	r = r ?: replace_raw(s, segment, &d, &chunk);
	if (r == 0 && (store_has_moved(s) || store_log_is_gone(s)))
		r = str_fail_again(&s->error, -ESTALE, "%s was deleted or replaced while it was written", s->file);
	if (r == 0 && store_run_dir(s))
		r = journal_remove(s->run_dir, segment);
	dataset_free(&d);
	str_free(&chunk);
	locked_memory_release(); /* the recorder is to be small for the other 599 seconds */
	return r < 0 && !s->error ? explain(s, segment, r) : r;
}

static int list_ids(struct store *s, const char *sql, int64_t **ret, size_t *ret_n)
{
	VEC(int64_t) found = {};
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, sql, &stmt);

	while (store_row(s, stmt, &r))
		r = VEC_PUSH(found, sqlite3_column_int64(stmt, 0));
	if (r < 0) {
		VEC_FREE(found);
		return r;
	}
	*ret = found.v;
	*ret_n = found.n;
	return 0;
}

int store_raw_segments(struct store *s, int64_t **ret, size_t *ret_n)
{
	return list_ids(s, "SELECT DISTINCT segment FROM raw WHERE segment" BETWEEN_MS " ORDER BY segment", ret, ret_n);
}

int store_segment_ids(struct store *s, int64_t **ret, size_t *ret_n)
{
	_cleanup_free_ int64_t *open_ones = NULL, *ids = NULL;
	size_t n_open, n;
	int64_t *all;
	int r = store_open_segments(s, &open_ones, &n_open);

	r = r ?: list_ids(s, "SELECT id FROM segment", &ids, &n);
	if (r < 0)
		return r;
	all = reallocarray(NULL, n + n_open + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < n + n_open; i++)
		all[i] = i < n ? ids[i] : open_ones[i - n];
	*ret = all;
	*ret_n = n + n_open;
	return 0;
}

/* One that cannot be compacted stays, and does not keep the others from it. */
static int compact_all(struct store *s, const int64_t *segments, size_t n, int64_t current)
{
	int first = 0;

	for (size_t i = 0; i < n; i++) {
		int r = segments[i] == current ? 0 : store_compact(s, segments[i]);

		if (r < 0 && r != -EPROTONOSUPPORT && first == 0)
			first = r;
	}
	return first;
}

int store_recover(struct store *s, int64_t current)
{
	_cleanup_free_ int64_t *left = NULL, *raw = NULL;
	size_t n = 0, n_raw = 0;
	const char *run_dir = store_run_dir(s);
	int r = run_dir ? journal_list(run_dir, &left, &n) : 0;

	r = r ?: compact_all(s, left, n, current);
	r = r ?: store_raw_segments(s, &raw, &n_raw);
	return r == 0 ? compact_all(s, raw, n_raw, current) : r;
}
