#include "fleet/analysis/fleet-series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"

#define SINCE_WINDOWS 25 /* between the baseline and the window: what has been so for as long is drift, and did not happen in the window */
#define OWN_COUNTS    3.0 /* a score that is unusual without the peers */
#define SINCE_GUARD   2	 /* windows before the window, which may belong to its incident */

static const struct fleet *reference(const struct fleet_question *q)
{
	return q->reference ? q->reference : q->fleet;
}

/* The rows from the baseline's end until some windows before the window, where they are enough. */
static int find_since(const struct fleet_question *q, const struct fleet_server *s, const struct row_range *window, const struct fleet_baseline_rows *usual,
		      struct fleet_baseline_rows *ret)
{
	struct fleet_question later = *q;
	int r;

	if (q->reference || window->first < SINCE_GUARD * window->n)
		return 0;
	later.usual = (struct fleet_span){q->usual.to, s->time[window->first - SINCE_GUARD * window->n]};
	if (later.usual.to <= later.usual.from)
		return 0;
	r = fleet_baseline_rows(s, &later, usual->block, ret);
	if (r == 0 && (ret->block != usual->block || ret->blocks < SINCE_WINDOWS))
		ret->blocks = 0;
	return r;
}

int fleet_series_open(const struct fleet_question *q, struct fleet_series *d)
{
	size_t n = q->fleet->servers.n;
	int r;

	*d = (struct fleet_series){.q = q};
	r = fleet_peers_find(q->fleet, &d->peers);
	d->usual = calloc(n + 1, sizeof(*d->usual));
	d->since = calloc(n + 1, sizeof(*d->since));
	d->window = calloc(n + 1, sizeof(*d->window));
	d->twin = calloc(n + 1, sizeof(*d->twin));
	if (r < 0 || !d->usual || !d->since || !d->window || !d->twin)
		return -ENOMEM;
	d->with_peers = !q->reference && d->peers.largest >= FLEET_PEERS_MIN;
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct fleet_server *s = &q->fleet->servers.v[i];

		d->window[i].n = fleet_rows(s, q->window.from, q->window.to, &d->window[i].first);
		d->twin[i] = q->reference ? fleet_find_server(q->reference, s->name) : (int)i;
		if (d->twin[i] >= 0)
			r = fleet_baseline_rows(&reference(q)->servers.v[d->twin[i]], q, d->window[i].n, &d->usual[i]);
		if (r == 0 && d->window[i].n)
			r = find_since(q, s, &d->window[i], &d->usual[i], &d->since[i]);
	}
	return r;
}

void fleet_series_close(struct fleet_series *d)
{
	for (size_t i = 0; d->usual && i < d->q->fleet->servers.n; i++)
		VEC_FREE(d->usual[i].ranges);
	for (size_t i = 0; d->since && i < d->q->fleet->servers.n; i++)
		VEC_FREE(d->since[i].ranges);
	FREE_ALL(d->usual, d->since, d->window, d->twin);
	fleet_peers_free(&d->peers);
}

/* The reference's index of a counter, or -ENOENT. */
static int twin_counter(const struct fleet_series *d, size_t counter)
{
	const struct fleet_question *q = d->q;

	return q->reference ? fleet_find_counter(q->reference, q->fleet->counters.v[counter].name) : (int)counter;
}

int fleet_series_relative(const struct fleet_series *d, size_t counter, struct select_room *room, struct fleet_relative *ret)
{
	*ret = (struct fleet_relative){};
	return d->with_peers ? fleet_relative_find(d->q->fleet, &d->peers, d->usual, counter, room, ret) : 0;
}

size_t fleet_series_windows(const struct fleet_series *d, size_t server)
{
	return (size_t)d->usual[server].blocks + d->since[server].blocks;
}

static int64_t *put_times(const struct fleet_baseline_rows *rows, const struct fleet_server *server, int64_t *to)
{
	for (size_t i = 0; i < rows->ranges.n && rows->blocks; i++)
		for (uint32_t k = 0; k + rows->block <= rows->ranges.v[i].n; k += rows->block)
			*to++ = server->time[rows->ranges.v[i].first + k];
	return to;
}

void fleet_series_window_times(const struct fleet_series *d, size_t server, int64_t *to)
{
	if (d->twin[server] < 0)
		return;
	to = put_times(&d->usual[server], &reference(d->q)->servers.v[d->twin[server]], to);
	put_times(&d->since[server], &d->q->fleet->servers.v[server], to);
}

/* A residual lies around 0: its floor is that of the level it is relative to. */
static void raise_floor(struct fleet_baseline *u)
{
	u->strays = fmax(u->strays, USUAL_FLOOR);
	u->climb_strays = fmax(u->climb_strays, USUAL_FLOOR);
	u->shift = fmax(u->shift, USUAL_FLOOR);
	u->peak = fmax(u->peak, USUAL_FLOOR);
	u->jump = fmax(u->jump, USUAL_FLOOR);
	u->range = fmax(u->range, USUAL_FLOOR);
}

