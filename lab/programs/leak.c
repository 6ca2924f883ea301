/* Opens files and forgets to close them. */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pace.h"

#define MOST 100000

int main(int argc, char **argv)
{
	long rate = number_argument(argc, argv, 1, "FILES_A_SECOND");
	struct rlimit limit = {MOST + 64, MOST + 64};
	int64_t next = clock_now(CLOCK_MONOTONIC);

	if (rate == 0 || setrlimit(RLIMIT_NOFILE, &limit) < 0) {
		perror(argv[0]);
		return 1;
	}
	for (long i = 0; i < MOST; i++) {
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			break;
		next += NS_PER_SEC / rate;
		sleep_until(next);
	}
	pause();
	return 0;
}
