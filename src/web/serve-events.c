#include "web/serve-events.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"

#define WINDOW_MAX  32
#define RETRY_AFTER (2 * NS_PER_SEC)
#define BOARDS_MOST 2 /* asked about at a time: with the marks 3 questions, of the 8 that one user may have */
#define TURN	    (5 * NS_PER_SEC) /* a board makes room for one that waits */
#define MARKS_KEPT  64 /* for streams that are slow to take them */
#define BOARDS_KEPT 2  /* a board stands for those before it */

/* A verb that continues for ever (--follow), and is asked again where it ended: the recorder was restarted, nothing is recorded yet, or an
 * answer may take only so long. */
struct feed {
	struct feed *next;
	char window[WINDOW_MAX], model[WINDOW_MAX];
	bool marks; /* else a board of that window, by that model */
	unsigned streams;
	struct inquiry inquiry;
	int64_t began, ended, waits; /* boot ns; `waits`: since when there is no room for it, 0 = there is */
	struct str events[MARKS_KEPT]; /* by their number, modulo kept_of() */
	uint64_t n;		     /* how many there were */
};

struct live_feeds {
	const struct asker *asker;
	pthread_mutex_t lock;
	struct feed *all;
};

struct stream {
	struct live_feeds *feeds;
	struct feed *board, *marks;
	uint64_t board_seen, marks_seen;
};

/* --- what a feed says --- */

static uint64_t kept_of(const struct feed *f)
{
	return f->marks ? MARKS_KEPT : BOARDS_KEPT;
}

static void add_event(struct feed *f, const char *name, json_t *value)
{
	struct str *slot = &f->events[f->n % kept_of(f)];
	char *line = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(7));

	if (!line)
		return;
	str_clear(slot);
	slot->error = 0;
	http_event(slot, name, line);
	free(line);
	f->n += !slot->error;
}

/* Why no further boards come, if it was said: nobody records any more. An answer that took its time just begins again. */
static void add_reason(struct feed *f)
{
	_cleanup_str_ struct str reason = {};
	json_t *value;

	if (ask_errors(&f->inquiry, &reason) < 0 || !reason.len)
		return;
	value = json_pack("{s:s}", "reason", reason.data);
	if (value)
		add_event(f, "ended", value);
	json_decref(value);
}

/* --- questions --- */

static int ask(const struct live_feeds *feeds, struct feed *f)
{
	const char *board[7] = {"show", "--json", "--follow"};
	size_t n = 3;
	static const char *const marks[] = {"list", "--json", "--follow"};

	f->began = f->ended = clock_boot();
	f->waits = 0;
	if (f->window[0]) {
		board[n++] = "--window";
		board[n++] = f->window;
	}
	if (f->model[0]) {
		board[n++] = "--model";
		board[n++] = f->model;
	}
	return f->marks ? ask_begin(feeds->asker, ARRAY_SIZE(marks), marks, &f->inquiry)
			: ask_begin(feeds->asker, n, board, &f->inquiry);
}

static void end(struct feed *f)
{
	ask_end(&f->inquiry);
	f->ended = clock_boot();
}

/* Whether it may ask now. The board that was asked about longest makes room for the one that waits longest, once it had its turn. */
static bool has_room(struct live_feeds *feeds, struct feed *f)
{
	struct feed *oldest = NULL, *first = f;
	unsigned asked = 0;

	if (f->marks)
		return true;
	if (!f->waits)
		f->waits = clock_boot();
	for (struct feed *one = feeds->all; one; one = one->next) {
		if (one->inquiry.asked && !one->marks) {
			asked++;
			oldest = oldest && oldest->began < one->began ? oldest : one;
		}
		if (one->waits && one->waits < first->waits)
			first = one;
	}
	if (first != f || (asked >= BOARDS_MOST && clock_boot() - oldest->began < TURN))
		return false;
	if (asked >= BOARDS_MOST)
		end(oldest);
	return true;
}

/* What has come. Nothing more comes of another machine's recording, and it is not asked again. 0, or -errno: it cannot be asked about. */
static int drive(struct live_feeds *feeds, struct feed *f)
{
	json_t *value;
	int more;

	if (!f->inquiry.asked) {
		if (f->began && (feeds->asker->from_file || clock_boot() - f->ended <= RETRY_AFTER) && !f->waits)
			return 0;
		return has_room(feeds, f) ? ask(feeds, f) : 0;
	}
	more = ask_read(&f->inquiry);
	while ((value = ask_take(&f->inquiry))) {
		add_event(f, f->marks ? "mark" : "board", value);
		json_decref(value);
	}
	if (more > 0)
		return 0;
	if (!f->marks)
		add_reason(f);
	end(f);
	return 0;
}

