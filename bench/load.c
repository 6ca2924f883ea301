/* A machine at work, in small: load PROCESSES ACTIVE [CGROUPS FOLDER]
 *
 * PROCESSES processes, of which ACTIVE do a bit of work in every second and each of the others once a minute: some
 * computing, system calls, a file written, memory touched and given back, a message through a socket, short sleeps.
 * They are spread over CGROUPS control groups (FOLDER/0 ... made by the caller). Prints "ready" when all are there,
 * and takes them along when it ends.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SEC   1000000000ll
#define REST_EVERY   60 /* seconds between two turns of a process that is not active */
#define WORK_PAGES   16
#define WORK_ROUNDS  20000 /* tens of microseconds */
#define PAGE	     4096

static void pause_until(int64_t at)
{
	struct timespec ts = {at / NS_PER_SEC, at % NS_PER_SEC};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

static void compute(void)
{
	volatile uint32_t sum = 1;

	for (int i = 0; i < WORK_ROUNDS; i++)
		sum = sum * 1664525u + 1013904223u;
}

static void touch_memory(char *pages)
{
	memset(pages, 1, WORK_PAGES * PAGE);
	madvise(pages, WORK_PAGES * PAGE, MADV_DONTNEED);
}

static void exchange(const int *sockets, int file)
{
	char bytes[512] = {};

	if (send(sockets[0], bytes, sizeof(bytes), 0) < 0 || recv(sockets[1], bytes, sizeof(bytes), 0) < 0 ||
	    pwrite(file, bytes, sizeof(bytes), 0) < 0)
		_exit(1);
}

static void work(char *pages, const int *sockets, int file)
{
	compute();
	touch_memory(pages);
	exchange(sockets, file);
	for (int i = 0; i < 3; i++)
		pause_until(now() + 1000000);
}

static int open_scratch(void)
{
	char path[] = "/var/tmp/whyslow-load-XXXXXX";
	int file = mkstemp(path);

	unlink(path);
	return file;
}

static void join_cgroup(const char *folder, unsigned group)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%u/cgroup.procs", folder, group);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) < 0)
		_exit(1);
	close(fd);
}

static void live(unsigned number, unsigned processes, unsigned active)
{
	int64_t every = number < active ? NS_PER_SEC : REST_EVERY * NS_PER_SEC;
	int64_t at = now() + every * number / (number < active ? active : processes);
	char *pages = mmap(NULL, WORK_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sockets[2], file = open_scratch();

	if (pages == MAP_FAILED || file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
		_exit(1);
	for (;; at += every) {
		pause_until(at);
		work(pages, sockets, file);
	}
}

int main(int argc, char **argv)
{
	unsigned processes = argc > 2 ? (unsigned)atoi(argv[1]) : 0, active = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	unsigned cgroups = argc > 4 ? (unsigned)atoi(argv[3]) : 0;

	if (!processes) {
		fprintf(stderr, "usage: load PROCESSES ACTIVE [CGROUPS FOLDER]\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (unsigned i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			return 1;
		}
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (cgroups)
				join_cgroup(argv[4], i % cgroups);
			live(i, processes, active);
		}
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 1;
}
