#include "machine/cmd-why/why-query.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/events/trace-redact.h"
#include "machine/trace/capture-client.h"
#include "machine/trace/trace-file.h"
#include "machine/trace/trace-folder.h"

#define EVENTS_MOST	150000 /* of the newest: 0.1 to 0.2 s of CPU, within the budget of a question (service-budget.h) */
#define EVENTS_OF_CALM	400000 /* while CPUs are free: what a program normally waits for is known from half a minute of events */
#define CALM_SPAN	(40 * NS_PER_SEC)
#define CALM		5 /* %, CPU pressure in the last ten seconds */
#define ALL_PATIENCE	20000 /* ms, for every event there is */
#define MARK_PATIENCE	(2 * NS_PER_SEC) /* a full ring is copied and named within one on an idle machine */
#define EVENTS_UNTIL	1000 /* ms into a question on a calm machine: with events the answer takes 0.1 to 0.4 s more, and is due after 1.5 s ... */
#define EVENTS_UNTIL_LOADED 2500 /* ... or 3 s, where programs compete for the CPUs: without events it says nothing of who waits for whom */
#define RING_REACHES (1800 * NS_PER_SEC) /* no ring reaches further back */
#define LIVE (10 * NS_PER_SEC) /* for so long those who hung are taken to hang still */
#define AHEAD (60 * NS_PER_SEC) /* so far the clock of a browser that asks may be ahead: that is still now */
#define SAME_MOMENT (2 * NS_PER_SEC) /* questions so close to a press are about the same */

/* Where a user pressed the button at that time, that is the moment that is meant: all questions about it are answered by the same
 * counters and events. */
static void find_press(const struct common *common, struct why_query *a)
{
	struct store_paths paths = common_paths(common);
	_cleanup_free_ char *error = NULL;
	struct mark *marks = NULL;
	_cleanup_store_ struct store *store = NULL;
	size_t n = 0;

	if (!paths.file || store_open(&paths, STORE_READ, &store, &error) < 0)
		return;
	(void)store_marks(store, a->request.at - SAME_MOMENT, a->request.at + SAME_MOMENT, &marks, &n);
	for (size_t i = 0; i < n; i++)
		if (!mark_is_of_rule(&marks[i])) {
			a->request.at = marks[i].wall;
			a->press = marks[i].id;
		}
	marks_free(marks, n);
}

int why_query_parse(struct common *common, const char *text, struct why_query *a)
{
	struct store *store;
	struct mark mark;
	uint64_t id;
	int r;

	if (str_parse_u64(text, &id) < 0) {
		r = clock_parse_time(text, clock_wall(), &a->request.at);
		if (r == 0 && !common->from_file && a->request.at > clock_wall() + AHEAD) /* another machine has another clock */
			return -ERANGE;
		if (r == 0)
			find_press(common, a);
		return r;
	}
	store = common_open_store(common, STORE_READ);
	if (!store)
		return -EIO;
	r = store_mark_get(store, (int64_t)id, &mark);
	if (r < 0 && r != -ENOENT) {
		log_error("%s", store_reason(store, r));
		r = -EIO;
	}
	store_close(store);
	if (r < 0)
		return r;
	a->request.at = mark.wall;
	a->request.marked = true;
	a->mark = mark.id;
	mark_free(&mark);
	return 0;
}

int why_query_wrong_time(const char *verb, const char *text, int r)
{
	if (r == -EIO)
		return EXIT_CANNOT;
	if (r == -ENOENT)
		return log_failure(EXIT_ABSENT, "there is no mark %s; 'whyslow list' shows them", text);
	if (r == -ERANGE)
		return verb_usage_error(verb, "'%s' lies in the future", text);
	return verb_usage_error(verb, "invalid TIME '%s'; expected now, -5min, 14:32, '2026-11-20 14:32:07' or a mark's id", text);
}

int why_query_parse_since(const char *verb, const char *text, struct why_query *a)
{
	if (!text)
		return EXIT_ANSWERED;
	if (clock_parse_time(text, a->request.at, &a->request.since) < 0)
		return verb_usage_error(verb, "invalid TIME '%s'; expected now, -5min, 14:32 or '2026-11-20 14:32:07'", text);
	if (a->request.since >= a->request.at)
		return verb_usage_error(verb, "--since '%s' does not lie before the moment asked about", text);
	return EXIT_ANSWERED;
}

