#include "machine/answer-live/live-thread.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/rights/outside.h"
#include "machine/answer-live/process-memory.h"
#include "machine/answer-live/waits.h"
#include "machine/process/proc.h"

#define PATH_BYTES	512
#define LOCK_WORD_WAITED 2 /* glibc: held, and another one waits */
#define PAGE		4096
#define GLIBC_OWNER	 2 /* pthread_mutex_t.__data.__owner, in words behind the lock */

static FILE *open_of(const char *proc_root, unsigned pid, unsigned tid, const char *name)
{
	return fopen(STR_TEXT(PATH_BYTES, "%s/%u/task/%u/%s", proc_root, pid, tid, name), "re");
}

static bool line_of(const char *proc_root, const struct live_thread *t, const char *name, char *buf, size_t size)
{
	return file_first_line(STR_TEXT(PATH_BYTES, "%s/%u/task/%u/%s", proc_root, t->pid, t->tid, name), buf, size);
}

/* "4711 (tokio (x) 1) S 1 ...": the name may hold anything, also a line's end. */
static bool read_stat(const char *proc_root, struct live_thread *t)
{
	_cleanup_fclose_ FILE *f = open_of(proc_root, t->pid, t->tid, "stat");
	char line[512];
	const char *name, *rest;

	if (!f)
		return false;
	line[fread(line, 1, sizeof(line) - 1, f)] = '\0';
	name = strchr(line, '(');
	rest = strrchr(line, ')');
	if (!name || !rest || rest < name || rest[1] != ' ')
		return false;
	snprintf(t->comm, sizeof(t->comm), "%.*s", (int)(rest - name - 1), name + 1);
	return sscanf(rest + 1, " %c %u", &t->state, &t->parent) == 2;
}

/* "7 0x7ffd9c 0x1 0xffffffffffffffff 0x0 0x0 0x0 0x7ffd98 0x7f01" (number, six arguments, stack pointer, place), "running", or "-1 0x7ffd9c 0x7f01" outside of a call. */
static void read_call(const char *proc_root, struct live_thread *t)
{
	char line[256];
	int number;

	if (line_of(proc_root, t, "syscall", line, sizeof(line)) &&
	    sscanf(line, "%d %llx %llx %llx %*x %*x %*x %llx", &number, &t->arguments[0], &t->arguments[1], &t->arguments[2], &t->stack) >=
		    1 + LIVE_ARGUMENTS)
		t->call = wait_call_name(number);
}

/* "1234567 890 12": ns on a CPU, ns ready without one, times */
static void read_times(const char *proc_root, struct live_thread *t)
{
	char line[128];

	if (!line_of(proc_root, t, "schedstat", line, sizeof(line)) || sscanf(line, "%*u %*u %llu", &t->times) != 1)
		t->times = 0;
}

unsigned live_next_process(DIR *proc)
{
	const struct dirent *e;

	while (proc && (e = readdir(proc)))
		if (isdigit((unsigned char)*e->d_name))
			return (unsigned)strtoul(e->d_name, NULL, 10);
	return 0;
}

int live_thread_read(const char *proc_root, unsigned pid, unsigned tid, struct live_thread *ret)
{
	struct live_thread t = {.pid = pid, .tid = tid};

	if (!read_stat(proc_root, &t) || t.state == 'Z' || t.state == 'X')
		return -ESRCH;
	read_call(proc_root, &t);
	read_times(proc_root, &t);
	if (!line_of(proc_root, &t, "wchan", t.waits_in, sizeof(t.waits_in)) || strcmp(t.waits_in, "0") == 0)
		t.waits_in[0] = '\0';
	*ret = t;
	return 0;
}

size_t live_file(const char *proc_root, unsigned pid, const char *name, char *buf, size_t size)
{
	_cleanup_fclose_ FILE *f = fopen(STR_TEXT(PATH_BYTES, "%s/%u/%s", proc_root, pid, name), "re");
	size_t n = f ? fread(buf, 1, size - 1, f) : 0;

	buf[n] = '\0';
	return n;
}

unsigned live_inner_number(const char *proc_root, unsigned pid, unsigned tid)
{
	char status[4096];

	return live_file(proc_root, pid, STR_TEXT(32, "task/%u/status", tid), status, sizeof(status)) ? proc_inner_number(status) : 0;
}

