#include "base/system/file-lock.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/data/cleanup.h"

/* "4: FLOCK  ADVISORY  WRITE 776 fe:00:10952801 0 EOF", and below it those who wait for it: "4: -> FLOCK ...". */
static bool parse(const char *line, unsigned long long *ret_lock, bool *ret_waits, int *ret_pid)
{
	int after = 0;

	if (sscanf(line, "%llu: %n", ret_lock, &after) != 1 || !after)
		return false;
	line += after;
	*ret_waits = line[0] == '-' && line[1] == '>';
	return sscanf(line + (*ret_waits ? 2 : 0), "%*s %*s %*s %d", ret_pid) == 1;
}

unsigned file_lock_holder(const char *proc_root, unsigned pid)
{
	_cleanup_fclose_ FILE *f = NULL;
	unsigned long long lock, held = 0;
	char path[512], line[512];
	int holder = 0, owner;
	bool waits;

	snprintf(path, sizeof(path), "%s/locks", proc_root);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (!parse(line, &lock, &waits, &owner))
			continue;
		if (!waits) {
			held = lock;
			holder = owner;
		} else if (owner == (int)pid && lock == held) {
			return holder > 0 ? (unsigned)holder : 0;
		}
	}
	return 0;
}
