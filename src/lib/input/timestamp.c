#include "lib/input/timestamp.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "lib/data/clock.h"
#include "lib/input/number.h"

#define TEXT_MAX 63 /* characters of a time */
#define DAYS_MAX 100000 /* from 1970: what 64 bits of ns hold, and a little less */

/* Days since 1970-01-01 in the Gregorian calendar (Hinnant, "chrono-compatible low-level date algorithms"). */
static int64_t days_of(int64_t year, unsigned month, unsigned day)
{
	int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400;
	unsigned of_era = (unsigned)(y - era * 400), of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* n digits; false if they are not there. */
static bool digits(const char **p, const char *end, unsigned n, unsigned *ret)
{
	unsigned value = 0;

	if (end - *p < (ptrdiff_t)n)
		return false;
	for (unsigned i = 0; i < n; i++) {
		unsigned d = (unsigned)(unsigned char)(*p)[i] - '0';

		if (d > 9)
			return false;
		value = value * 10 + d;
	}
	*p += n;
	*ret = value;
	return true;
}

static bool skip(const char **p, const char *end, const char *any)
{
	if (*p >= end || !**p || !strchr(any, **p))
		return false;
	(*p)++;
	return true;
}

static bool date(const char **p, const char *end, int64_t *ret_days)
{
	unsigned year, month, day;

	if (!digits(p, end, 4, &year) || !skip(p, end, "-/") || !digits(p, end, 2, &month) || !skip(p, end, "-/") ||
	    !digits(p, end, 2, &day))
		return false;
	if (month < 1 || month > 12 || day < 1 || day > 31)
		return false;
	*ret_days = days_of(year, month, day);
	return true;
}

static int64_t fraction(const char **p, const char *end)
{
	int64_t ns = 0, unit = NS_PER_SEC / 10;

	while (*p < end && **p >= '0' && **p <= '9') {
		ns += (*(*p)++ - '0') * unit;
		unit /= 10;
	}
	return ns;
}

static bool time_of_day(const char **p, const char *end, int64_t *ret_ns)
{
	unsigned hour, minute, second = 0;

	if (!digits(p, end, 2, &hour) || !skip(p, end, ":") || !digits(p, end, 2, &minute))
		return false;
	if (skip(p, end, ":") && !digits(p, end, 2, &second))
		return false;
	if (hour > 24 || minute > 59 || second > 60)
		return false;
	*ret_ns = ((hour * 60 + minute) * 60ll + second) * NS_PER_SEC;
	if (skip(p, end, ".,"))
		*ret_ns += fraction(p, end);
	return true;
}

/* "Z", "UTC", "+02:00", "-0700" after the time; what follows ("UTC m=+0.1") is ignored if a zone was there. */
static bool zone(const char *p, const char *end, int64_t *ret_ns)
{
	unsigned hour, minute = 0;
	int sign;

	while (p < end && *p == ' ')
		p++;
	*ret_ns = 0;
	if (p == end)
		return true;
	if (*p == 'Z' || (end - p >= 3 && (memcmp(p, "UTC", 3) == 0 || memcmp(p, "GMT", 3) == 0)))
		return true;
	sign = *p == '-' ? -1 : 1;
	if (!skip(&p, end, "+-") || !digits(&p, end, 2, &hour))
		return false;
	skip(&p, end, ":");
	(void)digits(&p, end, 2, &minute);
	*ret_ns = sign * (hour * 60ll + minute) * 60 * NS_PER_SEC;
	return hour <= 14 && minute < 60;
}

/* "20261120143207", "20261120": as a number of seconds or us since 1970 it would be a day of 1970. */
static bool digits_only(const char *p, const char *end, int64_t *ret)
{
	unsigned year, month, day, hour = 0, minute = 0, second = 0;
	bool has_clock = end - p == 14;

	if ((!has_clock && end - p != 8) || !digits(&p, end, 4, &year) || !digits(&p, end, 2, &month) || !digits(&p, end, 2, &day))
		return false;
	if (has_clock && (!digits(&p, end, 2, &hour) || !digits(&p, end, 2, &minute) || !digits(&p, end, 2, &second)))
		return false;
	if (year < 1990 || year > 2099 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60)
		return false;
	*ret = (days_of(year, month, day) * 86400 + (hour * 60 + minute) * 60 + second) * NS_PER_SEC;
	return true;
}

/* The units' sizes are far apart: 9e9 s is the year 2255, 9e9 ms April 1970. */
static int number(const char *p, const char *end, int64_t *ret)
{
	double value, unit = 1e9;
	int64_t whole = 0;
	const char *after;

	if (digits_only(p, end, ret))
		return 0;
	for (after = p; after < end && *after >= '0' && *after <= '9'; after++)
		if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, *after - '0', &whole))
			return -EINVAL;
	if (number_parse_slowly(p, end, &value) != end || !(fabs(value) < 9e18))
		return -EINVAL;
	for (double edge = 9e9; fabs(value) >= edge && unit > 1; edge *= 1e3)
		unit /= 1e3;
	*ret = after == end ? whole * (int64_t)unit : (int64_t)llround(value * unit);
	return 0;
}

int timestamp_parse(const char *p, const char *end, int64_t *ret)
{
	int64_t days, of_day = 0, offset = 0;
	const char *at;

	while (p < end && (*p == ' ' || *p == '"'))
		p++;
	while (end > p && (end[-1] == ' ' || end[-1] == '"'))
		end--;
	at = p;
	if (!date(&at, end, &days))
		return number(p, end, ret);
	if (skip(&at, end, "T ") && (!time_of_day(&at, end, &of_day) || !zone(at, end, &offset)))
		return -EINVAL;
	else if (at == p + 10 && at != end)
		return -EINVAL;
	if (days < -DAYS_MAX || days > DAYS_MAX)
		return -EINVAL;
	*ret = days * 86400 * NS_PER_SEC + of_day - offset;
	return 0;
}

int timestamp_parse_clock(const char *p, const char *end, int64_t *ret)
{
	return time_of_day(&p, end, ret) && p == end ? 0 : -EINVAL;
}

int timestamp_parse_as(const char *format, const char *p, const char *end, int64_t *ret)
{
	struct tm tm = {.tm_year = -1, .tm_mday = 0, .tm_mon = -1};
	char text[TEXT_MAX + 1];
	int64_t seconds, ns = 0;
	const char *after;
	size_t n;

	while (p < end && (*p == ' ' || *p == '\t' || *p == '"'))
		p++;
	while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '"'))
		end--;
	n = (size_t)(end - p);
	if (n > TEXT_MAX)
		return -EINVAL;
	memcpy(text, p, n);
	text[n] = 0;
	after = strptime(text, format, &tm);
	if (after && *after == '.') {
		after++;
		ns = fraction(&after, text + n);
	}
	if (!after || *after || tm.tm_year < 0 || tm.tm_mon < 0 || tm.tm_mday < 1)
		return -EINVAL;
	seconds = days_of(tm.tm_year + 1900, (unsigned)tm.tm_mon + 1, (unsigned)tm.tm_mday) * 86400 + (tm.tm_hour * 60 + tm.tm_min) * 60 + tm.tm_sec - tm.tm_gmtoff;
	if (seconds < -(int64_t)DAYS_MAX * 86400 || seconds > (int64_t)DAYS_MAX * 86400)
		return -EINVAL;
	*ret = seconds * NS_PER_SEC + ns;
	return 0;
}
