#include "source/span/span-json.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/str.h"

/* A place in the file: `p` bytes after in->at. */
struct cursor {
	struct span_reader *r;
	struct input *in;
	size_t p;
	int error;
	const char *const *keys;
	unsigned depth; /* of objects that were gone into */
	size_t wrong;	/* where the library found something that is no JSON, 0 = it did not */
};

#define DEPTH_MAX      4
#define MOST_LOOKED_AT 65536 /* bytes that are held while the next line is looked for */

static int peek(struct cursor *c)
{
	int64_t have;

	if (c->in->at + c->p < c->in->n)
		return c->in->data[c->in->at + c->p];
	have = input_need(c->in, c->p + 1);
	if (have < 0)
		c->error = (int)have;
	return have <= (int64_t)c->p ? -1 : c->in->data[c->in->at + c->p];
}

/* Between values; a record separator (RFC 7464) and a byte order mark are nothing either. */
static bool is_blank(int byte)
{
	return isspace(byte) || byte == 0x1e || byte == 0xef || byte == 0xbb || byte == 0xbf;
}

static int skip_space(struct cursor *c)
{
	int byte;

	while ((byte = peek(c)) >= 0 && is_blank(byte))
		c->p++;
	return byte;
}

/* Behind what is no JSON a line that begins with an object may be whole again. */
static bool begins_anew(struct cursor *c)
{
	const uint8_t *at = input_at(c->in) + c->p;

	return c->wrong && c->p > c->wrong && at[0] == '{' && at[-1] == '\n';
}

static bool skip_string(struct cursor *c)
{
	int byte;

	for (c->p++; (byte = peek(c)) >= 0 && !begins_anew(c); c->p++) {
		if (byte == '\\')
			c->p++;
		else if (byte == '"')
			break;
	}
	c->p++;
	return byte == '"';
}

/* Over one value; false where it has no end. */
static bool skip_value(struct cursor *c)
{
	unsigned depth = 0;
	int byte = skip_space(c);

	for (; byte >= 0 && !begins_anew(c); byte = peek(c)) {
		if (byte == '"') {
			if (!skip_string(c))
				return false;
		} else {
			if (depth == 0 && (byte == ',' || byte == ']' || byte == '}'))
				return true;
			depth += byte == '{' || byte == '[';
			depth -= byte == '}' || byte == ']';
			c->p++;
		}
		if (depth == 0 && (byte == '"' || byte == '}' || byte == ']'))
			return true;
	}
	return false;
}

static void not_ended(struct cursor *c)
{
	if (c->r->part)
		return;
	if (c->wrong)
		span_fault(c->r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": this is not JSON", c->in->name, input_offset(c->in) + c->wrong);
	else
		span_fault(c->r->sink.faults, SPAN_FAULT_TRUNCATED, "%s: byte %" PRIu64 ": what begins here does not end", c->in->name,
		   input_offset(c->in));
}

/* Texts that are no UTF-8 are no JSON: what is wrong in them is replaced and counted, the rest is as good as before. */
static json_t *load_mended(struct cursor *c, json_error_t *error)
{
	_cleanup_free_ char *copy = malloc(c->p + 1);

	if (!copy)
		return NULL;
	memcpy(copy, input_at(c->in), c->p);
	if (!str_make_bytes_printable(copy, c->p))
		return NULL;
	span_fault(c->r->sink.faults, SPAN_FAULT_FIELD, "%s: byte %" PRIu64 ": bytes that are not UTF-8 were replaced", c->in->name,
		   input_offset(c->in) + (uint64_t)(error->position > 0 ? error->position : 0));
	return json_loadb(copy, c->p, JSON_DECODE_ANY, error);
}

/* The value from in->at to in->at + p; goes behind it. */
static int emit(struct cursor *c, json_element_fn element)
{
	json_error_t error;
	json_t *value = json_loadb((const char *)input_at(c->in), c->p, JSON_DECODE_ANY, &error);
	uint64_t offset = input_offset(c->in);
	int r = 0;

	if (!value && json_error_code(&error) == json_error_invalid_utf8)
		value = load_mended(c, &error);
	if (!value && c->r->part)
		r = 0; /* the first reader tells it */
	else if (!value)
		span_fault(c->r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": %s", c->in->name,
			   offset + (uint64_t)(error.position > 0 ? error.position : 0), error.text);
	else
		r = element(c->r, c->in->name, offset, value);
	json_decref(value);
	c->in->at += c->p;
	c->p = 0;
	c->wrong = 0;
	return r;
}

/* Most elements lie in memory as a whole: the library finds their end while it reads them. False = not this one. */
static bool emit_at_once(struct cursor *c, json_element_fn element, int *ret)
{
	uint64_t offset = input_offset(c->in);
	json_error_t error;
	json_t *value;

	c->wrong = 0;
	if (*input_at(c->in) != '{')
		return false;
	value = json_loadb((const char *)input_at(c->in), c->in->n - c->in->at, JSON_DISABLE_EOF_CHECK, &error);
	if (!value && json_error_code(&error) == json_error_invalid_syntax && error.position > 3)
		c->wrong = (size_t)error.position - 2; /* it has read a little further */
	if (!value)
		return false;
	*ret = element(c->r, c->in->name, offset, value);
	json_decref(value);
	c->in->at += (size_t)error.position;
	return true;
}

