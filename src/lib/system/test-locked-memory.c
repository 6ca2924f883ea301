#include "lib/data/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

#include "lib/data/cleanup.h"
#include "lib/system/locked-memory.h"

#define BLOCKS 400000
#define BLOCK  100

static unsigned long status_kb(const char *field)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/status", "re");
	char line[128], format[32];
	unsigned long kb = 0;

	snprintf(format, sizeof(format), "%s: %%lu", field);
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, format, &kb) == 1)
			break;
	return kb;
}

/* 40 MB of small blocks; every hundredth is kept, so that the end of the heap is never free. */
static void *work(void *argument)
{
	char **blocks = argument;

	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BLOCK);
		memset(blocks[i], 1, BLOCK);
	}
	for (size_t i = 0; i < BLOCKS; i++)
		if (i % 1000) {
			free(blocks[i]);
			blocks[i] = NULL;
		}
	return NULL;
}

static void what_a_thread_freed_goes_back_though_memory_is_locked(void **state)
{
	char **blocks = calloc(BLOCKS, sizeof(*blocks));
	unsigned long before, after;
	pthread_t thread;
	int locked;

	locked_memory_use_one_heap();
	locked = locked_memory_lock();
	if (locked < 0)
		skip();
	before = status_kb("RssAnon");
	assert_int_equal(pthread_create(&thread, NULL, work, blocks), 0);
	pthread_join(thread, NULL);
	assert_true(status_kb("RssAnon") > before + 30000);
	locked_memory_release_idle(100 << 20); /* less than that is in no use */
	assert_true(status_kb("RssAnon") > before + 30000);
	locked_memory_release_idle(8 << 20);
	after = status_kb("RssAnon");
	assert_in_range(after, 0, before + 12000);
	assert_true(status_kb("VmLck") > 0);
	for (size_t i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	free(blocks);
}

RUN_TESTS(cmocka_unit_test(what_a_thread_freed_goes_back_though_memory_is_locked))
