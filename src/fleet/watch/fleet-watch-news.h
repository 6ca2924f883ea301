/* What 'fleet watch' posts: a server that falls silent or does what it normally does not, and when that is over. Each is one
 * event, as what a machine's own rules post (machine/recorder/hook.h). */
#pragma once

#include "fleet/watch/fleet-watch.h"

struct watch_news;

/* `url` and `look` (ns without an alarm after which it is over) as the options of the verb. 0 or -ENOMEM. */
int watch_news_new(const char *url, int64_t look, struct watch_news **ret);
/* Takes a round that has alarms. Never waits. */
void watch_news_round(struct watch_news *n, const struct watch_round *round);
/* Waits for the posts under way: they try for a minute at most. */
void watch_news_free(struct watch_news *n);
