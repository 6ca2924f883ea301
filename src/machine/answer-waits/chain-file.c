#include "machine/answer-waits/chain-search.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/rights/outside.h"
#include "machine/answer-live/fuse-mount.h"
#include "machine/answer-live/name-query.h"

#define THREADS_MAX  64 /* of a process that has the same file open */
#define NAME_LATE    NS_PER_SEC
#define COMMAND_LINE 4096 /* bytes of it that are looked at */

void chain_put_file(struct chain_search *s, unsigned long long fd)
{
	char target[1024];

	str_puts(&s->words, live_fd_link(s->proc_root, s->t.pid, fd, target, sizeof(target)) ? target : "a file");
}

static bool is_name_server(const struct other_end *e)
{
	const char *port = strrchr(e->place, ':');

	return port && strcmp(port, ":53") == 0;
}

/* TCP says when something was asked, UDP does not: an answer of a name server that is this late does not come. */
static unsigned asks_name_server_ms(const struct chain_search *s)
{
	uint64_t since = chain_reads_since(s), waited = since && since < s->trace->frozen ? s->trace->frozen - since : 0;

	return waited >= NAME_LATE ? (unsigned)(waited / NS_PER_MS) : 0;
}

static void put_name_server(struct chain_search *s, const struct other_end *e)
{
	char name[NAME_MAX_LENGTH];

	str_printf(&s->words, "waits for the name server at %s", e->place);
	if (name_query_find(s->proc_root, &s->t, name))
		str_printf(&s->words, ", which is asked for %s", name);
}

static void put_place(struct chain_search *s, const struct other_end *e, bool writes)
{
	static const char *const ends[] = {[END_PIPE] = "a pipe", [END_QUEUE] = "a message queue", [END_TERMINAL] = "a terminal", [END_LOCAL_SOCKET] = "a local socket", [END_TCP] = "TCP", [END_UDP] = "UDP"};

	str_puts(&s->words, writes ? "waits for room to write to " : e->kind <= END_TERMINAL ? "waits for data from " : "waits for an answer over ");
	str_puts(&s->words, ends[e->kind]);
	if (e->both_ways && !writes)
		str_puts(&s->words, " that it also writes to, as to take a token");
	if (*e->place)
		str_printf(&s->words, " from %s", e->place);
}

static void put_end(struct chain_search *s, const struct other_end *e, bool writes)
{
	if (is_name_server(e))
		put_name_server(s, e);
	else
		put_place(s, e, writes);
	if (e->remote)
		str_puts(&s->words, ", which is not an address of a process here");
	if (e->retransmits)
		str_printf(&s->words, ", and what it sent is not confirmed after %u retransmission%s: packets are lost", e->retransmits,
			   e->retransmits == 1 ? "" : "s");
	if (e->queue_ms)
		str_printf(&s->words, ", and packets wait %s on the way: a queue is full", CLOCK_SPAN(e->queue_ms * NS_PER_MS));
	if (e->held && !writes)
		str_puts(&s->words, ", which holds back part of its answer until the packet before is confirmed (no TCP_NODELAY)");
}

void chain_follow_end(struct chain_search *s, const struct other_end *e, bool writes)
{
	static const enum chain_kind kinds[] = {[END_PIPE] = CHAIN_PIPE, [END_QUEUE] = CHAIN_PIPE, [END_TERMINAL] = CHAIN_PIPE, [END_LOCAL_SOCKET] = CHAIN_LOCAL_SOCKET, [END_TCP] = CHAIN_TCP,
						 [END_UDP] = CHAIN_UDP};

	s->kind = e->remote ? CHAIN_REMOTE : kinds[e->kind];
	put_end(s, e, writes);
	s->reads = e->kind <= END_TERMINAL && !writes && !e->both_ways;
	s->serves = e->serves && !writes;
	s->unread = e->unread;
	s->not_accepted = !e->accepted;
	s->asks_name = is_name_server(e);
	s->asked_ms = e->asked_ms ? e->asked_ms : is_name_server(e) ? asks_name_server_ms(s) : 0;
	s->unanswered = e->unread || s->asked_ms;
	s->next_pid = chain_choose_process(s, e);
	s->role = !e->accepted ? "which has not accepted the connection" :
		  e->unread ? (writes ? "which does not read it" : "which has not read the request") :
		  e->both_ways ? "which has it open, too" :
		  e->kind <= END_TERMINAL ? (writes ? "which reads it" : "which writes it") : "at the other end";
}

