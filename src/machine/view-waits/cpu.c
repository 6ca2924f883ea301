#include "machine/view-waits/cpu.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/view/json.h"

#define LEAST_SHARE 0.0005 /* of a CPU: what is less is in the sum of the others */

static double share(const struct cpu_report *r, uint64_t ns)
{
	return r->span > 0 ? (double)ns / (double)r->span : 0;
}

static double percent(const struct cpu_report *r, uint64_t ns)
{
	return 100 * share(r, ns);
}

static void print_row(const struct cpu_report *r, const struct cpu_row *row, FILE *out)
{
	uint64_t exact = row->ran + row->stolen;

	fprintf(out, "  %7u %-16s %8.2f", row->thread ? row->thread : row->process, row->name, percent(r, row->ran));
	if (!r->of_events)
		fprintf(out, " %8.2f %+8.2f", percent(r, row->ticks), percent(r, row->ticks) - percent(r, exact));
	fprintf(out, " %8.2f %8.2f\n", percent(r, row->waited), percent(r, row->imposed));
}

static void print_rows(const struct cpu_report *r, bool threads, size_t top, FILE *out)
{
	size_t n = threads ? r->threads.n : r->processes.n, rest = 0;
	const struct cpu_row *rows = threads ? r->threads.v : r->processes.v;
	struct cpu_row others = {.name = "(others)"};

	for (size_t i = 0; i < n; i++) {
		if (i < top && share(r, rows[i].ran) >= LEAST_SHARE) {
			print_row(r, &rows[i], out);
			continue;
		}
		rest++;
		others.ran += rows[i].ran;
		others.stolen += rows[i].stolen;
		others.ticks += rows[i].ticks;
		others.waited += rows[i].waited;
		others.imposed += rows[i].imposed;
	}
	others.process = (uint32_t)rest;
	if (rest)
		print_row(r, &others, out);
}

static void print_interrupts(const struct cpu_report *r, FILE *out)
{
	fprintf(out, "  %7s %-16s %8.2f\n", "", "interrupts", percent(r, r->interrupted));
	for (size_t i = 0; i < r->interrupts.n; i++)
		if (share(r, r->interrupts.v[i].took) >= LEAST_SHARE / 5)
			fprintf(out, "          - %-32s %6.2f\n", r->interrupts.v[i].name, percent(r, r->interrupts.v[i].took));
	fprintf(out, "  %7s %-16s %8.2f\n", "", "idle", percent(r, r->idle));
	if (r->steal != CPU_STEAL_UNKNOWN)
		fprintf(out, "  %7s %-16s %8.2f   taken by other guests of the host; part of the rows above\n", "", "steal",
			percent(r, (uint64_t)r->steal));
	fprintf(out, "  %7s %-16s %8.2f\n", "", "unknown", 100 * (double)r->unknown / (double)r->span);
}

static void print_queue(const struct cpu_report *r, FILE *out)
{
	fprintf(out, "Threads on or waiting for a CPU: %.2f on average over time", r->queue);
	if (!r->of_events)
		fprintf(out, "; at the timer's interrupts, where samplers look: %.2f", r->queue_seen);
	fputc('\n', out);
}

