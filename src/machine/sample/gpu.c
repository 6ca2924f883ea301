#include "machine/sample/gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"
#include "lib/data/hmap.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"

#define FDINFO_MAX 4096

bool gpu_is_there(const char *sys_root)
{
	FOLDER_EACH(e, opendir(STR_TEXT(4096, "%s/class/drm", sys_root)))
		if (str_starts(e.name, "card") || str_starts(e.name, "renderD"))
			return true;
	return false;
}

/* "1234 ns", "2048 KiB", "5 MiB", "77" */
static bool parse_amount(const char *text, int64_t *ret)
{
	static const struct {
		const char *unit;
		int64_t factor;
	} units[] = {{"ns", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
	unsigned long long value;
	char *end;

	text += strspn(text, " \t");
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return false;
	end += strspn(end, " \t");
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (str_starts(end, units[i].unit))
			return !__builtin_mul_overflow(value, units[i].factor, ret);
	return !__builtin_mul_overflow(value, 1, ret);
}

struct fdinfo {
	struct gpu_client client;
	int64_t resident, held;
	bool is_drm, has_resident, has_held;
};

static void add(int64_t amount, int64_t *sum, bool *has)
{
	int64_t total;

	if (__builtin_add_overflow(*sum, amount, &total))
		return;
	*sum = total;
	*has = true;
}

static void take_line(struct fdinfo *info, const char *key, const char *value)
{
	int64_t amount;

	if (strcmp(key, "drm-driver") == 0) {
		info->is_drm = true;
		if (!info->client.device)
			info->client.device = hmap_hash_text(value);
	} else if (strcmp(key, "drm-pdev") == 0) {
		info->client.device = hmap_hash_text(value);
	} else if (!parse_amount(value, &amount)) {
		return;
	} else if (strcmp(key, "drm-client-id") == 0) {
		info->client.id = (uint64_t)amount;
		info->client.has_id = true;
	} else if (str_starts(key, "drm-engine-") && !str_starts(key, "drm-engine-capacity-")) {
		add(amount, &info->client.time, &info->client.has_time);
	} else if (str_starts(key, "drm-resident-")) {
		add(amount, &info->resident, &info->has_resident);
	} else if (str_starts(key, "drm-memory-")) {
		add(amount, &info->held, &info->has_held);
	}
}

/* pos:	0
 * flags:	02100002
 * drm-driver:	i915
 * drm-pdev:	0000:00:02.0
 * drm-client-id:	18
 * drm-engine-render:	25662044495 ns
 * drm-engine-capacity-video:	2
 * drm-resident-system0:	10112 KiB */
int gpu_parse_fdinfo(const char *text, struct gpu_client *ret)
{
	struct fdinfo info = {};

	while (*text) {
		size_t n = strcspn(text, "\n");
		char line[256];
		char *colon;

		snprintf(line, sizeof(line), "%.*s", (int)(n < sizeof(line) ? n : sizeof(line) - 1), text);
		colon = strchr(line, ':');
		if (colon) {
			*colon++ = '\0';
			take_line(&info, line, colon + strspn(colon, " \t"));
		}
		text += n + (text[n] == '\n');
	}
	if (!info.is_drm)
		return -ENODATA;
	info.client.memory = info.has_resident ? info.resident : info.held;
	info.client.has_memory = info.has_resident || info.has_held;
	*ret = info.client;
	return 0;
}

static int read_client(int dir, const char *fd_name, struct gpu_client *ret)
{
	char text[FDINFO_MAX];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	fd = openat(dir, STR_TEXT(300, "fdinfo/%s", fd_name), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return gpu_parse_fdinfo(text, ret);
}

static bool is_gpu(int fd_dir, const char *name)
{
	char target[64];
	ssize_t n = readlinkat(fd_dir, name, target, sizeof(target) - 1);

	if (n <= 0)
		return false;
	target[n] = '\0';
	return str_starts(target, "/dev/dri/");
}

struct clients {
	VEC(struct gpu_client) v;
};

static bool is_known(const struct clients *all, const struct gpu_client *c)
{
	return c->has_id && ANY_WHERE(i, all->v.n, all->v.v[i].has_id && all->v.v[i].id == c->id && all->v.v[i].device == c->device);
}

/* 0 or -errno when the process does not let itself be looked at. */
static int read_clients(int proc_dir, struct clients *all)
{
	DIR *dir = folder_open_at(proc_dir, "fd");

	if (!dir)
		return -errno;
	FOLDER_EACH(e, dir) {
		struct gpu_client client;

		if (is_gpu(dirfd(dir), e.name) && read_client(proc_dir, e.name, &client) == 0 && !is_known(all, &client))
			(void)VEC_PUSH(all->v, client);
	}
	return 0;
}

bool gpu_read(int proc_dir, uint32_t pid, uint64_t tick, struct gpu_process *p)
{
	struct clients all = {};
	int64_t time = 0, memory = 0;

	if (!gpu_is_due(p, pid, tick))
		return false;
	p->looked = true;
	if (read_clients(proc_dir, &all) < 0)
		return false;
	for (size_t i = 0; i < all.v.n; i++) {
		time += all.v.v[i].time;
		memory += all.v.v[i].memory;
	}
	p->uses |= all.v.n > 0;
	VEC_FREE(all.v);
	if (time < p->last)
		p->closed += p->last - time;
	p->last = time;
	p->time = p->closed + time;
	p->memory = memory;
	return p->uses;
}
