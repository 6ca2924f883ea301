#include "spans/gate/span-comparison.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "spans/compare/span-cause.h"
#include "spans/compare/span-change.h"
#include "spans/compare/span-deployed.h"
#include "spans/compare/span-saturation.h"
#include "spans/compare/span-since.h"
#include "spans/compare/suspect.h"
#include "spans/descent/descent.h"
#include "spans/gate/span-errors.h"

#define VERSIONS_LISTED 1000 /* characters */

int span_comparison_init(const struct comparison_query *q, struct span_comparison *ret)
{
	*ret = (struct span_comparison){.names = names_new()};
	return ret->names ? forest_init(&ret->forest, ret->names, q->slot) : -ENOMEM;
}

void span_comparison_free(struct span_comparison *c)
{
	descent_free(&c->descent);
	span_change_free(&c->change);
	forest_free(&c->forest);
	FREE_ALL(c->before, c->after);
	suspects_free(&c->suspects);
	span_causes_free(&c->causes);
	span_errors_free(&c->errors);
	span_deployed_free(&c->deployed);
	deployments_free(&c->deployments);
	names_free(c->names);
}

int span_comparison_restart(const struct comparison_query *q, struct span_comparison *c)
{
	forest_free(&c->forest);
	FREE_ALL(c->before, c->after);
	c->before = c->after = NULL;
	c->seconds[0] = c->seconds[1] = 0;
	return forest_init(&c->forest, c->names, q->slot);
}

/* Between the first and the last request that is chosen; versions: set, 0 = any. */
static double seconds_of(const struct forest *f, const struct bucket_choice *choice, uint32_t versions)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	VEC_EACH(b, f->buckets) {
		for (size_t j = 0; bucket_is_chosen(choice, f, b) && j < b->groups.n; j++) {
			const struct forest_group *g = &b->groups.v[j];

			if (versions && g->versions != versions)
				continue;
			first = g->first_seen < first ? g->first_seen : first;
			last = g->last_seen > last ? g->last_seen : last;
		}
	}
	return last > first ? (double)(last - first) / NS_PER_SEC : 0;
}

/* --- by version --- */

struct version_choice {
	const struct forest *f;
	const struct comparison_query *q;
};

/* "1.4" (of any package) or "package=1.4". */
static bool has_version(const struct forest *f, const struct forest_group *g, const char *wanted)
{
	const struct attribute_set *set = names_get_set(f->names, g->versions);
	const char *equal = strchr(wanted, '=');

	for (uint32_t i = 0; i < set->n; i++) {
		const char *package = names_get(f->names, set->v[i].key), *version = names_get(f->names, set->v[i].value);

		if (equal && (strlen(package) != (size_t)(equal - wanted) || strncmp(package, wanted, strlen(package))))
			continue;
		if (!strcmp(version, equal ? equal + 1 : wanted))
			return true;
	}
	return false;
}

static enum span_side by_version(void *state, const struct bucket *b, const struct forest_group *g)
{
	const struct version_choice *c = state;
	const struct comparison_query *q = c->q;

	if (!bucket_is_chosen(&q->choice, c->f, b))
		return SIDE_NONE;
	if (q->candidate && has_version(c->f, g, q->candidate))
		return SIDE_CANDIDATE;
	if (!q->baseline)
		return SIDE_BASELINE;
	if (has_version(c->f, g, q->baseline))
		return SIDE_BASELINE;
	return q->candidate ? SIDE_NONE : SIDE_CANDIDATE;
}

/* Lists the versions there are, up to VERSIONS_LISTED. */
static void list_versions(const struct forest *f, struct str *out)
{
	uint32_t last = 0;

	for (size_t i = 0; i < f->buckets.n; i++)
		for (size_t j = 0; j < f->buckets.v[i].groups.n && out->len < VERSIONS_LISTED; j++) {
			const struct forest_group *g = &f->buckets.v[i].groups.v[j];
			_cleanup_free_ char *text = g->versions != last ? forest_set_text(f->names, g->versions) : NULL;

			if (text && (!out->len || !strstr(out->data, text)))
				str_printf(out, "\n  %s", *text ? text : "no version given");
			last = g->versions;
		}
	if (out->len >= VERSIONS_LISTED)
		str_puts(out, "\n  ...");
}

