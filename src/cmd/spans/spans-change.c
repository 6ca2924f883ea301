/* What changed between two sets of requests, in words and as JSON. */
#include "cmd/spans/spans-change.h"

#include <math.h>
#include <stdio.h>

#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "view/why/json.h"

static void print_reason(const struct forest *f, const struct vertex_change *v)
{
	_cleanup_free_ char *through = vertex_label(f, v->through);
	const char *who = v->through == v->vertex ? "it" : through ? through : "?";
	char a[24], b[24];

	switch (v->reason) {
	case REASON_SLOWER:
		if (v->each_after > 1.1 * v->each_before)
			printf("; its own time is %s a call, was %s", spans_duration(v->each_after, a), spans_duration(v->each_before, b));
		break;
	case REASON_MORE_CALLS:
		printf("; %s is called %.3g times a call, was %.3g", who, v->calls_after, v->calls_before);
		break;
	case REASON_RETRIES:
		printf("; %s is retried after failures: %.3g calls, were %.3g", who, v->calls_after, v->calls_before);
		break;
	case REASON_SEQUENTIAL:
		printf("; %s now: %.2g at a time where %s is called, was %.2g",
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

/* Calls that took over from others, though the whole grew by less. */
static void print_moved(const struct forest *f, const struct bucket_change *c)
{
	const struct vertex_change *least = c->vertices.n ? &c->vertices.v[c->vertices.n - 1] : NULL;
	_cleanup_free_ char *from = NULL, *to = NULL;
	char a[24], b[24];

	if (!least || c->lost < SPAN_MOVED * c->gained || c->gained < SPAN_TOLERANCE * c->mean_before)
		return;
	from = vertex_label(f, least->vertex);
	to = vertex_label(f, c->vertices.v[0].vertex);
	printf("    cost was moved: some calls gained %s, others lost %s; most from %s to %s\n", spans_duration(c->gained, a),
	       spans_duration(c->lost, b), from ? from : "?", to ? to : "?");
}

/* On the critical path of a request, in all calls of a vertex. */
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

/* The request of the sample that shows the baseline for the group, at this vertex and as a whole. */
static const struct exemplar *exemplar_of(const struct group *g, uint32_t vertex, double usual)
{
	double whole = moments_mean(&g->total);
	const struct exemplar *best = NULL;
	double distance = INFINITY;

	for (size_t i = 0; i < g->sample.n; i++) {
		const struct exemplar *e = &g->sample.v[i];
		unsigned calls;
		double away = fabs((double)total_of(e, vertex, &calls) - usual) + fabs((double)e->duration - whole);

		if (away >= distance)
			continue;
		distance = away;
		best = e;
	}
	return best;
}

/* A slow and a normal request of the same path side by side: what each vertex took on the critical path. */
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

static const char *value_text(const struct forest *f, uint32_t value)
{
	return value ? names_get(f->names, value) : "(none)";
}

/* What of the change is that other requests were asked for. */
static void print_mix(const struct forest *f, const struct bucket_change *c)
{
	char a[24], b[24];

	if (!c->mix.n_keys)
		return;
	printf("  other requests were asked for: %s=%s in %.1f %%, was %.1f %%", names_get(f->names, c->mix.keys[0]), value_text(f, c->mix.value),
	       100 * c->mix.share_after, 100 * c->mix.share_before);
	for (size_t i = 1; i < c->mix.n_keys; i++)
		printf(", and %s", names_get(f->names, c->mix.keys[i]));
	printf("; that moves the mean by %s, all else by %s\n", spans_duration(c->mix.mix, a), spans_duration(c->within, b));
}

/* What else than the mean says so. */
static void print_ground(const struct forest *f, const struct bucket_change *c)
{
	char a[24];
	_cleanup_free_ char *path = c->ground == GROUND_CALL ? vertex_path(f, c->slow_call) : NULL;

	if (c->verdict == VERDICT_FAILING || c->errors_after != c->errors_before)
		printf("  errors: %.2f %% of the requests, were %.2f %%; p = %.2g\n", 100 * c->errors_after, 100 * c->errors_before, c->p_errors);
	if (c->ground == GROUND_TAIL)
		printf("  the tail is heavier: %.1f %% of the requests take more than %s, were %.1f %%; p = %.2g\n", 100 * c->tail_after,
		       spans_duration(c->tail_ns, a), 100 * c->tail_before, c->p_tail);
	if (c->ground == GROUND_SPREAD)
		printf("  some requests are slower: durations of requests of one kind vary %.1f times as much as before; p = %.2g\n",
		       span_spread_times(&c->spread), c->p_tail);
	if (c->ground == GROUND_CALL)
		printf("  one call is slower: %s\n", path ? path : "?");
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
	print_mix(f, c);
	print_ground(f, c);
	if (c->verdict == VERDICT_SLOWER || whole)
		print_vertices(f, c);
	print_moved(f, c);
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

static void print_words(const char *head, char *const *v, size_t n)
{
	printf("%s", head);
	for (size_t i = 0; i < n && i < spans_arg.top; i++)
		printf("%s%s", i ? ", " : " ", v[i]);
	puts(n > spans_arg.top ? " ..." : "");
}

static void print_traces(const struct span_cause *c)
{
	char a[24];

	for (size_t i = 0; i < c->n_traces; i++)
		printf("%s %s (%s)", i ? "," : "     for example", c->traces[i].id,
		       spans_duration((double)c->traces[i].duration, a));
	if (c->n_traces)
		putchar('\n');
}

/* Which requests, whatever the buckets are made of. */
static void print_causes(const struct span_causes *c)
{
	char a[24], b[24];

	if (!c->searched)
		return;
	if (!c->looked_at.n) {
		puts("\nNo attribute distinguishes the requests that became slower (--join FILE:ATTRIBUTE adds attributes)");
		return;
	}
	puts("\nWhich requests became slower, by all their attributes:");
	for (size_t i = 0; i < c->list.n; i++) {
		printf("  %zu. %s\n     mean %s, would have been %s; %.0f requests; explains %.0f %% of the rise\n", i + 1, c->list.v[i].where,
		       spans_duration(c->list.v[i].mean, a), spans_duration(c->list.v[i].expected, b), c->list.v[i].requests,
		       100 * c->list.v[i].share);
		print_traces(&c->list.v[i]);
	}
	if (c->sampled)
		puts("  by a sample of the requests, with what they call");
	if (!c->list.n)
		puts(c->alike ? "  all kinds equally: the cause is not among their attributes" :
				"  no combination of them together: the cause is not among their attributes");
	else if (c->explained < .5)
		puts("  the rest of the cause is not among the attributes");
	print_words("  checked:", c->looked_at.v, c->looked_at.n);
	if (c->replaced.n)
		print_words("  on one side only, so that no comparison separates them from it:", c->replaced.v, c->replaced.n);
}

/* Deployments come before what is seen in the requests. */
static void print_deployed(const struct sides *s)
{
	if (!s->deployed.list.n)
		return;
	puts("What was deployed when it began, the likeliest first:");
	for (size_t i = 0; i < s->deployed.list.n && i < spans_arg.top; i++) {
		const struct span_deployed_one *one = &s->deployed.list.v[i];
		_cleanup_free_ char *words = span_deployed_words(one);

		printf("  %zu. %s: ", i + 1, words ? words : "?");
		if (one->slow_host)
			fputs("its calls are slower on that host only; ", stdout);
		if (isnan(one->share))
			puts("no call of these requests is of this package");
		else
			printf("its calls and the way to them are %.0f %% of the rise\n", 100 * one->share);
	}
	putchar('\n');
}

void suspects_print(const struct sides *s)
{
	char a[24], b[24];

	printf("%u of %u versions (in %u buckets) are slower than the others of their bucket:\n", s->suspects.slower, s->suspects.compared,
	       s->suspects.buckets);
	for (size_t i = 0; i < s->suspects.list.n && i < spans_arg.top; i++) {
		const struct suspect_version *x = &s->suspects.list.v[i];

		printf("  %2zu. %s: %s %s: mean %s, others %s%s (%+.1f %%); q = %.2g, %.0f requests\n", i + 1, x->label,
		       names_get(s->names, x->package), names_get(s->names, x->version), spans_duration(x->mean, a),
		       spans_duration(x->others, b), x->levelled ? " at the same times" : "", 100 * (x->mean / x->others - 1), x->q, x->requests);
		if (x->is_service)
			printf("      %s itself takes %s a request, with its other versions %s\n", names_get(s->names, x->package),
			       spans_duration(x->own_mean, a), spans_duration(x->own_others, b));
		if (x->deployed)
			puts("      was deployed while these requests ran");
		if (x->together)
			printf("      always together with %s: these requests do not show which of them it is\n", x->together);
	}
	putchar('\n');
}

void change_print(const struct sides *s, const struct span_change *c)
{
	char a[24], b[24], d[24], e[24];

	print_deployed(s);
	printf("%s, against %s; critical path by the rule '%s'\n", s->after ? s->after : "candidate", s->before ? s->before : "baseline",
	       s->forest.rule);
	printf("all requests: mean %s, was %s: %s within the buckets, %s because other buckets were asked for\n",
	       spans_duration(c->mean_after, a), spans_duration(c->mean_before, b), spans_duration(c->within, d), spans_duration(c->mix, e));
	for (size_t i = 0; i < c->buckets.n && i < spans_arg.top; i++)
		print_bucket(&s->forest, &c->buckets.v[i], i == 0);
	print_causes(&s->causes);
	print_services(&s->forest, c);
	descent_print(&s->descent);
	spans_print_tally(&s->forest);
}

/* --- JSON ---------------------------------------------------------------------------------------------------------------- */

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

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		json_object_set_new(o, figures[i].name, number_json(figures[i].value));
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

static json_t *mix_json(const struct forest *f, const struct span_mix *m)
{
	json_t *keys = json_array();

	if (!m->n_keys) {
		json_decref(keys);
		return json_null();
	}
	for (size_t i = 0; i < m->n_keys; i++)
		json_array_append_new(keys, json_string(names_get(f->names, m->keys[i])));
	return json_pack("{s:o, s:f, s:s, s:f, s:f}", "attributes", keys, "mix_ns", m->mix, "value", value_text(f, m->value), "share_before",
			 m->share_before, "share_after", m->share_after);
}

static json_t *all_json(const struct span_change *c)
{
	return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:f, s:o}", "verdict", span_verdict_name(c->all.verdict), "ground",
			 span_ground_name(c->all.ground), "errors_before", c->all.errors_before, "errors_after", c->all.errors_after, "tail_before",
			 c->all.tail_before, "tail_after", c->all.tail_after, "spread", span_spread_times(&c->all.spread), "within_ns",
			 number_json(c->all.within), "low_ns", number_json(c->all.low), "high_ns", number_json(c->all.high), "q",
			 number_json(c->all.q), "could_see", number_json(c->all.could_see), "seen_share", c->seen_share, "seen", number_json(c->seen));
}

static json_t *bucket_json(const struct forest *f, const struct bucket_change *c)
{
	json_t *o = spans_bucket_json(f, &f->buckets.v[c->bucket]), *list = json_array();
	const struct vertex_change *top = c->vertices.n ? &c->vertices.v[0] : NULL;
	_cleanup_free_ char *call = c->ground == GROUND_CALL ? vertex_path(f, c->slow_call) : NULL;

	json_object_set_new(o, "verdict", json_string(span_verdict_name(c->verdict)));
	json_object_set_new(o, "requests_before", c->before ? json_real(moments_count(&c->before->total)) : json_null());
	json_object_set_new(o, "requests_after", c->after ? json_real(moments_count(&c->after->total)) : json_null());
	json_object_set_new(o, "mean_before_ns", number_json(c->mean_before));
	json_object_set_new(o, "mean_after_ns", number_json(c->mean_after));
	json_object_set_new(o, "low_ns", number_json(c->low));
	json_object_set_new(o, "high_ns", number_json(c->high));
	json_object_set_new(o, "superiority", number_json(c->superiority));
	json_object_set_new(o, "p", number_json(c->p));
	json_object_set_new(o, "q", number_json(c->q));
	json_object_set_new(o, "errors_before", number_json(c->errors_before));
	json_object_set_new(o, "errors_after", number_json(c->errors_after));
	json_object_set_new(o, "tail_ns", number_json(c->tail_ns));
	json_object_set_new(o, "tail_before", number_json(c->tail_before));
	json_object_set_new(o, "tail_after", number_json(c->tail_after));
	json_object_set_new(o, "spread", json_real(span_spread_times(&c->spread)));
	json_object_set_new(o, "within_ns", number_json(c->within));
	json_object_set_new(o, "mix", mix_json(f, &c->mix));
	json_object_set_new(o, "could_see", number_json(c->could_see));
	json_object_set_new(o, "ground", json_string(span_ground_name(c->ground)));
	json_object_set_new(o, "slow_call", c->ground == GROUND_CALL && call ? json_string(call) : json_null());
	json_object_set_new(o, "gained_ns", number_json(c->gained));
	json_object_set_new(o, "lost_ns", number_json(c->lost));
	for (size_t i = 0; i < c->vertices.n && i < spans_arg.top; i++)
		json_array_append_new(list, vertex_json(f, &c->vertices.v[i]));
	json_object_set_new(o, "vertices", list);
	if (top && c->verdict == VERDICT_SLOWER) {
		json_object_set_new(o, "slow", exemplar_json(f, exemplar_of(c->after, top->vertex, top->after)));
		json_object_set_new(o, "usual", exemplar_json(f, exemplar_of(c->before, top->vertex, top->before)));
	}
	return o;
}

static json_t *deployed_json(const struct span_deployed *d)
{
	json_t *list = json_array();
	char when[32];

	for (size_t i = 0; i < d->list.n && i < spans_arg.top; i++) {
		const struct span_deployed_one *one = &d->list.v[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:s, s:o, s:b}", "package", one->first->package, "version",
						      one->first->version, "hosts", one->hosts, "n_hosts", (json_int_t)one->n_hosts, "since",
						      format_rfc3339(one->first->time, when, sizeof(when)), "share", number_json(one->share),
						      "slow_host", one->slow_host));
	}
	return list;
}

