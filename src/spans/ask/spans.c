/* whyslow spans SUBVERB: from traced requests to the component, the environment and the version. */
#include "spans/ask/spans.h"

#include <stdio.h>

#include "lib/data/clock.h"
#include "lib/view/json.h"

#define DEFAULTS                                                                                                          \
	{                                                                                                                 \
		.input = {.late = -1, .jobs = 1, .rule = "tolerant"}, .top = 15, .exemplars = 3,  \
		.keep = 30ll * 86400 * NS_PER_SEC                                                                         \
	}

/* The tables below are read into it; each subverb gets it as its query. */
static struct spans_query parsed = DEFAULTS;

/* How spans become requests, buckets and paths. */
#define PIPELINE_OPTIONS                                                                                                                                    \
	{OPTION_TEXT, 0, "by", "LIST", &parsed.input.by, "attributes that form buckets: hardware, workload, host, version or any attribute (default hardware,workload)"}, \
	{OPTION_TEXT, 0, "rule", "NAME", &parsed.input.rule, "critical path: tolerant (default), crisp, strict; path: also sdiag, the longest path over p95"}, \
	{OPTION_TEXT, 0, "root", "WHICH", &parsed.input.root, "which span begins a request: parentless (default); topmost: also the longest one whose caller is not in the input"}, \
	{OPTION_TEXT, 0, "mapping", "FILE", &parsed.input.mapping, "which attribute is the hardware, the workload, a version ... (default: semantic conventions)"}, \
	{OPTION_TEXT, 0, "asynchronous", "FILE", &parsed.input.asynchronous, "file of asynchronous calls, as --learn writes it: off the critical path"}, \
	{OPTION_TEXT, 0, "join", "FILE:ATTR", &parsed.input.join, "attributes from a table: inventory.csv:host.name"},                                  \
	{OPTION_SPAN, 0, "late", "SPAN", &parsed.input.late, "how late a span may come (default: receive 30s, a file 15min, several files as memory allows)"}, \
	{OPTION_SPAN, 0, "slot", "SPAN", &parsed.input.slot, "resolution in time (default 1.875s of files, else 1min; doubles as needed)"},                                   \
	{OPTION_COUNT, 0, "spans-in-memory", "N", &parsed.input.memory, "maximum number of spans that wait for their trace (default 2097152, receive 1048576); of tables, spans of one piece"}

/* Where they come from. */
#define DATA_OPTIONS                                                                                                              \
	PIPELINE_OPTIONS, {OPTION_TEXT, 0, "learn", "FILE", &parsed.input.learn, "read the files twice: first write the asynchronous calls to FILE"}, \
	{OPTION_TEXT, 0, "format", "NAME", &parsed.input.format, "otlp, otlp-json, zipkin, jaeger, jaeger-thrift, skywalking, csv ...: docs/spans.md lists them (default: detected)"}, \
	{OPTION_COUNT, 'j', "jobs", "N", &parsed.input.jobs, "threads to read with (default 1)"},                              \
	{OPTION_TEXT, 0, "engine", "URL", &parsed.input.engine, "what 'spans work' computed there, clickhouse://HOST/DATABASE; no DATA then"}, \
	{OPTION_TEXT, 0, "until", "TIME", &parsed.input.until, "end of the time that is read"}

#define DEPLOYMENTS_OPTION {OPTION_TEXT, 0, "deployments", "FILE", &parsed.deployments, "what was deployed, as JSON: {\"package\", \"version\", \"host\", \"time\"}, one a line; the store has its own"}

#define SELECT_OPTIONS                                                                                              \
	{OPTION_TEXT, 0, "where", "K=V,...", &parsed.choice.where, "only buckets with these values"},                   \
	{OPTION_TEXT, 0, "entry", "TEXT", &parsed.choice.entry, "only requests whose entry point contains this"}

#define BUCKET_OPTIONS SELECT_OPTIONS, {OPTION_COUNT, 'n', "top", "N", &parsed.top, "how many lines of each list (default 15)"}

#define SINCE_OPTION {OPTION_TEXT, 0, "since", "TIME", &parsed.input.since, "start of the time that is read"}

#define SIDES_OPTIONS                                                                                                            \
	{OPTION_TEXT, 0, "baseline", "VERSION", &parsed.baseline, "the version (or PACKAGE=VERSION) that was good"},         \
	{OPTION_TEXT, 0, "candidate", "VERSION", &parsed.candidate, "the version to judge"},                                 \
	{OPTION_TEXT, 0, "against", "DATA,...", &parsed.against, "files or tables of the time that was good"},               \
	{OPTION_TEXT, 0, "since", "TIME", &parsed.input.since, "compare requests from here on with those before"}

