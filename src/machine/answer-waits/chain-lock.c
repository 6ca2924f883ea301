#include "machine/answer-waits/chain-search.h"

#include <stdio.h>
#include <string.h>

#include "lib/data/clock.h"
#include "machine/answer-live/hidden-lock.h"
#include "machine/answer-live/lock-file.h"

#define SERVER_FILES_MAX 128 /* descriptors of a server that are looked at */
#define CONNECTIONS_MAX	 16  /* whose other ends are looked for, each for some ms: with more a server has several clients */
#define ASKERS_MAX	 16  /* threads of a client */

void chain_find_file_lock(struct chain_search *s)
{
	s->kind = CHAIN_FILE_LOCK;
	str_puts(&s->words, "waits for a lock on ");
	chain_put_file(s, s->t.arguments[0]);
	s->next_pid = file_locks_holder(s->locks, s->t.pid) ?: hidden_lock_ofd_holder(s->proc_root, s->t.pid, s->t.arguments[0]);
	s->role = "which holds it";
}

void chain_find_lease(struct chain_search *s)
{
	s->kind = CHAIN_FILE_LOCK;
	str_puts(&s->words, "waits for a lease on the file that it opens");
	s->next_pid = file_locks_holder(s->locks, s->t.pid);
	s->role = "which has not released it";
}

/* "probably": its attempts are not seen. */
static bool find_lock_file(struct chain_search *s)
{
	struct lock_file lock;

	if (!lock_file_find(s->locks, &s->t, s->locks->patience * NS_PER_MS, &lock))
		return false;
	s->kind = CHAIN_FILE_LOCK;
	str_printf(&s->words, "sleeps, probably between attempts to %s %s", lock.locked ? "lock the file" : "make the lock file", lock.path);
	if (!lock.locked)
		str_printf(&s->words, ", which is %s old", CLOCK_SPAN(clock_wall() - lock.since));
	if (lock.gone)
		str_printf(&s->words, " and names process %u, which does not exist", lock.gone);
	s->next_pid = lock.holder;
	s->role = lock.role;
	s->retries = true;
	return true;
}

void chain_find_timer(struct chain_search *s)
{
	struct hidden_lock lock;

	if (hidden_lock_of_sqlite(s->locks, s->t.pid, &lock)) {
		s->kind = CHAIN_FILE_LOCK;
		str_printf(&s->words, "sleeps between attempts to lock the SQLite database %s", lock.place);
		s->next_pid = lock.holder;
		s->role = "which has a transaction open";
		s->retries = true;
		return;
	}
	if (find_lock_file(s))
		return;
	s->kind = CHAIN_SLEEPS;
	str_puts(&s->words, "sleeps");
}

/* A signal wakes a process, too: who asks waits for the answer. */
static bool waits_for_server(const struct chain_search *s, unsigned pid)
{
	unsigned tids[ASKERS_MAX];
	size_t n = live_threads(s->proc_root, pid, tids, ASKERS_MAX);

	for (size_t i = 0; i < n; i++) {
		struct live_thread t;

		if (chain_read_thread(s, pid, tids[i], &t) == 0 && chain_waits_for(s, &t, s->t.pid))
			return true;
	}
	return false;
}

bool chain_find_older_request(struct chain_search *s, const char *words)
{
	const struct peer_request *older = NULL;

	for (size_t i = 0; s->requests && i < s->requests->pending.n; i++) {
		const struct peer_request *r = &s->requests->pending.v[i];

		if (r->server == s->t.pid && r->process != chain_asker(s) && r->since < (older ? older->since : s->since) && waits_for_server(s, r->process))
			older = r;
	}
	if (!older)
		return false;
	s->kind = CHAIN_OLDER_REQUEST;
	str_printf(&s->words, "%s that is %s old", words, CLOCK_SPAN(older->took));
	s->next_pid = older->process;
	s->role = "whose request that is";
	return true;
}

/* The other threads of a process. */
struct fellows {
	size_t busy, unknown; /* unknown: they wait for others in turn; the main thread may wait for all to end */
	size_t readers;	      /* whose connections were looked at, or would have been */
	unsigned tid;	      /* of one that is busy */
};

/* It reads from a server that it has asked, not from its client. */
static bool has_asked(const struct chain_search *s, const struct live_thread *t)
{
	struct other_end e;

	return other_end_find(s->files, t->pid, t->arguments[0], &e) == 0 && e.asked_ms;
}

