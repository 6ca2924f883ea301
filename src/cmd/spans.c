/* whyslow spans ...: from traced requests to the component, the environment and the version. */
#include "cmd/spans.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/help.h"

extern const struct verb verb_spans_attributes;

struct spans_arguments spans_arg = {.top = 15, .late = -1, .slot = 60 * NS_PER_SEC, .jobs = 1, .rule = "tolerant",
				    .window = 300 * NS_PER_SEC, .keep = 30ll * 86400 * NS_PER_SEC};

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "by", "LIST", &spans_arg.by, "what buckets are made of: hardware, workload, host, version or any attribute (default hardware,workload)"},
	{OPTION_TEXT, 0, "where", "K=V,...", &spans_arg.where, "only buckets with these values"},
	{OPTION_TEXT, 0, "entry", "TEXT", &spans_arg.entry, "only requests whose entry point contains this"},
	{OPTION_TEXT, 0, "rule", "NAME", &spans_arg.rule, "critical path: tolerant (default), crisp, strict; path: also sdiag, the longest path over p95"},
	{OPTION_TEXT, 0, "baseline", "VERSION", &spans_arg.baseline, "compare, why, gate: the version (or PACKAGE=VERSION) that was good"},
	{OPTION_TEXT, 0, "candidate", "VERSION", &spans_arg.candidate, "compare, why, gate: the version to judge"},
	{OPTION_TEXT, 0, "against", "FILE,...", &spans_arg.against, "compare, why, gate: the files of the time that was good"},
	{OPTION_TEXT, 0, "since", "TIME", &spans_arg.since, "compare, why: what began here, against what lies before; else: only from here on"},
	{OPTION_TEXT, 0, "until", "TIME", &spans_arg.until, "nothing after this"},
	{OPTION_COUNT, 'n', "top", "N", &spans_arg.top, "how many lines of each list (default 15)"},
	{OPTION_TEXT, 0, "mapping", "FILE", &spans_arg.mapping, "which attribute is the hardware, the workload, a version ... (default: semantic conventions)"},
	{OPTION_TEXT, 0, "join", "FILE:ATTR", &spans_arg.join, "attributes from a table: inventory.csv:host.name"},
	{OPTION_TEXT, 0, "format", "NAME", &spans_arg.format, "otlp, otlp-json, jaeger, csv (default: looked at)"},
	{OPTION_SPAN, 0, "late", "SPAN", &spans_arg.late, "how late a span may come (default: receive 1min, a file 15min, several files as memory allows)"},
	{OPTION_SPAN, 0, "slot", "SPAN", &spans_arg.slot, "resolution in time (default 1min; doubles as needed)"},
	{OPTION_COUNT, 0, "spans-in-memory", "N", &spans_arg.memory, "spans that wait for their trace at most (default 4194304)"},
	{OPTION_COUNT, 'j', "jobs", "N", &spans_arg.jobs, "threads to read files with (default 1)"},
	{OPTION_TEXT, 0, "key", "NAME", &spans_arg.key, "load: name of this part; loading it again replaces it"},
	{OPTION_FLAG, 0, "each", NULL, &spans_arg.each_trace, "path: of each trace of the files, not of all together"},
	{OPTION_TEXT, 0, "trace", "ID", &spans_arg.trace, "path: of this trace of the files"},
	{OPTION_TEXT, 0, "listen", "ADDRESS", &spans_arg.listen, "receive: [ADDRESS:]PORT (default 127.0.0.1:4318)"},
	{OPTION_TEXT, 0, "token-file", "FILE", &spans_arg.token_file, "receive: who may send"},
	{OPTION_TEXT, 0, "cert", "FILE", &spans_arg.cert_file, "receive: certificate (PEM), for other machines"},
	{OPTION_TEXT, 0, "cert-key", "FILE", &spans_arg.key_file, "receive: its key"},
	{OPTION_SPAN, 0, "window", "SPAN", &spans_arg.window, "receive, watch: one part of the store (default 5min)"},
	{OPTION_SPAN, 0, "keep", "SPAN", &spans_arg.keep, "receive, watch: how long parts are kept (default 30d)"},
	{OPTION_TEXT, 0, "run", "COMMAND", &spans_arg.run, "watch: run this on a regression, the finding as JSON on its standard input"},
	{OPTION_FLAG, 0, "once", NULL, &spans_arg.once, "watch: look once and end"},
	{OPTION_TEXT, 0, "method", "NAME", &spans_arg.method, "groups: robust (default), sdiag-older, sdiag-pooled"},
	{OPTION_TEXT, 0, "webhook", "URL", &spans_arg.webhook, "watch: post the finding there"},
	{},
};

