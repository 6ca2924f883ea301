#include "cmd/fleet/fleet.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "base/data/log.h"
#include "cmd/fleet/fleet-watch-news.h"
#include "daemon/fleet/fleet-watch.h"
#include "view/why/json.h"

static int64_t arg_every = 10 * NS_PER_SEC, arg_window = 1800 * NS_PER_SEC, arg_look = 60 * NS_PER_SEC;
static uint64_t arg_rounds;
static const char *arg_webhook;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "token-file", "FILE", &fleet_args.token_file, "the token for hosts that have none in the list"},
	{OPTION_TEXT, 0, "ca-file", "FILE", &fleet_args.ca_file, "the authority that signed their certificates, or the certificate itself"},
	{OPTION_SPAN, 0, "every", "SPAN", &arg_every, "between two rounds (10s)"},
	{OPTION_SPAN, 0, "window", "SPAN", &arg_window, "length of the baseline (30min)"},
	{OPTION_SPAN, 0, "look", "SPAN", &arg_look, "length of the time that is judged, up to now (1min)"},
	{OPTION_COUNT, 0, "rounds", "N", &arg_rounds, "stop after this many rounds (default: never)"},
	{OPTION_COUNT, 0, "top", "N", &fleet_args.top, "number of findings to show (10)"},
	{OPTION_TEXT, 0, "webhook", "URL", &arg_webhook,
	 "post there when a server falls silent or behaves unusually, and when that ends"},
	{},
};

struct telling {
	const struct common *common;
	size_t top;
	struct watch_news *news; /* NULL = nothing is told */
};

static const char *name_of(const struct watch_host *h)
{
	return h->name ? h->name : h->url;
}

static void tell_hosts(const struct watch_round *round, const char *at)
{
	size_t ok = 0;

	for (size_t i = 0; i < round->list->hosts.n; i++)
		ok += round->list->hosts.v[i].ok;
	printf("%s   %zu of %zu hosts answer\n", at, ok, round->list->hosts.n);
	for (size_t i = 0; i < round->list->hosts.n; i++) {
		const struct watch_host *h = &round->list->hosts.v[i];
		char span[32], since[40];

		if (!h->ok)
			printf("  ! %s: %s (since %s)\n", name_of(h), h->words ? h->words : "out of memory",
			       format_local(h->since, since, sizeof(since)));
		else if (h->away)
			printf("  %s is back after %s; what it recorded in between has arrived\n", name_of(h), format_span(h->away, span, sizeof(span)));
	}
}

static void tell_text(const struct watch_round *round, const struct telling *t)
{
	char at[40];

	if (t->common->colour)
		fputs("\033[H\033[2J", stdout);
	tell_hosts(round, format_local(round->at, at, sizeof(at)));
	if (!round->fleet)
		puts("  no data yet");
	else if (!round->findings)
		puts("  too little data for a baseline");
	else
		fleet_findings_text(round->fleet, round->findings, t->top, stdout);
}

static json_t *hosts_json(const struct watch_list *list)
{
	json_t *hosts = json_array();

	for (size_t i = 0; i < list->hosts.n; i++) {
		const struct watch_host *h = &list->hosts.v[i];
		char since[40];

		json_array_append_new(hosts, json_pack("{s:s, s:s, s:b, s:s?, s:s}", "name", name_of(h), "url", h->url, "ok", (int)h->ok,
						       "problem", h->words, "since", format_rfc3339(h->since, since, sizeof(since))));
	}
	return hosts;
}

static void tell_json(const struct watch_round *round, const struct telling *t)
{
	json_t *found = round->findings ? fleet_findings_json(round->fleet, round->findings, t->top) : NULL;
	json_t *list = found ? json_incref(json_object_get(found, "findings")) : json_array();
	char at[40];
	json_t *root = json_pack("{s:s, s:s, s:o, s:o}", "schema", "whyslow.fleet.watch/1", "time",
				 format_rfc3339(round->at, at, sizeof(at)), "hosts", hosts_json(round->list), "findings", list);

	json_print(root, JSON_COMPACT | JSON_REAL_PRECISION(9), stdout);
	json_decref(found);
}

static void tell(void *data, const struct watch_round *round)
{
	const struct telling *t = data;

	if (t->common->json)
		tell_json(round, t);
	else
		tell_text(round, t);
	fflush(stdout);
	if (t->news)
		watch_news_round(t->news, round);
}

static int run(struct common *common, int argc, char **argv)
{
	struct fleet_args *args = &fleet_args;
	struct telling t = {common, args->top, NULL};
	struct watch_options o = {args->token_file, args->ca_file, arg_every, arg_window, arg_look, arg_rounds, arg_webhook != NULL};
	_cleanup_(watch_list_free) struct watch_list list = {};
	_cleanup_free_ char *error = NULL;
	int r;

	if (argc != 2)
		return usage_error("fleet", "watch expects a file of hosts, one per line: https://HOST:9470 or prometheus://HOST:9090");
	if (o.every < NS_PER_SEC / 10 || o.look <= 0 || o.look >= o.window)
		return usage_error("fleet", "watch: --every is at least 0.1s, and --look shorter than --window");
	r = watch_list_read(argv[1], &list, &error);
	if (r == 0 && arg_webhook)
		r = watch_news_new(arg_webhook, arg_look, &t.news);
	if (r == 0)
		r = watch_run(&list, &o, tell, &t, &error);
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
