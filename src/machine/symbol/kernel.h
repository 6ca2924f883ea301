/* Names of kernel code, from /proc/kallsyms:
 *
 *   ffffffff8108a5d0 T schedule
 *   ffffffffc0401000 t ext4_readdir	[ext4]
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct kernel_symbols;

/* 0; -EACCES where the kernel hides its addresses (kptr_restrict: only root sees them); -EBADMSG; -errno. */
int kernel_symbols_read(const char *proc_root, struct kernel_symbols **ret);
void kernel_symbols_free(struct kernel_symbols *k);
/* The function at or before an address; NULL below the kernel and beyond its last symbol's neighborhood.
 * *ret_module is "kernel" or a loaded module's name. Both belong to the symbols. */
const char *kernel_symbols_find(const struct kernel_symbols *k, uint64_t address, uint64_t *ret_offset,
				const char **ret_module);
