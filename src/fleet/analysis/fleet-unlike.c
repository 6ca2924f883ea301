#include "fleet/analysis/fleet-unlike.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/model/server-role.h"
#include "lib/data/cleanup.h"
#include "lib/stat/columns.h"

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

static int by_level(const void *a, const void *b)
{
	float x = ((const struct level *)a)->v, y = ((const struct level *)b)->v;

	return x < y ? -1 : x > y;
}

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

int fleet_unlike_divide(const struct fleet *f, const size_t *servers, size_t n, int *ret_part)
{
	int by_metrics = divide_by_metrics(f, servers, n, ret_part), parts = by_metrics;

	for (int i = 0; i < by_metrics && parts >= 0; i++)
		parts = divide_by_levels(f, servers, n, i, parts, ret_part);
	return parts;
}