int why_query_load_causes(struct why_query *a)
{
	_cleanup_free_ char *error = NULL;
	int r = causes_load(SYSTEM_CAUSES, &a->causes, &error);

	a->request.causes = &a->causes;
	if (r < 0)
		log_error("%s%s%s", error ? "" : SYSTEM_CAUSES, error ? "" : ": ", error ? error : strerror(-r));
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

/* "some avg10=0.51 avg60=..." False where the kernel does not say so. */
static bool cpus_are_free(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/pressure/cpu", "re");
	double percent;

	return f && fscanf(f, "some avg10=%lf", &percent) == 1 && percent < CALM;
}

/* Without a flight recorder, or one that takes its time, the answer is from the counters. */
static void find_events_of_now(const struct common *common, struct why_query *a)
{
	_cleanup_free_ char *error = NULL;
	const bool cpus_free = cpus_are_free(), calm = !a->waits && cpus_free, shared = a->request.proc_root && !a->waits;
	const size_t most = a->waits ? 0 : calm ? EVENTS_OF_CALM : EVENTS_MOST;
	const uint64_t since = calm ? (uint64_t)(clock_monotonic() - CALM_SPAN) : 0;
	const int until = cpus_free ? EVENTS_UNTIL : EVENTS_UNTIL_LOADED, patience = a->waits ? ALL_PATIENCE : until;
	int r;

	if (common->from_file || common_asks_recorder(common) || !common_has_own_recorder(common))
		return;
	a->request.patient = a->waits;
	a->request.events_until = a->waits ? 0 : clock_monotonic() + until * NS_PER_MS;
	r = !common->capture	      ? capture_now(common->config.store_run_dir, most, patience, &a->trace, &error) :
	    shared		      ? common->recorder->freeze_now(common->capture, since, most, patience, &a->request.at, &a->trace) :
					common->recorder->freeze(common->capture, since, most, false, patience, &a->trace);
	if (r == 0 && trace_redact(&a->trace, &common->viewer) == 0)
		a->request.trace = &a->trace;
	else if (r != -ETIMEDOUT)
		a->request.events_until = 0; /* there are none to wait for */
}

/* The recorder writes them while who pressed already asks, and has no time for another copy. In its own process a copy is at hand. */
static void wait_for_events_of_mark(const struct common *common, const struct why_query *a, const char *path)
{
	_cleanup_free_ char *socket = NULL;
	const struct timespec pause = {.tv_nsec = 10 * NS_PER_MS};
	int64_t until = clock_monotonic() + MARK_PATIENCE;

	if (common->capture || !why_query_is_live(common, a) || asprintf(&socket, "%s/press", common->config.store_run_dir) < 0 || !folder_path_exists(socket))
		return;
	while (!folder_path_exists(path) && clock_monotonic() < until)
		nanosleep(&pause, NULL);
}

static void find_events_of_mark(const struct common *common, struct why_query *a)
{
	_cleanup_free_ char *folder = trace_folder(common->from_file ? common->from_file : common->config.store_file);
	_cleanup_free_ char *path = folder ? trace_file_of(folder, a->mark ? a->mark : a->press) : NULL, *error = NULL;

	if (path)
		wait_for_events_of_mark(common, a, path);
	if (path && folder_path_exists(path) && trace_read_file(path, &a->trace, &error) == 0 && trace_redact(&a->trace, &common->viewer) == 0)
		a->request.trace = &a->trace;
	if (error)
		log_warning("%s", error);
}

void why_query_find_events(const struct common *common, struct why_query *a)
{
	if (a->mark || a->press)
		find_events_of_mark(common, a);
	/* those of a press are kept some seconds after it */
	if (a->request.proc_root || (!a->request.trace && why_query_is_live(common, a)))
		find_events_of_now(common, a);
}

void why_query_find_past_events(const struct common *common, struct why_query *a)
{
	bool waits = a->waits;

	if (a->request.trace || a->mark || clock_wall() - a->request.at > RING_REACHES)
		return;
	a->waits = true;
	find_events_of_now(common, a);
	a->waits = waits;
	if (!a->request.trace || trace_wall(&a->trace, a->trace.from) <= a->request.at)
		return;
	a->request.trace = NULL;
	trace_clear(&a->trace);
}

bool why_query_is_live(const struct common *common, const struct why_query *a)
{
	int64_t passed = clock_wall() - a->request.at;

	return !common->from_file && passed >= 0 && passed < LIVE;
}

int why_query_answer(const struct common *common, struct store *store, struct why_query *a, struct why_data *data, struct answer *ret)
{
	a->request.live_root = why_query_is_live(common, a) ? "/proc" : NULL;
	return why_from_store(store, &a->request, data, ret);
}

void why_query_free(struct why_query *a)
{
	trace_clear(&a->trace);
	causes_free(&a->causes);
	facts_free(&a->facts);
}
