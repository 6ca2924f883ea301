#include "machine/answer-live/hidden-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "lib/rights/outside.h"
#include "machine/answer-live/open-files.h"

#define SQLITE_FIRST 0x40000000ull /* PENDING, RESERVED, and 510 bytes for readers */
#define SQLITE_LAST  0x400001ffull
#define WAL_WRITE    120ull /* of the -shm file: the byte of who writes */
#define SEMAPHORE_OPERATIONS 8 /* of one call that are looked at */

/* --- SQLite --- */

struct held {
	unsigned pid;
	unsigned major, minor;
	unsigned long long inode, first;
};

/* "1: POSIX  ADVISORY  WRITE 4711 fe:00:131 1073741825 1073741825" */
static bool parse_written(const char *line, struct held *ret)
{
	char mode[16];

	return sscanf(line, "%*u: POSIX %*s %15s %u %x:%x:%llu %llu", mode, &ret->pid, &ret->major, &ret->minor, &ret->inode, &ret->first) == 6 &&
	       strcmp(mode, "WRITE") == 0 && ((ret->first >= SQLITE_FIRST && ret->first <= SQLITE_LAST) || ret->first == WAL_WRITE);
}

struct held_list {
	VEC(struct held) list;
};

static int read_written(struct file_locks *locks, unsigned pid, struct held_list *ret)
{
	struct held h;

	LINES_EACH(line, file_locks_open(locks))
		if (parse_written(line.text, &h) && h.pid != pid && VEC_PUSH(ret->list, h) < 0)
			return -ENOMEM;
	return 0;
}

/* Who has locked the file. Numbers of inodes are only unique within a file system. */
static unsigned find_writer(const char *proc_root, const struct held_list *written, const struct stat *st)
{
	for (size_t i = 0; S_ISREG(st->st_mode) && i < written->list.n; i++)
		if (st->st_ino == written->list.v[i].inode && live_has_open(proc_root, written->list.v[i].pid, st))
			return written->list.v[i].pid;
	return 0;
}

/* Each descriptor is looked at once, whatever is locked: a process may have thousands of them. */
static bool find_written(const char *proc_root, unsigned pid, const struct held_list *written, struct hidden_lock *ret)
{
	unsigned i = 0;
	struct stat st;

	FOLDER_EACH(e, opendir(STR_TEXT(300, "%s/%u/fd", proc_root, pid))) {
		ssize_t n;

		if (i++ >= OPEN_FILES_OF_ONE)
			break;
		ret->holder = outside_stat(dirfd(e.folder), e.name, 0, &st) < 0 ? 0 : find_writer(proc_root, written, &st);
		if (!ret->holder)
			continue;
		n = readlinkat(dirfd(e.folder), e.name, ret->place, HIDDEN_PATH - 1);
		ret->place[n > 0 ? n : 0] = '\0';
		return n > 0;
	}
	return false;
}

bool hidden_lock_of_sqlite(struct file_locks *locks, unsigned pid, struct hidden_lock *ret)
{
	struct held_list written = {};
	bool found = read_written(locks, pid, &written) == 0 && written.list.n > 0 && find_written(locks->proc_root, pid, &written, ret);

	VEC_FREE(written.list);
	return found;
}

/* --- open file descriptions --- */

/* "lock:	1: OFDLCK  ADVISORY  WRITE -1 fe:00:10952801 0 EOF" */
static bool has_lock(int folder, const char *fd)
{
	int file = openat(folder, fd, O_RDONLY | O_CLOEXEC);
	FILE *f = file >= 0 ? fdopen(file, "r") : NULL;

	if (!f && file >= 0)
		close(file);
	LINES_EACH(line, f)
		if (str_starts(line.text, "lock:") && strstr(line.text, ": OFDLCK "))
			return true;
	return false;
}

