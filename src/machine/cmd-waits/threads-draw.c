#include "machine/cmd-waits/threads-draw.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/blame/path.h"
#include "machine/threads/draw.h"
#include "machine/threads/state.h"
#include "machine/view-waits/waits.h"

#define PATH_ROWS  40	 /* threads of a critical path that come before all others */
#define POINTS_MAX 16384 /* twice the widest screen there is */
#define NUMBERS_MAX 256

struct draw_cache {
	struct str key; /* what the rows depend on */
	struct thread_rows rows;
};

void draw_cache_free(struct draw_cache *c)
{
	if (!c)
		return;
	str_free(&c->key);
	rows_free(&c->rows);
	free(c);
}

bool threads_draw_is_used(const struct threads_draw *d)
{
	return d->points || d->at;
}

static int cannot(int r)
{
	log_error("%s", strerror(-r));
	return EXIT_CANNOT;
}

/* --- what is asked --- */

static int parse_order(const char *text, enum row_order *ret)
{
	*ret = ORDER_WAITED;
	if (!text)
		return 0;
	for (int i = 0; i < ROW_ORDERS; i++)
		if (strcmp(text, row_order_names[i]) == 0) {
			*ret = (enum row_order)i;
			return 0;
		}
	return -EINVAL;
}

static int parse_numbers(const char *text, uint32_t *ret, size_t *ret_n)
{
	*ret_n = 0;
	while (text && *text) {
		char *end;
		unsigned long value = strtoul(text, &end, 10);

		if (end == text || (*end && *end != ',') || value > UINT32_MAX || *ret_n >= NUMBERS_MAX)
			return -EINVAL;
		ret[(*ret_n)++] = (uint32_t)value;
		text = *end ? end + 1 : end;
	}
	return 0;
}

/* The thread of this number that something is known of at that time, else any of it. */
static uint32_t find_thread(const struct timeline *t, uint32_t number, int64_t at)
{
	uint32_t found = NOBODY;

	for (uint32_t i = 0; i < t->threads.n; i++) {
		const struct thread_line *line = &t->threads.v[i];
		size_t place;

		if (line->tid != number || !line->intervals.n)
			continue;
		place = interval_find(line, at);
		if (place < line->intervals.n && line->intervals.v[place].start <= at)
			return i;
		found = i;
	}
	return found;
}

static int parse_thread(const struct opened_trace *r, const char *text, uint32_t *ret)
{
	uint64_t number;

	*ret = NOBODY;
	if (!text)
		return 0;
	if (str_parse_u64(text, &number) < 0 || !number || number > UINT32_MAX)
		return -EINVAL;
	*ret = find_thread(&r->timeline, (uint32_t)number, r->from + (r->to - r->from) / 2);
	return *ret == NOBODY ? -ESRCH : 0;
}

/* --- rows --- */

/* The threads of the path, the one with the largest part first, after the one asked about. */
static int path_threads(const struct opened_trace *r, uint32_t thread, uint32_t *ret, size_t *ret_n)
{
	_cleanup_(path_free) struct critical_path path = {};
	_cleanup_free_ struct path_share *shares = NULL;
	size_t n = 0;
	int status = path_build(&r->timeline, thread, r->from, r->to, &path);

	if (status == 0)
		status = path_shares(&path, &shares, &n);
	if (status < 0)
		return status;
	ret[0] = thread;
	*ret_n = 1;
	for (size_t i = 0; i < n && *ret_n < PATH_ROWS; i++) {
		size_t k = 0;

		while (k < *ret_n && ret[k] != shares[i].thread)
			k++;
		if (k == *ret_n)
			ret[(*ret_n)++] = shares[i].thread;
	}
	return 0;
}

static int build_rows(const struct opened_trace *r, const struct row_question *asked, uint32_t path, struct draw_cache *cache)
{
	struct row_question q = *asked;
	uint32_t first[PATH_ROWS];
	int status = path == NOBODY ? 0 : path_threads(r, path, first, &q.n_first);

	q.first = first;
	rows_free(&cache->rows);
	return status < 0 ? status : rows_build(&r->timeline, &q, &cache->rows);
}

/* Ordering looks at everything that was recorded: it is done once for all questions that pan and zoom. */
static int find_rows(const struct opened_trace *r, const struct threads_draw *d, const struct row_question *q, uint32_t path,
		     struct draw_cache *cache)
{
	_cleanup_str_ struct str key = {};
	int status;

	str_printf(&key, "%lld %lld %d '%s' '%s' '%s' %u", (long long)q->from, (long long)q->to, (int)q->order, q->filter ? q->filter : "",
		   q->hidden ? q->hidden : "", d->folded ? d->folded : "", path);
	if (path != NOBODY)
		str_printf(&key, " %lld %lld", (long long)r->from, (long long)r->to);
	if (key.error)
		return key.error;
	if (cache->key.len && strcmp(cache->key.data, key.data) == 0)
		return 0;
	str_clear(&cache->key);
	status = build_rows(r, q, path, cache);
	return status < 0 ? status : str_puts(&cache->key, key.data);
}

