#include <errno.h>

#include "lib/data/clock.h"
#include "lib/store/page-sums.h"
#include "machine/recording/internal.h"

#define VACUUM_PAGES 64 /* half a megabyte of log at most: a page that moves changes one that points at it */
#define TIER_AGE   (366 * 86400 * NS_PER_SEC) /* hours and days outlive the chunks they are made of */
#define TIER_SHARE 10			      /* ... in a tenth of the size at most */

static int try_drop(struct store *s, const char *const *statements, int64_t argument)
{
	int r = store_begin(s);

	for (; r == 0 && *statements; statements++)
		r = store_run_int(s, *statements, argument);
	if (r == 0)
		r = store_exec(s, "COMMIT");
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
		if (r == 0)
			r = store_exec(s, "PRAGMA wal_checkpoint");
		if (r == 0)
			r = store_query_int(s, "PRAGMA freelist_count", &left);
	} while (r == 0 && left > 0 && left < before);
	return r;
}

static int used_bytes(struct store *s, uint64_t *ret)
{
	int64_t pages, free_pages, page_size;
	int r = store_query_int(s, "PRAGMA page_count", &pages);

	if (r == 0)
		r = store_query_int(s, "PRAGMA freelist_count", &free_pages);
	if (r == 0)
		r = store_query_int(s, "PRAGMA page_size", &page_size);
	if (r == 0)
		*ret = (uint64_t)((pages - free_pages) * page_size);
	return r;
}

static int retain_segments(struct store *s, const struct retention *keep, int64_t now)
{
	static const char *const statements[] = {"DELETE FROM chunk WHERE segment = ?",
						 "DELETE FROM summary WHERE tier = 0 AND start = ?",
						 "DELETE FROM segment WHERE id = ?", NULL};

	for (;;) {
		int64_t oldest, last;
		uint64_t used = 0;
		int r = store_query_int(s, "SELECT id FROM segment ORDER BY id LIMIT 1", &oldest);

		if (r == -ENOENT)
			return 0;
		if (r == 0)
			r = store_query_int(s, "SELECT last FROM segment ORDER BY id LIMIT 1", &last);
		if (r == 0)
			r = used_bytes(s, &used);
		if (r < 0)
			return r;
		if (!(keep->age && last < now - keep->age) && !(keep->bytes && used > keep->bytes))
			return 0;
		r = drop(s, statements, oldest);
		if (r < 0)
			return r;
	}
}

static int retain_tiers(struct store *s, const struct retention *keep, int64_t now)
{
	static const char *const aged[] = {"DELETE FROM summary WHERE tier > 0 AND until < ?", NULL};
	static const char *const oldest_hour[] = {"DELETE FROM summary WHERE tier = ?1 AND start = (SELECT "
						  "min(start) FROM summary WHERE tier = ?1)",
						  NULL};
	int64_t size, hours;
	int r = drop(s, aged, (now - TIER_AGE) / NS_PER_MS);

	while (r == 0 && keep->bytes) {
		r = store_query_int(s, "SELECT coalesce(sum(length(bytes)), 0) FROM summary WHERE tier > 0",
				    &size);
		if (r == 0)
			r = store_query_int(s, "SELECT count(*) FROM summary WHERE tier = 1", &hours);
		if (r < 0 || (uint64_t)size <= keep->bytes / TIER_SHARE)
			return r;
		r = drop(s, oldest_hour, hours ? 1 : 2);
	}
	return r;
}

static int retain(struct store *s, const struct retention *keep, int64_t now)
{
	int r = retain_segments(s, keep, now);

	if (r == 0)
		r = retain_tiers(s, keep, now);
	if (r < 0)
		return r;
	r = shrink(s);
	return r == -EUCLEAN ? 0 : r; /* a damaged page cannot be moved: the free ones are used for what comes */
}

int store_retain(struct store *s, const struct retention *keep, int64_t now)
{
	int r = retain(s, keep, now);

	if (r == -ENOSPC && store_use_reserve(s))
		r = retain(s, keep, now);
	if (r == 0)
		store_make_reserve(s);
	return r;
}
