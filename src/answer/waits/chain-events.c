#include "answer/waits/chain-search.h"

#include <string.h>

#define BUS_FILES_MAX 1024 /* connections of a bus: a desktop's has about 100 */
#define CHILDREN_MAX  64   /* of a server: with more it has workers, of which one waits for it or none is known to matter */

/* A worker hears from its master over that, and waits for nothing. */
static bool leads_to_parent(const struct chain_search *s, const struct other_end *e)
{
	return e->kind == END_LOCAL_SOCKET && e->n == 1 && e->pids[0] == s->t.parent;
}

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
	if (unread != 1 || other_end_find(s->proc_root, s->t.pid, found, &e) < 0 || chain_leads_back(s, &e))
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
		if (other_end_find(s->proc_root, t->pid, files[i], &e) == 0 && other_end_has(&e, pid))
			return true;
	return false;
}

/* A server that was asked and waits for events, of whatever thread: its only child that does something else than wait for it. */
static bool find_busy_child(struct chain_search *s)
{
	unsigned children[CHILDREN_MAX], found = 0;
	size_t n = chain_asker(s) ? live_children(s->proc_root, s->t.pid, children, CHILDREN_MAX) : 0;

	for (size_t i = 0; i < n; i++) {
		struct live_thread t;

		if (children[i] == chain_asker(s) || live_thread_read(s->proc_root, children[i], children[i], &t) < 0 || t.state == 'Z' ||
		    chain_waits_for(s, &t, s->t.pid))
			continue;
		if (found)
			return false;
		found = children[i];
	}
	if (!found)
		return false;
	s->kind = CHAIN_CHILD;
	str_puts(&s->words, "waits for events, probably of a child");
	s->next_pid = found;
	s->role = "the child";
	return true;
}

static bool is_same_process(const struct other_end *a, const struct other_end *b)
{
	return a->n == 1 && b->n == 1 && a->pids[0] == b->pids[0];
}

/* The connection of an event loop over which it has asked and is not answered, by events or by TCP, or the only one that can be
 * meant. */
void chain_find_events(struct chain_search *s)
{
	const struct peer_request *pending = s->requests ? peer_requests_pending_of(s->requests, s->t.pid, s->since) : NULL;
	unsigned files[LIVE_FILES_MAX];
	size_t n = live_thread_files(s->proc_root, &s->t, files, LIVE_FILES_MAX), candidates = 0;
	struct other_end e, only = {};
	size_t unanswered = 0;
	bool asked = false;

	if (find_bus_message(s))
		return;
	for (size_t i = 0; i < n; i++) {
		if (other_end_find(s->proc_root, s->t.pid, files[i], &e) < 0)
			continue;
		if (chain_leads_back(s, &e)) {
			asked = true;
		} else if ((pending && other_end_has(&e, pending->server)) || assumed(s, &e)) {
			candidates = 1;
			only = e;
			break;
		} else if (e.asked_ms) {
			candidates = 1 + unanswered++;
			only = e;
		} else if (!unanswered && (e.n || e.remote) && !leads_to_parent(s, &e)) {
			candidates += !candidates || !is_same_process(&e, &only);
			only = e;
		}
	}
	if (candidates == 1)
		chain_follow_end(s, &only, false);
	else if (find_busy_child(s))
		return;
	else if (candidates)
		str_printf(&s->words, "waits for events of %zu connections", candidates);
	else
		chain_rest(s, asked ? "waits for the next request" : "waits for events");
	if (candidates > 1)
		s->kind = CHAIN_EVENTS;
}
