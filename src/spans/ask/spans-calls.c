/* whyslow spans calls: who calls whom, as `whyslow fleet why --calls` reads it. */
#include <errno.h>

#include "lib/data/cleanup.h"
#include "spans/ask/spans.h"
#include "spans/model/span-answer.h"

static int add(struct span_calls *c, uint32_t caller, uint32_t callee)
{
	if (!caller || !callee || caller == callee || hmap_get(&c->known, caller, callee))
		return 0;
	if (hmap_put(&c->known, caller, callee, c) < 0)
		return -ENOMEM;
	return VEC_PUSH(c->list, (struct span_call){caller, callee});
}

/* Services by all calls; hosts by the requests that are stored whole, where each call has its two ends. Both add to *c. 0 or -ENOMEM. */
static int span_calls_services(const struct forest *f, struct span_calls *c)
{
	int r = 0;

	for (size_t i = 0; i < f->vertices.n && r == 0; i++) {
		const struct vertex *v = &f->vertices.v[i];
		const uint32_t caller = v->kind == VERTEX_EDGE ? v->caller : v->parent != NO_VERTEX ? f->vertices.v[v->parent].service : 0;

		r = add(c, caller, v->service);
	}
	return r;
}

/* The hosts that were seen at a vertex, and those above it, in the requests that were kept whole: there each call has its two ends. */
static int find_hosts_of(const struct exemplar *e, struct span_calls *c)
{
	int r = 0;

	for (size_t i = 0; i < e->spans.n && r == 0; i++) {
		const struct exemplar_span *s = &e->spans.v[i];

		if (s->parent < e->spans.n)
			r = add(c, e->spans.v[s->parent].host, s->host);
	}
	return r;
}

static int span_calls_hosts(const struct forest *f, struct span_calls *c)
{
	int r = 0;

	for (size_t b = 0; b < f->buckets.n; b++)
		VEC_EACH(group, f->buckets.v[b].groups) {
			for (size_t i = 0; i < group->sample.n && r == 0; i++)
				r = find_hosts_of(&group->sample.v[i], c);
			for (size_t i = 0; i < group->slowest.n && r == 0; i++)
				r = find_hosts_of(&group->slowest.v[i], c);
		}
	return r;
}

static void span_calls_free(struct span_calls *c)
{
	VEC_FREE(c->list);
	hmap_free(&c->known);
}

static int tell(const struct common *common, const struct names *names, const struct span_calls *c)
{
	if (common->json)
		return spans_print_json(span_calls_json(names, c), EXIT_ANSWERED);
	span_calls_text(names, c, stdout);
	return c->list.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

int spans_calls(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	_cleanup_(span_calls_free) struct span_calls calls = {};
	struct names *names;
	struct forest f;
	int status, r = spans_forest_of(common, q, (size_t)argc - 1, argv + 1, &names, &f);

	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	r = q->hosts ? span_calls_hosts(&f, &calls) : span_calls_services(&f, &calls);
	status = r < 0 ? EXIT_CANNOT : tell(common, names, &calls);
	forest_free(&f);
	names_free(names);
	return status;
}
