/* Protobuf's wire format: enough to write a message field by field, and to read one that anyone may have made.
 *
 *   struct protobuf m = {bytes, bytes + n};
 *   struct protobuf_field f;
 *
 *   while ((r = protobuf_next(&m, &f)) > 0)
 *           if (f.number == 1 && f.wire == WIRE_BYTES)
 *                   read_inner(protobuf_inside(&f));
 */
#pragma once

#include <errno.h>
#include <string.h>

#include "lib/data/str.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct protobuf_field {
	uint32_t number;
	enum wire wire;
	uint64_t value; /* of numbers */
	const uint8_t *bytes;
	size_t n;
};

struct protobuf {
	const uint8_t *at, *end;
};

/* 1, or -EBADMSG. */
static inline int protobuf_number(struct protobuf *m, uint64_t *ret)
{
	uint64_t value = 0;

	if (m->at < m->end && !(*m->at & 0x80)) {
		*ret = *m->at++;
		return 1;
	}
	for (unsigned shift = 0; m->at < m->end && shift < 64; shift += 7) {
		uint8_t byte = *m->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return 1;
		}
	}
	return -EBADMSG;
}

/* 1 = a field, 0 = the end, -EBADMSG = damage. */
static inline int protobuf_next(struct protobuf *m, struct protobuf_field *f)
{
	uint64_t tag;
	size_t fixed;

	if (m->at == m->end)
		return 0;
	if (protobuf_number(m, &tag) < 0 || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
		return -EBADMSG;
	f->number = (uint32_t)(tag >> 3);
	f->wire = (enum wire)(tag & 7);
	switch (f->wire) {
	case WIRE_VARINT:
		return protobuf_number(m, &f->value);
	case WIRE_BYTES:
		if (protobuf_number(m, &f->value) < 0 || f->value > (uint64_t)(m->end - m->at))
			return -EBADMSG;
		f->bytes = m->at;
		f->n = (size_t)f->value;
		m->at += f->n;
		return 1;
	case WIRE_FIXED64:
	case WIRE_FIXED32:
		fixed = f->wire == WIRE_FIXED64 ? 8 : 4;
		if ((size_t)(m->end - m->at) < fixed)
			return -EBADMSG;
		f->value = 0;
		memcpy(&f->value, m->at, fixed);
		m->at += fixed;
		return 1;
	default:
		return -EBADMSG;
	}
}

static inline struct protobuf protobuf_inside(const struct protobuf_field *f)
{
	return (struct protobuf){f->bytes, f->bytes + f->n};
}

/* Reads a message's numbers: values[i] of field i below n, the last one of each. Other fields are passed over. 0 or -EBADMSG. */
static inline int protobuf_numbers(const struct protobuf_field *message, uint64_t *values, size_t n)
{
	struct protobuf m = protobuf_inside(message);
	struct protobuf_field f;
	int r;

	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number < n && f.wire == WIRE_VARINT)
			values[f.number] = f.value;
	return r;
}

/* Writing: errors are the buffer's (str.h). */
static inline void protobuf_put_number(struct str *s, uint32_t field, uint64_t value)
{
	str_put_varint(s, field << 3 | WIRE_VARINT);
	str_put_varint(s, value);
}

static inline void protobuf_put_fixed64(struct str *s, uint32_t field, uint64_t value)
{
	str_put_varint(s, field << 3 | WIRE_FIXED64);
	str_append(s, &value, sizeof(value));
}

static inline void protobuf_put_bytes(struct str *s, uint32_t field, const void *bytes, size_t n)
{
	str_put_varint(s, field << 3 | WIRE_BYTES);
	str_put_blob(s, bytes, n);
}

static inline void protobuf_put_text(struct str *s, uint32_t field, const char *text)
{
	protobuf_put_bytes(s, field, text, strlen(text));
}

static inline void protobuf_put_message(struct str *s, uint32_t field, const struct str *message)
{
	protobuf_put_bytes(s, field, message->data ? message->data : "", message->len);
}
