#include "machine/tracefs/tracefs-events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "machine/tracefs/tracefs-translate.h"

#define CLONE_THREAD	 0x00010000
#define CONTENTION_SPIN	 1 /* flags of lock:contention_begin */
#define CONTENTION_MUTEX 32
#define SECTOR_BITS	 40

/* --- threads --- */

struct known *translation_find(struct translation *x, int64_t tid)
{
	struct known *k = hmap_get(&x->threads, (uint32_t)tid, 0);

	if (k)
		return k;
	k = hmap_keep(&x->threads, (uint32_t)tid, 0, calloc(1, sizeof(*k)));
	if (!k) {
		x->error = -ENOMEM;
		return NULL;
	}
	*k = (struct known){.tid = (uint32_t)tid, .tgid = (uint32_t)tid, .call = CALL_NOT_SEEN};
	return k;
}

void translation_take_comm(struct known *k, const struct tracefs_record *r)
{
	size_t n = r->text_size < TRACE_COMM ? r->text_size : TRACE_COMM;

	if (!n)
		return;
	memset(k->comm, 0, sizeof(k->comm));
	memcpy(k->comm, r->text, strnlen(r->text, n));
}

static void know_living(struct translation *x)
{
	VEC_EACH(thread, x->t->threads) {
		struct known *k = translation_find(x, thread->tid);

		if (!k)
			return;
		k->tgid = thread->tgid;
		k->kernel = thread->flags & THREAD_IS_KERNEL;
	}
}

struct event *translation_put(struct translation *x, const struct tracefs_record *r, int64_t thread, uint8_t kind, uint8_t flags)
{
	struct event e = {.time = r->time, .thread = (uint32_t)thread, .cpu = r->cpu, .kind = kind, .flags = flags};
	int n = trace_add(x->t, &e);

	if (n < 0)
		x->error = n;
	return n < 0 ? NULL : &x->t->events[x->t->n_events - 1];
}

/* --- lives --- */

static void on_new_task(struct translation *x, const struct tracefs_record *r)
{
	struct known *parent = translation_find(x, r->thread), *k = translation_find(x, r->values[0]);
	struct event *e = parent && k ? translation_put(x, r, k->tid, EVENT_FORK, 0) : NULL;

	if (!e)
		return;
	*k = (struct known){.tid = k->tid, .kernel = parent->kernel, .call = CALL_NOT_SEEN};
	k->tgid = r->values[1] & CLONE_THREAD ? parent->tgid : k->tid;
	translation_take_comm(k, r);
	e->fork.process = k->tgid;
	e->fork.parent = parent->tid;
	e->fork.parent_process = parent->tgid;
}

static void on_exec(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = translation_find(x, r->values[0]);
	struct event *e = k ? translation_put(x, r, k->tid, EVENT_EXEC, 0) : NULL;

	if (!e)
		return;
	e->exec.process = k->tgid;
	e->exec.before = (uint32_t)r->values[1];
}

static void on_end(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = translation_find(x, r->values[0]);
	struct event *e = k ? translation_put(x, r, k->tid, EVENT_EXIT, r->values[1] ? EXIT_GROUP : 0) : NULL;

	if (e)
		e->exit.process = k->tgid;
}

/* Newer kernels leave the number out: a thread renames itself. */
static void on_rename(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = translation_find(x, r->values[0] ? r->values[0] : r->thread);
	struct event *e;

	if (!k)
		return;
	translation_take_comm(k, r);
	e = translation_put(x, r, k->tid, EVENT_NAME, 0);
	if (e)
		memcpy(e->text, k->comm, EVENT_TEXT);
}

/* --- system calls, locks, reclaim: what a thread is in --- */

static void on_call(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = translation_find(x, r->thread);

	if (!k)
		return;
	k->call = r->values[0] >= 0 && r->values[0] <= INT16_MAX ? r->values[0] : CALL_NOT_SEEN;
	for (size_t i = 0; i < ARRAY_SIZE(k->arguments); i++)
		k->arguments[i] = (uint64_t)r->values[1 + i];
}

static void on_return(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = translation_find(x, r->thread);

	if (k)
		k->call = NO_CALL;
}

static void on_lock(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = r->thread ? translation_find(x, r->thread) : NULL;

	if (k && (!(r->values[1] & CONTENTION_SPIN) || r->values[1] & CONTENTION_MUTEX))
		k->lock = (uint64_t)r->values[0];
}

static void on_lock_end(struct translation *x, const struct tracefs_record *r)
{
	struct known *k = r->thread ? translation_find(x, r->thread) : NULL;

	if (k)
		k->lock = 0;
}

static void reclaim(struct translation *x, const struct tracefs_record *r, bool begins, uint8_t flags)
{
	struct known *k = translation_find(x, r->thread);
	struct event *e = k ? translation_put(x, r, k->tid, begins ? EVENT_RECLAIM_BEGIN : EVENT_RECLAIM_END, flags) : NULL;

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
	struct tracefs_cpu *c = &x->cpus[r->cpu];

	c->irq_from = r->time;
	c->irq = (r->point == POINT_TIMER ? EVENT_TIMER_VECTOR : (uint32_t)r->values[0]) + 1;
	c->completed = false;
}

static void on_irq_end(struct translation *x, const struct tracefs_record *r)
{
	struct tracefs_cpu *c = &x->cpus[r->cpu];
	bool timer = r->point == POINT_TIMER_END;
	struct event *e = c->irq_from ? translation_put(x, r, r->thread, EVENT_IRQ, timer ? IRQ_TIMER : 0) : NULL;

	if (e) {
		e->interrupt.took = r->time - c->irq_from;
		e->interrupt.number = timer ? 0 : (uint32_t)r->values[0];
		c->irq_total += e->interrupt.took;
	}
	c->irq_from = 0;
	c->irq = 0;
	c->irq_end = r->time;
	c->completed = false;
}

static void on_softirq(struct translation *x, const struct tracefs_record *r)
{
	struct tracefs_cpu *c = &x->cpus[r->cpu];

	c->softirq_from = r->time;
	c->softirq_nested = c->irq_total;
	c->softirq = (uint32_t)r->values[0] + 1;
	c->completed = false;
}

static void on_softirq_end(struct translation *x, const struct tracefs_record *r)
{
	struct tracefs_cpu *c = &x->cpus[r->cpu];
	struct event *e = c->softirq_from ? translation_put(x, r, r->thread, EVENT_SOFTIRQ, 0) : NULL;

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
	struct event *e = translation_put(x, r, r->thread, kind, block_flags(r));

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
	[POINT_SWITCH] = tracefs_on_switch,
	[POINT_WAKING] = tracefs_on_waking,
	[POINT_WAKEUP] = tracefs_on_wakeup,
	[POINT_WAKEUP_NEW] = tracefs_on_wakeup_new,
	[POINT_MIGRATE] = tracefs_on_migrate,
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
	hmap_free_values(&x.threads);
	tracefs_files_free(x.files);
	free(x.cpus);
	return x.error;
}
