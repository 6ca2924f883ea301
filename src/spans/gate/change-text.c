/* A change between two sets of requests, in words. */
#include "spans/ask/span-view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/stat/sketch.h"

static void print_reason(const struct forest *f, const struct vertex_change *v, FILE *out)
{
	_cleanup_free_ char *through = vertex_label(f, v->through);
	const char *who = v->through == v->vertex ? "it" : through ? through : "?";

	switch (v->reason) {
	case REASON_SLOWER:
		if (v->each_after > 1.1 * v->each_before)
			fprintf(out, "; its own time is %s a call, was %s", SPAN_DURATION(v->each_after), SPAN_DURATION(v->each_before));
		break;
	case REASON_MORE_CALLS:
		fprintf(out, "; %s is called %.3g times a call, was %.3g", who, v->calls_after, v->calls_before);
		break;
	case REASON_RETRIES:
		fprintf(out, "; %s is retried after failures: %.3g calls, were %.3g", who, v->calls_after, v->calls_before);
		break;
	case REASON_SEQUENTIAL:
		fprintf(out, "; %s now: %.2g at a time where %s is called, was %.2g",
		       v->parallel_after < 1.1 ? "one after another" : "partly one after another", v->parallel_after, who, v->parallel_before);
		break;
	case REASON_NEW:
		fprintf(out, "; was not called before");
		break;
	case REASON_ONE_HOST:
		fprintf(out, "; on one host: %s takes %s a call, the others %s", names_get(f->names, v->host), SPAN_DURATION(v->host_mean),
		       SPAN_DURATION(v->others_mean));
		break;
	default:
		break;
	}
}

static void print_vertices(size_t top, const struct forest *f, const struct bucket_change *c, FILE *out)
{
	double difference = c->mean_after - c->mean_before;
	size_t shown = 0;

	for (size_t i = 0; i < c->vertices.n && shown < top; i++) {
		const struct vertex_change *v = &c->vertices.v[i];
		double gain = v->after - v->before;
		_cleanup_free_ char *path = vertex_path(f, v->vertex);

		if (gain < .02 * fabs(difference) || gain <= 0)
			break;
		if (c->ground != GROUND_MEAN && v->p > SPAN_Q)
			continue; /* the mean has not moved: that is chance */
		fprintf(out, "    +%s (%.0f %%): %s\n        on the critical path %s a request, was %s", SPAN_DURATION(gain),
		       100 * gain / fabs(difference), path ? path : "?", SPAN_DURATION(v->after), SPAN_DURATION(v->before));
		print_reason(f, v, out);
		fputc('\n', out);
		shown++;
	}
}

/* Calls that took over from others, though the whole grew by less. */
static void print_moved(const struct forest *f, const struct bucket_change *c, FILE *out)
{
	const struct vertex_change *least = c->vertices.n ? &c->vertices.v[c->vertices.n - 1] : NULL;
	_cleanup_free_ char *from = NULL, *to = NULL;

	if (!least || c->lost < SPAN_MOVED * c->gained || c->gained < SPAN_TOLERANCE * c->mean_before)
		return;
	from = vertex_label(f, least->vertex);
	to = vertex_label(f, c->vertices.v[0].vertex);
	fprintf(out, "    cost was moved: some calls gained %s, others lost %s; most from %s to %s\n", SPAN_DURATION(c->gained),
	       SPAN_DURATION(c->lost), from ? from : "?", to ? to : "?");
}

