#include "base/system/locked-memory.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/data/cleanup.h"

#define LARGE_BLOCK (256 << 10) /* bytes; fixed, else it would rise to 32 MiB with the first large block that is freed */

void locked_memory_use_one_heap(void)
{
	(void)mallopt(M_ARENA_MAX, 1);
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
}

int locked_memory_lock(void)
{
	return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0 ? -errno : 0;
}

static bool is_locked(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/status", "re");
	unsigned long kb = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmLck: %lu", &kb) == 1)
			break;
	return kb > 0;
}

/* Of two threads at once the one that finds it unlocked leaves it to the other to lock it again. */
void locked_memory_release(void)
{
	bool locked = is_locked();

	if (locked)
		(void)munlockall();
	malloc_trim(0);
	if (locked)
		(void)locked_memory_lock();
}
