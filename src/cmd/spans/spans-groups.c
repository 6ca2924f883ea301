/* whyslow spans groups: the versions of each bucket against the older ones, or against all others; since when. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/span/groups.h"
#include "analysis/span/span-strata.h"
#include "analysis/span/span-since.h"
#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "base/data/log.h"
#include "cmd/spans/spans.h"
#include "view/why/json.h"

/* All buckets' groups side by side, so that q is over all of them. */
struct judged {
	const struct bucket **bucket;
	const struct group **group;
	struct version_group *groups;
	struct group_judgement *judgements;
	size_t n;
	bool levelled; /* by the times they ran at, in at least one bucket */
};

static void judged_free(struct judged *j)
{
	free(j->bucket);
	free(j->group);
	free(j->groups);
	free(j->judgements);
}

static int parse_method(enum group_method *ret)
{
	static const enum group_method methods[] = {GROUPS_ROBUST, GROUPS_SDIAG_OLDER, GROUPS_SDIAG_POOLED};

	*ret = GROUPS_ROBUST;
	if (!spans_arg.method)
		return 0;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		*ret = methods[i];
		if (!strcmp(group_method_name(methods[i]), spans_arg.method))
			return 0;
	}
	usage_error("spans groups", "--method is %s, %s or %s, not '%s'", group_method_name(GROUPS_ROBUST),
		    group_method_name(GROUPS_SDIAG_OLDER), group_method_name(GROUPS_SDIAG_POOLED), spans_arg.method);
	return -EINVAL;
}

static struct version_group version_group_of(const struct group *g)
{
	return (struct version_group){g->first_seen, moments_count(&g->total), moments_effective(&g->total), moments_mean(&g->total),
				      moments_variance(&g->total), g->sketch, g->last_seen};
}

struct versioned {
	char *text;
	size_t at; /* index into judged.groups */
};

static int by_version(const void *a, const void *b)
{
	const struct versioned *x = a, *y = b;

	return strverscmp(x->text, y->text);
}

static bool has_times(const struct judged *j, size_t first)
{
	for (size_t i = first + 1; i < j->n; i++)
		if (j->groups[i].first_seen != j->groups[first].first_seen)
			return true;
	return false;
}

