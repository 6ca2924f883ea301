/* The processes that must be left alone: see target.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/rights/outside.h"
#include "machine/act/foreground.h"
#include "machine/act/target.h"

#define ACCEPTING   0x10000 /* __SO_ACCEPTCON: something listens on the socket */
#define SOCKETS_MAX 256

/* --- whyslow itself, and the one that started it --- */

static bool is_same_program(const char *proc_root, uint32_t pid)
{
	_cleanup_free_ char *name = NULL;
	struct stat own, other;

	return asprintf(&name, "%s/%u/exe", proc_root, pid) >= 0 && stat("/proc/self/exe", &own) == 0 &&
	       outside_stat(AT_FDCWD, name, 0, &other) == 0 && own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

static bool is_ancestor_of_self(const struct processes *all, uint32_t pid)
{
	const struct process *p = processes_find(all, (uint32_t)getpid());

	for (int i = 0; p && i < 64; i++, p = processes_find(all, p->parent))
		if (p->pid == pid)
			return true;
	return false;
}

/* --- what the session needs: known by the sockets it listens on --- */

static const struct {
	const char *begins, *has;
	const char *words;
} needed[] = {
	{"/tmp/.X11-unix/X", NULL, "the display server"},
	{"@/tmp/.X11-unix/X", NULL, "the display server"},
	{"/run/user/", "/wayland-", "the display server"},
	{"/run/dbus/system_bus_socket", NULL, "the system's message bus"},
	{"/run/user/", "/bus", "the session's message bus"},
	{"/run/systemd/private", NULL, "the system's manager"},
	{"/run/user/", "/systemd/private", "the session's manager"},
	{"/run/user/", "/pipewire-", "the session's sound server"},
};

struct listener {
	uint64_t inode;
	const char *words;
};

static const char *what_listens(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (str_starts(path, needed[i].begins) && (!needed[i].has || strstr(path, needed[i].has)))
			return needed[i].words;
	return NULL;
}

/* "ffff9d: 00000002 00000000 00010000 0001 01 23456 /run/dbus/system_bus_socket", in the process's own
 * network. */
static size_t read_listeners(const char *proc_root, uint32_t pid, struct listener *ret)
{
	size_t n = 0;

	LINES_EACH(line, fopen(STR_TEXT(PATH_MAX, "%s/%u/net/unix", proc_root, pid), "re")) {
		char path[256];
		const char *words;
		unsigned flags;
		uint64_t inode;

		if (sscanf(line.text, "%*s %*s %*s %x %*s %*s %" SCNu64 " %255s", &flags, &inode, path) != 3 ||
		    !(flags & ACCEPTING))
			continue;
		words = what_listens(path);
		if (words && n < SOCKETS_MAX)
			ret[n++] = (struct listener){inode, words};
	}
	return n;
}

static const char *find_listener(const char *proc_root, uint32_t pid)
{
	struct listener listeners[SOCKETS_MAX];
	size_t n = read_listeners(proc_root, pid, listeners);
	_cleanup_free_ char *name = NULL;

	if (!n || asprintf(&name, "%s/%u/fd", proc_root, pid) < 0)
		return NULL;
	FOLDER_EACH(e, opendir(name)) {
		char target[64];
		uint64_t inode;
		ssize_t length = readlinkat(dirfd(e.folder), e.name, target, sizeof(target) - 1);

		if (length <= 0)
			continue;
		target[length] = '\0';
		if (sscanf(target, "socket:[%" SCNu64 "]", &inode) != 1)
			continue;
		for (size_t i = 0; i < n; i++)
			if (listeners[i].inode == inode)
				return listeners[i].words;
	}
	return NULL;
}

#define DELETED " (deleted)"

/* Any program may take any name: it counts for the file of that name that root installed. One in a mount namespace of its own may have
 * another file there. True where the file is not known. */
static bool is_file_of_name(const char *proc_root, uint32_t pid, const char *name)
{
	char link[64], path[PATH_MAX];
	struct stat own, there;
	const char *base;
	ssize_t n;

	if ((size_t)snprintf(link, sizeof(link), "%s/%u/exe", proc_root, pid) >= sizeof(link))
		return true;
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return true;
	path[n] = '\0';
	base = strrchr(path, '/');
	if (!base || !str_starts(base + 1, name) || outside_stat(AT_FDCWD, link, 0, &own) < 0 || own.st_uid != 0)
		return false;
	if ((size_t)n >= strlen(DELETED) && strcmp(path + n - strlen(DELETED), DELETED) == 0) /* replaced by an update */
		return true;
	return outside_stat(AT_FDCWD, path, 0, &there) == 0 && there.st_dev == own.st_dev && there.st_ino == own.st_ino;
}

static const char *needed_name(const char *proc_root, const struct process *p)
{
	static const struct {
		const char *name, *words;
	} names[] = {{"systemd", "the session's manager"},
		     {"systemd-logind", "the login service"},
		     {"login", "a login"},
		     {"gnome-session-b", "the session's manager"},
		     {"gdm-session-wor", "a login"},
		     {"lightdm", "a login"},
		     {"sddm", "a login"},
		     {"xinit", "the display server's start"}};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i].name, p->name) == 0)
			return is_file_of_name(proc_root, p->pid, p->name) ? names[i].words : NULL;
	return NULL;
}