static json_t *suspects_json(const struct forest *f, const struct suspects *suspects)
{
	json_t *list = json_array();

	for (size_t i = 0; i < suspects->list.n && i < spans_arg.top; i++) {
		const struct suspect_version *s = &suspects->list.v[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:o, s:o, s:s?, s:b}", "bucket", s->label, "package",
						      names_get(f->names, s->package), "version", names_get(f->names, s->version), "mean_ns", s->mean,
						      "others_mean_ns", s->others, "requests", s->requests, "p", s->p, "q", s->q, "superiority",
						      s->superiority, "same_times", s->levelled, "own_ns",
						      s->is_service ? number_json(s->own_mean) : json_null(), "own_others_ns",
						      s->is_service ? number_json(s->own_others) : json_null(), "together", s->together,
						      "deployed", s->deployed));
	}
	return list;
}

static json_t *traces_json(const struct span_cause *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->n_traces; i++)
		json_array_append_new(list, json_pack("{s:s, s:I}", "trace", c->traces[i].id, "duration_ns", (json_int_t)c->traces[i].duration));
	return list;
}

static json_t *causes_json(const struct span_causes *c)
{
	json_t *list = json_array();

	if (!c->looked_at.n) {
		json_decref(list);
		return json_null();
	}
	for (size_t i = 0; i < c->list.n; i++) {
		const struct span_cause *x = &c->list.v[i];

		json_array_append_new(list, json_pack("{s:s, s:o, s:f, s:f, s:f, s:f, s:f, s:I}", "where", x->where, "traces", traces_json(x), "requests", x->requests, "mean_ns",
						      x->mean, "expected_ns", x->expected, "share", x->share, "moved", x->moved, "kinds",
						      (json_int_t)x->kinds));
	}
	return json_pack("{s:o, s:b, s:o, s:o, s:f, s:b, s:I, s:I}", "causes", list, "sampled", c->sampled, "looked_at", texts_json(c->looked_at.v, c->looked_at.n),
			 "on_one_side_only", texts_json(c->replaced.v, c->replaced.n), "explained", c->explained, "alike", c->alike, "kinds",
			 (json_int_t)c->kinds, "tried", (json_int_t)c->tried);
}

