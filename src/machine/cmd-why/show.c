#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/view/json.h"
#include "machine/answer-history/curve.h"
#include "machine/answer-history/process-snapshot.h"
#include "machine/cmd-why/why-query.h"
#include "machine/cmd-why/why.h"
#include "machine/verb/client-rights.h"
#include "machine/verb/verb.h"
#include "machine/view-why/process-snapshot.h"

#define PROCESSES_DEFAULT 20

/* The view asked for: every process, the features of one (who), or one feature of it. */
struct snapshot_view {
	const char *at, *since, *who;
	int64_t window;
	unsigned processes;
};

#define LISTED_DEFAULT (3600 * NS_PER_SEC) /* with everybody's every feature, that is enough to see and quick to read */
#define LISTED_MOST    (12 * 3600 * NS_PER_SEC) /* more would take gigabytes, and change no baseline */
#define RELOAD_AFTER   (600 * NS_PER_SEC)  /* following: what lies before the window is dropped so often */
#define POINTS_DEFAULT 600
#define POINTS_MAX     10000
#define AFTERWARDS     5		   /* a curve continues behind a moment for a fifth of the window */
#define ENDED_AFTER    (30 * NS_PER_SEC) /* without a tick: nothing records any more */
#define SHARE	       20 /* following: at least so many times the CPU time of an answer lies between two */

static const char *arg_feature, *arg_until;
static uint64_t arg_points = POINTS_DEFAULT;
static bool arg_follow, arg_lives;

static void print_json(json_t *root)
{
	json_print(root, JSON_COMPACT | JSON_REAL_PRECISION(7), stdout);
}

static int print_process(struct common *common, const struct process_snapshot *b, const char *who)
{
	const struct suspect *s = process_snapshot_find(b, who);

	if (!s)
		return log_failure(EXIT_ABSENT, "no process '%s' existed at that moment; 'whyslow show --at TIME' lists those that did", who);
	if (common->json)
		print_json(process_snapshot_process_json(b, s));
	else
		process_snapshot_process_text(b, s, common->colour, stdout);
	return EXIT_ANSWERED;
}

static int print_snapshot(struct common *common, const struct process_snapshot *b, const struct snapshot_view *view)
{
	struct snapshot_text_options text = {common->colour, view->processes};

	if (view->who)
		return print_process(common, b, view->who);
	if (common->json)
		print_json(process_snapshot_json(b));
	else
		process_snapshot_text(b, &text, stdout);
	return EXIT_ANSWERED;
}

static int load(struct store *store, const struct why_request *request, const struct snapshot_view *view, struct process_snapshot *b)
{
	int64_t wanted = view->window || why_args.baseline ? request->window : LISTED_DEFAULT, listed = wanted < LISTED_MOST ? wanted : LISTED_MOST;

	return process_snapshot_load(store, request, listed, b);
}

static int explain(struct store *store, int r)
{
	int64_t from, to;

	if (r != -ENODATA)
		log_error("cannot read the recording: %s", why_reason(store, r));
	else if (store_extent(store, &from, &to) < 0 || !to)
		log_error("nothing is recorded yet: is the recorder running? ('make start' or 'whyslow record')");
	else
		log_error("nothing is recorded around that moment: the recording covers %s to %s ('make "
			  "start' or 'whyslow record' continues it)",
			  CLOCK_LOCAL(from),
			  CLOCK_LOCAL(to));
	return EXIT_CANNOT;
}

/* No recorder runs any more: what is shown is the last recorded moment. */
static int explain_end(int64_t last)
{
	return log_failure(EXIT_CANNOT, "no recorder is running: the recording ends at %s ('make start' or 'whyslow record' continues it)",
		  CLOCK_LOCAL(last));
}

static int64_t last_tick(const struct process_snapshot *b)
{
	return b->data.ticks.n ? b->data.ticks.v[b->data.ticks.n - 1].wall : 0;
}

/* ns: what an answer costs; on a machine that crawls it also waits for a CPU, and the view is to stay live. */
static int64_t own_cpu_time(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
	return spent.tv_sec * NS_PER_SEC + spent.tv_nsec;
}

