#include "fleet/ask/fleet-history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/analysis/fleet-common.h"
#include "fleet/analysis/fleet-series.h"
#include "lib/data/cleanup.h"
#include "lib/data/order.h"

#define BELONGS 0.5 /* of an interval lies in the time of another: then they are reported together */

void fleet_history_free(struct fleet_history *h)
{
	VEC_FREE(h->list);
}

ORDER(by_score, struct fleet_stretch, DESCENDING(record) ?: DESCENDING(score) ?: ASCENDING(span.from))

/* --- values that were never there before --- */

#define LEARNED 10	 /* a tenth of the rows: only then is what they had a range */
#define BEYOND 0.1	 /* of the range of all rows before */
#define RECORD_FAR 6.0	 /* robust standard deviations: noise breaks its own records every now and then */
#define RECORDS_APART 40 /* parts of the rows: records that lie closer are one */

struct range {
	float least, most;
};

static void extend(struct range *range, float x)
{
	range->least = fminf(range->least, x);
	range->most = fmaxf(range->most, x);
}

/* A record within what is unusual by its server's level is a part of that. */
static bool is_within(struct fleet_stretches *list, size_t n, int server, int counter, int64_t time)
{
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		struct fleet_stretch *x = &list->list.v[i];

		if (x->server != server || x->counter != counter || x->span.from > time || x->span.to <= time)
			continue;
		x->record = found = true;
	}
	return found;
}

/* Appends the times at which a series went beyond all that it had had before: one value suffices, unlike for what is unusual by its level, which the first `by_level` of the list are. 0 or -ENOMEM. */
static int find_records(const struct fleet_server *s, int server, int counter, size_t by_level, struct select_room *room, struct fleet_stretches *ret)
{
	const float *v = s->column[counter];
	const struct piece all = {v, s->n};
	const uint32_t learned = s->n / LEARNED, apart = s->n / RECORDS_APART;
	double median = columns_median(&all, 1, room), spread = (columns_quantile(&all, 1, 0.75, room) - columns_quantile(&all, 1, 0.25, room)) / 1.349;
	struct fleet_stretch *last = NULL;
	struct range range = {INFINITY, -INFINITY};
	uint32_t last_row = 0;
	int r = 0;

	spread = fmax(spread, fmax(USUAL_FLOOR * fabs(median), 1e-12));
	for (uint32_t i = 0; i < s->n && r == 0; i++) {
		const double beyond = BEYOND * (double)(range.most - range.least), far = fabs((double)v[i] - median) / spread;

		if (isnan(v[i]))
			continue;
		if (i >= learned && far >= RECORD_FAR && range.most > range.least && ((double)(v[i] - range.most) > beyond || (double)(range.least - v[i]) > beyond)) {
			if (last && i - last_row <= apart) {
				last->span.to = s->time[i] + 1;
				last->score = fmax(last->score, far);
			} else if (is_within(ret, by_level, server, counter, s->time[i])) {
				last = NULL;
			} else {
				r = VEC_PUSH(ret->list, ((struct fleet_stretch){server, counter, far, {s->time[i], s->time[i] + 1}, true}));
				last = r == 0 ? &ret->list.v[ret->list.n - 1] : NULL;
			}
			last_row = i;
		}
		extend(&range, v[i]);
	}
	return r;
}

static int add_records(const struct fleet *f, struct fleet_stretches *ret)
{
	_cleanup_(select_room_free) struct select_room room = {};
	const size_t by_level = ret->list.n;
	int r = 0;

	for (size_t i = 0; i < f->servers.n; i++)
		for (size_t c = 0; c < f->counters.n && r == 0; c++)
			if (f->servers.v[i].column[c])
				r = find_records(&f->servers.v[i], (int)i, (int)c, by_level, &room, ret);
	return r;
}

static bool belongs(const struct fleet_stretch *x, const struct fleet_span *to)
{
	const int64_t from = x->span.from > to->from ? x->span.from : to->from, end = x->span.to < to->to ? x->span.to : to->to;

	return (double)(end - from) >= BELONGS * (double)(x->span.to - x->span.from);
}

/* The medians of the interval's rows and of all others. */
static int measure(const struct fleet *f, struct fleet_episode *e, struct select_room *room)
{
	const struct fleet_server *s = &f->servers.v[e->first.server];
	const float *v = s->column[e->first.counter];
	uint32_t first, n = fleet_rows(s, e->first.span.from, e->first.span.to, &first);
	const struct piece now = {v + first, n}, rest[] = {{v, first}, {v + first + n, s->n - first - n}};

	e->value = columns_median(&now, 1, room);
	e->normal = columns_median(rest, 2, room);
	return 0;
}

/* Takes the intervals that belong to the episode out of the list. */
static void absorb(struct fleet_stretch *list, size_t n, bool *taken, bool *seen, struct fleet_episode *e)
{
	for (size_t i = 0; i < n; i++) {
		if (taken[i] || !belongs(&list[i], &e->first.span))
			continue;
		taken[i] = true;
		if (e->n_members < FLEET_EPISODE_MEMBERS)
			e->members[e->n_members] = list[i];
		e->n_members++;
		e->n_servers += !seen[list[i].server];
		seen[list[i].server] = true;
	}
}

static int make_episodes(const struct fleet *f, struct fleet_stretches *all, struct fleet_history *ret)
{
	_cleanup_free_ bool *taken = calloc(all->list.n + 1, sizeof(*taken)), *seen = calloc(f->servers.n + 1, sizeof(*seen));
	_cleanup_(select_room_free) struct select_room room = {};
	int r = taken && seen ? 0 : -ENOMEM;

	if (r == 0 && all->list.n)
		VEC_SORT(all->list, by_score);
	for (size_t i = 0; i < all->list.n && r == 0; i++) {
		struct fleet_episode e = {.first = all->list.v[i], .n_servers = 1};

		if (taken[i])
			continue;
		memset(seen, 0, f->servers.n * sizeof(*seen));
		taken[i] = seen[e.first.server] = true;
		absorb(all->list.v + i, all->list.n - i, taken + i, seen, &e);
		r = measure(f, &e, &room);
		r = r ?: VEC_PUSH(ret->list, e);
	}
	return r;
}

static bool is_asked(const struct fleet_question *q, const struct fleet_stretch *x)
{
	return x->span.to > q->window.from && x->span.from < q->window.to && (q->server < 0 || x->server == q->server) && (q->counter < 0 || x->counter == q->counter);
}

static void keep_asked(struct fleet_stretches *all, const struct fleet_question *q)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->list.n; i++)
		if (is_asked(q, &all->list.v[i]))
			all->list.v[kept++] = all->list.v[i];
	all->list.n = kept;
}

int fleet_history_make(const struct fleet_question *q, struct fleet_history *ret)
{
	struct fleet_stretches all = {};
	struct fleet_history h = {.span = q->window};
	int64_t first, last;
	int r = fleet_stretches_find(q, &all), common = r ?: fleet_common_each(q->fleet, &all);

	r = common == -ENOMEM ? common : r;
	r = r ?: add_records(q->fleet, &all);
	fleet_extent(q->fleet, &first, &last);
	h.span.from = h.span.from > first ? h.span.from : first;
	h.span.to = h.span.to <= last ? h.span.to : last + 1;
	if (r == 0) {
		keep_asked(&all, q);
		r = make_episodes(q->fleet, &all, &h);
	}
	VEC_FREE(all.list);
	if (r < 0)
		fleet_history_free(&h);
	else
		*ret = h;
	return r;
}
