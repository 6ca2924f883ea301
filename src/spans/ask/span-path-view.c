/* The critical path of a bucket, or of a single trace. */
#include <inttypes.h>
#include <stdio.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/view/json.h"
#include "spans/ask/span-view.h"

#define PATH_WIDTH 100 /* bytes of a call path in a line; JSON has all of it */

/* --- of a bucket --- */

static void print_longest(const struct forest *f, const struct span_path *p, FILE *out)
{
	fprintf(out, "  longest path over the forest of p95 (a sum of p95 is not a latency): %s\n", SPAN_DURATION(p->length));
	for (size_t i = 0; i < p->n; i++) {
		_cleanup_free_ char *label = vertex_label(f, p->steps[i].vertex);

		fprintf(out, "  %9s  %*s%s\n", SPAN_DURATION(p->steps[i].p95), (int)(2 * i), "", label ? label : "?");
	}
}

static void print_steps(const struct forest *f, const struct span_path *p, double total, size_t top, FILE *out)
{
	double shown = 0;

	fputs("    share       own  drag of   p95 of a call\n", out);
	for (size_t i = 0; i < p->n && i < top; i++) {
		const struct span_step *x = &p->steps[i];
		_cleanup_free_ char *label = vertex_short_path(f, x->vertex, PATH_WIDTH);

		if (x->path <= 0)
			break;
		fprintf(out, "  %5.1f %% %9s %9s %9s  %s\n", 100 * x->path / total, SPAN_DURATION(x->path), SPAN_DURATION(x->drag),
			SPAN_DURATION(x->p95), label ? label : "?");
		shown += x->path;
	}
	if (total - shown > .005 * total)
		fprintf(out, "  %5.1f %% %9s                      the rest\n", 100 * (total - shown) / total, SPAN_DURATION(total - shown));
}

void span_path_head_text(const char *rule, bool of_buckets, FILE *out)
{
	fprintf(out, "critical path by the rule '%s'%s\n", rule, of_buckets ? "; own times are means a request and add up to the whole" : "");
}

void span_path_text(const struct forest *f, const struct span_path *p, size_t top, FILE *out)
{
	const struct moments *total = &f->buckets.v[0].groups.v[0].total;
	_cleanup_free_ char *label = span_bucket_label(f, &f->buckets.v[0]);

	fprintf(out, "\n%s\n  %.0f requests, mean %s end to end\n", label ? label : "?", moments_count(total),
		SPAN_DURATION(moments_mean(total)));
	if (p->sdiag)
		print_longest(f, p, out);
	else
		print_steps(f, p, moments_mean(total), top, out);
}

static json_t *step_json(const struct forest *f, const struct span_path *p, const struct span_step *x)
{
	_cleanup_free_ char *text = vertex_path(f, x->vertex);
	json_t *o = json_pack("{s:s, s:f}", "path", text ? text : "", "p95_ns", x->p95);

	if (!p->sdiag) {
		json_object_set_new(o, "exclusive_ns_per_request", json_real(x->path));
		json_object_set_new(o, "drag_ns_per_request", json_real(x->drag));
	}
	return o;
}

json_t *span_path_bucket_json(const struct forest *f, const struct span_path *p)
{
	json_t *o = span_bucket_json(f, &f->buckets.v[0]);

	json_object_set_new(o, "mean_ns", json_real(moments_mean(&f->buckets.v[0].groups.v[0].total)));
	if (p->sdiag)
		json_object_set_new(o, "length_ns", json_real(p->length));
	json_object_set_new(o, "path", JSON_FIRST(x, p->steps, p->n, step_json(f, p, x)));
	return o;
}

json_t *span_path_json(const struct forest *f, const char *rule, json_t *buckets)
{
	return json_pack("{s:s, s:s, s:o, s:o}", "schema", "whyslow.spans.path/1", "rule", rule, "buckets", buckets, "read", span_tally_json(f));
}

/* --- of a trace --- */

static void label_of(const struct names *names, const struct span *span, char *buf, size_t n)
{
	snprintf(buf, n, "[%s] %s", names_get(names, span->service), names_get(names, span->operation));
}

