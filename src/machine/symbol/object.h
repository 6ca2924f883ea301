/* One ELF file: its functions and source lines, by the addresses that nm, objdump and addr2line know.
 *
 * Functions come from .symtab, .dynsym, the compressed .gnu_debugdata and the separate debug file with the
 * same build-id (below /usr/lib/debug/.build-id), lines and inlined calls from DWARF. Nothing is fetched from
 * a network.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/symbol/module.h"

struct object;

/* Where separate debug files come from: a descriptor for the one of that build, or -errno. */
typedef int (*debug_file_opener)(void *data, const struct build_id *id);

/* Takes the descriptor, also on error. opener: NULL = there are no debug files. 0; -ENOEXEC for what is not an ELF file;
 * -EBADMSG for one that is damaged, or no program (elf_check()); -errno. */
int object_open(int fd, const char *name, debug_file_opener opener, void *data, struct object **ret);
/* The machine's own vdso as a file: every process of the same word size has the same one. A descriptor or -errno. */
int object_open_vdso(void);
void object_close(struct object *o);
const struct build_id *object_build_id(const struct object *o);

/* The address (a program header's p_vaddr space) of a byte of the file; -ENOENT where it is not loaded. */
int object_address(const struct object *o, uint64_t file_offset, uint64_t *ret);

struct function {
	uint64_t address, size;
	const char *name; /* as linkers know it; belongs to the object */
};
/* The function around an address, or NULL: a stripped file, or between functions. Binary search. */
const struct function *object_function(struct object *o, uint64_t address);

/* Where the function around an address begins, also in a stripped file: from the table that exceptions are
 * unwound by
 * (.eh_frame_hdr). -ENOENT without one. */
int object_function_start(struct object *o, uint64_t address, uint64_t *ret);

struct source_line {
	const char *function; /* of an inlined call; NULL for the real function */
	const char *file;     /* belongs to the object */
	uint32_t line;
};
/* Where an address was written: the innermost inlined call first, the real function last. At most `max`; 0
 * where the file has no debugging information. */
size_t object_lines(struct object *o, uint64_t address, struct source_line *ret, size_t max);
