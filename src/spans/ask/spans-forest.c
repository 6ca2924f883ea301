/* whyslow spans load, forest: what was read, and the statistical call forest of each bucket. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "spans/ask/spans.h"
#include "spans/store/span-rows.h"

static char *key_of_files(size_t n, char **files)
{
	_cleanup_str_ struct str s = {};

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *full = realpath(files[i], NULL);

		str_printf(&s, "%s%s", s.len ? " " : "", full ? full : files[i]);
	}
	return s.error ? NULL : TAKE(s.data);
}

struct saving {
	struct span_rows *rows;
};

static int save_trace(void *state, const struct span *spans, uint32_t n)
{
	return span_rows_put(((struct saving *)state)->rows, spans, n);
}

/* The spans themselves, trace by trace. */
static int write_rows(const struct spans_query *q, size_t n, char **files, struct pipeline_options *o,
		      uint64_t *ret_spans, struct span_faults *faults, char **ret_error)
{
	struct saving saving = {};
	struct pipeline p;
	int r, closed;

	o->trace = save_trace;
	o->state = &saving;
	r = pipeline_open(&p, o, ret_error);
	r = r ?: span_rows_open(q->output, p.names, &saving.rows, ret_error);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = pipeline_read(&p, files[i], ret_error);
	r = r ?: pipeline_end(&p);
	closed = saving.rows ? span_rows_close(saving.rows, ret_spans, *ret_error ? NULL : ret_error) : 0;
	span_faults_add(faults, &p.faults);
	pipeline_close(&p);
	return r < 0 ? r : closed;
}

static int load_into_table(struct common *common, const struct spans_query *q, size_t n, char **data)
{
	struct pipeline_options o;
	struct span_faults faults = {};
	_cleanup_(file_list_free) struct file_list files = {};
	_cleanup_free_ char *error = NULL;
	uint64_t spans = 0;
	int r = spans_files(q, n, data, &files, &o);

	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	r = write_rows(q, files.paths.n, files.paths.v, &o, &spans, &faults, &error);
	spans_print_faults(&faults);
	if (r < 0)
		return log_failure(EXIT_CANNOT, "%s", error ? error : strerror(-r));
	if (common->json)
		return spans_print_json(span_load_table_json(q->output, spans), EXIT_ANSWERED);
	span_load_table_text(q->output, spans, stdout);
	return EXIT_ANSWERED;
}

/* --deployments FILE into the store. */
static int load_deployments(struct common *common, const struct spans_query *q, struct span_store *store)
{
	_cleanup_(deployments_free) struct deployments d = {};
	int r = spans_deployments(common, q, false, &d);

	for (size_t i = 0; r == 0 && i < d.list.n; i++)
		r = span_store_deploy(store, &d.list.v[i]);
	if (r == -EIO || r == -ENOSPC)
		log_error("%s", span_store_error(store));
	if (r == 0 && d.list.n && !common->json)
		printf("%zu deployments\n", d.list.n);
	return r;
}

static int load_deployments_alone(struct common *common, const struct spans_query *q)
{
	struct span_store *store = spans_open_store(common, true);
	int r = store ? load_deployments(common, q, store) : -ENOENT;

	span_store_close(store);
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

int spans_load(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	char **files = argv + 1;
	_cleanup_free_ char *key = q->key ? strdup(q->key) : key_of_files(n, files);
	struct names *names;
	struct forest f;
	struct span_store *store;
	int r;

	if (q->output)
		return load_into_table(common, q, n, files);
	if (!n && q->deployments)
		return load_deployments_alone(common, q);
	if (!n)
		return verb_usage_error("spans load", "expected FILE ..., or - for standard input");
	r = spans_forest_of(common, q, n, files, &names, &f);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	store = spans_open_store(common, true);
	r = store && key ? spans_store_forest(store, key, n == 1 ? files[0] : "several files", &f) : -EIO;
	if (r < 0 && store)
		log_error("%s", span_store_error(store));
	if (r == 0 && q->deployments)
		r = load_deployments(common, q, store);
	if (r == 0 && common->json)
		spans_print_json(span_load_json(&f, key), 0);
	else if (r == 0)
		span_load_text(&f, stdout);
	span_store_close(store);
	forest_free(&f);
	names_free(names);
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

/* Each chosen bucket, its versions together: printed, or appended to `buckets`. */
static void tell_buckets(const struct forest *f, const struct bucket_choice *choice, json_t *buckets)
{
	for (size_t i = 0; i < f->buckets.n; i++) {
		struct forest one = {};
		bool merged = bucket_is_chosen(choice, f, &f->buckets.v[i]) && forest_merge_groups(f, &f->buckets.v[i], &one) == 0;

		if (merged && buckets)
			json_array_append_new(buckets, span_forest_bucket_json(&one));
		else if (merged)
			span_forest_bucket_text(&one, stdout);
		forest_free(&one);
	}
}

static void tell_forest(const struct common *common, const struct forest *f, const struct bucket_choice *choice)
{
	json_t *buckets = common->json ? json_array() : NULL;

	if (!buckets)
		span_forest_head_text(f, stdout);
	tell_buckets(f, choice, buckets);
	if (buckets)
		spans_print_json(span_forest_json(f, buckets), 0);
	else
		span_tally_text(f, stdout);
}

int spans_forest(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	struct names *names;
	struct forest f;
	int r;

	if (q->functions)
		return spans_functions(common, q, (size_t)argc - 1, argv + 1);
	r = spans_forest_of(common, q, (size_t)argc - 1, argv + 1, &names, &f);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	tell_forest(common, &f, &q->choice);
	forest_free(&f);
	names_free(names);
	return EXIT_ANSWERED;
}