static bool has_ofd_lock(const char *proc_root, unsigned pid, const struct stat *file)
{
	_cleanup_(folder_close) DIR *notes = NULL;
	struct stat st;

	notes = opendir(STR_TEXT(300, "%s/%u/fdinfo", proc_root, pid));
	FOLDER_EACH(e, notes ? opendir(STR_TEXT(300, "%s/%u/fd", proc_root, pid)) : NULL)
		if (outside_stat(dirfd(e.folder), e.name, 0, &st) == 0 && st.st_ino == file->st_ino && st.st_dev == file->st_dev &&
		    has_lock(dirfd(notes), e.name))
			return true;
	return false;
}

unsigned hidden_lock_ofd_holder(const char *proc_root, unsigned pid, unsigned long long fd)
{
	_cleanup_(folder_close) DIR *dir = NULL;
	struct stat st;
	unsigned other;

	if (outside_stat(AT_FDCWD, STR_TEXT(300, "%s/%u/fd/%llu", proc_root, pid, fd), 0, &st) < 0)
		return 0;
	dir = opendir(proc_root);
	while ((other = live_next_process(dir)))
		if (other != pid && has_ofd_lock(proc_root, other, &st))
			return other;
	return 0;
}

/* --- shared memory --- */

struct mapping {
	unsigned long long start, end, inode;
	unsigned major, minor;
	bool shared;
	char path[HIDDEN_PATH];
};

/* "7f1c2e5f1000-7f1c2e5f2000 rw-s 00000000 00:19 2                          /dev/shm/sem.printer" */
static bool parse_mapping(const char *line, struct mapping *m)
{
	char rights[8];

	m->path[0] = '\0';
	if (sscanf(line, "%llx-%llx %7s %*x %x:%x %llu %255[^\n]", &m->start, &m->end, rights, &m->major, &m->minor, &m->inode, m->path) < 6)
		return false;
	m->shared = rights[3] == 's' && m->inode;
	return true;
}

/* The mapping of an address (`like` NULL), or of the same file as `like`. */
static bool find_mapping(const char *proc_root, unsigned pid, unsigned long long address, const struct mapping *like, struct mapping *ret)
{
	LINES_EACH(line, fopen(STR_TEXT(300, "%s/%u/maps", proc_root, pid), "re")) {
		if (!parse_mapping(line.text, ret))
			continue;
		if (like ? ret->shared && ret->inode == like->inode && ret->major == like->major && ret->minor == like->minor :
			   address >= ret->start && address < ret->end)
			return true;
	}
	return false;
}

static bool waits_for_futex(const char *proc_root, unsigned pid)
{
	struct live_thread t;

	return live_thread_read(proc_root, pid, pid, &t) == 0 && t.call && strncmp(t.call, "futex", 5) == 0;
}

static unsigned only_sharer(const char *proc_root, unsigned but, const struct mapping *of)
{
	_cleanup_(folder_close) DIR *dir = opendir(proc_root);
	unsigned pid, found = 0;
	struct mapping m;

	while ((pid = live_next_process(dir))) {
		if (pid == but || !find_mapping(proc_root, pid, 0, of, &m) || waits_for_futex(proc_root, pid))
			continue;
		if (found)
			return 0;
		found = pid;
	}
	return found;
}

bool hidden_lock_of_thread(const char *proc_root, const struct live_thread *t, struct hidden_lock *ret)
{
	struct mapping m;

	if (!find_mapping(proc_root, t->pid, t->arguments[0], NULL, &m) || !m.shared)
		return false;
	memcpy(ret->place, m.path, sizeof(ret->place));
	ret->holder = live_thread_lock_owner(proc_root, t) ?: only_sharer(proc_root, t->pid, &m);
	return true;
}

static bool is_of_our_namespace(const char *proc_root, unsigned pid)
{
	char own[64], its[64];
	ssize_t n = readlink("/proc/self/ns/ipc", own, sizeof(own) - 1);

	if (n <= 0)
		return false;
	own[n] = '\0';
	return live_link(proc_root, pid, "ns/ipc", its, sizeof(its)) && strcmp(own, its) == 0;
}

