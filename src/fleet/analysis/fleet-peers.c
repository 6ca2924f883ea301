#include "fleet/analysis/fleet-peers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/model/fleet.h"
#include "fleet/model/server-role.h"
#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/stat/columns.h"

#define SCATTERED 3.0F

#define SAMPLED	    16	/* rows that tell a server's level */
#define VOTES_LEAST 3
#define VOTES_SHARE 4	/* a quarter of the counters that vary */
#define GAP_LEAST   0.1 /* of the middle's magnitude */

/* --- by what they measure --- */

/* By counter: the number of its metric, which is the name without labels. */
static int *find_metrics(const struct fleet *f)
{
	int *metric = calloc(f->counters.n + 1, sizeof(*metric));
	struct hmap seen = {};
	uintptr_t n = 0;

	for (size_t c = 0; metric && c < f->counters.n; c++) {
		const char *name = f->counters.v[c].name;
		uint64_t key = hmap_hash_bytes(name, strcspn(name, "{"));
		uintptr_t number = (uintptr_t)hmap_get(&seen, key, 0);

		if (!number && hmap_put(&seen, key, 0, (void *)(number = ++n)) < 0) {
			free(metric);
			metric = NULL;
			break;
		}
		metric[c] = (int)number - 1;
	}
	hmap_free(&seen);
	return metric;
}

static size_t mark_metrics(const struct fleet *f, size_t server, const int *metric, bool *marks)
{
	size_t n = 0;

	memset(marks, 0, f->counters.n);
	for (size_t c = 0; c < f->counters.n; c++) {
		bool new = f->servers.v[server].column[c] && !marks[metric[c]];

		marks[metric[c]] |= new;
		n += new;
	}
	return n;
}

static int divide_by_metrics(const struct fleet *f, const size_t *servers, size_t n, int *part)
{
	_cleanup_free_ int *metric = find_metrics(f);
	_cleanup_free_ bool *first = malloc(f->counters.n + 1), *other = malloc(f->counters.n + 1);
	int parts = 0;

	if (!metric || !first || !other)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		part[i] = -1;
	for (size_t i = 0; i < n; i++) {
		size_t here;

		if (part[i] >= 0)
			continue;
		here = mark_metrics(f, servers[i], metric, first);
		for (size_t k = i; k < n; k++) {
			size_t there = part[k] < 0 ? mark_metrics(f, servers[k], metric, other) : 0, common = 0;

			for (size_t m = 0; part[k] < 0 && m < f->counters.n; m++)
				common += first[m] && other[m];
			if (part[k] < 0 && (k == i || common * 2 >= (here > there ? here : there)))
				part[k] = parts;
		}
		parts++;
	}
	return parts;
}

/* --- by levels --- */

struct level {
	size_t at; /* in `servers` */
	float v;
};

ORDER(by_level, struct level, ASCENDING(v))

/* NaN where it has none. */
static float find_level(const struct fleet_server *s, size_t counter)
{
	const float *v = s->column[counter];
	uint32_t step = s->n / SAMPLED + 1;
	float values[SAMPLED + 1];
	size_t n = 0;

	for (uint32_t row = step / 2; v && row < s->n; row += step)
		if (!isnan(v[row]))
			values[n++] = v[row];
	return n ? columns_select(values, n, n / 2) : NAN;
}

/* Levels in order: how many lie on the low side of the widest gap, where that is one between two kinds of servers; else 0. */
static size_t find_gap(const struct level *l, size_t n)
{
	size_t low = SERVER_STEM_MIN;
	float gap, within;

	for (size_t k = low; k + SERVER_STEM_MIN <= n; k++)
		if (l[k].v - l[k - 1].v > l[low].v - l[low - 1].v)
			low = k;
	gap = l[low].v - l[low - 1].v;
	within = fmaxf(l[low - 1].v - l[1].v, l[n - 2].v - l[low].v);
	return gap > within && (double)gap > GAP_LEAST * fabs((double)(l[low].v + l[low - 1].v) / 2) ? low : 0;
}

