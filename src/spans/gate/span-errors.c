#include "spans/gate/span-errors.h"

#include <errno.h>

#include "lib/data/order.h"
#include "spans/compare/span-kinds.h"
#include "spans/compare/span-pool.h"
#include "spans/forest/forest.h"

#define KEPT_MOST 256 /* calls and types: later ones are left out */

void span_errors_free(struct span_errors *e)
{
	VEC_FREE(e->list);
}

/* type->key 0: it has none. 0 or -ENOMEM. */
static int count(struct span_errors *e, uint32_t call, const struct attribute *type, int side, double weight)
{
	struct span_error *found = VEC_FIND(x, e->list, x->call == call && x->type.key == type->key && x->type.value == type->value);

	if (!type->key || (!found && e->list.n == KEPT_MOST))
		return 0;
	if (!found) {
		if (VEC_PUSH(e->list, ((struct span_error){.call = call, .type = *type})) < 0)
			return -ENOMEM;
		found = &e->list.v[e->list.n - 1];
	}
	found->share[side] += weight;
	found->requests++;
	return 0;
}

/* The types of a request's own failure and of those of its calls, each once, also where a call is named as the entry is; the marks of a call's
 * attributes stand together. */
static int count_request(const struct forest *f, const struct bucket *b, const struct sampled_request *r, int side, struct span_errors *e)
{
	const struct attribute_set *set = names_get_set(f->names, r->set);
	double weight = forest_request_weight(f, r);
	struct attribute type = {}, own;
	int result;

	for (uint32_t i = 0; r->error && i < set->n; i++)
		names_take_error_type(f->names, &set->v[i], &type);
	own = type;
	result = count(e, b->entry, &own, side, weight);
	for (size_t i = 0; result == 0 && i < r->marks.n; i++) {
		const struct request_mark *m = &r->marks.v[i];

		if (!i || m->call != r->marks.v[i - 1].call)
			type = (struct attribute){};
		if (m->key)
			names_take_error_type(f->names, &(struct attribute){m->key, m->value}, &type);
		if ((i + 1 == r->marks.n || m->call != r->marks.v[i + 1].call) &&
		    !(m->call == b->entry && type.key == own.key && type.value == own.value))
			result = count(e, m->call, &type, side, weight);
	}
	return result;
}

static int count_all(const struct forest *f, double all[2], struct span_errors *e)
{
	int result = 0;

	VEC_EACH(b, f->buckets)
		VEC_EACH(g, b->groups)
			VEC_EACH(r, g->requests) {
				int side = kind_side_of_group(f, b, g, r);

				if (side < 0 || result < 0)
					continue;
				all[side] += forest_request_weight(f, r);
				result = count_request(f, b, r, side, e);
			}
	return result;
}

ORDER(by_rise, struct span_error, CMP(b->share[1] - b->share[0], a->share[1] - a->share[0]))

int span_errors_find(const struct forest *f, struct span_errors *ret)
{
	double all[2] = {};
	size_t kept = 0;
	int r;

	*ret = (struct span_errors){};
	r = count_all(f, all, ret);
	for (size_t i = 0; i < ret->list.n; i++) {
		struct span_error one = ret->list.v[i];

		for (int side = 0; side < 2; side++)
			one.share[side] /= all[side] > 0 ? all[side] : 1;
		if (one.requests >= ERRORS_LEAST && span_pool_is_much_more(one.share[0], one.share[1], POOL_LEAST))
			ret->list.v[kept++] = one;
	}
	ret->list.n = kept;
	VEC_SORT(ret->list, by_rise);
	return r;
}
