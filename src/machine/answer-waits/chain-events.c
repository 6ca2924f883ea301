#include "machine/answer-waits/chain-search.h"

#include <limits.h>
#include <string.h>

#include "lib/data/clock.h"
#include "machine/answer-live/hidden-lock.h"

#define BUS_FILES_MAX 1024 /* connections of a bus: a desktop's has about 100 */
#define LOOPS_MAX     16   /* threads of a server that are looked at */
#define ENDS_MAX      8	   /* connections among which the one that is meant is looked for */
#define CHILDREN_MAX  64   /* of a server: with more it has workers, of which one waits for it or none is known to matter */

/* The request that it is assumed to have sent to one of those at the other end, if the kernel says that something is unanswered there. */
static const struct peer_request *assumed(const struct chain_search *s, const struct other_end *e)
{
	for (size_t i = 0; s->requests && (e->asked_ms || e->unread) && i < s->requests->assumed.n; i++) {
		const struct peer_request *r = &s->requests->assumed.v[i];

		if (r->process == s->t.pid && other_end_has(e, r->server))
			return r;
	}
	return NULL;
}

static bool is_bus(const struct chain_search *s)
{
	return strcmp(s->t.comm, "dbus-daemon") == 0 || strcmp(s->t.comm, "dbus-broker") == 0;
}

/* A message bus that has many connections: the one at whose other end a message lies unread. False: there is none, or several. */
static bool find_bus_message(struct chain_search *s)
{
	unsigned files[BUS_FILES_MAX], found = 0;
	size_t n = is_bus(s) ? live_thread_files(s->proc_root, &s->t, files, BUS_FILES_MAX) : 0, unread = 0;
	struct other_end e;

	for (size_t i = 0; i < n && unread < 2; i++)
		if (other_end_has_unread(s->proc_root, s->t.pid, files[i])) {
			found = files[i];
			unread++;
		}
	if (unread != 1 || other_end_find(s->files, s->t.pid, found, &e) < 0 || chain_leads_back(s, &e))
		return false;
	chain_follow_end(s, &e, false);
	return true;
}

bool chain_waits_for(const struct chain_search *s, const struct live_thread *t, unsigned pid)
{
	unsigned files[LIVE_FILES_MAX] = {(unsigned)t->arguments[0]};
	size_t n = chain_class_of(t->call) == CLASS_TO_READ ? 1 : live_thread_files(s->proc_root, t, files, LIVE_FILES_MAX);
	struct other_end e;

	for (size_t i = 0; i < n; i++)
		if (other_end_find(s->files, t->pid, files[i], &e) == 0 && other_end_has(&e, pid))
			return true;
	return false;
}

/* Who waits for a lock between processes waits for a sibling, not for its parent. */
static bool waits_for_sibling(const struct live_thread *t)
{
	enum chain_class class = chain_class_of(t->call);

	return class == CLASS_FOR_LOCK || class == CLASS_FOR_SEMAPHORE;
}

/* A process of a pool is forked, or begins with the same executable. */
static bool is_worker(const struct chain_search *s, unsigned child)
{
	char own[PATH_MAX], its[PATH_MAX];

	return live_link(s->proc_root, s->t.pid, "exe", own, sizeof(own)) && live_link(s->proc_root, child, "exe", its, sizeof(its)) &&
	       strcmp(own, its) == 0;
}

static bool may_work(const struct chain_search *s, unsigned child)
{
	struct live_thread t;

	if (chain_read_thread(s, child, child, &t) < 0 || t.state == 'Z' || waits_for_sibling(&t))
		return false;
	return (chain_asker(s) ? child != chain_asker(s) : is_worker(s, child)) && !chain_waits_for(s, &t, s->t.pid);
}

bool chain_find_busy_child(struct chain_search *s, const char *words)
{
	unsigned children[CHILDREN_MAX], found = 0;
	size_t n = live_children(s->proc_root, s->t.pid, children, CHILDREN_MAX);

	for (size_t i = 0; i < n; i++) {
		if (!may_work(s, children[i]))
			continue;
		if (found)
			return false;
		found = children[i];
	}
	if (!found)
		return false;
	s->kind = CHAIN_CHILD;
	str_puts(&s->words, words);
	s->next_pid = found;
	s->role = "the child";
	return true;
}

/* Workers that share a listening socket are asked together, over whichever connection; so is a server of another machine. */
static bool is_same_process(const struct other_end *a, const struct other_end *b)
{
	if (a->remote && b->remote)
		return strcmp(a->place, b->place) == 0;
	return a->n && a->n == b->n && memcmp(a->pids, b->pids, a->n * sizeof(*a->pids)) == 0;
}

/* The connections that an event loop watches, as far as they are known. */
struct loop {
	const struct peer_request *pending; /* its own request, since it was asked; NULL = no event tells of one */
	struct other_end meant;		    /* the last of the candidates */
	size_t candidates, unanswered;	    /* unanswered: by what the kernel says of the connection */
	struct other_end older;		    /* over which it has no answer to what it asked before it was asked itself */
	size_t n_older;			    /* processes */
	struct other_end ends[ENDS_MAX];    /* the candidates */
	struct other_end stopped;	    /* has not read what it was sent, and is stopped; n = 0: none */
	struct other_end before;	    /* the client whose request by TCP is the oldest one without an answer, but the asker */
	unsigned owed_ms;		    /* of the asker */
	bool asked;			    /* one of them is the asker's */
	bool found;			    /* the one that is meant is known by events */
};

