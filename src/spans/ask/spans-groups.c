/* whyslow spans groups: the versions of each bucket against the older ones, or against all others; since when. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/order.h"
#include "spans/ask/spans.h"
#include "spans/compare/groups.h"
#include "spans/compare/span-deployed.h"
#include "spans/compare/span-since.h"
#include "spans/compare/span-strata.h"
#include "spans/forest/bucket-choice.h"

static struct version_group version_group_of(const struct forest_group *g)
{
	return (struct version_group){g->first_seen, moments_count(&g->total), moments_effective(&g->total), moments_mean(&g->total),
				      moments_variance(&g->total), g->sketch, g->last_seen};
}

struct versioned {
	char *text;
	size_t at; /* index into span_groups.groups */
};

ORDER(by_version, struct versioned, strverscmp(a->text, b->text))

static bool has_times(const struct span_groups *j, size_t first)
{
	for (size_t i = first + 1; i < j->n; i++)
		if (j->groups[i].first_seen != j->groups[first].first_seen)
			return true;
	return false;
}

/* Records without times all began at the same one: then a higher version (1.10 after 1.9) is the younger one. */
static int order_by_version(const struct forest *f, struct span_groups *j, size_t first)
{
	const size_t n = j->n - first;
	_cleanup_free_ struct versioned *list = has_times(j, first) ? NULL : calloc(n + 1, sizeof(*list));
	int r = 0;

	if (has_times(j, first))
		return 0;
	for (size_t i = 0; list && i < n; i++) {
		list[i] = (struct versioned){forest_set_text(f->names, j->group[first + i]->versions),
					     first + i};
		r = list[i].text ? r : -ENOMEM;
	}
	if (list && r == 0) {
		qsort(list, n, sizeof(*list), by_version);
		for (size_t i = 0; i < n; i++)
			j->groups[list[i].at].first_seen += (int64_t)i;
	}
	for (size_t i = 0; list && i < n; i++)
		free(list[i].text);
	return list ? r : -ENOMEM;
}

static int allocate(const struct forest *f, struct span_groups *j)
{
	size_t all = 1;

	for (size_t i = 0; i < f->buckets.n; i++)
		all += f->buckets.v[i].groups.n;
	j->bucket = calloc(all, sizeof(*j->bucket));
	j->group = calloc(all, sizeof(*j->group));
	j->groups = calloc(all, sizeof(*j->groups));
	j->judgements = calloc(all, sizeof(*j->judgements));
	j->outliers = calloc(all, sizeof(*j->outliers));
	j->since = calloc(all, sizeof(*j->since));
	return j->bucket && j->group && j->groups && j->judgements && j->outliers && j->since ? 0 : -ENOMEM;
}

static int judge_bucket(const struct forest *f, const struct bucket *b, const struct group_options *o, struct span_groups *j)
{
	size_t first = j->n;
	int r;

	for (size_t k = 0; k < b->groups.n; k++) {
		j->bucket[j->n] = b;
		j->group[j->n] = &b->groups.v[k];
		j->groups[j->n++] = version_group_of(&b->groups.v[k]);
	}
	if (j->n > first && !span_since_find(b, SINCE_LEVEL / (double)f->buckets.n, &j->since[first]))
		j->since[first] = (struct span_since){};
	r = order_by_version(f, j, first);
	r = r ?: (o->method == GROUPS_ROBUST ? strata_level(b, j->groups + first) : 0);
	j->levelled |= r > 0;
	return r < 0 ? r : groups_judge(j->groups + first, j->n - first, o, j->judgements + first);
}

static void find_outliers(struct span_groups *j, size_t i, struct version_group *older)
{
	const struct forest_group *g = j->group[i];
	struct group_outliers *out = &j->outliers[i];
	size_t n_older = 0;

	for (size_t k = 0; k < j->n; k++)
		if (j->bucket[k] == j->bucket[i] && j->groups[k].first_seen < j->groups[i].first_seen)
			older[n_older++] = j->groups[k];
	if (!n_older)
		older[n_older++] = j->groups[i];
	for (size_t k = 0; k < g->slowest.n && out->n < GROUP_OUTLIERS; k++) {
		double z = group_request_z((double)g->slowest.v[k].duration, older, n_older);

		if (z <= SDIAG_THRESHOLD || isnan(z))
			continue;
		out->v[out->n].request = &g->slowest.v[k];
		out->v[out->n++].z = z;
	}
}

/* --- versions over time --- */

static int add_times(const struct bucket *b, uint32_t package, uint32_t version, const struct names *names, struct span_groups *j)
{
	struct version_times t = {.bucket = b, .package = package, .version = version};
	int64_t last;

	if (!strata_times(b, &t.first, &last, &t.width))
		return 0;
	t.width *= (last - t.first) / t.width / VERSION_TIMES + 1;
	t.n = (size_t)((last - t.first) / t.width) + 1;
	t.v = calloc(t.n, sizeof(*t.v));
	for (size_t k = 0; t.v && k < b->groups.n; k++)
		if (attribute_set_value(names_get_set(names, b->groups.v[k].versions), package) == version)
			VEC_EACH(slot, b->groups.v[k].slots)
				moments_merge(&t.v[(slot->start - t.first) / t.width], &slot->total);
	return t.v ? VEC_PUSH_OWNER(j->times, t.v, t) : -ENOMEM;
}

