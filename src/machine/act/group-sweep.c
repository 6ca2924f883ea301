/* Control groups that a hold made and did not remove: its holder and its hold watchdog were killed between two steps, or something was
 * just ending in there. Only empty groups can be removed, so nothing is given back here that a hold still needs. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "machine/act/cgroup-place.h"
#include "machine/act/hold-file.h"

#define AGE	  60 /* s: a recorder in another folder may be about to fill a younger one */
#define DEPTH_MAX 32 /* of groups in groups: systemd makes 6 */

static void sweep_group(const char *run_dir, int folder, const char *name)
{
	struct stat st;

	if (hold_file_exists(run_dir, cgroup_place_hold_id(name)))
		return;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && time(NULL) - st.st_mtime >= AGE)
		(void)unlinkat(folder, name, AT_REMOVEDIR); /* fails where something is in it */
}

static void sweep_folder(const char *run_dir, int parent, const char *name, unsigned depth)
{
	FOLDER_EACH(e, folder_open_at(parent, name)) {
		if (e.type != DT_DIR || e.name[0] == '.')
			continue;
		if (cgroup_place_hold_id(e.name))
			sweep_group(run_dir, dirfd(e.folder), e.name);
		else if (depth < DEPTH_MAX)
			sweep_folder(run_dir, dirfd(e.folder), e.name, depth + 1);
	}
}

void hold_group_sweep(const char *proc_root, const char *run_dir)
{
	LINES_EACH(line, fopen(STR_TEXT(PATH_MAX, "%s/self/mountinfo", proc_root), "re")) {
		char mount[512];

		if ((strstr(line.text, " - cgroup ") || strstr(line.text, " - cgroup2 ")) && sscanf(line.text, "%*s %*s %*s %*s %511s", mount) == 1)
			sweep_folder(run_dir, AT_FDCWD, mount, 0);
	}
}
