#include "machine/rule/unit.h"

#include <stdbool.h>
#include <string.h>

#include "lib/data/cleanup.h"

static const struct {
	const char *name;
	enum unit unit;
	bool rate;
	double factor;
} units[] = {
	{"%", NS, true, 1e7},
	{"ms/s", NS, true, 1e6},
	{"us/s", NS, true, 1e3},
	{"s/s", NS, true, 1e9},
	{"ns", NS, false, 1},
	{"us", NS, false, 1e3},
	{"ms", NS, false, 1e6},
	{"s", NS, false, 1e9},
	{"min", NS, false, 60e9},
	{"B", BYTES, false, 1},
	{"kB", BYTES, false, 1e3},
	{"MB", BYTES, false, 1e6},
	{"GB", BYTES, false, 1e9},
	{"TB", BYTES, false, 1e12},
	{"KiB", BYTES, false, 1024},
	{"MiB", BYTES, false, 1 << 20},
	{"GiB", BYTES, false, 1 << 30},
	{"TiB", BYTES, false, 1099511627776.0},
	{"B/s", BYTES, true, 1},
	{"kB/s", BYTES, true, 1e3},
	{"MB/s", BYTES, true, 1e6},
	{"GB/s", BYTES, true, 1e9},
	{"KiB/s", BYTES, true, 1024},
	{"MiB/s", BYTES, true, 1 << 20},
	{"GiB/s", BYTES, true, 1 << 30},
	{"", COUNT, false, 1},
	{"", COUNT, true, 1},
	{"/s", COUNT, true, 1},
	{"Hz", HZ, false, 1},
	{"kHz", HZ, false, 1e3},
	{"MHz", HZ, false, 1e6},
	{"GHz", HZ, false, 1e9},
	{"C", MILLIDEGREE, false, 1e3},
	{"mW", MICROWATT, false, 1e3},
	{"W", MICROWATT, false, 1e6},
	{"%", PERMILLE, false, 10},
};

static const char *expected(const struct feature *f, bool rate)
{
	switch (f->unit) {
	case NS:
		return rate ? "% (of the time) or ms/s" : "us, ms, s or min";
	case BYTES:
		return rate ? "kB/s, MB/s, GB/s or KiB/s, MiB/s, GiB/s" : "kB, MB, GB or KiB, MiB, GiB";
	case COUNT:
		return rate ? "/s or nothing" : "no unit";
	case HZ:
		return "MHz or GHz";
	case MILLIDEGREE:
		return "C";
	case MICROWATT:
		return "W";
	case PERMILLE:
		return "%";
	}
	return "no unit";
}

double unit_factor(const struct feature *f, const char *name, const char **ret_expected)
{
	bool rate = f->kind == COUNTER;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (units[i].unit == f->unit && units[i].rate == rate && strcmp(units[i].name, name) == 0)
			return units[i].factor;
	*ret_expected = expected(f, rate);
	return 0;
}
