#include "machine/events/trace-coarsen.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

#define SUMS_MAX   (32u << 20)	    /* numbers: a trace is of seconds, and a machine has some thousand processes */
#define NUMBER_TOP ((1u << 22) - 1) /* the kernel's own bound: lines without a number of their own count down from here */

enum { OWN = -1, IDLE = 0, UNNAMED = 1, FIRST = 2 }; /* who: strangers are counted from FIRST on */
enum { FREE, QUEUED, KINDS };			     /* whether one of the viewer's threads stood in the queue */

struct stranger {
	uint32_t process; /* as it is shown */
	const struct trace_thread *known; /* NULL = of no table, or not to be named */
};

/* A line of a stranger: what it had of one CPU. */
struct line {
	uint32_t number, who;
};

struct run {
	uint64_t start, end;
	int who;
	uint32_t came, tid;	  /* exec may have changed its number in the meantime */
	const struct event *left; /* the switch that ended it; NULL = it continued */
};

/* The number of the viewer's threads in a queue changes. */
struct change {
	uint64_t time;
	int by;
};

struct share {
	uint32_t who;
	double part; /* of 1 */
};

struct one_cpu {
	VEC(struct run) runs;
	VEC(struct change) changes;
	uint32_t current, came; /* thread: now, and when it came */
	uint64_t since;
	bool known;
};

struct strangers {
	const struct trace *t;
	struct viewer viewer;
	VEC(struct stranger) list;
	VEC(struct line) lines;
	struct hmap by_process, by_line; /* (process, 0) -> who; (who, cpu) -> number */
	struct hmap used;		 /* (number, 0) -> anything */
	uint32_t next_number;
	struct one_cpu *cpus;
	struct hmap queued; /* (own thread, 0) -> its CPU + 1 */
};

/* One CPU's sums, and how they are being dealt out. */
struct deal {
	struct strangers *s;
	uint16_t cpu;
	struct trace *out;
	uint64_t first_tick;
	size_t ticks, whos;
	double *sums;	/* [tick][kind][who] */
	double *credit; /* [kind][who]: what it is still to be given */
	VEC(struct share) shares[KINDS];
	uint64_t dealt; /* of which tick `shares` is, + 1 */
	uint32_t now;	/* who has the CPU, by number; 0 = idle */
};

/* --- who they are --- */

static bool is_own(const struct strangers *s, const struct trace_thread *thread)
{
	return thread && !(thread->flags & (THREAD_IS_KERNEL | THREAD_IS_IDLE)) && thread->uid == s->viewer.uid;
}

bool strangers_excludes(const struct strangers *s, const struct trace_thread *thread)
{
	return is_own(s, thread);
}

bool strangers_is_own(const struct strangers *s, uint32_t tid, uint64_t time)
{
	return tid && is_own(s, trace_thread(s->t, tid, time));
}

static int who_of(struct strangers *s, uint32_t tid, uint64_t time)
{
	const struct trace_thread *thread = trace_thread(s->t, tid, time), *leader;
	uint32_t process;
	uintptr_t who;

	if (!tid)
		return IDLE;
	if (is_own(s, thread))
		return OWN;
	if (!thread || visibility(&s->viewer, DATUM_PROCESS, thread->uid) == SHOWN_NOT)
		return UNNAMED;
	process = thread->flags & THREAD_IS_KERNEL ? tid : thread->tgid;
	who = (uintptr_t)hmap_get(&s->by_process, process, 0);
	if (who)
		return (int)who;
	leader = trace_thread(s->t, process, time);
	who = s->list.n;
	if (VEC_PUSH(s->list, (struct stranger){process, leader && !is_own(s, leader) ? leader : thread}) < 0 ||
	    hmap_put(&s->by_process, process, 0, (void *)who) < 0)
		return -ENOMEM;
	return (int)who;
}

static uint32_t free_number(struct strangers *s, uint32_t wanted)
{
	if (wanted && !hmap_get(&s->used, wanted, 0))
		return wanted;
	while (s->next_number && hmap_get(&s->used, s->next_number, 0))
		s->next_number--;
	return s->next_number;
}

