/* Every instruction a process executes, for a moment: the CPU's own trace (Intel PT), taken and decoded by perf. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#define INSTRUCTIONS_EACH 1000 /* each address that is called back stands for so many */

typedef void (*instructions_each)(uint32_t tid, uint64_t address, void *data);

/* NULL where it can be used; else why not, and what to do (static text). sys_root: "/sys". */
const char *instructions_missing(const char *sys_root);
/* Traces for `span` ns, then decodes: that takes many times as long, but at most a minute. 0; -ENOENT without perf or where
 * it gave nothing; -errno. */
int instructions_trace(uint32_t pid, int64_t span, instructions_each each, void *data);
/* Reads what 'perf script -F tid,ip' prints: a thread and an address a line; other lines are left out. Returns how many. */
uint64_t instructions_read(FILE *from, instructions_each each, void *data);
