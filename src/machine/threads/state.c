#include "machine/threads/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "machine/threads/state-build.h"

#define TID_MAX (1u << 22) /* the kernel's own bound */

/* Nothing stands in a run queue while its CPU is idle: up to then it is not known what it did. */
static void doubt_queueing(struct build *b, struct thread_line *line, size_t index)
{
	struct interval *i = &line->intervals.v[index];
	const struct cpu_line *cpu = &b->t->cpus.v[i->cpu];
	int64_t idle_until = i->start;

	for (size_t s = segment_find(cpu, i->start); s < cpu->segments.n && cpu->segments.v[s].start < i->end; s++) {
		int64_t end = s + 1 < cpu->segments.n ? cpu->segments.v[s + 1].start : cpu->end;

		if (cpu->segments.v[s].kind == SEGMENT_IDLE)
			idle_until = end < i->end ? end : i->end;
	}
	if (idle_until == i->end) {
		i->state = STATE_UNKNOWN;
	} else if (idle_until > i->start) {
		state_interval_split(b, (uint32_t)(line - b->t->threads.v), index, idle_until);
		if (!b->error)
			line->intervals.v[index].state = STATE_UNKNOWN;
	}
}

static bool is_lasting(uint8_t state)
{
	return state_table[state].group == GROUP_RESTING || state_table[state].wait >= FOR_PEER;
}

/* It slept, and was woken: most likely for what it sleeps next, if that is a thing one sleeps long for. */
static void guess_sleep(struct thread_line *line, struct interval *i)
{
	VEC_EACH(x, line->intervals) {
		enum state_group group = state_table[x->state].group;

		if (x == i || (group != GROUP_BLOCKED && group != GROUP_RESTING))
			continue;
		if (is_lasting(x->state))
			i->state = x->state;
		return;
	}
}

/* After all events: a thread's state before its first event follows from the rest of the trace. */
static void state_infer_beginnings(struct build *b)
{
	for (size_t n = 0; n < b->t->threads.n && !b->error; n++) {
		struct thread_line *line = &b->t->threads.v[n];

		for (size_t i = 0; i < line->intervals.n && i < 2; i++) {
			struct interval *x = &line->intervals.v[i];

			if (!(x->flags & INTERVAL_INFERRED))
				continue;
			if (x->state == STATE_RUNNABLE)
				doubt_queueing(b, line, i);
			else if (x->state == STATE_OTHER)
				guess_sleep(line, x);
			break;
		}
	}
}

/* --- who there is --- */

static uint32_t intern(struct timeline *t, struct hmap *known, const char *name)
{
	uint64_t hash = hmap_hash_text(name);
	uintptr_t index = (uintptr_t)hmap_get(known, hash, 0);
	char *copy;

	if (index)
		return (uint32_t)index - 1;
	copy = strdup(name);
	if (VEC_PUSH_OWNER(t->names, copy, copy) < 0)
		return NOBODY;
	(void)hmap_put(known, hash, 0, (void *)(uintptr_t)t->names.n);
	return (uint32_t)t->names.n - 1;
}

/* "kworker/0:1H" and "kworker/u8:3" are one program, as are "ksoftirqd/0" and "ksoftirqd/1". */
static uint32_t kernel_program(struct timeline *t, struct hmap *known, const char *comm)
{
	char name[TRACE_COMM + 1];

	snprintf(name, sizeof(name), "%s", comm);
	name[strcspn(name, "/0123456789")] = 0;
	return intern(t, known, name[0] ? name : comm);
}

static uint32_t program_of(struct build *b, struct hmap *known, const struct trace_thread *thread)
{
	_cleanup_free_ char *name = NULL;

	if (thread->flags & THREAD_IS_KERNEL)
		return kernel_program(b->t, known, thread->comm);
	name = trace_program(b->trace, thread);
	return name ? intern(b->t, known, name) : NOBODY;
}

static int add_line(struct build *b, const struct thread_line *line, int64_t born)
{
	struct thread_now now = {.open = {.start = born,
					  .waker = NOBODY,
					  .holder = NOBODY,
					  .object = NOBODY,
					  .request = NOBODY,
					  .near = NOBODY}};

	return VEC_PUSH(b->t->threads, *line) < 0 || VEC_PUSH(b->now, now) < 0 ? -ENOMEM : 0;
}

