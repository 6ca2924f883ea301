#include "machine/threads/draw.h"

#include <string.h>

#include "lib/data/cleanup.h"
#include "machine/blame/blame.h"
#include "machine/blame/path.h"
#include "machine/events/drawing.h"

/* Level of detail: one line of the timeline as runs (machine/events/drawing.h).
 *
 * The intervals themselves are walked at every question; there is no pyramid of sums next to them. All of a frozen ring
 * is walked in some ten milliseconds (bench/web), what is visible of it in less, and a pyramid would have to be built
 * for each freeze before the first look.
 */
/* A drawing's lines are walked one after the other. Zeroed but for the first four. */
struct detail {
	int64_t from, to;
	uint32_t points; /* 0: only sums */
	struct mixes *mixes; /* of all lines together */

	struct drawn_line *line; /* being walked */
	/* what is too short to be a run of its own, so far */
	struct {
		int64_t from, to, ns[DRAWN_KINDS];
		bool any;
	} pending;
	int64_t *shares; /* of a group: points x DRAWN_KINDS */
	int error;
};

/* --- mixes --- */

static unsigned largest(const int64_t *ns)
{
	unsigned best = 0;

	for (unsigned k = 1; k < DRAWN_KINDS; k++)
		if (ns[k] > ns[best])
			best = k;
	return best;
}

/* The largest parts in sixteenths that add up; a part too small for one is left to the largest. */
static struct mix mix_of(const int64_t *all)
{
	int64_t ns[DRAWN_KINDS], total = 0;
	unsigned kinds[MIX_PARTS] = {}, n = 0, given = 0;
	uint8_t shares[DRAWN_KINDS] = {};
	struct mix mix = {};

	memcpy(ns, all, sizeof(ns));
	for (unsigned k = 0; k < DRAWN_KINDS; k++)
		total += ns[k];
	for (; n < MIX_PARTS && ns[largest(ns)] > 0; n++) {
		kinds[n] = largest(ns);
		shares[kinds[n]] = (uint8_t)((ns[kinds[n]] * MIX_SHARES + total / 2) / total);
		ns[kinds[n]] = 0;
	}
	for (unsigned i = 1; i < n; i++)
		given += shares[kinds[i]];
	shares[kinds[0]] = (uint8_t)(MIX_SHARES - given);
	n = 0;
	for (unsigned k = 0; k < DRAWN_KINDS; k++)
		if (shares[k]) {
			mix.kind[n] = (uint8_t)k;
			mix.share[n++] = shares[k];
		}
	return mix;
}

static uint32_t intern(struct detail *d, struct mix mix)
{
	uint64_t key;
	uintptr_t known;

	_Static_assert(sizeof(mix) == sizeof(key), "a mix is a key");
	if (mix.share[0] == MIX_SHARES)
		return mix.kind[0];
	memcpy(&key, &mix, sizeof(key));
	known = (uintptr_t)hmap_get(&d->mixes->known, key, 0);
	if (known)
		return DRAWN_KINDS + (uint32_t)known - 1;
	known = d->mixes->v.n + 1;
	if (VEC_PUSH(d->mixes->v, mix) < 0 || hmap_put(&d->mixes->known, key, 0, (void *)known) < 0) {
		d->error = -ENOMEM;
		return mix.kind[0];
	}
	return DRAWN_KINDS + (uint32_t)known - 1;
}

/* --- runs --- */

static void put_run(struct detail *d, int64_t from, int64_t to, uint32_t what, uint32_t who)
{
	struct drawn_line *line = d->line;
	struct run *last = line->runs.n ? &line->runs.v[line->runs.n - 1] : NULL;

	if (last && last->to == from && last->what == what && last->who == who)
		last->to = to;
	else if (VEC_PUSH(line->runs, (struct run){from, to, what, who}) < 0)
		d->error = -ENOMEM;
}

static void flush(struct detail *d)
{
	if (!d->pending.any)
		return;
	put_run(d, d->pending.from, d->pending.to, intern(d, mix_of(d->pending.ns)), NOBODY);
	d->pending.any = false;
}

