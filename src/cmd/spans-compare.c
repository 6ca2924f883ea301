/* whyslow spans compare, why, gate: two sets of requests, where the milliseconds went, and by what. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/span-change.h"
#include "analysis/span-suspect.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/spans.h"

/* Two sides and what they are called. */
struct sides {
	struct names *names;
	struct forest forest; /* finished */
	char *before, *after; /* in words */
	struct suspects suspects; /* where versions were looked for */
};

static void sides_free(struct sides *s)
{
	forest_free(&s->forest);
	free(s->before);
	free(s->after);
	suspects_free(&s->suspects);
	names_free(s->names);
}

/* --- choosing the sides ------------------------------------------------------------------------------------------------ */

struct choice {
	const struct forest *f;
};

/* "1.4" (of any package) or "package=1.4". */
static bool has_version(const struct forest *f, const struct group *g, const char *wanted)
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

static enum span_side by_version(void *state, const struct bucket *b, const struct group *g)
{
	const struct choice *c = state;

	if (!spans_selected(c->f, b))
		return SIDE_NONE;
	if (spans_arg.candidate && has_version(c->f, g, spans_arg.candidate))
		return SIDE_CANDIDATE;
	if (!spans_arg.baseline)
		return SIDE_BASELINE;
	if (has_version(c->f, g, spans_arg.baseline))
		return SIDE_BASELINE;
	return spans_arg.candidate ? SIDE_NONE : SIDE_CANDIDATE;
}

static int sides_by_version(const struct forest *f, struct sides *ret)
{
	struct choice c = {f};

	ret->before = strdup(spans_arg.baseline ? spans_arg.baseline : "all other versions");
	ret->after = strdup(spans_arg.candidate ? spans_arg.candidate : "all other versions");
	return span_change_forest(f, by_version, &c, &ret->forest);
}

static int split_files(char *list, char ***ret, size_t *ret_n)
{
	struct {
		VEC(char *) v;
	} files = {};
	char *file;

	while ((file = strsep(&list, ",")))
		if (*file && VEC_PUSH(files.v, file) < 0)
			return -ENOMEM;
	*ret = files.v.v;
	*ret_n = files.v.n;
	return 0;
}

static int add_side(struct common *common, size_t n, char **files, enum span_side side, struct sides *ret)
{
	struct names *names;
	struct forest f;
	int r = spans_forest_of(common, n, files, &names, &f);

	if (r < 0)
		return r;
	r = span_change_add(&ret->forest, &f, side);
	if (r == -EEXIST)
		log_error("the two sides were read with different --rule or --by");
	forest_free(&f);
	names_free(names);
	return r;
}

static int sides_by_files(struct common *common, size_t n, char **files, struct sides *ret)
{
	_cleanup_free_ char *list = strdup(spans_arg.against);
	_cleanup_free_ char **baseline = NULL;
	size_t n_baseline = 0;
	int r = list ? split_files(list, &baseline, &n_baseline) : -ENOMEM;

	ret->before = strdup(spans_arg.against);
	ret->after = strdup(n == 1 ? files[0] : "the given files");
	if (r == 0)
		r = add_side(common, n_baseline, baseline, SIDE_BASELINE, ret);
	return r == 0 ? add_side(common, n, files, SIDE_CANDIDATE, ret) : r;
}

static int sides_by_time(struct common *common, size_t n, char **files, struct sides *ret)
{
	int64_t since;
	char when[32];
	int r = parse_time(spans_arg.since, wall_now(), &since);

	if (r < 0) {
		usage_error("spans", "'%s' is no time", spans_arg.since);
		return r;
	}
	format_rfc3339(since, when, sizeof(when));
	if (asprintf(&ret->before, "before %s", when) < 0 || asprintf(&ret->after, "since %s", when) < 0)
		return -ENOMEM;
	spans_arg.only_to = since;
	r = add_side(common, n, files, SIDE_BASELINE, ret);
	spans_arg.only_to = 0;
	spans_arg.only_from = since;
	if (r == 0)
		r = add_side(common, n, files, SIDE_CANDIDATE, ret);
	spans_arg.only_from = 0;
	return r;
}

struct suspicion {
	const struct forest *f;
	const struct suspect_version *suspect;
};

static enum span_side by_suspect(void *state, const struct bucket *b, const struct group *g)
{
	const struct suspicion *s = state;

