/* whyslow fleet SUBVERB: which server, which counter, since when. */
#include "fleet/verb/fleet-verb.h"

struct fleet_query fleet_parsed;

static const struct subverb *const list[] = {
	&fleet_load, &fleet_info, &fleet_view, &fleet_check_verb, &fleet_correlate, &fleet_compare, &fleet_rank, &fleet_why, &fleet_history_verb, &fleet_incidents_verb, &fleet_run, &fleet_join, &fleet_watch, NULL,
};

static void reset(void)
{
	fleet_parsed = (struct fleet_query){.top = 10, .max_lag = LAG_NOT_GIVEN};
}

static const struct subverbs subverbs = {
	.verb = "fleet",
	.intro = "DATA is a file that 'whyslow fleet load' wrote, or what a source reads: a folder of CSV files, say.",
	.list = list,
	.reset = reset,
};

int fleet_dispatch(struct common *common, int argc, char **argv)
{
	return subverbs_run(common, &subverbs, argc, argv);
}

static int run(struct common *common, int argc, char **argv)
{
	return fleet_dispatch(common, argc - 1, argv + 1);
}

static const struct option_row no_options[] = {{}};

const struct verb verb_fleet = {
	.name = "fleet",
	.group = "Many machines",
	.words = "SUBVERB DATA ",
	.help = "many servers: which one, which counter, since when; load, view, check, correlate, compare, rank, why, history, incidents, join",
	.examples = (const struct example[]){
		{"whyslow fleet why metrics.csv", "which server is different, by which counter, since when?"},
		{"whyslow fleet why metrics.csv --from '2026-11-20 10:00'", "the same for the time since then"},
		{"whyslow fleet join web-1 web-2", "take machines that run whyslow into the list of hosts, over ssh"},
		{"whyslow fleet watch /etc/whyslow/hosts", "which of them are slow now, and because of what?"},
		{}},
	.options = no_options,
	.takes_command = true,
	.subverbs = &subverbs,
	.run = run,
};
