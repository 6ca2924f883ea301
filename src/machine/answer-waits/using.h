/* Finds what someone is using right now. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether a process is in the foreground of its terminal: its process group has it. false where that is not known. */
bool using_in_foreground(const char *proc_root, uint32_t pid);