/* A slow and a normal request of the same path side by side: what each vertex took on the critical path. */
static void print_exemplars(const struct forest *f, const struct bucket_change *c, FILE *out)
{
	const struct exemplar *slow = c->slow, *normal = c->normal;

	if (!slow || !normal)
		return;
	fprintf(out, "    two requests side by side: %s (%s) and", SPAN_TRACE_ID(f->names, slow->high, slow->low),
	       SPAN_DURATION((double)slow->duration));
	fprintf(out, " %s (%s), before\n", SPAN_TRACE_ID(f->names, normal->high, normal->low), SPAN_DURATION((double)normal->duration));
	for (uint32_t v = 0; v < f->vertices.n; v++) {
		unsigned calls_slow, calls_normal;
		int64_t in_slow = exemplar_path(slow, v, &calls_slow), in_normal = exemplar_path(normal, v, &calls_normal);
		_cleanup_free_ char *label = vertex_label(f, v);

		if (in_slow < slow->duration / 50 && in_normal < slow->duration / 50)
			continue;
		fprintf(out, "      %9s in %u %s  %9s in %u  %*s%s\n", SPAN_DURATION((double)in_slow), calls_slow,
		       calls_slow == 1 ? "call, " : "calls,", SPAN_DURATION((double)in_normal), calls_normal, f->vertices.v[v].depth, "",
		       label ? label : "?");
	}
}

/* The part of the change that comes from other requests being asked for. */
static void print_mix(const struct forest *f, const struct bucket_change *c, FILE *out)
{
	if (!c->mix.n_keys)
		return;
	fprintf(out, "  other requests were asked for: %s=%s in %.1f %%, was %.1f %%", names_get(f->names, c->mix.keys[0]), span_value_text(f, c->mix.value),
	       100 * c->mix.share_after, 100 * c->mix.share_before);
	for (size_t i = 1; i < c->mix.n_keys; i++)
		fprintf(out, ", and %s", names_get(f->names, c->mix.keys[i]));
	fprintf(out, "; that moves the mean by %s, all else by %s\n", SPAN_DURATION(c->mix.mix), SPAN_DURATION(c->within));
}

#define SLOW_WORDS 128 /* two shares and a factor */

static const char *slow_words(const struct span_slow *s, char ret[SLOW_WORDS])
{
	const struct span_slow_share *x = span_slow_worst(s);

	snprintf(ret, SLOW_WORDS, "%.1f %% of them take more than %.1f times as long as their kind normally does, were %.1f %%", 100 * x->after / s->requests,
		 x->times, 100 * x->usual / s->requests);
	return ret;
}

/* A call that is worse below requests that are not; NULL without memory. */
static char *call_words(const struct forest *f, const struct bucket_change *c)
{
	_cleanup_free_ char *path = vertex_path(f, c->slow_call);
	const struct vertex_change *v = c->vertices.v;
	char *text = NULL;
	int r;

	if (!path)
		return NULL;
	while (v->vertex != c->slow_call) /* a vertex that both sides have is among them */
		v++;
	if (c->verdict == VERDICT_FAILING)
		r = asprintf(&text, "%.2f %% of the %scalls fail, were %.2f %%: %s", 100 * c->call_errors_after, c->call_behind ? "asynchronous " : "",
			     100 * c->call_errors_before, path);
	else
		r = asprintf(&text, "one call is slower: %s; its own time is %s a call, was %s", path, SPAN_DURATION(v->each_after),
			     SPAN_DURATION(v->each_before));
	return r < 0 ? NULL : text;
}

/* Grounds other than the mean. */
static void print_ground(const struct forest *f, const struct bucket_change *c, FILE *out)
{
	char slow[SLOW_WORDS];
	_cleanup_free_ char *call = c->ground == GROUND_CALL ? call_words(f, c) : NULL;

	if ((c->verdict == VERDICT_FAILING && !call) || c->errors_after != c->errors_before)
		fprintf(out, "  errors: %.2f %% of the requests, were %.2f %%; p = %.2g\n", 100 * c->errors_after, 100 * c->errors_before, c->p_errors);
	if (c->ground == GROUND_TAIL)
		fprintf(out, "  the tail is heavier: %.1f %% of the requests take more than %s, were %.1f %%; p = %.2g\n", 100 * c->tail_after,
		       SPAN_DURATION(c->tail_ns), 100 * c->tail_before, c->p_tail);
	if (c->ground == GROUND_SLOW)
		fprintf(out, "  some requests are slower: %s; p = %.2g\n", slow_words(&c->for_kind, slow), c->for_kind.p);
	if (call)
		fprintf(out, "  %s\n", call);
}

