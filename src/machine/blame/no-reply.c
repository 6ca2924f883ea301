#include "machine/blame/no-reply.h"

#include <string.h>

#include "lib/data/clock.h"

#define AT_ONCE NS_PER_SEC /* from being asked to sleeping: what is later is about something else */
#define OVERDUE NS_PER_SEC /* ... an answer that always came before */
#define ASKED_OFTEN 10 /* times: fewer are not a habit */
#define ANSWERED 0.75 /* of them: who asks more often wants no answer. One that came before its asker slept is not seen */
#define LONGER 2 /* times any wait for this server before */
#define QUICKER 2 /* times than the other direction: who asks */
#define CHAIN 8 /* locks behind each other */
#define SEEN 0.3 /* of them, at the least */
#define ASKERS_MAX 64 /* of one thread */

struct server {
	const struct timeline *t;
	uint32_t thread, asker; /* NOBODY: it owes nothing */
	int64_t asked, since;	/* since when it is known to owe the answer without a break */
	int64_t from;		/* since when it sleeps; 0 = it continued. A timer's wakeup does not end that: it looked, and slept on */
	size_t first;		/* of what it waited for this answer */
};

/* In which servers wait for requests, and for whatever else. */
static bool waits_for_anybody(const struct interval *x)
{
	return x->state == STATE_IDLE || x->state == STATE_PEER || x->state == STATE_NETWORK;
}

/* Whether `who` ended a sleep of `whom` within (from, to]. */
static bool woke(const struct timeline *t, uint32_t who, uint32_t whom, int64_t from, int64_t to)
{
	const struct thread_line *line = &t->threads.v[whom];

	for (size_t i = interval_find(line, from); i < line->intervals.n && line->intervals.v[i].start < to; i++) {
		const struct interval *x = &line->intervals.v[i];

		if (x->waker_kind == WAKER_TASK && x->waker == who && x->end <= to)
			return true;
	}
	return false;
}

static bool is_child(const struct timeline *t, uint32_t thread, uint32_t tgid)
{
	const struct trace_thread *known = trace_thread(t->trace, t->threads.v[thread].tid, (uint64_t)t->end);

	return known && known->parent == tgid;
}

/* Up to `at`. What it did in between was for the asker if that one was answered then. */
static void settle(struct server *s, int64_t at, struct no_reply_waits *ret)
{
	if (ret->list.n > s->first && !woke(s->t, s->thread, s->asker, ret->list.v[ret->list.n - 1].to, at))
		ret->list.n = s->first;
	s->asker = NOBODY;
	s->first = ret->list.n;
}

static void ask(struct server *s, const struct interval *x, struct no_reply_waits *ret)
{
	settle(s, x->start, ret);
	s->asker = x->waker;
	s->asked = s->since = x->end;
	s->from = 0;
}

static int sleep_owing(struct server *s, const struct interval *x, bool by_sibling, struct no_reply_waits *ret)
{
	const struct timeline *t = s->t;
	int64_t from = s->from ?: x->start;

	s->since = x->end;
	s->from = x->waker_kind == WAKER_TASK ? 0 : from;
	if (!by_sibling || is_child(t, x->waker, t->threads.v[s->thread].tgid) || woke(t, s->thread, x->waker, s->asked, x->end))
		return 0;
	return VEC_PUSH(ret->list, (struct no_reply_wait){s->asker, s->thread, x->waker, from, x->end});
}

static int look_at(struct server *s, const struct interval *x, struct no_reply_waits *ret)
{
	const struct thread_line *line = &s->t->threads.v[s->thread], *waker = line;

	if (x->waker_kind == WAKER_TASK && x->waker < s->t->threads.n)
		waker = &s->t->threads.v[x->waker];
	if (waker->program != line->program && !waker->kernel)
		ask(s, x, ret);
	else if (s->asker == NOBODY)
		return 0;
	else if (x->start - s->since > AT_ONCE || woke(s->t, s->thread, s->asker, s->since, x->start))
		settle(s, x->start, ret);
	else
		return sleep_owing(s, x, waker->tgid != line->tgid && !waker->kernel, ret);
	return 0;
}

void no_reply_waits_free(struct no_reply_waits *w)
{
	VEC_FREE(w->list);
}

int no_reply_waits_find(const struct timeline *t, struct no_reply_waits *ret)
{
	struct no_reply_waits found = {};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < t->threads.n; i++) {
		const struct thread_line *line = &t->threads.v[i];
		struct server s = {.t = t, .thread = i, .asker = NOBODY, .first = found.list.n};

		for (size_t k = 0; r == 0 && !line->kernel && k < line->intervals.n; k++)
			if (waits_for_anybody(&line->intervals.v[k]))
				r = look_at(&s, &line->intervals.v[k], &found);
		if (r == 0)
			settle(&s, t->end, &found);
	}
	if (r < 0)
		no_reply_waits_free(&found);
	else
		*ret = found;
	return r;
}

