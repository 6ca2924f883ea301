/* Where the memory is, from /proc/meminfo (Documentation/filesystems/proc.rst):
 *
 *   MemTotal:       24684092 kB
 *   MemFree:        24210348 kB
 *   MemAvailable:   24350812 kB
 *   Buffers:            2388 kB
 *   Cached:           321864 kB
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/input/text.h"
#include "machine/sample/labels.h"
#include "machine/sample/system.h"

static const struct label_row rows[] = {
	{"MemTotal", FEATURE_SYS_MEM_TOTAL, 1024},
	{"MemFree", FEATURE_SYS_MEM_FREE, 1024},
	{"MemAvailable", FEATURE_SYS_MEM_AVAILABLE, 1024},
	{"Buffers", FEATURE_SYS_MEM_CACHED, 1024}, /* the page cache of block devices */
	{"Cached", FEATURE_SYS_MEM_CACHED, 1024},
	{"Dirty", FEATURE_SYS_MEM_DIRTY, 1024},
	{"Writeback", FEATURE_SYS_MEM_WRITEBACK, 1024},
	{"AnonPages", FEATURE_SYS_MEM_ANON, 1024},
	{"Slab", FEATURE_SYS_MEM_SLAB, 1024},
	{"SwapTotal", FEATURE_SYS_SWAP_TOTAL, 1024},
	{"SwapFree", FEATURE_SYS_SWAP_FREE, 1024},
};

struct meminfo {
	struct text_file file;
	struct labels labels;
};

static void meminfo_close(void *state)
{
	struct meminfo *m = state;

	text_file_close(&m->file);
	free(m);
}

static int meminfo_open(const struct source_options *options, void **ret_state)
{
	struct meminfo *m = calloc(1, sizeof(*m));
	int r = m ? text_file_open(&m->file, options->proc_root, "meminfo") : -ENOMEM;

	if (r < 0) {
		free(m);
		return r;
	}
	m->labels = (struct labels){.rows = rows, .n_rows = ARRAY_SIZE(rows)};
	*ret_state = m;
	return 0;
}

static void meminfo_read(void *state, struct tick *tick, int64_t *values, feature_set *present)
{
	struct meminfo *m = state;

	(void)tick;
	if (text_file_read(&m->file) == 0)
		labels_read(&m->labels, m->file.data, values, present);
}

const struct system_reader meminfo_reader = {
	.open = meminfo_open,
	.read = meminfo_read,
	.close = meminfo_close,
	.missing = "no /proc/meminfo: memory cannot be judged",
};
