#include "lib/system/locked-memory.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/data/file.h"

#define LARGE_BLOCK  (256 << 10) /* bytes; fixed, else it would rise to 32 MiB with the first large block that is freed */
#define TRIM_DEFAULT (128 << 10) /* bytes, mallopt(3) */

void locked_memory_use_one_heap(void)
{
	(void)mallopt(M_ARENA_MAX, 1);
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
	(void)mallopt(M_TRIM_THRESHOLD, TRIM_DEFAULT);
}

int locked_memory_lock(void)
{
	return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0 ? -errno : 0;
}

static size_t status_bytes(const char *field)
{
	size_t n = strlen(field), kb = 0;

	LINES_EACH(line, fopen("/proc/self/status", "re"))
		if (strncmp(line.text, field, n) == 0 && sscanf(line.text + n, ": %zu", &kb) == 1)
			break;
	return kb << 10;
}

/* When two threads come at once, the one that finds it unlocked leaves it to the other to lock it again. */
void locked_memory_release(void)
{
	bool locked = status_bytes("VmLck") > 0;

	if (locked)
		(void)munlockall();
	malloc_trim(0);
	if (locked)
		(void)locked_memory_lock();
}

size_t locked_memory_resident(void)
{
	return status_bytes("RssAnon");
}

/* (fordblks would not do: what was given back is free, too) */
void locked_memory_release_idle(size_t most)
{
	struct mallinfo2 heap = mallinfo2();

	if (locked_memory_resident() > heap.uordblks + heap.hblkhd + most)
		locked_memory_release();
}
