#include "machine/events/trace-redact.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "machine/events/trace-coarsen.h"

#define IS_KERNEL(address) ((address) >> 63)
#define KERNEL_NUMBERS	   (1ull << 63) /* what stands for kernel addresses: counted from here on */
#define NUMBER_STEP	   16		/* a caller's place is looked for one byte before it */

struct hiding {
	struct trace *t;
	struct strangers *strangers;
	struct trace out;      /* its events and threads become the trace's */
	VEC(struct event) samples; /* of strangers, by process */
	struct hmap stacks;    /* (ref, 0) -> anything: those of the events that stay */
	struct hmap requests;  /* (request, 0) -> anything: the viewer's own that are under way */
	struct hmap addresses, objects; /* (value, 0) -> its number */
	uint64_t n_addresses, n_objects;
};

/* The same number for the same value. 0 or -ENOMEM. */
static int number_of(struct hmap *known, uint64_t *n, uint64_t value, uint64_t *ret)
{
	uintptr_t number = (uintptr_t)hmap_get(known, value, 0);

	if (!number) {
		number = (uintptr_t)++*n;
		if (hmap_put(known, value, 0, (void *)number) < 0)
			return -ENOMEM;
	}
	*ret = number;
	return 0;
}

static int hide_address(struct hiding *h, uint64_t *address)
{
	uint64_t number;

	if (!IS_KERNEL(*address))
		return 0;
	if (number_of(&h->addresses, &h->n_addresses, *address, &number) < 0)
		return -ENOMEM;
	*address = KERNEL_NUMBERS + number * NUMBER_STEP;
	return 0;
}

static int hide_object(struct hiding *h, uint64_t *object)
{
	return *object ? number_of(&h->objects, &h->n_objects, *object, object) : 0;
}

static bool is_own(const struct hiding *h, uint32_t tid, uint64_t time)
{
	return strangers_is_own(h->strangers, tid, time);
}

static int keep_stack(struct hiding *h, stack_ref ref)
{
	return ref && hmap_put(&h->stacks, ref, 0, h) < 0 ? -ENOMEM : 0;
}

/* --- events of the viewer's threads: 1 = it stays, 0 = it does not, -ENOMEM --- */

static int hide_wakeup(struct hiding *h, struct event *e)
{
	bool by_interrupt = e->flags & (WAKEUP_IN_IRQ | WAKEUP_IN_SOFTIRQ);

	if (is_own(h, e->wakeup.waker, e->time))
		return keep_stack(h, e->wakeup.stack) < 0 ? -ENOMEM : 1;
	e->wakeup.waker = 0;
	e->wakeup.stack = 0;
	if (!by_interrupt) {
		e->flags |= WAKEUP_NO_WAKING;
		e->wakeup.since_waking = 0;
	}
	if (e->flags & WAKEUP_IN_IRQ && e->wakeup.vector != EVENT_TIMER_VECTOR)
		e->wakeup.vector = 0;
	return 1;
}

static const struct trace_thread *holder_of(const struct hiding *h, const struct event *e)
{
	const struct trace_thread *sleeper = trace_thread(h->t, e->thread, e->time);

	if (e->flags & (LOCK_FUTEX | LOCK_FUTEX_PI) && sleeper)
		return trace_thread_in_namespace(h->t, sleeper, e->lock.owner, e->time);
	return trace_thread(h->t, e->lock.owner, e->time);
}

static int hide_lock(struct hiding *h, struct event *e)
{
	const struct trace_thread *holder = e->lock.owner ? holder_of(h, e) : NULL;

	e->lock.word = 0; /* what the owner wrote there; whose it is, is in `owner` */
	if (!holder || !is_own(h, holder->tid, e->time))
		e->lock.owner = 0;
	return hide_object(h, &e->lock.object) < 0 ? -ENOMEM : 1;
}

static int hide_place(struct hiding *h, uint64_t *ip, stack_ref kernel, stack_ref user)
{
	return hide_address(h, ip) < 0 || keep_stack(h, kernel) < 0 || keep_stack(h, user) < 0 ? -ENOMEM : 1;
}

static int hide_fork(struct hiding *h, struct event *e)
{
	if (!is_own(h, e->fork.parent, e->time))
		e->fork.parent = e->fork.parent_process = 0;
	return 1;
}

