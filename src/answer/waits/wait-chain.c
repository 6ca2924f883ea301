#include "answer/waits/wait-chain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/system/file-lock.h"
#include "answer/waits/hidden-lock.h"
#include "answer/waits/live-thread.h"
#include "answer/waits/other-end.h"
#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "base/data/str.h"

/* What a call waits for. */
enum call_class { CLASS_ANYTHING, CLASS_FILE_LOCK, CLASS_TO_READ, CLASS_TO_WRITE, CLASS_FOR_ANSWER, CLASS_FOR_EVENTS, CLASS_FOR_LOCK,
		  CLASS_FOR_TIMER, CLASS_FOR_CHILD, CLASS_FOR_DISK };

static enum call_class class_of(const char *call)
{
	static const struct {
		const char *call;
		enum call_class class;
	} classes[] = {
		{"flock", CLASS_FILE_LOCK},	{"fcntl", CLASS_FILE_LOCK},
		{"read", CLASS_TO_READ},		{"readv", CLASS_TO_READ},	{"recvfrom", CLASS_TO_READ},	 {"recvmsg", CLASS_TO_READ},
		{"recvmmsg", CLASS_TO_READ},	{"write", CLASS_TO_WRITE},	{"writev", CLASS_TO_WRITE},	 {"sendto", CLASS_TO_WRITE},
		{"sendmsg", CLASS_TO_WRITE},	{"sendfile", CLASS_TO_WRITE},	{"splice", CLASS_TO_READ},	 {"connect", CLASS_FOR_ANSWER},
		{"poll", CLASS_FOR_EVENTS},	{"ppoll", CLASS_FOR_EVENTS},	{"select", CLASS_FOR_EVENTS},	 {"pselect6", CLASS_FOR_EVENTS},
		{"epoll_wait", CLASS_FOR_EVENTS}, {"epoll_pwait", CLASS_FOR_EVENTS}, {"epoll_pwait2", CLASS_FOR_EVENTS},
		{"accept", CLASS_FOR_EVENTS},	{"accept4", CLASS_FOR_EVENTS},	{"futex", CLASS_FOR_LOCK},	 {"futex_wait", CLASS_FOR_LOCK},
		{"nanosleep", CLASS_FOR_TIMER},	{"clock_nanosleep", CLASS_FOR_TIMER}, {"wait4", CLASS_FOR_CHILD},	 {"waitid", CLASS_FOR_CHILD},
		{"fsync", CLASS_FOR_DISK},	{"fdatasync", CLASS_FOR_DISK},	{"sync", CLASS_FOR_DISK},	 {"sync_file_range", CLASS_FOR_DISK},
	};

	for (size_t i = 0; call && i < ARRAY_SIZE(classes); i++)
		if (strcmp(classes[i].call, call) == 0)
			return classes[i].class;
	return CLASS_ANYTHING;
}

struct search {
	const char *proc_root;
	const struct viewer *viewer;
	const struct peer_requests *requests;
	struct wait_chain *chain;
	int64_t since; /* of the request that led here: what this one asked before that was for another */
	struct live_thread t;
	enum call_class class;
	/* what comes out */
	enum chain_kind kind;
	struct str words;
	const char *role; /* of the next */
	bool reads, retries; /* as in struct chain_link */
	bool unread;	     /* the next has not read the request: its workers are busy with something else */
	unsigned next_pid, next_tid; /* 0 = the chain ends; tid 0 = whichever of its threads is held up */
	unsigned asked;		     /* the thread of the next that was asked; 0 = not known */
};

static bool waits_for_fuse(const struct live_thread *t)
{
	return strstr(t->waits_in, "request_wait_answer") || strncmp(t->waits_in, "fuse_", 5) == 0;
}

static bool waits_for_scanner(const struct live_thread *t)
{
	return strncmp(t->waits_in, "fanotify_", 9) == 0;
}

static bool waits_for_lease(const struct live_thread *t)
{
	return strstr(t->waits_in, "break_lease") != NULL;
}

/* --- which thread of a process --- */

#define RANK_BUSY 3

/* Lower: rather held up, and so rather the one that matters. A thread that waits for events or a condition has nothing to do. */
static int rank_of(const struct search *s, const struct live_thread *t)
{
	enum call_class class = class_of(t->call);

	if (class == CLASS_FILE_LOCK || waits_for_fuse(t) || waits_for_scanner(t) || waits_for_lease(t) || (class == CLASS_FOR_LOCK && live_thread_lock_owner(s->proc_root, t)))
		return 0;
	if (t->state == 'T' || t->state == 't' || t->state == 'D')
		return 1;
	if (t->state == 'R')
		return 2;
	return class == CLASS_FOR_EVENTS || class == CLASS_FOR_LOCK || class == CLASS_ANYTHING ? RANK_BUSY + 1 : RANK_BUSY;
}

