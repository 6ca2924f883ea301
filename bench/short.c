/* Processes that are gone before anybody looks: short COUNT
 *
 * COUNT processes, one after the other, each of which computes for a millisecond of CPU time and exits. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIFETIME_NS 1000000

static long long cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void live(void)
{
	prctl(PR_SET_NAME, "one-millisecond");
	while (cpu_time() < LIFETIME_NS)
		;
	_exit(0);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0;

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			return 1;
		}
		if (pid == 0)
			live();
		waitpid(pid, NULL, 0);
	}
	return 0;
}