/* Whether the window lies before or after all of the normal time: what is normal may have drifted until then. */
static bool outside(const struct fleet_series *d, size_t server)
{
	const struct fleet_baseline_rows *u = &d->usual[server];
	const struct row_range *w = &d->window[server], *last = u->ranges.n ? &u->ranges.v[u->ranges.n - 1] : NULL;

	return d->q->reference || (last && (last->first + last->n <= w->first || u->ranges.v[0].first >= w->first + w->n));
}

/* Each half of the normal time as the other one judges it. */
static int cross_scores(const struct fleet_baseline_rows *rows, const float *v, bool relative, struct select_room *room, float *to)
{
	struct fleet_baseline_rows half[2];
	int r = fleet_baseline_rows_halve(rows, half);

	for (int h = 0; h < 2 && r == 0; h++) {
		struct fleet_baseline other;

		r = fleet_baseline_find(v, &half[1 - h], NULL, room, &other);
		if (r == 0 && relative)
			raise_floor(&other);
		if (r == 0)
			fleet_baseline_block_scores(&other, v, &half[h], h ? to + half[0].blocks : to);
	}
	VEC_FREE(half[0].ranges);
	VEC_FREE(half[1].ranges);
	return r;
}

/* The scores of the windows of the normal time: what a window as normal scores by chance. */
static void find_scores(const struct fleet_series *d, size_t server, const float *v, const struct fleet_baseline *u, bool relative,
			struct select_room *room, float *to)
{
	if (!outside(d, server) || cross_scores(&d->usual[server], v, relative, room, to) < 0)
		fleet_baseline_block_scores(u, v, &d->usual[server], to);
	if (d->since[server].blocks)
		fleet_baseline_block_scores(u, v, &d->since[server], to + d->usual[server].blocks);
}

/* A window is judged by the higher of two scores, and so are the windows of the normal time. */
static int add_scores(const struct fleet_series *d, size_t server, const float *relative, const struct fleet_baseline *u, struct select_room *room,
		      float *scores)
{
	size_t n = fleet_series_windows(d, server);
	_cleanup_free_ float *theirs = malloc((n + 1) * sizeof(*theirs));

	if (!theirs)
		return -ENOMEM;
	find_scores(d, server, relative, u, true, room, theirs);
	for (size_t i = 0; i < n; i++)
		scores[i] = theirs[i] > scores[i] ? theirs[i] : scores[i];
	return 0;
}

/* Against the peers, if they tell better what is normal than its own past does, and say more of the window: where most of a role is
 * ill they have the incident in common. What is clearly high is not low because its peers are higher. Observed and normal remain the data's own. */
static int against_peers(const struct fleet_series *d, size_t server, const float *relative, const struct fleet_baseline *own,
			 struct select_room *room, struct fleet_finding *ret, float *scores)
{
	const struct fleet_server *s = &d->q->fleet->servers.v[server];
	struct fleet_finding x = *ret;
	struct fleet_baseline u;
	double level = fabs(own->median);

	if (!relative || !(level > 0) || fleet_baseline_find(relative, &d->usual[server], &d->window[server], room, &u) < 0)
		return 0;
	raise_floor(&u);
	x.flags = 0;
	if ((u.peak * level >= own->peak && u.strays * level >= own->strays) || fleet_baseline_compare(&u, s, relative, d->window[server].first, d->window[server].n, &x) < 0)
		return 0;
	if (scores && add_scores(d, server, relative, &u, room, scores) < 0)
		return -ENOMEM;
	if (x.score <= ret->score || (ret->score >= OWN_COUNTS && (x.flags ^ ret->flags) & (FLEET_HIGHER | FLEET_LOWER)))
		return 0;
	ret->shift = x.shift;
	ret->peak = x.peak;
	ret->jump = x.jump;
	ret->range = x.range;
	ret->score = x.score;
	ret->level = fmax(ret->level, x.level);
	ret->since = x.since;
	ret->flags = (x.flags & ~(unsigned)FLEET_LEFT_ONLY_VALUE) | FLEET_PEER;
	return 0;
}

int fleet_series_judge(const struct fleet_series *d, size_t server, size_t counter, const float *relative,
		       struct select_room *room, struct fleet_finding *ret, float *scores)
{
	int ref_counter = twin_counter(d, counter);
	const float *now = d->q->fleet->servers.v[server].column[counter], *before;
	struct fleet_baseline u;

	*ret = fleet_finding_empty;
	ret->server = (int)server;
	ret->counter = (int)counter;
	if (!now || !d->window[server].n || d->twin[server] < 0 || ref_counter < 0)
		return -ENODATA;
	before = reference(d->q)->servers.v[d->twin[server]].column[ref_counter];
	if (!before || fleet_baseline_find(before, &d->usual[server], d->q->reference ? NULL : &d->window[server], room, &u) < 0 ||
	    fleet_baseline_compare(&u, &d->q->fleet->servers.v[server], now, d->window[server].first, d->window[server].n, ret) < 0)
		return -ENODATA;
	if (scores)
		find_scores(d, server, before, &u, false, room, scores);
	return against_peers(d, server, relative, &u, room, ret, scores);
}
