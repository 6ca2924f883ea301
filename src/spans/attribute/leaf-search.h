/* The attribute values of a table that explain a change: `whyslow spans attributes`. */
#pragma once

#include "spans/attribute/attributes.h"
#include "spans/model/leaf-csv.h"

struct leaf_search {
	bool by_time;	/* the table has times: the earlier ones are the reference */
	const char *at; /* the time asked about, as written; NULL = the last one */
	uint64_t past;	/* how many times before it are the reference */
	bool expected;	/* the table has the expected values */
	bool ratio;	/* the metric is the quotient of two columns */
	bool counts;	/* the metric counts events */
	enum change_direction direction;
	unsigned depth, most; /* of attributes.h */
};

/* 0, -ENOMEM, -ENOENT (no such time), -EINVAL (nothing to compare with). */
int leaf_search_run(const struct leaf_csv *csv, const struct leaf_search *q, struct attribute_findings *ret);
