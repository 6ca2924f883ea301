#include "source/flight/branches.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/data/cleanup.h"

#define THREADS_MAX  64 /* 64 KB of records each */
#define BUFFER_PAGES 16

unsigned branches_recorded(const char *sys_root)
{
	static const char *const units[] = {"cpu", "cpu_core", "armv8_pmuv3_0"};
	char path[256];
	unsigned n = 0;

	for (size_t i = 0; !n && i < ARRAY_SIZE(units); i++) {
		_cleanup_fclose_ FILE *f = NULL;

		snprintf(path, sizeof(path), "%s/bus/event_source/devices/%s/caps/branches", sys_root, units[i]);
		f = fopen(path, "re");
		if (f && fscanf(f, "%u", &n) != 1)
			n = 0;
	}
	return n;
}

/* Those that can be added; a thread that has just ended is none. */
static int add_threads(struct samples *s, DIR *tasks)
{
	const struct dirent *e;
	unsigned n = 0;
	int r = -ESRCH;

	while (n < THREADS_MAX && (e = readdir(tasks))) {
		int tid = atoi(e->d_name); /* NOLINT(cert-err34-c): "." and ".." are 0 */
		int added = tid ? samples_add(s, tid, -1, -1) : -ESRCH;

		n += added == 0;
		r = n ? 0 : added;
	}
	return r;
}

int branches_open(const char *proc_root, uint32_t pid, struct samples **ret)
{
	const struct samples_options options = {.buffer_pages = BUFFER_PAGES, .branch_period = BRANCHES_PERIOD, .user_only = true};
	struct samples *s;
	char path[256];
	DIR *tasks;
	int r;

	snprintf(path, sizeof(path), "%s/%u/task", proc_root, pid);
	tasks = opendir(path);
	if (!tasks)
		return -ESRCH;
	r = samples_new(&options, &s);
	if (r == 0) {
		r = add_threads(s, tasks) ?: samples_enable(s);
		if (r < 0)
			samples_free(s);
		else
			*ret = s;
	}
	closedir(tasks);
	return r;
}