	if (b != &s->f->buckets.v[s->suspect->bucket])
		return SIDE_NONE;
	return suspect_side(s->f, s->suspect, g);
}

/* No side was named: the version that is slower than the others of its bucket. */
static int sides_by_suspect(const struct forest *f, struct sides *ret)
{
	struct suspicion s = {.f = f};
	struct choice all = {f};
	int r = suspects_find(f, spans_selected, &ret->suspects);

	if (r < 0)
		return r;
	if (!ret->suspects.list.n)
		return span_change_forest(f, by_version, &all, &ret->forest);
	s.suspect = &ret->suspects.list.v[0];
	if (asprintf(&ret->after, "%s %s", names_get(f->names, s.suspect->package), names_get(f->names, s.suspect->version)) < 0 ||
	    asprintf(&ret->before, "other versions of %s", names_get(f->names, s.suspect->package)) < 0)
		return -ENOMEM;
	return span_change_forest(f, by_suspect, &s, &ret->forest);
}

static int choose_sides(struct common *common, size_t n, char **files, bool guess, struct sides *ret)
{
	struct names *names;
	struct forest f;
	int r;

	ret->names = names_new();
	r = ret->names ? forest_init(&ret->forest, ret->names, spans_arg.slot) : -ENOMEM;
	if (r < 0)
		return r;
	if (spans_arg.against)
		r = sides_by_files(common, n, files, ret);
	else if (spans_arg.since)
		r = sides_by_time(common, n, files, ret);
	else if (spans_arg.baseline || spans_arg.candidate || guess) {
		r = spans_forest_of(common, n, files, &names, &f);
		if (r < 0)
			return r;
		r = spans_arg.baseline || spans_arg.candidate ? sides_by_version(&f, ret) : sides_by_suspect(&f, ret);
		/* the suspects speak in texts of f's names */
		suspects_translate(&ret->suspects, f.names, ret->names);
		forest_free(&f);
		names_free(names);
	} else {
		usage_error("spans", "with what? --baseline VERSION, --candidate VERSION, --since TIME, or --against FILE,...");
		return -EINVAL;
	}
	return r == 0 ? forest_finish(&ret->forest) : r;
}

/* --- words -------------------------------------------------------------------------------------------------------------- */

static void print_reason(const struct forest *f, const struct vertex_change *v)
{
	_cleanup_free_ char *through = vertex_label(f, v->through);
	const char *who = v->through == v->vertex ? "it" : through ? through : "?";
	char a[24], b[24];

	switch (v->reason) {
	case REASON_SLOWER:
		if (v->each_after > 1.1 * v->each_before)
			printf("; by itself it takes %s a call, was %s", spans_duration(v->each_after, a), spans_duration(v->each_before, b));
		break;
	case REASON_MORE_CALLS:
		printf("; %s is called %.3g times a call, was %.3g", who, v->calls_after, v->calls_before);
		break;
	case REASON_RETRIES:
		printf("; %s is retried after failures: %.3g calls, were %.3g", who, v->calls_after, v->calls_before);
		break;
	case REASON_SEQUENTIAL:
		printf("; %s now: %.2g calls at a time where %s is called, were %.2g",
		       v->parallel_after < 1.1 ? "one after another" : "partly one after another", v->parallel_after, who, v->parallel_before);
		break;
	case REASON_NEW:
		printf("; was not called before");
		break;
	case REASON_ONE_HOST:
		printf("; on one host: %s takes %s a call, the others %s", names_get(f->names, v->host), spans_duration(v->host_mean, a),
		       spans_duration(v->others_mean, b));
		break;
	default:
		break;
	}
}

static void print_vertices(const struct forest *f, const struct bucket_change *c)
{
	double difference = c->mean_after - c->mean_before;
	char a[24], b[24], d[24];
	size_t shown = 0;

	for (size_t i = 0; i < c->vertices.n && shown < spans_arg.top; i++) {
		const struct vertex_change *v = &c->vertices.v[i];
		double gain = v->after - v->before;
		_cleanup_free_ char *path = vertex_path(f, v->vertex);

		if (gain < .02 * fabs(difference) || gain <= 0)
			break;
		printf("    +%s (%.0f %%): %s\n        on the critical path %s a request, was %s", spans_duration(gain, a),
		       100 * gain / fabs(difference), path ? path : "?", spans_duration(v->after, b), spans_duration(v->before, d));
		print_reason(f, v);
		putchar('\n');
		shown++;
	}
}