static const struct subverb subverbs[] = {
	{"load", "FILE ...", "adds traces to the store: OTLP (protobuf, JSON), Jaeger JSON, CSV; plain or gzip", spans_load},
	{"forest", "[FILE ...]", "every call path of every bucket: how often, how long, where the time goes", spans_forest},
	{"path", "[FILE ...]", "the critical path of every bucket, or of single traces", spans_path},
	{"groups", "[FILE ...]", "versions of each bucket against the older ones (z-scores), and who is an outlier", spans_groups},
	{"exemplars", "[FILE ...]", "requests that were kept whole: the slowest of each version, and ordinary ones", spans_exemplars},
	{"why", "[FILE ...]", "which bucket, version and call path became slower, and why", spans_why},
	{"compare", "[FILE ...]", "baseline and candidate: where the milliseconds went", spans_compare},
	{"gate", "--baseline V1 --candidate V2 [FILE ...]", "exit status for a deployment: 0 pass, 1 regression, 3 cannot tell", spans_gate},
	{"receive", "", "takes traces over OTLP/HTTP (/v1/traces) into the store", spans_receive},
	{"watch", "", "looks at each window of the store and acts on a regression", spans_watch},
	{},
};

static const struct verb *const parts[] = {&verb_spans_attributes, NULL}; /* with options of their own */

#define PREFIX "spans " /* of a part's name */

static int list_subverbs(void)
{
	puts("Usage: whyslow spans WHAT [FILE ...] [OPTIONS]\n\nWithout files: of what was loaded or received into the store.\n");
	for (const struct subverb *s = subverbs; s->name; s++) {
		char left[72];

		snprintf(left, sizeof(left), "%s %s", s->name, s->words);
		printf("  %-44s %s\n", left, s->help);
	}
	for (size_t i = 0; parts[i]; i++)
		printf("  %-44s %s\n", parts[i]->name + strlen(PREFIX), parts[i]->help);
	puts("\n'whyslow spans WHAT --help' lists the options.");
	return EXIT_ANSWERED;
}

static int run_part(struct common *common, const struct verb *part, int argc, char **argv)
{
	_cleanup_free_ char *error = NULL;
	int words = options_parse(part->options, common->shared_options, false, argc, argv, &error);

	if (words < 0)
		return usage_error("spans", "%s", error ? error : "bad options");
	if (common->help) {
		help_verb(part, common->shared_options);
		return EXIT_ANSWERED;
	}
	return part->run(common, words, argv);
}

static int run_subverb(struct common *common, const struct subverb *s, int argc, char **argv)
{
	const struct verb shown = {.name = "spans", .words = s->name, .help = s->help, .options = options};
	_cleanup_free_ char *error = NULL, *usage = NULL;
	int words = options_parse(options, common->shared_options, false, argc, argv, &error);
	struct verb help = shown;

	if (words < 0)
		return usage_error("spans", "%s", error ? error : "bad options");
	if (!common->help)
		return s->run(common, (size_t)words - 1, argv + 1);
	if (asprintf(&usage, "%s %s ", s->name, s->words) >= 0)
		help.words = usage;
	help_verb(&help, common->shared_options);
	return EXIT_ANSWERED;
}

