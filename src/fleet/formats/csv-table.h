/* A table of counters as text while it is read: what its columns are (csv-layout.c), and its rows (csv.c). */
#pragma once

#include <stdint.h>

#include "fleet/model/fleet-source.h"
#include "lib/data/vec.h"
#include "lib/input/csv-field.h"

enum csv_use { USE_NOTHING, USE_TIME, USE_SERVER, USE_ROLE, USE_UNIT, USE_COUNTER, USE_VALUE, USE_NUMBER };

struct csv_column {
	char *name;
	enum csv_use use;
	int server; /* of header levels; -1 = the row's */
	int counter;
	uint32_t place; /* in `values` */
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

/* What becomes of a file without a column of times: where others of the input have one, it belongs to something else. */
enum csv_timeless { TIMELESS_TAKE, TIMELESS_LATER, TIMELESS_REFUSE };

struct csv_table {
	enum csv_timeless timeless;
	const struct fleet_input *input;
	struct intake *into;
	const char *path, *name;
	uint64_t line;
	char delimiter, point;
	VEC(struct csv_column) columns;
	VEC(struct csv_group) groups;
	int *counters;	/* by place */
	double *values;
	uint32_t n_places;
	bool is_long, has_time, has_server;
	int own_server; /* of a file without a server column; -1 = not needed yet */
	int64_t rows;
	struct memory time, server, counter;
	/* of the row being read */
	int row_server, row_counter;
	int64_t row_time;
	double row_value;
	const char *wrong;
};

/* Which of the baseline delimiters stands most often in a line. */
char csv_find_delimiter(const char *line, size_t n);

/* Whether the user asked for this counter. */
bool csv_wanted(const struct csv_table *t, const char *counter);

/* Finds out from a file's first rows how it is written and what its columns are; counters and (of header levels) servers are
 * registered. *ret_headers: how many lines are headers. -ENOMSG: no table of counters; reported. -EAGAIN: no times, and the
 * table is to be asked for later. */
int csv_lay_out(struct csv_table *t, const char *piece, size_t n, size_t *ret_headers);
