#include "machine/judge/charges.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "lib/data/order.h"
#include "machine/blame/blame.h"
#include "machine/blame/no-reply.h"
#include "machine/threads/state.h"

#define NICE_0	    120 /* trace_thread.prio */
#define GIVES_WAY   10	/* nicer than this by so much: it waits by choice */
#define OF_ITS_OWN  0.2 /* a lock that only the program itself waits for slows nobody else */
#define HANDED_OVER 4	/* times */
#define COVERED_MIN (NS_PER_SEC / 2)
#define BEFORE_MIN  (2 * NS_PER_SEC)

void charges_free(struct charges *c)
{
	VEC_FREE(c->list);
	*c = (struct charges){};
}

double charges_against(const struct charges *c, const char *program, enum bottleneck of)
{
	double sum = 0;

	for (size_t i = 0; c && i < c->list.n; i++)
		if (c->list.v[i].of == of && strcmp(c->list.v[i].culprit, program) == 0)
			sum += c->list.v[i].seconds;
	return sum;
}

static bool is_against(const struct charge *one, const char *program)
{
	return strcmp(one->culprit, program) == 0 && strcmp(one->victim, program) != 0;
}

double charges_by(const struct charges *c, const char *program, enum charge_how how, double *ret_rested)
{
	double sum = 0;

	*ret_rested = 0;
	for (size_t i = 0; c && i < c->list.n; i++) {
		const struct charge *one = &c->list.v[i];

		if (one->how != how || !is_against(one, program))
			continue;
		sum += one->seconds;
		*ret_rested += one->rested;
	}
	return sum;
}

const char *charges_victim(const struct charges *c, const char *program, enum bottleneck of)
{
	for (size_t i = 0; c && i < c->list.n; i++)
		if (c->list.v[i].of == of && is_against(&c->list.v[i], program))
			return c->list.v[i].victim;
	return NULL;
}

static enum bottleneck bottleneck_of(enum wait_for wait)
{
	switch (wait) {
	case FOR_CPU:
	case FOR_INTERRUPT:
		return BOTTLENECK_CPU;
	case FOR_DISK:
	case FOR_FAULT:
		return BOTTLENECK_DISK;
	case FOR_MEMORY:
		return BOTTLENECK_MEMORY;
	case FOR_LOCK:
	case FOR_CONDITION:
		return BOTTLENECK_LOCK;
	case FOR_READER:
		return BOTTLENECK_PEER;
	default:
		return BOTTLENECK_NONE;
	}
}

struct joining {
	struct hmap places; /* of (victim, culprit) -> index in charges.list, + 1 */
	const struct timeline *timeline;
	struct hmap programs; /* pid -> struct subject, alive in the window */
	struct charges charges;
	double seconds;
};

