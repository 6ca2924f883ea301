#include "machine/answer-waits/wait-chain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/rights/outside.h"
#include "machine/answer-waits/chain-search.h"
#include "machine/answer-waits/exhausted-limits.h"

#define READ_AFTER (5 * NS_PER_MS) /* so long after it has written a request its client may begin to read: the server may take its CPU */

#define LOOKED_AT   256 /* handles, of who has thousands */
#define HOLDERS_MOST 16 /* processes that are counted */
#define NEARLY	    1  /* handles that are left: a library opens one for a moment, and gives it back */

struct holder {
	unsigned pid, ends;
};

/* Who has most of the other ends of what the process has open, and at least half of them; 0 = no process has. */
static unsigned find_holder(struct chain_search *s)
{
	struct holder holders[HOLDERS_MOST] = {};
	unsigned looked_at = 0;

	FOLDER_EACH(e, opendir(STR_TEXT(128, "%s/%u/fd", s->proc_root, s->t.pid))) {
		struct other_end end;

		if (looked_at >= LOOKED_AT)
			break;
		if (other_end_find(s->files, s->t.pid, strtoul(e.name, NULL, 10), &end) < 0 || !end.n)
			continue;
		looked_at++;
		for (size_t i = 0; i < HOLDERS_MOST; i++)
			if (!holders[i].pid || holders[i].pid == end.pids[0]) {
				holders[i].pid = end.pids[0];
				holders[i].ends++;
				break;
			}
	}
	for (size_t i = 0; i < HOLDERS_MOST; i++)
		if (holders[i].ends * 2 > looked_at && looked_at > NEARLY)
			return holders[i].pid;
	return 0;
}

/* A finder (chain-search.h): who holds most of what a server is short of, by which it does not take the connection that led here */
static bool chain_find_limit(struct chain_search *s, bool not_accepted)
{
	size_t n = s->chain->links.n;
	uint64_t used, limit;

	if (n && s->chain->links.v[n - 1].kind == CHAIN_LIMIT) { /* whatever else it does */
		s->kind = CHAIN_LIMIT;
		str_puts(&s->words, "keeps them open");
		return true;
	}
	if (!not_accepted || !exhausted_limits_files(s->proc_root, s->t.pid, &used, &limit) || used + NEARLY < limit)
		return false;
	s->kind = CHAIN_LIMIT;
	str_printf(&s->words, "cannot accept it: its file handles are used up (%llu of %llu)", (unsigned long long)used, (unsigned long long)limit);
	s->next_pid = find_holder(s);
	s->role = "which has the other ends of most of them";
	return true;
}

/* The rest of the first line of a file of the process that begins with a word, or has it behind a number; false: there is none. */
static bool read_line_of(const struct chain_search *s, const char *file, const char *word, char *buf, size_t size)
{
	LINES_EACH(line, fopen(STR_TEXT(300, "%s/%u/%s", s->proc_root, s->t.pid, file), "re")) {
		const char *begin = line.text + (*word == ':' ? strspn(line.text, "0123456789") : 0);

		if (!str_starts(begin, word))
			continue;
		snprintf(buf, size, "%s", begin + strlen(word));
		return true;
	}
	return false;
}

/* proc_pid_status(5): 0 where no program traces it. */
static unsigned tracer_of(const struct chain_search *s)
{
	char pid[32];

	return read_line_of(s, "status", "TracerPid:", pid, sizeof(pid)) ? (unsigned)strtoul(pid, NULL, 10) : 0;
}

/* A finder: who does not run because it must not */
static void chain_find_stopped(struct chain_search *s)
{
	unsigned tracer = s->t.state == 't' ? tracer_of(s) : 0;
	struct live_thread t;

	s->kind = CHAIN_STOPPED;
	str_puts(&s->words, "is stopped");
	if (tracer && chain_shows(s, tracer, DATUM_PROCESS) && chain_read_thread(s, tracer, tracer, &t) == 0)
		str_printf(&s->words, " by %s (pid %u), which is attached to it as a debugger", t.comm, tracer);
}

/* Version 2: the trap is part of get_signal(). */
static bool is_in_trap(const struct chain_search *s)
{
	return s->t.state == 'S' && (strstr(s->t.waits_in, "freezer_trap") || strcmp(s->t.waits_in, "get_signal") == 0);
}

/* Version 1: wherever it slept it does so in state D from then on. */
static bool is_frozen_group(const char *group)
{
	char state[16];

	return file_first_line(STR_TEXT(400, "/sys/fs/cgroup/freezer%s/freezer.state", group), state, sizeof(state)) && str_starts(state, "FROZEN");
}