/* A version that no request ran is a mistake: lists those there are. */
static int check_version(const struct forest *f, const char *wanted, char **ret_error)
{
	_cleanup_str_ struct str there = {};

	if (!wanted)
		return 0;
	for (size_t i = 0; i < f->buckets.n; i++)
		for (size_t j = 0; j < f->buckets.v[i].groups.n; j++)
			if (has_version(f, &f->buckets.v[i].groups.v[j], wanted))
				return 0;
	list_versions(f, &there);
	return str_fail(ret_error, -ENODATA, "no request ran version '%s'; there are:%s", wanted, there.data ? there.data : "");
}

int span_comparison_by_version(const struct comparison_query *q, const struct forest *f, struct span_comparison *ret, char **ret_error)
{
	struct version_choice c = {f, q};

	if (check_version(f, q->baseline, ret_error) < 0 || check_version(f, q->candidate, ret_error) < 0)
		return -ENODATA;
	ret->before = strdup(q->baseline ? q->baseline : "all other versions");
	ret->after = strdup(q->candidate ? q->candidate : "all other versions");
	return ret->before && ret->after ? span_sides_of(f, by_version, &c, &ret->forest) : -ENOMEM;
}

/* --- by the version that is slower --- */

struct suspicion {
	const struct forest *f;
	const struct bucket_choice *choice;
	const struct suspect_version *suspect;
};

static enum span_side by_suspect(void *state, const struct bucket *b, const struct forest_group *g)
{
	const struct suspicion *s = state;

	if (b != &s->f->buckets.v[s->suspect->bucket])
		return SIDE_NONE;
	return suspect_side(s->f, s->suspect, g);
}

static enum span_side by_suspect_anywhere(void *state, const struct bucket *b, const struct forest_group *g)
{
	const struct suspicion *s = state;

	return bucket_is_chosen(s->choice, s->f, b) ? suspect_side(s->f, s->suspect, g) : SIDE_NONE;
}

/* Where that version is slower: its requests of all buckets, against those of the other versions. */
static int find_causes_anywhere(const struct comparison_query *q, struct suspicion *s, struct span_comparison *ret)
{
	_cleanup_(forest_free) struct forest everywhere = {};
	int r = forest_init(&everywhere, s->f->names, q->slot);

	r = r ?: span_sides_of(s->f, by_suspect_anywhere, s, &everywhere);
	r = r ?: forest_finish(&everywhere);
	return r ?: span_causes_find(&everywhere, true, &ret->causes);
}

/* Was this version deployed while these requests ran, or shortly before? */
static bool was_deployed(const struct forest *f, const struct suspect_version *s, const struct deployments *d)
{
	const struct bucket *b = &f->buckets.v[s->bucket];
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < b->groups.n; i++) {
		first = b->groups.v[i].first_seen < first ? b->groups.v[i].first_seen : first;
		last = b->groups.v[i].last_seen > last ? b->groups.v[i].last_seen : last;
	}
	for (size_t i = 0; i < d->list.n; i++)
		if (d->list.v[i].time >= first - DEPLOYED_LEAD && d->list.v[i].time <= last &&
		    !strcmp(d->list.v[i].package, names_get(f->names, s->package)) && !strcmp(d->list.v[i].version, names_get(f->names, s->version)))
			return true;
	return false;
}

/* The candidates begin with what changed; otherwise they stay in their order. */
static void deployed_first(const struct forest *f, struct suspects *s, const struct deployments *d)
{
	size_t front = 0;

	for (size_t i = 0; i < s->list.n; i++) {
		struct suspect_version one = s->list.v[i];

		one.deployed = was_deployed(f, &one, d);
		if (one.deployed) {
			memmove(&s->list.v[front + 1], &s->list.v[front], (i - front) * sizeof(one));
			s->list.v[front++] = one;
		}
	}
}

int span_comparison_by_suspect(const struct comparison_query *q, const struct forest *f, struct span_comparison *ret)
{
	struct suspicion s = {.f = f, .choice = &q->choice};
	struct version_choice all = {f, q};
	int r = suspects_find(f, &q->choice, &ret->suspects);

	if (r < 0)
		return r;
	deployed_first(f, &ret->suspects, &ret->deployments);
	if (!ret->suspects.list.n && !span_since_worst(f, &q->choice, &ret->changed))
		ret->changed = (struct span_since){};
	s.suspect = ret->suspects.list.n ? &ret->suspects.list.v[0] : ret->suspects.silent.n && !ret->changed.since ? &ret->suspects.silent.v[0] : NULL;
	if (!s.suspect) {
		suspects_translate(&ret->suspects, f->names, ret->names);
		return span_sides_of(f, by_version, &all, &ret->forest);
	}
	if (asprintf(&ret->after, "%s %s", names_get(f->names, s.suspect->package), names_get(f->names, s.suspect->version)) < 0 ||
	    asprintf(&ret->before, "other versions of %s", names_get(f->names, s.suspect->package)) < 0)
		return -ENOMEM;
	r = s.suspect->slower ? find_causes_anywhere(q, &s, ret) : 0;
	r = r ?: span_sides_of(f, by_suspect, &s, &ret->forest);
	suspects_translate(&ret->suspects, f->names, ret->names);
	return r;
}

