/* Perfetto's trace format: protobuf, by the public schema's field numbers (docs/decisions/0012-blame.md names the files).
 *
 * The scheduler's events are written again from the timeline, so that what a reader sums up is what whyslow says:
 * a thread's running, runnable and blocked time are the same to the nanosecond. Waits are slices on the threads' tracks;
 * a flow leads from who woke a thread to the thread. Interrupts are tracks of their own under the CPUs.
 */
#include <errno.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/input/protobuf.h"
#include "machine/view-waits/waits-words.h"

enum { /* TracePacket */
	PACKET_FTRACE = 1,
	PACKET_PROCESSES = 2,
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK = 60,
};
enum { BUNDLE_CPU = 1, BUNDLE_EVENT = 2 };
enum { EVENT_TIMESTAMP = 1, EVENT_PID = 2, EVENT_SCHED_SWITCH = 4, EVENT_FLAGS = 5, EVENT_BLOCKED = 18, EVENT_WAKING = 20 };
enum { TRACK_EVENT_ANNOTATION = 4, TRACK_EVENT_TYPE = 9, TRACK_EVENT_UUID = 11, TRACK_EVENT_CATEGORY = 22, TRACK_EVENT_NAME = 23,
       TRACK_EVENT_FLOW = 47, TRACK_EVENT_FLOW_END = 48 };
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };
enum { CLOCK_IS_REALTIME = 1, CLOCK_IS_MONOTONIC = 3, CLOCK_IS_BOOTTIME = 6 };

#define SEQUENCE      1
#define BUNDLE_EVENTS 2048
#define UUID_THREAD   0x1000000000ull
#define UUID_CPU      0x2000000000ull
#define PREEMPTED     0x100 /* prev_state: still runnable, shown as R+ */

struct writer {
	const struct timeline *t;
	int64_t from, to;
	FILE *out;
	struct str bundle;
	unsigned bundled;
	uint64_t flow;
	bool lost; /* a packet, for want of memory */
};

static uint64_t stamp(const struct writer *w, int64_t at)
{
	return (uint64_t)(at + w->t->trace->boot_offset);
}

/* A packet of one thing: the Trace is nothing but packets, each field 1. */
static void put_packet(struct writer *w, int64_t at, uint32_t field, const struct str *message)
{
	_cleanup_(str_free) struct str packet = {};
	_cleanup_(str_free) struct str framed = {};

	protobuf_put_number(&packet, PACKET_TIMESTAMP, stamp(w, at));
	protobuf_put_message(&packet, field, message);
	protobuf_put_number(&packet, PACKET_SEQUENCE, SEQUENCE);
	protobuf_put_number(&packet, PACKET_SEQUENCE_FLAGS, field == PACKET_CLOCKS ? 1 : 2);
	protobuf_put_message(&framed, 1, &packet);
	if (framed.len)
		fwrite(framed.data, 1, framed.len, w->out);
	else
		w->lost = true;
}

/* ---- who and when ---- */

static void put_clock(struct str *s, uint32_t id, int64_t at)
{
	_cleanup_(str_free) struct str clock = {};

	protobuf_put_number(&clock, 1, id);
	protobuf_put_number(&clock, 2, (uint64_t)at);
	protobuf_put_message(s, 1, &clock);
}

static void put_clocks(struct writer *w)
{
	_cleanup_(str_free) struct str clocks = {};

	put_clock(&clocks, CLOCK_IS_BOOTTIME, (int64_t)stamp(w, w->from));
	put_clock(&clocks, CLOCK_IS_MONOTONIC, w->from);
	put_clock(&clocks, CLOCK_IS_REALTIME, trace_wall(w->t->trace, (uint64_t)w->from));
	protobuf_put_number(&clocks, 2, CLOCK_IS_BOOTTIME);
	put_packet(w, w->from, PACKET_CLOCKS, &clocks);
}

static void put_processes(struct writer *w)
{
	_cleanup_(str_free) struct str tree = {};

	for (size_t i = 0; i < w->t->threads.n; i++) {
		const struct thread_line *line = &w->t->threads.v[i];
		_cleanup_(str_free) struct str one = {};

		if (!line->tid)
			continue;
		if (line->tid == line->tgid) {
			protobuf_put_number(&one, 1, line->tgid);
			protobuf_put_number(&one, 2, i < w->t->trace->threads.n ? w->t->trace->threads.v[i].parent : 0);
			protobuf_put_text(&one, 3, line->kernel ? line->comm : w->t->names.v[line->program]);
			protobuf_put_message(&tree, 1, &one);
			str_clear(&one);
		}
		protobuf_put_number(&one, 1, line->tid);
		protobuf_put_text(&one, 2, line->comm);
		protobuf_put_number(&one, 3, line->tgid);
		protobuf_put_message(&tree, 2, &one);
	}
	put_packet(w, w->from, PACKET_PROCESSES, &tree);
}

