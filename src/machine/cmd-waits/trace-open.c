#include "machine/cmd-waits/trace-open.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "lib/system/file-lock.h"
#include "machine/cmd-waits/find-trace.h"
#include "machine/flight/flight.h"
#include "machine/recorder/capture-locks.h"
#include "machine/recorder/capture-symbols.h"
#include "machine/recording/store.h"
#include "machine/symbol/kernel.h"
#include "machine/threads/state.h"

#define WATCH_DEFAULT (5 * NS_PER_SEC)

void opened_trace_free(struct opened_trace *r)
{
	timeline_free(&r->timeline);
	trace_clear(&r->trace);
}

static void watch(int64_t span)
{
	struct timespec rest = {span / NS_PER_SEC, span % NS_PER_SEC};

	/* said to scripts too: what they do from now on is seen */
	fprintf(stderr, "watching every switch for %.3g s ...\n", (double)span / 1e9);
	while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
		continue;
}

/* As a recorder does, while the processes still live. */
static int name_places(struct trace *t)
{
	struct kernel_symbols *kernel = NULL;
	int r;

	capture_locks(t, "/proc", FILE_LOCKS_PATIENCE);
	r = capture_symbols(t, "/proc", &kernel, NULL);
	kernel_symbols_free(kernel);
	if (r < 0)
		trace_clear(t);
	return r;
}

/* Nothing has recorded: a recorder of its own, for as long as asked. */
static int watch_now(int64_t span, struct trace *ret)
{
	struct flight_options options = {.ring = {.stacks = true, .profile = true}};
	const char *why = NULL;
	struct flight *flight;
	int r = flight_open(&options, &flight, &why);

	if (r < 0)
		return log_failure(r, "cannot record events: %s", why ? why : strerror(-r));
	flight_profile(flight, true);
	watch(span);
	r = flight_freeze_since(flight, 0, 0, ret);
	flight_close(flight);
	r = r ?: name_places(ret);
	if (r < 0)
		log_error("cannot read the recorded events: %s", strerror(-r));
	return r;
}

static int label_leaders(const struct dataset *d, struct trace *t)
{
	_cleanup_(hmap_free) struct hmap by_pid = {};

	for (size_t i = 0; i < d->subjects.n; i++)
		if (hmap_put(&by_pid, d->subjects.v[i]->info.pid, 0, d->subjects.v[i]) < 0)
			return -ENOMEM;
	VEC_EACH(thread, t->threads) {
		const struct subject *s = thread->tid == thread->tgid ? hmap_get(&by_pid, thread->tgid, 0) : NULL;

		if (s && !(thread->flags & THREAD_IS_KERNEL))
			thread->label = entity_label(&s->info);
	}
	return 0;
}

/* A trace has no arguments, and so does not know the script of an interpreter: the recording of the same time does, where there is one. */
static void name_programs(const struct common *common, struct trace *t)
{
	const struct store_paths paths = common_paths(common);
	_cleanup_(dataset_free) struct dataset d = {};
	_cleanup_free_ char *error = NULL;
	_cleanup_store_ struct store *store = NULL;
	unsigned damaged;

	if (store_open(&paths, STORE_READ, &store, &error) < 0 || store_run_dir_is_foreign(store))
		return;
	if (store_load_entities(store, trace_wall(t, t->from), trace_wall(t, t->to), store_wants_processes, NULL, &d, &damaged) < 0 || dataset_hide(&d, &common->viewer) < 0)
		return;
	(void)label_leaders(&d, t);
}

int trace_open_time(const struct trace *t, const char *text, int64_t standard, int64_t *ret)
{
	int64_t wall;

	if (!text) {
		*ret = standard;
		return 0;
	}
	if (clock_parse_time(text, trace_wall(t, t->frozen ? t->frozen : t->to), &wall) < 0)
		return -EINVAL;
	*ret = wall - t->wall_offset;
	return 0;
}

int trace_open_window(const struct trace_request *what, const char *verb, struct opened_trace *ret)
{
	const struct timeline *t = &ret->timeline;
	int64_t from, to;

	if (trace_open_time(&ret->trace, what->since, t->start, &from) < 0)
		return verb_usage_error(verb, "invalid TIME '%s'; expected now, -5min, 14:32 or '2026-11-20 14:32:07'", what->since);
	if (trace_open_time(&ret->trace, what->until, t->end, &to) < 0)
		return verb_usage_error(verb, "invalid TIME '%s'; expected now, -5min, 14:32 or '2026-11-20 14:32:07'", what->until);
	ret->asked = what->since ? to - from : 0;
	ret->from = from > t->start ? from : t->start;
	ret->to = to < t->end ? to : t->end;
	if (ret->from < ret->to)
		return EXIT_ANSWERED;
	return log_failure(EXIT_CANNOT, "no events are saved for that time: they reach back %.3g s", (double)(t->end - t->start) / 1e9);
}

int trace_open(const struct common *common, const char *verb, const struct trace_request *what, struct opened_trace *ret)
{
	uint64_t mark = 0;
	int r, status;

	*ret = (struct opened_trace){};
	if (what->mark && (str_parse_u64(what->mark, &mark) < 0 || !mark))
		return verb_usage_error(verb, "--mark expects a mark's number; 'whyslow list' shows them");
	r = find_trace(common, (int64_t)mark, &ret->trace);
	if (r == -ENOENT)
		r = watch_now(what->span ? what->span : WATCH_DEFAULT, &ret->trace);
	if (r < 0)
		return EXIT_CANNOT;
	if (!what->redact)
		name_programs(common, &ret->trace);
	r = timeline_build(&ret->trace, &ret->timeline);
	if (r < 0) {
		log_error(r == -ENODATA ? "nothing was recorded" : "cannot read the events: %s", strerror(-r));
		trace_clear(&ret->trace);
		return EXIT_CANNOT;
	}
	status = trace_open_window(what, verb, ret);
	if (status != EXIT_ANSWERED)
		opened_trace_free(ret);
	return status;
}
