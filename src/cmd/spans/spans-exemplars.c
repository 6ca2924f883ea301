/* whyslow spans exemplars: requests that were kept whole, span by span: the slowest of each version, and some by chance. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "cmd/spans/spans.h"

/* A request and where it was kept. */
struct kept {
	const struct forest *f;
	const struct bucket *b;
	const struct group *g;
	const struct exemplar *e;
	bool slowest;
};

/* Its spans as a tree is read: a call, then what it called, in order of time. order[i] is an index of spans. */
struct outline {
	uint32_t *order, *row; /* row: of a span, where it stands in order */
	unsigned *depth;
	uint32_t n;
};

static void outline_free(struct outline *o)
{
	free(o->order);
	free(o->row);
	free(o->depth);
}

static int by_start(const void *a, const void *b, void *spans)
{
	const struct exemplar_span *x = (const struct exemplar_span *)spans + *(const uint32_t *)a;
	const struct exemplar_span *y = (const struct exemplar_span *)spans + *(const uint32_t *)b;

	return x->start != y->start ? (x->start < y->start ? -1 : 1) : x < y ? -1 : x > y;
}

/* Insertion behind the parent's last descendant: exemplars are at most a few hundred spans. */
static void place(struct outline *o, const struct exemplar *e, uint32_t span)
{
	uint32_t parent = e->spans.v[span].parent, at = 0;

	if (parent < e->spans.n) {
		o->depth[span] = o->depth[parent] + 1;
		while (o->order[at] != parent)
			at++;
		do
			at++;
		while (at < o->n && o->depth[o->order[at]] > o->depth[parent]);
	} else {
		at = o->n;
	}
	memmove(o->order + at + 1, o->order + at, (o->n - at) * sizeof(*o->order));
	o->order[at] = span;
	o->n++;
}

static int outline_of(const struct exemplar *e, struct outline *ret)
{
	struct outline o = {calloc(e->spans.n + 1, sizeof(uint32_t)), calloc(e->spans.n + 1, sizeof(uint32_t)), calloc(e->spans.n + 1, sizeof(unsigned)), 0};
	uint32_t *sorted = calloc(e->spans.n + 1, sizeof(*sorted)), n = (uint32_t)e->spans.n;
	bool *placed = calloc(e->spans.n + 1, sizeof(*placed));

	if (!o.order || !o.row || !o.depth || !sorted || !placed) {
		outline_free(&o);
		free(sorted);
		free(placed);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = i;
	qsort_r(sorted, n, sizeof(*sorted), by_start, e->spans.v);
	for (bool more = true; more;) { /* a child that began with its parent may be sorted before it */
		more = false;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t parent = e->spans.v[sorted[i]].parent;

			if (placed[sorted[i]] || (parent < n && !placed[parent]))
				continue;
			place(&o, e, sorted[i]);
			placed[sorted[i]] = more = true;
		}
	}
	for (uint32_t i = 0; i < o.n; i++)
		o.row[o.order[i]] = i;
	free(sorted);
	free(placed);
	*ret = o;
	return 0;
}

static json_t *span_json(const struct kept *k, const struct outline *o, uint32_t i)
{
	const struct exemplar_span *s = &k->e->spans.v[i];
	const struct vertex *v = &k->f->vertices.v[s->vertex];
	_cleanup_free_ char *label = vertex_label(k->f, s->vertex);

	return json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s?, s:o, s:i, s:I, s:I, s:I, s:b}", "text", label ? label : "?", "kind",
			 v->kind == VERTEX_EDGE ? "edge" : "call", "service", names_get(k->f->names, v->service), "operation",
			 names_get(k->f->names, v->operation), "host", s->host ? names_get(k->f->names, s->host) : NULL, "process",
			 s->process ? names_get(k->f->names, s->process) : NULL, "parent", s->parent < k->e->spans.n ? json_integer(o->row[s->parent]) : json_null(), "depth", (int)o->depth[i], "start_ns",
			 (json_int_t)s->start, "duration_ns", (json_int_t)(s->end - s->start), "path_ns", (json_int_t)s->path, "error",
			 s->error);
}

