/* Names of generated code, as its maker writes them to /tmp/perf-PID.map (node --perf-basic-prof, Java
 * agents, ...):
 *
 *   3ef414c0 398 LazyCompile:~bar file.js:12
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "machine/symbol/module.h"

struct jit_map;

#define JIT_MAP_MAX ((size_t)256 << 20) /* bytes that are read of one; large Java programs write 50 MB */

/* Of a process, in its own mount and pid namespace; only a regular file that it or root owns is believed. A descriptor;
 * -ENOENT without one; -EPERM for another owner's; -errno. */
int jit_map_open(const struct modules *process);
/* Damaged lines are left out, long ones cut off. 0 or -ENOMEM. */
int jit_map_parse(FILE *f, struct jit_map **ret);
void jit_map_free(struct jit_map *m);
/* The newest entry that has an address; the name belongs to the map. */
const char *jit_map_find(const struct jit_map *m, uint64_t address, uint64_t *ret_offset);
