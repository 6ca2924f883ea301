/* Everything that a server may send to our client: header lines, and a packed body; and a ClickHouse server's words of an error. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"
#include "lib/data/cleanup.h"
#include "lib/net/clickhouse-inside.h"
#include "lib/input/gzip.h"

#define BODY_MAX 65536

static void take_headers(const char *text, size_t n)
{
	int64_t pause = 0;

	for (const char *at = text, *end = text + n; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = newline ? (size_t)(newline + 1 - at) : (size_t)(end - at);

		http_take_retry_after(at, length, &pause);
		if (pause < 0)
			abort();
		at += length;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct clickhouse c = {.base = (char *)"http://127.0.0.1:8123/"};
	_cleanup_str_ struct str body = {.max = BODY_MAX};
	_cleanup_free_ char *text = strndup((const char *)bytes, n);

	take_headers((const char *)bytes, n);
	(void)gzip_unpack(bytes, n, NULL, &body);
	if (text)
		(void)clickhouse_fault(&c, text);
	free(c.error);
	return 0;
}