/* The first operation that takes: one that gives does not wait. */
static int semaphore_wanted(const char *proc_root, const struct live_thread *t)
{
	struct sembuf operations[SEMAPHORE_OPERATIONS];
	size_t n = t->arguments[2] < SEMAPHORE_OPERATIONS ? (size_t)t->arguments[2] : SEMAPHORE_OPERATIONS;

	if (!live_thread_memory(proc_root, t, t->arguments[1], operations, n * sizeof(*operations)))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (operations[i].sem_op <= 0)
			return operations[i].sem_num;
	return -1;
}

unsigned hidden_lock_semaphore_user(const char *proc_root, const struct live_thread *t)
{
	int number = is_of_our_namespace(proc_root, t->pid) ? semaphore_wanted(proc_root, t) : -1;
	int user = number >= 0 ? semctl((int)t->arguments[0], number, GETPID) : 0;
	struct live_thread there;

	return user > 0 && (unsigned)user != t->pid && live_thread_read(proc_root, (unsigned)user, (unsigned)user, &there) == 0 ? (unsigned)user : 0;
}

/* --- PostgreSQL --- */

/* "postgres: 15/main: alice shop [local] UPDATE waiting", "postgres: alice shop 192.0.2.7(51234) idle in transaction" */
static bool parse_title(char *title, struct postgres_backend *ret)
{
	char *words[2] = {"", ""}, *save = NULL, *word = strtok_r(title, " ", &save);
	size_t n;

	if (!word || strcmp(word, "postgres:") != 0)
		return false;
	while ((word = strtok_r(NULL, " ", &save)) && strcmp(word, "[local]") != 0 && !(strchr(word, '(') && word[strlen(word) - 1] == ')')) {
		words[0] = words[1];
		words[1] = word;
	}
	if (!word || !*words[0])
		return false;
	snprintf(ret->database, sizeof(ret->database), "%s", words[1]);
	snprintf(ret->activity, sizeof(ret->activity), "%s", save);
	n = strlen(ret->activity);
	while (n && ret->activity[n - 1] == ' ')
		ret->activity[--n] = '\0';
	ret->waits = n > 8 && strcmp(&ret->activity[n - 8], " waiting") == 0;
	ret->in_transaction = !ret->waits && strcmp(ret->activity, "idle") != 0;
	return true;
}

bool postgres_backend_read(const char *proc_root, unsigned pid, struct postgres_backend *ret)
{
	char title[256];

	(void)live_file(proc_root, pid, "cmdline", title, sizeof(title));
	return parse_title(title, ret);
}

/* The next backend of the server that this one is of. 0 = there is no more. */
static unsigned next_backend(DIR *dir, const char *proc_root, const struct live_thread *of, struct postgres_backend *ret)
{
	struct live_thread t;
	unsigned pid;

	while ((pid = live_next_process(dir)))
		if (live_thread_read(proc_root, pid, pid, &t) == 0 && t.parent == of->parent && postgres_backend_read(proc_root, pid, ret))
			break;
	return pid;
}

unsigned postgres_backend_numbered(const char *proc_root, const struct live_thread *of, unsigned number)
{
	_cleanup_(folder_close) DIR *dir = opendir(proc_root);
	struct postgres_backend b;
	unsigned pid;

	while ((pid = next_backend(dir, proc_root, of, &b)) && live_inner_number(proc_root, pid, pid) != number)
		;
	return pid;
}

unsigned postgres_backend_blocker(const char *proc_root, const struct live_thread *backend)
{
	_cleanup_(folder_close) DIR *dir = opendir(proc_root);
	struct postgres_backend mine, other;
	unsigned pid, found[2] = {}, n[2] = {}; /* idle in between, executes */

	if (!postgres_backend_read(proc_root, backend->pid, &mine))
		return 0;
	while ((pid = next_backend(dir, proc_root, backend, &other))) {
		bool executes = strncmp(other.activity, "idle in transaction", 19) != 0;

		if (pid == backend->pid || !other.in_transaction || strcmp(other.database, mine.database) != 0)
			continue;
		found[executes] = pid;
		n[executes]++;
	}
	return n[0] == 1 ? found[0] : !n[0] && n[1] == 1 ? found[1] : 0;
}
