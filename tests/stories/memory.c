/* Page faults behind reclaim: a group may have little memory, and one of its threads fills that with what it writes to a
 * file. Another one wants few pages at a time, and each time must free some first: the first one is to blame, by as much as
 * it wants more. $1 = the group's folder, $2 = a file. */
#include <sys/mman.h>

#include "story.h"

#define FILE_BYTES (256ll << 20)
#define WANTED	   (1 << 20)
#define WRITTEN	   (1 << 20)
#define PAGE	   4096

static volatile bool stop, full;
static int64_t written, waited, wanted; /* bytes; ns; bytes */

static void join_group(const char *group)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%d\n", getpid()) < 0 || fclose(f) != 0)
		exit(77);
}

static void *run_culprit(void *argument)
{
	int fd = open(argument, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *block = calloc(1, WRITTEN);

	be("culprit", -1);
	for (off_t at = 0; !stop && fd >= 0; at = (at + WRITTEN) % FILE_BYTES) {
		if (at == 0 && ftruncate(fd, 0) < 0) /* pages that it has already cost nothing */
			break;
		if (pwrite(fd, block, WRITTEN, at) < 0)
			break;
		written += full ? WRITTEN : 0;
	}
	return NULL;
}

static void fault_pages(void)
{
	volatile char *some = mmap(NULL, WANTED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int64_t began = now(), queued = run_delay();

	if (some == MAP_FAILED)
		exit(77);
	madvise((void *)some, WANTED, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < WANTED; i += PAGE)
		some[i] = 1;
	waited += now() - began - (run_delay() - queued);
	wanted += WANTED;
	munmap((void *)some, WANTED);
}

int main(int argc, char **argv)
{
	pthread_t culprit;
	int64_t end;

	if (argc < 3)
		return 2;
	join_group(argv[1]);
	be("victim", -1);
	culprit = start(run_culprit, argv[2]);
	rest(500 * MS); /* until the group is full */
	full = true;
	for (end = now() + SPAN; now() < end; rest(10 * MS))
		fault_pages();
	stop = true;
	pthread_join(culprit, NULL);
	unlink(argv[2]);
	truth("memory", "modelled", "culprit", waited, (int64_t)((double)waited * (double)written / (double)(written + wanted)));
	return 0;
}
