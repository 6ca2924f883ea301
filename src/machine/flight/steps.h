/* Every instruction of one thread, by single steps (ptrace), where the CPU has no trace of its own.
 *
 * The thread stops at each instruction and whyslow reads where: it runs a thousand times slower during that, and other threads are not touched.
 * Signals reach it as they come. A system call is one step. If whyslow itself is killed by SIGKILL in between, the kernel may end the thread's
 * process by SIGTRAP: hence the bounds on steps and time. */
#pragma once

#include <stdint.h>

#define STEPS_MAX 1000000

struct steps {
	uint32_t tid;
	uint64_t *addresses; /* steps_free() */
	uint64_t n;
	int64_t took; /* ns that the thread was stepped */
};

/* Steps through the thread of the process that runs now (the first one that does; else its main thread), for `most` instructions
 * (<= STEPS_MAX) and `longest` ns at most, and lets it go. 0; -EPERM: it may not be traced by this user; -ESRCH: it has ended; -EBUSY: a
 * debugger has it; -errno. proc_root: "/proc". */
int steps_take(const char *proc_root, uint32_t pid, uint64_t most, int64_t longest, struct steps *ret);
void steps_free(struct steps *s);