/* Thread `tid`, where one is meant; else the one that was asked, if it does not wait for more; else the main thread, unless another one is
 * held up more. False: the process is gone. */
static bool choose_thread(struct search *s, unsigned pid, unsigned tid, unsigned asked, struct live_thread *ret)
{
	unsigned tids[LIVE_THREADS_MAX];
	size_t n = tid ? 0 : live_threads(s->proc_root, pid, tids, LIVE_THREADS_MAX);
	int best = 99;

	if (tid)
		return live_thread_read(s->proc_root, pid, tid, ret) == 0;
	if (asked && live_thread_read(s->proc_root, pid, asked, ret) == 0 && rank_of(s, ret) <= RANK_BUSY)
		return true;
	for (size_t i = 0; i < n && best > 0; i++) {
		struct live_thread t;
		int rank;

		if (live_thread_read(s->proc_root, pid, tids[i], &t) < 0)
			continue;
		rank = rank_of(s, &t);
		if (i && rank >= RANK_BUSY + s->unread) /* a worker that sleeps or reads may do so all day; the main thread is asked about */
			continue;
		if (rank < best) {
			best = rank;
			*ret = t;
		}
	}
	return best < 99;
}

/* Of those that have the other end open, the one that is rather held up. */
static unsigned choose_process(struct search *s, const struct other_end *e)
{
	unsigned chosen = 0;
	int best = 99;

	for (size_t i = 0; i < e->n; i++) {
		struct live_thread t;
		int rank = choose_thread(s, e->pids[i], 0, 0, &t) ? rank_of(s, &t) : 98;

		if (rank < best) {
			best = rank;
			chosen = e->pids[i];
		}
	}
	return chosen;
}

static bool is_in_chain(const struct search *s, unsigned pid, unsigned tid)
{
	for (size_t i = 0; i < s->chain->links.n; i++)
		if (s->chain->links.v[i].pid == pid && (!tid || s->chain->links.v[i].tid == tid))
			return true;
	return false;
}

/* --- words --- */

static void put_file(struct search *s, unsigned long long fd)
{
	char path[300], target[1024];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%u/fd/%llu", s->proc_root, s->t.pid, fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n > 0)
		str_append(&s->words, target, (size_t)n);
	else
		str_puts(&s->words, "a file");
}

static void put_end(struct search *s, const struct other_end *e, bool writes)
{
	static const char *const ends[] = {[END_PIPE] = "a pipe", [END_LOCAL_SOCKET] = "a local socket", [END_TCP] = "TCP", [END_UDP] = "UDP"};

	str_puts(&s->words, writes ? "waits for room to write to " : e->kind == END_PIPE ? "waits for data from " : "waits for an answer over ");
	str_puts(&s->words, ends[e->kind]);
	if (*e->place)
		str_printf(&s->words, " from %s", e->place);
	if (e->remote)
		str_puts(&s->words, ", which is not an address of a process here");
	if (e->retransmits)
		str_printf(&s->words, ", and what it sent is not confirmed after %u retransmission%s: packets are lost", e->retransmits,
			   e->retransmits == 1 ? "" : "s");
}

/* --- what it waits for --- */

static void follow_end(struct search *s, const struct other_end *e, bool writes)
{
	static const enum chain_kind kinds[] = {[END_PIPE] = CHAIN_PIPE, [END_LOCAL_SOCKET] = CHAIN_LOCAL_SOCKET, [END_TCP] = CHAIN_TCP,
						 [END_UDP] = CHAIN_UDP};

	s->kind = e->remote ? CHAIN_REMOTE : kinds[e->kind];
	put_end(s, e, writes);
	s->reads = e->kind == END_PIPE && !writes;
	s->unread = e->unread;
	s->next_pid = choose_process(s, e);
	s->role = !e->accepted ? "which has not accepted the connection" :
		  e->unread ? "which has not read the request" :
		  e->kind == END_PIPE ? (writes ? "which reads it" : "which writes it") : "at the other end";
}

