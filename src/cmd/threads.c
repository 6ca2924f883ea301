/* whyslow threads [PID]: how threads spent their time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/recall.h"
#include "timeline/state.h"
#include "timeline/wait-report.h"
#include "view/waits.h"

static struct recall arg_what;
static uint64_t arg_top = 30;

static const struct option_row options[] = {
	RECALL_OPTIONS(arg_what),
	{OPTION_COUNT, 'n', "top", "N", &arg_top, "how many to list (default 30)"},
	{},
};

struct entry {
	uint32_t thread;
	int64_t busy;
};

static int busiest_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->busy != y->busy)
		return x->busy > y->busy ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Those that did something, or wanted to, first. */
static int sort_threads(const struct recalled *r, uint32_t *threads, size_t n)
{
	_cleanup_free_ struct entry *entries = calloc(n + 1, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct wait_report report;

		report_init(&report, r->from, r->to);
		report_add(&report, &r->timeline.threads.v[threads[i]]);
		entries[i] = (struct entry){threads[i], report_running(&report) + report_contended(&report)};
	}
	qsort(entries, n, sizeof(*entries), busiest_first);
	for (size_t i = 0; i < n; i++)
		threads[i] = entries[i].thread;
	return 0;
}

static int print(const struct common *common, const struct recalled *r, uint32_t *threads, size_t n)
{
	struct waits_options o = {common->colour, true, (unsigned)arg_top, r->asked, false};
	_cleanup_free_ struct wait_report *reports = calloc(n + 1, sizeof(*reports));

	if (!reports || sort_threads(r, threads, n) < 0)
		return EXIT_CANNOT;
	for (size_t i = 0; i < n; i++) {
		report_init(&reports[i], r->from, r->to);
		report_add(&reports[i], &r->timeline.threads.v[threads[i]]);
	}
	if (common->json)
		return threads_json(&r->timeline, threads, reports, n, stdout) < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
	threads_text(&r->timeline, threads, reports, n, &o, stdout);
	return EXIT_ANSWERED;
}

/* Everybody: all that were there in the window. */
static int all_threads(const struct recalled *r, uint32_t **ret)
{
	uint32_t *all = calloc(r->timeline.threads.n + 1, sizeof(*all));
	int n = 0;

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->timeline.threads.n; i++) {
		const struct thread_line *line = &r->timeline.threads.v[i];
		size_t first = interval_find(line, r->from);

		if (line->tid && first < line->intervals.n && line->intervals.v[first].start < r->to)
			all[n++] = i;
	}
	*ret = all;
	return n;
}

static int run(struct common *common, int argc, char **argv)
{
	_cleanup_free_ uint32_t *threads = NULL;
	struct recalled r;
	uint64_t pid = 0;
	int n, status;

	if (argc > 2 || (argc == 2 && (parse_u64(argv[1], &pid) < 0 || !pid || pid > UINT32_MAX)))
		return usage_error("threads", "takes one PID (a process's or a thread's), or none: 'whyslow threads 812'");
	status = recall(common, "threads", &arg_what, &r);
	if (status != EXIT_ANSWERED)
		return status;
	n = pid ? timeline_find(&r.timeline, (uint32_t)pid, &threads) : all_threads(&r, &threads);
	if (n == 0)
		log_error("no process or thread %u is known of that time", (unsigned)pid);
	status = n <= 0 ? EXIT_CANNOT : print(common, &r, threads, (size_t)n);
	recalled_free(&r);
	return status;
}

const struct verb verb_threads = {
	.name = "threads",
	.group = "Look closer",
	.words = "[PID] ",
	.help = "how each thread spent its time: running, and each kind of waiting",
	.options = options,
	.run = run,
};
