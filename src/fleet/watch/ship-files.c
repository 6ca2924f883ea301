#include "fleet/watch/ship-files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/log.h"
#include "lib/data/own-folder.h"
#include "lib/rights/outside.h"

static const char *const kinds[] = {"traces", "profiles"};

/* --- a folder and its likeness --- */

static int copy_bytes(int from, int to)
{
	char piece[65536];
	ssize_t n;

	while ((n = read(from, piece, sizeof(piece))) > 0)
		if (write(to, piece, (size_t)n) != n)
			return -ENOSPC;
	return n < 0 ? -errno : 0;
}

/* The copy has the time of the original: by it and the size a later run knows that it has this one. */
static int copy_file(int from, int to, const char *name, const struct stat *st)
{
	const struct timespec times[2] = {st->st_mtim, st->st_mtim};
	_cleanup_close_ int source = outside_open_in_folder(from, name), copy = -1;
	int r;

	if (source < 0)
		return source == -ENOENT ? 0 : source; /* deleted in the meantime */
	copy = openat(to, ".unfinished", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (copy < 0)
		return -errno;
	r = copy_bytes(source, copy);
	if (r == 0 && (futimens(copy, times) < 0 || renameat(to, ".unfinished", to, name) < 0))
		r = -errno;
	if (r < 0)
		(void)unlinkat(to, ".unfinished", 0);
	return r;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int bring(int from, int to, const char *name)
{
	struct stat there, here;

	if (*name == '.' || fstatat(from, name, &here, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(here.st_mode))
		return 0;
	if (fstatat(to, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && is_same(&here, &there))
		return 0;
	return copy_file(from, to, name, &here);
}

static int drop(int from, int to, const char *name)
{
	if (*name != '.' && faccessat(from, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		(void)unlinkat(to, name, 0);
	return 0;
}

/* For each name in `listed`. */
static int each_name(const char *listed, int from, int to, int (*act)(int from, int to, const char *name))
{
	_cleanup_(folder_close) DIR *dir = opendir(listed);
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	for (struct dirent *entry; r == 0 && (entry = readdir(dir));)
		r = act(from, to, entry->d_name);
	return r;
}

static int make_alike(const char *from, int pool, const char *name)
{
	_cleanup_close_ int source = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC), copy = -1;
	_cleanup_free_ char *aside = NULL, *listed = NULL;
	int r;

	if (source < 0)
		return errno == ENOENT ? 0 : -errno;
	copy = own_folder_open(pool, name, &aside);
	if (aside)
		log_warning("another folder or file had the name %s where the recordings lie: it is left alone, as %s", name, aside);
	if (copy < 0)
		return copy;
	if (asprintf(&listed, "/proc/self/fd/%d", copy) < 0) {
		listed = NULL;
		return -ENOMEM;
	}
	r = each_name(from, source, copy, bring);
	return r < 0 ? r : each_name(listed, source, copy, drop);
}

int ship_files_to_folder(const char *store_file, const char *to, const char *name)
{
	_cleanup_close_ int pool = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = pool < 0 ? -errno : 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == 0; i++) {
		_cleanup_free_ char *from = folder_beside(store_file, kinds[i]), *copy = NULL;

		if (!from || asprintf(&copy, "%s.%s", name, kinds[i]) < 0)
			return -ENOMEM;
		r = make_alike(from, pool, copy);
		if (r < 0)
			log_error("cannot copy %s to %s/%s: %s", from, to, copy, strerror(-r));
	}
	return r;
}

/* --- what is new --- */

static int each_new(const char *folder, const char *kind, const char *name, int64_t since,
		    int (*each)(int fd, const char *place, void *data), void *data)
{
	_cleanup_(folder_close) DIR *dir = opendir(folder);
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	for (struct dirent *entry; r == 0 && (entry = readdir(dir));) {
		_cleanup_free_ char *place = NULL;
		_cleanup_close_ int fd = -1;
		struct stat st;

		if (*entry->d_name == '.' || fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (st.st_mtim.tv_sec * NS_PER_SEC + st.st_mtim.tv_nsec < since)
			continue;
		if (asprintf(&place, "%s.%s/%s", name, kind, entry->d_name) < 0)
			return -ENOMEM;
		fd = outside_open_in_folder(dirfd(dir), entry->d_name);
		r = fd < 0 ? fd : each(fd, place, data);
		r = r == -ENOENT ? 0 : r; /* deleted in the meantime */
	}
	return r;
}

int ship_files_each(const char *store_file, const char *name, int64_t since, int (*each)(int fd, const char *place, void *data),
		    void *data)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == 0; i++) {
		_cleanup_free_ char *folder = folder_beside(store_file, kinds[i]);

		r = folder ? each_new(folder, kinds[i], name, since, each, data) : -ENOMEM;
	}
	return r;
}