static int run(struct common *common, int argc, char **argv)
{
	if (argc < 2)
		return list_subverbs();
	for (const struct subverb *s = subverbs; s->name; s++)
		if (!strcmp(s->name, argv[1]))
			return run_subverb(common, s, argc - 1, argv + 1);
	for (size_t i = 0; parts[i]; i++)
		if (!strcmp(parts[i]->name + strlen(PREFIX), argv[1]))
			return run_part(common, parts[i], argc - 1, argv + 1);
	return usage_error("spans", "there is no '%s'; 'whyslow spans' lists what there is", argv[1]);
}

static const struct option_row no_options[] = {{}};

const struct verb verb_spans = {
	.name = "spans",
	.group = "Many machines",
	.words = "WHAT [FILE ...] ",
	.help = "traced requests: which component, in which environment, since which version",
	.options = no_options,
	.takes_command = true,
	.run = run,
};

int spans_pipeline_options(size_t n_files, struct pipeline_options *ret)
{
	enum path_rule rule = PATH_TOLERANT;

	if (strcmp(spans_arg.rule, "sdiag") && path_rule_parse(spans_arg.rule, &rule) < 0) {
		usage_error("spans", "--rule is one of tolerant, crisp, strict, sdiag, not '%s'", spans_arg.rule);
		return -EINVAL;
	}
	*ret = (struct pipeline_options){
		.mapping_file = spans_arg.mapping,
		.join = spans_arg.join,
		.dimensions = spans_arg.by,
		.format = spans_arg.format,
		.rule = rule,
		.late = spans_arg.late >= 0 ? spans_arg.late : n_files > 1 ? INT64_MAX : n_files ? 900 * NS_PER_SEC : 60 * NS_PER_SEC,
		.from = spans_arg.only_from,
		.to = spans_arg.only_to,
		.slot_width = spans_arg.slot > 0 ? spans_arg.slot : NS_PER_SEC,
		.most = (uint32_t)(spans_arg.memory ? spans_arg.memory : ASSEMBLE_SPANS_MAX / (spans_arg.jobs ? spans_arg.jobs : 1)),
	};
	return 0;
}

char *spans_store_file(const struct common *common)
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
	_cleanup_free_ char *file = spans_store_file(common), *error = NULL;
	struct span_store *store;
	int r = file ? span_store_open(file, write, &store, &error) : -ENOMEM;

	if (r == 0)
		return store;
	log_error("%s", error ? error : strerror(-r));
	return NULL;
}

static void print_faults(const struct span_faults *faults)
{
	for (int i = 0; i < SPAN_FAULT_COUNT; i++)
		if (faults->n[i])
			log_warning("%" PRIu64 " %s; the first: %s", faults->n[i], span_fault_name((enum span_fault)i), faults->first[i]);
}

static int read_files(size_t n, char **files, struct forest *f)
{
	struct pipeline_options o;
	struct span_faults faults = {};
	_cleanup_free_ char *error = NULL;
	int r = spans_pipeline_options(n, &o);

	if (r < 0)
		return r;
	r = pipeline_load(&o, files, n, (unsigned)spans_arg.jobs, f, &faults, &error);
	print_faults(&faults);
	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	return r;
}

static int add_part(void *forest, const struct span_part *part)
{
	int r;

	if ((spans_arg.only_from && part->from < spans_arg.only_from) || (spans_arg.only_to && part->to >= spans_arg.only_to))
		return 0;
	r = forest_read(forest, part->bytes, part->n);
	if (r == -EEXIST)
		log_error("part '%s' of the store was loaded with another --rule or --by than others; load it again, or use another --store",
			  part->key);
	else if (r < 0)
		log_error("part '%s' of the store: %s", part->key, r == -EBADMSG ? "damaged; load it again" : strerror(-r));
	return r;
}

static int read_time(const char *text, int64_t otherwise, int64_t *ret)
{
	*ret = otherwise;
	if (!text || parse_time(text, wall_now(), ret) == 0)
		return 0;
	return usage_error("spans", "'%s' is no time", text), -EINVAL;
}

