#include "machine/answer-waits/using.h"

#include <stdio.h>
#include <string.h>

#include "lib/data/file.h"
#include "lib/data/str.h"

/* 812 (vim) S 800 812 790 34816 812 ...: pid (name) state parent group session terminal foreground-group; a name may hold
 * anything. */
bool using_in_foreground(const char *proc_root, uint32_t pid)
{
	char line[512], *name_end;
	int group, terminal, foreground;

	if (!file_first_line(STR_TEXT(256, "%s/%u/stat", proc_root, pid), line, sizeof(line)))
		return false;
	name_end = strrchr(line, ')');
	if (!name_end || sscanf(name_end + 1, " %*c %*d %d %*d %d %d", &group, &terminal, &foreground) != 3)
		return false;
	return terminal != 0 && group == foreground;
}