/* Records without times all began at the same one: then a higher version (1.10 after 1.9) is the younger one. */
static int order_by_version(const struct forest *f, struct judged *j, size_t first)
{
	const size_t n = j->n - first;
	_cleanup_free_ struct versioned *list = has_times(j, first) ? NULL : calloc(n + 1, sizeof(*list));
	int r = 0;

	if (has_times(j, first))
		return 0;
	for (size_t i = 0; list && i < n; i++) {
		list[i] = (struct versioned){set_text(f->names, j->group[first + i]->versions), first + i};
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

static int judge(const struct forest *f, const struct group_options *o, struct judged *j)
{
	size_t all = 0;
	int r = 0;

	for (size_t i = 0; i < f->buckets.n; i++)
		all += f->buckets.v[i].groups.n;
	*j = (struct judged){calloc(all + 1, sizeof(*j->bucket)), calloc(all + 1, sizeof(*j->group)), calloc(all + 1, sizeof(*j->groups)),
			     calloc(all + 1, sizeof(*j->judgements)), 0, false};
	if (!j->bucket || !j->group || !j->groups || !j->judgements)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < f->buckets.n; i++) {
		const struct bucket *b = &f->buckets.v[i];
		size_t first = j->n;

		if (!spans_selected(f, b))
			continue;
		for (size_t k = 0; k < b->groups.n; k++) {
			j->bucket[j->n] = b;
			j->group[j->n] = &b->groups.v[k];
			j->groups[j->n++] = version_group_of(&b->groups.v[k]);
		}
		if (order_by_version(f, j, first) < 0)
			return -ENOMEM;
		r = o->method == GROUPS_ROBUST ? strata_level(b, j->groups + first) : 0;
		j->levelled |= r > 0;
		if (r >= 0)
			r = groups_judge(j->groups + first, j->n - first, o, j->judgements + first);
	}
	return r == 0 ? groups_correct(j->judgements, j->n, o) : r;
}

/* The bucket's mean over time, all versions together. */
static json_t *change_point_json(const struct forest *f, const struct bucket *b)
{
	struct span_since s;
	char when[32], again[32];
	json_t *o;

	if (!span_since_find(b, SINCE_LEVEL / (double)f->buckets.n, &s))
		return NULL;
	o = spans_bucket_json(f, b);
	json_object_update_new(o, json_pack("{s:s, s:s?, s:f, s:f, s:f}", "since", format_rfc3339(s.since, when, sizeof(when)), "until",
					    s.until ? format_rfc3339(s.until, again, sizeof(again)) : NULL, "before_ns", s.change.before,
					    "during_ns", s.change.during, "p", s.change.p));
	return o;
}

static void print_change_point(const struct forest *f, const struct bucket *b)
{
	struct span_since s;
	char x[24], y[24], when[32], again[32];

	if (!span_since_find(b, SINCE_LEVEL / (double)f->buckets.n, &s))
		return;
	printf("  all versions together: %s since %s, was %s (p = %.2g)", spans_duration(s.change.during, x),
	       format_local(s.since, when, sizeof(when)), spans_duration(s.change.before, y), s.change.p);
	if (s.until)
		printf(", until %s", format_local(s.until, again, sizeof(again)));
	putchar('\n');
}

static void print_flags(unsigned flags)
{
	if (flags & GROUP_OUTLIER)
		printf(flags & GROUP_FASTER ? "  faster" : "  SLOWER");
	if (flags & GROUP_CANNOT_EXCEED)
		printf("  (of fewer than %d groups none can exceed z = 3)", SDIAG_POOLED_LEAST);
	if (flags & GROUP_TOO_FEW)
		printf("  (too few requests)");
	if (flags & GROUP_NO_REFERENCE)
		printf("  (nothing to compare with)");
}

/* A request far off what the older versions' requests are; of the oldest version, off its own. */
struct outlier_request {
	const struct exemplar *e;
	double z;
};

#define OUTLIERS 3 /* of one group */

static size_t outlier_requests(const struct judged *j, size_t i, struct outlier_request ret[OUTLIERS])
{
	const struct group *g = j->group[i];
	struct version_group *older = calloc(j->n + 1, sizeof(*older));
	size_t n_older = 0, n = 0;

	for (size_t k = 0; older && k < j->n; k++)
		if (j->bucket[k] == j->bucket[i] && j->groups[k].first_seen < j->groups[i].first_seen)
			older[n_older++] = j->groups[k];
	if (older && !n_older)
		older[n_older++] = j->groups[i];
	for (size_t k = 0; n_older && k < g->slowest.n && n < OUTLIERS; k++) {
		double z = request_z((double)g->slowest.v[k].duration, older, n_older);

		if (z > SDIAG_THRESHOLD)
			ret[n++] = (struct outlier_request){&g->slowest.v[k], z};
	}
	free(older);
	return n;
}

static void print_requests(const struct forest *f, const struct judged *j, size_t i)
{
	struct outlier_request list[OUTLIERS];
	size_t n = outlier_requests(j, i, list);
	char id[33], x[24];

	for (size_t k = 0; k < n; k++)
		printf("           outlier request %s: %s, z = %.1f\n", trace_id_text(f->names, list[k].e->high, list[k].e->low, id),
		       spans_duration((double)list[k].e->duration, x), list[k].z);
}

static json_t *requests_json(const struct forest *f, const struct judged *j, size_t i)
{
	struct outlier_request list[OUTLIERS];
	size_t n = outlier_requests(j, i, list);
	json_t *out = json_array();
	char id[33];

	for (size_t k = 0; k < n; k++)
		json_array_append_new(out, json_pack("{s:s, s:I, s:f}", "trace", trace_id_text(f->names, list[k].e->high, list[k].e->low, id),
						     "duration_ns", (json_int_t)list[k].e->duration, "z", list[k].z));
	return out;
}

/* Packages of which the bucket's groups have different versions; the others are the same everywhere. */
static char *differing_versions(const struct forest *f, const struct bucket *b, const struct group *g)
{
	const struct attribute_set *set = names_get_set(f->names, g->versions);
	_cleanup_free_ struct attribute *v = calloc(set->n + 1, sizeof(*v));
	size_t n = 0;

	for (uint32_t i = 0; v && i < set->n; i++) {
		bool same = b->groups.n > 1;

		for (size_t k = 0; same && k < b->groups.n; k++)
			same = set_value(names_get_set(f->names, b->groups.v[k].versions), set->v[i].key) == set->v[i].value;
		if (!same)
			v[n++] = set->v[i];
	}
	return spans_versions_label(f, n ? names_set(f->names, 0, v, n) : g->versions);
}

static const char *figure_text(double value, char *buf, size_t n)
{
	snprintf(buf, n, isnan(value) ? "-" : "%.2g", value);
	return buf;
}

static void print_group(const struct forest *f, const struct judged *j, size_t i)
{
	const struct group_judgement *x = &j->judgements[i];
	_cleanup_free_ char *versions = differing_versions(f, j->bucket[i], j->group[i]);
	char when[32], a[24], b[24], q[24], z[24] = "-", effect[24] = "-  ";

	if (!isnan(x->z))
		snprintf(z, sizeof(z), "%.2f", x->z);
	if (!isnan(x->effect))
		snprintf(effect, sizeof(effect), "%+.1f %%", 100 * x->effect);
	printf("  %7s %8s %9s %9s %8s %9.0f  %s  %s", z, figure_text(x->q, q, sizeof(q)), spans_duration(j->groups[i].mean, a),
	       spans_duration(x->usual, b), effect, j->groups[i].count, format_local(j->group[i]->first_seen, when, sizeof(when)), versions ? versions : "?");
	print_flags(x->flags);
	putchar('\n');
}

/* The slowest against the baseline come first; those that cannot be judged last. */
static int by_z(const void *a, const void *b, void *judged)
{
	const struct judged *j = judged;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	double dx = j->judgements[x].z, dy = j->judgements[y].z;

	if (isnan(dx) != isnan(dy))
		return isnan(dx) ? 1 : -1;
	return dx > dy ? -1 : dx < dy ? 1 : x < y ? -1 : x > y;
}

static void print_groups(const struct forest *f, const struct judged *j, size_t first, size_t n)
{
	_cleanup_free_ size_t *order = calloc(n + 1, sizeof(*order));

	for (size_t i = 0; order && i < n; i++)
		order[i] = first + i;
	if (order)
		qsort_r(order, n, sizeof(*order), by_z, (void *)j);
	for (size_t k = 0; order && k < n && k < spans_arg.top; k++) {
		print_group(f, j, order[k]);
		print_requests(f, j, order[k]);
	}
	if (n > spans_arg.top)
		printf("  ... and %zu more (--top)\n", n - spans_arg.top);
}

static void print_all(const struct forest *f, const struct judged *j, enum group_method method)
{
	unsigned outliers = 0;

	for (size_t i = 0; i < j->n; i++)
		outliers += j->judgements[i].flags & GROUP_OUTLIER && !(j->judgements[i].flags & GROUP_FASTER);
	printf("%u of %zu groups are slower than normal; method %s\n", outliers, j->n, group_method_name(method));
	for (size_t first = 0, n; first < j->n; first += n) {
		_cleanup_free_ char *label = spans_bucket_label(f, j->bucket[first]);

		for (n = 0; first + n < j->n && j->bucket[first + n] == j->bucket[first]; n++)
			;
		printf("\n%s\n        z        q      mean    normal  effect  requests  first seen               versions\n", label ? label : "?");
		print_groups(f, j, first, n);
		print_change_point(f, j->bucket[first]);
	}
	if (j->levelled)
		puts("  note: means are what each version had taken if all had run at the same times");
	spans_print_tally(f);
}

static json_t *groups_json(const struct forest *f, const struct judged *j, enum group_method method)
{
	json_t *list = json_array(), *changes = json_array();

	for (size_t i = 0; i < j->n; i++) {
		const struct group_judgement *x = &j->judgements[i];
		_cleanup_free_ char *versions = set_text(f->names, j->group[i]->versions);
		json_t *o = spans_bucket_json(f, j->bucket[i]);
		char when[32];
		const struct version_group measured = version_group_of(j->group[i]);
		const struct {
			const char *name;
			double value;
		} figures[] = {{"mean_ns", measured.mean}, {"sd_ns", sqrt(measured.variance)}, {"same_times_mean_ns", j->groups[i].mean},
			       {"p95_ns", sketch_quantile(j->group[i]->sketch, .95)}, {"requests", j->groups[i].count},
			       {"samples", j->groups[i].effective}, {"usual_ns", x->usual}, {"effect", x->effect}, {"z", x->z}, {"p", x->p},
			       {"q", x->q}, {"superiority", x->superiority}, {"share", x->share}, {"excess_ns", x->excess}};

		json_object_set_new(o, "versions", json_string(versions ? versions : ""));
		json_object_set_new(o, "first_seen", json_string(format_rfc3339(measured.first_seen, when, sizeof(when))));
		for (size_t k = 0; k < sizeof(figures) / sizeof(figures[0]); k++)
			json_object_set_new(o, figures[k].name, number_json(figures[k].value));
		json_object_set_new(o, "outlier", json_boolean(x->flags & GROUP_OUTLIER));
		json_object_set_new(o, "faster", json_boolean(x->flags & GROUP_FASTER));
		json_object_set_new(o, "cannot_exceed", json_boolean(x->flags & GROUP_CANNOT_EXCEED));
		json_object_set_new(o, "outlier_requests", requests_json(f, j, i));
		json_array_append_new(list, o);
		if (i == 0 || j->bucket[i] != j->bucket[i - 1])
			json_array_append_new(changes, change_point_json(f, j->bucket[i]));
	}
	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "schema", "whyslow.spans.groups/1", "method", group_method_name(method), "groups", list,
			 "changes", changes, "read", spans_tally_json(f));
}

int spans_groups(struct common *common, int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	char **files = argv + 1;
	struct group_options o = {};
	struct judged j = {};
	struct names *names;
	struct forest f;
	int r = parse_method(&o.method), status = EXIT_NOTHING_FOUND;

	if (r < 0)
		return EXIT_USAGE;
	r = spans_forest_of(common, n, files, &names, &f);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	r = judge(&f, &o, &j);
	for (size_t i = 0; i < j.n; i++)
		if (j.judgements[i].flags & GROUP_OUTLIER && !(j.judgements[i].flags & GROUP_FASTER))
			status = EXIT_ANSWERED;
	if (r < 0)
		log_error("%s", strerror(-r));
	else if (common->json)
		spans_print_json(groups_json(&f, &j, o.method), 0);
	else
		print_all(&f, &j, o.method);
	judged_free(&j);
	forest_free(&f);
	names_free(names);
	return r < 0 ? EXIT_CANNOT : status;
}
