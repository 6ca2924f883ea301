#include "machine/blame/wait-walk.h"

#include <stddef.h>

struct walk {
	const struct walker *walker;
	const struct timeline *timeline;
	uint32_t chain[WALK_DEPTH]; /* who is being looked at, from the one asked about on */
	const struct interval *top;
	uint8_t depth;
	uint8_t flags;
};

static void walk(struct walk *w, uint32_t thread, uint32_t guess, int64_t from, int64_t to);

static void put(struct walk *w, const struct interval *interval, int64_t from, int64_t to, uint8_t flags)
{
	struct step step = {
		.from = from,
		.to = to,
		.thread = w->chain[w->depth],
		.interval = interval,
		.top = w->depth ? w->top : interval,
		.victim = w->chain[0],
		.via = w->depth ? w->chain[1] : NOBODY,
		.depth = w->depth,
		.flags = (uint8_t)(w->flags | flags),
	};

	if (from < to)
		w->walker->step(w->walker->user, &step);
}

static bool in_chain(const struct walk *w, uint32_t thread)
{
	for (unsigned i = 0; i <= w->depth; i++)
		if (w->chain[i] == thread)
			return true;
	return false;
}

/* One deeper: what `thread` did while the one above it waited; about there in its intervals. */
static void follow(struct walk *w, const struct interval *waiting, uint32_t thread, uint32_t near, int64_t from, int64_t to)
{
	if (from >= to)
		return;
	if (thread == NOBODY || thread >= w->timeline->threads.n) {
		put(w, waiting, from, to, STEP_BLOCKED);
	} else if (in_chain(w, thread)) {
		put(w, waiting, from, to, STEP_BLOCKED | STEP_CYCLE);
	} else if (w->depth + 1 >= WALK_DEPTH) {
		put(w, waiting, from, to, STEP_BLOCKED | STEP_DEEP);
	} else {
		w->depth++;
		walk(w, thread, near, from, to);
		w->depth--;
	}
}

static void follow_inferred(struct walk *w, const struct interval *i, uint32_t thread, uint32_t near, int64_t from, int64_t to)
{
	uint8_t before = w->flags;

	w->flags |= STEP_INFERRED;
	follow(w, i, thread, near, from, to);
	w->flags = before;
}

/* The holder at the beginning was read by the waiter itself; later ones are what other waiters read and what wakeups
 * say. Where nothing is known to hold it, the one that ended the wait did. */
static void follow_holders(struct walk *w, const struct interval *i, int64_t from, int64_t to)
{
	const struct lock_line *lock = &w->timeline->locks.v[i->object];
	uint32_t last = i->waker_kind == WAKER_TASK ? i->waker : NOBODY;
	size_t n = lock->sightings.n, next = sightings_near(lock, from, i->near);
	struct sighting now = next ? lock->sightings.v[next - 1] : (struct sighting){.near = NOBODY};

	if (next == 0 || now.at <= i->start)
		now = (struct sighting){from, i->holder, now.holder == i->holder ? now.near : NOBODY, false};
	while (from < to) {
		bool more = next < n && lock->sightings.v[next].at < to && walk_work_take(w->walker->work);
		int64_t until = more ? lock->sightings.v[next].at : to;
		/* one who was handed the lock and now waits in front of it, or none: the waker had it */
		uint32_t holder = now.holder == NOBODY || now.holder == w->chain[w->depth] ? last : now.holder;

		if (holder != now.holder)
			follow_inferred(w, i, holder, NOBODY, from, until);
		else if (now.inferred)
			follow_inferred(w, i, holder, now.near, from, until);
		else
			follow(w, i, holder, now.near, from, until);
		from = until;
		if (next < n)
			now = lock->sightings.v[next++];
	}
}

static void follow_waker(struct walk *w, const struct interval *i, int64_t from, int64_t to)
{
	if (i->waker_kind == WAKER_TASK)
		follow(w, i, i->waker, i->near, from, to);
	else
		put(w, i, from, to, STEP_BLOCKED);
}

