#include "lib/rights/own-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/rights/write-path.h"

#define MADE   "copy.unfinished" /* the file in the making; SQLite's next to it begin with the same */
#define LABEL  ".whyslow-folder" /* holds the name of the folder it was made for */
#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* --- whose it is --- */

static uint64_t random_number(void)
{
	uint64_t n = 0;

	(void)!getrandom(&n, sizeof(n), 0);
	return n;
}

/* As whom this file system sees us: a server of files may take root for another user. Asked of a file that the call itself made. */
static int find_own_user(int within, uid_t *ret)
{
	char name[40];
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	snprintf(name, sizeof(name), ".whyslow.%016" PRIx64, random_number());
	fd = openat(within, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fstat(fd, &st) < 0 ? -errno : 0;
	(void)unlinkat(within, name, 0);
	if (r == 0)
		*ret = st.st_uid;
	return r;
}

/* 0; -EPERM: others may write it. */
static int check_own(int within, int folder)
{
	uid_t own = geteuid();
	struct stat st;
	int r = 0;

	if (fstat(folder, &st) < 0)
		return -errno;
	if (st.st_uid != own)
		r = find_own_user(within, &own);
	return r < 0 ? r : st.st_uid == own && !(st.st_mode & (S_IWGRP | S_IWOTH)) ? 0 : -EPERM;
}

/* --- one file --- */

/* The files of a copy in the making, in a folder whose files only we can have made. */
static void remove_files(int folder)
{
	FOLDER_EACH(entry, folder_open_at(folder, "."))
		if (strncmp(entry.name, MADE, strlen(MADE)) == 0)
			(void)unlinkat(folder, entry.name, 0);
}

static bool is_left_of(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(name, prefix, n) == 0 && strlen(name) == n + 16 && strspn(name + n, "0123456789abcdef") == 16;
}

/* Killed runs left such folders. Another folder of such a name holds no file of that kind, or is not empty after that, and stays. */
static void remove_left(int within, const char *prefix)
{
	FOLDER_EACH(entry, folder_open_at(within, ".")) {
		_cleanup_close_ int folder = is_left_of(entry.name, prefix) ? openat(within, entry.name, FOLDER) : -1;

		if (folder < 0 || check_own(within, folder) < 0)
			continue;
		remove_files(folder);
		(void)unlinkat(within, entry.name, AT_REMOVEDIR);
	}
}

static int make_folder(struct own_file *f)
{
	if (mkdirat(f->within, f->folder_name, 0700) < 0)
		return -errno;
	f->folder = openat(f->within, f->folder_name, FOLDER);
	return f->folder < 0 ? -errno : check_own(f->within, f->folder);
}

/* Before a library that would choose who may read it. */
static int make_file(const struct own_file *f, mode_t mode)
{
	_cleanup_close_ int fd = openat(f->folder, MADE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	return fd < 0 ? -errno : 0;
}

static int make(struct own_file *f, const char *name, mode_t mode)
{
	char prefix[NAME_MAX - 16]; /* 16 digits follow it */
	int r;

	if ((size_t)snprintf(prefix, sizeof(prefix), ".%s.", name) >= sizeof(prefix))
		return -ENAMETOOLONG;
	remove_left(f->within, prefix);
	snprintf(f->folder_name, sizeof(f->folder_name), "%s%016" PRIx64, prefix, random_number());
	r = make_folder(f);
	return r ?: make_file(f, mode);
}

int own_file_begin(const char *within, const char *name, mode_t mode, struct own_file *ret, char **ret_error)
{
	struct own_file f = {.folder = -1, .within = write_path_folder(within, true, ret_error)};
	int r = f.within < 0 ? f.within : make(&f, name, mode);

	if (r == 0) {
		snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d/" MADE, f.folder);
		*ret = f;
		return 0;
	}
	own_file_end(&f);
	if (r == -EPERM && !*ret_error)
		return str_fail(ret_error, r, "in %s others may write into every folder: name a file elsewhere", within);
	return *ret_error ? r : str_fail(ret_error, r, "%s", strerror(-r));
}

int own_file_publish(const struct own_file *f, const char *name, bool replace)
{
	if (replace)
		return renameat(f->folder, MADE, f->within, name) < 0 ? -errno : 0;
	if (renameat2(f->folder, MADE, f->within, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return linkat(f->folder, MADE, f->within, name, 0) < 0 ? -errno : 0; /* a file system that cannot (NFS) */
}

int own_file_open(const struct own_file *f)
{
	int fd = openat(f->folder, MADE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void own_file_end(struct own_file *f)
{
	if (f->folder >= 0) {
		remove_files(f->folder);
		close(f->folder);
	}
	if (f->within >= 0 && *f->folder_name)
		(void)unlinkat(f->within, f->folder_name, AT_REMOVEDIR);
	cleanup_fd(&f->within);
	*f = (struct own_file){.within = -1, .folder = -1};
}

/* --- a folder that stays --- */

static bool is_empty(int folder)
{
	DIR *dir = folder_open_at(folder, ".");
	bool opened = dir;

	FOLDER_EACH(entry, dir)
		return false;
	return opened;
}

static bool has_label(int folder, const char *name)
{
	_cleanup_close_ int fd = openat(folder, LABEL, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[NAME_MAX + 1];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	return n >= 0 && (size_t)n == strlen(name) && memcmp(text, name, (size_t)n) == 0;
}

static int put_label(int folder, const char *name)
{
	_cleanup_close_ int fd = openat(folder, LABEL, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	return write(fd, name, strlen(name)) == (ssize_t)strlen(name) ? 0 : -ENOSPC;
}

/* -EPERM: it is another one. */
static int open_labeled(int within, const char *name)
{
	_cleanup_close_ int folder = openat(within, name, FOLDER);
	int r = folder < 0 ? -errno : check_own(within, folder);

	if (r == -ELOOP || r == -ENOTDIR)
		return -EPERM;
	if (r == 0 && !has_label(folder, name))
		r = is_empty(folder) ? put_label(folder, name) : -EPERM;
	return r < 0 ? r : TAKE_FD(folder);
}

static int move_aside(int within, const char *name, char **ret_aside)
{
	_cleanup_free_ char *aside = NULL;

	if (asprintf(&aside, "%s.not-ours-%016" PRIx64, name, random_number()) < 0) {
		aside = NULL;
		return -ENOMEM;
	}
	if (renameat(within, name, within, aside) < 0)
		return -errno;
	*ret_aside = TAKE(aside);
	return 0;
}

int own_folder_open(int within, const char *name, char **ret_aside)
{
	int r;

	*ret_aside = NULL;
	r = mkdirat(within, name, 0700) < 0 && errno != EEXIST ? -errno : open_labeled(within, name);
	if (r != -EPERM)
		return r;
	r = move_aside(within, name, ret_aside);
	return r ?: (mkdirat(within, name, 0700) < 0 ? -errno : open_labeled(within, name));
}