static int read_store(struct common *common, struct forest *f)
{
	struct span_store *store;
	int64_t until = spans_arg.only_to ? spans_arg.only_to - 1 : INT64_MAX;
	int r = spans_arg.only_to ? 0 : read_time(spans_arg.until, INT64_MAX, &until);

	if (r < 0)
		return r;
	store = spans_open_store(common, false);
	if (!store)
		return -ENOENT;
	r = span_store_each(store, spans_arg.only_from ? spans_arg.only_from : INT64_MIN, until, f, add_part);
	if (r == -EIO || r == -EUCLEAN)
		log_error("%s", span_store_error(store));
	span_store_close(store);
	return r;
}

int spans_forest_of(struct common *common, size_t n, char **files, struct names **ret_names, struct forest *ret)
{
	int r;

	*ret_names = names_new();
	r = *ret_names ? forest_init(ret, *ret_names, spans_arg.slot > 0 ? spans_arg.slot : NS_PER_SEC) : -ENOMEM;
	if (r == 0)
		r = n ? read_files(n, files, ret) : read_store(common, ret);
	if (r == 0)
		r = forest_finish(ret);
	if (r == 0 && !ret->tally.requests) {
		log_error("no whole request: %" PRIu64 " spans read, none of them a root; if traces are spread over files, give all of them",
			  ret->tally.spans);
		spans_print_tally(ret);
		r = -ENODATA;
	}
	if (r < 0) {
		forest_free(ret);
		names_free(*ret_names);
	}
	return r;
}

int spans_store_forest(struct span_store *store, const char *key, const char *source, struct forest *f)
{
	_cleanup_str_ struct str bytes = {.max = (size_t)2 << 30};
	struct span_part part = {.key = key, .source = source, .from = INT64_MAX, .to = INT64_MIN};
	int r;

	for (size_t i = 0; i < f->buckets.n; i++) {
		for (size_t j = 0; j < f->buckets.v[i].groups.n; j++) {
			const struct group *g = &f->buckets.v[i].groups.v[j];

			part.from = g->first_seen < part.from ? g->first_seen : part.from;
			part.to = g->last_seen > part.to ? g->last_seen : part.to;
		}
	}
	r = forest_write(f, &bytes);
	if (r < 0)
		return r;
	part.requests = f->tally.requests;
	part.spans = f->tally.spans;
	part.bytes = bytes.data;
	part.n = bytes.len;
	return span_store_put(store, &part);
}

/* --- words ---------------------------------------------------------------------------------------------------------- */

struct count {
	const char *name;
	size_t offset;
	const char *words;
};

#define COUNT(field, words) {#field, offsetof(struct forest_tally, field), words}
static const struct count counts[] = {
	COUNT(orphans, "spans are orphans: what called them is not in the input; never taken as requests"),
	COUNT(orphan_traces, "traces have no root and count as no request"),
	COUNT(more_roots, "spans are second roots of their trace and were left out"),
	COUNT(duplicates, "spans came twice"),
	COUNT(clamped, "spans were cut to the time of what called them"),
	COUNT(outside, "spans ran outside of what called them: asynchronous, not on the critical path"),
	COUNT(skewed, "server spans were moved between the ends of their call: clocks differ"),
	COUNT(late, "traces came in pieces, later than --late allows"),
	COUNT(cut, "traces were closed early for want of memory (--spans-in-memory)"),
	COUNT(other_buckets, "requests were put into the bucket (other): too many buckets (--by)"),
	COUNT(other_groups, "requests were put into the group (other): too many versions"),
	COUNT(other_vertices, "calls were charged to the call above them: too many call paths; are there numbers in the operations' names?"),
	COUNT(other_leaves, "requests were left out of the attribute search: too many combinations"),
	COUNT(other_places, "calls were not told apart by host: too many hosts"),
};