static void follow_inferred_waker(struct walk *w, const struct interval *i, int64_t from, int64_t to)
{
	if (i->waker_kind == WAKER_TASK)
		follow_inferred(w, i, i->waker, i->near, from, to);
	else
		put(w, i, from, to, STEP_BLOCKED);
}

static void follow_lock(struct walk *w, const struct interval *i, int64_t from, int64_t to)
{
	if (i->object != NOBODY)
		follow_holders(w, i, from, to);
	else if (i->holder != NOBODY)
		follow(w, i, i->holder, NOBODY, from, to);
	else
		follow_inferred_waker(w, i, from, to);
}

/* A request that is known says more than who noticed its completion. */
static void follow_disk(struct walk *w, const struct interval *i, int64_t from, int64_t to)
{
	if (i->request != NOBODY)
		put(w, i, from, to, STEP_BLOCKED);
	else
		follow_waker(w, i, from, to);
}

/* Of its own will; but who answers others only when asked is not what they wait for: who asked it is. */
static void follow_resting(struct walk *w, const struct interval *i, int64_t from, int64_t to)
{
	if (w->depth && (i->state == STATE_IDLE || i->state == STATE_IDLE_KERNEL) && i->waker_kind == WAKER_TASK)
		follow(w, i, i->waker, i->near, from, to);
	else
		put(w, i, from, to, 0);
}

static void stay(struct walk *w, const struct interval *i, int64_t from, int64_t to)
{
	put(w, i, from, to, 0);
}

/* The one that ended it wrote or read pages for those who wanted memory: they are known otherwise. */
static void follow_nobody(struct walk *w, const struct interval *i, int64_t from, int64_t to)
{
	put(w, i, from, to, STEP_BLOCKED);
}

static void (*const followers[INTERVAL_STATES])(struct walk *, const struct interval *, int64_t, int64_t) = {
	[STATE_LOCK] = follow_lock,
	[STATE_KERNEL_LOCK] = follow_lock,
	[STATE_DISK] = follow_disk,
	[STATE_FAULT] = follow_disk,
	[STATE_RECLAIM] = follow_nobody,
	[STATE_NETWORK] = follow_waker,
	[STATE_PEER] = follow_waker,
	[STATE_FULL] = follow_waker,
	[STATE_CONDITION] = follow_inferred_waker,
	[STATE_CHILD] = follow_waker,
	[STATE_UNINTERRUPTIBLE] = follow_inferred_waker,
	[STATE_OTHER] = follow_inferred_waker,
	[STATE_TIMER] = follow_resting,
	[STATE_IDLE] = follow_resting,
	[STATE_IDLE_KERNEL] = follow_resting,
	[STATE_STOPPED] = follow_resting,
};

/* The last interval of a wait that false wakeups cut into pieces: it knows the true waker. */
static const struct interval *wait_end(const struct thread_line *line, size_t i)
{
	uint8_t state = line->intervals.v[i].state;

	for (size_t k = i + 1; line->intervals.v[i].flags & INTERVAL_RETRY && k < line->intervals.n; k++)
		if (line->intervals.v[k].state == state)
			i = k;
	return &line->intervals.v[i];
}

static void begin_wait(struct walk *w, const struct interval *i, int64_t from, int64_t to)
{
	struct walk_work *work = w->walker->work;

	w->top = i;
	if (work && state_table[i->state].wait != FOR_NONE)
		work->left += WORK_A_WAIT + (uint64_t)((double)(to - from) * work->per_ns);
}

/* The rest of the time belongs to this thread, whatever it waited for. */
static void cut(struct walk *w, int64_t from, int64_t to)
{
	w->walker->work->cut++;
	put(w, NULL, from, to, STEP_CUT);
}

