#include "base/system/outside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/data/cleanup.h"

/* Of one that was found with O_PATH: the same file, whatever lies at its path by now. O_NONBLOCK also where another
 * process holds a lease on it. */
static int read_found(int found)
{
	char path[64];
	struct stat st;
	int fd;

	if (fstat(found, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int outside_open_regular(const char *path)
{
	_cleanup_close_ int found = open(path, O_PATH | O_CLOEXEC);

	return found < 0 ? -errno : read_found(found);
}

static int find(int folder, const char *path, unsigned flags, unsigned resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
	int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int outside_open_in_folder(int folder, const char *name)
{
	_cleanup_close_ int found = find(folder, name, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);

	return found < 0 ? found : read_found(found);
}

static int find_below(const char *root, const char *path, unsigned flags)
{
	_cleanup_close_ int folder = open(*root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return folder < 0 ? -errno : find(folder, path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

int outside_open_below(const char *root, const char *path)
{
	_cleanup_close_ int found = find_below(root, path, O_PATH);

	return found < 0 ? found : read_found(found);
}

int outside_open_folder_below(const char *root, const char *path)
{
	return find_below(root, path, O_RDONLY | O_DIRECTORY);
}
