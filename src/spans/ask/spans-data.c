/* DATA of `whyslow spans`: files, tables, the store, or what workers wrote. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "spans/ask/spans.h"
#include "lib/input/deployments.h"
#include "spans/formats/span-clickhouse.h"

#define FILE_SPANS (2u << 20) /* that wait, of files: half a minute of 70,000 a second */

static int read_time(const char *text, int64_t otherwise, int64_t *ret)
{
	*ret = otherwise;
	if (!text || clock_parse_time(text, clock_wall(), ret) == 0)
		return 0;
	return verb_usage_error("spans", "invalid time '%s'", text), -EINVAL;
}

/* What is asked for: [from, to), 0 = no bound. Where --since parts two sides, the side at hand. */
static int read_times(const struct spans_query *q, int64_t *ret_from, int64_t *ret_to)
{
	bool side = q->input.only_from || q->input.only_to;
	int r;

	*ret_to = q->input.only_to;
	r = side ? 0 : read_time(q->input.since, 0, ret_from);
	if (side)
		*ret_from = q->input.only_from;
	return r < 0 || *ret_to ? r : read_time(q->input.until, 0, ret_to);
}

int64_t spans_slot(const struct spans_query *q, bool files)
{
	return q->input.slot > 0 ? q->input.slot : files ? SLOT_FINE : SLOT_OF_PARTS;
}

int spans_pipeline_options(const struct spans_query *q, size_t n_files, struct pipeline_options *ret)
{
	enum path_rule rule = PATH_TOLERANT;
	int64_t from, to;
	int r = read_times(q, &from, &to);

	if (r < 0)
		return r;
	if (strcmp(q->input.rule, "sdiag") && path_rule_parse(q->input.rule, &rule) < 0) {
		verb_usage_error("spans", "invalid --rule '%s'; expected tolerant, crisp, strict or sdiag", q->input.rule);
		return -EINVAL;
	}
	if (q->input.root && strcmp(q->input.root, "parentless") && strcmp(q->input.root, "topmost")) {
		verb_usage_error("spans", "invalid --root '%s'; expected parentless or topmost",
				 q->input.root);
		return -EINVAL;
	}
	*ret = (struct pipeline_options){
		.only = q->input.trace,
		.topmost = q->input.root && !strcmp(q->input.root, "topmost"),
		.mapping_file = q->input.mapping,
		.join = q->input.join,
		.dimensions = q->input.by,
		.asynchronous = q->input.asynchronous,
		.format = q->input.format,
		.rule = rule,
		.late = q->input.late >= 0 ? q->input.late
			: n_files > 1	   ? INT64_MAX
			: n_files	   ? 900 * NS_PER_SEC
					   : 30 * NS_PER_SEC,
		.from = from,
		.to = to,
		.slot_width = spans_slot(q, n_files > 0),
		.most = (uint32_t)(q->input.memory ? q->input.memory
				   : !n_files	   ? ASSEMBLE_SPANS_MAX
						   : FILE_SPANS / (q->input.jobs ? q->input.jobs : 1)),
	};
	return 0;
}

/* "/var/lib/whyslow/spans.db", or --store. Caller frees. */
static char *file_of_store(const struct common *common)
{
	const char *file = common->config.store_file, *slash = strrchr(file, '/');
	char *text;

	if (common->store_file || common->from_file)
		return strdup(common->from_file ? common->from_file : common->store_file);
	if (asprintf(&text, "%.*s/spans.db", slash ? (int)(slash - file) : 1, slash ? file : ".") < 0)
		return NULL;
	return text;
}

struct span_store *spans_open_store(const struct common *common, bool write)
{
	_cleanup_free_ char *file = file_of_store(common), *error = NULL;
	enum database_access access = write ? DATABASE_CREATE : common->from_file ? DATABASE_FOREIGN : DATABASE_READONLY;
	struct span_store *store;
	int r = file ? span_store_open(file, access, &store, &error) : -ENOMEM;

	if (r == 0)
		return store;
	return log_failure(NULL, "%s", error ? error : strerror(-r));
}

void spans_print_faults(const struct span_faults *faults)
{
	for (int i = 0; i < SPAN_FAULT_COUNT; i++)
		if (faults->n[i])
			log_warning("%" PRIu64 " %s; the first: %s", faults->n[i], span_fault_name((enum span_fault)i), faults->first[i]);
	if (*faults->assumed)
		log_warning("%s", faults->assumed);
}

/* What lies in a folder, of the formats there are. */
static const char *const endings[] = {".json", ".jsonl", ".ndjson", ".pb", ".proto", ".otlp", ".bin", ".csv", ".tsv", ".txt", ".log", NULL};

