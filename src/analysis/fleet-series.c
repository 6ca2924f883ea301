#include "analysis/fleet-series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

static const struct fleet *reference(const struct fleet_question *q)
{
	return q->reference ? q->reference : q->fleet;
}

int fleet_series_open(const struct fleet_question *q, struct fleet_series *d)
{
	size_t n = q->fleet->servers.n;
	int r;

	*d = (struct fleet_series){.q = q};
	r = fleet_peers_find(q->fleet, &d->peers);
	d->usual = calloc(n + 1, sizeof(*d->usual));
	d->window = calloc(n + 1, sizeof(*d->window));
	d->twin = calloc(n + 1, sizeof(*d->twin));
	if (r < 0 || !d->usual || !d->window || !d->twin)
		return -ENOMEM;
	d->with_peers = !q->reference && d->peers.largest >= FLEET_PEERS_MIN;
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct fleet_server *s = &q->fleet->servers.v[i];

		d->window[i].n = fleet_rows(s, q->window.from, q->window.to, &d->window[i].first);
		d->twin[i] = q->reference ? fleet_find_server(q->reference, s->name) : (int)i;
		if (d->twin[i] >= 0)
			r = usual_rows_find(&reference(q)->servers.v[d->twin[i]], q, d->window[i].n, &d->usual[i]);
	}
	return r;
}

void fleet_series_close(struct fleet_series *d)
{
	for (size_t i = 0; d->usual && i < d->q->fleet->servers.n; i++)
		VEC_FREE(d->usual[i].ranges);
	free(d->usual);
	free(d->window);
	free(d->twin);
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

/* The blocks' measures become their scores, in place of their peaks. */
static void score_blocks(const struct usual *u, const struct usual_blocks *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b->peak[i] = (float)usual_score(u, (double)b->shift[i], (double)b->peak[i], (double)b->jump[i]);
}

/* Against the peers, if they tell better what is usual than its own past does. 0 = yes and *ret is it. */
static int against_peers(const struct fleet_series *d, size_t server, const float *relative, const struct usual *own,
			 struct select_room *room, struct fleet_finding *ret, struct usual_blocks *blocks)
{
	const struct fleet_server *s = &d->q->fleet->servers.v[server];
	struct fleet_finding x = *ret;
	struct usual u;
	double level = fabs(own->median);

	if (!relative || !(level > 0) || usual_find(relative, &d->usual[server], room, &u, NULL) < 0)
		return -ENODATA;
	/* the residual lies around 0: its floor is that of the level it is relative to */
	u.shift = u.shift > USUAL_FLOOR ? u.shift : USUAL_FLOOR;
	u.peak = u.peak > USUAL_FLOOR ? u.peak : USUAL_FLOOR;
	u.jump = u.jump > USUAL_FLOOR ? u.jump : USUAL_FLOOR;
	x.flags = 0;
	if (u.peak * level >= own->peak || usual_compare(&u, s, relative, d->window[server].first, d->window[server].n, &x) < 0)
		return -ENODATA;
	if (blocks) {
		struct usual again;

		(void)usual_find(relative, &d->usual[server], room, &again, blocks);
		score_blocks(&u, blocks, d->usual[server].blocks);
	}
	ret->shift = x.shift;
	ret->peak = x.peak;
	ret->jump = x.jump;
	ret->score = x.score;
	ret->since = x.since;
	ret->usual = own->median * (1 + u.median);
	ret->observed = own->median * (1 + x.observed);
	ret->spread = u.peak * level;
	ret->flags = (x.flags & ~(unsigned)FLEET_LEFT_ONLY_VALUE) | FLEET_PEER;
	return 0;
}

static int judge(const struct fleet_series *d, size_t server, const float *now, const float *before, const float *relative,
		 struct select_room *room, struct fleet_finding *ret, struct usual_blocks *blocks)
{
	const struct fleet_server *s = &d->q->fleet->servers.v[server];
	struct usual u;

	if (usual_find(before, &d->usual[server], room, &u, blocks) < 0)
		return -ENODATA;
	if (blocks)
		score_blocks(&u, blocks, d->usual[server].blocks);
	if (usual_compare(&u, s, now, d->window[server].first, d->window[server].n, ret) < 0)
		return -ENODATA;
	(void)against_peers(d, server, relative, &u, room, ret, blocks);
	return 0;
}

int fleet_series_judge(const struct fleet_series *d, size_t server, size_t counter, const float *relative,
		       struct select_room *room, struct fleet_finding *ret, float *scores)
{
	int ref_counter = twin_counter(d, counter);
	const float *now = d->q->fleet->servers.v[server].column[counter], *before;
	_cleanup_free_ float *others = NULL;
	struct usual_blocks blocks = {};
	size_t n = d->usual[server].blocks;

	*ret = fleet_finding_empty;
	ret->server = (int)server;
	ret->counter = (int)counter;
	if (!now || !d->window[server].n || d->twin[server] < 0 || ref_counter < 0)
		return -ENODATA;
	before = reference(d->q)->servers.v[d->twin[server]].column[ref_counter];
	if (!before)
		return -ENODATA;
	if (scores) {
		others = malloc((2 * n + 1) * sizeof(*others));
		if (!others)
			return -ENOMEM;
		blocks = (struct usual_blocks){others, scores, others + n};
	}
	return judge(d, server, now, before, relative, room, ret, scores ? &blocks : NULL);
}
