/* The first line is the path or package that is looked for, what follows a list or a status of dpkg. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/memory-file.h"
#include "fuzz/target.h"
#include "lib/data/cleanup.h"
#include "machine/answer-inspect/owner-read.h"

static void ask(enum owner_request kind, const char *text, size_t length, const uint8_t *bytes, size_t n)
{
	_cleanup_str_ struct str request = {}, answer = {};
	struct sandbox_request r = {.n_files = 1};

	(void)str_put_varint(&request, kind);
	(void)str_put_blob(&request, text, length);
	r.bytes = (struct reader){(const uint8_t *)request.data, (const uint8_t *)request.data + request.len, false};
	r.files[0] = memory_file(bytes, n);
	if (r.files[0] < 0)
		return;
	owner_read(NULL, &r, &answer);
	cleanup_fd(&r.files[0]);
	if (kind == OWNER_VERSION ? answer.len >= VERSION_MAX : answer.len > 1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const uint8_t *end = n ? memchr(bytes, '\n', n) : NULL;
	size_t length = end ? (size_t)(end - bytes) : 0;

	if (!length)
		return 0;
	ask(OWNER_LISTS, (const char *)bytes, length, end + 1, n - length - 1);
	ask(OWNER_VERSION, (const char *)bytes, length, end + 1, n - length - 1);
	return 0;
}
