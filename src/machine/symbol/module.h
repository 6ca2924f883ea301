/* What code a process has mapped, and where an address of it lies in a file.
 *
 * An address means nothing when its process is gone. A *place* does: the file's path as the process saw it,
 * the file's build-id and the offset in the file; it is what recordings keep, and symbolize.h names it later,
 * anywhere. The offset is the file's, as BPF_F_USER_BUILD_ID has it.
 *
 *   /proc/PID/maps   55d0c8a00000-55d0c8a2a000 r-xp 00002000 fd:01 131170   /usr/bin/bash (deleted)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/vec.h"

#define BUILD_ID_MAX 20

struct build_id {
	uint8_t size; /* 0 = not known */
	uint8_t bytes[BUILD_ID_MAX];
};

struct code_place {
	const char *path; /* as its process saw it; NULL = memory without a file */
	struct build_id build_id;
	uint64_t offset; /* in the file, bytes; without a file the address */
};

enum module_kind { MODULE_FILE, MODULE_VDSO, MODULE_MEMORY /* generated code */ };

struct module {
	enum module_kind kind;
	char *path;	    /* without " (deleted)"; "[vdso]"; "[anon]" */
	uint64_t low, high; /* from its first mapping to its last, whatever their rights */
	uint64_t first_end; /* of the first mapping: its name in /proc/PID/map_files */
	uint64_t inode;
	uint32_t device; /* major << 20 | minor */
	bool deleted;
	bool identified;	  /* build_id was looked for */
	struct build_id build_id; /* identifier_identify() */
};

struct mapping {
	uint64_t start, end, offset;
	uint32_t module; /* index */
};

struct modules {
	char *folder;	    /* "/proc/PID" */
	uint32_t pid;	    /* as this machine's /proc has it */
	uint32_t inner_pid; /* as the process itself has it: names its perf map */
	VEC(struct module) modules;
	VEC(struct mapping) code; /* executable mappings, by address */
};

/* Reads maps and status of a process below proc_root ("/proc", or a recorded tree). 0; -ESRCH where it is
 * gone, -EACCES where it is another user's, -EBADMSG for a file that is none, -E2BIG beyond 16 MiB of it (a process may map 65,530 files
 * with paths of 4 KB). */
int modules_read(const char *proc_root, uint32_t pid, struct modules *ret);
void modules_free(struct modules *m);
/* The code mapping that has an address, or NULL: data, or memory that was unmapped since. Binary search. */
const struct mapping *modules_find(const struct modules *m, uint64_t address);
/* Opens a module's very file: also one that was deleted or lies in another mount namespace (map_files, then
 * exe, then the path below the process's root). Only regular files. A descriptor, or -errno. */
int modules_open(const struct modules *m, const struct module *module);
/* Hexadecimal, "" where it is not known; buf of at least 2 * BUILD_ID_MAX + 1 bytes, returned. */
char *module_build_id_format(const struct build_id *id, char *buf);
/* The separate debug file of that build, below /usr/lib/debug/.build-id of a root: no other place, and no server. A
 * descriptor or -errno. */
int module_open_debug_file(const char *root, const struct build_id *id);
