#include "daemon/serve-events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define WINDOW_MAX  32
#define RETRY_AFTER (2 * NS_PER_SEC)

struct live {
	const struct asker *asker;
	char window[WINDOW_MAX];
	struct inquiry board, marks;
	int64_t ended; /* when the board's answer did: the recorder was restarted, or an answer may take only so long */
};

static void put_events(struct inquiry *q, const char *name, struct str *out)
{
	json_t *value;

	while ((value = ask_take(q))) {
		char *line = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(7));

		if (line)
			http_event(out, name, line);
		free(line);
		json_decref(value);
	}
}

static int follow_board(struct live *l)
{
	const char *words[] = {"show", "--json", "--follow", "--window", l->window};

	return ask_begin(l->asker, ARRAY_SIZE(words), words, &l->board);
}

/* Why no further boards come, if it was said: nobody records any more. An answer that took its time just begins anew. */
static void put_reason(const struct inquiry *q, struct str *out)
{
	_cleanup_str_ struct str reason = {};
	json_t *value;
	char *line;

	if (ask_errors(q, &reason) < 0 || !reason.len)
		return;
	value = json_pack("{s:s}", "reason", reason.data);
	line = value ? json_dumps(value, JSON_COMPACT) : NULL;
	if (line)
		http_event(out, "ended", line);
	free(line);
	json_decref(value);
}

static int next_events(void *state, struct str *out)
{
	struct live *l = state;
	int marks = ask_read(&l->marks);

	put_events(&l->marks, "mark", out); /* the press first: its answer is what somebody waits for */
	if (l->board.asked) {
		int more = ask_read(&l->board);

		put_events(&l->board, "board", out);
		if (more <= 0) {
			put_reason(&l->board, out);
			ask_end(&l->board);
			l->ended = boot_now();
		}
	} else if (!l->asker->from_file && boot_now() - l->ended > RETRY_AFTER) {
		l->ended = boot_now();
		(void)follow_board(l);
	}
	return marks > 0 || l->asker->from_file; /* somebody's recording: nothing more will come, and the page need not ask again */
}

static void close_events(void *state)
{
	struct live *l = state;

	ask_end(&l->board);
	ask_end(&l->marks);
	free(l);
}

void serve_events(struct http_exchange *e, const struct asker *asker)
{
	static const char *const marks[] = {"list", "--json", "--follow"};
	const char *window = http_query(e, "window");
	struct live *l = calloc(1, sizeof(*l));
	int r = -ENOMEM;

	if (l) {
		l->asker = asker;
		snprintf(l->window, sizeof(l->window), "%s", window ? window : "1h");
		r = ask_begin(asker, ARRAY_SIZE(marks), marks, &l->marks);
	}
	if (r == 0)
		r = follow_board(l);
	if (r < 0) {
		if (l)
			close_events(l);
		http_fail(e, 503, "cannot ask: %s", strerror(-r));
		e->retry_after = 2;
		return;
	}
	e->type = "text/event-stream";
	e->stream = (struct http_stream){next_events, close_events, l};
}
