/* JSON: values that may be missing, and documents. Values are new references, or NULL without memory. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* JSON has no NaN: what is not known is null. */
json_t *json_number(double value);
json_t *json_text(const char *value);
json_t *json_texts(char *const *values, size_t n);
/* RFC 3339; 0 = null. */
json_t *json_moment(int64_t wall);

/* Prints a document on a line or lines of its own. Takes the reference. `flags` as json_dumpf(). 0, -ENOMEM for NULL (what could not be put together), -EIO. */
int json_print(json_t *root, size_t flags, FILE *out);

/* An array of what `value`, an expression of the pointer `x`, makes of each of the first n of a list; a new reference. */
#define JSON_FIRST(x, list, n, value)                                           \
	({                                                                      \
		json_t *array_ = json_array();                                  \
		for (size_t i_ = 0; i_ < (size_t)(n); i_++) {                   \
			const __typeof__((list)[0]) *x = &(list)[i_];           \
			json_array_append_new(array_, (value));                 \
		}                                                               \
		array_;                                                         \
	})

/* The same of 0 .. n - 1: `value` is an expression of i. */
#define JSON_COUNT(i, n, value)                                \
	({                                                     \
		json_t *array_ = json_array();                 \
		for (size_t i = 0; i < (size_t)(n); i++)       \
			json_array_append_new(array_, (value)); \
		array_;                                        \
	})

/* The same of all of a VEC(). */
#define JSON_EACH(x, vec, value) JSON_FIRST(x, (vec).v, (vec).n, value)
