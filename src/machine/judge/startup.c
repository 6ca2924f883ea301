#include "machine/judge/startup.h"

#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"

#define BIRTH_SLACK (2 * NS_PER_SEC) /* the first sample of a process comes up to a tick after its start */
#define AGE_SLACK   (NS_PER_SEC / 2) /* ticks of two starts do not fall on the same ages */

/* Ticks [first, last] in which some process of the program was there. */
struct run {
	uint32_t first, last;
	bool born; /* its beginning was recorded */
};

static bool is_born(const struct dataset *d, const struct subject *s)
{
	const struct moment *m = &d->ticks.v[s->first];

	return s->info.start && (int64_t)s->info.start >= m->boot - m->span - BIRTH_SLACK;
}

ORDER_OF_POINTERS(by_first, struct subject, ASCENDING(first) ?: ASCENDING(last))

/* Came after an end of the run: also where the recorder did not see the time between. */
static bool is_later(const struct dataset *d, const struct subject *s, const struct run *run)
{
	return s->first > run->last + 1 || (int64_t)s->info.start > d->ticks.v[run->last].boot + BIRTH_SLACK;
}

/* Returns how many there are, in order of time; none without memory. */
static size_t find_runs(const struct dataset *d, const struct subject *const *members, size_t n, struct run *ret)
{
	_cleanup_free_ const struct subject **sorted = calloc(n, sizeof(*sorted));
	size_t runs = 0;

	if (!sorted)
		return 0;
	for (size_t i = 0; i < n; i++)
		sorted[i] = members[i];
	qsort(sorted, n, sizeof(*sorted), by_first);
	for (size_t i = 0; i < n; i++) {
		const struct subject *s = sorted[i];

		if (!runs || is_later(d, s, &ret[runs - 1]))
			ret[runs++] = (struct run){s->first, s->last, is_born(d, s)};
		else if (s->last > ret[runs - 1].last)
			ret[runs - 1].last = s->last;
	}
	return runs;
}

/* The tick in which a start that began at `start` had an age, or -1: the recording stopped or the machine started anew
 * before it had. */
static int64_t tick_of_age(const struct dataset *d, uint32_t start, int64_t age, uint32_t most)
{
	int64_t at = d->ticks.v[start].boot + age - AGE_SLACK;
	uint32_t t = start;

	for (; t <= most && d->ticks.v[t].boot < at; t++)
		if (t > start && d->ticks.v[t].span == 0)
			return -1;
	return t <= most && (t == start || d->ticks.v[t].span) ? (int64_t)t : -1;
}

static bool any_excluded(const bool *excluded, uint32_t from, uint32_t to)
{
	for (uint32_t t = from; excluded && t <= to; t++)
		if (excluded[t])
			return true;
	return false;
}

static void add_earlier(const struct dataset *d, const struct earlier_start *e, const struct startup_past *past,
			struct startup *s)
{
	int64_t from = tick_of_age(d, e->start, s->from, (uint32_t)past->to);
	int64_t to = tick_of_age(d, e->start, s->to, (uint32_t)past->to);

	if (s->n == STARTUP_EARLIER || from < 0 || to < 0 || any_excluded(past->excluded, e->start, (uint32_t)to))
		return;
	s->earlier[s->n] = *e;
	s->earlier[s->n].from = (uint32_t)from;
	s->earlier[s->n++].to = (uint32_t)to;
}

bool startup_find(const struct dataset *d, const struct subject *const *members, size_t n, uint32_t focus, uint32_t at,
		  struct startup *ret)
{
	_cleanup_free_ struct run *runs = calloc(n + 1, sizeof(*runs));
	struct startup s = {};
	size_t last;

	if (!runs)
		return false;
	last = find_runs(d, members, n, runs);
	while (last > 0 && runs[last - 1].first > at)
		last--;
	/* one run, and nothing else of the program in the trouble */
	if (!last-- || !runs[last].born || runs[last].last < focus || (last > 0 && runs[last - 1].last >= focus))
		return false;
	s.start = runs[last].first;
	s.from = s.start < focus ? d->ticks.v[focus].boot - d->ticks.v[s.start].boot : 0;
	s.to = d->ticks.v[at].boot - d->ticks.v[s.start].boot;
	if (s.from > STARTUP_LAST || s.to < 0)
		return false;
	*ret = s;
	return true;
}

void startup_add_earlier(const struct dataset *d, const struct subject *const *members, size_t n,
			 const struct startup_past *past, struct startup *s)
{
	_cleanup_free_ struct run *runs = calloc(n + 1, sizeof(*runs));
	size_t i = runs && past->to >= past->from ? find_runs(d, members, n, runs) : 0;

	while (i-- > 0) {
		struct earlier_start e = {.members = members, .n_members = n, .start = runs[i].first};

		if (runs[i].born && runs[i].first >= past->from && runs[i].first < s->start)
			add_earlier(d, &e, past, s);
	}
}

double startup_value(const struct dataset *d, const struct earlier_start *e, size_t feature, double seconds)
{
	double sum = 0;
	bool any = false;

	for (size_t i = 0; i < e->n_members; i++) {
		const struct subject *m = e->members[i];
		double value = 0;

		if (!subject_has(m, feature))
			continue;
		any = true;
		if (m->features[feature].kind == COUNTER)
			value = m->first <= e->to && m->last >= e->from ?
					subject_growth(d, m, feature, e->from, e->to) / seconds :
					0;
		else if (m->first <= e->to && m->last >= e->to)
			value = subject_value(d, m, feature, e->to);
		sum += isnan(value) ? 0 : value;
	}
	return any ? sum : NAN;
}
