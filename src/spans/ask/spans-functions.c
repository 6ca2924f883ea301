/* whyslow spans forest --functions: calls of each function (service, operation), the one that called it and in whatever bucket.
 * Of tables it is added up where the rows are, over all shards: nothing but sums crosses the wire. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/order.h"
#include "lib/stat/sketch.h"
#include "spans/ask/spans.h"
#include "spans/forest/bucket-choice.h"
#include "spans/formats/span-clickhouse.h"
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

/* One more than those in the bucket's least value: its least and greatest come out as if every one had been added. */
static int span_functions_add_bin(struct span_functions *f, const struct span_function_bin *bin)
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

ORDER_IN(by_sum, struct span_function, struct names,
	 DESCENDING(sum) ?: strcmp(names_get(context, a->service), names_get(context, b->service))
		 ?: strcmp(names_get(context, a->operation), names_get(context, b->operation)))

/* Those that take most first. */
static void span_functions_sort(struct span_functions *f)
{
	if (f->list.n)
		qsort_r(f->list.v, f->list.n, sizeof(*f->list.v), by_sum, f->names);
}

static int add_bin(void *functions, const struct span_function_bin *bin)
{
	return span_functions_add_bin(functions, bin);
}

static int add_table(struct span_functions *f, const struct work_options *o, const char *url, char **ret_error)
{
	struct span_clickhouse_selection range = {.from = o->pipeline.from, .to = o->pipeline.to ? o->pipeline.to : INT64_MAX, .pieces = 1};
	_cleanup_(span_mapping_free) struct span_mapping mapping = {};
	struct span_table *t = NULL;
	int r = span_mapping_init(&mapping);

	if (r == 0 && o->pipeline.mapping_file)
		r = span_mapping_read(&mapping, o->pipeline.mapping_file, ret_error);
	r = r ?: span_table_open(url, &mapping, true, &t, ret_error);
	if (r == 0) {
		r = span_table_functions(t, &range, f, add_bin);
		if (r < 0)
			str_fail(ret_error, r, "%s", span_table_error(t));
	}
	span_table_close(t);
	return r;
}

static void tell(const struct common *common, const struct spans_query *q, struct span_functions *f, const char *computed)
{
	span_functions_sort(f);
	if (common->json)
		spans_print_json(span_functions_json(f, computed), 0);
	else
		span_functions_text(f, computed, q->top, stdout);
}

static int of_engine(struct common *common, const struct spans_query *q)
{
	struct span_functions f = {.names = names_new()};
	struct work_options o = {};
	_cleanup_free_ char *error = NULL;
	int r = f.names ? spans_work_options(q, &o) : -ENOMEM;

	r = r ?: add_table(&f, &o, q->input.engine, &error);
	if (r == 0)
		tell(common, q, &f, "of all spans as they were recorded, added up by ClickHouse");
	else if (error)
		log_error("%s", error);
	span_functions_free(&f);
	names_free(f.names);
	return r == -EINVAL && !error ? EXIT_USAGE : r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

int spans_functions(struct common *common, const struct spans_query *q, size_t n, char **data)
{
	struct span_functions f = {};
	struct forest forest;
	int r;

	if (q->input.engine && !n)
		return of_engine(common, q);
	r = spans_forest_of(common, q, n, data, &f.names, &forest);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	r = span_functions_add(&f, &forest, &q->choice);
	if (r == 0)
		tell(common, q, &f, "of whole requests");
	span_functions_free(&f);
	forest_free(&forest);
	names_free(f.names);
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}
