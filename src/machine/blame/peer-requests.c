#include "machine/blame/peer-requests.h"

#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"

#define ASKED_AT_ONCE 4 /* by one thread; what is asked beyond that takes the oldest one's place */
#define KNOWN_LEAST   10
#define LATER	      5 /* times the longest before */
#define QUICKER	      2 /* times than the other direction: who asks */
#define PAST_LEAST    (30 * NS_PER_SEC)
#define RECENT	      (10 * NS_PER_SEC) /* an answer that came before that is over */
#define FOR_NOTHING   NS_PER_MS
#define NET_TX	      2 /* soft interrupts in which a packet over loopback arrives, in its sender's time */
#define NET_RX	      3

/* One direction. */
struct pair {
	uint32_t n;
	int64_t sum, longest;	  /* before */
	struct peer_request slowest;	  /* since */
};

/* How a server normally answers a thread. */
struct habit {
	uint32_t server, asked; /* its process; its thread that was asked last */
	uint32_t n;		/* answers */
	uint8_t call, asked_in; /* enum wait_call, in which the client sleeps then, and the server before */
	int64_t last;		/* answer */
};

/* A request, and what it says of the thread that was asked. */
struct asked {
	struct peer_request request; /* asked == 0: there is none */
	uint32_t index;		     /* of that thread */
	uint8_t in;		     /* the call in which it was asked */
	int64_t done;		     /* when it first slept again in that call; 0 = not yet */
};

struct asker {
	struct asked asked[ASKED_AT_ONCE];
	struct habit habits[ASKED_AT_ONCE]; /* n == 0: free; a new one takes the place of the one that was of use longest ago */
	uint8_t call;			    /* in which it last went to sleep */
	int64_t slept;			    /* that was then */
	struct asked *last;    /* that another one asked this thread; NULL = none has */
	struct asked answered; /* the last, not yet booked */
	uint32_t by;	       /* index of the thread that answered */
	int64_t answered_at; /* 0 = all are booked */
};

struct pass {
	const struct trace *t;
	struct asker *askers; /* by index of the thread */
	struct hmap pairs;    /* (asker's tgid, server's) and hashes of their names -> place in `found` + 1 */
	VEC(struct pair) found;
	int64_t split;
	int error;
};

void peer_requests_free(struct peer_requests *r)
{
	VEC_FREE(r->late);
	VEC_FREE(r->pending);
	VEC_FREE(r->assumed);
}

static struct pair *pair_of(struct pass *p, uint64_t key, uint64_t key2, bool add)
{
	uintptr_t place = (uintptr_t)hmap_get(&p->pairs, key, key2);

	if (place || !add)
		return place ? &p->found.v[place - 1] : NULL;
	if (VEC_PUSH(p->found, (struct pair){}) < 0 || hmap_put(&p->pairs, key, key2, (void *)(uintptr_t)p->found.n) < 0) {
		p->error = -ENOMEM;
		return NULL;
	}
	return &p->found.v[p->found.n - 1];
}

static struct pair *pair_of_processes(struct pass *p, uint32_t asker, uint32_t server, bool add)
{
	return pair_of(p, asker, server, add);
}

/* Their second word is not a tgid. */
static struct pair *pair_of_names(struct pass *p, const struct trace_thread *asker, const struct trace_thread *server, bool add)
{
	return pair_of(p, hmap_hash_text(asker->comm), ~hmap_hash_text(server->comm), add);
}

static void book(const struct pass *p, struct pair *pair, const struct peer_request *r, int64_t end)
{
	if (!pair)
		return;
	if (end < p->split) {
		pair->n++;
		pair->sum += r->took;
		pair->longest = r->took > pair->longest ? r->took : pair->longest;
	} else if (end + RECENT >= (int64_t)p->t->frozen && r->took > pair->slowest.took) {
		pair->slowest = *r;
	}
}

static void remember(struct asker *a, const struct peer_request *r, uint8_t asked_in, int64_t at)
{
	struct habit *habit = &a->habits[0];

	for (size_t i = 0; i < ASKED_AT_ONCE; i++) {
		struct habit *h = &a->habits[i];

		if (h->n && h->server == r->server) {
			habit = h;
			break;
		}
		if (h->last < habit->last)
			habit = h;
	}
	if (habit->server != r->server || habit->call != a->call)
		*habit = (struct habit){.server = r->server, .call = a->call};
	habit->asked = r->asked;
	habit->asked_in = asked_in;
	habit->last = at;
	habit->n++;
}

