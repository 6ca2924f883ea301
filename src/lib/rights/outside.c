#include "lib/rights/outside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/str.h"

#define ASKS_NOTHING AT_STATX_DONT_SYNC
#define PROCESS_PATH 192 /* /proc/PID, or below a test's folder */

/* --- what may be touched --- */

static int look_at(int folder, const char *name, int flags, struct statx *ret)
{
	return statx(folder, name, flags | AT_NO_AUTOMOUNT | ASKS_NOTHING, STATX_BASIC_STATS | STATX_MNT_ID, ret) < 0 ? -errno : 0;
}

static void put_state(const struct statx *s, struct stat *ret)
{
	*ret = (struct stat){
		.st_dev = makedev(s->stx_dev_major, s->stx_dev_minor),
		.st_ino = s->stx_ino,
		.st_mode = s->stx_mode,
		.st_nlink = s->stx_nlink,
		.st_uid = s->stx_uid,
		.st_gid = s->stx_gid,
		.st_size = (off_t)s->stx_size,
		.st_mtim = {s->stx_mtime.tv_sec, s->stx_mtime.tv_nsec},
		.st_ctim = {s->stx_ctime.tv_sec, s->stx_ctime.tv_nsec},
	};
}

int outside_stat(int folder, const char *name, int flags, struct stat *ret)
{
	struct statx s;
	int r = look_at(folder, name, flags, &s);

	if (r == 0)
		put_state(&s, ret);
	return r;
}

/* A line of /proc/PID/mountinfo: "36 35 0:98 /mnt1 /mnt2 rw,noatime master:1 - overlay overlay rw". */
struct mount {
	unsigned id;
	dev_t device;
	char type[32];
};

static bool parse_mount(const char *line, struct mount *ret)
{
	const char *rest = strstr(line, " - ");
	unsigned major, minor;

	if (!rest || sscanf(line, "%u %*u %u:%u", &ret->id, &major, &minor) != 3 || sscanf(rest, " - %31s", ret->type) != 1)
		return false;
	ret->device = makedev(major, minor);
	return true;
}

/* The mount of that number, or with 0 one of that device. False: there is none. */
static bool find_mount(const char *process, uint64_t id, dev_t device, struct mount *ret)
{
	struct mount m;

	LINES_EACH(line, fopen(STR_TEXT(PATH_MAX, "%s/mountinfo", process), "re"))
		if (parse_mount(line.text, &m) && (id ? m.id == id : m.device == device)) {
			*ret = m;
			return true;
		}
	return false;
}

static bool can_be_users(const char *type)
{
	return strcmp(type, "overlay") == 0 || (strncmp(type, "fuse", 4) == 0 && strcmp(type, "fuseblk") != 0);
}

/* Memory that has no mount: memfd_create(). */
static bool is_memory(dev_t device)
{
	_cleanup_close_ int fd = memfd_create("outside", MFD_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == device;
}

/* By its number, which is one of all namespaces. (A subvolume of btrfs has another device than its mount.) */
static bool find_mount_of(const struct statx *s, const char *process, struct mount *ret)
{
	const char *const processes[] = {process, "/proc/self", "/proc/1"};

	for (size_t i = 0; s->stx_mask & STATX_MNT_ID && i < ARRAY_SIZE(processes); i++)
		if (*processes[i] && find_mount(processes[i], s->stx_mnt_id, 0, ret))
			return true;
	return false;
}

/* process: "/proc/PID" in whose mount namespace it was found, "" = none */
static bool may_touch(const struct statx *s, const char *process)
{
	struct mount m = {.device = makedev(s->stx_dev_major, s->stx_dev_minor)};

	if (s->stx_dev_major) /* on a disk: only root mounts those */
		return true;
	if (find_mount_of(s, process, &m) && !can_be_users(m.type))
		return true;
	return find_mount("/proc/self", 0, m.device, &m) || find_mount("/proc/1", 0, m.device, &m) || is_memory(m.device);
}

bool outside_may_read_mapped(dev_t device)
{
	struct mount m;

	if (major(device))
		return true;
	if (find_mount("/proc/self", 0, device, &m) || find_mount("/proc/1", 0, device, &m))
		return strncmp(m.type, "fuse", 4) != 0;
	return is_memory(device);
}

/* "/proc/4711/map_files/a-b", "/proc/4711/exe", "/proc/4711/root" -> "/proc/4711"; "" = it is none of these */
static void process_of(const char *path, char ret[PROCESS_PATH])
{
	static const char *const ends[] = {"/map_files/", "/exe", "/root"};

	*ret = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const char *at = strstr(path, ends[i]);

		if (at && at - path < PROCESS_PATH && (i == 0 || !at[strlen(ends[i])])) {
			memcpy(ret, path, (size_t)(at - path));
			ret[at - path] = '\0';
			return;
		}
	}
}

static bool is_same_file(const struct stat *a, const char *path)
{
	struct stat b;

	return stat(path, &b) == 0 && a->st_ino == b.st_ino && a->st_dev == b.st_dev;
}

