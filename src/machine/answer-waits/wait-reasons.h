/* The reason of a wait, by the call stack in which the thread slept and by who woke it. */
#pragma once

#include "machine/rule/signature.h"

/* functions: from the outermost to the innermost, the kernel's ending in "_[k]", and behind them "woken-by:THREAD", if that is known. The
 * words of the signature that matches, else the kernel's function that says something; the caller frees. NULL = neither, or without memory. */
char *wait_reason_words(const struct signatures *signatures, const char *const *functions, size_t n);