json_t *change_json(const char *schema, const struct sides *s, const struct span_change *c)
{
	json_t *buckets = json_array(), *services = json_array();
	char since[32], until[32];

	for (size_t i = 0; i < c->buckets.n && i < spans_arg.top; i++)
		json_array_append_new(buckets, bucket_json(&s->forest, &c->buckets.v[i]));
	for (size_t i = 0; i < c->services.n; i++)
		json_array_append_new(services, json_pack("{s:s, s:f, s:f, s:f, s:f}", "service",
							  names_get(s->names, c->services.v[i].service), "score", c->services.v[i].score,
							  "expected_ns", c->services.v[i].expected, "got_ns", c->services.v[i].got, "calls",
							  c->services.v[i].calls));
	return json_pack("{s:s, s:s?, s:s?, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", schema, "since",
			 s->changed.since ? format_rfc3339(s->changed.since, since, sizeof(since)) : NULL, "until",
			 s->changed.until ? format_rfc3339(s->changed.until, until, sizeof(until)) : NULL, "baseline",
			 s->before ? s->before : "", "candidate", s->after ? s->after : "", "rule", s->forest.rule, "verdict",
			 span_verdict_name(span_change_gate(c)), "mean_before_ns", number_json(c->mean_before), "mean_after_ns",
			 number_json(c->mean_after), "within_ns", number_json(c->within), "mix_ns", number_json(c->mix), "all", all_json(c), "buckets", buckets, "services",
			 services, "attributes", causes_json(&s->causes), "suspects", suspects_json(&s->forest, &s->suspects), "deployments", deployed_json(&s->deployed), "hosts", descent_json(&s->descent), "read",
			 spans_tally_json(&s->forest));
}

