/* Reads or writes a file from end to end, again and again, at an even rate (0: as fast as it goes), in one process or several: a
 * backup, a camera's recording.
 * Reading goes round the page cache; writing goes through it and asks for no sync, and lets go of what it wrote some time
 * ago: so a second round costs what the first did. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "pace.h"

#define BLOCK MEBIBYTE
#define KEPT  (1024 * (off_t)BLOCK) /* of the page cache */

static ssize_t step(int fd, bool writing, void *block, off_t at)
{
	return writing ? pwrite(fd, block, BLOCK, at) : pread(fd, block, BLOCK, at);
}

/* Which one this is, of `n` that end with the first. */
static long become_one_of(long n)
{
	pid_t first = getpid();

	for (long i = 1; i < n; i++) {
		if (fork() != 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != first)
			_exit(1);
		return i;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const char usage[] = "read|write FILE MEGABYTES MEGABYTES_A_SECOND [PROCESSES]";
	bool writing = argc > 1 && strcmp(argv[1], "write") == 0;
	off_t size = number_argument(argc, argv, 3, usage) * (off_t)BLOCK, at = 0;
	long rate = number_argument(argc, argv, 4, usage), processes = argc > 5 ? number_argument(argc, argv, 5, usage) : 1;
	int fd = open(argv[2], writing ? O_WRONLY | O_CREAT : O_RDONLY | O_DIRECT, 0600);
	int64_t next = clock_now(CLOCK_MONOTONIC);
	void *block = aligned_alloc(4096, BLOCK);

	if (fd < 0 || !block || size < (off_t)BLOCK || processes == 0) {
		perror(argv[2]);
		return 1;
	}
	at = size / (off_t)BLOCK * become_one_of(processes) / processes * (off_t)BLOCK; /* each begins elsewhere */
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
		if (!rate)
			continue;
		next += NS_PER_SEC / rate;
		if (next + NS_PER_SEC < clock_now(CLOCK_MONOTONIC))
			next = clock_now(CLOCK_MONOTONIC);
		sleep_until(next);
	}
}
