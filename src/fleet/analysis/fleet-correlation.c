/* Which counters moved with a symptom: Pearson or Spearman, |r|, with lags, of the same server and of all others. p comes
 * from circular shifts of the symptom (lib/stat/correlate.h) and is given for those that are reported. Of a symptom without a
 * server the fleet's median at each time point is taken. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/analysis/fleet-align.h"
#include "fleet/analysis/fleet-analysis.h"
#include "lib/data/cleanup.h"
#include "lib/stat/correlate.h"

#define DEFAULT_THRESHOLD 0.9 /* "normally 0.9 in our usage" */
#define SHIFTS		  199

struct correlation_run {
	const struct fleet_question *q;
	struct fleet_findings *ret;
	struct fleet_alignment align;
	float *symptom; /* at each point; ranks with spearman */
	double threshold;
	pthread_mutex_t lock;
};

struct scratch {
	float *gathered, *ranked, *doubled;
	uint32_t *order;
};

static void scratch_free(struct scratch *s)
{
	FREE_ALL(s->gathered, s->ranked, s->doubled, s->order);
}

static int scratch_new(size_t n, struct scratch *s)
{
	s->gathered = malloc((n + 1) * sizeof(float));
	s->ranked = malloc((n + 1) * sizeof(float));
	s->doubled = malloc((2 * n + 1) * sizeof(float));
	s->order = malloc((n + 1) * sizeof(uint32_t));
	return s->gathered && s->ranked && s->doubled && s->order ? 0 : -ENOMEM;
}

static const float *values(const struct correlation_run *c, size_t server, size_t counter, struct scratch *room)
{
	const float *v = fleet_aligned_values(&c->align, c->q->fleet, server, counter, room->gathered);

	if (!v || !c->q->spearman)
		return v;
	memcpy(room->ranked, v, c->align.n * sizeof(*v));
	correlate_rank(room->ranked, c->align.n, room->order);
	return room->ranked;
}

static void fleet_median(struct correlation_run *c, float *room)
{
	const struct fleet *f = c->q->fleet;
	_cleanup_(select_room_free) struct select_room select = {};

	for (uint32_t k = 0; k < c->align.n; k++) {
		size_t n = 0;

		for (size_t i = 0; i < f->servers.n; i++) {
			const float *v = f->servers.v[i].column[c->q->counter];
			uint32_t row = v && fleet_aligned(&c->align, i) ? fleet_aligned_row(&c->align, i, k) : FLEET_NO_ROW;

			if (row != FLEET_NO_ROW && !isnan(v[row]))
				room[n++] = v[row];
		}
		c->symptom[k] = (float)columns_median(&(struct piece){room, n}, 1, &select);
	}
}

static int find_symptom(struct correlation_run *c)
{
	_cleanup_(scratch_free) struct scratch room = {};
	_cleanup_free_ float *column = malloc((c->q->fleet->servers.n + 1) * sizeof(*column));
	const float *v;

	c->symptom = malloc(((size_t)c->align.n + 1) * sizeof(*c->symptom));
	if (!column || !c->symptom || scratch_new(c->align.n, &room) < 0)
		return -ENOMEM;
	if (c->q->server < 0) {
		fleet_median(c, column);
		if (c->q->spearman)
			correlate_rank(c->symptom, c->align.n, room.order);
		return 0;
	}
	v = values(c, (size_t)c->q->server, (size_t)c->q->counter, &room);
	if (!v)
		return -ENODATA;
	memcpy(c->symptom, v, c->align.n * sizeof(*v));
	return 0;
}

static bool is_symptom(const struct fleet_question *q, size_t server, size_t counter)
{
	return counter == (size_t)q->counter && (q->server < 0 || server == (size_t)q->server);
}

static int one_counter(void *data, size_t counter)
{
	struct correlation_run *c = data;
	const struct fleet *f = c->q->fleet;
	_cleanup_(scratch_free) struct scratch room = {};
	uint64_t looked_at = 0;
	int r = scratch_new(c->align.n, &room);

	for (size_t i = 0; i < f->servers.n && r == 0; i++) {
		const float *v = is_symptom(c->q, i, counter) ? NULL : values(c, i, counter, &room);
		struct fleet_finding x = fleet_finding_empty;
		struct lagged l;

		if (!v)
			continue;
		looked_at++;
		l = correlate_lagged(c->symptom, v, c->align.n, c->q->max_lag);
		if (!(fabs(l.r) >= c->threshold))
			continue;
		x.server = (int)i;
		x.counter = (int)counter;
		x.r = l.r;
		x.score = fabs(l.r);
		x.lag = l.lag;
		x.n = l.n;
		x.p = correlate_shift_p(c->symptom, v, c->align.n, c->q->max_lag, SHIFTS, l.r, room.doubled);
		pthread_mutex_lock(&c->lock);
		r = VEC_PUSH(c->ret->list, x);
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_lock(&c->lock);
	c->ret->looked_at += looked_at;
	pthread_mutex_unlock(&c->lock);
	return r;
}

static int run(const struct fleet_question *q, struct fleet_findings *ret)
{
	struct correlation_run c = {.q = q, .ret = ret, .lock = PTHREAD_MUTEX_INITIALIZER};
	int r;

	ret->analysis = "correlation";
	if (q->counter < 0)
		return -EINVAL;
	c.threshold = isnan(q->threshold) ? DEFAULT_THRESHOLD : q->threshold;
	r = fleet_align_best(q->fleet, q->window, &c.align);
	if (r < 0)
		return r;
	r = c.align.n < 2 ? -ENODATA : find_symptom(&c);
	r = r ?: parallel_run(q->threads, q->fleet->counters.n, one_counter, &c);
	for (size_t i = 0; i < c.align.servers.n; i++)
		if (!c.align.servers.v[i].used && (c.align.servers.v[i].late || c.align.servers.v[i].died))
			ret->remark = "servers that joined late or ended early are left out: --from and --to choose a time at which they are there";
	if (c.align.n < 20)
		ret->remark = "few points: with less than 20 of them high correlations are common between any two counters";
	free(c.symptom);
	fleet_alignment_free(&c.align);
	if (r == 0)
		fleet_findings_sort(ret);
	return r;
}

const struct fleet_analysis fleet_correlation = {
	.name = "correlation",
	.help = "counters that moved with a symptom, of its server and of others, and which of them moved first",
	.run = run,
};
