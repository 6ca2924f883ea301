/* Which column of a table of spans is which field, by the names in its first line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spans/model/span-mapping.h"

#define COLUMNS_MAX 64

struct text_field {
	const char *at;
	size_t n;
};

struct span_columns {
	struct text_field names[COLUMNS_MAX]; /* attributes' as the mapping spells them; lent */
	size_t n;
	int of_field[FIELD_COUNT]; /* column, -1 = none */
	int links;		   /* ids of other traces that a span refers to; -1 = none */
	bool of_resource[COLUMNS_MAX], of_span[COLUMNS_MAX]; /* columns that are attributes */
	int64_t unit[COLUMNS_MAX]; /* of times: ns; 0 = the name does not tell */
};

/* `names` holds what the first line names, and lives as long as *ret; so does the mapping. Letters may be large or small, words
 * apart ("Trace ID" is TraceID); times may tell their unit ("start_us", "durationMs", "duration (ms)"), or the mapping does ("took ms"
 * is the column "took"). */
void span_columns_find(const struct text_field *names, size_t n, const struct span_mapping *mapping, struct span_columns *ret);
/* The first field without which spans cannot be read, or FIELD_COUNT: all are there. */
enum span_field span_columns_missing(const struct span_columns *c);
