/* The contents of a trace's sections, and all that is computed of them. Header, lengths and checksums are made here, or hardly
 * any mutation would come further than to them: the input is a row of sections as kind (1 byte), length (2), bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "fuzz/target.h"
#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "machine/blame/blame.h"
#include "machine/blame/path.h"
#include "machine/threads/state.h"
#include "machine/trace/trace-file.h"
#include "machine/view-waits/waits.h"

#define SECTION_BYTES (1 << 16)
#define SECTION_END   9

static void put_number(struct str *out, uint64_t number, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		str_putc(out, (char)(number >> 8 * i));
}

static void put_section(struct str *out, uint8_t kind, const uint8_t *raw, size_t n)
{
	static char packed[2 * SECTION_BYTES];
	size_t size = n ? ZSTD_compress(packed, sizeof(packed), raw, n, 1) : 0;

	put_number(out, kind, 4);
	put_number(out, n, 8);
	put_number(out, size, 8);
	str_append(out, packed, size);
}

static void put_trace(struct str *out, const uint8_t *at, size_t n)
{
	str_append(out, "WHYTRACE", 8);
	put_number(out, TRACE_FILE_VERSION, 4);
	while (n >= 3) {
		size_t length = (size_t)at[1] | (size_t)at[2] << 8;

		if (length > n - 3)
			length = n - 3;
		put_section(out, at[0], at + 3, length);
		at += 3 + length;
		n -= 3 + length;
	}
	put_section(out, SECTION_END, NULL, 0);
}

static void show(const struct timeline *t)
{
	_cleanup_fclose_ FILE *nowhere = fopen("/dev/null", "we");
	struct blame_matrix programs;
	struct critical_path path;
	struct waits_options o = {.top = 8};
	const struct fold_options stacks = {t->start, t->end, true, NULL, 0};
	struct path_tree tree = {};

	if (blame_build(t, t->start, t->end, NULL, 0, LEVEL_PROGRAM, &programs) == 0) {
		waits_text(t, &programs, &o, nowhere);
		blame_sort(&programs);
		waits_json(t, &programs, &o, nowhere);
		blame_matrix_free(&programs);
	}
	if (path_build(t, 0, t->start, t->end, &path) == 0)
		path_free(&path);
	if (waits_fold_stacks(t, &stacks, &tree) == 0)
		waits_folded_text(&tree, nowhere);
	path_tree_free(&tree);
	waits_perfetto(t, t->start, t->end, nowhere);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	_cleanup_str_ struct str file = {};
	_cleanup_free_ char *error = NULL;
	_cleanup_close_ int fd = memfd_create("trace", MFD_CLOEXEC);
	struct trace trace = {};
	struct timeline timeline;

	put_trace(&file, bytes, n);
	if (fd < 0 || file.error || write(fd, file.data, file.len) != (ssize_t)file.len)
		return 0;
	lseek(fd, 0, SEEK_SET);
	if (trace_read(fd, &trace, &error) < 0)
		return 0;
	if (timeline_build(&trace, &timeline) == 0) {
		show(&timeline);
		timeline_free(&timeline);
	}
	trace_clear(&trace);
	return 0;
}
