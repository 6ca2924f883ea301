/* A word processor: saves a document, waits until the guard has looked at it, and saves the next. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "pace.h"

#define DOCUMENT "document"
#define CLEAN	 DOCUMENT ".clean"
#define PATIENCE 400 /* looks at 5 ms each: then it goes on without */

static int save(long kilobytes, long version)
{
	static char page[1024];
	int fd = open(DOCUMENT, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	memset(page, (int)('a' + version % 26), sizeof(page));
	for (long i = 0; i < kilobytes; i++)
		if (write(fd, page, sizeof(page)) != sizeof(page))
			return -1;
	return close(fd);
}

int main(int argc, char **argv)
{
	static const char usage[] = "FOLDER KILOBYTES PAUSE_MILLISECONDS";
	long kilobytes = number_argument(argc, argv, 2, usage), pause = number_argument(argc, argv, 3, usage);

	if (chdir(argv[1]) < 0) {
		perror(argv[1]);
		return 1;
	}
	for (long version = 0;; version++) {
		unlink(CLEAN);
		if (save(kilobytes, version) < 0)
			return 1;
		for (int i = 0; i < PATIENCE && access(CLEAN, F_OK) < 0; i++)
			sleep_until(clock_now(CLOCK_MONOTONIC) + 5 * NS_PER_MS);
		sleep_until(clock_now(CLOCK_MONOTONIC) + pause * NS_PER_MS);
	}
}