static void print_bucket(size_t top, const struct forest *f, const struct bucket_change *c, bool whole, FILE *out)
{
	_cleanup_free_ char *label = span_bucket_label(f, &f->buckets.v[c->bucket]);

	fprintf(out, "\n%s\n", label ? label : "?");
	if (!c->before || !c->after) {
		fprintf(out, "  only there %s (%.0f requests)\n", c->before ? "before" : "after",
		       moments_count(c->before ? &c->before->total : &c->after->total));
		return;
	}
	fprintf(out, "  %s: mean %s, was %s (95 %% sure: %+.0f to %+.0f %%; %s to %s); slower than before with probability %.2f; q = %.2g\n",
	       span_verdict_name(c->verdict), SPAN_DURATION(c->mean_after), SPAN_DURATION(c->mean_before),
	       100 * c->low / c->mean_before, 100 * c->high / c->mean_before, SPAN_DURATION(c->low), SPAN_DURATION(c->high),
	       c->superiority, c->q);
	fprintf(out, "  p95 %s, was %s; %.0f requests, were %.0f\n", SPAN_DURATION(sketch_quantile(c->after->sketch, .95)),
	       SPAN_DURATION(sketch_quantile(c->before->sketch, .95)), moments_count(&c->after->total),
	       moments_count(&c->before->total));
	print_mix(f, c, out);
	print_ground(f, c, out);
	if (c->verdict == VERDICT_SLOWER || whole)
		print_vertices(top, f, c, out);
	print_moved(f, c, out);
	if (c->verdict == VERDICT_SLOWER)
		print_exemplars(f, c, out);
}

static void print_services(const struct forest *f, const struct span_change *c, FILE *out)
{
	if (!c->services.n || c->services.v[0].score < .05)
		return;
	fputs("\nServices, by how much slower they became at the same calls (their own time and the way to them):\n", out);
	for (size_t i = 0; i < c->services.n && i < 5; i++) {
		const struct service_change *s = &c->services.v[i];

		if (s->score < .05)
			break;
		fprintf(out, "  %5.3g times  %-32s %s, would have been %s\n", s->got / s->expected, names_get(f->names, s->service),
		       SPAN_DURATION(s->got), SPAN_DURATION(s->expected));
	}
}

static void print_words(size_t top, const char *head, char *const *v, size_t n, FILE *out)
{
	fprintf(out, "%s", head);
	for (size_t i = 0; i < n && i < top; i++)
		fprintf(out, "%s%s", i ? ", " : " ", v[i]);
	fprintf(out, "%s\n", n > top ? " ..." : "");
}

/* Which requests, whatever the buckets are made of. */
static void print_causes(size_t top, const struct span_causes *c, FILE *out)
{
	if (!c->searched)
		return;
	if (!c->looked_at.n) {
		fputs("\nNo attribute distinguishes the requests that became slower (--join FILE:ATTRIBUTE adds attributes)\n", out);
		return;
	}
	fputs("\nWhich requests became slower, by all their attributes:\n", out);
	for (size_t i = 0; i < c->list.n; i++) {
		fprintf(out, "  %zu. %s\n     mean %s, would have been %s; %.0f requests; explains %.0f %% of the rise\n", i + 1, c->list.v[i].where,
		       SPAN_DURATION(c->list.v[i].mean), SPAN_DURATION(c->list.v[i].expected), c->list.v[i].requests,
		       100 * c->list.v[i].share);
		span_examples_text(c->list.v[i].traces, c->list.v[i].n_traces, out);
	}
	if (c->sampled)
		fputs("  by a sample of the requests, with what they call\n", out);
	if (!c->list.n)
		fprintf(out, "%s\n", c->alike ? "  all kinds equally: the cause is not among their attributes" :
				"  no combination of them together: the cause is not among their attributes");
	else if (c->explained < .5)
		fputs("  the rest of the cause is not among the attributes\n", out);
	print_words(top, "  checked:", c->looked_at.v, c->looked_at.n, out);
	if (c->replaced.n)
		print_words(top, "  on one side only, so that no comparison separates them from it:", c->replaced.v, c->replaced.n, out);
}

