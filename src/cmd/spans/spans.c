/* whyslow spans SUBVERB: from traced requests to the component, the environment and the version. */
#include "cmd/spans/spans.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "view/why/json.h"

#define DEFAULTS                                                                                                          \
	{                                                                                                                 \
		.top = 15, .exemplars = 3, .late = -1, .slot = 60 * NS_PER_SEC, .jobs = 1, .rule = "tolerant", \
		.keep = 30ll * 86400 * NS_PER_SEC                                                                         \
	}

struct spans_arguments spans_arg = DEFAULTS;

/* How spans become requests, buckets and paths. */
#define PIPELINE_OPTIONS                                                                                                                                    \
	{OPTION_TEXT, 0, "by", "LIST", &spans_arg.by, "attributes that form buckets: hardware, workload, host, version or any attribute (default hardware,workload)"}, \
	{OPTION_TEXT, 0, "rule", "NAME", &spans_arg.rule, "critical path: tolerant (default), crisp, strict; path: also sdiag, the longest path over p95"}, \
	{OPTION_TEXT, 0, "root", "WHICH", &spans_arg.root, "which span begins a request: parentless (default); topmost: also the longest one whose caller is not in the input"}, \
	{OPTION_TEXT, 0, "mapping", "FILE", &spans_arg.mapping, "which attribute is the hardware, the workload, a version ... (default: semantic conventions)"}, \
	{OPTION_TEXT, 0, "asynchronous", "FILE", &spans_arg.asynchronous, "file of asynchronous calls, as --learn writes it: off the critical path"}, \
	{OPTION_TEXT, 0, "join", "FILE:ATTR", &spans_arg.join, "attributes from a table: inventory.csv:host.name"},                                  \
	{OPTION_SPAN, 0, "late", "SPAN", &spans_arg.late, "how late a span may come (default: receive 30s, a file 15min, several files as memory allows)"}, \
	{OPTION_SPAN, 0, "slot", "SPAN", &spans_arg.slot, "resolution in time (default 1min; doubles as needed)"},                                   \
	{OPTION_COUNT, 0, "spans-in-memory", "N", &spans_arg.memory, "maximum number of spans that wait for their trace (default 2097152, receive 4194304); of tables, spans of one piece"}

/* Where they come from. */
#define DATA_OPTIONS                                                                                                              \
	PIPELINE_OPTIONS, {OPTION_TEXT, 0, "learn", "FILE", &spans_arg.learn, "read the files twice: first write the asynchronous calls to FILE"}, \
	{OPTION_TEXT, 0, "format", "NAME", &spans_arg.format, "otlp, otlp-json, zipkin, jaeger, csv (default: detected)"}, \
	{OPTION_COUNT, 'j', "jobs", "N", &spans_arg.jobs, "threads to read with (default 1)"},                              \
	{OPTION_TEXT, 0, "engine", "URL", &spans_arg.engine, "what 'spans work' computed there, clickhouse://HOST/DATABASE; no DATA then"}, \
	{OPTION_TEXT, 0, "until", "TIME", &spans_arg.until, "nothing after this"}

#define DEPLOYMENTS_OPTION {OPTION_TEXT, 0, "deployments", "FILE", &spans_arg.deployments, "what was deployed, as JSON: {\"package\", \"version\", \"host\", \"time\"}, one a line; the store has its own"}

#define SELECT_OPTIONS                                                                                              \
	{OPTION_TEXT, 0, "where", "K=V,...", &spans_arg.where, "only buckets with these values"},                   \
	{OPTION_TEXT, 0, "entry", "TEXT", &spans_arg.entry, "only requests whose entry point contains this"}

#define BUCKET_OPTIONS SELECT_OPTIONS, {OPTION_COUNT, 'n', "top", "N", &spans_arg.top, "how many lines of each list (default 15)"}

#define SINCE_OPTION {OPTION_TEXT, 0, "since", "TIME", &spans_arg.since, "only from here on"}

#define SIDES_OPTIONS                                                                                                            \
	{OPTION_TEXT, 0, "baseline", "VERSION", &spans_arg.baseline, "the version (or PACKAGE=VERSION) that was good"},         \
	{OPTION_TEXT, 0, "candidate", "VERSION", &spans_arg.candidate, "the version to judge"},                                 \
	{OPTION_TEXT, 0, "against", "DATA,...", &spans_arg.against, "files or tables of the time that was good"},               \
	{OPTION_TEXT, 0, "since", "TIME", &spans_arg.since, "compare requests from here on with those before"}


#define CHANGE_OPTIONS DATA_OPTIONS, BUCKET_OPTIONS, SIDES_OPTIONS, DEPLOYMENTS_OPTION, \
	{OPTION_COUNT, 0, "min-effect", "PERCENT", &spans_arg.min_effect, "the smallest rise of the mean that matters (default 5)"}