static bool has_times_of(const struct span_groups *j, const struct bucket *b, const struct attribute *one)
{
	return VEC_FIND(x, j->times, x->bucket == b && x->package == one->key && x->version == one->value);
}

/* Has the bucket other versions of the package? */
static bool has_others(const struct forest *f, const struct bucket *b, const struct attribute *one)
{
	for (size_t i = 0; i < b->groups.n; i++) {
		uint32_t version = attribute_set_value(names_get_set(f->names, b->groups.v[i].versions), one->key);

		if (version && version != one->value)
			return true;
	}
	return false;
}

static int find_times(const struct forest *f, struct span_groups *j)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < j->n; i++) {
		const struct attribute_set *set = names_get_set(f->names, j->group[i]->versions);

		for (uint32_t k = 0; r == 0 && k < set->n; k++)
			if (!has_times_of(j, j->bucket[i], &set->v[k]) && has_others(f, j->bucket[i], &set->v[k]))
				r = add_times(j->bucket[i], set->v[k].key, set->v[k].value, f->names, j);
	}
	return r;
}

/* Keeps those of the time of these requests, and of shortly before. */
static void keep_deployments(struct span_groups *j)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	struct deployments kept = {};

	for (size_t i = 0; i < j->n; i++) {
		first = j->group[i]->first_seen < first ? j->group[i]->first_seen : first;
		last = j->group[i]->last_seen > last ? j->group[i]->last_seen : last;
	}
	VEC_EACH(d, j->deployments.list)
		if (first <= last && d->time >= first - DEPLOYED_LEAD && d->time <= last)
			(void)deployments_add(&kept, d);
	deployments_free(&j->deployments);
	j->deployments = kept;
}

/* `f` is finished and outlives *ret, which is to be freed in both cases. choice NULL = all buckets. 0 or -ENOMEM. */
static int span_groups_judge(const struct forest *f, const struct bucket_choice *choice, const struct group_options *o, struct span_groups *ret)
{
	_cleanup_free_ struct version_group *older = NULL;
	int r;

	*ret = (struct span_groups){.method = o->method};
	r = allocate(f, ret);
	for (size_t i = 0; r == 0 && i < f->buckets.n; i++)
		if (bucket_is_chosen(choice, f, &f->buckets.v[i]))
			r = judge_bucket(f, &f->buckets.v[i], o, ret);
	r = r ?: groups_correct(ret->judgements, ret->n, o);
	r = r ?: find_times(f, ret);
	older = calloc(ret->n + 1, sizeof(*older));
	for (size_t i = 0; r == 0 && older && i < ret->n; i++)
		find_outliers(ret, i, older);
	return r == 0 && !older ? -ENOMEM : r;
}

static int parse_method(const struct spans_query *q, enum group_method *ret)
{
	static const enum group_method methods[] = {GROUPS_ROBUST, GROUPS_SDIAG_OLDER, GROUPS_SDIAG_POOLED};

	*ret = GROUPS_ROBUST;
	if (!q->method)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		*ret = methods[i];
		if (!strcmp(group_method_name(methods[i]), q->method))
			return 0;
	}
	verb_usage_error("spans groups", "--method is %s, %s or %s, not '%s'",
			 group_method_name(GROUPS_ROBUST), group_method_name(GROUPS_SDIAG_OLDER),
			 group_method_name(GROUPS_SDIAG_POOLED), q->method);
	return -EINVAL;
}

static int status_of(const struct span_groups *j)
{
	for (size_t i = 0; i < j->n; i++)
		if (span_groups_is_slower(j, i))
			return EXIT_ANSWERED;
	return EXIT_NOTHING_FOUND;
}

int spans_groups(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	struct group_options o = {};
	struct span_groups j;
	struct names *names;
	struct forest f;
	int r = parse_method(q, &o.method), status = EXIT_CANNOT;

	if (r < 0)
		return EXIT_USAGE;
	r = spans_forest_of(common, q, (size_t)argc - 1, argv + 1, &names, &f);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	r = span_groups_judge(&f, &q->choice, &o, &j);
	if (r < 0)
		log_error("%s", strerror(-r));
	r = r ?: spans_deployments(common, q, argc == 1 && !q->input.engine, &j.deployments);
	if (r == 0) {
		keep_deployments(&j);
		status = status_of(&j);
	}
	if (r == 0 && common->json)
		spans_print_json(span_groups_json(&f, &j), 0);
	else if (r == 0)
		span_groups_text(&f, &j, q->top, stdout);
	span_groups_free(&j);
	forest_free(&f);
	names_free(names);
	return status;
}