/* One second's ticks are added to what is in memory. Stops when nothing reads any more. */
static int follow(struct common *common, struct store *store, struct why_request *request, const struct snapshot_view *view)
{
	struct pollfd reader = {STDOUT_FILENO, 0, 0};
	struct process_snapshot b = {};
	int64_t loaded = clock_boot(), began, cost, end = 0;
	int r = load(store, request, view, &b), status = EXIT_ANSWERED;
	unsigned fresh = 1;

	while (r == 0) {
		began = own_cpu_time();
		if (fresh) {
			r = process_snapshot_rank(&b, store, request);
			if (r == 0 && !common->json)
				fputs("\033[H\033[2J", stdout);
			status = r == 0 ? print_snapshot(common, &b, view) : status;
			if (fflush(stdout) != 0)
				break;
		}
		cost = own_cpu_time() - began;
		if (poll(&reader, 1, (int)((cost * SHARE > NS_PER_SEC ? cost * SHARE : NS_PER_SEC - cost) / NS_PER_MS)) > 0)
			break;
		request->at = clock_wall();
		request->now = true;
		request->trace = NULL; /* of the moment before */
		if (clock_boot() - loaded > RELOAD_AFTER) {
			process_snapshot_free(&b);
			b = (struct process_snapshot){};
			loaded = clock_boot();
			r = load(store, request, view, &b);
		} else {
			r = process_snapshot_extend(&b, store, request->at, &fresh);
			end = last_tick(&b);
			if (r == 0 && !fresh && request->at - end > ENDED_AFTER)
				r = -ENODATA;
		}
	}
	process_snapshot_free(&b);
	return r == -ENODATA && end ? explain_end(end) : r < 0 ? explain(store, r) : status;
}

static int once(struct common *common, struct store *store, struct why_request *request, const struct snapshot_view *view)
{
	_cleanup_(process_snapshot_free) struct process_snapshot b = {};
	int r = load(store, request, view, &b), status = r < 0 ? explain(store, r) : print_snapshot(common, &b, view);

	if (r == 0)
		verb_warn_of_damage(store);
	if (r == 0 && !view->at && !common->from_file && clock_wall() - last_tick(&b) > ENDED_AFTER)
		log_warning("no recorder is running: this is the last recorded moment");
	return status;
}

static int tell_curve(struct common *common, struct store *store, const struct curve_request *q)
{
	size_t n;
	const struct feature *feature = &features_of(ENTITY_PROCESS, &n)[q->feature];
	struct entity_info who;
	struct curve curve;
	int r = curve_read(store, q, &who, &curve);

	if (r == -ESRCH)
		log_error("no process '%s' existed at that time; 'whyslow show --at TIME' lists those that did", q->who);
	else if (r == -ENODATA)
		log_error("%s was not measured for it at that time ('whyslow doctor' shows what this machine provides)", feature->name);
	else if (r < 0)
		return explain(store, r);
	if (r < 0)
		return r == -ESRCH ? EXIT_ABSENT : EXIT_NOTHING_FOUND;
	if (common->json)
		print_json(process_snapshot_curve_json(&who, feature, &curve));
	else
		process_snapshot_curve_text(&who, feature, &curve, stdout);
	entity_info_free(&who);
	curve_free(&curve);
	return EXIT_ANSWERED;
}

static int read_window(const struct snapshot_view *view, int64_t at, int64_t *from, int64_t *to)
{
	if (view->since && clock_parse_time(view->since, view->at ? at : clock_wall(), from) < 0)
		return verb_usage_error("show", "invalid TIME '%s'; expected now, -5min, 14:32 or '2026-11-20 14:32:07'", view->since);
	if (arg_until && clock_parse_time(arg_until, clock_wall(), to) < 0)
		return verb_usage_error("show", "invalid TIME '%s'; expected now, -5min, 14:32 or '2026-11-20 14:32:07'", arg_until);
	return *from < *to ? EXIT_ANSWERED : verb_usage_error("show", "--since must be before --until");
}

/* A moment of the past has what came after it, too. */
static int64_t end_of_curve(struct store *store, const struct why_request *request, const struct snapshot_view *view)
{
	int64_t from, to;

	if (!view->at || store_extent(store, &from, &to) < 0 || to <= request->at)
		return request->at;
	return to - request->at < request->window / AFTERWARDS ? to : request->at + request->window / AFTERWARDS;
}

