#include "machine/answer-inspect/inspect-words.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/str.h"
#include "machine/model/entity.h"
#include "machine/model/feature.h"

#define BUSY_THREAD 0.1	 /* of a CPU; or so much of ... */
#define BUSY_SHARE  0.4	 /* ... what the process got: on a crowded machine no one gets much */
#define IDLE	    0.03 /* of a CPU, all threads together */

/* The name of its program, or of a thread of the kernel. The caller frees; NULL without memory. */
static char *label_of(const struct inspection *n)
{
	struct entity_info info = {.kind = ENTITY_PROCESS, .exe = n->exe, .cmdline = n->cmdline};

	VEC_EACH(t, n->threads)
		if (t->tid == n->pid)
			info.name = (char *)t->comm;
	return info.exe || info.name ? entity_label(&info) : strdup("the process");
}

/* Where most of the CPU time goes: the root's first child of the bottom-up tree. */
static const struct tree_node *hottest(const struct inspection *n)
{
	return n->bottom_up.nodes.n && n->bottom_up.nodes.v[0].child
		       ? &n->bottom_up.nodes.v[n->bottom_up.nodes.v[0].child]
		       : NULL;
}

static unsigned busy_threads(const struct inspection *n, const char **ret_begins)
{
	unsigned busy = 0;

	*ret_begins = NULL;
	VEC_EACH(t, n->threads) {
		if (isnan(t->cpu) || (t->cpu < BUSY_THREAD && t->cpu < BUSY_SHARE * n->cpu))
			continue;
		if (!busy)
			*ret_begins = t->begins;
		else if (t->begins != *ret_begins)
			*ret_begins = NULL; /* they do not all begin in the same function */
		busy++;
	}
	return busy;
}

/* The object that most threads wait for most of the time. */
static const struct tree_node *main_wait(const struct inspection *n)
{
	return n->waits.nodes.n && n->waits.nodes.v[0].child ? &n->waits.nodes.v[n->waits.nodes.v[0].child]
							     : NULL;
}

static void write_busy(const struct inspection *n, struct str *out)
{
	const struct tree_node *hot = hottest(n);
	const char *begins;
	unsigned busy = busy_threads(n, &begins);

	str_printf(out, "uses %.2g of this machine's %u CPUs", n->cpu, n->cpus);
	if (hot && n->samples)
		str_printf(out, ", %.0f %% of that time in %s",
			   100.0 * (double)hot->total / (double)n->samples, hot->name);
	if (busy == 1)
		str_puts(out, ", on one thread");
	else if (busy > 1)
		str_printf(out, ", on %u of its %zu threads", busy, n->threads.n);
	if (begins)
		str_printf(out, "%s in %s", busy == 1 ? " that began" : ", which all began", begins);
}

char *inspect_summary(const struct inspection *n)
{
	const struct tree_node *wait = main_wait(n);
	_cleanup_free_ char *label = label_of(n);
	struct str s = {};

	str_printf(&s, "%s (pid %u) ", label ?: "the process", n->pid);
	if (n->cpu >= IDLE) {
		write_busy(n, &s);
	} else {
		str_printf(&s, "hardly uses the CPU (%.1f %% of one)", 100 * n->cpu);
		if (wait)
			str_printf(&s, ": it waits for %s %.0f %% of the time", wait->name,
				   100.0 * (double)wait->total / (double)n->waits.nodes.v[0].total);
	}
	str_putc(&s, '.');
	return s.data;
}

/* --- limits --- */

static void write_bytes(uint64_t bytes, char *buf, size_t size)
{
	static const struct feature amount = {.name = "", .unit = BYTES, .kind = GAUGE};

	feature_format(&amount, (double)bytes, buf, size);
}

/* "0::/system.slice/x.service" */
static bool group_of(const char *proc_root, uint32_t pid, char *buf, size_t size)
{
	LINES_EACH(line, fopen(STR_TEXT(PATH_MAX, "%s/%u/cgroup", proc_root, pid), "re"))
		if (str_starts(line.text, "0::"))
			return snprintf(buf, size, "%s", line.text + 3) < (int)size;
	return false;
}

static void read_group(struct inspection *n, const char *group)
{
	char path[4352], text[128], limit[32], used[32];
	uint64_t bytes, now;
	long long quota, period;

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", group);
	if (file_first_line(path, text, sizeof(text)) && str_parse_u64(text, &bytes) == 0) {
		write_bytes(bytes, limit, sizeof(limit));
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.current", group);
		if (file_first_line(path, text, sizeof(text)) && str_parse_u64(text, &now) == 0) {
			write_bytes(now, used, sizeof(used));
			(void)VEC_PRINT(n->limits, "memory of its control group: %s of %s", used, limit);
		}
	}
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", group);
	if (file_first_line(path, text, sizeof(text)) && sscanf(text, "%lld %lld", &quota, &period) == 2 &&
	    period > 0)
		(void)VEC_PRINT(n->limits, "CPU of its control group: at most %.2g CPUs", (double)quota / (double)period);
}

/* "Max open files            1024                 524288               files" */
static void read_process_limits(const char *proc_root, uint32_t pid, struct inspection *n)
{
	LINES_EACH(line, fopen(STR_TEXT(PATH_MAX, "%s/%u/limits", proc_root, pid), "re")) {
		unsigned long long soft;

		if (sscanf(line.text, "Max open files %llu", &soft) == 1)
			(void)VEC_PRINT(n->limits, "open files: at most %llu", soft);
		if (sscanf(line.text, "Max address space %llu", &soft) == 1)
			(void)VEC_PRINT(n->limits, "address space: at most %llu MB", soft / 1000000);
	}
}

void inspect_read_limits(const char *proc_root, uint32_t pid, struct inspection *n)
{
	char group[4096];

	if (group_of(proc_root, pid, group, sizeof(group)))
		read_group(n, group);
	read_process_limits(proc_root, pid, n);
}