void span_trace_text(const struct trace_answer *a, FILE *out)
{
	char id[33], own[24], of[24], drag[24], label[2 * NAME_TEXT_MAX];

	fprintf(out, "\ntrace %s: %s, %u spans\n", span_trace_id_text(a->names, a->root->trace_high, a->root->trace_low, id),
		span_duration_text((double)span_duration(a->root), own), a->n_spans);
	fputs("      own     of     drag   (on the critical path; the last to return comes first)\n", out);
	for (size_t k = 0; k < a->path.n; k++) {
		const struct trace_answer_span *x = &a->spans.v[a->path.v[k]];

		label_of(a->names, x->span, label, sizeof(label));
		fprintf(out, "%9s %9s %9s  %*s%s\n", span_duration_text((double)x->own, own), span_duration_text((double)x->length, of),
			span_duration_text((double)x->drag, drag), (int)(2 * x->depth), "", label);
	}
}

static json_t *trace_span_json(const struct trace_answer *a, const struct trace_answer_span *x)
{
	char id[24];
	json_t *o;

	snprintf(id, sizeof(id), "%016" PRIx64, x->span->id);
	o = json_pack("{s:s, s:s, s:s, s:I, s:I, s:b, s:b}", "span", id, "service", names_get(a->names, x->span->service), "operation",
		      names_get(a->names, x->span->operation), "start_ns", (json_int_t)x->start, "duration_ns", (json_int_t)x->length, "on_path",
		      x->on_path, "asynchronous", x->asynchronous);
	if (x->on_path) {
		json_object_set_new(o, "exclusive_ns", json_integer(x->own));
		json_object_set_new(o, "drag_ns", json_integer(x->drag));
		json_object_set_new(o, "drag_exclusive_ns", json_integer(x->drag_exclusive));
	}
	json_object_set_new(o, "slack_ns", json_integer(x->slack));
	return o;
}

/* Call paths of one name together. */
static json_t *operations_json(const struct trace_answer *a)
{
	json_t *o = json_object();
	char label[2 * NAME_TEXT_MAX];

	for (size_t i = 0; i < a->operations.n; i++) {
		label_of(a->names, a->operations.v[i].span, label, sizeof(label));
		json_object_set_new(o, label, json_integer(json_integer_value(json_object_get(o, label)) + a->operations.v[i].ns));
	}
	return o;
}

json_t *span_trace_json(const struct trace_answer *a)
{
	return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o}", "trace", SPAN_TRACE_ID(a->names, a->root->trace_high, a->root->trace_low),
			 "duration_ns", (json_int_t)span_duration(a->root), "orphans", (json_int_t)a->orphans, "path",
			 JSON_EACH(x, a->path, json_string(STR_TEXT(24, "%016" PRIx64, a->spans.v[*x].span->id))), "operations_ns",
			 operations_json(a), "spans", JSON_EACH(x, a->spans, trace_span_json(a, x)));
}

json_t *span_traces_json(const char *rule, json_t *traces)
{
	return json_pack("{s:s, s:s, s:o}", "schema", "whyslow.spans.trace/1", "rule", rule, "traces", traces);
}

/* A trace without a root has no path; its spans are reported. */
json_t *span_orphans_json(const struct names *names, const struct span *spans, uint32_t n)
{
	json_t *all = json_array();
	char parent[24], buf[24];

	for (uint32_t i = 0; i < n; i++) {
		_cleanup_free_ char *attributes = forest_set_text(names, spans[i].attributes);

		snprintf(buf, sizeof(buf), "%016" PRIx64, spans[i].id);
		snprintf(parent, sizeof(parent), "%016" PRIx64, spans[i].parent);
		json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:s}", "span", buf, "parent", parent, "service",
						     names_get(names, spans[i].service), "operation",
						     names_get(names, spans[i].operation), "kind",
						     span_kind_name((enum span_kind)spans[i].kind), "start_ns",
						     (json_int_t)spans[i].start, "duration_ns", (json_int_t)span_duration(&spans[i]),
						     "attributes", attributes ? attributes : ""));
	}
	return json_pack("{s:s, s:n, s:I, s:[], s:{}, s:o}", "trace", SPAN_TRACE_ID(names, spans[0].trace_high,
			 spans[0].trace_low), "duration_ns", "orphans", (json_int_t)n, "path", "operations_ns", "spans", all);
}
