#include "machine/answer-live/fuse-mount.h"

#include <stdio.h>
#include <string.h>

#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"


/* --- mounts --- */

struct mount {
	unsigned id, minor;
	char place[FUSE_PLACE], type[FUSE_TYPE];
};

/* "52 27 0:41 / /home/me/album rw,nosuid,nodev,relatime - fuse.sshfs host:/pictures rw,user_id=0,group_id=0" */
static bool parse_mount(const char *line, struct mount *m)
{
	const char *end = strstr(line, " - ");

	return end && sscanf(line, "%u %*u %*u:%u %*s %255s", &m->id, &m->minor, m->place) == 3 && sscanf(end, " - %63s", m->type) == 1;
}

static bool is_fuse(const struct mount *m)
{
	return strcmp(m->type, "fuse") == 0 || strcmp(m->type, "fuseblk") == 0 || str_starts(m->type, "fuse.");
}

static bool is_below(const char *path, const char *place)
{
	size_t n = strlen(place);

	return strncmp(path, place, n) == 0 && (path[n] == '/' || path[n] == '\0' || n == 1);
}

/* A mount, by one thing that is known of it: the others are 0. */
struct known {
	const char *path; /* below it */
	unsigned id, minor;
};

static bool is_meant(const struct known *k, const struct mount *m)
{
	return k->path ? is_below(k->path, m->place) : k->id ? m->id == k->id : m->minor == k->minor;
}

/* Where several are meant, the last one of those that reach deepest towards the path. */
static bool find_mount(const char *proc_root, unsigned pid, const struct known *k, struct mount *ret)
{
	bool found = false;
	struct mount m;

	LINES_EACH(line, fopen(STR_TEXT(300, "%s/%u/mountinfo", proc_root, pid), "re")) {
		if (!parse_mount(line.text, &m) || !is_meant(k, &m) || (k->path && found && strlen(m.place) < strlen(ret->place)))
			continue;
		*ret = m;
		found = true;
	}
	return found;
}

/* A number that a line of fdinfo has: "mnt_id:	24". */
static bool fdinfo_number(const char *proc_root, unsigned pid, const char *fd, const char *key, unsigned *ret)
{
	size_t n = strlen(key);

	LINES_EACH(line, fopen(STR_TEXT(300, "%s/%u/fdinfo/%s", proc_root, pid, fd), "re"))
		if (strncmp(line.text, key, n) == 0 && sscanf(line.text + n, ": %u", ret) == 1)
			return true;
	return false;
}

static bool find_of_call(const char *proc_root, const struct live_thread *t, struct mount *ret)
{
	bool has_path = t->call && live_call_has_path(t->call);
	char path[LIVE_PATH], fd[24];
	struct known k = {};

	snprintf(fd, sizeof(fd), "%llu", t->arguments[0]);
	if (!t->call || !(has_path ? live_thread_path(proc_root, t, path, sizeof(path)) : fdinfo_number(proc_root, t->pid, fd, "mnt_id", &k.id)))
		return false;
	k.path = has_path ? path : NULL;
	return find_mount(proc_root, t->pid, &k, ret) && is_fuse(ret);
}

/* In a page fault there is no call: the only one of which it has files mapped. */
static bool find_mapped(const char *proc_root, const struct live_thread *t, struct mount *ret)
{
	struct known k = {};
	unsigned major, minor;
	struct mount m;

	LINES_EACH(line, fopen(STR_TEXT(300, "%s/%u/maps", proc_root, t->pid), "re")) {
		if (sscanf(line.text, "%*s %*s %*s %x:%x", &major, &minor) != 2 || major || !minor || minor == k.minor ||
		    !find_mount(proc_root, t->pid, &(struct known){.minor = minor}, &m) || !is_fuse(&m))
			continue;
		if (k.minor)
			return false;
		k.minor = minor;
		*ret = m;
	}
	return k.minor;
}

bool fuse_mount_find(const char *proc_root, const struct live_thread *t, struct fuse_mount *ret)
{
	struct mount m;

	if (!find_of_call(proc_root, t, &m) && !find_mapped(proc_root, t, &m))
		return false;
	*ret = (struct fuse_mount){.connection = m.minor};
	snprintf(ret->type, sizeof(ret->type), "%s", str_starts(m.type, "fuse.") ? m.type + strlen("fuse.") : "");
	memcpy(ret->place, m.place, sizeof(ret->place));
	return true;
}

bool fuse_mount_is_served_by(const char *proc_root, const struct fuse_mount *m, unsigned pid)
{
	bool is_known = false;
	struct live_thread t;

	FOLDER_EACH(e, opendir(STR_TEXT(300, "%s/%u/fdinfo", proc_root, pid))) {
		unsigned connection;

		if (!fdinfo_number(proc_root, pid, e.name, "fuse_connection", &connection))
			continue;
		if (connection == m->connection)
			return true;
		is_known = true;
	}
	return !is_known && live_thread_read(proc_root, pid, pid, &t) == 0 && strcmp(t.comm, m->type) == 0;
}
