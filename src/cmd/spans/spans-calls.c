/* whyslow spans calls: who calls whom, as `whyslow fleet why --calls` reads it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/data/cleanup.h"
#include "base/data/hmap.h"
#include "base/data/vec.h"
#include "cmd/spans/spans.h"

/* Texts of two services, or of two hosts. */
struct call {
	uint32_t caller, callee;
};

struct calls {
	VEC(struct call) list;
	struct hmap known; /* (caller, callee) -> anything */
};

static int add(struct calls *c, uint32_t caller, uint32_t callee)
{
	if (!caller || !callee || caller == callee || hmap_get(&c->known, caller, callee))
		return 0;
	if (hmap_put(&c->known, caller, callee, c) < 0)
		return -ENOMEM;
	return VEC_PUSH(c->list, (struct call){caller, callee});
}

static int find_services(const struct forest *f, struct calls *c)
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
static int find_hosts_of(const struct exemplar *e, struct calls *c)
{
	int r = 0;

	for (size_t i = 0; i < e->spans.n && r == 0; i++) {
		const struct exemplar_span *s = &e->spans.v[i];

		if (s->parent < e->spans.n)
			r = add(c, e->spans.v[s->parent].host, s->host);
	}
	return r;
}

static int find_hosts(const struct forest *f, struct calls *c)
{
	int r = 0;

	for (size_t b = 0; b < f->buckets.n; b++)
		for (size_t g = 0; g < f->buckets.v[b].groups.n; g++) {
			const struct group *group = &f->buckets.v[b].groups.v[g];

			for (size_t i = 0; i < group->sample.n && r == 0; i++)
				r = find_hosts_of(&group->sample.v[i], c);
			for (size_t i = 0; i < group->slowest.n && r == 0; i++)
				r = find_hosts_of(&group->slowest.v[i], c);
		}
	return r;
}

static int print(const struct common *common, const struct names *names, const struct calls *c)
{
	json_t *list = common->json ? json_array() : NULL;

	if (!common->json)
		puts("caller,callee");
	for (size_t i = 0; i < c->list.n; i++) {
		const char *caller = names_get(names, c->list.v[i].caller), *callee = names_get(names, c->list.v[i].callee);

		if (common->json)
			json_array_append_new(list, json_pack("{s:s, s:s}", "caller", caller, "callee", callee));
		else
			printf("\"%s\",\"%s\"\n", caller, callee);
	}
	if (common->json)
		return spans_print_json(json_pack("{s:s, s:o}", "schema", "whyslow.spans.calls/1", "calls", list), EXIT_ANSWERED);
	return c->list.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

int spans_calls(struct common *common, int argc, char **argv)
{
	struct calls calls = {};
	struct names *names;
	struct forest f;
	int status, r = spans_forest_of(common, (size_t)argc - 1, argv + 1, &names, &f);

	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	r = spans_arg.hosts ? find_hosts(&f, &calls) : find_services(&f, &calls);
	status = r < 0 ? EXIT_CANNOT : print(common, names, &calls);
	VEC_FREE(calls.list);
	hmap_free(&calls.known);
	forest_free(&f);
	names_free(names);
	return status;
}
