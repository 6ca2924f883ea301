/* Heat and power, where the machine has sensors (Documentation/driver-api/thermal/sysfs-api.rst, power/powercap):
 *
 *   /sys/class/thermal/thermal_zone1/type                              x86_pkg_temp
 *   /sys/class/thermal/thermal_zone1/temp                              47000        (thousandths of a degree)
 *   /sys/class/powercap/intel-rapl:0/name                              package-0
 *   /sys/class/powercap/intel-rapl:0/constraint_0_name                 long_term
 *   /sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw       28000000
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/input/text.h"
#include "machine/process/entity-set.h"
#include "machine/sample/source.h"

#define SENSORS_MAX  64
#define SEARCH_EVERY 30 /* samples: a driver may be loaded late */

struct sensor {
	int fd, feature;
};

struct sensor_source {
	const char *sys_root;
	struct entity_set sensors;
	uint64_t samples;
};

static void sensor_release(void *own)
{
	struct sensor *sensor = own;

	close(sensor->fd);
	free(sensor);
}

/* Takes ownership of the descriptor. */
static void add(struct sensor_source *src, const char *name, int fd, int feature)
{
	bool is_new = false;
	struct entity_slot *m = entity_set_see(&src->sensors, name, strlen(name), &is_new);
	struct sensor *sensor = m && is_new ? malloc(sizeof(*sensor)) : NULL;

	if (!sensor) {
		close(fd);
		return;
	}
	*sensor = (struct sensor){fd, feature};
	m->own = sensor;
}

static void add_zone(struct sensor_source *src, const char *folder, const char *zone)
{
	char path[PATH_MAX], type[64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s/temp", folder, zone);
	fd = str_starts(zone, "thermal_zone") ? text_attribute_open(src->sys_root, path) : -ENOENT;
	if (fd < 0)
		return;
	snprintf(path, sizeof(path), "%s/%s/type", folder, zone);
	if (text_attribute_take(src->sys_root, path, type, sizeof(type)) < 0)
		strcpy(type, "unnamed");
	add(src, STR_TEXT(PATH_MAX, "%s (%s)", type, zone), fd, FEATURE_SENSOR_TEMPERATURE);
}

static void add_limits(struct sensor_source *src, const char *folder, const char *domain)
{
	for (int i = 0; i < 3; i++) {
		char path[PATH_MAX], kind[64], owner[64];
		int fd;

		snprintf(path, sizeof(path), "%s/%s/constraint_%d_power_limit_uw", folder, domain, i);
		fd = text_attribute_open(src->sys_root, path);
		if (fd < 0)
			return;
		snprintf(path, sizeof(path), "%s/%s/constraint_%d_name", folder, domain, i);
		if (text_attribute_take(src->sys_root, path, kind, sizeof(kind)) < 0)
			strcpy(kind, "limit");
		snprintf(path, sizeof(path), "%s/%s/name", folder, domain);
		if (text_attribute_take(src->sys_root, path, owner, sizeof(owner)) < 0)
			strcpy(owner, "unnamed");
		add(src, STR_TEXT(PATH_MAX, "%s %s (%s)", owner, kind, domain), fd, FEATURE_SENSOR_POWER_LIMIT);
	}
}

static void search_folder(struct sensor_source *src, const char *folder,
			  void (*add_found)(struct sensor_source *, const char *, const char *))
{
	FOLDER_EACH(entry, opendir(STR_TEXT(PATH_MAX, "%s/%s", src->sys_root, folder)))
		add_found(src, folder, entry.name);
}

static void search(struct sensor_source *src)
{
	search_folder(src, "class/thermal", add_zone);
	search_folder(src, "class/powercap", add_limits);
}

/* False when the sensor is gone. One that cannot tell just now (a sleeping device says EAGAIN or ENODATA) keeps its
 * place and is not measured. */
static bool read_sensor(struct entity_slot *m)
{
	const struct sensor *sensor = m->own;
	char text[64];
	const char *at = text;
	int r = sensor ? text_attribute_read(sensor->fd, text, sizeof(text)) : -ENODEV;
	bool negative;
	uint64_t value;

	if (r == -ENODEV || r == -ENXIO)
		return false;
	m->present = 0;
	negative = *at == '-';
	at += negative;
	if (r > 0 && text_scan_number(&at, &value))
		entity_slot_set(m, sensor->feature, negative ? -value : value);
	return true;
}

static void sensor_sample(void *state, struct tick *tick)
{
	struct sensor_source *src = state;

	entity_set_begin(&src->sensors);
	if (src->samples++ % SEARCH_EVERY == 0)
		search(src);
	for (size_t i = 0; i < src->sensors.members.n; i++) {
		struct entity_slot *m = src->sensors.members.v[i];

		m->sample = read_sensor(m) ? src->sensors.sample : 0;
	}
	entity_set_put(&src->sensors, tick);
}

static void sensor_close(void *state)
{
	struct sensor_source *src = state;

	entity_set_free(&src->sensors);
	free(src);
}

static int sensor_open(const struct source_options *options, void **ret_state, const char **ret_why)
{
	struct sensor_source *src = calloc(1, sizeof(*src));

	if (!src)
		return -ENOMEM;
	src->sys_root = options->sys_root;
	src->sensors = (struct entity_set){.kind = ENTITY_SENSOR, .max = SENSORS_MAX, .release = sensor_release};
	search(src);
	if (!src->sensors.members.n) {
		sensor_close(src);
		*ret_why = NULL; /* as in each virtual machine: no news */
		return -EOPNOTSUPP;
	}
	*ret_state = src;
	return 0;
}

const struct source source_sensor = {
	.name = "sensor",
	.help = "temperatures and power limits",
	.open = sensor_open,
	.sample = sensor_sample,
	.close = sensor_close,
	.every = 10,
};
