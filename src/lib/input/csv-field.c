#include "lib/input/csv-field.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "lib/input/number.h"
#include "lib/input/timestamp.h"

#define NUMBER_MAX 40 /* characters of a number with a comma */

struct csv_field csv_next_field(char **p, char *end, char delimiter)
{
	struct csv_field f = {*p, *p};
	char *to = *p;

	if (**p != '"' || *p == end) {
		f.end = memchr(*p, delimiter, (size_t)(end - *p));
		f.end = f.end ? f.end : end;
		*p = f.end < end ? f.end + 1 : end + 1;
		return f;
	}
	for (char *c = *p + 1;; c++) {
		if (c >= end || (*c == '"' && c + 1 < end && c[1] != '"') || (*c == '"' && c + 1 >= end)) {
			f.end = to;
			c = c < end ? memchr(c, delimiter, (size_t)(end - c)) : NULL;
			*p = c ? c + 1 : end + 1;
			return f;
		}
		c += *c == '"';
		*to++ = *c;
	}
}

size_t csv_split(char *line, char **fields, size_t most)
{
	char *at = line, *end = line + strcspn(line, "\r\n");
	size_t n = 0;

	while (at <= end) {
		struct csv_field f = csv_next_field(&at, end, ',');

		if (n == most)
			return most + 1;
		*f.end = '\0';
		fields[n++] = f.at;
	}
	return n;
}

void csv_trim(struct csv_field *f)
{
	while (f->at < f->end && isspace((unsigned char)*f->at))
		f->at++;
	while (f->end > f->at && isspace((unsigned char)f->end[-1]))
		f->end--;
}

bool csv_is_number(const struct csv_field *f)
{
	char copy[NUMBER_MAX + 1], *comma;
	size_t n = (size_t)(f->end - f->at);
	double value;

	if (number_parse_slowly(f->at, f->end, &value))
		return true;
	if (n > NUMBER_MAX)
		return false;
	memcpy(copy, f->at, n);
	copy[n] = 0;
	comma = strchr(copy, ',');
	if (comma)
		*comma = '.';
	return comma && number_parse_slowly(copy, copy + n, &value);
}

bool csv_is_time(const struct csv_field *f)
{
	int64_t time;

	return f->at < f->end && timestamp_parse(f->at, f->end, &time) == 0;
}