static const struct option_row load_options[] = {
	DATA_OPTIONS,
	DEPLOYMENTS_OPTION,
	{OPTION_TEXT, 0, "key", "NAME", &spans_arg.key, "name of this part; loading it again replaces it"},
	{OPTION_TEXT, 0, "output", "URL", &spans_arg.output, "also write the spans to a table, clickhouse://HOST/DATABASE[?cluster=NAME]; without DATA only create it"},
	{},
};
static const struct option_row forest_options[] = {
	DATA_OPTIONS, SINCE_OPTION, BUCKET_OPTIONS,
	{OPTION_FLAG, 0, "functions", NULL, &spans_arg.functions, "by function, wherever it was called; with --engine added up there"},
	{},
};
static const struct option_row calls_options[] = {
	DATA_OPTIONS, SINCE_OPTION,
	{OPTION_FLAG, 0, "hosts", NULL, &spans_arg.hosts, "hosts instead of services, as the requests that are kept whole tell of them"},
	{},
};
static const struct option_row exemplar_options[] = {
	DATA_OPTIONS, SINCE_OPTION, SELECT_OPTIONS,
	{OPTION_COUNT, 'n', "top", "N", &spans_arg.exemplars, "how many of the slowest and of the ordinary ones of each version (default 3; 4 and 12 are stored)"},
	{},
};
static const struct option_row select_options[] = {
	DATA_OPTIONS, SINCE_OPTION, BUCKET_OPTIONS,
	{OPTION_TEXT, 0, "begin", "TIME", &spans_arg.begin, "select the requests that began from here on"},
	{OPTION_TEXT, 0, "end", "TIME", &spans_arg.end, "... and before this"},
	{OPTION_SPAN, 0, "longer", "SPAN", &spans_arg.longer, "... that took this long or longer: 250ms"},
	{OPTION_SPAN, 0, "shorter", "SPAN", &spans_arg.shorter, "... and less than this"},
	{OPTION_FLAG, 0, "failed", NULL, &spans_arg.failed, "... that failed"},
	{},
};
static const struct option_row path_options[] = {
	DATA_OPTIONS, SINCE_OPTION, BUCKET_OPTIONS,
	{OPTION_FLAG, 0, "each", NULL, &spans_arg.each_trace, "each trace of the files separately"},
	{OPTION_TEXT, 0, "trace", "ID", &spans_arg.trace, "only this trace of the files"},
	{},
};
static const struct option_row groups_options[] = {
	DATA_OPTIONS, SINCE_OPTION, BUCKET_OPTIONS,
	{OPTION_TEXT, 0, "method", "NAME", &spans_arg.method, "robust (default), sdiag-older, sdiag-pooled"},
	{},
};
static const struct option_row gate_options[] = {
	CHANGE_OPTIONS,
	{OPTION_TEXT, 0, "report", "FORM", &spans_arg.report, "long (default), line, table, markdown (for a pull request), junit (XML)"},
	{},
};
static const struct option_row change_options[] = {
	CHANGE_OPTIONS,
	{},
};
static const struct option_row why_options[] = {
	CHANGE_OPTIONS,
	{OPTION_TEXT, 0, "html", "FILE", &spans_arg.html, "also write the answer as one HTML page to hand on; - prints it alone"},
	{OPTION_TEXT, 0, "trace", "ID", &spans_arg.trace, "why this request was slow: where it waited, by the recorders of its hosts"},
	{OPTION_TEXT, 0, "hosts", "FILE", &spans_arg.host_list,
	 "the recorders to ask: a list as of 'fleet watch', or a folder of recordings HOST.db (default /etc/whyslow/hosts, and this machine's)"},
	{OPTION_TEXT, 0, "token-file", "FILE", &spans_arg.token_file, "the token for hosts that have none in the list"},
	{OPTION_TEXT, 0, "ca-file", "FILE", &spans_arg.ca_file, "the authority that signed their certificates, or the certificate itself"},
	{},
};
static const struct option_row receive_options[] = {
	PIPELINE_OPTIONS,
	{OPTION_SPAN, 0, "window", "SPAN", &spans_arg.window, "the length of one part of the store (default 1min)"},
	{OPTION_SPAN, 0, "keep", "SPAN", &spans_arg.keep, "how long parts are stored (default 30d)"},
	{OPTION_TEXT, 0, "listen", "ADDRESS", &spans_arg.listen, "[ADDRESS:]PORT (default 127.0.0.1:4318)"},
	{OPTION_TEXT, 0, "token-file", "FILE", &spans_arg.token_file, "who may send"},
	{OPTION_TEXT, 0, "cert", "FILE", &spans_arg.cert_file, "certificate (PEM), for other machines"},
	{OPTION_TEXT, 0, "cert-key", "FILE", &spans_arg.key_file, "its key"},
	{},
};
static const struct option_row watch_options[] = {
	BUCKET_OPTIONS, DEPLOYMENTS_OPTION,
	{OPTION_COUNT, 0, "min-effect", "PERCENT", &spans_arg.min_effect, "the smallest rise of the mean that matters (default 5)"},
	{OPTION_SPAN, 0, "window", "SPAN", &spans_arg.window, "how much is judged at a time (default 5min)"},
	{OPTION_TEXT, 0, "run", "COMMAND", &spans_arg.run, "run this on a regression, the finding as JSON on its standard input"},
	{OPTION_TEXT, 0, "webhook", "URL", &spans_arg.webhook, "post the finding there"},
	{OPTION_FLAG, 0, "once", NULL, &spans_arg.once, "judge what is finished and end"},
	{},
};
static const struct option_row work_options[] = {
	PIPELINE_OPTIONS, SINCE_OPTION,
	{OPTION_TEXT, 0, "until", "TIME", &spans_arg.until, "nothing after this"},
	{OPTION_TEXT, 0, "part", "I/N", &spans_arg.part, "of N workers this is the I-th, from 0: it takes its part of each shard (default: what is left)"},
	{},
};

