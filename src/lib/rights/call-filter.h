/* Filters of system calls (seccomp), written as a table of what is allowed. A table begins with FILTER_BEGIN and ends with what happens
 * to all other calls. Where a row looks at an argument it sees the low half of it, so the argument must be an int to the kernel. */
#pragma once

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define FIELD(name)	offsetof(struct seccomp_data, name)
#define LOAD(name)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(name))
#define RETURN(action)	BPF_STMT(BPF_RET | BPF_K, (action))
#define REFUSE		RETURN(SECCOMP_RET_ERRNO | EPERM)
#define ALLOW		RETURN(SECCOMP_RET_ALLOW)
#define IF_CALL(nr, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, (skip))
#define ALLOW_CALL(nr)	IF_CALL(nr, 1), ALLOW
/* ... with none of these bits in its argument; the low half of it is looked at: both are ints */
#define ALLOW_WITHOUT(nr, argument, bits)                                                                                 \
	IF_CALL(nr, 4), LOAD(FIELD(args) + 8 * (argument)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, 1), REFUSE, ALLOW
#define ALLOW_WITH(nr, argument, bits)                                                                                    \
	IF_CALL(nr, 4), LOAD(FIELD(args) + 8 * (argument)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 1, 0), REFUSE, ALLOW
#define ALLOW_ONE_OF(nr, argument, one, other)                                                                            \
	IF_CALL(nr, 6), LOAD(FIELD(args) + 8 * (argument)), IF_CALL(one, 1), ALLOW, IF_CALL(other, 1), ALLOW, REFUSE

#if defined(__x86_64__)
/* x86-64 kernels may also have the calls of x32, by the same numbers with this bit: a filter that knows the number alone would let them through. */
#define OTHER_NUMBERS , BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), REFUSE
#else
#define OTHER_NUMBERS
#endif

/* Calls of another architecture, which have other numbers, end the process. */
#define FILTER_BEGIN                                                                                                      \
	LOAD(FIELD(arch)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS), LOAD(FIELD(nr)) \
		OTHER_NUMBERS

/* For the calling thread, for good. 0 or -errno. */
static inline int call_filter_set(const struct sock_filter *filter, size_t n)
{
	struct sock_fprog program = {(unsigned short)n, (struct sock_filter *)filter};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}
