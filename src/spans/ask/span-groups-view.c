/* Versions of each bucket against the others. */
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/stat/sketch.h"
#include "lib/view/json.h"
#include "spans/ask/span-view.h"

#define FIRST_SEEN_LEAST (365 * 86400 * NS_PER_SEC) /* earlier times are counted from some other beginning than 1970 */

static void print_change_point(const struct span_since *s, FILE *out)
{
	if (!s->since)
		return;
	fprintf(out, "  all versions together: %s since %s, was %s (p = %.2g)", SPAN_DURATION(s->during),
	       CLOCK_LOCAL(s->since), SPAN_DURATION(s->before),
	       s->p);
	if (s->until)
		fprintf(out, ", until %s", CLOCK_LOCAL(s->until));
	fputc('\n', out);
}

static void print_flags(unsigned flags, FILE *out)
{
	if (flags & GROUP_OUTLIER)
		fprintf(out, flags & GROUP_FASTER ? "  faster" : "  SLOWER");
	if (flags & GROUP_CANNOT_EXCEED)
		fprintf(out, "  (of fewer than %d groups none can exceed z = 3)", SDIAG_POOLED_LEAST);
	if (flags & GROUP_TOO_FEW)
		fprintf(out, "  (too few requests)");
	if (flags & GROUP_NO_REFERENCE)
		fprintf(out, "  (nothing to compare with)");
}

static void print_requests(const struct forest *f, const struct span_groups *j, size_t i, FILE *out)
{
	const struct group_outliers *o = &j->outliers[i];

	for (size_t k = 0; k < o->n; k++)
		fprintf(out, "           outlier request %s: %s, z = %.1f\n", SPAN_TRACE_ID(f->names, o->v[k].request->high, o->v[k].request->low),
		       SPAN_DURATION((double)o->v[k].request->duration), o->v[k].z);
}

/* Packages of which the bucket's groups have different versions; the others are the same everywhere. */
static char *differing_versions(const struct forest *f, const struct bucket *b, const struct forest_group *g)
{
	const struct attribute_set *set = names_get_set(f->names, g->versions);
	_cleanup_free_ struct attribute *v = calloc(set->n + 1, sizeof(*v));
	size_t n = 0;

	for (uint32_t i = 0; v && i < set->n; i++) {
		bool same = b->groups.n > 1;

		for (size_t k = 0; same && k < b->groups.n; k++)
			same = attribute_set_value(names_get_set(f->names, b->groups.v[k].versions), set->v[i].key) == set->v[i].value;
		if (!same)
			v[n++] = set->v[i];
	}
	return span_versions_label(f, n ? names_set(f->names, 0, v, n) : g->versions);
}

static const char *figure_text(double value, char *buf, size_t n)
{
	snprintf(buf, n, isnan(value) ? "-" : "%.2g", value);
	return buf;
}

/* Tables without times have none: their requests begin at 0. */
static bool has_time(const struct forest_group *g)
{
	return g->first_seen > FIRST_SEEN_LEAST;
}

static void print_group(const struct forest *f, const struct span_groups *j, size_t i, FILE *out)
{
	const struct group_judgement *x = &j->judgements[i];
	_cleanup_free_ char *versions = differing_versions(f, j->bucket[i], j->group[i]);
	char q[24], z[24] = "-", effect[24] = "-  ";

	if (!isnan(x->z))
		snprintf(z, sizeof(z), "%.2f", x->z);
	if (!isnan(x->effect))
		snprintf(effect, sizeof(effect), "%+.1f %%", 100 * x->effect);
	fprintf(out, "  %7s %8s %9s %9s %8s %9.0f  %-23s  %s", z, figure_text(x->q, q, sizeof(q)), SPAN_DURATION(j->groups[i].mean),
	       SPAN_DURATION(x->normal), effect, j->groups[i].count, has_time(j->group[i]) ? CLOCK_LOCAL(j->group[i]->first_seen) : "not known", versions ? versions : "?");
	print_flags(x->flags, out);
	fputc('\n', out);
}

/* The slowest against the baseline come first; those that cannot be judged last. */
ORDER_IN(by_z, size_t, struct span_groups,
	 CMP(isnan(context->judgements[*a].z), isnan(context->judgements[*b].z)) ?: CMP(context->judgements[*b].z, context->judgements[*a].z) ?: CMP(*a, *b))

static void print_groups(const struct forest *f, const struct span_groups *j, size_t first, size_t n, size_t top, FILE *out)
{
	_cleanup_free_ size_t *order = calloc(n + 1, sizeof(*order));

	for (size_t i = 0; order && i < n; i++)
		order[i] = first + i;
	if (order)
		qsort_r(order, n, sizeof(*order), by_z, (void *)j);
	for (size_t k = 0; order && k < n && k < top; k++) {
		print_group(f, j, order[k], out);
		print_requests(f, j, order[k], out);
	}
	if (n > top)
		fprintf(out, "  ... and %zu more (--top)\n", n - top);
}

