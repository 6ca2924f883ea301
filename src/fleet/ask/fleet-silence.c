#include "fleet/ask/fleet-silence.h"

#include <math.h>

#include "lib/data/order.h"

#define VALUES_MIN 30  /* that tell that it normally reports */
#define OTHERWISE  3   /* times as long as any other absence */
#define OTHERS	   0.5 /* of the other servers report then */
#define TOGETHER   0.5 /* of a server's counters: it is the server */

/* The longest absence, and how many rows are missing in it and in the next. */
struct absences {
	struct fleet_span longest;
	uint32_t rows, next;
};

static int64_t length(const struct fleet_span *s)
{
	return s->to - s->from;
}

static void add(struct absences *a, struct fleet_span x, uint32_t rows)
{
	if (rows <= a->rows) {
		a->next = rows > a->next ? rows : a->next;
		return;
	}
	a->next = a->rows;
	a->rows = rows;
	a->longest = x;
}

/* Where a series is missing in its server's rows. It counts from its first value on. Its number of values. */
static uint32_t find_missing(const struct fleet_server *s, const float *v, int64_t interval, struct absences *ret)
{
	int64_t before = 0;
	uint32_t n = 0, last = 0;

	*ret = (struct absences){};
	for (uint32_t i = 0; i < s->n; i++) {
		if (isnan(v[i]))
			continue;
		if (n++)
			add(ret, (struct fleet_span){before + interval, s->time[i]}, i - last - 1);
		before = s->time[i];
		last = i;
	}
	if (n)
		add(ret, (struct fleet_span){before + interval, s->time[s->n - 1] + interval}, s->n - 1 - last);
	return n;
}

/* Where a server has no rows, from its first one on; `end` is where the data end. */
static void find_absences(const struct fleet_server *s, int64_t interval, int64_t end, struct absences *ret)
{
	*ret = (struct absences){};
	for (uint32_t i = 0; i < s->n; i++) {
		struct fleet_span x = {s->time[i] + interval, i + 1 < s->n ? s->time[i + 1] : end};

		if (length(&x) > 0)
			add(ret, x, (uint32_t)fmin((double)length(&x) / (double)interval, UINT32_MAX));
	}
}

/* Whether most other servers have rows in the middle half of a span. */
static bool others_report(const struct fleet *f, size_t server, const struct fleet_span *span)
{
	int64_t quarter = length(span) / 4;
	size_t others = 0, report = 0;
	uint32_t first;

	for (size_t i = 0; i < f->servers.n; i++) {
		if (i == server || !f->servers.v[i].n)
			continue;
		others++;
		report += fleet_rows(&f->servers.v[i], span->from + quarter, span->to - quarter + 1, &first) > 0;
	}
	return others && (double)report >= OTHERS * (double)others;
}

static bool is_silence(const struct fleet_question *q, bool given, const struct absences *a, uint32_t values)
{
	const struct fleet_span *x = &a->longest;
	int64_t from = x->from > q->window.from ? x->from : q->window.from, to = x->to < q->window.to ? x->to : q->window.to;

	if (values < VALUES_MIN || a->rows < SILENCE_ROWS || a->rows < OTHERWISE * a->next || to <= from)
		return false;
	return !given || 2 * (to - from) >= q->window.to - q->window.from;
}

static int add_silence(struct fleet_silences *s, size_t server, int counter, const struct fleet_span *span, int64_t end)
{
	struct fleet_silence x = {(int)server, counter, span->from, span->to < end ? span->to : 0};

	return VEC_PUSH(s->list, x);
}

/* Counters that a server stopped to report; most of its counters at once are the server itself. */
static int find_counters(const struct fleet_question *q, bool given, size_t server, int64_t end, struct fleet_silences *ret)
{
	const struct fleet *f = q->fleet;
	const struct fleet_server *s = &f->servers.v[server];
	size_t had = 0, before = ret->list.n;
	int r = 0;

	for (size_t c = 0; c < f->counters.n && r == 0; c++) {
		struct absences a;
		uint32_t n;

		if (!s->column[c] || (q->counter >= 0 && (size_t)q->counter != c))
			continue;
		had++;
		n = find_missing(s, s->column[c], f->interval, &a);
		if (is_silence(q, given, &a, n))
			r = add_silence(ret, server, (int)c, &a.longest, end);
	}
	if (r == 0 && ret->list.n > before + 1 && (double)(ret->list.n - before) >= TOGETHER * (double)had) {
		ret->list.v[before].counter = -1;
		ret->list.n = before + 1;
	}
	return r;
}

ORDER(by_begin, struct fleet_silence, CMP(b->counter < 0, a->counter < 0) ?: ASCENDING(since))

int fleet_silence_find(const struct fleet_question *q, bool given, struct fleet_silences *ret)
{
	const struct fleet *f = q->fleet;
	struct fleet_silences found = {};
	int64_t first, last;
	int r = 0;

	fleet_extent(f, &first, &last);
	for (size_t i = 0; i < f->servers.n && f->interval && r == 0; i++) {
		struct absences a;
		uint32_t n = f->servers.v[i].n;

		find_absences(&f->servers.v[i], f->interval, last + f->interval, &a);
		if (q->server >= 0 && (size_t)q->server != i)
			continue;
		if (is_silence(q, given, &a, n) && others_report(f, i, &a.longest))
			r = add_silence(&found, i, -1, &a.longest, last + f->interval);
		else if (n)
			r = find_counters(q, given, i, f->servers.v[i].time[f->servers.v[i].n - 1] + f->interval, &found);
	}
	if (r < 0) {
		VEC_FREE(found.list);
		return r;
	}
	VEC_SORT(found.list, by_begin);
	*ret = found;
	return 0;
}
