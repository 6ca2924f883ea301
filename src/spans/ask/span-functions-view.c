/* Calls by function. */
#include "lib/stat/sketch.h"
#include "lib/view/json.h"
#include "spans/ask/span-view.h"

static void print_function(const struct span_functions *f, const struct span_function *x, long double all, FILE *out)
{
	fprintf(out, "  %5.1f %% %11.0f %9s %9s %9s %9s %9s  %s %s", (double)(100 * x->sum / all), x->calls, SPAN_DURATION(span_function_mean(x)),
	       SPAN_DURATION(span_function_deviation(x)), SPAN_DURATION(sketch_quantile(x->durations, .5)),
	       SPAN_DURATION(sketch_quantile(x->durations, .95)), SPAN_DURATION(sketch_quantile(x->durations, .99)),
	       names_get(f->names, x->service), names_get(f->names, x->operation));
	if (x->errors > 0)
		fprintf(out, "  [%.3g %% fail]", 100 * x->errors / x->calls);
	fputc('\n', out);
}

void span_functions_text(const struct span_functions *f, size_t top, FILE *out)
{
	long double all = 0;

	for (size_t i = 0; i < f->list.n; i++)
		all += f->list.v[i].sum;
	fprintf(out, "%zu functions, of whole requests\n  share of all durations, calls, mean, standard deviation, p50, p95, p99 (within %.2g %%)\n", f->list.n,
		100 * SKETCH_ERROR);
	for (size_t i = 0; i < f->list.n && i < top; i++)
		print_function(f, &f->list.v[i], all, out);
	if (f->list.n > top)
		fprintf(out, "  and %zu more (--top)\n", f->list.n - top);
}

static json_t *function_json(const struct span_functions *f, const struct span_function *x)
{
	return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "service", names_get(f->names, x->service), "operation",
			 names_get(f->names, x->operation), "calls", x->calls, "errors", x->errors, "mean_ns", span_function_mean(x), "sd_ns",
			 span_function_deviation(x), "p50_ns", sketch_quantile(x->durations, .5), "p95_ns", sketch_quantile(x->durations, .95), "p99_ns",
			 sketch_quantile(x->durations, .99));
}

json_t *span_functions_json(const struct span_functions *f)
{
	return json_pack("{s:s, s:s, s:o}", "schema", "whyslow.spans.functions/1", "computed", "of whole requests", "functions", JSON_EACH(x, f->list,
		function_json(f, x)));
}
