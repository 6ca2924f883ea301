/* whyslow spans forest --functions: calls of each function (service, operation), the one that called it and in whatever bucket.
 * Of tables it is added up where the rows are, over all shards: nothing but sums crosses the wire. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/log.h"
#include "cmd/spans/spans.h"
#include "source/span/span-clickhouse.h"

struct function {
	uint32_t service, operation; /* texts */
	double calls, errors;
	long double sum, squares; /* of durations, ns */
	struct sketch *durations;
};

struct functions {
	struct names *names;
	VEC(struct function) v;
	struct hmap by_name;
};

static void free_functions(struct functions *f)
{
	for (size_t i = 0; i < f->v.n; i++)
		sketch_free(f->v.v[i].durations);
	VEC_FREE(f->v);
	hmap_free(&f->by_name);
}

static struct function *function_of(struct functions *f, uint32_t service, uint32_t operation)
{
	uintptr_t at = (uintptr_t)hmap_get(&f->by_name, service, operation);
	struct function fresh = {.service = service, .operation = operation};

	if (at)
		return &f->v.v[at - 1];
	fresh.durations = sketch_new();
	if (!fresh.durations || VEC_PUSH(f->v, fresh) < 0) {
		sketch_free(fresh.durations);
		return NULL;
	}
	return hmap_put(&f->by_name, service, operation, (void *)f->v.n) < 0 ? NULL : &f->v.v[f->v.n - 1];
}

/* A client span is its caller's function. */
static int add_forest(struct functions *f, const struct forest *forest)
{
	for (size_t i = 0; i < forest->buckets.n; i++) {
		const struct bucket *b = &forest->buckets.v[i];

		if (!spans_selected(forest, b))
			continue;
		for (size_t j = 0; j < b->groups.n; j++) {
			for (size_t k = 0; k < b->groups.v[j].cells.n; k++) {
				const struct cell *c = &b->groups.v[j].cells.v[k];
				const struct vertex *v = &forest->vertices.v[c->vertex];
				struct function *to = function_of(f, v->kind == VERTEX_EDGE ? v->caller : v->service, v->operation);

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
static int add_bin(void *functions, const struct span_function_bin *bin)
{
	struct functions *f = functions;
	struct function *to = function_of(f, names_text(f->names, bin->service, strlen(bin->service)),
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

static int add_table(struct functions *f, const struct work_options *o, const char *url, char **ret_error)
{
	struct span_selection range = {.from = o->pipeline.from, .to = o->pipeline.to ? o->pipeline.to : INT64_MAX, .pieces = 1};
	struct span_mapping mapping = {};
	struct span_table *t = NULL;
	int r = span_mapping_init(&mapping);

	if (r == 0 && o->pipeline.mapping_file)
		r = span_mapping_read(&mapping, o->pipeline.mapping_file, ret_error);
	if (r == 0)
		r = span_table_open(url, &mapping, true, &t, ret_error);
	if (r == 0) {
		r = span_table_functions(t, &range, f, add_bin);
		if (r < 0)
			fail_with(ret_error, r, "%s", span_table_error(t));
	}
	span_table_close(t);
	span_mapping_free(&mapping);
	return r;
}

static double mean_of(const struct function *x)
{
	return (double)(x->sum / (long double)x->calls);
}

static double deviation_of(const struct function *x)
{
	long double mean = x->sum / (long double)x->calls, variance = x->squares / (long double)x->calls - mean * mean;

	return variance > 0 ? (double)sqrtl(variance) : 0;
}

static int by_sum(const void *a, const void *b, void *names)
{
	const struct function *x = a, *y = b;
	int r;

	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	r = strcmp(names_get(names, x->service), names_get(names, y->service));
	return r ? r : strcmp(names_get(names, x->operation), names_get(names, y->operation));
}

static json_t *function_json(const struct functions *f, const struct function *x)
{
	return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "service", names_get(f->names, x->service), "operation",
			 names_get(f->names, x->operation), "calls", x->calls, "errors", x->errors, "mean_ns", mean_of(x), "sd_ns",
			 deviation_of(x), "p50_ns", sketch_quantile(x->durations, .5), "p95_ns", sketch_quantile(x->durations, .95), "p99_ns",
			 sketch_quantile(x->durations, .99));
}

static void print_function(const struct functions *f, const struct function *x, long double all)
{
	char mean[24], sd[24], p50[24], p95[24], p99[24];

	printf("  %5.1f %% %11.0f %9s %9s %9s %9s %9s  %s %s", (double)(100 * x->sum / all), x->calls, spans_duration(mean_of(x), mean),
	       spans_duration(deviation_of(x), sd), spans_duration(sketch_quantile(x->durations, .5), p50),
	       spans_duration(sketch_quantile(x->durations, .95), p95), spans_duration(sketch_quantile(x->durations, .99), p99),
	       names_get(f->names, x->service), names_get(f->names, x->operation));
	if (x->errors > 0)
		printf("  [%.2g %% fail]", 100 * x->errors / x->calls);
	putchar('\n');
}

static void tell(const struct common *common, struct functions *f, const char *computed)
{
	json_t *list = json_array();
	long double all = 0;

	if (f->v.n)
		qsort_r(f->v.v, f->v.n, sizeof(*f->v.v), by_sum, f->names);
	for (size_t i = 0; i < f->v.n; i++)
		all += f->v.v[i].sum;
	if (!common->json)
		printf("%zu functions, %s\n  share of all durations, calls, mean, standard deviation, p50, p95, p99 (within %.2g %%)\n", f->v.n,
		       computed, 100 * SKETCH_ERROR);
	for (size_t i = 0; i < f->v.n; i++) {
		if (common->json)
			json_array_append_new(list, function_json(f, &f->v.v[i]));
		else if (i < spans_arg.top)
			print_function(f, &f->v.v[i], all);
	}
	if (common->json)
		spans_print_json(json_pack("{s:s, s:s, s:O}", "schema", "whyslow.spans.functions/1", "computed", computed, "functions", list), 0);
	else if (f->v.n > spans_arg.top)
		printf("  and %zu more (--top)\n", f->v.n - (size_t)spans_arg.top);
	json_decref(list);
}

static int of_engine(struct common *common)
{
	struct functions f = {.names = names_new()};
	struct work_options o = {};
	_cleanup_free_ char *error = NULL;
	int r = f.names ? spans_work_options(&o) : -ENOMEM;

	if (r == 0)
		r = add_table(&f, &o, spans_arg.engine, &error);
	if (r == 0)
		tell(common, &f, "of all spans as they were recorded, added up by ClickHouse");
	else if (error)
		log_error("%s", error);
	free_functions(&f);
	names_free(f.names);
	return r == -EINVAL && !error ? EXIT_USAGE : r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

int spans_functions(struct common *common, size_t n, char **data)
{
	struct functions f = {};
	struct forest forest;
	int r;

	if (spans_arg.engine && !n)
		return of_engine(common);
	r = spans_forest_of(common, n, data, &f.names, &forest);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	r = add_forest(&f, &forest);
	if (r == 0)
		tell(common, &f, "of whole requests");
	free_functions(&f);
	forest_free(&forest);
	names_free(f.names);
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}