/* --- to the end --- */

/* A worker: its parent is of the same executable. */
static bool has_parent_alike(const struct timeline *t, uint32_t thread)
{
	const struct trace_thread *known = trace_thread(t->trace, t->threads.v[thread].tid, (uint64_t)t->end);
	const struct trace_thread *parent = known && known->parent ? trace_thread(t->trace, known->parent, (uint64_t)t->end) : NULL;

	return parent && (known->exe && parent->exe ? strcmp(known->exe, parent->exe) == 0 : strcmp(known->comm, parent->comm) == 0);
}

/* Scripts share their interpreter: processes of one executable are two programs where neither was forked as a worker. */
static bool is_another_program(const struct timeline *t, uint32_t a, uint32_t b)
{
	const struct thread_line *x = &t->threads.v[a], *y = &t->threads.v[b];

	if (x->program != y->program)
		return true;
	return x->tgid != y->tgid && !has_parent_alike(t, a) && !has_parent_alike(t, b);
}

struct asker {
	uint32_t thread;
	int64_t asked; /* the last time */
	unsigned times, answered;
	unsigned unclear; /* answers over the network, if from this machine, of whom is not known */
};

struct askers {
	VEC(struct asker) list;
};

static bool network_woke(const struct timeline *t, uint32_t whom, int64_t from, int64_t to)
{
	const struct thread_line *line = &t->threads.v[whom];

	for (size_t i = interval_find(line, from); i < line->intervals.n && line->intervals.v[i].end <= to; i++)
		if (line->intervals.v[i].waker_kind == WAKER_NETWORK)
			return true;
	return false;
}

/* Where many answers are known to be the server's, those of whom it is not known are taken for its, too. */
static bool always_answered(const struct asker *a)
{
	unsigned unclear = a->answered >= SEEN * a->times ? a->unclear : 0;

	return a->times >= ASKED_OFTEN && a->answered + unclear >= ANSWERED * a->times;
}

static int note_asked(const struct timeline *t, uint32_t server, const struct interval *x, struct askers *askers)
{
	VEC_EACH(a, askers->list) {
		if (a->thread != x->waker)
			continue;
		a->times++;
		if (woke(t, server, a->thread, a->asked, x->end))
			a->answered++;
		else
			a->unclear += network_woke(t, a->thread, a->asked, x->end);
		a->asked = x->end;
		return 0;
	}
	return askers->list.n < ASKERS_MAX ? VEC_PUSH(askers->list, (struct asker){.thread = x->waker, .asked = x->end}) : 0;
}

static const struct interval *last_of(const struct timeline *t, uint32_t thread)
{
	const struct thread_line *line = &t->threads.v[thread];
	const struct interval *last = line->intervals.n ? &line->intervals.v[line->intervals.n - 1] : NULL;

	return last && last->flags & INTERVAL_OPEN ? last : NULL;
}

/* Whether it waits at the end, as those who ask do; NULL = it does not. */
static const struct interval *asks_at_end(const struct timeline *t, uint32_t thread)
{
	const struct interval *last = last_of(t, thread);

	return last && waits_for_anybody(last) ? last : NULL;
}

static bool has_or_wants_cpu(const struct interval *x)
{
	return state_table[x->state].group == GROUP_RUNNING || state_table[x->state].group == GROUP_RUNNABLE;
}

/* A server as the trace ends: it does one thing, and since when. */
struct server_end {
	int64_t since;
	bool idle; /* it waits for anybody; else it is held up, stopped or computes, and none need wake it to ask it */
};

/* False: it is not known. */
static bool find_end(const struct timeline *t, uint32_t thread, struct server_end *ret)
{
	const struct thread_line *line = &t->threads.v[thread];
	const struct interval *last = last_of(t, thread);
	size_t i = line->intervals.n;

	if (!last || state_table[last->state].group == GROUP_UNKNOWN)
		return false;
	if (has_or_wants_cpu(last))
		while (i > 1 && has_or_wants_cpu(&line->intervals.v[i - 2]))
			i--;
	*ret = (struct server_end){line->intervals.v[i - 1].start, waits_for_anybody(last)};
	return true;
}

/* Who computes may do so for others: those it answers in the meantime. */
static bool answers_others(const struct timeline *t, uint32_t server, int64_t since)
{
	return ANY_WHERE(i, (uint32_t)t->threads.n, is_another_program(t, i, server) && woke(t, server, i, since, t->end));
}

/* How long `who` waited each time until `whom` woke it, and in what. */
struct past_waits {
	int64_t n, sum, longest; /* ns */
	uint64_t calls;		 /* bits of enum wait_call */
};