/* Its mount namespace belongs to another user namespace than ours. */
static bool has_own_mounts(const char *process)
{
	_cleanup_close_ int namespace = -1, owner = -1;
	_cleanup_free_ char *path = NULL;
	struct stat st;

	if (asprintf(&path, "%s/ns/mnt", process) < 0) {
		path = NULL;
		return true;
	}
	namespace = open(path, O_RDONLY | O_CLOEXEC);
	if (namespace < 0 || fstat(namespace, &st) < 0)
		return errno != ENOENT; /* a recorded /proc has none */
	if (is_same_file(&st, "/proc/self/ns/mnt") || is_same_file(&st, "/proc/1/ns/mnt"))
		return false;
	owner = ioctl(namespace, NS_GET_USERNS);
	return owner < 0 || fstat(owner, &st) < 0 || !is_same_file(&st, "/proc/self/ns/user");
}

bool outside_has_own_mounts(const char *proc_root, uint32_t pid)
{
	char process[PROCESS_PATH];

	return (size_t)snprintf(process, sizeof(process), "%s/%u", proc_root, pid) >= sizeof(process) || has_own_mounts(process);
}

/* --- opening --- */

/* One that was found with O_PATH: the same file, whatever lies at its path by now. */
static int open_found(int found, int flags)
{
	int fd;

	fd = open(STR_TEXT(64, "/proc/self/fd/%d", found), O_RDONLY | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

/* process: NULL = the file system is known to be one that may be touched. O_NONBLOCK also where another process holds a lease on it. */
static int read_found(int found, const char *process)
{
	struct statx s;
	int r = look_at(found, "", AT_EMPTY_PATH, &s);

	if (r < 0)
		return r;
	if (!S_ISREG(s.stx_mode))
		return -EINVAL;
	return process && !may_touch(&s, process) ? -EACCES : open_found(found, O_NONBLOCK | O_NOCTTY);
}

int outside_open_regular(const char *path)
{
	_cleanup_close_ int found = open(path, O_PATH | O_CLOEXEC);
	char process[PROCESS_PATH];

	process_of(path, process);
	return found < 0 ? -errno : read_found(found, process);
}

static int find(int folder, const char *path, unsigned flags, unsigned resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
	int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* The folder is one of outside_open_folder_below(), and no mount in it is entered. */
int outside_open_in_folder(int folder, const char *name)
{
	_cleanup_close_ int found = find(folder, name, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);

	return found < 0 ? found : read_found(found, NULL);
}

static int find_below(const char *root, const char *path, unsigned flags, char ret_process[PROCESS_PATH])
{
	_cleanup_close_ int folder = open(*root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	unsigned resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
	struct statx s;
	int r;

	if (folder < 0)
		return -errno;
	process_of(root, ret_process);
	r = look_at(folder, "", AT_EMPTY_PATH, &s);
	if (r < 0)
		return r;
	if (!may_touch(&s, ret_process))
		return -EACCES;
	if (*ret_process && has_own_mounts(ret_process))
		resolve |= RESOLVE_NO_XDEV;
	return find(folder, path, flags, resolve);
}

int outside_open_below(const char *root, const char *path)
{
	char process[PROCESS_PATH];
	_cleanup_close_ int found = find_below(root, path, O_PATH, process);

	return found < 0 ? found : read_found(found, process);
}

/* A descriptor (O_PATH) of one that may be touched, and its state; or -errno. */
static int find_touchable(const char *root, const char *path, unsigned flags, struct statx *ret)
{
	char process[PROCESS_PATH];
	_cleanup_close_ int found = find_below(root, path, O_PATH | flags, process);
	int r;

	if (found < 0)
		return found;
	r = look_at(found, "", AT_EMPTY_PATH, ret);
	if (r < 0)
		return r;
	return may_touch(ret, process) ? TAKE_FD(found) : -EACCES;
}

int outside_open_folder_below(const char *root, const char *path)
{
	struct statx s;
	_cleanup_close_ int found = find_touchable(root, path, O_DIRECTORY, &s);

	return found < 0 ? found : open_found(found, O_DIRECTORY);
}

int outside_find_below(const char *root, const char *path, struct stat *ret)
{
	struct statx s;
	int found = find_touchable(root, path, O_NOFOLLOW, &s);

	if (found >= 0)
		put_state(&s, ret);
	return found;
}

int outside_open_found(int found, const char *root)
{
	char process[PROCESS_PATH];

	process_of(root, process);
	return read_found(found, process);
}

/* --- whose it is --- */

/* Real, effective, saved, and of files:
 * Uid:	1000	1000	1000	1000 */
uint32_t outside_owner_parse(const char *status)
{
	const char *at = strstr(status, "\nUid:");
	unsigned real, effective, saved;

	if (!at || sscanf(at, " Uid: %u %u %u", &real, &effective, &saved) != 3)
		return 0;
	return real == effective && real == saved ? real : 0;
}

int outside_owner(const char *proc_root, unsigned pid, uint32_t *ret)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[300], text[1024]; /* the ids are among the first lines */
	struct stat st;

	snprintf(path, sizeof(path), "%s/%u/status", proc_root, pid);
	f = fopen(path, "re");
	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		*ret = outside_owner_parse(text);
		return 0;
	}
	snprintf(path, sizeof(path), "%s/%u", proc_root, pid); /* a recorded /proc may have no more */
	if (stat(path, &st) < 0)
		return -ESRCH;
	*ret = st.st_uid;
	return 0;
}
