/* whyslow history [WHO]: what was unusual, without a press of the button. */
#include <errno.h>
#include <stdio.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "machine/answer-history/history.h"
#include "machine/judge/anomaly.h"
#include "machine/verb/verb.h"
#include "machine/view-why/history.h"

static const char *arg_since, *arg_until;
static uint64_t arg_top = 10, arg_points;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "since", "TIME", &arg_since, "from here (default: -7d)"},
	{OPTION_TEXT, 0, "until", "TIME", &arg_until, "end of the window (default: now)"},
	{OPTION_COUNT, 'n', "top", "N", &arg_top, "how many unusual times to list (default 10, 0 = all)"},
	{OPTION_COUNT, 0, "points", "N", &arg_points, "with --json: also the scores, in at most N parts"},
	{},
};

static int parse_times(int64_t *ret_from, int64_t *ret_to)
{
	const int64_t now = clock_wall();

	if (clock_parse_time(arg_since ? arg_since : "-7d", now, ret_from) < 0)
		return verb_usage_error("history", "invalid TIME '%s'; expected now, -5min, 14:32 or '2026-11-20 14:32:07'", arg_since);
	if (clock_parse_time(arg_until ? arg_until : "now", now, ret_to) < 0)
		return verb_usage_error("history", "invalid TIME '%s'; expected now, -5min, 14:32 or '2026-11-20 14:32:07'", arg_until);
	return *ret_to > *ret_from ? EXIT_ANSWERED
				   : verb_usage_error("history", "--until lies before --since");
}

/* Nothing is read of times before the recording began. */
static int clip_to_recording(struct store *store, int64_t *from, int64_t *to)
{
	int64_t first, last;
	int r = store_extent(store, &first, &last);

	if (r == 0 && first) {
		*from = *from > first ? *from : first;
		*to = *to < last + NS_PER_SEC ? *to : last + NS_PER_SEC;
	}
	return r;
}

static int print(const struct common *common, const struct history *h, const char *who)
{
	const size_t top = arg_top ? arg_top : SIZE_MAX;

	if (common->json)
		return history_json(h, top, arg_points, stdout);
	history_text(h, who, top, ANOMALY_ODD, stdout);
	return 0;
}

static int answer(struct common *common, struct store *store, const char *who, int64_t from, int64_t to)
{
	_cleanup_(history_free) struct history h = {};
	int status, r = clip_to_recording(store, &from, &to);

	r = r ?: (from < to ? history_read(store, from, to, who, &common->viewer, &h) : -ENODATA);
	if (r == -EINVAL)
		log_error("--since and --until lie further apart than %u days", HISTORY_MINUTES_MAX / 1440);
	else if (r == -ENODATA)
		log_error("nothing is recorded in that time");
	else if (r < 0)
		log_error("%s", store_reason(store, r));
	r = r ?: print(common, &h, who);
	status = r < 0 ? EXIT_CANNOT : h.episodes.list.n || h.incidents.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
	verb_warn_of_damage(store);
	return status;
}

static int run(struct common *common, int argc, char **argv)
{
	struct store *store;
	int64_t from, to;
	int status;

	if (argc > 2)
		return verb_usage_error("history", "takes one program at most: '%s'", argv[2]);
	status = parse_times(&from, &to);
	if (status != EXIT_ANSWERED)
		return status;
	store = common_open_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	status = answer(common, store, argc == 2 ? argv[1] : NULL, from, to);
	store_close(store);
	return status;
}

const struct verb verb_history = {
	.name = "history",
	.group = "Daily use",
	.words = "[WHO] ",
	.help = "list the unusual times of the last days, also those without a mark",
	.about = "Looks through the recording for times at which programs did not behave as they normally do, marked or not. "
		 "With WHO: the unusual times of that program.",
	.examples = (const struct example[]){
		{"whyslow history", "the unusual times of the last seven days"},
		{"whyslow history postgres --since -1d", "those of postgres, since yesterday"},
		{"whyslow history -n 0 --json", "all of them, for a program"},
		{}},
	.options = options,
	.remote = true,
	.run = run,
};