/* Its process's number on the CPU where it is met first. */
static uint32_t number_of(struct strangers *s, uint32_t who, uint16_t cpu)
{
	uint32_t number = (uint32_t)(uintptr_t)hmap_get(&s->by_line, who, cpu);

	if (number || who == IDLE)
		return number;
	number = free_number(s, s->list.v[who].process);
	if (!number || hmap_put(&s->by_line, who, cpu, (void *)(uintptr_t)number) < 0 || hmap_put(&s->used, number, 0, s) < 0 ||
	    VEC_PUSH(s->lines, (struct line){number, who}) < 0)
		return 0;
	return number;
}

int strangers_find(struct strangers *s, uint32_t tid, uint64_t time, uint32_t *ret_process)
{
	int who = who_of(s, tid, time);

	if (who >= 0)
		*ret_process = s->list.v[who].process;
	return who < 0 ? -ENOMEM : 0;
}

uint32_t strangers_number(struct strangers *s, uint32_t process, uint16_t cpu)
{
	uintptr_t who = process ? (uintptr_t)hmap_get(&s->by_process, process, 0) : UNNAMED;

	return who ? number_of(s, (uint32_t)who, cpu) : 0;
}

static char *base_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return path && *path ? strdup(slash && slash[1] ? slash + 1 : path) : NULL;
}

int strangers_list(struct strangers *s, struct trace *out)
{
	for (size_t i = 0; i < s->lines.n; i++) {
		const struct stranger *one = &s->list.v[s->lines.v[i].who];
		const struct trace_thread *known = one->known;
		uint32_t number = s->lines.v[i].number, process = one->process ? one->process : number;
		struct trace_thread line = {.tid = number, .tgid = process, .ns_tid = number, .ns_tgid = process, .flags = THREAD_IS_HIDDEN,
					    .syscall = EVENT_NO_SYSCALL, .prio = known ? known->prio : 120, .uid = known ? known->uid : 0,
					    .parent = known ? known->parent : 0};

		snprintf(line.comm, sizeof(line.comm), "%s", known ? known->comm : "others");
		if (known && known->flags & (THREAD_IS_KERNEL | THREAD_IS_SELF))
			line.flags |= known->flags & (THREAD_IS_KERNEL | THREAD_IS_SELF);
		line.unit = known ? base_of(known->unit) : NULL;
		if (trace_add_thread(out, &line) < 0) {
			free(line.unit);
			return -ENOMEM;
		}
	}
	return 0;
}

/* --- who ran when --- */

static uint64_t cpu_from(const struct trace *t, uint16_t cpu)
{
	return t->cpus[cpu].to ? t->cpus[cpu].from : t->from;
}

static int end_run(struct strangers *s, uint16_t cpu, uint32_t tid, uint64_t time, const struct event *left)
{
	struct one_cpu *c = &s->cpus[cpu];
	struct run run = {c->known ? c->since : cpu_from(s->t, cpu), time, who_of(s, tid, time), c->known ? c->came : tid, tid, left};

	if (run.who == -ENOMEM)
		return -ENOMEM;
	if (run.start > time)
		run.start = time;
	c->known = true;
	c->since = time;
	return VEC_PUSH(c->runs, run);
}

static int queue_changes(struct strangers *s, uint16_t cpu, uint64_t time, int by)
{
	return cpu < s->t->n_cpus ? VEC_PUSH(s->cpus[cpu].changes, (struct change){time, by}) : 0;
}

/* Out of the queue it stands in, into another one (+ 1; 0 = none). */
static int to_queue(struct strangers *s, uint32_t tid, uint64_t time, uint32_t queue)
{
	uint32_t before = (uint32_t)(uintptr_t)hmap_remove(&s->queued, tid, 0);
	int r = before ? queue_changes(s, (uint16_t)(before - 1), time, -1) : 0;

	if (r == 0 && queue && queue <= s->t->n_cpus) {
		r = hmap_put(&s->queued, tid, 0, (void *)(uintptr_t)queue);
		r = r ?: queue_changes(s, (uint16_t)(queue - 1), time, 1);
	}
	return r;
}