static void add_fellow(const struct chain_search *s, const struct live_thread *t, struct fellows *f)
{
	enum chain_class class = chain_class_of(t->call);
	bool busy = t->state != 'S' || class == CLASS_FILE_LOCK || class == CLASS_FOR_TIMER || class == CLASS_FOR_CHILD ||
		    class == CLASS_FOR_SEMAPHORE || class == CLASS_TO_WRITE;

	if (!busy && class == CLASS_TO_READ && f->readers++ < CONNECTIONS_MAX)
		busy = has_asked(s, t);
	if (busy) {
		f->tid = t->tid;
		f->busy++;
	} else if (t->tid != t->pid && class == CLASS_FOR_LOCK) {
		f->unknown++;
	}
}

static struct fellows find_fellows(const struct chain_search *s)
{
	unsigned tids[LIVE_THREADS_MAX];
	size_t n = live_threads(s->proc_root, s->t.pid, tids, LIVE_THREADS_MAX);
	struct fellows f = {};

	for (size_t i = 0; i < n && f.busy < 2; i++) {
		struct live_thread t;

		if (tids[i] != s->t.tid && chain_read_thread(s, s->t.pid, tids[i], &t) == 0 && t.state != 'Z')
			add_fellow(s, &t, &f);
	}
	return f;
}

/* Event time since which a thread may work on the request: it was made after it, or has done one thing since about then. 0 = it does not. A
 * thread that sleeps now and then for itself began its sleep at some other time. */
static uint64_t works_since(const struct chain_search *s, const struct live_thread *t)
{
	const struct trace_thread *th = trace_thread(s->trace, t->tid, s->trace->frozen);

	if (!th || th->end)
		return s->trace->frozen; /* made since */
	if (th->start + CHAIN_TAKEN_UP >= s->asked_at)
		return th->start;
	return chain_began_then(s, th) ? th->state_since : 0;
}

/* Another of its threads was looked at already, and led here. */
static bool comes_from_own_thread(const struct chain_search *s)
{
	return s->chain->links.n && s->chain->links.v[s->chain->links.n - 1].pid == s->t.pid;
}

bool chain_find_worker(struct chain_search *s)
{
	unsigned tids[LIVE_THREADS_MAX];
	bool is_known = s->trace && s->asked_at;
	size_t n = is_known && chain_asker(s) && !comes_from_own_thread(s) ? live_threads(s->proc_root, s->t.pid, tids, LIVE_THREADS_MAX) : 0;
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		struct fellows f = {};
		struct live_thread t;
		uint64_t since;

		if (tids[i] == s->t.tid || chain_read_thread(s, s->t.pid, tids[i], &t) < 0)
			continue;
		since = works_since(s, &t);
		add_fellow(s, &t, &f);
		if ((f.busy || f.unknown) && since && since < first) {
			first = since;
			s->next_tid = s->asked = t.tid;
		}
	}
	if (first == UINT64_MAX)
		return false;
	s->kind = CHAIN_EVENTS;
	str_puts(&s->words, "has given the request to another of its threads");
	s->next_pid = s->t.pid;
	s->role = "which works on it";
	return true;
}

static bool is_sql_server(const struct chain_search *s)
{
	struct live_thread main;

	return chain_read_thread(s, s->t.pid, s->t.pid, &main) == 0 && (strcmp(main.comm, "mariadbd") == 0 || strcmp(main.comm, "mysqld") == 0);
}

static bool find_busy_fellow(struct chain_search *s, const struct fellows *f)
{
	if (f->busy != 1)
		return false;
	s->kind = CHAIN_LOCK;
	str_puts(&s->words, "waits for another of its threads");
	s->next_pid = s->t.pid;
	s->next_tid = f->tid;
	s->role = "the only other thread that does something";
	return true;
}

/* It asked after this one did, and has no answer either: it does not keep what this one waits for. */
static bool waits_behind(const struct chain_search *s, unsigned client)
{
	for (size_t i = 0; s->requests && i < s->requests->pending.n; i++) {
		const struct peer_request *r = &s->requests->pending.v[i];

		if (s->since && r->server == s->t.pid && r->process == client && r->since >= s->since)
			return true;
	}
	return false;
}