/* It asked before the request that led here, which was for another process. */
static bool has_asked_before(const struct chain_search *s, const struct other_end *e)
{
	if (s->since && e->asked_ms && clock_monotonic() - e->asked_ms * NS_PER_MS < s->since - CHAIN_TCP_CLOCK)
		return true;
	for (size_t i = 0; s->requests && i < s->requests->pending.n; i++) {
		const struct peer_request *r = &s->requests->pending.v[i];

		if (r->process == s->t.pid && r->asks && r->since < s->since && other_end_has(e, r->server))
			return true;
	}
	return false;
}

static bool is_stopped(const struct chain_search *s, const struct other_end *e)
{
	struct live_thread t;

	return e->unread && e->n == 1 && chain_read_thread(s, e->pids[0], e->pids[0], &t) == 0 && (t.state == 'T' || t.state == 't');
}

static void look_at_client(const struct chain_search *s, const struct other_end *e, struct loop *l)
{
	if (chain_leads_back(s, e))
		l->owed_ms = e->owed_ms;
	else if (e->n == 1 && e->owed_ms > l->before.owed_ms)
		l->before = *e;
}

static void add_candidate(struct loop *l, const struct other_end *e, size_t *n)
{
	if (*n && is_same_process(e, &l->meant))
		return;
	l->meant = *e;
	if (*n < ENDS_MAX)
		l->ends[*n] = *e;
	++*n;
}

/* True: this is the one. Who has connected to it over TCP asks and is not asked; a message bus and a display ask, too. */
static bool look_at_end(const struct chain_search *s, const struct other_end *e, struct loop *l)
{
	bool client = e->serves && e->kind == END_TCP;

	if (client)
		look_at_client(s, e, l);
	if (is_stopped(s, e))
		l->stopped = *e;
	if (client && l->pending && other_end_has(e, l->pending->server))
		l->pending = NULL;
	if (chain_leads_back(s, e)) {
		l->asked = true;
	} else if (!client && ((l->pending && other_end_has(e, l->pending->server)) || assumed(s, e))) {
		l->candidates = 1;
		l->meant = *e;
		l->found = true;
		return true;
	} else if (!client && has_asked_before(s, e)) {
		l->n_older += !l->n_older || !is_same_process(e, &l->older);
		l->older = *e;
	} else if (e->asked_ms || (!e->accepted && e->n)) {
		add_candidate(l, e, &l->unanswered);
		l->candidates = l->unanswered;
	} else if (!l->unanswered && (e->n || e->remote) && !client && !chain_leads_to_parent(s, e)) {
		add_candidate(l, e, &l->candidates);
	}
	return false;
}

static void look_at_ends(const struct chain_search *s, const struct live_thread *t, struct loop *l)
{
	unsigned files[LIVE_FILES_MAX];
	size_t n = live_thread_files(s->proc_root, t, files, LIVE_FILES_MAX);
	struct other_end e;

	for (size_t i = 0; i < n; i++)
		if (other_end_find(s->files, t->pid, files[i], &e) == 0 && look_at_end(s, &e, l))
			return;
}

/* A server may have an event loop in each of several threads: what one of them asked is known by events or by TCP alone. */
static void look_at_other_loops(const struct chain_search *s, struct loop *l)
{
	unsigned tids[LOOPS_MAX];
	size_t n = chain_asker(s) ? live_threads(s->proc_root, s->t.pid, tids, LOOPS_MAX) : 0;

	for (size_t i = 0; i < n; i++) {
		struct live_thread t;

		if (tids[i] != s->t.tid && chain_read_thread(s, s->t.pid, tids[i], &t) == 0 && chain_class_of(t.call) == CLASS_FOR_EVENTS)
			look_at_ends(s, &t, l);
	}
}

/* Whether others connect to one of those that it waits for. */
static bool is_server(const struct chain_search *s)
{
	unsigned files[LIVE_FILES_MAX];
	size_t n = live_thread_files(s->proc_root, &s->t, files, LIVE_FILES_MAX);

	for (size_t i = 0; i < n; i++)
		if (other_end_listens(s->proc_root, s->t.pid, files[i]))
			return true;
	return false;
}

/* A request that is older than this one is not what it waits for, unless the kernel says so. */
static bool follow_meant(struct chain_search *s, const struct loop *l)
{
	if (l->candidates != 1 || (l->n_older && !l->unanswered))
		return false;
	chain_follow_end(s, &l->meant, false);
	return true;
}

/* It woke that one at once when it was asked itself: so it hands the request on, whatever is known of how long that one takes. */
static bool hands_on(const struct chain_search *s, const struct peer_request *pending)
{
	return chain_asker(s) && s->since && pending->since - s->since < CHAIN_TAKEN_UP;
}

