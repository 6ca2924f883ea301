#include "machine/cmd-waits/export-folded.h"

#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/cmd-waits/name-stacks.h"
#include "machine/threads/state.h"
#include "machine/view-waits/waits.h"

/* A window's events and their stacks. */
struct window {
	struct opened_trace events;
	bool recalled;
	struct path_tree tree;
	struct flame flame;
};

static void window_free(struct window *w)
{
	path_tree_free(&w->tree);
	if (w->recalled)
		opened_trace_free(&w->events);
}

/* A process that the other window does not have is nothing there, not an error. */
static int find_threads(const struct timeline *t, const char *who, bool may_lack, uint32_t **ret, size_t *ret_n)
{
	uint64_t number;
	int n;

	if (str_parse_u64(who, &number) < 0 || !number || number > UINT32_MAX)
		return verb_usage_error("export", "invalid --who '%s'; expected the number of a process or thread", who);
	n = timeline_find(t, (uint32_t)number, ret);
	if (n <= 0 && !may_lack) {
		log_error("no process or thread %s is known at that time", who);
		return EXIT_CANNOT;
	}
	*ret_n = n > 0 ? (size_t)n : 0;
	return EXIT_ANSWERED;
}

static int fold(const struct common *common, const struct trace_request *what, const struct folded_options *o, bool may_lack, struct window *w)
{
	_cleanup_free_ uint32_t *threads = NULL;
	static const uint32_t nobody;
	size_t n = 0;
	int status = trace_open(common, "export", what, &w->events);

	if (status != EXIT_ANSWERED)
		return status;
	w->recalled = true;
	if (o->who)
		status = find_threads(&w->events.timeline, o->who, may_lack, &threads, &n);
	if (status != EXIT_ANSWERED)
		return status;
	w->flame = (struct flame){&w->events.timeline, {w->events.from, w->events.to, o->waits, o->who ? (n ? threads : &nobody) : NULL, n}, &w->tree};
	if (name_stacks(&w->events.trace) < 0 || waits_fold_stacks(w->flame.t, &w->flame.o, &w->tree) < 0) {
		log_error("out of memory");
		status = EXIT_CANNOT;
	}
	w->flame.o.threads = NULL;
	return status;
}

int export_folded(const struct common *common, const struct folded_options *o, FILE *out)
{
	struct trace_request other = {o->base_since, o->base_until, o->base_mark ? o->base_mark : o->events.mark, 0};
	bool compared = o->base_mark || o->base_since || o->base_until;
	_cleanup_(window_free) struct window w = {}, base = {};
	int status;

	if (compared && !common->json)
		return verb_usage_error("export", "--base-mark, --base-since and --base-until need --json");
	status = fold(common, &o->events, o, compared, &w);
	if (status == EXIT_ANSWERED && compared)
		status = fold(common, &other, o, true, &base);
	if (status != EXIT_ANSWERED)
		return status;
	if (!common->json)
		waits_folded_text(&w.tree, out);
	else if (waits_flame_json(&w.flame, &base.flame, out) < 0)
		status = EXIT_CANNOT;
	return status;
}