static bool find_only_client(struct chain_search *s, const char *words)
{
	unsigned client = 0;
	size_t n = 0;

	for (unsigned fd = 0; fd < SERVER_FILES_MAX; fd++) {
		struct other_end e;

		if (other_end_find(s->files, s->t.pid, fd, &e) < 0 || e.kind <= END_TERMINAL)
			continue;
		if (++n > CONNECTIONS_MAX)
			return false;
		if (e.n != 1 || chain_leads_back(s, &e))
			continue;
		if (client && client != e.pids[0])
			return false;
		client = e.pids[0];
	}
	if (!client || waits_behind(s, client))
		return false;
	s->kind = CHAIN_DATABASE;
	str_puts(&s->words, words);
	s->next_pid = client;
	s->role = "the only other client";
	return true;
}

/* MariaDB says which of its threads works for the session that keeps this one waiting. */
static bool find_blocking_thread(struct chain_search *s)
{
	unsigned tids[LIVE_THREADS_MAX];
	size_t n;

	if (!database_may_be_asked(s->databases, DATABASE_MARIADB) || !is_sql_server(s))
		return false;
	s->blocker = (struct database_blocker){};
	if (!database_ask(s->databases, DATABASE_MARIADB, live_inner_number(s->proc_root, s->t.pid, s->t.tid), &s->blocker))
		return false;
	n = live_threads(s->proc_root, s->t.pid, tids, LIVE_THREADS_MAX);
	for (size_t i = 0; i < n && !s->next_tid; i++)
		if (live_inner_number(s->proc_root, s->t.pid, tids[i]) == s->blocker.thread)
			s->next_tid = tids[i];
	if (!s->next_tid)
		return false;
	s->kind = CHAIN_DATABASE;
	str_puts(&s->words, "waits for a lock inside the database");
	s->next_pid = s->t.pid;
	s->role = "which blocks it";
	return true;
}

/* Only a mutex of the C library says who has it. Where one other thread does something, that one has it; where all wait for
 * requests, a client keeps it, and of two it is the other one. Background threads of MySQL and MariaDB always sleep, and have none. */
static bool find_fellow(struct chain_search *s)
{
	struct fellows f;

	if (is_sql_server(s))
		return find_only_client(s, "waits inside the database server, probably for a transaction that is open");
	if (!s->was_asked)
		return false;
	f = find_fellows(s);
	return find_busy_fellow(s, &f) ||
	       (!f.busy && !f.unknown && find_only_client(s, "waits for another of its threads, which wait for requests: probably for a lock that a client keeps"));
}

/* Which of its threads, and what that one does, is not known. */
static void find_unknown_thread(struct chain_search *s)
{
	s->kind = CHAIN_UNKNOWN;
	str_puts(&s->words, "waits for another of its threads");
}

void chain_find_lock(struct chain_search *s)
{
	struct hidden_lock shared;

	s->next_tid = live_thread_lock_owner(s->proc_root, &s->t);
	if (!s->next_tid && hidden_lock_of_thread(s->proc_root, &s->t, &shared)) {
		s->kind = CHAIN_LOCK;
		str_printf(&s->words, "waits for a lock or semaphore in shared memory: %s", shared.place);
		s->next_pid = shared.holder;
		s->role = "which has it mapped, too";
		return;
	}
	if (!s->next_tid) {
		if (chain_asker(s) && (find_blocking_thread(s) || chain_find_older_request(s, "waits for another of its threads, probably until it has answered a request") || find_fellow(s)))
			return;
		if (s->was_asked)
			find_unknown_thread(s);
		else if (!chain_find_worker(s) && !chain_find_busy_child(s, "waits for another thread's signal, probably for a child"))
			chain_rest(s, "waits for another thread's signal");
		return;
	}
	s->kind = CHAIN_LOCK;
	str_puts(&s->words, "waits for a lock of its own threads");
	s->next_pid = s->t.pid;
	s->role = "which holds it";
}

void chain_find_semaphore(struct chain_search *s)
{
	s->kind = CHAIN_LOCK;
	str_printf(&s->words, "waits for semaphore set %llu (System V)", s->t.arguments[0]);
	s->next_pid = hidden_lock_semaphore_user(s->proc_root, &s->t);
	s->role = "the last to take or release it";
}

/* The process for which a backend works; 0 = not known. */
static unsigned client_of(const struct chain_search *s)
{
	struct other_end e;

	for (unsigned fd = 0; fd < LIVE_FILES_MAX; fd++)
		if (other_end_find(s->files, s->t.pid, fd, &e) == 0 && e.kind > END_TERMINAL && e.n == 1 && e.pids[0] != s->t.parent)
			return e.pids[0];
	return 0;
}

