/* Room on the disk for what frees room: to delete a row SQLite first writes to its log. FILE.reserve holds nothing; it is given up
 * when the disk is full, and made again when there is room. */
#include <fcntl.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "machine/recording/internal.h"

#define RESERVE ((off_t)1 << 20) /* the log of deleting a segment, and of moving VACUUM_PAGES */

static char *reserve_of(const struct store *s)
{
	char *path;

	return asprintf(&path, "%s.reserve", s->file) < 0 ? NULL : path;
}

void store_make_reserve(const struct store *s)
{
	_cleanup_free_ char *path = reserve_of(s);
	_cleanup_close_ int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;

	if (fd >= 0 && posix_fallocate(fd, 0, RESERVE) != 0)
		(void)unlink(path); /* half of it helps nothing */
}

bool store_use_reserve(const struct store *s)
{
	_cleanup_free_ char *path = reserve_of(s);

	return path && unlink(path) == 0;
}
