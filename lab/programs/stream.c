/* Reads or writes a file from end to end, again and again, at an even rate: a backup, a camera's recording.
 * Reading goes round the page cache; writing goes through it and asks for no sync, and lets go of what it wrote some time
 * ago: so a second round costs what the first did. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "pace.h"

#define BLOCK MEBIBYTE
#define KEPT  (1024 * (off_t)BLOCK) /* of the page cache */

static ssize_t step(int fd, bool writing, void *block, off_t at)
{
	return writing ? pwrite(fd, block, BLOCK, at) : pread(fd, block, BLOCK, at);
}

int main(int argc, char **argv)
{
	static const char usage[] = "read|write FILE MEGABYTES MEGABYTES_A_SECOND";
	bool writing = argc > 1 && strcmp(argv[1], "write") == 0;
	off_t size = number_argument(argc, argv, 3, usage) * (off_t)BLOCK, at = 0;
	long rate = number_argument(argc, argv, 4, usage);
	int fd = open(argv[2], writing ? O_WRONLY | O_CREAT : O_RDONLY | O_DIRECT, 0600);
	int64_t next = clock_now(CLOCK_MONOTONIC);
	void *block = aligned_alloc(4096, BLOCK);

	if (fd < 0 || !block || rate == 0) {
		perror(argv[2]);
		return 1;
	}
	memset(block, 'x', BLOCK);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	for (;;) {
		if (step(fd, writing, block, at) != BLOCK) {
			perror(argv[2]);
			return 1;
		}
		if (writing && size > KEPT)
			posix_fadvise(fd, at >= KEPT ? at - KEPT : size + at - KEPT, BLOCK, POSIX_FADV_DONTNEED);
		at = at + (off_t)BLOCK < size ? at + (off_t)BLOCK : 0;
		next += NS_PER_SEC / rate;
		if (next + NS_PER_SEC < clock_now(CLOCK_MONOTONIC))
			next = clock_now(CLOCK_MONOTONIC);
		sleep_until(next);
	}
}
