#include "machine/flight/wait-sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "lib/data/str.h"

struct seen {
	uint64_t waited, ran;
	uint64_t round;
};

struct wait_sums {
	struct ring *ring;
	struct hmap threads; /* (tid, start) -> struct seen */
	int64_t opened, looked;
	uint64_t round;
	/* of the look that continues */
	struct process_waits_list *out;
	struct hmap processes; /* (pid, 0) -> index + 1 into out */
	int error;
};

int wait_sums_open(struct ring *ring, struct wait_sums **ret)
{
	struct wait_sums *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->ring = ring;
	w->opened = clock_monotonic();
	*ret = w;
	return 0;
}

void wait_sums_close(struct wait_sums *w)
{
	if (!w)
		return;
	hmap_free_values(&w->threads);
	hmap_free(&w->processes);
	free(w);
}

static uint64_t waited(const struct ring_task *t)
{
	return t->sum[SUM_RUNNABLE] + t->sum[SUM_PREEMPTED] + t->sum[SUM_DISK] + t->sum[SUM_FAULT];
}

static void set_name(struct process_waits *p, const struct ring_task *t)
{
	memcpy(p->name, t->who.comm, RING_COMM);
	str_make_printable(p->name);
}

static struct process_waits *find_process(struct wait_sums *w, const struct ring_task *t)
{
	uintptr_t at = (uintptr_t)hmap_get(&w->processes, t->who.tgid, 0);
	struct process_waits fresh = {.pid = t->who.tgid,
				      .parent = t->who.parent,
				      .kernel = t->who.flags & THREAD_IS_KERNEL,
				      .young = (int64_t)t->who.start > w->opened};

	if (at)
		return &w->out->list.v[at - 1];
	set_name(&fresh, t);
	if (VEC_PUSH(w->out->list, fresh) < 0 ||
	    hmap_put(&w->processes, t->who.tgid, 0, (void *)(uintptr_t)w->out->list.n) < 0)
		return NULL;
	return &w->out->list.v[w->out->list.n - 1];
}

/* A thread that is met for the first time: what it did before is not of this span, unless it began in it. */
static struct seen *find_thread(struct wait_sums *w, const struct ring_task *t)
{
	struct seen *s = hmap_get(&w->threads, t->who.tid, t->who.start);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s || hmap_put(&w->threads, t->who.tid, t->who.start, s) < 0) {
		free(s);
		return NULL;
	}
	if (!w->looked || (int64_t)t->who.start < w->looked) {
		s->waited = waited(t);
		s->ran = t->sum[SUM_RUNNING];
	}
	return s;
}

static void take(const struct ring_task *t, void *data)
{
	struct wait_sums *w = data;
	struct seen *s = t->has_sums ? find_thread(w, t) : NULL;
	struct process_waits *p = find_process(w, t);

	if (!p || (!s && t->has_sums)) {
		w->error = -ENOMEM;
		return;
	}
	if (t->who.tid == t->who.tgid)
		set_name(p, t);
	if (!s || s->round == w->round)
		return;
	s->round = w->round;
	/* a sum that is read while it is written may be a moment behind */
	p->waited += waited(t) > s->waited ? waited(t) - s->waited : 0;
	p->ran += t->sum[SUM_RUNNING] > s->ran ? t->sum[SUM_RUNNING] - s->ran : 0;
	s->waited = waited(t);
	s->ran = t->sum[SUM_RUNNING];
}

static void forget_ended(struct wait_sums *w)
{
	for (size_t i = 0; i < w->threads.size;) {
		struct hmap_slot *slot = &w->threads.slots[i];
		struct seen *s = slot->value;

		if (s && s->round != w->round)
			free(hmap_remove(&w->threads, slot->key,
					 slot->key2)); /* what stood behind it moves here */
		else
			i++;
	}
}

int wait_sums_look(struct wait_sums *w, struct process_waits_list *ret, int64_t *ret_span)
{
	int64_t now = clock_monotonic();
	int r;

	ret->list.n = 0;
	w->out = ret;
	w->error = 0;
	w->round++;
	hmap_free(&w->processes);
	w->processes = (struct hmap){};
	r = ring_look(w->ring, take, w);
	if (r == 0 && w->looked)
		ring_look_back(w->ring, (uint64_t)w->looked, take, w);
	if (r < 0 || w->error < 0)
		return r < 0 ? r : w->error;
	forget_ended(w);
	*ret_span = w->looked ? now - w->looked : 0;
	w->looked = now;
	return 0;
}
