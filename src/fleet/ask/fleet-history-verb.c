/* whyslow fleet history DATA: what was unusual, without a question. */
#include <math.h>
#include <stdio.h>

#include "fleet/ask/fleet-history.h"
#include "fleet/verb/fleet-verb.h"
#include "fleet/verb/fleet-view.h"
#include "lib/data/clock.h"

static uint64_t arg_per_week;

/* How many to list, also by --per-week; one at least. */
static size_t count_listed(const struct fleet_query *args, const struct fleet_history *h)
{
	const double weeks = (double)(h->span.to - h->span.from) / (7.0 * 86400 * NS_PER_SEC);
	const size_t top = args->top ? (size_t)args->top : SIZE_MAX, most = (size_t)fmax(1, round(weeks * (double)arg_per_week));

	return arg_per_week && most < top ? most : top;
}

static int answer(const struct common *common, const struct fleet_query *args, const struct fleet_question *q)
{
	struct fleet_history h = {};
	size_t top;
	int status, r = fleet_history_make(q, &h);

	if (r < 0)
		return fleet_analysis_failed("history", r);
	top = count_listed(args, &h);
	if (common->json)
		fleet_json_out(fleet_history_json(q->fleet, &h, top));
	else
		fleet_history_text(q->fleet, &h, top, stdout);
	status = h.list.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
	fleet_history_free(&h);
	return status;
}

static int run(struct common *common, int argc, char **argv)
{
	struct fleet_query query = fleet_parsed, *args = &query;
	struct fleet_question q;
	struct fleet *f;
	int status = EXIT_CANNOT;

	if (argc != 2)
		return verb_usage_error("fleet", "history takes DATA");
	f = fleet_open(args, argv[1], NULL);
	if (!f)
		return EXIT_CANNOT;
	if (fleet_ask(args, f, &q))
		status = answer(common, args, &q);
	fleet_close(f);
	return status;
}

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "server", "NAME", &fleet_parsed.server, "only this server"},
	{OPTION_TEXT, 0, "counter", "NAME", &fleet_parsed.counter, "only this counter"},
	FLEET_WINDOW_OPTIONS,
	{OPTION_COUNT, 'n', "top", "N", &fleet_parsed.top, "how many unusual times to list (default 10, 0 = all)"},
	{OPTION_COUNT, 0, "per-week", "N", &arg_per_week, "list at most so many for each week of the data, one at least"},
	FLEET_INPUT_OPTIONS,
	{},
};

const struct subverb fleet_history_verb = {"history", "DATA ", "what was unusual in all of the data, without a question", options, .run = run};
