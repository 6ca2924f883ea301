/* A table of counters as text while it is read: what its columns are (csv-layout.c), and its rows (csv.c). */
#pragma once

#include <stdint.h>

#include "fleet/model/fleet-source.h"
#include "lib/data/vec.h"
#include "lib/input/csv-field.h"
#include "lib/input/quantity.h"

/* USE_CLOCK: the time of day, where the column of times has days only. USE_TEXT: a text that nothing is known of; it may tell series apart that
 * have all else in common, and is USE_LABEL then. */
enum csv_use { USE_NOTHING, USE_TIME, USE_CLOCK, USE_SERVER, USE_ROLE, USE_UNIT, USE_COUNTER, USE_VALUE, USE_NUMBER, USE_TEXT, USE_LABEL };

struct csv_column {
	char *name;
	enum csv_use use;
	int server; /* of header levels; -1 = the row's */
	int counter;
	uint32_t place; /* in `values` */
	char *text;	/* of USE_TEXT: the first one; of USE_LABEL: the row's */
	bool varies;	/* of USE_TEXT */
};

#define CSV_ALL_TEXTS 100000

/* Which text columns tell series apart: a column's number, or CSV_ALL_TEXTS; -1 = none is needed. */
struct csv_identity {
	int column;
	bool given_up; /* none of them did */
};

/* Neighboring places that go to one server. */
struct csv_group {
	int server;
	uint32_t first, n;
};

/* The last text of a column and what it meant: rows repeat it. */
struct memory {
	char text[128];
	size_t n;
	int64_t meaning;
};

struct csv_table {
	const struct fleet_input *input;
	struct intake *into;
	const char *path, *name;
	uint64_t line;
	char delimiter, point;
	const char *time_format; /* NULL: as timestamp_parse() takes them */
	int64_t time_zone; /* ns that are added to what is written, to be UTC */
	struct csv_identity identity;
	VEC(struct csv_column) columns;
	VEC(struct csv_group) groups;
	int *counters;	/* by place */
	double *values;
	uint32_t n_places;
	bool is_long, has_time, has_server, has_labels;
	bool refused; /* and it was said why */
	int own_server; /* of a file without a server column; -1 = not needed yet */
	int64_t rows;
	struct memory time, server, counter;
	/* of the row being read */
	int row_server, row_counter;
	int64_t row_time, row_clock;
	char row_unit[QUANTITY_UNIT_MAX];
	struct csv_field row_name; /* of a long table with labels: the counter's */
	double row_value;
	const char *wrong;
};

/* Which of the baseline delimiters stands most often in a line. */
char csv_find_delimiter(const char *line, size_t n);

/* Perfmon's tables (PDH-CSV): the first column's name, and ns that are added to its times to be UTC. */
bool csv_is_perfmon(const char *first_name);
int64_t csv_perfmon_zone(const char *first_name);
/* Takes servers out of names of columns of numbers: \\HOST\Object\Counter, and cpu{instance="web-1"}. 0 or -ENOMEM. */
int csv_split_names(struct csv_table *t);
/* Whether all columns of numbers have one name and numbers without a gap, as servers often have: web-1, web-2, web-3. */
bool csv_names_are_numbered(const struct csv_table *t);

int csv_parse_time(const struct csv_table *t, const struct csv_field *f, int64_t *ret);
/* The format of a column's times, which timestamp_parse() does not take: by all the fields of it that were sampled. NULL: none, or two that both fit
 * (*ret_other then). */
const char *csv_find_time_format(const struct csv_field *fields, size_t n, const char **ret_other);

/* Whether the user asked for this counter. */
bool csv_wanted(const struct csv_table *t, const char *counter);

/* Finds out from a file's first rows how it is written and what its columns are; counters and (of header levels) servers are
 * registered. *ret_headers: how many lines are headers. -ENOMSG: no table of counters, or one without times;
 * reported. */
int csv_lay_out(struct csv_table *t, const char *piece, size_t n, size_t *ret_headers);
