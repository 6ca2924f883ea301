/* JSON files that are a list of things, one thing in memory at a time. */
#pragma once

#include "lib/input/json-tape.h"
#include "spans/formats/span-reader.h"

/* Calls `element` for each element of the arrays that `keys` (NULL-terminated) names, of each value of the file ({"data": [...]});
 * an object of such a name is gone into ({"result": {"resourceSpans": [...]}}). So is each element of a top-level array, and each
 * top-level object that has none of the keys. Elements that are not JSON are counted and left out; bytes that are not UTF-8 are
 * replaced and counted. `element` returns 0, or -errno that ends the reading; `offset` is where it lies in the file. */
typedef int (*json_element_fn)(struct span_reader *r, const char *name, uint64_t offset, const struct tape_value *value);
int span_json_elements(struct span_reader *r, struct input *in, const char *const *keys,
		       json_element_fn element);
/* Calls `element` for each value of a list that is one element itself. */
int span_json_each(struct span_reader *r, const char *name, uint64_t offset, const struct tape_value *list, json_element_fn element);
/* Is this JSON, and does this key occur in its first bytes? */
bool span_json_mentions(const uint8_t *head, size_t n, const char *key);

/* One span of a form, as its reader found it. */
struct json_span {
	struct span span;  /* id, parent, kind, flags; its times (end < start: they cannot be read); its process, if `resource` is NULL */
	const char *trace; /* NULL: it has none */
	size_t trace_n;
	const char *name;  /* NULL: it has none */
	size_t name_n;
	const char *times; /* for a message: what the form's times are to be */
	const struct tape_value *json, *process; /* for those below */
	void (*resource)(struct span_reader *r, const struct tape_value *process); /* keeps the attributes of the process */
	void (*attributes)(struct span_reader *r, struct json_span *s, bool all); /* keeps the span's own; may set kind and flags */
};

/* Gives the span on, or counts what is wrong with it. 0 or -errno of the sink. */
int span_json_put(struct span_reader *r, const char *file, uint64_t offset, struct json_span *s);
void span_json_set_trace(struct json_span *s, const struct tape_value *trace);
void span_json_set_name(struct json_span *s, const struct tape_value *name);
/* start + duration; false: a number is missing or impossible. Numbers are in `unit` ns, and may have fractions. */
bool span_json_set_times(struct json_span *s, const struct tape_value *start, const struct tape_value *duration, int64_t unit, int64_t duration_unit);
/* A number, or a text that is one, in `unit` ns. */
bool span_json_time(const struct tape_value *v, int64_t unit, int64_t *ret);
/* An id of hexadecimal digits; 0: it is not there. */
uint64_t span_json_hex(const struct tape_value *id);
/* An id that is a decimal number of 64 bits, with or without a sign; 0: it is not one. */
uint64_t span_json_decimal(const struct tape_value *id);
/* Keeps a value as this attribute, if it is there. */
void span_json_take(struct span_reader *r, const char *key, const struct tape_value *value, bool all);
/* Keeps the pairs of an object as attributes, and what they say of the span's kind and of failures. */
void span_json_take_pairs(struct span_reader *r, const struct tape_value *object, struct span *span, bool all);
/* The same of one pair. */
void span_json_take_pair(struct span_reader *r, const struct tape_value *key, const struct tape_value *value, struct span *span, bool all);
/* The kind of a call to a thing of this type ("db", "external"), or of what serves a request. */
enum span_kind span_json_kind_of_type(const struct tape_value *type);
/* Keeps those of them that say which process it was: the mapping's service, instance, host, hardware, version, process. */
void span_json_take_process(struct span_reader *r, const struct tape_value *object);