static int hide_own(struct hiding *h, struct event *e)
{
	switch (e->kind) {
	case EVENT_WAKEUP:
		return hide_wakeup(h, e);
	case EVENT_MIGRATE:
		e->migrate.by = is_own(h, e->migrate.by, e->time) ? e->migrate.by : 0;
		return 1;
	case EVENT_FORK:
		return hide_fork(h, e);
	case EVENT_LOCK:
		return hide_lock(h, e);
	case EVENT_SAMPLE:
		return hide_place(h, &e->sample.ip, e->sample.kernel, e->sample.user);
	case EVENT_WAITED:
		return hide_place(h, &e->waited.ip, e->waited.kernel, e->waited.user);
	case EVENT_IRQ:
		return e->flags & IRQ_TIMER;
	case EVENT_SWITCH: /* strangers_spread() writes them */
	case EVENT_SOFTIRQ:
		return 0;
	}
	return 1;
}

/* --- and of others --- */

/* How often it was met is part of its sums. */
static int hide_sample(struct hiding *h, const struct event *e)
{
	struct event sum = {.time = e->time / VISIBLE_TICK * VISIBLE_TICK + VISIBLE_TICK / 2, .cpu = e->cpu, .kind = EVENT_SAMPLE, .flags = e->flags};

	if (!e->thread || !strangers_has_tick(h->strangers, e->cpu, e->time))
		return 0;
	return strangers_find(h->strangers, e->thread, e->time, &sum.thread) < 0 ? -ENOMEM : VEC_PUSH(h->samples, sum);
}

ORDER(compare_samples, struct event, ASCENDING(time) ?: ASCENDING(cpu) ?: ASCENDING(thread) ?: ASCENDING(flags))

/* Not in the order in which they came. */
static int put_samples(struct hiding *h)
{
	int r = 0;

	VEC_SORT(h->samples, compare_samples);
	for (size_t i = 0; r == 0 && i < h->samples.n; i++) {
		struct event *e = &h->samples.v[i];

		e->thread = strangers_number(h->strangers, e->thread, e->cpu);
		r = e->thread ? trace_add(&h->out, e) : -ENOMEM;
	}
	return r;
}

/* Any thread may be current where a request is issued or completes. */
static int hide_request(struct hiding *h, struct event *e)
{
	bool own = is_own(h, e->thread, e->time), known = hmap_get(&h->requests, e->block.request, 0);

	if (e->kind == EVENT_BLOCK_INSERT || (e->kind == EVENT_BLOCK_ISSUE && !known)) {
		(void)hmap_remove(&h->requests, e->block.request, 0); /* numbers are used again */
		known = own;
		if (own && hmap_put(&h->requests, e->block.request, 0, h) < 0)
			return -ENOMEM;
	} else if (e->kind == EVENT_BLOCK_COMPLETE) {
		(void)hmap_remove(&h->requests, e->block.request, 0);
	}
	e->thread = own ? e->thread : 0;
	return known ? (hide_object(h, &e->block.request) < 0 ? -ENOMEM : 1) : 0;
}

static int hide_event(struct hiding *h, struct event *e)
{
	if (e->kind >= EVENT_BLOCK_INSERT && e->kind <= EVENT_BLOCK_COMPLETE)
		return hide_request(h, e);
	if (is_own(h, e->thread, e->time))
		return hide_own(h, e);
	return e->kind == EVENT_SAMPLE ? hide_sample(h, e) : 0;
}

/* The reason for which the viewer's threads left and waited; of one that was preempted, which thread came to its CPU. */
static int hide_switches(struct hiding *h, size_t first)
{
	int r = 0;

	for (size_t i = first; r == 0 && i < h->out.n_events; i++) {
		struct event *e = &h->out.events[i];

		if (e->kind != EVENT_SWITCH || !e->out.object)
			continue;
		if (e->out.state)
			r = hide_object(h, &e->out.object);
		else if (!is_own(h, (uint32_t)e->out.object, e->time))
			e->out.object = 0;
	}
	return r;
}

static int hide_events(struct hiding *h)
{
	size_t own;
	int r = 0;

	for (size_t i = 0; r == 0 && i < h->t->n_events; i++) {
		struct event e = h->t->events[i];
		int keep = hide_event(h, &e);

		r = keep > 0 ? trace_add(&h->out, &e) : keep;
	}
	own = h->out.n_events;
	r = r ?: strangers_spread(h->strangers, &h->out);
	r = r ?: put_samples(h);
	return r < 0 ? r : hide_switches(h, own);
}

/* --- tables --- */

