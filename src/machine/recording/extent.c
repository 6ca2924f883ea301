/* From when to when there is a recording, and up to which entity. */
#include <errno.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/recording/internal.h"

#define GAP (1200 * NS_PER_SEC) /* the machine was off */

int store_highest_entity(struct store *s, uint32_t *ret)
{
	_cleanup_(dataset_free) struct dataset open_segments = {};
	int64_t highest = 0;
	int r = store_query_int(s, "SELECT coalesce(max(highest_entity), 0) FROM segment", &highest);

	/* segments that are not compacted are not in the table */
	r = r ?: store_load_open(s, INT64_MAX, &open_segments);
	if (r == 0)
		*ret = (uint32_t)highest > store_highest_id(&open_segments)
			       ? (uint32_t)highest
			       : store_highest_id(&open_segments);
	return r;
}

/* The end of the segment that was written last: after a clock was ahead for a while an older one may have ended later by its own. */
static int last_written(struct store *s, int64_t *ret)
{
	int r = s->ordered ? store_query_int(s, "SELECT last FROM " SEGMENTS_READ " AND id IN (SELECT segment FROM written)"
						" ORDER BY (SELECT number FROM written WHERE segment = id) DESC LIMIT 1", ret) : -ENOENT;

	return r == -ENOENT ? store_query_int(s, "SELECT coalesce(max(last), 0) FROM " SEGMENTS_READ, ret) : r;
}

int store_extent(struct store *s, int64_t *ret_from, int64_t *ret_to)
{
	struct dataset tail = {};
	int64_t from = 0, to = 0;
	int r = store_load_open(s, INT64_MIN, &tail); /* first: it may be compacted in the meantime */

	r = r ?: store_query_int(s, "SELECT coalesce(min(first), 0) FROM " SEGMENTS_READ, &from);
	r = r ?: last_written(s, &to);
	if (r == 0 && tail.ticks.n) {
		if (!from || tail.ticks.v[0].wall < from)
			from = tail.ticks.v[0].wall;
		to = tail.ticks.v[tail.ticks.n - 1].wall;
	}
	dataset_free(&tail);
	*ret_from = from;
	*ret_to = to;
	return r;
}

/* False: a damaged row, whose times no clock has. */
static bool reach_over(int64_t begin, int64_t last, int64_t *from)
{
	int64_t gap;

	return !__builtin_sub_overflow(begin, last, &gap) && (gap <= GAP || !__builtin_sub_overflow(*from, gap, from));
}

/* What the journal holds has no row yet: after a gap it is not counted, which reaches back as much further. */
int store_extend_window(struct store *s, int64_t at, int64_t recorded, int64_t *ret_from)
{
	_cleanup_statement_ sqlite3_stmt *stmt = NULL;
	int64_t begin = at;
	int r = store_prepare(s, "SELECT first, last FROM " SEGMENTS_READ " AND first < ? AND ticks > 0 ORDER BY first DESC", &stmt, at);

	*ret_from = at - recorded;
	while (store_row(s, stmt, &r)) {
		int64_t first = sqlite3_column_int64(stmt, 0), last = sqlite3_column_int64(stmt, 1);

		if (begin <= *ret_from || !reach_over(begin, last, ret_from))
			break;
		begin = first;
	}
	return r;
}
