#include "machine/events/cpu-report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/order.h"
#include "lib/data/str.h"

void cpu_reading_free(struct cpu_reading *r)
{
	VEC_FREE(r->tasks);
	VEC_FREE(r->cpus);
}

void cpu_report_free(struct cpu_report *r)
{
	VEC_FREE(r->processes);
	VEC_FREE(r->threads);
	VEC_FREE(r->interrupts);
}

static uint64_t growth(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

static struct cpu_row thread_row(const struct ring_task *before, const struct ring_task *after)
{
	static const struct ring_task none;
	const struct ring_task *b = before ? before : &none;
	uint64_t on_cpu = growth(b->sum[SUM_RUNNING], after->sum[SUM_RUNNING]);
	struct cpu_row row = {
		.process = after->who.tgid,
		.thread = after->who.tid,
		.uid = after->who.uid,
		.threads = 1,
		.stolen = growth(b->sum[SUM_STOLEN], after->sum[SUM_STOLEN]),
		.ticks = growth(b->utime + b->stime, after->utime + after->stime),
		.waited = growth(b->sum[SUM_RUNNABLE], after->sum[SUM_RUNNABLE]) +
			  growth(b->sum[SUM_PREEMPTED], after->sum[SUM_PREEMPTED]) +
			  growth(b->sum[SUM_QUOTA], after->sum[SUM_QUOTA]),
		.imposed = growth(b->sum[SUM_IMPOSED], after->sum[SUM_IMPOSED]),
	};

	row.ran = growth(row.stolen, on_cpu);
	memcpy(row.name, after->who.comm, RING_COMM);
	str_make_printable(row.name);
	return row;
}

static void add_row(struct cpu_row *to, const struct cpu_row *row)
{
	to->ran += row->ran;
	to->stolen += row->stolen;
	to->ticks += row->ticks;
	to->waited += row->waited;
	to->imposed += row->imposed;
	to->threads++;
	if (row->thread == row->process)
		memcpy(to->name, row->name, sizeof(to->name));
}

static int add_to_process(struct cpu_report *r, struct hmap *by_process, const struct cpu_row *row)
{
	size_t at = (size_t)hmap_get(by_process, row->process, 0);
	struct cpu_row first = *row;

	if (at) {
		add_row(&r->processes.v[at - 1], row);
		return 0;
	}
	first.thread = 0;
	if (VEC_PUSH(r->processes, first) < 0)
		return -ENOMEM;
	return hmap_put(by_process, row->process, 0, (void *)r->processes.n);
}

static int add_thread(struct cpu_report *r, struct hmap *by_process, const struct cpu_row *row)
{
	uint64_t exact = row->ran + row->stolen; /* the timer's sample cannot tell them apart */

	r->ran += row->ran;
	r->stolen += row->stolen;
	r->ticks += row->ticks;
	r->ticks_wrong += exact > row->ticks ? exact - row->ticks : row->ticks - exact;
	return VEC_PUSH(r->threads, *row) < 0 ? -ENOMEM : add_to_process(r, by_process, row);
}

static int rows_of(const struct cpu_reading *before, const struct cpu_reading *after, struct cpu_row **ret)
{
	struct cpu_row *rows = calloc(after->tasks.n + 1, sizeof(*rows));
	struct hmap known = {};
	int result = rows ? 0 : -ENOMEM;

	for (size_t i = 0; i < before->tasks.n && result == 0; i++)
		result = hmap_put(&known, before->tasks.v[i].who.tid, before->tasks.v[i].who.start, &before->tasks.v[i]);
	for (size_t i = 0; i < after->tasks.n && result == 0; i++) {
		const struct ring_task *task = &after->tasks.v[i];

		rows[i] = thread_row(hmap_get(&known, task->who.tid, task->who.start), task);
	}
	hmap_free(&known);
	if (result < 0)
		free(rows);
	else
		*ret = rows;
	return result;
}

/* A state that continues at the reading is not yet in the CPU's counters. */
static struct ring_cpu settled(const struct ring_cpu *c, uint64_t time)
{
	struct ring_cpu now = *c;
	uint64_t passed = growth(c->queue_at, time);

	now.at_length[c->queued < RING_LENGTHS ? c->queued : RING_LENGTHS - 1] += passed;
	if (!c->current)
		now.idle += growth(c->stolen, growth(c->since, time));
	return now;
}

static const char *const softirq_names[RING_SOFTIRQS] = {
	"softirq: high-priority tasklets", "softirq: timers", "softirq: network sending", "softirq: network receiving",
	"softirq: disk completions", "softirq: interrupt polling", "softirq: tasklets", "softirq: load balancing",
	"softirq: high-resolution timers", "softirq: RCU",
};

const char cpu_irq_device[] = "irq: devices", cpu_irq_timer[] = "irq: timer";

const char *cpu_softirq_name(uint32_t number)
{
	return number < RING_SOFTIRQS ? softirq_names[number] : cpu_irq_device;
}

int cpu_report_add_interrupts(struct cpu_report *r, const char *name, uint64_t took)
{
	for (size_t i = 0; i < r->interrupts.n; i++)
		if (r->interrupts.v[i].name == name) {
			r->interrupts.v[i].took += took;
			r->interrupted += took;
			return 0;
		}
	r->interrupted += took;
	return VEC_PUSH(r->interrupts, (struct cpu_interrupts){name, took});
}

static int add_cpu(const struct ring_cpu *before, const struct ring_cpu *after, struct cpu_report *r)
{
	int result = cpu_report_add_interrupts(r, cpu_irq_device, growth(before->irq_time, after->irq_time));

	result = result ?: cpu_report_add_interrupts(r, cpu_irq_timer, growth(before->timer_time, after->timer_time));
	for (int i = 0; i < RING_SOFTIRQS && result == 0; i++)
		result = cpu_report_add_interrupts(r, softirq_names[i], growth(before->softirq_time[i], after->softirq_time[i]));
	r->idle += growth(before->idle, after->idle);
	for (int i = 0; i < RING_LENGTHS; i++)
		r->at_length[i] += growth(before->at_length[i], after->at_length[i]);
	for (int i = 0; i < RING_BURSTS; i++)
		r->bursts[i] += growth(before->bursts[i], after->bursts[i]);
	if (after->largest_burst > r->largest_burst)
		r->largest_burst = after->largest_burst;
	r->switches += growth(before->switches, after->switches);
	r->wakeups += growth(before->wakeups, after->wakeups);
	r->n_cpus++;
	return result;
}

static int add_cpus(const struct cpu_reading *before, const struct cpu_reading *after, struct cpu_report *r)
{
	uint64_t seen = 0, met = 0, weighted = 0, time = 0;
	int result = 0;

	for (size_t i = 0; i < after->cpus.n && i < before->cpus.n && result == 0; i++) {
		struct ring_cpu b = settled(&before->cpus.v[i], before->time), a = settled(&after->cpus.v[i], after->time);

		if (!a.switches)
			continue; /* a number without a CPU */
		result = add_cpu(&b, &a, r);
		for (uint64_t n = 0; n < RING_LENGTHS; n++) {
			met += growth(b.seen_length[n], a.seen_length[n]);
			seen += n * growth(b.seen_length[n], a.seen_length[n]);
		}
	}
	for (uint64_t n = 0; n < RING_LENGTHS; n++) {
		weighted += n * r->at_length[n];
		time += r->at_length[n];
	}
	r->queue = time ? (double)weighted / (double)time : 0;
	r->queue_seen = met ? (double)seen / (double)met : 0;
	return result;
}

ORDER(busiest_first, struct cpu_row, DESCENDING(ran) ?: ASCENDING(process) ?: ASCENDING(thread))

ORDER(longest_first, struct cpu_interrupts, DESCENDING(took))

int cpu_report_finish(struct cpu_report *r, const struct cpu_row *threads, size_t n)
{
	struct hmap by_process = {};
	int result = 0;

	for (size_t i = 0; i < n && result == 0; i++)
		result = add_thread(r, &by_process, &threads[i]);
	hmap_free(&by_process);
	if (result < 0)
		return result;
	r->unknown = (int64_t)r->n_cpus * r->span - (int64_t)(r->ran + r->idle + r->interrupted);
	VEC_SORT(r->processes, busiest_first);
	VEC_SORT(r->threads, busiest_first);
	VEC_SORT(r->interrupts, longest_first);
	return 0;
}

static int64_t steal_between(const struct cpu_reading *before, const struct cpu_reading *after)
{
	bool known = before->steal >= 0 && after->steal >= before->steal;

	return known ? after->steal - before->steal : CPU_STEAL_UNKNOWN;
}

int cpu_report_make(const struct cpu_reading *before, const struct cpu_reading *after, struct cpu_report *ret)
{
	struct cpu_report r = {.span = (int64_t)(after->time - before->time), .steal = steal_between(before, after)};
	_cleanup_free_ struct cpu_row *rows = NULL;
	int result = rows_of(before, after, &rows);

	result = result ?: add_cpus(before, after, &r);
	result = result ?: cpu_report_finish(&r, rows, after->tasks.n);
	if (result < 0) {
		cpu_report_free(&r);
		return result;
	}
	*ret = r;
	return 0;
}
