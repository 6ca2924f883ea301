#include "answer/waits/chain-search.h"

#include <string.h>

#include "answer/live/hidden-lock.h"
#include "answer/live/lock-file.h"
#include "base/data/clock.h"

#define SQL_FILES_MAX 128 /* descriptors of a database server: with more it has several clients */

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
	char span[32];

	if (!lock_file_find(s->locks, &s->t, s->locks->patience * NS_PER_MS, &lock))
		return false;
	s->kind = CHAIN_FILE_LOCK;
	str_printf(&s->words, "sleeps, probably between attempts to %s %s", lock.locked ? "lock the file" : "make the lock file", lock.path);
	if (!lock.locked)
		str_printf(&s->words, ", which is %s old", clock_format_span(clock_wall() - lock.since, span, sizeof(span)));
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

/* Inside a server that has a thread for each connection, which waits for another one of them: whose request it had not answered before. */
static bool find_older_request(struct chain_search *s)
{
	const struct peer_request *older = s->requests && chain_asker(s) ? peer_requests_older(s->requests, s->t.pid, chain_asker(s), s->since) : NULL;
	char span[32];

	if (!older)
		return false;
	s->kind = CHAIN_OLDER_REQUEST;
	str_printf(&s->words, "waits for another of its threads, probably until it has answered a request that is %s old",
		   clock_format_span(older->took, span, sizeof(span)));
	s->next_pid = older->process;
	s->role = "whose request that is";
	return true;
}

/* MySQL and MariaDB say nowhere in /proc which connection has a transaction open: of two connections it is the other one. */
static bool find_only_client(struct chain_search *s)
{
	struct live_thread main;
	unsigned client = 0;

	if (!chain_asker(s) || live_thread_read(s->proc_root, s->t.pid, s->t.pid, &main) < 0 ||
	    (strcmp(main.comm, "mariadbd") != 0 && strcmp(main.comm, "mysqld") != 0))
		return false;
	for (unsigned fd = 0; fd < SQL_FILES_MAX; fd++) {
		struct other_end e;

		if (other_end_find(s->proc_root, s->t.pid, fd, &e) < 0 || e.kind <= END_QUEUE || e.n != 1 || chain_leads_back(s, &e))
			continue;
		if (client && client != e.pids[0])
			return false;
		client = e.pids[0];
	}
	if (!client)
		return false;
	s->kind = CHAIN_DATABASE;
	str_puts(&s->words, "waits inside the database server, probably for a transaction that is open");
	s->next_pid = client;
	s->role = "the only other client";
	return true;
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
		if (find_older_request(s) || find_only_client(s))
			return;
		if (s->was_asked)
			find_unknown_thread(s);
		else
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
		if (other_end_find(s->proc_root, s->t.pid, fd, &e) == 0 && e.kind > END_QUEUE && e.n == 1 && e.pids[0] != s->t.parent)
			return e.pids[0];
	return 0;
}

bool chain_find_transaction(struct chain_search *s)
{
	struct postgres_backend backend;
	bool blocks = s->chain->links.n && s->chain->links.v[s->chain->links.n - 1].kind == CHAIN_DATABASE;

	if (strcmp(s->t.comm, "postgres") != 0 || !postgres_backend_read(s->proc_root, s->t.pid, &backend) || (!backend.waits && !blocks))
		return false;
	s->kind = CHAIN_DATABASE;
	if (backend.waits) {
		str_printf(&s->words, "waits for a lock inside the database %s (%s)", backend.database, backend.activity);
		s->next_pid = postgres_backend_blocker(s->proc_root, &s->t);
		s->role = "whose transaction is open";
	} else {
		str_printf(&s->words, "has a transaction open (%s)", backend.activity);
		s->next_pid = client_of(s);
		s->role = "its client";
	}
	return true;
}

bool chain_find_holding_client(struct chain_search *s)
{
	const struct chain_link *last = s->chain->links.n ? &s->chain->links.v[s->chain->links.n - 1] : NULL;

	if (!last || (last->kind != CHAIN_OLDER_REQUEST && last->kind != CHAIN_DATABASE))
		return false;
	s->kind = CHAIN_SLEEPS;
	str_puts(&s->words, last->kind == CHAIN_DATABASE ? "does not end it" : "waits for its answer");
	return true;
}
