/* From an address to words: function, module, source line. Of a living process, or of a stored place long
 * after.
 *
 * What is not known is said, not guessed: a stripped program gives module+0x1234 and no function, a file that
 * was replaced since gives its old offsets and the reason. Files are opened here and read by a process without
 * rights (name-server.h): a hostile one costs its own names. Results are cached; what they point to belongs to
 * the symbolizer until it is freed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/str.h"
#include "machine/symbol/module.h"

struct symbolizer;

struct symbolizer_options {
	const char *root;      /* where stored places are looked up: "" = this machine's files */
	const char *proc_root; /* "/proc": kernel symbols */
	bool lines; /* source lines and inlined calls, where DWARF is there: slower for large programs */
	int64_t lines_budget; /* ns in all spent on lines; then only functions are named. 0 = without limit */
};

enum nameless {
	NAMELESS_NOT = 0,  /* it has a name */
	NAMELESS_STRIPPED, /* the file names no function there */
	NAMELESS_GONE,	   /* the file cannot be opened any more */
	NAMELESS_REPLACED, /* another build lies there now */
	NAMELESS_NO_ELF,   /* generated code without a perf map, or a file that is not a program */
	NAMELESS_HIDDEN,   /* the kernel's addresses are hidden from us */
	NAMELESS_OUTSIDE,  /* no code is mapped there */
	NAMELESS_DAMAGED,  /* the file is not a sound program, or takes too long to read */
	NAMELESS_NOT_READ, /* no process without rights runs that could read it */
	NAMELESS_COUNT
};

struct symbol {
	const char *name;	/* demangled, without parameters; NULL: see `nameless` */
	uint64_t offset;	/* from the function's start; 0 for inlined calls */
	bool bounded;		/* `offset` is known, though the name may not be */
	const char *module;	/* path, "[vdso]", "[kernel]", a kernel module's name in brackets, "[anon]" */
	uint64_t module_offset; /* as nm, objdump -d and addr2line -e MODULE have it; the file's offset where
				 * `nameless` is GONE or REPLACED; the address itself in "[kernel]" and
				 * "[anon]" */
	const char *file;	/* source; NULL = not known */
	uint32_t line;
	bool inlined; /* into the next one of the same place */
	bool kernel;
	enum nameless nameless;
};

int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret);
void symbolizer_free(struct symbolizer *s);

/* Of a stored place. The innermost inlined call first; always at least one, at most `max` (>= 1). For a frame
 * that made a call give the return address less one, so that the line is the call's. */
size_t symbolize_place(struct symbolizer *s, const struct code_place *place, struct symbol *ret, size_t max);
/* Of a living process (user space): opens its very files, reads its perf map. */
size_t symbolize_process(struct symbolizer *s, const struct modules *process, uint64_t address, struct symbol *ret,
			 size_t max);
/* Files whose symbols are missing because they are damaged; NULL after the last. */
const char *symbolizer_damaged(const struct symbolizer *s, size_t index);
/* Of the running kernel. */
void symbolize_kernel(struct symbolizer *s, uint64_t address, struct symbol *ret);

/* "spin+0x12", or "stress+0x11d0" where there is no name. Without the offset, for trees, the function as a
 * whole: "spin", or the place where it begins. */
void symbol_write(const struct symbol *symbol, bool offset, struct str *out);
/* Of its function's beginning; of the address itself where that is not known. */
void symbol_write_start(const struct symbol *symbol, struct str *out);
/* "stress+0x11d0": the module's last name and the offset in it. */
void symbol_write_place(const struct symbol *symbol, struct str *out);
/* Why it has no name, for people; NULL where it has one. */
const char *symbolizer_nameless_text(enum nameless n);
/* C++ and Rust names as they were written, without parameters. NULL: the name is none of these. The caller
 * frees. */
char *symbol_demangle(const char *name);
