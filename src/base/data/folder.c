#include "base/data/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/cleanup.h"

int make_folders(const char *path, mode_t mode)
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

int check_folder_owner(const char *path)
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

int make_folder_of(const char *file, mode_t mode)
{
	_cleanup_free_ char *folder = folder_of(file);

	return folder ? make_folders(folder, mode) : -ENOMEM;
}

bool folder_path_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}
