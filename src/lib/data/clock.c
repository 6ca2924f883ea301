#include "lib/data/clock.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/data/cleanup.h"

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

int64_t clock_boot(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

int64_t clock_monotonic(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t clock_wall(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int clock_boot_id(const char *proc_root, char ret[CLOCK_BOOT_ID])
{
	_cleanup_free_ char *name = NULL;
	_cleanup_fclose_ FILE *f = NULL;

	if (asprintf(&name, "%s/sys/kernel/random/boot_id", proc_root) < 0)
		return -ENOMEM;
	f = fopen(name, "re");
	if (!f)
		return -errno;
	return fscanf(f, "%39s", ret) == 1 ? 0 : -EBADMSG;
}

static const struct {
	const char *name;
	double seconds;
} units[] = {
	{"ns", 1e-9},    {"us", 1e-6},     {"ms", 1e-3},       {"s", 1},          {"sec", 1},
	{"second", 1},   {"seconds", 1},   {"m", 60},          {"min", 60},       {"minute", 60},
	{"minutes", 60}, {"h", 3600},      {"hr", 3600},       {"hour", 3600},    {"hours", 3600},
	{"d", 86400},    {"day", 86400},   {"days", 86400},    {"w", 7 * 86400},  {"week", 7 * 86400},
	{"weeks", 7 * 86400},
};

#define SECONDS_MAX 9000000000ll /* from 1970, either way: the year 2255. INT64_MAX ns are 9223372036 s */

static double unit_seconds(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == n && strncmp(units[i].name, name, n) == 0)
			return units[i].seconds;
	return -1;
}

int clock_parse_span(const char *text, int64_t *ret_ns)
{
	double total = 0;
	int parts = 0;

	while (*text) {
		char *end;
		double value, scale;
		size_t n = 0;

		if (isspace((unsigned char)*text)) {
			text++;
			continue;
		}
		if (!isdigit((unsigned char)*text) && *text != '.')
			return -EINVAL;
		value = strtod(text, &end);
		if (end == text || !isfinite(value))
			return -EINVAL;
		while (*end == ' ')
			end++;
		while (isalpha((unsigned char)end[n]))
			n++;
		scale = n ? unit_seconds(end, n) : 1;
		if (scale < 0)
			return -EINVAL;
		total += value * scale;
		text = end + n;
		parts++;
	}
	if (!parts || total > 1e9)
		return -EINVAL;
	*ret_ns = (int64_t)llround(total * 1e9);
	return 0;
}

/* Reads `text` by `format` completely, or up to a zone or fraction which *ret_rest then points at. */
static int scan(const char *text, const char *format, struct tm *tm, const char **ret_rest)
{
	const char *rest = strptime(text, format, tm);

	if (!rest)
		return -EINVAL;
	*ret_rest = rest;
	return 0;
}

static int finish_absolute(struct tm *tm, const char *rest, int64_t *ret)
{
	double fraction = 0;
	time_t seconds;

	if (*rest == '.') {
		char *end;

		fraction = strtod(rest, &end);
		rest = end;
	}
	if (*rest == 'Z' && !rest[1]) {
		seconds = timegm(tm);
	} else if (*rest == '+' || *rest == '-') {
		int hours, minutes = 0, used = 0;

		if (sscanf(rest + 1, "%2d:%2d%n", &hours, &minutes, &used) < 2 || rest[1 + used])
			return -EINVAL;
		seconds = timegm(tm) - (*rest == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
	} else if (!*rest) {
		tm->tm_isdst = -1;
		seconds = mktime(tm);
	} else {
		return -EINVAL;
	}
	if (seconds > SECONDS_MAX || seconds < -SECONDS_MAX || !(fraction >= 0 && fraction < 1))
		return -EINVAL;
	*ret = seconds * NS_PER_SEC + (int64_t)llround(fraction * 1e9);
	return 0;
}

static int parse_absolute(const char *text, int64_t now, int64_t *ret)
{
	static const char *const with_date[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M",
						"%Y-%m-%d"};
	static const char *const today_at[] = {"%H:%M:%S", "%H:%M"};
	time_t now_seconds = now / NS_PER_SEC;
	const char *rest;

	for (size_t i = 0; i < sizeof(with_date) / sizeof(with_date[0]); i++) {
		struct tm tm = {};

		if (scan(text, with_date[i], &tm, &rest) == 0 && finish_absolute(&tm, rest, ret) == 0)
			return 0;
	}
	for (size_t i = 0; i < sizeof(today_at) / sizeof(today_at[0]); i++) {
		struct tm tm;

		localtime_r(&now_seconds, &tm);
		tm.tm_sec = 0;
		if (scan(text, today_at[i], &tm, &rest) == 0 && finish_absolute(&tm, rest, ret) == 0)
			return 0;
	}
	return -EINVAL;
}

static int64_t midnight(int64_t now, int days_ago)
{
	time_t seconds = now / NS_PER_SEC;
	struct tm tm;

	localtime_r(&seconds, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_mday -= days_ago;
	tm.tm_isdst = -1;
	return mktime(&tm) * NS_PER_SEC;
}

/* Seconds since 1970, to the nanosecond: a double would be off by hundreds of them. */
static int parse_seconds(const char *text, int64_t *ret)
{
	bool before = *text == '-';
	uint64_t seconds;
	int64_t rest = 0;
	char *end;

	text += before;
	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	seconds = strtoull(text, &end, 10);
	if (*end == '.')
		end++;
	for (int64_t digit = NS_PER_SEC / 10; isdigit((unsigned char)*end); end++, digit /= 10)
		rest += digit * (*end - '0');
	if (*end || seconds > SECONDS_MAX)
		return -EINVAL;
	*ret = (int64_t)seconds * NS_PER_SEC + rest;
	if (before)
		*ret = -*ret;
	return 0;
}

int clock_parse_time(const char *text, int64_t now, int64_t *ret)
{
	int64_t span;

	if (strcmp(text, "now") == 0) {
		*ret = now;
		return 0;
	}
	if (strcmp(text, "today") == 0 || strcmp(text, "yesterday") == 0) {
		*ret = midnight(now, *text == 'y');
		return 0;
	}
	if (*text == '@')
		return parse_seconds(text + 1, ret);
	if (*text == '-' || *text == '+') {
		if (clock_parse_span(text + 1, &span) < 0)
			return -EINVAL;
		*ret = *text == '-' ? now - span : now + span;
		return 0;
	}
	return parse_absolute(text, now, ret);
}

char *clock_format_rfc3339(int64_t wall_ns, char *buf, size_t n)
{
	time_t seconds = wall_ns / NS_PER_SEC;
	char head[24];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(head, sizeof(head), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, n, "%s.%03dZ", head, (int)(wall_ns % NS_PER_SEC / NS_PER_MS));
	return buf;
}

char *clock_format_local(int64_t wall_ns, char *buf, size_t n)
{
	time_t seconds = wall_ns / NS_PER_SEC;
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(buf, n, "%a %Y-%m-%d %H:%M:%S", &tm);
	return buf;
}

char *clock_format_span(int64_t ns, char *buf, size_t n)
{
	double s = (double)ns / 1e9;
	long whole = lround(s);

	if (s < 1)
		snprintf(buf, n, "%.0f ms", s * 1e3);
	else if (whole < 120)
		snprintf(buf, n, "%ld s", whole);
	else if (whole < 7200)
		snprintf(buf, n, whole % 60 ? "%ld min %ld s" : "%ld min", whole / 60, whole % 60);
	else if (whole < 2 * 86400)
		snprintf(buf, n, whole / 60 % 60 ? "%ld h %ld min" : "%ld h", whole / 3600, whole / 60 % 60);
	else
		snprintf(buf, n, "%ld days", whole / 86400);
	return buf;
}