/* The one before in the chain: whoever waits for its next request waits for work. */
static unsigned asker(const struct search *s)
{
	return s->chain->links.n ? s->chain->links.v[s->chain->links.n - 1].pid : 0;
}

static bool has_process(const struct other_end *e, unsigned pid)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->pids[i] == pid)
			return true;
	return false;
}

static bool leads_back(const struct search *s, const struct other_end *e)
{
	return has_process(e, asker(s));
}

/* A worker hears from its master over that, and waits for nothing. */
static bool leads_to_parent(const struct search *s, const struct other_end *e)
{
	return e->kind == END_LOCAL_SOCKET && e->n == 1 && e->pids[0] == s->t.parent;
}

static void rest(struct search *s, const char *words)
{
	s->kind = CHAIN_EVENTS;
	str_puts(&s->words, words);
}

/* Of the connections of an event loop the one over which it has asked and is not answered, by events or by TCP, or the only one that can be
 * meant. */
static void find_events(struct search *s)
{
	const struct peer_request *pending = s->requests ? peer_requests_pending_of(s->requests, s->t.pid, s->since) : NULL;
	unsigned files[LIVE_FILES_MAX];
	size_t n = live_thread_files(s->proc_root, &s->t, files, LIVE_FILES_MAX), candidates = 0;
	struct other_end e, only = {};
	size_t unanswered = 0;
	bool asked = false;

	for (size_t i = 0; i < n; i++) {
		if (other_end_find(s->proc_root, s->t.pid, files[i], &e) < 0)
			continue;
		if (leads_back(s, &e)) {
			asked = true;
		} else if (pending && has_process(&e, pending->server)) {
			candidates = 1;
			only = e;
			break;
		} else if (e.asked_ms) {
			candidates = 1 + unanswered++;
			only = e;
		} else if (!unanswered && (e.n || e.remote) && !leads_to_parent(s, &e)) {
			candidates++;
			only = e;
		}
	}
	if (candidates == 1)
		follow_end(s, &only, false);
	else if (candidates)
		str_printf(&s->words, "waits for events of %zu connections", candidates);
	else
		rest(s, asked ? "waits for the next request" : "waits for events");
	if (candidates > 1)
		s->kind = CHAIN_EVENTS;
}

static void find_file(struct search *s)
{
	bool writes = s->class == CLASS_TO_WRITE;
	struct other_end e;

	if (other_end_find(s->proc_root, s->t.pid, s->t.arguments[0], &e) == 0) {
		if (!writes && leads_back(s, &e))
			rest(s, "waits for the next request");
		else
			follow_end(s, &e, writes);
		return;
	}
	s->kind = s->t.state == 'D' ? CHAIN_DISK : CHAIN_UNKNOWN;
	str_puts(&s->words, writes ? "waits for room to write to " : "waits for data from ");
	put_file(s, s->t.arguments[0]);
}

static void find_file_lock(struct search *s)
{
	s->kind = CHAIN_FILE_LOCK;
	str_puts(&s->words, "waits for a lock on ");
	put_file(s, s->t.arguments[0]);
	s->next_pid = file_lock_holder(s->proc_root, s->t.pid) ?: ofd_lock_holder(s->proc_root, s->t.pid, s->t.arguments[0]);
	s->role = "which holds it";
}

static void find_lock(struct search *s)
{
	struct hidden_lock shared;

	s->next_tid = live_thread_lock_owner(s->proc_root, &s->t);
	if (!s->next_tid && shared_lock_find(s->proc_root, &s->t, &shared)) {
		s->kind = CHAIN_LOCK;
		str_printf(&s->words, "waits for a lock or semaphore in shared memory: %s", shared.place);
		s->next_pid = shared.holder;
		s->role = "which has it mapped, too";
		return;
	}
	if (!s->next_tid) {
		rest(s, "waits for another thread's signal");
		return;
	}
	s->kind = CHAIN_LOCK;
	str_puts(&s->words, "waits for a lock of its own threads");
	s->next_pid = s->t.pid;
	s->role = "which holds it";
}

static void find_child(struct search *s)
{
	s->kind = CHAIN_CHILD;
	str_puts(&s->words, "waits for a child");
	s->next_pid = live_thread_child(s->proc_root, &s->t);
	s->role = "the child";
}