static int show_curve(struct common *common, struct store *store, const struct why_request *request, const struct snapshot_view *view)
{
	int feature = feature_index(ENTITY_PROCESS, arg_feature);
	struct curve_request q = {view->who, (size_t)feature, request->at, request->at - request->window, end_of_curve(store, request, view),
				  arg_points, request->viewer};

	if (feature < 0)
		return verb_usage_error("show", "unknown process feature '%s'; 'whyslow features' lists them", arg_feature);
	if (read_window(view, request->at, &q.from, &q.to) != EXIT_ANSWERED)
		return EXIT_USAGE;
	return tell_curve(common, store, &q);
}

static int show_lives(struct common *common, struct store *store, const struct why_request *request, const struct snapshot_view *view)
{
	int64_t from = request->at - request->window, to = request->at;
	int status = read_window(view, request->at, &from, &to), r;
	struct lives lives;

	if (status != EXIT_ANSWERED)
		return status;
	r = process_snapshot_lives(store, &request->viewer, from, to, &lives);
	if (r < 0)
		return explain(store, r);
	if (common->json)
		print_json(process_snapshot_lives_json(&lives, arg_points));
	else
		process_snapshot_lives_text(&lives, arg_points, stdout);
	lives_free(&lives);
	return EXIT_ANSWERED;
}

/* A mark's moment is asked about as `why` asks: with what is known of the mark. */
static int ask_snapshot(struct common *common, struct store *store, struct why_query *asked, const struct snapshot_view *view)
{
	int status = why_query_load_causes(asked);

	if (status != EXIT_ANSWERED)
		return status;
	if (!view->who || !common->json) /* what is reported of one process as JSON has no verdict */
		why_query_find_events(common, asked);
	if (client_give_up_rights(common, 0))
		return EXIT_CANNOT;
	asked->request.live_root = why_query_is_live(common, asked) ? "/proc" : NULL;
	return arg_follow && !common->from_file ? follow(common, store, &asked->request, view) : once(common, store, &asked->request, view);
}

static int process_snapshot_show(struct common *common, const struct snapshot_view *view)
{
	_cleanup_why_query_ struct why_query asked = {.request = {.at = clock_wall(), .now = common->from_file || !view->at, .recorded = !view->window, .viewer = common->viewer}};
	struct why_request *request = &asked.request;
	struct why_data marks = {};
	struct store *store;
	int status, r;

	request->proc_root = view->at || common->from_file ? NULL : "/proc";
	status = why_parse_model("show", common->config.answer_window, request);
	if (status != EXIT_ANSWERED)
		return status;
	if (arg_feature && !view->who)
		return verb_usage_error("show", "--feature needs --for WHO: a pid, unit or name");
	if (arg_points < 1 || arg_points > POINTS_MAX)
		return verb_usage_error("show", "invalid --points; expected 1 to %d", POINTS_MAX);
	r = view->at ? why_query_parse(common, view->at, &asked) : 0;
	if (r < 0)
		return why_query_wrong_time("show", view->at, r);
	store = common_open_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	if (arg_feature || arg_lives) {
		request->window = view->window ? view->window : LISTED_DEFAULT;
		request->recorded = false;
		(void)why_settle(store, request, &marks);
		why_data_free(&marks);
		status = client_give_up_rights(common, 0) ? EXIT_CANNOT : arg_lives ? show_lives(common, store, request, view) : show_curve(common, store, request, view);
	} else {
		status = ask_snapshot(common, store, &asked, view);
	}
	store_close(store);
	return status;
}

static bool arg_captures;

static const struct option_row options[] = {
	WHY_OPTIONS,
	{OPTION_TEXT, 0, "feature", "NAME", &arg_feature, "with --for: one feature over the window, as a curve"},
	{OPTION_TEXT, 0, "until", "TIME", &arg_until, "end of the curve (default: a little after --at); --since is its start"},
	{OPTION_COUNT, 0, "points", "N", &arg_points, "maximum number of points of a curve (default 600)"},
	{OPTION_FLAG, 0, "lives", NULL, &arg_lives, "process lifetimes over the window (--since, --until)"},
	{OPTION_FLAG, 0, "follow", NULL, &arg_follow, "repeat once a second (with --json: one line each)"},
	{OPTION_FLAG, 0, "captures", NULL, &arg_captures, "of an incident: the inspections of its processes"},
	{},
};

