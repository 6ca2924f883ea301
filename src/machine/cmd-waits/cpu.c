/* whyslow cpu: who has the CPUs, exactly. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "machine/cmd-waits/trace-open.h"
#include "machine/events/cpu-report.h"
#include "machine/recorder/capture.h"
#include "machine/threads/cpu-sums.h"
#include "machine/verb/client-rights.h"
#include "machine/verb/verb.h"
#include "machine/view-waits/cpu.h"

static struct trace_request arg_recall;
static uint64_t arg_top = 20;
static bool arg_threads;

static const struct option_row options[] = {
	{OPTION_SPAN, 0, "for", "SPAN", &arg_recall.span, "how long to watch (default 2s)"},
	{OPTION_TEXT, 0, "mark", "ID", &arg_recall.mark, "the saved events of a mark or incident, instead of now"},
	{OPTION_TEXT, 0, "since", "TIME", &arg_recall.since, "start of the recorded events, instead of now"},
	{OPTION_TEXT, 0, "until", "TIME", &arg_recall.until, "end of the recorded events"},
	{OPTION_FLAG, 't', "threads", NULL, &arg_threads, "threads instead of processes"},
	{OPTION_COUNT, 'n', "top", "N", &arg_top, "how many to list (default 20)"},
	{},
};

static void take_task(const struct ring_task *task, void *data)
{
	struct cpu_reading *reading = data;

	(void)VEC_PUSH(reading->tasks, *task);
}

/* "cpu  402100 1200 93210 8010020 3310 12010 8820 77 0 0", in clock ticks: the eighth is steal. */
static int64_t read_steal(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/stat", "re");
	long long ticks;

	if (!f || fscanf(f, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &ticks) != 1)
		return CPU_STEAL_UNKNOWN;
	return ticks * (NS_PER_SEC / sysconf(_SC_CLK_TCK));
}

static int read_all(struct ring *ring, struct cpu_reading *ret)
{
	const struct ring_cpu *cpus;
	struct timespec ts;
	uint32_t n;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ret->time = (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
	ret->steal = read_steal();
	cpus = ring_cpus(ring, &n);
	for (uint32_t i = 0; i < n; i++)
		if (VEC_PUSH(ret->cpus, cpus[i]) < 0)
			return -ENOMEM;
	return ring_look(ring, take_task, ret);
}

static void rest(int64_t span)
{
	struct timespec ts = {span / NS_PER_SEC, span % NS_PER_SEC};

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		continue;
}

/* Users get sums of whole ticks: readings that overlap would tell when within one a thread ran. */
static void wait_for_tick(const struct common *common)
{
	int64_t now = clock_monotonic();

	if (!viewer_sees_all(&common->viewer))
		rest(VISIBLE_TICK - now % VISIBLE_TICK);
}

static void hide_tasks(const struct common *common, struct cpu_reading *reading)
{
	size_t kept = 0;

	for (size_t i = 0; i < reading->tasks.n; i++)
		if (visibility(&common->viewer, DATUM_COUNTERS, reading->tasks.v[i].who.uid) == SHOWN_WHOLE)
			reading->tasks.v[kept++] = reading->tasks.v[i];
	reading->tasks.n = kept;
}

static int print(const struct common *common, const struct cpu_report *report)
{
	if (common->json)
		return cpu_json(report, arg_threads, arg_top, stdout);
	cpu_text(report, arg_threads, arg_top, stdout);
	return 0;
}

static int look(const struct common *common, struct ring *ring, bool live)
{
	_cleanup_(cpu_reading_free) struct cpu_reading before = {}, after = {};
	_cleanup_(cpu_report_free) struct cpu_report report = {};
	int r;

	wait_for_tick(common);
	r = read_all(ring, &before);
	if (r == 0) {
		rest(arg_recall.span ? arg_recall.span : 2 * NS_PER_SEC);
		wait_for_tick(common);
		r = read_all(ring, &after);
		ring_look_back(ring, before.time, take_task, &after);
	}
	hide_tasks(common, &before);
	hide_tasks(common, &after);
	r = r ?: cpu_report_make(&before, &after, &report);
	report.live = live;
	r = r ?: print(common, &report);
	if (r < 0)
		log_error("cannot read the CPUs' sums: %s", strerror(-r));
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

static bool is_past(const struct common *common)
{
	return common->from_file || arg_recall.mark || arg_recall.since || arg_recall.until;
}

static int look_back(struct common *common)
{
	_cleanup_(cpu_report_free) struct cpu_report report = {};
	struct opened_trace events;
	int r, status = trace_open(common, "cpu", &arg_recall, &events);

	if (status == EXIT_ANSWERED && (status = client_give_up_rights(common, 0)) != EXIT_ANSWERED)
		opened_trace_free(&events);
	if (status != EXIT_ANSWERED)
		return status;
	r = cpu_sums_make(&events.timeline, events.from, events.to, &report);
	opened_trace_free(&events);
	r = r ?: print(common, &report);
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

static int run(struct common *common, int argc, char **argv)
{
	struct ring *ring;
	bool live;
	int status;

	if (argc > 1)
		return verb_usage_error("cpu", "unexpected argument '%s'", argv[1]);
	if (is_past(common))
		return look_back(common);
	if (capture_open_sums(common->config.store_run_dir, &ring, &live) < 0)
		return EXIT_CANNOT;
	status = client_give_up_rights(common, CLIENT_READS_MAPS) ?: look(common, ring, live);
	ring_close(ring);
	return status;
}

const struct verb verb_cpu = {
	.name = "cpu",
	.group = "Details",
	.words = "",
	.help = "exact use of the CPUs: processes, threads, interrupts",
	.about = "Adds up the switches that the flight recorder sees, to the microsecond, so that programs that live for a moment and interrupts "
		 "count as well. Without a recorder it watches by itself.",
	.examples = (const struct example[]){
		{"whyslow cpu", "who uses the CPUs for the next two seconds?"},
		{"whyslow cpu --threads --for 10s", "the threads, for ten seconds"},
		{"whyslow cpu --mark 7", "at incident 7"},
		{}},
	.options = options,
	.remote = true,
	.rights = RIGHTS_GIVEN_UP_BY_VERB,
	.run = run,
};
