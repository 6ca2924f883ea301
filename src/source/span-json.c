#include "source/span-json.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A place in the file: `p` bytes after in->at. */
struct cursor {
	struct span_reader *r;
	struct input *in;
	size_t p;
	int error;
};

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

static int skip_space(struct cursor *c)
{
	int byte;

	while ((byte = peek(c)) >= 0 && (isspace(byte) || byte == 0x1e))
		c->p++;
	return byte;
}

static bool skip_string(struct cursor *c)
{
	int byte;

	for (c->p++; (byte = peek(c)) >= 0; c->p++) {
		if (byte == '\\')
			c->p++;
		else if (byte == '"')
			break;
	}
	c->p++;
	return byte >= 0;
}

/* Over one value; false at the end of the file. */
static bool skip_value(struct cursor *c)
{
	unsigned depth = 0;
	int byte = skip_space(c);

	for (; byte >= 0; byte = peek(c)) {
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

static void truncated(struct cursor *c)
{
	if (!c->r->part)
		span_fault(c->r->sink.faults, SPAN_FAULT_TRUNCATED, "%s: byte %" PRIu64 ": what begins here does not end", c->in->name,
		   input_offset(c->in));
}

typedef int (*element_fn)(struct span_reader *r, const char *name, uint64_t offset, json_t *value);

/* The value from in->at to in->at + p; goes behind it. */
static int emit(struct cursor *c, element_fn element)
{
	json_error_t error;
	json_t *value = json_loadb((const char *)input_at(c->in), c->p, JSON_DECODE_ANY, &error);
	uint64_t offset = input_offset(c->in);
	int r = 0;

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
	return r;
}

/* Most elements lie in memory as a whole: the library finds their end while it reads them. False = not this one. */
static bool emit_at_once(struct cursor *c, element_fn element, int *ret)
{
	uint64_t offset = input_offset(c->in);
	json_error_t error;
	json_t *value;

	if (*input_at(c->in) != '{')
		return false;
	value = json_loadb((const char *)input_at(c->in), c->in->n - c->in->at, JSON_DISABLE_EOF_CHECK, &error);
	if (!value)
		return false;
	*ret = element(c->r, c->in->name, offset, value);
	json_decref(value);
	c->in->at += (size_t)error.position;
	return true;
}

/* in->at + p is behind '['. */
static int each_of_array(struct cursor *c, element_fn element)
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
			truncated(c);
			return c->error == -ENOMEM ? -ENOMEM : -ENODATA;
		}
		if (!c->p) { /* a bracket where none can be */
			span_fault(c->r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": this is no JSON value", c->in->name,
				   input_offset(c->in));
			return -ENODATA;
		}
		r = emit(c, element);
	}
	return r;
}

static bool key_is(struct cursor *c, size_t from, const char *key)
{
	return c->p - from == strlen(key) + 2 && !memcmp(input_at(c->in) + from + 1, key, strlen(key));
}

/* in->at is at '{': finds `key`; an object that has no array of that name is an element itself. */
static int object(struct cursor *c, const char *key, element_fn element)
{
	bool found = false;
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
				truncated(c);
			else
				span_fault(c->r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": a key was to come here", c->in->name,
					   input_offset(c->in) + c->p);
			return -ENODATA;
		}
		byte = key_is(c, from, key);
		if (skip_space(c) == ':')
			c->p++;
		if (byte && skip_space(c) == '[') {
			c->p++;
			found = true;
			r = each_of_array(c, element);
		} else if (!skip_value(c)) {
			truncated(c);
			return -ENODATA;
		}
	}
	if (r == 0 && !found)
		return emit(c, element);
	c->in->at += c->p;
	c->p = 0;
	return r;
}

int json_elements(struct span_reader *reader, struct input *in, const char *key, element_fn element)
{
	struct cursor c = {.r = reader, .in = in};
	int r = 0;

	while (r == 0) {
		int byte = skip_space(&c);

		in->at += c.p;
		c.p = 0;
		if (byte < 0)
			break;
		if (byte == '{') {
			r = object(&c, key, element);
		} else if (byte == '[') {
			c.p = 1;
			r = each_of_array(&c, element);
			in->at += c.p;
			c.p = 0;
		} else {
			span_fault(reader->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": this is no JSON object", in->name,
				   input_offset(in));
			break;
		}
	}
	return c.error == -ENOMEM || c.error == -EIO ? c.error : r == -ENODATA ? 0 : r;
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

	while (blank < n && (isspace(head[blank]) || head[blank] == 0x1e))
		blank++;
	return blank < n && (head[blank] == '{' || head[blank] == '[') && memmem(head, n, key, strlen(key));
}