/* The request of the sample that shows what is usual for the group at this vertex. */
static const struct exemplar *exemplar_of(const struct group *g, uint32_t vertex, double usual)
{
	const struct exemplar *best = NULL;
	double distance = INFINITY;

	for (size_t i = 0; i < g->sample.n; i++) {
		const struct exemplar *e = &g->sample.v[i];
		double path = 0;

		for (size_t k = 0; k < e->spans.n; k++)
			path += e->spans.v[k].vertex == vertex ? (double)e->spans.v[k].path : 0;
		if (fabs(path - usual) >= distance)
			continue;
		distance = fabs(path - usual);
		best = e;
	}
	return best;
}

static int64_t total_of(const struct exemplar *e, uint32_t vertex, unsigned *ret_calls)
{
	int64_t path = 0;

	*ret_calls = 0;
	for (size_t k = 0; k < e->spans.n; k++) {
		if (e->spans.v[k].vertex != vertex)
			continue;
		path += e->spans.v[k].path;
		(*ret_calls)++;
	}
	return path;
}

/* A slow and a usual request of the same path side by side: what each vertex took on the critical path. */
static void print_exemplars(const struct forest *f, const struct bucket_change *c)
{
	const struct vertex_change *top = c->vertices.n ? &c->vertices.v[0] : NULL;
	const struct exemplar *slow = top ? exemplar_of(c->after, top->vertex, top->after) : NULL,
			      *usual = top ? exemplar_of(c->before, top->vertex, top->before) : NULL;
	char a[33], b[33], x[24], y[24];

	if (!slow || !usual)
		return;
	printf("    two requests side by side: %s (%s) and", trace_id_text(f->names, slow->high, slow->low, a),
	       spans_duration((double)slow->duration, x));
	printf(" %s (%s), before\n", trace_id_text(f->names, usual->high, usual->low, b), spans_duration((double)usual->duration, y));
	for (uint32_t v = 0; v < f->vertices.n; v++) {
		unsigned calls_slow, calls_usual;
		int64_t in_slow = total_of(slow, v, &calls_slow), in_usual = total_of(usual, v, &calls_usual);
		_cleanup_free_ char *label = vertex_label(f, v);

		if (in_slow < slow->duration / 50 && in_usual < slow->duration / 50)
			continue;
		printf("      %9s in %u %s  %9s in %u  %*s%s\n", spans_duration((double)in_slow, x), calls_slow,
		       calls_slow == 1 ? "call, " : "calls,", spans_duration((double)in_usual, y), calls_usual, f->vertices.v[v].depth, "",
		       label ? label : "?");
	}
}

static void print_bucket(const struct forest *f, const struct bucket_change *c, bool whole)
{
	_cleanup_free_ char *label = spans_bucket_label(f, &f->buckets.v[c->bucket]);
	char a[24], b[24], low[24], high[24];

	printf("\n%s\n", label ? label : "?");
	if (!c->before || !c->after) {
		printf("  only there %s (%.0f requests)\n", c->before ? "before" : "after",
		       moments_count(c->before ? &c->before->total : &c->after->total));
		return;
	}
	printf("  %s: mean %s, was %s (95 %% sure: %+.0f to %+.0f %%; %s to %s); slower than before with probability %.2f; q = %.2g\n",
	       span_verdict_name(c->verdict), spans_duration(c->mean_after, a), spans_duration(c->mean_before, b),
	       100 * c->low / c->mean_before, 100 * c->high / c->mean_before, spans_duration(c->low, low), spans_duration(c->high, high),
	       c->superiority, c->q);
	printf("  p95 %s, was %s; %.0f requests, were %.0f\n", spans_duration(sketch_quantile(c->after->sketch, .95), a),
	       spans_duration(sketch_quantile(c->before->sketch, .95), b), moments_count(&c->after->total),
	       moments_count(&c->before->total));
	if (c->verdict == VERDICT_SLOWER || whole)
		print_vertices(f, c);
	if (c->verdict == VERDICT_SLOWER)
		print_exemplars(f, c);
}

