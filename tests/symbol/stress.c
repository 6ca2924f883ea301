/* Threads of which is known what they do: a test looks at them from outside.
 *
 *   stress busy 2 idle 3 alternate 1 sleep 1 lock 1 churn 1
 *
 * busy       spins in spin(), called from work()
 * idle       waits for ever in pause()
 * alternate  spends 3/4 of its time in thick(), 1/4 in thin()
 * lock       waits for a mutex that is never given back
 * read       reads from a pipe into which nothing is written
 * churn      starts and ends short threads, one after the other
 * files      writes and reads a file over and over
 *
 * Prints a line "ready" when all run, and ends with its standard input.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_attribute(noipa)
#define NO_INLINE static __attribute__((noinline, noipa))
#else
#define NO_INLINE static __attribute__((noinline))
#endif

static volatile uint64_t sink;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

/* The call is not a tail call: the caller must stay on the stack. */
#define STAY() __asm__ volatile("" ::: "memory")

NO_INLINE void spin(uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++)
		sink += i;
}

NO_INLINE void thick(uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++)
		sink += i;
}

NO_INLINE void thin(uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++)
		sink += i;
}

NO_INLINE void work(void)
{
	char room[200];

	memset(room, 1, sizeof(room));
	spin(1000000 + (uint64_t)room[7]);
	STAY();
}

NO_INLINE void *busy_start(void *argument)
{
	for (;;)
		work();
	return argument;
}

NO_INLINE void *idle_start(void *argument)
{
	for (;;)
		pause();
	return argument;
}

/* The same loop, three times as often in one as in the other. */
NO_INLINE void *alternate_start(void *argument)
{
	for (;;) {
		thick(300000);
		STAY();
		thin(100000);
		STAY();
	}
	return argument;
}

NO_INLINE void *lock_start(void *argument)
{
	pthread_mutex_lock(&held);
	STAY();
	return argument;
}

NO_INLINE void *read_start(void *argument)
{
	int ends[2];
	char byte;

	if (pipe(ends) == 0)
		sink += (uint64_t)read(ends[0], &byte, 1);
	STAY();
	return argument;
}

NO_INLINE void *short_start(void *argument)
{
	spin(30000000);
	return argument;
}

NO_INLINE void *churn_start(void *argument)
{
	for (;;) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, short_start, NULL) == 0)
			pthread_join(thread, NULL);
	}
	return argument;
}

NO_INLINE void *files_start(void *argument)
{
	static char block[65536];
	char path[] = "/tmp/whyslow-stress-XXXXXX";
	int fd = mkstemp(path);

	unlink(path);
	for (;;) {
		if (pwrite(fd, block, sizeof(block), 0) < 0 || pread(fd, block, sizeof(block), 0) < 0)
			break;
		usleep(1000);
	}
	return argument;
}

static const struct {
	const char *name;
	void *(*start)(void *);
} kinds[] = {
	{"busy", busy_start}, {"idle", idle_start},   {"alternate", alternate_start}, {"lock", lock_start},
	{"read", read_start}, {"churn", churn_start}, {"files", files_start},
};

static void start(const char *name, int n)
{
	pthread_t thread;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (int i = 0; strcmp(kinds[k].name, name) == 0 && i < n; i++)
			pthread_create(&thread, NULL, kinds[k].start, NULL);
}

int main(int argc, char **argv)
{
	char byte;

	pthread_mutex_lock(&held);
	for (int i = 1; i + 1 < argc; i += 2)
		start(argv[i], atoi(argv[i + 1]));
	puts("ready");
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}