static void print_captures(const struct common *common, const struct capture *list, size_t n)
{
	if (common->json)
		fputs("{\"schema\": \"whyslow.captures/1\", \"captures\": [", stdout);
	for (size_t i = 0; i < n; i++)
		printf("%s%s\n", common->json && i ? "," : "", common->json ? list[i].json : list[i].text);
	if (common->json)
		fputs("]}\n", stdout);
	else if (!n)
		puts("no process was inspected during it");
}

static void print_summaries(const struct capture *list, size_t n, const char *id)
{
	if (n)
		fputs("\nLooked into while it lasted:\n", stdout);
	for (size_t i = 0; i < n; i++)
		printf("  %s  %s\n", CLOCK_LOCAL(list[i].wall), list[i].summary);
	if (n)
		printf("  ('whyslow show %s --captures' has all of it)\n", id);
}

/* Other users' processes are root's business: stacks and command lines are in there. */
static int show_captures(struct common *common, int64_t id, const char *text)
{
	struct store *store = client_give_up_rights(common, 0) ? NULL : common_open_store(common, STORE_READ);
	struct capture *list = NULL;
	size_t n = 0;

	if (!store)
		return EXIT_CANNOT;
	(void)store_captures_by_phase(store, id, &list, &n);
	store_close(store);
	if (visibility(&common->viewer, DATUM_CAPTURES, common->viewer.uid) != SHOWN_WHOLE && !common->from_file)
		fputs(n && arg_captures ? "only root may see inspections of processes\n" : "", stderr);
	else if (arg_captures)
		print_captures(common, list, n);
	else if (!common->json)
		print_summaries(list, n, text);
	for (size_t i = 0; i < n; i++)
		capture_free(&list[i]);
	free(list);
	return n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static int show_mark(struct common *common, const char *text)
{
	struct store *store;
	struct mark mark;
	uint64_t id;
	int r;

	if (str_parse_u64(text, &id) < 0)
		return verb_usage_error("show", "invalid mark number '%s' ('whyslow list' shows the marks); pass a moment with --at", text);
	store = common_open_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	r = store_mark_get(store, (int64_t)id, &mark);
	if (r == -ENOENT)
		log_error("there is no mark %s; 'whyslow list' shows them", text);
	else if (r < 0)
		log_error("%s", store_reason(store, r));
	store_close(store);
	if (r < 0)
		return r == -ENOENT ? EXIT_ABSENT : EXIT_CANNOT;
	if (arg_captures) {
		mark_free(&mark);
		return show_captures(common, (int64_t)id, text);
	}
	if (!common->json)
		printf("%s %" PRIu64 ", %s%s%s\n\n", mark_is_of_rule(&mark) ? "Incident" : "Mark", id, CLOCK_LOCAL(mark.wall), mark.note ? ": " : "",
		       mark.note ? mark.note : "");
	r = why_at(common, mark.wall, mark.id);
	mark_free(&mark);
	(void)show_captures(common, (int64_t)id, text);
	return r;
}

static int run(struct common *common, int argc, char **argv)
{
	struct snapshot_view view = {why_args.at, why_args.since, why_args.who, why_args.window, why_args.top ? (unsigned)why_args.top : PROCESSES_DEFAULT};

	if (argc > 2)
		return verb_usage_error("show", "expected one mark's number, or none, not '%s'", argv[2]);
	return argc == 2 ? show_mark(common, argv[1]) : process_snapshot_show(common, &view);
}

const struct verb verb_show = {
	.name = "show",
	.group = "Daily use",
	.words = "[ID] ",
	.help = "show the answer for a mark; without a mark, every process at a moment, most unusual first",
	.about = "With an ID: the answer for that incident, with what was inspected while it lasted. Without one: the processes of a moment, most "
		 "unusual first, with the features that are unusual and what is normal for them.",
	.examples = (const struct example[]){
		{"whyslow show 7", "incident 7 of 'whyslow list'"},
		{"whyslow show --at 14:32", "all processes at 14:32"},
		{"whyslow show --for nginx --feature mem.resident", "one feature of one program over the window, as a curve"},
		{}},
	.options = options,
	.remote = true,
	.rights = RIGHTS_GIVEN_UP_BY_VERB,
	.run = run,
};
