/* Who has the CPUs, and who is woken by whom, of the kernel's trace records. */
#include "machine/events/calls.h"
#include "machine/events/futex.h"
#include "machine/tracefs/trace-words.h"
#include "machine/tracefs/tracefs-translate.h"

#define PRIO_REAL_TIME 100 /* below it */

/* --- switches --- */

static uint8_t state_of(const struct tracefs_layout *l, int64_t state)
{
	uint32_t bits = (uint32_t)state;
	uint8_t found = 0;

	if (l->states_mask && bits > l->states_mask) /* the bit above: preempted, whatever it meant to do */
		return 0;
	for (int i = 0; i < 16; i++)
		if (bits >> i & 1)
			found |= l->states[i];
	return found;
}

static uint8_t call_of(struct translation *x, const struct known *k, struct event *e)
{
	uint8_t call;

	e->out.syscall = EVENT_NO_SYSCALL;
	if (k->kernel)
		return CALL_NONE;
	if (k->call == CALL_NOT_SEEN)
		return CALL_UNKNOWN;
	e->out.syscall = (int16_t)k->call;
	call = trace_call(k->call);
	if (call == CALL_BY_FILE)
		return tracefs_file_kind(x->files, k->tgid, k->arguments[0], &e->out.object);
	if (k->call == CALL_NUMBER_FUTEX || k->call == CALL_NUMBER_RESTART)
		call = futex_refine_call(call, k->call == CALL_NUMBER_RESTART, k->arguments, 0);
	if (call == CALL_FUTEX || call == CALL_LOCK || call == CALL_CONDITION)
		e->out.object = k->arguments[0];
	return call;
}

static void describe_blocked(struct translation *x, struct known *k, struct event *e)
{
	e->out.call = call_of(x, k, e);
	if (k->reclaims)
		e->flags |= WAIT_MEMORY;
	if (k->lock) {
		e->flags |= WAIT_KERNEL_LOCK;
		e->out.object = k->lock;
	}
	k->place = PLACE_ASLEEP;
	k->left = x->t->n_events;
}

static void describe_preempted(struct translation *x, struct known *k, const struct tracefs_record *r, struct event *e)
{
	const struct tracefs_cpu *c = &x->cpus[r->cpu];
	int64_t prio = r->values[1], next_prio = r->values[4];

	e->out.call = call_of(x, k, e);
	e->flags = WAIT_NO_DEADLINE;
	if (next_prio < PRIO_REAL_TIME && next_prio < prio)
		e->flags |= WAIT_CLASS;
	if (c->arrival)
		e->flags |= WAIT_ARRIVAL;
	e->out.object = c->arrival;
	k->place = PLACE_QUEUED;
}

void tracefs_on_switch(struct translation *x, const struct tracefs_record *r)
{
	struct known *prev = r->values[0] ? translation_find(x, r->values[0]) : NULL;
	struct known *next = r->values[3] ? translation_find(x, r->values[3]) : NULL;
	struct event *e = translation_put(x, r, r->values[0], EVENT_SWITCH, 0);

	if (!e || x->error)
		return;
	e->out.next = (uint32_t)r->values[3];
	e->out.syscall = EVENT_NO_SYSCALL;
	e->out.call = CALL_NONE;
	if (prev) {
		translation_take_comm(prev, r);
		prev->prio = (int32_t)r->values[1];
		e->out.state = state_of(x->layout, r->values[2]);
		if (e->out.state)
			describe_blocked(x, prev, e);
		else
			describe_preempted(x, prev, r, e);
	}
	if (next) {
		next->place = PLACE_RUNNING;
		next->prio = (int32_t)r->values[4];
	}
	x->cpus[r->cpu].arrival = 0;
}

/* --- wake-ups --- */

static uint8_t waker_context(const struct tracefs_cpu *c, uint8_t context, uint16_t *ret_vector)
{
	if (context & CONTEXT_HARDIRQ) {
		*ret_vector = (uint16_t)(c->irq ? c->irq - 1 : EVENT_TIMER_VECTOR); /* untold interrupts are mostly the timer's */
		return WAKEUP_IN_IRQ;
	}
	*ret_vector = (uint16_t)(c->softirq ? c->softirq - 1 : 0);
	if (!(context & CONTEXT_SOFTIRQ))
		return 0;
	if (*ret_vector != SOFTIRQ_NET_RX || c->softirq_from - c->irq_end <= SOFTIRQ_RAISED)
		return WAKEUP_IN_SOFTIRQ;
	return WAKEUP_IN_SOFTIRQ | WAKEUP_SENT;
}

void tracefs_on_waking(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = translation_find(x, r->values[0]);
	const struct tracefs_cpu *c = &x->cpus[r->cpu];

	if (!k)
		return;
	k->waking.seen = true;
	k->waking.time = r->time;
	k->waking.waker = r->thread;
	k->waking.cpu = r->cpu;
	k->waking.context = waker_context(c, r->context, &k->waking.vector);
	/* woken by the end of a request: that is what in_iowait would have reported */
	if (c->completed && k->left && k->place == PLACE_ASLEEP && x->t->events[k->left - 1].out.state & TASK_STATE_BLOCKED)
		x->t->events[k->left - 1].flags |= WAIT_IO;
}

static void fill_waker(struct event *e, const struct known *k, bool new, uint32_t current)
{
	e->wakeup.waker = current;
	if (new)
		return;
	if (!k->waking.seen) {
		e->wakeup.waker = 0;
		e->flags |= WAKEUP_NO_WAKING;
		return;
	}
	e->wakeup.waker = k->waking.waker;
	e->wakeup.vector = k->waking.vector;
	e->wakeup.since_waking = (uint32_t)(e->time - k->waking.time);
	e->flags |= k->waking.context;
	if (k->waking.cpu != e->cpu)
		e->flags |= WAKEUP_REMOTE;
}

static void wake(struct translation *x, const struct tracefs_record *r, bool new)
{
	struct known *k = translation_find(x, r->values[0]);
	uint16_t target = (uint16_t)r->values[1];
	struct event *e = k && target < x->n_cpus ? translation_put(x, r, k->tid, EVENT_WAKEUP, new ? WAKEUP_NEW : 0) : NULL;

	if (!e)
		return;
	translation_take_comm(k, r);
	e->wakeup.target = target;
	fill_waker(e, k, new, r->thread);
	k->waking.seen = false;
	if (!new && (k->place == PLACE_RUNNING || k->place == PLACE_QUEUED)) {
		e->flags |= WAKEUP_STILL_QUEUED;
		return;
	}
	k->place = PLACE_QUEUED;
	x->cpus[target].arrival = k->tid;
}

void tracefs_on_wakeup(struct translation *x, const struct tracefs_record *r)
{
	wake(x, r, false);
}

void tracefs_on_wakeup_new(struct translation *x, const struct tracefs_record *r)
{
	wake(x, r, true);
}

/* A thread that sleeps goes to another CPU with its wake-up, which says so. */
void tracefs_on_migrate(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = translation_find(x, r->values[0]);
	struct event *e;

	if (!k || k->place == PLACE_ASLEEP || (uint64_t)r->values[1] >= x->n_cpus || (uint64_t)r->values[2] >= x->n_cpus)
		return;
	x->cpus[r->values[2]].arrival = k->tid;
	e = translation_put(x, r, k->tid, EVENT_MIGRATE, 0);
	if (!e)
		return;
	e->migrate.by = r->thread;
	e->migrate.from = (uint16_t)r->values[1];
	e->migrate.to = (uint16_t)r->values[2];
}