int spans_files(const struct spans_query *q, size_t n, char **data, struct file_list *ret, struct pipeline_options *ret_options)
{
	int r = 0;

	*ret = (struct file_list){};
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct file_list one = {};

		r = files_list(data[i], endings, &one);
		if (r < 0)
			log_error("%s: %s", data[i], strerror(-r));
		for (size_t k = 0; r == 0 && k < one.paths.n; k++) {
			r = VEC_PUSH(ret->paths, one.paths.v[k]);
			one.paths.v[k] = r == 0 ? NULL : one.paths.v[k];
		}
		file_list_free(&one);
	}
	r = r ?: spans_pipeline_options(q, ret->paths.n, ret_options);
	if (r < 0)
		file_list_free(ret);
	else
		ret_options->skips_unknown = ret->paths.n > n;
	return r;
}

static int read_files(const struct spans_query *q, size_t n, char **data, struct forest *f)
{
	struct pipeline_options o;
	struct span_faults faults = {};
	_cleanup_(file_list_free) struct file_list files = {};
	_cleanup_free_ char *error = NULL;
	int r = spans_files(q, n, data, &files, &o);

	r = r ?: pipeline_load(&o, files.paths.v, files.paths.n, (unsigned)q->input.jobs, f, &faults, &error);
	spans_print_faults(&faults);
	if (error)
		log_error("%s", error);
	return r;
}

struct reading {
	const struct spans_input *input;
	struct forest *forest;
};

static int add_part(void *state, const struct span_part *part)
{
	const struct reading *reading = state;
	const struct spans_input *input = reading->input;
	int r;

	/* a part is whole: it counts where it begins */
	if ((input->only_from && part->from < input->only_from) || (input->only_to && part->from >= input->only_to))
		return 0;
	r = forest_read(reading->forest, part->bytes, part->n);
	if (r == -EEXIST)
		log_error("part '%s' of the store was loaded with another --rule or --by than others; load it again, or use another --store",
			  part->key);
	else if (r < 0)
		log_error("part '%s' of the store: %s", part->key, r == -EBADMSG ? "damaged, or of another version; load it again" : strerror(-r));
	return r;
}

static int read_store(struct common *common, const struct spans_query *q, struct forest *f)
{
	struct reading reading = {&q->input, f};
	struct span_store *store;
	int64_t from, to;
	int r = read_times(q, &from, &to);

	if (r < 0)
		return r;
	store = spans_open_store(common, false);
	if (!store)
		return -ENOENT;
	r = span_store_each(store, from ? from : INT64_MIN, to ? to - 1 : INT64_MAX, &reading, add_part);
	if (r == -EIO || r == -EUCLEAN)
		log_error("%s", span_store_error(store));
	span_store_close(store);
	return r;
}

int spans_work_options(const struct spans_query *q, struct work_options *ret)
{
	int r = spans_pipeline_options(q, 0, &ret->pipeline);

	ret->margin = q->input.late >= 0 ? q->input.late : WORK_MARGIN;
	ret->piece_spans = q->input.memory ? q->input.memory : WORK_PIECE_SPANS;
	ret->pipeline.most = (uint32_t)(ret->piece_spans < UINT32_MAX / 4 ? 4 * ret->piece_spans : UINT32_MAX);
	return r;
}

static int read_tables(const struct spans_query *q, size_t n, char **urls, struct forest *f)
{
	struct work_options o = {};
	struct span_faults faults = {};
	_cleanup_free_ char *error = NULL;
	int r = spans_work_options(q, &o);

	if (r < 0)
		return r;
	r = span_work_load(&o, urls, n, (unsigned)q->input.jobs, f, &faults, &error);
	spans_print_faults(&faults);
	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	return r;
}

static int read_engine(const struct spans_query *q, struct forest *f)
{
	struct work_options o = {};
	_cleanup_free_ char *error = NULL;
	int r = spans_work_options(q, &o);

	if (r < 0)
		return r;
	r = span_work_gather(&o, q->input.engine, f, &error);
	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	return r;
}

int spans_learn(const struct spans_query *q, size_t n, char **data)
{
	struct pipeline_options o;
	_cleanup_(file_list_free) struct file_list files = {};
	_cleanup_free_ char *error = NULL;
	size_t edges = 0;
	int r;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(data[i], "-"))
			return verb_usage_error("spans", "--learn reads the files twice and cannot read standard input"), -EINVAL;
	r = spans_files(q, n, data, &files, &o);
	r = r ?: pipeline_learn(&o, files.paths.v, files.paths.n, q->input.learn, &edges, &error);
	if (r == 0)
		log_info("%zu kinds of calls outlive their callers, which do not wait for them: %s", edges, q->input.learn);
	else if (error)
		log_error("%s", error);
	return r;
}

