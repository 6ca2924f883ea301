#include "machine/model/feature.h"

#include <math.h>
#include <stdio.h>
#include <math.h>
#include <string.h>

#include "lib/data/cleanup.h"

#define ROW_(id, name_, unit_, kind_, resource_, quantum_, flags_, proof_, help_) \
	{name_, unit_, kind_, RESOURCE_##resource_, quantum_, flags_, proof_, help_},

static const struct feature process_features[] = {THREAD_FEATURES(ROW_) PROCESS_FEATURES(ROW_)};
static const struct feature system_features[] = {SYSTEM_FEATURES(ROW_)};
static const struct feature cpu_features[] = {CPU_FEATURES(ROW_)};
static const struct feature disk_features[] = {DISK_FEATURES(ROW_)};
static const struct feature filesystem_features[] = {FILESYSTEM_FEATURES(ROW_)};
static const struct feature interface_features[] = {INTERFACE_FEATURES(ROW_)};
static const struct feature cgroup_features[] = {CGROUP_FEATURES(ROW_)};
static const struct feature sensor_features[] = {SENSOR_FEATURES(ROW_)};

_Static_assert(ARRAY_SIZE(process_features) == PROCESS_FEATURE_COUNT, "vector order is table order");
_Static_assert(PROCESS_FEATURE_COUNT <= FEATURES_MAX && SYSTEM_FEATURE_COUNT <= FEATURES_MAX, "a feature_set has a bit for each");

static const struct {
	const char *name;
	const struct feature *rows;
	size_t n;
} kinds[ENTITY_KIND_END] = {
	[ENTITY_PROCESS] = {"process", process_features, ARRAY_SIZE(process_features)},
	[ENTITY_SYSTEM] = {"system", system_features, ARRAY_SIZE(system_features)},
	[ENTITY_CPU] = {"cpu", cpu_features, ARRAY_SIZE(cpu_features)},
	[ENTITY_DISK] = {"disk", disk_features, ARRAY_SIZE(disk_features)},
	[ENTITY_FILESYSTEM] = {"filesystem", filesystem_features, ARRAY_SIZE(filesystem_features)},
	[ENTITY_INTERFACE] = {"interface", interface_features, ARRAY_SIZE(interface_features)},
	[ENTITY_CGROUP] = {"cgroup", cgroup_features, ARRAY_SIZE(cgroup_features)},
	[ENTITY_SENSOR] = {"sensor", sensor_features, ARRAY_SIZE(sensor_features)},
	[ENTITY_SHORT_LIVED] = {"short-lived", process_features, ARRAY_SIZE(process_features)},
	[ENTITY_KERNEL] = {"kernel", process_features, ARRAY_SIZE(process_features)},
};

const struct feature *features_of(enum entity_kind kind, size_t *ret_n)
{
	*ret_n = kind < ENTITY_KIND_END ? kinds[kind].n : 0;
	return kind < ENTITY_KIND_END ? kinds[kind].rows : NULL;
}

double feature_together(const struct feature *f, double others, double one)
{
	return !(f->flags & OF_EACH) ? others + one : fabs(one) > fabs(others) ? one : others;
}

bool feature_is_read_late(const struct feature *features, size_t i)
{
	return features[i].flags & BOOKED_LATE;
}

int feature_index(enum entity_kind kind, const char *name)
{
	size_t n;
	const struct feature *rows = features_of(kind, &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].name, name) == 0)
			return (int)i;
	return -1;
}

const char *entity_kind_name(enum entity_kind kind)
{
	return kind < ENTITY_KIND_END && kinds[kind].name ? kinds[kind].name : "unknown";
}

const char *resource_name(enum resource resource)
{
	static const char *const names[RESOURCE_COUNT] = {
		[RESOURCE_OTHER] = "other",	[RESOURCE_CPU] = "cpu",	      [RESOURCE_MEMORY] = "memory",
		[RESOURCE_IO] = "io",		[RESOURCE_HANDLES] = "handles", [RESOURCE_FAULTS] = "faults",
		[RESOURCE_THREADS] = "threads", [RESOURCE_NETWORK] = "network", [RESOURCE_DELAY] = "delay",
	};

	return resource < RESOURCE_COUNT ? names[resource] : "other";
}

const char *unit_name(enum unit unit)
{
	static const char *const names[] = {
		[NS] = "ns", [BYTES] = "bytes",		    [COUNT] = "count",	       [HZ] = "Hz",
		[MILLIDEGREE] = "millidegree Celsius", [MICROWATT] = "microwatt", [PERMILLE] = "permille",
	};

	return unit >= NS && unit <= PERMILLE ? names[unit] : "unknown";
}

static char *format_scaled(double value, double base, const char *const suffixes[], const char *per, char *buf,
			   size_t n)
{
	size_t i = 0;

	while (fabs(value) >= 0.9995 * base && suffixes[i + 1]) {
		value /= base;
		i++;
	}
	snprintf(buf, n, fabs(value) < 10 && (i || value != floor(value)) ? "%.1f%s%s%s" : "%.0f%s%s%s", value,
		 *suffixes[i] ? " " : "", suffixes[i], per);
	return buf;
}

char *feature_format(const struct feature *f, double value, char *buf, size_t n)
{
	static const char *const bytes[] = {"B", "kB", "MB", "GB", "TB", NULL};
	static const char *const counts[] = {"", "k", "M", "G", NULL};
	static const char *const times[] = {"ns", "us", "ms", "s", NULL};
	const char *per = f->kind == COUNTER ? "/s" : "";

	if (isnan(value)) {
		snprintf(buf, n, "?");
		return buf;
	}
	switch (f->unit) {
	case NS:
		if (f->kind != COUNTER)
			return format_scaled(value, 1000, times, "", buf, n);
		snprintf(buf, n, fabs(value) < 9.95e7 ? "%.1f %%" : "%.0f %%", value / 1e7);
		return buf;
	case BYTES:
		return format_scaled(value, 1000, bytes, per, buf, n);
	case HZ:
		return format_scaled(value, 1000, counts, "Hz", buf, n);
	case MILLIDEGREE:
		snprintf(buf, n, "%.0f C", value / 1e3);
		return buf;
	case MICROWATT:
		snprintf(buf, n, "%.1f W", value / 1e6);
		return buf;
	case PERMILLE:
		snprintf(buf, n, "%.1f %%", value / 10);
		return buf;
	case COUNT:
		break;
	}
	return format_scaled(value, 1000, counts, per, buf, n);
}

void feature_set_write(feature_set set, struct str *out)
{
	for (; set >> 7; set >>= 7)
		str_putc(out, (char)(set | 0x80));
	str_putc(out, (char)set);
}

feature_set feature_set_read(struct reader *in)
{
	feature_set set = 0;

	for (unsigned shift = 0; in->at < in->end && shift < FEATURES_MAX; shift += 7) {
		uint8_t byte = *in->at++;

		set |= (feature_set)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return set;
	}
	in->bad = true;
	in->at = in->end;
	return 0;
}
