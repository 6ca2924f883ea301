/* whyslow fleet check | correlate | compare | rank */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fleet/analysis/fleet-rules.h"
#include "fleet/analysis/fleet-views.h"
#include "fleet/formats/pad-xml.h"
#include "fleet/verb/fleet-verb.h"
#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/input/stream.h"

static int tell_checked(struct common *common, const struct fleet_query *args, const struct fleet_question *q,
			const struct fleet_thresholds *rules)
{
	struct fleet_findings found = {};
	const char *missing;
	int r = fleet_check(q->fleet, q->window, rules, args->top ? args->top : SIZE_MAX, &found, &missing), status;

	if (missing)
		log_warning("no server has a counter '%s'", missing);
	if (r < 0 && r != -ENOENT)
		return fleet_analysis_failed("check", r);
	if (common->json) {
		fleet_json_out(fleet_findings_json(q->fleet, &found, 0));
	} else {
		printf("%zu rules, %llu values or groups checked: %zu%s break a rule\n", fleet_thresholds_rules(rules), (unsigned long long)found.looked_at,
		       found.list.n, found.left_out ? " listed and more" : "");
		fleet_findings_text(q->fleet, &found, 0, stdout);
		if (found.left_out)
			printf("  ... and %llu more (--top 0 lists all)\n", (unsigned long long)found.left_out);
	}
	status = r < 0 ? EXIT_CANNOT : found.list.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
	fleet_findings_free(&found);
	return status;
}

static bool is_xml(const char *path)
{
	char begin[4096]; /* blank lines may lie before it */

	stream_head(path, begin, sizeof(begin));
	return pad_xml_is(begin);
}

/* PAD's XML, or the readable grammar. */
static int read_rules(const char *path, struct fleet_thresholds *ret, char **ret_error)
{
	struct rules rules = {};
	int r;

	if (is_xml(path))
		return pad_xml_read(path, ret, ret_error);
	r = rules_read(path, &rules, ret_error);
	if (r == 0)
		r = fleet_thresholds_of(&rules, path, ret, ret_error);
	rules_free(&rules);
	return r;
}

/* --rule TEXT, else the file of that name. */
static int rules_asked_for(const struct fleet_query *args, const char *path, struct fleet_thresholds *ret, char **ret_error)
{
	struct rules rules = {};
	int r;

	if (!args->rule)
		return read_rules(path, ret, ret_error);
	r = rules_parse(args->rule, "rule", &rules, ret_error);
	if (r == 0)
		r = fleet_thresholds_of(&rules, "rule", ret, ret_error);
	rules_free(&rules);
	return r;
}

static int run_check(struct common *common, int argc, char **argv)
{
	struct fleet_query query = fleet_parsed, *args = &query;
	struct fleet_thresholds rules = {};
	_cleanup_free_ char *error = NULL;
	struct fleet_question q;
	struct fleet *f;
	int r, status = EXIT_CANNOT;

	if (argc != (args->rule ? 2 : 3))
		return verb_usage_error("fleet", "check expects DATA and a file of rules: 'when average QUEUE in time view > 5 report', or PAD's XML; or --rule");
	r = rules_asked_for(args, argv[2], &rules, &error);
	if (r < 0) {
		log_error("%s%s%s", error ? "" : argv[2], error ? "" : ": ", error ? error : strerror(-r));
		fleet_thresholds_free(&rules);
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	}
	f = fleet_open(args, argv[1], NULL);
	if (f && fleet_ask(args, f, &q))
		status = tell_checked(common, args, &q, &rules);
	fleet_thresholds_free(&rules);
	if (f)
		fleet_close(f);
	return status;
}

static const struct option_row check_options[] = {
	{OPTION_TEXT, 0, "rule", "TEXT", &fleet_parsed.rule, "these rules, instead of a file's"},
	{OPTION_COUNT, 'n', "top", "N", &fleet_parsed.top, "how many of each rule to list (default 10, 0 = all)"},
	FLEET_WINDOW_OPTIONS,
	FLEET_INPUT_OPTIONS,
	{},
};

