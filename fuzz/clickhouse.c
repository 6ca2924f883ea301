/* A ClickHouse server's answer, text or binary, in pieces of any size; and its errors. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"
#include "lib/net/clickhouse-inside.h"

static int take_text(void *data, size_t n, char *const *fields)
{
	for (size_t i = 0; i < n; i++)
		*(size_t *)data += fields[i] ? strlen(fields[i]) : 0;
	return 0;
}

static int take_binary(void *data, struct reader *in)
{
	char *text = reader_text(in);

	*(size_t *)data += text ? strlen(text) : 0;
	free(text);
	(void)clickhouse_read_float64(in);
	(void)clickhouse_read_int64(in);
	return 0;
}

/* The first byte: binary or text, and how long a piece is. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct clickhouse c = {.base = (char *)"http://127.0.0.1:8123/"};
	size_t length = 0, piece = n ? 1 + (bytes[0] >> 1) : 1;
	struct clickhouse_inflow in = {.c = &c, .data = &length};
	int r = 0;

	if (n && bytes[0] & 1)
		in.binary = take_binary;
	else
		in.row = take_text;
	for (size_t at = 1; at < n && r == 0; at += piece)
		r = clickhouse_take_piece(bytes + at, n - at < piece ? n - at : piece, &in);
	if (r == 0)
		(void)clickhouse_take_end(&in);
	str_free(&in.rest);
	free(c.error);
	return 0;
}
