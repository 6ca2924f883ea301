#include "machine/answer-live/lock-file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/rights/outside.h"
#include "lib/system/helper-thread.h"
#include "machine/answer-live/process-memory.h"

#define MEMORY_MAX    (32u << 20) /* of a process; an interpreter with a script of some pages has ten */
#define NAMES_MAX     4096 /* each costs a stat(): some us */
#define FILES_MAX     4	   /* each costs a look at all descriptors of all processes */
#define FILE_MAX      4096 /* bytes: a larger file is a document */
#define CONTENT_MAX   64
#define LEAST_AGE     NS_PER_SEC
#define SLEEP_LONGEST 30 /* s; dotlockfile(1) sleeps for 5, 10, 15 ... */
#define LOCKED_MAX    128

struct locked {
	unsigned pid;
	unsigned long long inode;
};

/* One search, in a thread of its own. */
struct search {
	char proc_root[128];
	unsigned pid;
	uid_t uid;
	char folder[LOCK_FILE_PATH], root[160]; /* the process's own */
	struct process_memory memory;
	int64_t now;
	unsigned names, files;
	bool found;
	struct lock_file result;
	struct locked locked[LOCKED_MAX]; /* what other processes have locked */
	size_t n_locked;
	bool in_arguments; /* elsewhere a name without a folder is any file's of a folder that was listed */
};

/* --- whose it is --- */

static bool is_there(const struct search *s, unsigned pid)
{
	struct live_thread t;

	return live_thread_read(s->proc_root, pid, pid, &t) == 0;
}

/* "4711\n", "host:4711", "alice@host.4711"; 0 = this is no number of a process. */
static unsigned parse_number(const char *text)
{
	size_t n = strlen(text), begin;

	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	for (begin = n; begin && isdigit((unsigned char)text[begin - 1]); begin--)
		continue;
	return n - begin > 0 && n - begin < 9 && !memchr(text, '\n', n) ? (unsigned)strtoul(text + begin, NULL, 10) : 0;
}

/* The process that the file's text, or its target, names. found: the file that was looked at, whatever lies at its path by now. */
static unsigned number_in(const struct search *s, int found, const struct stat *st)
{
	_cleanup_close_ int fd = -1;
	char text[CONTENT_MAX + 1];
	ssize_t n = 0;

	if (S_ISLNK(st->st_mode)) {
		n = readlinkat(found, "", text, CONTENT_MAX);
	} else if (S_ISREG(st->st_mode) && st->st_size <= CONTENT_MAX) {
		fd = outside_open_found(found, s->root);
		n = fd >= 0 ? read(fd, text, CONTENT_MAX) : 0;
	}
	text[n > 0 ? n : 0] = '\0';
	return parse_number(text);
}

typedef bool (*holder_test)(const struct search *s, unsigned pid, const char *path, const struct stat *st);

static bool has_it_open(const struct search *s, unsigned pid, const char *path, const struct stat *st)
{
	(void)path;
	return live_has_open(s->proc_root, pid, st);
}

/* Among its arguments is the file, by its whole path or its name. */
static bool was_started_with_it(const struct search *s, unsigned pid, const char *path, const struct stat *st)
{
	char arguments[4096];
	const char *name = strrchr(path, '/') + 1;
	size_t n = live_file(s->proc_root, pid, "cmdline", arguments, sizeof(arguments));

	(void)st;
	for (size_t at = 0; at < n; at += strlen(arguments + at) + 1)
		if (strcmp(arguments + at, path) == 0 || strcmp(arguments + at, name) == 0)
			return true;
	return false;
}

static bool works_in_its_folder(const struct search *s, unsigned pid, const char *path, const struct stat *st)
{
	size_t n = (size_t)(strrchr(path, '/') - path);
	char folder[LOCK_FILE_PATH];

	(void)st;
	return n && live_link(s->proc_root, pid, "cwd", folder, sizeof(folder)) && strlen(folder) == n && memcmp(folder, path, n) == 0;
}

