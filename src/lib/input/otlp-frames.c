#include "lib/input/otlp-frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/input/protobuf.h"

static const uint8_t zstd_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};

/* How many bytes the number has, 0 = it does not end. */
static size_t varint(const uint8_t *at, size_t n, uint64_t *ret)
{
	struct protobuf m = {at, at + n};

	return protobuf_number(&m, ret) < 0 ? 0 : (size_t)(m.at - at);
}

bool otlp_is_packed(const uint8_t *message, size_t n)
{
	return n >= sizeof(zstd_magic) && !memcmp(message, zstd_magic, sizeof(zstd_magic));
}

/* A ResourceSpans or ResourceMetrics begins with its resource, its scopes, or its schema's address. */
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
	if (n > 5 && head[0] == 0 && (head[4] == 0x0a || head[4] == '{' || otlp_is_packed(head + 4, n - 4)))
		return OTLP_FRAMED;
	digits = varint(head, n, &length);
	return digits && digits < n && is_message(head + digits, n - digits, &message) && message <= length ? OTLP_DELIMITED :
													      OTLP_UNKNOWN;
}

size_t otlp_frame_head(enum otlp_framing framing, const uint8_t *at, size_t n, uint64_t *ret_length)
{
	if (framing == OTLP_DELIMITED)
		return varint(at, n, ret_length);
	*ret_length = 0;
	for (size_t i = 0; i < 4 && i < n; i++)
		*ret_length = *ret_length << 8 | at[i];
	return n < 4 ? 0 : 4;
}

int otlp_unpack(const uint8_t *message, size_t n, size_t most, uint8_t **ret, size_t *ret_n)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = {message, n, 0};
	ZSTD_outBuffer out = {};
	size_t left = 1;

	while (stream && left && !ZSTD_isError(left) && out.pos < most) {
		size_t size = out.size ? 2 * out.size : 8 * n + 4096;
		uint8_t *grown = realloc(out.dst, size < most ? size : most);

		if (!grown)
			break;
		out.dst = grown;
		out.size = size < most ? size : most;
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