bool live_link(const char *proc_root, unsigned pid, const char *name, char *buf, size_t size)
{
	ssize_t n;

	n = readlink(STR_TEXT(512, "%s/%u/%s", proc_root, pid, name), buf, size - 1);
	buf[n > 0 ? n : 0] = '\0';
	return n > 0;
}

bool live_fd_link(const char *proc_root, unsigned pid, unsigned long long fd, char *buf, size_t size)
{
	return live_link(proc_root, pid, STR_TEXT(32, "fd/%llu", fd), buf, size);
}

size_t live_threads(const char *proc_root, unsigned pid, unsigned *ret, size_t max)
{
	size_t n = 0;

	FOLDER_EACH(e, opendir(STR_TEXT(PATH_BYTES, "%s/%u/task", proc_root, pid))) {
		unsigned tid = (unsigned)strtoul(e.name, NULL, 10);

		if (!tid || n >= max)
			continue;
		ret[n++] = tid;
		if (tid == pid) {
			ret[n - 1] = ret[0];
			ret[0] = tid;
		}
	}
	return n;
}

bool live_thread_memory(const char *proc_root, const struct live_thread *t, unsigned long long address, void *buf, size_t n)
{
	return t->memory && process_memory_read(t->memory, proc_root, t->pid, address, buf, n);
}

bool live_has_open(const char *proc_root, unsigned pid, const struct stat *file)
{
	struct stat st;

	FOLDER_EACH(e, opendir(STR_TEXT(PATH_BYTES, "%s/%u/fd", proc_root, pid)))
		if (outside_stat(dirfd(e.folder), e.name, 0, &st) == 0 && st.st_ino == file->st_ino && st.st_dev == file->st_dev)
			return true;
	return false;
}

static size_t files_of_poll(const char *proc_root, const struct live_thread *t, unsigned *ret, size_t max)
{
	struct pollfd polled[LIVE_FILES_MAX];
	size_t n = t->arguments[1], found = 0;

	if (n > LIVE_FILES_MAX || !live_thread_memory(proc_root, t, t->arguments[0], polled, n * sizeof(*polled)))
		return 0;
	for (size_t i = 0; i < n && found < max; i++)
		if (polled[i].fd >= 0)
			ret[found++] = (unsigned)polled[i].fd;
	return found;
}

/* Those that are to be read: an answer is waited for there. */
static size_t files_of_select(const char *proc_root, const struct live_thread *t, unsigned *ret, size_t max)
{
	fd_set set;
	size_t found = 0;

	if (t->arguments[0] > FD_SETSIZE || !t->arguments[1] || !live_thread_memory(proc_root, t, t->arguments[1], &set, sizeof(set)))
		return 0;
	for (unsigned fd = 0; fd < t->arguments[0] && found < max; fd++)
		if (FD_ISSET(fd, &set))
			ret[found++] = fd;
	return found;
}

/* "tfd:        5 events:       19 data: ..." */
static size_t files_of_epoll(const char *proc_root, const struct live_thread *t, unsigned *ret, size_t max)
{
	size_t found = 0;
	unsigned fd;

	LINES_EACH(line, fopen(STR_TEXT(PATH_BYTES, "%s/%u/fdinfo/%llu", proc_root, t->pid, t->arguments[0]), "re"))
		if (found < max && sscanf(line.text, "tfd: %u", &fd) == 1)
			ret[found++] = fd;
	return found;
}

size_t live_thread_files(const char *proc_root, const struct live_thread *t, unsigned *ret, size_t max)
{
	static const struct {
		const char *call;
		size_t (*files)(const char *, const struct live_thread *, unsigned *, size_t);
	} calls[] = {
		{"poll", files_of_poll},	{"ppoll", files_of_poll},	 {"select", files_of_select},
		{"pselect6", files_of_select}, {"epoll_wait", files_of_epoll}, {"epoll_pwait", files_of_epoll},
		{"epoll_pwait2", files_of_epoll},
	};

	for (size_t i = 0; t->call && i < ARRAY_SIZE(calls); i++)
		if (strcmp(calls[i].call, t->call) == 0)
			return calls[i].files(proc_root, t, ret, max);
	return 0;
}

