/* How full file systems are: statvfs() of the mounts in /proc/1/mounts (fs/proc_namespace.c), below /proc/1/root:
 *
 *   /dev/vda / ext4 rw,relatime,discard 0 0
 *   tmpfs /tmp tmpfs rw,nosuid,nodev 0 0
 *   server:/export /home/a\040b nfs4 rw,vers=4.2 0 0
 *
 * A dead server hangs the one that asks its mount, for ever. So only types that live on this machine are asked, and none
 * whose mount point lies below one of another type: the way there leads through it. A device mounted in several
 * places is asked once, at the first. Process 1 has the machine's mounts: a unit has folders of its own in place of /tmp and
 * /home. Who may not look there asks its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/input/text.h"
#include "machine/process/entity-set.h"
#include "machine/sample/source.h"

#define FILESYSTEMS_MAX 256
#define MOUNTS_MAX	4096

/* The kernel's own, without a place on a disk: harmless to pass through, not worth asking. */
static const char *const kernel_types[] = {
	"proc",	     "sysfs",	"devtmpfs", "devpts",	   "cgroup",  "cgroup2",  "bpf",	"tmpfs",
	"ramfs",     "debugfs", "tracefs",  "securityfs",  "pstore",  "efivarfs", "configfs",	"mqueue",
	"hugetlbfs", "overlay", "squashfs", "binfmt_misc", "fusectl", "nsfs",	  "rpc_pipefs", "iso9660",
};
static const char *const disk_types[] = {
	"ext4",	 "xfs",	  "btrfs", "ext3",     "ext2", "f2fs",	   "vfat",
	"exfat", "ntfs3", "zfs",   "bcachefs", "jfs",  "reiserfs",
};
/* In memory, but full like any other. */
static const char *const memory_mounts[] = {"/tmp", "/run", "/dev/shm", "/var/tmp"};

struct mount {
	const char *device, *point, *type;
};

struct filesystem_source {
	struct text_file file;
	char *root; /* the points are below it; "" = ours */
	struct entity_set filesystems;
	VEC(struct mount) mounts;
};

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	return ANY_WHERE(i, n, strcmp(name, names[i]) == 0);
}

static bool is_harmless(const struct mount *m)
{
	return is_one_of(m->type, disk_types, ARRAY_SIZE(disk_types)) ||
	       is_one_of(m->type, kernel_types, ARRAY_SIZE(kernel_types));
}

static bool is_worth_asking(const struct mount *m)
{
	if (is_one_of(m->type, disk_types, ARRAY_SIZE(disk_types)))
		return true;
	if (strcmp(m->type, "tmpfs") == 0)
		return is_one_of(m->point, memory_mounts, ARRAY_SIZE(memory_mounts));
	return strcmp(m->type, "overlay") == 0 && strcmp(m->point, "/") == 0; /* a container's root */
}

static bool is_below(const char *path, const char *above)
{
	size_t n = strlen(above);

	if (n && above[n - 1] == '/')
		n--;
	return strncmp(path, above, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* The list's order says only which of two mounts at one point hides the other: the later one. */
static bool can_be_asked(const struct filesystem_source *src, size_t i)
{
	const struct mount *m = &src->mounts.v[i];

	for (size_t j = 0; j < src->mounts.n; j++) {
		const struct mount *other = &src->mounts.v[j];

		if (j > i && strcmp(m->point, other->point) == 0)
			return false;
		if (j != i && !is_harmless(other) && is_below(m->point, other->point))
			return false;
		if (j < i && strcmp(m->type, "tmpfs") != 0 && strcmp(other->device, m->device) == 0 &&
		    is_worth_asking(other))
			return false;
	}
	return true;
}

/* Blanks and backslashes in names are written as \040. */
static void unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' && text[2] <= '7' &&
		    text[3] >= '0' && text[3] <= '7') {
			*out++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
			text += 3;
		} else {
			*out++ = *text;
		}
	}
	*out = '\0';
}

static char *cut_word(char **at)
{
	char *word = strsep(at, " ");

	if (word)
		unescape(word);
	return word;
}

/* The names stay in the file's buffer. */
static void list_mounts(struct filesystem_source *src)
{
	char *rest = src->file.data, *line;

	src->mounts.n = 0;
	while ((line = strsep(&rest, "\n")) && src->mounts.n < MOUNTS_MAX) {
		struct mount m = {.device = cut_word(&line)};

		m.point = cut_word(&line);
		m.type = cut_word(&line);
		if (m.type && *m.point == '/')
			(void)VEC_PUSH(src->mounts, m);
	}
}

static void ask(struct filesystem_source *src, const struct mount *mount)
{
	_cleanup_free_ char *place = NULL;
	struct statvfs fs;
	struct entity_slot *m;

	if (asprintf(&place, "%s%s", src->root, mount->point) < 0) {
		place = NULL;
		return;
	}
	if (statvfs(place, &fs) < 0 || fs.f_blocks == 0)
		return;
	m = entity_set_see(&src->filesystems, mount->point, strlen(mount->point), NULL);
	if (!m)
		return;
	entity_slot_set(m, FEATURE_FS_SIZE, (uint64_t)fs.f_blocks * fs.f_frsize);
	entity_slot_set(m, FEATURE_FS_FREE, (uint64_t)fs.f_bavail * fs.f_frsize);
	if (fs.f_files) /* btrfs and vfat have no such limit */
		entity_slot_set(m, FEATURE_FS_FILES_FREE, fs.f_favail);
}

static void filesystem_sample(void *state, struct tick *tick)
{
	struct filesystem_source *src = state;

	if (text_file_read(&src->file) < 0)
		return;
	list_mounts(src);
	entity_set_begin(&src->filesystems);
	for (size_t i = 0; i < src->mounts.n; i++)
		if (is_worth_asking(&src->mounts.v[i]) && can_be_asked(src, i))
			ask(src, &src->mounts.v[i]);
	entity_set_put(&src->filesystems, tick);
}

static void filesystem_close(void *state)
{
	struct filesystem_source *src = state;

	text_file_close(&src->file);
	entity_set_free(&src->filesystems);
	VEC_FREE(src->mounts);
	FREE_ALL(src->root, src);
}

static int open_first_process(struct filesystem_source *src, const char *proc_root)
{
	if (asprintf(&src->root, "%s/1/root", proc_root) < 0) {
		src->root = NULL;
		return -ENOMEM;
	}
	return access(src->root, X_OK) < 0 ? -errno : text_file_open(&src->file, proc_root, "1/mounts");
}

static int open_own(struct filesystem_source *src, const char *proc_root)
{
	free(src->root);
	src->root = strdup("");
	return src->root ? text_file_open(&src->file, proc_root, "self/mounts") : -ENOMEM;
}

static int filesystem_open(const struct source_options *options, void **ret_state, const char **ret_why)
{
	struct filesystem_source *src = calloc(1, sizeof(*src));
	int r = src ? open_first_process(src, options->proc_root) : -ENOMEM;

	if (src && r < 0)
		r = open_own(src, options->proc_root);
	if (r < 0) {
		if (src)
			free(src->root);
		free(src);
		*ret_why = "no /proc/self/mounts: the fullness of file systems cannot be seen";
		return r;
	}
	src->filesystems = (struct entity_set){.kind = ENTITY_FILESYSTEM, .max = FILESYSTEMS_MAX};
	*ret_state = src;
	return 0;
}

const struct source source_filesystem = {
	.name = "filesystem",
	.help = "free space and free files of file systems on this machine's own disks",
	.open = filesystem_open,
	.sample = filesystem_sample,
	.close = filesystem_close,
	.every = 30,
};
