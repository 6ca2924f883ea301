/* A button that is held ready, as a session's agent is: each line of standard input marks a moment; prints the milliseconds.
 * press RUN_DIR */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "machine/agent/priority-guard.h"
#include "machine/client/request.h"

int main(int argc, char **argv)
{
	char *words[] = {(char *)"mark", (char *)"storm", NULL};
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct priority_guard *guard;
	char line[8];

	if (argc != 2 || nowhere < 0 || mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		return 2;
	(void)priority_guard_start(STDIN_FILENO, &guard);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		int64_t begun = clock_monotonic();
		struct service_request q;
		int r = request_begin(argv[1], 2, words, &q);

		if (r >= 0)
			r = request_copy(&q, nowhere, nowhere);
		if (r >= 0)
			r = request_end(&q);
		if (r != 0)
			return 1;
		printf("%.3f\n", (double)(clock_monotonic() - begun) / 1e6);
	}
	return 0;
}