static void feed(struct detail *d, uint8_t kind, uint32_t who, int64_t from, int64_t to)
{
	int64_t point = d->points ? (d->to - d->from) / d->points : 0;

	from = from > d->from ? from : d->from;
	to = to < d->to ? to : d->to;
	if (from >= to)
		return;
	d->line->sums[kind] += to - from;
	if (!d->points)
		return;
	if (to - from >= point) {
		flush(d);
		put_run(d, from, to, kind, who);
		return;
	}
	if (d->pending.any && d->pending.to != from)
		flush(d);
	if (!d->pending.any) {
		memset(&d->pending, 0, sizeof(d->pending));
		d->pending.from = from;
		d->pending.any = true;
	}
	d->pending.to = to;
	d->pending.ns[kind] += to - from;
	if (to - d->pending.from >= point)
		flush(d);
}

static void begin(struct detail *d, struct drawn_line *line)
{
	d->line = line;
	d->pending.any = false;
}

static int end(struct detail *d)
{
	flush(d);
	return d->error;
}

/* Each fills the line's runs and sums. 0 or -ENOMEM. */
static int detail_thread(struct detail *d, const struct thread_line *thread, struct drawn_line *line)
{
	_Static_assert(INTERVAL_STATES <= DRAWN_KINDS, "a state is a kind");
	begin(d, line);
	for (size_t i = interval_find(thread, d->from); i < thread->intervals.n && thread->intervals.v[i].start < d->to; i++)
		feed(d, thread->intervals.v[i].state, NOBODY, thread->intervals.v[i].start, thread->intervals.v[i].end);
	return end(d);
}

/* --- several threads as one --- */

static int64_t point_start(const struct detail *d, uint32_t point)
{
	return d->from + (int64_t)((__int128)(d->to - d->from) * point / d->points);
}

static uint32_t point_of(const struct detail *d, int64_t at)
{
	return (uint32_t)((__int128)(at - d->from) * d->points / (d->to - d->from));
}

static void spread(struct detail *d, uint8_t kind, int64_t from, int64_t to)
{
	from = from > d->from ? from : d->from;
	to = to < d->to ? to : d->to;
	if (from >= to)
		return;
	d->line->sums[kind] += to - from;
	for (uint32_t p = d->points ? point_of(d, from) : 0; d->points && p < d->points && from < to; p++) {
		int64_t until = point_start(d, p + 1) < to ? point_start(d, p + 1) : to;

		if (until > from)
			d->shares[(size_t)p * DRAWN_KINDS + kind] += until - from;
		from = until > from ? until : from;
	}
}

static void put_shares(struct detail *d)
{
	for (uint32_t p = 0; p < d->points; p++) {
		const int64_t *ns = d->shares + (size_t)p * DRAWN_KINDS;

		if (ns[largest(ns)] > 0)
			put_run(d, point_start(d, p), point_start(d, p + 1), intern(d, mix_of(ns)), NOBODY);
	}
}

/* Several threads as one: at each point what all of them did together. */
static int detail_group(struct detail *d, const struct timeline *t, const uint32_t *threads, size_t n, struct drawn_line *line)
{
	size_t size = (size_t)d->points * DRAWN_KINDS * sizeof(*d->shares);

	if (!d->shares)
		d->shares = malloc(size + 1);
	if (!d->shares)
		return -ENOMEM;
	begin(d, line);
	memset(d->shares, 0, size);
	for (size_t k = 0; k < n; k++) {
		const struct thread_line *thread = &t->threads.v[threads[k]];

		for (size_t i = interval_find(thread, d->from); i < thread->intervals.n && thread->intervals.v[i].start < d->to; i++)
			spread(d, thread->intervals.v[i].state, thread->intervals.v[i].start, thread->intervals.v[i].end);
	}
	put_shares(d);
	return d->error;
}

/* --- CPUs --- */

static enum cpu_use use_of(const struct timeline *t, const struct segment *s, uint32_t chosen)
{
	switch ((enum segment_kind)s->kind) {
	case SEGMENT_IDLE:
		return USE_IDLE;
	case SEGMENT_IRQ:
	case SEGMENT_SOFTIRQ:
		return USE_SYSTEM;
	case SEGMENT_TASK:
		if (s->who >= t->threads.n)
			return USE_UNKNOWN;
		if (chosen && t->threads.v[s->who].tgid == chosen)
			return USE_CHOSEN;
		return t->threads.v[s->who].kernel ? USE_SYSTEM : USE_OTHER;
	default:
		return USE_UNKNOWN;
	}
}