static void print_services(const struct forest *f, const struct span_change *c)
{
	char a[24], b[24];

	if (!c->services.n || c->services.v[0].score < .05)
		return;
	puts("\nServices, by how much slower they became at the same calls (their own time and the way to them):");
	for (size_t i = 0; i < c->services.n && i < 5; i++) {
		const struct service_change *s = &c->services.v[i];

		if (s->score < .05)
			break;
		printf("  %5.3g times  %-32s %s, would have been %s\n", s->got / s->expected, names_get(f->names, s->service),
		       spans_duration(s->got, a), spans_duration(s->expected, b));
	}
}

static void print_change(const struct sides *s, const struct span_change *c)
{
	char a[24], b[24], d[24], e[24];

	printf("%s, against %s; critical path by the rule '%s'\n", s->after ? s->after : "candidate", s->before ? s->before : "baseline",
	       s->forest.rule);
	printf("all requests: mean %s, was %s: %s within the buckets, %s because other buckets were asked for\n",
	       spans_duration(c->mean_after, a), spans_duration(c->mean_before, b), spans_duration(c->within, d), spans_duration(c->mix, e));
	for (size_t i = 0; i < c->buckets.n && i < spans_arg.top; i++)
		print_bucket(&s->forest, &c->buckets.v[i], i == 0);
	print_services(&s->forest, c);
	spans_print_tally(&s->forest);
}

/* --- JSON ---------------------------------------------------------------------------------------------------------------- */

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *vertex_json(const struct forest *f, const struct vertex_change *v)
{
	_cleanup_free_ char *path = vertex_path(f, v->vertex), *through = vertex_path(f, v->through);
	const struct vertex *x = &f->vertices.v[v->vertex];
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "path", path ? path : "", "kind", x->kind == VERTEX_EDGE ? "edge" : "call",
			      "service", names_get(f->names, x->service), "operation", names_get(f->names, x->operation), "reason",
			      span_reason_name(v->reason), "through", through ? through : "");
	const struct {
		const char *name;
		double value;
	} figures[] = {{"before_ns", v->before}, {"after_ns", v->after}, {"calls_before", v->calls_before},
		       {"calls_after", v->calls_after}, {"each_before_ns", v->each_before}, {"each_after_ns", v->each_after},
		       {"parallel_before", v->parallel_before}, {"parallel_after", v->parallel_after}, {"p", v->p}};

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		json_object_set_new(o, figures[i].name, number(figures[i].value));
	if (v->reason == REASON_ONE_HOST)
		json_object_set_new(o, "host", json_string(names_get(f->names, v->host)));
	return o;
}

static json_t *exemplar_json(const struct forest *f, const struct exemplar *e)
{
	json_t *list = json_array();
	char id[33];

	if (!e)
		return json_null();
	for (size_t i = 0; i < e->spans.n; i++) {
		const struct exemplar_span *s = &e->spans.v[i];
		_cleanup_free_ char *label = vertex_label(f, s->vertex);

		json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:I, s:s, s:b}", "call", label ? label : "", "parent",
						      s->parent == NO_SPAN ? (json_int_t)-1 : (json_int_t)s->parent, "start_ns",
						      (json_int_t)s->start, "end_ns", (json_int_t)s->end, "path_ns", (json_int_t)s->path, "host",
						      names_get(f->names, s->host), "error", s->error));
	}
	return json_pack("{s:s, s:I, s:I, s:o}", "trace", trace_id_text(f->names, e->high, e->low, id), "duration_ns",
			 (json_int_t)e->duration, "spans_in_trace", (json_int_t)e->n_spans, "spans", list);
}

static json_t *bucket_json(const struct forest *f, const struct bucket_change *c)
{
	json_t *o = spans_bucket_json(f, &f->buckets.v[c->bucket]), *list = json_array();
	const struct vertex_change *top = c->vertices.n ? &c->vertices.v[0] : NULL;

	json_object_set_new(o, "verdict", json_string(span_verdict_name(c->verdict)));
	json_object_set_new(o, "requests_before", c->before ? json_real(moments_count(&c->before->total)) : json_null());
	json_object_set_new(o, "requests_after", c->after ? json_real(moments_count(&c->after->total)) : json_null());
	json_object_set_new(o, "mean_before_ns", number(c->mean_before));
	json_object_set_new(o, "mean_after_ns", number(c->mean_after));
	json_object_set_new(o, "low_ns", number(c->low));
	json_object_set_new(o, "high_ns", number(c->high));
	json_object_set_new(o, "superiority", number(c->superiority));
	json_object_set_new(o, "p", number(c->p));
	json_object_set_new(o, "q", number(c->q));
	for (size_t i = 0; i < c->vertices.n && i < spans_arg.top; i++)
		json_array_append_new(list, vertex_json(f, &c->vertices.v[i]));
	json_object_set_new(o, "vertices", list);
	if (top && c->verdict == VERDICT_SLOWER) {
		json_object_set_new(o, "slow", exemplar_json(f, exemplar_of(c->after, top->vertex, top->after)));
		json_object_set_new(o, "usual", exemplar_json(f, exemplar_of(c->before, top->vertex, top->before)));
	}
	return o;
}