static struct past_waits waits_for(const struct timeline *t, uint32_t who, uint32_t whom)
{
	const struct thread_line *line = &t->threads.v[who];
	struct past_waits w = {};

	VEC_EACH(x, line->intervals) {
		if (!waits_for_anybody(x) || x->waker_kind != WAKER_TASK || x->waker != whom)
			continue;
		w.n++;
		w.calls |= 1ull << x->call;
		w.sum += x->end - x->start;
		w.longest = x->end - x->start > w.longest ? x->end - x->start : w.longest;
	}
	return w;
}

/* A server that answers waits longer for the next request than its client for the answer: else it is the client. */
static bool is_server_of(const struct timeline *t, uint32_t server, const struct past_waits *answers, uint32_t asker)
{
	struct past_waits requests = waits_for(t, server, asker);

	return !answers->n || !requests.n || answers->sum / answers->n * QUICKER <= requests.sum / requests.n;
}

/* Since when the server owes the asker an answer; the timeline's end: it does not. Whom nothing wakes because it does not wait for requests
 * is asked all the same. */
static int64_t owes_since(const struct timeline *t, uint32_t server, const struct server_end *end, const struct asker *a)
{
	const struct interval *waits = asks_at_end(t, a->thread);
	struct past_waits answers = waits_for(t, a->thread, server);
	bool longer = waits && t->end - waits->start >= LONGER * answers.longest;
	int64_t since;

	if (!waits || !always_answered(a) || !is_server_of(t, server, &answers, a->thread))
		return t->end;
	if (answers.n && !(answers.calls & 1ull << waits->call))
		return t->end; /* it was answered before it slept, and now waits for something else */
	if (end->idle && waits->start >= end->since)
		return t->end; /* its asker slept later than it did, and may have been answered before */
	if (end->idle)
		return woke(t, server, a->thread, a->asked, t->end) || !longer ? t->end : end->since;
	since = end->since > waits->start ? end->since : waits->start;
	if (last_of(t, server)->state == STATE_STOPPED)
		return since;
	return longer && !answers_others(t, server, since) ? since : t->end;
}

/* Whom a thread waits for at the end, as far as that is known: who holds the lock it wants. NOBODY. */
static uint32_t held_up_by(const struct timeline *t, uint32_t thread)
{
	const struct interval *last = last_of(t, thread);
	const struct trace_thread *known = trace_thread(t->trace, t->threads.v[thread].tid, (uint64_t)t->end);

	if (!last || (last->state != STATE_LOCK && last->state != STATE_KERNEL_LOCK))
		return NOBODY;
	if (last->holder != NOBODY || last->call != CALL_FILE_LOCK || !known || !known->owner)
		return last->holder;
	for (uint32_t i = 0; i < t->threads.n; i++)
		if (t->threads.v[i].tid == known->owner && last_of(t, i))
			return i;
	return NOBODY;
}

/* Who is to blame that the server does not continue: at the end of the chain. A circle ends where it began. */
static uint32_t end_of_chain(const struct timeline *t, uint32_t server)
{
	for (int depth = 0; depth < CHAIN; depth++) {
		uint32_t next = held_up_by(t, server);

		if (next == NOBODY)
			break;
		server = next;
	}
	return server;
}

static int find_askers(const struct timeline *t, uint32_t server, struct askers *ret)
{
	const struct thread_line *line = &t->threads.v[server];
	int r = 0;

	for (size_t i = 0; r == 0 && i < line->intervals.n; i++) {
		const struct interval *x = &line->intervals.v[i];
		bool by_task = waits_for_anybody(x) && x->waker_kind == WAKER_TASK && x->waker < t->threads.n;

		if (by_task && !t->threads.v[x->waker].kernel && is_another_program(t, x->waker, server))
			r = note_asked(t, server, x, ret);
	}
	return r;
}

int no_reply_to_the_end_find(const struct timeline *t, struct no_reply_waits *ret)
{
	struct no_reply_waits found = {};
	struct askers askers = {};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < t->threads.n; i++) {
		struct server_end end = {};
		bool overdue = !t->threads.v[i].kernel && find_end(t, i, &end) && t->end - end.since >= OVERDUE;

		askers.list.n = 0;
		if (overdue)
			r = find_askers(t, i, &askers);
		for (size_t k = 0; r == 0 && k < askers.list.n; k++) {
			int64_t since = owes_since(t, i, &end, &askers.list.v[k]);

			if (t->end - since >= OVERDUE)
				r = VEC_PUSH(found.list, (struct no_reply_wait){askers.list.v[k].thread, i, end_of_chain(t, i), since, t->end});
		}
	}
	VEC_FREE(askers.list);
	if (r < 0)
		no_reply_waits_free(&found);
	else
		*ret = found;
	return r;
}
