#include "answer/wait-chain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file-lock.h"
#include "answer/live-thread.h"
#include "answer/other-end.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"

/* What a call waits for. */
enum call_class { CALL_ANYTHING, CALL_FILE_LOCK, CALL_TO_READ, CALL_TO_WRITE, CALL_FOR_ANSWER, CALL_FOR_EVENTS, CALL_FOR_LOCK,
		  CALL_FOR_TIMER, CALL_FOR_CHILD, CALL_FOR_DISK };

static enum call_class class_of(const char *call)
{
	static const struct {
		const char *call;
		enum call_class class;
	} classes[] = {
		{"flock", CALL_FILE_LOCK},	{"fcntl", CALL_FILE_LOCK},
		{"read", CALL_TO_READ},		{"readv", CALL_TO_READ},	{"recvfrom", CALL_TO_READ},	 {"recvmsg", CALL_TO_READ},
		{"recvmmsg", CALL_TO_READ},	{"write", CALL_TO_WRITE},	{"writev", CALL_TO_WRITE},	 {"sendto", CALL_TO_WRITE},
		{"sendmsg", CALL_TO_WRITE},	{"sendfile", CALL_TO_WRITE},	{"splice", CALL_TO_READ},	 {"connect", CALL_FOR_ANSWER},
		{"poll", CALL_FOR_EVENTS},	{"ppoll", CALL_FOR_EVENTS},	{"select", CALL_FOR_EVENTS},	 {"pselect6", CALL_FOR_EVENTS},
		{"epoll_wait", CALL_FOR_EVENTS}, {"epoll_pwait", CALL_FOR_EVENTS}, {"epoll_pwait2", CALL_FOR_EVENTS},
		{"accept", CALL_FOR_EVENTS},	{"accept4", CALL_FOR_EVENTS},	{"futex", CALL_FOR_LOCK},	 {"futex_wait", CALL_FOR_LOCK},
		{"nanosleep", CALL_FOR_TIMER},	{"clock_nanosleep", CALL_FOR_TIMER}, {"wait4", CALL_FOR_CHILD},	 {"waitid", CALL_FOR_CHILD},
		{"fsync", CALL_FOR_DISK},	{"fdatasync", CALL_FOR_DISK},	{"sync", CALL_FOR_DISK},	 {"sync_file_range", CALL_FOR_DISK},
	};

	for (size_t i = 0; call && i < ARRAY_SIZE(classes); i++)
		if (strcmp(classes[i].call, call) == 0)
			return classes[i].class;
	return CALL_ANYTHING;
}