/* --- by time, by files --- */

int span_comparison_add(const struct comparison_query *q, const struct forest *f, enum span_side side, struct span_comparison *ret)
{
	ret->seconds[side == SIDE_CANDIDATE] += seconds_of(f, &q->choice, 0);
	return span_sides_add(&ret->forest, f, side, &q->choice);
}

int span_comparison_name_times(const struct span_since *times, struct span_comparison *c)
{
	char when[32], end[32];

	clock_format_rfc3339(times->from, when, sizeof(when));
	if (asprintf(&c->after, "since %s%s%s", when, times->to ? " until " : "",
		     times->to ? clock_format_rfc3339(times->to, end, sizeof(end)) : "") < 0)
		return -ENOMEM;
	clock_format_rfc3339(times->against_to, end, sizeof(end));
	if (asprintf(&c->before, "%s%s%s%s", times->against_from ? "the same hours the day before, " : "before ",
		     times->against_from ? clock_format_rfc3339(times->against_from, when, sizeof(when)) : "", times->against_from ? " to " : "", end) < 0)
		return -ENOMEM;
	return 0;
}

/* --- judging --- */

/* The request of the sample that is nearest to the group's mean, at this vertex and as a whole. */
static const struct exemplar *typical_request(const struct forest_group *g, uint32_t vertex, double normally)
{
	double whole = moments_mean(&g->total);
	const struct exemplar *best = NULL;
	double distance = INFINITY;

	VEC_EACH(e, g->sample) {
		double away = fabs((double)exemplar_path(e, vertex, NULL) - normally) + fabs((double)e->duration - whole);

		if (away >= distance)
			continue;
		distance = away;
		best = e;
	}
	return best;
}

static void find_examples(struct span_change *c)
{
	VEC_EACH(b, c->buckets) {
		const struct vertex_change *v = b->vertices.n ? &b->vertices.v[0] : NULL;

		if (!v || !b->before || !b->after)
			continue;
		b->slow = typical_request(b->after, v->vertex, v->after);
		b->normal = typical_request(b->before, v->vertex, v->before);
	}
}

/* Sides that one forest has. */
static void find_seconds(struct span_comparison *c)
{
	for (int side = 0; side < 2; side++)
		if (c->seconds[side] == 0)
			c->seconds[side] = seconds_of(&c->forest, NULL, span_side_set(c->names, side ? SIDE_CANDIDATE : SIDE_BASELINE));
}

int span_comparison_judge(const struct comparison_query *q, struct span_comparison *c)
{
	bool slower;
	int r = forest_finish(&c->forest);

	find_seconds(c);
	r = r ?: span_change(&c->forest, q->least, q->level, &c->change);
	r = r ?: span_saturation_find(&c->forest, &c->change, c->seconds, &c->saturation);
	if (r < 0)
		return r;
	find_examples(&c->change);
	slower = span_is_regression(span_change_gate(&c->change));
	if (!c->suspects.list.n && slower)
		r = span_causes_find(&c->forest, c->suspects.compared > 0, &c->causes); /* a version would have been found before */
	r = r ?: span_errors_find(&c->forest, &c->errors);
	if (r == 0 && (c->suspects.list.n || slower))
		r = span_deployed_rank(&c->forest, &c->change, &c->deployments, &c->deployed);
	return r;
}

const struct exemplar *span_comparison_example(const struct span_comparison *c, uint32_t *ret_vertex)
{
	const struct bucket_change *b = c->change.buckets.n && span_is_regression(c->change.buckets.v[0].verdict) ? &c->change.buckets.v[0] : NULL;

	if (!b || !b->vertices.n || !b->after)
		return NULL;
	*ret_vertex = b->vertices.v[0].vertex;
	return *ret_vertex == NO_VERTEX ? NULL : descent_choose(b->after, *ret_vertex);
}
