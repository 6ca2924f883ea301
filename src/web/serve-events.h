/* What happens, as it happens, for pages that are open: /api/v1/events.
 *
 * The recorder answers so many questions of one user at a time, and all pages ask as the user of the server. So pages do not ask for
 * themselves: those of one window share a board, and all share the marks. Of more windows than FEEDS_MOST each is asked about in turn.
 */
#pragma once

#include "lib/net/http-server.h"
#include "machine/client/ask.h"

struct live_feeds;

/* The asker must outlive it. NULL: no memory. */
struct live_feeds *live_feeds_new(const struct asker *asker);
/* When no stream is left. */
void live_feeds_free(struct live_feeds *f);

/* Answers with a stream of server-sent events: `board` about once a second, `ended` while nobody records, `mark` at each press. The
 * query's `window` is the board's. */
void serve_events(struct http_exchange *e, struct live_feeds *feeds);
