/* whyslow spans forest --functions: calls of each function (service, operation), the one that called it and in whatever bucket.
 * Of tables it is added up where the rows are, over all shards: nothing but sums crosses the wire. */
#include <errno.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "spans/ask/span-functions.h"
#include "spans/ask/spans.h"
#include "spans/formats/span-clickhouse.h"

static int add_bin(void *functions, const struct span_function_bin *bin)
{
	return span_functions_add_bin(functions, bin);
}

static int add_table(struct span_functions *f, const struct work_options *o, const char *url, char **ret_error)
{
	struct span_clickhouse_selection range = {.from = o->pipeline.from, .to = o->pipeline.to ? o->pipeline.to : INT64_MAX, .pieces = 1};
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
			str_fail(ret_error, r, "%s", span_table_error(t));
	}
	span_table_close(t);
	span_mapping_free(&mapping);
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

	if (r == 0)
		r = add_table(&f, &o, q->input.engine, &error);
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
