#include "analysis/fleet/fleet-peers.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"

void fleet_peers_free(struct fleet_peers *p)
{
	VEC_FREE(p->group);
}

/* A part between '-', '_' or '.' that tells one of many from the next: what Kubernetes or a cloud made up (letters and digits mixed, or
 * five letters without a vowel), or a single letter (node-a, us-east-1a). */
static bool tells_apart(const char *part, size_t n)
{
	size_t digits = 0, vowels = 0;

	for (size_t i = 0; i < n; i++) {
		digits += isdigit((unsigned char)part[i]) != 0;
		vowels += strchr("aeiou", tolower((unsigned char)part[i])) != NULL;
	}
	return n - digits == 1 || (n >= 5 && ((digits && digits < n) || !vowels));
}

char *fleet_name_stem(const char *name)
{
	char *stem = malloc(strlen(name) + 1), *to = stem;
	const char *p = name;

	while (stem && *p) {
		size_t n = strcspn(p, "-_.:");

		if (p == name || !tells_apart(p, n))
			for (size_t i = 0; i < n; i++)
				if (!isdigit((unsigned char)p[i]))
					*to++ = p[i];
		p += n;
		if (*p)
			*to++ = *p++;
	}
	if (stem)
		*to = 0;
	return stem;
}

static uint64_t measured_alike(const struct fleet *f, const struct fleet_server *s)
{
	uint64_t hash = 0;

	for (size_t c = 0; c < f->counters.n; c++)
		hash = hash * 31 + (s->column[c] != NULL);
	return hash;
}

/* Servers whose name has the stem of `of`. */
static size_t count_stem(const struct fleet *f, const char *of)
{
	size_t n = 0;

	for (size_t i = 0; i < f->servers.n; i++) {
		_cleanup_free_ char *stem = fleet_name_stem(f->servers.v[i].name);

		n += stem && strcmp(stem, of) == 0;
	}
	return n;
}

/* Whether roles tell servers apart. One that all have (Prometheus' job of an exporter that runs on every host) does not, where
 * names do: at least FLEET_PEERS_MIN are of one stem, and not all. */
static bool roles_count(const struct fleet *f)
{
	size_t n = 0;

	for (size_t i = 1; i < f->servers.n; i++)
		if (!f->servers.v[0].role || !f->servers.v[i].role || strcmp(f->servers.v[0].role, f->servers.v[i].role) != 0)
			return true;
	for (size_t i = 0; i < f->servers.n && i < FLEET_PEERS_MIN * FLEET_PEERS_MIN && n < FLEET_PEERS_MIN; i++) {
		_cleanup_free_ char *stem = fleet_name_stem(f->servers.v[i].name);

		n = stem ? count_stem(f, stem) : 0;
	}
	return n < FLEET_PEERS_MIN || n == f->servers.n;
}

static uint64_t key_of(const struct fleet *f, const struct fleet_server *s, bool by_role, uint64_t *ret_second)
{
	const char *role = by_role ? s->role : NULL;
	_cleanup_free_ char *stem = role ? NULL : fleet_name_stem(s->name);

	*ret_second = role ? 0 : measured_alike(f, s);
	return hmap_hash_text(role ? role : stem ? stem : s->name);
}

int fleet_peers_find(const struct fleet *f, struct fleet_peers *ret)
{
	struct fleet_peers p = {};
	struct hmap groups = {};
	_cleanup_free_ size_t *members = calloc(f->servers.n + 1, sizeof(*members));
	bool by_role = roles_count(f);
	int r = members ? 0 : -ENOMEM;

	for (size_t i = 0; i < f->servers.n && r == 0; i++) {
		uint64_t second, key = key_of(f, &f->servers.v[i], by_role, &second);
		uintptr_t group = (uintptr_t)hmap_get(&groups, key, second);

		if (!group) {
			group = ++p.groups;
			r = hmap_put(&groups, key, second, (void *)group);
		}
		if (r == 0)
			r = VEC_PUSH(p.group, (int)group - 1);
		if (++members[group - 1] > p.largest)
			p.largest = members[group - 1];
	}
	hmap_free(&groups);
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
	VEC(int64_t) clock; /* moments at which some member has a row, whole intervals apart */
};

static int find_members(const struct fleet *f, const struct fleet_peers *p, const struct fleet_baseline_rows *usual, int group,
			size_t counter, struct select_room *room, struct group_members *ret)
{
	for (size_t i = 0; i < f->servers.n; i++) {
		struct member m = {i, f->servers.v[i].column[counter], 0, 0};
		struct fleet_baseline u;

		if (p->group.v[i] != group || !m.v || fleet_baseline_find(m.v, &usual[i], room, &u) < 0 || u.median == 0)
			continue;
		m.level = u.median;
		if (VEC_PUSH(ret->list, m) < 0)
			return -ENOMEM;
	}
	return 0;
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

	for (size_t i = 0; i < g->list.n; i++) {
		const struct fleet_server *s = &f->servers.v[g->list.v[i].server];

		first = s->time[0] < first ? s->time[0] : first;
	}
	for (next = first; next != INT64_MAX;) {
		int64_t moment = first + (next - first + d / 2) / d * d;

		if (VEC_PUSH(g->clock, moment) < 0)
			return -ENOMEM;
		next = INT64_MAX;
		for (size_t i = 0; i < g->list.n; i++) {
			struct member *m = &g->list.v[i];
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

/* The peers' median at each moment of the clock. */
static void find_common(const struct fleet *f, struct group_members *g, float *values, float *common)
{
	for (size_t k = 0; k < g->clock.n; k++) {
		size_t n = 0;

		for (size_t i = 0; i < g->list.n; i++) {
			float x = value_near(f, &g->list.v[i], g->clock.v[k]);

			values[n] = x;
			n += !isnan(x);
		}
		common[k] = n >= FLEET_PEERS_MIN ? columns_select(values, n, n / 2) : NAN;
	}
}

static int subtract(const struct fleet *f, const struct group_members *g, const float *common, float **to)
{
	for (size_t i = 0; i < g->list.n; i++) {
		const struct member *m = &g->list.v[i];
		const struct fleet_server *s = &f->servers.v[m->server];
		float *v = malloc(((size_t)s->n + 1) * sizeof(*v));

		if (!v)
			return -ENOMEM;
		to[m->server] = v;
		for (size_t row = 0, k = 0; row < s->n; row++) {
			while (k + 1 < g->clock.n && llabs(g->clock.v[k + 1] - s->time[row]) <= llabs(g->clock.v[k] - s->time[row]))
				k++;
			v[row] = (float)((double)m->v[row] / m->level) - common[k];
		}
	}
	return 0;
}

static int one_group(const struct fleet *f, const struct fleet_peers *p, const struct fleet_baseline_rows *usual, int group, size_t counter,
		     struct select_room *room, struct fleet_relative *ret)
{
	struct group_members g = {};
	_cleanup_free_ float *values = malloc((f->servers.n + 1) * sizeof(*values)), *common = NULL;
	int r = values ? find_members(f, p, usual, group, counter, room, &g) : -ENOMEM;

	if (r == 0 && g.list.n >= FLEET_PEERS_MIN) {
		r = find_clock(f, &g);
		common = r == 0 ? malloc((g.clock.n + 1) * sizeof(*common)) : NULL;
		if (common) {
			find_common(f, &g, values, common);
			r = subtract(f, &g, common, ret->v);
		} else {
			r = -ENOMEM;
		}
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
