/* Requests that were stored whole, span by span, and two of them side by side. */
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/view/json.h"
#include "spans/ask/span-view.h"

void span_outline_text(const struct span_outline *k, FILE *out)
{
	_cleanup_free_ char *versions = span_versions_label(k->forest, k->group->versions), *bucket = span_bucket_label(k->forest, k->bucket);

	fprintf(out, "\n%s, %s\n  %s request %s of %s: %s, %u spans\n", bucket ? bucket : "?", versions ? versions : "?", k->slowest ? "slow" : "ordinary",
	       SPAN_TRACE_ID(k->forest->names, k->request->high, k->request->low), CLOCK_LOCAL(k->request->start),
	       SPAN_DURATION((double)k->request->duration), k->request->n_spans);
	fputs("  began after, took; * = on the critical path\n", out);
	for (uint32_t i = 0; i < k->n; i++) {
		const struct exemplar_span *s = &k->request->spans.v[k->order[i]];
		_cleanup_free_ char *label = vertex_label(k->forest, s->vertex);

		fprintf(out, "  %9s %9s %s %*s%s%s", SPAN_DURATION((double)s->start), SPAN_DURATION((double)(s->end - s->start)),
			s->path > 0 ? "*" : " ", 2 * (int)k->depth[k->order[i]], "", label ? label : "?", s->error ? "  [failed]" : "");
		if (s->link)
			fprintf(out, "  [refers to trace %s", names_get(k->forest->names, s->link));
		if (s->link && s->links > 1)
			fprintf(out, " and %u others", s->links - 1);
		fputs(s->link ? "]\n" : "\n", out);
	}
}

static json_t *span_json(const struct span_outline *k, uint32_t i)
{
	const struct exemplar_span *s = &k->request->spans.v[i];
	const struct vertex *v = &k->forest->vertices.v[s->vertex];
	_cleanup_free_ char *label = vertex_label(k->forest, s->vertex);

	return json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s?, s:o, s:i, s:I, s:I, s:I, s:b, s:s?, s:I}", "text", label ? label : "?", "kind",
			 v->kind == VERTEX_EDGE ? "edge" : "call", "service", names_get(k->forest->names, v->service), "operation",
			 names_get(k->forest->names, v->operation), "host", s->host ? names_get(k->forest->names, s->host) : NULL, "process",
			 s->process ? names_get(k->forest->names, s->process) : NULL, "parent", s->parent < k->request->spans.n ? json_integer(k->row[s->parent]) : json_null(), "depth", (int)k->depth[i], "start_ns",
			 (json_int_t)s->start, "duration_ns", (json_int_t)(s->end - s->start), "path_ns", (json_int_t)s->path, "error",
			 s->error, "link", s->link ? names_get(k->forest->names, s->link) : NULL, "links", (json_int_t)s->links);
}

json_t *span_outline_json(const struct span_outline *k)
{
	_cleanup_free_ char *versions = span_versions_label(k->forest, k->group->versions);
	json_t *o = span_bucket_json(k->forest, k->bucket), *spans = json_array();

	for (uint32_t i = 0; i < k->n; i++)
		json_array_append_new(spans, span_json(k, k->order[i]));
	json_object_update_new(o, json_pack("{s:s, s:s, s:s, s:b, s:I, s:I, s:o}", "versions",
					    versions ? versions : "", "trace",
					    SPAN_TRACE_ID(k->forest->names, k->request->high, k->request->low),
					    "start", CLOCK_RFC3339(k->request->start),
					    "slowest", k->slowest, "duration_ns", (json_int_t)k->request->duration,
					    "n_spans", (json_int_t)k->request->n_spans, "spans", spans));
	return o;
}

static const char *difference_text(int64_t ns, char buf[24])
{
	*buf = ns < 0 ? '-' : '+';
	span_duration_text((double)llabs(ns), buf + 1);
	return buf;
}

void span_two_requests_text(const struct span_two_requests *d, size_t top, FILE *out)
{
	char id[33], by[25], first[24], second[24];
	int64_t rise = d->of[1]->duration - d->of[0]->duration;

	fprintf(out, "\nThe second request, %s, ", span_trace_id_text(d->forest->names, d->of[1]->high, d->of[1]->low, id));
	fprintf(out, "takes %s %s.\n", span_duration_text((double)llabs(rise), by), rise < 0 ? "less" : "more");
	fputs("  difference     first    second   calls (own times on the critical path; calls that are the same in both are left out)\n", out);
	for (size_t i = 0; i < d->list.n && i < top; i++) {
		const struct span_two_calls *x = &d->list.v[i];
		_cleanup_free_ char *label = vertex_short_path(d->forest, x->vertex, 100);

		if (x->path[0] == x->path[1] && x->calls[0] == x->calls[1])
			continue;
		fprintf(out, "  %10s %9s %9s %3u, %-3u %s\n", difference_text(x->path[1] - x->path[0], by), span_duration_text((double)x->path[0], first),
			span_duration_text((double)x->path[1], second), x->calls[0], x->calls[1], label ? label : "?");
	}
}

json_t *span_two_requests_json(const struct span_two_requests *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->list.n; i++) {
		const struct span_two_calls *x = &d->list.v[i];
		_cleanup_free_ char *path = vertex_path(d->forest, x->vertex);

		json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:i, s:i}", "path", path ? path : "?", "first_ns", (json_int_t)x->path[0], "second_ns",
						      (json_int_t)x->path[1], "calls_first", (int)x->calls[0], "calls_second", (int)x->calls[1]));
	}
	return list;
}

json_t *span_exemplars_json(const struct forest *f, json_t *requests)
{
	return json_pack("{s:s, s:s, s:o}", "schema", "whyslow.spans.exemplars/1", "rule", f->rule, "requests", requests);
}