static void book_answer(struct pass *p, const struct peer_request *r, uint32_t by, int64_t at)
{
	const struct trace_thread *threads = p->t->threads.v;

	book(p, pair_of_processes(p, r->process, r->server, true), r, at);
	book(p, pair_of_names(p, &threads[r->thread], &threads[by], true), r, at);
}

/* Books the last answer. */
static void settle(struct pass *p, struct asker *a)
{
	const struct peer_request *r = &a->answered.request;

	if (!a->answered_at)
		return;
	book_answer(p, r, a->by, a->answered_at);
	remember(a, r, a->answered.in, a->answered_at);
	a->answered_at = 0;
}

/* Who was woken and soon sleeps in the same call again, without having woken another one, was not answered, or not in full: who reads from a local
 * socket is woken when the other end reads what it wrote, too. */
static bool was_for_nothing(const struct asker *a, const struct event *e)
{
	return a->answered_at && e->out.call == a->call && (int64_t)e->time - a->answered_at < FOR_NOTHING;
}

static void take_back(struct asker *a)
{
	size_t i = 0;

	while (i < ASKED_AT_ONCE && a->asked[i].request.asked)
		i++;
	if (i < ASKED_AT_ONCE) {
		a->asked[i] = a->answered;
		a->asked[i].request.pending = true;
	}
	a->answered_at = 0;
}

/* The answer to what `asker` asked the process of `by`, if it asked anything. */
static void answer(struct pass *p, const struct trace_thread *asker, const struct trace_thread *by, int64_t at)
{
	struct asker *a = &p->askers[asker - p->t->threads.v];

	for (size_t i = 0; i < ASKED_AT_ONCE; i++) {
		struct peer_request *r = &a->asked[i].request;

		if (!r->asked || r->server != by->tgid)
			continue;
		r->took = at - r->since;
		r->pending = false;
		settle(p, a);
		a->answered = a->asked[i];
		a->by = (uint32_t)(by - p->t->threads.v);
		a->answered_at = at;
		r->asked = 0;
	}
}

static const struct habit *habit_of(const struct asker *a, uint32_t server)
{
	for (size_t i = 0; i < ASKED_AT_ONCE; i++)
		if (a->habits[i].n && a->habits[i].server == server)
			return &a->habits[i];
	return NULL;
}

/* A quick answer finds who asked awake, and no event tells of it: when that one sleeps in another call than the one in which it is answered, it is not
 * for the answer. */
static void forget_answered(struct asker *a, int64_t at)
{
	for (size_t i = 0; i < ASKED_AT_ONCE; i++) {
		struct peer_request *r = &a->asked[i].request;
		const struct habit *h = r->asked && r->since < at ? habit_of(a, r->server) : NULL;

		if (h && h->call != a->call)
			r->asked = 0;
	}
}

/* Both have slept since, and the server last did so where it was asked: what it does now may be for another one. */
static bool may_be_answered(const struct pass *p, const struct asker *a, const struct asked *q)
{
	const struct asker *s = &p->askers[q->index];

	return a->slept > q->request.since && s->slept > q->request.since && s->call == q->in;
}

/* The next request tells that it was answered, before the server slept again. Where others have asked the server since, it is not known when. */
static void book_awake_answer(struct pass *p, const struct asked *q)
{
	struct peer_request r = q->request;

	r.took = q->done - r.since;
	r.pending = false;
	if (q->done)
		book_answer(p, &r, q->index, q->done);
}

static void ask(struct pass *p, const struct trace_thread *asker, const struct trace_thread *server, int64_t at)
{
	uint32_t index = (uint32_t)(asker - p->t->threads.v), other = (uint32_t)(server - p->t->threads.v);
	struct asker *a = &p->askers[index];
	struct asked *place = &a->asked[0];

	for (size_t i = 0; i < ASKED_AT_ONCE; i++) {
		struct asked *q = &a->asked[i];

		if (q->request.asked && q->request.server == server->tgid) {
			if (q->request.asked != server->tid || !may_be_answered(p, a, q))
				return; /* more of the same request */
			book_awake_answer(p, q);
			place = q;
			break;
		}
		if (place->request.asked && (!q->request.asked || q->request.since < place->request.since))
			place = q;
	}
	*place = (struct asked){.request = {.thread = index, .process = asker->tgid, .asked = server->tid, .server = server->tgid, .since = at, .pending = true},
				.index = other, .in = p->askers[other].call};
	p->askers[other].last = place;
}

