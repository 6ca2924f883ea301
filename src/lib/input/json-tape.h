/* JSON read where it lies: one array of values in the order of the text, whose texts point into it.
 *
 * yajl parses, and calls back at each value. A library that makes an allocation of each value took nine tenths of the time that traces
 * in JSON took: here a value costs 16 bytes of an array that is used again for the next element, and bytes are copied only for escapes.
 * Of a key that is there twice the first one counts; a lone surrogate and \u0000 are '?'.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/data/vec.h"
#include "lib/rights/memory-budget.h"

#define TAPE_BYTES_MAX ((size_t)1 << 29) /* of one text: each byte is at most one value, whose place has 29 bits */

enum tape_kind { TAPE_NULL, TAPE_FALSE, TAPE_TRUE, TAPE_NUMBER, TAPE_TEXT, TAPE_ARRAY, TAPE_OBJECT };

/* An array is followed by its elements, an object by its keys, each with its value behind it. */
struct tape_value {
	const char *text; /* a text's bytes without escapes, not terminated; else as it is written, an object from its '{' on */
	uint32_t n;	  /* bytes of that */
	uint32_t size : 29, kind : 3; /* values, with all that are in this one; enum tape_kind */
};

struct tape {
	VEC(struct tape_value) values; /* v[0] is the whole; lent until the next tape_read() */
	size_t end;	 /* of the bytes: behind the value, or at the '{' that cannot be there; at or behind another token that cannot */
	size_t repaired; /* + 1: where the first text with bytes that are not UTF-8 begins (with escapes: in it); those are '?' now; 0 = none */
	struct memory_budget *budget; /* lent; values and texts that were changed are taken from it until tape_free(); NULL = no bound */
	/* private */
	char *mended; /* texts that differ from what is written, each at the place where it is written */
	size_t mended_allocated;
};

/* Reads the value that `bytes` begin with; what follows does not matter. 0; -ENODATA: it does not end in these bytes; -EINVAL: this is
 * not JSON, at `end`; -E2BIG; -ENOMEM; -EDQUOT: it would take more memory than the budget has. The bytes must stay as long as the values are used. */
int tape_read(struct tape *t, const char *bytes, size_t n);
void tape_free(struct tape *t);

static inline const struct tape_value *tape_next(const struct tape_value *v)
{
	return v + v->size;
}

/* The value of a key; NULL: it has none, or `object` is none (or NULL itself). */
static inline const struct tape_value *tape_find(const struct tape_value *object, const char *key, size_t n)
{
	if (!object || object->kind != TAPE_OBJECT)
		return NULL;
	for (const struct tape_value *k = object + 1, *end = tape_next(object); k < end; k = tape_next(k + 1))
		if (k->n == n && !memcmp(k->text, key, n))
			return k + 1;
	return NULL;
}
#define tape_get(object, key) tape_find(object, key, strlen(key))

/* Each element of an array; none where `array` is something else (or NULL). */
#define TAPE_EACH(v, array)                                                                                    \
	for (const struct tape_value *v##_of = (array), *v = v##_of ? v##_of + 1 : NULL,                        \
				     *v##_end = v##_of && v##_of->kind == TAPE_ARRAY ? tape_next(v##_of) : v;    \
	     v < v##_end; v = tape_next(v))
/* Each key of an object, whose value is the next one. */
#define TAPE_PAIRS(v, object)                                                                                  \
	for (const struct tape_value *v##_of = (object), *v = v##_of ? v##_of + 1 : NULL,                       \
				     *v##_end = v##_of && v##_of->kind == TAPE_OBJECT ? tape_next(v##_of) : v;   \
	     v < v##_end; v = tape_next(v + 1))

static inline bool tape_is(const struct tape_value *v, enum tape_kind kind)
{
	return v && v->kind == kind;
}
/* Is this text that one? */
static inline bool tape_says(const struct tape_value *v, const char *text)
{
	size_t n = strlen(text);

	return tape_is(v, TAPE_TEXT) && v->n == n && !memcmp(v->text, text, n);
}
/* A whole number, the whole part of another one, or a text that is a whole number (OTLP writes 64-bit numbers so). */
bool tape_whole(const struct tape_value *v, int64_t *ret);
/* A number; 0 for anything else. */
double tape_number(const struct tape_value *v);
/* Texts, numbers and booleans as text, which is not terminated; NULL for others. */
const char *tape_text(const struct tape_value *v, size_t *ret_n);
