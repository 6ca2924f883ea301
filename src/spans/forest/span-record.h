/* The record SDiag reads, made from what spans and their processes say: hardware, workload, versions, host.
 *
 * Everything is looked up once for each distinct set of attributes, not for each span.
 */
#pragma once

#include "lib/data/vec.h"
#include "spans/forest/forest.h"
#include "spans/model/span-mapping.h"
#include "spans/model/span.h"

struct set_record {
	bool known;
	uint32_t values[FOREST_DIMENSIONS]; /* texts, 0 = this set does not say */
	uint32_t host;			    /* text: of the host, else the instance */
	uint32_t process;		    /* text: its number there, 0 = this set does not say */
	uint32_t callee;
	uint32_t versions; /* set: package -> version */
	uint32_t joined;   /* the set, with what the inventories add */
};

/* A table next to the spans: rows of attributes by the value of one attribute. */
struct inventory {
	uint32_t key;
	struct hmap rows; /* value -> set id */
	uint32_t n_rows;
};

struct recorder_of_sets {
	struct names *names;
	const struct span_mapping *mapping;
	uint32_t fields[FIELD_COUNT][FIELD_KEYS_MAX + 1]; /* texts, 0-terminated */
	uint32_t dimensions[FOREST_DIMENSIONS];
	int dimension_field[FOREST_DIMENSIONS]; /* enum span_field, or -1: an attribute's own name */
	uint32_t n_dimensions;
	VEC(struct set_record) sets;
	VEC(struct inventory) inventories;
};

/* `dimensions`: "hardware,workload" - fields of the mapping or attributes. 0, -ENOMEM, -E2BIG. */
int span_record_init(struct recorder_of_sets *r, struct names *names, const struct span_mapping *mapping,
		const char *dimensions);
void span_record_free(struct recorder_of_sets *r);
/* Reads "FILE:ATTRIBUTE": a CSV with a header; the column named ATTRIBUTE (or its last part, after a dot) is the key,
 * every other column an attribute. 0, -errno; -EINVAL with *ret_error. */
int span_record_join(struct recorder_of_sets *r, const char *spec, char **ret_error);
/* NULL without memory; valid until the next call. */
const struct set_record *span_record_of(struct recorder_of_sets *r, uint32_t set);