/* Why a bucket is worse though its mean does not say so; NULL: its mean does. */
static char *ground_words(const struct forest *f, const struct bucket_change *b)
{
	_cleanup_free_ char *path = b->ground == GROUND_CALL ? vertex_path(f, b->slow_call) : NULL;
	char x[24], *text = NULL;
	int r = 0;

	if (b->verdict == VERDICT_FAILING)
		r = asprintf(&text, "%.2f %% of the requests fail, were %.2f %%", 100 * b->errors_after, 100 * b->errors_before);
	else if (b->ground == GROUND_TAIL)
		r = asprintf(&text, "%.1f %% of the requests take more than %s, were %.1f %%", 100 * b->tail_after, spans_duration(b->tail_ns, x),
			     100 * b->tail_before);
	else if (b->ground == GROUND_SPREAD)
		r = asprintf(&text, "some requests are slower: durations of requests of one kind vary %.1f times as much as before",
			     span_spread_times(&b->spread));
	else if (b->ground == GROUND_CALL)
		r = asprintf(&text, "one call is slower: %s", path ? path : "?");
	return r < 0 ? NULL : text;
}

/* No bucket is worse by itself, but all of them together are. */
static char *headline_of_all(const struct span_change *c)
{
	char a[24], *text = NULL;
	int r;

	if (c->all.verdict == VERDICT_FAILING)
		r = asprintf(&text, "failing: all buckets together: %.2f %% of the requests fail, were %.2f %%", 100 * c->all.errors_after,
			     100 * c->all.errors_before);
	else if (c->all.ground == GROUND_TAIL)
		r = asprintf(&text, "slower: all buckets together: the tail is heavier: %.1f %% of the requests are in what was %.1f %%",
			     100 * c->all.tail_after, 100 * c->all.tail_before);
	else if (c->all.ground == GROUND_SPREAD)
		r = asprintf(&text, "slower: all buckets together: some requests are slower: durations of requests of one kind vary %.1f times as much as before",
			     span_spread_times(&c->all.spread));
	else
		r = asprintf(&text, "slower: all buckets together: %s a request more within buckets (%+.1f %%)", spans_duration(c->all.within, a),
			     100 * c->all.within / c->all.mean);
	return r < 0 ? NULL : text;
}

