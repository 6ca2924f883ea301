#include "spans/formats/otlp-frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "spans/formats/otlp.h"

static const uint8_t zstd_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};

/* How many bytes the number has, 0 = it does not end. */
static size_t varint(const uint8_t *at, size_t n, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < n && i < 10; i++) {
		*ret |= (uint64_t)(at[i] & 0x7f) << 7 * i;
		if (!(at[i] & 0x80))
			return i + 1;
	}
	return 0;
}

static bool is_packed(const uint8_t *at, size_t n)
{
	return n >= sizeof(zstd_magic) && !memcmp(at, zstd_magic, sizeof(zstd_magic));
}

/* A ResourceSpans begins with its resource, its spans, or its schema's address. */
static bool is_message(const uint8_t *at, size_t n, uint64_t *ret_length)
{
	size_t head = n > 2 && at[0] == 0x0a ? varint(at + 1, n - 1, ret_length) : 0;

	if (!head || 1 + head >= n)
		return false;
	at += 1 + head;
	*ret_length += 1 + head;
	return *ret_length == 1 + head || *at == 0x0a || *at == 0x12 || *at == 0x1a;
}

enum otlp_framing otlp_framing_of(const uint8_t *head, size_t n)
{
	uint64_t length, message;
	size_t digits;

	if (is_message(head, n, &message))
		return OTLP_UNFRAMED;
	if (n > 5 && head[0] == 0 && (head[4] == 0x0a || head[4] == '{' || is_packed(head + 4, n - 4)))
		return OTLP_FRAMED;
	digits = varint(head, n, &length);
	return digits && digits < n && is_message(head + digits, n - digits, &message) && message <= length ? OTLP_DELIMITED :
													      OTLP_UNKNOWN;
}

/* What the collector packed, message by message. Caller frees. */
static int unpack(const uint8_t *bytes, size_t n, uint8_t **ret, size_t *ret_n)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = {bytes, n, 0};
	ZSTD_outBuffer out = {};
	size_t left = 1;

	while (stream && left && !ZSTD_isError(left) && in.pos + out.pos < INPUT_PIECE_MAX) {
		size_t size = out.size ? 2 * out.size : 8 * n + 4096;
		uint8_t *grown = realloc(out.dst, size);

		if (!grown)
			break;
		out.dst = grown;
		out.size = size;
		left = ZSTD_decompressStream(stream, &out, &in);
		if (in.pos == in.size && out.pos < out.size)
			break; /* it has all there is */
	}
	ZSTD_freeDStream(stream);
	if (left) {
		free(out.dst);
		return -EBADMSG;
	}
	*ret = out.dst;
	*ret_n = out.pos;
	return 0;
}

static int read_message(struct span_reader *r, const struct input *file, uint64_t offset, const uint8_t *bytes, size_t n)
{
	struct input in;

	if (!n || bytes[0] != '{')
		return otlp_message(r, file->name, offset, bytes, n);
	input_of_memory(&in, file->name, bytes, n);
	in.before = offset;
	return source_otlp_json.read(r, &in);
}

static int read_frame(struct span_reader *r, const struct input *file, uint64_t offset, const uint8_t *bytes, size_t n)
{
	uint8_t *unpacked;
	int result;

	if (!is_packed(bytes, n))
		return read_message(r, file, offset, bytes, n);
	if (unpack(bytes, n, &unpacked, &n) < 0) {
		if (!r->part)
			span_fault(r->sink.faults, SPAN_FAULT_SYNTAX, "%s: byte %" PRIu64 ": a packed message that cannot be unpacked",
				   file->name, offset);
		return 0;
	}
	result = read_message(r, file, offset, unpacked, n);
	free(unpacked);
	return result;
}

int otlp_read_frames(struct span_reader *r, struct input *in, enum otlp_framing framing)
{
	for (;;) {
		int64_t have = input_need(in, 16);
		const uint8_t *at = input_at(in);
		uint64_t length = 0;
		size_t head = 4;
		int result;

		if (have <= 0)
			return (int)have;
		if (framing == OTLP_DELIMITED)
			head = varint(at, (size_t)have, &length);
		else
			for (size_t i = 0; i < 4 && (int64_t)i < have; i++)
				length = length << 8 | at[i];
		if (!head || (int64_t)head > have || length > INPUT_PIECE_MAX)
			have = -E2BIG;
		else
			have = input_need(in, head + (size_t)length);
		if (have == -ENOMEM || have == -EIO)
			return (int)have;
		if (have < 0 || (uint64_t)have < head + length) { /* of a length beyond INPUT_PIECE_MAX the sum may wrap */
			if (!r->part)
				span_fault(r->sink.faults, SPAN_FAULT_TRUNCATED, "%s: byte %" PRIu64 ": the message that begins here is not there to its end",
					   in->name, input_offset(in));
			return 0;
		}
		result = read_frame(r, in, input_offset(in) + head, input_at(in) + head, (size_t)length);
		if (result < 0)
			return result;
		in->at += head + (size_t)length;
	}
}
