#include "machine/cmd-why/process-snapshot.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/view/json.h"
#include "machine/answer-history/curve.h"
#include "machine/answer-inspect/process-snapshot.h"
#include "machine/cmd-why/why-query.h"
#include "machine/cmd-why/why.h"
#include "machine/verb/client-rights.h"
#include "machine/view-why/process-snapshot.h"

#define LISTED_DEFAULT (3600 * NS_PER_SEC) /* with everybody's every feature, that is enough to see and quick to read */
#define LISTED_MOST    (12 * 3600 * NS_PER_SEC) /* more would take gigabytes, and change no baseline */
#define RELOAD_AFTER   (600 * NS_PER_SEC)  /* following: what lies before the window is dropped so often */
#define POINTS_DEFAULT 600
#define POINTS_MAX     10000
#define AFTERWARDS     5		   /* a curve continues behind a moment for a fifth of the window */
#define ENDED_AFTER    (30 * NS_PER_SEC) /* without a tick: nothing records any more */
#define SHARE	       20 /* following: at least so many times what an answer costs lies between two */

const char *snapshot_arg_feature, *snapshot_arg_until;
uint64_t snapshot_arg_points = POINTS_DEFAULT;
bool snapshot_arg_follow, snapshot_arg_lives;

static void print_json(json_t *root)
{
	json_print(root, JSON_COMPACT | JSON_REAL_PRECISION(7), stdout);
}

static int print_process(struct common *common, const struct process_snapshot *b, const char *who)
{
	const struct suspect *s = process_snapshot_find(b, who);

	if (!s) {
		log_error("no process '%s' existed at that moment; 'whyslow show --at TIME' lists those that did", who);
		return EXIT_NOTHING_FOUND;
	}
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
	int64_t listed = !view->window ? LISTED_DEFAULT : view->window < LISTED_MOST ? view->window : LISTED_MOST;

	return process_snapshot_load(store, request, listed, b);
}

static int explain(struct store *store, int r)
{
	int64_t from, to;
	char first[40], last[40];

	if (r != -ENODATA)
		log_error("cannot read the recording: %s", store_reason(store, r));
	else if (store_extent(store, &from, &to) < 0 || !to)
		log_error("nothing is recorded yet: is the recorder running? ('make start' or 'whyslow record')");
	else
		log_error("nothing is recorded around that moment: the recording covers %s to %s ('make "
			  "start' or 'whyslow record' continues it)",
			  clock_format_local(from, first, sizeof(first)),
			  clock_format_local(to, last, sizeof(last)));
	return EXIT_CANNOT;
}

/* No recorder runs any more: what is shown is the last recorded moment. */
static int explain_end(int64_t last)
{
	char text[40];

	log_error("no recorder is running: the recording ends at %s ('make start' or 'whyslow record' continues it)",
		  clock_format_local(last, text, sizeof(text)));
	return EXIT_CANNOT;
}

static int64_t last_tick(const struct process_snapshot *b)
{
	return b->data.ticks.n ? b->data.ticks.v[b->data.ticks.n - 1].wall : 0;
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
		began = clock_boot();
		if (fresh) {
			r = process_snapshot_rank(&b, store, request);
			if (r == 0 && !common->json)
				fputs("\033[H\033[2J", stdout);
			status = r == 0 ? print_snapshot(common, &b, view) : status;
			if (fflush(stdout) != 0)
				break;
		}
		cost = clock_boot() - began;
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
	struct process_snapshot b = {};
	int r = load(store, request, view, &b), status = r < 0 ? explain(store, r) : print_snapshot(common, &b, view);

	if (r == 0)
		verb_warn_of_damage(store);
	if (r == 0 && !view->at && !common->from_file && clock_wall() - last_tick(&b) > ENDED_AFTER)
		log_warning("no recorder is running: this is the last recorded moment");
	process_snapshot_free(&b);
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
		return EXIT_NOTHING_FOUND;
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
	if (snapshot_arg_until && clock_parse_time(snapshot_arg_until, clock_wall(), to) < 0)
		return verb_usage_error("show", "invalid TIME '%s'; expected now, -5min, 14:32 or '2026-11-20 14:32:07'", snapshot_arg_until);
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
	int feature = feature_index(ENTITY_PROCESS, snapshot_arg_feature);
	struct curve_request q = {view->who, (size_t)feature, request->at, request->at - request->window, end_of_curve(store, request, view),
				  snapshot_arg_points, request->viewer};

	if (feature < 0)
		return verb_usage_error("show", "unknown process feature '%s'; 'whyslow features' lists them", snapshot_arg_feature);
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
		print_json(process_snapshot_lives_json(&lives, snapshot_arg_points));
	else
		process_snapshot_lives_text(&lives, snapshot_arg_points, stdout);
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
	return snapshot_arg_follow && !common->from_file ? follow(common, store, &asked->request, view) : once(common, store, &asked->request, view);
}

int process_snapshot_show(struct common *common, const struct snapshot_view *view)
{
	_cleanup_why_query_ struct why_query asked = {.request = {.at = clock_wall(), .now = common->from_file || !view->at, .recorded = !view->window, .viewer = common->viewer}};
	struct why_request *request = &asked.request;
	struct why_data marks = {};
	struct store *store;
	int status, r;

	request->window = view->window ? view->window : common->config.answer_window;
	request->proc_root = view->at || common->from_file ? NULL : "/proc";
	status = why_parse_model("show", request);
	if (status != EXIT_ANSWERED)
		return status;
	if (snapshot_arg_feature && !view->who)
		return verb_usage_error("show", "--feature needs --for WHO: a pid, unit or name");
	if (snapshot_arg_points < 1 || snapshot_arg_points > POINTS_MAX)
		return verb_usage_error("show", "invalid --points; expected 1 to %d", POINTS_MAX);
	r = view->at ? why_query_parse(common, view->at, &asked) : 0;
	if (r < 0)
		return why_query_wrong_time("show", view->at, r);
	store = common_open_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	if (snapshot_arg_feature || snapshot_arg_lives) {
		request->window = view->window ? view->window : LISTED_DEFAULT;
		request->recorded = false;
		(void)why_settle(store, request, &marks);
		why_data_free(&marks);
		status = client_give_up_rights(common, 0) ? EXIT_CANNOT : snapshot_arg_lives ? show_lives(common, store, request, view) : show_curve(common, store, request, view);
	} else {
		status = ask_snapshot(common, store, &asked, view);
	}
	store_close(store);
	return status;
}