/* --- feeds --- */

/* NULL: no memory. */
static struct feed *join(struct live_feeds *feeds, bool marks, const char *window, const char *model)
{
	struct feed *f = feeds->all;

	while (f && (f->marks != marks || strcmp(f->window, window) != 0 || strcmp(f->model, model) != 0))
		f = f->next;
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f)
			return NULL;
		f->marks = marks;
		snprintf(f->window, sizeof(f->window), "%s", window);
		snprintf(f->model, sizeof(f->model), "%s", model);
		f->next = feeds->all;
		feeds->all = f;
	}
	f->streams++;
	return f;
}

static void leave(struct live_feeds *feeds, struct feed *f)
{
	struct feed **at = &feeds->all;

	if (!f || --f->streams)
		return;
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	ask_end(&f->inquiry);
	for (size_t i = 0; i < ARRAY_SIZE(f->events); i++)
		str_free(&f->events[i]);
	free(f);
}

/* Those from `*seen` on that are kept. */
static void put_events(const struct feed *f, uint64_t *seen, struct str *out)
{
	if (f->n > *seen + kept_of(f))
		*seen = f->n - kept_of(f);
	for (; *seen < f->n; ++*seen) {
		const struct str *event = &f->events[*seen % kept_of(f)];

		str_append(out, event->data, event->len);
	}
}

struct live_feeds *live_feeds_new(const struct asker *asker)
{
	struct live_feeds *feeds = calloc(1, sizeof(*feeds));

	if (!feeds)
		return NULL;
	feeds->asker = asker;
	pthread_mutex_init(&feeds->lock, NULL);
	return feeds;
}

void live_feeds_free(struct live_feeds *feeds)
{
	if (!feeds)
		return;
	pthread_mutex_destroy(&feeds->lock);
	free(feeds);
}

/* --- streams --- */

static int next_events(void *state, struct str *out)
{
	struct stream *s = state;

	pthread_mutex_lock(&s->feeds->lock);
	/* all of them: a stream whose page takes nothing must not keep the others' turn */
	for (struct feed *f = s->feeds->all; f; f = f->next)
		(void)drive(s->feeds, f);
	/* a mark first: a person waits for its answer */
	put_events(s->marks, &s->marks_seen, out);
	put_events(s->board, &s->board_seen, out);
	pthread_mutex_unlock(&s->feeds->lock);
	return 1;
}

static void close_events(void *state)
{
	struct stream *s = state;

	pthread_mutex_lock(&s->feeds->lock);
	leave(s->feeds, s->marks);
	leave(s->feeds, s->board);
	pthread_mutex_unlock(&s->feeds->lock);
	free(s);
}

/* A recorder that is busy is asked again soon: the page needs no message. */
static int begin(struct live_feeds *feeds, struct feed *f)
{
	int r = drive(feeds, f);

	return r == -EBUSY ? 0 : r;
}

/* It sees the newest board at once, and marks from now on. */
static int open_events(struct stream *s, const char *window, const char *model)
{
	int r;

	pthread_mutex_lock(&s->feeds->lock);
	s->marks = join(s->feeds, true, "", "");
	s->board = join(s->feeds, false, window, model);
	r = s->marks && s->board ? begin(s->feeds, s->marks) : -ENOMEM;
	r = r ?: begin(s->feeds, s->board);
	if (r == 0) {
		s->marks_seen = s->marks->n;
		s->board_seen = s->board->n ? s->board->n - 1 : 0;
	}
	pthread_mutex_unlock(&s->feeds->lock);
	return r;
}

void serve_events(struct http_exchange *e, struct live_feeds *feeds)
{
	const char *window = http_query(e, "window"), *model = http_query(e, "model");
	struct stream *s = calloc(1, sizeof(*s));
	int r = -ENOMEM;

	if (s) {
		s->feeds = feeds;
		r = open_events(s, window && strlen(window) < WINDOW_MAX ? window : "", model && strlen(model) < WINDOW_MAX ? model : "");
	}
	if (r < 0) {
		if (s)
			close_events(s);
		http_fail(e, 503, "%s", ask_failure(feeds->asker, r));
		e->retry_after = 2;
		return;
	}
	e->type = "text/event-stream";
	e->stream = (struct http_stream){next_events, close_events, s};
}