void span_groups_text(const struct forest *f, const struct span_groups *j, size_t top, FILE *out)
{
	unsigned outliers = 0;

	for (size_t i = 0; i < j->n; i++)
		outliers += span_groups_is_slower(j, i);
	fprintf(out, "%u of %zu groups are slower than normal; method %s\n", outliers, j->n, group_method_name(j->method));
	for (size_t first = 0, n; first < j->n; first += n) {
		_cleanup_free_ char *label = span_bucket_label(f, j->bucket[first]);

		for (n = 0; first + n < j->n && j->bucket[first + n] == j->bucket[first]; n++)
			;
		fprintf(out, "\n%s\n        z        q      mean    normal  effect  requests  first seen               versions\n", label ? label : "?");
		print_groups(f, j, first, n, top, out);
		print_change_point(&j->since[first], out);
	}
	if (j->levelled)
		fputs("  note: means are what each version had taken if all had run at the same times\n", out);
	span_tally_text(f, out);
}

static json_t *requests_json(const struct forest *f, const struct span_groups *j, size_t i)
{
	const struct group_outliers *o = &j->outliers[i];

	return JSON_EACH(x, *o, json_pack("{s:s, s:I, s:f}", "trace", SPAN_TRACE_ID(f->names, x->request->high, x->request->low), "duration_ns",
		(json_int_t)x->request->duration, "z", x->z));
}

/* The bucket's mean over time, all versions together. */
static json_t *change_point_json(const struct forest *f, const struct bucket *b, const struct span_since *s)
{
	json_t *o;

	if (!s->since)
		return NULL;
	o = span_bucket_json(f, b);
	json_object_update_new(o, json_pack("{s:s, s:s?, s:f, s:f, s:f}", "since", CLOCK_RFC3339(s->since), "until",
					    s->until ? CLOCK_RFC3339(s->until) : NULL, "before_ns", s->before,
					    "during_ns", s->during, "p", s->p));
	return o;
}

/* Without what there was before the first and behind the last of its requests; null between where there was none. */
static json_t *times_json(const struct forest *f, const struct version_times *t)
{
	json_t *o = span_bucket_json(f, t->bucket), *means = json_array(), *requests = json_array();
	size_t first = 0, last = t->n;

	while (first < last && !t->v[first].count)
		first++;
	while (last > first && !t->v[last - 1].count)
		last--;
	for (size_t i = first; i < last; i++) {
		json_array_append_new(means, t->v[i].count ? json_number(moments_mean(&t->v[i])) : json_null());
		json_array_append_new(requests, json_number(moments_count(&t->v[i])));
	}
	json_object_update_new(o, json_pack("{s:s, s:s, s:s, s:I, s:o, s:o}", "package", names_get(f->names, t->package), "version",
		names_get(f->names, t->version), "from", CLOCK_RFC3339(t->first + (int64_t)first * t->width), "step_ns", (json_int_t)t->width, "mean_ns",
		means, "requests", requests));
	return o;
}

json_t *span_groups_json(const struct forest *f, const struct span_groups *j)
{
	json_t *list = json_array(), *changes = json_array();

	for (size_t i = 0; i < j->n; i++) {
		const struct group_judgement *x = &j->judgements[i];
		_cleanup_free_ char *versions = forest_set_text(f->names, j->group[i]->versions);
		json_t *o = span_bucket_json(f, j->bucket[i]);
		const struct moments *measured = &j->group[i]->total;
		const struct {
			const char *name;
			double value;
		} figures[] = {{"mean_ns", moments_mean(measured)}, {"sd_ns", sqrt(moments_variance(measured))}, {"same_times_mean_ns", j->groups[i].mean},
			       {"p95_ns", sketch_quantile(j->group[i]->sketch, .95)}, {"requests", j->groups[i].count},
			       {"samples", j->groups[i].effective}, {"usual_ns", x->normal}, {"effect", x->effect}, {"z", x->z}, {"p", x->p},
			       {"q", x->q}, {"superiority", x->superiority}, {"share", x->share}, {"excess_ns", x->excess}};

		json_object_set_new(o, "versions", json_string(versions ? versions : ""));
		json_object_set_new(o, "first_seen", has_time(j->group[i]) ? json_string(CLOCK_RFC3339(j->group[i]->first_seen)) : json_null());
		for (size_t k = 0; k < ARRAY_SIZE(figures); k++)
			json_object_set_new(o, figures[k].name, json_number(figures[k].value));
		json_object_set_new(o, "outlier", json_boolean(x->flags & GROUP_OUTLIER));
		json_object_set_new(o, "faster", json_boolean(x->flags & GROUP_FASTER));
		json_object_set_new(o, "cannot_exceed", json_boolean(x->flags & GROUP_CANNOT_EXCEED));
		json_object_set_new(o, "outlier_requests", requests_json(f, j, i));
		json_array_append_new(list, o);
		if (i == 0 || j->bucket[i] != j->bucket[i - 1])
			json_array_append_new(changes, change_point_json(f, j->bucket[i], &j->since[i]));
	}
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "schema", "whyslow.spans.groups/1", "method", group_method_name(j->method), "groups", list,
			 "changes", changes, "times", JSON_EACH(x, j->times, times_json(f, x)), "deployments", JSON_EACH(x, j->deployments.list,
			json_pack("{s:s, s:s, s:s, s:s}", "package", x->package, "version", x->version, "host", x->host, "time", CLOCK_RFC3339(x->time))), "read", span_tally_json(f));
}