/* The other end of the connection that a thread waits for, a process. False: it is not known. */
static bool end_of_client(const struct chain_search *s, struct other_end *ret)
{
	unsigned fds[2] = {(unsigned)s->t.arguments[0]};
	bool is_one = s->class == CLASS_TO_READ || live_thread_files(s->proc_root, &s->t, fds, 2) == 1;

	return is_one && other_end_find(s->files, s->t.pid, fds[0], ret) == 0 && ret->kind > END_TERMINAL && ret->n == 1;
}

/* The database knows who it is; titles of processes show it only where one transaction is open. */
static void follow_blocker(struct chain_search *s, unsigned number)
{
	s->blocker = (struct database_blocker){};
	if (database_ask(s->databases, DATABASE_POSTGRES, number, &s->blocker)) /* maybe another server than this session's */
		s->next_pid = postgres_backend_numbered(s->proc_root, &s->t, s->blocker.number);
	if (!s->next_pid) {
		s->blocker = (struct database_blocker){};
		s->next_pid = postgres_backend_blocker(s->proc_root, &s->t);
	}
	s->role = "which blocks it";
}

/* `activity`: "idle in transaction". */
static void put_transaction(struct chain_search *s, const struct database_blocker *known, const char *activity)
{
	str_puts(&s->words, "has a transaction open");
	if (known && known->open >= 0)
		str_printf(&s->words, " for %s", CLOCK_SPAN(known->open));
	str_printf(&s->words, " (%s", activity);
	if (known && known->idle >= 0)
		str_printf(&s->words, " for %s", CLOCK_SPAN(known->idle));
	if (known && *known->statement)
		str_printf(&s->words, "; %s: %s", known->idle >= 0 ? "its last statement" : "its statement", known->statement);
	str_puts(&s->words, ")");
}

static bool find_backend(struct chain_search *s, bool blocks)
{
	struct postgres_backend backend;
	unsigned number;

	if (strcmp(s->t.comm, "postgres") != 0 || !postgres_backend_read(s->proc_root, s->t.pid, &backend))
		return false;
	if (strcmp(backend.activity, "idle") == 0) {
		chain_rest(s, "waits for the next query");
		s->idle = true;
		return true;
	}
	if (!backend.waits && !blocks)
		return false;
	s->kind = CHAIN_DATABASE;
	number = live_inner_number(s->proc_root, s->t.pid, s->t.tid);
	if (backend.waits) {
		str_printf(&s->words, "waits for a lock inside the database %s (%s)", backend.database, backend.activity);
		follow_blocker(s, number);
		return true;
	}
	put_transaction(s, s->blocker.number == number ? &s->blocker : NULL, backend.activity);
	snprintf(s->ends, sizeof(s->ends), "select pg_terminate_backend(%u);", number);
	s->next_pid = client_of(s);
	s->role = "its client";
	return true;
}

/* The thread of MariaDB that the server named before, as it waits for its client's next statement, or executes one; of one that waits in turn the server
 * says for which. */
static bool find_named_thread(struct chain_search *s)
{
	struct other_end e;

	if (!s->blocker.thread || s->class == CLASS_FOR_LOCK || live_inner_number(s->proc_root, s->t.pid, s->t.tid) != s->blocker.thread)
		return false;
	s->kind = CHAIN_DATABASE;
	put_transaction(s, &s->blocker, s->blocker.idle >= 0 ? "idle" : "executing");
	snprintf(s->ends, sizeof(s->ends), "kill %u;", s->blocker.number);
	if (end_of_client(s, &e)) {
		s->next_pid = e.pids[0];
		s->role = "its client";
	}
	return true;
}

bool chain_find_transaction(struct chain_search *s)
{
	bool blocks = s->chain->links.n && s->chain->links.v[s->chain->links.n - 1].kind == CHAIN_DATABASE;

	return find_backend(s, blocks) || (blocks && find_named_thread(s));
}

bool chain_find_holding_client(struct chain_search *s)
{
	const struct chain_link *last = s->chain->links.n ? &s->chain->links.v[s->chain->links.n - 1] : NULL;

	if (!last || (last->kind != CHAIN_OLDER_REQUEST && last->kind != CHAIN_DATABASE))
		return false;
	s->kind = CHAIN_SLEEPS;
	str_puts(&s->words, last->kind == CHAIN_DATABASE ? "has not ended its transaction" : "waits for its answer");
	return true;
}