/* --- answers --- */

static int answer_instant(const struct opened_trace *r, const struct threads_draw *d, uint32_t number)
{
	_cleanup_(instant_free) struct instant m = {};
	uint32_t thread;
	int64_t at;
	int status;

	if (!number)
		return verb_usage_error("threads", "--at requires a thread: 'whyslow threads 812 --at 14:32:07 --json'");
	if (trace_open_time(&r->trace, d->at, r->timeline.end, &at) < 0)
		return verb_usage_error("threads", "invalid TIME '%s'; expected now, -5min, 14:32 or '2026-11-20 14:32:07'", d->at);
	thread = find_thread(&r->timeline, number, at);
	status = thread == NOBODY ? -ENODATA : draw_instant(&r->timeline, thread, at, &m);
	if (status == -ENODATA) {
		log_error("nothing is known of thread %u at that time", number);
		return EXIT_CANNOT;
	}
	return status < 0 || waits_instant_json(&r->timeline, &m, stdout) < 0 ? cannot(status) : EXIT_ANSWERED;
}

/* Who is chosen, and what decides the order; q has the time that decides it by default. */
static int parse_rows(const struct opened_trace *r, const struct threads_draw *d, struct row_question *q, uint64_t *ret_chosen)
{
	*ret_chosen = 0;
	q->filter = d->filter;
	q->hidden = d->hidden;
	if (parse_order(d->order, &q->order) < 0)
		return verb_usage_error("threads", "invalid --order '%s'; expected waited, ran, name or pid", d->order);
	if (d->chosen && (str_parse_u64(d->chosen, ret_chosen) < 0 || *ret_chosen > UINT32_MAX))
		return verb_usage_error("threads", "--chosen expects a PID");
	if (trace_open_time(&r->trace, d->order_since, q->from, &q->from) < 0 || trace_open_time(&r->trace, d->order_until, q->to, &q->to) < 0)
		return verb_usage_error("threads", "--order-since and --order-until expect a TIME");
	return EXIT_ANSWERED;
}

int threads_draw_rows(const struct opened_trace *r, const struct threads_draw *d, uint32_t number, struct thread_rows *ret)
{
	struct row_question q = {.from = r->from, .to = r->to, .only = number};
	_cleanup_free_ uint32_t *first = NULL;
	uint64_t chosen;
	int n = 0, status = d->folded || d->path ? verb_usage_error("threads", "--folded and --path require --points and --json") : parse_rows(r, d, &q, &chosen);

	if (status == EXIT_ANSWERED && chosen)
		n = timeline_find(&r->timeline, (uint32_t)chosen, &first);
	if (status != EXIT_ANSWERED)
		return status;
	q.first = first;
	q.n_first = n > 0 ? (size_t)n : 0;
	n = n < 0 ? n : rows_build(&r->timeline, &q, ret);
	return n < 0 ? cannot(n) : EXIT_ANSWERED;
}

static int answer_drawing(const struct opened_trace *r, const struct threads_draw *d, struct draw_cache *cache)
{
	_cleanup_(drawing_free) struct drawing drawing = {};
	uint32_t folded[NUMBERS_MAX];
	struct row_question rows = {.from = r->timeline.start, .to = r->timeline.end, .folded = folded};
	struct draw_question q = {.from = r->from, .to = r->to, .points = (uint32_t)d->points, .first = d->first,
				  .count = d->rows ? d->rows : SIZE_MAX / 2};
	uint64_t chosen;
	int status;

	if (d->points > POINTS_MAX)
		return verb_usage_error("threads", "invalid --points; expected at most %d", POINTS_MAX);
	if (parse_numbers(d->folded, folded, &rows.n_folded) < 0)
		return verb_usage_error("threads", "--folded expects PIDs with commas between them");
	status = parse_rows(r, d, &rows, &chosen);
	if (status != EXIT_ANSWERED)
		return status;
	q.chosen = (uint32_t)chosen;
	if (parse_thread(r, d->path, &q.path) < 0) {
		log_error("no thread '%s' is known at that time", d->path);
		return EXIT_CANNOT;
	}
	status = find_rows(r, d, &rows, q.path, cache);
	if (status == 0)
		status = draw_timeline(&r->timeline, &cache->rows, &q, &drawing);
	if (status == 0)
		status = waits_timeline_json(&r->timeline, &drawing, stdout);
	return status < 0 ? cannot(status) : EXIT_ANSWERED;
}

int threads_draw(const struct opened_trace *r, const struct threads_draw *d, uint32_t number, struct draw_cache **cache)
{
	if (!*cache)
		*cache = calloc(1, sizeof(**cache));
	if (!*cache)
		return cannot(-ENOMEM);
	return d->at ? answer_instant(r, d, number) : answer_drawing(r, d, *cache);
}
