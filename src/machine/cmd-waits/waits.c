/* whyslow waits [PID]: who waited, for what, and which one caused the wait. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/answer-waits/wait-reasons.h"
#include "machine/blame/blame.h"
#include "machine/blame/path.h"
#include "machine/blame/wait-report.h"
#include "machine/cmd-waits/trace-open.h"
#include "machine/symbol/name-stacks.h"
#include "machine/threads/state.h"
#include "machine/view-waits/wait-pivot.h"
#include "machine/view-waits/waits.h"

static struct trace_request arg_what;
static const char *arg_by;
static uint64_t arg_top;
static bool arg_all, arg_path, arg_matrix, arg_table, arg_csv;

#define TOP	  8
#define TOP_PIVOT 20 /* lines of text; a program gets all groups */

static const struct option_row options[] = {
	TRACE_OPTIONS(arg_what),
	{OPTION_TEXT, 0, "by", "LEVEL", &arg_by,
	 "thread, process (default), program or cgroup; or a table of waits in groups by up to four of thread, process, program, cgroup, wait, reason, "
	 "lock, stack, waker, waker-stack: --by reason,waker; reasons by signatures of call stacks ('whyslow config --signatures')"},
	{OPTION_FLAG, 0, "table", NULL, &arg_table, "waits in groups also by one of thread, process, program, cgroup: count, sum, median, maximum"},
	{OPTION_FLAG, 0, "csv", NULL, &arg_csv, "the table of --by as CSV"},
	{OPTION_FLAG, 0, "path", NULL, &arg_path, "of a PID: the critical path, moment by moment"},
	{OPTION_FLAG, 'a', "all", NULL, &arg_all, "also waits for others' work: pipes, sockets, signals, children"},
	{OPTION_FLAG, 0, "matrix", NULL, &arg_matrix, "with --json: sums by victim, culprit and wait of the --top ones, all others together"},
	{OPTION_COUNT, 'n', "top", "N", &arg_top, "how many to list (default 8; 20 of a table; with --csv or --json of a table all)"},
	{},
};

static int parse_level(const char *text, enum blame_level *ret)
{
	for (int i = 0; i < LEVEL_COUNT; i++)
		if (strcmp(text, blame_level_names[i]) == 0) {
			*ret = (enum blame_level)i;
			return 0;
		}
	return -EINVAL;
}

static struct waits_options view_options(const struct common *common, const struct opened_trace *r)
{
	return (struct waits_options){common->colour, arg_all, (unsigned)(arg_top ? arg_top : TOP), r->asked, false};
}

static int cannot(int r)
{
	if (r == -EBADE)
		log_error("the charges do not add up to the waits: this is a bug, please report it with the exported trace");
	else
		log_error("cannot charge the waits: %s", str_error(r));
	return EXIT_CANNOT;
}