struct search {
	const char *proc_root;
	const struct viewer *viewer;
	struct wait_chain *chain;
	struct live_thread t;
	enum call_class class;
	/* what comes out */
	enum chain_kind kind;
	struct str words;
	const char *role; /* of the next */
	unsigned next_pid, next_tid; /* 0 = the chain ends; tid 0 = whichever of its threads is held up */
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

/* Lower: rather held up, and so rather the one that matters. A thread that waits for events or a condition has nothing to do. */
static int rank_of(const struct search *s, const struct live_thread *t)
{
	enum call_class class = class_of(t->call);

	if (class == CALL_FILE_LOCK || waits_for_fuse(t) || waits_for_scanner(t) || waits_for_lease(t) || (class == CALL_FOR_LOCK && live_thread_lock_owner(s->proc_root, t)))
		return 0;
	if (t->state == 'T' || t->state == 't' || t->state == 'D')
		return 1;
	if (t->state == 'R')
		return 2;
	return class == CALL_FOR_EVENTS || class == CALL_FOR_LOCK || class == CALL_ANYTHING ? 4 : 3;
}

/* The main thread, unless another one is held up more. False: the process is gone. */
static bool choose_thread(struct search *s, unsigned pid, unsigned tid, struct live_thread *ret)
{
	unsigned tids[LIVE_THREADS_MAX];
	size_t n = tid ? 0 : live_threads(s->proc_root, pid, tids, LIVE_THREADS_MAX);
	int best = 99;

	if (tid)
		return live_thread_read(s->proc_root, pid, tid, ret) == 0;
	for (size_t i = 0; i < n && best > 0; i++) {
		struct live_thread t;
		int rank;

		if (live_thread_read(s->proc_root, pid, tids[i], &t) < 0)
			continue;
		rank = rank_of(s, &t);
		if (i && rank >= 3) /* a worker that sleeps or reads may do so all day; the main thread is asked about */
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
		int rank = choose_thread(s, e->pids[i], 0, &t) ? rank_of(s, &t) : 98;

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
		str_puts(&s->words, ", which is no address of a process here");
}

/* --- what it waits for --- */

static void follow_end(struct search *s, const struct other_end *e, bool writes)
{
	static const enum chain_kind kinds[] = {[END_PIPE] = CHAIN_PIPE, [END_LOCAL_SOCKET] = CHAIN_LOCAL_SOCKET, [END_TCP] = CHAIN_TCP,
						 [END_UDP] = CHAIN_UDP};

	s->kind = e->remote ? CHAIN_REMOTE : kinds[e->kind];
	put_end(s, e, writes);
	s->next_pid = choose_process(s, e);
	s->role = !e->accepted ? "which has not accepted the connection" :
		  e->kind == END_PIPE ? (writes ? "which reads it" : "which writes it") : "at the other end";
}

/* The one before in the chain: whoever waits for its next request waits for work. */
static unsigned asker(const struct search *s)
{
	return s->chain->links.n ? s->chain->links.v[s->chain->links.n - 1].pid : 0;
}

static bool leads_back(const struct search *s, const struct other_end *e)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->pids[i] == asker(s))
			return true;
	return false;
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

/* Of the connections of an event loop the only one that can be meant. */
static void find_events(struct search *s)
{
	unsigned files[LIVE_FILES_MAX];
	size_t n = live_thread_files(s->proc_root, &s->t, files, LIVE_FILES_MAX), candidates = 0;
	struct other_end e, only = {};
	bool asked = false;

	for (size_t i = 0; i < n; i++) {
		if (other_end_find(s->proc_root, s->t.pid, files[i], &e) < 0)
			continue;
		if (leads_back(s, &e)) {
			asked = true;
		} else if ((e.n || e.remote) && !leads_to_parent(s, &e)) {
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
	bool writes = s->class == CALL_TO_WRITE;
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
	s->next_pid = file_lock_holder(s->proc_root, s->t.pid);
	s->role = "which holds it";
}

static void find_lock(struct search *s)
{
	s->next_tid = live_thread_lock_owner(s->proc_root, &s->t);
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
	if (s->class == CALL_TO_READ || s->class == CALL_TO_WRITE || s->class == CALL_FOR_DISK) {
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
	s->role = "which has not given it back";
}

static void find_timer(struct search *s)
{
	s->kind = CHAIN_SLEEPS;
	str_puts(&s->words, "sleeps");
}

static void find_disk(struct search *s)
{
	s->kind = CHAIN_DISK;
	str_puts(&s->words, "waits for the disk, to keep ");
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

static void find_wait(struct search *s)
{
	static void (*const finders[])(struct search *) = {
		[CALL_ANYTHING] = find_anything, [CALL_FILE_LOCK] = find_file_lock, [CALL_TO_READ] = find_file,
		[CALL_TO_WRITE] = find_file,	 [CALL_FOR_ANSWER] = find_file,	    [CALL_FOR_EVENTS] = find_events,
		[CALL_FOR_LOCK] = find_lock,	 [CALL_FOR_TIMER] = find_timer,	    [CALL_FOR_CHILD] = find_child,
		[CALL_FOR_DISK] = find_disk,
	};

	s->class = class_of(s->t.call);
	if (s->t.state == 'R') {
		s->kind = CHAIN_RUNS;
		str_puts(&s->words, "runs");
	} else if (s->t.state == 'T' || s->t.state == 't') {
		s->kind = CHAIN_STOPPED;
		str_puts(&s->words, "is stopped");
	} else if (waits_for_fuse(&s->t)) {
		find_fuse(s);
	} else if (waits_for_scanner(&s->t) && s->class != CALL_TO_READ && s->class != CALL_FOR_EVENTS) {
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

/* For whom another user's process waits is that user's affair: the chain ends there. */
static void find_next(struct search *s)
{
	s->next_pid = s->next_tid = 0;
	if (is_shown(s, DATUM_EDGES)) {
		find_wait(s);
		return;
	}
	s->kind = CHAIN_UNKNOWN;
	str_puts(&s->words, "is another user's: what it does is not shown");
}

static int put_link(struct search *s, const char *role)
{
	struct chain_link link = {.pid = s->t.pid, .tid = s->t.tid, .kind = s->kind, .words = s->words.data, .role = role};

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

int wait_chain_find(const char *proc_root, unsigned pid, const struct viewer *viewer, int64_t rest_ns, struct wait_chain *ret)
{
	struct wait_chain chain = {};
	struct live_thread first = {};
	struct search s = {.proc_root = proc_root, .viewer = viewer, .chain = &chain, .next_pid = pid};
	int r = 0;

	while (r == 0 && s.next_pid && chain.links.n < CHAIN_MAX && choose_thread(&s, s.next_pid, s.next_tid, &s.t)) {
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
	if (r == 0 && rest_ns > 0 && chain.links.n && chain.links.v[0].kind != CHAIN_RUNS && chain.links.v[0].kind != CHAIN_EVENTS)
		see_whether_it_goes_on(&s, &first, rest_ns);
	if (r < 0)
		wait_chain_free(&chain);
	else
		*ret = chain;
	return r;
}
