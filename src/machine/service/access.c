#include "machine/service/access.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"

#define NAMES_MAX  65536 /* bytes of a group's line: as many members as a group database gives */
#define GROUPS_MAX 4096	 /* of one user; the kernel takes 65536, no account has them */
#define MODE_GROUP 0060
#define MODE_OTHER 0006

static int group_of_name(const char *name, gid_t *ret)
{
	_cleanup_free_ char *buf = malloc(NAMES_MAX);
	struct group group, *found = NULL;
	int r = buf ? getgrnam_r(name, &group, buf, NAMES_MAX, &found) : ENOMEM;

	if (r != 0 || !found)
		return r ? -r : -ENOENT;
	*ret = group.gr_gid;
	return 0;
}

static bool has_group(const struct config *c)
{
	return strcmp(c->socket_group, "none") != 0;
}

/* By the accounts, as they are now: what a process gave up of its groups stays its user's. */
static bool is_member(uint32_t uid, gid_t wanted)
{
	_cleanup_free_ gid_t *groups = calloc(GROUPS_MAX, sizeof(*groups));
	_cleanup_free_ char *buf = malloc(NAMES_MAX);
	struct passwd user, *found = NULL;
	int n = GROUPS_MAX;

	if (!groups || !buf || getpwuid_r(uid, &user, buf, NAMES_MAX, &found) != 0 || !found)
		return false;
	if (getgrouplist(found->pw_name, found->pw_gid, groups, &n) < 0)
		return false;
	return ANY_WHERE(i, n, groups[i] == wanted);
}

/* "proc /proc proc rw,nosuid,hidepid=invisible,gid=4 0 0": the options of the last mount there. 0, -ENOENT or -errno. */
static int proc_options(const char *mounts, char **ret)
{
	_cleanup_fclose_ FILE *f = fopen(mounts, "re");
	_cleanup_free_ char *line = NULL;
	char *found = NULL;
	size_t allocated = 0;

	if (!f)
		return -errno;
	while (getline(&line, &allocated, f) > 0) {
		char *rest = line, *words[4];
		size_t n = 0;

		while (n < ARRAY_SIZE(words) && (words[n] = strsep(&rest, " ")))
			n++;
		if (n < ARRAY_SIZE(words) || strcmp(words[1], "/proc") != 0 || strcmp(words[2], "proc") != 0)
			continue;
		free(found);
		found = strdup(words[3]);
		if (!found)
			return -ENOMEM;
	}
	*ret = found;
	return found ? 0 : -ENOENT;
}

static const char *option(const char *options, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = options; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, name, n) == 0 && at[n] == '=')
			return at + n + 1;
	return NULL;
}

/* hidepid=noaccess, invisible, ptraceable; numbers before Linux 5.8. */
static int waits_others_are_hidden(const char *mounts, uint32_t uid, bool *ret)
{
	_cleanup_free_ char *options = NULL;
	const char *hidepid, *gid;
	int r = proc_options(mounts, &options);

	if (r < 0)
		return r;
	hidepid = option(options, "hidepid");
	gid = option(options, "gid");
	*ret = hidepid && *hidepid != '0' && !str_starts(hidepid, "off") && !(gid && is_member(uid, (gid_t)strtoul(gid, NULL, 10)));
	return 0;
}

int access_viewer(const struct config *c, const char *mounts, uint32_t uid, struct viewer *ret)
{
	struct viewer v = {.uid = uid, .hides_others = true};
	gid_t group;
	int r = has_group(c) ? group_of_name(c->socket_group, &group) : 0, hidden;

	if (r == 0 && has_group(c))
		v.in_group = is_member(uid, group);
	hidden = waits_others_are_hidden(mounts, uid, &v.hides_others);
	*ret = v;
	return r < 0 ? r : hidden;
}

bool access_is_allowed(const struct config *c, const struct viewer *v)
{
	return v->uid == 0 || (c->socket_mode & MODE_OTHER) == MODE_OTHER || (v->in_group && (c->socket_mode & MODE_GROUP) == MODE_GROUP);
}

/* The owner of a file may give it to a group of its own; the thread takes the group for that moment. */
static int give_to_group(const char *path, gid_t group)
{
	gid_t own = (gid_t)setfsgid(group);
	int r = lchown(path, (uid_t)-1, group) < 0 ? -errno : 0;

	(void)setfsgid(own);
	return r;
}

int access_apply(const struct config *c, const char *run_dir)
{
	_cleanup_free_ char *path = NULL;
	gid_t group = 0;
	int r = has_group(c) ? group_of_name(c->socket_group, &group) : 0;

	if (asprintf(&path, "%s/socket", run_dir) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (r == 0 && has_group(c))
		r = give_to_group(path, group);
	return chmod(path, r < 0 ? 0600 : (mode_t)c->socket_mode) < 0 ? -errno : r;
}
