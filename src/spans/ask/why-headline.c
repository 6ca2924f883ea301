/* The answer to "why is it slow?" about traced requests, in one line. */
#include "spans/ask/span-view.h"

#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"

/* The call by which the version differs from its others. */
static char *call_words(const struct suspect_call *c)
{
	char *text = NULL;
	const char *label = c->label ? c->label : "?";
	int r = 0;

	switch (c->reason) {
	case REASON_MORE_CALLS:
		r = asprintf(&text, "calls %s %.3g times a call, with its other versions %.3g times", label, c->calls, c->calls_others);
		break;
	case REASON_SEQUENTIAL:
		r = asprintf(&text, "%s: fewer of its calls run at a time than with its other versions", label);
		break;
	case REASON_SOME:
		r = asprintf(&text, "%.1f %% of the requests spend more than %s in %s, with its other versions %.1f %%", 100 * c->share,
			     SPAN_DURATION(c->beyond), label, 100 * c->share_others);
		break;
	case REASON_SLOWER:
		r = asprintf(&text, "%s takes %s a call, with its other versions %s", label, SPAN_DURATION(c->each), SPAN_DURATION(c->each_others));
		break;
	default:
		return NULL;
	}
	return r < 0 ? NULL : text;
}

char *span_suspect_words(const struct span_comparison *s, const struct suspect_version *x)
{
	const char *package = names_get(s->names, x->package), *version = names_get(s->names, x->version);
	const struct span_error *most = x == s->suspects.list.v && s->errors.list.n ? &s->errors.list.v[0] : NULL;
	_cleanup_free_ char *error = most ? span_error_words(s->names, most) : NULL;
	_cleanup_free_ char *call = call_words(x->slower || x->failing ? &x->call : &x->silent);
	char *text;
	int r;

	if (x->failing)
		r = asprintf(&text, "%s %s fails more often: by it %.2f %% of the requests have a failure, by its other versions %.2f %%%s%s", package, version,
			     100 * x->fails, 100 * x->fails_others, error ? ": " : "", error ? error : "");
	else if (!x->slower || (call && x->call.behind))
		r = asprintf(&text, "%s %s is slower by itself, which does not delay requests yet: %s", package, version, call ? call : "?");
	else if (x->is_service && call)
		r = asprintf(&text, "%s %s is slower (+%s a request by itself%s%s): %s", package, version,
			     SPAN_DURATION(x->by_call ? x->call.gain : x->own_mean - x->own_others), x->only_where ? ", only where " : "",
			     x->only_where ? x->only_where : "", call);
	else
		r = asprintf(&text, "%s %s is slower%s%s: requests that ran it take %s, others %s", package, version, x->only_where ? ", only where " : "",
			     x->only_where ? x->only_where : "", SPAN_DURATION(x->mean), SPAN_DURATION(x->others));
	return r < 0 ? NULL : text;
}

static char *since_words(const struct span_since *since, const struct span_change *change)
{
	_cleanup_free_ char *uniform = span_change_uniform_words(change);
	char when[32], end[32], *text;
	const char *until = since->until ? clock_format_local(since->until, end, sizeof(end)) : "";
	int r;

	clock_format_local(since->since, when, sizeof(when));
	if (since->failing)
		r = asprintf(&text, "all versions fail more often since %s%s%s: %.2f %% of the requests where most do, were %.2f %%", when,
			     since->until ? ", until " : "", until, 100 * since->during, 100 * since->before);
	else
		r = asprintf(&text, "all versions are slower since %s%s%s: %s where it costs most, were %s%s%s", when, since->until ? ", until " : "", until,
			     SPAN_DURATION(since->during), SPAN_DURATION(since->before), uniform ? "; " : "", uniform ? uniform : "");
	return r < 0 ? NULL : text;
}

/* Nothing was found among versions and times. */
static char *nothing_words(const struct suspects *s)
{
	char *text;

	if (s->compared)
		return strdup("no version is slower than the others, and nothing changed in time");
	if (!s->few)
		return strdup("there is only one version to see, and nothing changed in time");
	return asprintf(&text, "too few requests to compare versions: %d of each are needed in a bucket (--by OTHER,... makes fewer buckets); and nothing changed in time",
			SPAN_LEAST) < 0 ? NULL : text;
}

char *span_why_headline(const struct span_comparison *s)
{
	const struct suspects *x = &s->suspects;
	char *text;

	if (x->list.n)
		return span_suspect_words(s, &x->list.v[0]);
	if (s->changed.since)
		return since_words(&s->changed, &s->change);
	if (x->silent.n)
		return span_suspect_words(s, &x->silent.v[0]);
	if (x->compared || x->alone)
		return nothing_words(x);
	text = span_change_headline(s);
	return text || s->change.buckets.n ? text : strdup("no bucket has requests on both sides");
}
