#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fleet/verb/fleet-verb.h"
#include "fleet/watch/fleet-watch.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/view/json.h"
#include "machine/recorder/hook.h"

struct watch_news;

#define CERTAIN	  0.001 /* q: a round every ten seconds is many chances to be wrong */
#define CONFIRMED 2	/* rounds one after the other */
#define POSTS_MAX 32	/* under way; beyond them none is begun */

/* A server, or a line of the list, with its reports. */
struct standing {
	char *name;
	bool silent, unusual;
	unsigned alarms; /* rounds in a row */
	int64_t last;	 /* wall ns of the last of them */
};

struct watch_news {
	const char *url;
	int64_t look;
	VEC(struct standing) list;
	VEC(pid_t) posts;
};

/* `url` and `look` (ns without an alarm after which it is over) as the options of the verb. 0 or -ENOMEM. */
static int watch_news_new(const char *url, int64_t look, struct watch_news **ret)
{
	struct watch_news *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->url = url;
	n->look = look;
	*ret = n;
	return 0;
}

/* Waits for the posts under way: they try for a minute at most. */
static void watch_news_free(struct watch_news *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->posts.n; i++)
		while (waitpid(n->posts.v[i], NULL, 0) < 0 && errno == EINTR)
			continue;
	VEC_FREE_EACH(n->list, free(each->name));
	VEC_FREE(n->posts);
	free(n);
}

static struct standing *find(struct watch_news *n, const char *name)
{
	char *copy;

	for (size_t i = 0; i < n->list.n; i++)
		if (strcmp(n->list.v[i].name, name) == 0)
			return &n->list.v[i];
	copy = strdup(name);
	if (copy && VEC_PUSH(n->list, (struct standing){.name = copy}) == 0)
		return &n->list.v[n->list.n - 1];
	free(copy);
	return NULL;
}

static void reap(struct watch_news *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->posts.n; i++)
		if (waitpid(n->posts.v[i], NULL, WNOHANG) == 0)
			n->posts.v[kept++] = n->posts.v[i];
	n->posts.n = kept;
}

static void post(struct watch_news *n, const char *rule, const struct standing *s, const char *note, bool over, int64_t at)
{
	const struct hook_event event = {.rule = rule, .note = note, .host = s->name, .over = over, .wall = at};
	pid_t child;
	int r = n->posts.n < POSTS_MAX ? hook_post(n->url, &event, &child) : -EAGAIN;

	if (r < 0 || VEC_PUSH(n->posts, child) < 0)
		log_warning("cannot post the news about %s: %s", s->name, strerror(r < 0 ? -r : ENOMEM));
}

static void hear_hosts(struct watch_news *n, const struct watch_round *round)
{
	for (size_t i = 0; i < round->list->hosts.n; i++) {
		const struct watch_host *h = &round->list->hosts.v[i];
		struct standing *s = find(n, h->name ? h->name : h->url);
		char note[64];

		if (!s || s->silent == !h->ok)
			continue;
		s->silent = !h->ok;
		snprintf(note, sizeof(note), "it is back after %s",
			 CLOCK_SPAN(h->away));
		post(n, "silent", s, h->ok ? note : h->words ? h->words : "it does not answer", h->ok, round->at);
	}
}

static void hear_alarms(struct watch_news *n, const struct watch_round *round)
{
	for (size_t i = 0; i < round->alarms->list.n; i++) {
		const struct fleet_finding *f = &round->alarms->list.v[i];
		struct standing *s = f->q <= CERTAIN ? find(n, round->fleet->servers.v[f->server].name) : NULL;
		char note[300];

		if (!s)
			continue;
		s->alarms++;
		s->last = round->at;
		if (s->unusual || s->alarms < CONFIRMED)
			continue;
		s->unusual = true;
		snprintf(note, sizeof(note), "it behaves unusually, most of all %s: %.4g, normally %.4g",
			 round->fleet->counters.v[f->counter].name, f->observed, f->usual);
		post(n, "unusual", s, note, false, round->at);
	}
}

static void forget_old(struct watch_news *n, int64_t at)
{
	for (size_t i = 0; i < n->list.n; i++) {
		struct standing *s = &n->list.v[i];

		if (s->last != at)
			s->alarms = 0;
		if (!s->unusual || at - s->last <= n->look)
			continue;
		s->unusual = false;
		post(n, "unusual", s, "it behaves normally", true, at);
	}
}

/* Takes a round that has alarms. Never waits. */
static void watch_news_round(struct watch_news *n, const struct watch_round *round)
{
	reap(n);
	hear_hosts(n, round);
	if (round->alarms)
		hear_alarms(n, round);
	forget_old(n, round->at);
}

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
	struct watch_news *news; /* NULL = nothing is posted */
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
		return verb_usage_error("fleet", "watch expects a file of hosts, one per line: https://HOST:7170 or prometheus://HOST:9090");
	if (o.every < NS_PER_SEC / 10 || o.look <= 0 || o.look >= o.window)
		return verb_usage_error("fleet", "watch: --every is at least 0.1s, and --look shorter than --window");
	if (verb_give_up_rights(DAEMON_WATCHES))
		return EXIT_CANNOT;
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
