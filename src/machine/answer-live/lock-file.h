/* Lock files with retry loops: a program tries, sleeps and tries again until such a file disappears (mail boxes, PID files, mkdir), or until
 * no process has it locked (apt and dpkg: fcntl() without waiting). No system call says so. It has the file open, or its name in its memory.
 *
 * A file that is open, and that another process has locked for writing (/proc/locks), is found first.
 *
 * Looked for are names that the process, or the script that started `sleep`, has among its arguments or in its own memory (heap, stack, anonymous
 * mappings), which say "lock" in their last part, and exist as small files, links or folders of its user for a second or more. A heuristic: that it
 * tries to make this one is not seen. It is worth its time where a program sleeps for seconds at most. Names of more than LOCK_FILE_PATH
 * bytes, and memory beyond 32 MiB, are not looked at; other processes' memory is read in a thread that can be left behind.
 */
#pragma once

#include <stdint.h>

#include "lib/system/file-lock.h"
#include "machine/answer-live/live-thread.h"

#define LOCK_FILE_PATH 256

struct lock_file {
	char path[LOCK_FILE_PATH]; /* as the process sees it */
	unsigned holder;	   /* 0 = not known, or gone */
	const char *role;	   /* of the holder: "whose number stands in it" */
	unsigned gone;		   /* no process has the number that stands in it; 0 = none stands there */
	bool locked;		   /* by the holder, and the file may stay; else it must disappear */
	int64_t since;		   /* wall ns: the file was made, or changed, then */
};

/* Who wants the lock: of `sleep` it is the script that started it. */
unsigned lock_file_seeker(const struct live_thread *sleeper);
/* True: there is one, found within `patience` ns. It has a holder, or names one that is gone. */
bool lock_file_find(struct file_locks *locks, const struct live_thread *sleeper, int64_t patience, struct lock_file *ret);