static void find_fuse(struct search *s)
{
	struct other_end servers;

	s->kind = CHAIN_FUSE;
	str_puts(&s->words, "waits for a file system in user space (FUSE)");
	if (s->class == CLASS_TO_READ || s->class == CLASS_TO_WRITE || s->class == CLASS_FOR_DISK) {
		str_puts(&s->words, ": ");
		put_file(s, s->t.arguments[0]);
	}
	fuse_servers_find(s->proc_root, s->t.pid, &servers);
	s->next_pid = servers.n == 1 ? servers.pids[0] : 0; /* of several it is not known whose mount it is */
	s->role = "which serves it";
}

static void find_scanner(struct search *s)
{
	struct other_end scanners;

	s->kind = CHAIN_SCANNER;
	str_puts(&s->words, "waits until a scanner lets it open a file");
	scanners_find(s->proc_root, s->t.pid, &scanners);
	s->next_pid = scanners.n == 1 ? scanners.pids[0] : 0; /* of several it is not known who is asked */
	s->role = "which is asked";
}

static void find_lease(struct search *s)
{
	s->kind = CHAIN_FILE_LOCK;
	str_puts(&s->words, "waits for a lease on the file that it opens");
	s->next_pid = file_lock_holder(s->proc_root, s->t.pid);
	s->role = "which has not released it";
}

static void find_timer(struct search *s)
{
	struct hidden_lock lock;

	if (sqlite_lock_find(s->proc_root, s->t.pid, &lock)) {
		s->kind = CHAIN_FILE_LOCK;
		str_printf(&s->words, "sleeps between attempts to lock the SQLite database %s", lock.place);
		s->next_pid = lock.holder;
		s->role = "which has a transaction open";
		s->retries = true;
		return;
	}
	s->kind = CHAIN_SLEEPS;
	str_puts(&s->words, "sleeps");
}

static void find_disk(struct search *s)
{
	s->kind = CHAIN_DISK;
	str_puts(&s->words, "waits for the disk, to write ");
	put_file(s, s->t.arguments[0]);
}

static void find_anything(struct search *s)
{
	s->kind = s->t.state == 'D' ? CHAIN_DISK : CHAIN_UNKNOWN;
	str_puts(&s->words, s->t.state == 'D' ? "waits in the kernel and cannot be interrupted" : "waits");
	if (s->t.call)
		str_printf(&s->words, " in the system call %s", s->t.call);
	if (s->t.waits_in[0])
		str_printf(&s->words, " (%s)", s->t.waits_in);
}

/* The process for which a backend works; 0 = not known. */
static unsigned client_of(const struct search *s)
{
	struct other_end e;

	for (unsigned fd = 0; fd < LIVE_FILES_MAX; fd++)
		if (other_end_find(s->proc_root, s->t.pid, fd, &e) == 0 && e.kind != END_PIPE && e.n == 1 && e.pids[0] != s->t.parent)
			return e.pids[0];
	return 0;
}

/* A lock of a transaction: whose it is, and for which client that one keeps it. False: this is no such backend. */
static bool find_transaction(struct search *s)
{
	struct postgres_backend backend;
	bool blocks = s->chain->links.n && s->chain->links.v[s->chain->links.n - 1].kind == CHAIN_DATABASE;

	if (strcmp(s->t.comm, "postgres") != 0 || !postgres_backend_read(s->proc_root, s->t.pid, &backend) || (!backend.waits && !blocks))
		return false;
	s->kind = CHAIN_DATABASE;
	if (backend.waits) {
		str_printf(&s->words, "waits for a lock inside the database %s (%s)", backend.database, backend.activity);
		s->next_pid = postgres_blocker(s->proc_root, &s->t);
		s->role = "whose transaction is open";
	} else {
		str_printf(&s->words, "has a transaction open (%s)", backend.activity);
		s->next_pid = client_of(s);
		s->role = "its client";
	}
	return true;
}

/* The client of a transaction that is open: whatever it does, it does not end it. */
static bool find_transaction_client(struct search *s)
{
	size_t n = s->chain->links.n;

	if (n < 2 || s->chain->links.v[n - 1].kind != CHAIN_DATABASE || s->chain->links.v[n - 2].kind != CHAIN_DATABASE)
		return false;
	s->kind = CHAIN_SLEEPS;
	str_puts(&s->words, "does not end it");
	return true;
}