static int read_data(struct common *common, const struct spans_query *q, size_t n, char **data, struct forest *f)
{
	size_t tables = 0;

	for (size_t i = 0; i < n; i++)
		tables += span_table_is(data[i]);
	if (q->input.engine && n)
		return verb_usage_error("spans", "with --engine the data is in the database: '%s' is not read", data[0]), -EINVAL;
	if (q->input.engine)
		return read_engine(q, f);
	if (tables && tables < n)
		return verb_usage_error("spans", "files and tables are not read together: load the files first"), -EINVAL;
	if (q->input.learn && (tables || !n))
		return verb_usage_error("spans", "--learn reads files; what it wrote is for tables too, by --asynchronous"), -EINVAL;
	if (q->input.learn) {
		struct spans_query learnt = *q;
		int r = spans_learn(q, n, data);

		learnt.input.asynchronous = q->input.learn;
		return r < 0 ? r : read_files(&learnt, n, data, f);
	}
	return tables ? read_tables(q, n, data, f) : n ? read_files(q, n, data, f) : read_store(common, q, f);
}

/* --where or --entry with which nothing agrees: says what there is. */
static int check_selection(const struct spans_query *q, const struct forest *f)
{
	_cleanup_str_ struct str there = {};

	if (!q->choice.where && !q->choice.entry)
		return 0;
	for (size_t i = 0; i < f->buckets.n; i++) {
		_cleanup_free_ char *label = span_bucket_label(f, &f->buckets.v[i]);

		if (bucket_is_chosen(&q->choice, f, &f->buckets.v[i]))
			return 0;
		if (i < q->top)
			str_printf(&there, "\n  %s", label ? label : "?");
	}
	return log_failure(-ENODATA, "no bucket agrees with --where and --entry; there are (--by makes others):%s%s", there.data ? there.data : "",
		  f->buckets.n > q->top ? "\n  ..." : "");
}

/* Requests that all begin elsewhere (an ingress, a browser): none of the spans read is a root, and they can be read again. */
static bool begin_elsewhere(const struct spans_query *q, size_t n, char **data, const struct forest *f)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(data[i], "-"))
			return false;
	return n && !q->input.root && !q->input.trace && !f->tally.requests && f->tally.spans && f->tally.orphans == f->tally.spans;
}

/* Until the forest is finished. */
static int read_forest(struct common *common, const struct spans_query *q, size_t n, char **data, struct forest *f)
{
	struct spans_query again = *q;
	struct names *names = f->names;
	int r = read_data(common, q, n, data, f);

	r = r ?: forest_finish(f);
	if (r < 0 || !begin_elsewhere(q, n, data, f))
		return r;
	again.input.root = "topmost";
	forest_free(f);
	r = forest_init(f, names, spans_slot(q, true));
	r = r ?: read_data(common, &again, n, data, f);
	r = r ?: forest_finish(f);
	if (r == 0 && f->tally.requests)
		log_info("no span is a root: requests begin elsewhere (an ingress, a browser); read with --root topmost, which takes the longest span "
			 "whose caller is not in the data as the request");
	return r;
}

int spans_forest_of(struct common *common, const struct spans_query *q, size_t n, char **data, struct names **ret_names, struct forest *ret)
{
	int r;

	*ret_names = names_new();
	r = *ret_names ? forest_init(ret, *ret_names, spans_slot(q, true)) : -ENOMEM;
	r = r ?: read_forest(common, q, n, data, ret);
	if (r == 0 && !ret->tally.requests && q->input.trace && n) {
		log_error("trace %s is not in the data", q->input.trace);
		r = -ENODATA;
	} else if (r == 0 && !ret->tally.spans) {
		log_error("no request: no span could be read");
		span_tally_text(ret, stdout);
		r = -ENODATA;
	} else if (r == 0 && !ret->tally.requests) {
		log_error("no whole request: %" PRIu64 " spans read, none of them a root; if traces are spread over files, give all of them; if "
			  "requests begin elsewhere (an ingress, a browser), use --root topmost", ret->tally.spans);
		span_tally_text(ret, stdout);
		r = -ENODATA;
	}
	r = r ?: check_selection(q, ret);
	if (r < 0) {
		forest_free(ret);
		names_free(*ret_names);
	}
	return r;
}

static int deployments_of_store(struct common *common, struct deployments *ret)
{
	struct span_store *store = spans_open_store(common, false);
	int r = store ? span_store_deployments(store, INT64_MIN, INT64_MAX, ret) : -ENOENT;

	if (store && r < 0)
		log_error("%s", r == -EIO ? span_store_error(store) : "the stored deployments are damaged");
	span_store_close(store);
	return r;
}

int spans_deployments(struct common *common, const struct spans_query *q, bool of_store, struct deployments *ret)
{
	_cleanup_free_ char *error = NULL;
	int r = q->deployments ? deployments_read(q->deployments, DEPLOYMENT_NEEDS_VERSION, ret, &error) : 0;

	if (error)
		log_error("%s", error);
	if (r == 0 && of_store)
		r = deployments_of_store(common, ret);
	deployments_sort(ret);
	return r;
}

int spans_store_forest(struct span_store *store, const char *key, const char *source, struct forest *f)
{
	_cleanup_str_ struct str bytes = {.max = (size_t)2 << 30};
	struct span_part part;
	int r = pipeline_part(f, &bytes, &part);

	part.key = key;
	part.source = source;
	return r < 0 ? r : span_store_put(store, &part);
}
