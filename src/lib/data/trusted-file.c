#include "lib/data/trusted-file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/str.h"

#define TEXT_MAX ((size_t)1 << 20)

static bool is_administrator(uid_t uid)
{
	const char *text = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
	uint64_t caller;

	return uid == 0 || (text && str_parse_u64(text, &caller) == 0 && caller == uid);
}

/* A folder of a mount that is read-only, as Kubernetes makes them of settings, may have any mode. So may a device: what is written to it is not
 * what is read. */
static bool others_may_write(const char *path, const struct stat *st)
{
	struct statvfs fs;

	if (S_ISCHR(st->st_mode) || (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX || (statvfs(path, &fs) == 0 && fs.f_flag & ST_RDONLY))))
		return false;
	return st->st_mode & S_IWOTH || (st->st_mode & S_IWGRP && st->st_gid != 0);
}

static int check_one(const char *path, const struct stat *st, char **ret_error)
{
	if (!is_administrator(st->st_uid))
		return str_fail(ret_error, -EPERM, "%s belongs to user %u, who could change what is obeyed here: chown root %s", path, st->st_uid, path);
	if (others_may_write(path, st))
		return str_fail(ret_error, -EPERM, "users other than root may write to %s and change what is obeyed here: chmod go-w %s", path, path);
	return 0;
}

/* Folders by the path that the kernel knows of what is open: none of them is a link. A pipe and a file without a name are in none. */
static int check_way(int fd, char **ret_error)
{
	char link[64], path[PATH_MAX];
	struct stat st;
	ssize_t n;
	int r;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0 || fstat(fd, &st) < 0)
		return -errno;
	path[n] = '\0';
	r = check_one(path, &st, ret_error);
	for (char *slash; r == 0 && st.st_nlink && path[1] && (slash = strrchr(path, '/'));) {
		slash[slash == path] = '\0';
		r = lstat(path, &st) < 0 ? -errno : check_one(path, &st, ret_error);
	}
	return r;
}

int trusted_file_open(const char *path, char **ret_error)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r;

	*ret_error = NULL;
	if (fd < 0)
		return -errno;
	r = geteuid() == 0 || str_starts(path, TRUSTED_FOLDER "/") ? check_way(fd, ret_error) : 0;
	return r < 0 ? r : TAKE_FD(fd);
}

int trusted_file_read(const char *path, char **ret_text, char **ret_error)
{
	_cleanup_close_ int fd = trusted_file_open(path, ret_error);
	_cleanup_free_ char *text = fd < 0 ? NULL : malloc(TEXT_MAX + 1);
	ssize_t n;

	if (fd < 0)
		return fd;
	if (!text)
		return -ENOMEM;
	n = file_read(fd, text, TEXT_MAX);
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	if (n == TEXT_MAX || (ssize_t)strlen(text) != n)
		return str_fail(ret_error, -EINVAL, "%s is not a text of less than 1 MiB", path);
	*ret_text = TAKE(text);
	return 0;
}

static int is_wanted(const struct dirent *e)
{
	return e->d_name[0] != '.' && e->d_name[strlen(e->d_name) - 1] != '~';
}

static int read_one(const char *path, trusted_file_taker take, void *to, char **ret_error)
{
	_cleanup_free_ char *text = NULL;
	int r = trusted_file_read(path, &text, ret_error);

	return r < 0 ? r : take(text, path, to, ret_error);
}

int trusted_files_read(const char *path, trusted_file_taker take, void *to, char **ret_error)
{
	struct dirent **names;
	int n = scandir(path, &names, is_wanted, alphasort), r = n < 0 ? -errno : 0;

	*ret_error = NULL;
	if (r == -ENOTDIR)
		return read_one(path, take, to, ret_error);
	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *file = NULL;

		if (r == 0 && asprintf(&file, "%s/%s", path, names[i]->d_name) < 0) {
			file = NULL;
			r = -ENOMEM;
		}
		if (r == 0)
			r = read_one(file, take, to, ret_error);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return r;
}

bool trusted_entry(int folder, const struct stat *entry)
{
	struct stat st;

	return fstat(folder, &st) == 0 && is_administrator(st.st_uid) && !others_may_write(STR_TEXT(64, "/proc/self/fd/%d", folder), &st) &&
	       (!(st.st_mode & S_ISVTX) || is_administrator(entry->st_uid));
}
