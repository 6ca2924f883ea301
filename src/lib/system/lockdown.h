/* Whether the kernel keeps what it has in memory from root, too (kernel_lockdown(7)): then it loads no BPF program that reads it,
 * and has no trace events.
 *
 *   /sys/kernel/security/lockdown    none integrity [confidentiality]
 *
 * False where that file is not there. */
#pragma once

#include <stdbool.h>

bool lockdown_is_confidential(const char *sys_root);
