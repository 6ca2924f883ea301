/* The memory of a program that must not wait for a disk, and is to be small all the same.
 *
 * Where memory is locked the allocator can give back nothing but the end of its one heap and what was mapped for one large block:
 * madvise(MADV_DONTNEED) is refused for locked pages, and so malloc_trim() and the heaps of further threads keep all they ever
 * had (110 MB after a few traces of a busy machine). So such a program has one heap, large blocks are mapped alone, and to give
 * back what lies between it unlocks for a moment.
 */
#pragma once

#include <stddef.h>

/* One heap for all threads, large blocks mapped alone. Before the first thread begins. */
void locked_memory_use_one_heap(void);
/* Locks what there is, and what comes as it is touched. 0 or -errno. */
int locked_memory_lock(void);
/* After work that took much memory: free pages go back to the system. What is locked is locked again; any thread may call it. */
void locked_memory_release(void);
/* Bytes of this process's own memory that are resident. */
size_t locked_memory_resident(void);
/* The same if more than `most` bytes are resident and in no use: what other threads left after work of their own. Cheap if not. */
void locked_memory_release_idle(size_t most);