static int add_lines(struct build *b, struct hmap *known)
{
	for (size_t i = 0; i < b->trace->threads.n; i++) {
		const struct trace_thread *thread = &b->trace->threads.v[i];
		int64_t born = (int64_t)thread->start > b->t->origin ? (int64_t)thread->start : b->t->origin;
		struct thread_line line = {
			.tid = thread->tid,
			.tgid = thread->tgid,
			.comm = thread->comm,
			.kernel = thread->flags & THREAD_IS_KERNEL,
			.self = thread->flags & THREAD_IS_SELF,
			.program = program_of(b, known, thread),
			.unit = thread->unit ? intern(b->t, known, thread->unit) : NOBODY,
		};

		if (line.program == NOBODY || add_line(b, &line, born) < 0)
			return -ENOMEM;
		b->now.v[i].ended = thread->tid == 0; /* the idle thread is none of the timeline's */
		if (thread->tid < b->tids && !b->by_tid[thread->tid])
			b->by_tid[thread->tid] = (uint32_t)i + 1;
	}
	return 0;
}

static uint32_t add_unlisted(struct build *b, uint32_t tid)
{
	struct thread_line line = {.tid = tid, .tgid = tid, .comm = "?", .unit = NOBODY};
	uint32_t index = (uint32_t)b->t->threads.n;

	if (add_line(b, &line, b->t->origin) < 0 || hmap_put(&b->extra, tid, 0, (void *)(uintptr_t)(index + 1)) < 0) {
		b->error = -ENOMEM;
		return NOBODY;
	}
	return index;
}

uint32_t state_thread(struct build *b, uint32_t tid, int64_t time)
{
	const struct trace_thread *threads = b->trace->threads.v;
	uint32_t index = tid < b->tids ? b->by_tid[tid] : 0;
	uintptr_t extra;

	if (index) {
		while (index < b->trace->threads.n && threads[index].tid == tid && (int64_t)threads[index].start <= time)
			index++;
		return index - 1;
	}
	if (!tid)
		return NOBODY;
	extra = (uintptr_t)hmap_get(&b->extra, tid, 0);
	return extra ? (uint32_t)extra - 1 : add_unlisted(b, tid);
}

/* --- from beginning to end --- */

static void ignore(struct build *b, const struct event *e)
{
	(void)b;
	(void)e;
}

static void (*const handlers[EVENT_KIND_END])(struct build *, const struct event *) = {
	[EVENT_NONE] = ignore,
	[EVENT_SWITCH] = state_on_switch,
	[EVENT_WAKEUP] = state_on_wakeup,
	[EVENT_MIGRATE] = state_on_migrate,
	[EVENT_FORK] = ignore,
	[EVENT_EXEC] = state_on_exec,
	[EVENT_EXIT] = ignore,
	[EVENT_NAME] = ignore,
	[EVENT_IRQ] = state_on_interrupt,
	[EVENT_SOFTIRQ] = state_on_interrupt,
	[EVENT_BLOCK_INSERT] = state_on_block,
	[EVENT_BLOCK_ISSUE] = state_on_block,
	[EVENT_BLOCK_COMPLETE] = state_on_block,
	[EVENT_RECLAIM_BEGIN] = state_on_reclaim,
	[EVENT_RECLAIM_END] = state_on_reclaim,
	[EVENT_MARKER] = ignore,
	[EVENT_MARKER_TEXT] = ignore,
	[EVENT_SAMPLE] = state_on_sample,
	[EVENT_WAITED] = state_on_waited,
	[EVENT_LOCK] = state_on_lock,
	[EVENT_QUOTA] = state_on_quota,
	[EVENT_DIRTIED] = state_on_dirtied,
};

static int open_cpus(struct build *b)
{
	const struct trace *trace = b->trace;

	b->t->start = (int64_t)trace->from;
	b->t->end = (int64_t)trace->to;
	b->t->origin = b->t->start;
	b->cpus = calloc(trace->n_cpus + 1, sizeof(*b->cpus));
	if (!b->cpus)
		return -ENOMEM;
	for (uint32_t i = 0; i < trace->n_cpus; i++) {
		const struct trace_cpu *cpu = &trace->cpus[i];
		int64_t from = cpu->to ? (int64_t)cpu->from : b->t->start;

		if (VEC_PUSH(b->t->cpus, (struct cpu_line){.start = from, .end = b->t->end}) < 0)
			return -ENOMEM;
		b->cpus[i].completed = NOBODY;
		b->t->faults.lost += cpu->torn + cpu->skipped;
		b->t->faults.unknown_kinds += cpu->unknown;
		if (cpu->there && from < b->t->origin)
			b->t->origin = from;
	}
	return trace->n_cpus && b->t->end > b->t->start ? 0 : -ENODATA;
}

