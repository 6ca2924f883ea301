#include "machine/blame/wait-report.h"

#define NS_PER_US 1000

void wait_report_init(struct wait_report *r, int64_t from, int64_t to)
{
	*r = (struct wait_report){.from = from, .to = to};
}

static unsigned bucket_of(int64_t ns)
{
	unsigned bucket = 0;

	while (bucket + 1 < DELAY_BUCKETS && ns >= (int64_t)NS_PER_US << bucket)
		bucket++;
	return bucket;
}

static void delays_add(struct delays *d, int64_t start, int64_t ns)
{
	d->count[bucket_of(ns)]++;
	d->n++;
	d->ns += ns;
	if (ns > d->longest) {
		d->longest = ns;
		d->longest_at = start;
	}
}

/* From being ready to having a CPU, over all the CPUs it was queued on; the cause is that of its beginning. */
static void add_delay(struct wait_report *r, const struct thread_line *line, size_t last)
{
	size_t first = last;

	while (first > 0 && line->intervals.v[first - 1].flags & INTERVAL_MOVED)
		first--;
	delays_add(&r->delays[line->intervals.v[first].state], line->intervals.v[first].start,
		   line->intervals.v[last].end - line->intervals.v[first].start);
}

static void add_interval(struct wait_report *r, const struct thread_line *line, size_t index)
{
	const struct interval *i = &line->intervals.v[index];
	int64_t start = i->start > r->from ? i->start : r->from, end = i->end < r->to ? i->end : r->to;
	const struct state_row *row = &state_table[i->state];

	r->state[i->state] += end - start;
	r->alive += end - start;
	if (i->end > r->to || i->flags & (INTERVAL_MOVED | INTERVAL_RETRY | INTERVAL_OPEN))
		return;
	r->waits[row->wait]++;
	if (row->group == GROUP_RUNNABLE)
		add_delay(r, line, index);
}

static void add_samples(struct wait_report *r, const struct thread_line *line)
{
	for (size_t i = 0; i < line->samples.n; i++) {
		int64_t at = (int64_t)(line->samples.v[i] >> 1);

		if (at < r->from || at >= r->to)
			continue;
		r->samples++;
		r->user_samples += line->samples.v[i] & 1;
	}
}

void wait_report_add(struct wait_report *r, const struct thread_line *line)
{
	add_samples(r, line);
	for (size_t i = interval_find(line, r->from); i < line->intervals.n && line->intervals.v[i].start < r->to; i++)
		add_interval(r, line, i);
}
