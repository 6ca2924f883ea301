#include "lib/input/quantity.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/input/number.h"

#define NUMBER_MAX 40 /* characters of a number with thousands between commas */

enum measure { SHARE, BYTES, BITS, TIME, BYTE_RATE, BIT_RATE, RATE, COUNT, HEAT, POWER, FREQUENCY, CORES, ROTATION };

static const struct {
	const char *name;
	enum measure measure;
	double size;
} units[] = {
	{"%", SHARE, 1}, {"percent", SHARE, 1},
	{"B", BYTES, 1}, {"bytes", BYTES, 1}, {"byte", BYTES, 1}, {"kB", BYTES, 1e3}, {"KB", BYTES, 1e3}, {"MB", BYTES, 1e6}, {"GB", BYTES, 1e9}, {"TB", BYTES, 1e12},
	{"KiB", BYTES, 0x1p10}, {"kiB", BYTES, 0x1p10}, {"MiB", BYTES, 0x1p20}, {"GiB", BYTES, 0x1p30}, {"TiB", BYTES, 0x1p40},
	{"Ki", BYTES, 0x1p10}, {"Mi", BYTES, 0x1p20}, {"Gi", BYTES, 0x1p30}, {"Ti", BYTES, 0x1p40},
	{"bit", BITS, 1}, {"b", BITS, 1}, {"kbit", BITS, 1e3}, {"Mbit", BITS, 1e6}, {"Gbit", BITS, 1e9},
	{"ns", TIME, 1e-9}, {"us", TIME, 1e-6}, {"\xc2\xb5s", TIME, 1e-6}, {"\xce\xbcs", TIME, 1e-6}, {"ms", TIME, 1e-3}, {"s", TIME, 1}, {"sec", TIME, 1}, {"min", TIME, 60}, {"mins", TIME, 60},
	{"h", TIME, 3600}, {"hour", TIME, 3600}, {"hours", TIME, 3600}, {"d", TIME, 86400}, {"day", TIME, 86400}, {"days", TIME, 86400},
	{"B/s", BYTE_RATE, 1}, {"kB/s", BYTE_RATE, 1e3}, {"KB/s", BYTE_RATE, 1e3}, {"MB/s", BYTE_RATE, 1e6}, {"GB/s", BYTE_RATE, 1e9},
	{"KiB/s", BYTE_RATE, 0x1p10}, {"MiB/s", BYTE_RATE, 0x1p20}, {"GiB/s", BYTE_RATE, 0x1p30},
	{"b/s", BIT_RATE, 1}, {"bps", BIT_RATE, 1}, {"kb/s", BIT_RATE, 1e3}, {"kbps", BIT_RATE, 1e3}, {"Mb/s", BIT_RATE, 1e6}, {"Mbps", BIT_RATE, 1e6}, {"Gb/s", BIT_RATE, 1e9}, {"Gbps", BIT_RATE, 1e9},
	{"/s", RATE, 1}, {"req/s", RATE, 1}, {"ops/s", RATE, 1}, {"reqps", RATE, 1}, {"ops", RATE, 1}, {"cps", RATE, 1}, {"rps", RATE, 1}, {"iops", RATE, 1}, {"/min", RATE, 1.0 / 60},
	{"K", COUNT, 1e3}, {"k", COUNT, 1e3}, {"Mil", COUNT, 1e6}, {"M", COUNT, 1e6}, {"Bil", COUNT, 1e9}, {"G", COUNT, 1e9}, {"T", COUNT, 1e12},
	{"C", HEAT, 1}, {"\xc2\xb0""C", HEAT, 1}, {"W", POWER, 1}, {"mW", POWER, 1e-3}, {"Hz", FREQUENCY, 1}, {"kHz", FREQUENCY, 1e3}, {"MHz", FREQUENCY, 1e6}, {"GHz", FREQUENCY, 1e9}, {"m", CORES, 1e-3}, {"RPM", ROTATION, 1},
};

static int find_unit(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(units[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* "1,234.5" -> "1234.5": commas between a digit and three of them. False where a comma stands elsewhere. */
static bool without_thousands(const char *p, size_t n, char to[NUMBER_MAX + 1])
{
	size_t length = 0;

	for (size_t i = 0; i < n; i++) {
		bool three = i && i + 3 < n && isdigit((unsigned char)p[i - 1]) && isdigit((unsigned char)p[i + 1]) && isdigit((unsigned char)p[i + 2]) && isdigit((unsigned char)p[i + 3]) &&
			     (i + 4 >= n || !isdigit((unsigned char)p[i + 4]));

		if (p[i] == ',' && !three)
			return false;
		if (p[i] != ',')
			to[length++] = p[i];
	}
	to[length] = 0;
	return true;
}

bool quantity_parse(const char *p, const char *end, double *ret, char ret_unit[QUANTITY_UNIT_MAX])
{
	char number[NUMBER_MAX + 1];
	const char *unit;
	size_t n;
	int found = -1;

	while (p < end && isspace((unsigned char)*p))
		p++;
	while (end > p && isspace((unsigned char)end[-1]))
		end--;
	for (unit = p; unit < end && (isdigit((unsigned char)*unit) || strchr("+-.,", *unit)); unit++)
		;
	if (unit < end && (*unit == 'e' || *unit == 'E') && unit + 1 < end && strpbrk((char[]){unit[1], 0}, "+-0123456789"))
		for (unit++; unit < end && (isdigit((unsigned char)*unit) || *unit == '+' || *unit == '-'); unit++)
			;
	n = (size_t)(unit - p);
	if (!n || n > NUMBER_MAX || !without_thousands(p, n, number) || !number_parse_slowly(number, strchr(number, 0), ret) || isnan(*ret))
		return false;
	while (unit < end && isspace((unsigned char)*unit))
		unit++;
	n = (size_t)(end - unit);
	if (n >= QUANTITY_UNIT_MAX)
		return false;
	memcpy(ret_unit, unit, n);
	ret_unit[n] = 0;
	if (n)
		found = find_unit(ret_unit);
	if (found >= 0 && (units[found].measure == COUNT || units[found].measure == CORES)) { /* a size of the number itself, no unit of what is counted */
		*ret *= units[found].size;
		*ret_unit = 0;
	}
	return !n || found >= 0;
}

double quantity_ratio(const char *from, const char *to)
{
	int a, b;

	if (!from || !to || !*from || !*to || strcmp(from, to) == 0)
		return 1;
	a = find_unit(from);
	b = find_unit(to);
	if (a < 0 || b < 0)
		return 1;
	return units[a].measure == units[b].measure ? units[a].size / units[b].size : NAN;
}
