/* whyslow spans forest --functions: calls of each function (service, operation), by any caller and in any bucket. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/stat/sketch.h"
#include "spans/ask/spans.h"
#include "spans/forest/bucket-choice.h"
#include "spans/model/span-answer.h"

/* The names stay. */
static void span_functions_free(struct span_functions *f)
{
	VEC_FREE_EACH(f->list, sketch_free(each->durations));
	hmap_free(&f->by_name);
}

static struct span_function *function_of(struct span_functions *f, uint32_t service, uint32_t operation)
{
	uintptr_t at = (uintptr_t)hmap_get(&f->by_name, service, operation);
	struct span_function fresh = {.service = service, .operation = operation};

	if (at)
		return &f->list.v[at - 1];
	fresh.durations = sketch_new();
	if (!fresh.durations || VEC_PUSH(f->list, fresh) < 0) {
		sketch_free(fresh.durations);
		return NULL;
	}
	return hmap_put(&f->by_name, service, operation, (void *)f->list.n) < 0 ? NULL : &f->list.v[f->list.n - 1];
}

/* A client span is its caller's function. */
static int span_functions_add(struct span_functions *f, const struct forest *forest, const struct bucket_choice *choice)
{
	VEC_EACH(b, forest->buckets) {
		if (!bucket_is_chosen(choice, forest, b))
			continue;
		for (size_t j = 0; j < b->groups.n; j++) {
			VEC_EACH(c, b->groups.v[j].cells) {
				const struct vertex *v = &forest->vertices.v[c->vertex];
				struct span_function *to = function_of(f, v->kind == VERTEX_EDGE ? v->caller : v->service, v->operation);

				if (!to || sketch_merge(to->durations, c->sketch) < 0)
					return -ENOMEM;
				to->calls += moments_count(&c->duration);
				to->errors += (double)c->errors / (double)SPAN_WEIGHT_ONE;
				to->sum += (long double)c->duration.sum / (long double)SPAN_WEIGHT_ONE;
				to->squares += ((long double)c->duration.square_high * 0x1p128L + (long double)c->duration.square_low) /
					       (long double)SPAN_WEIGHT_ONE;
			}
		}
	}
	return 0;
}

ORDER_IN(by_sum, struct span_function, struct names,
	 DESCENDING(sum) ?: strcmp(names_get(context, a->service), names_get(context, b->service))
		 ?: strcmp(names_get(context, a->operation), names_get(context, b->operation)))

/* Those that take most first. */
static void span_functions_sort(struct span_functions *f)
{
	if (f->list.n)
		qsort_r(f->list.v, f->list.n, sizeof(*f->list.v), by_sum, f->names);
}

int spans_functions(struct common *common, const struct spans_query *q, size_t n, char **data)
{
	struct span_functions f = {};
	struct forest forest;
	int r;

	r = spans_forest_of(common, q, n, data, &f.names, &forest);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	r = span_functions_add(&f, &forest, &q->choice);
	if (r == 0)
		span_functions_sort(&f);
	if (r == 0 && common->json)
		spans_print_json(span_functions_json(&f), 0);
	else if (r == 0)
		span_functions_text(&f, q->top, stdout);
	span_functions_free(&f);
	forest_free(&forest);
	names_free(f.names);
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}
