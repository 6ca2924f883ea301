/* How a recorder ended that was not asked to: RUN/ended, one line. The process that answers questions outlives the recorder for that
 * moment and writes it; the next recorder puts it into the recording, and until then a question is answered with it. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define ENDING_TEXT 160 /* bytes of a reason */

struct ending {
	int64_t wall;
	char reason[ENDING_TEXT]; /* "it was killed by signal 9 (Killed)" */
};

/* The process `pid`, to which `pidfd` leads, has ended: writes RUN/ended. */
void ending_note(const char *run_dir, pid_t pid, int pidfd);
/* The same where the reason is known: a recorder that cannot begin. */
void ending_note_reason(const char *run_dir, const char *reason);
/* 0; -ENOENT: there is none; -errno. */
int ending_read(const char *run_dir, struct ending *ret);
void ending_forget(const char *run_dir);
/* What `message` of the kernel's log says of the death of `pid`: "it was killed: the machine was out of memory", or NULL. */
const char *ending_of_message(const char *message, pid_t pid);
/* In words, of a status as wait() has it. */
void ending_of_status(int status, char *ret, size_t n);
