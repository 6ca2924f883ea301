/* Where control groups are: of both versions, and mixed as systemd's hybrid mode has them.
 *
 * /proc/PID/cgroup (ID:CONTROLLERS:PATH, version 2 is "0::PATH") joined with /proc/self/mountinfo:
 *
 *   29 25 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
 *   37 25 0:34 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PLACE_OF_HOLDS "whyslow-" /* what the name of a hold's control group begins with */

struct cgroup_place {
	char *path;   /* the control group's folder, absolute */
	char *mount;  /* of its hierarchy: a prefix of path */
	bool unified; /* version 2 */
};

void cgroup_place_free(struct cgroup_place *p);
/* The group of a process in the hierarchy that has this controller; "" = version 2, whatever controllers it
 * has; of a process that is held back the one it was in before. 0; -ENOENT where no such hierarchy is mounted (or not all of it:
 * within a container), -ESRCH, -ENOMEM.
 */
int cgroup_place_find(const char *proc_root, uint32_t pid, const char *controller, struct cgroup_place *ret);
/* The hold that a control group of this name was made for, within the name; NULL: the group is another one's. */
const char *cgroup_place_hold_id(const char *name);
/* Whether a version 2 group hands a controller on to the groups below it. */
bool cgroup_place_delegates(const struct cgroup_place *p, const char *controller);