static int take_switch(struct strangers *s, const struct event *e)
{
	int r = end_run(s, e->cpu, e->thread, e->time, e);

	s->cpus[e->cpu].current = s->cpus[e->cpu].came = e->out.next;
	if (r == 0 && strangers_is_own(s, e->thread, e->time))
		r = to_queue(s, e->thread, e->time, e->out.state ? 0 : e->cpu + 1u);
	if (r == 0 && strangers_is_own(s, e->out.next, e->time))
		r = to_queue(s, e->out.next, e->time, 0);
	return r;
}

static bool runs_now(const struct strangers *s, uint32_t tid)
{
	return ANY_WHERE(i, s->t->n_cpus, s->cpus[i].known && s->cpus[i].current == tid);
}

static int take_event(struct strangers *s, const struct event *e)
{
	switch (e->kind) {
	case EVENT_SWITCH:
		return take_switch(s, e);
	case EVENT_EXEC: /* another than the leader may call it, and continues under its number */
		if (e->exec.before && s->cpus[e->cpu].known && s->cpus[e->cpu].current == e->exec.before)
			s->cpus[e->cpu].current = e->thread;
		return 0;
	case EVENT_WAKEUP:
		if (e->flags & WAKEUP_STILL_QUEUED || !strangers_is_own(s, e->thread, e->time) || runs_now(s, e->thread))
			return 0;
		return to_queue(s, e->thread, e->time, e->wakeup.target + 1u);
	case EVENT_MIGRATE:
		return hmap_get(&s->queued, e->thread, 0) ? to_queue(s, e->thread, e->time, e->migrate.to + 1u) : 0;
	}
	return 0;
}

/* For a CPU without a switch the freeze knows who ran there. */
static uint32_t found_running(const struct trace *t, uint32_t cpu)
{
	for (size_t i = 0; i < t->threads.n; i++)
		if (t->threads.v[i].state == STATE_RUNNING && t->threads.v[i].cpu == cpu && t->threads.v[i].tid)
			return t->threads.v[i].tid;
	return 0;
}

static int take_all(struct strangers *s)
{
	const struct trace *t = s->t;
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->n_events; i++)
		r = take_event(s, &t->events[i]);
	for (uint32_t i = 0; r == 0 && i < t->n_cpus; i++)
		if (t->cpus[i].there || s->cpus[i].known)
			r = end_run(s, (uint16_t)i, s->cpus[i].known ? s->cpus[i].current : found_running(t, i), t->to, NULL);
	return r;
}

