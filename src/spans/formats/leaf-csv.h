/* A table of leaves as CSV: one row a combination of attribute values (and time), with its numbers.
 *
 *   min,cdn,bitrate,isp,value,cnt
 *   1596686580,7,500,unicom,4,65
 *
 * Columns that are not named as numbers or time are attributes. Fields may be quoted (RFC 4180); a row with a number
 * that is none, or with other than the header's columns, is counted, located and left out.
 */
#pragma once

#include <stdio.h>

#include "spans/model/leaf-csv.h"

struct leaf_columns {
	const char *number[LEAF_NUMBERS]; /* names of columns; NULL = none */
	const char *time;		  /* likewise */
	const char *ignore;		  /* "a,b": columns that are neither; NULL */
};

/* 0; -ENOMEM; -EINVAL with *ret_error (caller frees) if the header has not what was asked for; -errno of reading. */
int leaf_csv_read(FILE *in, const char *path, const struct leaf_columns *columns, struct leaf_csv *ret, char **ret_error);
void leaf_csv_free(struct leaf_csv *csv);
