/* Who called whom, from a copy of a thread's registers and the bytes of its stack: for programs built without
 * frame pointers. Call frame information (.eh_frame, .debug_frame) is read from the very files the process
 * has mapped, by a process without rights (unwind-server.h); the process itself is neither stopped nor touched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/symbol/module.h"

/* In DWARF's numbering. x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8-r15 rip; arm64: x0-x30 sp pc. */
#if defined(__x86_64__)
#define UNWIND_REGISTERS 17
#define UNWIND_SP	 7
#define UNWIND_PC	 16
#elif defined(__aarch64__)
#define UNWIND_REGISTERS 33
#define UNWIND_SP	 31
#define UNWIND_PC	 32
#endif

struct unwinder;

/* Of a process; `modules` must outlive it. Modules mapped later are not known to it: make a new one. 0 or
 * -errno. */
int unwinder_new(const struct modules *modules, struct unwinder **ret);
void unwinder_free(struct unwinder *u);
/* Files without which call chains end early, because they are damaged; NULL after the last. */
const char *unwinder_damaged(const struct unwinder *u, size_t index);

/* The addresses of a call chain, the innermost first; those of callers lie in the call (return address less
 * one). `stack` is n bytes from the stack pointer upwards. Returns how many, at most `max` (>= 1; the first
 * is the program counter itself). *ret_complete: it reached the thread's or the program's first function. */
size_t unwind(struct unwinder *u, const uint64_t registers[UNWIND_REGISTERS], const void *stack, size_t n,
	      uint64_t *ret, size_t max, bool *ret_complete);
