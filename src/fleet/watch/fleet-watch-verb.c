#include "fleet/verb/fleet-verb.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "fleet/watch/fleet-watch-news.h"
#include "fleet/watch/fleet-watch.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/view/json.h"

static int64_t arg_every = 10 * NS_PER_SEC, arg_window = 1800 * NS_PER_SEC, arg_look = 60 * NS_PER_SEC;
static uint64_t arg_rounds;
static const char *arg_webhook;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "token-file", "FILE", &fleet_parsed.token_file, "the token for hosts that have none in the list"},
	{OPTION_TEXT, 0, "ca-file", "FILE", &fleet_parsed.ca_file, "the authority that signed their certificates, or the certificate itself"},
	{OPTION_SPAN, 0, "every", "SPAN", &arg_every, "between two rounds (10s)"},
	{OPTION_SPAN, 0, "window", "SPAN", &arg_window, "length of the baseline (30min), without faults that last: these stay on the list for up to twelve times as long"},
	{OPTION_SPAN, 0, "look", "SPAN", &arg_look, "length of the time that is judged, up to now (1min)"},
	{OPTION_COUNT, 0, "rounds", "N", &arg_rounds, "stop after this many rounds (default: never)"},
	{OPTION_COUNT, 0, "top", "N", &fleet_parsed.top, "number of findings to show (10)"},
	{OPTION_TEXT, 0, "webhook", "URL", &arg_webhook,
	 "post there when a server falls silent or behaves unusually, and when that ends"},
	{},
};

struct telling {
	const struct common *common;
	size_t top;
	struct watch_news *news; /* NULL = nothing is told */
};

static void tell(void *data, const struct watch_round *round)
{
	const struct telling *t = data;

	if (t->common->json) {
		json_print(fleet_watch_round_json(round, t->top), JSON_COMPACT | JSON_REAL_PRECISION(9), stdout);
	} else {
		if (t->common->colour)
			fputs("\033[H\033[2J", stdout);
		fleet_watch_round_text(round, t->top, stdout);
	}
	fflush(stdout);
	if (t->news)
		watch_news_round(t->news, round);
}

static int run(struct common *common, int argc, char **argv)
{
	struct fleet_query query = fleet_parsed, *args = &query;
	struct telling t = {common, args->top, NULL};
	struct watch_options o = {args->token_file, args->ca_file, arg_every, arg_window, arg_look, arg_rounds, arg_webhook != NULL};
	_cleanup_(fleet_watch_list_free) struct watch_list list = {};
	_cleanup_free_ char *error = NULL;
	int r;

	if (argc != 2)
		return verb_usage_error("fleet", "watch expects a file of hosts, one per line: https://HOST:9470 or prometheus://HOST:9090");
	if (o.every < NS_PER_SEC / 10 || o.look <= 0 || o.look >= o.window)
		return verb_usage_error("fleet", "watch: --every is at least 0.1s, and --look shorter than --window");
	r = fleet_watch_list_read(argv[1], &list, &error);
	if (r == 0 && arg_webhook)
		r = watch_news_new(arg_webhook, arg_look, &t.news);
	if (r == 0)
		r = fleet_watch_run(&list, &o, tell, &t, &error);
	watch_news_free(t.news);
	if (r < 0) {
		log_error("%s", error ? error : strerror(-r));
		return EXIT_CANNOT;
	}
	return EXIT_ANSWERED;
}

const struct subverb fleet_watch = {
	.name = "watch",
	.words = "HOSTS ",
	.help = "keep the ranking current by asking the machines' recorders or Prometheus",
	.options = options,
	.run = run,
};
