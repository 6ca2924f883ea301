/* Somebody's editor: small pieces of work at an even pace, a little reading from the disk, a save now and
 * then. It tells how late it was: a line a second, "UNIX_TIME WORST_MILLISECONDS". After SIGUSR1 it computes
 * without a pause, as a program does that caught itself in a loop. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "pace.h"

#define BEAT	   (40 * NS_PER_MS)
#define WORK	   (2 * NS_PER_MS)
#define READ_EVERY 5   /* beats */
#define SAVE_EVERY 125 /* beats */
#define MEMORY	   (48 * MEBIBYTE)
#define PAGE	   4096

static volatile sig_atomic_t is_stuck;

static void get_stuck(int unused)
{
	(void)unused;
	is_stuck = 1;
}

static void read_a_page(int fd, off_t size, void *page)
{
	if (size > PAGE && pread(fd, page, PAGE, random() % (size / PAGE) * PAGE) < 0)
		perror("read");
}

static void save(int fd)
{
	if (pwrite(fd, "text", 4, 0) < 0 || fsync(fd) < 0)
		perror("save");
}

static void touch(char *memory)
{
	for (int i = 0; i < 200; i++)
		memory[(size_t)random() % MEMORY]++;
}

static int64_t tell(int64_t worst)
{
	printf("%ld %.1f\n", (long)time(NULL), (double)worst / 1e6);
	fflush(stdout);
	return 0;
}

static void edit(int library, int text, char *memory, void *page)
{
	int64_t next = clock_now(CLOCK_MONOTONIC), worst = 0;
	off_t size = lseek(library, 0, SEEK_END);

	for (unsigned beat = 1;; beat++) {
		int64_t late;

		compute(is_stuck ? 10 * BEAT : WORK);
		touch(memory);
		if (beat % READ_EVERY == 0)
			read_a_page(library, size, page);
		if (beat % SAVE_EVERY == 0)
			save(text);
		late = clock_now(CLOCK_MONOTONIC) - next - WORK;
		if (late > worst)
			worst = late;
		if (beat % (NS_PER_SEC / BEAT) == 0)
			worst = tell(worst);
		next += BEAT;
		if (next < clock_now(CLOCK_MONOTONIC))
			next = clock_now(CLOCK_MONOTONIC);
		sleep_until(next);
	}
}

int main(int argc, char **argv)
{
	int library = argc == 3 ? open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
	int text = argc == 3 ? open(argv[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *page = aligned_alloc(PAGE, PAGE);
	char *memory = malloc(MEMORY);

	if (library < 0 || text < 0 || !page || !memory) {
		fprintf(stderr, "usage: %s LIBRARY TEXT\n", argv[0]);
		return 2;
	}
	memset(memory, 1, MEMORY);
	signal(SIGUSR1, get_stuck);
	edit(library, text, memory, page);
	return 0;
}