static const struct grammar threshold_grammar = {
	"RULES OF CHECK",
	"RULES is a file, or the text of --rule:\n"
	"\n"
	"  [NAME:] when CONDITION [for SPAN] report\n"
	"    SPAN        every value of a server in that time, of 'any COUNTER in detail view'\n"
	"    CONDITION   COMPARISON, with 'and', 'or', 'not' and parentheses between them\n"
	"    COMPARISON  [z-score of] [STATISTIC] COUNTER [in VIEW] OP VALUE\n"
	"    STATISTIC   any, every, average, median, minimum, maximum, quantile 0.95\n"
	"    VIEW        detail view (each value), server view (each server over time), time view (each time over servers)\n"
	"    OP          > >= < <= = !=\n"
	"    VALUE       NUMBER [UNIT], or NUMBER % of STATISTIC\n"
	"\n"
	"  when any Runtime.GC.PercentOfTimeInGC in detail view > 15 report\n"
	"  when average MessageQueue.NumQueuedMsgs in time view > 5 report\n"
	"  when any latency_ms in detail view > 120 % of median report\n"
	"  when any latency_ms in detail view > 48 for 5min report\n"
	"  when z-score of any latency_ms in detail view > 3 report\n"
	"\n"
	"or XML:\n"
	"\n"
	"  <ThresholdConfig>\n"
	"    <PerformanceCounter Name=\"MessageQueue.NumQueuedMsgs\">\n"
	"      <Rule AppliesTo=\"TimeView\">\n"
	"        <Statistic>Average</Statistic>\n"
	"        <ExpectedValue>5</ExpectedValue>\n"
	"        <ComparisonOperator>GreaterThan</ComparisonOperator>\n"
	"      </Rule>\n"
	"    </PerformanceCounter>\n"
	"  </ThresholdConfig>\n"
	"\n"
	"    AppliesTo           DetailView, ServerView, TimeView\n"
	"    Statistic           Any, All, Average, Median, Min, Max, ZScore, or Quantile with Quantile=\"0.95\"\n"
	"    ExpectedPercentage  Of=\"Median\", in place of ExpectedValue: a percentage of a statistic\n"
	"    ComparisonOperator  GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual, Equal, NotEqual\n",
};

const struct subverb fleet_check_verb = {"check", "DATA [RULES] ", "check thresholds: which values break which rule", check_options, .run = run_check, .grammar = &threshold_grammar};

/* --- correlate --- */

/* "COUNTER" or "COUNTER@SERVER". */
static bool take_symptom(struct fleet_query *args, char *text)
{
	char *at = strrchr(text, '@');

	args->counter = text;
	if (at && at[1]) {
		*at = 0;
		args->server = at + 1;
	}
	return *text;
}

static int run_correlate(struct common *common, int argc, char **argv)
{
	struct fleet_query query = fleet_parsed, *args = &query;
	struct fleet_question q;
	struct fleet *f;
	int status = EXIT_CANNOT;

	if (argc != 3 || !take_symptom(args, argv[2]))
		return verb_usage_error("fleet", "correlate expects DATA and a symptom: COUNTER, or COUNTER@SERVER");
	f = fleet_open(args, argv[1], NULL);
	if (!f)
		return EXIT_CANNOT;
	if (fleet_ask(args, f, &q)) {
		_cleanup_free_ char *headline = NULL;

		if (asprintf(&headline, "what moved with %s of %s, |r| >= %s", f->counters.v[q.counter].name, fleet_server_name(f, q.server),
			     args->threshold ? args->threshold : "0.9") < 0)
			headline = NULL;
		status = fleet_tell(common, args, "correlation", &q, headline ? headline : "correlation");
	}
	fleet_close(f);
	return status;
}

static const struct option_row correlate_options[] = {
	{OPTION_TEXT, 0, "threshold", "R", &fleet_parsed.threshold, "the minimum |r| (default 0.9)"},
	{OPTION_FLAG, 0, "spearman", NULL, &fleet_parsed.spearman, "by ranks instead of values"},
	{OPTION_COUNT, 0, "max-lag", "ROWS", &fleet_parsed.max_lag, "by how much a counter may lead or follow (default 0)"},
	{OPTION_COUNT, 'n', "top", "N", &fleet_parsed.top, "how many to list (default 10, 0 = all)"},
	FLEET_WINDOW_OPTIONS,
	FLEET_INPUT_OPTIONS,
	{},
};

const struct subverb fleet_correlate = {"correlate", "DATA SYMPTOM ", "which counters moved with a symptom, on any server", correlate_options,
					      .run = run_correlate};

/* --- compare --- */

static int compare_one(struct common *common, struct fleet_query *args, struct fleet *f)
{
	struct fleet_question q;

	if (!fleet_ask(args, f, &q))
		return EXIT_CANNOT;
	if (args->literal)
		return fleet_tell(common, args, "within", &q, args->by_time ? "time points against the fleet (Equation 1)" : "servers against the fleet (Equation 1)");
	if (!args->from && !args->to)
		return verb_usage_error("fleet", "compare DATA needs a window (--from, --to), a second DATA, or --literal (PAD's Equation 1)");
	return fleet_tell(common, args, "deviation", &q, "the window against the baseline");
}

static const char *analysis_between(const struct fleet_query *args)
{
	return args->all ? "runs" : args->literal ? "between" : "deviation";
}

static int compare_two(struct common *common, struct fleet_query *args, struct fleet *a, struct fleet *b)
{
	static const struct {
		const char *analysis, *headline;
	} headlines[] = {
		{"runs", "the second run against the first: effect with 95 % interval"},
		{"between", "the second against the first (Equation 2)"},
		{"deviation", "the second against the baseline of the first"},
	};
	const char *analysis = analysis_between(args);
	struct fleet_question q;

	if (!fleet_ask(args, b, &q))
		return EXIT_CANNOT;
	q.reference = a;
	for (size_t i = 0; i < ARRAY_SIZE(headlines); i++)
		if (strcmp(headlines[i].analysis, analysis) == 0)
			return fleet_tell(common, args, analysis, &q, headlines[i].headline);
	return EXIT_CANNOT;
}

