#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/rights/write-path.h"
#include "machine/answer-history/recorded.h"
#include "machine/client/request.h"
#include "machine/cmd-waits/collect.h"
#include "machine/cmd-waits/find-trace.h"
#include "machine/cmd-waits/report.h"
#include "machine/cmd-waits/trace-open.h"
#include "machine/recording/store.h"
#include "machine/symbol/name-stacks.h"
#include "machine/threads/state.h"
#include "machine/trace/trace-file.h"
#include "machine/verb/client-rights.h"
#include "machine/verb/verb.h"
#include "machine/view-waits/waits.h"
#include "machine/view-why/export.h"

#define FORMATS "store, csv, jsonl, prometheus or otlp (of a running recorder), counters (the machine's own, for a fleet), trace, perfetto, folded or html (of one incident: give its number)"

#define EXPORT_COUNTERS_MAX (3600ll * 1000000000) /* ns from the beginning on; who wants more asks again */

static void put_text(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		if ((unsigned char)*text >= ' ')
			fputc(*text, out);
	}
	fputc('"', out);
}

static void put_counter(const struct recorded_counter *c, size_t n, FILE *out)
{
	fputs("{\"name\": ", out);
	put_text(c->name, out);
	fputs(", \"unit\": ", out);
	put_text(c->unit, out);
	fputs(", \"values\": [", out);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? "," : "", out);
		if (isfinite(c->values[i]))
			fprintf(out, "%.9g", c->values[i]);
		else
			fputs("null", out);
	}
	fputs("]}", out);
}

/* 0 or -errno (store_error() has words). */
static int export_counters(struct store *s, int64_t from, int64_t to, FILE *out)
{
	struct recorded recorded = {};
	char name[256] = "";
	int r = recorded_read(s, from, to - from > EXPORT_COUNTERS_MAX ? from + EXPORT_COUNTERS_MAX : to, &recorded);

	if (r < 0)
		return r;
	gethostname(name, sizeof(name) - 1);
	fputs("{\"server\": ", out);
	put_text(name, out);
	fputs(", \"times\": [", out);
	for (size_t i = 0; i < recorded.times.n; i++)
		fprintf(out, "%s%" PRId64, i ? "," : "", recorded.times.v[i]);
	fputs("], \"counters\": [", out);
	for (size_t i = 0; i < recorded.counters.n; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_counter(&recorded.counters.v[i], recorded.times.n, out);
	}
	fputs("]}\n", out);
	recorded_free(&recorded);
	return 0;
}

