#include "fleet/watch/lasting-faults.h"

#include "lib/data/hmap.h"

#define FAR 6.0 /* the score that noise of a thousand series does not reach in two rounds one after the other */

void lasting_faults_free(struct lasting_faults *l)
{
	VEC_FREE(l->spans);
	VEC_FREE(l->far);
	l->lasts = false;
}

static uint64_t series_of(const struct fleet *f, const struct fleet_finding *x)
{
	return hmap_hash_text(f->servers.v[x->server].name) * 31 + hmap_hash_text(f->counters.v[x->counter].name);
}

static bool was_far(const struct lasting_faults *l, uint64_t series)
{
	return ANY_WHERE(i, l->far.n, l->far.v[i] == series);
}

int lasting_faults_round(struct lasting_faults *l, const struct fleet *f, const struct fleet_findings *found, struct fleet_span looked)
{
	struct lasting_faults now = {};
	int r = 0;

	for (size_t i = 0; i < found->list.n && found->list.v[i].score >= FAR && r == 0; i++) {
		uint64_t series = series_of(f, &found->list.v[i]);

		now.lasts |= was_far(l, series);
		r = VEC_PUSH(now.far, series);
	}
	VEC_FREE(l->far);
	l->far.v = now.far.v;
	l->far.n = now.far.n;
	l->far.allocated = now.far.allocated;
	if (r == 0 && now.lasts && !l->lasts)
		r = VEC_PUSH(l->spans, looked);
	if (r == 0 && now.lasts)
		l->spans.v[l->spans.n - 1].to = looked.to;
	l->lasts = now.lasts && r == 0;
	return r;
}

int64_t lasting_faults_keep(struct lasting_faults *l, int64_t now, int64_t window)
{
	const int64_t oldest = now - LASTING_WINDOWS * window;
	int64_t keep = now - window;
	size_t kept = 0;

	for (size_t i = l->spans.n; i-- > 0;)
		if (l->spans.v[i].to > keep && l->spans.v[i].from > oldest)
			keep -= l->spans.v[i].to - l->spans.v[i].from;
	l->lasts = l->lasts && l->spans.v[l->spans.n - 1].from > oldest;
	for (size_t i = 0; i < l->spans.n; i++)
		if (l->spans.v[i].to > keep && l->spans.v[i].from > oldest)
			l->spans.v[kept++] = l->spans.v[i];
	l->spans.n = kept;
	return keep;
}