/* The only other process that it is; 0 = none, or several. */
static unsigned only_process(const struct search *s, holder_test test, const char *path, const struct stat *st)
{
	_cleanup_(folder_close) DIR *dir = opendir(s->proc_root);
	unsigned pid, found = 0;

	while ((pid = live_next_process(dir))) {
		if (pid == s->pid || pid == (unsigned)getpid() || !test(s, pid, path, st))
			continue;
		if (found)
			return 0;
		found = pid;
	}
	return found;
}

/* Inodes are only unique within a file system: the holder must have this file open. */
static bool find_who_locked(const struct search *s, const struct stat *st, struct lock_file *ret)
{
	for (size_t i = 0; i < s->n_locked && !ret->locked; i++)
		if (s->locked[i].inode == st->st_ino && live_has_open(s->proc_root, s->locked[i].pid, st)) {
			ret->holder = s->locked[i].pid;
			ret->role = "which has locked it";
			ret->locked = true;
		}
	return ret->locked;
}

/* Its owner wrote the number, and may write any: of others' processes nothing is believed. */
static bool is_owners(const struct search *s, unsigned pid, const struct stat *st)
{
	uint32_t owner;

	return outside_owner(s->proc_root, pid, &owner) == 0 && owner == st->st_uid;
}

/* Who makes a lock file writes no more than its name and number. A longer file may be anything, as the script `lock.py` of both processes. */
static bool is_note(const struct stat *st)
{
	return st->st_size <= CONTENT_MAX;
}

static bool find_holder(const struct search *s, int found, const char *path, const struct stat *st, struct lock_file *ret)
{
	static const struct {
		holder_test test;
		const char *role;
	} tests[] = {
		{has_it_open, "which has it open"},
		{was_started_with_it, "which was started with its name"},
		{works_in_its_folder, "which works in its folder"},
	};
	unsigned number;

	if (find_who_locked(s, st, ret))
		return true;
	number = number_in(s, found, st);
	if (number == s->pid)
		return false; /* it has the lock itself */
	if (number && is_there(s, number) && !is_owners(s, number, st))
		return false;
	if (number && is_there(s, number)) {
		ret->holder = number;
		ret->role = "whose number stands in it";
	}
	for (size_t i = 0; i < (is_note(st) ? ARRAY_SIZE(tests) : 1) && !number && !ret->holder; i++) {
		ret->holder = only_process(s, tests[i].test, path, st);
		ret->role = tests[i].role;
	}
	ret->gone = number && !ret->holder ? number : 0;
	return ret->holder || ret->gone;
}

/* --- which file --- */

/* These have "lock" in their names and are none. */
static bool is_known_otherwise(const char *path)
{
	static const char *const names[] = {"/dev/block", "/dev/char", "/run/lock", "/run/lock/", "/var/lock", "/var/lock/"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(path, names[i]) == 0)
			return true;
	return strlen(path) < 2 || str_starts(path, "/proc/") || str_starts(path, "/sys/");
}

static int64_t changed(const struct stat *st)
{
	const struct timespec *t = st->st_mtim.tv_sec > st->st_ctim.tv_sec ? &st->st_mtim : &st->st_ctim;

	return t->tv_sec * NS_PER_SEC + t->tv_nsec;
}

static bool may_be_lock(const struct search *s, const struct stat *st)
{
	if (!S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode) && !(S_ISDIR(st->st_mode) && st->st_nlink == 2))
		return false;
	return st->st_size <= FILE_MAX && (st->st_uid == s->uid || s->uid == 0) && s->now - changed(st) >= LEAST_AGE;
}

/* The last part of it says lock. */
static bool is_name_of_lock(const char *path)
{
	static const char *const words[] = {"lock", "Lock", "LOCK", "lck", "LCK"};
	const char *name = strrchr(path, '/') + 1;

	return ANY_WHERE(i, ARRAY_SIZE(words), strstr(name, words[i]));
}

