/* Whether an ELF file is one that its user may have libdw read, and its build-id, from its headers alone. For hostile
 * files: every size is checked against a bound before anything is read, and at most 1 MiB is. */
#pragma once

#include <sys/types.h>

#include "machine/symbol/module.h"

/* 0; -ENOEXEC for what is not an ELF file; -EBADMSG for one that no program or library is: a relocatable file (ET_REL:
 * libdw would relocate it), a core, another word size or byte order, or headers beyond the file or without bound. */
int elf_check(int fd);
/* 0; -ENOENT where it has none; else as elf_check(). */
int elf_build_id_read(int fd, struct build_id *ret);