static void walk_interval(struct walk *w, const struct thread_line *line, size_t index, int64_t from, int64_t to)
{
	const struct interval *i = &line->intervals.v[index];
	struct interval whole;

	if (w->depth == 0 && w->walker->waits && state_table[i->state].wait == FOR_NONE)
		return;
	if (i->flags & INTERVAL_RETRY) {
		const struct interval *end = wait_end(line, index);

		whole = *i;
		whole.waker = end->waker;
		whole.waker_kind = end->waker_kind;
		whole.request = end->request;
		whole.near = i->object == NOBODY ? end->near : i->near;
		i = &whole;
	}
	if (w->depth == 0)
		begin_wait(w, i, from, to);
	(followers[i->state] ?: stay)(w, i, from, to);
}

#define AHEAD	   8 /* intervals */
#define CACHE_LINE 64
#define FETCHED	   3 /* cache lines: a dozen segments, three intervals */

/* gcc takes a function that only prefetches for one without effect, and leaves its calls out. */
#define ALWAYS inline __attribute__((always_inline))

/* The i-th element of an array, which may be empty: beyond the end it does no harm. */
static ALWAYS void fetch(const void *array, size_t size, uint32_t i, size_t lines)
{
	for (size_t line = 0; line < lines; line++)
		__builtin_prefetch((const void *)((uintptr_t)array + i * size + line * CACHE_LINE));
}

#define FETCH(vec, i, lines) fetch((vec).v, sizeof((vec).v[0]), i, lines)

/* What will be asked for soon lies anywhere in memory: who had the CPU in the meantime, what the waker did. */
static ALWAYS void fetch_ahead(const struct walk *w, const struct thread_line *line, size_t i)
{
	const struct interval *soon = &line->intervals.v[i + AHEAD < line->intervals.n ? i + AHEAD : i];
	const struct timeline *t = w->timeline;
	const struct cpu_line *cpu = &t->cpus.v[soon->cpu];
	enum state_group group = state_table[soon->state].group;

	if (soon->near == NOBODY)
		return;
	if (group == GROUP_RUNNABLE || group == GROUP_RUNNING)
		FETCH(cpu->segments, soon->near, FETCHED);
	else if (soon->object != NOBODY)
		FETCH(t->locks.v[soon->object].sightings, soon->near, 1);
	else if (soon->waker != NOBODY)
		FETCH(t->threads.v[soon->waker].intervals, soon->near - (soon->near > 2 ? 2 : 0), FETCHED);
}

static void walk(struct walk *w, uint32_t thread, uint32_t guess, int64_t from, int64_t to)
{
	const struct thread_line *line = &w->timeline->threads.v[thread];
	uint32_t *near = w->walker->near ? &w->walker->near[thread] : NULL;
	size_t first;

	w->chain[w->depth] = thread;
	if (w->depth && !walk_work_take(w->walker->work)) {
		cut(w, from, to);
		return;
	}
	first = interval_near(line, from, guess != NOBODY ? guess : near ? *near : line->intervals.n / 2);
	if (near)
		*near = (uint32_t)first;
	for (size_t i = first; i < line->intervals.n && from < to; i++) {
		const struct interval *interval = &line->intervals.v[i];
		int64_t end = interval->end < to ? interval->end : to;

		if (interval->start >= to)
			break;
		if (interval->start > from) {
			put(w, NULL, from, interval->start, STEP_BLOCKED);
			from = interval->start;
		}
		if (w->depth && !walk_work_take(w->walker->work)) {
			cut(w, from, to);
			return;
		}
		fetch_ahead(w, line, i);
		walk_interval(w, line, i, from, end);
		from = end;
	}
	put(w, NULL, from, to, STEP_BLOCKED);
}

void walker_thread(const struct walker *walker, uint32_t thread, int64_t from, int64_t to)
{
	struct walk w = {.walker = walker, .timeline = walker->timeline};

	if (thread < walker->timeline->threads.n)
		walk(&w, thread, NOBODY, from, to);
}
