/* Disks, from /proc/diskstats (Documentation/admin-guide/iostats.rst):
 *
 *   254       0 vda 37700 9148 4260874 13659 9881 9472 999016 4878 0 5656 19046 6597 32 357392 455 1242 53
 *
 * After the name: reads, merged, sectors, ms; writes, merged, sectors, ms; in flight; ms busy; ms weighted by the
 * queue; since 4.18 discards, merged, sectors, ms; since 5.5 flushes, ms. A sector here is 512 bytes, whatever the
 * disk's are. Partitions are left out (their disk has it all), and so are pseudo disks nothing has used yet.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/input/text.h"
#include "machine/process/entity-set.h"
#include "machine/sample/source.h"

#define DISKS_MAX 1024
#define SECTOR	  512
#define MS	  1000000ull

enum {
	READS,
	READ_SECTORS = 2,
	READ_MS,
	WRITES,
	WRITE_SECTORS = 6,
	WRITE_MS,
	IN_FLIGHT,
	BUSY_MS,
	WAIT_MS,
	FLUSHES = 15,
	COLUMNS = 17
};

static const struct {
	size_t column;
	int feature;
	uint64_t scale;
} rows[] = {
	{READS, FEATURE_DISK_READS, 1},
	{READ_SECTORS, FEATURE_DISK_READ_BYTES, SECTOR},
	{READ_MS, FEATURE_DISK_READ_TIME, MS},
	{WRITES, FEATURE_DISK_WRITES, 1},
	{WRITE_SECTORS, FEATURE_DISK_WRITE_BYTES, SECTOR},
	{WRITE_MS, FEATURE_DISK_WRITE_TIME, MS},
	{IN_FLIGHT, FEATURE_DISK_QUEUE, 1},
	{BUSY_MS, FEATURE_DISK_BUSY, MS},
	{WAIT_MS, FEATURE_DISK_WAIT, MS},
	{FLUSHES, FEATURE_DISK_FLUSHES, 1},
};

struct disk_source {
	struct text_file file;
	const char *sys_root;
	bool has_sysfs;
	struct entity_set disks;
};

static void disk_close(void *state)
{
	struct disk_source *src = state;

	text_file_close(&src->file);
	entity_set_free(&src->disks);
	free(src);
}

static int disk_open(const struct source_options *options, void **ret_state, const char **ret_why)
{
	struct disk_source *src = calloc(1, sizeof(*src));
	int r = src ? text_file_open(&src->file, options->proc_root, "diskstats") : -ENOMEM;

	if (r < 0) {
		free(src);
		*ret_why = "no /proc/diskstats: disks cannot be seen";
		return r;
	}
	src->has_sysfs = access(STR_TEXT(PATH_MAX, "%s/block", options->sys_root), F_OK) == 0;
	src->sys_root = options->sys_root;
	src->disks = (struct entity_set){.kind = ENTITY_DISK, .max = DISKS_MAX};
	*ret_state = src;
	return 0;
}

/* Whole disks stand in /sys/block; in their names there '!' stands for '/'. */
static bool is_whole(const struct disk_source *src, const char *name)
{
	char path[PATH_MAX];
	size_t n = strlen(src->sys_root) + strlen("/block/");

	if (!src->has_sysfs)
		return true;
	if (snprintf(path, sizeof(path), "%s/block/%s", src->sys_root, name) >= (int)sizeof(path))
		return false;
	for (char *c = path + n; *c; c++)
		if (*c == '/')
			*c = '!';
	return access(path, F_OK) == 0;
}

static bool is_unused_pseudo_disk(const char *name, const uint64_t *columns)
{
	static const char *const prefixes[] = {"loop", "ram", "zram", "nbd", "sr", "fd"};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (str_starts(name, prefixes[i]))
			return columns[READS] == 0 && columns[WRITES] == 0;
	return false;
}

static void read_disk(struct disk_source *src, const char *line)
{
	const char *at = line, *name, *end;
	uint64_t numbers[2], columns[COLUMNS];
	struct entity_slot *m;
	bool is_new;
	size_t n;

	if (text_scan_numbers(&at, numbers, 2) != 2)
		return;
	name = text_skip_blanks(at);
	at = end = text_skip_word(name);
	n = text_scan_numbers(&at, columns, COLUMNS);
	if (end == name || n <= WAIT_MS || is_unused_pseudo_disk(name, columns))
		return;
	m = entity_set_see(&src->disks, name, (size_t)(end - name), &is_new);
	if (!m)
		return;
	if (is_new)
		m->ignored = !is_whole(src, m->entity->info.name);
	for (size_t i = 0; i < ARRAY_SIZE(rows) && rows[i].column < n; i++)
		entity_slot_set(m, rows[i].feature, columns[rows[i].column] * rows[i].scale);
}

static void disk_sample(void *state, struct tick *tick)
{
	struct disk_source *src = state;

	if (text_file_read(&src->file) < 0)
		return;
	entity_set_begin(&src->disks);
	for (const char *line = src->file.data; *line; line = text_next_line(line))
		read_disk(src, line);
	entity_set_put(&src->disks, tick);
}

const struct source source_disk = {
	.name = "disk",
	.help = "requests, bytes, times and queue of every disk",
	.open = disk_open,
	.sample = disk_sample,
	.close = disk_close,
};
