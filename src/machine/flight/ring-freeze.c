/* A freeze: what stands in the ring's memory at a moment, as a trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/flight/ring-inside.h"
#include "machine/tracefs/trace-words.h"

#define WRITTEN_WITHIN 1000 /* us: a program that writes a record has it done, without interruption, in a hundredth of that */
#define DESCRIBED_MOST 1000 /* processes, where an answer is waited for: 12 us each */
#define LATE_MAX 4096 /* records; what is later is sorted with the other CPUs' */

/* --- slots --- */

/* A switch that is reported late, or an interrupt by another clock: mostly a few places back. */
static void sort_in(struct event *events, size_t n)
{
	struct event e;

	if (n == 0 || events[n - 1].time <= events[n].time)
		return;
	e = events[n];
	for (size_t left = LATE_MAX; n > 0 && events[n - 1].time > e.time && left > 0; left--, n--)
		events[n] = events[n - 1];
	events[n] = e;
}

/* The one that writes a slot again first says that it holds nothing, and then of which lap it is: what still says the same
 * after it was copied was whole. */
static bool copy_slot(const struct event *slot, uint16_t lap, struct event *ret)
{
	*ret = *slot;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return ret->kind != EVENT_NONE && ret->cpu == lap && __atomic_load_n(&slot->kind, __ATOMIC_RELAXED) == ret->kind &&
	       __atomic_load_n(&slot->cpu, __ATOMIC_RELAXED) == lap;
}

static uint64_t live_head(const struct ring_slice *slice)
{
	return slice->live ? __atomic_load_n(slice->live, __ATOMIC_ACQUIRE) : slice->head;
}

/* The last records are on the stage, unless they went to their place since. */
static bool copy_record(const struct ring_slice *slice, uint64_t at, struct event *ret)
{
	uint16_t lap = (uint16_t)(at / slice->n);
	const struct ring_block *block = slice->stage ? &slice->stage->blocks[at / RING_BLOCK % 2] : NULL;

	if (block && ring_put_away_at(at) > slice->head) {
		bool whole = copy_slot(&block->records[at % RING_BLOCK], lap, ret);

		if (live_head(slice) <= at + RING_STAGED)
			return whole;
	}
	return copy_slot(&slice->slots[at & (slice->n - 1)], lap, ret) && live_head(slice) <= at + slice->n + RING_BLOCK / 2;
}

int ring_read_slice(const struct ring_slice *slice, uint16_t cpu, struct trace *t)
{
	uint64_t room = slice->most && slice->most < slice->n ? slice->most : slice->n;
	uint64_t from = slice->head - slice->begin > room ? slice->head - room : slice->begin;
	struct event *out = trace_reserve(t, slice->head - from);
	struct trace_cpu *c = &t->cpus[cpu];
	uint64_t first = slice->began;
	size_t n = 0;

	if (!out)
		return -ENOMEM;
	c->written += slice->head - slice->begin;
	for (uint64_t at = from; at < slice->head; at++) {
		if (!copy_record(slice, at, &out[n])) {
			c->torn++;
			continue;
		}
		if (n == 0)
			first = out[n].time;
		out[n++].cpu = cpu;
		sort_in(out, n - 1);
	}
	t->n_events += n;
	/* what was overwritten leaves a gap behind what the other generation has */
	if (from != slice->begin)
		c->from = first;
	else if (!c->from)
		c->from = slice->began;
	return 0;
}

static struct ring_slice slice_of(const struct ring *r, uint32_t g, uint32_t cpu, uint64_t head)
{
	return (struct ring_slice){
		.slots = r->events + (cpu * RING_GENERATIONS + g) * r->slots,
		.n = r->slots,
		.begin = ring_begin(r, g)[cpu],
		.head = head,
		.began = r->turns->generations[g].began,
		.stage = &r->staged[cpu * RING_GENERATIONS + g],
		.live = (const uint64_t *)&r->cpus[cpu].head[g],
	};
}

/* most: of each CPU, the newest */
static int read_generation(const struct ring *r, uint32_t g, const uint64_t *heads, uint64_t most, struct trace *t)
{
	for (uint32_t cpu = 0; cpu < r->n_cpus; cpu++) {
		struct ring_slice slice = slice_of(r, g, cpu, heads[cpu]);
		int n;

		slice.most = most;
		n = ring_read_slice(&slice, (uint16_t)cpu, t);
		if (n < 0)
			return n;
	}
	return 0;
}