int strangers_open(const struct trace *t, const struct viewer *viewer, struct strangers **ret)
{
	struct strangers *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return -ENOMEM;
	*s = (struct strangers){.t = t, .viewer = *viewer, .next_number = NUMBER_TOP, .cpus = calloc(t->n_cpus + 1, sizeof(*s->cpus))};
	for (int i = 0; r == 0 && i < FIRST; i++)
		r = VEC_PUSH(s->list, (struct stranger){});
	for (size_t i = 0; r == 0 && i < t->threads.n; i++)
		if (is_own(s, &t->threads.v[i]))
			r = hmap_put(&s->used, t->threads.v[i].tid, 0, s);
	r = r ?: (s->cpus ? take_all(s) : -ENOMEM);
	if (r < 0) {
		strangers_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void strangers_free(struct strangers *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->cpus && i < s->t->n_cpus; i++) {
		VEC_FREE(s->cpus[i].runs);
		VEC_FREE(s->cpus[i].changes);
	}
	free(s->cpus);
	VEC_FREE(s->list);
	VEC_FREE(s->lines);
	hmap_free(&s->by_process);
	hmap_free(&s->by_line);
	hmap_free(&s->used);
	hmap_free(&s->queued);
	free(s);
}

/* --- their sums --- */

static bool has_tick(const struct trace *t, uint16_t cpu, uint64_t tick)
{
	return tick * VISIBLE_TICK >= cpu_from(t, cpu) && (tick + 1) * VISIBLE_TICK <= t->to;
}

bool strangers_has_tick(const struct strangers *s, uint16_t cpu, uint64_t time)
{
	return has_tick(s->t, cpu, time / VISIBLE_TICK);
}

/* A piece of a CPU's time: within one slice, and in which the queue is as it is. */
struct piece {
	uint64_t start, end;
	unsigned kind;
	size_t change; /* the next one of the queue */
	int depth;
};

/* The next piece of [piece->end, to); false at its end. */
static bool next_piece(const struct one_cpu *c, uint64_t to, struct piece *p)
{
	uint64_t slice = (p->end / VISIBLE_SLICE + 1) * VISIBLE_SLICE;

	while (p->change < c->changes.n && c->changes.v[p->change].time <= p->end)
		p->depth += c->changes.v[p->change++].by;
	p->start = p->end;
	p->kind = p->depth > 0 ? QUEUED : FREE;
	p->end = slice < to ? slice : to;
	if (p->change < c->changes.n && c->changes.v[p->change].time < p->end)
		p->end = c->changes.v[p->change].time;
	return p->start < to;
}

static double *sum_at(const struct deal *d, uint64_t tick, unsigned kind)
{
	return d->sums + ((tick - d->first_tick) * KINDS + kind) * d->whos;
}

static void add_up(struct deal *d)
{
	const struct one_cpu *c = &d->s->cpus[d->cpu];
	struct piece p = {};

	VEC_EACH(run, c->runs) {
		p.end = run->start;
		while (run->who != OWN && next_piece(c, run->end, &p))
			sum_at(d, p.start / VISIBLE_TICK, p.kind)[run->who] += (double)(p.end - p.start);
	}
}

/* Itself, or of one that is not whole the nearest that is; false = there is none. */
static bool whole_tick(const struct deal *d, uint64_t tick, uint64_t *ret)
{
	for (uint64_t far = 0; far < d->ticks; far++) {
		*ret = tick + far;
		if (*ret < d->first_tick + d->ticks && has_tick(d->s->t, d->cpu, *ret))
			return true;
		*ret = tick - far;
		if (tick >= d->first_tick + far && has_tick(d->s->t, d->cpu, *ret))
			return true;
	}
	return false;
}

/* Not by who was met first: that would tell in which order strangers came. */
static void sort_shares(const struct deal *d, struct share *shares, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && d->s->list.v[shares[k].who].process < d->s->list.v[shares[k - 1].who].process; k--) {
			struct share lower = shares[k];

			shares[k] = shares[k - 1];
			shares[k - 1] = lower;
		}
}

static int take_shares(struct deal *d, uint64_t tick, unsigned of, unsigned kind, bool with_idle)
{
	const double *sums = sum_at(d, tick, of);
	double total = 0;
	int r = 0;

	for (size_t who = with_idle ? 0 : 1; who < d->whos; who++)
		total += sums[who];
	for (size_t who = with_idle ? 0 : 1; r == 0 && who < d->whos; who++)
		if (sums[who] > 0)
			r = VEC_PUSH(d->shares[kind], (struct share){(uint32_t)who, sums[who] / total});
	sort_shares(d, d->shares[kind].v, d->shares[kind].n);
	return r;
}

/* Where nothing is known of this kind of time: who waits, waits for others; and else the CPU is idle. */
static int find_shares(struct deal *d, uint64_t tick)
{
	uint64_t whole = 0;
	bool known = whole_tick(d, tick, &whole);
	int r = 0;

	for (unsigned kind = 0; r == 0 && kind < KINDS; kind++) {
		d->shares[kind].n = 0;
		if (known)
			r = take_shares(d, whole, kind, kind, true);
		if (r == 0 && known && kind == QUEUED && !d->shares[kind].n)
			r = take_shares(d, whole, FREE, kind, false);
		if (r == 0 && !d->shares[kind].n)
			r = VEC_PUSH(d->shares[kind], (struct share){kind == QUEUED ? UNNAMED : IDLE, 1});
	}
	d->dealt = tick + 1;
	return r;
}

/* Whose turn it is: who lags most behind its share. */
static uint32_t choose(struct deal *d, const struct piece *p)
{
	double length = (double)(p->end - p->start), *credit = d->credit + p->kind * d->whos, most = -INFINITY;
	uint32_t who = IDLE;

	VEC_EACH(s, d->shares[p->kind]) {
		credit[s->who] += s->part * length;
		if (credit[s->who] > most) {
			most = credit[s->who];
			who = s->who;
		}
	}
	credit[who] -= length;
	return who;
}

