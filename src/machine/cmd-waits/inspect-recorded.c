#include "machine/cmd-waits/inspect-recorded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "machine/blame/blame.h"
#include "machine/blame/wait-report.h"
#include "machine/threads/state.h"
#include "machine/trace/capture-client.h"
#include "machine/trace/trace-file.h"
#include "machine/trace/trace-folder.h"
#include "machine/view-waits/waits.h"

#define PATIENCE      (3 * NS_PER_SEC) /* what follows a press is kept 5 s after it */
#define LOOK_AGAIN    (200 * NS_PER_MS)
#define SHORT_OF      NS_PER_SEC /* a trace that ends so long before we did is whole enough */
#define THREADS_SHOWN 20
#define THREADS_KEPT  1000 /* in JSON, of those that waited or ran most; a report is saved with its incident, and has a bound */
#define CELLS_KEPT    1000
#define LEAST	      (50 * NS_PER_MS) /* a window below it says nothing */

struct telling {
	const struct timeline *timeline;
	const uint32_t *threads;
	size_t n;
	FILE *text, *json;
	bool any;
};

static void pause_for(int64_t ns)
{
	struct timespec rest = {ns / NS_PER_SEC, ns % NS_PER_SEC};

	nanosleep(&rest, NULL);
}

/* The incident's own trace has what came before it was found, and 5 s of what followed. */
static int read_kept(const struct common *common, int64_t mark, int64_t ended, struct trace *ret)
{
	_cleanup_free_ char *folder = trace_folder(common->config.store_file);
	_cleanup_free_ char *path = folder ? trace_file_of(folder, mark) : NULL;
	int64_t last = clock_boot() + PATIENCE;
	int r = path ? 0 : -ENOMEM;

	while (r == 0) {
		_cleanup_free_ char *error = NULL;

		r = trace_read_file(path, ret, &error);
		if (r < 0 || trace_wall(ret, ret->to) >= ended - SHORT_OF)
			break;
		trace_clear(ret);
		if (clock_boot() >= last)
			r = -ETIMEDOUT;
		else
			pause_for(LOOK_AGAIN);
	}
	return r;
}

static int find(const struct common *common, int64_t mark, int64_t ended, struct trace *ret)
{
	_cleanup_free_ char *error = NULL;

	if (mark && read_kept(common, mark, ended, ret) == 0)
		return 0;
	return capture_now(common->config.store_run_dir, 0, FREEZE_PATIENCE, ret, &error);
}

static int64_t wanted_cpu(const struct wait_report *r)
{
	return wait_report_running(r) + wait_report_contended(r);
}

ORDER(busiest_first, struct wait_report, CMP(wanted_cpu(b), wanted_cpu(a)))

/* Reports and threads in the same order; those that were not there are left out. */
static size_t report_all(const struct telling *t, int64_t from, int64_t to, struct wait_report *reports, uint32_t *threads)
{
	struct entry {
		struct wait_report report;
		uint32_t thread;
	} *entries = calloc(t->n + 1, sizeof(*entries));
	size_t kept = 0;

	for (size_t i = 0; entries && i < t->n; i++) {
		wait_report_init(&entries[kept].report, from, to);
		wait_report_add(&entries[kept].report, &t->timeline->threads.v[t->threads[i]]);
		entries[kept].thread = t->threads[i];
		kept += entries[kept].report.alive > 0;
	}
	if (kept)
		qsort(entries, kept, sizeof(*entries), busiest_first);
	for (size_t i = 0; i < kept; i++) {
		reports[i] = entries[i].report;
		threads[i] = entries[i].thread;
	}
	free(entries);
	return kept;
}

static void tell_waits(struct telling *t, int64_t from, int64_t to)
{
	const struct waits_options o = {.all = true, .brief = true, .top = THREADS_SHOWN};
	_cleanup_(blame_matrix_free) struct blame_matrix process = {};
	int r = blame_build(t->timeline, from, to, t->threads, t->n, LEVEL_PROCESS, &process);

	blame_keep_largest(&process, CELLS_KEPT);
	blame_sort(&process);
	if (r < 0 || waits_json(t->timeline, &process, &o, t->json) < 0) {
		fputs("null", t->json);
		return;
	}
	waits_text(t->timeline, &process, &o, t->text);
}

static void tell_window(struct telling *t, const char *name, const char *title, int64_t from, int64_t to)
{
	const struct waits_options o = {.all = true, .top = THREADS_SHOWN};
	_cleanup_free_ struct wait_report *reports = calloc(t->n + 1, sizeof(*reports));
	_cleanup_free_ uint32_t *threads = calloc(t->n + 1, sizeof(*threads));
	size_t n = reports && threads && to - from >= LEAST ? report_all(t, from, to, reports, threads) : 0;

	fprintf(t->json, "\"%s\": ", name);
	if (!n) {
		fputs("null", t->json);
		return;
	}
	fprintf(t->text, "%s, ", title);
	waits_threads_text(t->timeline, threads, reports, n, &o, t->text);
	fputc('\n', t->text);
	fputs("{\"threads\": ", t->json);
	(void)waits_threads_json(t->timeline, threads, reports, n < THREADS_KEPT ? n : THREADS_KEPT, t->json);
	fputs(", \"waits\": ", t->json);
	tell_waits(t, from, to);
	fputc('\n', t->text);
	fputc('}', t->json);
	t->any = true;
}

static void tell(struct telling *t, const struct trace *trace, int64_t began, int64_t ended)
{
	int64_t first = began - trace->wall_offset, last = ended - trace->wall_offset;
	int64_t start = t->timeline->start, end = t->timeline->end;

	fputc('{', t->json);
	tell_window(t, "before", "Before the inspection", start, first < end ? first : end);
	fputs(", ", t->json);
	tell_window(t, "during", "During the inspection", first > start ? first : start, last < end ? last : end);
	fputc('}', t->json);
}

static void tell_process(const struct trace *trace, int64_t began, int64_t ended, struct inspection *n)
{
	struct timeline timeline = {};
	_cleanup_free_ uint32_t *threads = NULL;
	_cleanup_free_ char *text = NULL, *json = NULL;
	size_t n_text, n_json;
	struct telling t = {.timeline = &timeline};
	int found;

	if (timeline_build(trace, &timeline) < 0)
		return;
	found = timeline_find(&timeline, n->pid, &threads);
	t.threads = threads;
	t.n = found > 0 ? (size_t)found : 0;
	t.text = open_memstream(&text, &n_text);
	t.json = open_memstream(&json, &n_json);
	if (t.n && t.text && t.json)
		tell(&t, trace, began, ended);
	if (t.text)
		fclose(t.text);
	if (t.json)
		fclose(t.json);
	if (t.any) {
		n->recorded = TAKE(text);
		n->recorded_json = TAKE(json);
	}
	timeline_free(&timeline);
}

void inspect_recorded(const struct common *common, int64_t mark, int64_t began, int64_t ended, struct inspection *n)
{
	struct trace trace = {};
	char *remark;

	if (find(common, mark, ended, &trace) == 0)
		tell_process(&trace, began, ended, n);
	trace_clear(&trace);
	if (n->recorded)
		return;
	remark = strdup(geteuid() == 0 ? "no flight recorder runs: what it waited for is known only for the sampled moments "
					 "('whyslow record' keeps every switch)"
				       : "what it waited for is known only for the sampled moments: the flight recorder's events are "
					 "for root only (use sudo)");
	(void)VEC_PUSH_OWNER(n->remarks, remark, remark);
}
