#include "machine/blame/blame-charge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMO_TICK	  100000000ll
#define SAMPLES		  4 /* of who had the CPU in a wait whose segments are too many: few, but of each of many waits */
#define RECLAIM_LOOK_BACK 1000000000ll	/* the one that allocated in the second before made memory short */
#define DIRTY_LOOK_BACK	  30000000000ll /* dirty_expire_centisecs: pages are written at that age at the latest */

static bool is_page_out(const struct timeline *t, uint32_t thread)
{
	const struct thread_line *line = &t->threads.v[thread];

	return line->kernel && strncmp(line->comm, "kswapd", 6) == 0;
}

int charger_open(struct charger *c, const struct timeline *t, charge_fn charge, void *user)
{
	*c = (struct charger){.timeline = t, .charge = charge, .user = user, .segments = calloc(t->cpus.n + 1, sizeof(uint32_t))};
	return c->segments ? 0 : -ENOMEM;
}

void charger_close(struct charger *c)
{
	hmap_free_values(&c->allocators);
	hmap_free_values(&c->dirtiers);
	free(c->segments);
}

static void add_owner(struct owners *o, uint32_t thread, int64_t weight)
{
	size_t i = 0;

	if (weight <= 0 || weight > INT64_MAX / 4 - o->total) /* the latter only of a damaged trace */
		return;
	while (i < o->n && o->v[i].thread != thread)
		i++;
	if (i == OWNERS_MAX)
		i = OWNERS_MAX - 1;
	else if (i == o->n)
		o->v[o->n++].thread = thread, o->v[i].weight = 0;
	o->v[i].weight += weight;
	o->total += weight;
}

bool owners_charge(struct charger *c, const struct owners *o, int64_t ns)
{
	int64_t left = ns, weight_left = o->total;

	for (size_t i = 0; i < o->n && left > 0; i++) {
		int64_t part = (int64_t)((__int128)left * o->v[i].weight / weight_left);
		uint32_t who = o->v[i].thread;

		if (i + 1 == o->n)
			part = left;
		left -= part;
		weight_left -= o->v[i].weight;
		if (who == NOBODY)
			charger_add(c, BY_UNKNOWN, 0, part, BLAME_MODELLED);
		else if (who == c->step->victim)
			charger_add(c, BY_SELF, who, part, BLAME_MODELLED);
		else
			charger_add(c, BY_TASK, who, part, BLAME_MODELLED);
	}
	return o->n > 0;
}

/* Who freed memory in the second before: of the machine's, and within the limit of `unit`. */
static void find_allocators(struct charger *c, struct owners *o, int64_t to, uint32_t unit)
{
	const struct timeline *t = c->timeline;

	for (size_t i = 0; i < t->freeings.n && t->freeings.v[i].at < to; i++) {
		const struct freeing *f = &t->freeings.v[i];

		if (f->at >= to - RECLAIM_LOOK_BACK && (!f->group || t->threads.v[f->thread].unit == unit))
			add_owner(o, f->thread, (int64_t)(f->pages & INT32_MAX));
	}
}

static void find_dirtiers(struct charger *c, struct owners *o, int64_t to, uint32_t unit)
{
	(void)unit;
	for (size_t i = 0; i < c->timeline->dirtyings.n && c->timeline->dirtyings.v[i].at < to; i++)
		if (c->timeline->dirtyings.v[i].at >= to - DIRTY_LOOK_BACK)
			add_owner(o, c->timeline->dirtyings.v[i].thread, (int64_t)c->timeline->dirtyings.v[i].bytes);
}

/* NULL without memory. */
static const struct owners *remembered(struct charger *c, struct hmap *memo, int64_t at, uint32_t unit,
				       void (*find)(struct charger *, struct owners *, int64_t, uint32_t))
{
	int64_t tick = at < c->timeline->origin ? 0 : (at - c->timeline->origin) / MEMO_TICK;
	struct owners *known = hmap_get(memo, (uint64_t)tick, unit);

	if (known)
		return known;
	known = hmap_keep(memo, (uint64_t)tick, unit, calloc(1, sizeof(*known)));
	if (known)
		find(c, known, c->timeline->origin + (tick + 1) * MEMO_TICK, unit);
	return known;
}