/* in->at + p is behind '['. */
static int each_of_array(struct cursor *c, json_element_fn element)
{
	int r = 0;

	while (r == 0) {
		int byte = skip_space(c);

		c->in->at += c->p;
		c->p = 0;
		if (byte == ',' || byte == ']')
			c->p++;
		if (byte == ']' || byte < 0)
			break;
		if (byte == ',' || emit_at_once(c, element, &r))
			continue;
		if (!skip_value(c)) {
			not_ended(c);
			return c->error == -ENOMEM ? -ENOMEM : -ENODATA;
		}
		if (!c->p) { /* a bracket where none can be */
			span_fault(c->r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": this is not a JSON value", c->in->name,
				   input_offset(c->in));
			return -ENODATA;
		}
		r = emit(c, element);
	}
	return r;
}

static bool key_is_wanted(struct cursor *c, size_t from)
{
	for (const char *const *key = c->keys; *key; key++)
		if (c->p - from == strlen(*key) + 2 && !memcmp(input_at(c->in) + from + 1, *key, strlen(*key)))
			return true;
	return false;
}

static int object(struct cursor *c, json_element_fn element);

/* in->at + p is at an object that one of the keys names. */
static int object_within(struct cursor *c, json_element_fn element)
{
	int r;

	c->in->at += c->p;
	c->depth++;
	r = object(c, element);
	c->depth--;
	return r;
}

/* in->at is at '{': finds the keys; an object that has no array of such a name is an element itself. */
static int object(struct cursor *c, json_element_fn element)
{
	bool found = false, wanted;
	int r = 0;

	c->p = 1;
	while (r == 0) {
		int byte = skip_space(c);
		size_t from = c->p;

		if (byte == ',') {
			c->p++;
			continue;
		}
		if (byte == '}') {
			c->p++;
			break;
		}
		if (byte != '"' || !skip_string(c)) {
			if (byte < 0)
				not_ended(c);
			else
				span_fault(c->r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": expected a key here", c->in->name,
					   input_offset(c->in) + c->p);
			return -ENODATA;
		}
		wanted = key_is_wanted(c, from);
		if (skip_space(c) == ':')
			c->p++;
		if (wanted && skip_space(c) == '[') {
			c->p++;
			found = true;
			r = each_of_array(c, element);
		} else if (wanted && skip_space(c) == '{' && c->depth < DEPTH_MAX) {
			found = true;
			r = object_within(c, element);
		} else if (!skip_value(c)) {
			not_ended(c);
			return -ENODATA;
		}
	}
	if (r < 0)
		return r;
	if (!found)
		return emit(c, element);
	c->in->at += c->p;
	c->p = 0;
	return r;
}

/* What was written after something that was cut off begins on a line of its own. False = there is none. */
static bool go_on_behind(struct cursor *c)
{
	int byte, last = 0;

	c->p = c->wrong ? c->wrong : c->p;
	for (; (byte = peek(c)) >= 0; c->p++) {
		if (last == '\n' && byte == '{') {
			c->in->at += c->p;
			c->p = 0;
			c->wrong = 0;
			return true;
		}
		last = byte;
		if (c->p > MOST_LOOKED_AT) {
			c->in->at += c->p;
			c->p = 0;
		}
	}
	return false;
}

int json_elements(struct span_reader *reader, struct input *in, const char *const *keys, json_element_fn element)
{
	struct cursor c = {.r = reader, .in = in, .keys = keys};
	bool mended = false;
	int r = 0;

	while (r == 0) {
		int byte = skip_space(&c);

		in->at += c.p;
		c.p = 0;
		if (byte < 0)
			break;
		if (byte == '{') {
			r = object(&c, element);
		} else if (byte == '[') {
			c.p = 1;
			r = each_of_array(&c, element);
			in->at += r == 0 ? c.p : 0;
			c.p = r == 0 ? 0 : c.p;
		} else if (mended && (byte == ',' || byte == ']' || byte == '}')) {
			c.p = 1; /* of what was cut off */
		} else {
			span_fault(reader->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": this is not a JSON object", in->name,
				   input_offset(in));
			r = -ENODATA;
		}
		if (r == -ENODATA && !c.error && go_on_behind(&c)) {
			mended = true;
			r = 0;
		}
	}
	return c.error == -ENOMEM || c.error == -EIO ? c.error : r == -ENODATA ? 0 : r;
}

int json_each(struct span_reader *r, const char *name, uint64_t offset, json_t *list, json_element_fn element)
{
	json_t *value;
	size_t i;
	int result = 0;

	json_array_foreach(list, i, value)
		if (result == 0)
			result = element(r, name, offset, value);
	return result;
}

bool json_number(const json_t *value, int64_t *ret)
{
	const char *text = json_string_value(value);
	char *end;

	if (json_is_integer(value)) {
		*ret = json_integer_value(value);
		return true;
	}
	if (json_is_real(value) && json_real_value(value) > -9e18 && json_real_value(value) < 9e18) {
		*ret = (int64_t)json_real_value(value);
		return true;
	}
	if (!text || !*text)
		return false;
	errno = 0;
	*ret = strtoll(text, &end, 10);
	return !*end && !errno;
}

const char *json_text(const json_t *value, char buf[40], size_t *ret_n)
{
	if (json_is_string(value)) {
		*ret_n = json_string_length(value);
		return json_string_value(value);
	}
	if (json_is_integer(value))
		*ret_n = (size_t)snprintf(buf, 40, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		*ret_n = (size_t)snprintf(buf, 40, "%.17g", json_real_value(value));
	else if (json_is_boolean(value))
		*ret_n = (size_t)snprintf(buf, 40, "%s", json_is_true(value) ? "true" : "false");
	else
		return NULL;
	return buf;
}

bool json_mentions(const uint8_t *head, size_t n, const char *key)
{
	size_t blank = 0;

	while (blank < n && is_blank(head[blank]))
		blank++;
	return blank < n && (head[blank] == '{' || head[blank] == '[') && memmem(head, n, key, strlen(key));
}
