
#include "fleet/formats/csv-table.h"
#include "lib/data/cleanup.h"
#include "lib/input/timestamp.h"

/* Each has the day; the month may come before the day only where '/' or '-' lies between them. */
static const char *const formats[] = {
	"%m/%d/%Y %H:%M:%S",	"%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%Y %I:%M:%S %p", "%d/%m/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M %p",
	"%d/%m/%Y %I:%M %p",	"%m/%d/%Y",	     "%d/%m/%Y",       "%m-%d-%Y %H:%M:%S", "%d-%m-%Y %H:%M:%S",   "%m-%d-%Y %H:%M",	"%d-%m-%Y %H:%M",
	"%d.%m.%Y %H:%M:%S",	"%d.%m.%Y %H:%M",    "%d.%m.%Y",       "%d.%m.%Y, %H:%M:%S", "%m/%d/%Y, %I:%M:%S %p", "%d/%m/%Y, %H:%M:%S", "%d/%b/%Y:%H:%M:%S %z",
	"%d-%b-%Y %H:%M:%S",	"%d %b %Y %H:%M:%S", "%b %d %Y %H:%M:%S", "%b %d, %Y %I:%M:%S %p", "%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %Z %Y", "%a, %d %b %Y %H:%M:%S %z", "%Y%m%dT%H%M%S",
	"%Y-%m-%d %I:%M:%S %p", "%Y%m%dT%H%M%SZ", "%Y.%m.%d %H:%M:%S",
};

#define SPAN_RATIO 5 /* the month taken for the day makes an hour two months */

int csv_parse_time(const struct csv_table *t, const struct csv_field *f, int64_t *ret)
{
	int r = t->time_format ? timestamp_parse_as(t->time_format, f->at, f->end, ret) : timestamp_parse(f->at, f->end, ret);

	if (r == 0)
		*ret += t->time_zone;
	return r;
}

/* From the first to the last of the times; -1 where a field is none. */
static int64_t span_of(const char *format, const struct csv_field *fields, size_t n)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		int64_t time;

		if (fields[i].at == fields[i].end)
			continue;
		if (timestamp_parse_as(format, fields[i].at, fields[i].end, &time) < 0)
			return -1;
		first = time < first ? time : first;
		last = time > last ? time : last;
	}
	return first <= last ? last - first : -1;
}

const char *csv_find_time_format(const struct csv_field *fields, size_t n, const char **ret_other)
{
	const char *found = NULL, *other = NULL;
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		int64_t span = span_of(formats[i], fields, n);

		if (span < 0)
			continue;
		if (!found || span < least / SPAN_RATIO) {
			found = formats[i];
			least = span;
			other = NULL;
		} else if (span / SPAN_RATIO <= least) {
			other = formats[i];
		}
	}
	*ret_other = other;
	return other ? NULL : found;
}