/* The last of n runs against all before it. */
static int compare_many(struct common *common, struct fleet_query *args, struct fleet *const *runs, size_t n)
{
	_cleanup_free_ char *headline = NULL;
	struct fleet_question q;

	if (args->literal || args->from || args->to || args->usual_from || args->usual_to)
		return verb_usage_error("fleet", "compare takes whole runs, if there are more than two: without --literal, --from, --to and --usual-from, --usual-to");
	if (!fleet_ask(args, runs[n - 1], &q))
		return EXIT_CANNOT;
	q.reference = runs[0];
	q.earlier = (const struct fleet *const *)runs;
	q.n_earlier = n - 1;
	if (asprintf(&headline, "the last run against the %zu before it: effect with the interval of 95 %% of runs", n - 1) < 0)
		return EXIT_CANNOT;
	return fleet_tell(common, args, "runs", &q, headline);
}

static int compare_opened(struct common *common, struct fleet_query *args, struct fleet *const *runs, size_t n)
{
	return n == 1 ? compare_one(common, args, runs[0]) : n == 2 ? compare_two(common, args, runs[0], runs[1]) : compare_many(common, args, runs, n);
}

static int run_compare(struct common *common, int argc, char **argv)
{
	struct fleet_query query = fleet_parsed, *args = &query;
	_cleanup_free_ struct fleet **runs = calloc((size_t)argc, sizeof(*runs));
	int status = EXIT_CANNOT;
	size_t n = 0;

	if (argc < 2)
		return verb_usage_error("fleet", "compare expects DATA with a window, or the reference's DATA (or those of several earlier runs) and the other's");
	if (args->all)
		args->top = args->top == 10 ? 0 : args->top;
	while (runs && n + 1 < (size_t)argc && (runs[n] = fleet_open(args, argv[n + 1], NULL)))
		n++;
	if (n + 1 == (size_t)argc)
		status = compare_opened(common, args, runs, n);
	for (size_t i = 0; i < n; i++)
		fleet_close(runs[i]);
	return status;
}

static const struct option_row compare_options[] = {
	{OPTION_FLAG, 0, "all", NULL, &fleet_parsed.all, "two runs: every counter, better or worse, effect and interval (of more than two always)"},
	{OPTION_FLAG, 0, "literal", NULL, &fleet_parsed.literal, "PAD's Equation 1 (one DATA) or 2 (two)"},
	{OPTION_FLAG, 0, "by-time", NULL, &fleet_parsed.by_time, "Equation 1 of time points instead of servers"},
	{OPTION_TEXT, 0, "statistic", "S", &fleet_parsed.statistic, "of the equations: median (default), average, or a quantile such as 0.95"},
	{OPTION_TEXT, 0, "threshold", "X", &fleet_parsed.threshold, "list only findings with at least this score"},
	{OPTION_TEXT, 0, "server", "NAME", &fleet_parsed.server, "only this server"},
	{OPTION_TEXT, 0, "counter", "NAME", &fleet_parsed.counter, "only this counter"},
	{OPTION_COUNT, 'n', "top", "N", &fleet_parsed.top, "how many to list (default 10, 0 = all)"},
	FLEET_WINDOW_OPTIONS,
	FLEET_USUAL_OPTIONS,
	FLEET_INPUT_OPTIONS,
	{},
};

const struct subverb fleet_compare = {"compare", "DATA [DATA ...] ", "which counters of which servers are unusual, or differ from one or more earlier sets", compare_options,
					    .run = run_compare};

/* --- rank --- */

static int run_rank(struct common *common, int argc, char **argv)
{
	struct fleet_query query = fleet_parsed, *args = &query;
	struct fleet_question q;
	struct fleet *f;
	int status = EXIT_CANNOT;

	if (argc != 2 || (!args->from && !args->to))
		return verb_usage_error("fleet", "rank expects DATA and a window: --from TIME --to TIME");
	f = fleet_open(args, argv[1], NULL);
	if (!f)
		return EXIT_CANNOT;
	if (fleet_ask(args, f, &q))
		status = fleet_tell(common, args, "alarm", &q, "servers by how unusual the window is (with the most unusual counter)");
	fleet_close(f);
	return status;
}

static const struct option_row rank_options[] = {
	{OPTION_COUNT, 'n', "top", "N", &fleet_parsed.top, "how many to list (default 10, 0 = all)"},
	FLEET_WINDOW_OPTIONS,
	FLEET_USUAL_OPTIONS,
	FLEET_INPUT_OPTIONS,
	{},
};

const struct subverb fleet_rank = {"rank", "DATA ", "which servers are conspicuous, at a known rate of false alarms", rank_options, .run = run_rank};