/* ---- the scheduler's events ---- */

static void flush_bundle(struct writer *w, uint32_t cpu)
{
	if (!w->bundled)
		return;
	protobuf_put_number(&w->bundle, BUNDLE_CPU, cpu);
	put_packet(w, w->from, PACKET_FTRACE, &w->bundle);
	str_clear(&w->bundle);
	w->bundled = 0;
}

static void put_event(struct writer *w, uint32_t cpu, int64_t at, uint32_t pid, uint32_t flags, uint32_t field,
		      const struct str *message)
{
	_cleanup_(str_free) struct str event = {};

	protobuf_put_number(&event, EVENT_TIMESTAMP, stamp(w, at));
	protobuf_put_number(&event, EVENT_PID, pid);
	if (flags)
		protobuf_put_number(&event, EVENT_FLAGS, flags);
	protobuf_put_message(&event, field, message);
	protobuf_put_message(&w->bundle, BUNDLE_EVENT, &event);
	if (++w->bundled == BUNDLE_EVENTS)
		flush_bundle(w, cpu);
}

static uint32_t tid_of(const struct writer *w, uint32_t thread)
{
	return thread == NOBODY ? 0 : w->t->threads.v[thread].tid;
}

static const char *comm_of(const struct writer *w, uint32_t thread)
{
	return thread == NOBODY ? "swapper" : w->t->threads.v[thread].comm;
}

/* The kernel's TASK_ bits for the state it left into. */
static uint64_t state_bits(const struct writer *w, uint32_t thread, int64_t at)
{
	static const uint16_t uninterruptible[] = {STATE_DISK, STATE_FAULT, STATE_KERNEL_LOCK, STATE_RECLAIM, STATE_UNINTERRUPTIBLE};
	const struct thread_line *line;
	size_t i;

	if (thread == NOBODY)
		return 0;
	line = &w->t->threads.v[thread];
	i = interval_find(line, at);
	if (i == line->intervals.n)
		return TASK_STATE_ENDED;
	for (size_t k = 0; k < sizeof(uninterruptible) / sizeof(*uninterruptible); k++)
		if (line->intervals.v[i].state == uninterruptible[k])
			return 2;
	if (line->intervals.v[i].state == STATE_STOPPED)
		return 4;
	return state_table[line->intervals.v[i].state].group == GROUP_RUNNABLE ? PREEMPTED : 1;
}

static void put_switch(struct writer *w, uint32_t cpu, int64_t at, uint32_t prev, uint32_t next)
{
	_cleanup_(str_free) struct str s = {};

	protobuf_put_text(&s, 1, comm_of(w, prev));
	protobuf_put_number(&s, 2, tid_of(w, prev));
	protobuf_put_number(&s, 3, 120);
	protobuf_put_number(&s, 4, state_bits(w, prev, at));
	protobuf_put_text(&s, 5, comm_of(w, next));
	protobuf_put_number(&s, 6, tid_of(w, next));
	protobuf_put_number(&s, 7, 120);
	put_event(w, cpu, at, tid_of(w, prev), 0, EVENT_SCHED_SWITCH, &s);
}

/* A thread had a CPU without a break, interrupts included. */
struct stint {
	int64_t start, end;
	uint32_t thread;
	uint16_t cpu;
};

struct stints {
	VEC(struct stint) list; /* by CPU, then by start */
};

ORDER(by_cpu_and_start, struct stint, ASCENDING(cpu) ?: ASCENDING(start))