static char *headline_of(const struct sides *s, const struct span_change *c)
{
	const struct bucket_change *b = c->buckets.n ? &c->buckets.v[0] : NULL;
	_cleanup_free_ char *ground = b ? ground_words(&s->forest, b) : NULL;
	_cleanup_free_ char *label = b ? spans_bucket_label(&s->forest, &s->forest.buckets.v[b->bucket]) : NULL,
			    *path = b && b->vertices.n ? vertex_label(&s->forest, b->vertices.v[0].vertex) : NULL;
	const char *cause = s->causes.list.n ? s->causes.list.v[0].where : NULL;
	char x[24], y[24], *text;

	if (!b)
		return NULL;
	if (!span_is_regression(b->verdict) && span_is_regression(c->all.verdict))
		return headline_of_all(c);
	if (ground)
		return asprintf(&text, "%s: %s: %s", span_verdict_name(b->verdict), label ? label : "?", ground) < 0 ? NULL : text;
	if (asprintf(&text, "%s: %s: mean %s, was %s; most of it: %s (%s)%s%s", span_verdict_name(b->verdict), label ? label : "?",
			   spans_duration(b->mean_after, x), spans_duration(b->mean_before, y), path ? path : "?",
			   b->vertices.n ? span_reason_name(b->vertices.v[0].reason) : "", cause ? "; requests with " : "", cause ? cause : "") < 0)
		return NULL;
	return text;
}

char *change_headline(const struct sides *s, const struct span_change *c)
{
	_cleanup_free_ char *text = headline_of(s, c);
	_cleanup_free_ char *deployed = s->deployed.list.n ? span_deployed_words(&s->deployed.list.v[0]) : NULL;
	char *both;

	if (!text || !deployed)
		return TAKE(text);
	return asprintf(&both, "%s; deployed: %s", text, deployed) < 0 ? NULL : both;
}
