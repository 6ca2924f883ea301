#include "spans/ask/span-functions.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/stat/sketch.h"

void span_functions_free(struct span_functions *f)
{
	for (size_t i = 0; i < f->list.n; i++)
		sketch_free(f->list.v[i].durations);
	VEC_FREE(f->list);
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
int span_functions_add(struct span_functions *f, const struct forest *forest, const struct bucket_choice *choice)
{
	for (size_t i = 0; i < forest->buckets.n; i++) {
		const struct bucket *b = &forest->buckets.v[i];

		if (!bucket_is_chosen(choice, forest, b))
			continue;
		for (size_t j = 0; j < b->groups.n; j++) {
			for (size_t k = 0; k < b->groups.v[j].cells.n; k++) {
				const struct cell *c = &b->groups.v[j].cells.v[k];
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

/* One more than those in the bucket's least value: its least and greatest come out as if every one had been added. */
int span_functions_add_bin(struct span_functions *f, const struct span_function_bin *bin)
{
	struct span_function *to = function_of(f, names_text(f->names, bin->service, strlen(bin->service)),
					  names_text(f->names, bin->operation, strlen(bin->operation)));
	long double start = (long double)bin->start, calls = (long double)bin->calls, beyond = (long double)bin->sum - start * calls;

	if (!to || !bin->calls)
		return to ? 0 : -ENOMEM;
	to->calls += (double)bin->calls;
	to->errors += (double)bin->errors;
	to->sum += (long double)bin->sum;
	to->squares += start * start * calls + 2 * start * beyond + (long double)bin->squares;
	if (sketch_add(to->durations, bin->least, (bin->calls - 1) * SPAN_WEIGHT_ONE) < 0)
		return -ENOMEM;
	return sketch_add(to->durations, bin->greatest, SPAN_WEIGHT_ONE);
}

static int by_sum(const void *a, const void *b, void *names)
{
	const struct span_function *x = a, *y = b;
	int r;

	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	r = strcmp(names_get(names, x->service), names_get(names, y->service));
	return r ? r : strcmp(names_get(names, x->operation), names_get(names, y->operation));
}

void span_functions_sort(struct span_functions *f)
{
	if (f->list.n)
		qsort_r(f->list.v, f->list.n, sizeof(*f->list.v), by_sum, f->names);
}