static int find_programs(struct joining *j, const struct dataset *d, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < d->subjects.n; i++) {
		struct subject *s = d->subjects.v[i];

		if (s->info.kind != ENTITY_PROCESS || s->first > to || s->last < from)
			continue;
		if (hmap_put(&j->programs, s->info.pid, 0, s) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A process that lived for less than a sample is on its parent's account. */
static const struct subject *program_of(const struct joining *j, uint32_t thread)
{
	const struct thread_line *line = &j->timeline->threads.v[thread];
	const struct subject *s = hmap_get(&j->programs, line->tgid, 0);
	const struct trace_thread *known = s ? NULL : trace_thread(j->timeline->trace, line->tid, (uint64_t)j->timeline->end);

	return s ? s : known ? hmap_get(&j->programs, known->parent, 0) : NULL;
}

static bool gives_way(const struct joining *j, uint32_t thread)
{
	const struct trace_thread *known =
		trace_thread(j->timeline->trace, j->timeline->threads.v[thread].tid, (uint64_t)j->timeline->end);

	return known && known->prio >= NICE_0 + GIVES_WAY;
}

/* The program that waits; NULL: it is not a victim. A command that asks whyslow waits as all do, and its user knows that. */
static const struct subject *victim_of(const struct joining *j, uint32_t thread)
{
	const struct thread_line *line = &j->timeline->threads.v[thread];
	const struct subject *s = line->kernel || line->self || gives_way(j, thread) ? NULL : program_of(j, thread);

	return s && !entity_asks(&s->info) ? s : NULL;
}

static int add(struct joining *j, const struct charge *one)
{
	uint64_t victim = hmap_hash_text(one->victim) * 256 + (uint64_t)one->of * 16 + one->how;
	uint64_t culprit = hmap_hash_text(one->culprit);
	uintptr_t place = (uintptr_t)hmap_get(&j->places, victim, culprit);
	int r;

	j->charges.total[one->of] += one->seconds;
	j->charges.stopped += one->how == CHARGE_STOPPED ? one->seconds : 0;
	if (place) {
		j->charges.list.v[place - 1].seconds += one->seconds;
		j->charges.list.v[place - 1].rested += one->rested;
		j->charges.list.v[place - 1].before += one->before;
		return 0;
	}
	r = VEC_PUSH(j->charges.list, *one);
	return r < 0 ? r : hmap_put(&j->places, victim, culprit, (void *)(uintptr_t)j->charges.list.n);
}

/* Longest first: what others say of it is told in that order. */
ORDER(longest_first, struct charge, DESCENDING(seconds))

/* Of [from, to) what lies in [begin, end). */
static int64_t within(int64_t from, int64_t to, int64_t begin, int64_t end)
{
	from = from > begin ? from : begin;
	to = to < end ? to : end;
	return to > from ? to - from : 0;
}

static bool ended_by_another(const struct timeline *t, const struct thread_line *victim, const struct interval *x)
{
	return x->waker_kind == WAKER_TASK && x->waker < t->threads.n && t->threads.v[x->waker].tgid != victim->tgid;
}

/* A thread that waits for work waits in the same way as one that waits for a lock. But work is not handed over by another
 * process: what one ends directly, and again and again (a signal, a freezer's thaw do so once), is a lock that both share. */
static bool again_and_again(const struct timeline *t, const struct thread_line *victim, uint8_t state)
{
	unsigned times = 0;

	for (size_t i = 0; i < victim->intervals.n && times < HANDED_OVER; i++)
		times += victim->intervals.v[i].state == state && ended_by_another(t, victim, &victim->intervals.v[i]);
	return times >= HANDED_OVER;
}

static enum charge_how how_of(const struct blame_cell *cell)
{
	if (cell->wait == FOR_CONDITION)
		return CHARGE_INFERRED;
	if (cell->via != NOBODY || cell->root != FOR_NONE)
		return CHARGE_USED;
	return cell->wait == FOR_LOCK ? CHARGE_HELD : cell->wait == FOR_READER ? CHARGE_UNREAD : CHARGE_USED;
}

static int take_cell(void *user, const struct blame_cell *cell)
{
	struct joining *j = user;
	const struct thread_line *victim = &j->timeline->threads.v[cell->victim];
	/* whom the holder of a lock waited for is to blame for that */
	enum bottleneck of = bottleneck_of(cell->root != FOR_NONE ? cell->root : cell->wait);
	const struct subject *who, *whom;
	double seconds;
	bool own;

	/* whoever waits for its child has it do its own work: what the child waits is counted as the child's */
	if (cell->culprit != BY_TASK || cell->wait == FOR_CHILD || of == BOTTLENECK_NONE)
		return 0;
	whom = victim_of(j, cell->victim);
	who = program_of(j, cell->id);
	if (!who || !whom)
		return 0;
	/* a lock is the program's own affair, and worth saying; its other threads may use what it has */
	own = strcmp(who->program, whom->program) == 0;
	if (own && cell->wait != FOR_LOCK)
		return 0;
	/* a reader that computes has no time: who writes to it goes as fast as it does */
	if (of == BOTTLENECK_PEER && !(cell->flags & BLAME_RESTED))
		return 0;
	if (cell->wait == FOR_CONDITION && (cell->via != NOBODY || !again_and_again(j->timeline, victim, STATE_CONDITION)))
		return 0;
	seconds = (double)cell->ns / 1e9 / j->seconds * (own ? OF_ITS_OWN : 1);
	return add(j, &(struct charge){whom->program, who->program, of, how_of(cell), seconds,
				       cell->flags & BLAME_RESTED ? seconds : 0, NAN});
}

/* Who is stopped once may be left so by its user; whom another program stops and lets go on all the time has no say in it. */
static int take_stops(struct joining *j, uint32_t thread, int64_t begin, int64_t end)
{
	const struct thread_line *victim = &j->timeline->threads.v[thread];
	const struct subject *whom = victim_of(j, thread);
	int r = 0;

	if (!whom || !again_and_again(j->timeline, victim, STATE_STOPPED))
		return 0;
	for (size_t i = 0; r == 0 && i < victim->intervals.n; i++) {
		const struct interval *x = &victim->intervals.v[i];
		int64_t stopped = within(x->start, x->end, begin, end);
		const struct subject *who;

		if (x->state != STATE_STOPPED || !stopped || !ended_by_another(j->timeline, victim, x))
			continue;
		who = program_of(j, x->waker);
		if (who && strcmp(who->program, whom->program) != 0)
			r = add(j, &(struct charge){whom->program, who->program, BOTTLENECK_LOCK, CHARGE_STOPPED,
						    (double)stopped / 1e9 / j->seconds, 0, NAN});
	}
	return r;
}

/* What a thread waited for readers before the trouble is its program's. */
static void take_before(struct joining *j, uint32_t thread, int64_t begin)
{
	const struct thread_line *line = &j->timeline->threads.v[thread];
	const struct subject *whom = program_of(j, thread);
	int64_t from = j->timeline->start, waited = 0;

	for (size_t i = interval_find(line, from); i < line->intervals.n && line->intervals.v[i].start < begin; i++) {
		const struct interval *x = &line->intervals.v[i];

		waited += x->state == STATE_FULL ? within(x->start, x->end, from, begin) : 0;
	}
	for (size_t i = 0; whom && begin - from >= BEFORE_MIN && i < j->charges.list.n; i++) {
		struct charge *one = &j->charges.list.v[i];

		if (one->how == CHARGE_UNREAD && strcmp(one->victim, whom->program) == 0)
			one->before = (isnan(one->before) ? 0 : one->before) + (double)waited / (double)(begin - from);
	}
}

/* Whoever asked a server that sleeps waits for that server. */
static int take_no_reply(struct joining *j, const struct no_reply_waits *owed, enum charge_how how, int64_t begin, int64_t end)
{
	int64_t start = j->timeline->start;
	bool known = begin - start >= BEFORE_MIN;
	int r = 0;

	for (size_t i = 0; r == 0 && i < owed->list.n; i++) {
		const struct no_reply_wait *w = &owed->list.v[i];
		const struct subject *whom = victim_of(j, w->asker), *who = program_of(j, w->waker);
		int64_t before = within(w->from, w->to, start, begin), now = within(w->from, w->to, begin, end);

		if (!who || !whom || who == whom || (!now && !before))
			continue;
		r = add(j, &(struct charge){whom->program, who->program, BOTTLENECK_PEER, how, (double)now / 1e9 / j->seconds, 0,
					    known ? (double)before / (double)(begin - start) : NAN});
	}
	return r;
}

static int take_answers(struct joining *j, int64_t begin, int64_t end)
{
	_cleanup_(no_reply_waits_free) struct no_reply_waits within_server = {}, to_the_end = {};
	int r = no_reply_waits_find(j->timeline, &within_server);

	r = r ?: no_reply_to_the_end_find(j->timeline, &to_the_end);
	r = r ?: take_no_reply(j, &within_server, CHARGE_OWED, begin, end);
	return r ?: take_no_reply(j, &to_the_end, CHARGE_UNANSWERED, begin, end);
}

static int join(struct joining *j, const struct dataset *d, uint32_t from, uint32_t to)
{
	const struct trace *t = j->timeline->trace;
	int64_t begin = d->ticks.v[from].wall - d->ticks.v[from].span - t->wall_offset, end = d->ticks.v[to].wall - t->wall_offset;
	int r;

	if (begin < j->timeline->start)
		begin = j->timeline->start;
	if (end > j->timeline->end)
		end = j->timeline->end;
	if (end - begin < COVERED_MIN)
		return 0;
	j->seconds = j->charges.covered = (double)(end - begin) / 1e9;
	r = find_programs(j, d, from, to);
	r = r ?: blame_each(j->timeline, begin, end, take_cell, j);
	for (uint32_t i = 0; r == 0 && i < j->timeline->threads.n; i++)
		r = take_stops(j, i, begin, end);
	r = r ?: take_answers(j, begin, end);
	for (uint32_t i = 0; i < j->timeline->threads.n; i++)
		take_before(j, i, begin);
	VEC_SORT(j->charges.list, longest_first);
	return r;
}

int charges_of_trace(const struct trace *t, const struct dataset *d, uint32_t from, uint32_t to, struct charges *ret)
{
	_cleanup_free_ struct trace_cpu *cpus = calloc(t->n_cpus + 1, sizeof(*cpus));
	struct timeline timeline = {};
	struct joining j = {.timeline = &timeline};
	struct trace last;
	int r = -ENOMEM;

	if (cpus) {
		trace_tail(t, (uint64_t)(d->ticks.v[to].wall - t->wall_offset), CHARGES_EVENTS_MAX, cpus, &last);
		r = timeline_build(&last, &timeline);
	}
	r = r ?: join(&j, d, from, to);
	hmap_free(&j.programs);
	hmap_free(&j.places);
	if (r < 0)
		charges_free(&j.charges);
	if (r == 0)
		*ret = j.charges;
	timeline_free(&timeline);
	return r == -ENODATA ? 0 : r;
}