static int open_threads(struct build *b)
{
	struct hmap known = {};
	int r;

	for (size_t i = 0; i < b->trace->threads.n; i++)
		if (b->trace->threads.v[i].tid >= b->tids && b->trace->threads.v[i].tid < TID_MAX)
			b->tids = b->trace->threads.v[i].tid + 1;
	b->by_tid = calloc(b->tids + 1, sizeof(*b->by_tid));
	if (!b->by_tid)
		return -ENOMEM;
	r = add_lines(b, &known);
	hmap_free(&known);
	if (b->tids)
		b->by_tid[0] = 0;
	return r;
}

static void count_thread(const struct build *b, uint32_t *counts, uint32_t tid)
{
	uint32_t index = tid < b->tids ? b->by_tid[tid] : 0;

	if (index)
		counts[index - 1]++;
}

/* Intervals and segments that so many events can make get their room at once: to grow by copies took a third of the time. Where another thread
 * had the number before, or none is known, they grow as they come. */
static int reserve_lines(struct build *b)
{
	struct timeline *t = b->t;
	_cleanup_free_ uint32_t *counts = calloc(t->threads.n + t->cpus.n, sizeof(*counts));
	uint32_t *of_cpu = counts ? counts + t->threads.n : NULL;
	int r = counts ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < b->trace->n_events; i++) {
		const struct event *e = &b->trace->events[i];

		if (e->kind == EVENT_SWITCH || e->kind == EVENT_WAKEUP)
			count_thread(b, counts, e->thread);
		if (e->kind == EVENT_SWITCH && e->cpu < t->cpus.n) {
			count_thread(b, counts, e->out.next);
			of_cpu[e->cpu]++;
		}
	}
	for (size_t i = 0; r == 0 && i < t->threads.n; i++)
		r = counts[i] ? VEC_RESERVE(t->threads.v[i].intervals, counts[i] + 1) : 0;
	for (size_t i = 0; r == 0 && i < t->cpus.n; i++)
		r = VEC_RESERVE(t->cpus.v[i].segments, of_cpu[i] + 1);
	return r;
}

static void read_events(struct build *b)
{
	for (size_t i = 0; i < b->trace->n_events && !b->error; i++) {
		const struct event *e = &b->trace->events[i];

		if (e->kind >= EVENT_KIND_END)
			b->t->faults.unknown_kinds++;
		else if (e->cpu >= b->t->cpus.n || (int64_t)e->time > b->t->end || (int64_t)e->time < b->t->cpus.v[e->cpu].start)
			b->t->faults.bad_numbers++;
		else
			handlers[e->kind](b, e);
	}
}

static void free_build(struct build *b)
{
	FREE_ALL(b->cpus, b->by_tid);
	VEC_FREE(b->now);
	VEC_FREE(b->flying);
	hmap_free(&b->extra);
	hmap_free(&b->locks);
	hmap_free(&b->requests);
	hmap_free(&b->owners);
}

int timeline_build(const struct trace *trace, struct timeline *ret)
{
	struct timeline t = {.trace = trace};
	_cleanup_(free_build) struct build b = {.t = &t, .trace = trace};

	b.error = open_cpus(&b);
	if (!b.error)
		b.error = open_threads(&b);
	if (!b.error)
		b.error = reserve_lines(&b);
	if (!b.error)
		read_events(&b);
	if (!b.error)
		state_cpus_finish(&b);
	if (!b.error)
		state_threads_finish(&b);
	if (!b.error)
		state_infer_beginnings(&b);
	if (b.error) {
		timeline_free(&t);
		return b.error;
	}
	*ret = t;
	return 0;
}

int timeline_find(const struct timeline *t, uint32_t number, uint32_t **ret)
{
	uint32_t *found = calloc(t->threads.n + 1, sizeof(*found));
	int n = 0;

	if (!found)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->threads.n; i++)
		if (t->threads.v[i].tgid == number && t->threads.v[i].tid)
			found[n++] = i;
	for (uint32_t i = 0; n == 0 && i < t->threads.n; i++)
		if (t->threads.v[i].tid == number && number)
			found[n++] = i;
	*ret = found;
	return n;
}