/* --- threads and stacks --- */

/* The recorder, and its processes that answer questions. */
static bool is_own(const struct ring *r, const struct ring_identity *who)
{
	return who->tgid == r->owner || who->tgid == (uint32_t)getpid() ||
	       (r->forked && (who->tgid == r->forked || who->parent == r->forked));
}

static struct trace_thread identity(const struct ring *r, const struct ring_identity *who)
{
	struct trace_thread thread = {
		.tid = who->tid,
		.tgid = who->tgid,
		.ns_tid = who->ns_tid,
		.ns_tgid = who->ns_tgid,
		.pid_ns = who->pid_ns,
		.parent = who->parent,
		.uid = who->uid,
		.flags = who->flags,
		.prio = who->prio,
		.start = who->start,
		.group = who->group,
	};

	memcpy(thread.comm, who->comm, TRACE_COMM);
	if (is_own(r, who))
		thread.flags |= THREAD_IS_SELF;
	return thread;
}

struct taking {
	const struct ring *ring;
	struct trace *trace;
};

static void take_living(const struct ring_task *task, void *data)
{
	const struct taking *into = data;
	struct trace_thread thread = identity(into->ring, &task->who);

	thread.state = task->state;
	thread.facts = task->facts;
	thread.syscall = task->syscall;
	thread.cpu = task->cpu;
	thread.state_since = task->since;
	thread.object = task->object;
	thread.owner = task->owner;
	thread.lock_flags = task->lock_flags;
	thread.cpu_time = task->cpu_time;
	thread.run_delay = task->run_delay;
	thread.write_bytes = task->write_bytes;
	thread.longest_lately = task->longest_lately;
	thread.longest_before = task->longest_before;
	thread.slept_before = task->slept_before;
	(void)trace_add_thread(into->trace, &thread);
}

static int take_ended(const struct ring *r, uint64_t from, struct trace *t)
{
	uint64_t n = r->counts->ended, first = n > RING_ENDED ? n - RING_ENDED : 0;

	for (uint64_t i = first; i < n; i++) {
		struct ring_ended ended = r->ended[i & (RING_ENDED - 1)];
		struct trace_thread thread;

		if (!ended.end || ended.end < from || ended.end > t->frozen)
			continue;
		thread = identity(r, &ended.who);
		thread.end = ended.end;
		thread.flags |= THREAD_HAS_ENDED;
		thread.state = STATE_ENDED;
		if (trace_add_thread(t, &thread) < 0)
			return -ENOMEM;
	}
	return 0;
}

uint32_t ring_copy_stack(const struct ring *r, stack_ref ref, uint64_t frames[RING_FRAMES])
{
	const struct ring_stack s = r->stacks[ref & (RING_STACKS - 1)];

	if (!ref || s.ref != ref || s.n > RING_FRAMES)
		return 0;
	memcpy(frames, s.frames, s.n * sizeof(*frames));
	return s.n;
}

static int take_stack(const struct ring *r, stack_ref ref, struct trace *t)
{
	uint64_t frames[RING_FRAMES];
	uint32_t n;

	if (!ref || trace_stack(t, ref))
		return 0;
	n = ring_copy_stack(r, ref, frames);
	if (!n) {
		t->stacks_lost++;
		return 0;
	}
	return trace_add_stack(t, ref, frames, n);
}

static int take_stacks(const struct ring *r, struct trace *t)
{
	int n = 0;

	for (size_t i = 0; i < t->n_events && n == 0; i++) {
		const struct event *e = &t->events[i];

		if (e->kind == EVENT_WAKEUP)
			n = take_stack(r, e->wakeup.stack, t);
		else if (e->kind == EVENT_SAMPLE)
			n = take_stack(r, e->sample.kernel, t) ?: take_stack(r, e->sample.user, t);
		else if (e->kind == EVENT_WAITED)
			n = take_stack(r, e->waited.kernel, t) ?: take_stack(r, e->waited.user, t);
	}
	return n;
}

static void describe_kernel(const struct ring *r, struct trace *t)
{
	t->source = "ring";
	t->has_wakers = true;
	t->has_deadlines = r->can.deadlines;
	t->has_quota_clock = r->can.quota_clock;
	t->has_lock_owners = r->can.lock_owners;
	t->has_block = r->can.block;
}

/* --- generations --- */

