/* A user's program for tests/inspect-hostile: it runs code where its words say, next to a thread that waits; says "ready".
 *
 *   hostile file PATH OFFSET    code that is mapped from a file
 *   hostile generated           code in memory of its own
 *   hostile names FOLDER        no code: a thread reads from a FIFO, and it, the file and the thread have a terminal's words as names
 *   hostile threads N           no code: N threads that wait
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE 8192
#define NAME "\x1b[31mred\x07\xc2\x9b" "1m"

static void fail(const char *what)
{
	fprintf(stderr, "hostile: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *run(void *code)
{
	void (*function)(void);

	memcpy(&function, &code, sizeof(function));
	function();
	return NULL;
}

static char *map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *at = fd < 0 ? MAP_FAILED : mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		fail(path);
	return at;
}

static char *make_code(void)
{
#if defined(__x86_64__)
	static const unsigned char loop[] = {0xeb, 0xfe};
#else
	static const unsigned char loop[] = {0, 0, 0, 0x14};
#endif
	char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		fail("memory");
	memcpy(at, loop, sizeof(loop));
	__builtin___clear_cache(at, at + sizeof(loop));
	return at;
}

static void *read_fifo(void *unused)
{
	char c;
	int fd = open(NAME, O_RDWR | O_CLOEXEC);

	(void)unused;
	prctl(PR_SET_NAME, NAME);
	if (fd < 0 || read(fd, &c, 1) < 0)
		fail("FIFO");
	return NULL;
}

static void *wait_always(void *unused)
{
	pause();
	return unused;
}

static int start_many(long n)
{
	pthread_attr_t small;
	pthread_t thread;
	int r = pthread_attr_init(&small);

	pthread_attr_setstacksize(&small, SIZE * 4);
	for (long i = 0; r == 0 && i < n; i++)
		r = pthread_create(&thread, &small, wait_always, NULL);
	return r;
}

/* They end with their parent. */
static int fork_many(long n)
{
	pid_t pid = 1;

	for (long i = 0; pid > 0 && i < n; i++)
		pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		wait_always(NULL);
	}
	return pid < 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int r;

	if (argc == 4 && strcmp(argv[1], "file") == 0) {
		r = pthread_create(&thread, NULL, run, map_file(argv[2]) + atol(argv[3]));
	} else if (argc == 2 && strcmp(argv[1], "generated") == 0) {
		r = pthread_create(&thread, NULL, run, make_code());
	} else if (argc >= 3 && strcmp(argv[1], "names") == 0) {
		if (chdir(argv[2]) < 0 || mkfifo(NAME, 0600) < 0)
			fail("FIFO");
		r = pthread_create(&thread, NULL, read_fifo, NULL);
	} else if (argc == 3 && strcmp(argv[1], "threads") == 0) {
		r = start_many(atol(argv[2]));
	} else if (argc == 3 && strcmp(argv[1], "processes") == 0) {
		r = fork_many(atol(argv[2]));
	} else {
		return 2;
	}
	if (r != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
