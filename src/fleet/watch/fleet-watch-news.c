#include "fleet/watch/fleet-watch-news.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "machine/recorder/hook.h"

#define CERTAIN	  0.001 /* q: a round every ten seconds is many chances to be wrong */
#define CONFIRMED 2	/* rounds one after the other */
#define POSTS_MAX 32	/* under way; beyond them none is begun */

/* What is reported of a server, or of a line of the list. */
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

int watch_news_new(const char *url, int64_t look, struct watch_news **ret)
{
	struct watch_news *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->url = url;
	n->look = look;
	*ret = n;
	return 0;
}

void watch_news_free(struct watch_news *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->posts.n; i++)
		while (waitpid(n->posts.v[i], NULL, 0) < 0 && errno == EINTR)
			continue;
	for (size_t i = 0; i < n->list.n; i++)
		free(n->list.v[i].name);
	VEC_FREE(n->list);
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
		char span[32], note[64];

		if (!s || s->silent == !h->ok)
			continue;
		s->silent = !h->ok;
		snprintf(note, sizeof(note), "it is back after %s",
			 clock_format_span(h->away, span, sizeof(span)));
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

void watch_news_round(struct watch_news *n, const struct watch_round *round)
{
	reap(n);
	hear_hosts(n, round);
	if (round->alarms)
		hear_alarms(n, round);
	forget_old(n, round->at);
}