/* The same for both sides of a division: that of the side without the first server. */
static uint64_t name_division(const struct level *l, size_t n, size_t low)
{
	uint64_t sides[2] = {};
	int with_first = 0;

	for (size_t i = 0; i < n; i++) {
		sides[i >= low] ^= hmap_hash_bytes(&l[i].at, sizeof(l[i].at));
		with_first = l[i].at == 0 ? i >= low : with_first;
	}
	return sides[!with_first];
}

struct division {
	uint64_t name;
	size_t votes;
};

/* The levels of a counter, in order; false where a server has none, or all are the same. */
static bool levels_vary(const struct fleet *f, const size_t *servers, size_t n, size_t counter, struct level *to)
{
	for (size_t i = 0; i < n; i++) {
		to[i] = (struct level){i, find_level(&f->servers.v[servers[i]], counter)};
		if (isnan(to[i].v))
			return false;
	}
	qsort(to, n, sizeof(*to), by_level);
	return to[n - 1].v > to[0].v;
}

/* The division that most counters vote for, if they are enough. `high` says who lies on its high side, of the last counter that voted so.
 * 1, 0 (none), -ENOMEM. */
static int vote(const struct fleet *f, const size_t *servers, size_t n, struct level *l, bool *high)
{
	struct hmap votes = {};
	struct division best = {};
	size_t varying = 0;
	int r = 0;

	for (size_t c = 0; c < f->counters.n && r == 0; c++) {
		bool varies = levels_vary(f, servers, n, c, l);
		size_t low = varies ? find_gap(l, n) : 0, count;
		uint64_t name = low ? name_division(l, n, low) : 0;

		varying += varies;
		if (!low)
			continue;
		count = (size_t)(uintptr_t)hmap_get(&votes, name, 0) + 1;
		r = hmap_put(&votes, name, 0, (void *)(uintptr_t)count);
		if (count <= best.votes)
			continue;
		best = (struct division){name, count};
		for (size_t i = 0; i < n; i++)
			high[l[i].at] = i >= low;
	}
	hmap_free(&votes);
	return r < 0 ? r : best.votes >= VOTES_LEAST && best.votes * VOTES_SHARE >= varying;
}

/* Divides those of part `of` until they agree. The number of parts then. */
static int divide_by_levels(const struct fleet *f, const size_t *servers, size_t n, int of, int parts, int *part)
{
	_cleanup_free_ size_t *members = calloc(n + 1, sizeof(*members)), *at = calloc(n + 1, sizeof(*at));
	_cleanup_free_ struct level *levels = calloc(n + 1, sizeof(*levels));
	_cleanup_free_ bool *high = calloc(n + 1, sizeof(*high));
	size_t found = 0;
	int r;

	if (!members || !at || !levels || !high)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (part[i] == of) {
			at[found] = i;
			members[found++] = servers[i];
		}
	if (found < 2 * SERVER_STEM_MIN)
		return parts;
	r = vote(f, members, found, levels, high);
	if (r <= 0)
		return r < 0 ? r : parts;
	for (size_t i = 0; i < found; i++)
		part[at[i]] = high[i] ? parts : of;
	r = divide_by_levels(f, servers, n, parts, parts + 1, part);
	return r < 0 ? r : divide_by_levels(f, servers, n, of, r, part);
}

/* Divides n servers (indices of the fleet) of a role: ret_part[i] is the part of servers[i], from 0; returns how many parts, or -ENOMEM.
 *
 * First by what they measure: a server that shares less than half of the metrics (names without labels) with the first of a part is of
 * another. Then by levels: where the medians of a counter leave a gap between two sides of SERVER_STEM_MIN servers or more
 * that is wider than each of them (without its outermost server), the counter votes for these two sides. Three counters and a quarter of
 * all that vary must vote for the same two; each of them is divided further. */