/* cgroups(7): a line of a hierarchy is "number:controllers:path"; version 2 has number 0 and no controllers. */
static bool chain_find_frozen(struct chain_search *s)
{
	bool trapped = is_in_trap(s);
	char group[256];

	if (!trapped && s->t.state != 'D')
		return false;
	if (!read_line_of(s, "cgroup", trapped ? "0::" : ":freezer:", group, sizeof(group)) || (!trapped && !is_frozen_group(group)))
		return false;
	s->kind = CHAIN_STOPPED;
	str_printf(&s->words, "is frozen with its control group %s", group);
	return true;
}

unsigned chain_asker(const struct chain_search *s)
{
	size_t n = s->chain->links.n;

	while (n && s->chain->links.v[n - 1].pid == s->t.pid)
		n--; /* another thread of its own */
	return n ? s->chain->links.v[n - 1].pid : 0;
}

void chain_rest(struct chain_search *s, const char *words)
{
	s->kind = CHAIN_EVENTS;
	str_puts(&s->words, words);
}

static bool is_in_chain(const struct chain_search *s, unsigned pid, unsigned tid)
{
	return ANY_WHERE(i, s->chain->links.n, s->chain->links.v[i].pid == pid && (!tid || s->chain->links.v[i].tid == tid));
}

static void find_child(struct chain_search *s)
{
	s->kind = CHAIN_CHILD;
	str_puts(&s->words, "waits for a child");
	s->next_pid = live_thread_child(s->proc_root, &s->t);
	s->role = "the child";
}

static void find_anything(struct chain_search *s)
{
	s->kind = s->t.state == 'D' ? CHAIN_DISK : CHAIN_UNKNOWN;
	str_puts(&s->words, s->t.state == 'D' ? "waits in the kernel and cannot be interrupted" : "waits");
	if (s->t.call)
		str_printf(&s->words, " in the system call %s", s->t.call);
	if (s->t.waits_in[0])
		str_printf(&s->words, " (%s)", s->t.waits_in);
}

static void find_wait(struct chain_search *s)
{
	static void (*const finders[])(struct chain_search *) = {
		[CLASS_ANYTHING] = find_anything,	[CLASS_FILE_LOCK] = chain_find_file_lock, [CLASS_TO_READ] = chain_find_file,
		[CLASS_TO_WRITE] = chain_find_file,	[CLASS_FOR_ANSWER] = chain_find_file,	  [CLASS_FOR_EVENTS] = chain_find_events,
		[CLASS_FOR_LOCK] = chain_find_lock,	[CLASS_FOR_SEMAPHORE] = chain_find_semaphore, [CLASS_FOR_TIMER] = chain_find_timer,	  [CLASS_FOR_CHILD] = find_child,
		[CLASS_FOR_DISK] = chain_find_disk,
	};
	enum chain_within within = chain_within_of(&s->t);

	s->class = chain_class_of(s->t.call);
	if (chain_find_transaction(s) || chain_find_holding_client(s) || chain_find_frozen(s) || chain_find_quota(s)) {
		return;
	} else if (s->t.state == 'R') {
		s->kind = CHAIN_RUNS;
		str_puts(&s->words, "runs");
	} else if (s->t.state == 'T' || s->t.state == 't') {
		chain_find_stopped(s);
	} else if (within == WITHIN_FUSE_SERVER) {
		chain_rest(s, "waits for the next request");
		s->idle = true;
	} else if (within == WITHIN_FUSE) {
		chain_find_fuse(s);
	} else if (within == WITHIN_SCANNER && s->class != CLASS_TO_READ && s->class != CLASS_FOR_EVENTS) {
		chain_find_scanner(s);
	} else if (within == WITHIN_LEASE) {
		chain_find_lease(s);
	} else if (within == WITHIN_FIFO) {
		chain_find_fifo(s);
	} else if (within == WITHIN_FREEZE && s->class == CLASS_TO_WRITE) {
		chain_find_frozen_files(s);
	} else {
		finders[s->class](s);
	}
}

bool chain_shows(const struct chain_search *s, unsigned pid, enum datum datum)
{
	uint32_t owner;

	return outside_owner(s->proc_root, pid, &owner) == 0 && visibility(s->viewer, datum, owner) == SHOWN_WHOLE;
}

static const struct peer_request *request_of(const struct chain_search *s, const struct peer_request *r, size_t n)
{
	for (size_t i = 0; s->next_pid && i < n; i++)
		if (r[i].process == s->t.pid && r[i].server == s->next_pid && r[i].since >= s->since)
			return &r[i];
	return NULL;
}