/* `chosen`: the process (tgid) whose own use is distinguished; 0 = no one's. */
static int detail_cpu(struct detail *d, const struct timeline *t, uint32_t cpu, uint32_t chosen, struct drawn_line *line)
{
	const struct cpu_line *known = &t->cpus.v[cpu];

	begin(d, line);
	for (size_t i = segment_find(known, d->from); i < known->segments.n && known->segments.v[i].start < d->to; i++) {
		const struct segment *s = &known->segments.v[i];
		int64_t until = i + 1 < known->segments.n ? s[1].start : known->end;

		feed(d, (uint8_t)use_of(t, s, chosen), s->kind == SEGMENT_TASK ? s->who : NOBODY, s->start, until);
	}
	return end(d);
}

static void detail_free(struct detail *d)
{
	free(d->shares);
	d->shares = NULL;
}

static int draw_cpus(const struct timeline *t, struct detail *d, struct drawing *ret)
{
	for (uint32_t cpu = 0; cpu < t->cpus.n; cpu++) {
		int r;

		if (!t->cpus.v[cpu].segments.n)
			continue;
		r = VEC_PUSH(ret->cpus, (struct drawn_line){.cpu = cpu});
		r = r ?: detail_cpu(d, t, cpu, ret->chosen, &ret->cpus.v[ret->cpus.n - 1]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int draw_row(const struct timeline *t, struct detail *d, const struct thread_row *row, const uint32_t *members, struct drawing *ret)
{
	int r = VEC_PUSH(ret->lines, (struct drawn_line){.row = *row});
	struct drawn_line *line = &ret->lines.v[ret->lines.n - 1];

	if (r < 0 || (row->thread == NOBODY && !row->folded))
		return r;
	return row->folded ? detail_group(d, t, members, row->members, line) : detail_thread(d, &t->threads.v[row->thread], line);
}

static int draw_rows(const struct timeline *t, const struct thread_rows *rows, const struct draw_question *q, struct detail *d,
		     struct drawing *ret)
{
	size_t member = 0;
	int r = 0;

	for (size_t i = 0; i < rows->rows.n && i < q->first + q->count && r == 0; i++) {
		const struct thread_row *row = &rows->rows.v[i];

		if (i >= q->first)
			r = draw_row(t, d, row, rows->threads.v + member, ret);
		if (row->thread != NOBODY)
			member++;
		else if (row->folded)
			member += row->members;
	}
	return r;
}

static void sum_up(const struct timeline *t, const struct thread_rows *rows, struct drawing *ret)
{
	struct detail d = {.from = ret->from, .to = ret->to};
	struct drawn_line all = {};

	for (size_t i = 0; i < rows->threads.n; i++)
		(void)detail_thread(&d, &t->threads.v[rows->threads.v[i]], &all); /* sums alone need no memory */
	for (unsigned k = 0; k < DRAWN_KINDS; k++)
		ret->sums[k] = all.sums[k];
}

int draw_timeline(const struct timeline *t, const struct thread_rows *rows, const struct draw_question *q, struct drawing *ret)
{
	struct drawing drawing = {.from = q->from, .to = q->to, .points = q->points, .first = q->first, .n_rows = rows->rows.n,
				  .chosen = q->chosen};
	_cleanup_(detail_free) struct detail d = {.from = q->from, .to = q->to, .points = q->points, .mixes = &drawing.mixes};
	int r = draw_cpus(t, &d, &drawing);

	r = r ?: draw_rows(t, rows, q, &d, &drawing);
	if (r == 0 && q->path != NOBODY) {
		r = path_build(t, q->path, q->from, q->to, &drawing.path);
		drawing.has_path = r == 0;
		if (r == 0 && q->points)
			path_coarsen(&drawing.path, (q->to - q->from) / q->points);
	}
	if (r < 0) {
		drawing_free(&drawing);
		return r;
	}
	sum_up(t, rows, &drawing);
	*ret = drawing;
	return 0;
}

int draw_instant(const struct timeline *t, uint32_t thread, int64_t at, struct instant *ret)
{
	const struct thread_line *line = &t->threads.v[thread];
	size_t place = interval_find(line, at);
	struct instant m = {.thread = thread};
	int r;

	if (place >= line->intervals.n || line->intervals.v[place].start > at)
		return -ENODATA;
	m.interval = &line->intervals.v[place];
	r = path_build(t, thread, m.interval->start, m.interval->end, &m.chain);
	r = r ?: blame_build(t, m.interval->start, m.interval->end, &thread, 1, LEVEL_THREAD, &m.matrix);
	if (r < 0) {
		instant_free(&m);
		return r;
	}
	blame_sort(&m.matrix);
	*ret = m;
	return 0;
}