#define CHANGE_OPTIONS DATA_OPTIONS, BUCKET_OPTIONS, SIDES_OPTIONS, DEPLOYMENTS_OPTION, \
	{OPTION_COUNT, 0, "min-effect", "PERCENT", &parsed.min_effect, "the smallest rise of the mean that matters (default 5)"}

static const struct option_row load_options[] = {
	DATA_OPTIONS,
	DEPLOYMENTS_OPTION,
	{OPTION_TEXT, 0, "key", "NAME", &parsed.key, "name of this part; loading it again replaces it"},
	{OPTION_TEXT, 0, "output", "URL", &parsed.output, "also write the spans to a table, clickhouse://HOST/DATABASE[?cluster=NAME]; without DATA only create it"},
	{},
};
static const struct option_row forest_options[] = {
	DATA_OPTIONS, SINCE_OPTION, BUCKET_OPTIONS,
	{OPTION_FLAG, 0, "functions", NULL, &parsed.functions, "by function, wherever it was called"},
	{},
};
static const struct option_row calls_options[] = {
	DATA_OPTIONS, SINCE_OPTION,
	{OPTION_FLAG, 0, "hosts", NULL, &parsed.hosts, "hosts instead of services, by the requests that are stored whole"},
	{},
};
static const struct option_row exemplar_options[] = {
	DATA_OPTIONS, SINCE_OPTION, SELECT_OPTIONS,
	{OPTION_COUNT, 'n', "top", "N", &parsed.exemplars, "how many of the slowest and of the ordinary ones of each version (default 3; 4 and 12 are stored)"},
	{OPTION_TEXT, 0, "trace", "ID[,ID]", &parsed.input.trace, "only this request; of two also where their times differ"},
	{},
};
static const struct option_row select_options[] = {
	DATA_OPTIONS, SINCE_OPTION, BUCKET_OPTIONS,
	{OPTION_TEXT, 0, "begin", "TIME", &parsed.begin, "select the requests that began from here on"},
	{OPTION_TEXT, 0, "end", "TIME", &parsed.end, "... and before this"},
	{OPTION_SPAN, 0, "longer", "SPAN", &parsed.longer, "... that took this long or longer: 250ms"},
	{OPTION_SPAN, 0, "shorter", "SPAN", &parsed.shorter, "... and less than this"},
	{OPTION_FLAG, 0, "failed", NULL, &parsed.failed, "... that failed"},
	{},
};
static const struct option_row path_options[] = {
	DATA_OPTIONS, SINCE_OPTION, BUCKET_OPTIONS,
	{OPTION_FLAG, 0, "each", NULL, &parsed.each_trace, "each trace of the files separately"},
	{OPTION_TEXT, 0, "trace", "ID", &parsed.input.trace, "only this trace of the files"},
	{},
};
static const struct option_row groups_options[] = {
	DATA_OPTIONS, SINCE_OPTION, BUCKET_OPTIONS, DEPLOYMENTS_OPTION,
	{OPTION_TEXT, 0, "method", "NAME", &parsed.method, "robust (default), sdiag-older, sdiag-pooled"},
	{},
};
static const struct option_row gate_options[] = {
	CHANGE_OPTIONS,
	{OPTION_TEXT, 0, "report", "FORM", &parsed.report, "long (default), line, table, markdown (for a pull request), junit (XML)"},
	{},
};
static const struct option_row change_options[] = {
	CHANGE_OPTIONS,
	{},
};
static const struct option_row why_options[] = {
	CHANGE_OPTIONS,
	{OPTION_TEXT, 0, "html", "FILE", &parsed.html, "also write the answer as one HTML page for others; - prints only the page"},
	{OPTION_TEXT, 0, "trace", "ID", &parsed.input.trace, "why this request was slow: where it waited, by the recorders of its hosts"},
	{OPTION_TEXT, 0, "hosts", "FILE", &parsed.host_list,
	 "the recorders to ask: a list as of 'fleet watch', or a folder of recordings HOST.db (default /etc/whyslow/hosts, and this machine's)"},
	{OPTION_TEXT, 0, "token-file", "FILE", &parsed.token_file, "the token for hosts that have none in the list"},
	{OPTION_TEXT, 0, "ca-file", "FILE", &parsed.ca_file, "the authority that signed their certificates, or the certificate itself"},
	{},
};
static const struct option_row receive_options[] = {
	PIPELINE_OPTIONS,
	{OPTION_SPAN, 0, "window", "SPAN", &parsed.window, "the length of one part of the store (default 1min)"},
	{OPTION_SPAN, 0, "keep", "SPAN", &parsed.keep, "how long parts are stored at least (default 30d)"},
	{OPTION_TEXT, 0, "listen", "ADDRESS", &parsed.listen, "[ADDRESS:]PORT (default 127.0.0.1:4318)"},
	{OPTION_TEXT, 0, "listen-grpc", "ADDRESS", &parsed.listen_grpc, "[ADDRESS:]PORT for OTLP/gRPC, or off (default: the port before, 4317)"},
	{OPTION_TEXT, 0, "token-file", "FILE", &parsed.token_file, "file with the tokens of senders"},
	{OPTION_TEXT, 0, "cert", "FILE", &parsed.cert_file, "certificate (PEM), for other machines"},
	{OPTION_TEXT, 0, "cert-key", "FILE", &parsed.key_file, "its key"},
	{},
};
static const struct option_row watch_options[] = {
	BUCKET_OPTIONS, DEPLOYMENTS_OPTION,
	{OPTION_COUNT, 0, "min-effect", "PERCENT", &parsed.min_effect, "the smallest rise of the mean that matters (default 5)"},
	{OPTION_SPAN, 0, "window", "SPAN", &parsed.window, "length of the window that is judged (default 5min)"},
	{OPTION_TEXT, 0, "run", "COMMAND", &parsed.run, "run this on a regression, the finding as JSON on its standard input"},
	{OPTION_TEXT, 0, "webhook", "URL", &parsed.webhook, "post the finding there"},
	{OPTION_FLAG, 0, "once", NULL, &parsed.once, "judge what is finished, and exit"},
	{},
};
static const struct option_row work_options[] = {
	PIPELINE_OPTIONS, SINCE_OPTION,
	{OPTION_TEXT, 0, "until", "TIME", &parsed.input.until, "end of the time that is read"},
	{OPTION_TEXT, 0, "part", "I/N", &parsed.part, "of N workers this is the I-th, from 0: it takes its part of each shard (default: what is left)"},
	{},
};

