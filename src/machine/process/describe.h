/* Who a process is: what is not available from counters. Read once when it begins and after each exec.
 *
 * Reading another process's command line takes its memory lock, and so may block for as long as a thread of that process waits for a
 * dead disk: describe_live() belongs into a helper's thread (lib/system/helper-thread.h). What describe_program() reads takes no
 * lock of the process's memory.
 */
#pragma once

#include <stdint.h>

/* The one that starts a process chooses these texts, and a recording keeps them for each process: the longest that is read, and that
 * is kept, bytes without the NUL.
 *
 *   cmdline    the first CMDLINE_MAX bytes, then "..."
 *   exe        a link of up to 4095 bytes; a longer target than NAME_TEXT_MAX keeps its end, behind "..."
 *   cgroup     the first 4095 bytes; its unit and container as exe
 *   stat       the first 1023 bytes: all of it, the name in it has 64 at most */
#define CMDLINE_MAX   1024 /* enough to tell processes apart */
#define NAME_TEXT_MAX 512  /* a unit's name has 255, and hardly a path has more */

struct process_text {
	char *exe, *cmdline, *unit, *container; /* NULL = not known */
};

/* 0, or -ESRCH when the process is gone (or another process has its pid by now). Caller frees with
 * process_text_free(). `start` is CLOCK_BOOTTIME ns, compared to a clock tick (10 ms); 0 = do not compare. */
int describe_live(const char *proc_root, uint32_t pid, uint64_t start, struct process_text *ret);
/* The same without the command line. */
int describe_program(const char *proc_root, uint32_t pid, uint64_t start, struct process_text *ret);
void process_text_free(struct process_text *text);

/* From the text of /proc/PID/cgroup: the systemd unit where one is named, else the deepest path that is not "/";
 * container or pod id or name where the path tells one. Either may stay NULL, and has at most NAME_TEXT_MAX bytes. */
void describe_cgroup(const char *proc_cgroup, char **ret_unit, char **ret_container);