/* --- switches --- */

/* `left` is how an own thread left. A stranger has rested before it comes, and rests when it leaves: what it waited for is not reported. */
static int put_switch(struct deal *d, uint64_t time, const struct event *left, uint32_t next, bool next_is_own)
{
	struct event wake = {.time = time, .cpu = d->cpu, .kind = EVENT_WAKEUP, .thread = next, .flags = WAKEUP_NO_WAKING,
			     .wakeup = {.target = d->cpu, .vector = EVENT_TIMER_VECTOR}};
	struct event e = {.time = time, .cpu = d->cpu, .kind = EVENT_SWITCH, .thread = d->now,
			  .out = {.syscall = EVENT_NO_SYSCALL, .state = TASK_STATE_SLEEPS, .call = CALL_POLL}};
	int r = next && !next_is_own ? trace_add(d->out, &wake) : 0;

	if (left)
		e = *left;
	e.out.next = next;
	d->now = next;
	return r < 0 ? r : trace_add(d->out, &e);
}

/* Between two of the viewer's stints. */
static int fill(struct deal *d, uint64_t from, uint64_t to, struct piece *p, const struct event **left)
{
	int r = 0;

	p->end = from;
	while (r == 0 && next_piece(&d->s->cpus[d->cpu], to, p)) {
		uint64_t tick = p->start / VISIBLE_TICK;
		uint32_t number, who;

		if (d->dealt != tick + 1)
			r = find_shares(d, tick);
		who = r == 0 ? choose(d, p) : IDLE;
		number = number_of(d->s, who, d->cpu);
		if (who != IDLE && !number)
			r = -ENOMEM;
		if (r == 0 && (*left || number != d->now || p->start == cpu_from(d->s->t, d->cpu)))
			r = put_switch(d, p->start, *left, number, false);
		*left = NULL;
	}
	return r;
}

static int deal_out(struct deal *d)
{
	const struct one_cpu *c = &d->s->cpus[d->cpu];
	const struct event *left = NULL;
	struct piece p = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->runs.n; i++) {
		const struct run *run = &c->runs.v[i];
		size_t last = i;

		if (run->who != OWN) {
			while (last + 1 < c->runs.n && c->runs.v[last + 1].who != OWN)
				last++;
			r = fill(d, run->start, c->runs.v[last].end, &p, &left);
			i = last;
			continue;
		}
		if (i > 0)
			r = put_switch(d, run->start, left, run->came, true);
		d->now = run->tid;
		left = run->left;
	}
	/* the last one's successor was never on the CPU for a moment that counts */
	return r == 0 && left ? put_switch(d, left->time, left, IDLE, false) : r;
}

static int spread_cpu(struct strangers *s, uint16_t cpu, struct trace *out)
{
	uint64_t first = cpu_from(s->t, cpu) / VISIBLE_TICK;
	struct deal d = {.s = s, .cpu = cpu, .out = out, .first_tick = first, .whos = s->list.n};
	int r = 0;

	if (!s->cpus[cpu].runs.n || s->t->to < cpu_from(s->t, cpu))
		return 0;
	d.ticks = s->t->to / VISIBLE_TICK - first + 1;
	if (d.ticks > SUMS_MAX / KINDS / d.whos)
		return -E2BIG;
	d.sums = calloc(d.ticks * KINDS * d.whos, sizeof(*d.sums));
	d.credit = calloc(KINDS * d.whos, sizeof(*d.credit));
	if (!d.sums || !d.credit)
		r = -ENOMEM;
	if (r == 0) {
		add_up(&d);
		r = deal_out(&d);
	}
	for (unsigned kind = 0; kind < KINDS; kind++)
		VEC_FREE(d.shares[kind]);
	FREE_ALL(d.sums, d.credit);
	return r;
}

int strangers_spread(struct strangers *s, struct trace *out)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->t->n_cpus; i++)
		r = spread_cpu(s, (uint16_t)i, out);
	return r;
}