/* To whom the recorder answers: standard output is the user's. */
static int hand_out(const struct trace *t)
{
	int r = trace_write(t, STDOUT_FILENO);

	if (r < 0)
		log_error("cannot write the events: %s", strerror(-r));
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

static int write_to(const struct trace *t, const char *output)
{
	_cleanup_free_ char *error = NULL;
	_cleanup_close_ int fd = write_path_open(output, O_WRONLY | O_CREAT | O_EXCL, 0600, &error);
	int r = fd < 0 ? fd : trace_write(t, fd);

	if (r < 0)
		return log_failure(EXIT_CANNOT, "cannot write %s: %s", output, error ? error : strerror(-r));
	printf("%s holds %zu events of %s: read it anywhere with --from %s\n", output, t->n_events,
	       CLOCK_SPAN((int64_t)(t->to - t->from)), output);
	return EXIT_ANSWERED;
}

/* mark: its number as text; NULL = now. The exit status. */
static int export_trace(struct common *common, const char *mark, const char *output)
{
	_cleanup_(trace_clear) struct trace t = {};
	uint64_t id = 0;
	int r;

	if (!output && !common->for_client)
		return verb_usage_error("export", "--format trace needs --output FILE");
	if (mark && (str_parse_u64(mark, &id) < 0 || !id))
		return verb_usage_error("export",
					"--mark expects a mark's number; 'whyslow list' shows them");
	r = find_trace(common, (int64_t)id, &t);
	if (r == -ENOENT)
		log_error("no recorder with a flight recorder is running: start one ('whyslow record', as root)");
	if (r == 0 && client_give_up_rights(common, 0))
		return EXIT_CANNOT;
	return r < 0 ? EXIT_CANNOT : output ? write_to(&t, output) : hand_out(&t);
}

struct folded_options {
	struct trace_request events;
	bool waits;
	const char *who; /* a PID or a thread's number; NULL = all */
	const char *base_mark, *base_since, *base_until; /* --json: compared with this; all NULL = with nothing */
};

/* A window's events and their stacks. */
struct window {
	struct opened_trace events;
	bool recalled;
	struct path_tree tree;
	struct flame flame;
};

static void window_free(struct window *w)
{
	path_tree_free(&w->tree);
	if (w->recalled)
		opened_trace_free(&w->events);
}

/* A process that the other window does not have is nothing there, not an error. */
static int find_threads(const struct timeline *t, const char *who, bool may_lack, uint32_t **ret, size_t *ret_n)
{
	uint64_t number;
	int n;

	if (str_parse_u64(who, &number) < 0 || !number || number > UINT32_MAX)
		return verb_usage_error("export", "invalid --who '%s'; expected the number of a process or thread", who);
	n = timeline_find(t, (uint32_t)number, ret);
	if (n <= 0 && !may_lack)
		return log_failure(EXIT_CANNOT, "no process or thread %s is known at that time", who);
	*ret_n = n > 0 ? (size_t)n : 0;
	return EXIT_ANSWERED;
}

static int fold(const struct common *common, const struct trace_request *what, const struct folded_options *o, bool may_lack, struct window *w)
{
	_cleanup_free_ uint32_t *threads = NULL;
	static const uint32_t nobody;
	size_t n = 0;
	int status = trace_open(common, "export", what, &w->events);

	if (status != EXIT_ANSWERED)
		return status;
	w->recalled = true;
	if (o->who)
		status = find_threads(&w->events.timeline, o->who, may_lack, &threads, &n);
	if (status != EXIT_ANSWERED)
		return status;
	w->flame = (struct flame){&w->events.timeline, {w->events.from, w->events.to, o->waits, o->who ? (n ? threads : &nobody) : NULL, n}, &w->tree};
	if (name_stacks(&w->events.trace) < 0 || waits_fold_stacks(w->flame.t, &w->flame.o, &w->tree) < 0) {
		log_error("out of memory");
		status = EXIT_CANNOT;
	}
	w->flame.o.threads = NULL;
	return status;
}

/* The exit status. */
static int export_folded(const struct common *common, const struct folded_options *o, FILE *out)
{
	struct trace_request other = {.since = o->base_since, .until = o->base_until, .mark = o->base_mark ? o->base_mark : o->events.mark};
	bool compared = o->base_mark || o->base_since || o->base_until;
	_cleanup_(window_free) struct window w = {}, base = {};
	int status;

	if (compared && !common->json)
		return verb_usage_error("export", "--base-mark, --base-since and --base-until need --json");
	status = fold(common, &o->events, o, compared, &w);
	if (status == EXIT_ANSWERED && compared)
		status = fold(common, &other, o, true, &base);
	if (status != EXIT_ANSWERED)
		return status;
	if (!common->json)
		waits_folded_text(&w.tree, out);
	else if (waits_flame_json(&w.flame, &base.flame, out) < 0)
		status = EXIT_CANNOT;
	return status;
}

static const char *arg_format, *arg_since, *arg_until, *arg_output;
static const char *arg_token_file, *arg_ca_file;
static int64_t arg_every;
static struct trace_request arg_events;
static struct folded_options arg_folded;
static bool arg_redact;

static const struct option_row options[] = {
	{OPTION_TEXT, 'f', "format", "FORMAT", &arg_format, FORMATS},
	{OPTION_TEXT, 0, "since", "TIME", &arg_since, "start of the window (default: -10min)"},
	{OPTION_TEXT, 0, "until", "TIME", &arg_until, "end of the window (default: now)"},
	{OPTION_TEXT, 0, "mark", "ID", &arg_events.mark, "trace, perfetto, folded: the saved events of a mark (default: the current ones)"},
	{OPTION_SPAN, 0, "for", "SPAN", &arg_events.span, "perfetto, folded: how long to watch when no recorder runs (default 5s)"},
	{OPTION_FLAG, 0, "waits", NULL, &arg_folded.waits, "folded: where threads waited, not where they ran"},
	{OPTION_TEXT, 0, "who", "PID", &arg_folded.who, "folded: only this process or thread"},
	{OPTION_TEXT, 0, "base-mark", "ID", &arg_folded.base_mark, "folded, with --json: compare with the events of this mark"},
	{OPTION_TEXT, 0, "base-since", "TIME", &arg_folded.base_since, "folded, with --json: compare with the events from here"},
	{OPTION_TEXT, 0, "base-until", "TIME", &arg_folded.base_until, "folded, with --json: end of the events to compare with"},
	{OPTION_FLAG, 0, "redact", NULL, &arg_redact, "html: leave out command lines, file names and user names"},
	{OPTION_TEXT, 'o', "output", "FILE", &arg_output, "where to write (default: standard output); otlp: or the URL of a collector"},
	{OPTION_SPAN, 0, "every", "SPAN", &arg_every, "otlp: send again after this time, until stopped (default: once)"},
	{OPTION_TEXT, 0, "token-file", "FILE", &arg_token_file, "otlp: a file with the token or user:password for the URL"},
	{OPTION_TEXT, 0, "ca-file", "FILE", &arg_ca_file, "otlp: the authority that signed the URL's certificate, or the certificate itself"},
	{},
};

static int export_store(struct common *common)
{
	_cleanup_free_ char *error = NULL;
	struct store *store;
	int r;

	if (!arg_output)
		return verb_usage_error("export", "--format store needs --output FILE");
	store = common_open_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	r = store_export(store, arg_output, false, &error);
	store_close(store);
	if (r < 0)
		return log_failure(EXIT_CANNOT, "%s", error ? error : strerror(-r));
	printf("%s holds the whole recording: read it anywhere with --from %s\n", arg_output, arg_output);
	return EXIT_ANSWERED;
}

/* *ret is standard output or `file`, which the caller owns. */
static int open_output(FILE **file, FILE **ret)
{
	_cleanup_free_ char *error = NULL;

	*ret = stdout;
	if (!arg_output)
		return 0;
	*ret = *file = write_path_stream(arg_output, 'x', &error);
	return *file ? 0 : log_failure(-EIO, "%s", error ? error : strerror(errno));
}

static int close_output(FILE *out)
{
	if (fflush(out) == 0 && !ferror(out))
		return EXIT_ANSWERED;
	return log_failure(EXIT_CANNOT, "cannot write %s: %s", arg_output ? arg_output : "standard output", strerror(errno));
}

static int write_out(const struct dataset *d)
{
	_cleanup_fclose_ FILE *file = NULL;
	FILE *out;

	if (open_output(&file, &out) < 0)
		return EXIT_CANNOT;
	if (strcmp(arg_format, "csv") == 0)
		export_csv(d, out);
	else
		(void)export_jsonl(d, out);
	if (close_output(out) != EXIT_ANSWERED)
		return EXIT_CANNOT;
	return d->ticks.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static int write_perfetto(const struct common *common, FILE *out)
{
	struct opened_trace events;
	int status = trace_open(common, "export", &arg_events, &events);

	if (status != EXIT_ANSWERED)
		return status;
	(void)waits_perfetto(&events.timeline, events.from, events.to, out);
	opened_trace_free(&events);
	return EXIT_ANSWERED;
}

static int export_events(const struct common *common)
{
	_cleanup_fclose_ FILE *file = NULL;
	FILE *out;
	int status;

	arg_events.since = arg_since;
	arg_events.until = arg_until;
	arg_folded.events = arg_events;
	if (open_output(&file, &out) < 0)
		return EXIT_CANNOT;
	status = strcmp(arg_format, "folded") == 0 ? export_folded(common, &arg_folded, out) : write_perfetto(common, out);
	if (status != EXIT_ANSWERED && file)
		(void)unlink(arg_output);
	return status == EXIT_ANSWERED ? close_output(out) : status;
}

static int export_html(struct common *common, const char *id)
{
	_cleanup_fclose_ FILE *file = NULL;
	FILE *out;

	return open_output(&file, &out) < 0 ? EXIT_CANNOT : report_incident(common, id, arg_redact, out);
}

static int export_window(struct common *common, int64_t from, int64_t to)
{
	struct store *store = common_open_store(common, STORE_READ);
	_cleanup_(dataset_free) struct dataset d = {};
	unsigned damaged;
	int r, status;

	if (!store)
		return EXIT_CANNOT;
	r = store_load(store, from, to, &d, &damaged);
	if (r < 0)
		log_error("%s", store_reason(store, r));
	status = r < 0 ? EXIT_CANNOT : write_out(&d);
	if (status == EXIT_NOTHING_FOUND)
		log_warning("nothing is recorded in that time");
	if (r == 0)
		verb_warn_of_damage(store);
	store_close(store);
	return status;
}

static int export_machine(struct common *common, int64_t from, int64_t to)
{
	struct store *store = common_open_store(common, STORE_READ);
	int r;

	if (!store)
		return EXIT_CANNOT;
	r = export_counters(store, from, to, stdout);
	if (r < 0)
		log_error("%s", store_reason(store, r));
	store_close(store);
	return r < 0 || fflush(stdout) != 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

static bool is_url(const char *to)
{
	return to && (strncmp(to, "http://", 7) == 0 || strncmp(to, "https://", 8) == 0);
}

/* The running sums are its own to read: it names programs as this user may see them. */
static int ask_recorder(FILE *out)
{
	char *words[] = {(char *)"export", (char *)"--format", (char *)"prometheus", (char *)"--since", (char *)(arg_since ? arg_since : "-10min"),
			 (char *)"--until", (char *)(arg_until ? arg_until : "now")};
	int r = request_send(SYSTEM_RUN_DIR, ARRAY_SIZE(words), words, fileno(out));

	return r < 0 ? log_failure(EXIT_CANNOT, "no recorder gives its metrics (%s): start one ('whyslow record', as root)", strerror(-r)) : r;
}

static int export_to_collector(struct common *common, int64_t from, int64_t to)
{
	const char *url = is_url(arg_output) ? arg_output : NULL;
	const bool otlp = strcmp(arg_format, "otlp") == 0;
	struct collect_otlp o = {from, to, url, arg_token_file, arg_ca_file, arg_every, NULL};
	_cleanup_fclose_ FILE *file = NULL;
	int status;

	if (!url && open_output(&file, &o.out) < 0)
		return EXIT_CANNOT;
	if (url && verb_give_up_rights(DAEMON_WATCHES))
		return EXIT_CANNOT;
	status = otlp ? collect_otlp(common, &o) : common_asks_recorder(common) ? ask_recorder(o.out) : collect_prometheus(common, from, to, o.out);
	return status == EXIT_ANSWERED && !url ? close_output(o.out) : status;
}

/* Over the recorded time. */
static int export_times(struct common *common, int64_t from, int64_t to)
{
	if (arg_every && (strcmp(arg_format, "otlp") != 0 || !is_url(arg_output)))
		return verb_usage_error("export", "--every needs --format otlp and --output with the URL of a collector");
	if (strcmp(arg_format, "counters") == 0)
		return export_machine(common, from, to);
	if (strcmp(arg_format, "prometheus") == 0 || strcmp(arg_format, "otlp") == 0)
		return export_to_collector(common, from, to);
	return export_window(common, from, to);
}

static int run(struct common *common, int argc, char **argv)
{
	static const char *const timed[] = {"counters", "csv", "jsonl", "prometheus", "otlp", NULL};
	size_t known = 0;
	int64_t now = clock_wall(), from, to;

	if (common->for_client && (argc > 1 || arg_output || !arg_format || (strcmp(arg_format, "trace") != 0 && strcmp(arg_format, "prometheus") != 0)))
		return verb_usage_error("export", "the recorder gives other users only events and metrics; export the rest as root");
	if (arg_format && strcmp(arg_format, "html") == 0)
		return argc == 2 ? export_html(common, argv[1]) :
				   verb_usage_error("export", "--format html expects the number of a mark or an incident");
	if (argc > 1)
		return verb_usage_error("export", "unexpected argument '%s'", argv[1]);
	if (!arg_format)
		return verb_usage_error("export", "expected --format and one of " FORMATS);
	if (strcmp(arg_format, "store") == 0)
		return export_store(common);
	if (strcmp(arg_format, "trace") == 0)
		return export_trace(common, arg_events.mark, arg_output);
	if (strcmp(arg_format, "perfetto") == 0 || strcmp(arg_format, "folded") == 0)
		return export_events(common);
	while (timed[known] && strcmp(timed[known], arg_format) != 0)
		known++;
	if (!timed[known])
		return verb_usage_error("export", "invalid --format '%s'; expected " FORMATS, arg_format);
	if (clock_parse_time(arg_since ? arg_since : "-10min", now, &from) < 0)
		return verb_usage_error("export", "invalid TIME '%s'; expected now, -5min, 14:32 or '2026-11-20 14:32:07'", arg_since);
	if (clock_parse_time(arg_until ? arg_until : "now", now, &to) < 0)
		return verb_usage_error("export", "invalid TIME '%s'; expected now, -5min, 14:32 or '2026-11-20 14:32:07'", arg_until);
	return export_times(common, from, to);
}

const struct verb verb_export = {
	.name = "export",
	.group = "Export",
	.words = "[ID] ",
	.help = "export the recording, or a part of it, for other programs and machines",
	.about = "Writes a part of the recording as a file for other machines and programs, as numbers for Prometheus or an OpenTelemetry "
		 "collector, or as a page that holds everything known about an incident.",
	.examples = (const struct example[]){
		{"whyslow export -o machine.db --since -1h", "the last hour; 'whyslow why --from machine.db' reads it on any machine"},
		{"whyslow export 7 --format html -o incident.html", "incident 7 as one page, to send"},
		{"whyslow export --format perfetto --mark 7 -o trace.pb", "its events, for Perfetto"},
		{"whyslow export --format otlp -o https://collector:4318 --every 15s", "metrics and incidents, every 15 seconds"},
		{}},
	.options = options,
	.for_clients = true,
	.rights = RIGHTS_GIVEN_UP_BY_VERB,
	.run = run,
};