static void look_at_name(struct search *s, const char *name, size_t n)
{
	_cleanup_close_ int found = -1;
	struct lock_file file = {};
	struct stat st;

	if (s->found || s->files >= FILES_MAX || s->names >= NAMES_MAX || n < 3 || (*name != '/' && !s->in_arguments))
		return;
	if ((size_t)snprintf(file.path, sizeof(file.path), "%s%s%.*s", *name == '/' ? "" : s->folder, *name == '/' ? "" : "/", (int)n, name) >=
		    sizeof(file.path) ||
	    !is_name_of_lock(file.path) || is_known_otherwise(file.path))
		return;
	s->names++;
	found = outside_find_below(s->root, file.path, &st);
	if (found < 0 || !may_be_lock(s, &st))
		return;
	s->files++;
	file.since = changed(&st);
	if (find_holder(s, found, file.path, &st, &file)) {
		s->found = true;
		s->result = file;
	}
}

static bool is_of_name(char c)
{
	return c > ' ' && c < 127 && !strchr("\"'()=;|&<>`$*?", c);
}

/* The name that the byte is in. Returns its end. */
static const char *look_around(struct search *s, const char *piece, const char *end, const char *at)
{
	const char *begin = at, *last = at;

	while (begin > piece && is_of_name(begin[-1]))
		begin--;
	while (last < end && is_of_name(*last))
		last++;
	if (last - begin < LOCK_FILE_PATH)
		look_at_name(s, begin, (size_t)(last - begin));
	return last > at ? last : at + 1;
}

static void look_at_piece(struct search *s, const char *piece, size_t n)
{
	static const char *const ends[] = {"ck", "CK"};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		for (const char *at = piece; !s->found && (at = memmem(at, n - (size_t)(at - piece), ends[i], 2));)
			at = look_around(s, piece, piece + n, at);
}

static void look_at_arguments(struct search *s)
{
	char text[8192];

	look_at_piece(s, text, live_file(s->proc_root, s->pid, "cmdline", text, sizeof(text)));
}

/* Pieces overlap by a name. Returns how many bytes were looked at. */
static size_t look_at_mapping(struct search *s, char *piece, unsigned long long start, unsigned long long end)
{
	size_t looked = 0;

	while (!s->found && start < end) {
		size_t n = end - start < PROCESS_MEMORY_PIECE ? (size_t)(end - start) : PROCESS_MEMORY_PIECE;

		if (!process_memory_copy(&s->memory, s->proc_root, s->pid, start, piece, n))
			break;
		look_at_piece(s, piece, n);
		looked += n;
		start += n > LOCK_FILE_PATH && start + n < end ? n - LOCK_FILE_PATH : n;
	}
	return looked;
}

/* "55d0c8a5e000-55d0c8ed4000 rw-p 00000000 00:00 0    [heap]": of its own, and of no file */
static void look_at_memory(struct search *s)
{
	_cleanup_free_ char *piece = malloc(PROCESS_MEMORY_PIECE);
	unsigned long long start, end;
	unsigned major, minor;
	char rights[8];
	size_t looked = 0;

	LINES_EACH(line, piece ? fopen(STR_TEXT(160, "%s/%u/maps", s->proc_root, s->pid), "re") : NULL)
		if (!s->found && looked < MEMORY_MAX && sscanf(line.text, "%llx-%llx %7s %*x %x:%x", &start, &end, rights, &major, &minor) == 5 && strcmp(rights, "rw-p") == 0 && !major && !minor &&
		    end - start <= MEMORY_MAX - looked)
			looked += look_at_mapping(s, piece, start, end);
}

