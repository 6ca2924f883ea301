#include "machine/answer-waits/using.h"

#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"

/* 812 (vim) S 800 812 790 34816 812 ...: pid (name) state parent group session terminal foreground-group; a name may hold
 * anything. */
bool using_in_foreground(const char *proc_root, uint32_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[256], line[512], *name_end;
	int group, terminal, foreground;

	snprintf(path, sizeof(path), "%s/%u/stat", proc_root, pid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return false;
	name_end = strrchr(line, ')');
	if (!name_end || sscanf(name_end + 1, " %*c %*d %d %*d %d %d", &group, &terminal, &foreground) != 3)
		return false;
	return terminal != 0 && group == foreground;
}
