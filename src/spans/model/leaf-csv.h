/* A table of leaves as spans/formats/leaf-csv.h reads it. */
#pragma once

#include <stdint.h>

#include "lib/data/vec.h"

enum leaf_number { LEAF_NUMERATOR, LEAF_DENOMINATOR, LEAF_EXPECTED, LEAF_NUMBERS };

struct leaf_attribute {
	char *name;
	VEC(char *) values; /* by code */
};

struct leaf_row {
	double number[LEAF_NUMBERS]; /* NaN where there is no such column */
	uint32_t time;		     /* index into times; 0 without a column */
};

struct leaf_csv {
	VEC(struct leaf_attribute) attributes;
	VEC(char *) times; /* as written, in order of first appearance */
	VEC(struct leaf_row) rows;
	VEC(uint32_t) codes; /* rows x attributes */
	uint64_t bad;	     /* rows left out */
	char first_bad[200]; /* where and why the first was */
};