static int fleet_unlike_divide(const struct fleet *f, const size_t *servers, size_t n, int *ret_part)
{
	int by_metrics = divide_by_metrics(f, servers, n, ret_part), parts = by_metrics;

	for (int i = 0; i < by_metrics && parts >= 0; i++)
		parts = divide_by_levels(f, servers, n, i, parts, ret_part);
	return parts;
}

void fleet_peers_free(struct fleet_peers *p)
{
	VEC_FREE(p->group);
}

static uint64_t measured_alike(const struct fleet *f, const struct fleet_server *s)
{
	uint64_t hash = 0;

	for (size_t c = 0; c < f->counters.n; c++)
		hash = hash * 31 + (s->column[c] != NULL);
	return hash;
}

static uint64_t key_of(const struct fleet *f, const struct fleet_server *s, uint64_t *ret_second)
{
	_cleanup_free_ char *stem = s->role ? NULL : server_role_stem(s->name);

	*ret_second = s->role ? 0 : measured_alike(f, s);
	return hmap_hash_text(s->role ? s->role : stem ? stem : s->name);
}

static int group_by_key(const struct fleet *f, struct fleet_peers *p)
{
	struct hmap groups = {};
	int r = 0;

	for (size_t i = 0; i < f->servers.n && r == 0; i++) {
		uint64_t second, key = key_of(f, &f->servers.v[i], &second);
		uintptr_t group = (uintptr_t)hmap_get(&groups, key, second);

		if (!group) {
			group = ++p->groups;
			r = hmap_put(&groups, key, second, (void *)group);
		}
		r = r ?: VEC_PUSH(p->group, (int)group - 1);
	}
	hmap_free(&groups);
	return r;
}

/* A name with letters says that they do the same; a role or an address may cover servers of all kinds. */
static bool named_alike(const struct fleet_server *s)
{
	_cleanup_free_ char *stem = server_role_stem(s->name);

	return !s->role && stem && server_role_stem_tells(stem);
}

static int divide_group(const struct fleet *f, size_t group, struct fleet_peers *p)
{
	_cleanup_free_ size_t *servers = calloc(f->servers.n + 1, sizeof(*servers));
	_cleanup_free_ int *part = calloc(f->servers.n + 1, sizeof(*part));
	size_t n = 0;
	int parts;

	if (!servers || !part)
		return -ENOMEM;
	for (size_t i = 0; i < f->servers.n; i++)
		if (p->group.v[i] == (int)group)
			servers[n++] = i;
	parts = n > 1 && !named_alike(&f->servers.v[servers[0]]) ? fleet_unlike_divide(f, servers, n, part) : 1;
	for (size_t i = 0; i < n && parts > 1; i++)
		if (part[i])
			p->group.v[servers[i]] = (int)p->groups + part[i] - 1;
	p->groups += parts > 1 ? (size_t)parts - 1 : 0;
	return parts < 0 ? parts : 0;
}

static int find_largest(struct fleet_peers *p)
{
	_cleanup_free_ size_t *members = calloc(p->groups + 1, sizeof(*members));

	if (!members)
		return -ENOMEM;
	for (size_t i = 0; i < p->group.n; i++)
		if (++members[p->group.v[i]] > p->largest)
			p->largest = members[p->group.v[i]];
	return 0;
}

int fleet_peers_find(const struct fleet *f, struct fleet_peers *ret)
{
	struct fleet_peers p = {};
	int r = group_by_key(f, &p);

	for (size_t group = 0, n = p.groups; group < n && r == 0; group++)
		r = divide_group(f, group, &p);
	r = r ?: find_largest(&p);
	if (r < 0) {
		fleet_peers_free(&p);
		return r;
	}
	*ret = p;
	return 0;
}

void fleet_relative_free(struct fleet_relative *r)
{
	for (size_t i = 0; r->v && i < r->n; i++)
		free(r->v[i]);
	free(r->v);
	r->v = NULL;
}

/* One group's members, and where each one's row lies next to a time. */
struct member {
	size_t server;
	const float *v;
	double level;
	uint32_t row; /* cursor: times are asked for in order */
};