static void print_errors(const struct span_comparison *s, size_t top, FILE *out)
{
	if (!s->errors.list.n)
		return;
	fputs("\nErrors that more requests have, by type:\n", out);
	for (size_t i = 0; i < s->errors.list.n && i < top; i++) {
		const struct span_error *e = &s->errors.list.v[i];
		_cleanup_free_ char *words = span_error_words(s->names, e);

		fprintf(out, "  %zu. %s: %.2f %% of the requests, were %.2f %%\n", i + 1, words ? words : "?", 100 * e->share[1], 100 * e->share[0]);
	}
}

/* Deployments come before what is seen in the requests. */
static void print_deployed(const struct span_comparison *s, size_t top, FILE *out)
{
	if (!s->deployed.list.n)
		return;
	fputs("What was deployed when it began, the likeliest first:\n", out);
	for (size_t i = 0; i < s->deployed.list.n && i < top; i++) {
		const struct span_deployed_one *one = &s->deployed.list.v[i];
		_cleanup_free_ char *words = span_deployed_words(one);

		fprintf(out, "  %zu. %s: ", i + 1, words ? words : "?");
		if (one->slow_host)
			fputs("its calls are slower on that host only; ", out);
		if (isnan(one->share))
			fputs("no call of these requests is of this package\n", out);
		else
			fprintf(out, "its calls and the way to them are %.0f %% of the rise\n", 100 * one->share);
	}
	fputc('\n', out);
}

static void print_suspects(const struct span_comparison *s, size_t top, FILE *out)
{
	fprintf(out, "%u of %u versions (in %u buckets) are slower than the others of their bucket, or fail more often:\n", s->suspects.slower,
		s->suspects.compared, s->suspects.buckets);
	for (size_t i = 0; i < s->suspects.list.n && i < top; i++) {
		const struct suspect_version *x = &s->suspects.list.v[i];

		fprintf(out, "  %2zu. %s: %s %s: mean %s, others %s%s (%+.1f %%); q = %.2g, %.0f requests\n", i + 1, x->label,
		       names_get(s->names, x->package), names_get(s->names, x->version), SPAN_DURATION(x->mean),
		       SPAN_DURATION(x->others), x->levelled ? " at the same times" : "", 100 * (x->mean / x->others - 1), x->q, x->requests);
		if (x->is_service)
			fprintf(out, "      %s itself and its calls of what has no spans take %s a request, with its other versions %s\n",
				names_get(s->names, x->package), SPAN_DURATION(x->own_mean), SPAN_DURATION(x->own_others));
		if (x->failing)
			fprintf(out, "      by it %.2f %% of the requests have a failure, by its other versions %.2f %%; q = %.2g\n", 100 * x->fails,
				100 * x->fails_others, x->q_fails);
		if (x->deployed)
			fputs("      was deployed while these requests ran\n", out);
		if (x->together)
			fprintf(out, "      always together with %s: these requests do not show which of them it is\n", x->together);
	}
	fputc('\n', out);
}

void span_change_text(const struct span_comparison *s, size_t top, FILE *out)
{
	_cleanup_free_ char *saturation = NULL;
	const struct span_change *c = &s->change;

	print_deployed(s, top, out);
	fprintf(out, "%s, against %s; critical path by the rule '%s'\n", s->after ? s->after : "candidate", s->before ? s->before : "baseline",
	       s->forest.rule);
	fprintf(out, "all requests: mean %s, was %s: %s within the buckets, %s because other buckets were asked for\n",
	       SPAN_DURATION(c->mean_after), SPAN_DURATION(c->mean_before), SPAN_DURATION(c->within), SPAN_DURATION(c->mix));
	if (!isnan(span_comparison_rate(s, 0)) && !isnan(span_comparison_rate(s, 1)))
		fprintf(out, "%.3g requests began in a second, were %.3g; %.3g ran at a time, were %.3g\n", span_comparison_rate(s, 1),
			span_comparison_rate(s, 0), span_comparison_at_a_time(s, 1), span_comparison_at_a_time(s, 0));
	saturation = span_saturation_words(s);
	if (saturation)
		fprintf(out, "%s\n", saturation);
	for (size_t i = 0; i < c->buckets.n && i < top; i++)
		print_bucket(top, &s->forest, &c->buckets.v[i], i == 0, out);
	print_causes(top, &s->causes, out);
	print_errors(s, top, out);
	print_services(&s->forest, c, out);
	span_descent_text(&s->descent, out);
	span_tally_text(&s->forest, out);
	span_descent_reason_text(&s->descent, out);
}

