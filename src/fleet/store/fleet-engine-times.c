/* The time that servers have in common: [ts, tf] and Equation 3's N, as the local analyses find them. */
#include "fleet/store/fleet-reduce.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define ROWS ENGINE_ROWS

/* The window's part that the table has. */
struct fleet_span fleet_engine_covered(const struct fleet_engine *e, struct fleet_span span)
{
	return (struct fleet_span){span.from > e->extent.from ? span.from : e->extent.from,
				   span.to < e->extent.to ? span.to : e->extent.to};
}

/* "intDiv(time - ts + d/2, d)": the point a row lies nearest to. */
void fleet_engine_put_point(struct str *sql, int64_t ts, int64_t interval)
{
	str_printf(sql, "intDiv(time - %" PRId64 ", %" PRId64 ")", ts - interval / 2, interval);
}

#define LATE_SHARE 20 /* a twentieth of the window */

static int take_ends(void *data, size_t n, char *const *f)
{
	struct engine_common *c = data;
	int server = n == 3 && f[0] ? fleet_find_server(c->e->fleet, f[0]) : -ENOENT;

	if (server < 0)
		return 0;
	return VEC_PUSH(c->servers, (struct engine_ends){server, strtoll(f[1], NULL, 10), strtoll(f[2], NULL, 10), true});
}

static int by_first(const void *a, const void *b)
{
	const struct engine_ends *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static int by_last(const void *a, const void *b)
{
	const struct engine_ends *x = a, *y = b;

	return x->last < y->last ? -1 : x->last > y->last;
}

/* Late joiners and servers that died are left out, unless they are the half of all. */
static void leave_out_late(struct engine_common *c)
{
	size_t n = c->servers.n, used = 0;
	int64_t begin, end, much;

	qsort(c->servers.v, n, sizeof(*c->servers.v), by_first);
	begin = c->servers.v[(n - 1) / 2].first;
	qsort(c->servers.v, n, sizeof(*c->servers.v), by_last);
	end = c->servers.v[(n - 1) / 2].last;
	much = (end - begin) / LATE_SHARE > 2 * c->e->fleet->interval ? (end - begin) / LATE_SHARE : 2 * c->e->fleet->interval;
	for (size_t i = 0; i < n; i++) {
		c->servers.v[i].used = c->servers.v[i].first <= begin + much && c->servers.v[i].last >= end - much;
		used += c->servers.v[i].used;
	}
	for (size_t i = 0; i < n && used * 2 < n; i++) {
		used += !c->servers.v[i].used;
		c->servers.v[i].used = true;
	}
}

/* `with_last`: the point of the last row counts too, as where rows are paired by time. */
int fleet_engine_find_common(struct fleet_engine *e, struct fleet_span window, bool with_last, struct engine_common *ret)
{
	int64_t tf = INT64_MAX, d = e->fleet->interval;
	int r;

	*ret = (struct engine_common){.e = e, .ts = INT64_MIN};
	r = fleet_engine_query(e, "SELECT server, min(time), max(time)" ROWS " GROUP BY server", window, take_ends, ret);
	if (r < 0)
		return r;
	if (!ret->servers.n || d <= 0)
		return str_fail_again(&e->error, -ENODATA, "no server has two rows in that time");
	leave_out_late(ret);
	for (size_t i = 0; i < ret->servers.n; i++) {
		const struct engine_ends *s = &ret->servers.v[i];

		if (!s->used)
			continue;
		ret->ts = s->first > ret->ts ? s->first : ret->ts;
		tf = s->last < tf ? s->last : tf;
	}
	ret->n = tf > ret->ts && (tf - ret->ts) / d < UINT32_MAX ? (uint32_t)((tf - ret->ts) / d) + with_last : 0;
	ret->span = (struct fleet_span){ret->ts - d / 2, ret->ts - d / 2 + ret->n * d};
	if (ret->span.from < window.from)
		ret->span.from = window.from;
	return ret->n ? 0 : str_fail_again(&e->error, -ENODATA, "the servers have no time in common");
}

/* " AND server NOT IN (...)" of those that are left out. */
void fleet_engine_put_used(const struct engine_common *c, struct str *sql)
{
	bool any = false;

	for (size_t i = 0; i < c->servers.n; i++)
		if (!c->servers.v[i].used) {
			str_puts(sql, any ? ", " : " AND server NOT IN (");
			fleet_engine_put_name(sql, c->e->fleet->servers.v[c->servers.v[i].server].name);
			any = true;
		}
	if (any)
		str_putc(sql, ')');
}
