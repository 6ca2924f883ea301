#include <errno.h>

#include "lib/data/vec.h"
#include "lib/store/page-sums.h"
#include "lib/store/age.h"
#include "machine/recording/internal.h"

#define VACUUM_PAGES 64 /* half a megabyte of log at most: a page that moves changes one that points at it */
#define TIER_AGE   (366 * 86400 * NS_PER_SEC) /* hours and days outlive the chunks they are made of */
#define TIER_SHARE 10			      /* ... in a tenth of the size at most */

static int try_drop(struct store *s, const char *const *statements, int64_t argument)
{
	int r = store_begin(s);

	for (; r == 0 && *statements; statements++)
		r = store_run_sql(s, *statements, argument);
	r = r ?: store_exec(s, "COMMIT");
	if (r < 0)
		store_rollback(s);
	return r;
}

/* Also what is on damaged pages: what is not deleted would fill the disk. */
static int drop(struct store *s, const char *const *statements, int64_t argument)
{
	int r = try_drop(s, statements, argument);

	if (r != -EUCLEAN)
		return r;
	page_sums_ignore(s->db, true);
	r = try_drop(s, statements, argument);
	page_sums_ignore(s->db, false);
	return r;
}

/* Gives free pages back to the disk, in steps: each page that moves goes through the log, which is emptied behind each step. */
static int shrink(struct store *s)
{
	int64_t before, left = INT64_MAX;
	int r;

	do {
		before = left;
		r = store_exec(s, "PRAGMA incremental_vacuum(" STRINGIFY(VACUUM_PAGES) ")");
		r = r ?: store_exec(s, "PRAGMA wal_checkpoint");
		r = r ?: store_query_int(s, "PRAGMA freelist_count", &left);
	} while (r == 0 && left > 0 && left < before);
	return r;
}

static int used_bytes(struct store *s, uint64_t *ret)
{
	int64_t pages, free_pages, page_size;
	int r = store_query_int(s, "PRAGMA page_count", &pages);

	r = r ?: store_query_int(s, "PRAGMA freelist_count", &free_pages);
	r = r ?: store_query_int(s, "PRAGMA page_size", &page_size);
	if (r == 0)
		*ret = (uint64_t)((pages - free_pages) * page_size);
	return r;
}

struct segments {
	VEC(int64_t) ids;
};

/* Those that ended longer ago than `age`, each of which is older than all that stay. */
static int find_aged(struct store *s, int64_t age, struct segments *ret)
{
	struct age a = {};
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "SELECT id, first, last, boot, boot_first, boot_last FROM " SEGMENTS_IN_ORDER " DESC, id DESC", &stmt);

	while (store_row(s, stmt, &r)) {
		const struct age_span span = store_age_span(stmt, 1);

		if (age_add(&a, &span) > age || ret->ids.n)
			r = VEC_PUSH(ret->ids, sqlite3_column_int64(stmt, 0));
	}
	return r;
}

static int drop_segment(struct store *s, int64_t id)
{
	static const char *const statements[] = {"DELETE FROM chunk WHERE segment = ?",
						 "DELETE FROM summary WHERE tier = 0 AND start = ?",
						 "DELETE FROM written WHERE segment = ?",
						 "DELETE FROM segment WHERE id = ?", NULL};

	return drop(s, statements, id);
}

static int retain_by_age(struct store *s, int64_t age)
{
	struct segments aged = {};
	int r = find_aged(s, age, &aged);

	for (size_t i = aged.ids.n; r == 0 && i-- > 0;) /* the oldest first */
		r = drop_segment(s, aged.ids.v[i]);
	VEC_FREE(aged.ids);
	return r;
}

static int retain_by_size(struct store *s, uint64_t bytes)
{
	for (;;) {
		uint64_t used = 0;
		int64_t oldest;
		int r = used_bytes(s, &used);

		if (r < 0 || used <= bytes)
			return r;
		r = store_query_int(s, "SELECT id FROM " SEGMENTS_IN_ORDER ", id LIMIT 1", &oldest);
		r = r ?: drop_segment(s, oldest);
		if (r < 0)
			return r == -ENOENT ? 0 : r;
	}
}

/* *ret_start: the newest hour or day that ended longer ago than a year. -ENOENT: none. */
static int find_aged_summary(struct store *s, enum summary_tier tier, int64_t *ret_start)
{
	struct age a = {};
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "SELECT start, until FROM summary WHERE tier = ? AND start" BETWEEN_MS " AND until" BETWEEN_MS
				 " ORDER BY start DESC", &stmt, tier);

	while (store_row(s, stmt, &r)) {
		const struct age_span span = {.first = sqlite3_column_int64(stmt, 0) * NS_PER_MS, .last = sqlite3_column_int64(stmt, 1) * NS_PER_MS};

		if (age_add(&a, &span) > TIER_AGE) {
			*ret_start = a.next.first / NS_PER_MS;
			return 0;
		}
	}
	return r ?: -ENOENT;
}

static int retain_tier(struct store *s, enum summary_tier tier)
{
	static const char *const hours[] = {"DELETE FROM summary WHERE tier = 1 AND start <= ?", NULL},
				*const days[] = {"DELETE FROM summary WHERE tier = 2 AND start <= ?", NULL};
	int64_t start = 0;
	int r = find_aged_summary(s, tier, &start);

	return r == -ENOENT ? 0 : r < 0 ? r : drop(s, tier == SUMMARY_HOUR ? hours : days, start);
}

static int retain_tiers(struct store *s, uint64_t bytes)
{
	static const char *const oldest_hour[] = {"DELETE FROM summary WHERE tier = ?1 AND start = (SELECT "
						  "min(start) FROM summary WHERE tier = ?1)",
						  NULL};
	int64_t size, hours;
	int r = retain_tier(s, SUMMARY_HOUR);

	r = r ?: retain_tier(s, SUMMARY_DAY);
	while (r == 0 && bytes) {
		r = store_query_int(s, "SELECT coalesce(sum(length(bytes)), 0) FROM summary WHERE tier > 0",
				    &size);
		r = r ?: store_query_int(s, "SELECT count(*) FROM summary WHERE tier = 1", &hours);
		if (r < 0 || (uint64_t)size <= bytes / TIER_SHARE)
			return r;
		r = drop(s, oldest_hour, hours ? 1 : 2);
	}
	return r;
}

static int retain(struct store *s, const struct retention *keep)
{
	int r = keep->age ? retain_by_age(s, keep->age) : 0;

	if (r == 0 && keep->bytes)
		r = retain_by_size(s, keep->bytes);
	r = r ?: retain_tiers(s, keep->bytes);
	if (r < 0)
		return r;
	r = shrink(s);
	return r == -EUCLEAN ? 0 : r; /* a damaged page cannot be moved: the free ones are used for what comes */
}

int store_retain(struct store *s, const struct retention *keep)
{
	int r = retain(s, keep);

	if (r == -ENOSPC && store_use_reserve(s))
		r = retain(s, keep);
	if (r == 0)
		store_make_reserve(s);
	return r;
}
