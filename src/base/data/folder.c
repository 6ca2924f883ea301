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

int make_folder_of(const char *file, mode_t mode)
{
	_cleanup_free_ char *folder = strdup(file);
	char *slash = folder ? strrchr(folder, '/') : NULL;

	if (!folder)
		return -ENOMEM;
	if (!slash || slash == folder)
		return 0;
	*slash = '\0';
	return make_folders(folder, mode);
}

bool folder_path_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}