/* A shell that something sits at leads a session and has a terminal. */
static bool is_session_leader(const struct process *p)
{
	return p->session == p->pid && p->terminal != 0;
}

/* The terminal window, sshd or tmux behind such a shell. */
static bool has_session_leader(const struct processes *all, const struct process *p)
{
	return ANY_WHERE(i, all->list.n, all->list.v[i].parent == p->pid && is_session_leader(&all->list.v[i]));
}

static bool is_in_foreground(const struct process *p)
{
	return p->terminal != 0 && p->foreground > 0 && (uint32_t)p->foreground == p->group;
}

/* --- */

static int refuse(char **ret_why, const struct process *p, const char *words)
{
	return str_fail(ret_why, -EPERM, "%s (pid %u) is %s: it is never held back", p->name, p->pid, words);
}

int process_refuse(const char *proc_root, const struct processes *all, const struct process *p,
		   const struct refusal_options *o, char **ret_why)
{
	const char *words;

	if (o->others_are_hidden && p->uid != o->viewer)
		return str_fail(ret_why, -ESRCH, "there is no process %u of yours", p->pid);
	if (p->pid == 1)
		return refuse(ret_why, p, "the first process of the machine");
	if (p->kernel)
		return refuse(ret_why, p, "a kernel thread (see which program it works for: 'whyslow waits')");
	if (is_same_program(proc_root, p->pid))
		return refuse(ret_why, p, "whyslow itself");
	if (is_ancestor_of_self(all, p->pid))
		return refuse(ret_why, p, "what this command was started from");
	words = find_listener(proc_root, p->pid);
	if (!words)
		words = needed_name(proc_root, p);
	if (!words && is_session_leader(p))
		words = "the shell of a session";
	if (!words && has_session_leader(all, p))
		words = "the terminal or login of a session";
	if (words)
		return refuse(ret_why, p, words);
	if (o->viewer != 0 && p->uid != o->viewer)
		return str_fail(ret_why, -EPERM, "%s (pid %u) is not yours: ask as root: sudo whyslow ...",
				 p->name, p->pid);
	if (is_in_foreground(p) && !o->force)
		return str_fail(ret_why, -EPERM,
				 "%s (pid %u) is in use, in the foreground of a terminal: "
				 "--force holds it back anyway",
				 p->name, p->pid);
	return 0;
}

/* The active window's. Another's program is refused for that before, without a look at the screen. */
static int refuse_active(const struct target *t, const struct refusal_options *o, char **ret_why)
{
	uint32_t pid;

	if (o->force || foreground_find(&pid) < 0 || !target_has(t, pid))
		return 0;
	return str_fail(
		ret_why, -EPERM,
		"%s (pid %u) is in use, in the active window: --force holds it back anyway",
		target_head(t)->name, target_head(t)->pid);
}

int target_refuse(const char *proc_root, const struct target *t, const struct refusal_options *o,
		  char **ret_why)
{
	_cleanup_(processes_free) struct processes all = {};
	int r = processes_read(proc_root, &all);

	for (size_t i = 0; r == 0 && i < t->members.list.n; i++)
		r = process_refuse(proc_root, &all, &t->members.list.v[i], o, ret_why);
	return r < 0 ? r : refuse_active(t, o, ret_why);
}
