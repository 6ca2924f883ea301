/* Threads that sleep and talk, as a desktop's do: chatter [SECONDS]. About 25,000 scheduler events a second. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SLEEPERS 16
#define TALKERS	 4

static void nap(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void *sleeps(void *argument)
{
	volatile unsigned work = 0;

	for (;;) {
		nap(2000 + 100 * (long)(size_t)argument);
		for (unsigned i = 0; i < 20000; i++)
			work += i;
		(void)work;
	}
	return NULL;
}

struct talk {
	int to[2], from[2];
};

static void *answers(void *argument)
{
	struct talk *t = argument;
	char c;

	while (read(t->to[0], &c, 1) == 1 && write(t->from[1], &c, 1) == 1)
		continue;
	return NULL;
}

static void *asks(void *argument)
{
	struct talk *t = argument;
	char c = 0;

	while (write(t->to[1], &c, 1) == 1 && read(t->from[0], &c, 1) == 1)
		nap(700);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct talk talks[TALKERS];
	pthread_t thread;

	for (size_t i = 0; i < SLEEPERS; i++)
		pthread_create(&thread, NULL, sleeps, (void *)i);
	for (size_t i = 0; i < TALKERS; i++) {
		if (pipe(talks[i].to) < 0 || pipe(talks[i].from) < 0)
			return 1;
		pthread_create(&thread, NULL, answers, &talks[i]);
		pthread_create(&thread, NULL, asks, &talks[i]);
	}
	sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 10);
	return 0;
}
