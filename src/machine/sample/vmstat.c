/* The memory manager's work, from /proc/vmstat (mm/vmstat.c):
 *
 *   pgpgin 2130605
 *   pgpgout 499520
 *   pswpin 0
 *   allocstall_normal 0
 *
 * pgpgin and pgpgout are in kB, all others count pages or events. Labels differ between kernels: those of any of them
 * are listed, and what the kernel counts apart is added up.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/input/text.h"
#include "machine/sample/labels.h"
#include "machine/sample/system.h"

static const struct label_row rows[] = {
	{"pswpin", FEATURE_SYS_SWAP_IN, 1},
	{"pswpout", FEATURE_SYS_SWAP_OUT, 1},
	{"pgpgin", FEATURE_SYS_PAGE_IN, 1024},
	{"pgpgout", FEATURE_SYS_PAGE_OUT, 1024},
	{"pgmajfault", FEATURE_SYS_FAULTS_MAJOR, 1},
	{"pgscan_kswapd", FEATURE_SYS_SCAN_KSWAPD, 1},
	{"pgscan_direct", FEATURE_SYS_SCAN_DIRECT, 1},
	{"pgsteal_kswapd", FEATURE_SYS_STEAL_PAGES, 1},
	{"pgsteal_direct", FEATURE_SYS_STEAL_PAGES, 1},
	{"pgsteal_khugepaged", FEATURE_SYS_STEAL_PAGES, 1},
	{"pgsteal_proactive", FEATURE_SYS_STEAL_PAGES, 1},
	{"allocstall", FEATURE_SYS_ALLOC_STALL, 1}, /* before 4.10, and by zone since */
	{"allocstall_dma", FEATURE_SYS_ALLOC_STALL, 1},
	{"allocstall_dma32", FEATURE_SYS_ALLOC_STALL, 1},
	{"allocstall_normal", FEATURE_SYS_ALLOC_STALL, 1},
	{"allocstall_high", FEATURE_SYS_ALLOC_STALL, 1},
	{"allocstall_movable", FEATURE_SYS_ALLOC_STALL, 1},
	{"allocstall_device", FEATURE_SYS_ALLOC_STALL, 1},
	{"workingset_refault", FEATURE_SYS_REFAULTS, 1}, /* before 5.9 */
	{"workingset_refault_anon", FEATURE_SYS_REFAULTS, 1},
	{"workingset_refault_file", FEATURE_SYS_REFAULTS, 1},
	{"oom_kill", FEATURE_SYS_OOM_KILLS, 1},
};

struct vmstat {
	struct text_file file;
	struct labels labels;
};

static void vmstat_close(void *state)
{
	struct vmstat *v = state;

	text_file_close(&v->file);
	free(v);
}

static int vmstat_open(const struct source_options *options, void **ret_state)
{
	struct vmstat *v = calloc(1, sizeof(*v));
	int r = v ? text_file_open(&v->file, options->proc_root, "vmstat") : -ENOMEM;

	if (r < 0) {
		free(v);
		return r;
	}
	v->labels = (struct labels){.rows = rows, .n_rows = ARRAY_SIZE(rows)};
	*ret_state = v;
	return 0;
}

static void vmstat_read(void *state, struct tick *tick, int64_t *values, feature_set *present)
{
	struct vmstat *v = state;

	(void)tick;
	if (text_file_read(&v->file) == 0)
		labels_read(&v->labels, v->file.data, values, present);
}

const struct system_reader vmstat_reader = {
	.open = vmstat_open,
	.read = vmstat_read,
	.close = vmstat_close,
	.missing = "no /proc/vmstat: swapping and reclaim cannot be seen",
};