static json_t *suspects_json(const struct forest *f, const struct suspects *suspects)
{
	json_t *list = json_array();

	for (size_t i = 0; i < suspects->list.n && i < spans_arg.top; i++) {
		const struct suspect_version *s = &suspects->list.v[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "bucket", s->label, "package",
						      names_get(f->names, s->package), "version", names_get(f->names, s->version), "mean_ns", s->mean,
						      "others_mean_ns", s->others, "requests", s->requests, "p", s->p, "q", s->q, "superiority",
						      s->superiority));
	}
	return list;
}

static json_t *change_json(const char *schema, const struct sides *s, const struct span_change *c)
{
	json_t *buckets = json_array(), *services = json_array();

	for (size_t i = 0; i < c->buckets.n && i < spans_arg.top; i++)
		json_array_append_new(buckets, bucket_json(&s->forest, &c->buckets.v[i]));
	for (size_t i = 0; i < c->services.n; i++)
		json_array_append_new(services, json_pack("{s:s, s:f, s:f, s:f, s:f}", "service",
							  names_get(s->names, c->services.v[i].service), "score", c->services.v[i].score,
							  "expected_ns", c->services.v[i].expected, "got_ns", c->services.v[i].got, "calls",
							  c->services.v[i].calls));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", schema, "baseline",
			 s->before ? s->before : "", "candidate", s->after ? s->after : "", "rule", s->forest.rule, "verdict",
			 span_verdict_name(span_change_gate(c)), "mean_before_ns", number(c->mean_before), "mean_after_ns",
			 number(c->mean_after), "within_ns", number(c->within), "mix_ns", number(c->mix), "buckets", buckets, "services",
			 services, "suspects", suspects_json(&s->forest, &s->suspects), "read", spans_tally_json(&s->forest));
}

/* "slower: hardware=gen5: api create vm: 412 ms, was 330 ms; storage create disk" */
static char *headline_of(const struct sides *s, const struct span_change *c)
{
	const struct bucket_change *b = c->buckets.n ? &c->buckets.v[0] : NULL;
	_cleanup_free_ char *label = b ? spans_bucket_label(&s->forest, &s->forest.buckets.v[b->bucket]) : NULL,
			    *path = b && b->vertices.n ? vertex_label(&s->forest, b->vertices.v[0].vertex) : NULL;
	char x[24], y[24], *text;

	if (!b || asprintf(&text, "%s: %s: mean %s, was %s; most of it: %s (%s)", span_verdict_name(b->verdict), label ? label : "?",
			   spans_duration(b->mean_after, x), spans_duration(b->mean_before, y), path ? path : "?",
			   b->vertices.n ? span_reason_name(b->vertices.v[0].reason) : "") < 0)
		return NULL;
	return text;
}

/* --- verbs ---------------------------------------------------------------------------------------------------------------- */

static int with_change(struct common *common, size_t n, char **files, bool guess, const char *schema,
		       int (*tell)(struct common *common, const struct sides *s, const struct span_change *c, const char *schema))
{
	struct sides s = {};
	struct span_change c = {};
	int r = choose_sides(common, n, files, guess, &s), status = EXIT_CANNOT;

	if (r == 0)
		r = span_change(&s.forest, &c);
	if (r == 0) {
		status = tell(common, &s, &c, schema);
		span_change_free(&c);
	} else if (r == -ENOMEM) {
		log_error("out of memory");
	}
	sides_free(&s);
	return r == -EINVAL ? EXIT_USAGE : status;
}

