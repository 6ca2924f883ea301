#include "tests/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct fault_plan planned;
static atomic_uint calls;
static char folder_of_environment[PATH_MAX];

void fault_plan(const struct fault_plan *plan)
{
	planned = plan ? *plan : (struct fault_plan){};
	calls = 0;
}

unsigned fault_calls(void)
{
	return calls;
}

/* --- which calls count --- */

static bool is_below(const char *path)
{
	const size_t n = planned.folder ? strlen(planned.folder) : 0;

	return n && strncmp(path, planned.folder, n) == 0 && path[n] == '/';
}

/* The path of an open file; "" of what has none. */
static void path_of(int fd, char path[static PATH_MAX])
{
	char link[40];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = '\0';
}

static bool concerns(int fd)
{
	char path[PATH_MAX];

	if (!planned.folder)
		return false;
	path_of(fd, path);
	return is_below(path);
}

/* --- what happens --- */

static void end(void)
{
	syscall(SYS_kill, getpid(), SIGKILL);
}

static bool is_asked_for(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s" FAULT_ASKED, planned.folder);
	return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

/* Counts a call. 0 = it shall be done; -1 = it has failed, and errno says how. */
static int meet(void)
{
	const unsigned n = ++calls;
	const bool now = planned.call ? n == planned.call || (planned.lasts && n > planned.call) : is_asked_for();

	if (!now || planned.kind == FAULT_NONE || planned.kind == FAULT_TORN)
		return 0;
	if (planned.kind == FAULT_KILL)
		end();
	errno = planned.error;
	return -1;
}

static size_t bytes_left(size_t n)
{
	return planned.kind == FAULT_TORN && calls == planned.call ? n / 2 : n;
}

static ssize_t written(size_t asked, ssize_t n)
{
	if (bytes_left(asked) != asked)
		end();
	return n;
}

/* --- what a power cut leaves --- */

static void copy_bytes(int from, int to)
{
	static char bytes[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = syscall(SYS_pread64, from, bytes, sizeof(bytes), at)) > 0) {
		(void)!syscall(SYS_write, to, bytes, n);
		at += n;
	}
}

/* The copy's path. */
static const char *durable_of(const char *path)
{
	static char copy[2 * PATH_MAX];
	const char *name = strrchr(path, '/');

	snprintf(copy, sizeof(copy), "%s/%s", planned.durable, name ? name + 1 : path);
	return copy;
}

static int open_durable(const char *path)
{
	return (int)syscall(SYS_openat, AT_FDCWD, durable_of(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static void keep_durable(int fd)
{
	char path[PATH_MAX], again[40];
	int from, to;

	if (!planned.durable)
		return;
	path_of(fd, path);
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd); /* fd may be open for writing alone */
	from = (int)syscall(SYS_openat, AT_FDCWD, again, O_RDONLY | O_CLOEXEC, 0);
	to = open_durable(path);
	if (from >= 0 && to >= 0)
		copy_bytes(from, to);
	syscall(SYS_close, from);
	syscall(SYS_close, to);
}

static void forget_durable(const char *path)
{
	if (planned.durable)
		syscall(SYS_unlinkat, AT_FDCWD, durable_of(path), 0);
}

/* --- in place of the C library's: what is built for files of any size (-D_FILE_OFFSET_BITS=64) calls these names --- */

ssize_t write(int fd, const void *bytes, size_t n)
{
	if (!concerns(fd))
		return syscall(SYS_write, fd, bytes, n);
	return meet() < 0 ? -1 : written(n, syscall(SYS_write, fd, bytes, bytes_left(n)));
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
	if (!concerns(fd))
		return syscall(SYS_pwrite64, fd, bytes, n, at);
	return meet() < 0 ? -1 : written(n, syscall(SYS_pwrite64, fd, bytes, bytes_left(n), at));
}

int ftruncate64(int fd, off64_t length)
{
	if (concerns(fd) && meet() < 0)
		return -1;
	return (int)syscall(SYS_ftruncate, fd, length);
}

static int sync_file(int fd, long number)
{
	if (!concerns(fd))
		return (int)syscall(number, fd);
	if (meet() < 0)
		return -1;
	keep_durable(fd); /* and no disk is waited for */
	return 0;
}

int fsync(int fd)
{
	return sync_file(fd, SYS_fsync);
}

int fdatasync(int fd)
{
	return sync_file(fd, SYS_fdatasync);
}

int unlink(const char *path)
{
	if (is_below(path)) {
		if (meet() < 0)
			return -1;
		forget_durable(path);
	}
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int rename(const char *from, const char *to)
{
	if (is_below(to) && meet() < 0)
		return -1;
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int posix_fallocate64(int fd, off64_t at, off64_t n)
{
	if (concerns(fd) && meet() < 0)
		return errno;
	return syscall(SYS_fallocate, fd, 0, at, n) < 0 ? errno : 0;
}

int open64(const char *path, int flags, ...)
{
	const bool changes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC));
	mode_t mode;
	va_list list;

	va_start(list, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;
	va_end(list);
	if (changes && is_below(path) && meet() < 0)
		return -1;
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* --- as an LD_PRELOAD --- */

static bool parse_kind(const char *text, size_t n, struct fault_plan *plan)
{
	static const struct {
		const char *name;
		enum fault_kind kind;
		int error;
	} kinds[] = {{"kill", FAULT_KILL, 0}, {"torn", FAULT_TORN, 0}, {"EIO", FAULT_ERROR, EIO}, {"ENOSPC", FAULT_ERROR, ENOSPC}, {"EROFS", FAULT_ERROR, EROFS}};

	plan->lasts = n > 0 && text[n - 1] == '+';
	n -= plan->lasts;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i].name) == n && strncmp(kinds[i].name, text, n) == 0) {
			plan->kind = kinds[i].kind;
			plan->error = kinds[i].error;
			return true;
		}
	return false;
}

__attribute__((constructor)) static void plan_by_environment(void)
{
	const char *text = getenv("FAULT"), *colon = text ? strchr(text, ':') : NULL;
	struct fault_plan plan = {.folder = folder_of_environment};

	if (!colon || !parse_kind(text, (size_t)(colon - text), &plan) ||
	    sscanf(colon, ":%u:%4095s", &plan.call, folder_of_environment) != 2)
		return;
	fault_plan(&plan);
}
