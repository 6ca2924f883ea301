/* Who has what open, of all processes: /proc/PID/fd, read once for a question. Each look at all of them takes about 2 us a descriptor, and a question
 * asks for the other ends of many. What was opened later is not found; what was closed is not returned. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/vec.h"

#define OPEN_FILES_LINK 256 /* "socket:[4294967295]", "/dev/fuse", a named pipe; what is longer is not found */
#define OPEN_FILES_MOST (1u << 20) /* descriptors; more are not looked at */
#define OPEN_FILES_OF_ONE (1u << 14) /* ... of one process */

struct open_file {
	uint64_t link; /* hash of where it leads */
	uint32_t pid, fd;
};

/* Begins with proc_root ("/proc", or a test's; must outlive it) alone; ends with open_files_free(). */
struct open_files {
	const char *proc_root;
	bool was_read;
	VEC(struct open_file) list; /* by link, process, descriptor; short of memory: not all */
};

/* The next descriptor that leads there, by process: *at is 0 at first, and belongs to these functions. False: there are no more. */
bool open_files_next(struct open_files *f, const char *link, size_t *at, unsigned *ret_pid, unsigned *ret_fd);
/* Leaves out the others of the process that was returned last: it may have thousands. */
void open_files_skip_process(const struct open_files *f, size_t *at);
/* The next question reads again. */
void open_files_free(struct open_files *f);
