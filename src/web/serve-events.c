#include "web/serve-events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"

#define WINDOW_MAX  32
#define RETRY_AFTER (2 * NS_PER_SEC)

/* A verb that goes on for ever (--follow), and is asked again where it ended: the recorder was restarted, nothing is recorded yet, or an
 * answer may take only so long. */
struct following {
	struct inquiry inquiry;
	int64_t ended; /* boot ns */
};

struct live {
	const struct asker *asker;
	char window[WINDOW_MAX];
	struct following board, marks;
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

static int follow_snapshot(struct live *l)
{
	const char *words[] = {"show", "--json", "--follow", "--window", l->window};

	return ask_begin(l->asker, l->window[0] ? 5 : 3, words, &l->board.inquiry);
}

static int follow_marks(struct live *l)
{
	static const char *const words[] = {"list", "--json", "--follow"};

	return ask_begin(l->asker, ARRAY_SIZE(words), words, &l->marks.inquiry);
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

/* What has come. Of somebody's recording nothing more will, and it is not asked again. */
static void go_on(struct live *l, struct following *f, int (*follow)(struct live *), const char *name, struct str *out)
{
	int more;

	if (!f->inquiry.asked) {
		if (!l->asker->from_file && clock_boot() - f->ended > RETRY_AFTER) {
			f->ended = clock_boot();
			(void)follow(l);
		}
		return;
	}
	more = ask_read(&f->inquiry);
	put_events(&f->inquiry, name, out);
	if (more > 0)
		return;
	if (f == &l->board)
		put_reason(&f->inquiry, out);
	ask_end(&f->inquiry);
	f->ended = clock_boot();
}

static int next_events(void *state, struct str *out)
{
	struct live *l = state;

	go_on(l, &l->marks, follow_marks, "mark", out); /* the press first: its answer is what somebody waits for */
	go_on(l, &l->board, follow_snapshot, "board", out);
	return 1;
}

static void close_events(void *state)
{
	struct live *l = state;

	ask_end(&l->board.inquiry);
	ask_end(&l->marks.inquiry);
	free(l);
}

void serve_events(struct http_exchange *e, const struct asker *asker)
{
	const char *window = http_query(e, "window");
	struct live *l = calloc(1, sizeof(*l));
	int r = -ENOMEM;

	if (l) {
		l->asker = asker;
		snprintf(l->window, sizeof(l->window), "%s", window ? window : "");
		r = follow_marks(l);
	}
	if (r == 0)
		r = follow_snapshot(l);
	if (r < 0) {
		if (l)
			close_events(l);
		http_fail(e, 503, "%s", ask_failure(asker, r));
		e->retry_after = 2;
		return;
	}
	e->type = "text/event-stream";
	e->stream = (struct http_stream){next_events, close_events, l};
}