#define SUBVERB(name, words, options, help)                                                             \
	static int run_##name(struct common *common, int argc, char **argv)                             \
	{                                                                                               \
		return spans_run_fetched(common, &parsed, argc, argv, spans_##name);                    \
	}                                                                                               \
	static const struct subverb verb_##name = {#name, words, help, options, .run = run_##name};

SUBVERB(load, "DATA ... ", load_options, "add traces to the store: OTLP (protobuf, JSON), other tracing tools' JSON, CSV; plain or compressed; files or folders")
SUBVERB(forest, "[DATA ...] ", forest_options, "every call path of every bucket: how often, how long, where the time goes")
SUBVERB(calls, "[DATA ...] ", calls_options, "who calls whom, for 'whyslow fleet why --calls'")
SUBVERB(path, "[DATA ...] ", path_options, "the critical path of every bucket, or of single traces")
SUBVERB(groups, "[DATA ...] ", groups_options, "compare versions of each bucket with the older ones (z-scores), and find outliers")
SUBVERB(exemplars, "[DATA ...] ", exemplar_options, "show requests that were stored whole: the slowest of each version, and ordinary ones")
SUBVERB(select, "[DATA ...] ", select_options, "requests by time and duration, and what distinguishes some of them from the others")
SUBVERB(why, "[DATA ...] ", why_options, "which bucket, version and call path became slower, and why, down to the hosts")
SUBVERB(compare, "[DATA ...] ", change_options, "baseline and candidate: where the milliseconds went")
SUBVERB(gate, "[DATA ...] ", gate_options, "exit status for a deployment (--baseline V1 --candidate V2): 0 pass, 1 regression, 3 cannot tell")
SUBVERB(receive, "", receive_options, "receive traces over OTLP/HTTP (/v1/traces) and OTLP/gRPC into the store")
SUBVERB(watch, "", watch_options, "compare each finished window of the store with earlier ones, and act on a regression")
SUBVERB(work, "URL ... ", work_options, "a worker: the traces of a shard of ClickHouse, for --engine")

static const struct subverb *const list[] = {
	&verb_load, &verb_forest, &verb_calls, &verb_path, &verb_groups, &verb_exemplars, &verb_select, &verb_why, &verb_compare,
	&verb_gate, &verb_receive, &verb_watch, &verb_work, &spans_attributes, NULL,
};

static void reset(void)
{
	parsed = (struct spans_query)DEFAULTS;
}

static const struct subverbs subverbs = {
	.verb = "spans",
	.intro = "DATA are files, folders, tables (clickhouse://HOST/DATABASE), or query services of Tempo or Jaeger (http://HOST:PORT); without, what was loaded or received "
		 "into the store.",
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
	.examples = (const struct example[]){
		{"whyslow spans why traces.json", "which service made requests slow, and since which version?"},
		{"whyslow spans gate traces.json --baseline 1.4 --candidate 1.5", "is the new version slower? for a deployment"},
		{"whyslow spans receive", "take OpenTelemetry's spans on ports 4317 and 4318"},
		{}},
	.options = no_options,
	.takes_command = true,
	.subverbs = &subverbs,
	.run = run,
};

int spans_print_json(json_t *root, int status)
{
	json_print(root, JSON_INDENT(1), stdout);
	return status;
}
