/* How waits begin and end: wakeups, and the locks waited for. */
#include <errno.h>

#include "machine/threads/state-build.h"

#define FUTEX_CONTENDED 2	/* glibc's and others' word of a lock that has waiters */
#define FUTEX_WAITERS	0x80000000u
#define RETRY_NS	50000	/* a stint so short between two waits for the same: woken, looked, slept on */

/* --- locks --- */

static uint32_t find_lock(struct build *b, uint64_t address, uint32_t tgid, bool add)
{
	uintptr_t known = (uintptr_t)hmap_get(&b->locks, address, tgid);

	if (known || !add)
		return known ? (uint32_t)known - 1 : NOBODY;
	if (VEC_PUSH(b->t->locks, (struct lock_line){.address = address, .tgid = tgid}) < 0 ||
	    hmap_put(&b->locks, address, tgid, (void *)(uintptr_t)b->t->locks.n) < 0) {
		b->error = -ENOMEM;
		return NOBODY;
	}
	return (uint32_t)b->t->locks.n - 1;
}

static void sight(struct build *b, uint32_t lock, int64_t at, uint32_t holder, bool inferred)
{
	struct lock_line *line = &b->t->locks.v[lock];

	if (line->sightings.n && line->sightings.v[line->sightings.n - 1].at > at)
		at = line->sightings.v[line->sightings.n - 1].at;
	if (VEC_PUSH(line->sightings, (struct sighting){at, holder, (uint32_t)b->t->threads.v[holder].intervals.n, inferred}) < 0)
		b->error = -ENOMEM;
}

/* The lock was not handed to the thread that was woken for it: when it came, another one had taken it. */
static void correct_handover(struct build *b, uint32_t lock, uint32_t woken, uint32_t holder)
{
	struct lock_line *line = &b->t->locks.v[lock];
	struct sighting *last = line->sightings.n ? &line->sightings.v[line->sightings.n - 1] : NULL;

	if (last && last->inferred && last->holder == woken)
		*last = (struct sighting){last->at, holder, (uint32_t)b->t->threads.v[holder].intervals.n, true};
}

/* A number as the sleeper's pid namespace has it. Asked for again and again, so remembered while that thread lives. */
static uint32_t translate(struct build *b, uint32_t sleeper, uint32_t number, int64_t time)
{
	const struct trace_thread *found;
	uintptr_t known = (uintptr_t)hmap_get(&b->owners, sleeper, number);

	if (known) {
		const struct trace_thread *owner = &b->trace->threads.v[known - 1];

		if ((int64_t)owner->start <= time && (!owner->end || time <= (int64_t)owner->end))
			return (uint32_t)known - 1;
	}
	if (sleeper >= b->trace->threads.n)
		return NOBODY;
	found = trace_thread_in_namespace(b->trace, &b->trace->threads.v[sleeper], number, (uint64_t)time);
	if (!found)
		return NOBODY;
	known = (uintptr_t)(found - b->trace->threads.v) + 1;
	if (hmap_put(&b->owners, sleeper, number, (void *)known) < 0)
		b->error = -ENOMEM;
	return (uint32_t)known - 1;
}

/* Who holds the lock as the LOCK record read it; NOBODY when that cannot be a holder. What lies next to a futex word that
 * is not a lock may look like any number: only a thread of the same process is believed, unless the kernel keeps the word. */
static uint32_t read_holder(struct build *b, uint32_t sleeper, int64_t time)
{
	uint32_t holder = b->now.v[sleeper].lock_holder;
	uint8_t flags = b->now.v[sleeper].lock_flags;

	if (!holder)
		return NOBODY;
	if (flags & (LOCK_FUTEX | LOCK_FUTEX_PI))
		holder = translate(b, sleeper, holder, time);
	else
		holder = state_thread(b, holder, time);
	if (holder == NOBODY || holder == sleeper)
		return NOBODY;
	if (flags & LOCK_FUTEX && b->t->threads.v[holder].tgid != b->t->threads.v[sleeper].tgid)
		return NOBODY;
	return holder;
}

static bool kernel_lock(const struct thread_now *now)
{
	return !(now->lock_flags & (LOCK_FUTEX | LOCK_FUTEX_PI));
}

