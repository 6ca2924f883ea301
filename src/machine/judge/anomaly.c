#include "machine/judge/anomaly.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"

#define DAY	     1440 /* minutes */
#define P90_OF_SIGMA 1.2816f

ORDER(by_value, float, CMP(*a, *b))

/* Of n values of which all but those listed are 0. */
static float quantile(const float *sorted, size_t listed, size_t n, double q)
{
	const size_t at = (size_t)(q * (double)(n - 1) + 0.5), zeros = n - listed;

	return at < zeros ? 0 : sorted[at - zeros];
}

static int measure(struct minute_series *s, uint32_t n_recorded)
{
	_cleanup_free_ float *sorted = malloc((s->values.n + 1) * sizeof(*sorted));
	const size_t n = n_recorded > s->values.n ? n_recorded : s->values.n;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < s->values.n; i++)
		sorted[i] = s->values.v[i].value;
	if (s->values.n)
		qsort(sorted, s->values.n, sizeof(*sorted), by_value);
	s->median = n ? quantile(sorted, s->values.n, n, 0.5) : 0;
	s->spread = n ? fmaxf((quantile(sorted, s->values.n, n, 0.9) - s->median) / P90_OF_SIGMA, s->floor) : s->floor;
	return 0;
}

static bool reached_around(const struct minute_series *s, uint32_t minute, float value)
{
	const uint32_t from = minute > ANOMALY_AROUND ? minute - ANOMALY_AROUND : 0;

	for (size_t i = FIRST_WHERE(k, s->values.n, s->values.v[k].minute >= from);
	     i < s->values.n && s->values.v[i].minute <= minute + ANOMALY_AROUND; i++)
		if (s->values.v[i].value >= value)
			return true;
	return false;
}

/* On how many other days it was so, too, of those that were recorded at that time. */
static bool is_daily(const struct minute_series *s, const bool *recorded, uint32_t n, uint32_t minute, float value)
{
	unsigned days = 0, alike = 0;

	for (uint32_t at = minute % DAY; at < n; at += DAY) {
		if (at == minute || !recorded[at])
			continue;
		days++;
		alike += reached_around(s, at, ANOMALY_ALIKE * value);
	}
	return alike >= 2 && 2 * alike >= days;
}

int anomaly_judge(struct minute_series *s, uint32_t index, const bool *recorded, uint32_t n, struct minute_score *best)
{
	uint32_t n_recorded = 0;
	int r;

	for (uint32_t i = 0; i < n; i++)
		n_recorded += recorded[i];
	r = measure(s, n_recorded);
	for (size_t i = 0; i < s->values.n && r == 0; i++) {
		const struct minute_value *v = &s->values.v[i];
		float score = fminf((v->value - s->median) / s->spread, ANOMALY_MOST);

		if (v->minute >= n || score <= best[v->minute].score)
			continue;
		if (score >= ANOMALY_ODD && is_daily(s, recorded, n, v->minute, v->value))
			continue;
		best[v->minute] = (struct minute_score){score, v->value, index};
	}
	return r;
}

static float worst(const struct minute_score *machine, const struct minute_score *programs, uint32_t i)
{
	return fmaxf(machine[i].score, programs[i].score);
}

ORDER(by_score, struct anomaly_episode, DESCENDING(score) ?: ASCENDING(from))

static int end_episode(struct anomaly_episodes *ret, struct anomaly_episode *e, float beyond)
{
	int r;

	if (e->from == e->to)
		return 0;
	e->score = ANOMALY_ODD + beyond / sqrtf((float)(e->to - e->from));
	r = VEC_PUSH(ret->list, *e);
	e->from = e->to;
	return r;
}

int anomaly_find_episodes(const struct minute_score *machine, const struct minute_score *programs, uint32_t n, struct anomaly_episodes *ret)
{
	struct anomaly_episode e = {};
	float beyond = 0;
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++) {
		const float score = worst(machine, programs, i);

		if (score < ANOMALY_ODD)
			continue;
		if (e.from == e.to || i - e.to >= ANOMALY_GAP) {
			r = end_episode(ret, &e, beyond);
			e = (struct anomaly_episode){.from = i, .peak = i};
			beyond = 0;
		}
		e.to = i + 1;
		beyond += score - ANOMALY_ODD;
		e.peak = score > worst(machine, programs, e.peak) ? i : e.peak;
	}
	r = r ?: end_episode(ret, &e, beyond);
	if (r == 0 && ret->list.n)
		VEC_SORT(ret->list, by_score);
	return r;
}
