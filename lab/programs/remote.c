/* A server that is asked now and then, and the one who asks: "remote serve ADDRESS PORT", "remote ask ADDRESS
 * PORT". The server answers at once; after SIGUSR1 it takes a second for each answer. Who asks tells how late
 * answers were, as the editor does: "UNIX_TIME WORST_MILLISECONDS". */
#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pace.h"

#define ASK_EVERY (50 * NS_PER_MS)
#define LATE	  NS_PER_SEC

static volatile sig_atomic_t is_late;

static void become_late(int unused)
{
	(void)unused;
	is_late = 1;
}

static void answer(int fd)
{
	char byte;

	while (read(fd, &byte, 1) == 1) {
		if (is_late)
			sleep_until(clock_now(CLOCK_MONOTONIC) + LATE);
		if (write(fd, &byte, 1) != 1)
			break;
	}
	close(fd);
}

static int serve(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
	struct sigaction late = {.sa_handler = become_late, .sa_flags = SA_RESTART};

	sigaction(SIGUSR1, &late, NULL);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 || listen(fd, 4) < 0) {
		perror("serve");
		return 1;
	}
	for (;;)
		answer(accept(fd, NULL, NULL));
}

static int call(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	for (int i = 0; i < 50; i++) {
		if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0)
			return fd;
		sleep_until(clock_now(CLOCK_MONOTONIC) + 100 * NS_PER_MS);
	}
	perror("ask");
	return -1;
}

static int ask(const struct sockaddr_in *at)
{
	int fd = call(at);
	double worst = 0;
	char byte = 'x';

	for (time_t told = time(NULL); fd >= 0;) {
		int64_t begin = clock_now(CLOCK_MONOTONIC);
		double took;

		if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1)
			return 1;
		took = (double)(clock_now(CLOCK_MONOTONIC) - begin) / 1e6;
		worst = took > worst ? took : worst;
		compute(NS_PER_MS / 2);
		if (time(NULL) != told) {
			told = time(NULL);
			printf("%ld %.1f\n", (long)told, worst);
			fflush(stdout);
			worst = 0;
		}
		sleep_until(begin + ASK_EVERY);
	}
	return 1;
}

int main(int argc, char **argv)
{
	static const char usage[] = "serve|ask ADDRESS PORT";
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)number_argument(argc, argv, 3, usage))};

	if (inet_pton(AF_INET, argv[2], &at.sin_addr) != 1) {
		fprintf(stderr, "usage: %s %s\n", argv[0], usage);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	return strcmp(argv[1], "serve") == 0 ? serve(&at) : ask(&at);
}
