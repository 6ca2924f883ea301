#include "spans/compare/span-deployed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"

#define LEAD_SHARE 50 /* of all the time there is: of a year's requests a quarter of an hour is a short time */

void span_deployed_free(struct span_deployed *d)
{
	VEC_FREE_EACH(d->list, free(each->hosts));
}

/* --- when --------------------------------------------------------------------------------------------------------------- */

struct times {
	int64_t first, last;  /* of all requests */
	int64_t began, ended; /* of the candidate's */
};

static struct times times_of(const struct forest *f, const struct span_change *c)
{
	struct times t = {INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN};

	(void)f;
	for (size_t i = 0; i < c->buckets.n; i++) {
		const struct forest_group *sides[] = {c->buckets.v[i].before, c->buckets.v[i].after};

		for (int k = 0; k < 2; k++) {
			if (!sides[k] || !sides[k]->total.count)
				continue;
			t.first = sides[k]->first_seen < t.first ? sides[k]->first_seen : t.first;
			t.last = sides[k]->last_seen > t.last ? sides[k]->last_seen : t.last;
			if (k == 0)
				continue;
			t.began = sides[k]->first_seen < t.began ? sides[k]->first_seen : t.began;
			t.ended = sides[k]->last_seen > t.ended ? sides[k]->last_seen : t.ended;
		}
	}
	return t;
}

static bool is_in_time(const struct times *t, const struct deployment *d)
{
	int64_t lead = (t->last - t->first) / LEAD_SHARE;

	lead = lead > DEPLOYED_LEAD ? lead : DEPLOYED_LEAD;
	return t->began <= t->ended && d->time >= t->began - lead && d->time <= t->ended;
}

/* --- how much ----------------------------------------------------------------------------------------------------------- */

/* A bucket counts if it is slower; where none is by itself, all of them do. */
static bool counts(const struct span_change *c, const struct bucket_change *b)
{
	if (!b->before || !b->after)
		return false;
	for (size_t i = 0; i < c->buckets.n; i++)
		if (span_is_regression(c->buckets.v[i].verdict))
			return span_is_regression(b->verdict);
	return true;
}

/* ns of all requests that the package's calls gained, over those of the whole rise; NaN: there is no such call. */
static double share_of(const struct forest *f, const struct span_change *c, uint32_t package, uint32_t *ret_host)
{
	double gained = 0, rise = 0, most = 0;
	bool called = false;

	*ret_host = 0;
	VEC_EACH(b, c->buckets) {
		double requests = b->after ? moments_count(&b->after->total) : 0;

		if (!counts(c, b))
			continue;
		VEC_EACH(v, b->vertices) {
			double gain = v->after - v->before;

			rise += requests * fmax(gain, 0);
			if (f->vertices.v[v->vertex].service != package)
				continue;
			called = true;
			gained += requests * gain;
			if (v->reason == REASON_ONE_HOST && requests * gain > most) {
				most = requests * gain;
				*ret_host = v->host;
			}
		}
	}
	if (!package || !called)
		return NAN;
	return rise > 0 ? fmin(1, fmax(0, gained / rise)) : 0;
}

/* --- the candidates ----------------------------------------------------------------------------------------------------- */

static struct span_deployed_one *known(struct span_deployed *d, const struct deployment *event)
{
	return VEC_FIND(x, d->list, !strcmp(x->first->package, event->package) && !strcmp(x->first->version, event->version));
}

static int add_host(struct span_deployed_one *one, const struct deployment *event, const char *slow)
{
	_cleanup_str_ struct str hosts = {};

	if (!*event->host)
		return 0;
	one->slow_host |= slow && !strcmp(slow, event->host);
	if (one->n_hosts++ >= DEPLOYED_HOSTS)
		return 0;
	str_printf(&hosts, "%s%s%s", one->hosts, *one->hosts ? ", " : "", event->host);
	if (hosts.error)
		return hosts.error;
	free(one->hosts);
	one->hosts = TAKE(hosts.data);
	return 0;
}

static int add_event(const struct forest *f, const struct span_change *c, const struct deployment *event, struct span_deployed *ret)
{
	struct span_deployed_one *one = known(ret, event), fresh = {.first = event};
	uint32_t slow;
	double share = share_of(f, c, names_find(f->names, event->package), &slow);

	if (!one) {
		fresh.share = share;
		fresh.hosts = strdup("");
		if (VEC_PUSH_OWNER(ret->list, fresh.hosts, fresh) < 0)
			return -ENOMEM;
		one = &ret->list.v[ret->list.n - 1];
	}
	return add_host(one, event, slow ? names_get(f->names, slow) : NULL);
}

static double known_share(const struct span_deployed_one *one)
{
	return isnan(one->share) ? 0 : one->share;
}

ORDER(by_likelihood, struct span_deployed_one,
      DESCENDING(slow_host) ?: CMP(known_share(b), known_share(a)) ?: DESCENDING(first->time) ?: strcmp(a->first->package, b->first->package))

int span_deployed_rank(const struct forest *f, const struct span_change *c, const struct deployments *d, struct span_deployed *ret)
{
	struct times t = times_of(f, c);
	int r = 0;

	*ret = (struct span_deployed){};
	for (size_t i = 0; r == 0 && i < d->list.n; i++)
		if (is_in_time(&t, &d->list.v[i]))
			r = add_event(f, c, &d->list.v[i], ret);
	if (r < 0) {
		span_deployed_free(ret);
		return r;
	}
	VEC_SORT(ret->list, by_likelihood);
	while (ret->list.n > DEPLOYED_MOST)
		free(ret->list.v[--ret->list.n].hosts);
	return 0;
}