static void print_bursts(const struct cpu_report *r, FILE *out)
{
	static const char *const sizes[RING_BURSTS] = {"1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "65 and more"};
	uint64_t clumped = 0;
	bool first = true;

	for (int i = 1; i < RING_BURSTS; i++)
		clumped += r->bursts[i];
	if (!clumped)
		return;
	fputs("One timer interrupt woke several threads at once:", out);
	for (int i = 1; i < RING_BURSTS; i++)
		if (r->bursts[i]) {
			fprintf(out, "%s %" PRIu64 " x %s", first ? "" : ",", r->bursts[i], sizes[i]);
			first = false;
		}
	fputs(" threads. Such clumps make sampled queue lengths too high on a calm machine\n", out);
}

void cpu_text(const struct cpu_report *r, bool threads, size_t top, FILE *out)
{
	fprintf(out, "%u CPUs over %s%s, in percent of one CPU; exact, from every switch\n", r->n_cpus,
		CLOCK_SPAN(r->span), r->live || r->of_events ? "" : " (no recorder: watched for this answer)");
	fprintf(out, "  %7s %-16s %8s%s %8s %8s\n", threads ? "tid" : "pid", "", "exact", r->of_events ? "" : "  by tick tick err", "waited",
		"imposed");
	print_rows(r, threads, top, out);
	print_interrupts(r, out);
	if (!r->of_events)
		fprintf(out, "The timer's sampling, which most tools print, puts %.2f of %.2f on the wrong thread or nowhere\n",
			percent(r, r->ticks_wrong), percent(r, r->ran + r->stolen));
	print_queue(r, out);
	print_bursts(r, out);
	fputs("waited: ready to run but not running. imposed: what others waited for its CPU while it ran\n", out);
}

static json_t *row_json(const struct cpu_report *r, const struct cpu_row *row)
{
	json_t *o = json_pack("{s:I, s:s, s:I, s:f, s:f, s:f, s:f, s:f}", "pid", (json_int_t)row->process, "name", row->name,
			      "uid", (json_int_t)row->uid, "cpu", share(r, row->ran), "interrupts", share(r, row->stolen),
			      "by_tick", share(r, row->ticks), "waited", share(r, row->waited), "imposed",
			      share(r, row->imposed));

	if (o && r->of_events)
		json_object_set_new(o, "by_tick", json_null());
	if (o && row->thread)
		json_object_set_new(o, "tid", json_integer(row->thread));
	else if (o)
		json_object_set_new(o, "threads", json_integer(row->threads));
	return o;
}

int cpu_json(const struct cpu_report *r, bool threads, size_t top, FILE *out)
{
	size_t n = threads ? r->threads.n : r->processes.n;
	const struct cpu_row *rows = threads ? r->threads.v : r->processes.v;
	static const char *const by_timer[] = {"by_tick", "tick_off", "queue_at_timer", "queue_lengths", "timer_bursts", "largest_burst"};
	json_t *o;

	o = json_pack("{s:s, s:f, s:I, s:b, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:I, s:I, s:I}", "schema",
		      "whyslow.cpu/1", "span", (double)r->span / 1e9, "cpus", (json_int_t)r->n_cpus, "recorded", r->live,
		      threads ? "threads" : "processes", JSON_FIRST(x, rows, top < n ? top : n, row_json(r, x)), "interrupts", JSON_EACH(x,
			r->interrupts, json_pack("{s:s, s:f}", "kind", x->name, "cpu", share(r, x->took))), "cpu", share(r, r->ran),
		      "interrupted", share(r, r->interrupted), "idle", share(r, r->idle), "unknown",
		      (double)r->unknown / (double)r->span, "by_tick", share(r, r->ticks), "tick_off", share(r, r->ticks_wrong),
		      "queue", r->queue, "queue_at_timer", r->of_events ? 0 : r->queue_seen, "queue_lengths", JSON_COUNT(i,
			RING_LENGTHS, json_real(share(r, r->at_length[i]) / (r->n_cpus ? r->n_cpus : 1))), "timer_bursts",
		      JSON_COUNT(i, RING_BURSTS, json_integer((json_int_t)r->bursts[i])), "largest_burst", (json_int_t)r->largest_burst, "switches", (json_int_t)r->switches,
		      "wakeups", (json_int_t)r->wakeups);
	if (!o)
		return -ENOMEM;
	json_object_set_new(o, "steal", r->steal == CPU_STEAL_UNKNOWN ? json_null() : json_real(share(r, (uint64_t)r->steal)));
	if (r->of_events)
		for (size_t i = 0; i < ARRAY_SIZE(by_timer); i++)
			json_object_set_new(o, by_timer[i], json_null());
	json_print(o, JSON_INDENT(2) | JSON_REAL_PRECISION(6), out);
	return 0;
}
