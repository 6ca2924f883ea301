/* Programs that share a book, and a lock on it: each takes the lock, holds it for a while and lets it go,
 * again and again. The lock lies in a file, and survives who dies with it. */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pace.h"

#define READY 0x6b6f6f62u

struct book {
	uint32_t ready;
	pthread_mutex_t lock;
};

static struct book *arg_book;
static int64_t arg_hold, arg_pause;
static bool arg_compute;

static void make_lock(struct book *book)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&book->lock, &attributes);
	book->ready = READY;
}

static struct book *open_book(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	struct book *book;

	if (fd < 0 || flock(fd, LOCK_EX) < 0 || ftruncate(fd, sizeof(*book)) < 0)
		return NULL;
	book = mmap(NULL, sizeof(*book), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (book != MAP_FAILED && book->ready != READY)
		make_lock(book);
	flock(fd, LOCK_UN); /* closing would not: the mapping keeps the file open */
	close(fd);
	return book == MAP_FAILED ? NULL : book;
}

static void *keep_book(void *unused)
{
	(void)unused;
	for (;;) {
		if (pthread_mutex_lock(&arg_book->lock) == EOWNERDEAD)
			pthread_mutex_consistent(&arg_book->lock);
		if (arg_compute)
			compute(arg_hold);
		else
			sleep_until(clock_now(CLOCK_MONOTONIC) + arg_hold);
		pthread_mutex_unlock(&arg_book->lock);
		sleep_until(clock_now(CLOCK_MONOTONIC) + arg_pause);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char usage[] = "FILE THREADS HOLD_MICROSECONDS PAUSE_MICROSECONDS compute|sleep";
	long threads = number_argument(argc, argv, 2, usage);
	pthread_t thread;

	arg_hold = number_argument(argc, argv, 3, usage) * 1000;
	arg_pause = number_argument(argc, argv, 4, usage) * 1000;
	arg_compute = argc > 5 && strcmp(argv[5], "compute") == 0;
	arg_book = open_book(argv[1]);
	if (!arg_book) {
		perror(argv[1]);
		return 1;
	}
	for (long i = 1; i < threads; i++)
		if (pthread_create(&thread, NULL, keep_book, NULL) != 0)
			return 1;
	keep_book(NULL);
	return 0;
}
