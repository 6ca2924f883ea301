#include "source/tracefs-events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hmap.h"
#include "model/calls.h"
#include "source/trace-words.h"
#include "source/tracefs-files.h"

#define CLONE_THREAD	 0x00010000
#define NO_CALL		 (-1) /* in user mode */
#define CALL_NOT_SEEN	 (-2)
#define PRIO_REAL_TIME	 100 /* below it */
#define CONTENTION_SPIN	 1   /* flags of lock:contention_begin */
#define CONTENTION_MUTEX 32
#define SECTOR_BITS	 40

enum place { PLACE_UNKNOWN, PLACE_RUNNING, PLACE_QUEUED, PLACE_ASLEEP };

/* What is known of a thread at the record that is read. */
struct known {
	uint32_t tid, tgid;
	bool kernel;
	uint8_t place;
	int32_t prio;
	int64_t call; /* NO_CALL, CALL_NOT_SEEN */
	uint64_t argument;
	uint64_t lock; /* of the kernel, that it contends for */
	bool reclaims;
	size_t left;   /* index + 1 of the event with which it last left a CPU to wait; 0 = none */
	struct {
		bool seen;
		uint64_t time;
		uint32_t waker;
		uint16_t cpu, vector;
		uint8_t context; /* WAKEUP_ */
	} waking;
	char comm[TRACE_COMM + 1];
};

struct cpu_now {
	uint32_t arrival;
	uint64_t irq_from, irq_total;
	uint64_t softirq_from, softirq_nested;
	uint32_t irq, softirq; /* number + 1 */
	bool completed;	       /* a request has ended in the interrupt that is served */
	struct tracefs_record next;
	bool has_next;
};

struct translation {
	struct trace *t;
	const struct tracefs_layout *layout;
	struct tracefs_files *files;
	struct hmap threads; /* (tid, 0) -> struct known */
	struct cpu_now *cpus;
	uint32_t n_cpus;
	int error;
};

/* --- threads --- */

static struct known *find(struct translation *x, int64_t tid)
{
	struct known *k = hmap_get(&x->threads, (uint32_t)tid, 0);

	if (k)
		return k;
	k = calloc(1, sizeof(*k));
	if (!k || hmap_put(&x->threads, (uint32_t)tid, 0, k) < 0) {
		free(k);
		x->error = -ENOMEM;
		return NULL;
	}
	*k = (struct known){.tid = (uint32_t)tid, .tgid = (uint32_t)tid, .call = CALL_NOT_SEEN};
	return k;
}

static void take_comm(struct known *k, const struct tracefs_record *r)
{
	size_t n = r->text_size < TRACE_COMM ? r->text_size : TRACE_COMM;

	if (!n)
		return;
	memset(k->comm, 0, sizeof(k->comm));
	memcpy(k->comm, r->text, strnlen(r->text, n));
}

static void know_living(struct translation *x)
{
	for (size_t i = 0; i < x->t->threads.n; i++) {
		const struct trace_thread *thread = &x->t->threads.v[i];
		struct known *k = find(x, thread->tid);

		if (!k)
			return;
		k->tgid = thread->tgid;
		k->kernel = thread->flags & THREAD_IS_KERNEL;
	}
}

static struct event *put(struct translation *x, const struct tracefs_record *r, int64_t thread, uint8_t kind, uint8_t flags)
{
	struct event e = {.time = r->time, .thread = (uint32_t)thread, .cpu = r->cpu, .kind = kind, .flags = flags};
	int n = trace_add(x->t, &e);

	if (n < 0)
		x->error = n;
	return n < 0 ? NULL : &x->t->events[x->t->n_events - 1];
}

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
		return tracefs_file_kind(x->files, k->tgid, k->argument, &e->out.object);
	if (call == CALL_FUTEX)
		e->out.object = k->argument;
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
	const struct cpu_now *c = &x->cpus[r->cpu];
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