void spans_print_tally(const struct forest *f)
{
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t n = *(const uint64_t *)((const char *)&f->tally + counts[i].offset);

		if (n)
			printf("  note: %" PRIu64 " %s\n", n, counts[i].words);
	}
	for (int i = 0; i < SPAN_FAULT_COUNT; i++)
		if (f->tally.faults[i])
			printf("  note: input left out or mended: %" PRIu64 " %s\n", f->tally.faults[i], span_fault_name((enum span_fault)i));
}

json_t *spans_tally_json(const struct forest *f)
{
	json_t *o = json_pack("{s:I, s:I, s:I}", "spans", (json_int_t)f->tally.spans, "traces", (json_int_t)f->tally.traces, "requests",
			      (json_int_t)f->tally.requests);
	json_t *faults = json_object();

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		json_object_set_new(o, counts[i].name,
				    json_integer((json_int_t) * (const uint64_t *)((const char *)&f->tally + counts[i].offset)));
	for (int i = 0; i < SPAN_FAULT_COUNT; i++)
		json_object_set_new(faults, span_fault_name((enum span_fault)i), json_integer((json_int_t)f->tally.faults[i]));
	json_object_set_new(o, "faults", faults);
	return o;
}

char *spans_bucket_label(const struct forest *f, const struct bucket *b)
{
	_cleanup_str_ struct str s = {};

	for (uint32_t d = 0; d < f->n_dimensions; d++)
		if (b->values[d])
			str_printf(&s, "%s%s=%s", s.len ? ", " : "", names_get(f->names, f->dimensions[d]), names_get(f->names, b->values[d]));
	str_printf(&s, "%s%s", s.len ? ": " : "", names_get(f->names, b->entry));
	return s.error ? NULL : TAKE(s.data);
}

json_t *spans_bucket_json(const struct forest *f, const struct bucket *b)
{
	json_t *values = json_object();

	for (uint32_t d = 0; d < f->n_dimensions; d++)
		json_object_set_new(values, names_get(f->names, f->dimensions[d]),
				    b->values[d] ? json_string(names_get(f->names, b->values[d])) : json_null());
	return json_pack("{s:o, s:s}", "values", values, "entry", names_get(f->names, b->entry));
}

static bool agrees(const struct forest *f, const struct bucket *b, const char *key, const char *value)
{
	for (uint32_t d = 0; d < f->n_dimensions; d++)
		if (!strcmp(names_get(f->names, f->dimensions[d]), key))
			return !strcmp(names_get(f->names, b->values[d]), value);
	return false;
}

bool spans_selected(const struct forest *f, const struct bucket *b)
{
	_cleanup_free_ char *copy = spans_arg.where ? strdup(spans_arg.where) : NULL;
	char *rest = copy, *pair;

	if (spans_arg.entry && !strstr(names_get(f->names, b->entry), spans_arg.entry))
		return false;
	while (rest && (pair = strsep(&rest, ","))) {
		char *value = strchr(pair, '=');

		if (!value)
			return false;
		*value++ = '\0';
		if (!agrees(f, b, pair, value))
			return false;
	}
	return true;
}

const char *spans_duration(double ns, char *buf)
{
	double size = fabs(ns);

	if (isnan(ns))
		snprintf(buf, 24, "-");
	else if (size >= 1e10)
		snprintf(buf, 24, "%.1f s", ns / 1e9);
	else if (size >= 1e9)
		snprintf(buf, 24, "%.2f s", ns / 1e9);
	else if (size >= 1e8)
		snprintf(buf, 24, "%.0f ms", ns / 1e6);
	else if (size >= 1e6)
		snprintf(buf, 24, size >= 1e7 ? "%.1f ms" : "%.2f ms", ns / 1e6);
	else
		snprintf(buf, 24, size >= 1e5 ? "%.0f us" : "%.3g us", ns / 1e3);
	return buf;
}

char *spans_versions_label(const struct forest *f, uint32_t versions)
{
	char *text = set_text(f->names, versions);

	if (text && !*text) {
		free(text);
		return strdup("no version told");
	}
	return text;
}

int spans_print_json(json_t *root, int status)
{
	json_dumpf(root, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(root);
	return status;
}
