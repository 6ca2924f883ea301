/* JSON files that are a list of things, one thing in memory at a time. */
#pragma once

#include "lib/input/json-tape.h"
#include "spans/formats/span-reader.h"

/* Calls `element` for each element of the arrays that `keys` (NULL-terminated) names, of each value of the file ({"data": [...]});
 * an object of such a name is gone into ({"result": {"resourceSpans": [...]}}). So is each element of a top-level array, and each
 * top-level object that has none of the keys. Elements that are no JSON are counted and left out; bytes that are not UTF-8 are
 * replaced and counted. `element` returns 0, or -errno that ends the reading; `offset` is where it lies in the file. */
typedef int (*json_element_fn)(struct span_reader *r, const char *name, uint64_t offset, const struct tape_value *value);
int span_json_elements(struct span_reader *r, struct input *in, const char *const *keys,
		       json_element_fn element);
/* Calls `element` for each value of a list that is one element itself. */
int span_json_each(struct span_reader *r, const char *name, uint64_t offset, const struct tape_value *list, json_element_fn element);
/* Is this JSON, and does this key occur in its first bytes? */
bool span_json_mentions(const uint8_t *head, size_t n, const char *key);