static void on_switch(struct translation *x, const struct tracefs_record *r)
{
	struct known *prev = r->values[0] ? find(x, r->values[0]) : NULL;
	struct known *next = r->values[3] ? find(x, r->values[3]) : NULL;
	struct event *e = put(x, r, r->values[0], EVENT_SWITCH, 0);

	if (!e || x->error)
		return;
	e->out.next = (uint32_t)r->values[3];
	e->out.syscall = EVENT_NO_SYSCALL;
	e->out.call = CALL_NONE;
	if (prev) {
		take_comm(prev, r);
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

static uint8_t waker_context(const struct cpu_now *c, uint8_t context, uint16_t *ret_vector)
{
	if (context & CONTEXT_HARDIRQ) {
		*ret_vector = (uint16_t)(c->irq ? c->irq - 1 : EVENT_TIMER_VECTOR); /* untold interrupts are mostly the timer's */
		return WAKEUP_IN_IRQ;
	}
	*ret_vector = (uint16_t)(c->softirq ? c->softirq - 1 : 0);
	return context & CONTEXT_SOFTIRQ ? WAKEUP_IN_SOFTIRQ : 0;
}

static void on_waking(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = find(x, r->values[0]);
	const struct cpu_now *c = &x->cpus[r->cpu];

	if (!k)
		return;
	k->waking.seen = true;
	k->waking.time = r->time;
	k->waking.waker = r->thread;
	k->waking.cpu = r->cpu;
	k->waking.context = waker_context(c, r->context, &k->waking.vector);
	/* woken by the end of a request: that is what in_iowait would have told */
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
	struct known *k = find(x, r->values[0]);
	uint16_t target = (uint16_t)r->values[1];
	struct event *e = k && target < x->n_cpus ? put(x, r, k->tid, EVENT_WAKEUP, new ? WAKEUP_NEW : 0) : NULL;

	if (!e)
		return;
	take_comm(k, r);
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

static void on_wakeup(struct translation *x, const struct tracefs_record *r)
{
	wake(x, r, false);
}

static void on_wakeup_new(struct translation *x, const struct tracefs_record *r)
{
	wake(x, r, true);
}

/* A thread that sleeps goes to another CPU with its wake-up, which says so. */
static void on_migrate(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = find(x, r->values[0]);
	struct event *e;

	if (!k || k->place == PLACE_ASLEEP || (uint64_t)r->values[1] >= x->n_cpus || (uint64_t)r->values[2] >= x->n_cpus)
		return;
	x->cpus[r->values[2]].arrival = k->tid;
	e = put(x, r, k->tid, EVENT_MIGRATE, 0);
	if (!e)
		return;
	e->migrate.by = r->thread;
	e->migrate.from = (uint16_t)r->values[1];
	e->migrate.to = (uint16_t)r->values[2];
}

/* --- lives --- */

static void on_new_task(struct translation *x, const struct tracefs_record *r)
{
	struct known *parent = find(x, r->thread), *k = find(x, r->values[0]);
	struct event *e = parent && k ? put(x, r, k->tid, EVENT_FORK, 0) : NULL;

	if (!e)
		return;
	*k = (struct known){.tid = k->tid, .kernel = parent->kernel, .call = CALL_NOT_SEEN};
	k->tgid = r->values[1] & CLONE_THREAD ? parent->tgid : k->tid;
	take_comm(k, r);
	e->fork.process = k->tgid;
	e->fork.parent = parent->tid;
	e->fork.parent_process = parent->tgid;
}

static void on_exec(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = find(x, r->values[0]);
	struct event *e = k ? put(x, r, k->tid, EVENT_EXEC, 0) : NULL;

	if (!e)
		return;
	e->exec.process = k->tgid;
	e->exec.before = (uint32_t)r->values[1];
}

static void on_end(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = find(x, r->values[0]);
	struct event *e = k ? put(x, r, k->tid, EVENT_EXIT, r->values[1] ? EXIT_GROUP : 0) : NULL;

	if (e)
		e->exit.process = k->tgid;
}

/* Newer kernels leave the number out: a thread renames itself. */
static void on_rename(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = find(x, r->values[0] ? r->values[0] : r->thread);
	struct event *e;

	if (!k)
		return;
	take_comm(k, r);
	e = put(x, r, k->tid, EVENT_NAME, 0);
	if (e)
		memcpy(e->text, k->comm, EVENT_TEXT);
}

/* --- system calls, locks, reclaim: what a thread is in --- */

static void on_call(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = find(x, r->thread);

	if (!k)
		return;
	k->call = r->values[0] >= 0 && r->values[0] <= INT16_MAX ? r->values[0] : CALL_NOT_SEEN;
	k->argument = (uint64_t)r->values[1];
}

static void on_return(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = find(x, r->thread);

	if (k)
		k->call = NO_CALL;
}

static void on_lock(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = r->thread ? find(x, r->thread) : NULL;

	if (k && (!(r->values[1] & CONTENTION_SPIN) || r->values[1] & CONTENTION_MUTEX))
		k->lock = (uint64_t)r->values[0];
}

static void on_lock_end(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = r->thread ? find(x, r->thread) : NULL;

	if (k)
		k->lock = 0;
}

static void reclaim(struct translation *x, const struct tracefs_record *r, bool begins, uint8_t flags)
{
	struct known *k = find(x, r->thread);
	struct event *e = k ? put(x, r, k->tid, begins ? EVENT_RECLAIM_BEGIN : EVENT_RECLAIM_END, flags) : NULL;

	if (!e)
		return;
	k->reclaims = begins;
	if (begins)
		e->reclaim.order = (uint32_t)r->values[0];
	else
		e->reclaim.pages = (uint64_t)r->values[0];
}

static void on_reclaim(struct translation *x, const struct tracefs_record *r)
{
	bool begins = r->point == POINT_RECLAIM || r->point == POINT_GROUP_RECLAIM;

	reclaim(x, r, begins, r->point == POINT_GROUP_RECLAIM || r->point == POINT_GROUP_RECLAIM_END ? RECLAIM_GROUP : 0);
}

/* --- interrupts --- */

static void on_irq(struct translation *x, const struct tracefs_record *r)
{
	struct cpu_now *c = &x->cpus[r->cpu];

	c->irq_from = r->time;
	c->irq = (r->point == POINT_TIMER ? EVENT_TIMER_VECTOR : (uint32_t)r->values[0]) + 1;
	c->completed = false;
}

static void on_irq_end(struct translation *x, const struct tracefs_record *r)
{
	struct cpu_now *c = &x->cpus[r->cpu];
	bool timer = r->point == POINT_TIMER_END;
	struct event *e = c->irq_from ? put(x, r, r->thread, EVENT_IRQ, timer ? IRQ_TIMER : 0) : NULL;

	if (e) {
		e->interrupt.took = r->time - c->irq_from;
		e->interrupt.number = timer ? 0 : (uint32_t)r->values[0];
		c->irq_total += e->interrupt.took;
	}
	c->irq_from = 0;
	c->irq = 0;
	c->completed = false;
}

static void on_softirq(struct translation *x, const struct tracefs_record *r)
{
	struct cpu_now *c = &x->cpus[r->cpu];

	c->softirq_from = r->time;
	c->softirq_nested = c->irq_total;
	c->softirq = (uint32_t)r->values[0] + 1;
	c->completed = false;
}

static void on_softirq_end(struct translation *x, const struct tracefs_record *r)
{
	struct cpu_now *c = &x->cpus[r->cpu];
	struct event *e = c->softirq_from ? put(x, r, r->thread, EVENT_SOFTIRQ, 0) : NULL;

	if (e) {
		e->interrupt.took = r->time - c->softirq_from;
		e->interrupt.number = (uint32_t)r->values[0];
		e->interrupt.nested = (uint32_t)(c->irq_total - c->softirq_nested);
	}
	c->softirq_from = 0;
	c->softirq = 0;
	c->completed = false;
}

/* --- disks --- */

/* "WFS", "RA", "FF", "D": include/trace/events/block.h, blk_fill_rwbs() */
static uint8_t block_flags(const struct tracefs_record *r)
{
	static const struct {
		char letter;
		uint8_t flag;
	} letters[] = {{'W', BLOCK_WRITE}, {'F', BLOCK_FLUSH}, {'D', BLOCK_DISCARD}, {'E', BLOCK_DISCARD},
		       {'S', BLOCK_SYNC}, {'M', BLOCK_META}, {'A', BLOCK_READ_AHEAD}};
	uint8_t flags = 0;

	for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
		if (memchr(r->text, letters[i].letter, strnlen(r->text, r->text_size)))
			flags |= letters[i].flag;
	return flags;
}

/* A request has no number here: it is the one at this place of this disk. */
static void on_request(struct translation *x, const struct tracefs_record *r)
{
	uint8_t kind = r->point == POINT_INSERT ? EVENT_BLOCK_INSERT : r->point == POINT_ISSUE ? EVENT_BLOCK_ISSUE : EVENT_BLOCK_COMPLETE;
	struct event *e = put(x, r, r->thread, kind, block_flags(r));

	if (!e)
		return;
	e->block.device = (uint32_t)r->values[0];
	e->block.request = (uint64_t)r->values[0] << SECTOR_BITS ^ (uint64_t)r->values[1];
	e->block.sectors = (uint32_t)r->values[2];
	if (kind != EVENT_BLOCK_COMPLETE)
		return;
	x->cpus[r->cpu].completed = true;
	if (r->values[3])
		e->flags |= BLOCK_FAILED;
}

/* --- all of it --- */

static void (*const handlers[POINT_COUNT])(struct translation *x, const struct tracefs_record *r) = {
	[POINT_SWITCH] = on_switch,
	[POINT_WAKING] = on_waking,
	[POINT_WAKEUP] = on_wakeup,
	[POINT_WAKEUP_NEW] = on_wakeup_new,
	[POINT_MIGRATE] = on_migrate,
	[POINT_NEW_TASK] = on_new_task,
	[POINT_EXEC] = on_exec,
	[POINT_EXIT] = on_end,
	[POINT_RENAME] = on_rename,
	[POINT_CALL] = on_call,
	[POINT_RETURN] = on_return,
	[POINT_IRQ] = on_irq,
	[POINT_IRQ_END] = on_irq_end,
	[POINT_TIMER] = on_irq,
	[POINT_TIMER_END] = on_irq_end,
	[POINT_SOFTIRQ] = on_softirq,
	[POINT_SOFTIRQ_END] = on_softirq_end,
	[POINT_INSERT] = on_request,
	[POINT_ISSUE] = on_request,
	[POINT_COMPLETE] = on_request,
	[POINT_RECLAIM] = on_reclaim,
	[POINT_RECLAIM_END] = on_reclaim,
	[POINT_GROUP_RECLAIM] = on_reclaim,
	[POINT_GROUP_RECLAIM_END] = on_reclaim,
	[POINT_LOCK] = on_lock,
	[POINT_LOCK_END] = on_lock_end,
};

/* The CPU whose next record is the oldest, or -1. */
static int oldest(const struct translation *x)
{
	int found = -1;

	for (uint32_t i = 0; i < x->n_cpus; i++)
		if (x->cpus[i].has_next && (found < 0 || x->cpus[i].next.time < x->cpus[found].next.time))
			found = (int)i;
	return found;
}

static void read_all(struct translation *x, struct tracefs_pages *pages, uint64_t until)
{
	int cpu;

	for (uint32_t i = 0; i < x->n_cpus; i++)
		x->cpus[i].has_next = tracefs_next(&pages[i], &x->cpus[i].next);
	while (!x->error && (cpu = oldest(x)) >= 0) {
		struct tracefs_record r = x->cpus[cpu].next;

		if (r.time > until)
			break;
		handlers[r.point](x, &r);
		x->t->cpus[cpu].written++;
		x->cpus[cpu].has_next = tracefs_next(&pages[cpu], &x->cpus[cpu].next);
	}
	for (uint32_t i = 0; i < x->n_cpus; i++)
		x->t->cpus[i].torn += pages[i].damaged;
}

/* Those that ended, and were there before the records begin; and the priority of all. */
static void tell_threads(struct translation *x)
{
	for (size_t i = 0; i < x->t->threads.n; i++) {
		struct known *k = hmap_remove(&x->threads, x->t->threads.v[i].tid, 0);

		if (k && k->prio)
			x->t->threads.v[i].prio = k->prio;
		free(k);
	}
	HMAP_FOREACH(slot, &x->threads) {
		const struct known *k = slot->value;
		struct trace_thread thread = {.tid = k->tid, .tgid = k->tgid, .ns_tid = k->tid, .ns_tgid = k->tgid, .prio = k->prio,
					      .flags = THREAD_HAS_ENDED | (k->kernel ? THREAD_IS_KERNEL : 0)};

		if (!k->tid || x->error)
			continue;
		memcpy(thread.comm, k->comm, sizeof(thread.comm));
		x->error = trace_add_thread(x->t, &thread);
	}
}

int tracefs_translate(struct tracefs_pages *pages, uint32_t n, const char *proc_root, uint64_t until, struct trace *t)
{
	struct translation x = {.t = t, .layout = n ? pages[0].layout : NULL, .n_cpus = n};

	if (n > t->n_cpus)
		return -EINVAL;
	x.cpus = calloc(n + 1, sizeof(*x.cpus));
	x.error = x.cpus ? tracefs_files_new(proc_root, &x.files) : -ENOMEM;
	if (x.error == 0) {
		know_living(&x);
		read_all(&x, pages, until);
		tell_threads(&x);
	}
	HMAP_FOREACH(slot, &x.threads)
	free(slot->value);
	hmap_free(&x.threads);
	tracefs_files_free(x.files);
	free(x.cpus);
	return x.error;
}