/* A packet over loopback arrives in the time of the thread that has mostly sent it. */
static bool is_by_a_task(const struct event *e)
{
	if (e->flags & (WAKEUP_STILL_QUEUED | WAKEUP_NO_WAKING | WAKEUP_IN_IRQ | WAKEUP_NEW) || !e->wakeup.waker)
		return false;
	return !(e->flags & WAKEUP_IN_SOFTIRQ) || e->wakeup.vector == NET_RX || e->wakeup.vector == NET_TX;
}

static bool is_program(const struct trace_thread *t)
{
	return t && t->tid && !(t->flags & (THREAD_IS_KERNEL | THREAD_IS_IDLE | THREAD_IS_SELF));
}

/* Whether it has answered or not. */
static void note_done(struct asked *q, const struct event *e)
{
	if (q && q->request.asked == e->thread && !q->done && e->out.call == q->in)
		q->done = (int64_t)e->time;
}

static void go_to_sleep(struct pass *p, const struct event *e)
{
	const struct trace_thread *t = e->out.state ? trace_thread(p->t, e->thread, e->time) : NULL;

	struct asker *a = t ? &p->askers[t - p->t->threads.v] : NULL;

	if (!a)
		return;
	if (was_for_nothing(a, e))
		take_back(a);
	else
		settle(p, a);
	a->call = e->out.call;
	a->slept = (int64_t)e->time;
	note_done(a->last, e);
	forget_answered(a, (int64_t)e->time);
}

static void wake_up(struct pass *p, const struct event *e)
{
	int64_t at = (int64_t)e->time - e->wakeup.since_waking;
	const struct trace_thread *by = is_by_a_task(e) ? trace_thread(p->t, e->wakeup.waker, e->time) : NULL;
	const struct trace_thread *woken = trace_thread(p->t, e->thread, e->time);

	if (is_program(by) && is_program(woken) && by->tgid != woken->tgid) {
		settle(p, &p->askers[by - p->t->threads.v]);
		answer(p, woken, by, at);
		ask(p, by, woken, at);
	}
}

static void look_at(struct pass *p, const struct event *e)
{
	if (e->kind == EVENT_SWITCH)
		go_to_sleep(p, e);
	else if (e->kind == EVENT_WAKEUP)
		wake_up(p, e);
}

/* --- what is late --- */

static const struct trace_thread *thread_of(const struct trace *t, uint32_t tid)
{
	return trace_thread(t, tid, t->frozen);
}

/* Ten answers or more; NULL = too little is known. Of processes that bear one name each could be the other, and of two that talked before their names
 * do not tell: an interpreter's name is that of many programs. */
static const struct pair *known(struct pass *p, const struct trace_thread *asker, const struct trace_thread *server)
{
	const struct pair *pair = pair_of_processes(p, asker->tgid, server->tgid, false);

	if ((!pair || !pair->n) && strcmp(asker->comm, server->comm) != 0)
		pair = pair_of_names(p, asker, server, false);
	return pair && pair->n >= KNOWN_LEAST ? pair : NULL;
}

bool peer_request_is_late(int64_t took, int64_t normally)
{
	return took >= REQUEST_LATE && took >= LATER * normally;
}

/* How the answers to such a request are known; NULL = it is not known that it is one. */
static const struct pair *known_request(struct pass *p, const struct peer_request *r)
{
	const struct trace_thread *asker = &p->t->threads.v[r->thread], *server = thread_of(p->t, r->asked);
	const struct pair *there = server ? known(p, asker, server) : NULL, *back = server ? known(p, server, asker) : NULL;
	bool talk = there && there == pair_of_processes(p, asker->tgid, server->tgid, false); /* again and again, not once for a command */
	const struct pair *other_way = server ? pair_of_processes(p, server->tgid, asker->tgid, false) : NULL;

	if (there && !talk && other_way && other_way->n) /* other processes of these names do not tell of two that know one another */
		return NULL;
	if (!there || (back ? there->sum / there->n * QUICKER > back->sum / back->n : talk)) /* by one direction alone it is not known who asks */
		return NULL;
	return there;
}

static bool is_late(struct pass *p, struct peer_request *r)
{
	const struct pair *there = known_request(p, r);

	if (!there || !peer_request_is_late(r->took, there->longest))
		return false;
	r->normally = there->longest;
	return true;
}

static int add_late(struct pass *p, const struct peer_request *r, struct peer_requests *ret)
{
	struct peer_request late = *r;

	if (!is_late(p, &late))
		return 0;
	VEC_EACH(other, ret->late) {
		if (other->process != late.process || other->server != late.server)
			continue;
		if (late.took > other->took)
			*other = late;
		return 0;
	}
	return VEC_PUSH(ret->late, late);
}