static int tell_change(struct common *common, const struct sides *s, const struct span_change *c, const char *schema)
{
	bool slower = span_change_gate(c) == VERDICT_SLOWER;

	if (common->json)
		return spans_print_json(change_json(schema, s, c), slower ? EXIT_ANSWERED : EXIT_NOTHING_FOUND);
	print_change(s, c);
	return slower ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

int spans_compare(struct common *common, int argc, char **argv)
{
	return with_change(common, (size_t)argc - 1, argv + 1, false, "whyslow.spans.compare/1", tell_change);
}

static void print_suspects(const struct sides *s)
{
	char a[24], b[24];

	printf("%u of %u versions (in %u buckets) are slower than the others of their bucket:\n", s->suspects.slower, s->suspects.compared,
	       s->suspects.buckets);
	for (size_t i = 0; i < s->suspects.list.n && i < spans_arg.top; i++) {
		const struct suspect_version *x = &s->suspects.list.v[i];

		printf("  %2zu. %s: %s %s: mean %s, others %s (%+.1f %%); q = %.2g, %.0f requests\n", i + 1, x->label,
		       names_get(s->names, x->package), names_get(s->names, x->version), spans_duration(x->mean, a),
		       spans_duration(x->others, b), 100 * (x->mean / x->others - 1), x->q, x->requests);
	}
	putchar('\n');
}

static int tell_why(struct common *common, const struct sides *s, const struct span_change *c, const char *schema)
{
	bool guessed = s->suspects.compared || s->suspects.alone;

	if (common->json || !guessed)
		return tell_change(common, s, c, schema);
	if (s->suspects.list.n) {
		print_suspects(s);
		print_change(s, c);
		return EXIT_ANSWERED;
	}
	if (s->suspects.compared)
		printf("no version is slower than the others of its bucket: %u compared in %u buckets (q <= %.2g and at least %.0f %% slower)\n",
		       s->suspects.compared, s->suspects.buckets, SPAN_Q, 100 * SPAN_TOLERANCE);
	else
		puts("there is only one version to see; compare times with --since TIME, or files with --against FILE,...");
	spans_print_tally(&s->forest);
	return s->suspects.compared ? EXIT_NOTHING_FOUND : EXIT_CANNOT;
}

int spans_why(struct common *common, int argc, char **argv)
{
	return with_change(common, (size_t)argc - 1, argv + 1, true, "whyslow.spans.why/1", tell_why);
}

/* The last window of the store against those before it. */
int spans_judge_since(struct common *common, int64_t since, json_t **ret, char **ret_headline, bool *ret_slower)
{
	struct sides s = {};
	struct span_change c = {};
	int64_t from = spans_arg.only_from;
	int r;

	s.names = names_new();
	r = s.names ? forest_init(&s.forest, s.names, spans_arg.slot) : -ENOMEM;
	spans_arg.only_to = since;
	if (r == 0)
		r = add_side(common, 0, NULL, SIDE_BASELINE, &s);
	spans_arg.only_to = 0;
	spans_arg.only_from = since;
	if (r == 0)
		r = add_side(common, 0, NULL, SIDE_CANDIDATE, &s);
	spans_arg.only_from = from;
	if (r == 0)
		r = forest_finish(&s.forest);
	if (r == 0)
		r = span_change(&s.forest, &c);
	if (r == 0) {
		s.before = strdup("the windows before");
		s.after = strdup("the last window");
		*ret_slower = span_change_gate(&c) == VERDICT_SLOWER;
		*ret = change_json("whyslow.spans.watch/1", &s, &c);
		*ret_headline = headline_of(&s, &c);
		span_change_free(&c);
	}
	sides_free(&s);
	return r;
}

/* 0 pass, 1 regression, 3 cannot tell. */
static int tell_gate(struct common *common, const struct sides *s, const struct span_change *c, const char *schema)
{
	enum span_verdict verdict = span_change_gate(c);
	int status = verdict == VERDICT_SLOWER ? 1 : verdict == VERDICT_SAME ? 0 : EXIT_CANNOT;

	if (common->json)
		return spans_print_json(change_json(schema, s, c), status);
	puts(status == 0 ? "pass: no bucket became slower" :
	     status == 1 ? "regression" :
			   "cannot tell: too few requests on one of the sides, or they vary too much; let more traffic through");
	print_change(s, c);
	return status;
}

int spans_gate(struct common *common, int argc, char **argv)
{
	return with_change(common, (size_t)argc - 1, argv + 1, false, "whyslow.spans.gate/1", tell_gate);
}