static const struct subverb load = {"load", "DATA ... ", "adds traces to the store: OTLP (protobuf, JSON), Jaeger and Zipkin JSON, CSV; plain or packed; files or folders", load_options, spans_load, NULL},
	forest = {"forest", "[DATA ...] ", "every call path of every bucket: how often, how long, where the time goes", forest_options, spans_forest, NULL},
	calls = {"calls", "[DATA ...] ", "who calls whom, for 'whyslow fleet why --calls'", calls_options, spans_calls, NULL},
	path = {"path", "[DATA ...] ", "the critical path of every bucket, or of single traces", path_options, spans_path, NULL},
	groups = {"groups", "[DATA ...] ", "compare versions of each bucket with the older ones (z-scores), and find outliers", groups_options, spans_groups, NULL},
	exemplars = {"exemplars", "[DATA ...] ", "show requests that were stored whole: the slowest of each version, and ordinary ones", exemplar_options, spans_exemplars, NULL},
	selecting = {"select", "[DATA ...] ", "requests by time and duration, and what tells some of them from the others", select_options, spans_select, NULL},
	why = {"why", "[DATA ...] ", "which bucket, version and call path became slower, and why, down to the hosts", why_options, spans_why, NULL},
	compare = {"compare", "[DATA ...] ", "baseline and candidate: where the milliseconds went", change_options, spans_compare, NULL},
	gate = {"gate", "[DATA ...] ", "exit status for a deployment (--baseline V1 --candidate V2): 0 pass, 1 regression, 3 cannot tell", gate_options, spans_gate, NULL},
	receive = {"receive", "", "receive traces over OTLP/HTTP (/v1/traces) into the store", receive_options, spans_receive, NULL},
	watch = {"watch", "", "judges each finished window of the store against those before and acts on a regression", watch_options, spans_watch, NULL},
	work = {"work", "URL ... ", "a worker: the traces of a shard of ClickHouse, for --engine", work_options, spans_work, NULL};

static const struct subverb *const list[] = {
	&load, &forest, &calls, &path, &groups, &exemplars, &selecting, &why, &compare, &gate, &receive, &watch, &work, &spans_attributes, NULL,
};

static void reset(void)
{
	spans_arg = (struct spans_arguments)DEFAULTS;
}

static const struct subverbs subverbs = {
	.verb = "spans",
	.intro = "DATA are files, folders, or tables (clickhouse://HOST/DATABASE); without, what was loaded or received into the store.",
	.list = list,
	.reset = reset,
};

static int run(struct common *common, int argc, char **argv)
{
	return subverbs_run(common, &subverbs, argc - 1, argv + 1);
}

static const struct option_row no_options[] = {{}};

const struct verb verb_spans = {
	.name = "spans",
	.group = "Many machines",
	.words = "SUBVERB [DATA ...] ",
	.help = "traced requests: which component, in which environment, since which version",
	.options = no_options,
	.takes_command = true,
	.subverbs = &subverbs,
	.run = run,
};

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
	COUNT(duplicates, "duplicate spans were skipped"),
	COUNT(clamped, "spans were cut to the time of what called them"),
	COUNT(outside, "spans ran outside of what called them: asynchronous, not on the critical path"),
	COUNT(skewed, "server spans were moved between the ends of their call: clocks differ"),
	COUNT(late, "traces came in pieces, later than --late allows"),
	COUNT(cut, "traces were closed early for lack of memory (--spans-in-memory)"),
	COUNT(other_buckets, "requests were put into the bucket (other): too many buckets (--by)"),
	COUNT(other_groups, "requests were put into the group (other): too many versions"),
	COUNT(other_vertices, "calls were charged to the call above them: too many call paths; are there numbers in the operations' names?"),
	COUNT(other_leaves, "requests were left out of the attribute search: too many combinations"),
	COUNT(other_places, "calls were not separated by host: too many hosts"),
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
			printf("  note: input skipped or repaired: %" PRIu64 " %s\n", f->tally.faults[i], span_fault_name((enum span_fault)i));
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

	if (size < 0.5)
		ns = 0;
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
		return strdup("no version given");
	}
	return text;
}

int spans_print_json(json_t *root, int status)
{
	json_print(root, JSON_INDENT(1), stdout);
	return status;
}