static void owners_add_shares(struct owners *o, const struct owners *shares, int64_t weight)
{
	for (size_t i = 0; i < shares->n; i++)
		add_owner(o, shares->v[i].thread, (int64_t)((__int128)weight * shares->v[i].weight / shares->total));
}

void owners_add_cause(struct charger *c, struct owners *o, uint32_t thread, bool write, int64_t at, int64_t weight)
{
	const struct owners *shares = NULL;

	if (thread != NOBODY && is_page_out(c->timeline, thread))
		shares = remembered(c, &c->allocators, at, NOBODY, find_allocators);
	else if (thread != NOBODY && write && c->timeline->threads.v[thread].kernel)
		shares = remembered(c, &c->dirtiers, at, NOBODY, find_dirtiers);
	if (shares && shares->total > 0)
		owners_add_shares(o, shares, weight);
	else
		add_owner(o, thread, weight);
}

static void charge_memory(struct charger *c, const struct step *step)
{
	uint32_t unit = c->timeline->threads.v[step->thread].unit;
	const struct owners *o = remembered(c, &c->allocators, step->from, unit, find_allocators);

	if (!o || !owners_charge(c, o, step->to - step->from))
		charger_add(c, BY_UNKNOWN, 0, step->to - step->from, 0);
}

static void charge_segment(struct charger *c, const struct queue_cells *known, const struct segment *s, int64_t ns)
{
	static const uint8_t by[] = {[SEGMENT_UNKNOWN] = BY_UNKNOWN, [SEGMENT_IDLE] = BY_WAKEUP,
				     [SEGMENT_TASK] = BY_TASK, [SEGMENT_IRQ] = BY_IRQ, [SEGMENT_SOFTIRQ] = BY_SOFTIRQ};
	enum blamed who = by[s->kind];
	uint32_t cell;

	if (who == BY_TASK && s->who == c->step->thread)
		who = BY_UNKNOWN; /* events are missing: it cannot have waited for itself */
	cell = known ? known->cells[queue_cells_place(known, who, s->who)] : 0;
	if (known && cell > known->first) {
		charger_cell_add(&known->matrix->cells.v[cell - 1], ns);
		known->matrix->charged[FOR_CPU] += ns;
		return;
	}
	if (who == BY_TASK && s->who == c->step->victim)
		who = BY_SELF;
	charger_add(c, who, who == BY_UNKNOWN || who == BY_WAKEUP ? 0 : s->who, ns, 0);
}

/* From 0 up to n, the same for the same question. */
static int64_t scatter(int64_t at, int64_t n)
{
	return (int64_t)(((uint64_t)at * 0x9e3779b97f4a7c15ull >> 32) % (uint64_t)n);
}

/* One moment in each quarter says who is charged for it: a long segment is met as much oftener as it is longer. */
static void charge_samples(struct charger *c, const struct queue_cells *known, const struct cpu_line *cpu, int64_t from, int64_t to)
{
	static const struct segment nobody = {.kind = SEGMENT_UNKNOWN};
	size_t near = c->segments[c->step->interval->cpu];

	c->sampled += to - from;
	for (int left = SAMPLES; left > 0 && from < to; left--) {
		int64_t part = left > 1 && to - from > left ? (to - from) / left : to - from, at = from + scatter(from, part);
		const struct segment *s;

		near = segment_near(cpu, at, near);
		s = near < cpu->segments.n ? &cpu->segments.v[near] : &nobody;
		charge_segment(c, known, at >= s->start && at < cpu->end ? s : &nobody, part);
		from += part;
	}
	c->segments[c->step->interval->cpu] = (uint32_t)near;
}

