#include "machine/act/cgroup-place.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/str.h"

void cgroup_place_free(struct cgroup_place *p)
{
	FREE_ALL(p->path, p->mount);
	*p = (struct cgroup_place){};
}

/* Whether a comma-separated list has this word. */
static bool has_word(const char *list, const char *word, char separator)
{
	size_t n = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += n)
		if ((at == list || at[-1] == separator) &&
		    (at[n] == '\0' || at[n] == separator || at[n] == '\n'))
			return true;
	return false;
}

/* A process's path in one hierarchy. -ENOENT when the list has no such one. */
static int read_path(const char *proc_root, uint32_t pid, const char *controller, char **ret)
{
	FILE *f = fopen(STR_TEXT(PATH_MAX, "%s/%u/cgroup", proc_root, pid), "re");

	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	LINES_EACH(line, f) {
		char *controllers = strchr(line.text, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*controllers++ = *path++ = '\0';
		if (*controller ? !has_word(controllers, controller, ',') : *controllers != '\0')
			continue;
		*ret = strdup(path);
		return *ret ? 0 : -ENOMEM;
	}
	return -ENOENT;
}

/* The mount point of the hierarchy, and which of its folders is mounted there. */
static int read_mount(const char *proc_root, const char *controller, char **ret_mount, char **ret_root)
{
	FILE *f = fopen(STR_TEXT(PATH_MAX, "%s/self/mountinfo", proc_root), "re");

	if (!f)
		return -errno;
	LINES_EACH(line, f) {
		char root[512], mount[512], kind[32], options[512];
		const char *second = strstr(line.text, " - ");

		if (!second || sscanf(line.text, "%*s %*s %*s %511s %511s", root, mount) != 2 ||
		    sscanf(second, " - %31s %*s %511s", kind, options) != 2)
			continue;
		if (*controller ? strcmp(kind, "cgroup") != 0 || !has_word(options, controller, ',')
				: strcmp(kind, "cgroup2") != 0)
			continue;
		*ret_mount = strdup(mount);
		*ret_root = strdup(root);
		return *ret_mount && *ret_root ? 0 : -ENOMEM;
	}
	return -ENOENT;
}

/* PID-START, of a user other than root PID-START-uUID: see hold_name() */
const char *cgroup_place_hold_id(const char *name)
{
	unsigned long long numbers[3];
	const char *id = name + strlen(PLACE_OF_HOLDS);
	int end = 0;

	if (!str_starts(name, PLACE_OF_HOLDS) || !isdigit((unsigned char)*id) ||
	    sscanf(id, "%llu-%llu%n-u%llu%n", &numbers[0], &numbers[1], &end, &numbers[2], &end) < 2)
		return NULL;
	return end && id[end] == '\0' ? id : NULL;
}

/* A user may give a group such a name where groups are that user's; those of holds are made by whyslow. */
static bool is_made_by_other(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_uid != geteuid();
}

/* The group that a hold has put a process into is none of its own: another hold begins next to it. Below it nothing could be
 * handed on, in version 2. path: what follows `mount` (bytes) is in the hierarchy. */
static void leave_holds(char *path, size_t mount)
{
	char *slash;

	while ((slash = strrchr(path + mount, '/')) && cgroup_place_hold_id(slash + 1) && !is_made_by_other(path))
		*slash = '\0';
}

int cgroup_place_find(const char *proc_root, uint32_t pid, const char *controller, struct cgroup_place *ret)
{
	_cleanup_free_ char *path = NULL, *mount = NULL, *root = NULL;
	const char *below;
	int r = read_path(proc_root, pid, controller, &path);

	r = r ?: read_mount(proc_root, controller, &mount, &root);
	if (r < 0)
		return r;
	below = strcmp(root, "/") == 0 ? path : str_starts(path, root) ? path + strlen(root) : NULL;
	if (!below || strstr(below, "/..") || strpbrk(below, "\t\n"))
		return -ENOENT;
	*ret = (struct cgroup_place){.mount = TAKE(mount), .unified = !*controller};
	if (asprintf(&ret->path, "%s%s", ret->mount, strcmp(below, "/") == 0 ? "" : below) < 0) {
		ret->path = NULL;
		cgroup_place_free(ret);
		return -ENOMEM;
	}
	leave_holds(ret->path, strlen(ret->mount));
	return 0;
}

bool cgroup_place_delegates(const struct cgroup_place *p, const char *controller)
{
	char line[256];

	return p->unified && file_first_line(STR_TEXT(PATH_MAX, "%s/cgroup.subtree_control", p->path), line, sizeof(line)) &&
	       has_word(line, controller, ' ');
}
