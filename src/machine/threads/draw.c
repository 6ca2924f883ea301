#include "machine/threads/draw.h"

#include "lib/data/cleanup.h"
#include "machine/blame/blame.h"
#include "machine/blame/path.h"
#include "machine/threads/detail.h"

static int draw_cpus(const struct timeline *t, struct detail *d, struct drawing *ret)
{
	for (uint32_t cpu = 0; cpu < t->cpus.n; cpu++) {
		int r;

		if (!t->cpus.v[cpu].segments.n)
			continue;
		r = VEC_PUSH(ret->cpus, (struct drawn_line){.cpu = cpu});
		if (r == 0)
			r = detail_cpu(d, t, cpu, ret->chosen, &ret->cpus.v[ret->cpus.n - 1]);
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

	if (r == 0)
		r = draw_rows(t, rows, q, &d, &drawing);
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
	if (r == 0)
		r = blame_build(t, m.interval->start, m.interval->end, &thread, 1, LEVEL_THREAD, &m.matrix);
	if (r < 0) {
		instant_free(&m);
		return r;
	}
	blame_sort(&m.matrix);
	*ret = m;
	return 0;
}
