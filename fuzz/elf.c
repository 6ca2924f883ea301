/* A program as the process without rights reads it: headers, build-id, functions, lines, the table of starts, the program's own
 * compressed debug data. */
#include <string.h>

#include "fuzz/memory-file.h"
#include "fuzz/target.h"
#include "lib/data/cleanup.h"
#include "machine/symbol/elf-check.h"
#include "machine/symbol/object.h"

#define LINES_MAX 16

static void look_at(struct object *o, uint64_t offset)
{
	struct source_line lines[LINES_MAX];
	const struct function *f;
	uint64_t address, start;

	if (object_address(o, offset, &address) < 0)
		return;
	f = object_function(o, address);
	if (f && !*f->name)
		abort();
	if (object_function_start(o, address, &start) == 0 && start > address)
		abort();
	(void)object_lines(o, address, lines, LINES_MAX);
}

/* Debian 12's libdw loses some bytes for a damaged program: the process that reads it ends, and they with it. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libdw.so\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	_cleanup_close_ int fd = memory_file(bytes, n);
	struct build_id id = {};
	struct object *o;

	if (fd < 0)
		return 0;
	(void)elf_build_id_read(fd, &id);
	if (id.size > BUILD_ID_MAX)
		abort();
	if (object_open(dup(fd), "input", NULL, NULL, &o) < 0)
		return 0;
	for (uint64_t offset = 0; offset < n; offset += n / 16 + 1)
		look_at(o, offset);
	object_close(o);
	return 0;
}
