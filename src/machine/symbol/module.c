#include "machine/symbol/module.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/file.h"
#include "lib/data/str.h"
#include "lib/rights/outside.h"
#include "machine/process/proc.h"

#define MAPS_MAX ((size_t)16 << 20) /* 65,530 mappings, the kernel's default limit, take 10 MB; with paths of 4 KB each 260 MB */

void modules_free(struct modules *m)
{
	VEC_FREE_EACH(m->modules, free(each->path));
	VEC_FREE(m->code);
	free(m->folder);
	*m = (struct modules){};
}

/* A file of /proc has no size: read until it ends. */
static int read_whole(const char *folder, const char *name, struct str *out)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;

	out->max = MAPS_MAX;
	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return file_read_all(fd, out) ?: str_puts(out, "");
}

struct line {
	uint64_t start, end, offset, inode;
	uint32_t device;
	char rights[5];
	const char *path;
	size_t path_length;
};

static bool read_line(const char *text, size_t n, struct line *ret)
{
	unsigned major, minor;
	int used = 0;

	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n", &ret->start,
		   &ret->end, ret->rights, &ret->offset, &major, &minor, &ret->inode, &used) < 7 ||
	    (size_t)used > n || ret->end <= ret->start || strlen(ret->rights) != 4)
		return false;
	ret->device = major << 20 | (minor & 0xfffff);
	while ((size_t)used < n && text[used] == ' ')
		used++;
	ret->path = text + used;
	ret->path_length = n - (size_t)used;
	return true;
}

static bool ends_with(const char *text, size_t n, const char *end)
{
	size_t k = strlen(end);

	return n >= k && memcmp(text + n - k, end, k) == 0;
}

static enum module_kind kind_of(const struct line *l)
{
	if (l->path_length == strlen("[vdso]") && memcmp(l->path, "[vdso]", l->path_length) == 0)
		return MODULE_VDSO;
	return l->path_length && l->path[0] == '/' && l->inode && !(l->path_length > 1 && l->path[1] == '/')
		       ? MODULE_FILE
		       : MODULE_MEMORY;
}

static bool belongs(const struct module *m, const struct line *l, enum module_kind kind, size_t path_length)
{
	return kind == MODULE_FILE && m->kind == MODULE_FILE && m->inode == l->inode && m->device == l->device &&
	       strlen(m->path) == path_length && memcmp(m->path, l->path, path_length) == 0;
}

static int add_line(struct modules *m, const struct line *l)
{
	enum module_kind kind = kind_of(l);
	bool deleted = kind == MODULE_FILE && ends_with(l->path, l->path_length, " (deleted)");
	size_t n = l->path_length - (deleted ? strlen(" (deleted)") : 0);
	bool code = l->rights[2] == 'x';
	size_t at = m->modules.n;
	struct module fresh = {
		.kind = kind, .low = l->start, .first_end = l->end, .inode = l->inode, .device = l->device, .deleted = deleted};

	/* a library's mappings lie side by side: its parts are looked for among the last few modules */
	for (size_t back = 1; back <= 4 && back <= m->modules.n; back++)
		if (belongs(&m->modules.v[m->modules.n - back], l, kind, n) && l->offset)
			at = m->modules.n - back;
	if (at == m->modules.n) {
		if (kind == MODULE_MEMORY && !code)
			return 0;
		fresh.path = kind == MODULE_MEMORY ? strdup("[anon]") : strndup(l->path, n);
		if (VEC_PUSH_OWNER(m->modules, fresh.path, fresh) < 0)
			return -ENOMEM;
	}
	m->modules.v[at].high = l->end;
	return code ? VEC_PUSH(m->code, (struct mapping){l->start, l->end, l->offset, (uint32_t)at}) : 0;
}

static int read_maps(struct modules *m, char *text)
{
	uint64_t last = 0;

	while (*text) {
		char *end = strchrnul(text, '\n');
		bool more = *end;
		struct line l;
		int r;

		*end = '\0'; /* sscanf() looks for the end of its whole text first */
		if (!read_line(text, (size_t)(end - text), &l) || l.start < last)
			return -EBADMSG;
		last = l.end;
		r = add_line(m, &l);
		if (r < 0)
			return r;
		text = end + more;
	}
	return 0;
}

static uint32_t read_inner_pid(const char *folder, uint32_t pid)
{
	_cleanup_str_ struct str status = {};

	return read_whole(folder, "status", &status) == 0 ? proc_inner_number(status.data) ?: pid : pid;
}

int modules_read(const char *proc_root, uint32_t pid, struct modules *ret)
{
	struct modules m = {.pid = pid};
	struct str text = {};
	int r = asprintf(&m.folder, "%s/%u", proc_root, pid) < 0 ? -ENOMEM : 0;

	r = r ?: read_whole(m.folder, "maps", &text);
	r = r ?: read_maps(&m, text.data);
	str_free(&text);
	if (r < 0) {
		modules_free(&m);
		return r;
	}
	m.inner_pid = read_inner_pid(m.folder, pid);
	*ret = m;
	return 0;
}

const struct mapping *modules_find(const struct modules *m, uint64_t address)
{
	size_t at = FIRST_WHERE(i, m->code.n, m->code.v[i].end > address);

	return at < m->code.n && m->code.v[at].start <= address ? &m->code.v[at] : NULL;
}

/* /proc/PID/exe leads to the program's file, also where map_files may not be read. */
static int open_exe(const struct modules *m, const struct module *module)
{
	_cleanup_free_ char *path = NULL;
	char target[4096];
	ssize_t n;

	if (asprintf(&path, "%s/exe", m->folder) < 0)
		return -ENOMEM;
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	if (ends_with(target, (size_t)n, " (deleted)"))
		target[(size_t)n - strlen(" (deleted)")] = '\0';
	return strcmp(target, module->path) == 0 ? outside_open_regular(path) : -ENOENT;
}

int modules_open(const struct modules *m, const struct module *module)
{
	_cleanup_free_ char *mapped = NULL, *root = NULL;
	int fd;

	if (module->kind != MODULE_FILE)
		return -ENOENT;
	if (asprintf(&mapped, "%s/map_files/%" PRIx64 "-%" PRIx64, m->folder, module->low,
		     module->first_end) < 0 ||
	    asprintf(&root, "%s/root", m->folder) < 0)
		return -ENOMEM;
	fd = outside_open_regular(mapped);
	if (fd < 0)
		fd = open_exe(m, module);
	if (fd < 0 && !module->deleted)
		fd = outside_open_below(root, module->path);
	return fd;
}

char *module_build_id_format(const struct build_id *id, char *buf)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < id->size; i++) {
		buf[2 * i] = digits[id->bytes[i] >> 4];
		buf[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	buf[2 * id->size] = '\0';
	return buf;
}

int module_open_debug_file(const char *root, const struct build_id *id)
{
	char hex[2 * BUILD_ID_MAX + 1];

	if (id->size < 2)
		return -ENOENT;
	module_build_id_format(id, hex);
	return outside_open_below(root, STR_TEXT(128, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2));
}