uint8_t state_refine_wait(struct build *b, uint32_t thread, uint8_t state, struct wait_facts facts, uint64_t object, int64_t time,
		    uint32_t *ret_lock, uint32_t *ret_holder)
{
	bool told = b->now.v[thread].lock_object || b->now.v[thread].lock_flags;
	uint32_t holder = told ? read_holder(b, thread, time) : NOBODY;
	struct thread_now *now = &b->now.v[thread];
	uint64_t address = told ? now->lock_object : object;
	uint32_t tgid = (told && kernel_lock(now)) || (!told && state == STATE_KERNEL_LOCK) ? 0 : b->t->threads.v[thread].tgid;
	uint32_t lock = NOBODY;

	now->lock_object = 0;
	now->lock_flags = 0;
	now->lock_holder = 0;
	if (state == STATE_OTHER && facts.state & TASK_STATE_BLOCKED)
		return STATE_UNINTERRUPTIBLE;
	if (state != STATE_LOCK && state != STATE_KERNEL_LOCK && !(state == STATE_CONDITION && facts.call == CALL_FUTEX))
		return state;
	if (address)
		lock = find_lock(b, address, tgid, state == STATE_KERNEL_LOCK || holder != NOBODY);
	if (lock != NOBODY && holder != NOBODY) {
		correct_handover(b, lock, thread, holder);
		sight(b, lock, time, holder, false);
	}
	*ret_lock = lock;
	*ret_holder = holder;
	/* of earlier recordings it is not known what the futex was, and between two holders there is none: what once had one is a lock */
	return state == STATE_CONDITION && lock != NOBODY ? STATE_LOCK : state;
}

void state_on_lock(struct build *b, const struct event *e)
{
	uint32_t thread = state_thread(b, e->thread, (int64_t)e->time);

	if (thread == NOBODY)
		return;
	b->now.v[thread].lock_object = e->lock.object;
	b->now.v[thread].lock_holder = e->lock.owner;
	b->now.v[thread].lock_flags = e->flags;
}

/* --- beginning --- */

static bool may_retry(uint8_t state)
{
	return state == STATE_LOCK || state == STATE_KERNEL_LOCK || state == STATE_DISK || state == STATE_CONDITION;
}

/* It waited for the same a moment ago and was woken for nothing: one wait in two pieces. */
static void join_retry(struct build *b, uint32_t thread, const struct event *e)
{
	struct thread_now *now = &b->now.v[thread];
	struct interval *before;

	if (!now->slept || !may_retry(now->open.state) || !e->out.object || e->out.object != now->object)
		return;
	before = &b->t->threads.v[thread].intervals.v[now->slept - 1];
	if (before->state == now->open.state && before->call == now->open.call && (int64_t)e->time - now->stint < RETRY_NS)
		before->flags |= INTERVAL_RETRY;
}

uint8_t state_of_giving(const struct build *b, uint8_t state, uint8_t call, int16_t syscall)
{
	bool to_somebody = state == STATE_PEER || (state == STATE_IDLE && call == CALL_TERMINAL);

	return to_somebody && trace_gives(b->trace, syscall) ? STATE_FULL : state;
}

void state_thread_blocks(struct build *b, uint32_t thread, const struct event *e, uint8_t state)
{
	uint32_t lock = NOBODY, holder = NOBODY;
	struct thread_now *now;

	if (state == STATE_ENDED)
		return;
	state = state_of_giving(b, state, e->out.call, e->out.syscall);
	state = state_refine_wait(b, thread, state, event_facts(e), e->out.object, (int64_t)e->time, &lock, &holder);
	now = &b->now.v[thread];
	now->open.state = state;
	now->open.object = lock;
	now->open.holder = holder;
	now->open.near = lock != NOBODY ? (uint32_t)b->t->locks.v[lock].sightings.n : NOBODY;
	now->open.call = e->out.call;
	join_retry(b, thread, e);
	now->object = e->out.object;
	now->slept = 0;
}

/* --- end --- */

static uint8_t softirq_kind(uint16_t vector)
{
	static const uint8_t kinds[] = {[0] = WAKER_IRQ, [1] = WAKER_TIMER, [2] = WAKER_NETWORK, [3] = WAKER_NETWORK,
					[4] = WAKER_BLOCK, [5] = WAKER_IRQ, [6] = WAKER_IRQ, [7] = WAKER_IRQ,
					[8] = WAKER_TIMER, [9] = WAKER_IRQ};

	return vector < sizeof(kinds) ? kinds[vector] : WAKER_IRQ;
}

