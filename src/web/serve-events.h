/* What happens, as it happens, for a page that is open: /api/v1/events. */
#pragma once

#include "lib/net/http-server.h"
#include "machine/client/ask.h"

/* Answers with a stream of server-sent events: `board` about once a second, `ended` while nobody records, `mark` at each press. The
 * query's `window` is the board's. */
void serve_events(struct http_exchange *e, const struct asker *asker);
