/* Names of a trace's addresses, where a process cannot be read: its maps are a pipe without a writer, so that opening it blocks, as reading
 * one does while a thread of the process holds its memory lock. */
#include "lib/data/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/system/helper-thread.h"
#include "machine/recorder/capture-symbols.h"
#include "machine/symbol/kernel.h"

static void write_maps(const char *root, const char *pid, const char *maps)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, pid);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%s/maps", root, pid);
	if (!maps) {
		assert_int_equal(mkfifo(path, 0600), 0);
		return;
	}
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(maps, f) >= 0);
	fclose(f);
}

static void add_sample(struct trace *t, uint32_t pid, uint64_t time)
{
	const struct trace_thread thread = {.tid = pid, .tgid = pid, .start = 1};
	const struct event e = {.time = time, .thread = pid, .kind = EVENT_SAMPLE};

	assert_int_equal(trace_add_thread(t, &thread), 0);
	assert_int_equal(trace_add(t, &e), 0);
}

static void one_process_that_blocks_costs_its_own_names_alone(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct kernel_symbols *kernel = NULL;
	char root[] = "/tmp/whyslow-symbols-XXXXXX", path[100];
	struct helper *helper;
	int fd;

	assert_non_null(mkdtemp(root));
	write_maps(root, "7", NULL);
	write_maps(root, "8", "00400000-00500000 r-xp 00000000 00:00 0\n");
	assert_int_equal(helper_new(&helper), 0);
	assert_int_equal(trace_begin(&t, 1), 0);
	add_sample(&t, 7, 10);
	add_sample(&t, 8, 20);
	assert_int_equal(trace_finish(&t), 0);
	assert_int_equal(capture_symbols(&t, root, &kernel, helper), 0);
	assert_int_equal(t.mappings.n, 1);
	assert_int_equal(t.mappings.v[0].process, 8);
	helper_free(helper);
	snprintf(path, sizeof(path), "%s/7/maps", root);
	fd = open(path, O_WRONLY | O_CLOEXEC); /* lets the thread that was left end */
	assert_true(fd >= 0);
	close(fd);
	kernel_symbols_free(kernel);
	snprintf(path, sizeof(path), "rm -r %s", root);
	assert_int_equal(system(path), 0);
}

RUN_TESTS(cmocka_unit_test(one_process_that_blocks_costs_its_own_names_alone))