static uint8_t waker_kind(const struct event *e)
{
	if (e->flags & WAKEUP_NO_WAKING)
		return WAKER_UNKNOWN;
	if (e->flags & WAKEUP_IN_IRQ)
		return e->wakeup.vector == EVENT_TIMER_VECTOR ? WAKER_TIMER : WAKER_IRQ;
	if (e->flags & WAKEUP_IN_SOFTIRQ && !(e->flags & WAKEUP_SENT))
		return softirq_kind(e->wakeup.vector);
	return WAKER_TASK;
}

static bool waits_for_disk(uint8_t state)
{
	return state == STATE_DISK || state == STATE_FAULT || state == STATE_RECLAIM || state == STATE_UNINTERRUPTIBLE;
}

static void name_waker(struct build *b, uint32_t thread, struct interval *i, const struct wake *wake)
{
	bool hand_over = wake->kind == WAKER_TASK && i->object != NOBODY && (i->state == STATE_LOCK || i->state == STATE_KERNEL_LOCK);

	i->waker = wake->waker;
	i->waker_kind = wake->kind;
	i->waker_stack = wake->stack;
	if (wake->waker != NOBODY && i->object == NOBODY)
		i->near = (uint32_t)b->t->threads.v[wake->waker].intervals.n;
	if (hand_over)
		sight(b, i->object, wake->called, thread, true);
	if (!waits_for_disk(i->state) || wake->kind == WAKER_TASK || wake->kind == WAKER_TIMER)
		return;
	i->request = state_ended_request(b, thread, i->start, wake->called, wake->cpu);
	if (i->request != NOBODY && i->state == STATE_UNINTERRUPTIBLE)
		i->state = STATE_DISK;
	if (i->request != NOBODY)
		i->waker_kind = WAKER_BLOCK;
}

void state_thread_woken(struct build *b, uint32_t thread, const struct wake *wake)
{
	struct thread_now *now = &b->now.v[thread];
	uint32_t ended = state_thread_to(b, thread, wake->at, STATE_RUNNABLE, wake->target);

	now->open.near = (uint32_t)b->t->cpus.v[wake->target].segments.n - 1;
	now->slept = ended == NOBODY ? 0 : ended + 1;
	if (ended != NOBODY)
		name_waker(b, thread, &b->t->threads.v[thread].intervals.v[ended], wake);
}

void state_on_wakeup(struct build *b, const struct event *e)
{
	uint32_t thread = state_thread(b, e->thread, (int64_t)e->time);
	struct thread_now *now;
	struct wake wake;
	enum state_group group;

	if (thread == NOBODY || e->flags & WAKEUP_STILL_QUEUED)
		return;
	if (e->wakeup.target >= b->t->cpus.n) {
		b->t->faults.bad_numbers++;
		return;
	}
	wake = (struct wake){(int64_t)e->time, (int64_t)e->time - e->wakeup.since_waking, NOBODY, waker_kind(e), e->wakeup.target,
			     e->cpu, e->wakeup.stack};
	if (wake.kind == WAKER_TASK)
		wake.waker = e->wakeup.waker ? state_thread(b, e->wakeup.waker, (int64_t)e->time) : NOBODY;
	if (e->flags & WAKEUP_SENT && (wake.waker == NOBODY || b->t->threads.v[wake.waker].kernel)) {
		wake.kind = WAKER_NETWORK; /* a kernel thread does the network's work of others */
		wake.waker = NOBODY;
	}
	if (wake.kind == WAKER_TASK && wake.waker == NOBODY)
		wake.kind = WAKER_IRQ; /* the idle thread wakes nothing of its own accord */
	now = &b->now.v[thread];
	if (e->flags & WAKEUP_NEW && !now->seen)
		now->open.start = wake.at;
	state_thread_seen(b, thread, now->open.start, STATE_OTHER, wake.target);
	group = state_table[now->open.state].group;
	if (group == GROUP_RUNNING)
		now->early = wake;
	else if (group != GROUP_RUNNABLE)
		state_thread_woken(b, thread, &wake);
}

void state_on_waited(struct build *b, const struct event *e)
{
	uint32_t thread = state_thread(b, e->thread, (int64_t)e->time);
	struct interval *slept;

	if (thread == NOBODY || !b->now.v[thread].slept)
		return;
	slept = &b->t->threads.v[thread].intervals.v[b->now.v[thread].slept - 1];
	slept->kernel_stack = e->waited.kernel;
	slept->user_stack = e->waited.user;
}