static json_t *request_json(const struct kept *k, const struct outline *outline)
{
	_cleanup_free_ char *versions = spans_versions_label(k->f, k->g->versions);
	json_t *o = spans_bucket_json(k->f, k->b), *spans = json_array();
	char id[33], at[40];

	for (uint32_t i = 0; i < outline->n; i++)
		json_array_append_new(spans, span_json(k, outline, outline->order[i]));
	json_object_update_new(o, json_pack("{s:s, s:s, s:s, s:b, s:I, s:I, s:o}", "versions", versions ? versions : "", "trace",
					    trace_id_text(k->f->names, k->e->high, k->e->low, id), "start",
					    format_rfc3339(k->e->start, at, sizeof(at)), "slowest", k->slowest, "duration_ns",
					    (json_int_t)k->e->duration, "n_spans", (json_int_t)k->e->n_spans, "spans", spans));
	return o;
}

static void request_text(const struct kept *k, const struct outline *o)
{
	_cleanup_free_ char *versions = spans_versions_label(k->f, k->g->versions), *bucket = spans_bucket_label(k->f, k->b);
	char id[33], at[40], took[24], start[24];

	printf("\n%s, %s\n  %s request %s of %s: %s, %u spans\n", bucket ? bucket : "?", versions ? versions : "?", k->slowest ? "slow" : "ordinary",
	       trace_id_text(k->f->names, k->e->high, k->e->low, id), format_local(k->e->start, at, sizeof(at)),
	       spans_duration((double)k->e->duration, took), k->e->n_spans);
	puts("  began after, took; * = on the critical path");
	for (uint32_t i = 0; i < o->n; i++) {
		const struct exemplar_span *s = &k->e->spans.v[o->order[i]];
		_cleanup_free_ char *label = vertex_label(k->f, s->vertex);

		printf("  %9s %9s %s %*s%s%s\n", spans_duration((double)s->start, start), spans_duration((double)(s->end - s->start), took),
		       s->path > 0 ? "*" : " ", 2 * (int)o->depth[o->order[i]], "", label ? label : "?", s->error ? "  [failed]" : "");
	}
}

static void tell(const struct kept *k, json_t *list)
{
	struct outline outline;

	if (outline_of(k->e, &outline) < 0)
		return;
	if (list)
		json_array_append_new(list, request_json(k, &outline));
	else
		request_text(k, &outline);
	outline_free(&outline);
}

static size_t tell_group(const struct forest *f, const struct bucket *b, const struct group *g, json_t *list)
{
	size_t slowest = g->slowest.n < spans_arg.exemplars ? g->slowest.n : spans_arg.exemplars;
	size_t sample = g->sample.n < spans_arg.exemplars ? g->sample.n : spans_arg.exemplars;

	for (size_t i = 0; i < slowest; i++)
		tell(&(struct kept){f, b, g, &g->slowest.v[i], true}, list);
	for (size_t i = 0; i < sample; i++)
		tell(&(struct kept){f, b, g, &g->sample.v[i], false}, list);
	return slowest + sample;
}

int spans_exemplars(struct common *common, int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	char **files = argv + 1;
	json_t *list = common->json ? json_array() : NULL;
	struct names *names;
	struct forest f;
	size_t told = 0;
	int r = spans_forest_of(common, n, files, &names, &f);

	if (r < 0) {
		json_decref(list);
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	}
	for (size_t i = 0; i < f.buckets.n; i++)
		for (size_t k = 0; spans_selected(&f, &f.buckets.v[i]) && k < f.buckets.v[i].groups.n; k++)
			told += tell_group(&f, &f.buckets.v[i], &f.buckets.v[i].groups.v[k], list);
	if (list)
		spans_print_json(json_pack("{s:s, s:s, s:o}", "schema", "whyslow.spans.exemplars/1", "rule", f.rule, "requests", list), 0);
	forest_free(&f);
	names_free(names);
	return told ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}
