#include "model/trace-hide.h"

#include <errno.h>
#include <stdlib.h>

#define IS_KERNEL(address) ((address) >> 63)
#define KERNEL_NUMBERS	   (1ull << 63) /* what stands for kernel addresses: counted from here on */
#define NUMBER_STEP	   16		/* a caller's place is looked for one byte before it */

struct hiding {
	struct trace *t;
	struct hmap own_stacks; /* (ref, 0) -> anything: those of a thread that is not hidden */
	struct hmap addresses, objects; /* (value, 0) -> its number + 1 */
	uint64_t n_addresses, n_objects;
};

static bool is_hidden(const struct trace_thread *thread)
{
	return !thread || thread->flags & THREAD_IS_HIDDEN;
}

static void hide_threads(struct trace *t, uint32_t viewer)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		struct trace_thread *thread = &t->threads.v[i];

		if (thread->uid == viewer || (thread->flags & THREAD_IS_KERNEL))
			continue;
		free(thread->exe);
		thread->exe = NULL;
		thread->flags |= THREAD_IS_HIDDEN;
	}
}

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

/* A place in user space, with its stack: of a hidden thread there is none. */
static int hide_place(struct hiding *h, const struct trace_thread *thread, uint64_t *ip, stack_ref *user)
{
	if (is_hidden(thread)) {
		*user = 0;
		*ip = IS_KERNEL(*ip) ? *ip : 0;
	} else if (*user && hmap_put(&h->own_stacks, *user, 0, h) < 0) {
		return -ENOMEM;
	}
	return hide_address(h, ip);
}

static int hide_event(struct hiding *h, struct event *e)
{
	const struct trace *t = h->t;

	switch (e->kind) {
	case EVENT_SWITCH: /* of one that was preempted it is a thread's number */
		return e->out.state ? hide_object(h, &e->out.object) : 0;
	case EVENT_LOCK:
		e->lock.word = 0; /* what the owner wrote there; whose it is, is in `owner` */
		return hide_object(h, &e->lock.object);
	case EVENT_SAMPLE:
		return hide_place(h, trace_thread(t, e->thread, e->time), &e->sample.ip, &e->sample.user);
	case EVENT_WAITED:
		return hide_place(h, trace_thread(t, e->thread, e->time), &e->waited.ip, &e->waited.user);
	case EVENT_WAKEUP:
		if (e->wakeup.stack && !is_hidden(trace_thread(t, e->wakeup.waker, e->time)))
			return hmap_put(&h->own_stacks, e->wakeup.stack, 0, h) < 0 ? -ENOMEM : 0;
	}
	return 0;
}

static bool is_told(const struct trace *t, const struct event *e)
{
	return (e->kind != EVENT_MARKER && e->kind != EVENT_MARKER_TEXT) || !is_hidden(trace_thread(t, e->thread, e->time));
}

static int hide_events(struct hiding *h)
{
	struct trace *t = h->t;
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->n_events; i++) {
		if (!is_told(t, &t->events[i]))
			continue;
		t->events[kept] = t->events[i];
		r = hide_event(h, &t->events[kept++]);
	}
	t->n_events = r == 0 ? kept : t->n_events;
	for (size_t i = 0; r == 0 && i < t->threads.n; i++)
		if (t->threads.v[i].facts.state)
			r = hide_object(h, &t->threads.v[i].object);
	return r;
}

/* A waker's stack has the kernel's frames and the user's. */
static int hide_stacks(struct hiding *h)
{
	HMAP_FOREACH(slot, &h->t->stacks) {
		struct trace_stack *s = slot->value;
		bool own = hmap_get(&h->own_stacks, s->ref, 0);
		uint32_t kept = 0;

		for (uint32_t i = 0; i < s->n; i++) {
			uint64_t frame = s->frames[i];

			if (!own && !IS_KERNEL(frame))
				continue;
			if (hide_address(h, &frame) < 0)
				return -ENOMEM;
			s->frames[kept++] = frame;
		}
		s->n = kept;
	}
	return 0;
}

static bool is_own_process(const struct trace *t, uint32_t process)
{
	return process && !is_hidden(trace_thread(t, process, t->to));
}

static int hide_symbols(struct hiding *h)
{
	struct trace *t = h->t;
	size_t kept = 0;

	for (size_t i = 0; i < t->symbols.n; i++) {
		struct trace_symbol *s = &t->symbols.v[i];
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

int trace_hide(struct trace *t, uint32_t viewer)
{
	struct hiding h = {.t = t};
	int r;

	hide_threads(t, viewer);
	r = hide_events(&h);
	if (r == 0)
		r = hide_stacks(&h);
	if (r == 0)
		r = hide_symbols(&h);
	if (r == 0)
		r = hide_modules(t);
	hmap_free(&h.own_stacks);
	hmap_free(&h.addresses);
	hmap_free(&h.objects);
	return r < 0 ? r : trace_finish(t);
}