bool chain_leads_back(const struct chain_search *s, const struct other_end *e)
{
	return other_end_has(e, chain_asker(s));
}

bool chain_leads_to_parent(const struct chain_search *s, const struct other_end *e)
{
	return (e->kind == END_LOCAL_SOCKET || e->kind == END_PIPE) && e->n == 1 && e->pids[0] == s->t.parent;
}

/* A pipe that no other process has open: it has the other end itself, for another of its threads. */
static bool find_own_end(struct chain_search *s, const struct other_end *e)
{
	unsigned tids[3];
	size_t n = e->kind == END_PIPE && e->own && !e->n ? live_threads(s->proc_root, s->t.pid, tids, ARRAY_SIZE(tids)) : 0;

	if (n != 2)
		return false;
	s->kind = CHAIN_PIPE;
	str_puts(&s->words, "waits for another of its threads, to which it has a pipe");
	s->next_pid = s->t.pid;
	s->next_tid = tids[0] == s->t.tid ? tids[1] : tids[0];
	s->role = "its other thread";
	return true;
}

static bool is_in_kernel_lock(const struct chain_search *s, unsigned tid)
{
	const struct trace_thread *th = s->trace ? trace_thread(s->trace, tid, s->trace->frozen) : NULL;

	return th && !th->end && th->state == STATE_KERNEL_LOCK;
}

/* The thread of that process that is in a call for that file, and waits for no lock. */
static bool find_call_for(struct chain_search *s, unsigned pid, unsigned fd)
{
	unsigned tids[THREADS_MAX];
	size_t n = live_threads(s->proc_root, pid, tids, THREADS_MAX);
	struct live_thread t;

	for (size_t i = 0; i < n; i++) {
		enum chain_class class = chain_read_thread(s, pid, tids[i], &t) == 0 ? chain_class_of(t.call) : CLASS_ANYTHING;

		if ((class != CLASS_TO_WRITE && class != CLASS_TO_READ && class != CLASS_FOR_DISK) || t.arguments[0] != fd || is_in_kernel_lock(s, tids[i]))
			continue;
		s->next_pid = pid;
		s->next_tid = tids[i];
		return true;
	}
	return false;
}

/* The kernel lets one write to a file at a time: who waits for that waits for the program that is at it. */
static bool find_user_of_file(struct chain_search *s)
{
	char link[OPEN_FILES_LINK];
	unsigned pid, fd;
	size_t at = 0;

	if (!is_in_kernel_lock(s, s->t.tid) || !live_fd_link(s->proc_root, s->t.pid, s->t.arguments[0], link, sizeof(link)) || *link != '/')
		return false;
	while (open_files_next(s->files, link, &at, &pid, &fd))
		if (pid != s->t.pid && find_call_for(s, pid, fd)) {
			s->kind = CHAIN_LOCK;
			s->role = "which reads or writes it";
			str_printf(&s->words, "waits for the kernel's lock of %s", link);
			return true;
		}
	return false;
}

void chain_find_file(struct chain_search *s)
{
	bool writes = s->class == CLASS_TO_WRITE;
	struct other_end e;

	if (other_end_find(s->files, s->t.pid, s->t.arguments[0], &e) == 0) {
		if (find_own_end(s, &e))
			return;
		if (!writes && chain_leads_back(s, &e))
			chain_rest(s, "waits for the next request");
		else
			chain_follow_end(s, &e, writes);
		s->is_input = s->reads && s->t.arguments[0] == STDIN_FILENO;
		s->serves |= !writes && !chain_asker(s) && e.kind == END_LOCAL_SOCKET && chain_leads_to_parent(s, &e);
		return;
	}
	if (find_user_of_file(s))
		return;
	s->kind = s->t.state == 'D' ? CHAIN_DISK : CHAIN_UNKNOWN;
	str_puts(&s->words, writes ? "waits for room to write to " : "waits for data from ");
	chain_put_file(s, s->t.arguments[0]);
}

