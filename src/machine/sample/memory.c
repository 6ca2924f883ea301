/* Where the memory is, from /proc/meminfo (Documentation/filesystems/proc.rst), and the memory manager's work, from /proc/vmstat (mm/vmstat.c):
 *
 *   MemTotal:       24684092 kB         pgpgin 2130605
 *   MemFree:        24210348 kB         pgpgout 499520
 *   Cached:           321864 kB         allocstall_normal 0
 *
 * The order of these lines never changes while the kernel runs. Where each wanted label stands is learned at the first read; later
 * reads look at those lines only, and learn again when a label is not where it was.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/input/text.h"
#include "machine/sample/system.h"

#define LABEL_LINES_MAX 1024 /* /proc/vmstat has 190 lines today */

/* Rows of one feature are added up: the kernel may count it apart for each zone or cause. */
struct label_row {
	const char *label;
	int feature;
	uint64_t scale; /* to the feature's unit */
};

static const struct label_row meminfo[] = {
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
	{},
};

/* pgpgin and pgpgout are in kB, all others count pages or events. Labels differ between kernels: those of any of them are listed. */
static const struct label_row vmstat[] = {
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
	{},
};

struct labels {
	struct text_file file;
	const struct label_row *rows;	      /* ends without a label */
	size_t n_lines;			      /* learned; 0 = nothing yet */
	uint8_t row_of_line[LABEL_LINES_MAX]; /* + 1; 0 = none */
};

/* The text behind the label of this line, or NULL when the line has another label. */
static const char *after_label(const char *line, const char *label)
{
	size_t n = strlen(label);

	if (strncmp(line, label, n) != 0 || (line[n] != ' ' && line[n] != ':'))
		return NULL;
	return line + n + 1;
}

static uint8_t row_of(const struct labels *l, const char *line)
{
	for (size_t i = 0; l->rows[i].label; i++)
		if (after_label(line, l->rows[i].label))
			return (uint8_t)(i + 1);
	return 0;
}

static void learn(struct labels *l)
{
	l->n_lines = 0;
	for (const char *line = l->file.data; *line && l->n_lines < LABEL_LINES_MAX; line = text_next_line(line))
		l->row_of_line[l->n_lines++] = row_of(l, line);
}

/* False when a label is not where it was learned to be. */
static bool take(const struct labels *l, int64_t *values, feature_set *present)
{
	uint64_t seen = 0;
	size_t i = 0;

	for (const char *line = l->file.data; *line && i < LABEL_LINES_MAX; line = text_next_line(line), i++) {
		const struct label_row *row;
		const char *at;
		uint64_t value, bit;

		if (i == l->n_lines)
			return false;
		if (!l->row_of_line[i])
			continue;
		row = &l->rows[l->row_of_line[i] - 1];
		at = after_label(line, row->label);
		if (!at)
			return false;
		if (!text_scan_number(&at, &value))
			continue;
		bit = FEATURE_BIT(row->feature);
		value = value * row->scale + (seen & bit ? (uint64_t)values[row->feature] : 0);
		values[row->feature] = (int64_t)value;
		seen |= bit;
	}
	*present |= seen;
	return true;
}

static void labels_close(void *state)
{
	struct labels *l = state;

	text_file_close(&l->file);
	free(l);
}

static int labels_open(const struct source_options *options, const char *name, const struct label_row *rows, void **ret_state)
{
	struct labels *l = calloc(1, sizeof(*l));
	int r = l ? text_file_open(&l->file, options->proc_root, name) : -ENOMEM;

	if (r < 0) {
		free(l);
		return r;
	}
	l->rows = rows;
	*ret_state = l;
	return 0;
}

static int meminfo_open(const struct source_options *options, void **ret_state)
{
	return labels_open(options, "meminfo", meminfo, ret_state);
}

static int vmstat_open(const struct source_options *options, void **ret_state)
{
	return labels_open(options, "vmstat", vmstat, ret_state);
}

/* Sets the values of the labels that are there, and their bits. */
static void labels_read(void *state, struct tick *tick, int64_t *values, feature_set *present)
{
	struct labels *l = state;

	(void)tick;
	if (text_file_read(&l->file) < 0 || (l->n_lines && take(l, values, present)))
		return;
	learn(l);
	(void)take(l, values, present);
}

const struct system_reader meminfo_reader = {
	.open = meminfo_open,
	.read = labels_read,
	.close = labels_close,
	.missing = "no /proc/meminfo: memory cannot be judged",
};

const struct system_reader vmstat_reader = {
	.open = vmstat_open,
	.read = labels_read,
	.close = labels_close,
	.missing = "no /proc/vmstat: swapping and reclaim cannot be seen",
};
