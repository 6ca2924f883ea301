/* Opens files and forgets to close them. */
#include <fcntl.h>
#include <unistd.h>

#include "pace.h"

int main(int argc, char **argv)
{
	long rate = number_argument(argc, argv, 1, "FILES_A_SECOND");
	int64_t next = clock_now(CLOCK_MONOTONIC);

	allow_files();
	while (rate > 0 && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
		next += NS_PER_SEC / rate;
		sleep_until(next);
	}
	pause();
	return 0;
}
