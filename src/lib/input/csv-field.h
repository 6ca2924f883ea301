/* One field of a line of a table as text (RFC 4180: a field may stand in quotes, and two of them are one). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct csv_field {
	char *at, *end;
};

/* Splits off one field at *p; quotes are taken off in place. `end` is the line's end; *p is beyond it after the last one. */
struct csv_field csv_next_field(char **p, char *end, char delimiter);

/* Splits a whole line in place, up to its line end: fields become texts. Returns how many there are, or most + 1: there are more. */
size_t csv_split(char *line, char **fields, size_t most);

/* Without blanks around it. */
void csv_trim(struct csv_field *f);

/* With a point, or as tables between semicolons write them, with a comma. */
bool csv_is_number(const struct csv_field *f);

/* Whatever timestamp_parse() takes. */
bool csv_is_time(const struct csv_field *f);