static void print_silent(const struct span_comparison *s, size_t top, FILE *out)
{
	if (!s->suspects.silent.n)
		return;
	fputs("Slower by themselves, without delaying requests yet:\n", out);
	for (size_t i = 0; i < s->suspects.silent.n && i < top; i++) {
		const struct suspect_version *x = &s->suspects.silent.v[i];
		_cleanup_free_ char *words = span_suspect_words(s, x);

		fprintf(out, "  %2zu. %s: %s; q = %.2g\n", i + 1, x->label, words ? words : "?", x->q_silent);
	}
	fputc('\n', out);
}

static void print_no_version(const struct span_comparison *s, FILE *out)
{
	if (s->suspects.compared)
		fprintf(out, "no version is slower than the others of its bucket, or fails more often: %u compared in %u buckets (q <= %.2g and at least %.0f %% slower)\n",
			s->suspects.compared, s->suspects.buckets, SPAN_Q, 100 * SPAN_TOLERANCE);
	if (s->suspects.replaced)
		fprintf(out, "%u were slower than all that followed them, and have ended\n", s->suspects.replaced);
}

void span_why_text(const struct span_comparison *s, size_t top, FILE *out)
{
	bool searched = s->suspects.compared || s->suspects.alone;
	_cleanup_free_ char *headline = span_why_headline(s);

	fprintf(out, "%s\n", headline ? headline : "?");
	if (s->suspects.list.n)
		print_suspects(s, top, out);
	else if (searched)
		print_no_version(s, out);
	print_silent(s, top, out);
	if (s->suspects.list.n || s->suspects.silent.n || !searched || (s->changed.since && s->after)) {
		span_change_text(s, top, out);
		return;
	}
	if (s->changed.since) {
		fprintf(out, "'--since %s' says where that went\n", CLOCK_RFC3339(s->changed.since));
	} else if (!s->suspects.compared) {
		fputs("Compare times with --since TIME, or files with --against FILE,...\n", out);
	}
	span_tally_text(&s->forest, out);
}

/* --- one line --- */

/* Why a bucket is worse though its mean does not say so; NULL: its mean does. */
static char *ground_words(const struct forest *f, const struct bucket_change *b)
{
	char slow[SLOW_WORDS], *text = NULL;
	int r = 0;

	if (b->ground == GROUND_CALL)
		return call_words(f, b);
	if (b->verdict == VERDICT_FAILING)
		r = asprintf(&text, "%.2f %% of the requests fail, were %.2f %%", 100 * b->errors_after, 100 * b->errors_before);
	else if (b->ground == GROUND_TAIL)
		r = asprintf(&text, "%.1f %% of the requests take more than %s, were %.1f %%", 100 * b->tail_after, SPAN_DURATION(b->tail_ns),
			     100 * b->tail_before);
	else if (b->ground == GROUND_SLOW)
		r = asprintf(&text, "some requests are slower: %s", slow_words(&b->for_kind, slow));
	return r < 0 ? NULL : text;
}

char *span_pool_label(const struct forest *f, const struct pool_change *p)
{
	char *text;

	if (!p->value)
		return strdup("all buckets together");
	return asprintf(&text, p->key ? "all buckets with %s%s%s together" : "all buckets of %s%s%s together", p->key ? names_get(f->names, p->key) : "",
			p->key ? "=" : "", names_get(f->names, p->value)) < 0 ? NULL : text;
}