uint64_t chain_reads_since(const struct chain_search *s)
{
	bool reads = s->class == CLASS_TO_READ || s->class == CLASS_FOR_EVENTS;
	const struct trace_thread *th = s->trace && reads ? trace_thread(s->trace, s->t.tid, s->trace->frozen) : NULL;

	return th && !th->end && th->state != STATE_RUNNING && !thread_state_is_runnable(th->state) ? th->state_since : 0;
}

/* By events: since when it waits for the next, and which thread of that it asked; else by TCP since when. */
static void find_request(struct chain_search *s)
{
	uint64_t reads = chain_reads_since(s);
	const struct peer_request *r = s->requests ? request_of(s, s->requests->pending.v, s->requests->pending.n) : NULL;

	if (!r && s->requests && s->unanswered)
		r = request_of(s, s->requests->assumed.v, s->requests->assumed.n);
	if (r) {
		s->asked = r->asked;
		s->since = r->since;
	} else if (s->asked_ms) {
		s->since = clock_monotonic() - s->asked_ms * NS_PER_MS - CHAIN_TCP_CLOCK;
	}
	s->asked_at = r || reads < READ_AFTER ? (uint64_t)s->since : reads - READ_AFTER;
}

/* For whom another user's process waits is that user's affair: the chain ends there. */
static void find_next(struct chain_search *s)
{
	bool not_accepted = s->not_accepted;

	s->was_asked = s->asked == s->t.tid;
	s->resolves = s->asks_name;
	s->next_pid = s->next_tid = s->asked = 0;
	s->reads = s->is_input = s->serves = s->idle = s->retries = s->unread = s->not_accepted = s->unanswered = s->asks_name = false;
	s->asked_ms = 0;
	s->ends[0] = '\0';
	if (chain_shows(s, s->t.pid, DATUM_EDGES)) {
		if (!chain_find_limit(s, not_accepted))
			find_wait(s);
		find_request(s);
		return;
	}
	s->kind = CHAIN_UNKNOWN;
	str_puts(&s->words, "is another user's: what it does is not shown");
}

static int put_link(struct chain_search *s, const char *role)
{
	struct chain_link link = {.pid = s->t.pid, .tid = s->t.tid, .kind = s->kind, .words = s->words.data, .role = role,
				  .reads = s->reads, .is_input = s->is_input, .serves = s->serves, .idle = s->idle, .retries = s->retries, .unanswered = s->unanswered, .asked_ms = s->asked_ms};

	snprintf(link.comm, sizeof(link.comm), "%s", s->t.comm);
	snprintf(link.ends, sizeof(link.ends), "%s", s->ends);
	str_make_printable(link.comm);
	str_make_printable(link.words); /* names of files and control groups are in it */
	if (s->words.error || VEC_PUSH(s->chain->links, link) < 0) {
		str_free(&s->words);
		return -ENOMEM;
	}
	s->words = (struct str){};
	return 0;
}

static void see_whether_it_goes_on(const struct chain_search *s, const struct live_thread *first, int64_t rest_ns)
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
	struct file_locks own = {.proc_root = q->proc_root, .patience = FILE_LOCKS_PATIENCE};
	struct open_files own_files = {.proc_root = q->proc_root};
	struct process_memory own_memory = {};
	struct chain_search s = {.proc_root = q->proc_root, .viewer = q->viewer, .requests = q->requests, .locks = q->locks ?: &own, .files = q->files ?: &own_files,
			   .memory = q->memory ?: &own_memory,			   .trace = q->trace, .databases = q->databases, .chain = &chain, .next_pid = pid};
	int r = 0;

	while (r == 0 && s.next_pid && chain.links.n < CHAIN_MAX && chain_choose_thread(&s, s.next_pid, s.next_tid, s.asked, &s.t)) {
		const char *role = s.role;

		if (is_in_chain(&s, s.t.pid, s.t.tid)) {
			chain.cycle = true;
			chain.cycle_pid = s.t.pid;
			break;
		}
		if (!chain.links.n)
			first = s.t;
		if (!chain_shows(&s, s.t.pid, DATUM_PROCESS))
			break;
		find_next(&s);
		r = put_link(&s, role);
	}
	if (r == 0 && q->rest_ns > 0 && chain.links.n && may_pass(&chain.links.v[0]))
		see_whether_it_goes_on(&s, &first, q->rest_ns);
	process_memory_free(&own_memory);
	open_files_free(&own_files);
	file_locks_free(&own);
	if (r < 0)
		wait_chain_free(&chain);
	else
		*ret = chain;
	return r;
}

int wait_chain_name(const struct dataset *d, struct wait_chain *c)
{
	VEC_EACH(l, c->links) {
		const struct subject *s = dataset_process(d, l->pid);

		free(l->label);
		l->label = s ? entity_label(&s->info) : NULL;
		if (s && !l->label)
			return -ENOMEM;
	}
	return 0;
}