/* A UDP socket that is not connected shows no connection: the events do. A server that no one asked wakes its clients. */
static bool follow_pending(struct chain_search *s, const struct peer_request *pending)
{
	if (!pending || !(pending->asks || hands_on(s, pending)) || pending->unsure || pending->server == chain_asker(s) || (!chain_asker(s) && is_server(s)))
		return false;
	s->kind = CHAIN_UDP;
	str_puts(&s->words, "waits for the answer of a process that it woke");
	s->next_pid = pending->server;
	s->role = "which it asked";
	return true;
}

/* A proxy or a pool of connections keeps the asker's request back until an older one is answered: who works on that, or, where that is a
 * database, of whose backend it is not known for whom it works, whose request it is. */
static bool follow_older(struct chain_search *s, const struct loop *l)
{
	struct live_thread t;

	if (l->n_older != 1 || !chain_asker(s))
		return false;
	if (l->older.n == 1 && chain_read_thread(s, l->older.pids[0], l->older.pids[0], &t) == 0 && strcmp(t.comm, "postgres") == 0 &&
	    chain_find_older_request(s, "keeps the request back, probably until it has answered one"))
		return true;
	chain_follow_end(s, &l->older, false);
	str_puts(&s->words, ", to a request that is older than this one");
	return true;
}

/* A pool of connections to a database has one, on which a client's transaction is open that asked before this one did. No event tells of either. */
static bool follow_earlier_client(struct chain_search *s, const struct loop *l)
{
	struct postgres_backend backend;

	if (!chain_asker(s) || l->found || l->candidates != 1 || l->meant.n != 1 || !l->before.n || l->before.owed_ms * NS_PER_MS < l->owed_ms * NS_PER_MS + CHAIN_TCP_CLOCK)
		return false;
	if (!postgres_backend_read(s->proc_root, l->meant.pids[0], &backend) || !backend.in_transaction)
		return false;
	s->kind = CHAIN_OLDER_REQUEST;
	str_printf(&s->words, "keeps the request back, probably until it has answered one that is %s old",
		   CLOCK_SPAN(l->before.owed_ms * NS_PER_MS));
	s->next_pid = l->before.pids[0];
	s->role = "whose request that is";
	return true;
}

/* The only one of several whose process has done one thing since about when this one was asked. */
static bool follow_begun_then(struct chain_search *s, const struct loop *l)
{
	const struct other_end *found = NULL;

	if (l->candidates < 2 || !s->trace || !chain_asker(s) || !s->asked_at)
		return false;
	for (size_t i = 0; i < l->candidates && i < ENDS_MAX; i++) {
		const struct trace_thread *th = l->ends[i].n == 1 ? trace_thread(s->trace, l->ends[i].pids[0], s->trace->frozen) : NULL;

		if (!th || th->end || !chain_began_then(s, th))
			continue;
		if (found)
			return false;
		found = &l->ends[i];
	}
	if (!found)
		return false;
	chain_follow_end(s, found, false);
	return true;
}

/* Its answer needs that of a client of its own, which does not run. */
static bool follow_stopped(struct chain_search *s, const struct loop *l)
{
	if (l->candidates || !chain_asker(s) || !l->stopped.n)
		return false;
	chain_follow_end(s, &l->stopped, false);
	s->serves = false;
	return true;
}

/* TCP says so of the asker's request. */
static bool is_unanswered(const struct chain_search *s)
{
	return s->chain->links.n && s->chain->links.v[s->chain->links.n - 1].asked_ms;
}

/* The connection of an event loop over which it has asked and is not answered, by events or by TCP, or the only one that can be
 * meant. */
void chain_find_events(struct chain_search *s)
{
	struct loop l = {.pending = s->requests ? peer_requests_pending_of(s->requests, s->t.pid, s->since) : NULL};

	if (find_bus_message(s))
		return;
	look_at_ends(s, &s->t, &l);
	if (!l.candidates && !l.n_older) {
		look_at_other_loops(s, &l);
		l.candidates = l.candidates > l.unanswered && !l.found ? l.unanswered : l.candidates;
	}
	if (follow_earlier_client(s, &l) || follow_meant(s, &l) || follow_pending(s, l.pending) || follow_older(s, &l) || follow_begun_then(s, &l) ||
	    follow_stopped(s, &l) || chain_find_worker(s) || (chain_asker(s) && chain_find_busy_child(s, "waits for events, probably of a child")))
		return;
	if (l.candidates) {
		s->kind = CHAIN_EVENTS;
		str_printf(&s->words, "waits for events of %zu connections", l.candidates);
		return;
	}
	if (s->resolves && is_unanswered(s)) {
		s->kind = CHAIN_REMOTE;
		s->unanswered = true;
		str_puts(&s->words, "has no answer yet, probably of the name servers that it asks");
		return;
	}
	s->idle = l.asked && !is_unanswered(s);
	chain_rest(s, s->idle ? "waits for the next request" : is_unanswered(s) ? "does not answer, and waits for events" : "waits for events");
}
