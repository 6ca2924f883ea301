#include "machine/recording/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"

int journal_open(const char *run_dir, struct journal *ret)
{
	struct journal j = {.fd = -1};
	int r = folder_make(run_dir, 0755);

	if (r < 0)
		return r;
	if (asprintf(&j.dir, "%s/journal", run_dir) < 0)
		return -ENOMEM;
	r = folder_make(j.dir, 0700);
	if (r < 0) {
		free(j.dir);
		return r;
	}
	*ret = j;
	return 0;
}

void journal_close(struct journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	free(j->dir);
	*j = (struct journal){.fd = -1};
}

int journal_begin(struct journal *j, int64_t segment)
{
	_cleanup_free_ char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/%" PRId64, j->dir, segment) < 0)
		return -ENOMEM;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (j->fd >= 0)
		close(j->fd);
	j->fd = fd;
	j->segment = segment;
	j->size = 0;
	return 0;
}

int journal_append(struct journal *j, const void *frame, size_t n)
{
	ssize_t written = write(j->fd, frame, n);

	if (written == (ssize_t)n) {
		j->size += n;
		return 0;
	}
	if (written >= 0) { /* a part of a frame would spoil those behind it */
		if (ftruncate(j->fd, (off_t)j->size) < 0)
			return -errno;
		return -ENOSPC;
	}
	return -errno;
}

bool journal_is_gone(const struct journal *j)
{
	struct stat st;

	return j->fd >= 0 && fstat(j->fd, &st) == 0 && st.st_nlink == 0;
}

ORDER(compare, int64_t, CMP(*a, *b))

int journal_list(const char *run_dir, int64_t **ret, size_t *ret_n)
{
	VEC(int64_t) found = {};
	_cleanup_free_ char *path = NULL;
	DIR *dir;

	if (asprintf(&path, "%s/journal", run_dir) < 0)
		return -ENOMEM;
	dir = opendir(path);
	if (!dir && errno != ENOENT)
		return -errno;
	FOLDER_EACH(entry, dir) {
		uint64_t segment;

		if (str_parse_u64(entry.name, &segment) == 0)
			(void)VEC_PUSH(found, (int64_t)segment);
	}
	VEC_SORT(found, compare);
	*ret = found.v;
	*ret_n = found.n;
	return 0;
}

int journal_read(const char *run_dir, int64_t segment, uint64_t offset, char **ret, size_t *ret_n)
{
	_cleanup_free_ char *path = NULL, *bytes = NULL;
	_cleanup_close_ int fd = -1;
	size_t want;
	ssize_t have;
	struct stat st;

	if (asprintf(&path, "%s/journal/%" PRId64, run_dir, segment) < 0)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	want = (uint64_t)st.st_size > offset ? (size_t)st.st_size - (size_t)offset : 0;
	bytes = malloc(want + 1);
	if (!bytes)
		return -ENOMEM;
	have = lseek(fd, (off_t)offset, SEEK_SET) < 0 ? -errno : file_read(fd, bytes, want);
	if (have < 0)
		return (int)have;
	*ret = TAKE(bytes);
	*ret_n = (size_t)have;
	return 0;
}

bool journal_has(const char *run_dir, int64_t segment)
{
	_cleanup_free_ char *path = NULL;

	return run_dir && asprintf(&path, "%s/journal/%" PRId64, run_dir, segment) >= 0 && access(path, F_OK) == 0;
}

int journal_remove(const char *run_dir, int64_t segment)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/journal/%" PRId64, run_dir, segment) < 0)
		return -ENOMEM;
	return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
}

static uint64_t size_of(const char *run_dir, int64_t segment)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;

	if (asprintf(&path, "%s/journal/%" PRId64, run_dir, segment) < 0 || stat(path, &st) < 0)
		return 0;
	return (uint64_t)st.st_size;
}

int journal_trim(const char *run_dir, uint64_t most, int64_t *ret_dropped)
{
	_cleanup_free_ int64_t *segments = NULL;
	uint64_t total = 0;
	int64_t dropped = 0;
	size_t n = 0;
	int r = journal_list(run_dir, &segments, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		total += size_of(run_dir, segments[i]);
	for (size_t i = 0; r == 0 && i < n && total > most; i++) {
		total -= size_of(run_dir, segments[i]);
		r = journal_remove(run_dir, segments[i]);
		dropped++;
	}
	if (r == 0)
		*ret_dropped = dropped;
	return r;
}