static void find_wait(struct search *s)
{
	static void (*const finders[])(struct search *) = {
		[CLASS_ANYTHING] = find_anything, [CLASS_FILE_LOCK] = find_file_lock, [CLASS_TO_READ] = find_file,
		[CLASS_TO_WRITE] = find_file,	 [CLASS_FOR_ANSWER] = find_file,	    [CLASS_FOR_EVENTS] = find_events,
		[CLASS_FOR_LOCK] = find_lock,	 [CLASS_FOR_TIMER] = find_timer,	    [CLASS_FOR_CHILD] = find_child,
		[CLASS_FOR_DISK] = find_disk,
	};

	s->class = class_of(s->t.call);
	if (find_transaction(s) || find_transaction_client(s)) {
		return;
	} else if (s->t.state == 'R') {
		s->kind = CHAIN_RUNS;
		str_puts(&s->words, "runs");
	} else if (s->t.state == 'T' || s->t.state == 't') {
		s->kind = CHAIN_STOPPED;
		str_puts(&s->words, "is stopped");
	} else if (waits_for_fuse(&s->t)) {
		find_fuse(s);
	} else if (waits_for_scanner(&s->t) && s->class != CLASS_TO_READ && s->class != CLASS_FOR_EVENTS) {
		find_scanner(s);
	} else if (waits_for_lease(&s->t)) {
		find_lease(s);
	} else {
		finders[s->class](s);
	}
}

static bool is_shown(const struct search *s, enum datum datum)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%u", s->proc_root, s->t.pid);
	return stat(path, &st) == 0 && visibility(s->viewer, datum, st.st_uid) == SHOWN_WHOLE;
}

/* By events: since when it waits for the next, and which thread of that it asked. */
static void find_request(struct search *s)
{
	for (size_t i = 0; s->requests && s->next_pid && i < s->requests->pending.n; i++) {
		const struct peer_request *r = &s->requests->pending.v[i];

		if (r->process == s->t.pid && r->server == s->next_pid && r->since >= s->since) {
			s->asked = r->asked;
			s->since = r->since;
			return;
		}
	}
}

/* For whom another user's process waits is that user's affair: the chain ends there. */
static void find_next(struct search *s)
{
	s->next_pid = s->next_tid = s->asked = 0;
	s->reads = s->retries = s->unread = false;
	if (is_shown(s, DATUM_EDGES)) {
		find_wait(s);
		find_request(s);
		return;
	}
	s->kind = CHAIN_UNKNOWN;
	str_puts(&s->words, "is another user's: what it does is not shown");
}

static int put_link(struct search *s, const char *role)
{
	struct chain_link link = {.pid = s->t.pid, .tid = s->t.tid, .kind = s->kind, .words = s->words.data, .role = role,
				  .reads = s->reads, .retries = s->retries};

	snprintf(link.comm, sizeof(link.comm), "%s", s->t.comm);
	if (s->words.error || VEC_PUSH(s->chain->links, link) < 0) {
		str_free(&s->words);
		return -ENOMEM;
	}
	s->words = (struct str){};
	return 0;
}

static void see_whether_it_goes_on(const struct search *s, const struct live_thread *first, int64_t rest_ns)
{
	struct timespec rest = {rest_ns / NS_PER_SEC, rest_ns % NS_PER_SEC};
	struct live_thread later;

	nanosleep(&rest, NULL);
	s->chain->passing = live_thread_read(s->proc_root, first->pid, first->tid, &later) < 0 || later.times != first->times;
}

static bool may_pass(const struct chain_link *first)
{
	return first->kind != CHAIN_RUNS && first->kind != CHAIN_EVENTS && !first->retries;
}

int wait_chain_find(const struct chain_question *q, unsigned pid, struct wait_chain *ret)
{
	struct wait_chain chain = {};
	struct live_thread first = {};
	struct search s = {.proc_root = q->proc_root, .viewer = q->viewer, .requests = q->requests, .chain = &chain, .next_pid = pid};
	int r = 0;

	while (r == 0 && s.next_pid && chain.links.n < CHAIN_MAX && choose_thread(&s, s.next_pid, s.next_tid, s.asked, &s.t)) {
		const char *role = s.role;

		if (is_in_chain(&s, s.t.pid, s.t.tid)) {
			chain.cycle = true;
			chain.cycle_pid = s.t.pid;
			break;
		}
		if (!chain.links.n)
			first = s.t;
		if (!is_shown(&s, DATUM_PROCESS))
			break;
		find_next(&s);
		r = put_link(&s, role);
	}
	if (r == 0 && q->rest_ns > 0 && chain.links.n && may_pass(&chain.links.v[0]))
		see_whether_it_goes_on(&s, &first, q->rest_ns);
	if (r < 0)
		wait_chain_free(&chain);
	else
		*ret = chain;
	return r;
}