static int add_stints(struct writer *w, uint32_t thread, struct stints *s)
{
	const struct thread_line *line = &w->t->threads.v[thread];

	for (size_t i = interval_find(line, w->from); i < line->intervals.n && line->intervals.v[i].start < w->to; i++) {
		const struct interval *x = &line->intervals.v[i];
		int64_t start = x->start > w->from ? x->start : w->from, end = x->end < w->to ? x->end : w->to;
		struct stint *last = s->list.n ? &s->list.v[s->list.n - 1] : NULL;

		if (state_table[x->state].group != GROUP_RUNNING)
			continue;
		if (last && last->thread == thread && last->end == start && last->cpu == x->cpu)
			last->end = end;
		else if (VEC_PUSH(s->list, (struct stint){start, end, thread, x->cpu}) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void put_stint(struct writer *w, const struct stint *before, const struct stint *x, const struct stint *after)
{
	bool follows = before && before->cpu == x->cpu && before->end == x->start;
	bool goes_on = after && after->cpu == x->cpu && after->start == x->end;

	put_switch(w, x->cpu, x->start, follows ? before->thread : NOBODY, x->thread);
	if (!goes_on)
		put_switch(w, x->cpu, x->end, x->thread, NOBODY);
	if (!after || after->cpu != x->cpu)
		flush_bundle(w, x->cpu);
}

static int put_switches(struct writer *w)
{
	struct stints s = {};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < w->t->threads.n; i++)
		r = add_stints(w, i, &s);
	VEC_SORT(s.list, by_cpu_and_start);
	for (size_t i = 0; r == 0 && i < s.list.n; i++)
		put_stint(w, i ? &s.list.v[i - 1] : NULL, &s.list.v[i], i + 1 < s.list.n ? &s.list.v[i + 1] : NULL);
	VEC_FREE(s.list);
	return r;
}

static uint32_t context_flags(uint8_t kind)
{
	return kind == WAKER_TIMER || kind == WAKER_IRQ || kind == WAKER_BLOCK ? 0x08 : kind == WAKER_NETWORK ? 0x10 : 0;
}

/* `next` begins with the thread in a run queue, and `i` was none: something woke it. */
static void put_waking(struct writer *w, const struct thread_line *line, const struct interval *i, const struct interval *next)
{
	_cleanup_(str_free) struct str s = {};

	if (i->state == STATE_DISK || i->state == STATE_FAULT) {
		_cleanup_(str_free) struct str reason = {};

		protobuf_put_number(&reason, 1, line->tid);
		protobuf_put_number(&reason, 3, 1);
		put_event(w, next->cpu, next->start, tid_of(w, i->waker), 0, EVENT_BLOCKED, &reason);
	}
	protobuf_put_text(&s, 1, line->comm);
	protobuf_put_number(&s, 2, line->tid);
	protobuf_put_number(&s, 3, 120);
	protobuf_put_number(&s, 4, 1);
	protobuf_put_number(&s, 5, next->cpu);
	put_event(w, next->cpu, next->start, tid_of(w, i->waker), context_flags(i->waker_kind), EVENT_WAKING, &s);
}

static bool rests(const struct interval *i)
{
	enum state_group g = state_table[i->state].group;

	return g == GROUP_BLOCKED || g == GROUP_RESTING || g == GROUP_UNKNOWN;
}

static void put_wakings(struct writer *w)
{
	for (size_t n = 0; n < w->t->threads.n; n++) {
		const struct thread_line *line = &w->t->threads.v[n];

		for (size_t i = interval_find(line, w->from); i + 1 < line->intervals.n && line->intervals.v[i + 1].start < w->to; i++)
			if (rests(&line->intervals.v[i]) && state_table[line->intervals.v[i + 1].state].group == GROUP_RUNNABLE)
				put_waking(w, line, &line->intervals.v[i], &line->intervals.v[i + 1]);
	}
	flush_bundle(w, 0);
}

/* ---- tracks ---- */

static void put_thread_track(struct writer *w, uint32_t thread)
{
	_cleanup_(str_free) struct str track = {};
	_cleanup_(str_free) struct str descriptor = {};

	protobuf_put_number(&track, 1, UUID_THREAD + thread);
	protobuf_put_number(&descriptor, 1, w->t->threads.v[thread].tgid);
	protobuf_put_number(&descriptor, 2, w->t->threads.v[thread].tid);
	protobuf_put_text(&descriptor, 5, w->t->threads.v[thread].comm);
	protobuf_put_message(&track, 4, &descriptor);
	put_packet(w, w->from, PACKET_TRACK, &track);
}

static void put_annotation(struct str *event, const char *name, const char *value)
{
	_cleanup_(str_free) struct str annotation = {};

	protobuf_put_text(&annotation, 10, name);
	protobuf_put_text(&annotation, 6, value);
	protobuf_put_message(event, TRACK_EVENT_ANNOTATION, &annotation);
}

static void put_slice_end(struct writer *w, uint64_t uuid, int64_t at)
{
	_cleanup_(str_free) struct str event = {};

	protobuf_put_number(&event, TRACK_EVENT_TYPE, SLICE_END);
	protobuf_put_number(&event, TRACK_EVENT_UUID, uuid);
	put_packet(w, at, PACKET_TRACK_EVENT, &event);
}

static void begin_event(struct str *event, uint32_t type, uint64_t uuid, const char *name)
{
	protobuf_put_number(event, TRACK_EVENT_TYPE, type);
	protobuf_put_number(event, TRACK_EVENT_UUID, uuid);
	protobuf_put_text(event, TRACK_EVENT_CATEGORY, "whyslow");
	protobuf_put_text(event, TRACK_EVENT_NAME, name);
}

/* Where the waker stood when it woke the thread: the flow's beginning. */
static void put_flow_begin(struct writer *w, const struct interval *i)
{
	_cleanup_(str_free) struct str event = {};

	begin_event(&event, INSTANT, UUID_THREAD + i->waker, "wakes");
	protobuf_put_fixed64(&event, TRACK_EVENT_FLOW, ++w->flow);
	put_packet(w, i->end, PACKET_TRACK_EVENT, &event);
}

static void put_wait_slice(struct writer *w, uint32_t thread, const struct interval *i)
{
	int64_t start = i->start > w->from ? i->start : w->from, end = i->end < w->to ? i->end : w->to;
	_cleanup_(str_free) struct str event = {};
	char label[LABEL_SIZE];

	begin_event(&event, SLICE_BEGIN, UUID_THREAD + thread, state_table[i->state].text);
	if (i->holder != NOBODY)
		put_annotation(&event, "held by", waits_thread_label(w->t, i->holder, label, sizeof(label)));
	if (i->waker != NOBODY)
		put_annotation(&event, "woken by", waits_thread_label(w->t, i->waker, label, sizeof(label)));
	put_packet(w, start, PACKET_TRACK_EVENT, &event);
	put_slice_end(w, UUID_THREAD + thread, end);
	if (i->waker == NOBODY || i->end > w->to)
		return;
	put_flow_begin(w, i);
	str_clear(&event);
	begin_event(&event, INSTANT, UUID_THREAD + thread, "woken");
	protobuf_put_fixed64(&event, TRACK_EVENT_FLOW_END, w->flow);
	put_packet(w, i->end, PACKET_TRACK_EVENT, &event);
}

static void put_tracks(struct writer *w)
{
	for (uint32_t n = 0; n < w->t->threads.n; n++)
		if (w->t->threads.v[n].tid)
			put_thread_track(w, n);
	for (uint32_t n = 0; n < w->t->threads.n; n++) {
		const struct thread_line *line = &w->t->threads.v[n];

		for (size_t i = interval_find(line, w->from); i < line->intervals.n && line->intervals.v[i].start < w->to; i++)
			if (state_table[line->intervals.v[i].state].wait != FOR_NONE)
				put_wait_slice(w, n, &line->intervals.v[i]);
	}
}

static void put_cpu_slice(struct writer *w, uint32_t cpu, const struct segment *s, int64_t end)
{
	_cleanup_(str_free) struct str event = {};
	char name[LABEL_SIZE];

	if (s->kind == SEGMENT_SOFTIRQ)
		snprintf(name, sizeof(name), "softirq %s", waits_softirq_name(s->who));
	else
		snprintf(name, sizeof(name), s->who ? "interrupt %u" : "timer interrupt", s->who);
	begin_event(&event, SLICE_BEGIN, UUID_CPU + cpu, name);
	put_packet(w, s->start > w->from ? s->start : w->from, PACKET_TRACK_EVENT, &event);
	put_slice_end(w, UUID_CPU + cpu, end < w->to ? end : w->to);
}

static void put_cpu_track(struct writer *w, uint32_t cpu)
{
	const struct cpu_line *line = &w->t->cpus.v[cpu];
	_cleanup_(str_free) struct str track = {};

	protobuf_put_number(&track, 1, UUID_CPU + cpu);
	protobuf_put_text(&track, 2, STR_TEXT(LABEL_SIZE, "interrupts of CPU %u", cpu));
	put_packet(w, w->from, PACKET_TRACK, &track);
	for (size_t i = 0; i < line->segments.n && line->segments.v[i].start < w->to; i++) {
		int64_t end = i + 1 < line->segments.n ? line->segments.v[i + 1].start : line->end;

		if (end > w->from && (line->segments.v[i].kind == SEGMENT_IRQ || line->segments.v[i].kind == SEGMENT_SOFTIRQ))
			put_cpu_slice(w, cpu, &line->segments.v[i], end);
	}
}

int waits_perfetto(const struct timeline *t, int64_t from, int64_t to, FILE *out)
{
	struct writer w = {.t = t, .from = from, .to = to, .out = out};
	int r;

	put_clocks(&w);
	put_processes(&w);
	r = put_switches(&w);
	put_wakings(&w);
	put_tracks(&w);
	for (uint32_t cpu = 0; cpu < t->cpus.n; cpu++)
		put_cpu_track(&w, cpu);
	str_free(&w.bundle);
	if (r == 0 && w.lost)
		r = -ENOMEM;
	return ferror(out) ? -EIO : r;
}