unsigned live_thread_lock_owner(const char *proc_root, const struct live_thread *t)
{
	uint32_t words[GLIBC_OWNER + 1];
	struct live_thread owner;

	if (!t->call || strncmp(t->call, "futex", 5) != 0 || !live_thread_memory(proc_root, t, t->arguments[0], words, sizeof(words)) ||
	    words[0] != LOCK_WORD_WAITED || words[GLIBC_OWNER] == t->tid)
		return 0;
	return live_thread_read(proc_root, t->pid, words[GLIBC_OWNER], &owner) == 0 ? owner.tid : 0;
}

unsigned live_thread_child(const char *proc_root, const struct live_thread *t)
{
	int32_t named = (int32_t)t->arguments[0];
	char line[64];
	unsigned child, another;
	struct live_thread waited;
	int n;

	if (t->call && strcmp(t->call, "wait4") == 0 && named > 0 && live_thread_read(proc_root, (unsigned)named, (unsigned)named, &waited) == 0 &&
	    waited.parent == t->pid) /* else a number of its own namespace */
		return (unsigned)named;
	if (!line_of(proc_root, t, "children", line, sizeof(line)))
		return 0;
	n = sscanf(line, "%u %u", &child, &another);
	return n == 1 ? child : 0;
}

size_t live_children(const char *proc_root, unsigned pid, unsigned *ret, size_t max)
{
	unsigned tids[LIVE_THREADS_MAX];
	size_t threads = live_threads(proc_root, pid, tids, LIVE_THREADS_MAX), n = 0;

	for (size_t i = 0; i < threads && n < max; i++) {
		_cleanup_fclose_ FILE *f = NULL;

		f = fopen(STR_TEXT(PATH_BYTES, "%s/%u/task/%u/children", proc_root, pid, tids[i]), "re");
		while (f && n < max && fscanf(f, "%u", &ret[n]) == 1)
			n++;
	}
	return n;
}

/* --- the path of a call --- */

/* Which argument of a call is a path; those that are not here have a descriptor first. */
static int path_argument(const char *call)
{
	static const struct {
		const char *call;
		int argument;
	} calls[] = {
		{"open", 0},	 {"stat", 0},	   {"lstat", 0},      {"access", 0},   {"execve", 0},	 {"mkdir", 0},	{"rmdir", 0},	{"unlink", 0},
		{"rename", 0},	 {"readlink", 0},  {"truncate", 0},   {"chdir", 0},    {"creat", 0},	 {"chmod", 0},	{"statfs", 0},	{"openat", 1},
		{"openat2", 1},	 {"newfstatat", 1}, {"statx", 1},     {"faccessat", 1}, {"faccessat2", 1}, {"mkdirat", 1}, {"unlinkat", 1}, {"renameat", 1},
		{"renameat2", 1}, {"readlinkat", 1}, {"fchmodat", 1}, {"utimensat", 1}, {"linkat", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (strcmp(calls[i].call, call) == 0)
			return calls[i].argument;
	return -1;
}

/* To the end of its page at the most: what follows may not be there. */
static bool read_text(const char *proc_root, const struct live_thread *t, unsigned long long address, char *buf, size_t size)
{
	size_t n = PAGE - address % PAGE;
	char first[PAGE];

	if (!live_thread_memory(proc_root, t, address, first, n))
		return false;
	n = n < size - 1 ? n : size - 1;
	memcpy(buf, first, n);
	buf[n] = '\0';
	return *buf && strlen(buf) < n;
}

bool live_call_has_path(const char *call)
{
	return path_argument(call) >= 0;
}

bool live_thread_path(const char *proc_root, const struct live_thread *t, char *buf, size_t size)
{
	int argument = t->call ? path_argument(t->call) : -1;
	char folder[LIVE_PATH / 2], text[LIVE_PATH / 2], fd[32] = "cwd";

	if (argument < 0 || !read_text(proc_root, t, t->arguments[argument], text, sizeof(text)))
		return false;
	if (argument == 1 && (int)t->arguments[0] != AT_FDCWD)
		snprintf(fd, sizeof(fd), "fd/%d", (int)t->arguments[0]);
	if (*text == '/')
		return (size_t)snprintf(buf, size, "%s", text) < size;
	return live_link(proc_root, t->pid, fd, folder, sizeof(folder)) && (size_t)snprintf(buf, size, "%s/%s", folder, text) < size;
}
