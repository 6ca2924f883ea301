#include "lib/data/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"

int folder_make(const char *path, mode_t mode)
{
	_cleanup_free_ char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *at = strchr(copy + (*copy == '/'), '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(copy, 0755);
		*at = '/';
	}
	return mkdir(copy, mode) == 0 || errno == EEXIST ? 0 : -errno;
}

int folder_check_owner(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return -EPERM;
	return 0;
}

char *folder_of(const char *file)
{
	const char *slash = strrchr(file, '/');

	return !slash ? strdup(".") : strndup(file, slash == file ? 1 : (size_t)(slash - file));
}

int folder_make_parent(const char *file, mode_t mode)
{
	_cleanup_free_ char *folder = folder_of(file);

	return folder ? folder_make(folder, mode) : -ENOMEM;
}

bool folder_path_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

DIR *folder_open_at(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *opened = fd < 0 ? NULL : fdopendir(fd);

	if (!opened && fd >= 0)
		close(fd);
	return opened;
}

bool folder_walk_next(struct folder_walk *w)
{
	const struct dirent *e;

	do {
		e = w->folder ? readdir(w->folder) : NULL;
	} while (e && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
	w->name = e ? e->d_name : NULL;
	w->type = e ? e->d_type : DT_UNKNOWN;
	return e;
}

void folder_walk_end(struct folder_walk *w)
{
	folder_close(&w->folder);
}

char *folder_own(const char *file, const char *what)
{
	_cleanup_free_ char *real = realpath(file, NULL); /* a link is another name of the same recording */
	const char *name = real ? real : file;
	size_t n = strlen(name), stem = n > 3 && strcmp(name + n - 3, ".db") == 0 ? n - 3 : n;
	char *path;

	return asprintf(&path, "%.*s.%s", (int)stem, name, what) < 0 ? NULL : path;
}

char *folder_beside(const char *file, const char *what)
{
	_cleanup_free_ char *own = folder_own(file, what), *folder = folder_of(file);
	char *path;

	if (!folder || !own)
		return NULL;
	if (folder_path_exists(own))
		return TAKE(own);
	return asprintf(&path, "%s/%s", folder, what) < 0 ? NULL : path;
}

/* NULL: none that is a place by itself. */
static const char *home_of_user(void)
{
	const char *home = getenv("HOME");
	const struct passwd *user = home && *home == '/' ? NULL : getpwuid(geteuid());

	return user ? (user->pw_dir && *user->pw_dir == '/' ? user->pw_dir : NULL) : home && *home == '/' ? home : NULL;
}

char *folder_of_user(const char *variable, const char *below, const char *path)
{
	const char *base = getenv(variable), *home = base && *base == '/' ? NULL : home_of_user();
	char *whole;

	if (base && *base == '/')
		return asprintf(&whole, "%s/%s", base, path) < 0 ? NULL : whole;
	if (!home) {
		errno = ENOENT;
		return NULL;
	}
	return asprintf(&whole, "%s/%s/%s", home, below, path) < 0 ? NULL : whole;
}
