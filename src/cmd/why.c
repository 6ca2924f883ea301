#include "cmd/why.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/boot.h"
#include "answer/told.h"
#include "answer/why.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/capture.h"
#include "daemon/recorder.h"
#include "model/trace-hide.h"
#include "store/frame.h"
#include "store/trace-file.h"
#include "view/why.h"

#define LOOK_TICKS   6 /* without a recording: five seconds between six samples */
#define FRESH_ENOUGH (10 * NS_PER_SEC)

struct why_args why_args = {.top = 5};

static const struct option_row options[] = {WHY_OPTIONS, {}};

/* A question, and what it needs until it is answered. */
struct asked {
	struct why_request request;
	struct causes causes;
	struct facts facts;
	struct trace trace;
	int64_t mark; /* 0 = none */
};

static void asked_free(struct asked *a)
{
	trace_clear(&a->trace);
	causes_free(&a->causes);
	facts_free(&a->facts);
}

#define _cleanup_asked_ _cleanup_(asked_free)

static int print_facts(const struct facts *facts)
{
	struct str text = {};

	facts_write(facts, &text);
	fputs(text.data ? text.data : "", stdout);
	str_free(&text);
	return EXIT_ANSWERED;
}

static int print(struct common *common, const struct answer *a, const struct facts *facts)
{
	struct why_text_options text = {common->colour, (unsigned)why_args.top, why_args.all ? 64 : 5};

	if (facts)
		return print_facts(facts);
	if (common->json)
		return why_json(a, stdout) < 0 ? EXIT_CANNOT : a->slow ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
	why_text(a, &text, stdout);
	return a->slow ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

static int finish(struct common *common, int r, const struct why_request *request, struct answer *a, struct store *store)
{
	int status;

	if (r == -ENODATA) {
		log_error("nothing is recorded around that moment: was the recorder running? ('whyslow list' shows marks)");
		return EXIT_CANNOT;
	}
	if (r < 0) {
		log_error("cannot answer: %s", store ? store_error(store) : strerror(-r));
		return EXIT_CANNOT;
	}
	status = print(common, a, request->ret_facts);
	answer_free(a);
	return status;
}

/* No recording: look for five seconds, and say that there is no past. */
static int look_now(struct common *common, struct why_request *request)
{
	struct recorder_options look = {.source = {"/proc", "/sys", true, false, 0}};
	_cleanup_free_ char *error = NULL;
	struct recorder *recorder;
	struct dataset d = {};
	struct str frames = {};
	struct answer a;
	size_t used;
	int r = recorder_open(&look, &recorder, &error), status = EXIT_CANNOT;

	if (r < 0) {
		log_error("%s", error ? error : strerror(-r));
		return EXIT_CANNOT;
	}
	fputs("No recording to look into ('whyslow record' keeps one): looking for 5 seconds ...\n", stderr);
	for (int i = 0; r == 0 && i < LOOK_TICKS; i++) {
		if (i)
			poll(NULL, 0, 1000);
		r = recorder_tick(recorder, i == 0, &frames);
	}
	if (r == 0)
		r = frames_read(frames.data, frames.len, INT64_MIN, INT64_MAX, &d, &used);
	if (r == 0) {
		dataset_finish(&d);
		request->at = d.ticks.v[d.ticks.n - 1].wall;
		r = why_answer(&d, request, &a);
		status = finish(common, r, request, &a, NULL);
	} else {
		log_error("cannot sample: %s", strerror(-r));
	}
	recorder_close(recorder);
	dataset_free(&d);
	str_free(&frames);
	return status;
}

/* A start is short: all of it is read. */
static int boot_from_store(struct store *store, const struct why_request *request, struct why_data *data, struct answer *ret)
{
	int r = store_load(store, request->at - request->window, request->at, &data->first, &data->damaged);

	return r < 0 ? r : boot_answer(&data->first, request, ret);
}

/* Those of earlier marks that were like it; and it is kept itself, where this user may write. */
static void compare_with_earlier(struct common *common, struct store *store, int64_t mark, struct answer *a)
{
	struct store_paths paths = {common->config.store_file, common->config.store_run_dir};
	_cleanup_free_ char *error = NULL;
	struct mark *marks;
	struct store *keep;
	size_t n;

	if (store_marks(store, INT64_MIN, a->at, &marks, &n) < 0)
		return;
	(void)told_find_like(store, marks, n, mark, common->viewer, a);
	told_calibrate(store, marks, n, common->viewer, a);
	for (size_t i = 0; i < n; i++)
		mark_free(&marks[i]);
	free(marks);
	if (!mark || common->from_file || why_args.who || why_args.model || why_args.since || store_open(&paths, STORE_MARK, &keep, &error) < 0)
		return;
	(void)told_keep(keep, mark, common->viewer, a);
	store_close(keep);
}

static int answer_from(struct common *common, struct store *store, struct asked *asked)
{
	struct why_request *request = &asked->request;
	struct why_data data = {};
	struct mark *marks = NULL;
	struct answer a;
	int r = store_marks(store, request->at - request->window - 600 * NS_PER_SEC, request->at, &marks, &request->n_marks);
	int status;

	request->marks = marks;
	if (r == 0)
		r = why_args.boot ? boot_from_store(store, request, &data, &a) : why_from_store(store, request, &data, &a);
	if (r == 0 && !why_args.boot)
		compare_with_earlier(common, store, asked->mark, &a);
	status = finish(common, r, request, &a, store);
	if (r == 0 && data.damaged)
		log_warning("%u parts of the recording are damaged and were left out", data.damaged);
	for (size_t i = 0; i < request->n_marks; i++)
		mark_free(&marks[i]);
	free(marks);
	why_data_free(&data);
	return status;
}

static int load_causes(struct asked *a)
{
	_cleanup_free_ char *error = NULL;
	int r = causes_load(SYSTEM_CAUSES, &a->causes, &error);

	a->request.causes = &a->causes;
	a->request.ret_facts = why_args.facts ? &a->facts : NULL;
	if (r < 0)
		log_error("%s%s%s", error ? "" : SYSTEM_CAUSES, error ? "" : ": ", error ? error : strerror(-r));
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

static int prepare(struct common *common, struct asked *asked)
{
	struct why_request *request = &asked->request;

	request->window = why_args.window ? why_args.window : common->config.answer_window;
	request->only = why_args.who;
	request->viewer = common->viewer;
	if (why_args.since && parse_time(why_args.since, wall_now(), &request->since) < 0)
		return usage_error("why", "'%s' is no TIME: now, -5min, 14:32, '2026-11-20 14:32:07'", why_args.since);
	if (why_args.model) {
		request->method = method_find(why_args.model);
		if (!request->method)
			return usage_error("why", "there is no model '%s': blame, robust, gaussian or unusual", why_args.model);
	}
	if (why_args.window_mode) {
		if (strcmp(why_args.window_mode, "block") != 0 && strcmp(why_args.window_mode, "past") != 0)
			return usage_error("why", "--window-mode is past or block, not '%s'", why_args.window_mode);
		request->block = *why_args.window_mode == 'b';
	}
	return load_causes(asked);
}

static bool recording_is_fresh(struct store *store, int64_t now)
{
	int64_t from, to;

	return store_extent(store, &from, &to) == 0 && now - to < FRESH_ENOUGH;
}

static bool read_kept(const struct common *common, int64_t mark, struct trace *ret)
{
	_cleanup_free_ char *folder = trace_folder(common->from_file ? common->from_file : common->config.store_file);
	_cleanup_free_ char *path = folder ? trace_file_of(folder, mark) : NULL, *error = NULL;
	bool found = path && access(path, R_OK) == 0 && trace_read_file(path, ret, &error) == 0;

	if (error)
		log_warning("%s", error);
	return found;
}

bool why_events(const struct common *common, int64_t mark, struct trace *ret)
{
	_cleanup_free_ char *error = NULL; /* there may be no flight recorder: that is no failure here */

	if (mark)
		return read_kept(common, mark, ret);
	if (common->from_file || asks_recorder(common) || capture_now(common->config.store_run_dir, ret, &error) < 0)
		return false;
	if (common->viewer == 0 || trace_hide(ret, common->viewer) == 0)
		return true;
	trace_clear(ret);
	return false;
}

static void find_events(const struct common *common, int64_t mark, struct asked *asked)
{
	bool wanted = !asked->request.method || asked->request.method == &method_blame;

	if (wanted && why_events(common, mark, &asked->trace))
		asked->request.trace = &asked->trace;
}

int why_at(struct common *common, int64_t wall, int64_t mark)
{
	_cleanup_asked_ struct asked asked = {.request = {.at = wall, .marked = mark != 0}, .mark = mark};
	struct store *store;
	int status = prepare(common, &asked);

	if (status)
		return status;
	if (mark)
		find_events(common, mark, &asked);
	store = open_common_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	status = answer_from(common, store, &asked);
	store_close(store);
	return status;
}

static int why_now(struct common *common)
{
	struct store_paths paths = {common->config.store_file, common->config.store_run_dir};
	_cleanup_asked_ struct asked asked = {.request = {.at = wall_now(), .proc_root = "/proc"}};
	_cleanup_free_ char *error = NULL;
	struct store *store;
	int status = prepare(common, &asked);

	if (status)
		return status;
	if (store_open(&paths, STORE_READ, &store, &error) == 0) {
		bool fresh = recording_is_fresh(store, asked.request.at);

		if (fresh) {
			find_events(common, 0, &asked);
			status = answer_from(common, store, &asked);
		}
		store_close(store);
		if (fresh)
			return status;
	}
	return look_now(common, &asked.request);
}

/* TIME, or a mark's id. */
static int resolve_time(struct common *common, const char *text, int64_t *ret, int64_t *ret_mark)
{
	struct store *store;
	struct mark mark;
	uint64_t id;
	int r;

	*ret_mark = 0;
	if (parse_u64(text, &id) < 0)
		return parse_time(text, wall_now(), ret);
	store = open_common_store(common, STORE_READ);
	if (!store)
		return -EIO;
	r = store_mark_get(store, (int64_t)id, &mark);
	store_close(store);
	if (r < 0)
		return r;
	*ret = mark.wall;
	*ret_mark = mark.id;
	mark_free(&mark);
	return 0;
}

/* From the machine's start to now, or to ten minutes after it. */
static int why_boot(struct common *common)
{
	int64_t now = wall_now(), start = now - boot_now();
	_cleanup_asked_ struct asked asked = {.request = {.at = now < start + BOOT_LONGEST ? now : start + BOOT_LONGEST}};
	struct store *store;
	int status = prepare(common, &asked);

	if (status)
		return status;
	asked.request.since = start;
	store = open_common_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	asked.request.window = BOOT_LONGEST;
	status = answer_from(common, store, &asked);
	store_close(store);
	return status;
}

static int run(struct common *common, int argc, char **argv)
{
	int64_t at, mark;
	int r;

	if (argc > 1)
		return usage_error("why", "takes no words: '%s' (a moment is given with --at)", argv[1]);
	if (why_args.boot)
		return why_boot(common);
	if (!why_args.at && !common->from_file)
		return why_now(common);
	if (!why_args.at)
		return usage_error("why", "--from needs --at TIME: a recording has no 'now'");
	r = resolve_time(common, why_args.at, &at, &mark);
	if (r == -EIO)
		return EXIT_CANNOT;
	if (r == -ENOENT)
		return usage_error("why", "there is no mark %s; 'whyslow list' shows them", why_args.at);
	if (r < 0)
		return usage_error("why", "'%s' is no TIME: now, -5min, 14:32, '2026-11-20 14:32:07' or a mark's id", why_args.at);
	return why_at(common, at, mark);
}

const struct verb verb_why = {
	.name = "why",
	.group = "Every day",
	.words = "",
	.help = "why is (or was) it slow: who, which resource, how unusual",
	.options = options,
	.remote = true,
	.run = run,
};