char *span_change_pool_line(const struct forest *f, const struct pool_change *p)
{
	_cleanup_free_ char *label = span_pool_label(f, p);
	const char *verdict = span_verdict_name(p->verdict), *who = label ? label : "?";
	char slow[SLOW_WORDS], *text = NULL;
	int r;

	if (p->verdict == VERDICT_FAILING)
		r = asprintf(&text, "%s: %s: %.2f %% of the requests fail, were %.2f %%", verdict, who, 100 * p->errors_after, 100 * p->errors_before);
	else if (p->ground == GROUND_TAIL)
		r = asprintf(&text, "%s: %s: the tail is heavier: %.1f %% of the requests are in what was %.1f %%", verdict, who, 100 * p->tail_after,
			     100 * p->tail_before);
	else if (p->ground == GROUND_SLOW)
		r = asprintf(&text, "%s: %s: some requests are slower: %s", verdict, who, slow_words(&p->for_kind, slow));
	else
		r = asprintf(&text, "%s: %s: %s a request more within buckets (%+.1f %%)", verdict, who, SPAN_DURATION(p->within),
			     100 * p->within / p->mean);
	return r < 0 ? NULL : text;
}

char *span_change_bucket_line(const struct forest *f, const struct bucket_change *b)
{
	_cleanup_free_ char *ground = ground_words(f, b), *label = span_bucket_label(f, &f->buckets.v[b->bucket]),
			    *path = b->vertices.n ? vertex_label(f, b->vertices.v[0].vertex) : NULL;
	const char *verdict = span_verdict_name(b->verdict), *who = label ? label : "?";
	char *text = NULL;
	int r;

	if (ground)
		r = asprintf(&text, "%s: %s: %s", verdict, who, ground);
	else
		r = asprintf(&text, "%s: %s: mean %s, was %s; most of it: %s (%s)", verdict, who, SPAN_DURATION(b->mean_after),
			     SPAN_DURATION(b->mean_before), path ? path : "?",
			     b->vertices.n ? span_reason_name(b->vertices.v[0].reason) : "");
	return r < 0 ? NULL : text;
}

/* The worst bucket's line, and which requests; where no bucket is worse by itself, that of the worst pool. */
static char *headline_of(const struct span_comparison *s, const struct span_change *c)
{
	const struct bucket_change *b = c->buckets.n ? &c->buckets.v[0] : NULL;
	const struct pool_change *pool = span_change_worst_pool(c);
	const char *cause = b && b->ground == GROUND_MEAN && s->causes.list.n ? s->causes.list.v[0].where : NULL;
	_cleanup_free_ char *line = NULL;
	char *text;

	if (!b)
		return NULL;
	if (!span_is_regression(b->verdict) && pool)
		return span_change_pool_line(&s->forest, pool);
	line = span_change_bucket_line(&s->forest, b);
	if (!line || !cause)
		return TAKE(line);
	return asprintf(&text, "%s; requests with %s", line, cause) < 0 ? NULL : text;
}

char *span_change_uniform_words(const struct span_change *c)
{
	char *text;

	if (!(c->uniform > 0))
		return NULL;
	return asprintf(&text, "calls of all %zu services take about %.2g times as long: is it their host, runtime or configuration?", c->services.n, c->uniform) < 0 ? NULL : text;
}

char *span_change_headline(const struct span_comparison *s)
{
	_cleanup_free_ char *text = headline_of(s, &s->change), *uniform = text ? span_change_uniform_words(&s->change) : NULL;
	_cleanup_free_ char *deployed = s->deployed.list.n ? span_deployed_words(&s->deployed.list.v[0]) : NULL;
	const char *load = span_saturation_headline(&s->saturation), *why = load ? load : uniform;
	char *all;

	if (!text || (!deployed && !why))
		return TAKE(text);
	return asprintf(&all, "%s%s%s%s%s", text, why ? "; " : "", why ? why : "", deployed ? "; deployed: " : "", deployed ? deployed : "") < 0 ? NULL : all;
}