/* The programs write the other generation from now on. */
static void turn(struct ring *r)
{
	uint32_t rests = r->skel->bss->generation & 1, next = rests ^ 1;

	for (uint32_t i = 0; i < r->n_cpus; i++)
		ring_begin(r, next)[i] = r->cpus[i].head[next];
	__atomic_store_n(&r->skel->bss->generation, next, __ATOMIC_SEQ_CST);
	r->turns->generations[next].began = r->turns->generations[rests].rested = (uint64_t)clock_monotonic();
}

void ring_turn(struct ring *r)
{
	uint32_t g = r->skel->bss->generation & 1;
	int n = ring_is_attached(r) ? pthread_mutex_trylock(&r->turns->lock) : EBUSY;

	if (n == EOWNERDEAD)
		pthread_mutex_consistent(&r->turns->lock);
	else if (n != 0)
		return;
	for (uint32_t i = 0; i < r->n_cpus; i++)
		if (r->cpus[i].head[g] - ring_begin(r, g)[i] >= r->slots) {
			turn(r);
			break;
		}
	pthread_mutex_unlock(&r->turns->lock);
}

static uint64_t note_heads(const struct ring *r, uint32_t g, uint64_t *ret)
{
	uint64_t most = 0;

	for (uint32_t cpu = 0; cpu < r->n_cpus; cpu++) {
		ret[cpu] = __atomic_load_n(&r->cpus[cpu].head[g], __ATOMIC_ACQUIRE);
		if (ret[cpu] - ring_begin(r, g)[cpu] > most)
			most = ret[cpu] - ring_begin(r, g)[cpu];
	}
	return most;
}

/* Turns nothing: a freeze for a question must not cost a later mark its past. Nothing here waits for a grace period, which
 * takes as long as it likes on a machine that starves: the programs that write have a moment, and each slot says by its lap whether it is
 * whole. The generation that rests is read first, and only as far as the newer one leaves room. */
static int read_both(struct ring *r, uint64_t since, uint64_t most, struct trace *t)
{
	uint32_t now = r->skel->bss->generation & 1, before = now ^ 1;
	_cleanup_free_ uint64_t *heads = calloc(2 * (size_t)r->n_cpus, sizeof(*heads));
	uint64_t newer;
	int n = 0;

	if (!heads)
		return -ENOMEM;
	t->frozen = (uint64_t)clock_monotonic();
	usleep(WRITTEN_WITHIN);
	newer = note_heads(r, now, heads);
	usleep(WRITTEN_WITHIN);
	if (newer < most && r->turns->generations[before].rested > since) {
		(void)note_heads(r, before, heads + r->n_cpus);
		n = read_generation(r, before, heads + r->n_cpus, most - newer, t);
	}
	return n < 0 ? n : read_generation(r, now, heads, most, t);
}

static void describe_cpus(const struct ring *r, struct trace *t)
{
	for (uint32_t i = 0; i < r->n_cpus; i++) {
		t->cpus[i].there = r->cpus[i].switches > 0;
		t->cpus[i].skipped = r->cpus[i].missed;
	}
}

static int take_others(struct ring *r, size_t described, struct trace *t)
{
	uint64_t from = UINT64_MAX;
	struct taking into = {r, t};
	int n = ring_look(r, take_living, &into);

	for (uint32_t i = 0; i < r->n_cpus; i++)
		if (t->cpus[i].from < from)
			from = t->cpus[i].from;
	if (n == 0)
		n = take_ended(r, from, t);
	if (n == 0)
		n = take_stacks(r, t);
	if (n < 0)
		return n;
	describe_kernel(r, t);
	trace_describe_machine(t);
	trace_describe_threads("/proc", described, t);
	return trace_finish(t);
}

int ring_freeze_since(struct ring *r, uint64_t since, size_t most, struct trace *ret)
{
	_cleanup_(trace_clear) struct trace t = {};
	uint64_t of_each = most ? most / r->n_cpus + 1 : UINT64_MAX;
	int n = !ring_is_attached(r) ? -EINVAL : trace_begin(&t, r->n_cpus);

	if (n < 0)
		return n;
	ring_lock_turns(r);
	r->turns->freezes++;
	n = read_both(r, since, of_each, &t);
	pthread_mutex_unlock(&r->turns->lock);
	if (n < 0)
		return n;
	trace_cut(&t, since);
	describe_cpus(r, &t);
	n = take_others(r, most ? DESCRIBED_MOST : 0, &t);
	if (n < 0)
		return n;
	*ret = t;
	t = (struct trace){};
	return 0;
}