void chain_find_fuse(struct chain_search *s)
{
	struct other_end servers;
	struct fuse_mount mount;
	bool is_known = fuse_mount_find(s->proc_root, &s->t, &mount);

	s->kind = CHAIN_FUSE;
	str_puts(&s->words, "waits for a file system in user space (FUSE)");
	if (s->class == CLASS_TO_READ || s->class == CLASS_TO_WRITE || s->class == CLASS_FOR_DISK) {
		str_puts(&s->words, ": ");
		chain_put_file(s, s->t.arguments[0]);
	} else if (is_known) {
		str_printf(&s->words, " mounted at %s", mount.place);
	}
	other_end_fuse_servers(s->files, s->t.pid, is_known ? &mount : NULL, &servers);
	s->next_pid = servers.n == 1 ? servers.pids[0] : 0; /* of several it is not known whose mount it is */
	s->role = "which serves it";
	s->unread = true; /* whichever of its threads took the request */
}

void chain_find_scanner(struct chain_search *s)
{
	struct other_end scanners;

	s->kind = CHAIN_SCANNER;
	str_puts(&s->words, "waits until a scanner lets it open a file");
	other_end_scanners(s->files, s->t.pid, &scanners);
	s->next_pid = scanners.n == 1 ? scanners.pids[0] : 0; /* of several it is not known who is asked */
	s->role = "which is asked";
}

void chain_find_frozen_files(struct chain_search *s)
{
	s->kind = CHAIN_FROZEN;
	str_puts(&s->words, "waits to write to ");
	chain_put_file(s, s->t.arguments[0]);
	str_puts(&s->words, ", whose file system is frozen, as for a snapshot");
}

/* One of the words of its command line. */
static bool names_path(const char *proc_root, unsigned pid, const char *path)
{
	char words[COMMAND_LINE];
	size_t n = live_file(proc_root, pid, "cmdline", words, sizeof(words));

	for (const char *w = words; w < words + n; w += strlen(w) + 1)
		if (strcmp(w, path) == 0)
			return true;
	return false;
}

/* The path is from the memory of the process, which may have written any since. */
static bool is_fifo(const struct chain_search *s, const char *path)
{
	_cleanup_close_ int found = -1;
	struct stat st;

	found = outside_find_below(STR_TEXT(300, "%s/%u/root", s->proc_root, s->t.pid), path, &st);
	return found >= 0 && S_ISFIFO(st.st_mode);
}

static unsigned who_names(const struct chain_search *s, const char *path)
{
	_cleanup_(folder_close) DIR *dir = opendir(s->proc_root);
	unsigned pid, found = 0;

	while ((pid = live_next_process(dir))) {
		if (pid == s->t.pid || !names_path(s->proc_root, pid, path))
			continue;
		if (found)
			return 0;
		found = pid;
	}
	return found;
}

void chain_find_fifo(struct chain_search *s)
{
	char path[LIVE_PATH];

	s->kind = CHAIN_PIPE;
	str_puts(&s->words, "waits until another program opens the other end of the named pipe ");
	if (!live_thread_path(s->proc_root, &s->t, path, sizeof(path))) {
		str_puts(&s->words, "that it opens");
		return;
	}
	str_puts(&s->words, path);
	s->next_pid = is_fifo(s, path) ? who_names(s, path) : 0;
	s->role = "whose command line names it";
}

void chain_find_disk(struct chain_search *s)
{
	s->kind = CHAIN_DISK;
	str_puts(&s->words, "waits for the disk, to write ");
	chain_put_file(s, s->t.arguments[0]);
}