/* Charges what the CPU did in the meantime: of a thread queued on it, or interrupted on it. */
static void charge_cpu(struct charger *c, const struct step *step)
{
	const struct interval *i = step->interval;
	const struct cpu_line *cpu = &c->timeline->cpus.v[i->cpu];
	const struct queue_cells *known = !step->depth && state_table[i->state].wait == FOR_CPU && !step->flags ? c->known : NULL;
	int64_t from = step->from;
	size_t s;

	for (s = segment_near(cpu, from, i->near != NOBODY ? i->near : c->segments[i->cpu]); s < cpu->segments.n && from < step->to; s++) {
		const struct segment *at = &cpu->segments.v[s];
		int64_t end = s + 1 < cpu->segments.n ? at[1].start : cpu->end;

		if (end > step->to)
			end = step->to;
		if (end <= from || at->start > from)
			continue;
		if (end < step->to && !walk_work_take(c->work)) {
			c->segments[i->cpu] = (uint32_t)s;
			charge_samples(c, known, cpu, from, step->to);
			return;
		}
		charge_segment(c, known, at, end - from);
		from = end;
	}
	c->segments[i->cpu] = (uint32_t)s;
	charger_add(c, BY_UNKNOWN, 0, step->to - from, 0);
}

static void charge_quota(struct charger *c, const struct step *step)
{
	charger_add(c, BY_QUOTA, c->timeline->threads.v[step->thread].unit, step->to - step->from, 0);
}

static void charge_thread(struct charger *c, const struct step *step, uint8_t flags)
{
	charger_add(c, step->thread == step->victim ? BY_SELF : BY_TASK, step->thread, step->to - step->from, flags);
}

/* A wait in which nothing could be followed: what ended it. */
static void charge_ended(struct charger *c, const struct step *step)
{
	int64_t ns = step->to - step->from;

	switch (step->interval->waker_kind) {
	case WAKER_TIMER:
		charger_add(c, BY_CLOCK, 0, ns, 0);
		return;
	case WAKER_NETWORK: /* which program sent it is not known where the kernel took it up later */
		charger_add(c, step->interval->call == CALL_SOCKET_HERE ? BY_UNKNOWN : BY_REMOTE, 0, ns, 0);
		return;
	case WAKER_BLOCK:
		charger_disk(c, step);
		return;
	default:
		charger_add(c, BY_UNKNOWN, 0, ns, 0);
	}
}

static void charge_blocked(struct charger *c, const struct step *step)
{
	static void (*const rules[FOR_COUNT])(struct charger *, const struct step *) = {
		[FOR_DISK] = charger_disk,
		[FOR_FAULT] = charger_disk,
	};
	const struct interval *i = step->interval;
	enum wait_for wait = state_table[i->state].wait;

	if (step->flags & STEP_CYCLE)
		charger_add(c, BY_UNKNOWN, 0, step->to - step->from, 0);
	else if (wait == FOR_MEMORY)
		charge_memory(c, step);
	else
		(rules[wait] ?: charge_ended)(c, step);
}

static void charge_resting(struct charger *c, const struct step *step)
{
	if (step->interval->state == STATE_IDLE && step->interval->waker_kind == WAKER_NETWORK)
		charger_add(c, BY_REMOTE, 0, step->to - step->from, 0);
	else
		charge_thread(c, step, BLAME_RESTED);
}

static void charge_running(struct charger *c, const struct step *step)
{
	uint8_t state = step->interval->state;

	if (state == STATE_IRQ || state == STATE_SOFTIRQ)
		charge_cpu(c, step);
	else if (state == STATE_RECLAIMING)
		charge_memory(c, step);
	else
		charge_thread(c, step, 0);
}

static void charge_runnable(struct charger *c, const struct step *step)
{
	if (step->interval->state == STATE_QUOTA)
		charge_quota(c, step);
	else
		charge_cpu(c, step);
}

static void charge_unknown(struct charger *c, const struct step *step)
{
	charger_add(c, BY_UNKNOWN, 0, step->to - step->from, 0);
}

void charger_step(struct charger *c, const struct step *step)
{
	static void (*const rules[])(struct charger *, const struct step *) = {
		[GROUP_UNKNOWN] = charge_unknown,   [GROUP_RUNNING] = charge_running, [GROUP_RUNNABLE] = charge_runnable,
		[GROUP_BLOCKED] = charge_blocked, [GROUP_RESTING] = charge_resting,
	};

	c->step = step;
	if (step->flags & STEP_CUT) {
		charge_thread(c, step, BLAME_COARSE);
		return;
	}
	rules[step->interval ? state_table[step->interval->state].group : GROUP_UNKNOWN](c, step);
}
