/* Texts, attributes and sets of attributes as small numbers.
 *
 * Spans repeat the same few thousand texts billions of times; past this table nothing compares or copies text. Ids are
 * dense, begin at 1 (0 = none), live as long as the table and mean nothing outside of it: what is stored or merged goes
 * by text. Every function that makes an id gives 0 without memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/hmap.h"

#define NAME_VALUES_MAX 1000	 /* distinct values of one attribute; a key with more is too fine to be an attribute */
#define NAME_SETS_MAX	(1 << 20) /* distinct sets of attributes */
#define NAME_TEXT_MAX	512	 /* bytes of one text; longer ones are cut */

struct attribute {
	uint32_t key, value; /* texts */
};

struct attribute_set {
	uint32_t service; /* text; 0 for a set that is not a resource's */
	uint32_t n;
	const struct attribute *v; /* by key, ascending; a key once */
};

struct names;

struct names *names_new(void);
void names_free(struct names *names);
/* Characters that a terminal would obey are replaced (str_make_printable()), as in values. */
uint32_t names_text(struct names *names, const char *text, size_t n);
/* The text's id if it was ever seen, else 0. */
uint32_t names_find(const struct names *names, const char *text);
/* NUL-terminated; "" for 0. */
const char *names_get(const struct names *names, uint32_t text);
uint32_t names_count(const struct names *names);
/* For a table that lives as long as a server: beyond `most` texts all others become one, NAME_OTHERS, beyond `most` sets of attributes all become
 * the empty one, and values of attributes that are new then are left out. So it is where they take more than 384 bytes for each of `most`.
 * 0 or -ENOMEM. */
#define NAME_OTHERS "(other names)"
int names_bound(struct names *names, uint32_t most);
/* How many texts became one; within 1 % up to some millions. */
uint64_t names_others(const struct names *names);
/* The id of a value of this key; 0 once the key has more than NAME_VALUES_MAX values: it is then left out of sets. */
uint32_t names_value(struct names *names, uint32_t key, const char *value, size_t n);
/* How many values this key has had, at most one more than NAME_VALUES_MAX. */
uint32_t names_values(const struct names *names, uint32_t key);
/* Keys that had too many values. */
bool names_too_fine(const struct names *names, uint32_t key);
/* A set of attributes, and the service it describes (0 = none). Sorts `v` in place; of a key that is there twice the
 * last one counts. 0 for the empty set without a service, and beyond NAME_SETS_MAX. */
uint32_t names_set(struct names *names, uint32_t service, struct attribute *v, size_t n);
const struct attribute_set *names_get_set(const struct names *names, uint32_t set);
uint32_t names_set_count(const struct names *names);
/* Is this attribute of a call what says by what it failed ("error.type", the class of an exception, the status of a protocol), and more telling
 * than *type (0, 0: there is none yet)? Then it becomes *type. */
void names_take_error_type(const struct names *names, const struct attribute *one, struct attribute *type);
/* The value a set has for a key, or 0. */
uint32_t attribute_set_value(const struct attribute_set *set, uint32_t key);
