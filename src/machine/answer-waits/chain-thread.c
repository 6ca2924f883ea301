#include "machine/answer-waits/chain-search.h"

#include <string.h>

#include "lib/data/cleanup.h"

#define RANK_BUSY 3

int chain_read_thread(const struct chain_search *s, unsigned pid, unsigned tid, struct live_thread *ret)
{
	int r = live_thread_read(s->proc_root, pid, tid, ret);

	if (r == 0)
		ret->memory = s->memory;
	return r;
}

enum chain_class chain_class_of(const char *call)
{
	static const struct {
		const char *call;
		enum chain_class class;
	} classes[] = {
		{"flock", CLASS_FILE_LOCK},	{"fcntl", CLASS_FILE_LOCK},
		{"read", CLASS_TO_READ},		{"readv", CLASS_TO_READ},	{"recvfrom", CLASS_TO_READ},	 {"recvmsg", CLASS_TO_READ},
		{"recvmmsg", CLASS_TO_READ},	{"write", CLASS_TO_WRITE},	{"writev", CLASS_TO_WRITE},	 {"sendto", CLASS_TO_WRITE},
		{"sendmsg", CLASS_TO_WRITE},	{"sendfile", CLASS_TO_WRITE},	{"splice", CLASS_TO_READ},	 {"connect", CLASS_FOR_ANSWER},
		{"mq_timedsend", CLASS_TO_WRITE},	{"mq_timedreceive", CLASS_TO_READ},
		{"poll", CLASS_FOR_EVENTS},	{"ppoll", CLASS_FOR_EVENTS},	{"select", CLASS_FOR_EVENTS},	 {"pselect6", CLASS_FOR_EVENTS},
		{"epoll_wait", CLASS_FOR_EVENTS}, {"epoll_pwait", CLASS_FOR_EVENTS}, {"epoll_pwait2", CLASS_FOR_EVENTS},
		{"accept", CLASS_FOR_EVENTS},	{"accept4", CLASS_FOR_EVENTS},	{"futex", CLASS_FOR_LOCK},	 {"futex_wait", CLASS_FOR_LOCK},
		{"semop", CLASS_FOR_SEMAPHORE},	{"semtimedop", CLASS_FOR_SEMAPHORE},
		{"nanosleep", CLASS_FOR_TIMER},	{"clock_nanosleep", CLASS_FOR_TIMER}, {"wait4", CLASS_FOR_CHILD},	 {"waitid", CLASS_FOR_CHILD},
		{"fsync", CLASS_FOR_DISK},	{"fdatasync", CLASS_FOR_DISK},	{"sync", CLASS_FOR_DISK},	 {"sync_file_range", CLASS_FOR_DISK},
	};

	for (size_t i = 0; call && i < ARRAY_SIZE(classes); i++)
		if (strcmp(classes[i].call, call) == 0)
			return classes[i].class;
	return CLASS_ANYTHING;
}

enum chain_within chain_within_of(const struct live_thread *t)
{
	static const struct {
		const char *part;
		bool begins; /* the function's name begins with the part */
		enum chain_within within;
	} functions[] = {
		{"fuse_dev_", true, WITHIN_FUSE_SERVER}, {"request_wait_answer", false, WITHIN_FUSE}, {"fuse_", true, WITHIN_FUSE},
		{"fanotify_", true, WITHIN_SCANNER},	{"break_lease", false, WITHIN_LEASE},
		{"wait_for_partner", true, WITHIN_FIFO}, {"fifo_open", true, WITHIN_FIFO},
		{"percpu_rwsem_wait", false, WITHIN_FREEZE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const char *found = strstr(t->waits_in, functions[i].part);

		if (found && (!functions[i].begins || found == t->waits_in))
			return functions[i].within;
	}
	return WITHIN_ANYTHING;
}

/* Lower: rather held up, and so rather the one that matters. A thread that waits for events or a condition has nothing to do. */
static int rank_of(const struct chain_search *s, const struct live_thread *t)
{
	enum chain_class class = chain_class_of(t->call);
	enum chain_within within = chain_within_of(t);

	if (class == CLASS_FILE_LOCK || within >= WITHIN_FUSE || (class == CLASS_FOR_LOCK && live_thread_lock_owner(s->proc_root, t)))
		return 0;
	if (t->state == 'T' || t->state == 't' || t->state == 'D')
		return 1;
	if (t->state == 'R')
		return 2;
	return class == CLASS_FOR_EVENTS || class == CLASS_FOR_LOCK || class == CLASS_ANYTHING || within == WITHIN_FUSE_SERVER ? RANK_BUSY + 1 : RANK_BUSY;
}

bool chain_choose_thread(struct chain_search *s, unsigned pid, unsigned tid, unsigned asked, struct live_thread *ret)
{
	unsigned tids[LIVE_THREADS_MAX];
	struct live_thread t_asked = {};
	size_t n = tid ? 0 : live_threads(s->proc_root, pid, tids, LIVE_THREADS_MAX);
	int best = 99;

	if (tid)
		return chain_read_thread(s, pid, tid, ret) == 0;
	if (asked && chain_read_thread(s, pid, asked, &t_asked) == 0 && rank_of(s, &t_asked) <= RANK_BUSY) {
		*ret = t_asked;
		return true;
	}
	for (size_t i = 0; i < n && best > 0; i++) {
		struct live_thread t;
		int rank;

		if (chain_read_thread(s, pid, tids[i], &t) < 0)
			continue;
		rank = rank_of(s, &t);
		if (i && rank >= RANK_BUSY + s->unread) /* a worker that sleeps or reads may do so all day; the main thread is asked about */
			continue;
		if (rank < best) {
			best = rank;
			*ret = t;
		}
	}
	if (best > RANK_BUSY && best < 99 && chain_class_of(t_asked.call) == CLASS_FOR_LOCK)
		*ret = t_asked;
	return best < 99;
}

/* Event time; 0 = no event tells. */
static uint64_t last_ran(const struct chain_search *s, const struct live_thread *t)
{
	const struct trace_thread *th = s->trace ? trace_thread(s->trace, t->tid, s->trace->frozen) : NULL;

	return th ? th->state_since : 0;
}

bool chain_began_then(const struct chain_search *s, const struct trace_thread *th)
{
	return th->state_since >= s->asked_at && th->state_since <= s->asked_at + CHAIN_TAKEN_UP;
}

/* A process that waits for events and leaves a connection alone has its children accept, which share its listening socket. */
static bool has_children_accept(const struct chain_search *s, const struct other_end *e, unsigned pid)
{
	struct live_thread t;

	for (size_t i = 0; !e->accepted && i < e->n; i++)
		if (chain_read_thread(s, e->pids[i], e->pids[i], &t) == 0 && t.parent == pid)
			return true;
	return false;
}

unsigned chain_choose_process(struct chain_search *s, const struct other_end *e)
{
	uint64_t latest = 0;
	unsigned chosen = 0;
	int best = 99;

	for (size_t i = 0; i < e->n; i++) {
		struct live_thread t;
		bool is_there = chain_choose_thread(s, e->pids[i], 0, 0, &t);
		int rank = is_there ? rank_of(s, &t) : 98;
		uint64_t ran = is_there ? last_ran(s, &t) : 0;

		rank += rank > RANK_BUSY && has_children_accept(s, e, e->pids[i]);
		if (rank < best || (rank == best && ran > latest)) {
			best = rank;
			latest = ran;
			chosen = e->pids[i];
		}
	}
	return chosen;
}
