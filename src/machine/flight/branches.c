#include "machine/flight/branches.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"

#define THREADS_MAX  64 /* 64 KB of records each */
#define BUFFER_PAGES 16

/* A number that the kernel shows of the counters of one kind of core; 0 = it shows none. */
static unsigned unit_number(const char *sys_root, const char *unit, const char *file)
{
	_cleanup_fclose_ FILE *f = NULL;
	unsigned n = 0;

	f = fopen(STR_TEXT(512, "%s/bus/event_source/devices/%s/%s", sys_root, unit, file), "re");
	return f && fscanf(f, "%u", &n) == 1 ? n : 0;
}

unsigned branches_recorded(const char *sys_root, struct samples_units *ret)
{
	unsigned least = 0;

	*ret = (struct samples_units){};
	FOLDER_EACH(e, opendir(STR_TEXT(256, "%s/bus/event_source/devices", sys_root))) {
		unsigned n = ret->n < SAMPLES_UNITS_MAX ? unit_number(sys_root, e.name, "caps/branches") : 0;

		if (!n)
			continue;
		ret->types[ret->n++] = unit_number(sys_root, e.name, "type");
		least = least && least < n ? least : n;
	}
	return least;
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

int branches_open(const char *proc_root, uint32_t pid, const struct samples_units *units, struct samples **ret)
{
	const struct samples_options options = {
		.buffer_pages = BUFFER_PAGES, .branch_period = BRANCHES_PERIOD, .branch_units = *units, .user_only = true};
	struct samples *s;
	DIR *tasks;
	int r;

	tasks = opendir(STR_TEXT(256, "%s/%u/task", proc_root, pid));
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