static bool is_asleep(const struct trace_thread *t)
{
	return t && !t->end && t->state_since && t->state != STATE_RUNNING && !thread_state_is_runnable(t->state);
}

/* It runs, or sleeps for something else than where it was asked. */
static bool is_elsewhere(const struct trace_thread *server, uint8_t asked_in)
{
	return server && !server->end && server->state && (!is_asleep(server) || server->facts.call != asked_in);
}

static bool has_asked(const struct asker *a, uint32_t server)
{
	return ANY_WHERE(i, ASKED_AT_ONCE, a->asked[i].request.asked && a->asked[i].request.server == server);
}

/* Requests that thread `i` may have sent without waking the server. */
static int assume(struct pass *p, uint32_t i, struct peer_requests *ret)
{
	const struct trace_thread *client = &p->t->threads.v[i];
	const struct asker *a = &p->askers[i];
	int r = 0;

	for (size_t k = 0; r == 0 && k < ASKED_AT_ONCE; k++) {
		const struct habit *h = &a->habits[k];
		struct peer_request request = {.thread = i, .process = client->tgid, .asked = h->asked, .server = h->server, .since = h->last,
					       .took = (int64_t)p->t->frozen - h->last, .pending = true};

		if (h->n < KNOWN_LEAST || h->call != client->facts.call || has_asked(a, h->server) || !is_elsewhere(thread_of(p->t, h->asked), h->asked_in) ||
		    !is_late(p, &request))
			continue;
		request.since = (int64_t)client->state_since;
		request.took = (int64_t)p->t->frozen - request.since;
		r = VEC_PUSH(ret->assumed, request);
	}
	return r;
}

static int collect(struct pass *p, struct peer_requests *ret)
{
	int r = 0;

	for (uint32_t i = 0; i < p->t->threads.n; i++)
		settle(p, &p->askers[i]);
	for (uint32_t i = 0; r == 0 && i < p->t->threads.n; i++)
		if (is_asleep(&p->t->threads.v[i]))
			r = assume(p, i, ret);

	for (uint32_t i = 0; r == 0 && i < p->t->threads.n; i++)
		for (size_t k = 0; r == 0 && k < ASKED_AT_ONCE; k++) {
			struct asked *q = &p->askers[i].asked[k];
			struct peer_request *a = &q->request;

			if (!a->asked || !is_asleep(&p->t->threads.v[i]))
				continue;
			a->took = (int64_t)p->t->frozen - a->since;
			a->asks = known_request(p, a);
			a->unsure = may_be_answered(p, &p->askers[i], q);
			r = VEC_PUSH(ret->pending, *a);
			if (!a->unsure || is_asleep(thread_of(p->t, a->asked)))
				r = r ?: add_late(p, a, ret);
			else if (is_late(p, a)) /* it has slept where it was asked, and runs again, for another one perhaps */
				r = r ?: VEC_PUSH(ret->assumed, *a);
		}
	for (size_t i = 0; r == 0 && i < p->found.n; i++)
		if (p->found.v[i].slowest.took)
			r = add_late(p, &p->found.v[i].slowest, ret);
	return r;
}

ORDER(longest_first, struct peer_request, DESCENDING(took) ?: ASCENDING(thread))

static int64_t begin_of_now(const struct trace *t)
{
	int64_t span = (int64_t)(t->frozen - t->from) / 2;

	return (int64_t)t->frozen - (span < PAST_LEAST ? span : PAST_LEAST);
}

int peer_requests_find(const struct trace *t, struct peer_requests *ret)
{
	struct pass p = {.t = t, .split = begin_of_now(t)};
	struct peer_requests found = {};

	p.askers = calloc(t->threads.n + 1, sizeof(*p.askers));
	p.error = p.askers ? 0 : -ENOMEM;
	for (size_t i = 0; p.error == 0 && i < t->n_events && t->events[i].time <= t->frozen; i++)
		look_at(&p, &t->events[i]);
	if (p.error == 0)
		p.error = collect(&p, &found);
	VEC_SORT(found.late, longest_first);
	hmap_free(&p.pairs);
	VEC_FREE(p.found);
	free(p.askers);
	if (p.error < 0)
		peer_requests_free(&found);
	else
		*ret = found;
	return p.error;
}

const struct peer_request *peer_requests_pending_of(const struct peer_requests *r, uint32_t pid, int64_t since)
{
	const struct peer_request *first = NULL;

	VEC_EACH(a, r->pending)
		if (a->process == pid && a->since >= since && (!first || a->since < first->since))
			first = a;
	return first;
}
