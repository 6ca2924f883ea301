#include "lib/rights/write-path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/data/trusted-file.h"

#define LINKS_MAX 40 /* as the kernel's */

struct walk {
	int folder; /* where it is */
	char rest[PATH_MAX], name[NAME_MAX + 1];
	unsigned links;
	char **ret_error;
};

/* --- names --- */

static int find_folder(int from, const char *name, int flags)
{
	int fd = openat(from, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

static int enter(struct walk *w, int folder)
{
	if (folder < 0)
		return folder;
	cleanup_fd(&w->folder);
	w->folder = folder;
	return 0;
}

/* Puts `path` before what is left of the way. */
static int take_path(struct walk *w, const char *path)
{
	char whole[PATH_MAX];

	if ((size_t)snprintf(whole, sizeof(whole), "%s%s%s", path, *w->rest ? "/" : "", w->rest) >= sizeof(whole))
		return -ENAMETOOLONG;
	memcpy(w->rest, whole, sizeof(whole));
	return *path == '/' ? enter(w, find_folder(AT_FDCWD, "/", 0)) : 0;
}

/* "/var/log" -> name "var", rest "log". 1; 0: nothing is left; -errno */
static int take_name(struct walk *w)
{
	const char *from = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(from, "/"), rest = n + strspn(from + n, "/");

	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(w->name, from, n);
	w->name[n] = '\0';
	memmove(w->rest, from + rest, strlen(from + rest) + 1);
	return n > 0;
}

/* --- links --- */

static int refuse(const struct walk *w, const char *why)
{
	char folder[PATH_MAX];
	ssize_t n = readlink(STR_TEXT(64, "/proc/self/fd/%d", w->folder), folder, sizeof(folder) - 1);

	folder[n < 0 ? 0 : n] = '\0';
	str_make_printable(folder);
	return str_fail(w->ret_error, -EPERM, "%s/%s %s", folder, w->name, why);
}

/* A link of the kernel's, /proc/self/fd/1, leads to what is open, whose path may be another one by now. */
static bool is_kernels(int link)
{
	struct statfs fs;

	return fstatfs(link, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

static int follow(struct walk *w, int link)
{
	char target[PATH_MAX];
	ssize_t n;

	if (++w->links > LINKS_MAX)
		return -ELOOP;
	if (is_kernels(link))
		return enter(w, find_folder(w->folder, w->name, 0));
	n = readlinkat(link, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	return take_path(w, target);
}

/* --- the way --- */

static int find(const struct walk *w, bool make)
{
	int fd = openat(w->folder, w->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && make && mkdirat(w->folder, w->name, 0700) == 0)
		fd = openat(w->folder, w->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* One name further. 1: it is that of the file, which is not entered. */
static int step(struct walk *w, bool make, bool file)
{
	const bool last = file && !*w->rest;
	_cleanup_close_ int found = find(w, make && !last);
	struct stat st;

	if (found < 0)
		return found == -ENOENT && last ? 1 : found;
	if (fstat(found, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return last ? 1 : enter(w, find_folder(w->folder, w->name, O_NOFOLLOW));
	if (!trusted_entry(w->folder, &st))
		return refuse(w, "is a link that another user may have put there: name what it leads to");
	return last && is_kernels(found) ? 1 : follow(w, found);
}

/* `file`: up to the folder that it lies in, and its name, which may only be a link of the kernel's. 0, or -errno; w->folder is the caller's. */
static int walk(const char *path, bool make, bool file, struct walk *w)
{
	int r = enter(w, find_folder(AT_FDCWD, ".", 0));

	r = r ?: take_path(w, path);
	while (r == 0 && (r = take_name(w)) > 0)
		r = step(w, make, file);
	return r < 0 ? r : 0;
}

/* --- what is at its end --- */

int write_path_folder(const char *path, bool make, char **ret_error)
{
	struct walk w = {.folder = -1, .ret_error = ret_error};
	int fd, r = 0;

	*ret_error = NULL;
	if (geteuid() != 0) {
		if (make)
			(void)folder_make(path, 0700); /* its opening says what is wrong */
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	r = walk(path, make, false, &w);
	fd = r < 0 ? -1 : openat(w.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = r < 0 ? r : fd < 0 ? -errno : fd;
	cleanup_fd(&w.folder);
	return r;
}

int write_path_prepare(const char *file, mode_t mode, char **ret_error)
{
	struct walk w = {.folder = -1, .ret_error = ret_error};

	*ret_error = NULL;
	if (geteuid() == 0)
		(void)walk(file, false, true, &w);
	cleanup_fd(&w.folder);
	if (*ret_error)
		return -EPERM;
	(void)folder_make_parent(file, mode);
	return 0;
}

/* Where others may put another file of that name at any moment: what is open must be a file, and have this name alone. */
static int open_among_others(const struct walk *w, int flags, mode_t mode)
{
	_cleanup_close_ int fd =
		openat(w->folder, w->name, (flags & ~O_TRUNC) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
		return refuse(w, "is a device, a pipe or a hard link that another user may have put there: name another file");
	return flags & O_TRUNC && ftruncate(fd, 0) < 0 ? -errno : TAKE_FD(fd);
}

static int open_at(const struct walk *w, int flags, mode_t mode)
{
	struct stat st;
	int fd;

	if (fstatat(w->folder, w->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !trusted_entry(w->folder, &st))
		return open_among_others(w, flags, mode);
	fd = openat(w->folder, w->name, flags | O_CLOEXEC, mode);
	return fd < 0 ? -errno : fd;
}

int write_path_open(const char *path, int flags, mode_t mode, char **ret_error)
{
	struct walk w = {.folder = -1, .ret_error = ret_error};
	int r;

	*ret_error = NULL;
	if (geteuid() != 0) {
		r = open(path, flags | O_CLOEXEC, mode);
		return r < 0 ? -errno : r;
	}
	r = walk(path, false, true, &w);
	r = r < 0 ? r : open_at(&w, flags, mode);
	cleanup_fd(&w.folder);
	return r;
}

FILE *write_path_stream(const char *path, char how, char **ret_error)
{
	_cleanup_free_ char *reason = NULL;
	int fd = write_path_open(path, O_WRONLY | O_CREAT | (how == 'a' ? O_APPEND : how == 'x' ? O_EXCL : O_TRUNC), 0666, &reason);
	FILE *f = fd < 0 ? NULL : fdopen(fd, how == 'a' ? "a" : "w");
	int failure = fd < 0 ? -fd : errno;

	if (!f && fd >= 0)
		close(fd);
	if (!f)
		(void)str_fail(ret_error, -failure, "cannot write %s: %s", path, reason ? reason : strerror(failure));
	errno = failure;
	return f;
}
