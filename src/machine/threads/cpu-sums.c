#include "machine/threads/cpu-sums.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"

#define IRQ_OF_TIMER 0 /* its number, as EVENT_IRQ has it */

struct sums {
	const struct timeline *t;
	int64_t from, to;
	struct cpu_row *rows; /* a thread of the timeline each */
	uint64_t queued;      /* ns on or waiting for a CPU, of all */
	struct cpu_report *report;
};

static uint64_t within(const struct sums *s, int64_t start, int64_t end)
{
	start = start > s->from ? start : s->from;
	end = end < s->to ? end : s->to;
	return end > start ? (uint64_t)(end - start) : 0;
}

static int64_t end_of(const struct cpu_line *cpu, size_t segment)
{
	return segment + 1 < cpu->segments.n ? cpu->segments.v[segment + 1].start : cpu->end;
}

/* While a thread waits for a CPU, the one that has that CPU imposes the wait. */
static void impose(struct sums *s, const struct interval *x)
{
	const struct cpu_line *cpu = x->cpu < s->t->cpus.n ? &s->t->cpus.v[x->cpu] : NULL;
	const int64_t start = x->start > s->from ? x->start : s->from, end = x->end < s->to ? x->end : s->to;

	for (size_t i = cpu ? segment_find(cpu, start) : 0; cpu && i < cpu->segments.n && cpu->segments.v[i].start < end; i++) {
		const struct segment *g = &cpu->segments.v[i];
		const int64_t first = g->start > start ? g->start : start, last = end_of(cpu, i) < end ? end_of(cpu, i) : end;

		if (g->kind == SEGMENT_TASK && last > first)
			s->rows[g->who].imposed += (uint64_t)(last - first);
	}
}

static void add_interval(struct sums *s, struct cpu_row *row, const struct interval *x)
{
	const struct state_row *state = &state_table[x->state];
	const uint64_t took = within(s, x->start, x->end);

	if (!took || (state->group != GROUP_RUNNING && state->group != GROUP_RUNNABLE))
		return;
	if (state->group == GROUP_RUNNABLE)
		row->waited += took;
	else if (state->wait == FOR_INTERRUPT)
		row->stolen += took;
	else
		row->ran += took;
	s->queued += state->wait == FOR_QUOTA ? 0 : took;
	if (state->wait == FOR_CPU)
		impose(s, x);
}

static void add_thread(struct sums *s, size_t i)
{
	const struct thread_line *line = &s->t->threads.v[i];
	const size_t known = s->t->trace->threads.n;
	struct cpu_row *row = &s->rows[i];

	row->process = line->tgid;
	row->thread = line->tid;
	row->threads = 1;
	row->uid = i < known ? s->t->trace->threads.v[i].uid : 0;
	if (line->comm)
		memcpy(row->name, line->comm, strnlen(line->comm, RING_COMM));
	str_make_printable(row->name);
	for (size_t k = interval_find(line, s->from); k < line->intervals.n && line->intervals.v[k].start < s->to; k++)
		add_interval(s, row, &line->intervals.v[k]);
}

static int add_cpu(struct sums *s, const struct cpu_line *cpu)
{
	int r = 0;

	for (size_t i = segment_find(cpu, s->from); i < cpu->segments.n && cpu->segments.v[i].start < s->to && r == 0; i++) {
		const struct segment *g = &cpu->segments.v[i];
		const uint64_t took = within(s, g->start, end_of(cpu, i));

		if (g->kind == SEGMENT_IDLE)
			s->report->idle += took;
		else if (g->kind == SEGMENT_IRQ)
			r = cpu_report_add_interrupts(s->report, g->who == IRQ_OF_TIMER ? cpu_irq_timer : cpu_irq_device, took);
		else if (g->kind == SEGMENT_SOFTIRQ)
			r = cpu_report_add_interrupts(s->report, cpu_softirq_name(g->who), took);
	}
	s->report->n_cpus++;
	return r;
}

static void count_events(struct sums *s)
{
	const struct trace *t = s->t->trace;

	for (size_t i = trace_find(t, (uint64_t)s->from); i < t->n_events && t->events[i].time < (uint64_t)s->to; i++) {
		s->report->switches += t->events[i].kind == EVENT_SWITCH;
		s->report->wakeups += t->events[i].kind == EVENT_WAKEUP;
	}
}

int cpu_sums_make(const struct timeline *t, int64_t from, int64_t to, struct cpu_report *ret)
{
	_cleanup_free_ struct cpu_row *rows = calloc(t->threads.n + 1, sizeof(*rows));
	struct cpu_report report = {.span = to - from, .queue_seen = NAN, .of_events = true, .steal = CPU_STEAL_UNKNOWN};
	struct sums s = {t, from, to, rows, 0, &report};
	int r = rows ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < t->threads.n; i++)
		add_thread(&s, i);
	for (size_t i = 0; r == 0 && i < t->cpus.n; i++)
		if (t->cpus.v[i].segments.n)
			r = add_cpu(&s, &t->cpus.v[i]);
	if (r == 0) {
		count_events(&s);
		report.queue = report.n_cpus ? (double)s.queued / (double)report.span / report.n_cpus : 0;
		r = cpu_report_finish(&report, rows, t->threads.n);
	}
	if (r < 0) {
		cpu_report_free(&report);
		return r;
	}
	*ret = report;
	return 0;
}