struct group_members {
	VEC(struct member) list;
	bool one_clock; /* all have rows at the same times */
	VEC(int64_t) clock; /* moments at which some member has a row, whole intervals apart */
};

static int find_members(const struct fleet *f, const struct fleet_peers *p, const struct fleet_baseline_rows *usual, int group,
			size_t counter, struct select_room *room, struct group_members *ret)
{
	for (size_t i = 0; i < f->servers.n; i++) {
		struct member m = {i, f->servers.v[i].column[counter], 0, 0};

		if (p->group.v[i] != group || !m.v || fleet_baseline_median(m.v, &usual[i], room, &m.level) < 0 || m.level == 0)
			continue;
		if (VEC_PUSH(ret->list, m) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool share_times(const struct fleet *f, const struct group_members *g)
{
	const struct fleet_server *first = &f->servers.v[g->list.v[0].server];

	for (size_t i = 1; i < g->list.n; i++) {
		const struct fleet_server *s = &f->servers.v[g->list.v[i].server];

		if (s->n != first->n || memcmp(s->time, first->time, s->n * sizeof(*s->time)) != 0)
			return false;
	}
	return true;
}

/* The row nearest to a time, within an interval; cursors go forward only. */
static float value_near(const struct fleet *f, struct member *m, int64_t time)
{
	const struct fleet_server *s = &f->servers.v[m->server];

	while (m->row + 1 < s->n && llabs(s->time[m->row + 1] - time) <= llabs(s->time[m->row] - time))
		m->row++;
	if (m->row >= s->n || llabs(s->time[m->row] - time) > f->interval)
		return NAN;
	return (float)((double)m->v[m->row] / m->level);
}

/* No member needs to be there all the time. From row to row, not from interval to interval: one row of a wrong year may be far
 * from all others. */
static int find_clock(const struct fleet *f, struct group_members *g)
{
	int64_t first = INT64_MAX, d = f->interval > 0 ? f->interval : 1, next;
	const struct fleet_server *any = &f->servers.v[g->list.v[0].server];

	g->one_clock = share_times(f, g);
	for (uint32_t row = 0; g->one_clock && row < any->n; row++)
		if (VEC_PUSH(g->clock, any->time[row]) < 0)
			return -ENOMEM;
	if (g->one_clock)
		return 0;
	for (size_t i = 0; i < g->list.n; i++) {
		const struct fleet_server *s = &f->servers.v[g->list.v[i].server];

		first = s->time[0] < first ? s->time[0] : first;
	}
	for (next = first; next != INT64_MAX;) {
		int64_t moment = first + (next - first + d / 2) / d * d;

		if (VEC_PUSH(g->clock, moment) < 0)
			return -ENOMEM;
		next = INT64_MAX;
		VEC_EACH(m, g->list) {
			const struct fleet_server *s = &f->servers.v[m->server];

			while (m->row < s->n && s->time[m->row] - moment < d - d / 2)
				m->row++;
			if (m->row < s->n && s->time[m->row] < next)
				next = s->time[m->row];
		}
	}
	for (size_t i = 0; i < g->list.n; i++)
		g->list.v[i].row = 0;
	return 0;
}

/* The members' common value at a moment, and how much of a distance from it counts. */
struct moment {
	float common, counts;
};

/* The peers' median at each moment of the clock. A moment at which half of them are farther apart than they normally are (SCATTERED times) tells less:
 * a job that all of them run, though not in the same row, or an incident that all have. */
static int find_common(const struct fleet *f, struct group_members *g, float *values, struct moment *moments)
{
	_cleanup_free_ float *spreads = malloc((g->clock.n + 1) * sizeof(*spreads));
	size_t kept = 0;
	float usual;

	if (!spreads)
		return -ENOMEM;
	for (size_t k = 0; k < g->clock.n; k++) {
		size_t n = 0;

		VEC_EACH(m, g->list) {
			float x = g->one_clock ? (float)((double)m->v[k] / m->level) : value_near(f, m, g->clock.v[k]);

			values[n] = x;
			n += !isnan(x);
		}
		moments[k] = (struct moment){n >= FLEET_PEERS_MIN ? columns_select(values, n, n / 2) : NAN, 0};
		for (size_t i = 0; i < n; i++)
			values[i] = fabsf(values[i] - moments[k].common);
		if (n >= FLEET_PEERS_MIN)
			spreads[kept++] = moments[k].counts = columns_select(values, n, n / 2);
	}
	usual = kept ? SCATTERED * columns_select(spreads, kept, kept / 2) : 0;
	for (size_t k = 0; k < g->clock.n; k++)
		moments[k].counts = usual > 0 && moments[k].counts > usual ? usual / moments[k].counts : 1;
	return 0;
}

static float relative_to(const struct member *m, float v, const struct moment *at)
{
	return (float)((double)v / m->level - (double)at->common) * at->counts;
}

static void subtract_rows(const struct member *m, const struct moment *moments, uint32_t n, float *to)
{
	for (uint32_t row = 0; row < n; row++)
		to[row] = relative_to(m, m->v[row], &moments[row]);
}

/* The same by the nearest moments of the clock. */
static void subtract_nearest(const struct fleet_server *s, const struct member *m, const struct group_members *g, const struct moment *moments, float *to)
{
	for (size_t row = 0, k = 0; row < s->n; row++) {
		while (k + 1 < g->clock.n && llabs(g->clock.v[k + 1] - s->time[row]) <= llabs(g->clock.v[k] - s->time[row]))
			k++;
		to[row] = relative_to(m, m->v[row], &moments[k]);
	}
}

static int subtract(const struct fleet *f, const struct group_members *g, const struct moment *moments, float **to)
{
	VEC_EACH(m, g->list) {
		const struct fleet_server *s = &f->servers.v[m->server];
		float *v = malloc(((size_t)s->n + 1) * sizeof(*v));

		if (!v)
			return -ENOMEM;
		to[m->server] = v;
		if (g->one_clock)
			subtract_rows(m, moments, s->n, v);
		else
			subtract_nearest(s, m, g, moments, v);
	}
	return 0;
}

static int one_group(const struct fleet *f, const struct fleet_peers *p, const struct fleet_baseline_rows *usual, int group, size_t counter,
		     struct select_room *room, struct fleet_relative *ret)
{
	struct group_members g = {};
	_cleanup_free_ float *values = malloc((f->servers.n + 1) * sizeof(*values));
	_cleanup_free_ struct moment *moments = NULL;
	int r = values ? find_members(f, p, usual, group, counter, room, &g) : -ENOMEM;

	if (r == 0 && g.list.n >= FLEET_PEERS_MIN) {
		r = find_clock(f, &g);
		moments = r == 0 ? malloc((g.clock.n + 1) * sizeof(*moments)) : NULL;
		r = moments ? find_common(f, &g, values, moments) : -ENOMEM;
		r = r ?: subtract(f, &g, moments, ret->v);
	}
	VEC_FREE(g.clock);
	VEC_FREE(g.list);
	return r;
}

int fleet_relative_find(const struct fleet *f, const struct fleet_peers *p, const struct fleet_baseline_rows *usual, size_t counter,
			struct select_room *room, struct fleet_relative *ret)
{
	struct fleet_relative relative = {calloc(f->servers.n + 1, sizeof(float *)), f->servers.n};
	_cleanup_free_ size_t *members = calloc(p->groups + 1, sizeof(*members));
	int r = relative.v && members ? 0 : -ENOMEM;

	for (size_t i = 0; i < f->servers.n && r == 0; i++)
		members[p->group.v[i]]++;
	for (size_t group = 0; group < p->groups && r == 0; group++)
		if (members[group] >= FLEET_PEERS_MIN)
			r = one_group(f, p, usual, (int)group, counter, room, &relative);
	if (r < 0) {
		fleet_relative_free(&relative);
		return r;
	}
	*ret = relative;
	return 0;
}