static int hide_threads(struct hiding *h)
{
	struct trace *t = h->t;
	int r = strangers_list(h->strangers, &h->out);

	for (size_t i = 0; r == 0 && i < t->threads.n; i++) {
		struct trace_thread *thread = &t->threads.v[i];

		if (!strangers_excludes(h->strangers, thread) && !(thread->flags & THREAD_IS_IDLE))
			continue;
		if (thread->facts.state)
			r = hide_object(h, &thread->object);
		thread->owner = 0;
		r = r ?: trace_add_thread(&h->out, thread);
		if (r == 0)
			thread->exe = thread->unit = NULL; /* they have moved */
	}
	return r;
}

/* A waker's stack has the kernel's frames and the user's. */
static int hide_stacks(struct hiding *h)
{
	HMAP_FOREACH(slot, &h->t->stacks) {
		struct trace_stack *s = slot->value;

		if (!hmap_get(&h->stacks, s->ref, 0))
			s->n = 0;
		for (uint32_t i = 0; i < s->n; i++)
			if (hide_address(h, &s->frames[i]) < 0)
				return -ENOMEM;
	}
	return 0;
}

/* `out` has what stays, `t` gets it. */
static void take_over(struct hiding *h)
{
	struct trace *t = h->t, old = {.events = t->events};

	old.threads.v = t->threads.v;
	old.threads.n = t->threads.n;
	t->events = h->out.events;
	t->n_events = h->out.n_events;
	t->allocated = h->out.allocated;
	t->threads.v = h->out.threads.v;
	t->threads.n = h->out.threads.n;
	t->threads.allocated = h->out.threads.allocated;
	h->out.events = NULL;
	h->out.threads.v = NULL;
	h->out.threads.n = 0;
	trace_clear(&old);
	for (uint32_t i = 0; i < t->n_cpus; i++)
		t->cpus[i].written = t->cpus[i].torn = t->cpus[i].skipped = t->cpus[i].unknown = 0; /* they count others' events */
	t->stacks_lost = 0;
}

static bool is_own_process(const struct trace *t, uint32_t process)
{
	const struct trace_thread *thread = process ? trace_thread(t, process, t->to) : NULL;

	return thread && !(thread->flags & (THREAD_IS_HIDDEN | THREAD_IS_IDLE));
}

static int hide_symbols(struct hiding *h)
{
	struct trace *t = h->t;
	size_t kept = 0;

	VEC_EACH(s, t->symbols) {
		bool told = s->process ? is_own_process(t, s->process) : hmap_get(&h->addresses, s->address, 0) != NULL;

		if (told && hide_address(h, &s->address) < 0)
			return -ENOMEM;
		if (told)
			t->symbols.v[kept++] = *s;
		else
			free(s->name);
	}
	t->symbols.n = kept;
	return 0;
}

/* Modules keep their places in the list. */
static int hide_modules(struct trace *t)
{
	bool *used = calloc(t->modules.n + 1, sizeof(*used));
	size_t kept = 0;

	if (!used)
		return -ENOMEM;
	for (size_t i = 0; i < t->mappings.n; i++) {
		const struct trace_mapping m = t->mappings.v[i];

		if (!is_own_process(t, m.process))
			continue;
		if (m.module < t->modules.n)
			used[m.module] = true;
		t->mappings.v[kept++] = m;
	}
	t->mappings.n = kept;
	for (size_t i = 0; i < t->modules.n; i++)
		if (!used[i]) {
			t->modules.v[i].path[0] = '\0';
			t->modules.v[i].build_id_size = 0;
		}
	free(used);
	return 0;
}

static int hide_tables(struct hiding *h)
{
	int r = hide_threads(h);

	if (r < 0)
		return r;
	take_over(h);
	r = hide_stacks(h);
	r = r ?: hide_symbols(h);
	return r < 0 ? r : hide_modules(h->t);
}

int trace_redact(struct trace *t, const struct viewer *viewer)
{
	struct hiding h = {.t = t};
	int r;

	if (viewer_sees_all(viewer))
		return 0;
	r = strangers_open(t, viewer, &h.strangers);
	r = r ?: trace_begin(&h.out, t->n_cpus);
	r = r ?: hide_events(&h);
	r = r ?: hide_tables(&h);
	strangers_free(h.strangers);
	trace_clear(&h.out);
	VEC_FREE(h.samples);
	hmap_free(&h.stacks);
	hmap_free(&h.requests);
	hmap_free(&h.addresses);
	hmap_free(&h.objects);
	return r < 0 ? r : trace_finish(t);
}