static int answer_all(const struct common *common, const struct opened_trace *r, enum blame_level level)
{
	struct waits_options o = view_options(common, r);
	_cleanup_(blame_matrix_free) struct blame_matrix m = {};
	int status = blame_build(&r->timeline, r->from, r->to, NULL, 0, level, &m);

	if (status < 0)
		return cannot(status);
	if (common->json && arg_matrix)
		return waits_matrix_json(&r->timeline, &m, &o, stdout) < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
	if (common->json)
		blame_sort(&m);
	if (common->json)
		return waits_json(&r->timeline, &m, &o, stdout) < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
	waits_text(&r->timeline, &m, &o, stdout);
	return m.cells.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static int print_of(const struct common *common, const struct opened_trace *r, const struct waits_of *w)
{
	struct waits_options o = view_options(common, r);

	if (common->json)
		return waits_of_json(&r->timeline, w, &o, stdout) < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
	waits_of_text(&r->timeline, w, &o, stdout);
	return w->matrix->cells.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

/* Among several threads, the path of the one that had most to do with it: the leader. */
static int answer_one(const struct common *common, struct opened_trace *r, const uint32_t *threads, size_t n)
{
	_cleanup_(blame_matrix_free) struct blame_matrix matrix = {};
	_cleanup_(path_free) struct critical_path path = {};
	struct wait_report report;
	struct waits_of w = {threads, n, &matrix, &report, NULL, n > 1};
	int status = blame_build(&r->timeline, r->from, r->to, threads, n, LEVEL_THREAD, &matrix);

	if (status == 0 && !common->json) {
		blame_join_victims(&matrix);
		status = blame_sort_by_holder(&matrix);
	} else {
		blame_sort(&matrix);
	}
	wait_report_init(&report, r->from, r->to);
	for (size_t i = 0; i < n; i++)
		wait_report_add(&report, &r->timeline.threads.v[threads[i]]);
	if (status == 0 && arg_path)
		status = name_stacks(&r->trace);
	if (status == 0 && arg_path) {
		status = path_build(&r->timeline, threads[0], r->from, r->to, &path);
		w.path = &path;
	}
	return status < 0 ? cannot(status) : print_of(common, r, &w);
}

static char *reason_of(void *signatures, const char *const *functions, size_t n)
{
	return wait_reason_words(signatures, functions, n);
}

static int print_pivot(const struct common *common, const struct opened_trace *r, const struct wait_pivot *pivot)
{
	struct waits_options o = view_options(common, r);

	if (!arg_top)
		o.top = common->json || arg_csv ? UINT_MAX : TOP_PIVOT;
	if (common->json)
		return wait_pivot_json(&r->timeline, pivot, &o, stdout) < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
	if (arg_csv)
		wait_pivot_csv(pivot, &o, stdout);
	else
		wait_pivot_text(&r->timeline, pivot, &o, stdout);
	return pivot->count ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

/* threads: of these alone; NULL = of all. */
static int answer_pivot(const struct common *common, struct opened_trace *r, const uint32_t *threads, size_t n)
{
	_cleanup_(signatures_free) struct signatures signatures = {};
	_cleanup_(wait_pivot_free) struct wait_pivot pivot = {};
	_cleanup_free_ char *error = NULL;
	const struct pivot_question question = {r->from, r->to, threads, n, arg_all, reason_of, &signatures};
	int result = signatures_load(SYSTEM_SIGNATURES, &signatures, &error);

	if (result < 0)
		return log_failure(EXIT_CANNOT, "%s", error ? error : str_error(result));
	(void)wait_pivot_parse(arg_by, pivot.chosen, &pivot.n_chosen);
	if (wait_pivot_needs_stacks(pivot.chosen, pivot.n_chosen))
		result = name_stacks(&r->trace);
	if (result == 0)
		result = wait_pivot_make(&r->timeline, &question, &pivot);
	return result < 0 ? cannot(result) : print_pivot(common, r, &pivot);
}

static int answer_pid(const struct common *common, struct opened_trace *r, uint32_t pid, bool pivot)
{
	_cleanup_free_ uint32_t *threads = NULL;
	int n = timeline_find(&r->timeline, pid, &threads);

	if (n > 0)
		return pivot ? answer_pivot(common, r, threads, (size_t)n) : answer_one(common, r, threads, (size_t)n);
	return log_failure(EXIT_ABSENT, "no process or thread %u is known at that time", pid);
}

static int run(struct common *common, int argc, char **argv)
{
	enum pivot_field chosen[PIVOT_CHOSEN_MAX];
	enum blame_level level = LEVEL_PROCESS;
	struct opened_trace r;
	size_t n_chosen;
	uint32_t pid = 0;
	bool pivot;
	int status = EXIT_ANSWERED;

	if (argc > 2)
		return verb_usage_error("waits", "expected one process or thread, or none: 'whyslow waits 812', 'whyslow waits nginx'");
	if (argc == 2)
		status = verb_find_process(common, argv[1], &pid);
	if (status != EXIT_ANSWERED)
		return status;
	pivot = arg_by && (arg_csv || arg_table || parse_level(arg_by, &level) < 0);
	if (pivot && wait_pivot_parse(arg_by, chosen, &n_chosen) < 0)
		return verb_usage_error("waits", "invalid --by '%s'; expected thread, process, program or cgroup, or up to four of these and of "
						 "wait, reason, lock, stack, waker and waker-stack, separated by commas", arg_by);
	if ((arg_csv || arg_table) && !pivot)
		return verb_usage_error("waits", "--csv and --table require --by");
	if (pivot && (arg_matrix || arg_path || (arg_csv && common->json)))
		return verb_usage_error("waits", "a table of --by does not go with --matrix, --path, or both --csv and --json");
	if (arg_matrix && (pid || !common->json))
		return verb_usage_error("waits", "--matrix covers all threads, and requires --json");
	if (arg_path && !pid)
		return verb_usage_error("waits", "--path requires a PID");
	status = trace_open(common, "waits", &arg_what, &r);
	if (status != EXIT_ANSWERED)
		return status;
	if (pid)
		status = answer_pid(common, &r, pid, pivot);
	else
		status = pivot ? answer_pivot(common, &r, NULL, 0) : answer_all(common, &r, level);
	opened_trace_free(&r);
	return status;
}

const struct verb verb_waits = {
	.name = "waits",
	.group = "Details",
	.words = "[WHO] ",
	.help = "what waited, for what, and which thread caused it",
	.about = "Says who waited for whom, by the events that the flight recorder has kept: without WHO by process, with WHO that program's "
		 "waits, what ended them, and its critical path. With --by it is a table.",
	.examples = (const struct example[]){
		{"whyslow waits", "who makes others wait?"},
		{"whyslow waits postgres", "what did postgres wait for, and who ended it?"},
		{"whyslow waits --by cgroup --table", "the same by control group: containers, pods, units"},
		{"whyslow waits --by program,reason --csv", "a table for a spreadsheet"},
		{}},
	.options = options,
	.run = run,
};