/* Files that the process keeps open between its attempts may have any name. */
static void look_at_descriptors(struct search *s)
{
	struct stat st;

	FOLDER_EACH(e, s->n_locked ? opendir(STR_TEXT(160, "%s/%u/fd", s->proc_root, s->pid)) : NULL) {
		if (s->found)
			break;
		s->result = (struct lock_file){};
		if (outside_stat(dirfd(e.folder), e.name, 0, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		s->result.since = changed(&st);
		s->found = find_who_locked(s, &st, &s->result) && live_link(s->proc_root, s->pid, STR_TEXT(280, "fd/%s", e.name), s->result.path, sizeof(s->result.path));
	}
}

static void search(void *job)
{
	struct search *s = job;

	look_at_descriptors(s);
	s->in_arguments = true;
	look_at_arguments(s);
	s->in_arguments = false;
	if (!s->found)
		look_at_memory(s);
	process_memory_free(&s->memory);
}

/* "1: POSIX  ADVISORY  WRITE 4711 fe:00:131 0 EOF"; what waits has an arrow before its kind. */
static bool parse_locked(const char *line, struct locked *ret)
{
	char kind[16], mode[16];

	return sscanf(line, "%*u: %15s %*s %15s %u %*x:%*x:%llu", kind, mode, &ret->pid, &ret->inode) == 4 && strcmp(mode, "WRITE") == 0 &&
	       (strcmp(kind, "POSIX") == 0 || strcmp(kind, "FLOCK") == 0);
}

/* Before the search, which may outlive the list. */
static void read_locked(struct search *s, struct file_locks *locks)
{
	LINES_EACH(line, file_locks_open(locks))
		if (s->n_locked < LOCKED_MAX && parse_locked(line.text, &s->locked[s->n_locked]) && s->locked[s->n_locked].pid != s->pid)
			s->n_locked++;
}

static void helper_free_of(struct helper **helper)
{
	helper_free(*helper);
}

/* --- who sleeps --- */

static bool sleeps_shortly(const char *proc_root, const struct live_thread *t)
{
	bool clock = t->call && strcmp(t->call, "clock_nanosleep") == 0;
	struct timespec request, now = {};

	if (!t->call || (!clock && strcmp(t->call, "nanosleep") != 0))
		return false;
	if (clock && t->arguments[1] & TIMER_ABSTIME)
		clock_gettime((clockid_t)t->arguments[0], &now);
	return live_thread_memory(proc_root, t, t->arguments[clock ? 2 : 0], &request, sizeof(request)) &&
	       request.tv_sec - now.tv_sec <= SLEEP_LONGEST;
}

unsigned lock_file_seeker(const struct live_thread *sleeper)
{
	return strcmp(sleeper->comm, "sleep") == 0 ? sleeper->parent : sleeper->pid;
}

static bool prepare(struct search *s, const char *proc_root, const struct live_thread *sleeper)
{
	*s = (struct search){.pid = lock_file_seeker(sleeper), .now = clock_wall()};
	snprintf(s->proc_root, sizeof(s->proc_root), "%s", proc_root);
	if (s->pid < 2 || outside_owner(proc_root, s->pid, &s->uid) < 0 || outside_has_own_mounts(s->proc_root, s->pid))
		return false;
	snprintf(s->root, sizeof(s->root), "%s/%u/root", s->proc_root, s->pid);
	(void)live_link(s->proc_root, s->pid, "cwd", s->folder, sizeof(s->folder));
	return true;
}

bool lock_file_find(struct file_locks *locks, const struct live_thread *sleeper, int64_t patience, struct lock_file *ret)
{
	_cleanup_(helper_free_of) struct helper *helper = NULL;
	_cleanup_free_ struct search *s = NULL;

	if (!sleeps_shortly(locks->proc_root, sleeper) || !(s = malloc(sizeof(*s))) || !prepare(s, locks->proc_root, sleeper) ||
	    helper_new_as_caller(&helper) < 0)
		return false;
	read_locked(s, locks);
	if (helper_do(helper, search, free, s, patience) == -ETIMEDOUT) {
		TAKE(s);
		return false;
	}
	if (s->found)
		*ret = s->result;
	return s->found;
}
